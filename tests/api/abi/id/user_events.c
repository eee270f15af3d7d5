// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/* Events that a program posts to itself. */
#include <limits.h>

#include "rca_test.h"
#include "tasks.h"

#define MOST 1024	/* user events of one id that may wait */

static int post_type(int ctx, uint32_t id, uint32_t type, int32_t status, uint64_t arg)
{
	struct rdma_cm_alt_post_event cmd = {
		.size = sizeof(cmd),
		.id = id,
		.type = type,
		.status = status,
		.arg = arg,
	};

	return rca_call(ctx, RDMA_CM_ALT_POST_EVENT, &cmd);
}

static int post_user(int ctx, uint32_t id, int32_t status, uint64_t arg)
{
	return post_type(ctx, id, RDMA_CM_ALT_EVENT_USER, status, arg);
}

static void expect_user(int queue, uint32_t id, uint64_t cookie, int32_t status, uint64_t arg)
{
	event_t ev;

	EXPECT_EVENT_STATUS(queue, USER, id, status, &ev);
	EXPECT_EQ(ev.cookie, cookie);
	EXPECT_EQ(ev.user_status, status);
	EXPECT_EQ(ev.user_arg, arg);
	EXPECT_EQ(ev.listen_id, 0);
	EXPECT_EQ(ev.member, 0);
	EXPECT_EQ(ev.flags, 0);
	EXPECT_EQ(ev.private_data_len, 0);
}

TEST(event_brings_status_and_argument)
{
	/* Also numbers that no errno has. */
	static const int32_t statuses[] = { 0, 1, -1, 28, -110, -524, INT32_MAX, INT32_MIN };
	int ctx = get_ctx(), queue = get_queue(ctx);
	uint32_t id = get_id(ctx, queue, 0x77);

	for (int i = 0; i < 8; i++) {
		EXPECT_EQ(post_user(ctx, id, statuses[i], UINT64_MAX - i), 0);
		EXPECT(event_waits(queue));
		expect_user(queue, id, 0x77, statuses[i], UINT64_MAX - i);
	}
	EXPECT(!event_waits(queue));
}

TEST(lookups_of_a_library_end_with_their_own_types)
{
	int ctx = get_ctx(), queue = get_queue(ctx);
	uint32_t id = get_id(ctx, queue, 0x77);
	event_t ev;

	EXPECT_EQ(post_type(ctx, id, RDMA_CM_ALT_EVENT_ADDRINFO_RESOLVED, 0, 1), 0);
	EXPECT_EQ(post_user(ctx, id, 3, 2), 0);
	EXPECT_EQ(post_type(ctx, id, RDMA_CM_ALT_EVENT_ADDRINFO_ERROR, -ENOENT, 3), 0);
	EXPECT_EVENT_STATUS(queue, ADDRINFO_RESOLVED, id, 0, &ev);
	EXPECT_EQ(ev.cookie, 0x77);
	EXPECT_EQ(ev.user_arg, 1);
	expect_user(queue, id, 0x77, 3, 2);
	EXPECT_EVENT_STATUS(queue, ADDRINFO_ERROR, id, -ENOENT, &ev);
	EXPECT_EQ(ev.user_status, -ENOENT);
	EXPECT_EQ(ev.user_arg, 3);
}

static bool is_users(uint32_t type)
{
	return type == RDMA_CM_ALT_EVENT_USER || type == RDMA_CM_ALT_EVENT_ADDRINFO_RESOLVED ||
	       type == RDMA_CM_ALT_EVENT_ADDRINFO_ERROR;
}

TEST(other_types_are_einval)
{
	struct rdma_cm_alt_post_event cmd = { .size = sizeof(cmd) };
	int ctx = get_ctx(), queue = get_queue(ctx);

	cmd.id = get_id(ctx, queue, 0);
	for (cmd.type = 0; cmd.type < 64; cmd.type++)
		if (!is_users(cmd.type))
			EXPECT_EQ(rca_call(ctx, RDMA_CM_ALT_POST_EVENT, &cmd), -EINVAL);
	cmd.type = UINT32_MAX;
	EXPECT_EQ(rca_call(ctx, RDMA_CM_ALT_POST_EVENT, &cmd), -EINVAL);
	EXPECT(!event_waits(queue));
}

TEST(unknown_id_is_enoent)
{
	int ctx = get_ctx(), other = get_ctx();
	uint32_t id = get_id(ctx, -1, 0);

	EXPECT_EQ(post_user(ctx, 0, 0, 0), -ENOENT);
	EXPECT_EQ(post_user(other, id, 0, 0), -ENOENT);
	EXPECT_EQ(rca_destroy(ctx, id), 0);
	EXPECT_EQ(post_user(ctx, id, 0, 0), -ENOENT);
}

