// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/* Handles of ids: creating, finding, destroying; errors of RESOLVE with a bad pipeline. */
#include <sys/resource.h>

#include "rca_test.h"
#include "tasks.h"

/* A RESOLVE that creates an id; tests change one member. */
static struct rdma_cm_alt_resolve create_cmd(void)
{
	return (struct rdma_cm_alt_resolve) {
		.size = sizeof(struct rdma_cm_alt_resolve),
		.pipe = {
			.steps = RDMA_CM_ALT_STEP_CREATE,
			.queue_fd = -1,
			.ps = RDMA_PS_TCP,
			.qp_type = IB_UVERBS_QPT_RC,
			.timeout_ms = 1000,
		},
	};
}

/* A RESOLVE that binds an id; tests change one member. */
static struct rdma_cm_alt_resolve bind_cmd(uint32_t id)
{
	return (struct rdma_cm_alt_resolve) {
		.size = sizeof(struct rdma_cm_alt_resolve),
		.pipe = {
			.steps = RDMA_CM_ALT_STEP_BIND,
			.id = id,
			.queue_fd = -1,
			.src = make_addr(HERE, 0),
		},
	};
}

static int call(int ctx, struct rdma_cm_alt_resolve cmd)
{
	return rca_call(ctx, RDMA_CM_ALT_RESOLVE, &cmd);
}

#define EXPECT_SPOILT(cmd, member, value, result) do {				\
	struct rdma_cm_alt_resolve spoilt = (cmd);				\
										\
	spoilt.pipe.member = (value);						\
	EXPECT_EQ(call(ctx, spoilt), result);					\
} while (0)

TEST(every_port_space_and_qp_type_of_a_connection)
{
	static const uint8_t types[] = {
		IB_UVERBS_QPT_RC, IB_UVERBS_QPT_UC, IB_UVERBS_QPT_XRC_INI, IB_UVERBS_QPT_XRC_TGT,
	};
	static const uint16_t spaces[] = { RDMA_PS_TCP, RDMA_PS_IB };
	int ctx = get_ctx();

	for (int s = 0; s < 2; s++) {
		for (int t = 0; t < 4; t++) {
			uint32_t id;

			EXPECT_EQ(rca_create(ctx, -1, spaces[s], types[t], 0, &id), 0);
			EXPECT_EQ(rca_destroy(ctx, id), 0);
		}
	}
}

TEST(unknown_port_space_is_einval)
{
	int ctx = get_ctx();
	uint32_t id;

	EXPECT_EQ(rca_create(ctx, -1, 0, IB_UVERBS_QPT_RC, 0, &id), -EINVAL);
	EXPECT_EQ(rca_create(ctx, -1, 0x0107, IB_UVERBS_QPT_RC, 0, &id), -EINVAL);
	EXPECT_EQ(rca_create(ctx, -1, 0xffff, IB_UVERBS_QPT_RC, 0, &id), -EINVAL);
}

TEST(qp_type_that_does_not_fit_is_einval)
{
	int ctx = get_ctx();
	uint32_t id;

	for (int type = 0; type < 256; type++) {
		if (type == IB_UVERBS_QPT_RC || type == IB_UVERBS_QPT_UC ||
		    type == IB_UVERBS_QPT_XRC_INI || type == IB_UVERBS_QPT_XRC_TGT)
			continue;
		EXPECT_EQ(rca_create(ctx, -1, RDMA_PS_TCP, type, 0, &id), -EINVAL);
	}
	EXPECT_EQ(rca_create(ctx, -1, RDMA_PS_UDP, IB_UVERBS_QPT_RC, 0, &id), -EINVAL);
}

TEST(handles_are_small_numbers_and_differ)
{
	int ctx = get_ctx();
	uint32_t first = get_id(ctx, -1, 0);
	uint32_t second = get_id(ctx, -1, 0);

	EXPECT(first > 0 && first <= 0x7fffffff);
	EXPECT(second > 0 && second <= 0x7fffffff);
	EXPECT(first != second);
}

