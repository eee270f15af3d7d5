// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/* Limits of users and contexts: what is refused, what is counted, and who is not affected. */
#include "groups.h"
#include "limits.h"
#include "rca_ring.h"
#include "tasks.h"

#define PORT 7471
#define ANNA 70001
#define BERT 70002

TEST(usage_tells_the_limits_of_the_module)
{
	struct rdma_cm_alt_info info = { .size = sizeof(info) };
	int ctx;

	limits_reset();
	ctx = open_as(ANNA);
	EXPECT_EQ(rca_call(ctx, RDMA_CM_ALT_INFO, &info), 0);
	EXPECT(info.out_commands >> (RDMA_CM_ALT_CMD_USAGE - RDMA_CM_ALT_CMD_BASE) & 1);
	for (uint32_t what = CONTEXTS; what <= RING_PAGES; what++) {
		usage_t usage = usage_as(ANNA, ctx, what);

		EXPECT_EQ(usage.out_user_limit, get_limit(USER, what));
		EXPECT_EQ(usage.out_context_limit,
			  what == CONTEXTS ? 1 : get_limit(CONTEXT, what));
		EXPECT_EQ(usage.out_context_used, what == CONTEXTS);
		EXPECT_EQ(usage.out_user_used, what == CONTEXTS);
		EXPECT_EQ(usage.out_context_refused, 0);
		EXPECT_EQ(usage.out_user_refused, 0);
	}
}

TEST(resource_that_is_not_known_is_eopnotsupp)
{
	static const uint32_t unknown[] = { RING_PAGES + 1, 1000, 0x80000000, UINT32_MAX };
	int ctx = get_ctx();

	for (int i = 0; i < 4; i++) {
		usage_t usage = { .size = sizeof(usage), .resource = unknown[i] };

		EXPECT_EQ(rca_call(ctx, RDMA_CM_ALT_USAGE, &usage), -EOPNOTSUPP);
	}
}

TEST(limits_have_bounds_and_are_roots)
{
	static const char * const bad[] = { "0", "-1", "2147483648", "many", "" };

	limits_reset();
	for (uint32_t what = CONTEXTS; what <= RING_PAGES; what++)
		for (int i = 0; i < 5; i++)
			EXPECT_EQ(write_limit(what, bad[i]), -EINVAL);
	for (int i = 0; i < 5; i++)
		EXPECT_EQ(write_percent(bad[i]), -EINVAL);
	EXPECT_EQ(write_percent("101"), -EINVAL);
	EXPECT_EQ(write_limit(IDS, "2147483647"), 0);
	EXPECT_EQ(write_percent("100"), 0);
	EXPECT_EQ(usage_as(0, get_ctx(), IDS).out_context_limit, 2147483647);
	/* Rounded up. */
	EXPECT_EQ(write_percent("1"), 0);
	EXPECT_EQ(write_limit(IDS, "101"), 0);
	EXPECT_EQ(usage_as(0, get_ctx(), IDS).out_context_limit, 2);
	become(ANNA);
	EXPECT_EQ(write_limit(IDS, "5"), -EACCES);
	EXPECT_EQ(write_percent("5"), -EACCES);
	become(0);
	limits_reset();
}

TEST(contexts_of_one_user_and_of_another)
{
	int first, ctx[2];

	limits_reset();
	first = open_as(ANNA);
	set_limit(USER, CONTEXTS, 3);
	ctx[0] = open_as(ANNA);
	ctx[1] = open_as(ANNA);
	become(ANNA);
	EXPECT_EQ(open(DEVICE, O_RDWR), -1);
	EXPECT_EQ(errno, EDQUOT);
	become(0);
	expect_usage(ANNA, first, CONTEXTS, 1, 3);
	EXPECT_EQ(usage_as(ANNA, first, CONTEXTS).out_user_refused, 1);
	MUST(close(open_as(BERT)));
	MUST(close(ctx[0]));
	MUST(close(open_as(ANNA)));
}

