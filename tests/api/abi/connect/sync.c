// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/* Ids without a queue: their events are queued on the id, and read by GET_EVENT. */
#include "rca_test.h"
#include "tasks.h"

#define NONBLOCK RDMA_CM_ALT_GET_EVENT_NONBLOCK

static void expect_sync(int ctx, uint32_t id, uint32_t type, event_t *ev)
{
	event_t own;

	ev = ev ?: &own;
	memset(ev, 0xaa, sizeof(*ev));
	EXPECT_EQ(rca_get_event(ctx, id, 0, ev), 0);
	EXPECT_EQ(ev->type, type);
	EXPECT_EQ(ev->status, 0);
}

static uint32_t get_sync(int ctx)
{
	uint32_t id = get_id(ctx, -1, 0);

	EXPECT_EQ(rca_resolve_addr(ctx, id, NULL, HERE, 1), 0);
	expect_sync(ctx, id, RDMA_CM_ALT_EVENT_ADDR_RESOLVED, NULL);
	return id;
}

TEST(events_wait_on_the_id)
{
	int ctx = get_ctx();
	uint32_t id = get_id(ctx, -1, 7);
	event_t ev;

	EXPECT_EQ(rca_get_event(ctx, id, NONBLOCK, &ev), -EAGAIN);
	EXPECT_EQ(rca_resolve_addr(ctx, id, NULL, HERE, 1), 0);
	expect_sync(ctx, id, RDMA_CM_ALT_EVENT_ADDR_RESOLVED, &ev);
	EXPECT_EQ(ev.id, id);
	EXPECT_EQ(ev.cookie, 7);
	EXPECT_EQ(rca_get_event(ctx, id, NONBLOCK, &ev), -EAGAIN);
}

TEST(connection_without_queues)
{
	int ctx = get_ctx();
	uint32_t listener, client, server;
	event_t ev;

	listener = get_bound(ctx, -1, HERE, 0);
	EXPECT_EQ(rca_listen(ctx, listener, 0), 0);
	client = get_id(ctx, -1, 0);
	EXPECT_EQ(rca_resolve_addr(ctx, client, NULL, HERE, get_port(ctx, listener)), 0);
	expect_sync(ctx, client, RDMA_CM_ALT_EVENT_ADDR_RESOLVED, NULL);
	EXPECT_EQ(rca_resolve_route(ctx, client), 0);
	expect_sync(ctx, client, RDMA_CM_ALT_EVENT_ROUTE_RESOLVED, NULL);
	EXPECT_EQ(rca_connect(ctx, client, NULL, 0), 0);
	expect_sync(ctx, listener, RDMA_CM_ALT_EVENT_CONNECT_REQUEST, &ev);
	server = ev.id;
	EXPECT_EQ(rca_accept(ctx, server, 5, NULL, 0), 0);
	expect_sync(ctx, client, RDMA_CM_ALT_EVENT_CONNECT_RESPONSE, NULL);
	EXPECT_EQ(rca_establish(ctx, client), 0);
	/* The new id has its own events, also after its listener is destroyed. */
	expect_sync(ctx, server, RDMA_CM_ALT_EVENT_ESTABLISHED, &ev);
	EXPECT_EQ(ev.cookie, 5);
	EXPECT_EQ(rca_get_event(ctx, listener, NONBLOCK, &ev), -EAGAIN);
	EXPECT_EQ(rca_destroy(ctx, listener), 0);
	EXPECT_EQ(rca_disconnect(ctx, client), 0);
	expect_sync(ctx, client, RDMA_CM_ALT_EVENT_DISCONNECTED, NULL);
	expect_sync(ctx, server, RDMA_CM_ALT_EVENT_DISCONNECTED, NULL);
}

TEST(id_with_a_queue_is_einval)
{
	int ctx = get_ctx();
	event_t ev;

	EXPECT_EQ(rca_get_event(ctx, get_id(ctx, get_queue(ctx), 0), NONBLOCK, &ev), -EINVAL);
}

TEST(unknown_id_is_enoent)
{
	event_t ev;

	EXPECT_EQ(rca_get_event(get_ctx(), 1, NONBLOCK, &ev), -ENOENT);
}

