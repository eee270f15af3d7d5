// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/* Multicast groups: everything that ends a membership, and its cleanup. */
#include "groups.h"
#include "own_device.h"
#include "tasks.h"

TEST(leave_drops_the_event_that_nobody_read)
{
	int ctx = get_ctx(), queue = get_queue(ctx);
	uint32_t id = get_ud_bound(ctx, queue, HERE), members[3], reported;

	for (int i = 0; i < 3; i++)
		members[i] = get_member(ctx, id, GROUP);
	EXPECT_LEFT(ctx, members[1], 0);
	expect_joined(queue, id, members[0], "::ffff:" GROUP);
	expect_joined(queue, id, members[2], "::ffff:" GROUP);
	EXPECT(!event_waits(queue));
	EXPECT_LEFT(ctx, members[2], 1);
	EXPECT_EQ(rca_destroy_count(ctx, id, &reported), 0);
	EXPECT_EQ(reported, 2);
}

TEST(events_move_with_the_id)
{
	int ctx = get_ctx(), from = get_queue(ctx), to = get_queue(ctx);
	uint32_t id = get_ud_bound(ctx, from, HERE), members[2];

	members[0] = get_member(ctx, id, GROUP);
	members[1] = get_member(ctx, id, OTHER_GROUP);
	EXPECT_EQ(rca_set_queue(ctx, id, to), 0);
	EXPECT(!event_waits(from));
	MUST(close(from));
	EXPECT_EQ(igmp_users("d0", GROUP), 1);
	expect_joined(to, id, members[0], "::ffff:" GROUP);
	EXPECT_LEFT(ctx, members[1], 0);
	EXPECT(!event_waits(to));
	EXPECT_LEFT(ctx, members[0], 1);
}

TEST(id_without_a_queue)
{
	int ctx = get_ctx();
	uint32_t id = get_ud_bound(ctx, -1, HERE), member = get_member(ctx, id, GROUP);
	event_t ev;

	EXPECT_EQ(rca_get_event(ctx, id, RDMA_CM_ALT_GET_EVENT_NONBLOCK, &ev), 0);
	EXPECT_EQ(ev.type, RDMA_CM_ALT_EVENT_MULTICAST_JOIN);
	EXPECT_EQ(ev.member, member);
	EXPECT_EQ(igmp_users("d0", GROUP), 1);
	MUST(close(ctx));
	EXPECT_EQ(igmp_users("d0", GROUP), 0);
}

TEST(close_of_the_queue_ends_memberships)
{
	int ctx = get_ctx(), queue = get_queue(ctx);
	uint32_t member = get_member(ctx, get_ud_bound(ctx, queue, HERE), GROUP);

	MUST(close(queue));
	EXPECT_EQ(igmp_users("d0", GROUP), 0);
	EXPECT_EQ(leave(ctx, member), -ENOENT);
}

TEST(close_of_the_context_leaves_them_to_the_queue)
{
	int ctx = get_ctx(), queue = get_queue(ctx);
	uint32_t id = get_ud_bound(ctx, queue, HERE), member = get_member(ctx, id, GROUP);

	MUST(close(ctx));
	EXPECT_EQ(igmp_users("d0", GROUP), 1);
	expect_joined(queue, id, member, "::ffff:" GROUP);
	MUST(close(queue));
	EXPECT_EQ(igmp_users("d0", GROUP), 0);
}

static void join_both(void)
{
	int ctx = get_ctx(), queue = get_queue(ctx);

	get_member(ctx, get_ud_bound(ctx, queue, HERE), GROUP);
	get_member(ctx, get_ud_bound(ctx, -1, HERE6), GROUP6);
}

TEST(kill_ends_memberships)
{
	pid_t pid = start_child(join_both);

	EXPECT_EQ(igmp_users("d0", GROUP), 1);
	EXPECT_EQ(mld_users("d0", GROUP6), 1);
	kill_child(pid);
	EXPECT_EQ(igmp_users("d0", GROUP), 0);
	EXPECT_EQ(mld_users("d0", GROUP6), 0);
}

TEST(device_that_is_removed_takes_its_memberships)
{
	uint32_t id, members[2], reported;
	int ctx = get_ctx(), queue = get_queue(ctx);

	add_own_device(OWN_DUMMY);
	id = get_ud_bound(ctx, queue, OWN_ADDR);
	members[0] = get_member(ctx, id, GROUP);
	expect_joined(queue, id, members[0], "::ffff:" GROUP);
	members[1] = get_member(ctx, id, OTHER_GROUP);
	EXPECT_EQ(igmp_users("d2", GROUP), 1);
	remove_own_device();
	EXPECT_EQ(igmp_users("d2", GROUP), 0);
	EXPECT_EQ(igmp_users("d2", OTHER_GROUP), 0);
	expect_joined(queue, id, members[1], "::ffff:" OTHER_GROUP);
	EXPECT_EVENT(queue, DEVICE_REMOVAL, id);
	EXPECT(!event_waits(queue));
	EXPECT_EQ(join(ctx, id, GROUP), -ENXIO);
	EXPECT_LEFT(ctx, members[0], 1);
	EXPECT_EQ(rca_destroy_count(ctx, id, &reported), 0);
	EXPECT_EQ(reported, 3);
	EXPECT_EQ(leave(ctx, members[1]), -ENOENT);
}

