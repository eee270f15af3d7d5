// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * Tests of kernel/net/neigh.c: waiters for neighbours; and of kernel/net/nexthop.c: lookups over
 * the network device NETRIG_NDEV.
 *
 * Locking: none.
 */
#include <kunit/test.h>
#include <linux/cpumask.h>
#include <linux/delay.h>
#include <linux/netdevice.h>
#include <linux/preempt.h>
#include <net/arp.h>
#include <net/neighbour.h>
#include <net/netevent.h>
#include <rdma/ib_addr.h>

#include "fake/addresses.h"
#include "fake/netrig.h"
#include "fake/race.h"
#include "lib/compat.h"
#include "lib/testing.h"
#include "net/net.h"

#define HERE	0x0a4d0001	/* 10.77.0.1 */
#define GATEWAY	0x0a4d0002
#define BEHIND	0x0a4e0009	/* 10.78.0.9 */

/* A neighbour for tests that need no network device of their own. */
static const u8 neigh_ip[16] = { 10, 1, 2, 3 };

/**
 * struct lookup - a lookup, and its network device: test->priv
 * @ndev: NETRIG_NDEV, or NULL
 * @src: local address
 * @addr: result
 * @missing: the neighbour to wait for
 */
struct lookup {
	struct net_device *ndev;
	union rca_addr src;
	struct rdma_dev_addr addr;
	struct rca_neigh_key missing;
};

static int lookup_init(struct kunit *test)
{
	test->priv = kunit_kzalloc(test, sizeof(struct lookup), GFP_KERNEL);
	KUNIT_ASSERT_NOT_NULL(test, test->priv);
	return 0;
}

static void lookup_exit(struct kunit *test)
{
	struct lookup *lookup = test->priv;

	if (lookup)
		dev_put(lookup->ndev);
}

/* A waiter that counts calls of wake(). */
struct waiter {
	struct rca_neigh_wait wait;
	atomic_t woken;
};

static void count_wake(struct rca_neigh_wait *wait)
{
	atomic_inc(&container_of(wait, struct waiter, wait)->woken);
}

static struct waiter wait_for(const struct rca_neigh_key *key)
{
	return (struct waiter) { .wait = { .key = *key, .wake = count_wake } };
}

static struct rca_neigh_key key_of(const struct net_device *ndev, const void *ip, u32 len)
{
	struct rca_neigh_key key;

	memset(&key, 0, sizeof(key));
	key.net = dev_net(ndev);
	key.ifindex = ndev->ifindex;
	key.len = len;
	memcpy(key.ip, ip, len);
	return key;
}

/* A neighbour entry that is in no table. */
static struct neighbour *make_neigh(struct kunit *test, u8 state)
{
	struct neighbour *neigh = kunit_kzalloc(test, sizeof(*neigh) + 16, GFP_KERNEL);
	struct neigh_table *tbl = kunit_kzalloc(test, sizeof(*tbl), GFP_KERNEL);

	KUNIT_ASSERT_NOT_NULL(test, neigh);
	KUNIT_ASSERT_NOT_NULL(test, tbl);
	tbl->key_len = 4;
	neigh->tbl = tbl;
	neigh->dev = init_net.loopback_dev;
	neigh->nud_state = state;
	memcpy(neigh->primary_key, neigh_ip, 4);
	return neigh;
}

/* A waiter for the neighbour of make_neigh(). */
static struct waiter make_waiter(void)
{
	struct rca_neigh_key key = key_of(init_net.loopback_dev, neigh_ip, 4);

	return wait_for(&key);
}

static void neighbour_wakes_those_who_wait_for_it(struct kunit *test)
{
	struct waiter same[2] = { make_waiter(), make_waiter() };
	struct waiter others[4];
	int i;

	for (i = 0; i < ARRAY_SIZE(others); i++)
		others[i] = make_waiter();
	others[0].wait.key.ip[3]++;
	others[1].wait.key.len = 16;	/* an IPv6 address with the same first bytes */
	others[2].wait.key.ifindex++;
	others[3].wait.key.net = NULL;

	for (i = 0; i < ARRAY_SIZE(same); i++)
		rca_neigh_wait(&same[i].wait);
	for (i = 0; i < ARRAY_SIZE(others); i++)
		rca_neigh_wait(&others[i].wait);
	rca_neigh_changed(make_neigh(test, NUD_REACHABLE));
	rca_neigh_changed(make_neigh(test, NUD_STALE));
	for (i = 0; i < ARRAY_SIZE(same); i++) {
		KUNIT_EXPECT_EQ(test, 1, atomic_read(&same[i].woken));
		rca_neigh_unwait(&same[i].wait);
	}
	for (i = 0; i < ARRAY_SIZE(others); i++) {
		KUNIT_EXPECT_EQ(test, 0, atomic_read(&others[i].woken));
		rca_neigh_unwait(&others[i].wait);
	}
}