TEST(record_sizes)
{
	uint8_t buf[8192];
	struct rdma_cm_alt_get_event cmd = {
		.size = sizeof(cmd), .flags = NONBLOCK, .record_uptr = (uintptr_t)buf,
	};
	int ctx = get_ctx();
	uint32_t id;
	event_t ev;

	cmd.id = get_sync(ctx);
	EXPECT_EQ(rca_resolve_route(ctx, cmd.id), 0);
	for (uint32_t len = 0; len < 64; len++) {
		cmd.record_len = len;
		EXPECT_EQ(rca_call(ctx, RDMA_CM_ALT_GET_EVENT, &cmd), -EINVAL);
	}
	memset(buf, 0xaa, sizeof(buf));
	cmd.record_len = 64;
	EXPECT_EQ(rca_call(ctx, RDMA_CM_ALT_GET_EVENT, &cmd), 0);
	memcpy(&ev, buf, 64);
	EXPECT_EQ(ev.type, RDMA_CM_ALT_EVENT_ROUTE_RESOLVED);
	EXPECT_EQ(buf[64], 0xaa);

	id = get_sync(ctx);
	EXPECT_EQ(rca_resolve_route(ctx, id), 0);
	cmd.id = id;
	cmd.record_len = 4096;
	EXPECT_EQ(rca_call(ctx, RDMA_CM_ALT_GET_EVENT, &cmd), 0);
	for (int i = sizeof(ev); i < 4096; i++)
		EXPECT_EQ(buf[i], 0);
	EXPECT_EQ(buf[4096], 0xaa);
}

