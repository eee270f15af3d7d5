// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * Events: rdma_get_cm_event(), and what the library does for each event.
 *
 * Locking: the id's lock for its channel; its flags are atomic. An event is counted on its id right
 * after read(), or before it leaves the ring, so that rdma_destroy_id() waits for it. From then on
 * the thread cannot be cancelled.
 */
#include "event/event.h"

#include <stdlib.h>
#include <string.h>

#include "base/cancel.h"
#include "base/compiler.h"
#include "base/err.h"
#include "base/log.h"
#include "base/marshal.h"
#include "core/channel.h"
#include "core/context.h"
#include "core/ring.h"
#include "event/move.h"
#include "event/services.h"
#include "id/cmid.h"
#include "id/members.h"
#include "id/qp.h"
#include "id/report.h"
#include "id/request.h"

static void fill_private_data(struct rcl_event *ev, const void **data,
			      uint8_t *len, const struct rdma_cm_alt_event *rec)
{
	size_t n = rec->private_data_len;

	/* The public length has 8 bits. */
	if (n > UINT8_MAX)
		n = UINT8_MAX;
	if (!n)
		return;
	memcpy(ev->private_data, rec->private_data, n);
	/* The memory may have held the data of another peer. */
	memset(ev->private_data + n, 0, sizeof(ev->private_data) - n);
	*data = ev->private_data;
	*len = (uint8_t)n;
}

static void fill_conn(struct rcl_event *ev, const struct rdma_cm_alt_event *rec)
{
	struct rdma_conn_param *conn = &ev->event.param.conn;

	fill_private_data(ev, &conn->private_data, &conn->private_data_len, rec);
	conn->responder_resources = rec->responder_resources;
	conn->initiator_depth = rec->initiator_depth;
	conn->flow_control = rec->flow_control;
	conn->retry_count = rec->retry_count;
	conn->rnr_retry_count = rec->rnr_retry_count;
	conn->srq = rec->srq;
	conn->qp_num = rec->qp_num;
}

static void fill_ud(struct rcl_event *ev, const struct rdma_cm_alt_event *rec)
{
	struct rdma_ud_param *ud = &ev->event.param.ud;

	fill_private_data(ev, &ud->private_data, &ud->private_data_len, rec);
	rcl_ah_from_kernel(&ud->ah_attr, &rec->ah_attr);
	ud->qp_num = rec->qp_num;
	ud->qkey = rec->qkey;
}

static void fill_param(struct rcl_id *id, struct rcl_event *ev,
		       const struct rdma_cm_alt_event *rec)
{
	if (id->id.qp_type == IBV_QPT_UD)
		fill_ud(ev, rec);
	else
		fill_conn(ev, rec);
}

/* The connection is gone; @ended: a disconnect of either side is complete. */
static void set_ended(struct rcl_id *id, bool ended)
{
	id->connected = false;
	id->ended = ended;
}

static void set_error(struct rcl_event *ev, enum rdma_cm_event_type type,
		      int err)
{
	ev->event.event = type;
	ev->event.status = err;
}

/* Addresses, device and path are in the event, or have to be queried. */
static int set_route(struct rcl_id *id, const struct rdma_cm_alt_event *rec)
{
	if (rec->flags & RDMA_CM_ALT_EVENT_F_ROUTE)
		return rcl_id_set_route(id, &rec->route);
	return rcl_id_query_route(id);
}

static void on_addr_resolved(struct rcl_id *id, struct rcl_event *ev,
			     const struct rdma_cm_alt_event *rec)
{
	int ret = set_route(id, rec);

	if (!ret && !id->id.verbs)
		ret = -ENODEV;
	if (ret)
		set_error(ev, RDMA_CM_EVENT_ADDR_ERROR, ret);
}

static void on_route_resolved(struct rcl_id *id, struct rcl_event *ev,
			      const struct rdma_cm_alt_event *rec)
{
	int ret = set_route(id, rec);

	if (ret)
		set_error(ev, RDMA_CM_EVENT_ROUTE_ERROR, ret);
}

/* No event of this id is delivered: the library does not know it. */
static void reject_request(uint32_t handle)
{
	struct rdma_cm_alt_destroy cmd = { .id = handle };

	RCL_CALL(DESTROY, &cmd);
}

/*
 * The channel for the id of a request. The program may read from a copy of the listener's channel
 * struct, and free it: prefer the listener's own. *sync: the listener owns the channel.
 */
static struct rdma_event_channel *listener_channel(struct rcl_id *listener,
						   struct rdma_event_channel *channel, bool *sync)
{
	pthread_mutex_lock(&listener->lock);
	*sync = listener->sync && listener->id.channel == channel;
	if ((listener->sync ? listener->id.channel->fd : listener->fd) == channel->fd)
		channel = listener->id.channel;
	pthread_mutex_unlock(&listener->lock);
	return channel;
}

