/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * The private half of a struct rdma_cm_id, and what all API families share:
 * life and death of an id, its route, its place on a channel.
 */
#ifndef RCL_CMID_H
#define RCL_CMID_H

#include <pthread.h>
#include <rdma/rdma_cm_alt.h>
#include <rdma/rdma_cma.h>
#include <stdbool.h>
#include <stddef.h>

#include "core/devices.h"

struct rcl_member;
struct rcl_ring;
struct rcl_ring_set;

/**
 * struct rcl_id - an id
 * @id: the public half; the first member, so that the pointers are the same
 * @next: in the list of all ids
 * @link: what points to this one in that list
 * @cookie: what the kernel gives back with the id's events
 * @handle: of the kernel
 * @fd: of its channel, if that is the program's, which may have freed it
 * @sync: calls wait for their event; the channel is the id's own
 * @device: the device it is bound to, or NULL
 * @paths: where id.route.path_rec points to
 * @lock: protects the members below
 * @acked_cond: @events_acked has grown
 * @ring: the ring in which its events may lie, with a reference, or NULL
 * @shared: another process may have it, too: it was there at a fork()
 * @events_taken: events of the id that this process has read
 * @events_acked: events of the id that the program is done with
 * @destroying: rdma_destroy_id() is at work
 * @connected: an ESTABLISHED was delivered and no end of the connection yet
 * @listening: rdma_listen() was called: connection requests are for it
 * @ended: a DISCONNECTED was delivered: there is nothing to disconnect
 * @connect_error: the connection failed in our hands; what the peer says
 *                 about it is not news
 * @accepted: rdma_accept() has set the depths
 * @initiator_depth: reads and atomics that we issue at a time
 * @responder_resources: reads and atomics that we serve at a time
 * @ack_timeout_set: RDMA_OPTION_ID_ACK_TIMEOUT was set
 * @ack_timeout: its value
 * @qp_attr: QP attributes of the latest event that had some
 * @init_qp: the QP that we moved to INIT, or NULL
 * @init_qp_num: its number, as a program may put another QP at its place
 * @init_attr: the attributes that we used
 * @local_ece: enhanced connection establishment: ours
 * @remote_ece: enhanced connection establishment: the peer's
 * @failed_request: listener: cookie of the id of a request that
 *                  rdma_get_request() could not complete, or 0
 * @ep_attr: passive endpoint: attributes for the QPs of its children, or NULL
 * @ep_connect: active endpoint: prefix of the private data, or NULL
 * @ep_connect_len: its length
 * @members: memberships in multicast groups (members.h)
 * @addrinfo_busy: rdma_resolve_addrinfo() is at work, or its result waits
 * @addrinfo: its result, or NULL
 */
struct rcl_id {
	struct rdma_cm_id id;
	struct rcl_id *next;
	struct rcl_id **link;
	uint64_t cookie;
	uint32_t handle;
	int fd;
	bool sync;
	struct rcl_device *device;
	struct ibv_sa_path_rec paths[2];

	pthread_mutex_t lock;
	pthread_cond_t acked_cond;
	struct rcl_ring *ring;
	bool shared;
	uint32_t events_taken;
	uint32_t events_acked;
	bool destroying;
	bool connected;
	bool listening;
	bool ended;
	bool connect_error;
	bool accepted;
	uint8_t initiator_depth;
	uint8_t responder_resources;
	bool ack_timeout_set;
	uint8_t ack_timeout;
	struct rdma_cm_alt_qp_attr qp_attr;

	struct ibv_qp *init_qp;
	uint32_t init_qp_num;
	struct ibv_qp_attr init_attr;
	struct ibv_ece local_ece;
	struct ibv_ece remote_ece;
	uint64_t failed_request;
	struct ibv_qp_init_attr *ep_attr;
	void *ep_connect;
	size_t ep_connect_len;

	struct rcl_member *members;
	bool addrinfo_busy;
	struct rdma_addrinfo *addrinfo;
};

/** rcl_id_of - the private half of a public id; NULL stays NULL */
static inline struct rcl_id *rcl_id_of(struct rdma_cm_id *id)
{
	return (struct rcl_id *)(void *)id;
}

/**
 * rcl_id_new - a private half without a kernel id, entered in the table
 * @channel: its channel, or NULL for a synchronous id that gets its own later
 * @context: of the program
 * @ps: port space
 * @qp_type: type of its QP
 *
 * Return: the id, or NULL when there is no memory
 */
struct rcl_id *rcl_id_new(struct rdma_event_channel *channel, void *context,
			  enum rdma_port_space ps, enum ibv_qp_type qp_type);

/**
 * rcl_id_connected_type - the type of QP that the kernel connects
 * @ps: port space
 * @qp_type: type of the id's QP
 *
 * As the stock kernel has it: what is not RDMA_PS_IB says by itself which QPs
 * are connected.
 */
