/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* Ids of datagrams: asking a peer for its QP, and telling ours. */
#ifndef RCA_DATAGRAM_H
#define RCA_DATAGRAM_H

#include "id/id.h"

int rca_datagram_connect_locked(struct rca_id *id, const struct rca_tp_conn *conn);
int rca_datagram_accept(struct rca_id *id, u64 cookie, const struct rca_tp_conn *conn);
int rca_datagram_reject(struct rca_id *id, const void *data, u32 len);
void rca_datagram_event(struct rca_id *id, const struct rca_tp_event *event);

#endif /* RCA_DATAGRAM_H */
