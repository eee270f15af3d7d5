// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * The private half of an id: allocation, references, event counters, ring, route.
 *
 * Locking: the id's lock for its ring and its second path; its counters and flags are atomic.
 * rcl_acks_lock, outside of it, to wait for acknowledgements. References of the table keep an id
 * while an event of it is handled. The locks of all ids are taken under the table's lock and
 * rcl_acks_lock, and only over fork(). The lock of a ring is outside of all.
 */
#include "id/cmid.h"

#include <stdlib.h>
#include <string.h>

#include "base/cancel.h"
#include "base/log.h"
#include "base/marshal.h"
#include "base/sockaddr.h"
#include "base/sys.h"
#include "base/table.h"
#include "core/channel.h"
#include "core/context.h"
#include "core/process.h"
#include "core/ring.h"
#include "id/members.h"

_Static_assert(offsetof(struct rcl_id, id) == 0, "the public half must be first");

/* The commands of this thread that take records back: more than 0 in a handler of a signal. */
static __thread unsigned int revoking_here;

/* There was a fork(): two processes may read the channel of an id, also of one that is new. */
static atomic_bool forked;

static void lock_id(void *object, void *arg)
{
	struct rcl_id *id = object;

	(void)arg;
	pthread_mutex_lock(&id->lock);
}

static void unlock_id(void *object, void *arg)
{
	const bool *child = arg;
	struct rcl_id *id = object;

	id->shared = true;
	if (*child) {
		/* Threads that hold events of the id, or destroy it, exist only in the parent. */
		id->events_acked = id->events_taken;
		id->destroying = false;
		if (!revoking_here)
			id->revoking = 0;
	}
	pthread_mutex_unlock(&id->lock);
}

void rcl_ids_lock(void)
{
	rcl_table_lock();
	pthread_mutex_lock(&rcl_acks_lock);
	rcl_table_each(RCL_KIND_ID, lock_id, NULL);
}

void rcl_ids_unlock(bool child)
{
	forked = true;
	if (child)
		rcl_members_in_child(revoking_here);
	rcl_table_each(RCL_KIND_ID, unlock_id, &child);
	if (child)
		pthread_cond_init(&rcl_acked, NULL);
	pthread_mutex_unlock(&rcl_acks_lock);
	rcl_table_unlock();
}

static void free_id(struct rcl_id *id)
{
	rcl_ring_put(id->ring);
	pthread_mutex_destroy(&id->lock);
	free(id);
}

struct rcl_id *rcl_id_new(struct rdma_event_channel *channel, void *context,
			  enum rdma_port_space ps, enum ibv_qp_type qp_type)
{
	struct rcl_id *id = calloc(1, sizeof(*id));

	if (!id)
		return NULL;
	pthread_mutex_init(&id->lock, NULL);
	id->id.channel = channel;
	id->fd = channel ? channel->fd : -1;
	id->ring = channel ? rcl_ring_get(channel->fd) : NULL;
	id->id.context = context;
	id->id.ps = ps;
	id->id.qp_type = qp_type;
	id->sync = !channel;
	id->maker = rcl_process;
	/* Last: a fork() in another thread takes the lock of each id of the table. */
	id->cookie = rcl_table_add(RCL_KIND_ID, id);
	if (!id->cookie) {
		free_id(id);
		return NULL;
	}
	/* After that: if a fork() comes later, it sets the flag of this id. */
	if (forked)
		id->shared = true;
	return id;
}

/* After the last reference: no other thread can find the id. */
static void id_release(struct rcl_id *id)
{
	if (id->handle)
		rcl_context_drop();
	rcl_device_unbind(id->device);
	if (id->sync)
		rcl_channel_close(id->id.channel);
	free(id->two_paths);
	free(id->ep_attr);
	free(id->ep_connect);
	rcl_members_free(id);
	rdma_freeaddrinfo(id->addrinfo);
	free_id(id);
}

void rcl_id_free(struct rcl_id *id)
{
	if (rcl_table_kill(id->cookie))
		id_release(id);
}

struct rcl_id *rcl_id_get(uint64_t cookie)
{
	return rcl_table_get(RCL_KIND_ID, cookie);
}

struct search {
	uint32_t handle;
	struct rcl_id *found;
};

static void match_handle(void *object, void *arg)
{
	struct search *search = arg;
	struct rcl_id *id = object;

	if (!search->found && __atomic_load_n(&id->handle, __ATOMIC_ACQUIRE) == search->handle)
		search->found = rcl_id_get(id->cookie);
}

struct rcl_id *rcl_id_find_locked(uint32_t handle)
{
	struct search search = { .handle = handle };

	rcl_table_each(RCL_KIND_ID, match_handle, &search);
	return search.found;
}

struct rcl_id *rcl_id_find(uint32_t handle)
{
	struct rcl_id *id;

	rcl_table_lock();
	id = rcl_id_find_locked(handle);
	rcl_table_unlock();
	return id;
}

void rcl_id_set_handle(struct rcl_id *id, uint32_t handle)
{
	uint32_t none = 0;

	if (__atomic_load_n(&id->handle, __ATOMIC_ACQUIRE))
		return;
	if (__atomic_compare_exchange_n(&id->handle, &none, handle, false, __ATOMIC_ACQ_REL,
					__ATOMIC_ACQUIRE))
		rcl_context_hold();
}

