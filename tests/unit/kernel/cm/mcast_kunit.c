// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * Tests of mcast.c with the fake transport, which counts groups: memberships from join to their
 * end, with changes of the id and the device, and calls of user space, at any time.
 *
 * Locking: none.
 */
#include <kunit/test.h>
#include <rdma/rdma_user_cm.h>

#include "cm/cm.h"
#include "event/queue.h"
#include "fake/addresses.h"
#include "fake/fake_suite.h"
#include "fake/kept.h"
#include "fake/race.h"
#include "lib/testing.h"
#include "transport/transport.h"

static int groups(struct kunit *test)
{
	struct fake *fake = test->priv;

	return atomic_read(&fake->groups);
}

/* A datagram id that is bound to the fake device; the handle table has the reference. */
static struct rca_id *bound_id(struct kunit *test, u8 qp_type)
{
	struct fake *fake = test->priv;
	struct rca_id *id = rca_id_create(fake->ctx, fake->queue, RDMA_PS_UDP, qp_type,
					  FAKE_COOKIE);

	KUNIT_ASSERT_FALSE(test, IS_ERR(id));
	KUNIT_ASSERT_EQ(test, rca_id_attach(id, &fake->dev, 1, NULL), 0);
	rca_id_step(id, RCA_IN_BIND);
	rca_id_publish(id);
	return id;
}

static struct rca_member *join(struct kunit *test, struct rca_id *id)
{
	return rca_join(id, rca_test_addr(test, "239.1.1.1", 0), false, 77);
}

/* Join and publish; returns the handle. */
static u32 joined(struct kunit *test, struct rca_id *id)
{
	struct rca_member *member = join(test, id);
	u32 handle;

	KUNIT_ASSERT_FALSE(test, IS_ERR(member));
	handle = rca_join_handle(member);
	KUNIT_ASSERT_EQ(test, rca_join_publish(member), 0);
	return handle;
}

static void expect_event(struct kunit *test, u32 type, u32 member, int status)
{
	struct rdma_cm_alt_event rec = fake_expect_event(test, type, status);

	KUNIT_EXPECT_EQ(test, rec.member, member);
	if (member)
		KUNIT_EXPECT_EQ(test, rec.user_arg, 77ULL);
}

static void expect_join(struct kunit *test, u32 member)
{
	expect_event(test, RDMA_CM_ALT_EVENT_MULTICAST_JOIN, member, 0);
}

static void expect_left(struct kunit *test, u32 handle, u32 wanted)
{
	struct fake *fake = test->priv;
	u32 reported = ~0;

	KUNIT_EXPECT_EQ(test, rca_leave(fake->ctx, handle, &reported), 0);
	KUNIT_EXPECT_EQ(test, reported, wanted);
}

static void expect_gone(struct kunit *test, u32 handle)
{
	struct fake *fake = test->priv;
	u32 reported;

	KUNIT_EXPECT_EQ(test, rca_leave(fake->ctx, handle, &reported), -ENOENT);
}

static u32 destroy(struct kunit *test, u32 handle)
{
	struct fake *fake = test->priv;
	u32 reported = ~0;

	KUNIT_EXPECT_EQ(test, rca_destroy(fake->ctx, handle, &reported), 0);
	return reported;
}

static void remove_device(struct fake *fake)
{
	spin_lock_irq(&fake->dev.lock);
	fake->dev.removing = true;
	spin_unlock_irq(&fake->dev.lock);
	rca_teardown_device(&fake->dev);
}