uint8_t rcl_id_connected_type(enum rdma_port_space ps, enum ibv_qp_type qp_type);

/**
 * rcl_id_free - free the private half; its kernel id is gone or never was
 * @id: the id, which nobody finds any more when its events are all dropped
 */
void rcl_id_free(struct rcl_id *id);

/**
 * rcl_handle_valid - can the kernel have made an object with this handle?
 * @handle: of an id or a membership
 */
static inline bool rcl_handle_valid(uint32_t handle)
{
	return handle && handle <= INT32_MAX;
}

/**
 * rcl_id_get - the id that an event names, with a reference
 * @cookie: of the event
 *
 * Return: the id, or NULL when it is dead
 */
struct rcl_id *rcl_id_get(uint64_t cookie);

/**
 * rcl_id_find - the id that an event names without a cookie, with a reference
 * @handle: of the kernel
 *
 * An event that the program itself posts on a connection request has none
 * before rdma_accept() tells the kernel the cookie.
 *
 * Return: the id, or NULL when there is none, or it is dead
 */
struct rcl_id *rcl_id_find(uint32_t handle);

/**
 * rcl_id_made - what the kernel says that it has made for an id
 * @id: the id
 * @handle: of the kernel
 * @queue: it was asked for a queue, too
 * @fd: of the queue; closed on failure
 *
 * Return: 0, or -EIO when that cannot be
 */
int rcl_id_made(struct rcl_id *id, uint32_t handle, bool queue, int fd);

/**
 * rcl_id_learn_handle - the kernel has made the id, as this thread or another one learns first
 * @id: the id; its first event may be read before the call that makes it has returned
 * @handle: of the kernel
 */
void rcl_id_learn_handle(struct rcl_id *id, uint32_t handle);

/**
 * rcl_id_put - drop the reference
 * @id: from rcl_id_get()
 */
void rcl_id_put(struct rcl_id *id);

/**
 * rcl_id_owns - is the channel the own one of a synchronous id?
 * @id: the id
 * @channel: the channel
 */
bool rcl_id_owns(struct rcl_id *id, const struct rdma_event_channel *channel);

/**
 * rcl_id_take - count an event that was read
 * @id: the id
 *
 * Return: false when the id is as good as destroyed: drop the event
 */
bool rcl_id_take(struct rcl_id *id);

/**
 * rcl_id_ack - one delivered event of the id is done with
 * @id: the id
 */
void rcl_id_ack(struct rcl_id *id);

/**
 * rcl_id_is - is this the id that an event names?
 * @id: the id, found by the cookie of the event
 * @handle: of the event
 * @request: the event is a connection request
 */
bool rcl_id_is(struct rcl_id *id, uint32_t handle, bool request);

/**
 * rcl_id_set_listening - whether connection requests are for it
 * @id: the id
 * @listening: whether they are
 *
 * Return: what it was before
 */
bool rcl_id_set_listening(struct rcl_id *id, bool listening);

/**
 * rcl_id_lock_ring - keep others from taking events of the id
 * @id: the id
 *
 * For calls to the kernel that drop or move events which were not delivered yet.
 *
 * Return: what to give to rcl_id_unlock_ring(); may be NULL
 */
struct rcl_ring *rcl_id_lock_ring(struct rcl_id *id);

/**
 * rcl_id_add_ring - the ring of one of many ids
 * @id: the id
 * @set: gets the ring
 *
 * An id may move until its ring is locked: this is called for all ids again then,
 * until it says false for each.
 *
 * Return: true: the ring was not there yet
 */
bool rcl_id_add_ring(struct rcl_id *id, struct rcl_ring_set *set);

/**
 * rcl_id_unlock_ring - let them again
 * @ring: from rcl_id_lock_ring()
 */
void rcl_id_unlock_ring(struct rcl_ring *ring);

/**
 * rcl_id_wait_acked - wait until delivered events are done with
 * @id: the id
 * @reported: number of events that the kernel has delivered; of an id that
 *            processes share only those count that this one has read
 */
void rcl_id_wait_acked(struct rcl_id *id, uint32_t reported);

/**
 * rcl_id_set_route - take over what the kernel knows of the id
 * @id: the id
 * @route: from the kernel; opens the device when it names one
 *
 * Return: 0, or the negative errno of opening the device
 */
int rcl_id_set_route(struct rcl_id *id, const struct rdma_cm_alt_route *route);

/**
 * rcl_id_query_route - ask the kernel and take over
 * @id: the id
 *
 * Return: 0 or a negative errno
 */
int rcl_id_query_route(struct rcl_id *id);

/** rcl_ids_lock - before fork(): take the lock of every id */
void rcl_ids_lock(void);

/**
 * rcl_ids_unlock - after fork(): release them
 * @child: this is the new process, in which nobody waits for anything
 */
void rcl_ids_unlock(bool child);

#endif /* RCL_CMID_H */
