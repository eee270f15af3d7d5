// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * Tests with network devices on top of that of an RDMA device: VLANs, their priorities,
 * devices that are deleted or whose MTU shrinks after an address was resolved.
 *
 * Locking: RTNL where a network device is read or changed.
 */
#include <kunit/test.h>
#include <linux/igmp.h>
#include <linux/inetdevice.h>
#include <linux/netdevice.h>
#include <linux/rtnetlink.h>
#include <rdma/rdma_user_cm.h>

#include "cm/cm.h"
#include "fake/addresses.h"
#include "fake/device_bench.h"
#include "fake/netrig.h"
#include "transport/transport.h"

#define VLAN		"kunit0.77"
#define ABOVE_VLAN	"kunit_above"
#define VLAN_IP		"10.79.0.1"
#define ABOVE_IP	"10.81.0.1"
#define GROUP		"239.77.0.1"
#define GROUP6		"ff05::77"
#define NO_SUCH		7471

/* A type of service with the priority NETRIG_PRIO. */
#define TOS		0x10

/* The traffic class of NETRIG_PRIO after set_classes(). */
#define TRAFFIC_CLASS	3

static void add_above(struct kunit *test, const char *kind, const char *name, const char *below,
		      const char *ip)
{
	struct rca_id *id = rig_new_id(test, DEVICE_CLIENT, RDMA_PS_TCP);

	if (netrig_add_above(kind, name, below))
		kunit_skip(test, "the kernel has no %s", kind);
	KUNIT_ASSERT_EQ(test, netrig_address(name, ip, true), 0);
	KUNIT_ASSERT_EQ(test, rig_bind_soon(test, id, ip), 0);
	rig_destroy(test, id);
}

static void layers_exit(struct kunit *test)
{
	device_bench_exit(test);
	netrig_delete_ndev(ABOVE_VLAN);
	netrig_delete_ndev(VLAN);
}

/* Sets traffic classes of a device, as "tc qdisc" would; 0: none. */
static void set_classes(const char *name, u8 count)
{
	struct net_device *ndev = dev_get_by_name(&init_net, name);

	rtnl_lock();
	if (count) {
		netdev_set_num_tc(ndev, count);
		netdev_set_prio_tc_map(ndev, NETRIG_PRIO, TRAFFIC_CLASS);
	} else {
		netdev_reset_tc(ndev);
	}
	rtnl_unlock();
	dev_put(ndev);
}

/* The service level of a path from an address to itself. */
static int service_level(struct kunit *test, const char *ip)
{
	struct rca_id *id = rig_new_id(test, DEVICE_CLIENT, RDMA_PS_TCP);
	u8 tos = TOS;
	int sl;

	KUNIT_EXPECT_EQ(test, rca_set_option(id, RDMA_OPTION_ID, RDMA_OPTION_ID_TOS, &tos, 1), 0);
	KUNIT_ASSERT_EQ(test, rig_resolve(test, id, ip, NO_SUCH, DEVICE_PATIENCE_MS), 0);
	rig_expect_event(test, DEVICE_CLIENT, RDMA_CM_ALT_EVENT_ADDR_RESOLVED, 0);
	rig_expect_event(test, DEVICE_CLIENT, RDMA_CM_ALT_EVENT_ROUTE_RESOLVED, 0);
	sl = id->setup->path.sl;
	rig_destroy(test, id);
	return sl;
}

static void service_level_is_the_traffic_class(struct kunit *test)
{
	KUNIT_EXPECT_EQ(test, service_level(test, DEVICE_IP), 0);
	set_classes(NETRIG_NDEV, 4);
	KUNIT_EXPECT_EQ(test, service_level(test, DEVICE_IP), TRAFFIC_CLASS);
	set_classes(NETRIG_NDEV, 0);
}

static void service_level_on_a_vlan(struct kunit *test)
{
	add_above(test, "vlan", VLAN, NETRIG_NDEV, VLAN_IP);
	KUNIT_EXPECT_EQ(test, service_level(test, VLAN_IP), NETRIG_VLAN_PRIO);
	/* The classes of the device below take precedence over the map of the VLAN. */
	set_classes(NETRIG_NDEV, 4);
	KUNIT_EXPECT_EQ(test, service_level(test, VLAN_IP), TRAFFIC_CLASS);
	set_classes(NETRIG_NDEV, 0);
}

