// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * Tests of kernel/ip/nexthop.c: who is woken for which neighbour, and what the routes of the
 * network device kunit0 say (netrig.c).
 *
 * Locking: none.
 */
#include "ip/nexthop.h"

#include <kunit/test.h>
#include <linux/netdevice.h>
#include <net/arp.h>
#include <net/ipv6_stubs.h>
#include <net/neighbour.h>
#include <net/netevent.h>
#include <rdma/ib_addr.h>

#include "fake/addresses.h"
#include "fake/netrig.h"
#include "fake/race.h"

#define HERE	0x0a4d0001	/* 10.77.0.1 */
#define GATEWAY	0x0a4d0002
#define BEHIND	0x0a4e0009	/* 10.78.0.9 */

/* Somebody who counts how often he is woken. */
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

/* What tells of a neighbour, without one. */
static struct neighbour *make_neigh(struct kunit *test, struct net_device *ndev, const void *ip,
				    u32 len, u8 state)
{
	struct neighbour *neigh = kunit_kzalloc(test, sizeof(*neigh) + 16, GFP_KERNEL);
	struct neigh_table *tbl = kunit_kzalloc(test, sizeof(*tbl), GFP_KERNEL);

	KUNIT_ASSERT_NOT_NULL(test, neigh);
	KUNIT_ASSERT_NOT_NULL(test, tbl);
	tbl->key_len = len;
	neigh->tbl = tbl;
	neigh->dev = ndev;
	neigh->nud_state = state;
	memcpy(neigh->primary_key, ip, len);
	return neigh;
}

static void neighbour_wakes_those_who_wait_for_it(struct kunit *test)
{
	static const u8 ip[16] = { 10, 1, 2, 3 }, other[16] = { 10, 1, 2, 4 };
	struct net_device *lo = init_net.loopback_dev;
	struct rca_neigh_key key = key_of(lo, ip, 4);
	struct waiter same[2] = { wait_for(&key), wait_for(&key) }, others[4];
	int i;

	key = key_of(lo, other, 4);
	others[0] = wait_for(&key);
	key = key_of(lo, ip, 16);	/* begins alike, and is of the other family */
	others[1] = wait_for(&key);
	key = key_of(lo, ip, 4);
	key.ifindex++;
	others[2] = wait_for(&key);
	key = key_of(lo, ip, 4);
	key.net = NULL;
	others[3] = wait_for(&key);

	for (i = 0; i < 2; i++)
		rca_nexthop_wait(&same[i].wait);
	for (i = 0; i < 4; i++)
		rca_nexthop_wait(&others[i].wait);
	rca_nexthop_neigh_changed(make_neigh(test, lo, ip, 4, NUD_REACHABLE));
	rca_nexthop_neigh_changed(make_neigh(test, lo, ip, 4, NUD_STALE));
	for (i = 0; i < 2; i++) {
		KUNIT_EXPECT_EQ(test, 1, atomic_read(&same[i].woken));
		rca_nexthop_unwait(&same[i].wait);
	}
	for (i = 0; i < 4; i++) {
		KUNIT_EXPECT_EQ(test, 0, atomic_read(&others[i].woken));
		rca_nexthop_unwait(&others[i].wait);
	}
}

static void neighbour_without_an_address_wakes_nobody(struct kunit *test)
{
	static const u8 states[] = { NUD_NONE, NUD_INCOMPLETE, NUD_FAILED };
	struct net_device *lo = init_net.loopback_dev;
	static const u8 ip[16] = { 10, 1, 2, 3 };
	struct rca_neigh_key key = key_of(lo, ip, 4);
	struct waiter waiter = wait_for(&key);
	int i;

	rca_nexthop_wait(&waiter.wait);
	for (i = 0; i < ARRAY_SIZE(states); i++)
		rca_nexthop_neigh_changed(make_neigh(test, lo, ip, 4, states[i]));
	KUNIT_EXPECT_EQ(test, 0, atomic_read(&waiter.woken));
	rca_nexthop_unwait(&waiter.wait);
}

/* The kernel tells of redirects and of settings in the same way, of what is no neighbour. */
static void other_news_wake_nobody(struct kunit *test)
{
	struct net_device *lo = init_net.loopback_dev;
	static const u8 ip[16] = { 10, 1, 2, 3 };
	struct rca_neigh_key key = key_of(lo, ip, 4);
	struct waiter waiter = wait_for(&key);

	rca_nexthop_wait(&waiter.wait);
	call_netevent_notifiers(NETEVENT_DELAY_PROBE_TIME_UPDATE, &arp_tbl.parms);
	KUNIT_EXPECT_EQ(test, 0, atomic_read(&waiter.woken));
	rca_nexthop_unwait(&waiter.wait);
}

