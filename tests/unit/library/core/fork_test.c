// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/* Tests of the library in a child process. */
#include <pthread.h>
#include <rdma/rdma_cma_alt.h>
#include <rdma/rdma_verbs.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/rdma_cma_new.h"
#include "core/context.h"
#include "core/process.h"
#include "fake/fixture.h"
#include "base/table.h"

#define PATIENCE 20	/* seconds until a child counts as hanging */

struct holder {
	void (*lock)(void);
	void (*unlock)(void);
	pthread_mutex_t *mutex;	/* instead of the two */
	atomic_bool held;
	atomic_bool given_back;
};

/* Hold a lock for a while, as a thread in the middle of a call does. */
static void *hold_lock(void *arg)
{
	struct holder *h = arg;

	if (h->mutex)
		pthread_mutex_lock(h->mutex);
	else
		h->lock();
	atomic_store(&h->held, true);
	usleep(50000);
	atomic_store(&h->given_back, true);
	if (h->mutex)
		pthread_mutex_unlock(h->mutex);
	else
		h->unlock();
	return NULL;
}

/*
 * Everything that takes locks, without memory of the sanitizer, whose locks stay held after
 * fork().
 */
static void use_locks(struct rdma_cm_id *id)
{
	pthread_mutex_lock(&rcl_id_of(id)->lock);
	pthread_mutex_unlock(&rcl_id_of(id)->lock);
	rcl_context_lock();
	rcl_context_unlock();
	rcl_devices_lock();
	rcl_devices_unlock();
	rcl_ids_lock();
	rcl_ids_unlock(false);
	rcl_id_put(rcl_id_get(rcl_id_of(id)->cookie));
}

/* Exit without the sanitizer's checks, which would miss the threads of the parent. */
static _Noreturn void leave(int code)
{
	syscall(SYS_exit_group, code);
	abort();
}

static void fork_while_held(struct holder *h, struct rdma_cm_id *id)
{
	pthread_t thread;
	pid_t child;

	pthread_create(&thread, NULL, hold_lock, h);
	while (!atomic_load(&h->held))
		usleep(100);
	child = fork();
	if (!child) {
		alarm(PATIENCE);
		use_locks(id);
		leave(0);
	}
	assert_true(atomic_load(&h->given_back));
	pthread_join(thread, NULL);
	assert_int_equal(exit_code(child), 0);
	use_locks(id);
}

TEST(locks_are_free_in_the_child_of_a_program_with_threads)
{
	struct rdma_cm_id *id = new_id(NULL);
	struct holder holders[] = {
		{ .lock = rcl_context_lock, .unlock = rcl_context_unlock },
		{ .lock = rcl_devices_lock, .unlock = rcl_devices_unlock },
		{ .lock = rcl_table_lock, .unlock = rcl_table_unlock },
		{ .mutex = &rcl_id_of(id)->lock },
	};
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(holders); i++)
		fork_while_held(&holders[i], id);
	assert_int_equal(rdma_destroy_id(id), 0);
}

static void *destroy(void *arg)
{
	rdma_destroy_id(arg);
	return NULL;
}

TEST(who_waits_in_the_parent_does_not_stop_the_child)
{
	struct rdma_event_channel *ch = rdma_create_event_channel();
	struct rdma_cm_id *id = new_id(ch);
	struct rdma_cm_event *event;
	uint32_t handle = handle_of(id);
	pthread_t thread;
	pid_t child;

	assert_int_equal(rdma_resolve_addr(id, NULL, addr4("10.9.0.2", 1), 1000), 0);
	event = take(ch, RDMA_CM_EVENT_ADDR_RESOLVED);
	pthread_create(&thread, NULL, destroy, id);
	while (fake_id_alive(handle))
		usleep(100);
	usleep(50000);	/* it waits for the acknowledgement now */
	child = fork();
	if (!child) {
		alarm(PATIENCE);
		rcl_id_free(rcl_id_of(id));	/* destroys what the thread waits on */
		leave(0);
	}
	assert_int_equal(exit_code(child), 0);
	assert_int_equal(rdma_ack_cm_event(event), 0);
	pthread_join(thread, NULL);
	rdma_destroy_event_channel(ch);
}