TEST(order_is_that_of_the_calls)
{
	int ctx = get_ctx(), queue = get_queue(ctx);
	uint32_t one = get_id(ctx, queue, 1), two = get_id(ctx, queue, 2);

	EXPECT_EQ(post_user(ctx, one, 0, 10), 0);
	EXPECT_EQ(rca_resolve_addr(ctx, two, NULL, HERE, 1), 0);
	EXPECT_EQ(rca_resolve_addr(ctx, one, NULL, HERE, 1), 0);
	expect_user(queue, one, 1, 0, 10);
	EXPECT_EVENT(queue, ADDR_RESOLVED, 0);
	EXPECT_EVENT(queue, ADDR_RESOLVED, 0);
	EXPECT_EQ(post_user(ctx, two, 0, 11), 0);
	EXPECT_EQ(rca_resolve_route(ctx, one), 0);
	EXPECT_EQ(post_user(ctx, one, 0, 12), 0);
	expect_user(queue, two, 2, 0, 11);
	EXPECT_EVENT(queue, ROUTE_RESOLVED, one);
	expect_user(queue, one, 1, 0, 12);
}

TEST(every_state_takes_one)
{
	struct pair p = get_listening(HERE);
	event_t ev;

	EXPECT_EQ(post_user(p.ctx, p.listener, 0, 1), 0);
	expect_user(p.lq, p.listener, LISTENER, 0, 1);

	p.client = get_client(p.ctx, p.cq, HERE, p.port, CLIENT);
	pair_send_req(&p, &ev);
	EXPECT_EQ(post_user(p.ctx, p.client, 0, 2), 0);
	expect_user(p.cq, p.client, CLIENT, 0, 2);

	/* An id of a request has no cookie before it is accepted. */
	EXPECT_EQ(post_user(p.ctx, ev.id, 0, 3), 0);
	expect_user(p.lq, ev.id, 0, 0, 3);
	EXPECT_EQ(rca_accept(p.ctx, ev.id, SERVER, NULL, 0), 0);
	EXPECT_EVENT(p.cq, CONNECT_RESPONSE, p.client);
	EXPECT_EQ(rca_establish(p.ctx, p.client), 0);
	EXPECT_EVENT(p.lq, ESTABLISHED, ev.id);
	EXPECT_EQ(post_user(p.ctx, ev.id, 0, 4), 0);
	expect_user(p.lq, ev.id, SERVER, 0, 4);

	EXPECT_EQ(rca_disconnect(p.ctx, p.client), 0);
	EXPECT_EVENT(p.cq, DISCONNECTED, p.client);
	EXPECT_EQ(post_user(p.ctx, p.client, 0, 5), 0);
	expect_user(p.cq, p.client, CLIENT, 0, 5);
}

TEST(reader_that_sleeps_is_woken)
{
	int ctx = get_ctx(), queue = get_queue(ctx);
	uint32_t id = get_id(ctx, queue, 0);
	struct reader reader;

	start_reader(&reader, queue);
	EXPECT_EQ(post_user(ctx, id, 3, 4), 0);
	EXPECT_EQ(pthread_join(reader.thread, NULL), 0);
	EXPECT_EQ(reader.ret, sizeof(reader.ev));
	EXPECT_EQ(reader.ev.type, RDMA_CM_ALT_EVENT_USER);
	EXPECT_EQ(reader.ev.user_arg, 4);
}

TEST(id_without_a_queue_keeps_them)
{
	int ctx = get_ctx();
	uint32_t id = get_id(ctx, -1, 9);
	event_t ev;

	for (int i = 0; i < 3; i++)
		EXPECT_EQ(post_user(ctx, id, i, 0), 0);
	for (int i = 0; i < 3; i++) {
		EXPECT_EQ(rca_get_event(ctx, id, RDMA_CM_ALT_GET_EVENT_NONBLOCK, &ev), 0);
		EXPECT_EQ(ev.user_status, i);
	}
	EXPECT_EQ(rca_get_event(ctx, id, RDMA_CM_ALT_GET_EVENT_NONBLOCK, &ev), -EAGAIN);
}

