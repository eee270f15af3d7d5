// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/* Tests of creating, destroying and moving ids. */
#include <fcntl.h>
#include <pthread.h>
#include <stdatomic.h>
#include <unistd.h>

#include "fake/fixture.h"

struct waiter {
	struct rdma_cm_id *id;
	struct rdma_event_channel *channel;	/* to migrate to; NULL: destroy */
	atomic_bool done;
};

static void *destroy_or_migrate(void *arg)
{
	struct waiter *w = arg;

	if (w->channel)
		rdma_migrate_id(w->id, w->channel);
	else
		rdma_destroy_id(w->id);
	atomic_store(&w->done, true);
	return NULL;
}

TEST(create_on_channel_is_one_call)
{
	struct rdma_event_channel *ch = rdma_create_event_channel();
	struct rdma_cm_id *id = new_id(ch);

	assert_int_equal(fake.calls[FAKE(RESOLVE)], 1);
	assert_int_equal(fake.last[FAKE(RESOLVE)].resolve.pipe.queue_fd, ch->fd);
	assert_int_equal(fake.last[FAKE(RESOLVE)].resolve.pipe.cookie, rcl_id_of(id)->cookie);
	assert_ptr_equal(id->channel, ch);
	assert_ptr_equal(id->context, (void *)0x55);
	assert_int_equal(id->qp_type, IBV_QPT_RC);
	assert_null(id->verbs);
	assert_null(id->event);
	assert_int_equal(rdma_destroy_id(id), 0);
	rdma_destroy_event_channel(ch);
}

TEST(create_without_channel_makes_a_queue_in_the_same_call)
{
	struct rdma_cm_id *id = new_id(NULL);

	assert_int_equal(fake.calls[FAKE(QUEUE_CREATE)], 0);
	assert_int_equal(fake.calls[FAKE(RESOLVE)], 1);
	assert_true(id->channel->fd >= 0);
	assert_int_equal(rdma_destroy_id(id), 0);
}

TEST(channel_without_a_descriptor_is_ebadf)
{
	struct rdma_event_channel *ch = rdma_create_event_channel(), none = { .fd = -1 };
	struct rdma_cm_id *id = new_id(ch), *other;

	assert_fails(EBADF, rdma_create_id(&none, &other, NULL, RDMA_PS_TCP));
	assert_fails(EBADF, rdma_migrate_id(id, &none));
	assert_ptr_equal(id->channel, ch);
	assert_int_equal(rdma_destroy_id(id), 0);
	rdma_destroy_event_channel(ch);
}

TEST(create_at_fd_limit_says_emfile)
{
	struct rdma_cm_id *id = NULL;

	fake.fail[FAKE(RESOLVE)] = EMFILE;
	assert_fails(EMFILE, rdma_create_id(NULL, &id, NULL, RDMA_PS_TCP));
	assert_null(id);
}

TEST(create_with_bad_arguments_is_einval)
{
	struct rdma_cm_id *id;

	assert_fails(EINVAL, rdma_create_id(NULL, NULL, NULL, RDMA_PS_TCP));
	assert_fails(EINVAL, rdma_create_id(NULL, &id, NULL, 0x10106));
}

TEST(create_without_rdma_device_is_enodev)
{
	struct rdma_cm_id *id;

	fake_verbs.devices = 0;
	assert_fails(ENODEV, rdma_create_id(NULL, &id, NULL, RDMA_PS_TCP));
}

TEST(datagram_port_spaces_make_datagram_ids)
{
	struct rdma_cm_id *id;

	assert_int_equal(rdma_create_id(NULL, &id, NULL, RDMA_PS_UDP), 0);
	assert_int_equal(id->qp_type, IBV_QPT_UD);
	assert_int_equal(fake.last[FAKE(RESOLVE)].resolve.pipe.qp_type, IBV_QPT_UD);
	assert_int_equal(rdma_destroy_id(id), 0);
}