static void service_level_above_a_vlan(struct kunit *test)
{
	add_above(test, "vlan", VLAN, NETRIG_NDEV, VLAN_IP);
	add_above(test, "macvlan", ABOVE_VLAN, VLAN, ABOVE_IP);
	KUNIT_EXPECT_EQ(test, service_level(test, ABOVE_IP), NETRIG_VLAN_PRIO);
}

static void service_level_above_a_device_with_classes(struct kunit *test)
{
	add_above(test, "macvlan", ABOVE_VLAN, NETRIG_NDEV, ABOVE_IP);
	KUNIT_EXPECT_EQ(test, service_level(test, ABOVE_IP), 0);
	set_classes(NETRIG_NDEV, 4);
	KUNIT_EXPECT_EQ(test, service_level(test, ABOVE_IP), TRAFFIC_CLASS);
	set_classes(NETRIG_NDEV, 0);
}

/* Returns an id whose address is resolved. */
static struct rca_id *addr_resolved(struct kunit *test, const char *ip, u16 ps)
{
	struct rca_id *id = rig_new_id(test, DEVICE_CLIENT, ps);
	struct rca_pipeline pipe = {
		.steps = RDMA_CM_ALT_STEP_ADDR,
		.timeout_ms = DEVICE_PATIENCE_MS,
		.dst = *rca_test_addr(test, ip, NO_SUCH),
	};
	u32 done = 0;

	KUNIT_ASSERT_EQ(test, rca_resolve(id, &pipe, &done), 0);
	KUNIT_ASSERT_EQ(test, done, (u32)RDMA_CM_ALT_STEP_ADDR);
	return id;
}

static int resolve_route(struct rca_id *id)
{
	struct rca_pipeline pipe = {
		.steps = RDMA_CM_ALT_STEP_ROUTE, .timeout_ms = DEVICE_PATIENCE_MS,
	};
	u32 done = 0;

	return rca_resolve(id, &pipe, &done);
}

static int set_path(struct rca_id *id)
{
	struct sa_path_rec path = { .rec_type = SA_PATH_REC_TYPE_IB };
	int ret;

	mutex_lock(&id->op);
	ret = rca_resolve_set_path_locked(id, &path);
	mutex_unlock(&id->op);
	return ret;
}

static int join(struct kunit *test, struct rca_id *id, const char *group)
{
	struct rca_member *member = rca_join(id, rca_test_addr(test, group, 0), false, 77);

	if (IS_ERR(member))
		return PTR_ERR(member);
	rca_join_abort(member);
	return 0;
}

/* The RDMA device, which is on another network device, is not removed. */
static void network_device_of_an_id_goes(struct kunit *test)
{
	struct rca_id *id, *datagrams;

	add_above(test, "vlan", VLAN, NETRIG_NDEV, VLAN_IP);
	id = addr_resolved(test, VLAN_IP, RDMA_PS_TCP);
	datagrams = addr_resolved(test, VLAN_IP, RDMA_PS_UDP);
	KUNIT_EXPECT_EQ(test, join(test, datagrams, GROUP), 0);
	KUNIT_ASSERT_EQ(test, netrig_delete_ndev(VLAN), 0);
	KUNIT_EXPECT_EQ(test, resolve_route(id), -ENODEV);
	KUNIT_EXPECT_EQ(test, set_path(id), -ENODEV);
	rig_expect_state(test, id, RCA_ST_ADDR_RESOLVED);
	KUNIT_EXPECT_EQ(test, join(test, datagrams, GROUP), -ENODEV);
	rig_expect_no_event(test);
}

static bool is_member(const char *name, const char *group)
{
	struct net_device *ndev = dev_get_by_name(&init_net, name);
	struct ip_mc_list *im;
	bool found = false;

	rtnl_lock();
	for (im = rtnl_dereference(__in_dev_get_rtnl(ndev)->mc_list); im;
	     im = rtnl_dereference(im->next_rcu))
		found |= im->multiaddr == in_aton(group);
	rtnl_unlock();
	dev_put(ndev);
	return found;
}

