// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * The queue of received datagrams. Completions are handled by threads in calls. A datagram stays in
 * the buffer of the receive until the program reads it. While all buffers are full, the adapter
 * drops datagrams.
 *
 * Locking: rcl_sock.lock.
 */
#include "rsocket/dgram/queue.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "rsocket/dgram/local.h"
#include "rsocket/dgram/peer.h"
#include "rsocket/wait.h"

#define BATCH 16

/* Whether the program gets datagrams of this sender. */
static bool is_wanted(const struct rcl_dgram *d, const union rcl_inet *from)
{
	union rcl_inet name;

	if (d->shut_recv || !rcl_inet_give(&name, from, d->sock.family))
		return false;
	return !d->connected || rcl_inet_equal(from, &d->peer);
}

/* Sets the scope of a link-local address to the link of the local address. */
static void add_scope(union rcl_inet *from, const struct rcl_local *local)
{
	if (from->sa.sa_family == AF_INET6 && IN6_IS_ADDR_LINKLOCAL(&from->sin6.sin6_addr) &&
	    local->addr.sa.sa_family == AF_INET6)
		from->sin6.sin6_scope_id = local->addr.sin6.sin6_scope_id;
}

/* Queues the datagram in a buffer; false if it is not for the program. */
static bool take(struct rcl_dgram *d, struct rcl_local *local, const struct ibv_wc *wc)
{
	struct rcl_datagram *gram = &local->slots[wc->wr_id];
	const uint8_t *wire = rcl_local_received(local, gram->slot);
	struct rcl_peer *peer;
	size_t len, header;

	if (wc->byte_len < sizeof(struct ibv_grh))
		return false;
	len = wc->byte_len - sizeof(struct ibv_grh);
	header = len <= RCL_SLOT_LEN ? rcl_ud_unpack(&gram->from, wire, len) : 0;
	if (!header)
		return false;
	add_scope(&gram->from, local);
	/* librdmacm sends port 0 if its first send has bound the socket; UDP knows the port. */
	if (rcl_inet_port(&gram->from))
		peer = rcl_peer_find(d, &gram->from);
	else
		peer = rcl_peer_by_qp(d, &gram->from, wc->src_qp);
	if (peer) {
		gram->from.sin.sin_port = rcl_inet_port(&peer->addr);
		peer->heard = rcl_now_ns();
	}
	if (!is_wanted(d, &gram->from))
		return false;
	gram->data = wire + header;
	gram->len = len - header;
	STAILQ_INSERT_TAIL(&d->queue, gram, next);
	return true;
}

static unsigned int handle_receives(struct rcl_dgram *d, struct rcl_local *local)
{
	struct ibv_wc wc[BATCH];
	unsigned int taken = 0;
	int i, count;

	do {
		count = ibv_poll_cq(local->recv_cq.cq, BATCH, wc);
		for (i = 0; i < count; i++) {
			if (wc[i].status == IBV_WC_WR_FLUSH_ERR)
				local->dead = true;
			else if (wc[i].status == IBV_WC_SUCCESS && take(d, local, &wc[i]))
				taken++;
			else
				rcl_local_post_recv(local, (uint32_t)wc[i].wr_id);
		}
	} while (count == BATCH);
	if (count < 0)
		local->dead = true;
	return taken;
}

void rcl_dgram_give_way(struct rcl_dgram *d)
{
	if (!atomic_load_explicit(&d->served, memory_order_relaxed))
		return;
	pthread_mutex_unlock(&d->sock.lock);
	pthread_mutex_lock(&d->gate);
	pthread_mutex_unlock(&d->gate);
	pthread_mutex_lock(&d->sock.lock);
}

void rcl_dgram_progress(struct rcl_dgram *d)
{
	struct rcl_local *local;
	unsigned int taken = 0;

	for (local = d->locals; local; local = local->next) {
		if (!local->dead)
			taken += handle_receives(d, local);
	}
	if (taken)
		rcl_sock_changed(&d->sock);
}