TEST(destroy_waits_until_delivered_events_are_acked)
{
	struct rdma_event_channel *ch = rdma_create_event_channel();
	struct waiter w = { .id = new_id(ch) };
	struct rdma_cm_event *event;
	pthread_t thread;

	assert_int_equal(rdma_resolve_addr(w.id, NULL, addr4("10.9.0.2", 1), 1000), 0);
	event = take(ch, RDMA_CM_EVENT_ADDR_RESOLVED);

	pthread_create(&thread, NULL, destroy_or_migrate, &w);
	usleep(100000);
	assert_false(atomic_load(&w.done));
	rdma_ack_cm_event(event);
	pthread_join(thread, NULL);
	assert_true(atomic_load(&w.done));
	rdma_destroy_event_channel(ch);
}

TEST(destroy_does_not_wait_for_events_that_were_not_delivered)
{
	struct rdma_event_channel *ch = rdma_create_event_channel();
	struct rdma_cm_id *id = new_id(ch);

	assert_int_equal(rdma_resolve_addr(id, NULL, addr4("10.9.0.2", 1), 1000), 0);
	assert_int_equal(rdma_destroy_id(id), 0);
	rdma_destroy_event_channel(ch);
}

TEST(destroy_after_its_channel_frees_the_id)
{
	struct rdma_event_channel *ch = rdma_create_event_channel();
	struct rdma_cm_id *id = new_id(ch);

	rdma_destroy_event_channel(ch);
	fake.fail[FAKE(DESTROY)] = ENOENT;
	assert_int_equal(rdma_destroy_id(id), 0);
}

TEST(destroy_that_the_kernel_refuses_can_be_repeated)
{
	struct rdma_cm_id *id = new_id(NULL);

	fake.fail[FAKE(DESTROY)] = EBADF;
	assert_fails(EBADF, rdma_destroy_id(id));
	assert_int_equal(rdma_destroy_id(id), 0);
	assert_fails(EINVAL, rdma_destroy_id(NULL));
}

TEST(destroy_keeps_the_default_pd_for_the_next_id)
{
	struct rdma_cm_id *a = new_id(NULL), *b = new_id(NULL);
	struct ibv_pd *pd;

	assert_int_equal(rdma_bind_addr(a, addr4("10.9.0.1", 1)), 0);
	assert_int_equal(rdma_bind_addr(b, addr4("10.9.0.1", 2)), 0);
	assert_non_null(a->pd);
	assert_ptr_equal(a->pd, b->pd);
	assert_ptr_equal(a->verbs, b->verbs);
	assert_int_equal(fake_verbs.objects, 1);
	pd = a->pd;
	assert_int_equal(rdma_destroy_id(a), 0);
	assert_int_equal(rdma_destroy_id(b), 0);
	a = new_id(NULL);
	assert_int_equal(rdma_bind_addr(a, addr4("10.9.0.1", 1)), 0);
	assert_ptr_equal(a->pd, pd);
	assert_int_equal(fake_verbs.objects, 1);
	assert_int_equal(fake_verbs.open_contexts, 1);
	assert_int_equal(rdma_destroy_id(a), 0);
}

TEST(migrate_moves_the_id_and_waits_for_acks)
{
	struct rdma_event_channel *from = rdma_create_event_channel();
	struct rdma_event_channel *to = rdma_create_event_channel();
	struct waiter w = { .id = new_id(from), .channel = to };
	struct rdma_cm_event *event;
	pthread_t thread;

	assert_int_equal(rdma_resolve_addr(w.id, NULL, addr4("10.9.0.2", 1), 1000), 0);
	event = take(from, RDMA_CM_EVENT_ADDR_RESOLVED);
	pthread_create(&thread, NULL, destroy_or_migrate, &w);
	usleep(100000);
	assert_false(atomic_load(&w.done));
	rdma_ack_cm_event(event);
	pthread_join(thread, NULL);

	assert_ptr_equal(w.id->channel, to);
	assert_int_equal(fake.last[FAKE(SET_QUEUE)].set_queue.queue_fd, to->fd);
	assert_int_equal(rdma_resolve_route(w.id, 1000), 0);
	take_and_ack(to, RDMA_CM_EVENT_ROUTE_RESOLVED);
	assert_int_equal(rdma_destroy_id(w.id), 0);
	rdma_destroy_event_channel(from);
	rdma_destroy_event_channel(to);
}