static void who_waits_no_longer_is_not_woken(struct kunit *test)
{
	struct net_device *lo = init_net.loopback_dev;
	static const u8 ip[16] = { 10, 1, 2, 3 };
	struct rca_neigh_key key = key_of(lo, ip, 4);
	struct neighbour *neigh = make_neigh(test, lo, ip, 4, NUD_REACHABLE);
	struct waiter waiter = wait_for(&key);

	rca_nexthop_unwait(&waiter.wait);	/* never waited */
	rca_nexthop_wait(&waiter.wait);
	rca_nexthop_unwait(&waiter.wait);
	rca_nexthop_unwait(&waiter.wait);
	rca_nexthop_neigh_changed(neigh);
	KUNIT_EXPECT_EQ(test, 0, atomic_read(&waiter.woken));
	/* Again, as a resolution does that looked in vain. */
	rca_nexthop_wait(&waiter.wait);
	rca_nexthop_neigh_changed(neigh);
	KUNIT_EXPECT_EQ(test, 1, atomic_read(&waiter.woken));
}

#define ROUNDS 2000

struct wake_race {
	struct neighbour *neigh;
	struct waiter waiters[2];
	atomic_t left;
	int failed;
};

/* Two wait and lose patience, two wake them. */
static void wake_race_run(void *arg, unsigned int n)
{
	struct wake_race *race = arg;
	struct waiter *waiter;
	int i, before;

	if (n >= 2) {
		while (atomic_read(&race->left)) {
			rca_nexthop_neigh_changed(race->neigh);
			cond_resched();
		}
		return;
	}
	waiter = &race->waiters[n];
	for (i = 0; i < ROUNDS; i++) {
		before = atomic_read(&waiter->woken);
		rca_nexthop_wait(&waiter->wait);
		cond_resched();
		rca_nexthop_unwait(&waiter->wait);
		if (atomic_read(&waiter->woken) - before > 1)
			WRITE_ONCE(race->failed, 1);
	}
	atomic_dec(&race->left);
}