static void neighbour_without_an_address_wakes_nobody(struct kunit *test)
{
	static const u8 states[] = { NUD_NONE, NUD_INCOMPLETE, NUD_FAILED };
	struct waiter waiter = make_waiter();
	int i;

	rca_neigh_wait(&waiter.wait);
	for (i = 0; i < ARRAY_SIZE(states); i++)
		rca_neigh_changed(make_neigh(test, states[i]));
	KUNIT_EXPECT_EQ(test, 0, atomic_read(&waiter.woken));
	rca_neigh_unwait(&waiter.wait);
}

/* The notifier chain of neighbours also reports redirects and settings. */
static void other_news_wake_nobody(struct kunit *test)
{
	struct waiter waiter = make_waiter();

	rca_neigh_wait(&waiter.wait);
	call_netevent_notifiers(NETEVENT_DELAY_PROBE_TIME_UPDATE, &arp_tbl.parms);
	KUNIT_EXPECT_EQ(test, 0, atomic_read(&waiter.woken));
	rca_neigh_unwait(&waiter.wait);
}

static void who_waits_no_longer_is_not_woken(struct kunit *test)
{
	struct neighbour *neigh = make_neigh(test, NUD_REACHABLE);
	struct waiter waiter = make_waiter();

	rca_neigh_unwait(&waiter.wait);	/* never waited */
	rca_neigh_wait(&waiter.wait);
	rca_neigh_wait(&waiter.wait);	/* waits already */
	rca_neigh_unwait(&waiter.wait);
	rca_neigh_unwait(&waiter.wait);
	rca_neigh_changed(neigh);
	KUNIT_EXPECT_EQ(test, 0, atomic_read(&waiter.woken));
	/* It may wait again, as a resolution does whose lookup has failed. */
	rca_neigh_wait(&waiter.wait);
	rca_neigh_changed(neigh);
	KUNIT_EXPECT_EQ(test, 1, atomic_read(&waiter.woken));
}

#define CROWD	(3 * RCA_NEIGH_BATCH + 1)

static int woken(const struct waiter *crowd)
{
	int i, count = 0;

	for (i = 0; i < CROWD; i++)
		count += atomic_read(&crowd[i].woken);
	return count;
}

/* One change wakes a batch at once; work wakes the others, but not who has come meanwhile. */
static void crowd_is_woken_in_batches(struct kunit *test)
{
	struct neighbour *neigh = make_neigh(test, NUD_REACHABLE);
	struct waiter *crowd = kunit_kcalloc(test, CROWD, sizeof(*crowd), GFP_KERNEL);
	struct waiter late = make_waiter();
	int i, at_once;

	KUNIT_ASSERT_NOT_NULL(test, crowd);
	for (i = 0; i < CROWD; i++) {
		crowd[i] = make_waiter();
		rca_neigh_wait(&crowd[i].wait);
	}
	preempt_disable();
	rca_neigh_changed(neigh);
	at_once = woken(crowd);
	preempt_enable();
	rca_neigh_wait(&late.wait);
	/* On another processor the work may have run meanwhile. */
	if (num_online_cpus() == 1)
		KUNIT_EXPECT_EQ(test, RCA_NEIGH_BATCH, at_once);
	KUNIT_EXPECT_GE(test, at_once, RCA_NEIGH_BATCH);
	for (i = 0; i < 500 && woken(crowd) < CROWD; i++)
		msleep(20);
	for (i = 0; i < CROWD; i++)
		KUNIT_EXPECT_EQ(test, 1, atomic_read(&crowd[i].woken));
	KUNIT_EXPECT_EQ(test, 0, atomic_read(&late.woken));
	rca_neigh_unwait(&late.wait);
}

