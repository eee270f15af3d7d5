/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * Extensions of librdmacm_alt beyond the calls of <rdma/rdma_cma.h>: a call performs several steps
 * of a connection, or acts on several ids, in one system call. Link with -lrdmacm_alt (pkg-config
 * librdmacm_alt). Ids and events are those of librdmacm, and its calls work on them.
 */
#ifndef RDMA_CMA_ALT_H
#define RDMA_CMA_ALT_H

#include <stdint.h>
#include <rdma/rdma_cma.h>

#ifdef __cplusplus
extern "C" {
#endif

/**
 * struct rdma_alt_connect_attr - destination and parameters of a connect
 * @comp_mask: must be 0; bits are reserved for members of future versions
 * @ps: port space; 0: RDMA_PS_TCP
 * @channel: event channel of the id; NULL: the id is synchronous, and the call waits for the answer
 * @context: value of id->context, for the program's use
 * @src_addr: local address to bind to; NULL: any
 * @dst_addr: address and port of the peer
 * @timeout_ms: timeout of address resolution, and likewise of route resolution
 * @conn_param: as for rdma_connect(), except that the depths must be numbers: RDMA_MAX_RESP_RES and
 *              RDMA_MAX_INIT_DEPTH fail with EINVAL, because no device is known yet. NULL: depths
 *              0, maximal retry counts.
 * @qp: a QP in state RESET or INIT, which the program has created on the device that the connection
 *      will use. It becomes id->qp, and the library moves it to RTS before
 *      RDMA_CM_EVENT_ESTABLISHED. The program keeps the ownership: before rdma_destroy_id(), set
 *      id->qp to NULL or destroy the QP. NULL: no QP; conn_param->qp_num is used.
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
 * @attr: destination and parameters
 * @id: returns the id
 *
 * An asynchronous id gets one event. It is RDMA_CM_EVENT_ESTABLISHED on success. Without a QP, and
 * not on iWARP, it is RDMA_CM_EVENT_CONNECT_RESPONSE instead; the program then moves its own QP
 * with rdma_init_qp_attr() and calls rdma_establish(). On failure it is the event of the failed
 * step: RDMA_CM_EVENT_ADDR_ERROR, _ROUTE_ERROR, _CONNECT_ERROR, _UNREACHABLE or _REJECTED.
 * Intermediate steps have no events. The id has its device and addresses from that event on.
 * Another thread may get the event before the call returns.
 *
 * For a datagram id (RDMA_PS_UDP) the call looks up the QP of the peer; the QP in @attr is then a
 * datagram QP.
 *
 * Return: 0; -1 and errno: no id exists, and the QP belongs to the program. If the peer rejected
 * the connection, the QP may be in state ERR. For a synchronous id errno is that of
 * rdma_resolve_addr(), rdma_resolve_route() or rdma_connect().
 */
int rdma_alt_connect(const struct rdma_alt_connect_attr *attr, struct rdma_cm_id **id);

/**
 * rdma_alt_connect_many - rdma_alt_connect() of several ids in one system call
 * @attrs: @count attributes, each with a channel
 * @count: number of ids
 * @ids: returns @count ids; NULL where the connect failed
 * @errors: returns @count errnos, 0 where the connect was started; or NULL
 *
 * Return: the number of connects that were started; -1 and errno: none, and @count is not 0. errno
 * is that of the first connect that failed.
 */
int rdma_alt_connect_many(const struct rdma_alt_connect_attr *attrs, int count,
			  struct rdma_cm_id **ids, int *errors);

/**
 * rdma_alt_destroy_many - rdma_destroy_id() of several ids in one system call
 * @ids: @count distinct ids, or NULL; an entry is set to NULL when its id is destroyed
 * @count: number of entries
 * @errors: returns @count errnos, 0 where the id was destroyed; or NULL
 *
 * Waits until all events of the ids are acknowledged, as rdma_destroy_id() does.
 *
 * Return: the number of destroyed ids; -1 and errno: none was destroyed, and there was at least
 * one. errno is that of the first id that failed.
 */
int rdma_alt_destroy_many(struct rdma_cm_id **ids, int count, int *errors);

/**
 * rdma_alt_get_cm_events - get all pending events, as rdma_get_cm_event() gets one
 * @channel: the channel
 * @events: array for @count events, each of which needs rdma_ack_cm_event()
 * @count: size of the array; a call returns at most 64 events
 *
 * Waits for the first event, unless the channel's descriptor has O_NONBLOCK. Calls that wait until
 * the events of an id are acknowledged, such as rdma_destroy_id(), also wait for those in
 * @events: acknowledge all of them before.
 *
 * Return: the number of events, at least one; -1 and errno, as of rdma_get_cm_event()
 */
int rdma_alt_get_cm_events(struct rdma_event_channel *channel, struct rdma_cm_event **events,
			   int count);

/**
 * enum rdma_alt_accept_flags - flags of rdma_alt_accept()
 * @RDMA_ALT_ACCEPT_QUIET: suppress RDMA_CM_EVENT_ESTABLISHED, for a program that does not need the
 *                         event or infers it from the peer's first message. A synchronous id does
 *                         not wait for the event either.
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