static void group_of_one_device_outlives_another_one(struct kunit *test)
{
	struct rca_id *here = rig_new_id(test, DEVICE_CLIENT, RDMA_PS_UDP);
	struct rca_id *there = rig_new_id(test, DEVICE_CLIENT, RDMA_PS_UDP);
	struct rca_member *members[2];

	add_above(test, "vlan", VLAN, NETRIG_NDEV, VLAN_IP);
	KUNIT_ASSERT_EQ(test, rig_bind(test, here, DEVICE_IP), 0);
	KUNIT_ASSERT_EQ(test, rig_bind(test, there, VLAN_IP), 0);
	members[0] = rca_join(here, rca_test_addr(test, GROUP, 0), false, 77);
	members[1] = rca_join(there, rca_test_addr(test, GROUP, 0), false, 77);
	KUNIT_ASSERT_FALSE(test, IS_ERR(members[0]));
	KUNIT_ASSERT_FALSE(test, IS_ERR(members[1]));
	KUNIT_EXPECT_TRUE(test, is_member(VLAN, GROUP));
	KUNIT_ASSERT_EQ(test, netrig_delete_ndev(VLAN), 0);
	KUNIT_EXPECT_TRUE(test, is_member(NETRIG_NDEV, GROUP));
	rca_join_abort(members[1]);
	KUNIT_EXPECT_TRUE(test, is_member(NETRIG_NDEV, GROUP));
	rca_join_abort(members[0]);
	KUNIT_EXPECT_FALSE(test, is_member(NETRIG_NDEV, GROUP));
}

static void mtu_becomes_too_small(struct kunit *test)
{
	struct rca_id *id, *datagrams, *with_ip6 = rig_new_id(test, DEVICE_CLIENT, RDMA_PS_UDP);

	id = addr_resolved(test, DEVICE_IP, RDMA_PS_TCP);
	datagrams = addr_resolved(test, DEVICE_IP, RDMA_PS_UDP);
	KUNIT_ASSERT_EQ(test, rig_bind_soon(test, with_ip6, DEVICE_IP6), 0);
	KUNIT_EXPECT_EQ(test, join(test, with_ip6, GROUP6), 0);
	/* Large enough for RDMA, not for IPv6. */
	KUNIT_ASSERT_EQ(test, netrig_mtu(NETRIG_NDEV, 1000), 0);
	KUNIT_EXPECT_EQ(test, join(test, with_ip6, GROUP6), -ENODEV);
	KUNIT_EXPECT_EQ(test, join(test, datagrams, GROUP), 0);
	/* The smallest MTU of RDMA is 256. */
	KUNIT_ASSERT_EQ(test, netrig_mtu(NETRIG_NDEV, 200), 0);
	KUNIT_EXPECT_EQ(test, resolve_route(id), -EINVAL);
	rig_expect_state(test, id, RCA_ST_ADDR_RESOLVED);
	KUNIT_EXPECT_EQ(test, join(test, datagrams, GROUP), -EINVAL);
	KUNIT_ASSERT_EQ(test, netrig_mtu(NETRIG_NDEV, 1500), 0);
	KUNIT_EXPECT_EQ(test, netrig_address(NETRIG_NDEV, DEVICE_IP6, true), 0);
	KUNIT_EXPECT_EQ(test, resolve_route(id), 0);
	KUNIT_EXPECT_EQ(test, join(test, datagrams, GROUP), 0);
}

static struct kunit_case layers_cases[] = {
	KUNIT_CASE(service_level_is_the_traffic_class),
	KUNIT_CASE(service_level_on_a_vlan),
	KUNIT_CASE(service_level_above_a_vlan),
	KUNIT_CASE(service_level_above_a_device_with_classes),
	KUNIT_CASE(network_device_of_an_id_goes),
	KUNIT_CASE(group_of_one_device_outlives_another_one),
	KUNIT_CASE(mtu_becomes_too_small),
	{}
};

DEVICE_SUITE(layers_suite, roce, "layers", layers_cases, layers_exit);

static void iwarp_device_is_on_its_vlans(struct kunit *test)
{
	add_above(test, "vlan", VLAN, NETRIG_NDEV, VLAN_IP);
	/* It is not on a VLAN of another device. */
	KUNIT_ASSERT_EQ(test, netrig_add_above("vlan", ABOVE_VLAN, NETRIG_OTHER), 0);
	KUNIT_ASSERT_EQ(test, netrig_address(ABOVE_VLAN, ABOVE_IP, true), 0);
	KUNIT_EXPECT_EQ(test, rig_bind(test, rig_new_id(test, DEVICE_CLIENT, RDMA_PS_TCP),
				       ABOVE_IP), -ENODEV);
}