/* Waiters of a neighbour that has answered end before their turn. */
static void crowd_ends_before_it_is_woken(struct kunit *test)
{
	struct neighbour *neigh = make_neigh(test, NUD_REACHABLE);
	struct waiter *crowd = kunit_kcalloc(test, CROWD, sizeof(*crowd), GFP_KERNEL);
	int i;

	KUNIT_ASSERT_NOT_NULL(test, crowd);
	for (i = 0; i < CROWD; i++) {
		crowd[i] = make_waiter();
		rca_neigh_wait(&crowd[i].wait);
	}
	rca_neigh_changed(neigh);
	for (i = CROWD; i--;)
		rca_neigh_unwait(&crowd[i].wait);
	for (i = 0; i < RCA_NEIGH_BATCH; i++)
		KUNIT_EXPECT_EQ(test, 1, atomic_read(&crowd[i].woken));
	for (; i < CROWD; i++)
		KUNIT_EXPECT_LE(test, atomic_read(&crowd[i].woken), 1);
}

#define ROUNDS 2000

struct wake_race {
	struct neighbour *neigh;
	struct waiter waiters[2];
	atomic_t left;
	int failed;
};

/* Two threads wait and stop waiting, two others wake them. */
static void wake_race_run(void *arg, unsigned int n)
{
	struct wake_race *race = arg;
	struct waiter *waiter;
	int i, before;

	if (n >= 2) {
		while (atomic_read(&race->left)) {
			rca_neigh_changed(race->neigh);
			cond_resched();
		}
		return;
	}
	waiter = &race->waiters[n];
	for (i = 0; i < ROUNDS; i++) {
		before = atomic_read(&waiter->woken);
		rca_neigh_wait(&waiter->wait);
		cond_resched();
		rca_neigh_unwait(&waiter->wait);
		if (atomic_read(&waiter->woken) - before > 1)
			WRITE_ONCE(race->failed, 1);
	}
	atomic_dec(&race->left);
}

static void nobody_is_woken_twice_or_too_late(struct kunit *test)
{
	struct wake_race *race = kunit_kzalloc(test, sizeof(*race), GFP_KERNEL);

	KUNIT_ASSERT_NOT_NULL(test, race);
	race->neigh = make_neigh(test, NUD_REACHABLE);
	race->waiters[0] = make_waiter();
	race->waiters[1] = make_waiter();
	atomic_set(&race->left, 2);
	rca_race(test, 4, wake_race_run, race);
	KUNIT_EXPECT_EQ(test, 0, race->failed);
}

static void set_ipv4(union rca_addr *addr, u32 ip)
{
	memset(addr, 0, sizeof(*addr));
	addr->in.sin_family = AF_INET;
	addr->in.sin_addr.s_addr = cpu_to_be32(ip);
}

static int look_up(struct lookup *lookup, const union rca_addr *dst)
{
	memset(&lookup->addr, 0, sizeof(lookup->addr));
	lookup->addr.net = &init_net;
	return rca_nexthop(&lookup->src, dst, &lookup->addr, &lookup->missing);
}

/* Looks up the next hop from any address. */
static int look4(struct kunit *test, u32 dst)
{
	struct lookup *lookup = test->priv;
	union rca_addr to;

	set_ipv4(&to, dst);
	set_ipv4(&lookup->src, INADDR_ANY);
	return look_up(lookup, &to);
}

static int look6(struct kunit *test, const char *dst)
{
	struct lookup *lookup = test->priv;

	lookup->src = *rca_test_addr(test, "::", 0);
	return look_up(lookup, rca_test_addr(test, dst, 0));
}

static void set_neighbour(struct kunit *test, struct neigh_table *table, const void *ip, u8 state)
{
	static const u8 lladdr[ETH_ALEN] = { 2, 7, 7, 7, 7, 7 };
	struct lookup *lookup = test->priv;
	struct neighbour *neigh = __neigh_lookup(table, ip, lookup->ndev, 1);

	KUNIT_ASSERT_NOT_NULL(test, neigh);
	neigh_update(neigh, state & NUD_VALID ? lladdr : NULL, state,
		     NEIGH_UPDATE_F_OVERRIDE | NEIGH_UPDATE_F_ADMIN, 0);
	neigh_release(neigh);
}

static void set_gateway(struct kunit *test, u8 state)
{
	const __be32 ip = cpu_to_be32(GATEWAY);

	set_neighbour(test, &arp_tbl, &ip, state);
}

/* Skips the test where the kernel has no veth. */
static struct lookup *lookup_on_netrig(struct kunit *test)
{
	struct lookup *lookup = test->priv;

