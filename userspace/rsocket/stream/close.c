// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * The end of a stream.
 *
 * rclose() sends DISCONNECT and waits until all work requests have completed, because the process
 * may end afterwards. The time is limited by SO_LINGER, or else LINGER_MS. rclose() of a
 * nonblocking socket does not wait: the service thread does, with a reference, and the process does
 * not end before. rshutdown() does not wait either: if the peer does not receive, the message is
 * sent later.
 *
 * Locking: rcl_sock.lock.
 */
#include "rsocket/stream/close.h"

#include <errno.h>
#include <stdlib.h>

#include "rsocket/stream/alive.h"
#include "rsocket/stream/endpoint.h"
#include "rsocket/stream/events.h"
#include "rsocket/stream/listener.h"
#include "rsocket/stream/maps.h"
#include "rsocket/stream/post.h"
#include "rsocket/stream/progress.h"
#include "rsocket/wait.h"

/* Time for sending after rclose() without SO_LINGER. */
#define LINGER_MS 10000
#define MS_PER_S 1000LL

static void shut(struct rcl_stream *s, int how)
{
	bool recv = s->can_recv && how != SHUT_WR, send = s->can_send && how != SHUT_RD;
	bool both = (recv || !s->can_recv) && (send || !s->can_send);

	s->can_recv = s->can_recv && !recv;
	s->can_send = s->can_send && !send;
	s->shut_send = s->shut_send || send;
	/* There is no message for SHUT_RD alone. */
	if (send || (recv && both))
		rcl_stream_tell(s, both ? RCL_CONTROL_DISCONNECT : RCL_CONTROL_SHUTDOWN);
	rcl_stream_wake(s);
}

int rcl_stream_shutdown(struct rcl_sock *sock, int how)
{
	struct rcl_stream *s = rcl_stream_of(sock);

	if (how != SHUT_RD && how != SHUT_WR && how != SHUT_RDWR)
		return -EINVAL;
	if (s->state == RCL_STREAM_DOWN)
		return 0;
	if (s->state != RCL_STREAM_UP)
		return -ENOTCONN;
	shut(s, how);
	return s->tx.owed ? rcl_stream_look_later(s) : 0;
}

static bool all_done(struct rcl_stream *s)
{
	return s->state != RCL_STREAM_UP || rcl_tx_all_done(s);
}

static int64_t linger_until(const struct rcl_stream *s)
{
	int64_t ms = s->sock.linger_s < 0 ? LINGER_MS : s->sock.linger_s * MS_PER_S;

	return rcl_deadline(ms);
}

/* Waits until all was sent; false if the service thread waits instead. */
static bool wait_for_sends(struct rcl_stream *s)
{
	int64_t deadline = linger_until(s);
	int ret;

	/* A signal does not end the wait, which would lose data. */
	do {
		ret = rcl_stream_wait(s, all_done, true, s->sock.nonblock ? 0 : deadline);
	} while (ret == -EINTR);
	return ret != -EAGAIN || !s->sock.nonblock || !rcl_stream_finish_later(s, deadline);
}

static void say_goodbye(struct rcl_stream *s)
{
	rcl_stream_progress(s);
	/* A stream that was never allowed to send has no data that could be lost. */
	if (s->sock.linger_s && !s->tx.mute) {
		if (s->can_send || s->can_recv)
			shut(s, SHUT_RDWR);
		if (!wait_for_sends(s))
			return;
	}
	/* Lets calls of other threads return. */
	rcl_stream_broken(s, 0);
	rcl_endpoint_fail(s);
}

void rcl_stream_end(struct rcl_sock *sock)
{
	struct rcl_stream *s = rcl_stream_of(sock);

	s->closed = true;
	if (s->state == RCL_STREAM_UP)
		say_goodbye(s);
	if (s->state < RCL_STREAM_UP && s->state != RCL_STREAM_LISTENING)
		s->state = RCL_STREAM_FAILED;
	rcl_stream_wake(s);
	if (s->state != RCL_STREAM_LISTENING)
		return;
	pthread_mutex_unlock(&sock->lock);
	rcl_listener_end(s);
	pthread_mutex_lock(&sock->lock);
}

void rcl_stream_free(struct rcl_sock *sock)
{
	struct rcl_stream *s = rcl_stream_of(sock);

	rcl_service_remove(&s->alive);
	rcl_maps_free(s);
	if (s->id) {
		pthread_mutex_lock(&s->events->reading);
		rcl_endpoint_destroy(s);
		pthread_mutex_unlock(&s->events->reading);
		rdma_destroy_id(s->id);
	}
	rcl_events_put(s->events);
	free(s->route);
	rcl_sock_fini(sock);
	free(s);
}