/* In the child: as if the process that has made them had ended. */
static void inherit(struct rdma_event_channel *ch, struct rdma_cm_id *id)
{
	rcl_id_of(id)->maker = rcl_process;
	if (ch)
		rcl_process_made_fd(ch->fd);
}

/* In the child; a failure is the number passed to exit(). */
static int work_in_child(struct rdma_event_channel *ch, struct rdma_cm_id *id)
{
	struct rdma_cm_event *event;
	struct rdma_cm_id *own;

	inherit(ch, id);
	if (rdma_get_cm_event(ch, &event))
		return 1;
	if (event->id != id || event->event != RDMA_CM_EVENT_ADDR_RESOLVED || !id->verbs)
		return 2;
	if (rdma_ack_cm_event(event))
		return 3;
	if (rdma_create_id(NULL, &own, NULL, RDMA_PS_TCP))
		return 4;
	if (rdma_resolve_addr(own, NULL, addr4("10.9.0.2", 1), 1000) || own->verbs != id->verbs)
		return 5;
	if (rdma_destroy_id(own))
		return 6;
	if (rdma_destroy_id(id))
		return 7;
	return 0;
}

TEST(child_works_with_what_it_inherited)
{
	struct rdma_event_channel *ch = rdma_create_event_channel();
	struct rdma_cm_id *id = new_id(ch), *own;
	int opened;
	pid_t child;

	assert_int_equal(rdma_resolve_addr(id, NULL, addr4("10.9.0.2", 1), 1000), 0);
	opened = fake.calls[FAKE(INFO)];
	child = fork();
	if (!child) {
		alarm(PATIENCE);
		/* The same open device. */
		leave(work_in_child(ch, id) ?: fake.calls[FAKE(INFO)] != opened);
	}
	assert_int_equal(exit_code(child), 0);
	/* The exit of the child and its ids do not affect the parent. */
	own = new_id(NULL);
	resolve(own);
	assert_int_equal(rdma_destroy_id(own), 0);
	assert_int_equal(rdma_destroy_id(id), 0);
	rdma_destroy_event_channel(ch);
}

/* Another process has read an event of the id, and acknowledges it there. */
static void taken_elsewhere(struct rdma_cm_id *id)
{
	pid_t child = fork();

	if (!child)
		leave(0);
	assert_int_equal(exit_code(child), 0);
	fake.ids[handle_of(id)].reported++;
}

TEST(events_that_another_process_took_are_not_waited_for)
{
	struct rdma_event_channel *ch = rdma_create_event_channel();
	struct rdma_event_channel *to = rdma_create_event_channel();
	struct rdma_cm_id *id = new_id(ch);

	taken_elsewhere(id);
	assert_int_equal(rdma_resolve_addr(id, NULL, addr4("10.9.0.2", 1), 1000), 0);
	take_and_ack(ch, RDMA_CM_EVENT_ADDR_RESOLVED);
	assert_int_equal(rdma_migrate_id(id, to), 0);
	assert_int_equal(rdma_destroy_id(id), 0);
	rdma_destroy_event_channel(ch);
	rdma_destroy_event_channel(to);
}

TEST(events_that_this_process_took_are_waited_for)
{
	struct rdma_event_channel *ch = rdma_create_event_channel();
	struct rdma_cm_id *id = new_id(ch);
	struct rdma_cm_event *event, *later;
	uint32_t handle = handle_of(id);
	struct rdma_cm_id *other = new_id(ch);
	pthread_t thread;

	taken_elsewhere(id);
	assert_int_equal(rdma_resolve_addr(id, NULL, addr4("10.9.0.2", 1), 1000), 0);
	event = take(ch, RDMA_CM_EVENT_ADDR_RESOLVED);
	pthread_create(&thread, NULL, destroy, id);
	while (fake_id_alive(handle))
		usleep(100);
	usleep(50000);
	/* An event that arrives while the id is destroyed is not delivered. */
	fake_post_type(RDMA_CM_ALT_EVENT_ADDR_CHANGE, handle, 0);
	fake_post_type(RDMA_CM_ALT_EVENT_ADDR_CHANGE, handle_of(other), 0);
	later = take(ch, RDMA_CM_EVENT_ADDR_CHANGE);
	assert_ptr_equal(later->id, other);
	assert_int_equal(rdma_ack_cm_event(later), 0);
	/* The id still exists, or this would have been freed. */
	assert_ptr_equal(event->id, id);
	assert_int_equal(rcl_id_of(id)->events_taken - rcl_id_of(id)->events_acked, 1);
	assert_int_equal(rdma_ack_cm_event(event), 0);
	pthread_join(thread, NULL);
	assert_int_equal(rdma_destroy_id(other), 0);
	rdma_destroy_event_channel(ch);
}

