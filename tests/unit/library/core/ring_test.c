// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/* Tests of channels whose event ring is mapped. */
#include <pthread.h>
#include <rdma/rdma_cma_alt.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "core/process.h"
#include "fake/ring_fixture.h"

TEST(ring_is_mapped_when_the_channel_is_used)
{
	struct rdma_event_channel *ch = new_channel();
	struct rdma_cm_id *id = warm_up(ch);
	int i;

	/* Around the ring several times, without a read(). */
	for (i = 0; i < 3 * RCL_RING_ENTRIES; i++) {
		post(id, i);
		post(id, -i);
		assert_int_equal(take_number(ch, id), i);
		assert_int_equal(take_number(ch, id), -i);
	}
	assert_int_equal(fake.reads, 0);
	cool_down(ch, id);
}

TEST(empty_ring_ends_in_read)
{
	struct rdma_event_channel *ch = new_channel();
	struct rdma_cm_id *id = warm_up(ch);
	struct rdma_cm_event *event;

	nonblock(ch);
	assert_fails(EAGAIN, rdma_get_cm_event(ch, &event));
	assert_int_equal(fake.reads, 1);
	cool_down(ch, id);
}

TEST(kernel_without_rings_is_not_asked_for_one)
{
	struct rdma_event_channel *ch = rdma_create_event_channel();
	struct rdma_cm_id *id = new_id(ch);
	int i;

	for (i = 0; i < 2 * RCL_RING_AFTER; i++) {
		post(id, i);
		assert_int_equal(take_number(ch, id), i);
	}
	assert_null(rcl_ring_of(ch->fd));
	cool_down(ch, id);
}

TEST(channel_without_memory_for_a_ring_goes_on)
{
	struct rdma_event_channel *ch = new_channel();
	struct rdma_cm_id *id = new_id(ch);
	int i;

	fake.mmap_error = true;
	for (i = 0; i < 3 * RCL_RING_AFTER; i++) {
		post(id, i);
		assert_int_equal(take_number(ch, id), i);
	}
	assert_false(fake_ring_mapped(ch->fd));
	cool_down(ch, id);
}

TEST(copy_of_a_channel_is_as_good)
{
	struct rdma_event_channel *ch = new_channel(), copy = *ch;
	struct rdma_cm_id *id = warm_up(ch);

	post(id, 1);
	assert_int_equal(take_number(&copy, id), 1);
	assert_int_equal(fake.reads, 0);
	cool_down(ch, id);
}

TEST(request_by_a_copy_of_a_channel_is_on_the_channel)
{
	struct rdma_event_channel *ch = new_channel(), copy = *ch;
	struct rdma_cm_id *id = warm_up(ch), *l = listener(ch), *child;
	struct rdma_cm_event *event;

	fake_request(handle_of(l));
	event = take(&copy, RDMA_CM_EVENT_CONNECT_REQUEST);
	child = event->id;
	assert_ptr_equal(child->channel, ch);
	assert_int_equal(rdma_ack_cm_event(event), 0);
	assert_int_equal(rdma_destroy_id(child), 0);
	assert_int_equal(rdma_destroy_id(l), 0);
	cool_down(ch, id);
}

TEST(synchronous_id_has_no_ring)
{
	struct rdma_cm_id *id;
	int i;

	fake.features = RDMA_CM_ALT_FEATURE_RING;
	id = new_id(NULL);
	for (i = 0; i < RCL_RING_AFTER; i++)
		assert_int_equal(rdma_resolve_addr(id, NULL, addr4("10.9.0.2", 1), 1000), 0);
	assert_null(rcl_ring_of(id->channel->fd));
	assert_int_equal(rdma_destroy_id(id), 0);
}

TEST(destroyed_id_leaves_nothing_to_deliver)
{
	struct rdma_event_channel *ch = new_channel();
	struct rdma_cm_id *id = warm_up(ch), *dead = new_id(ch);
	struct rdma_cm_event *event;

	post(dead, 1);
	post(id, 2);
	post(dead, 3);
	assert_int_equal(rdma_destroy_id(dead), 0);
	dead = new_id(ch);	/* takes its slot in the table */
	assert_int_equal(take_number(ch, id), 2);
	nonblock(ch);
	assert_fails(EAGAIN, rdma_get_cm_event(ch, &event));
	assert_int_equal(rdma_destroy_id(dead), 0);
	cool_down(ch, id);
}

struct destroyer {
	struct rdma_cm_id *id;
	atomic_bool done;
};

static void *destroy(void *arg)
{
	struct destroyer *d = arg;

	rdma_destroy_id(d->id);
	atomic_store(&d->done, true);
	return NULL;
}

