// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * The end of a stream.
 *
 * What a call has sent arrives, or the peer gets an error: DISCONNECT follows the data, and a
 * connection that ends without it is broken. So rclose() sends DISCONNECT, and until the adapter of
 * the peer has acknowledged everything the stream stays, with the service thread; rshutdown() of a
 * blocking socket waits for that; and at the end of the process all streams are closed, and waited
 * for.
 *
 * Locking: rcl_sock.lock.
 */
#include "rsocket/stream/close.h"

#include <errno.h>
#include <stdlib.h>
#include <time.h>

#include "rsocket/stream/alive.h"
#include "rsocket/stream/endpoint.h"
#include "rsocket/stream/events.h"
#include "rsocket/stream/listener.h"
#include "rsocket/stream/maps.h"
#include "rsocket/stream/post.h"
#include "rsocket/stream/progress.h"
#include "rsocket/wait.h"

/*
 * rclose() waits for this time before it leaves a stream to the service thread: most peers answer
 * earlier, which costs less.
 */
#define GRACE_MS 100
#define MS_PER_S 1000LL

/* Time for the lock of a socket at the end of the process. */
#define LOCK_MS 100

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

static bool all_done(struct rcl_stream *s)
{
	return s->state != RCL_STREAM_UP || rcl_tx_all_done(s);
}

/* Waits until all was sent. Returns false after @deadline. */
static bool wait_for_sends(struct rcl_stream *s, int64_t deadline)
{
	int ret;

	/* A signal does not end the wait, which would lose data. */
	do {
		ret = rcl_stream_wait(s, all_done, true, deadline);
	} while (ret == -EINTR);
	return ret != -EAGAIN;
}

static int64_t linger_ms(const struct rcl_stream *s, int64_t otherwise)
{
	return s->sock.linger_s < 0 ? otherwise : s->sock.linger_s * MS_PER_S;
}

/* As with TCP, a waiting raccept() fails with EINVAL, and SHUT_WR does nothing. */
static int shut_listener(struct rcl_stream *s, int how)
{
	if (how == SHUT_WR)
		return 0;
	s->state = RCL_STREAM_FAILED;
	rcl_sock_changed(&s->sock);
	pthread_mutex_unlock(&s->sock.lock);
	rcl_listener_end(s);
	pthread_mutex_lock(&s->sock.lock);
	return 0;
}

int rcl_stream_shutdown(struct rcl_sock *sock, int how)
{
	struct rcl_stream *s = rcl_stream_of(sock);

	if (how != SHUT_RD && how != SHUT_WR && how != SHUT_RDWR)
		return -EINVAL;
	if (s->state == RCL_STREAM_LISTENING)
		return shut_listener(s, how);
	if (s->state == RCL_STREAM_DOWN)
		return 0;
	if (s->state != RCL_STREAM_UP)
		return -ENOTCONN;
	shut(s, how);
	if (how != SHUT_RD && !sock->nonblock)
		wait_for_sends(s, rcl_deadline(linger_ms(s, RCL_LINGER_MS)));
	return s->tx.owed ? rcl_stream_look_later(s) : 0;
}

/*
 * Ends both directions. As with TCP, a program that has not read everything resets the connection:
 * the peer gets the data, but no DISCONNECT. librdmacm does not treat this as an error.
 */
static void end_both(struct rcl_stream *s)
{
	bool reset = s->rx.avail && !s->librdmacm;

	if (s->can_send || s->can_recv)
		rcl_stream_tell(s, reset ? RCL_CONTROL_PROBE : RCL_CONTROL_DISCONNECT);
	s->can_recv = false;
	s->can_send = false;
	s->shut_send = true;
}

/* Sends what is left; returns false if the service thread does this. */
static bool send_rest(struct rcl_stream *s)
{
	int64_t ms = s->sock.nonblock ? 0 : linger_ms(s, GRACE_MS);

	end_both(s);
	/* Lets calls of other threads return. */
	rcl_stream_wake(s);
	return wait_for_sends(s, ms ? rcl_deadline(ms) : 0) || !rcl_stream_finish_later(s);
}

void rcl_stream_end(struct rcl_sock *sock)
{
	struct rcl_stream *s = rcl_stream_of(sock);

	s->closed = true;
	rcl_stream_progress(s);
	if (s->state == RCL_STREAM_UP && (!sock->linger_s || send_rest(s)))
		rcl_stream_finish(s);
	if (s->state < RCL_STREAM_UP && s->state != RCL_STREAM_LISTENING)
		s->state = RCL_STREAM_FAILED;
	rcl_stream_wake(s);
	if (s->state != RCL_STREAM_LISTENING)
		return;
	pthread_mutex_unlock(&sock->lock);
	rcl_listener_end(s);
	pthread_mutex_lock(&sock->lock);
}

/* exit() may have been called by a signal handler that has interrupted the owner of the lock. */
static bool lock_at_exit(struct rcl_sock *sock)
{
	struct timespec until;

	clock_gettime(CLOCK_REALTIME, &until);
	until.tv_nsec += LOCK_MS * 1000000L;
	if (until.tv_nsec >= 1000000000L) {
		until.tv_nsec -= 1000000000L;
		until.tv_sec++;
	}
	return !pthread_mutex_timedlock(&sock->lock, &until);
}

/* Threads that wait in calls are not woken: they do not return any more. */
static void end_at_exit(struct rcl_stream *s, int64_t deadline)
{
	(void)deadline;
	rcl_stream_progress(s);
	if (s->state == RCL_STREAM_UP && s->sock.linger_s)
		end_both(s);
}

static void wait_at_exit(struct rcl_stream *s, int64_t deadline)
{
	if (s->state == RCL_STREAM_UP && s->sock.linger_s)
		wait_for_sends(s, deadline);
}

/* Calls a function for each stream that the program has not closed. */
static void visit_at_exit(void (*work)(struct rcl_stream *s, int64_t deadline),
			  int64_t deadline)
{
	struct rcl_sock *sock;
	int fd = -1;

	for (; (sock = rcl_sock_next(&fd)); rcl_sock_put(sock)) {
		if (sock->type != SOCK_STREAM || !lock_at_exit(sock))
			continue;
		work(rcl_stream_of(sock), deadline);
		pthread_mutex_unlock(&sock->lock);
	}
}

/* At the end of the process, but not after _exit(), closes all streams. */
__attribute__((destructor)) static void close_at_exit(void)
{
	int64_t deadline = rcl_deadline(RCL_LINGER_MS);

	rcl_cancel_in_sleeps();
	rcl_cancel_never();
	visit_at_exit(end_at_exit, deadline);
	visit_at_exit(wait_at_exit, deadline);
	rcl_streams_left(deadline);
	rcl_cancel_as_before();
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