/* With the limit of queues reached: the call fails and has no effect. */
TEST(queues)
{
	struct rdma_cm_alt_resolve new = {
		.size = sizeof(new),
		.pipe = {
			.steps = RDMA_CM_ALT_STEP_CREATE, .flags = RDMA_CM_ALT_PIPE_NEW_QUEUE,
			.queue_fd = -1, .ps = RDMA_PS_TCP, .qp_type = IB_UVERBS_QPT_RC,
		},
	};
	struct rdma_cm_alt_set_queue move = {
		.size = sizeof(move), .flags = RDMA_CM_ALT_SET_QUEUE_NEW, .queue_fd = -1,
	};
	struct rdma_cm_alt_queue_create create = { .size = sizeof(create) };
	int ctx, queue;

	limits_reset();
	ctx = open_as(ANNA);
	queue = get_queue(ctx);
	move.id = get_id(ctx, -1, 0);	/* has a queue without a descriptor */
	set_limit(CONTEXT, QUEUES, 2);
	get_queue(ctx);
	EXPECT_EQ(rca_call(ctx, RDMA_CM_ALT_QUEUE_CREATE, &create), -EDQUOT);
	EXPECT_EQ(rca_call(ctx, RDMA_CM_ALT_RESOLVE, &new), -EDQUOT);
	EXPECT_EQ(rca_call(ctx, RDMA_CM_ALT_SET_QUEUE, &move), -EDQUOT);
	expect_usage(ANNA, ctx, QUEUES, 2, 2);
	expect_usage(ANNA, ctx, IDS, 1, 1);
	EXPECT_EQ(usage_as(ANNA, ctx, QUEUES).out_context_refused, 3);
	MUST(close(queue));
	EXPECT_EQ(rca_call(ctx, RDMA_CM_ALT_SET_QUEUE, &move), 0);
	expect_usage(ANNA, ctx, QUEUES, 2, 2);
	/* Another context may have more, up to the limit of the user. */
	queue = get_queue(open_as(ANNA));
	set_limit(USER, QUEUES, 3);
	EXPECT_EQ(rca_call(ctx, RDMA_CM_ALT_QUEUE_CREATE, &create), -EDQUOT);
	EXPECT_EQ(usage_as(ANNA, ctx, QUEUES).out_user_refused, 1);
	MUST(close(queue));
	EXPECT_EQ(rca_call(ctx, RDMA_CM_ALT_QUEUE_CREATE, &create), 0);
	/* The queue of an id that is refused is not counted. */
	MUST(close(create.out_fd));
	set_limit(USER, IDS, 1);
	EXPECT_EQ(rca_call(ctx, RDMA_CM_ALT_RESOLVE, &new), -EDQUOT);
	expect_usage(ANNA, ctx, QUEUES, 2, 2);
}

TEST(ids_of_all_contexts_of_a_user)
{
	uint32_t id, none;
	int one, two;

	limits_reset();
	one = open_as(ANNA);
	two = open_as(ANNA);
	set_limit(USER, IDS, 3);
	id = get_id(one, -1, 0);
	get_id(two, -1, 0);
	get_id(two, -1, 0);
	EXPECT_EQ(rca_create(one, -1, RDMA_PS_TCP, IB_UVERBS_QPT_RC, 0, &none), -EDQUOT);
	EXPECT_EQ(rca_create(two, -1, RDMA_PS_TCP, IB_UVERBS_QPT_RC, 0, &none), -EDQUOT);
	expect_usage(ANNA, one, IDS, 1, 3);
	EXPECT_EQ(usage_as(ANNA, one, IDS).out_user_refused, 2);
	EXPECT_EQ(usage_as(ANNA, one, IDS).out_context_refused, 0);
	/* Another user has its own limit. */
	for (int i = 0, ctx = open_as(BERT); i < 3; i++)
		get_id(ctx, -1, 0);
	EXPECT_EQ(rca_destroy(one, id), 0);
	get_id(two, -1, 0);
	MUST(close(two));
	await_usage(ANNA, one, IDS, 0, 0);
}

#define MANY 6