TEST(migrate_from_synchronous_drops_the_event_and_the_queue)
{
	struct rdma_event_channel *to = rdma_create_event_channel();
	struct rdma_cm_id *id = new_id(NULL);

	resolve(id);
	assert_non_null(id->event);
	assert_int_equal(fake_open_queues(), 2);
	assert_int_equal(rdma_migrate_id(id, to), 0);
	assert_null(id->event);
	assert_int_equal(fake_open_queues(), 1);
	/* Asynchronous from now on. */
	fake.connect_event = FAKE_NO_EVENT;
	add_qp(id);
	assert_int_equal(rdma_connect(id, NULL), 0);
	rdma_destroy_qp(id);
	assert_int_equal(rdma_destroy_id(id), 0);
	rdma_destroy_event_channel(to);
}

TEST(migrate_to_null_makes_the_id_synchronous)
{
	struct rdma_event_channel *ch = rdma_create_event_channel();
	struct rdma_cm_id *id = new_id(ch);

	assert_int_equal(rdma_migrate_id(id, NULL), 0);
	assert_ptr_not_equal(id->channel, ch);
	resolve(id);
	assert_int_equal(id->event->event, RDMA_CM_EVENT_ROUTE_RESOLVED);
	assert_fails(EINVAL, rdma_migrate_id(id, NULL));
	assert_int_equal(rdma_destroy_id(id), 0);
	rdma_destroy_event_channel(ch);
}

TEST(migrate_that_fails_changes_nothing)
{
	struct rdma_event_channel *ch = rdma_create_event_channel();
	struct rdma_cm_id *id = new_id(ch);

	fake.fail[FAKE(SET_QUEUE)] = EMFILE;
	assert_fails(EMFILE, rdma_migrate_id(id, NULL));
	assert_ptr_equal(id->channel, ch);
	assert_false(rcl_id_of(id)->sync);
	assert_fails(EINVAL, rdma_migrate_id(NULL, ch));
	assert_int_equal(rdma_destroy_id(id), 0);
	rdma_destroy_event_channel(ch);
}

struct reader {
	struct rdma_event_channel *channel;
	struct rdma_cm_id *stop;	/* an event of it ends the thread */
	int taken;
};

static void *read_all(void *arg)
{
	struct reader *r = arg;
	struct rdma_cm_event *event;
	bool stop;

	do {
		if (rdma_get_cm_event(r->channel, &event))
			return NULL;
		stop = event->id == r->stop;
		r->taken += !stop;
		rdma_ack_cm_event(event);
	} while (!stop);
	return NULL;
}

static void start_reader(struct reader *r, pthread_t *thread)
{
	r->channel = rdma_create_event_channel();
	r->stop = new_id(r->channel);
	r->taken = 0;
	pthread_create(thread, NULL, read_all, r);
}

static int finish(struct reader *r, pthread_t thread)
{
	fake_post_type(RDMA_CM_ALT_EVENT_ADDR_CHANGE, handle_of(r->stop), 0);
	pthread_join(thread, NULL);
	assert_int_equal(rdma_destroy_id(r->stop), 0);
	rdma_destroy_event_channel(r->channel);
	return r->taken;
}

TEST(migrate_while_other_threads_read)
{
	/* At most as many as the pipes hold, if no thread reads. */
	enum { ROUNDS = 80 };
	struct reader a, b;
	pthread_t ta, tb;
	struct rdma_cm_id *id;
	int i;

	start_reader(&a, &ta);
	start_reader(&b, &tb);
	id = new_id(a.channel);
	for (i = 0; i < ROUNDS; i++) {
		fake_post_type(RDMA_CM_ALT_EVENT_ADDR_CHANGE, handle_of(id), 0);
		assert_int_equal(rdma_migrate_id(id, i % 2 ? a.channel : b.channel), 0);
	}
	/* The fake kernel leaves unread records where they were. */
	assert_int_equal(finish(&a, ta) + finish(&b, tb), ROUNDS);
	assert_int_equal(rdma_destroy_id(id), 0);
}