	lookup->ndev = dev_get_by_name(&init_net, NETRIG_NDEV);	/* put in lookup_exit() */
	if (!lookup->ndev)
		kunit_skip(test, "the kernel has no veth");
	return lookup;
}

static void known_next_hop_is_found_at_once(struct kunit *test)
{
	struct lookup *lookup = lookup_on_netrig(test);
	struct rdma_dev_addr *addr = &lookup->addr;

	set_gateway(test, NUD_REACHABLE);
	KUNIT_EXPECT_EQ(test, 0, look4(test, GATEWAY));
	KUNIT_EXPECT_EQ(test, (u32)HERE, be32_to_cpu(lookup->src.in.sin_addr.s_addr));
	KUNIT_EXPECT_EQ(test, lookup->ndev->ifindex, addr->bound_dev_if);
	KUNIT_EXPECT_EQ(test, (int)RDMA_NETWORK_IB, (int)addr->network);
	KUNIT_EXPECT_EQ(test, 2, addr->dst_dev_addr[0]);
	KUNIT_EXPECT_EQ(test, 7, addr->dst_dev_addr[5]);
	KUNIT_EXPECT_EQ(test, 0, memcmp(addr->src_dev_addr, lookup->ndev->dev_addr, ETH_ALEN));

	/* Packets through the gateway have to be routable. */
	KUNIT_EXPECT_EQ(test, 0, look4(test, BEHIND));
	KUNIT_EXPECT_EQ(test, (int)RDMA_NETWORK_IPV4, (int)addr->network);
	KUNIT_EXPECT_EQ(test, 7, addr->dst_dev_addr[5]);
	KUNIT_EXPECT_GT(test, addr->hoplimit, 1);
}

static void unknown_next_hop_is_named(struct kunit *test)
{
	struct lookup *lookup = lookup_on_netrig(test);
	const __be32 gateway = cpu_to_be32(GATEWAY);
	struct rca_neigh_key key = key_of(lookup->ndev, &gateway, 4);
	struct waiter waiter = wait_for(&key);

	set_gateway(test, NUD_FAILED);
	KUNIT_EXPECT_EQ(test, -EAGAIN, look4(test, BEHIND));
	KUNIT_EXPECT_EQ(test, 0, memcmp(&lookup->missing, &key, sizeof(key)));
	/* The kernel reports the neighbour by the same key. */
	rca_neigh_wait(&waiter.wait);
	set_gateway(test, NUD_REACHABLE);
	KUNIT_EXPECT_EQ(test, 1, atomic_read(&waiter.woken));
	rca_neigh_unwait(&waiter.wait);
	KUNIT_EXPECT_EQ(test, 0, look4(test, BEHIND));
	KUNIT_EXPECT_EQ(test, 0U, lookup->missing.len);
}

static void own_address_needs_no_neighbour(struct kunit *test)
{
	struct lookup *lookup = lookup_on_netrig(test);
	struct rdma_dev_addr *addr = &lookup->addr;

	KUNIT_EXPECT_EQ(test, 0, look4(test, HERE));
	KUNIT_EXPECT_EQ(test, lookup->ndev->ifindex, addr->bound_dev_if);
	KUNIT_EXPECT_EQ(test, 0, memcmp(addr->src_dev_addr, addr->dst_dev_addr, ETH_ALEN));
	KUNIT_EXPECT_EQ(test, 0, memcmp(addr->src_dev_addr, lookup->ndev->dev_addr, ETH_ALEN));
	KUNIT_EXPECT_EQ(test, 0U, lookup->missing.len);
}

static void way_out_of_a_certain_device_is_found_there_alone(struct kunit *test)
{
	struct lookup *lookup = lookup_on_netrig(test);
	struct rdma_dev_addr addr = { .net = &init_net, .bound_dev_if = lookup->ndev->ifindex };
	union rca_addr to;

	set_ipv4(&lookup->src, HERE);
	set_ipv4(&to, BEHIND);
	set_gateway(test, NUD_REACHABLE);
	KUNIT_EXPECT_EQ(test, 0, rca_nexthop(&lookup->src, &to, &addr, &lookup->missing));
	memset(&addr, 0, sizeof(addr));
	addr.net = &init_net;
	addr.bound_dev_if = lookup->ndev->ifindex + 10000;
	KUNIT_EXPECT_LT(test, rca_nexthop(&lookup->src, &to, &addr, &lookup->missing), 0);
	KUNIT_EXPECT_EQ(test, 0U, lookup->missing.len);
}