TEST(batch_of_new_ids_is_refused_one_by_one)
{
	struct rdma_cm_alt_resolve cmds[MANY];
	struct rdma_cm_alt_batch batch = {
		.size = sizeof(batch), .cmd = RDMA_CM_ALT_CMD_RESOLVE, .count = MANY,
		.stride = sizeof(cmds[0]), .entries_uptr = (uintptr_t)cmds,
	};
	int32_t results[MANY];
	int ctx;

	limits_reset();
	ctx = open_as(ANNA);
	set_limit(CONTEXT, IDS, 4);
	batch.results_uptr = (uintptr_t)results;
	for (int i = 0; i < MANY; i++)
		cmds[i] = (struct rdma_cm_alt_resolve) {
			.size = sizeof(cmds[0]),
			.pipe = {
				.steps = RDMA_CM_ALT_STEP_CREATE, .queue_fd = -1,
				.ps = RDMA_PS_TCP, .qp_type = IB_UVERBS_QPT_RC,
			},
		};
	EXPECT_EQ(rca_call(ctx, RDMA_CM_ALT_BATCH, &batch), 0);
	for (int i = 0; i < MANY; i++)
		EXPECT_EQ(results[i], i < 4 ? 0 : -EDQUOT);
	expect_usage(ANNA, ctx, IDS, 4, 4);
}

struct crowd {
	int ctx;
	int made;
	int refused;
};

static void *make_ids(void *arg)
{
	struct crowd *crowd = arg;
	uint32_t id;

	for (int i = 0; i < 100; i++) {
		int ret = rca_create(crowd->ctx, -1, RDMA_PS_TCP, IB_UVERBS_QPT_RC, 0, &id);

		if (ret && ret != -EDQUOT)
			ktap_fail(__FILE__, __LINE__, "%s", strerror(-ret));
		__atomic_fetch_add(ret ? &crowd->refused : &crowd->made, 1, __ATOMIC_SEQ_CST);
	}
	return NULL;
}

TEST(crowd_gets_exactly_what_there_is)
{
	struct crowd crowd = {};
	pthread_t threads[4];

	limits_reset();
	crowd.ctx = open_as(ANNA);
	set_limit(USER, IDS, 250);
	get_id(open_as(ANNA), -1, 0);
	start_threads(threads, 4, make_ids, &crowd);
	join_threads(threads, 4);
	EXPECT_EQ(crowd.made, 249);
	EXPECT_EQ(crowd.refused, 151);
	expect_usage(ANNA, crowd.ctx, IDS, 249, 250);
	EXPECT_EQ(usage_as(ANNA, crowd.ctx, IDS).out_user_refused, 151);
}

TEST(privileged_opener_has_the_limit_of_the_context_alone)
{
	uint32_t none;
	int ctx, other;

	limits_reset();
	ctx = get_ctx();
	other = get_ctx();
	set_limit(USER, IDS, 3);
	for (int i = 0; i < 3; i++) {
		get_id(ctx, -1, 0);
		get_id(other, -1, 0);
	}
	EXPECT_EQ(usage_as(0, ctx, IDS).out_user_limit, UINT32_MAX);
	/* The context was opened by a privileged user. */
	become(ANNA);
	EXPECT_EQ(rca_create(ctx, -1, RDMA_PS_TCP, IB_UVERBS_QPT_RC, 0, &none), -EDQUOT);
	set_limit(USER, IDS, 4);
	become(ANNA);
	get_id(ctx, -1, 0);
}

TEST(root_of_a_user_namespace_is_an_ordinary_user)
{
	uint32_t none;
	int ctx;

	limits_reset();
	set_limit(USER, IDS, 1);
	MUST(setresuid(ANNA, ANNA, ANNA));
	if (unshare(CLONE_NEWUSER))
		ktap_skip("no user namespaces: %m");
	ctx = get_ctx();
	get_id(ctx, -1, 0);
	EXPECT_EQ(rca_create(ctx, -1, RDMA_PS_TCP, IB_UVERBS_QPT_RC, 0, &none), -EDQUOT);
}

TEST(context_that_was_given_away_is_its_openers)
{
	int annas, berts;
	usage_t usage;

	limits_reset();
	annas = open_as(ANNA);
	berts = open_as(BERT);
	become(BERT);
	get_id(annas, -1, 0);
	become(0);
	expect_usage(ANNA, annas, IDS, 1, 1);
	expect_usage(BERT, berts, IDS, 0, 0);
	/* The receiver does not learn about the opener's other contexts. */
	get_id(open_as(ANNA), -1, 0);
	usage = usage_as(BERT, annas, IDS);
	EXPECT_EQ(usage.out_context_used, 1);
	EXPECT_EQ(usage.out_user_used, 0);
	EXPECT_EQ(usage.out_user_limit, 0);
	EXPECT_EQ(usage.out_user_refused, 0);
	EXPECT_EQ(usage_as(ANNA, annas, IDS).out_user_used, 2);
}