TEST(child_does_not_wait_for_events_of_the_parent)
{
	struct rdma_event_channel *ch = rdma_create_event_channel();
	struct rdma_cm_id *id = new_id(ch);
	struct rdma_cm_event *event;
	pid_t child;

	assert_int_equal(rdma_resolve_addr(id, NULL, addr4("10.9.0.2", 1), 1000), 0);
	event = take(ch, RDMA_CM_EVENT_ADDR_RESOLVED);
	child = fork();
	if (!child) {
		alarm(PATIENCE);
		inherit(ch, id);
		/* The child may acknowledge its copy of the event, or not. */
		leave(rdma_destroy_id(id));
	}
	assert_int_equal(exit_code(child), 0);
	assert_int_equal(rdma_ack_cm_event(event), 0);
	assert_int_equal(rdma_destroy_id(id), 0);
	rdma_destroy_event_channel(ch);
}

static atomic_bool in_command, may_go_on;

static void stop_in_destroy(unsigned int cmd)
{
	if (cmd != RDMA_CM_ALT_CMD_DESTROY)
		return;
	atomic_store(&in_command, true);
	while (!atomic_load(&may_go_on))
		usleep(100);
}

/* A failure is the number passed to exit(). */
static int use_in_child(struct rdma_cm_id *id)
{
	struct rdma_event_channel *ch = rdma_create_event_channel();

	inherit(NULL, id);
	if (rcl_id_of(id)->revoking)
		return 1;
	/* Its events could be taken from a ring. */
	if (rdma_migrate_id(id, ch))
		return 2;
	fake_post_type(RDMA_CM_ALT_EVENT_ADDR_CHANGE, handle_of(id), 0);
	take_and_ack(ch, RDMA_CM_EVENT_ADDR_CHANGE);
	if (rdma_destroy_id(id))
		return 3;
	return 0;
}

TEST(child_may_use_what_a_thread_of_the_parent_destroys)
{
	struct rdma_event_channel *ch = rdma_create_event_channel();
	struct rdma_cm_id *id = new_id(ch);
	pthread_t thread;
	pid_t child;

	atomic_store(&may_go_on, false);
	fake.on_call = stop_in_destroy;
	pthread_create(&thread, NULL, destroy, id);
	while (!atomic_load(&in_command))
		usleep(100);
	child = fork();
	if (!child) {
		alarm(PATIENCE);
		fake.on_call = NULL;
		leave(use_in_child(id));
	}
	assert_int_equal(exit_code(child), 0);
	atomic_store(&may_go_on, true);
	pthread_join(thread, NULL);
	fake.on_call = NULL;
	rdma_destroy_event_channel(ch);
}

/* The channel existed at the fork(): the other process reads it, too. */
TEST(events_of_new_ids_that_another_process_took_are_not_waited_for)
{
	struct rdma_event_channel *ch = rdma_create_event_channel();
	struct rdma_cm_id *old = new_id(ch), *id;

	taken_elsewhere(old);
	id = new_id(ch);
	fake.ids[handle_of(id)].reported++;
	alarm(PATIENCE);
	assert_int_equal(rdma_destroy_id(id), 0);
	alarm(0);
	assert_int_equal(rdma_destroy_id(old), 0);
	rdma_destroy_event_channel(ch);
}

static int refused(int ret)
{
	return ret == -1 && errno == EACCES;
}