static void mgid_is_made_of_the_address(struct kunit *test)
{
	static const struct {
		const char *group;
		const char *v2;		/* NULL: not a multicast address */
		const char *v1;
	} rows[] = {
		{ "239.1.2.3", "::ffff:239.1.2.3", "ff0e::ffff:239.1.2.3" },
		{ "224.0.0.0", "::ffff:224.0.0.0", "ff0e::ffff:224.0.0.0" },
		{ "::ffff:239.1.2.3", "::ffff:239.1.2.3", "ff0e::ffff:239.1.2.3" },
		{ "ff1e::9", "ff1e::9", "ff1e::9" },
		{ "ff02::1%3", "ff02::1", "ff02::1" },
		{ "0.0.0.0" }, { "::" }, { "10.9.0.1" }, { "240.0.0.1" }, { "255.255.255.255" },
		{ "fd00::1" }, { "::ffff:10.9.0.1" }, { "ib:ff12::1" },
	};
	union ib_gid mgid;
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(rows); i++) {
		const union rca_addr *group = rca_test_addr(test, rows[i].group, 0);
		int wanted = rows[i].v2 ? 0 : -EINVAL;

		KUNIT_EXPECT_EQ_MSG(test, rca_group_mgid(group, IB_GID_TYPE_ROCE, &mgid), wanted,
				    "%s", rows[i].group);
		if (!wanted)
			KUNIT_EXPECT_MEMEQ(test, mgid.raw,
					   &rca_test_addr(test, rows[i].v1, 0)->in6.sin6_addr, 16);
		KUNIT_EXPECT_EQ_MSG(test, rca_group_mgid(group, IB_GID_TYPE_ROCE_UDP_ENCAP, &mgid),
				    wanted, "%s", rows[i].group);
		if (!wanted)
			KUNIT_EXPECT_MEMEQ(test, mgid.raw,
					   &rca_test_addr(test, rows[i].v2, 0)->in6.sin6_addr, 16);
	}
}

static void mgid_has_no_family_of_its_own(struct kunit *test)
{
	union rca_addr none = {};
	union ib_gid mgid;

	KUNIT_EXPECT_EQ(test, rca_group_mgid(&none, IB_GID_TYPE_ROCE, &mgid), -EINVAL);
}

static void join_event_comes_with_the_handle(struct kunit *test)
{
	struct rca_id *id = bound_id(test, IB_QPT_UD);
	struct rca_member *member = join(test, id);
	struct fake *fake = test->priv;
	struct rdma_cm_alt_event rec;
	u32 handle;

	KUNIT_ASSERT_FALSE(test, IS_ERR(member));
	handle = rca_join_handle(member);
	KUNIT_EXPECT_EQ(test, groups(test), 1);
	KUNIT_EXPECT_EQ(test, fake->last_join.port_num, 1u);
	KUNIT_EXPECT_FALSE(test, fake->last_join.send_only);
	fake_expect_no_event(test);
	expect_gone(test, handle);

	KUNIT_EXPECT_EQ(test, rca_join_publish(member), 0);

	KUNIT_ASSERT_TRUE(test, fake_take_event(fake, &rec));
	KUNIT_EXPECT_EQ(test, rec.type, (u32)RDMA_CM_ALT_EVENT_MULTICAST_JOIN);
	KUNIT_EXPECT_EQ(test, rec.flags, (u32)RDMA_CM_ALT_EVENT_F_UD);
	KUNIT_EXPECT_EQ(test, rec.id, id->obj.handle);
	KUNIT_EXPECT_EQ(test, rec.member, handle);
	KUNIT_EXPECT_EQ(test, rec.user_arg, 77ULL);
	KUNIT_EXPECT_EQ(test, rec.qp_num, 0xffffffu);
	KUNIT_EXPECT_EQ(test, rec.qkey, 0x01234567u);
	KUNIT_EXPECT_EQ(test, (int)rec.ah_attr.sl, 3);
	fake_expect_no_event(test);
	expect_left(test, handle, 1);
	KUNIT_EXPECT_EQ(test, groups(test), 0);
	expect_gone(test, handle);
}

static void join_that_ends_later(struct kunit *test)
{
	static const struct ib_uverbs_ah_attr ah = { .is_global = 1 };
	struct rca_id *id = bound_id(test, IB_QPT_UD);
	struct fake *fake = test->priv;
	u32 handle;

	fake->join_later = true;
	handle = joined(test, id);
	fake_expect_no_event(test);
	rca_mcast_joined(fake->member, 0, &ah, fake->last_join.qkey);
	expect_join(test, handle);
}

