// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * Many threads on the rings of two channels: some get events, another one acknowledges them,
 * ids are created, destroyed and moved meanwhile. The thread sanitizer and assertions check
 * them. And what threads do while an id is being destroyed.
 */
#include <pthread.h>
#include <rdma/rdma_cma_alt.h>
#include <stdatomic.h>
#include <sys/wait.h>
#include <unistd.h>

#include "event/event.h"
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

static void threads_share_rings(void **state)
{
	struct rdma_event_channel *a = new_channel(), *b = new_channel();
	struct rdma_cm_id *in_a = warm_up(a), *in_b = warm_up(b);
	struct pair pair = { a, b };
	pthread_t takers[TAKERS], others[2], acker;
	int i;

	(void)state;
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

static atomic_bool in_destroy, may_go_on;

static void stop_in_destroy(unsigned int cmd)
{
	if (cmd != RDMA_CM_ALT_CMD_DESTROY)
		return;
	atomic_store(&in_destroy, true);
	while (!atomic_load(&may_go_on))
		usleep(100);
}

static void *destroy(void *id)
{
	assert_int_equal(rdma_destroy_id(id), 0);
	return NULL;
}

/* A thread that stops in the command. The caller has set one of the hooks. */
static pthread_t begin_destroy(struct rdma_cm_id *id)
{
	pthread_t thread;

	atomic_store(&in_destroy, false);
	atomic_store(&may_go_on, false);
	pthread_create(&thread, NULL, destroy, id);
	while (!atomic_load(&in_destroy))
		usleep(100);
	return thread;
}

static void end_destroy(pthread_t thread)
{
	atomic_store(&may_go_on, true);
	pthread_join(thread, NULL);
	fake.on_call = NULL;
	fake.on_return = NULL;
}

/* The kernel has taken the events of the id back, and waits for a device. */
static void slow_destroy_delays_no_other_call(void **state)
{
	struct rdma_event_channel *ch = new_channel(), *other;
	struct rdma_cm_id *id = warm_up(ch), *dead = new_id(ch);
	struct rdma_cm_event *event;
	pthread_t thread;
	int status;
	pid_t pid;

	(void)state;
	nonblock(ch);
	post(dead, 7);
	post(id, 1);
	fake.on_return = stop_in_destroy;
	thread = begin_destroy(dead);
	alarm(60);
	assert_int_equal(take_number(ch, id), 1);
	assert_fails(EAGAIN, rdma_get_cm_event(ch, &event));
	pid = fork();
	if (!pid)
		_exit(0);
	assert_int_equal(waitpid(pid, &status, 0), pid);
	other = new_channel();
	assert_non_null(other);
	rdma_destroy_event_channel(other);
	alarm(0);
	end_destroy(thread);
	cool_down(ch, id);
}

/* The kernel has not taken the event back yet: it is not delivered, nor what is behind it. */
static void event_of_an_id_that_is_destroyed_stays_in_the_ring(void **state)
{
	struct rdma_event_channel *ch = new_channel();
	struct rdma_cm_id *id = warm_up(ch), *dead = new_id(ch);
	struct rdma_cm_event *event;
	pthread_t thread;

	(void)state;
	nonblock(ch);
	post(id, 1);
	post(dead, 7);
	post(id, 2);
	fake.on_call = stop_in_destroy;
	thread = begin_destroy(dead);
	assert_int_equal(take_number(ch, id), 1);
	assert_fails(EAGAIN, rdma_get_cm_event(ch, &event));
	assert_fails(EAGAIN, rdma_alt_get_cm_events(ch, &event, 1));
	end_destroy(thread);
	assert_int_equal(take_number(ch, id), 2);
	assert_int_equal(fake.reads, 0);
	cool_down(ch, id);
}

static void *take_two(void *id)
{
	struct rdma_event_channel *ch = ((struct rdma_cm_id *)id)->channel;

	assert_int_equal(take_number(ch, id), 1);
	assert_int_equal(take_number(ch, id), 2);
	return NULL;
}

/* A channel that blocks waits until the kernel has taken the event back. */
static void blocking_reader_waits_for_the_kernel(void **state)
{
	struct rdma_event_channel *ch = new_channel();
	struct rdma_cm_id *id = warm_up(ch), *dead = new_id(ch);
	pthread_t thread, reader;

	(void)state;
	post(id, 1);
	post(dead, 7);
	post(id, 2);
	fake.on_call = stop_in_destroy;
	thread = begin_destroy(dead);
	pthread_create(&reader, NULL, take_two, id);
	usleep(20000);
	end_destroy(thread);
	pthread_join(reader, NULL);
	assert_int_equal(fake.reads, 0);
	cool_down(ch, id);
}

static struct rdma_event_channel *peeked;
static union rcl_record record;

/* With the lock of the ring, as the thread of a reader has it: it waits for no command. */
static void peek_in_set_queue(unsigned int cmd)
{
	if (cmd == RDMA_CM_ALT_CMD_SET_QUEUE)
		assert_true(rcl_ring_peek(rcl_ring_of(peeked->fd), &record));
}

/* A reader copies a record, and looks at the id after all of the move: the copy is out of date. */
static void record_that_moves_after_it_was_copied_is_not_taken(void **state)
{
	struct rdma_event_channel *from = new_channel(), *to = new_channel();
	struct rdma_cm_id *id = warm_up(from), *other = warm_up(to), *moved = new_id(from);
	struct rcl_claim claim;

	(void)state;
	peeked = from;
	post(moved, 7);
	post(id, 1);
	fake.on_call = peek_in_set_queue;
	assert_int_equal(rdma_migrate_id(moved, to), 0);
	fake.on_call = NULL;
	assert_int_equal(record.event.user_status, 7);
	assert_false(rcl_event_take(&record.event, rcl_ring_of(from->fd), &claim));
	/* The fake kernel does not move events. */
	post(moved, 8);
	assert_int_equal(take_number(to, moved), 8);
	assert_int_equal(take_number(from, id), 1);
	assert_int_equal(rdma_destroy_id(moved), 0);
	cool_down(from, id);
	cool_down(to, other);
}

static const struct CMUnitTest tests[] = {
	TEST(threads_share_rings),
	TEST(slow_destroy_delays_no_other_call),
	TEST(event_of_an_id_that_is_destroyed_stays_in_the_ring),
	TEST(blocking_reader_waits_for_the_kernel),
	TEST(record_that_moves_after_it_was_copied_is_not_taken),
};

RUN(tests)