TEST(new_id_is_nowhere)
{
	struct rdma_cm_alt_resolve cmd = create_cmd();
	struct rdma_cm_alt_route zero = {};
	int ctx = get_ctx();

	memset(&cmd.out_route, 0xff, sizeof(cmd.out_route));
	EXPECT_EQ(rca_call(ctx, RDMA_CM_ALT_RESOLVE, &cmd), 0);
	EXPECT(!memcmp(&cmd.out_route, &zero, sizeof(zero)));
	EXPECT_EQ(cmd.out_done, RDMA_CM_ALT_STEP_CREATE);
	EXPECT_EQ(cmd.out_queue_fd, -1);
}

TEST(destroy_twice_is_enoent)
{
	int ctx = get_ctx();
	uint32_t id = get_id(ctx, -1, 0);

	EXPECT_EQ(rca_destroy(ctx, id), 0);
	EXPECT_EQ(rca_destroy(ctx, id), -ENOENT);
}

TEST(handle_that_is_none_is_enoent)
{
	static const uint32_t handles[] = { 0, 0x7fffffff, 0x80000000, 0xffffffff };
	struct rdma_cm_alt_route route;
	int ctx = get_ctx();

	for (int i = 0; i < 4; i++) {
		EXPECT_EQ(rca_query(ctx, handles[i], &route), -ENOENT);
		EXPECT_EQ(rca_bind(ctx, handles[i], HERE, 0), -ENOENT);
		EXPECT_EQ(rca_destroy(ctx, handles[i]), -ENOENT);
	}
}

TEST(handle_of_another_context_is_enoent)
{
	struct rdma_cm_alt_route route;
	int ctx = get_ctx(), other = get_ctx();
	uint32_t id = get_id(ctx, -1, 0);

	EXPECT_EQ(rca_query(other, id, &route), -ENOENT);
	EXPECT_EQ(rca_listen(other, id, 0), -ENOENT);
	EXPECT_EQ(rca_destroy(other, id), -ENOENT);
	EXPECT_EQ(rca_destroy(ctx, id), 0);
}

struct race {
	pthread_barrier_t start;
	int ctx;
	uint32_t id;
	int won;
};

static void *destroyer(void *arg)
{
	struct race *race = arg;

	pthread_barrier_wait(&race->start);
	if (!rca_destroy(race->ctx, race->id))
		__atomic_add_fetch(&race->won, 1, __ATOMIC_SEQ_CST);
	return NULL;
}

TEST(one_of_two_destroyers_wins)
{
	struct race race = { .ctx = get_ctx() };
	pthread_t threads[2];

	pthread_barrier_init(&race.start, NULL, 2);
	for (int round = 0; round < 50; round++) {
		race.id = get_id(race.ctx, -1, 0);
		race.won = 0;
		start_threads(threads, 2, destroyer, &race);
		join_threads(threads, 2);
		EXPECT_EQ(race.won, 1);
	}
}

TEST(many_ids)
{
	enum { MANY = 3000 };
	static uint32_t ids[MANY];
	int ctx = get_ctx();

	for (int i = 0; i < MANY; i++)
		ids[i] = get_id(ctx, -1, i);
	for (int i = 0; i < MANY; i += 2)
		EXPECT_EQ(rca_destroy(ctx, ids[i]), 0);
	for (int i = 1; i < MANY; i += 2)
		EXPECT_EQ(rca_destroy(ctx, ids[i]), 0);
}

TEST(no_step_is_einval)
{
	int ctx = get_ctx();

	EXPECT_SPOILT(create_cmd(), steps, 0, -EINVAL);
}

TEST(unknown_step_flag_or_event_is_eopnotsupp)
{
	int ctx = get_ctx();

	for (int bit = 4; bit < 32; bit++) {
		EXPECT_SPOILT(create_cmd(), steps, RDMA_CM_ALT_STEP_CREATE | 1U << bit,
			      -EOPNOTSUPP);
		EXPECT_SPOILT(create_cmd(), events, 1U << bit, -EOPNOTSUPP);
		EXPECT_SPOILT(create_cmd(), flags, 1U << bit, -EOPNOTSUPP);
	}
}

TEST(event_of_a_step_that_is_not_done_is_einval)
{
	int ctx = get_ctx();

	EXPECT_SPOILT(create_cmd(), events, RDMA_CM_ALT_STEP_ADDR, -EINVAL);
	EXPECT_SPOILT(create_cmd(), events, RDMA_CM_ALT_STEP_ROUTE, -EINVAL);
	EXPECT_SPOILT(create_cmd(), events, RDMA_CM_ALT_STEP_CREATE, -EINVAL);
}