static void join_that_fails_later(struct kunit *test)
{
	struct rca_id *id = bound_id(test, IB_QPT_UD);
	const union rca_addr *group = rca_test_addr(test, "239.1.1.1", 0);
	struct fake *fake = test->priv;
	u64 before = kept_count();
	const struct rca_report *report;
	u32 handle;

	fake->join_later = true;
	handle = joined(test, id);
	rca_mcast_joined(fake->member, -ETIMEDOUT, NULL, 0);
	expect_event(test, RDMA_CM_ALT_EVENT_MULTICAST_ERROR, handle, -ETIMEDOUT);
	expect_left(test, handle, 1);

	report = kept_youngest();
	KUNIT_EXPECT_EQ(test, report->serial, before + 1);
	KUNIT_EXPECT_EQ(test, report->event, (u32)RDMA_CM_ALT_EVENT_MULTICAST_ERROR);
	KUNIT_EXPECT_EQ(test, report->status, -ETIMEDOUT);
	KUNIT_EXPECT_EQ(test, report->handle, id->obj.handle);
	KUNIT_EXPECT_MEMEQ(test, report->peer.bytes, group->bytes, sizeof(group->bytes));
}

/* The last event that was reported to the monitor. */
static struct rca_report heard;

static void hear(struct net *net, const struct rca_report *report)
{
	if (report && !*report->op)
		heard = *report;
}

static void who_listens_is_told_of_a_membership(struct kunit *test)
{
	const union rca_addr *group = rca_test_addr(test, "239.1.1.1", 0);
	struct rca_id *id = bound_id(test, IB_QPT_UD);
	u64 kept = kept_count();
	u32 handle;

	memset(&heard, 0, sizeof(heard));
	reports_hook(hear);
	handle = joined(test, id);
	reports_hook(NULL);

	KUNIT_EXPECT_EQ(test, heard.event, (u32)RDMA_CM_ALT_EVENT_MULTICAST_JOIN);
	KUNIT_EXPECT_EQ(test, heard.status, 0);
	KUNIT_EXPECT_MEMEQ(test, heard.peer.bytes, group->bytes, sizeof(group->bytes));
	KUNIT_EXPECT_EQ(test, kept_count(), kept);
	expect_join(test, handle);
	expect_left(test, handle, 1);
}

static void group_that_is_lost_tells_once(struct kunit *test)
{
	struct rca_id *id = bound_id(test, IB_QPT_UD);
	struct fake *fake = test->priv;
	u32 handle = joined(test, id);

	rca_mcast_joined(fake->member, -ENETRESET, NULL, 0);
	expect_join(test, handle);
	expect_event(test, RDMA_CM_ALT_EVENT_MULTICAST_ERROR, handle, -ENETRESET);
	rca_mcast_joined(fake->member, -ENETRESET, NULL, 0);
	fake_expect_no_event(test);
	expect_left(test, handle, 2);
}

static void group_that_is_lost_before_it_is_known_tells_both(struct kunit *test)
{
	struct rca_id *id = bound_id(test, IB_QPT_UD);
	struct rca_member *member = join(test, id);
	struct fake *fake = test->priv;
	u32 handle;

	KUNIT_ASSERT_FALSE(test, IS_ERR(member));
	handle = rca_join_handle(member);
	rca_mcast_joined(fake->member, -ENETRESET, NULL, 0);
	fake_expect_no_event(test);
	KUNIT_ASSERT_EQ(test, rca_join_publish(member), 0);
	expect_join(test, handle);
	expect_event(test, RDMA_CM_ALT_EVENT_MULTICAST_ERROR, handle, -ENETRESET);
}

static void group_with_another_queue_key_is_an_error(struct kunit *test)
{
	static const struct ib_uverbs_ah_attr ah = { .is_global = 1 };
	struct rca_id *id = bound_id(test, IB_QPT_UD);
	struct fake *fake = test->priv;
	u32 handle;

	fake->join_later = true;
	handle = joined(test, id);
	id->qkey = 5;
	rca_mcast_joined(fake->member, 0, &ah, 6);
	expect_event(test, RDMA_CM_ALT_EVENT_MULTICAST_ERROR, handle, -EINVAL);
}

