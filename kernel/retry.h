/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* A connection request that is sent again when the peer still has an old connection with our QP. */
#ifndef RCA_RETRY_H
#define RCA_RETRY_H

#include "cmid.h"

int rca_retry_keep(struct rca_id *id, const struct rca_tp_conn *conn,
		   int (*send)(struct rca_id *id, const struct rca_tp_conn *conn));
void rca_retry_drop(struct rca_id *id);
bool rca_retry_stale(struct rca_id *id, const struct rca_tp_event *event);

#endif /* RCA_RETRY_H */