/* In the child. Returns the number of the first call that is not refused, or 0. */
static int try_all(struct rdma_event_channel *ch, struct rdma_cm_id *id)
{
	struct rdma_event_channel *own_ch = rdma_create_event_channel();
	struct rdma_alt_connect_attr attr = {
		.channel = ch, .dst_addr = addr4("10.9.0.2", 1), .timeout_ms = 1000,
	};
	struct rdma_conn_param param = { 0 };
	struct rdma_cm_event *event;
	struct rdma_cm_id *own, *ids[] = { id };
	int errors[1] = { 0 }, value = 1;
	bool all[] = {
		refused(rdma_bind_addr(id, addr4("10.9.0.2", 1))),
		refused(rdma_resolve_addr(id, NULL, addr4("10.9.0.2", 1), 1000)),
		refused(rdma_resolve_route(id, 1000)),
		refused(rdma_listen(id, 1)),
		refused(rdma_connect(id, &param)),
		refused(rdma_accept(id, &param)),
		refused(rdma_reject(id, NULL, 0)),
		refused(rdma_establish(id)),
		refused(rdma_disconnect(id)),
		refused(rdma_notify(id, IBV_EVENT_COMM_EST)),
		refused(rdma_join_multicast(id, addr4("239.1.1.1", 0), NULL)),
		refused(rdma_leave_multicast(id, addr4("239.1.1.1", 0))),
		refused(rdma_set_option(id, RDMA_OPTION_ID, RDMA_OPTION_ID_REUSEADDR, &value,
					sizeof(value))),
		refused(rdma_create_qp(id, NULL, &(struct ibv_qp_init_attr) { 0 })),
		refused(rdma_create_srq(id, NULL, &(struct ibv_srq_init_attr) { 0 })),
		refused(rdma_migrate_id(id, own_ch)),
		refused(rdma_migrate_id(id, NULL)),
		refused(rdma_destroy_id(id)),
		refused(rdma_alt_destroy_many(ids, 1, errors)) && errors[0] == EACCES,
		refused(rdma_get_cm_event(ch, &event)),
		refused(rdma_alt_get_cm_events(ch, &event, 1)),
		refused(rdma_create_id(ch, &own, NULL, RDMA_PS_TCP)),
		refused(rdma_alt_connect(&attr, &own)),
		refused(rdma_resolve_addrinfo(id, "10.9.0.2", "1", NULL)),
		refused(rdma_write_cm_event(id, (enum rdma_cm_event_type)RDMA_CM_ALT_EVENT_USER, 0,
					    0)),
	};
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(all); i++)
		if (!all[i])
			return (int)i + 1;
	rdma_destroy_ep(id);
	if (!fake_id_alive(handle_of(id)))
		return 100;
	/* What it makes itself is its own. */
	if (rdma_create_id(own_ch, &own, NULL, RDMA_PS_TCP) || !refused(rdma_migrate_id(own, ch)) ||
	    rdma_destroy_id(own))
		return 101;
	rdma_destroy_event_channel(own_ch);
	rdma_destroy_event_channel(ch);
	return 0;
}

TEST(child_changes_nothing_while_its_parent_lives)
{
	struct rdma_event_channel *ch = rdma_create_event_channel();
	struct rdma_cm_id *id = new_id(ch);
	pid_t child;

	assert_int_equal(rdma_resolve_addr(id, NULL, addr4("10.9.0.2", 1), 1000), 0);
	take_and_ack(ch, RDMA_CM_EVENT_ADDR_RESOLVED);
	child = fork();
	if (!child) {
		alarm(PATIENCE);
		leave(try_all(ch, id));
	}
	assert_int_equal(exit_code(child), 0);
	assert_int_equal(rdma_destroy_id(id), 0);
	rdma_destroy_event_channel(ch);
}

/* In a process that has ended before @steps more calls of fork(): the last child goes on. */
static void make_and_leave(int steps, int out)
{
	struct rdma_event_channel *ch = rdma_create_event_channel();
	struct rdma_cm_id *id = new_id(ch);
	char result;

	while (steps--)
		if (fork())
			leave(0);
	alarm(PATIENCE);
	/* daemon(3) returns in the child before its parent has ended. */
	result = rdma_destroy_id(id) ? 'n' : 'y';
	leave(write(out, &result, 1) != 1);
}

TEST(child_goes_on_when_its_parent_has_ended)
{
	int steps, ends[2];
	char result;
	pid_t child;

	for (steps = 1; steps <= 3; steps++) {
		assert_int_equal(pipe(ends), 0);
		child = fork();
		if (!child)
			make_and_leave(steps, ends[1]);
		close(ends[1]);
		assert_int_equal(read(ends[0], &result, 1), 1);
		assert_int_equal(result, 'y');
		close(ends[0]);
		assert_int_equal(exit_code(child), 0);
	}
}

RUN