void rcl_dgram_deliver(struct rcl_dgram *d, const union rcl_inet *from, const uint8_t *data,
		       size_t len)
{
	struct rcl_datagram *gram;

	/* A sender that is no rsocket may send more than a slot can hold. */
	if (d->udp_count >= d->sock.rq_size || len > RCL_SLOT_LEN || !is_wanted(d, from))
		return;
	gram = malloc(sizeof(*gram) + len);
	if (!gram)
		return;
	/* First the datagrams that have arrived at queue pairs before. */
	rcl_dgram_progress(d);
	memcpy(gram + 1, data, len);
	*gram = (struct rcl_datagram){
		.from = *from, .data = (const uint8_t *)(gram + 1), .len = len,
	};
	STAILQ_INSERT_TAIL(&d->queue, gram, next);
	d->udp_count++;
	rcl_sock_changed(&d->sock);
}

void rcl_dgram_drop(struct rcl_dgram *d)
{
	struct rcl_datagram *gram = STAILQ_FIRST(&d->queue);

	STAILQ_REMOVE_HEAD(&d->queue, next);
	if (gram->local) {
		rcl_local_post_recv(gram->local, gram->slot);
		return;
	}
	d->udp_count--;
	free(gram);
}

bool rcl_dgram_can_send(struct rcl_local *local)
{
	if (local->free_count <= local->sq_size / 2)
		rcl_local_reap(local);
	return local->free_count || local->dead;
}

void rcl_dgram_arm(struct rcl_dgram *d, bool sends)
{
	struct rcl_local *local;

	for (local = d->locals; local; local = local->next) {
		if (local->dead)
			continue;
		rcl_cq_arm(&local->recv_cq);
		if (sends && local->free_count < local->sq_size)
			rcl_cq_arm(&local->send_cq);
	}
}

void rcl_dgram_drain(struct rcl_dgram *d)
{
	struct rcl_local *local;
	struct ibv_cq *told;
	void *context;
	bool any = false;

	for (local = d->locals; local; local = local->next) {
		while (!ibv_get_cq_event(local->comp, &told, &context)) {
			rcl_cq_told(told == local->recv_cq.cq ? &local->recv_cq : &local->send_cq);
			any = true;
		}
		if (errno != EAGAIN && errno != EINTR)
			rcl_local_kill(d, local);
	}
	/* A thread that is about to sleep may rely on the queue being armed. */
	if (any)
		rcl_sock_changed(&d->sock);
}

static int sleep_until(struct rcl_dgram *d, int64_t deadline)
{
	struct pollfd fds[2] = { { .fd = d->sock.fd, .events = POLLIN } };
	int ret = rcl_sleep_on(&d->sock, fds, 1, deadline, NULL);

	if (ret > 0)
		rcl_dgram_drain(d);
	return ret > 0 ? 0 : ret ? ret : -EAGAIN;
}

/* Sleeps until the condition may have become true. */
static int sleep_for(struct rcl_dgram *d, bool (*test)(struct rcl_dgram *d, void *arg), void *arg,
		     bool sends, int64_t deadline)
{
	int ret = 0;

	while (!ret) {
		/* There is no event for completions from before the arming. */
		rcl_dgram_arm(d, sends);
		rcl_dgram_progress(d);
		if (test(d, arg))
			break;
		ret = sleep_until(d, deadline);
	}
	return ret;
}

int rcl_dgram_wait(struct rcl_dgram *d, bool (*test)(struct rcl_dgram *d, void *arg), void *arg,
		   bool sends, int64_t deadline)
{
	int64_t begin, end;
	int ret = 0;

	rcl_dgram_give_way(d);
	rcl_dgram_progress(d);
	if (test(d, arg))
		return 0;
	if (!deadline)
		return -EAGAIN;
	begin = rcl_now_ns();
	end = begin + rcl_spin_ns(&d->spin);
	while (!test(d, arg)) {
		if (rcl_now_ns() >= end) {
			ret = sleep_for(d, test, arg, sends, deadline);
			break;
		}
		rcl_dgram_give_way(d);
		rcl_dgram_progress(d);
	}
	rcl_spin_learn(&d->spin, rcl_now_ns() - begin);
	return ret;
}