static void join_that_ends_after_removal_says_nothing(struct kunit *test)
{
	struct rca_id *id = bound_id(test, IB_QPT_UD);
	struct fake *fake = test->priv;

	/* The upcall may come before leave() of the transport is called. */
	fake->join_later = true;
	joined(test, id);
	rca_id_step(id, RCA_IN_REMOVE);
	rca_mcast_joined(fake->member, -EIO, NULL, 0);
	fake_expect_no_event(test);
}

static void failed_join_leaves_nothing(struct kunit *test)
{
	struct rca_id *id = bound_id(test, IB_QPT_UD);
	struct fake *fake = test->priv;
	unsigned long pos = id->obj.handle + 1;
	int refs = refcount_read(&id->obj.ref);

	fake->fail = -ENODEV;
	KUNIT_EXPECT_EQ(test, PTR_ERR(join(test, id)), (long)-ENODEV);
	KUNIT_EXPECT_EQ(test, refcount_read(&id->obj.ref), refs);
	KUNIT_EXPECT_TRUE(test, list_empty(&id->opts->members));
	KUNIT_EXPECT_NULL(test, rca_obj_next(fake->ctx, &pos));
	fake_expect_no_event(test);
}

static void memberships_are_counted_until_they_are_gone(struct kunit *test)
{
	struct rca_id *id = bound_id(test, IB_QPT_UD);
	struct fake *fake = test->priv;
	u32 a = joined(test, id);

	KUNIT_EXPECT_EQ(test, atomic_read(&id->opts->memberships), 1);
	fake->fail = -ENODEV;
	KUNIT_EXPECT_EQ(test, PTR_ERR(join(test, id)), (long)-ENODEV);
	KUNIT_EXPECT_EQ(test, atomic_read(&id->opts->memberships), 1);
	atomic_set(&id->opts->memberships, RCA_MAX_MEMBERSHIPS);
	KUNIT_EXPECT_EQ(test, PTR_ERR(join(test, id)), (long)-ENOBUFS);
	KUNIT_EXPECT_EQ(test, groups(test), 1);
	atomic_set(&id->opts->memberships, 1);
	expect_left(test, a, 0);
	KUNIT_EXPECT_EQ(test, atomic_read(&id->opts->memberships), 0);
}

static void join_is_for_datagram_ids(struct kunit *test)
{
	KUNIT_EXPECT_EQ(test, PTR_ERR(join(test, bound_id(test, IB_QPT_RC))), (long)-EINVAL);
	KUNIT_EXPECT_EQ(test, groups(test), 0);
}

static void join_needs_a_device(struct kunit *test)
{
	struct fake *fake = test->priv;
	struct rca_id *id = rca_id_create(fake->ctx, fake->queue, RDMA_PS_UDP, IB_QPT_UD, 1);

	KUNIT_ASSERT_FALSE(test, IS_ERR(id));
	rca_id_publish(id);
	KUNIT_EXPECT_EQ(test, PTR_ERR(join(test, id)), (long)-EINVAL);
	rca_id_step(id, RCA_IN_BIND);
	KUNIT_EXPECT_EQ(test, PTR_ERR(join(test, id)), (long)-EINVAL);
}

static void states_that_may_join(struct kunit *test)
{
	struct rca_id *id = bound_id(test, IB_QPT_UD);

	joined(test, id);
	rca_id_step(id, RCA_IN_RESOLVE_ADDR);
	KUNIT_EXPECT_EQ(test, PTR_ERR(join(test, id)), (long)-EINVAL);
	rca_id_step(id, RCA_IN_ADDR_OK);
	joined(test, id);
	rca_id_step(id, RCA_IN_RESOLVE_ROUTE);
	KUNIT_EXPECT_EQ(test, PTR_ERR(join(test, id)), (long)-EINVAL);
	rca_id_step(id, RCA_IN_ROUTE_OK);
	KUNIT_EXPECT_EQ(test, PTR_ERR(join(test, id)), (long)-EINVAL);
	rca_id_step(id, RCA_IN_REMOVE);
	KUNIT_EXPECT_EQ(test, PTR_ERR(join(test, id)), (long)-ENXIO);
	KUNIT_EXPECT_EQ(test, groups(test), 2);
}

