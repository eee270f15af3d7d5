// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * Tests of kernel/id/id_watch.c: events of ids whose neighbour gets another hardware address. The
 * neighbours are behind the network device NETRIG_NDEV.
 *
 * Locking: rca_id.op, as the functions expect it.
 */
#include <kunit/test.h>
#include <linux/cpumask.h>
#include <linux/netdevice.h>
#include <linux/preempt.h>
#include <net/arp.h>
#include <net/neighbour.h>

#include "cm/cm.h"
#include "ctx/ctx.h"
#include "event/queue.h"
#include "fake/fake_suite.h"
#include "fake/netrig.h"
#include "fake/race.h"
#include "id/id.h"
#include "net/net.h"

#define PEER	0x0a4d0009	/* 10.77.0.9 */
#define OTHER	0x0a4d000a
#define CROWD	500		/* some batches */
#define ROUNDS	200

static const u8 mac_before[ETH_ALEN] = { 2, 7, 7, 7, 7, 1 };
static const u8 mac_after[ETH_ALEN] = { 2, 7, 7, 7, 7, 2 };

static struct net_device *get_ndev(struct kunit *test)
{
	struct net_device *ndev = dev_get_by_name(&init_net, NETRIG_NDEV);

	if (!ndev)
		kunit_skip(test, "the kernel has no veth");
	return ndev;
}

/* The neighbour is reported before this returns, in this context. */
static void set_neighbour(struct net_device *ndev, u32 ip, const u8 *mac, u8 state)
{
	const __be32 key = cpu_to_be32(ip);
	struct neighbour *neigh = __neigh_lookup(&arp_tbl, &key, ndev, 1);

	if (!neigh)
		return;
	neigh_update(neigh, mac, state, NEIGH_UPDATE_F_OVERRIDE | NEIGH_UPDATE_F_ADMIN, 0);
	neigh_release(neigh);
}

static struct rca_id *watching(struct kunit *test, const struct net_device *ndev, u32 ip)
{
	struct rca_id *id = fake_active_id(test, test->priv, FAKE_COOKIE);

	mutex_lock(&id->op);
	id->dst.in = (struct sockaddr_in) { AF_INET, .sin_addr.s_addr = cpu_to_be32(ip) };
	id->link.ifindex = ndev->ifindex;
	memcpy(id->link.smac, ndev->dev_addr, ETH_ALEN);
	memcpy(id->link.dmac, mac_before, ETH_ALEN);
	rca_id_watch_netdev(id);
	rca_id_watch_peer(id);
	mutex_unlock(&id->op);
	return id;
}

/* A device of RoCE, and the neighbour. */
static struct net_device *with_peer(struct kunit *test)
{
	struct net_device *ndev = get_ndev(test);
	struct fake *fake = test->priv;

	fake->ibdev->port_data[1].immutable.core_cap_flags = RDMA_CORE_PORT_IBA_ROCE;
	set_neighbour(ndev, PEER, mac_before, NUD_PERMANENT);
	set_neighbour(ndev, OTHER, mac_before, NUD_PERMANENT);
	return ndev;
}

static void expect_unreachable(struct kunit *test, int count)
{
	flush_workqueue(rca_wq);
	while (count--)
		fake_expect_event(test, RDMA_CM_ALT_EVENT_UNREACHABLE, -ETIMEDOUT);
	fake_expect_no_event(test);
}

static void each_id_of_the_neighbour_gets_an_event(struct kunit *test)
{
	struct net_device *ndev = with_peer(test);
	int i;

	for (i = 0; i < CROWD; i++)
		watching(test, ndev, PEER);
	watching(test, ndev, OTHER);
	expect_unreachable(test, 0);
	set_neighbour(ndev, PEER, mac_after, NUD_PERMANENT);
	expect_unreachable(test, CROWD);
	set_neighbour(ndev, OTHER, mac_after, NUD_PERMANENT);
	expect_unreachable(test, 1);
	/* The change back leaves all as they were. */
	set_neighbour(ndev, PEER, mac_before, NUD_PERMANENT);
	expect_unreachable(test, 0);
	dev_put(ndev);
}

