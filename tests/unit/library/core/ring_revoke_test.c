// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/* What readers of a ring do while another thread is in a command that takes records back. */
#include <pthread.h>
#include <rdma/rdma_cma_alt.h>
#include <stdatomic.h>
#include <sys/wait.h>
#include <unistd.h>

#include "event/event.h"
#include "fake/ring_fixture.h"

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
static pthread_t begin_command(void *(*command)(void *id), struct rdma_cm_id *id)
{
	pthread_t thread;

	atomic_store(&in_destroy, false);
	atomic_store(&may_go_on, false);
	pthread_create(&thread, NULL, command, id);
	while (!atomic_load(&in_destroy))
		usleep(100);
	return thread;
}

static pthread_t begin_destroy(struct rdma_cm_id *id)
{
	return begin_command(destroy, id);
}

static void end_destroy(pthread_t thread)
{
	atomic_store(&may_go_on, true);
	pthread_join(thread, NULL);
	fake.on_call = NULL;
	fake.on_return = NULL;
}

/* The kernel has taken the events of the id back, and waits for a device. */
static void *take_two(void *id)
{
	struct rdma_event_channel *ch = ((struct rdma_cm_id *)id)->channel;

	assert_int_equal(take_number(ch, id), 1);
	assert_int_equal(take_number(ch, id), 2);
	return NULL;
}

static void *take_two_of_many(void *id)
{
	struct rdma_event_channel *ch = ((struct rdma_cm_id *)id)->channel;
	struct rdma_cm_event *events[1];
	int i;

	for (i = 1; i <= 2; i++) {
		assert_int_equal(rdma_alt_get_cm_events(ch, events, 1), 1);
		assert_ptr_equal(events[0]->id, id);
		assert_int_equal(events[0]->status, i);
		assert_int_equal(rdma_ack_cm_event(events[0]), 0);
	}
	return NULL;
}

/* The kernel has not taken the event back yet: it is not delivered, but what is behind it. */
static void read_while_id_is_destroyed(void *(*take_events)(void *id), bool block)
{
	struct rdma_event_channel *ch = new_channel();
	struct rdma_cm_id *id = warm_up(ch), *dead = new_id(ch);
	pthread_t thread, reader;

	if (!block)
		nonblock(ch);
	post(id, 1);
	post(dead, 7);
	post(id, 2);
	fake.on_call = stop_in_destroy;
	thread = begin_destroy(dead);
	pthread_create(&reader, NULL, take_events, id);
	usleep(20000);
	end_destroy(thread);
	pthread_join(reader, NULL);
	assert_int_equal(fake.reads, 0);
	cool_down(ch, id);
}

/* With EPOLLET nothing would wake it for the event behind. */
TEST(reader_that_does_not_block_waits_for_the_kernel)
{
	read_while_id_is_destroyed(take_two, false);
}

TEST(reader_of_many_that_does_not_block_waits_for_the_kernel)
{
	read_while_id_is_destroyed(take_two_of_many, false);
}

TEST(blocking_reader_waits_for_the_kernel)
{
	read_while_id_is_destroyed(take_two, true);
}

static struct rdma_event_channel *interrupted;

/* As in the handler of a signal that comes during the command. */
static void read_in_destroy(unsigned int cmd)
{
	struct rdma_cm_event *event;

	if (cmd != RDMA_CM_ALT_CMD_DESTROY)
		return;
	assert_fails(EAGAIN, rdma_get_cm_event(interrupted, &event));
	assert_fails(EAGAIN, rdma_alt_get_cm_events(interrupted, &event, 1));
}

TEST(who_destroys_an_id_does_not_wait_for_itself)
{
	struct rdma_event_channel *ch = new_channel();
	struct rdma_cm_id *id = warm_up(ch), *dead = new_id(ch);

	interrupted = ch;
	post(dead, 7);
	post(id, 1);
	fake.on_call = read_in_destroy;
	alarm(60);
	assert_int_equal(rdma_destroy_id(dead), 0);
	alarm(0);
	fake.on_call = NULL;
	assert_int_equal(take_number(ch, id), 1);
	cool_down(ch, id);
}

static void stop_in_leave(unsigned int cmd)
{
	if (cmd == RDMA_CM_ALT_CMD_LEAVE)
		stop_in_destroy(RDMA_CM_ALT_CMD_DESTROY);
}

static void *leave(void *id)
{
	assert_int_equal(rdma_leave_multicast(id, addr4("239.1.1.1", 0)), 0);
	return NULL;
}

/* Another event of the id is taken meanwhile, and the membership's is not. */
TEST(leaving_a_group_delays_only_its_events)
{
	struct rdma_event_channel *ch = new_channel();
	struct rdma_cm_id *id = warm_up(ch), *joined = new_ud_id(ch);
	pthread_t thread, reader;

	nonblock(ch);
	assert_int_equal(rdma_bind_addr(joined, addr4("10.9.0.1", 7000)), 0);
	fake.join_event = FAKE_NO_EVENT;
	assert_int_equal(rdma_join_multicast(joined, addr4("239.1.1.1", 0), NULL), 0);
	post(joined, 3);
	fake_post_member(RDMA_CM_ALT_EVENT_MULTICAST_JOIN, handle_of(joined) + 1, 0);
	post(id, 1);
	post(id, 2);
	fake.on_call = stop_in_leave;
	thread = begin_command(leave, joined);
	alarm(60);
	assert_int_equal(take_number(ch, joined), 3);
	pthread_create(&reader, NULL, take_two, id);
	usleep(20000);
	assert_int_equal(rcl_ring_position(ch->fd), 1);
	end_destroy(thread);
	pthread_join(reader, NULL);
	alarm(0);
	assert_int_equal(rdma_destroy_id(joined), 0);
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
TEST(record_that_moves_after_it_was_copied_is_not_taken)
{
	struct rdma_event_channel *from = new_channel(), *to = new_channel();
	struct rdma_cm_id *id = warm_up(from), *other = warm_up(to), *moved = new_id(from);
	struct rcl_claim claim;

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

/* As with the lock of the ring, after the whole destroy: the request's id is gone, too. */
static void peek_in_destroy(unsigned int cmd)
{
	if (cmd == RDMA_CM_ALT_CMD_DESTROY)
		assert_true(rcl_ring_peek(rcl_ring_of(peeked->fd), &record));
}

TEST(request_that_was_taken_back_after_it_was_copied_is_not_rejected)
{
	struct rdma_event_channel *ch = new_channel();
	struct rdma_cm_id *id = warm_up(ch), *l = listener(ch);
	struct rcl_claim claim;

	peeked = ch;
	fake_request(handle_of(l));
	post(id, 1);
	fake.on_call = peek_in_destroy;
	assert_int_equal(rdma_destroy_id(l), 0);
	fake.on_call = NULL;
	assert_int_equal(record.event.type, RDMA_CM_ALT_EVENT_CONNECT_REQUEST);
	/* The handle may be another id's by now, which a reject would destroy. */
	assert_false(rcl_event_take(&record.event, rcl_ring_of(ch->fd), &claim));
	assert_int_equal(fake.calls[FAKE(DESTROY)], 1);
	assert_int_equal(take_number(ch, id), 1);
	cool_down(ch, id);
}

/* The last one: ids are shared after its fork(). */
TEST(slow_destroy_delays_no_other_call)
{
	struct rdma_event_channel *ch = new_channel(), *other;
	struct rdma_cm_id *id = warm_up(ch), *dead = new_id(ch);
	struct rdma_cm_event *event;
	pthread_t thread;
	int status;
	pid_t pid;

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

RUN
