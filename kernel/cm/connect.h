/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* Operations on connections, from connect and accept to disconnect. */
#ifndef RCA_CONNECT_H
#define RCA_CONNECT_H

#include "id/id.h"

int rca_connect(struct rca_id *id, const struct rca_tp_conn *conn);
int rca_connect_locked(struct rca_id *id, const struct rca_tp_conn *conn);
int rca_connect_start_locked(struct rca_id *id, const struct rca_tp_conn *conn);
int rca_connect_finished_locked(struct rca_id *id, void *lower, int ret);
bool rca_connect_again(struct rca_id *id, int ret, unsigned int *tries);
int rca_accept_as(struct rca_id *id, u64 cookie, const struct rca_tp_conn *conn, bool quiet);
int rca_reject(struct rca_id *id, u32 reason, const void *data, u32 len);
int rca_establish(struct rca_id *id);
int rca_disconnect(struct rca_id *id);
int rca_notify(struct rca_id *id, u32 event);

/* rca_accept_as() with an ESTABLISHED event. */
static inline int rca_accept(struct rca_id *id, u64 cookie, const struct rca_tp_conn *conn)
{
	return rca_accept_as(id, cookie, conn, false);
}

#endif /* RCA_CONNECT_H */
