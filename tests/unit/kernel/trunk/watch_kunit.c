// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * Tests of kernel/trunk/keepalive.c: when a peer with a keepalive is silent, what needs a link, and
 * which link may end for another one.
 *
 * Locking: rca_trunk.lock.
 */
#include <linux/jiffies.h>
#include <linux/string.h>

#include "fake/device_bench.h"
#include "lib/testing.h"
#include "trunk/conn_bench.h"
#include "trunk/trunk.h"

#define DEATH_MS	1000

/* A port may be down for any time while no connection waits: a PING needs no other link. */
static void ping_needs_no_link(struct kunit *test)
{
	struct rca_trunk *trunk = conn_bench->trunk;
	struct rca_trunk_conn *conn = conn_in(test, RCA_CONN_UP);

	spin_lock(&trunk->lock);
	rca_trunk_probe(trunk);
	KUNIT_EXPECT_EQ(test, (int)trunk->link->filled, 1);
	KUNIT_EXPECT_FALSE(test, rca_trunk_has_to_send(trunk));
	spin_unlock(&trunk->lock);
	KUNIT_EXPECT_EQ(test, rca_tp_trunk.disconnect(conn), 0);
	spin_lock(&trunk->lock);
	KUNIT_EXPECT_TRUE(test, rca_trunk_has_to_send(trunk));
	spin_unlock(&trunk->lock);
	KUNIT_EXPECT_EQ(test, conn_bench_take(), 2u);
	spin_lock(&trunk->lock);
	KUNIT_EXPECT_FALSE(test, rca_trunk_has_to_send(trunk));
	spin_unlock(&trunk->lock);
}

/* A trunk without users stays for a minute if its link may have lost the end of a connection. */
static void lost_end_keeps_the_trunk(struct kunit *test)
{
	struct rca_trunk *trunk = conn_bench->trunk;

	spin_lock(&trunk->lock);
	KUNIT_EXPECT_FALSE(test, rca_trunk_has_to_tell(trunk));
	trunk->end_lost = true;
	trunk->end_lost_at = jiffies - 50 * HZ;
	KUNIT_EXPECT_TRUE(test, rca_trunk_has_to_tell(trunk));
	trunk->unusable = true;
	KUNIT_EXPECT_FALSE(test, rca_trunk_has_to_tell(trunk));
	trunk->unusable = false;
	trunk->end_lost_at = jiffies - 61 * HZ;
	KUNIT_EXPECT_FALSE(test, rca_trunk_has_to_tell(trunk));
	trunk->end_lost = false;
	spin_unlock(&trunk->lock);
}

/* Conditions for the loss of a session whose peer was silent for long enough. */
static const struct watch {
	const char *desc;
	unsigned int death_ms;
	unsigned int users;
	unsigned int probes;
	bool up;
	bool recent;
	bool silent;
} watches[] = {
	{ "asked four times", DEATH_MS, 1, RCA_WATCH_PROBES, true, false, true },
	{ "asked less often: this host was stopped", DEATH_MS, 1, RCA_WATCH_PROBES - 1, true },
	{ "cannot be asked", DEATH_MS, 1, 0, false, false, true },
	{ "heard lately", DEATH_MS, 1, RCA_WATCH_PROBES, true, true },
	{ "heard lately, cannot be asked", DEATH_MS, 1, 0, false, true },
	{ "without connections", DEATH_MS, 0, RCA_WATCH_PROBES, true },
	{ "not watched", 0, 1, RCA_WATCH_PROBES, true },
};

static void describe(const struct watch *watch, char *desc)
{
	strscpy(desc, watch->desc, KUNIT_PARAM_DESC_SIZE);
}

KUNIT_ARRAY_PARAM(watch, watches, describe);