int rcl_id_check_created(struct rcl_id *id, uint32_t handle, bool queue, int fd)
{
	if (rcl_handle_valid(handle))
		rcl_id_set_handle(id, handle);
	if (rcl_handle_valid(handle) && (fd >= 0 || !queue))
		return 0;
	rcl_log("the kernel created an id with handle %u and queue %d: invalid", handle, fd);
	if (queue && fd >= 0)
		rcl_sys->close(fd);
	return -EIO;
}

void rcl_id_put(struct rcl_id *id)
{
	if (rcl_table_put(id->cookie))
		id_release(id);
}

bool rcl_id_count_event(struct rcl_id *id)
{
	id->events_taken++;
	/*
	 * rdma_destroy_id() waits for the events that the kernel has delivered, this one among
	 * them, unless the id is shared: then only for those that this process has counted. It
	 * sets the flag before it reads the counters, and reads them again after this ack.
	 */
	if (!id->shared || !id->destroying)
		return true;
	rcl_id_ack(id);
	return false;
}

void rcl_id_ack(struct rcl_id *id)
{
	id->events_acked++;
	/* Either this thread sees that another one waits, or that one sees the new number. */
	if (id->awaited)
		rcl_acks_wake();
}

void rcl_begin_revoke(struct rcl_id *id, atomic_uint *revoking)
{
	struct rcl_ring *ring;

	/*
	 * Together: if another thread moves the id later, the flag is set already when there are
	 * events of the id in its next ring.
	 */
	revoking_here++;
	pthread_mutex_lock(&id->lock);
	++*revoking;
	ring = rcl_ring_hold(id->ring);
	pthread_mutex_unlock(&id->lock);
	/* A thread that has not seen the flag takes an event with the lock of the ring held. */
	rcl_ring_lock(ring);
	rcl_ring_unlock(ring);
	rcl_ring_put(ring);
}

void rcl_end_revoke(atomic_uint *revoking)
{
	--*revoking;
	revoking_here--;
}

bool rcl_revoking_here(void)
{
	return revoking_here;
}

/* The number of events to wait for, which is not positive when there are none. */
static int32_t missing_acks(const struct rcl_id *id, uint32_t reported)
{
	uint32_t acked = id->events_acked;

	/* After the other counter: an event that is dropped counts in both. */
	if (id->shared && id->destroying)
		reported = id->events_taken;
	return (int32_t)(reported - acked);
}

void rcl_id_wait_acked(struct rcl_id *id, uint32_t reported)
{
	if (id->shared)
		reported = id->events_taken;
	if (missing_acks(id, reported) <= 0)
		return;
	rcl_log("id %u: waits for rdma_ack_cm_event of %d more events", id->handle,
		missing_acks(id, reported));
	pthread_mutex_lock(&rcl_acks_lock);
	id->awaited = true;
	while (missing_acks(id, reported) > 0)
		rcl_cond_wait(&rcl_acked, &rcl_acks_lock);
	pthread_mutex_unlock(&rcl_acks_lock);
}

int rcl_id_set_route(struct rcl_id *id, const struct rdma_cm_alt_route *route)
{
	struct ibv_sa_path_rec *to = &id->path;
	struct rdma_route *r = &id->id.route;
	int i, ret, paths = route->num_paths;

	rcl_addr_from_kernel(&r->addr.src_storage, &route->src);
	rcl_addr_from_kernel(&r->addr.dst_storage, &route->dst);
	/* As with librdmacm, an unset destination has the family of the source. */
	if (!r->addr.dst_storage.ss_family)
		r->addr.dst_storage.ss_family = r->addr.src_storage.ss_family;
	if (!route->node_guid)
		return 0;
	if (!id->device) {
		ret = rcl_device_bind(route->node_guid, route->ibdev_index, &id->device);
		if (ret)
			return ret;
		id->id.pd = id->device->pd;
		id->id.verbs = id->device->verbs;
	}
	id->id.port_num = route->port_num;
	r->addr.addr.ibaddr.pkey = route->pkey;
	memcpy(r->addr.addr.ibaddr.sgid.raw, route->sgid, sizeof(route->sgid));
	memcpy(r->addr.addr.ibaddr.dgid.raw, route->dgid, sizeof(route->dgid));
	if (paths > 1) {
		paths = 2;
		pthread_mutex_lock(&id->lock);
		if (!id->two_paths)
			id->two_paths = calloc(2, sizeof(*id->two_paths));
		to = id->two_paths;
		pthread_mutex_unlock(&id->lock);
		if (!to)
			return -ENOMEM;
	}
	for (i = 0; i < paths; i++)
		rcl_path_from_kernel(&to[i], &route->path[i]);
	if (paths) {
		r->path_rec = to;
		r->num_paths = paths;
	}
	return 0;
}

int rcl_id_query_route(struct rcl_id *id)
{
	struct rdma_cm_alt_query cmd = { .id = id->handle };
	int ret;

	ret = RCL_CALL(QUERY, &cmd);
	return ret ? ret : rcl_id_set_route(id, &cmd.out_route);
}

uint8_t rcl_id_connected_type(enum rdma_port_space ps, enum ibv_qp_type qp_type)
{
	switch (ps) {
	case RDMA_PS_TCP:
		return IBV_QPT_RC;
	case RDMA_PS_UDP:
	case RDMA_PS_IPOIB:
		return IBV_QPT_UD;
	default:
		return (uint8_t)qp_type;
	}
}