static void abort_undoes_the_join(struct kunit *test)
{
	struct rca_member *member = join(test, bound_id(test, IB_QPT_UD));
	u32 handle;

	KUNIT_ASSERT_FALSE(test, IS_ERR(member));
	handle = rca_join_handle(member);
	rca_join_abort(member);
	KUNIT_EXPECT_EQ(test, groups(test), 0);
	expect_gone(test, handle);
	fake_expect_no_event(test);
}

static void leave_drops_and_counts_its_own_events(struct kunit *test)
{
	struct rca_id *id = bound_id(test, IB_QPT_UD);
	u32 a = joined(test, id), b = joined(test, id), c = joined(test, id);

	expect_join(test, a);
	expect_left(test, b, 0);
	expect_join(test, c);
	fake_expect_no_event(test);
	expect_left(test, c, 1);
	expect_left(test, a, 1);
	KUNIT_EXPECT_EQ(test, groups(test), 0);
	KUNIT_EXPECT_EQ(test, destroy(test, id->obj.handle), 2u);
}

static void leave_keeps_the_order_of_other_events(struct kunit *test)
{
	struct rca_id *id = bound_id(test, IB_QPT_UD), *other = bound_id(test, IB_QPT_UD);
	u32 a = joined(test, id), b = joined(test, other), c = joined(test, id);

	rca_id_get(id);
	remove_device(test->priv);
	expect_left(test, a, 0);
	expect_join(test, b);
	expect_join(test, c);
	expect_event(test, RDMA_CM_ALT_EVENT_DEVICE_REMOVAL, 0, 0);
	expect_event(test, RDMA_CM_ALT_EVENT_DEVICE_REMOVAL, 0, 0);
	rca_id_put(id);
}

static void handles_are_of_one_kind(struct kunit *test)
{
	struct rca_id *id = bound_id(test, IB_QPT_UD);
	u32 member = joined(test, id), reported;
	struct fake *fake = test->priv;

	KUNIT_EXPECT_EQ(test, rca_leave(fake->ctx, id->obj.handle, &reported), -EINVAL);
	KUNIT_EXPECT_EQ(test, rca_destroy(fake->ctx, member, &reported), -EINVAL);
	KUNIT_EXPECT_EQ(test, PTR_ERR(rca_id_lookup(fake->ctx, member)), (long)-EINVAL);
	KUNIT_EXPECT_EQ(test, groups(test), 1);
}

static void events_move_with_the_id(struct kunit *test)
{
	struct rca_id *id = bound_id(test, IB_QPT_UD);
	u32 a = joined(test, id), b = joined(test, id);
	struct fake *fake = test->priv;
	struct rca_queue *from = fake->queue;

	fake->queue = rca_queue_create(fake->ctx, sizeof(struct rdma_cm_alt_event), true);
	KUNIT_ASSERT_NOT_ERR_OR_NULL(test, fake->queue);
	KUNIT_EXPECT_EQ(test, rca_source_move(&id->src, fake->queue, NULL, NULL), 0);
	KUNIT_EXPECT_FALSE(test, rca_queue_ready(from));
	rca_queue_shutdown(from);
	rca_queue_put(from);
	expect_left(test, a, 0);
	expect_join(test, b);
	expect_left(test, b, 1);
}

static void destroy_ends_memberships(struct kunit *test)
{
	struct rca_id *id = bound_id(test, IB_QPT_UD);
	u32 a = joined(test, id), b = joined(test, id);

	expect_join(test, a);
	KUNIT_EXPECT_EQ(test, destroy(test, id->obj.handle), 1u);
	KUNIT_EXPECT_EQ(test, groups(test), 0);
	expect_gone(test, a);
	expect_gone(test, b);
	fake_expect_no_event(test);
}

static void close_of_the_queue_ends_memberships(struct kunit *test)
{
	struct rca_id *id = bound_id(test, IB_QPT_UD);
	struct fake *fake = test->priv;
	u32 a = joined(test, id);

	rca_queue_shutdown(fake->queue);
	KUNIT_EXPECT_EQ(test, groups(test), 0);
	expect_gone(test, a);
}