TEST(create_with_a_handle_is_einval)
{
	int ctx = get_ctx();

	EXPECT_SPOILT(create_cmd(), id, 1, -EINVAL);
}

TEST(values_of_create_without_create_are_einval)
{
	int ctx = get_ctx();
	uint32_t id = get_id(ctx, -1, 0);

	EXPECT_SPOILT(bind_cmd(id), ps, RDMA_PS_TCP, -EINVAL);
	EXPECT_SPOILT(bind_cmd(id), qp_type, IB_UVERBS_QPT_RC, -EINVAL);
	EXPECT_SPOILT(bind_cmd(id), cookie, 1, -EINVAL);
	EXPECT_SPOILT(bind_cmd(id), queue_fd, get_queue(ctx), -EINVAL);
	EXPECT_SPOILT(bind_cmd(id), flags, RDMA_CM_ALT_PIPE_NEW_QUEUE, -EINVAL);
	EXPECT_SPOILT(bind_cmd(id), queue_fd, 0, 0);
}

TEST(queue_that_is_none)
{
	int ctx = get_ctx(), null = MUST(open("/dev/null", O_RDONLY));

	EXPECT_SPOILT(create_cmd(), queue_fd, null, -EINVAL);
	EXPECT_SPOILT(create_cmd(), queue_fd, ctx, -EINVAL);
	EXPECT_SPOILT(create_cmd(), queue_fd, get_queue(get_ctx()), -EINVAL);
	MUST(close(null));
	EXPECT_SPOILT(create_cmd(), queue_fd, null, -EBADF);
	EXPECT_SPOILT(create_cmd(), queue_fd, -2, -EBADF);
}

TEST(create_with_a_new_queue)
{
	struct rdma_cm_alt_resolve cmd = create_cmd();
	int ctx = get_ctx();
	uint32_t id;
	event_t ev;

	cmd.pipe.flags = RDMA_CM_ALT_PIPE_NEW_QUEUE;
	cmd.pipe.cookie = 0x123456789abcdef0;
	EXPECT_EQ(rca_call(ctx, RDMA_CM_ALT_RESOLVE, &cmd), 0);
	EXPECT(cmd.out_queue_fd >= 0);
	id = cmd.out_id;
	EXPECT_EQ(MUST(fcntl(cmd.out_queue_fd, F_GETFD)) & FD_CLOEXEC, FD_CLOEXEC);
	EXPECT_EQ(MUST(fcntl(cmd.out_queue_fd, F_GETFL)) & O_NONBLOCK, 0);
	EXPECT_EQ(rca_resolve_addr(ctx, id, NULL, HERE, 1), 0);
	EXPECT_EVENT_STATUS(cmd.out_queue_fd, ADDR_RESOLVED, id, 0, &ev);
	EXPECT_EQ(ev.cookie, 0x123456789abcdef0);
	/* Closing the queue destroys its ids. */
	MUST(close(cmd.out_queue_fd));
	EXPECT_EQ(rca_destroy(ctx, id), -ENOENT);
}

TEST(new_queue_beside_a_queue_is_einval)
{
	struct rdma_cm_alt_resolve cmd = create_cmd();
	int ctx = get_ctx();

	cmd.pipe.flags = RDMA_CM_ALT_PIPE_NEW_QUEUE;
	EXPECT_SPOILT(cmd, queue_fd, get_queue(ctx), -EINVAL);
	EXPECT_SPOILT(cmd, queue_fd, 0, -EINVAL);
}

TEST(no_free_descriptor_is_emfile)
{
	struct rdma_cm_alt_queue_create queue = { .size = sizeof(queue) };
	struct rdma_cm_alt_resolve cmd = create_cmd();
	int ctx = get_ctx();
	struct rlimit limit = { ctx + 1, ctx + 1 };

	MUST(setrlimit(RLIMIT_NOFILE, &limit));
	cmd.pipe.flags = RDMA_CM_ALT_PIPE_NEW_QUEUE;
	EXPECT_EQ(call(ctx, cmd), -EMFILE);
	EXPECT_EQ(rca_call(ctx, RDMA_CM_ALT_QUEUE_CREATE, &queue), -EMFILE);
	/* An id without a queue needs no descriptor. */
	EXPECT_EQ(call(ctx, create_cmd()), 0);
}