static void silence_has_a_length(struct kunit *test)
{
	const struct watch *watch = test->param_value;
	struct rca_trunk *trunk = conn_bench->trunk;
	unsigned int users;
	bool up;

	rca_peer_death_ms = watch->death_ms;
	spin_lock(&trunk->lock);
	users = trunk->users;
	up = trunk->up;
	trunk->users = watch->users;
	trunk->up = watch->up;
	trunk->probes = watch->probes;
	trunk->heard_at = jiffies - msecs_to_jiffies(watch->recent ? DEATH_MS / 2 : DEATH_MS);
	KUNIT_EXPECT_EQ(test, rca_watch_is_silent(trunk), watch->silent);
	trunk->users = users;
	trunk->up = up;
	spin_unlock(&trunk->lock);
	rca_peer_death_ms = 0;
}

/* Conditions that keep a link without a frame for two seconds. */
static const struct use {
	const char *desc;
	bool ready;
	bool up;
	bool ends;
	bool needed;
	bool watched;
	unsigned int under_way;
	bool idle;
} uses[] = {
	{ .desc = "nothing", .ready = true, .up = true, .idle = true },
	{ .desc = "it is not ready", .up = true },
	{ .desc = "the peer has sent nothing", .ready = true },
	{ .desc = "it ends already", .ready = true, .up = true, .ends = true },
	{ .desc = "something waits", .ready = true, .up = true, .needed = true },
	{ .desc = "the peer is watched", .ready = true, .up = true, .watched = true },
	{ .desc = "a SEND is under way", .ready = true, .up = true, .under_way = 1 },
};

static void describe_use(const struct use *use, char *desc)
{
	strscpy(desc, use->desc, KUNIT_PARAM_DESC_SIZE);
}

KUNIT_ARRAY_PARAM(use, uses, describe_use);

static void link_is_idle(struct kunit *test)
{
	const struct use *use = test->param_value;
	struct rca_trunk *trunk = conn_bench->trunk;
	struct rca_trunk_link *link = trunk->link;
	unsigned int users;

	rca_peer_death_ms = use->watched ? DEATH_MS : 0;
	spin_lock(&trunk->lock);
	users = trunk->users;
	trunk->users = 1;
	trunk->up = use->up;
	trunk->wanted = use->needed;
	link->ready = use->ready;
	link->under_way = use->under_way;
	link->used_at = jiffies - 2 * HZ;
	if (use->ends)
		set_bit(RCA_LINK_END, &link->news);
	KUNIT_EXPECT_EQ(test, rca_watch_idle_for(trunk) >= 2 * HZ, use->idle);
	KUNIT_EXPECT_EQ(test, rca_watch_idle_for(trunk) > 0, use->idle);
	trunk->users = users;
	trunk->up = false;
	trunk->wanted = true;
	link->ready = false;
	spin_unlock(&trunk->lock);
	rca_peer_death_ms = 0;
}

/* A frame that is due waits for the completion of a SEND, if no other may be sent. */
static void acknowledgement_waits(struct kunit *test)
{
	struct rca_trunk *trunk = conn_bench->trunk;
	struct rca_trunk_link *link = trunk->link;
	struct rca_credits saved = link->credits;

	spin_lock(&trunk->lock);
	link->under_way = RCA_LINK_SENDS;
	rca_credits_init(&link->credits, 1, 2);
	KUNIT_EXPECT_FALSE(test, rca_link_needs_completion(link));
	link->credits.posted += RCA_LINK_RECEIVES / 2;
	KUNIT_EXPECT_TRUE(test, rca_link_needs_completion(link));
	link->under_way = 0;
	KUNIT_EXPECT_FALSE(test, rca_link_needs_completion(link));
	link->credits = saved;
	spin_unlock(&trunk->lock);
}

/* A trunk whose work does nothing, and a link that has completed its SENDs. */
struct stuck {
	struct rca_trunk trunk;
	struct rca_trunk_link link;
};

static void no_work(struct work_struct *work)
{
	rca_trunk_put(container_of(to_delayed_work(work), struct rca_trunk, work));
}

/* The peer has acknowledged nothing for so long: does the link end? */
static bool link_ends_after(struct kunit *test, struct stuck *stuck, unsigned long time)
{
	struct rca_trunk_link *link = &stuck->link;

	spin_lock(&stuck->trunk.lock);
	link->owed = true;
	link->owed_at = jiffies - time;
	link->watched = true;
	rca_link_run_overdue(link, 0);
	spin_unlock(&stuck->trunk.lock);
	flush_delayed_work(&link->overdue);
	flush_delayed_work(&stuck->trunk.work);
	KUNIT_EXPECT_FALSE(test, link->watched);
	return test_bit(RCA_LINK_END, &link->news);
}