static int on_connect_request(struct rcl_id *listener,
			      struct rdma_event_channel *channel,
			      struct rcl_event *ev,
			      const struct rdma_cm_alt_event *rec)
{
	struct rdma_event_channel *preferred;
	struct rcl_id *child;
	bool sync;
	int ret;

	preferred = listener_channel(listener, channel, &sync);
	/*
	 * On the channel of the request, as the listener may be moving to another one. The id of a
	 * synchronous listener gets a queue of its own below.
	 */
	child = rcl_id_new(channel, listener->id.context, listener->id.ps, listener->id.qp_type);
	if (!child) {
		ret = -ENOMEM;
		goto refuse;
	}
	child->id.channel = preferred;
	rcl_id_set_handle(child, rec->id);
	rcl_request_settle(child);
	child->initiator_depth = rec->initiator_depth;
	child->responder_resources = rec->responder_resources;
	if (rec->flags & RDMA_CM_ALT_EVENT_F_ECE) {
		child->remote_ece.vendor_id = rec->ece_vendor_id;
		child->remote_ece.options = rec->ece_attr_mod;
	}
	rcl_qp_cache_attr(child, rec);
	ret = set_route(child, rec);
	if (!ret && sync)
		ret = rcl_id_move(child, NULL);
	if (ret)
		goto refuse;

	fill_param(listener, ev, rec);
	ev->event.listen_id = &listener->id;
	ev->event.id = &child->id;
	return RCL_DELIVER;

refuse:
	rcl_log("rdma_get_cm_event: a connection request to id %u is rejected: %s",
		listener->handle, strerror(-ret));
	reject_request(rec->id);
	if (child)
		rcl_id_free(child);
	/* Without a descriptor for its queue the read fails, like accept(2). */
	return sync ? ret : RCL_DROP;
}

/* For an id that was resolved and connected in one call this event is the first with the device. */
static int set_device(struct rcl_id *id, const struct rdma_cm_alt_event *rec)
{
	int ret;

	if (id->id.verbs)
		return 0;
	ret = set_route(id, rec);
	if (ret)
		return ret;
	if (!id->id.verbs)
		return -ENODEV;
	if (!id->id.qp)
		return 0;
	if (rec->route.node_guid != ibv_get_device_guid(id->id.qp->context->device))
		return -ENODEV;
	/* A UD QP can move to RTS now. A connected QP moves when the peer has accepted. */
	return id->id.qp_type == IBV_QPT_UD ? rcl_qp_start(id, id->id.qp) : 0;
}

static void connect_error(struct rcl_id *id, struct rcl_event *ev, int err)
{
	rcl_log("id %u: the peer accepted, but the connection failed here: %s", id->handle,
		strerror(-err));
	id->connect_error = true;
	set_error(ev, RDMA_CM_EVENT_CONNECT_ERROR, err);
}

static void on_connect_response(struct rcl_id *id, struct rcl_event *ev,
				const struct rdma_cm_alt_event *rec)
{
	struct rcl_ece remote = { 0 };
	int ret;

	fill_conn(ev, rec);
	ret = set_device(id, rec);
	if (ret) {
		connect_error(id, ev, ret);
		return;
	}
	if (rec->flags & RDMA_CM_ALT_EVENT_F_ECE) {
		remote.vendor_id = rec->ece_vendor_id;
		remote.options = rec->ece_attr_mod;
	}
	if (!id->id.qp) {
		id->remote_ece = remote;
		return;
	}
	ret = rcl_qp_establish(id, &remote);
	if (!ret) {
		ev->event.event = RDMA_CM_EVENT_ESTABLISHED;
		id->connected = true;
		return;
	}
	connect_error(id, ev, ret);
}

static void on_established(struct rcl_id *id, struct rcl_event *ev,
			   const struct rdma_cm_alt_event *rec)
{
	int ret = set_device(id, rec);

	fill_param(id, ev, rec);
	if (ret)
		connect_error(id, ev, ret);
	else
		id->connected = id->id.qp_type != IBV_QPT_UD;
}

