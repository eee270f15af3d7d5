// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * Datagram sockets in the service thread, which reads the UDP socket, over which peers announce the
 * numbers of their queue pairs, and the events of the ids.
 *
 * Locking: rcl_dgram.gate, and under it rcl_sock.lock.
 */
#include "rsocket/dgram/dserve.h"

#include <errno.h>

#include "base/err.h"
#include "rsocket/channels.h"
#include "rsocket/dgram/local.h"
#include "rsocket/dgram/peer.h"
#include "rsocket/dgram/queue.h"
#include "rsocket/dgram/resolve.h"
#include "rsocket/dgram/udp.h"
#include "rsocket/dgram/way.h"
#include "rsocket/wait.h"

/* Time without answers to unknown senders after one had an address without an adapter. */
#define FAILED_MS 1000

/* Most datagrams that are read from one socket before the thread serves the others. */
#define READ_MOST 32

/* Sends a peer the number of the queue pair. If that is lost, data over UDP requests it again. */
static void answer(const struct rcl_dgram *d, const struct rcl_peer *peer)
{
	struct rcl_udp_header header = {
		.op = RCL_UDP_CONTROL, .qpn = peer->local->id->qp->qp_num,
	};
	uint8_t wire[RCL_UDP_HEADER_MOST];
	size_t len = rcl_udp_pack(wire, &header, &peer->local->addr);

	rcl_udp_send(d->udp, d->sock.family, wire, len, &peer->addr);
}

static bool is_new(const struct rcl_peer *peer, uint32_t qpn)
{
	return !peer->way || peer->way->failed || peer->way->qpn != qpn;
}

/* Processes the number of a peer's queue pair. */
static void heard(struct rcl_dgram *d, struct rcl_peer *peer, uint32_t qpn)
{
	int64_t now = rcl_now_ns();

	peer->heard = now;
	peer->qpn = qpn;
	if (peer->way && peer->way->qpn != qpn)
		rcl_peer_set_way(peer, NULL);
	if (is_new(peer, qpn) && !peer->resolve && now >= peer->retry)
		rcl_resolve_start(d, peer, qpn);
}

static void came(struct rcl_dgram *d, const uint8_t *wire, size_t len, const union rcl_inet *from)
{
	struct rcl_udp_header header;
	struct rcl_peer *peer;
	size_t skip = rcl_udp_unpack(&header, wire, len, from);

	if (!skip)
		return;
	if (header.op == RCL_UDP_DATA)
		rcl_dgram_deliver(d, from, wire + skip, len - skip);
	/*
	 * Without an adapter for the address, the peer continues over UDP. As any host can
	 * send, the lookup is not repeated for each datagram.
	 */
	if (rcl_now_ns() < d->failed_until && !rcl_peer_find(d, from))
		return;
	if (rcl_peer_get(d, from, &peer)) {
		d->failed_until = rcl_deadline(FAILED_MS);
		return;
	}
	if (header.op == RCL_UDP_DATA)
		answer(d, peer);
	heard(d, peer, header.qpn);
}

/* Reads a datagram from the UDP socket; false if there is none. */
static bool read_udp(struct rcl_dgram *d)
{
	uint8_t wire[RCL_SLOT_LEN + RCL_UDP_HEADER_MOST];
	union rcl_inet from;
	ssize_t len = rcl_udp_recv(d->udp, wire, sizeof(wire), &from);

	if (len == -EAGAIN) {
		rcl_udp_drop_errors(d->udp);
		return false;
	}
	/*
	 * Errors concern datagrams that were sent before, for example a port without a receiver. As
	 * with librdmacm they are not reported to the program: the peer may be about to start.
	 */
	if (len >= 0 && (size_t)len <= sizeof(wire))
		came(d, wire, (size_t)len, &from);
	return true;
}

/* Threads that are in calls all the time wait at the gate until the service thread is done. */
static void enter(struct rcl_dgram *d)
{
	pthread_mutex_lock(&d->gate);
	atomic_store(&d->served, true);
	pthread_mutex_lock(&d->sock.lock);
	atomic_store(&d->served, false);
}