/* It holds frames back for ten seconds, although it has received them. */
static void peer_acknowledges_nothing(struct kunit *test)
{
	struct stuck *stuck = kunit_kzalloc(test, sizeof(*stuck), GFP_KERNEL);

	KUNIT_ASSERT_NOT_NULL(test, stuck);
	refcount_set(&stuck->trunk.ref, 1);
	spin_lock_init(&stuck->trunk.lock);
	INIT_DELAYED_WORK(&stuck->trunk.work, no_work);
	INIT_LIST_HEAD(&stuck->trunk.waiting);
	stuck->trunk.dev = conn_bench->trunk->dev;
	stuck->link.trunk = &stuck->trunk;
	KUNIT_ASSERT_EQ(test, rca_link_create_cqs(&stuck->link, 1, 1), 0);
	KUNIT_EXPECT_FALSE(test, link_ends_after(test, stuck, 5 * HZ));
	KUNIT_EXPECT_TRUE(test, delayed_work_pending(&stuck->link.overdue));
	KUNIT_EXPECT_TRUE(test, link_ends_after(test, stuck, 10 * HZ));
	KUNIT_EXPECT_STREQ(test, stuck->trunk.why, "the peer acknowledges nothing");
	KUNIT_EXPECT_FALSE(test, delayed_work_pending(&stuck->link.overdue));
	rca_link_stop_cqs(&stuck->link);
	rca_link_destroy_cqs(&stuck->link);
}

/* The callback of a completion queue may run after the last run of its work. */
static void late_completion(struct kunit *test)
{
	struct rca_trunk_link *link = kunit_kzalloc(test, sizeof(*link), GFP_KERNEL);
	ib_comp_handler completed;

	KUNIT_ASSERT_NOT_NULL(test, link);
	link->trunk = conn_bench->trunk;
	KUNIT_ASSERT_EQ(test, rca_link_create_cqs(link, 1, 1), 0);
	completed = link->receive_cq->comp_handler;
	completed(link->receive_cq, link);
	KUNIT_EXPECT_TRUE(test, flush_work(&link->poll));
	rca_link_stop_cqs(link);
	rca_link_destroy_cqs(link);
	completed(NULL, link);
	KUNIT_EXPECT_FALSE(test, cancel_work_sync(&link->poll));
}

/* Four links of a device with four vectors use all of them; some devices have one, or tell none. */
static void links_have_vectors_in_turn(struct kunit *test)
{
	struct ib_device *ibdev = kunit_kzalloc(test, sizeof(*ibdev), GFP_KERNEL);
	unsigned long seen = 0;
	int i;

	KUNIT_ASSERT_NOT_NULL(test, ibdev);
	ibdev->num_comp_vectors = 4;
	for (i = 0; i < 4; i++)
		seen |= BIT(rca_link_next_vector(ibdev));
	KUNIT_EXPECT_EQ(test, seen, 0xf);
	for (i = 0; i < 2; i++) {
		ibdev->num_comp_vectors = i;
		KUNIT_EXPECT_EQ(test, rca_link_next_vector(ibdev), 0);
	}
}

static struct kunit_case watch_cases[] = {
	KUNIT_CASE(ping_needs_no_link),
	KUNIT_CASE(lost_end_keeps_the_trunk),
	KUNIT_CASE_PARAM(silence_has_a_length, watch_gen_params),
	KUNIT_CASE_PARAM(link_is_idle, use_gen_params),
	KUNIT_CASE(acknowledgement_waits),
	KUNIT_CASE(late_completion),
	KUNIT_CASE(peer_acknowledges_nothing),
	KUNIT_CASE(links_have_vectors_in_turn),
	{}
};

CONN_SUITE(watch_suite, "trunk_watch", watch_cases);

kunit_test_suite(watch_suite);