TEST(events_move_with_their_id)
{
	int ctx = get_ctx(), from = get_queue(ctx), to = get_queue(ctx);
	uint32_t id = get_id(ctx, from, 9), stays = get_id(ctx, from, 8);

	for (int i = 0; i < 3; i++) {
		EXPECT_EQ(post_user(ctx, id, i, i), 0);
		EXPECT_EQ(post_user(ctx, stays, i, i), 0);
	}
	EXPECT_EQ(rca_set_queue(ctx, id, to), 0);
	for (int i = 0; i < 3; i++) {
		expect_user(to, id, 9, i, i);
		expect_user(from, stays, 8, i, i);
	}
	EXPECT(!event_waits(to));
	EXPECT(!event_waits(from));
}

TEST(events_go_with_their_id)
{
	int ctx = get_ctx(), queue = get_queue(ctx);
	uint32_t id = get_id(ctx, queue, 0), stays = get_id(ctx, queue, 1), reported;

	EXPECT_EQ(post_user(ctx, id, 0, 0), 0);
	EXPECT_EQ(post_user(ctx, id, 0, 1), 0);
	EXPECT_EQ(post_user(ctx, stays, 0, 2), 0);
	expect_user(queue, id, 0, 0, 0);
	EXPECT_EQ(rca_destroy_count(ctx, id, &reported), 0);
	EXPECT_EQ(reported, 1);
	expect_user(queue, stays, 1, 0, 2);
	EXPECT(!event_waits(queue));
}

TEST(only_so_many_may_wait)
{
	int ctx = get_ctx(), queue = get_queue(ctx), other = get_queue(ctx);
	uint32_t id = get_id(ctx, queue, 0);

	for (int i = 0; i < MOST; i++)
		EXPECT_EQ(post_user(ctx, id, 0, i), 0);
	EXPECT_EQ(post_user(ctx, id, 0, MOST), -ENOBUFS);
	/* Of one id: another has room, and moving does not make any. */
	EXPECT_EQ(post_user(ctx, get_id(ctx, queue, 1), 0, 0), 0);
	EXPECT_EQ(rca_set_queue(ctx, id, other), 0);
	EXPECT_EQ(post_user(ctx, id, 0, MOST), -ENOBUFS);
	/* Its own events still come, and one that is read makes room for one. */
	EXPECT_EQ(rca_resolve_addr(ctx, id, NULL, HERE, 1), 0);
	expect_user(other, id, 0, 0, 0);
	EXPECT_EQ(post_user(ctx, id, 0, MOST), 0);
	EXPECT_EQ(post_user(ctx, id, 0, MOST), -ENOBUFS);
	for (int i = 1; i < MOST; i++)
		expect_user(other, id, 0, 0, i);
	for (int i = 0; i < 2; i++) {
		event_t ev;

		get_event(other, &ev);
		EXPECT(ev.type == RDMA_CM_ALT_EVENT_USER ||
		       ev.type == RDMA_CM_ALT_EVENT_ADDR_RESOLVED);
	}
	EXPECT(!event_waits(other));
}

enum { THREADS = 4, EACH = 200 };

static int shared_ctx;
static uint32_t shared_id;

static void *post_many(void *arg)
{
	for (int i = 0; i < EACH; i++)
		if (post_user(shared_ctx, shared_id, 0, (uintptr_t)arg + i))
			return "could not post";
	return NULL;
}

TEST(threads_post_at_the_same_time)
{
	int queue, next[THREADS] = {};
	pthread_t threads[THREADS];
	void *complaint;
	event_t ev;

	shared_ctx = get_ctx();
	queue = get_queue(shared_ctx);
	shared_id = get_id(shared_ctx, queue, 0);
	for (uintptr_t i = 0; i < THREADS; i++)
		EXPECT_EQ(pthread_create(&threads[i], NULL, post_many, (void *)(i << 16)), 0);
	/* Nothing is lost, and the order of each thread is kept. */
	for (int i = 0; i < THREADS * EACH; i++) {
		get_event(queue, &ev);
		EXPECT_EQ(ev.user_arg & 0xffff, next[ev.user_arg >> 16]++);
	}
	for (int i = 0; i < THREADS; i++) {
		EXPECT_EQ(pthread_join(threads[i], &complaint), 0);
		EXPECT(!complaint);
	}
	EXPECT(!event_waits(queue));
}

TEST(another_process_may_post)
{
	int ctx = get_ctx(), queue = get_queue(ctx);
	uint32_t id = get_id(ctx, queue, 6);
	pid_t pid = MUST(fork());

	if (!pid)
		_exit(post_user(ctx, id, 1, 2) != 0);
	EXPECT_EQ(wait_exit(pid), 0);
	expect_user(queue, id, 6, 1, 2);
}

KTAP_MAIN