TEST(bad_buffer_is_efault_and_loses_nothing)
{
	uint8_t *pages = MUST(mmap(NULL, 8192, PROT_READ | PROT_WRITE,
				   MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
	int ctx = get_ctx();
	uint32_t id = get_sync(ctx);

	MUST(munmap(pages + 4096, 4096));
	EXPECT_EQ(rca_resolve_route(ctx, id), 0);
	EXPECT_EQ(rca_get_event(ctx, id, 0, NULL), -EFAULT);
	EXPECT_EQ(rca_get_event(ctx, id, 0, (event_t *)(pages + 4096 - 64)), -EFAULT);
	EXPECT_EQ(rca_get_event(ctx, id, 0, (event_t *)-4096L), -EFAULT);
	expect_sync(ctx, id, RDMA_CM_ALT_EVENT_ROUTE_RESOLVED, NULL);
}

TEST(request_that_cannot_be_copied_is_not_lost)
{
	int ctx = get_ctx(), cq = get_queue(ctx);
	uint32_t listener = get_bound(ctx, -1, HERE, 0), client;
	event_t ev;

	EXPECT_EQ(rca_listen(ctx, listener, 0), 0);
	client = get_client(ctx, cq, HERE, get_port(ctx, listener), 0);
	EXPECT_EQ(rca_connect(ctx, client, NULL, 0), 0);
	EXPECT_EQ(rca_get_event(ctx, listener, 0, NULL), -EFAULT);
	expect_sync(ctx, listener, RDMA_CM_ALT_EVENT_CONNECT_REQUEST, &ev);
	EXPECT_EQ(rca_accept(ctx, ev.id, 0, NULL, 0), 0);
	EXPECT_EVENT(cq, CONNECT_RESPONSE, client);
}

struct waiter {
	pthread_t thread;
	int ctx;
	uint32_t id;
	event_t ev;
	int ret;
};

static void *wait_one(void *arg)
{
	struct waiter *waiter = arg;

	waiter->ret = rca_get_event(waiter->ctx, waiter->id, 0, &waiter->ev);
	return NULL;
}

/* Start a thread that sleeps in GET_EVENT. */
static void start_waiter(struct waiter *waiter, int ctx, uint32_t id)
{
	*waiter = (struct waiter) { .ctx = ctx, .id = id };
	waiter->thread = start_sleeper(wait_one, waiter);
}

TEST(waits_for_an_event)
{
	int ctx = get_ctx();
	uint32_t id = get_sync(ctx);
	struct waiter waiter;

	start_waiter(&waiter, ctx, id);
	EXPECT_EQ(rca_resolve_route(ctx, id), 0);
	EXPECT_EQ(pthread_join(waiter.thread, NULL), 0);
	EXPECT_EQ(waiter.ret, 0);
	EXPECT_EQ(waiter.ev.type, RDMA_CM_ALT_EVENT_ROUTE_RESOLVED);
}

TEST(destroy_ends_the_wait_with_enoent)
{
	int ctx = get_ctx();
	struct waiter waiters[3];
	uint32_t id = get_id(ctx, -1, 0);

	for (int i = 0; i < 3; i++)
		start_waiter(&waiters[i], ctx, id);
	EXPECT_EQ(rca_destroy(ctx, id), 0);
	for (int i = 0; i < 3; i++) {
		EXPECT_EQ(pthread_join(waiters[i].thread, NULL), 0);
		EXPECT_EQ(waiters[i].ret, -ENOENT);
	}
}

TEST(move_to_a_queue_ends_the_wait_with_einval)
{
	int ctx = get_ctx();
	uint32_t id = get_id(ctx, -1, 0);
	struct waiter waiter;

	start_waiter(&waiter, ctx, id);
	EXPECT_EQ(rca_set_queue(ctx, id, get_queue(ctx)), 0);
	EXPECT_EQ(pthread_join(waiter.thread, NULL), 0);
	EXPECT_EQ(waiter.ret, -EINVAL);
}

TEST(wait_goes_on_when_the_id_changes_its_private_place)
{
	int ctx = get_ctx();
	uint32_t id = get_sync(ctx);
	struct waiter waiter;

	start_waiter(&waiter, ctx, id);
	EXPECT_EQ(rca_set_queue(ctx, id, -1), 0);
	EXPECT_EQ(rca_resolve_route(ctx, id), 0);
	EXPECT_EQ(pthread_join(waiter.thread, NULL), 0);
	EXPECT_EQ(waiter.ret, 0);
}

static void nothing(int sig)
{
	(void)sig;
}

TEST(signal_ends_the_wait_with_eintr)
{
	struct sigaction action = { .sa_handler = nothing };
	int ctx = get_ctx();
	struct waiter waiter;

	MUST(sigaction(SIGUSR1, &action, NULL));
	start_waiter(&waiter, ctx, get_id(ctx, -1, 0));
	EXPECT_EQ(pthread_kill(waiter.thread, SIGUSR1), 0);
	EXPECT_EQ(pthread_join(waiter.thread, NULL), 0);
	EXPECT_EQ(waiter.ret, -EINTR);
}

TEST(events_move_to_a_queue_and_back)
{
	int ctx = get_ctx(), queue = get_queue(ctx);
	uint32_t id = get_sync(ctx);
	event_t ev;

	EXPECT_EQ(rca_resolve_route(ctx, id), 0);
	EXPECT_EQ(rca_set_queue(ctx, id, queue), 0);
	EXPECT_EQ(rca_get_event(ctx, id, NONBLOCK, &ev), -EINVAL);
	EXPECT(event_waits(queue));
	EXPECT_EQ(rca_set_queue(ctx, id, -1), 0);
	EXPECT(!event_waits(queue));
	MUST(close(queue));
	expect_sync(ctx, id, RDMA_CM_ALT_EVENT_ROUTE_RESOLVED, NULL);
}

TEST(close_of_the_context_destroys_ids_without_a_queue)
{
	int ctx = get_ctx(), other = get_ctx();

	get_bound(ctx, -1, HERE, 7471);
	MUST(close(ctx));
	get_bound(other, -1, HERE, 7471);
}

TEST(destroy_races_with_the_wait)
{
	int ctx = get_ctx();

	for (int i = 0; i < 100; i++) {
		struct waiter waiter = { .ctx = ctx, .id = get_id(ctx, -1, 0) };

		EXPECT_EQ(pthread_create(&waiter.thread, NULL, wait_one, &waiter), 0);
		if (i % 2)
			sched_yield();
		EXPECT_EQ(rca_destroy(ctx, waiter.id), 0);
		EXPECT_EQ(pthread_join(waiter.thread, NULL), 0);
		EXPECT_EQ(waiter.ret, -ENOENT);
	}
}

KTAP_MAIN