static void packets_through_a_gateway_of_ipv6_are_routable(struct kunit *test)
{
	const struct in6_addr *gateway = &rca_test_addr(test, "fd00:77::2", 0)->in6.sin6_addr;
	struct lookup *lookup = lookup_on_netrig(test);

	KUNIT_ASSERT_EQ(test, netrig_route6("fd00:78::", "fd00:77::2", true), 0);
	KUNIT_EXPECT_EQ(test, look6(test, "fd00:78::9"), -EAGAIN);
	KUNIT_EXPECT_EQ(test, memcmp(lookup->missing.ip, gateway, 16), 0);
	set_neighbour(test, rca_neigh_v6(), gateway, NUD_REACHABLE);
	KUNIT_EXPECT_EQ(test, look6(test, "fd00:78::9"), 0);
	KUNIT_EXPECT_EQ(test, (int)RDMA_NETWORK_IPV6, (int)lookup->addr.network);
	KUNIT_EXPECT_EQ(test, 7, lookup->addr.dst_dev_addr[5]);
	KUNIT_EXPECT_TRUE(test, rca_addr_same_ip(&lookup->src,
						 rca_test_addr(test, "fd00:77::1", 0)));
	/* The gateway itself is a neighbour. */
	KUNIT_EXPECT_EQ(test, look6(test, "fd00:77::2"), 0);
	KUNIT_EXPECT_EQ(test, (int)RDMA_NETWORK_IB, (int)lookup->addr.network);
}

/* The host accepts packets to the address, but no network device has it. */
static void local_route_makes_no_own_address(struct kunit *test)
{
	struct lookup *lookup = lookup_on_netrig(test);

	KUNIT_ASSERT_EQ(test, netrig_route6("fd00:79::", NULL, true), 0);
	KUNIT_EXPECT_EQ(test, look6(test, "fd00:79::9"), -ENODEV);
	KUNIT_EXPECT_EQ(test, netrig_route6("fd00:79::", NULL, false), 0);
	KUNIT_EXPECT_EQ(test, 0U, lookup->missing.len);
}

/* Without a neighbour entry there is no key, so the caller has to look up again by itself. */
static void full_table_of_neighbours_names_nobody(struct kunit *test)
{
	struct lookup *lookup = lookup_on_netrig(test);
	int thresh = arp_tbl.gc_thresh3, ret = 0, i;

	lookup->missing.len = 1;
	WRITE_ONCE(arp_tbl.gc_thresh3, 0);
	/* The kernel evicts entries at first. */
	for (i = 0; i < 8 && lookup->missing.len; i++)
		ret = look4(test, HERE + 100 + i);
	WRITE_ONCE(arp_tbl.gc_thresh3, thresh);
	KUNIT_EXPECT_EQ(test, -EAGAIN, ret);
	KUNIT_EXPECT_EQ(test, 0U, lookup->missing.len);
	KUNIT_EXPECT_EQ(test, -EAGAIN, look4(test, HERE + 120));
	KUNIT_EXPECT_EQ(test, 4U, lookup->missing.len);
}

static struct kunit_case nexthop_cases[] = {
	KUNIT_CASE(neighbour_wakes_those_who_wait_for_it),
	KUNIT_CASE(neighbour_without_an_address_wakes_nobody),
	KUNIT_CASE(other_news_wake_nobody),
	KUNIT_CASE(who_waits_no_longer_is_not_woken),
	KUNIT_CASE(crowd_is_woken_in_batches),
	KUNIT_CASE(crowd_ends_before_it_is_woken),
	KUNIT_CASE(nobody_is_woken_twice_or_too_late),
	KUNIT_CASE(known_next_hop_is_found_at_once),
	KUNIT_CASE(unknown_next_hop_is_named),
	KUNIT_CASE(own_address_needs_no_neighbour),
	KUNIT_CASE(way_out_of_a_certain_device_is_found_there_alone),
	KUNIT_CASE(packets_through_a_gateway_of_ipv6_are_routable),
	KUNIT_CASE(local_route_makes_no_own_address),
	KUNIT_CASE(full_table_of_neighbours_names_nobody),
	{}
};

static struct kunit_suite nexthop_suite = {
	.name = "rdma_cm_alt_nexthop",
	.suite_init = netrig_suite_init,
	.suite_exit = netrig_suite_exit,
	.init = lookup_init,
	.exit = lookup_exit,
	.test_cases = nexthop_cases,
};
kunit_test_suite(nexthop_suite);