TEST(memberships)
{
	uint32_t id, member;
	int ctx, queue;

	limits_reset();
	ctx = open_as(ANNA);
	queue = get_queue(ctx);
	id = get_ud_bound(ctx, queue, HERE);
	set_limit(CONTEXT, MEMBERSHIPS, 2);
	member = get_member(ctx, id, GROUP);
	get_member(ctx, id, OTHER_GROUP);
	/* Each membership has a reserved record for its loss. */
	expect_usage(ANNA, ctx, EVENTS, 4, 4);
	EXPECT_EQ(join(ctx, id, "239.9.1.3"), -EDQUOT);
	expect_usage(ANNA, ctx, EVENTS, 4, 4);
	EXPECT_EQ(igmp_users("d0", "239.9.1.3"), 0);
	EXPECT_EQ(usage_as(ANNA, ctx, MEMBERSHIPS).out_context_refused, 1);
	EXPECT_EQ(leave(ctx, member), 0);
	await_usage(ANNA, ctx, MEMBERSHIPS, 1, 1);
	await_usage(ANNA, ctx, EVENTS, 2, 2);
	/* The limit allows only one of the two records. */
	set_limit(CONTEXT, EVENTS, 3);
	EXPECT_EQ(join(ctx, id, "239.9.1.3"), -EDQUOT);
	expect_usage(ANNA, ctx, MEMBERSHIPS, 1, 1);
	expect_usage(ANNA, ctx, EVENTS, 2, 2);
	set_limit(CONTEXT, EVENTS, 4);
	get_member(ctx, id, GROUP);
	EXPECT_EQ(rca_destroy(ctx, id), 0);
	await_usage(ANNA, ctx, MEMBERSHIPS, 0, 0);
	await_usage(ANNA, ctx, EVENTS, 0, 0);
}

TEST(operations_without_room_for_their_event)
{
	struct rdma_cm_alt_resolve new = {
		.size = sizeof(new),
		.pipe = {
			.steps = RDMA_CM_ALT_STEP_CREATE | RDMA_CM_ALT_STEP_ADDR, .queue_fd = -1,
			.events = RDMA_CM_ALT_STEP_ADDR, .ps = RDMA_PS_TCP,
			.qp_type = IB_UVERBS_QPT_RC, .timeout_ms = 2000,
			.dst = make_addr(HERE, PORT),
		},
	};
	int ctx, queue;
	uint32_t id;

	limits_reset();
	ctx = open_as(ANNA);
	queue = get_queue(ctx);
	id = get_client(ctx, queue, HERE, PORT, 0);
	set_limit(CONTEXT, EVENTS, 2);
	post_numbers(ctx, id, 1, 2);
	EXPECT_EQ(post_number(ctx, id, 3), -EDQUOT);
	EXPECT_EQ(rca_connect(ctx, id, NULL, 0), -EDQUOT);
	EXPECT_EQ(rca_call(ctx, RDMA_CM_ALT_RESOLVE, &new), -EDQUOT);
	expect_usage(ANNA, ctx, EVENTS, 2, 2);
	expect_usage(ANNA, ctx, IDS, 1, 1);
	EXPECT_EQ(usage_as(ANNA, ctx, EVENTS).out_context_refused, 3);
	/* The events before the limit are kept, and each one that is read allows another. */
	expect_read(queue, id, 1);
	EXPECT_EQ(rca_connect(ctx, id, NULL, 0), 0);
	expect_read(queue, id, 2);
	EXPECT_EVENT_STATUS(queue, REJECTED, id, 8, NULL);
	await_usage(ANNA, ctx, EVENTS, 0, 0);
}

