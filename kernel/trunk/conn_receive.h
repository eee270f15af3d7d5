/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* Handling of what a peer sends about connections over a trunk. */
#ifndef RCA_TRUNK_CONN_RECEIVE_H
#define RCA_TRUNK_CONN_RECEIVE_H

struct rca_tp_ops;
struct rca_tp_upcalls;
struct rca_trunk;
struct rca_trunk_record;

int rca_conn_record(struct rca_trunk *trunk, const struct rca_trunk_record *record);
void rca_conn_receive_init(const struct rca_tp_upcalls *upcalls,
			   const struct rca_tp_ops *transport);

#endif /* RCA_TRUNK_CONN_RECEIVE_H */