TEST(all_steps_in_one_call)
{
	struct rdma_cm_alt_resolve cmd = create_cmd();
	int ctx = get_ctx(), queue = get_queue(ctx);
	event_t ev;

	cmd.pipe.steps = RDMA_CM_ALT_STEP_CREATE | RDMA_CM_ALT_STEP_BIND | RDMA_CM_ALT_STEP_ADDR |
			 RDMA_CM_ALT_STEP_ROUTE;
	cmd.pipe.events = RDMA_CM_ALT_STEP_ROUTE;
	cmd.pipe.queue_fd = queue;
	cmd.pipe.cookie = 77;
	cmd.pipe.src = make_addr(HERE, 0);
	cmd.pipe.dst = make_addr(THERE, 4711);
	EXPECT_EQ(rca_call(ctx, RDMA_CM_ALT_RESOLVE, &cmd), 0);
	EXPECT_EQ(cmd.out_done & 3, RDMA_CM_ALT_STEP_CREATE | RDMA_CM_ALT_STEP_BIND);
	EXPECT(addr_is(&cmd.out_route.src, HERE));
	EXPECT(addr_port(&cmd.out_route.src) != 0);
	EXPECT(cmd.out_route.node_guid != 0);
	EXPECT_EVENT_STATUS(queue, ROUTE_RESOLVED, cmd.out_id, 0, &ev);
	EXPECT_EQ(ev.cookie, 77);
	EXPECT(addr_is(&ev.route.dst, THERE));
	EXPECT_EQ(addr_port(&ev.route.dst), 4711);
	EXPECT_EQ(ev.route.num_paths, 1);
	EXPECT(!event_waits(queue));
}

TEST(step_that_fails_takes_the_new_id_away)
{
	struct rdma_cm_alt_resolve cmd = create_cmd();
	int ctx = get_ctx(), queue = get_queue(ctx);
	uint32_t id, before, after;

	before = get_id(ctx, queue, 0);
	cmd.pipe.steps |= RDMA_CM_ALT_STEP_BIND | RDMA_CM_ALT_STEP_ADDR;
	cmd.pipe.queue_fd = queue;
	cmd.pipe.src = make_addr("0.0.0.0", 7777);
	cmd.pipe.dst = make_addr(NOT_OURS, 1);
	EXPECT_EQ(call(ctx, cmd), -ENETUNREACH);
	/* The port and the handle are free again. */
	id = get_bound(ctx, queue, HERE, 7777);
	after = get_id(ctx, queue, 0);
	for (uint32_t handle = before + 1; handle < after; handle++)
		if (handle != id)
			EXPECT_EQ(rca_destroy(ctx, handle), -ENOENT);
	EXPECT(!event_waits(queue));
}

TEST(step_that_fails_takes_the_new_queue_away)
{
	struct rdma_cm_alt_resolve cmd = create_cmd();
	int ctx = get_ctx();
	int next = MUST(dup(ctx));

	MUST(close(next));
	cmd.pipe.steps |= RDMA_CM_ALT_STEP_BIND;
	cmd.pipe.flags = RDMA_CM_ALT_PIPE_NEW_QUEUE;
	cmd.pipe.src = make_addr(NOT_OURS, 0);
	EXPECT_EQ(call(ctx, cmd), -EADDRNOTAVAIL);
	EXPECT_EQ(MUST(dup(ctx)), next);
}

/* Each member is paid for by every idle connection: see kernel/id/id.h. */
TEST(an_id_is_small)
{
	FILE *file = fopen("/sys/kernel/slab/rca_id/object_size", "r");
	int size = 0;

	if (!file || !access("/proc/lockdep", F_OK))
		ktap_skip("locks are larger here, or slabs are not told");
	EXPECT_EQ(fscanf(file, "%d", &size), 1);
	fclose(file);
	EXPECT(size > 0 && size <= 480);
}

TEST(route_without_address_is_einval)
{
	struct rdma_cm_alt_resolve cmd = create_cmd();
	int ctx = get_ctx();

	cmd.pipe.steps |= RDMA_CM_ALT_STEP_ROUTE;
	EXPECT_EQ(call(ctx, cmd), -EINVAL);
}

KTAP_MAIN
