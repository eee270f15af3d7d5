/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* Types that several folders use: forward declarations, and numbers of connections. */
#ifndef RCA_TYPES_H
#define RCA_TYPES_H

#include <linux/types.h>

struct rca_bind;
struct rca_ctx;
struct rca_defaults;
struct rca_demux;
struct rca_device;
struct rca_event;
struct rca_id;
struct rca_listener;
struct rca_member;
struct rca_obj;
struct rca_queue;
struct rca_source;
union rca_addr;

/**
 * struct rca_tp_numbers - numbers by which messages on the wire name a connection; 0: none
 * @comm_id: over ib_cm: communication ID of this host, or its request ID of datagrams
 * @remote_comm_id: over ib_cm: communication ID of the peer, once it is known
 * @session: over a trunk: number of its session
 * @number: over a trunk: number of the connection in the session
 */
struct rca_tp_numbers {
	u32 comm_id;
	u32 remote_comm_id;
	u32 session;
	u32 number;
};

#endif /* RCA_TYPES_H */