static void leave(struct rcl_dgram *d)
{
	pthread_mutex_unlock(&d->sock.lock);
	pthread_mutex_unlock(&d->gate);
}

static void run_udp(struct rcl_task *task)
{
	struct rcl_dgram *d = (void *)((char *)task - offsetof(struct rcl_dgram, udp_task));
	int i;

	/* The thread that drops the last reference waits in rcl_service_remove(). */
	if (!rcl_sock_try_hold(&d->sock))
		return;
	enter(d);
	for (i = 0; i < READ_MOST && read_udp(d); i++)
		;
	leave(d);
	rcl_sock_put(&d->sock);
}

/*
 * Handles an event of the id of a local address: its adapter is being removed. The event is
 * acknowledged before the socket is locked, because rcl_local_get(), with the lock, may destroy the
 * id of an address that it could not set up, which waits for the acknowledgement.
 */
static void local_event(struct rcl_dgram *d, struct rdma_cm_event *event)
{
	const struct rdma_cm_id *id = event->id;
	bool removed = event->event == RDMA_CM_EVENT_DEVICE_REMOVAL;
	struct rcl_local *local;

	rdma_ack_cm_event(event);
	if (!removed)
		return;
	enter(d);
	for (local = d->locals; local; local = local->next) {
		if (local->id != id || local->dead)
			continue;
		rcl_local_kill(d, local);
		d->sock.err = ENODEV;
	}
	rcl_sock_changed(&d->sock);
	leave(d);
}

static void handle(struct rcl_dgram *d, struct rdma_cm_event *event)
{
	struct rcl_resolve *ended;

	if (!event->id->context)
		return local_event(d, event);
	enter(d);
	ended = rcl_resolve_event(d, event);
	leave(d);
	rdma_ack_cm_event(event);
	if (ended)
		rcl_resolve_free(ended);
}

static void run_cm(struct rcl_task *task)
{
	struct rcl_dgram *d = (void *)((char *)task - offsetof(struct rcl_dgram, cm_task));
	struct rdma_cm_event *event;

	if (!rcl_sock_try_hold(&d->sock))
		return;
	while (!rdma_get_cm_event(d->channel, &event))
		handle(d, event);
	rcl_sock_put(&d->sock);
}

/* Reduces queue and buffer to the same number of slots. */
static void fit(uint32_t *queue, uint32_t *buf)
{
	uint32_t slots = *buf / RCL_SLOT_LEN ? *buf / RCL_SLOT_LEN : 1;

	if (!*queue)
		*queue = 1;
	if (*queue > slots)
		*queue = slots;
	else
		*buf = *queue * RCL_SLOT_LEN;
}

static int open_channel(struct rcl_dgram *d)
{
	if (d->channel)
		return 0;
	d->channel = rcl_event_channel();
	if (!d->channel)
		return rcl_errno();
	d->cm_task = (struct rcl_task){
		.run = run_cm, .fd = d->channel->fd, .due = RCL_FOREVER,
	};
	return 0;
}

int rcl_dgram_start(struct rcl_dgram *d)
{
	int ret;

	if (d->started)
		return 0;
	ret = open_channel(d);
	if (!ret && !d->cm_task.added)
		ret = rcl_service_add(&d->cm_task);
	d->udp_task = (struct rcl_task){ .run = run_udp, .fd = d->udp, .due = RCL_FOREVER };
	if (!ret)
		ret = rcl_service_add(&d->udp_task);
	if (ret)
		return ret;
	fit(&d->sock.rq_size, &d->sock.recv_buf);
	fit(&d->sock.sq_size, &d->sock.send_buf);
	d->sock.sized = true;
	d->started = true;
	return 0;
}

void rcl_dgram_stop(struct rcl_dgram *d)
{
	rcl_service_remove(&d->udp_task);
	rcl_service_remove(&d->cm_task);
}