TEST(destroy_waits_for_events_from_the_ring)
{
	struct rdma_event_channel *ch = new_channel();
	struct rdma_cm_id *id = warm_up(ch);
	struct destroyer d = { .id = new_id(ch) };
	struct rdma_cm_event *event;
	pthread_t thread;

	post(d.id, 1);
	event = take(ch, USER);
	pthread_create(&thread, NULL, destroy, &d);
	usleep(50000);
	assert_false(atomic_load(&d.done));
	assert_int_equal(rdma_ack_cm_event(event), 0);
	pthread_join(thread, NULL);
	assert_int_equal(fake.reads, 0);
	cool_down(ch, id);
}

TEST(migrated_id_has_the_ring_of_its_channel)
{
	struct rdma_event_channel *from = new_channel(), *to = new_channel();
	struct rdma_cm_id *id = warm_up(from), *other = warm_up(to), *moved = new_id(from);

	assert_int_equal(rdma_migrate_id(moved, to), 0);
	post(moved, 1);
	assert_int_equal(take_number(to, moved), 1);
	/*
	 * Destroyed under the lock of the new channel: events that are voided there are not
	 * delivered.
	 */
	post(moved, 2);
	assert_int_equal(rdma_destroy_id(moved), 0);
	post(other, 3);
	assert_int_equal(take_number(to, other), 3);
	cool_down(from, id);
	cool_down(to, other);
}

TEST(synchronous_again_and_back)
{
	struct rdma_event_channel *ch = new_channel();
	struct rdma_cm_id *id = warm_up(ch), *moved = new_id(ch);

	assert_int_equal(rdma_migrate_id(moved, NULL), 0);
	assert_int_equal(rdma_resolve_addr(moved, NULL, addr4("10.9.0.2", 1), 1000), 0);
	assert_int_equal(rdma_migrate_id(moved, ch), 0);
	post(moved, 7);
	assert_int_equal(take_number(ch, moved), 7);
	assert_int_equal(rdma_destroy_id(moved), 0);
	cool_down(ch, id);
}

TEST(left_group_leaves_nothing_to_deliver)
{
	struct rdma_event_channel *ch = new_channel();
	struct rdma_cm_id *id = warm_up(ch), *ud = new_ud_id(ch);
	struct sockaddr *group = addr4("239.1.1.1", 0);
	struct rdma_cm_event *event;

	resolve(ud);
	assert_int_equal(rdma_join_multicast(ud, group, NULL), 0);
	assert_int_equal(rdma_leave_multicast(ud, group), 0);
	nonblock(ch);
	assert_fails(EAGAIN, rdma_get_cm_event(ch, &event));
	assert_int_equal(rdma_destroy_id(ud), 0);
	cool_down(ch, id);
}

TEST(requests_come_by_the_ring)
{
	struct rdma_event_channel *ch = new_channel();
	struct rdma_cm_id *id = warm_up(ch), *l = listener(ch);
	struct rdma_cm_event *event;
	struct rdma_cm_id *child;

	fake_request(handle_of(l));
	event = take(ch, RDMA_CM_EVENT_CONNECT_REQUEST);
	child = event->id;
	assert_ptr_equal(event->listen_id, l);
	assert_int_equal(rdma_ack_cm_event(event), 0);
	assert_int_equal(fake.reads, 0);
	post(child, 5);	/* without a cookie yet */
	assert_int_equal(take_number(ch, child), 5);
	assert_int_equal(rdma_destroy_id(child), 0);
	assert_int_equal(rdma_destroy_id(l), 0);
	cool_down(ch, id);
}

TEST(channel_may_go_before_its_ids)
{
	struct rdma_event_channel *ch = new_channel();
	struct rdma_cm_id *id = warm_up(ch);

	post(id, 1);
	fake.ids[handle_of(id)].alive = false;	/* goes with its queue */
	rdma_destroy_event_channel(ch);
	assert_int_equal(rdma_destroy_id(id), 0);
}

TEST(fork_gives_the_ring_up)
{
	struct rdma_event_channel *ch = new_channel();
	struct rdma_cm_id *id = warm_up(ch);
	struct rdma_cm_event *event;
	pid_t child;
	int i;

	for (i = 0; i < 3; i++)
		post(id, i);
	assert_int_equal(take_number(ch, id), 0);
	child = fork();
	if (!child) {
		alarm(20);
		rcl_process_made_fd(ch->fd);	/* as if its parent had ended */
		i = rdma_get_cm_event(ch, &event) || event->status != 1 || event->id != id;
		syscall(SYS_exit_group, i);
		abort();
	}
	assert_int_equal(exit_code(child), 0);
	assert_int_equal(take_number(ch, id), 2);
	for (i = 0; i < 2 * RCL_RING_AFTER; i++) {
		post(id, i);
		assert_int_equal(take_number(ch, id), i);
	}
	assert_false(fake_ring_mapped(ch->fd));
	cool_down(ch, id);
}