static void close_of_the_context_ends_those_without_a_queue(struct kunit *test)
{
	struct fake *fake = test->priv;
	struct rca_id *keep = bound_id(test, IB_QPT_UD);
	struct rca_queue *own = rca_queue_create(fake->ctx, sizeof(struct rdma_cm_alt_event),
						 false);
	struct rca_id *id = rca_id_create(fake->ctx, own, RDMA_PS_UDP, IB_QPT_UD, 1);
	u32 kept = joined(test, keep), ended;

	KUNIT_ASSERT_FALSE(test, IS_ERR(id));
	rca_queue_put(own);	/* the id has a reference of its own */
	KUNIT_ASSERT_EQ(test, rca_id_attach(id, &fake->dev, 1, NULL), 0);
	rca_id_step(id, RCA_IN_BIND);
	rca_id_publish(id);
	ended = joined(test, id);
	rca_ctx_shutdown(fake->ctx);
	KUNIT_EXPECT_EQ(test, groups(test), 1);
	expect_gone(test, ended);
	expect_left(test, kept, 0);
}

static void removal_gives_groups_up_and_keeps_counts(struct kunit *test)
{
	struct rca_id *id = bound_id(test, IB_QPT_UD);
	u32 a = joined(test, id), b = joined(test, id);
	struct fake *fake = test->priv;

	expect_join(test, a);
	remove_device(fake);
	KUNIT_EXPECT_EQ(test, groups(test), 0);
	KUNIT_EXPECT_EQ(test, refcount_read(&fake->dev.ref), 1);
	expect_left(test, a, 1);
	expect_join(test, b);
	expect_event(test, RDMA_CM_ALT_EVENT_DEVICE_REMOVAL, 0, 0);
	expect_left(test, b, 1);
	KUNIT_EXPECT_EQ(test, destroy(test, id->obj.handle), 3u);
}

static void destroy_during_join(struct fake *fake)
{
	unsigned long pos = 0;
	struct rca_obj *obj = rca_obj_next(fake->ctx, &pos);
	u32 reported;

	rca_destroy(fake->ctx, obj->handle, &reported);
	rca_obj_put(obj);
}

static void join_of_an_id_that_is_destroyed_meanwhile(struct kunit *test)
{
	struct rca_id *id = rca_id_get(bound_id(test, IB_QPT_UD));
	struct fake *fake = test->priv;

	fake->during_join = destroy_during_join;
	KUNIT_EXPECT_EQ(test, PTR_ERR(join(test, id)), (long)-ENOENT);
	KUNIT_EXPECT_EQ(test, groups(test), 0);
	rca_id_put(id);
}

static void join_on_a_device_that_is_removed_meanwhile(struct kunit *test)
{
	struct rca_id *id = bound_id(test, IB_QPT_UD);
	struct fake *fake = test->priv;

	fake->during_join = remove_device;
	KUNIT_EXPECT_EQ(test, PTR_ERR(join(test, id)), (long)-ENXIO);
	KUNIT_EXPECT_EQ(test, groups(test), 0);
	expect_event(test, RDMA_CM_ALT_EVENT_DEVICE_REMOVAL, 0, 0);
	fake_expect_no_event(test);
}

static void publish_after_destroy(struct kunit *test)
{
	struct rca_id *id = rca_id_get(bound_id(test, IB_QPT_UD));
	struct rca_member *member = join(test, id);
	struct fake *fake = test->priv;
	unsigned long pos = 0;

	KUNIT_ASSERT_FALSE(test, IS_ERR(member));
	destroy(test, id->obj.handle);
	KUNIT_EXPECT_EQ(test, groups(test), 0);
	KUNIT_EXPECT_EQ(test, rca_join_publish(member), -ENOENT);
	KUNIT_EXPECT_NULL(test, rca_obj_next(fake->ctx, &pos));
	rca_id_put(id);
}

static void publish_after_removal(struct kunit *test)
{
	struct rca_member *member = join(test, bound_id(test, IB_QPT_UD));

	KUNIT_ASSERT_FALSE(test, IS_ERR(member));
	remove_device(test->priv);
	KUNIT_EXPECT_EQ(test, rca_join_publish(member), -ENXIO);
	expect_event(test, RDMA_CM_ALT_EVENT_DEVICE_REMOVAL, 0, 0);
	fake_expect_no_event(test);
}