TEST_LONG(network_device_that_is_removed_takes_them_along)
{
	uint32_t id, member;
	int ctx = get_ctx(), queue = get_queue(ctx);

	add_own_device(OWN_DUMMY);
	id = get_ud_bound(ctx, queue, OWN_ADDR);
	member = get_member(ctx, id, GROUP);
	EXPECT_EVENT(queue, MULTICAST_JOIN, id);
	/* Returns when the network device has no more references. */
	EXPECT_EQ(system("ip link delete d2"), 0);
	EXPECT_EVENT(queue, DEVICE_REMOVAL, id);
	EXPECT_EQ(leave(ctx, member), 0);
}

TEST_LONG(memberships_of_a_lost_stack_are_not_left_twice)
{
	uint32_t id, member;
	int ctx = get_ctx(), queue = get_queue(ctx);

	/* The network device loses its IP state and gets it back: memberships are new ones then. */
	add_own_device(OWN_DUMMY);
	id = get_ud_bound(ctx, queue, OWN_ADDR);
	member = get_member(ctx, id, GROUP);
	EXPECT_EQ(system("ip link set d2 mtu 68"), 0);
	EXPECT_EQ(igmp_users("d2", GROUP), 1);
	EXPECT_EQ(system("ip link set d2 mtu 67"), 0);
	EXPECT_EQ(igmp_users("d2", GROUP), 0);
	EXPECT_EQ(system("ip link set d2 mtu 1500 && ip addr add 10.8.1.1/24 dev d2"), 0);
	EXPECT_EQ(igmp_users("d2", GROUP), 0);
	EXPECT_EQ(system("ip addr add " GROUP "/32 dev d2 autojoin"), 0);
	EXPECT_EQ(igmp_users("d2", GROUP), 1);
	EXPECT_EQ(leave(ctx, member), 0);
	EXPECT_EQ(igmp_users("d2", GROUP), 1);
	delete_own_device();
}

struct busy {
	int ctx;
	bool stop;
	uint32_t member;
};

static void *join_and_leave(void *arg)
{
	struct busy *busy = arg;

	while (!__atomic_load_n(&busy->stop, __ATOMIC_SEQ_CST)) {
		uint32_t id = get_ud(busy->ctx, -1), member;

		if (!rca_bind(busy->ctx, id, OWN_ADDR, 0)) {
			join(busy->ctx, id, GROUP);
			if (!rca_join(busy->ctx, id, GROUP6, 0, 42, &member))
				leave(busy->ctx, member);
		}
		rca_destroy(busy->ctx, id);
	}
	return NULL;
}

TEST_LONG(device_that_comes_and_goes_under_load)
{
	struct busy busy = { .ctx = get_ctx() };
	pthread_t threads[2];

	ktap_timeout(600);
	add_own_device(OWN_DUMMY);
	start_threads(threads, 2, join_and_leave, &busy);
	for (int i = 0; i < 3; i++) {
		EXPECT_EQ(system("rdma link delete rxe2; sleep 0.2;"
				 "rdma link add rxe2 type rxe netdev d2; sleep 0.2"), 0);
	}
	__atomic_store_n(&busy.stop, true, __ATOMIC_SEQ_CST);
	join_threads(threads, 2);
	EXPECT_EQ(igmp_users("d2", GROUP), 0);
	EXPECT_EQ(mld_users("d2", GROUP6), 0);
	delete_own_device();
}

/* Handles are allocated in ascending order, so the next ones can be guessed. */
static void *destroy_and_leave(void *arg)
{
	struct busy *busy = arg;

	while (!__atomic_load_n(&busy->stop, __ATOMIC_SEQ_CST)) {
		uint32_t handle = __atomic_load_n(&busy->member, __ATOMIC_SEQ_CST);

		for (uint32_t n = 0; n < 4; n++) {
			leave(busy->ctx, handle + n);
			if (n % 2)
				rca_destroy(busy->ctx, handle + n);
		}
	}
	return NULL;
}

TEST(leave_and_destroy_race_with_join)
{
	struct busy busy = { .ctx = get_ctx() };
	int queue = get_queue(busy.ctx);
	pthread_t thread;
	event_t ev;

	ktap_timeout(600);
	EXPECT_EQ(pthread_create(&thread, NULL, destroy_and_leave, &busy), 0);
	for (int i = 0; i < 500; i++) {
		uint32_t id = get_ud(busy.ctx, queue);

		__atomic_store_n(&busy.member, id, __ATOMIC_SEQ_CST);
		rca_bind(busy.ctx, id, HERE, 0);
		for (int n = 0; n < 3; n++)
			join(busy.ctx, id, GROUP);
		rca_destroy(busy.ctx, id);
		while (event_waits(queue))
			EXPECT(read(queue, &ev, sizeof(ev)) == sizeof(ev));
	}
	__atomic_store_n(&busy.stop, true, __ATOMIC_SEQ_CST);
	EXPECT_EQ(pthread_join(thread, NULL), 0);
	EXPECT_EQ(igmp_users("d0", GROUP), 0);
}

KTAP_MAIN