TEST(events_in_the_ring_and_behind_it)
{
	struct ring ring;
	uint32_t id;
	int ctx;

	limits_reset();
	ctx = open_as(ANNA);
	ring = get_ring(ctx, 2);
	id = get_id(ctx, ring.queue, 0);
	set_limit(CONTEXT, EVENTS, 5);
	post_numbers(ctx, id, 1, 5);
	EXPECT_EQ(post_number(ctx, id, 6), -EDQUOT);
	expect_usage(ANNA, ctx, EVENTS, 5, 5);
	/* Taking a record needs no call; the kernel notices it when it needs its place. */
	expect_number(&ring, id, 1);
	post_numbers(ctx, id, 6, 1);
	EXPECT_EQ(post_number(ctx, id, 7), -EDQUOT);
	/* Events that the ring gives back are not counted twice. */
	ring_unmap(&ring);
	expect_usage(ANNA, ctx, EVENTS, 5, 5);
	for (int i = 2; i <= 6; i++)
		expect_read(ring.queue, id, i);
	expect_usage(ANNA, ctx, EVENTS, 0, 0);
}

TEST(moved_id_takes_nothing_twice)
{
	int ctx, from, to;
	uint32_t id;

	limits_reset();
	ctx = open_as(ANNA);
	from = get_queue(ctx);
	to = get_queue(ctx);
	id = get_id(ctx, from, 0);
	post_numbers(ctx, id, 1, 3);
	set_limit(CONTEXT, EVENTS, 3);
	set_limit(CONTEXT, IDS, 1);
	for (int i = 0; i < 3; i++) {
		EXPECT_EQ(rca_set_queue(ctx, id, to), 0);
		EXPECT_EQ(rca_set_queue(ctx, id, -1), 0);
		EXPECT_EQ(rca_set_queue(ctx, id, from), 0);
	}
	expect_usage(ANNA, ctx, EVENTS, 3, 3);
	expect_usage(ANNA, ctx, QUEUES, 2, 2);
	/* A queue of another context is refused. */
	EXPECT_EQ(rca_set_queue(ctx, id, get_queue(open_as(ANNA))), -EINVAL);
	for (int i = 1; i <= 3; i++)
		expect_read(from, id, i);
	expect_usage(ANNA, ctx, EVENTS, 0, 0);
}

TEST(pages_of_rings)
{
	struct ring one, two;
	uint32_t pages, id;
	int ctx;

	limits_reset();
	ctx = open_as(ANNA);
	one = get_ring(ctx, 4);
	pages = one.geometry.out_ring_bytes / getpagesize() + 1;
	expect_usage(ANNA, ctx, RING_PAGES, pages, pages);
	set_limit(CONTEXT, RING_PAGES, 2 * pages - 1);
	ring_create(ctx, &two, 4);
	EXPECT(mmap(NULL, two.geometry.out_ring_bytes, PROT_READ, MAP_SHARED, two.queue, 0) ==
	       MAP_FAILED);
	EXPECT_EQ(errno, EDQUOT);
	expect_usage(ANNA, ctx, RING_PAGES, pages, pages);
	/* The queue has no ring then. */
	id = get_id(ctx, two.queue, 0);
	post_numbers(ctx, id, 1, 1);
	expect_read(two.queue, id, 1);
	/* The pages are freed with the queue, and the queue with the last mapping. */
	MUST(close(one.queue));
	expect_usage(ANNA, ctx, RING_PAGES, pages, pages);
	ring_unmap(&one);
	MUST(munmap(one.head, getpagesize()));
	expect_usage(ANNA, ctx, RING_PAGES, 0, 0);
	ring_map(&two);
	expect_usage(ANNA, ctx, RING_PAGES, pages, pages);
}

TEST(closed_context_counts_as_long_as_something_is_left)
{
	int watch, ctx, queue;

	limits_reset();
	watch = open_as(ANNA);
	ctx = open_as(ANNA);
	queue = get_queue(ctx);
	get_id(ctx, queue, 0);
	MUST(close(ctx));
	expect_usage(ANNA, watch, CONTEXTS, 1, 2);
	expect_usage(ANNA, watch, IDS, 0, 1);
	MUST(close(queue));
	await_usage(ANNA, watch, CONTEXTS, 1, 1);
	await_usage(ANNA, watch, IDS, 0, 0);
}

KTAP_MAIN
