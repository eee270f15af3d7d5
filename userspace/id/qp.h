/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* The QP of an id: attributes, state transitions, ECE, CQs. */
#ifndef RCL_QP_H
#define RCL_QP_H

#include <infiniband/verbs.h>
#include <rdma/rdma_cm_alt.h>

#include "id/cmid.h"

/**
 * rcl_qp_cache_attr - store the QP attributes of an event for later transitions
 * @id: the id
 * @rec: the event record
 */
void rcl_qp_cache_attr(struct rcl_id *id, const struct rdma_cm_alt_event *rec);

/**
 * rcl_qp_drop_init_attr - forget the stored attributes for INIT, because they change
 * @id: the id, which sends or accepts a connection request
 */
void rcl_qp_drop_init_attr(struct rcl_id *id);

/**
 * rcl_qp_drop_attr - forget all stored attributes: the kernel has none any more
 * @id: the id, which has got TIMEWAIT_EXIT or DEVICE_REMOVAL
 */
void rcl_qp_drop_attr(struct rcl_id *id);

/**
 * rcl_qp_attr - attributes for a transition of the QP, stored ones or from the kernel
 * @id: the id
 * @state: IBV_QPS_INIT, IBV_QPS_RTR or IBV_QPS_RTS
 * @attr: filled in, except qp_state
 * @mask: filled in
 *
 * Return: 0 or a negative errno
 */
int rcl_qp_attr(struct rcl_id *id, enum ibv_qp_state state,
		struct ibv_qp_attr *attr, int *mask);

/**
 * rcl_qp_start - move a new QP to INIT, or a UD QP to RTS
 * @id: the id
 * @qp: the QP
 *
 * Return: 0 or a negative errno
 */
int rcl_qp_start(struct rcl_id *id, struct ibv_qp *qp);

/**
 * rcl_qp_connect - move the id's QP, if it has one, over RTR to RTS
 * @id: the id
 * @responder_resources: for max_dest_rd_atomic; RDMA_MAX_RESP_RES: that of the kernel
 * @initiator_depth: for max_rd_atomic; RDMA_MAX_INIT_DEPTH: that of the kernel
 *
 * Return: 0 or a negative errno
 */
int rcl_qp_connect(struct rcl_id *id, uint8_t responder_resources,
		   uint8_t initiator_depth);

/**
 * rcl_qp_establish - the peer has accepted: move the QP to RTS, and send RTU
 * @id: the id with a QP
 * @remote: ECE options of the peer
 *
 * Return: 0 or a negative errno; on failure the QP is in the error state
 */
int rcl_qp_establish(struct rcl_id *id, const struct rcl_ece *remote);

/**
 * rcl_qp_error - move the id's QP, if it has one, to the error state
 * @id: the id
 *
 * Return: 0 or a negative errno
 */
int rcl_qp_error(struct rcl_id *id);

/**
 * rcl_qp_shutdown - stop the QP before a disconnect
 * @id: the id
 *
 * Return: 0; -EINVAL when there is no device, or its transport is neither IB nor iWARP
 */
int rcl_qp_shutdown(struct rcl_id *id);

/**
 * rcl_ece_start - exchange ECE options of a new QP with its provider
 * @id: the id
 * @qp: the QP, before it moves to INIT
 *
 * Return: 0 or a negative errno
 */
int rcl_ece_start(struct rcl_id *id, struct ibv_qp *qp);

/**
 * rcl_ece_agreed - store the options that the provider has accepted
 * @id: the id; nothing happens when the peer has no ECE
 * @qp: the QP
 *
 * Return: 0 or a negative errno
 */
int rcl_ece_agreed(struct rcl_id *id, struct ibv_qp *qp);

/**
 * rcl_cqs_destroy - destroy the CQs and completion channels that the id owns
 * @id: the id
 */
void rcl_cqs_destroy(struct rdma_cm_id *id);

/**
 * rcl_cqs_create - create CQs and completion channels that the id owns
 * @id: the id
 * @send_size: entries for send completions; 0: no CQ
 * @recv_size: entries for receive completions; 0: no CQ
 *
 * Return: 0 or a negative errno; on failure nothing was created
 */
int rcl_cqs_create(struct rdma_cm_id *id, uint32_t send_size, uint32_t recv_size);

#endif /* RCL_QP_H */
