// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * Streams in the service thread: keep-alive, and control messages that rshutdown() and rclose()
 * could not send because the peer does not receive.
 *
 * Locking: rcl_sock.lock.
 */
#include "rsocket/stream/alive.h"

#include <errno.h>
#include <stddef.h>
#include <time.h>

#include "rsocket/stream/endpoint.h"
#include "rsocket/stream/post.h"
#include "rsocket/stream/progress.h"
#include "rsocket/wait.h"

/* Polling interval for a stream with data or a control message left to send. */
#define LOOK_MS 10
#define MS_PER_S 1000LL
#define NS_PER_MS 1000000LL

/*
 * Time for the acknowledgement of a probe. Adapters give up earlier, but soft-RoCE treats seven
 * retries as unlimited.
 */
#define ANSWER_MS 30000

/* Number of closed sockets that the service thread has to end. */
static atomic_uint leaving;

/* A child of fork() has no service thread, and no closed sockets to wait for. */
static void forked(void)
{
	atomic_store(&leaving, 0);
}

static void follow_forks(void)
{
	pthread_atfork(NULL, NULL, forked);
}

void rcl_streams_left(int64_t deadline)
{
	struct timespec pause = { .tv_nsec = LOOK_MS * 1000000L };

	while (atomic_load(&leaving) && rcl_now_ns() < deadline)
		nanosleep(&pause, NULL);
}

static void set_linger(struct rcl_stream *s)
{
	s->linger = rcl_deadline(RCL_LINGER_MS);
	s->linger_slots = s->tx.slots_done;
}

/* Whether a stream that was closed by rclose() has nothing left to send. */
static bool is_finished(struct rcl_stream *s)
{
	if (s->state == RCL_STREAM_UP && !rcl_tx_all_done(s) && rcl_now_ns() < s->linger) {
		if (s->tx.slots_done != s->linger_slots)
			set_linger(s);
		return false;
	}
	rcl_stream_finish(s);
	return true;
}

/*
 * No probe is needed while a signaled work request is in progress, whose completion shows whether
 * the peer is alive. A probe needs no receive, so it completes even if the peer does not receive.
 */
static int probe(struct rcl_stream *s)
{
	bool is_first = rcl_tx_all_done(s);
	int ret = 0;

	s->probe_at = rcl_deadline(s->keepalive_s * MS_PER_S);
	if (rcl_tx_will_complete(s) || !rcl_tx_may_control(s))
		return 0;
	ret = rcl_tx_probe(s);
	s->probe_slot = s->tx.slots;
	s->probe_end = is_first ? rcl_deadline(ANSWER_MS) : RCL_FOREVER;
	return ret;
}

static bool is_answered(const struct rcl_stream *s)
{
	return (int32_t)(s->tx.slots_done - s->probe_slot) >= 0;
}

/* Sends a keep-alive probe if one is due, and checks the last one. */
static void watch(struct rcl_stream *s)
{
	int64_t now = rcl_now_ns();
	int ret = rcl_tx_reap(s);

	if (is_answered(s))
		s->probe_end = RCL_FOREVER;
	if (!ret && now >= s->probe_end)
		ret = -ETIMEDOUT;
	if (!ret && now >= s->probe_at)
		ret = probe(s);
	if (!ret)
		return;
	rcl_stream_broken(s, ret);
	rcl_endpoint_fail(s);
}

/* The longer a peer has taken nothing, the less often. */
static int64_t next_look_at_left(const struct rcl_stream *s)
{
	int64_t now = rcl_now_ns(), since = now - (s->linger - RCL_LINGER_MS * NS_PER_MS);
	int64_t wait = since / 4;

	return now + (wait > LOOK_MS * NS_PER_MS ? wait : LOOK_MS * NS_PER_MS);
}

/* When the service thread has to check a stream next. */
static int64_t next_look(const struct rcl_stream *s)
{
	if (s->left)
		return next_look_at_left(s);
	if (s->state != RCL_STREAM_UP)
		return RCL_FOREVER;
	if (s->tx.owed)
		return rcl_deadline(LOOK_MS);
	if (!s->keepalive_s)
		return RCL_FOREVER;
	return s->probe_at < s->probe_end ? s->probe_at : s->probe_end;
}

static void serve(struct rcl_task *task)
{
	struct rcl_stream *s = (void *)((char *)task - offsetof(struct rcl_stream, alive));
	bool finished;

	pthread_mutex_lock(&s->sock.lock);
	rcl_stream_progress(s);
	finished = s->left && is_finished(s);
	if (s->state == RCL_STREAM_UP && s->keepalive_s)
		watch(s);
	if (!finished)
		rcl_service_due(task, next_look(s));
	pthread_mutex_unlock(&s->sock.lock);
	if (!finished)
		return;
	rcl_service_remove(task);
	rcl_sock_put(&s->sock);
	atomic_fetch_sub(&leaving, 1);
}

int rcl_stream_look_later(struct rcl_stream *s)
{
	int64_t due = next_look(s);

	if (s->alive.added) {
		rcl_service_due(&s->alive, due);
		return 0;
	}
	if (due == RCL_FOREVER)
		return 0;
	s->alive.run = serve;
	s->alive.due = due;
	return rcl_service_add(&s->alive);
}

bool rcl_stream_finish_later(struct rcl_stream *s)
{
	static pthread_once_t once = PTHREAD_ONCE_INIT;

	pthread_once(&once, follow_forks);
	set_linger(s);
	s->left = true;
	/* Before the service thread can see the stream. */
	rcl_sock_hold(&s->sock);
	atomic_fetch_add(&leaving, 1);
	if (!rcl_stream_look_later(s))
		return true;
	s->left = false;
	atomic_fetch_sub(&leaving, 1);
	rcl_sock_put(&s->sock);
	return false;
}

void rcl_stream_keepalive(struct rcl_stream *s)
{
	s->probe_at = rcl_deadline(s->keepalive_s * MS_PER_S);
	rcl_stream_look_later(s);
}