static void nobody_is_woken_twice_or_too_late(struct kunit *test)
{
	struct net_device *lo = init_net.loopback_dev;
	static const u8 ip[16] = { 10, 1, 2, 3 };
	struct rca_neigh_key key = key_of(lo, ip, 4);
	struct wake_race *race = kunit_kzalloc(test, sizeof(*race), GFP_KERNEL);

	KUNIT_ASSERT_NOT_NULL(test, race);
	race->neigh = make_neigh(test, lo, ip, 4, NUD_REACHABLE);
	race->waiters[0] = wait_for(&key);
	race->waiters[1] = wait_for(&key);
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

/* Looks for the way to @dst from nowhere in particular. */
static int look(u32 dst, union rca_addr *src, struct rdma_dev_addr *addr,
		struct rca_neigh_key *missing)
{
	union rca_addr to;

	set_ipv4(&to, dst);
	set_ipv4(src, INADDR_ANY);
	memset(addr, 0, sizeof(*addr));
	addr->net = &init_net;
	return rca_nexthop(src, &to, addr, missing);
}

static void set_neighbour(struct kunit *test, struct net_device *ndev, u8 state)
{
	static const u8 lladdr[ETH_ALEN] = { 2, 7, 7, 7, 7, 7 };
	__be32 ip = cpu_to_be32(GATEWAY);
	struct neighbour *neigh = __neigh_lookup(&arp_tbl, &ip, ndev, 1);

	KUNIT_ASSERT_NOT_NULL(test, neigh);
	neigh_update(neigh, state & NUD_VALID ? lladdr : NULL, state,
		     NEIGH_UPDATE_F_OVERRIDE | NEIGH_UPDATE_F_ADMIN, 0);
	neigh_release(neigh);
}

static struct net_device *get_kunit0(struct kunit *test)
{
	struct net_device *ndev = dev_get_by_name(&init_net, NETRIG_NDEV);

	if (!ndev)
		kunit_skip(test, "the kernel has no veth");
	return ndev;
}

static void known_next_hop_is_found_at_once(struct kunit *test)
{
	struct net_device *ndev = get_kunit0(test);
	struct rca_neigh_key missing;
	struct rdma_dev_addr addr;
	union rca_addr src;

	set_neighbour(test, ndev, NUD_REACHABLE);
	KUNIT_EXPECT_EQ(test, 0, look(GATEWAY, &src, &addr, &missing));
	KUNIT_EXPECT_EQ(test, (u32)HERE, be32_to_cpu(src.in.sin_addr.s_addr));
	KUNIT_EXPECT_EQ(test, ndev->ifindex, addr.bound_dev_if);
	KUNIT_EXPECT_EQ(test, (int)RDMA_NETWORK_IB, (int)addr.network);
	KUNIT_EXPECT_EQ(test, 2, addr.dst_dev_addr[0]);
	KUNIT_EXPECT_EQ(test, 7, addr.dst_dev_addr[5]);
	KUNIT_EXPECT_EQ(test, 0, memcmp(addr.src_dev_addr, ndev->dev_addr, ETH_ALEN));

	/* Behind it the packets have to be routable. */
	KUNIT_EXPECT_EQ(test, 0, look(BEHIND, &src, &addr, &missing));
	KUNIT_EXPECT_EQ(test, (int)RDMA_NETWORK_IPV4, (int)addr.network);
	KUNIT_EXPECT_EQ(test, 7, addr.dst_dev_addr[5]);
	KUNIT_EXPECT_GT(test, addr.hoplimit, 1);
	dev_put(ndev);
}

static void unknown_next_hop_is_named(struct kunit *test)
{
	struct net_device *ndev = get_kunit0(test);
	__be32 gateway = cpu_to_be32(GATEWAY);
	struct rca_neigh_key missing, key = key_of(ndev, &gateway, 4);
	struct waiter waiter = wait_for(&key);
	struct rdma_dev_addr addr;
	union rca_addr src;

	set_neighbour(test, ndev, NUD_FAILED);
	KUNIT_EXPECT_EQ(test, -EAGAIN, look(BEHIND, &src, &addr, &missing));
	KUNIT_EXPECT_EQ(test, 0, memcmp(&missing, &key, sizeof(key)));
	/* That is the name under which the kernel tells of it. */
	rca_nexthop_wait(&waiter.wait);
	set_neighbour(test, ndev, NUD_REACHABLE);
	KUNIT_EXPECT_EQ(test, 1, atomic_read(&waiter.woken));
	rca_nexthop_unwait(&waiter.wait);
	KUNIT_EXPECT_EQ(test, 0, look(BEHIND, &src, &addr, &missing));
	KUNIT_EXPECT_EQ(test, 0U, missing.len);
	dev_put(ndev);
}

static void own_address_needs_no_neighbour(struct kunit *test)
{
	struct net_device *ndev = get_kunit0(test);
	struct rca_neigh_key missing;
	struct rdma_dev_addr addr;
	union rca_addr src;

	KUNIT_EXPECT_EQ(test, 0, look(HERE, &src, &addr, &missing));
	KUNIT_EXPECT_EQ(test, ndev->ifindex, addr.bound_dev_if);
	KUNIT_EXPECT_EQ(test, 0, memcmp(addr.src_dev_addr, addr.dst_dev_addr, ETH_ALEN));
	KUNIT_EXPECT_EQ(test, 0, memcmp(addr.src_dev_addr, ndev->dev_addr, ETH_ALEN));
	KUNIT_EXPECT_EQ(test, 0U, missing.len);
	dev_put(ndev);
}

static void way_out_of_a_certain_device_is_found_there_alone(struct kunit *test)
{
	struct net_device *ndev = get_kunit0(test);
	struct rdma_dev_addr addr = { .net = &init_net };
	struct rca_neigh_key missing;
	union rca_addr src, to;

	set_ipv4(&src, HERE);
	set_ipv4(&to, BEHIND);
	set_neighbour(test, ndev, NUD_REACHABLE);
	addr.bound_dev_if = ndev->ifindex;
	KUNIT_EXPECT_EQ(test, 0, rca_nexthop(&src, &to, &addr, &missing));
	memset(&addr, 0, sizeof(addr));
	addr.net = &init_net;
	addr.bound_dev_if = ndev->ifindex + 10000;
	KUNIT_EXPECT_LT(test, rca_nexthop(&src, &to, &addr, &missing), 0);
	KUNIT_EXPECT_EQ(test, 0U, missing.len);
	dev_put(ndev);
}

/* As look(), over IPv6. */
static int look6(struct kunit *test, const char *dst, union rca_addr *src,
		 struct rdma_dev_addr *addr, struct rca_neigh_key *missing)
{
	*src = *rca_test_addr(test, "::", 0);
	memset(addr, 0, sizeof(*addr));
	addr->net = &init_net;
	return rca_nexthop(src, rca_test_addr(test, dst, 0), addr, missing);
}

static void packets_through_a_gateway_of_ipv6_are_routable(struct kunit *test)
{
	static const u8 lladdr[ETH_ALEN] = { 2, 7, 7, 7, 7, 6 };
	union rca_addr src, *gateway = rca_test_addr(test, "fd00:77::2", 0);
	struct net_device *ndev = get_kunit0(test);
	struct rca_neigh_key missing;
	struct rdma_dev_addr addr;
	struct neighbour *neigh;

	KUNIT_ASSERT_EQ(test, netrig_route6("fd00:78::", "fd00:77::2", true), 0);
	KUNIT_EXPECT_EQ(test, look6(test, "fd00:78::9", &src, &addr, &missing), -EAGAIN);
	KUNIT_EXPECT_EQ(test, memcmp(missing.ip, &gateway->in6.sin6_addr, 16), 0);
	neigh = __neigh_lookup(ipv6_stub->nd_tbl, &gateway->in6.sin6_addr, ndev, 1);
	KUNIT_ASSERT_NOT_NULL(test, neigh);
	neigh_update(neigh, lladdr, NUD_REACHABLE,
		     NEIGH_UPDATE_F_OVERRIDE | NEIGH_UPDATE_F_ADMIN, 0);
	neigh_release(neigh);
	KUNIT_EXPECT_EQ(test, look6(test, "fd00:78::9", &src, &addr, &missing), 0);
	KUNIT_EXPECT_EQ(test, (int)RDMA_NETWORK_IPV6, (int)addr.network);
	KUNIT_EXPECT_EQ(test, 6, addr.dst_dev_addr[5]);
	KUNIT_EXPECT_TRUE(test, rca_addr_same_ip(&src, rca_test_addr(test, "fd00:77::1", 0)));
	/* Its neighbours are spoken to without it. */
	KUNIT_EXPECT_EQ(test, look6(test, "fd00:77::2", &src, &addr, &missing), 0);
	KUNIT_EXPECT_EQ(test, (int)RDMA_NETWORK_IB, (int)addr.network);
	dev_put(ndev);
}

/* The host takes packets to it, but no network device has the address. */
static void local_route_makes_no_own_address(struct kunit *test)
{
	struct net_device *ndev = get_kunit0(test);
	struct rca_neigh_key missing;
	struct rdma_dev_addr addr;
	union rca_addr src;

	KUNIT_ASSERT_EQ(test, netrig_route6("fd00:79::", NULL, true), 0);
	KUNIT_EXPECT_EQ(test, look6(test, "fd00:79::9", &src, &addr, &missing), -ENODEV);
	KUNIT_EXPECT_EQ(test, netrig_route6("fd00:79::", NULL, false), 0);
	KUNIT_EXPECT_EQ(test, 0U, missing.len);
	dev_put(ndev);
}

/* Nobody can be named who wakes us: whoever waits has to look again. */
static void full_table_of_neighbours_names_nobody(struct kunit *test)
{
	struct net_device *ndev = get_kunit0(test);
	int thresh = arp_tbl.gc_thresh3, ret = 0, i;
	struct rca_neigh_key missing = { .len = 1 };
	struct rdma_dev_addr addr;
	union rca_addr src;

	WRITE_ONCE(arp_tbl.gc_thresh3, 0);
	/* The kernel makes room at first. */
	for (i = 0; i < 8 && missing.len; i++)
		ret = look(HERE + 100 + i, &src, &addr, &missing);
	WRITE_ONCE(arp_tbl.gc_thresh3, thresh);
	KUNIT_EXPECT_EQ(test, -EAGAIN, ret);
	KUNIT_EXPECT_EQ(test, 0U, missing.len);
	KUNIT_EXPECT_EQ(test, -EAGAIN, look(HERE + 120, &src, &addr, &missing));
	KUNIT_EXPECT_EQ(test, 4U, missing.len);
	dev_put(ndev);
}

static struct kunit_case nexthop_cases[] = {
	KUNIT_CASE(neighbour_wakes_those_who_wait_for_it),
	KUNIT_CASE(neighbour_without_an_address_wakes_nobody),
	KUNIT_CASE(other_news_wake_nobody),
	KUNIT_CASE(who_waits_no_longer_is_not_woken),
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
	.test_cases = nexthop_cases,
};
kunit_test_suite(nexthop_suite);
