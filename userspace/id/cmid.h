/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * The private half of a struct rdma_cm_id: allocation, references, event counters, ring, route.
 */
#ifndef RCL_CMID_H
#define RCL_CMID_H

#include <pthread.h>
#include <rdma/rdma_cm_alt.h>
#include <rdma/rdma_cma.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>

#include "core/devices.h"

struct rcl_member;
struct rcl_ring;

/**
 * struct rcl_ece - enhanced connection establishment (ECE)
 * @vendor_id: the vendor; 0: none
 * @options: the options
 */
struct rcl_ece {
	uint32_t vendor_id;
	uint32_t options;
};

/**
 * struct rcl_init - a move of a QP to INIT
 * @qp: the QP, or NULL
 * @qp_num: its number: the program may have a new QP at the same address
 * @access: the attribute qp_access_flags
 * @qkey: the attribute
 * @pkey_index: the attribute
 * @port_num: the attribute
 */
struct rcl_init {
	struct ibv_qp *qp;
	uint32_t qp_num;
	unsigned int access;
	uint32_t qkey;
	uint16_t pkey_index;
	uint8_t port_num;
};

/**
 * struct rcl_id - an id
 * @id: the public half; the first member, so that both have the same address
 * @cookie: the kernel returns it with the events of the id
 * @handle: of the kernel; 0: the kernel has not created it yet
 * @fd: descriptor of its channel, as the program may have freed the channel; -1: a synchronous id
 * @maker: rcl_process of the process that has made it
 * @sync: a synchronous id: calls wait for their event, and it owns its channel
 * @device: the device it is bound to, or NULL
 * @path: id.route.path_rec points here while there is one path
 * @two_paths: and here when there are two, or NULL
 * @revoking: commands are running in which the kernel drops or moves events of the id; like all
 *            atomic members without the lock
 * @shared: there was a fork(): another process may have the id, or read its channel
 * @events_taken: events of the id that this process has read
 * @events_acked: events of the id that the program has acknowledged
 * @awaited: a thread has waited for acknowledgements, which wake it up
 * @destroying: rdma_destroy_id() was called
 * @connected: ESTABLISHED was delivered, and no event of the end of the connection
 * @quiet: accepted without ESTABLISHED: @connected was set by the call
 * @listening: rdma_listen() was called: it may get connection requests
 * @ended: DISCONNECTED was delivered: rdma_disconnect() has nothing to do
 * @connect_error: the library has failed the connection: the peer's REJ or DREQ that follows is no
 *                 event for the program
 * @accepted: rdma_accept() has set the depths
 * @lock: protects the depths, the timeout and the members below
 * @ring: the ring of its channel, with a reference, or NULL
 * @initiator_depth: maximum of outstanding RDMA reads and atomics of our own
 * @responder_resources: maximum of outstanding RDMA reads and atomics of the peer
 * @ack_timeout_set: RDMA_OPTION_ID_ACK_TIMEOUT was set
 * @ack_timeout: its value
 * @qp_attr: QP attributes of the latest event that had them
 * @made_send_cq: the library has created id.send_cq
 * @init: the latest move of a QP to INIT by the library
 * @local_ece: ours
 * @remote_ece: the peer's
 * @failed_request: listener: cookie of the id of a request that
 *                  rdma_get_request() could not complete, or 0
 * @ep_attr: passive endpoint: attributes for the QPs of its children, or NULL
 * @ep_connect: active endpoint: prefix of the private data, or NULL
 * @ep_connect_len: its length
 * @members: memberships in multicast groups (members.h)
 * @addrinfo_busy: rdma_resolve_addrinfo() was called, and its result not taken yet
 * @addrinfo: its result, or NULL
 */
struct rcl_id {
	struct rdma_cm_id id;
	uint64_t cookie;
	uint32_t handle;
	int fd;
	struct rcl_device *device;
	struct ibv_sa_path_rec path;
	struct ibv_sa_path_rec *two_paths;
	unsigned int maker;

	atomic_uint revoking;
	_Atomic uint32_t events_taken;
	_Atomic uint32_t events_acked;
	atomic_bool shared;
	atomic_bool awaited;
	atomic_bool destroying;
	atomic_bool connected;
	atomic_bool quiet;
	atomic_bool listening;
	atomic_bool ended;
	atomic_bool connect_error;
	atomic_bool accepted;
	bool sync;
	bool made_send_cq;
	bool addrinfo_busy;
	uint8_t initiator_depth;
	uint8_t responder_resources;
	bool ack_timeout_set;
	uint8_t ack_timeout;
	uint16_t ep_connect_len;

	pthread_mutex_t lock;
	struct rcl_ring *ring;
	struct rdma_cm_alt_qp_attr qp_attr;
	struct rcl_init init;
	struct rcl_ece local_ece;
	struct rcl_ece remote_ece;
	uint64_t failed_request;
	struct ibv_qp_init_attr *ep_attr;
	void *ep_connect;

	struct rcl_member *members;
	struct rdma_addrinfo *addrinfo;
};

/* A program may have tens of thousands of them. Sizes of locks differ between architectures. */
_Static_assert(sizeof(struct rcl_id) <= 800 + sizeof(pthread_mutex_t), "an id is too large");

/** rcl_id_of - the private half of a public id; NULL stays NULL */
static inline struct rcl_id *rcl_id_of(struct rdma_cm_id *id)
{
	return (struct rcl_id *)(void *)id;
}

/**
 * rcl_id_new - allocate an id without a handle of the kernel, with a cookie
 * @channel: its channel, or NULL for a synchronous id, which gets its own later
 * @context: of the program
 * @ps: port space
 * @qp_type: type of its QP
 *
 * Return: the id, or NULL when there is no memory
 */