/* Whether MADV_WIPEONFORK has an effect: qemu-user says that it succeeds, and ignores it. */
static bool fork_wipes(void)
{
	size_t size = (size_t)sysconf(_SC_PAGESIZE);
	char *page = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	pid_t child;
	int left;

	assert_true(page != MAP_FAILED);
	assert_int_equal(madvise(page, size, MADV_WIPEONFORK), 0);
	*page = 1;
	child = fork();
	if (!child)
		_exit(*page);
	left = exit_code(child);
	munmap(page, size);
	return !left;
}

/* Without the fork() handlers: the child must not access the mapping, which it does not have. */
TEST(child_of_clone_does_not_use_the_ring)
{
	struct rdma_event_channel *ch;
	union rcl_record record;
	struct rdma_cm_id *id;
	long child;
	int got;

	if (!fork_wipes()) {
		print_message("MADV_WIPEONFORK has no effect here (an emulator?)\n");
		skip();
	}
	ch = new_channel();
	id = warm_up(ch);
	post(id, 1);
#ifdef __s390__
	child = syscall(SYS_clone, NULL, SIGCHLD, NULL, NULL, NULL);
#else
	child = syscall(SYS_clone, SIGCHLD, NULL, NULL, NULL, NULL);
#endif
	if (!child) {
		got = rcl_ring_peek(rcl_ring_of(ch->fd), &record);
		syscall(SYS_exit_group, got);
		abort();
	}
	assert_true(child > 0);
	assert_int_equal(exit_code((pid_t)child), 0);
	assert_int_equal(take_number(ch, id), 1);
	assert_int_equal(fake.reads, 0);
	cool_down(ch, id);
}

/* In the child; a failure is the number passed to exit(). */
static int use_own_channel(void)
{
	struct rdma_event_channel *ch = rdma_create_event_channel();
	struct rdma_cm_id *id;
	struct rdma_cm_event *event;
	int i, reads = 0;

	if (rdma_create_id(ch, &id, NULL, RDMA_PS_TCP))
		return 1;
	for (i = 0; i < 3 * RCL_RING_AFTER; i++) {
		post(id, i);
		if (rdma_get_cm_event(ch, &event) || event->status != i || event->id != id)
			return 2;
		if (rdma_ack_cm_event(event))
			return 3;
		if (i == RCL_RING_AFTER)
			reads = fake.reads;
	}
	if (!fake_ring_mapped(ch->fd) || fake.reads != reads)
		return 4;
	return rdma_destroy_id(id) ? 5 : 0;
}

TEST(child_has_rings_of_its_own)
{
	struct rdma_event_channel *ch = new_channel();
	struct rdma_cm_id *id = warm_up(ch);
	pid_t child = fork();

	if (!child) {
		alarm(20);
		syscall(SYS_exit_group, use_own_channel());
		abort();
	}
	assert_int_equal(exit_code(child), 0);
	cool_down(ch, id);
}

/*
 * The library does not know the copy of the descriptor: the channel's own ring must not keep
 * the events.
 */
TEST(copy_of_the_descriptor_reads_all_events)
{
	struct rdma_event_channel *ch = new_channel(), copy;
	struct rdma_cm_id *id = warm_up(ch);
	struct rdma_cm_event *event;
	int i;

	copy.fd = fake_copy(ch->fd);
	for (i = 0; i < 3; i++)
		post(id, i);
	assert_int_equal(take_number(&copy, id), 0);
	assert_int_equal(take_number(ch, id), 1);
	assert_int_equal(take_number(&copy, id), 2);
	assert_false(fake_ring_mapped(ch->fd));
	nonblock(&copy);
	assert_fails(EAGAIN, rdma_get_cm_event(&copy, &event));
	fake_uncopy(copy.fd);
	cool_down(ch, id);
}

TEST(id_on_a_copy_of_the_descriptor_gives_the_ring_up)
{
	struct rdma_event_channel *ch = new_channel(), copy;
	struct rdma_cm_id *id = warm_up(ch), *other;

	copy.fd = fake_copy(ch->fd);
	other = new_id(&copy);
	assert_false(fake_ring_mapped(ch->fd));
	post(other, 1);
	assert_int_equal(take_number(ch, other), 1);
	assert_int_equal(rdma_destroy_id(other), 0);
	fake_uncopy(copy.fd);
	cool_down(ch, id);
}