TEST(destroy_while_another_thread_reads)
{
	struct rdma_cm_id *id;
	struct reader r;
	pthread_t thread;
	int i;

	start_reader(&r, &thread);
	for (i = 0; i < 25; i++) {
		id = new_id(r.channel);
		fake_post_type(RDMA_CM_ALT_EVENT_ADDR_CHANGE, handle_of(id), 0);
		fake_post_type(RDMA_CM_ALT_EVENT_ADDR_CHANGE, handle_of(id), 0);
		assert_int_equal(rdma_destroy_id(id), 0);
	}
	assert_true(finish(&r, thread) <= 50);
}

TEST(channel_of_an_id_that_moved_is_its_own_business)
{
	struct rdma_event_channel *from = rdma_create_event_channel();
	struct rdma_event_channel *to = rdma_create_event_channel();
	struct rdma_cm_id *id = new_id(from);

	assert_int_equal(rdma_migrate_id(id, to), 0);
	rdma_destroy_event_channel(from);
	resolve(id);
	assert_int_equal(rdma_migrate_id(id, NULL), 0);
	rdma_destroy_event_channel(to);
	assert_int_equal(rdma_destroy_id(id), 0);
}

TEST(request_follows_the_channel_that_it_came_by)
{
	struct rdma_event_channel *from = rdma_create_event_channel();
	struct rdma_event_channel *to = rdma_create_event_channel();
	struct rdma_cm_id *l = listener(from), *child;
	struct rdma_cm_event *event;

	fake_request(handle_of(l));
	/* Another thread is about to read the request while the listener moves. */
	assert_int_equal(rdma_migrate_id(l, to), 0);
	event = take(from, RDMA_CM_EVENT_CONNECT_REQUEST);
	child = event->id;
	assert_ptr_equal(child->channel, from);
	assert_int_equal(rdma_ack_cm_event(event), 0);
	assert_int_equal(rdma_destroy_id(child), 0);

	fake_request(handle_of(l));
	assert_int_equal(rdma_migrate_id(l, NULL), 0);
	event = take(to, RDMA_CM_EVENT_CONNECT_REQUEST);
	child = event->id;
	assert_ptr_equal(child->channel, to);
	assert_false(rcl_id_of(child)->sync);
	assert_int_equal(rdma_ack_cm_event(event), 0);
	assert_int_equal(rdma_destroy_id(child), 0);
	assert_int_equal(rdma_destroy_id(l), 0);
	rdma_destroy_event_channel(from);
	rdma_destroy_event_channel(to);
}

#define TAKERS 3
#define LAPS 300

static atomic_int held;

/* Takes and acknowledges events until the id is being destroyed. */
static void *take_until_destroyed(void *arg)
{
	struct rcl_id *id = arg;

	while (rcl_id_count_event(id)) {
		atomic_fetch_add(&held, 1);
		sched_yield();
		atomic_fetch_sub(&held, 1);
		rcl_id_ack(id);
	}
	return NULL;
}

/* What is counted at the same time as the flag is set is waited for, or not delivered. */
TEST(destroyer_of_a_shared_id_waits_for_every_event_that_counts)
{
	struct rdma_cm_id *id = new_id(NULL);
	struct rcl_id *priv = rcl_id_of(id);
	pthread_t takers[TAKERS];
	int i, lap;

	priv->shared = true;
	for (lap = 0; lap < LAPS; lap++) {
		priv->destroying = false;
		for (i = 0; i < TAKERS; i++)
			pthread_create(&takers[i], NULL, take_until_destroyed, priv);
		sched_yield();
		priv->destroying = true;
		rcl_id_wait_acked(priv, 0);
		assert_int_equal(atomic_load(&held), 0);
		for (i = 0; i < TAKERS; i++)
			pthread_join(takers[i], NULL);
		assert_int_equal(priv->events_taken, priv->events_acked);
	}
	priv->destroying = false;
	assert_int_equal(rdma_destroy_id(id), 0);
}

RUN