/* Ends the bench, and moves the iWARP device to another network device. */
static void move_rdma(struct kunit *test, const char *ndev)
{
	device_bench_exit(test);
	test->priv = NULL;
	KUNIT_ASSERT_EQ(test, netrig_delete_rdma(), 0);
	KUNIT_ASSERT_EQ(test, netrig_add_rdma_on("siw", ndev), 0);
}

static void iwarp_device_of_a_vlan_is_on_the_real_one(struct kunit *test)
{
	struct rca_id *id;

	add_above(test, "vlan", VLAN, NETRIG_NDEV, VLAN_IP);
	move_rdma(test, VLAN);
	KUNIT_ASSERT_EQ(test, device_bench_init(test), 0);
	id = rig_new_id(test, DEVICE_CLIENT, RDMA_PS_TCP);
	KUNIT_EXPECT_EQ(test, rig_bind_soon(test, id, DEVICE_IP), 0);
	id = rig_new_id(test, DEVICE_CLIENT, RDMA_PS_TCP);
	KUNIT_EXPECT_EQ(test, rig_bind_soon(test, id, VLAN_IP), 0);
	KUNIT_ASSERT_EQ(test, netrig_address(NETRIG_OTHER, ABOVE_IP, true), 0);
	id = rig_new_id(test, DEVICE_CLIENT, RDMA_PS_TCP);
	KUNIT_EXPECT_EQ(test, rig_bind(test, id, ABOVE_IP), -ENODEV);
	KUNIT_ASSERT_EQ(test, netrig_address(NETRIG_OTHER, ABOVE_IP, false), 0);
	move_rdma(test, NETRIG_NDEV);
}

/* An id over TCP has a port of its own, also when only its address was passed. */
static void iwarp_source_without_a_port_gets_one(struct kunit *test)
{
	struct rca_id *id = rig_new_id(test, DEVICE_CLIENT, RDMA_PS_TCP);
	struct rca_pipeline pipe = {
		.steps = RDMA_CM_ALT_STEP_ADDR,
		.timeout_ms = DEVICE_PATIENCE_MS,
		.src = *rca_test_addr(test, DEVICE_IP, 0),
		.dst = *rca_test_addr(test, DEVICE_IP, NO_SUCH),
	};
	u32 done = 0;

	KUNIT_ASSERT_EQ(test, rca_resolve(id, &pipe, &done), 0);
	KUNIT_ASSERT_NOT_NULL(test, rca_id_opts(id)->bind);
	KUNIT_EXPECT_NE(test, rig_port_of(id), (u16)0);
	KUNIT_EXPECT_EQ(test, rig_port_of(id),
			be16_to_cpu(rca_addr_port(&id->opts->bind->addr)));
}

static void iwarp_has_no_groups(struct kunit *test)
{
	struct rca_id *id = rig_new_id(test, DEVICE_CLIENT, RDMA_PS_UDP);

	KUNIT_ASSERT_EQ(test, rig_bind(test, id, DEVICE_IP), 0);
	KUNIT_EXPECT_EQ(test, join(test, id, GROUP), -EOPNOTSUPP);
	rig_expect_no_event(test);
}

/* Programs set a path on any fabric; TCP does not use it. */
static void iwarp_takes_a_path(struct kunit *test)
{
	struct rca_id *id = addr_resolved(test, DEVICE_IP, RDMA_PS_TCP);

	KUNIT_EXPECT_EQ(test, set_path(id), 0);
	rig_expect_event(test, DEVICE_CLIENT, RDMA_CM_ALT_EVENT_ROUTE_RESOLVED, 0);
	rig_expect_state(test, id, RCA_ST_ROUTE_RESOLVED);
	KUNIT_EXPECT_EQ(test, (int)id->setup->path.rec_type, (int)SA_PATH_REC_TYPE_IB);
}

static struct kunit_case iwarp_cases[] = {
	KUNIT_CASE(iwarp_device_is_on_its_vlans),
	KUNIT_CASE(iwarp_device_of_a_vlan_is_on_the_real_one),
	KUNIT_CASE(iwarp_source_without_a_port_gets_one),
	KUNIT_CASE(iwarp_takes_a_path),
	KUNIT_CASE(iwarp_has_no_groups),
	{}
};

DEVICE_SUITE(iwarp_suite, iwarp, "iwarp_layers", iwarp_cases, layers_exit);
kunit_test_suites(&layers_suite, &iwarp_suite);
