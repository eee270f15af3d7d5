// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * What the service thread does for streams: keep-alive, and the end of those that were closed.
 *
 * Locking: rcl_sock.lock.
 */
#include "rsocket/stream/alive.h"

#include <errno.h>
#include <stddef.h>
#include <time.h>

#include "rsocket/stream/post.h"
#include "rsocket/stream/progress.h"
#include "rsocket/wait.h"

/* How often the service thread looks at a stream that was closed. */
#define LOOK_MS 10
#define MS_PER_S 1000LL

/* Sockets that the service thread has to end. */
static atomic_uint leaving;

/* A child of fork() has no service thread, and nothing to wait for. */
static void forked(void)
{
	atomic_store(&leaving, 0);
}

static void follow_forks(void)
{
	pthread_atfork(NULL, NULL, forked);
}

/* At the end of the process: they have the time that they had anyway. */
__attribute__((destructor)) static void finish(void)
{
	struct timespec pause = { .tv_nsec = LOOK_MS * 1000000L };

	while (atomic_load(&leaving))
		nanosleep(&pause, NULL);
}

/* After rclose(): true when nothing is left to do. */
static bool is_finished(struct rcl_stream *s)
{
	rcl_stream_progress(s);
	return s->state != RCL_STREAM_UP || rcl_tx_all_done(s) || rcl_now_ns() >= s->linger;
}

static void probe(struct rcl_stream *s)
{
	rcl_stream_progress(s);
	if (s->state == RCL_STREAM_UP && !rcl_tx_may_control(s) && rcl_tx_reap(s))
		rcl_stream_broken(s, -ETIMEDOUT);
	if (s->state == RCL_STREAM_UP && rcl_tx_may_control(s) && rcl_tx_probe(s))
		rcl_stream_broken(s, -ECONNRESET);
}

static void serve(struct rcl_task *task)
{
	struct rcl_stream *s = (void *)((char *)task - offsetof(struct rcl_stream, alive));
	bool finished = false;

	pthread_mutex_lock(&s->sock.lock);
	if (s->left) {
		finished = is_finished(s);
		if (!finished)
			rcl_service_due(task, rcl_deadline(LOOK_MS));
	} else if (s->state == RCL_STREAM_UP && s->keepalive_s) {
		probe(s);
		rcl_service_due(task, rcl_deadline(s->keepalive_s * MS_PER_S));
	}
	pthread_mutex_unlock(&s->sock.lock);
	if (!finished)
		return;
	rcl_service_remove(task);
	rcl_sock_put(&s->sock);
	atomic_fetch_sub(&leaving, 1);
}

bool rcl_stream_finish_later(struct rcl_stream *s, int64_t deadline)
{
	static pthread_once_t once = PTHREAD_ONCE_INIT;

	pthread_once(&once, follow_forks);
	s->linger = deadline;
	if (s->alive.added) {
		rcl_service_due(&s->alive, rcl_deadline(LOOK_MS));
	} else {
		s->alive.run = serve;
		s->alive.due = rcl_deadline(LOOK_MS);
		if (rcl_service_add(&s->alive))
			return false;
	}
	s->left = true;
	rcl_sock_hold(&s->sock);
	atomic_fetch_add(&leaving, 1);
	return true;
}

void rcl_stream_keepalive(struct rcl_stream *s)
{
	int64_t due = s->keepalive_s && s->state == RCL_STREAM_UP ?
			      rcl_deadline(s->keepalive_s * MS_PER_S) : RCL_FOREVER;

	if (s->alive.added) {
		rcl_service_due(&s->alive, due);
	} else if (due != RCL_FOREVER) {
		s->alive.run = serve;
		s->alive.due = due;
		rcl_service_add(&s->alive);
	}
}