static int on_multicast(struct rcl_id *id, struct rcl_event *ev,
			const struct rdma_cm_alt_event *rec)
{
	struct rdma_ud_param *ud = &ev->event.param.ud;
	struct rcl_member *member = rcl_member_get(id, rec->user_arg);
	int ret;

	if (!member) {
		rcl_log("id %u: event %u for a group that it left is dropped",
			id->handle, rec->type);
		return RCL_DROP;
	}
	rcl_member_set_handle(member, rec->member);
	rcl_member_count_event(id, member);
	ev->member = rec->user_arg;
	if (rec->type == RDMA_CM_ALT_EVENT_MULTICAST_JOIN) {
		fill_ud(ev, rec);
		ret = rcl_member_joined(id, member, &ud->ah_attr);
		if (ret)
			set_error(ev, RDMA_CM_EVENT_MULTICAST_ERROR, ret);
	}
	ud->private_data = member->context;
	rcl_member_put(member);
	return RCL_DELIVER;
}

/* No result follows: the id may resolve again. */
static void addrinfo_failed(struct rcl_id *id)
{
	pthread_mutex_lock(&id->lock);
	if (!id->addrinfo)
		id->addrinfo_busy = false;
	pthread_mutex_unlock(&id->lock);
}

/* The result of a name is stored already, that of a service is still in the kernel. */
static void on_addrinfo_resolved(struct rcl_id *id, struct rcl_event *ev,
				 const struct rdma_cm_alt_event *rec)
{
	struct rdma_addrinfo *list = NULL, *old;
	int ret;

	if (!(rec->flags & RDMA_CM_ALT_EVENT_F_ROUTE))
		return;
	ret = set_route(id, rec);
	if (!ret)
		ret = rcl_services_get(id, &list);
	if (ret) {
		set_error(ev, (enum rdma_cm_event_type)RDMA_CM_ALT_EVENT_ADDRINFO_ERROR, ret);
		addrinfo_failed(id);
		return;
	}
	pthread_mutex_lock(&id->lock);
	old = id->addrinfo;
	id->addrinfo = list;
	pthread_mutex_unlock(&id->lock);
	rdma_freeaddrinfo(old);
}

static int handle_record(struct rcl_id *id, struct rdma_event_channel *channel,
			 struct rcl_event *ev, const struct rdma_cm_alt_event *rec)
{
	ev->event.id = &id->id;
	ev->event.event = (enum rdma_cm_event_type)rec->type;
	ev->event.status = rec->status;
	if (rec->type != RDMA_CM_ALT_EVENT_CONNECT_REQUEST) {
		rcl_qp_cache_attr(id, rec);
		if (rec->id)
			rcl_id_set_handle(id, rec->id);
	}

	switch (rec->type) {
	case RDMA_CM_ALT_EVENT_ADDR_RESOLVED:
		on_addr_resolved(id, ev, rec);
		break;
	case RDMA_CM_ALT_EVENT_ROUTE_RESOLVED:
		on_route_resolved(id, ev, rec);
		break;
	case RDMA_CM_ALT_EVENT_CONNECT_REQUEST:
		return on_connect_request(id, channel, ev, rec);
	case RDMA_CM_ALT_EVENT_CONNECT_RESPONSE:
		on_connect_response(id, ev, rec);
		break;
	case RDMA_CM_ALT_EVENT_ESTABLISHED:
		on_established(id, ev, rec);
		break;
	case RDMA_CM_ALT_EVENT_REJECTED:
		/* Also for an established connection: no DISCONNECTED follows. */
		id->connected = false;
		if (id->connect_error)
			return RCL_DROP;
		fill_conn(ev, rec);
		rcl_qp_error(id);
		break;
	case RDMA_CM_ALT_EVENT_DISCONNECTED:
		set_ended(id, true);
		if (id->connect_error)
			return RCL_DROP;
		fill_conn(ev, rec);
		break;
	case RDMA_CM_ALT_EVENT_TIMEWAIT_EXIT:
		rcl_qp_drop_attr(id);
		fill_param(id, ev, rec);
		break;
	case RDMA_CM_ALT_EVENT_DEVICE_REMOVAL:
		rcl_qp_drop_attr(id);
		set_ended(id, false);
		fill_param(id, ev, rec);
		break;
	case RDMA_CM_ALT_EVENT_UNREACHABLE:
		/* Established, it goes on: the neighbour has another address. */
		if (id->quiet)
			id->connected = false;
		fill_param(id, ev, rec);
		break;
	case RDMA_CM_ALT_EVENT_CONNECT_ERROR:
		id->connected = false;
		fill_param(id, ev, rec);
		break;
	case RDMA_CM_ALT_EVENT_MULTICAST_JOIN:
	case RDMA_CM_ALT_EVENT_MULTICAST_ERROR:
		return on_multicast(id, ev, rec);
	case RDMA_CM_ALT_EVENT_ADDRINFO_RESOLVED:
		on_addrinfo_resolved(id, ev, rec);
		break;
	case RDMA_CM_ALT_EVENT_ADDRINFO_ERROR:
		addrinfo_failed(id);
		break;
	case RDMA_CM_ALT_EVENT_SKIP:
		return RCL_DROP;
	case RDMA_CM_ALT_EVENT_USER:
		memcpy(&ev->event.param, &rec->user_arg, sizeof(rec->user_arg));
		ev->event.status = rec->user_status;
		break;
	default:
		fill_param(id, ev, rec);
		break;
	}
	return RCL_DELIVER;
}

