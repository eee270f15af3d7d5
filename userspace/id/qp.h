/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * The QP of an id: its attributes, and its way through the states.
 */
#ifndef RCL_QP_H
#define RCL_QP_H

#include <infiniband/verbs.h>
#include <rdma/rdma_cm_alt.h>

#include "id/cmid.h"

/**
 * rcl_qp_remember - keep the QP attributes of an event for what comes next
 * @id: the id
 * @rec: the event record
 */
void rcl_qp_remember(struct rcl_id *id, const struct rdma_cm_alt_event *rec);

/**
 * rcl_qp_forget_init - attributes for INIT will differ from those that we have
 * @id: the id, which has sent or answered a connection request
 */
void rcl_qp_forget_init(struct rcl_id *id);

/**
 * rcl_qp_attr - attributes for a transition of the QP
 * @id: the id
 * @state: IBV_QPS_INIT, IBV_QPS_RTR or IBV_QPS_RTS
 * @attr: filled in, but for qp_state
 * @mask: filled in
 *
 * Return: 0 or a negative errno
 */
int rcl_qp_attr(struct rcl_id *id, enum ibv_qp_state state,
		struct ibv_qp_attr *attr, int *mask);

/**
 * rcl_qp_start - move a new QP as far as it goes without a connection
 * @id: the id
 * @qp: the QP; to INIT, one for datagrams to RTS
 *
 * Return: 0 or a negative errno
 */
int rcl_qp_start(struct rcl_id *id, struct ibv_qp *qp);

/**
 * rcl_qp_connect - move the id's QP, if it has one, over RTR to RTS
 * @id: the id
 * @responder_resources: what we serve; RDMA_MAX_RESP_RES: as the kernel says
 * @initiator_depth: what we issue; RDMA_MAX_INIT_DEPTH: as the kernel says
 *
 * Return: 0 or a negative errno
 */
int rcl_qp_connect(struct rcl_id *id, uint8_t responder_resources,
		   uint8_t initiator_depth);

/**
 * rcl_qp_establish - the peer accepted: QP to RTS, and tell the peer
 * @id: the id with a QP
 * @remote: the peer's data of the enhanced connection establishment
 *
 * Return: 0 or a negative errno; the QP is in the error state then
 */
int rcl_qp_establish(struct rcl_id *id, const struct ibv_ece *remote);

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
 * Return: 0; -EINVAL: no device, or a transport that has no connections
 */
int rcl_qp_shutdown(struct rcl_id *id);

/**
 * rcl_ece_start - ask and tell the provider about the enhanced connection
 *                 establishment of a new QP
 * @id: the id
 * @qp: the QP, before it moves to INIT
 *
 * Return: 0 or a negative errno
 */
int rcl_ece_start(struct rcl_id *id, struct ibv_qp *qp);

/**
 * rcl_ece_agreed - what the provider made of the peer's options
 * @id: the id; nothing happens when the peer has none
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
 * rcl_cqs_create - make CQs with completion channels that the id owns
 * @id: the id
 * @send_size: entries for send completions; 0: no CQ
 * @recv_size: entries for receive completions; 0: no CQ
 *
 * Return: 0 or a negative errno; nothing was made then
 */
int rcl_cqs_create(struct rdma_cm_id *id, uint32_t send_size, uint32_t recv_size);

#endif /* RCL_QP_H */