/* A connection goes on, and programs end one that is told to be unreachable. */
static void connected_id_is_told_of_a_change(struct kunit *test)
{
	static const enum rca_state states[] = {
		RCA_ST_CONNECTED, RCA_ST_DREQ_SENT, RCA_ST_DISCONNECTED, RCA_ST_CLOSED,
		RCA_ST_SIDR_DONE,
	};
	struct net_device *ndev = with_peer(test);
	struct rca_id *id = watching(test, ndev, PEER);
	enum rca_state before = id->state;
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(states); i++) {
		spin_lock_irq(&id->lock);
		id->state = states[i];
		spin_unlock_irq(&id->lock);
		set_neighbour(ndev, PEER, mac_after, NUD_PERMANENT);
		flush_workqueue(rca_wq);
		fake_expect_event(test, RDMA_CM_ALT_EVENT_ADDR_CHANGE, 0);
		fake_expect_no_event(test);
		set_neighbour(ndev, PEER, mac_before, NUD_PERMANENT);
		flush_workqueue(rca_wq);
	}
	spin_lock_irq(&id->lock);
	id->state = before;
	spin_unlock_irq(&id->lock);
	dev_put(ndev);
}

static void neighbour_without_an_answer_keeps_its_address(struct kunit *test)
{
	struct net_device *ndev = with_peer(test);

	watching(test, ndev, PEER);
	set_neighbour(ndev, PEER, NULL, NUD_FAILED);
	expect_unreachable(test, 0);
	dev_put(ndev);
}

static void nobody_else_gets_an_event(struct kunit *test)
{
	struct net_device *ndev = with_peer(test);
	struct rca_id *id = watching(test, ndev, PEER);

	mutex_lock(&id->op);
	rca_id_unwatch(id);
	rca_id_watch_netdev(id);	/* as without a path */
	mutex_unlock(&id->op);
	set_neighbour(ndev, PEER, mac_after, NUD_PERMANENT);
	expect_unreachable(test, 0);
	dev_put(ndev);
}

struct waiter {
	struct rca_neigh_wait wait;
	int woken;
};

static void note_wake(struct rca_neigh_wait *wait)
{
	container_of(wait, struct waiter, wait)->woken++;
}

/* Both are in the bucket of the neighbour: it wakes waiters itself, and its walk finds the ids. */
/* A change of a neighbour would otherwise visit all of them, of any user, in one bucket. */
static void ids_without_a_peer_are_spread(struct kunit *test)
{
	static const sa_family_t families[] = { AF_UNSPEC, AF_INET, AF_INET6, AF_IB };
	struct net_device *ndev = get_ndev(test);
	unsigned int first, i, j, same;
	struct rca_id *id;

	for (i = 0; i < ARRAY_SIZE(families); i++) {
		for (first = 0, same = 0, j = 0; j < 16; j++) {
			id = fake_active_id(test, test->priv, FAKE_COOKIE);
			mutex_lock(&id->op);
			memset(&id->dst, 0, sizeof(id->dst));
			id->dst.sa.sa_family = families[i];
			id->link.ifindex = ndev->ifindex;
			rca_id_watch_netdev(id);
			mutex_unlock(&id->op);
			/* All watch for the same changes, so this compares their places. */
			first = j ? first : id->watch;
			same += id->watch == first;
		}
		KUNIT_EXPECT_LT(test, same, 8u);
	}
	dev_put(ndev);
}

static void waiters_and_ids_share_a_neighbour(struct kunit *test)
{
	struct net_device *ndev = with_peer(test);
	struct rca_id *id = watching(test, ndev, PEER);
	int count = RCA_NEIGH_BATCH + 1, i, woken = 0;
	struct waiter *waiters;

	waiters = kunit_kcalloc(test, count, sizeof(*waiters), GFP_KERNEL);
	KUNIT_ASSERT_NOT_NULL(test, waiters);
	for (i = 0; i < count; i++) {
		waiters[i].wait.wake = note_wake;
		rca_neigh_key(&waiters[i].wait.key, &init_net, ndev->ifindex, &id->dst);
		rca_neigh_wait(&waiters[i].wait);
	}
	set_neighbour(ndev, PEER, mac_after, NUD_PERMANENT);
	expect_unreachable(test, 1);
	for (i = 0; i < count; i++) {
		rca_neigh_unwait(&waiters[i].wait);
		woken += waiters[i].woken;
	}
	KUNIT_EXPECT_EQ(test, woken, count);
	dev_put(ndev);
}