struct rcl_id *rcl_id_new(struct rdma_event_channel *channel, void *context,
			  enum rdma_port_space ps, enum ibv_qp_type qp_type);

/**
 * rcl_id_connected_type - the type of QP that the kernel connects for an id
 * @ps: port space
 * @qp_type: type of the id's QP
 *
 * As with the stock module, only RDMA_PS_IB leaves the choice to the program.
 *
 * Return: an enum ibv_qp_type
 */
uint8_t rcl_id_connected_type(enum rdma_port_space ps, enum ibv_qp_type qp_type);

/**
 * rcl_id_free - free an id that the kernel does not have, or not any more
 * @id: the id; freed with the last reference; rcl_id_get() does not find it any more
 */
void rcl_id_free(struct rcl_id *id);

/**
 * rcl_handle_valid - is this a handle of the kernel?
 * @handle: of an id or a membership
 *
 * Return: true if it is
 */
static inline bool rcl_handle_valid(uint32_t handle)
{
	return handle && handle <= INT32_MAX;
}

/**
 * rcl_id_get - find an id by its cookie, and take a reference
 * @cookie: of an event
 *
 * Return: the id, or NULL when it was freed
 */
struct rcl_id *rcl_id_get(uint64_t cookie);

/**
 * rcl_id_find - find an id by its handle, and take a reference
 * @handle: of the kernel
 *
 * For an event without a cookie: the kernel gets the cookie of a connection request's id in
 * rdma_accept(), and the program may post an event before.
 *
 * Return: the id, or NULL when there is none, or it was freed
 */
struct rcl_id *rcl_id_find(uint32_t handle);

/** rcl_id_find_locked - rcl_id_find() by a caller that holds the lock of the table */
struct rcl_id *rcl_id_find_locked(uint32_t handle);

/**
 * rcl_id_check_created - check and store the handle with which the kernel has created an id
 * @id: the id
 * @handle: of the kernel
 * @queue: the command asked for a queue, too
 * @fd: descriptor of the queue; closed on failure
 *
 * Return: 0, or -EIO when the handle or the descriptor is invalid
 */
int rcl_id_check_created(struct rcl_id *id, uint32_t handle, bool queue, int fd);

/**
 * rcl_id_set_handle - store the handle of an id, unless it is stored
 * @id: the id; another thread may read its first event before the command that creates it returns
 * @handle: of the kernel
 */
void rcl_id_set_handle(struct rcl_id *id, uint32_t handle);

/**
 * rcl_id_put - drop a reference
 * @id: from rcl_id_get()
 */
void rcl_id_put(struct rcl_id *id);

/**
 * rcl_id_count_event - count an event that was read
 * @id: the id
 *
 * Return: false when the id is being destroyed: the event is dropped
 */
bool rcl_id_count_event(struct rcl_id *id);

/**
 * rcl_id_ack - count an acknowledged event
 * @id: the id
 */
void rcl_id_ack(struct rcl_id *id);

/**
 * rcl_id_matches - does an event belong to this id?
 * @id: the id, found by the cookie of the event
 * @handle: valid handle in the event
 * @request: the event is a connection request, for which the id must be listening
 *
 * Return: true if it does
 */
static inline bool rcl_id_matches(const struct rcl_id *id, uint32_t handle, bool request)
{
	uint32_t known = __atomic_load_n(&id->handle, __ATOMIC_ACQUIRE);

	return (!known || known == handle) && (!request || id->listening);
}

/**
 * rcl_begin_revoke - before a command in which the kernel drops or moves events of an id
 * @id: the id
 * @revoking: that of the id, or of a membership if the command drops the events of that alone
 *
 * Such a command counts what was delivered by the head of the ring. So from now on no thread takes
 * these events from the ring: readers wait at the first one until the kernel has taken it back, or
 * the command ends. Until rcl_end_revoke() the thread waits for nothing but the command.
 */
void rcl_begin_revoke(struct rcl_id *id, atomic_uint *revoking);

/**
 * rcl_end_revoke - after the command
 * @revoking: as in rcl_begin_revoke()
 */
void rcl_end_revoke(atomic_uint *revoking);

/** rcl_revoking_here - is this thread in such a command? It has to be in a handler of a signal. */
bool rcl_revoking_here(void);

/** rcl_id_begin_revoke - rcl_begin_revoke() for all events of an id */
static inline void rcl_id_begin_revoke(struct rcl_id *id)
{
	rcl_begin_revoke(id, &id->revoking);
}

/** rcl_id_end_revoke - after the command */
static inline void rcl_id_end_revoke(struct rcl_id *id)
{
	rcl_end_revoke(&id->revoking);
}

/**
 * rcl_id_wait_acked - wait until the program has acknowledged all events of an id
 * @id: the id
 * @reported: number of events that the kernel has delivered; of a shared id only those count that
 *            this process has read
 */
void rcl_id_wait_acked(struct rcl_id *id, uint32_t reported);

/**
 * rcl_id_set_route - store addresses, device and path of an id
 * @id: the id
 * @route: from the kernel; if it names a device that is opened
 *
 * Return: 0, or the negative errno of opening the device
 */
int rcl_id_set_route(struct rcl_id *id, const struct rdma_cm_alt_route *route);

/**
 * rcl_id_query_route - query the kernel for the route of an id, and store it
 * @id: the id
 *
 * Return: 0 or a negative errno
 */
int rcl_id_query_route(struct rcl_id *id);

/** rcl_ids_lock - before fork(): take the lock of the table, and that of every id */
void rcl_ids_lock(void);

/**
 * rcl_ids_unlock - after fork(): release the locks
 * @child: this is the child process
 */
void rcl_ids_unlock(bool child);

#endif /* RCL_CMID_H */
