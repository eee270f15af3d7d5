/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * Retransmission of connection requests that were not answered or wait for a slot, and their
 * deadline.
 */
#ifndef RCA_REQ_RETRANSMIT_H
#define RCA_REQ_RETRANSMIT_H

#include "id/id.h"

int rca_retry_keep(struct rca_id *id, const struct rca_tp_conn *conn);
int rca_retry_keep_datagram(struct rca_id *id, const struct rca_tp_conn *conn,
			    void (*again)(struct rca_id *id));
int rca_retry_send(struct rca_id *id);
void rca_retry_arm(struct rca_id *id);
void rca_retry_hold(struct rca_id *id);
void rca_retry_drop(struct rca_id *id);
void rca_retry_end(struct rca_id *id);
void rca_retry_replied_locked(struct rca_id *id);
bool rca_retry_again(struct rca_id *id, const struct rca_tp_event *event);

#endif /* RCA_REQ_RETRANSMIT_H */