/* With one processor, no work runs until preemption is enabled. */
static void report_itself_visits_no_id(struct kunit *test)
{
	struct net_device *ndev = with_peer(test);
	struct fake *fake = test->priv;
	u32 waiting;
	int i;

	for (i = 0; i < CROWD; i++)
		watching(test, ndev, PEER);
	preempt_disable();
	set_neighbour(ndev, PEER, mac_after, NUD_PERMANENT);
	waiting = READ_ONCE(fake->queue->waiting);
	preempt_enable();
	if (num_online_cpus() == 1)
		KUNIT_EXPECT_EQ(test, waiting, 0U);
	expect_unreachable(test, CROWD);
	dev_put(ndev);
}

static void changes_that_follow_each_other_are_compared_once(struct kunit *test)
{
	struct net_device *ndev = with_peer(test);

	if (num_online_cpus() > 1) {
		dev_put(ndev);
		kunit_skip(test, "work may run between the changes");
	}
	watching(test, ndev, PEER);
	preempt_disable();
	set_neighbour(ndev, PEER, mac_after, NUD_PERMANENT);
	set_neighbour(ndev, PEER, mac_before, NUD_PERMANENT);
	preempt_enable();
	expect_unreachable(test, 0);
	dev_put(ndev);
}

/* struct flap - a neighbour that changes, and ids that come and go */
struct flap {
	struct kunit *test;
	struct net_device *ndev;
};

static void flap_run(void *arg, unsigned int n)
{
	struct flap *flap = arg;
	struct fake *fake = flap->test->priv;
	struct rca_id *id;
	u32 reported;
	int i;

	for (i = 0; i < ROUNDS; i++) {
		if (!n) {
			set_neighbour(flap->ndev, PEER, i % 2 ? mac_before : mac_after,
				      NUD_PERMANENT);
		} else {
			id = watching(flap->test, flap->ndev, PEER);
			cond_resched();
			rca_destroy(fake->ctx, id->obj.handle, &reported);
		}
		cond_resched();
	}
}

static void ids_that_come_and_go_do_not_stop_the_walk(struct kunit *test)
{
	struct flap flap = { .test = test, .ndev = with_peer(test) };
	struct rdma_cm_alt_event rec;
	int i;

	for (i = 0; i < CROWD; i++)
		watching(test, flap.ndev, PEER);
	rca_race(test, 3, flap_run, &flap);
	flush_workqueue(rca_wq);
	while (fake_take_event(test->priv, &rec))
		KUNIT_EXPECT_EQ(test, rec.type, (u32)RDMA_CM_ALT_EVENT_UNREACHABLE);
	/* All of them are still there. */
	set_neighbour(flap.ndev, PEER, mac_after, NUD_PERMANENT);
	expect_unreachable(test, CROWD);
	dev_put(flap.ndev);
}

static struct kunit_case id_watch_cases[] = {
	KUNIT_CASE(each_id_of_the_neighbour_gets_an_event),
	KUNIT_CASE(connected_id_is_told_of_a_change),
	KUNIT_CASE(neighbour_without_an_answer_keeps_its_address),
	KUNIT_CASE(nobody_else_gets_an_event),
	KUNIT_CASE(ids_without_a_peer_are_spread),
	KUNIT_CASE(waiters_and_ids_share_a_neighbour),
	KUNIT_CASE(report_itself_visits_no_id),
	KUNIT_CASE(changes_that_follow_each_other_are_compared_once),
	KUNIT_CASE(ids_that_come_and_go_do_not_stop_the_walk),
	{}
};

static struct kunit_suite id_watch_suite = {
	.name = "rdma_cm_alt_id_watch",
	.suite_init = netrig_suite_init,
	.suite_exit = netrig_suite_exit,
	.init = fake_suite_init,
	.exit = fake_suite_exit,
	.test_cases = id_watch_cases,
};
kunit_test_suite(id_watch_suite);