TEST(move_to_a_copy_of_the_descriptor_gives_the_ring_up)
{
	struct rdma_event_channel *ch = new_channel(), copy;
	struct rdma_cm_id *id = warm_up(ch), *other = new_id(NULL);

	copy.fd = fake_copy(ch->fd);
	assert_int_equal(rdma_migrate_id(other, &copy), 0);
	assert_false(fake_ring_mapped(ch->fd));
	assert_int_equal(rdma_destroy_id(other), 0);
	fake_uncopy(copy.fd);
	cool_down(ch, id);
}

static void *get_event(void *arg)
{
	struct rdma_cm_event *event;

	return rdma_get_cm_event(arg, &event) ? NULL : event;
}

static void *get_events(void *arg)
{
	struct rdma_cm_event *events[RCL_RING_AFTER];

	return rdma_alt_get_cm_events(arg, events, RCL_RING_AFTER) < 0 ? NULL : arg;
}

static void cancel(void *(*function)(void *), void *arg)
{
	pthread_t thread;
	void *result;

	pthread_create(&thread, NULL, function, arg);
	usleep(50000);
	pthread_cancel(thread);
	pthread_join(thread, &result);
	assert_ptr_equal(result, PTHREAD_CANCELED);
}

/* A cancelled reader holds no lock and leaks no memory. */
TEST(cancelled_reader_takes_no_event_along)
{
	struct rdma_event_channel *ch = new_channel();
	struct rdma_cm_id *id = new_id(ch);
	int i;

	for (i = 0; i < 3 * RCL_RING_AFTER; i++) {
		if (i % RCL_RING_AFTER == RCL_RING_AFTER / 2) {
			cancel(get_event, ch);
			cancel(get_events, ch);
		}
		post(id, i);
		assert_int_equal(take_number(ch, id), i);
	}
	cool_down(ch, id);
}

TEST(cancelled_destroyer_leaves_no_lock_behind)
{
	struct rdma_event_channel *ch = new_channel();
	struct rdma_cm_id *id = new_id(ch);
	struct destroyer d = { .id = id };
	struct rdma_cm_event *event;
	pid_t child;

	post(id, 1);
	event = take(ch, USER);
	cancel(destroy, &d);
	assert_int_equal(rdma_ack_cm_event(event), 0);
	child = fork();		/* takes all locks */
	if (!child)
		syscall(SYS_exit_group, 0);
	assert_int_equal(exit_code(child), 0);
	rcl_id_free(rcl_id_of(id));
	rdma_destroy_event_channel(ch);
}

#define THREADS 4
#define EVENTS 2000

struct crowd {
	struct rdma_event_channel *ch;
	struct rdma_cm_id *id;
	atomic_int left;
	atomic_int seen[EVENTS];
};

static void *take_all(void *arg)
{
	struct crowd *c = arg;
	struct rdma_cm_event *event;

	while (!rdma_get_cm_event(c->ch, &event)) {
		int number = event->status;

		rdma_ack_cm_event(event);
		if (number < 0)
			break;
		atomic_fetch_add(&c->seen[number], 1);
		atomic_fetch_sub(&c->left, 1);
	}
	return NULL;
}

/* Other ids come and go on the same channel meanwhile, with events that are not read. */
TEST(every_event_goes_to_one_of_many_threads)
{
	static struct crowd c;
	pthread_t threads[THREADS];
	int i;

	c.ch = new_channel();
	c.id = warm_up(c.ch);
	atomic_store(&c.left, EVENTS);
	for (i = 0; i < THREADS; i++)
		pthread_create(&threads[i], NULL, take_all, &c);
	for (i = 0; i < EVENTS; i++) {
		/* At most as many as the ring has slots. */
		while (EVENTS - i + RCL_RING_ENTRIES / 2 < atomic_load(&c.left))
			usleep(10);
		post(c.id, i);
		if (i % 16 == 0 && i < 16 * 100) {
			struct rdma_cm_id *other = new_id(c.ch);

			assert_int_equal(rdma_destroy_id(other), 0);
		}
	}
	while (atomic_load(&c.left))
		usleep(100);
	for (i = 0; i < THREADS; i++)
		post(c.id, -1);
	for (i = 0; i < THREADS; i++)
		pthread_join(threads[i], NULL);
	for (i = 0; i < EVENTS; i++)
		assert_int_equal(atomic_load(&c.seen[i]), 1);
	cool_down(c.ch, c.id);
}

RUN
