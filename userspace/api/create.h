/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* New ids. */
#ifndef RCL_CREATE_H
#define RCL_CREATE_H

#include "id/cmid.h"

/**
 * rcl_id_create - a new id
 * @channel: its channel, or NULL for a synchronous id
 * @context: of the program
 * @ps: port space
 * @qp_type: type of its QP
 * @out: the id
 *
 * Return: 0 or a negative errno
 */
int rcl_id_create(struct rdma_event_channel *channel, void *context, enum rdma_port_space ps,
		  enum ibv_qp_type qp_type, struct rcl_id **out);

#endif /* RCL_CREATE_H */