static int handle_claimed(struct rdma_event_channel *channel, struct rcl_claim claim,
			  const struct rdma_cm_alt_event *rec, struct rcl_event *ev)
{
	struct rcl_id *id = claim.id;
	int ret;

	memset(&ev->event, 0, sizeof(ev->event));
	ev->member = 0;
	if (!claim.counted) {
		if (id)
			rcl_id_put(id);
		rcl_log("event %u for an id that is destroyed is dropped", rec->type);
		if (rec->type == RDMA_CM_ALT_EVENT_CONNECT_REQUEST)
			reject_request(rec->id);
		return RCL_DROP;
	}
	ev->cookie = id->cookie;
	ret = handle_record(id, channel, ev, rec);
	if (ret == RCL_DELIVER)
		rcl_log_event(id, &ev->event);
	else
		rcl_id_ack(id);
	rcl_id_put(id);
	return ret;
}

int rcl_event_handle(struct rdma_event_channel *channel, struct rcl_claim claim,
		     const struct rdma_cm_alt_event *rec, struct rcl_event *ev)
{
	int ret;

	rcl_event_claim_late(rec, &claim);
	ret = handle_claimed(channel, claim, rec, ev);
	if (rec->type == RDMA_CM_ALT_EVENT_CONNECT_REQUEST)
		rcl_request_end();
	return ret;
}

/* With cancellation disabled; @ring and @rec: from rcl_channel_next() or rcl_channel_peek(). */
static int take_event(struct rdma_event_channel *channel, struct rcl_ring *ring,
		      const union rcl_record *rec, struct rcl_event *ev, unsigned int *pauses)
{
	struct rcl_claim claim;

	if (rcl_event_take(&rec->event, ring, &claim))
		return rcl_event_handle(channel, claim, &rec->event, ev);
	return rcl_event_pause(pauses) ?: RCL_DROP;
}

/* Blocks until there is an event that is delivered; the thread may be cancelled meanwhile. */
static int wait_for_event(struct rdma_event_channel *channel, union rcl_record *rec,
			  struct rcl_event *ev, unsigned int *pauses)
{
	struct rcl_ring *ring;
	int ret, cancel;

	pthread_cleanup_push(free, ev);
	do {
		pthread_testcancel();
		ret = rcl_channel_next(channel, rec, &ring);
		if (ret)
			break;
		cancel = rcl_cancel_disable();
		ret = take_event(channel, ring, rec, ev, pauses);
		rcl_cancel_restore(cancel);
	} while (ret == RCL_DROP);
	pthread_cleanup_pop(0);
	return ret;
}

int rcl_event_next(struct rdma_event_channel *channel,
		   struct rdma_cm_event **out)
{
	unsigned int pauses = 0;
	union rcl_record rec;
	struct rcl_ring *ring;
	struct rcl_event *ev;
	int ret, cancel;

	pthread_testcancel();
	/* Allocate before the read: an event that was read must not be lost. */
	ev = rcl_event_alloc();
	if (!ev)
		return -ENOMEM;
	/* An event in the ring needs no handler for a thread that is cancelled. */
	cancel = rcl_cancel_disable();
	ring = rcl_channel_peek(channel, &rec);
	ret = ring ? take_event(channel, ring, &rec, ev, &pauses) : RCL_DROP;
	rcl_cancel_restore(cancel);
	if (ret == RCL_DROP)
		ret = wait_for_event(channel, &rec, ev, &pauses);
	if (ret) {
		rcl_event_free(ev);
		return ret;
	}
	*out = &ev->event;
	return 0;
}

RCL_EXPORT int rdma_get_cm_event(struct rdma_event_channel *channel,
				 struct rdma_cm_event **event)
{
	int ret;

	if (!channel || !event)
		return rcl_fail(-EINVAL, __func__, "no channel, or no pointer for the event");
	if (rcl_refuse_channel(channel, __func__))
		return -1;
	ret = rcl_event_next(channel, event);
	if (ret == -EAGAIN || ret == -EINTR) {
		errno = -ret;
		return -1;
	}
	if (ret)
		return rcl_fail(ret, __func__, "cannot read from channel fd %d",
				channel->fd);
	return 0;
}
