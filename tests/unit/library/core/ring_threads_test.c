// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * Many threads on the rings of two channels: some get events, another one acknowledges them,
 * ids are created, destroyed and moved meanwhile. The thread sanitizer and assertions check
 * them.
 */
#include <pthread.h>
#include <rdma/rdma_cma_alt.h>
#include <stdatomic.h>
#include <unistd.h>

#include "fake/ring_fixture.h"

#define TAKERS 4
#define LAPS 120		/* of ids: the fake kernel has handles for no more */
#define EVENTS 1000
#define IN_FLIGHT 64
#define MAILBOX 64

/* Events passed from the threads that get them to the thread that acknowledges them. */
static struct mailbox {
	pthread_mutex_t lock;
	pthread_cond_t changed;
	struct rdma_cm_event *event[MAILBOX];
	unsigned int put;
	unsigned int got;
	bool closed;
} box = { .lock = PTHREAD_MUTEX_INITIALIZER, .changed = PTHREAD_COND_INITIALIZER };

static atomic_int taken;

static void hand_over(struct rdma_cm_event *event)
{
	pthread_mutex_lock(&box.lock);
	while (box.put - box.got == MAILBOX)
		pthread_cond_wait(&box.changed, &box.lock);
	box.event[box.put++ % MAILBOX] = event;
	pthread_cond_broadcast(&box.changed);
	pthread_mutex_unlock(&box.lock);
}

static void *acknowledge(void *arg)
{
	struct rdma_cm_event *event;

	(void)arg;
	for (;;) {
		pthread_mutex_lock(&box.lock);
		while (box.put == box.got && !box.closed)
			pthread_cond_wait(&box.changed, &box.lock);
		event = box.put == box.got ? NULL : box.event[box.got++ % MAILBOX];
		pthread_cond_broadcast(&box.changed);
		pthread_mutex_unlock(&box.lock);
		if (!event)
			return NULL;
		rdma_ack_cm_event(event);
	}
}

/* Returns false after the last event of this thread. */
static bool look_at(struct rdma_cm_event *event)
{
	bool more = event->status >= 0;

	atomic_fetch_add(&taken, 1);
	hand_over(event);
	return more;
}

/* No thread waits in read(): while one does, the kernel puts nothing into the ring. */
static void pause_a_little(void)
{
	assert_int_equal(errno, EAGAIN);
	usleep(10);
}

static void *take_one_by_one(void *arg)
{
	struct rdma_cm_event *event;
	bool more = true;

	while (more) {
		if (rdma_get_cm_event(arg, &event))
			pause_a_little();
		else
			more = look_at(event);
	}
	return NULL;
}

/* At most one of the last events: each of the other threads waits for its own. */
static void *take_some(void *arg)
{
	struct rdma_cm_event *events[1];
	bool more = true;

	while (more) {
		if (rdma_alt_get_cm_events(arg, events, 1) < 0)
			pause_a_little();
		else
			more = look_at(events[0]);
	}
	return NULL;
}

struct pair {
	struct rdma_event_channel *a;
	struct rdma_event_channel *b;
};

/* Ids with delivered events and with events that are voided. */
static void *come_and_go(void *arg)
{
	const struct pair *pair = arg;
	struct rdma_cm_id *id;
	int i;

	for (i = 0; i < LAPS; i++) {
		id = new_id(i & 1 ? pair->a : pair->b);
		post(id, i);
		post(id, i);
		assert_int_equal(rdma_destroy_id(id), 0);
	}
	return NULL;
}

static void *move(void *arg)
{
	const struct pair *pair = arg;
	struct rdma_cm_id *id = new_id(pair->a);
	int i;

	for (i = 0; i < LAPS; i++) {
		post(id, i);
		assert_int_equal(rdma_migrate_id(id, i & 1 ? pair->a : pair->b), 0);
		post(id, i);
	}
	assert_int_equal(rdma_destroy_id(id), 0);
	return NULL;
}

TEST(threads_share_rings)
{
	struct rdma_event_channel *a = new_channel(), *b = new_channel();
	struct rdma_cm_id *in_a = warm_up(a), *in_b = warm_up(b);
	struct pair pair = { a, b };
	pthread_t takers[TAKERS], others[2], acker;
	int i;

	nonblock(a);
	nonblock(b);
	pthread_create(&acker, NULL, acknowledge, NULL);
	for (i = 0; i < TAKERS; i++)
		pthread_create(&takers[i], NULL, i & 1 ? take_some : take_one_by_one,
			       i < TAKERS / 2 ? a : b);
	pthread_create(&others[0], NULL, come_and_go, &pair);
	pthread_create(&others[1], NULL, move, &pair);
	for (i = 0; i < EVENTS; i++) {
		while (2 * i - atomic_load(&taken) > IN_FLIGHT)
			usleep(10);
		post(in_a, i);
		post(in_b, i);
	}
	for (i = 0; i < 2; i++)
		pthread_join(others[i], NULL);
	for (i = 0; i < TAKERS / 2; i++) {
		post(in_a, -1);
		post(in_b, -1);
	}
	for (i = 0; i < TAKERS; i++)
		pthread_join(takers[i], NULL);
	/* No event of the remaining ids was lost. */
	assert_true(atomic_load(&taken) >= 2 * EVENTS + TAKERS);
	pthread_mutex_lock(&box.lock);
	box.closed = true;
	pthread_cond_broadcast(&box.changed);
	pthread_mutex_unlock(&box.lock);
	pthread_join(acker, NULL);
	cool_down(a, in_a);
	cool_down(b, in_b);
}

RUN
