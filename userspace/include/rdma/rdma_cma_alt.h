/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * What librdmacm_alt offers beyond the calls of <rdma/rdma_cma.h>: many steps,
 * or many ids, in one system call. Link with -lrdmacm_alt (pkg-config
 * librdmacm_alt). Ids and events are those of librdmacm: its calls work on them.
 */
#ifndef RDMA_CMA_ALT_H
#define RDMA_CMA_ALT_H

#include <stdint.h>
#include <rdma/rdma_cma.h>

#ifdef __cplusplus
extern "C" {
#endif

/**
 * struct rdma_alt_connect_attr - where to, and what with
 * @comp_mask: must be 0; bits of it will tell that there are more members
 * @ps: port space; 0: RDMA_PS_TCP
 * @channel: for the events; NULL: a synchronous id, the call waits for the answer
 * @context: of the program, id->context
 * @src_addr: local address to bind to, NULL: any
 * @dst_addr: address of the peer, with its port
 * @timeout_ms: bound for the address and for the route, each
 * @conn_param: as for rdma_connect(), but for the depths, which must be numbers:
 *              RDMA_MAX_RESP_RES and RDMA_MAX_INIT_DEPTH are EINVAL, as no device is known
 *              yet. NULL: depths 0, all retries.
 * @qp: a QP that the program has made on the device that the connection will use, in
 *      state RESET or INIT; it becomes id->qp, and the library moves it to RTS before
 *      RDMA_CM_EVENT_ESTABLISHED. It stays the program's: before rdma_destroy_id(), set
 *      id->qp to NULL or destroy it. NULL: none; conn_param->qp_num counts.
 */
struct rdma_alt_connect_attr {
	uint32_t comp_mask;
	enum rdma_port_space ps;
	struct rdma_event_channel *channel;
	void *context;
	struct sockaddr *src_addr;
	struct sockaddr *dst_addr;
	int timeout_ms;
	struct rdma_conn_param *conn_param;
	struct ibv_qp *qp;
};

/**
 * rdma_alt_connect - create an id, resolve address and route, and connect, in one call
 * @attr: where to, and what with
 * @id: the id
 *
 * An asynchronous id gets one event: RDMA_CM_EVENT_ESTABLISHED, or with no QP, but on iWARP,
 * RDMA_CM_EVENT_CONNECT_RESPONSE, after which the program moves its own one with
 * rdma_init_qp_attr() and calls rdma_establish(); or the event of the step that failed,
 * RDMA_CM_EVENT_ADDR_ERROR, _ROUTE_ERROR, _CONNECT_ERROR, _UNREACHABLE or _REJECTED. There are
 * none for the steps between. The id has its device and addresses from that event on. Another
 * thread may get the event before the call returns.
 *
 * Of a datagram id (RDMA_PS_UDP) the call asks for the peer's QP; @attr's is one of datagrams.
 *
 * Return: 0; -1 and errno: there is no id, and the QP is the program's; it may be in state ERR
 * when the peer refused. For a synchronous id errno is that of rdma_resolve_addr(),
 * rdma_resolve_route() or rdma_connect().
 */
int rdma_alt_connect(const struct rdma_alt_connect_attr *attr, struct rdma_cm_id **id);

/**
 * rdma_alt_connect_many - rdma_alt_connect() of many ids in one system call
 * @attrs: @count of them, each with a channel
 * @count: how many
 * @ids: @count ids; NULL where it failed
 * @errors: @count errnos, 0 where it did not; or NULL
 *
 * Return: how many have been started; -1 and errno: none, @count not being 0.
 * errno is that of the first one that failed.
 */
int rdma_alt_connect_many(const struct rdma_alt_connect_attr *attrs, int count,
			  struct rdma_cm_id **ids, int *errors);

/**
 * rdma_alt_destroy_many - rdma_destroy_id() of many ids in one system call
 * @ids: @count different ids, or NULL; those that are destroyed are NULL then
 * @count: how many
 * @errors: @count errnos, 0 where it did not fail; or NULL
 *
 * Waits until all of their events are acknowledged, as rdma_destroy_id() does.
 *
 * Return: how many were destroyed; -1 and errno: none, there being one. errno is
 * that of the first one that failed.
 */
int rdma_alt_destroy_many(struct rdma_cm_id **ids, int count, int *errors);

/**
 * rdma_alt_get_cm_events - rdma_get_cm_event() of all events that are there
 * @channel: the channel
 * @events: room for @count events, each for rdma_ack_cm_event()
 * @count: how many at most; no more than 64 come at a time
 *
 * Waits while there is none, unless the channel's descriptor has O_NONBLOCK. A call that
 * waits until the events of an id are acknowledged, as rdma_destroy_id() does, waits for those in
 * @events, too: acknowledge all of them before.
 *
 * Return: how many there are, at least one; -1 and errno, as of rdma_get_cm_event().
 */
int rdma_alt_get_cm_events(struct rdma_event_channel *channel, struct rdma_cm_event **events,
			   int count);

/**
 * enum rdma_alt_accept_flags - flags of rdma_alt_accept()
 * @RDMA_ALT_ACCEPT_QUIET: no RDMA_CM_EVENT_ESTABLISHED is wanted: the program need not
 *                         know, or learns it from the peer's first message. The call does
 *                         not wait for it, either, when the id is synchronous.
 */
enum rdma_alt_accept_flags {
	RDMA_ALT_ACCEPT_QUIET = 1 << 0,
};

/**
 * rdma_alt_accept - rdma_accept() with flags
 * @id: the id of a connection request
 * @conn_param: as for rdma_accept()
 * @flags: &enum rdma_alt_accept_flags
 *
 * Return: 0; -1 and errno, as of rdma_accept(); EINVAL also for an unknown flag
 */
int rdma_alt_accept(struct rdma_cm_id *id, struct rdma_conn_param *conn_param,
		    unsigned int flags);

#ifdef __cplusplus
}
#endif

#endif /* RDMA_CMA_ALT_H */
