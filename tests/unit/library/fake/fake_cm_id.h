/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * The ids of the fake CM: states, addresses, ports, and what events say about them.
 *
 * All functions are called with the lock of the fake kernel held.
 */
#ifndef FAKE_CM_ID_H
#define FAKE_CM_ID_H

#include <stdbool.h>
#include <rdma/rdma_cm_alt.h>

#include "fake/fake_kernel.h"

/**
 * enum fake_cm_state - how far the connection of an id is
 * @CM_IDLE: not connected
 * @CM_LISTEN: accepts requests
 * @CM_REQ_SENT: waits for an answer
 * @CM_REQ_RCVD: the id of a request that is not answered
 * @CM_REP_SENT: accepted, and waits for the active side
 * @CM_REP_RCVD: the peer has accepted
 * @CM_UP: established
 * @CM_DOWN: ended
 */
enum fake_cm_state {
	CM_IDLE,
	CM_LISTEN,
	CM_REQ_SENT,
	CM_REQ_RCVD,
	CM_REP_SENT,
	CM_REP_RCVD,
	CM_UP,
	CM_DOWN,
};

/**
 * struct fake_cm_id - an id
 * @state: of its connection
 * @ps: port space
 * @qp_type: type of its QP
 * @reuse: RDMA_OPTION_ID_REUSEADDR
 * @src: its address and port
 * @dst: that of its peer
 * @listener: of the id of a request: the handle of the listening id
 * @peer: handle of the other end, or 0
 * @qp_num: number of its QP, as the last call has named it
 * @rnr_retry: how often the peer's QP is to send again
 */
struct fake_cm_id {
	enum fake_cm_state state;
	__u16 ps;
	__u8 qp_type;
	bool reuse;
	struct rdma_cm_alt_sockaddr src;
	struct rdma_cm_alt_sockaddr dst;
	__u32 listener;
	__u32 peer;
	__u32 qp_num;
	__u8 rnr_retry;
};

/** fake_cm_ids - the ids by their handle; those that are destroyed are not deleted */
extern struct fake_cm_id fake_cm_ids[FAKE_MAX_IDS];

/** fake_cm_ids_reset - forget all ids and ports */
void fake_cm_ids_reset(void);

/** fake_cm_alive - was an id created and not destroyed? */
bool fake_cm_alive(__u32 handle);

/** fake_cm_iwarp - are the devices RNICs, by the features of the kernel? */
bool fake_cm_iwarp(void);

/**
 * fake_cm_bind - give an id its address
 * @handle: of the id
 * @addr: IPv4 or IPv6; port 0: a free one
 *
 * Return: 0, or -EADDRINUSE
 */
int fake_cm_bind(__u32 handle, const struct rdma_cm_alt_sockaddr *addr);

/** fake_cm_place - see place of struct fake_cm_ops */
int fake_cm_place(__u32 handle, const struct rdma_cm_alt_pipeline *pipe);

/** fake_cm_fill - see fill of struct fake_cm_ops */
void fake_cm_fill(struct rdma_cm_alt_event *event);

/** fake_cm_route - addresses and device of an id; without a device on the wildcard address */
void fake_cm_route(__u32 handle, struct rdma_cm_alt_route *route);

/** fake_cm_qp_attr - attributes for the QP of an id, with what comes from its peer */
void fake_cm_qp_attr(__u32 handle, struct rdma_cm_alt_qp_attr *qp);

/** fake_cm_listener - handle of the id that listens where this one connects to, or 0 */
__u32 fake_cm_listener(const struct fake_cm_id *id);

#endif /* FAKE_CM_ID_H */