struct contest {
	struct fake *fake;
	struct rca_id *id;
	u32 handles[8];
	atomic_t left;
	atomic_t destroyed;
};

static void leave_all(struct contest *c)
{
	unsigned int i;
	u32 reported;

	for (i = 0; i < ARRAY_SIZE(c->handles); i++)
		if (!rca_leave(c->fake->ctx, c->handles[i], &reported))
			atomic_inc(&c->left);
}

static void run_contest(void *arg, unsigned int n)
{
	struct contest *c = arg;
	u32 reported;

	if (n < 2)
		leave_all(c);
	else if (n == 2)
		remove_device(c->fake);
	else if (!rca_destroy(c->fake->ctx, c->id->obj.handle, &reported))
		atomic_inc(&c->destroyed);
}

static void each_membership_ends_once(struct kunit *test)
{
	struct contest c = { .fake = test->priv };
	unsigned int round, i;

	for (round = 0; round < 50; round++) {
		c.fake->dev.removing = false;
		c.id = rca_id_get(bound_id(test, IB_QPT_UD));
		for (i = 0; i < ARRAY_SIZE(c.handles); i++)
			c.handles[i] = joined(test, c.id);
		atomic_set(&c.left, 0);
		atomic_set(&c.destroyed, 0);
		rca_race(test, 4, run_contest, &c);
		KUNIT_EXPECT_EQ(test, atomic_read(&c.destroyed), 1);
		KUNIT_EXPECT_LE(test, atomic_read(&c.left), (int)ARRAY_SIZE(c.handles));
		KUNIT_EXPECT_EQ(test, groups(test), 0);
		for (i = 0; i < ARRAY_SIZE(c.handles); i++)
			expect_gone(test, c.handles[i]);
		KUNIT_EXPECT_EQ(test, refcount_read(&c.id->obj.ref), 1);
		rca_id_put(c.id);
		fake_expect_no_event(test);
	}
}

static struct kunit_case mcast_cases[] = {
	KUNIT_CASE(mgid_is_made_of_the_address),
	KUNIT_CASE(mgid_has_no_family_of_its_own),
	KUNIT_CASE(join_event_comes_with_the_handle),
	KUNIT_CASE(join_that_ends_later),
	KUNIT_CASE(join_that_fails_later),
	KUNIT_CASE(who_listens_is_told_of_a_membership),
	KUNIT_CASE(group_that_is_lost_tells_once),
	KUNIT_CASE(group_that_is_lost_before_it_is_known_tells_both),
	KUNIT_CASE(group_with_another_queue_key_is_an_error),
	KUNIT_CASE(join_that_ends_after_removal_says_nothing),
	KUNIT_CASE(failed_join_leaves_nothing),
	KUNIT_CASE(memberships_are_counted_until_they_are_gone),
	KUNIT_CASE(join_is_for_datagram_ids),
	KUNIT_CASE(join_needs_a_device),
	KUNIT_CASE(states_that_may_join),
	KUNIT_CASE(abort_undoes_the_join),
	KUNIT_CASE(leave_drops_and_counts_its_own_events),
	KUNIT_CASE(leave_keeps_the_order_of_other_events),
	KUNIT_CASE(handles_are_of_one_kind),
	KUNIT_CASE(events_move_with_the_id),
	KUNIT_CASE(destroy_ends_memberships),
	KUNIT_CASE(close_of_the_queue_ends_memberships),
	KUNIT_CASE(close_of_the_context_ends_those_without_a_queue),
	KUNIT_CASE(removal_gives_groups_up_and_keeps_counts),
	KUNIT_CASE(join_of_an_id_that_is_destroyed_meanwhile),
	KUNIT_CASE(join_on_a_device_that_is_removed_meanwhile),
	KUNIT_CASE(publish_after_destroy),
	KUNIT_CASE(publish_after_removal),
	KUNIT_CASE(each_membership_ends_once),
	{}
};

static struct kunit_suite mcast_suite = {
	.name = "rdma_cm_alt_mcast",
	.init = fake_suite_init,
	.exit = fake_suite_exit,
	.test_cases = mcast_cases,
};
kunit_test_suite(mcast_suite);
