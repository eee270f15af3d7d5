// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * Tests of req.c with listeners on a software RDMA device and
 * requests that the test builds: which requests find the listener, and what happens to them
 * when the listener, its device or a limit changes.
 *
 * Locking: none.
 */
#include <kunit/test.h>
#include <linux/delay.h>
#include <linux/if_arp.h>
#include <linux/inetdevice.h>
#include <linux/netdevice.h>
#include <rdma/ib_addr.h>
#include <rdma/ib_cache.h>
#include <rdma/ib_cm.h>
#include <rdma/ib_sa.h>
#include <rdma/rdma_user_cm.h>

#include "cm/internal.h"
#include "event/event.h"
#include "fake/addresses.h"
#include "fake/device_bench.h"
#include "fake/fake_suite.h"
#include "fake/kept.h"
#include "fake/netrig.h"
#include "lib/testing.h"
#include "lib/wire.h"
#include "transport/transport.h"

#define NEIGHBOUR	"10.77.0.9"
#define NEIGHBOUR_IP	0x0a4d0009

#define FAR_NEIGHBOUR	"10.88.0.9"
#define FAR_IP		0x0a580001

/* The result of a request that found the listener, but has another QP type. */
#define FOUND		(-EINVAL)

/**
 * struct knock - a request for a listener, with a demux of its own
 * @demux: the demux
 * @slot: the slot of the listener
 * @data: private data with the IP CM header
 * @req: the request
 */
struct knock {
	struct rca_demux demux;
	struct rca_slot slot;
	u8 data[IB_CM_REQ_PRIVATE_DATA_SIZE];
	struct rca_tp_request req;
};

static int rxe_suite_init(struct kunit_suite *suite)
{
	if (!netrig_up())
		netrig_add_rdma("rxe");
	return 0;
}

static struct knock *new_knock(struct kunit *test, struct rca_device *dev, struct rca_id *listener)
{
	struct knock *knock = kunit_kzalloc(test, sizeof(*knock), GFP_KERNEL);

	KUNIT_ASSERT_NOT_NULL(test, knock);
	knock->demux.dev = dev;
	INIT_LIST_HEAD(&knock->demux.slots);
	knock->slot.id = listener;
	list_add(&knock->slot.node, &knock->demux.slots);
	knock->req.service_id = rca_wire_service_id(RDMA_PS_TCP, rca_addr_port(&listener->local));
	knock->req.tp = dev->tp;
	knock->req.port_num = 1;
	knock->req.conn.qp_type = listener->qp_type;
	knock->req.conn.private_data = knock->data;
	knock->req.conn.private_data_len = sizeof(knock->data);
	return knock;
}

static void set_addresses(struct kunit *test, struct knock *knock, const char *peer,
			  const char *local)
{
	rca_wire_put_hdr(knock->data, rca_test_addr(test, peer, 5000),
			 rca_test_addr(test, local, 0));
}

/* FOUND, or the error of the listener search: a datagram request creates no id. */
static int ask(struct kunit *test, struct rca_id *server, const struct ib_gid_attr *sgid_attr,
	       const char *peer, const char *local)
{
	struct knock *knock = new_knock(test, server->dev, server);

	knock->req.conn.qp_type = IB_QPT_UD;
	knock->req.sgid_attr = sgid_attr;
	set_addresses(test, knock, peer, local);
	return rca_req_handler(&knock->demux, NULL, &knock->req);
}

/* Change the hardware type of the interface. */
static void set_type(struct kunit *test, unsigned short type)
{
	struct net_device *ndev = dev_get_by_name(&init_net, NETRIG_NDEV);

	KUNIT_ASSERT_NOT_NULL(test, ndev);
	ndev->type = type;
	dev_put(ndev);
}

static const struct {
	const char *peer;
	const char *local;
	int ret;
} requests[] = {
	{ NEIGHBOUR, DEVICE_IP, FOUND },
	{ NEIGHBOUR, "10.77.0.2", -ECONNREFUSED },
	{ NEIGHBOUR, "224.0.0.1", -EHOSTUNREACH },
	{ NEIGHBOUR, "255.255.255.255", -EHOSTUNREACH },
	{ NEIGHBOUR, "0.0.0.0", -EHOSTUNREACH },
	{ NEIGHBOUR, "127.0.0.1", -EHOSTUNREACH },
	{ "224.0.0.1", DEVICE_IP, -EHOSTUNREACH },
	{ "255.255.255.255", DEVICE_IP, -EHOSTUNREACH },
	{ "0.0.0.0", DEVICE_IP, -EHOSTUNREACH },
	{ "127.0.0.1", DEVICE_IP, -EHOSTUNREACH },
	/* No route to the peer through this interface. */
	{ "10.99.0.1", DEVICE_IP, -EHOSTUNREACH },
	{ "fd00:77::9", DEVICE_IP6, -ECONNREFUSED },
	{ "fd00:99::9", DEVICE_IP6, -EHOSTUNREACH },
	{ "::1", DEVICE_IP6, -EHOSTUNREACH },
};

static void addresses_that_are_answered(struct kunit *test)
{
	struct rca_id *server = rig_listening(test, DEVICE_IP, RDMA_PS_TCP);
	int i;

	for (i = 0; i < ARRAY_SIZE(requests); i++)
		KUNIT_EXPECT_EQ_MSG(test, ask(test, server, server->sgid_attr, requests[i].peer,
					      requests[i].local), requests[i].ret,
				    "%s to %s", requests[i].peer, requests[i].local);
}

/* A refused request that has a listener is in the failure log. */
static void request_whose_answer_has_no_way_is_told(struct kunit *test)
{
	struct rca_id *server = rig_listening(test, DEVICE_IP, RDMA_PS_TCP);
	const struct rca_report *report;
	u64 before;

	kept_has_room();
	before = kept_count();
	KUNIT_EXPECT_EQ(test, ask(test, server, server->sgid_attr, "10.99.0.1", DEVICE_IP),
			-EHOSTUNREACH);
	report = kept_youngest();
	KUNIT_EXPECT_EQ(test, report->serial, before + 1);
	KUNIT_EXPECT_STREQ(test, report->op, "request");
	KUNIT_EXPECT_EQ(test, report->status, -EHOSTUNREACH);
	KUNIT_EXPECT_EQ(test, report->handle, server->obj.handle);
	KUNIT_EXPECT_EQ(test, report->peer.in.sin_addr.s_addr, cpu_to_be32(0x0a630001));
	/* No listener has the address. */
	KUNIT_EXPECT_EQ(test, ask(test, server, server->sgid_attr, "10.99.0.1", "10.77.0.2"),
			-EHOSTUNREACH);
	KUNIT_EXPECT_EQ(test, kept_count(), before + 1);
	/* A pending route: the request is dropped, and not reported. */
	KUNIT_ASSERT_EQ(test, netrig_delete_route(), 0);
	KUNIT_EXPECT_EQ(test, ask(test, server, server->sgid_attr, NEIGHBOUR, DEVICE_IP), -ENOMEM);
	KUNIT_EXPECT_EQ(test, kept_count(), before + 1);
	KUNIT_EXPECT_EQ(test, netrig_set_link(false), 0);
	KUNIT_EXPECT_EQ(test, netrig_set_link(true), 0);
}

/* A request is dropped while the interface comes up, and the peer sends it again. */
static void route_that_is_still_missing(struct kunit *test)
{
	struct rca_id *server = rig_listening(test, DEVICE_IP, RDMA_PS_TCP);

	KUNIT_ASSERT_EQ(test, netrig_delete_route(), 0);
	KUNIT_EXPECT_EQ(test, ask(test, server, server->sgid_attr, NEIGHBOUR, DEVICE_IP), -ENOMEM);
	KUNIT_EXPECT_EQ(test, ask(test, server, server->sgid_attr, "10.99.0.1", DEVICE_IP),
			-EHOSTUNREACH);
	KUNIT_EXPECT_EQ(test, netrig_set_link(false), 0);
	KUNIT_EXPECT_EQ(test, netrig_set_link(true), 0);
	KUNIT_EXPECT_EQ(test, ask(test, server, server->sgid_attr, NEIGHBOUR, DEVICE_IP), FOUND);
}

/* An address without a prefix route does not make a route pending. */
static void route_that_will_not_come(struct kunit *test)
{
	struct rca_id *server = rig_listening(test, DEVICE_IP, RDMA_PS_TCP);

	KUNIT_ASSERT_EQ(test, netrig_set_address(FAR_IP, true), 0);
	KUNIT_EXPECT_EQ(test, ask(test, server, server->sgid_attr, FAR_NEIGHBOUR, DEVICE_IP),
			-EHOSTUNREACH);
	KUNIT_EXPECT_EQ(test, netrig_set_address(FAR_IP, false), 0);
}

/* On IPoIB, an AF_IB listener gets only requests over GIDs. */
static void listener_on_gids_and_ipoib(struct kunit *test)
{
	struct rca_id *server = rig_new_id(test, DEVICE_SERVER, RDMA_PS_TCP);
	struct rca_id *other = rig_listening(test, DEVICE_IP, RDMA_PS_TCP);
	struct knock *knock;

	KUNIT_ASSERT_EQ(test, rig_bind(test, server, "ib:::"), 0);
	KUNIT_ASSERT_EQ(test, rca_listen(server, 1), 0);
	knock = new_knock(test, other->dev, server);
	knock->req.conn.qp_type = IB_QPT_UD;
	knock->req.sgid_attr = other->sgid_attr;
	set_addresses(test, knock, NEIGHBOUR, DEVICE_IP);
	KUNIT_EXPECT_EQ(test, rca_req_handler(&knock->demux, NULL, &knock->req), FOUND);
	set_type(test, ARPHRD_INFINIBAND);
	KUNIT_EXPECT_EQ(test, rca_req_handler(&knock->demux, NULL, &knock->req), -ECONNREFUSED);
	set_type(test, ARPHRD_ETHER);
}

static void interface_that_is_down(struct kunit *test)
{
	struct rca_id *server = rig_listening(test, DEVICE_IP, RDMA_PS_TCP);

	KUNIT_ASSERT_EQ(test, netrig_set_link(false), 0);
	KUNIT_EXPECT_EQ(test, ask(test, server, server->sgid_attr, NEIGHBOUR, DEVICE_IP), -ENODEV);
	KUNIT_EXPECT_EQ(test, netrig_set_link(true), 0);
}

/* The GID of an IPv4 address; NULL: there is none. */
static const struct ib_gid_attr *gid_of(struct ib_device *ibdev, u32 ip)
{
	const struct ib_gid_attr *attr;
	union ib_gid gid;

	ipv6_addr_set_v4mapped(cpu_to_be32(ip), (struct in6_addr *)&gid);
	attr = rdma_find_gid_by_port(ibdev, &gid, IB_GID_TYPE_ROCE_UDP_ENCAP, 1, NULL);
	return IS_ERR(attr) ? NULL : attr;
}

/* The GID table changes with a delay after the address. */
static void wait_for_gid(struct ib_device *ibdev, u32 ip, bool there)
{
	const struct ib_gid_attr *attr;
	bool found;
	int i;

	for (i = 0; i < DEVICE_PATIENCE_MS; i++) {
		attr = gid_of(ibdev, ip);
		found = attr;
		if (attr)
			rdma_put_gid_attr(attr);
		if (found == there)
			return;
		usleep_range(500, 1000);
	}
}

static void address_that_was_taken_away(struct kunit *test)
{
	struct rca_id *server = rig_listening(test, DEVICE_IP, RDMA_PS_TCP);
	struct ib_device *ibdev = server->dev->ibdev;
	const struct ib_gid_attr *attr;

	KUNIT_ASSERT_EQ(test, netrig_set_address(NEIGHBOUR_IP, true), 0);
	wait_for_gid(ibdev, NEIGHBOUR_IP, true);
	attr = gid_of(ibdev, NEIGHBOUR_IP);
	KUNIT_EXPECT_EQ(test, netrig_set_address(NEIGHBOUR_IP, false), 0);
	wait_for_gid(ibdev, NEIGHBOUR_IP, false);
	KUNIT_ASSERT_NOT_NULL(test, attr);
	KUNIT_EXPECT_EQ(test, ask(test, server, attr, "10.77.0.8", NEIGHBOUR), -ENODEV);
	rdma_put_gid_attr(attr);
}

static struct kunit_case arrival_cases[] = {
	KUNIT_CASE(addresses_that_are_answered),
	KUNIT_CASE(address_that_was_taken_away),
	KUNIT_CASE(request_whose_answer_has_no_way_is_told),
	KUNIT_CASE(route_that_is_still_missing),
	KUNIT_CASE(route_that_will_not_come),
	KUNIT_CASE(listener_on_gids_and_ipoib),
	KUNIT_CASE(interface_that_is_down),
	{}
};

static struct kunit_suite arrival_suite = {
	.name = "rdma_cm_alt_arrival",
	.suite_init = rxe_suite_init,
	.suite_exit = device_bench_suite_exit,
	.init = device_bench_init,
	.exit = device_bench_exit,
	.test_cases = arrival_cases,
};

/* The fake transport with an ib_device that has GIDs. */
static int taken_init(struct kunit *test)
{
	struct ib_device *ibdev = netrig_get_rdma();
	struct fake *fake;

	if (!ibdev)
		kunit_skip(test, "the kernel has no such RDMA device, or no veth");
	fake = fake_create(test);
	test->priv = fake;
	fake->dev.ibdev = ibdev;
	return 0;
}

static void taken_exit(struct kunit *test)
{
	struct fake *fake = test->priv;

	if (!fake)
		return;
	fake_suite_exit(test);
	ib_device_put(fake->dev.ibdev);
}

static struct knock *knock_at(struct kunit *test, u16 ps, u8 qp_type)
{
	struct fake *fake = test->priv;
	struct rca_id *id = rca_id_create(fake->ctx, fake->queue, ps, qp_type, FAKE_COOKIE);
	struct knock *knock;

	KUNIT_ASSERT_FALSE(test, IS_ERR(id));
	id->local = *rca_test_addr(test, DEVICE_IP, 0);
	rca_id_publish(id);
	KUNIT_ASSERT_EQ(test, rca_id_attach(id, &fake->dev, 1, NULL), 0);
	rca_id_step(id, RCA_IN_BIND);
	KUNIT_ASSERT_EQ(test, rca_listen(id, 4), 0);
	knock = new_knock(test, &fake->dev, id);
	set_addresses(test, knock, NEIGHBOUR, DEVICE_IP);
	return knock;
}

/* The verdict of the request; if it is accepted, the id owns the lower id. */
static int request(struct kunit *test, struct knock *knock)
{
	const struct ib_gid_attr *attr = gid_of(knock->demux.dev->ibdev, NETRIG_IP);
	struct fake *fake = test->priv;
	void *lower;
	int ret;

	KUNIT_ASSERT_NOT_NULL(test, attr);
	lower = fake->dev.tp->create(fake->dev.ibdev, NULL);
	knock->req.sgid_attr = attr;
	ret = rca_req_handler(&knock->demux, lower, &knock->req);
	if (ret)
		fake->dev.tp->destroy(lower);
	rdma_put_gid_attr(attr);
	return ret;
}

static void nothing_is_left(struct kunit *test, const struct knock *knock)
{
	struct fake *fake = test->priv;

	KUNIT_EXPECT_EQ(test, atomic_read(&knock->slot.id->opts->waiting), 0);
	KUNIT_EXPECT_EQ(test, atomic_read(&fake->lowers), 0);
	fake_expect_no_event(test);
}

/* noinline: an event record on the stack is large. */
static noinline void expect_both_paths(struct kunit *test)
{
	struct rdma_cm_alt_event rec;

	rec = fake_expect_event(test, RDMA_CM_ALT_EVENT_CONNECT_REQUEST, 0);
	KUNIT_EXPECT_EQ(test, rec.route.num_paths, 2u);
	KUNIT_EXPECT_TRUE(test, rec.route.path[0].flags & IB_PATH_PRIMARY);
	KUNIT_EXPECT_TRUE(test, rec.route.path[1].flags & IB_PATH_ALTERNATE);
	KUNIT_EXPECT_NE(test, memcmp(rec.route.path[0].path_rec, rec.route.path[1].path_rec,
				     sizeof(rec.route.path[0].path_rec)), 0);
}

static void both_paths_of_a_request_are_told(struct kunit *test)
{
	struct knock *knock = knock_at(test, RDMA_PS_TCP, IB_QPT_RC);
	struct sa_path_rec path = { .rec_type = SA_PATH_REC_TYPE_ROCE_V2, .mtu = IB_MTU_1024 };
	struct sa_path_rec alt = path;
	struct fake *fake = test->priv;

	alt.mtu = IB_MTU_512;
	knock->req.path = &path;
	knock->req.alt_path = &alt;
	KUNIT_ASSERT_EQ(test, request(test, knock), 0);
	expect_both_paths(test);
	KUNIT_EXPECT_EQ(test, atomic_read(&fake->lowers), 1);
}

static void datagrams_of_ipoib_need_its_interface(struct kunit *test)
{
	struct knock *knock = knock_at(test, RDMA_PS_IPOIB, IB_QPT_UD);

	KUNIT_EXPECT_EQ(test, request(test, knock), -EINVAL);
	nothing_is_left(test, knock);
	set_type(test, ARPHRD_INFINIBAND);
	KUNIT_EXPECT_EQ(test, request(test, knock), 0);
	set_type(test, ARPHRD_ETHER);
	fake_expect_event(test, RDMA_CM_ALT_EVENT_CONNECT_REQUEST, 0);
	/* RDMA_PS_UDP does not need the interface. */
	knock = knock_at(test, RDMA_PS_UDP, IB_QPT_UD);
	KUNIT_EXPECT_EQ(test, request(test, knock), 0);
	fake_expect_event(test, RDMA_CM_ALT_EVENT_CONNECT_REQUEST, 0);
}

static void device_that_is_being_removed_takes_none(struct kunit *test)
{
	struct knock *knock = knock_at(test, RDMA_PS_TCP, IB_QPT_RC);
	struct fake *fake = test->priv;

	fake->dev.removing = true;
	KUNIT_EXPECT_EQ(test, request(test, knock), -ENODEV);
	nothing_is_left(test, knock);
}

static void listener_that_is_being_closed_takes_none(struct kunit *test)
{
	struct knock *knock = knock_at(test, RDMA_PS_TCP, IB_QPT_RC);

	rca_source_detach(&knock->slot.id->src, NULL);
	KUNIT_EXPECT_EQ(test, request(test, knock), -ECONNABORTED);
	nothing_is_left(test, knock);
}

static void listener_that_has_stopped_takes_none(struct kunit *test)
{
	struct knock *knock = knock_at(test, RDMA_PS_TCP, IB_QPT_RC);

	rca_id_step(knock->slot.id, RCA_IN_REMOVE);
	fake_expect_state(test, knock->slot.id, RCA_ST_REMOVED);
	KUNIT_EXPECT_EQ(test, request(test, knock), -ECONNABORTED);
	nothing_is_left(test, knock);
}

static struct kunit_case taken_cases[] = {
	KUNIT_CASE(both_paths_of_a_request_are_told),
	KUNIT_CASE(datagrams_of_ipoib_need_its_interface),
	KUNIT_CASE(device_that_is_being_removed_takes_none),
	KUNIT_CASE(listener_that_is_being_closed_takes_none),
	KUNIT_CASE(listener_that_has_stopped_takes_none),
	{}
};

static struct kunit_suite taken_suite = {
	.name = "rdma_cm_alt_request",
	.suite_init = rxe_suite_init,
	.suite_exit = device_bench_suite_exit,
	.init = taken_init,
	.exit = taken_exit,
	.test_cases = taken_cases,
};

static int siw_suite_init(struct kunit_suite *suite)
{
	if (!netrig_up())
		netrig_add_rdma("siw");
	return 0;
}

/* A request over TCP: the transport passes the addresses. */
static int ask_tcp(struct kunit *test, struct knock *knock, const char *local)
{
	knock->req.conn.qp_type = IB_QPT_UD;
	knock->req.local = rca_test_addr(test, local, 0);
	knock->req.peer = rca_test_addr(test, NEIGHBOUR, 5000);
	return rca_req_handler(&knock->demux, NULL, &knock->req);
}

static void tcp_request_belongs_to_the_device_with_the_address(struct kunit *test)
{
	struct rca_id *server = rig_listening(test, DEVICE_IP, RDMA_PS_TCP);
	struct knock *knock = new_knock(test, server->dev, server);
	struct net_device *ndev = dev_get_by_name(&init_net, NETRIG_NDEV);
	char local[32];

	KUNIT_ASSERT_NOT_NULL(test, ndev);
	snprintf(local, sizeof(local), "fe80::77%%%d", ndev->ifindex);
	dev_put(ndev);
	KUNIT_EXPECT_EQ(test, ask_tcp(test, knock, DEVICE_IP), FOUND);
	KUNIT_EXPECT_EQ(test, ask_tcp(test, knock, local), FOUND);
	KUNIT_EXPECT_EQ(test, ask_tcp(test, knock, "127.0.0.1"), -ENODEV);
	KUNIT_EXPECT_EQ(test, ask_tcp(test, knock, "10.99.0.1"), -EADDRNOTAVAIL);
}

static void tcp_request_without_a_port_is_told(struct kunit *test)
{
	struct rca_id *server = rig_listening(test, DEVICE_IP, RDMA_PS_TCP);
	struct knock *knock = new_knock(test, server->dev, server);
	const struct rca_report *report;
	u64 before;

	kept_has_room();
	before = kept_count();
	KUNIT_EXPECT_EQ(test, ask_tcp(test, knock, "127.0.0.1"), -ENODEV);
	report = kept_youngest();
	KUNIT_EXPECT_EQ(test, report->serial, before + 1);
	KUNIT_EXPECT_STREQ(test, report->op, "request");
	KUNIT_EXPECT_EQ(test, report->status, -ENODEV);
	KUNIT_EXPECT_EQ(test, report->handle, server->obj.handle);
}

static void tcp_request_without_a_listener_is_refused(struct kunit *test)
{
	struct rca_id *server = rig_listening(test, DEVICE_IP, RDMA_PS_TCP);
	struct knock *knock = new_knock(test, server->dev, server);

	list_del(&knock->slot.node);
	KUNIT_EXPECT_EQ(test, ask_tcp(test, knock, DEVICE_IP), -ECONNREFUSED);
}

/* Backlog full: the request is dropped, also over TCP. */
static void tcp_request_without_room_is_dropped(struct kunit *test)
{
	struct rca_id *server = rig_listening(test, DEVICE_IP, RDMA_PS_TCP);
	struct knock *knock = new_knock(test, server->dev, server);

	kept_has_room();
	server->opts->backlog = 0;
	knock->req.local = rca_test_addr(test, DEVICE_IP, 0);
	knock->req.peer = rca_test_addr(test, NEIGHBOUR, 5000);
	KUNIT_EXPECT_EQ(test, rca_req_handler(&knock->demux, NULL, &knock->req), -ENOMEM);
	KUNIT_EXPECT_EQ(test, atomic_read(&server->opts->waiting), 0);
	/* -ENOBUFS, not -EDQUOT: the backlog is no limit of the user. */
	KUNIT_EXPECT_STREQ(test, kept_youngest()->op, "request");
	KUNIT_EXPECT_EQ(test, kept_youngest()->status, -ENOBUFS);
}

static int count_demuxes(struct rca_device *dev)
{
	struct rca_demux *demux;
	int bucket, count = 0;

	mutex_lock(&dev->demux_mutex);
	hash_for_each(dev->demuxes, bucket, demux, node)
		count++;
	mutex_unlock(&dev->demux_mutex);
	return count;
}

/* An AF_IB wildcard listener has no slot on an iWARP device. */
static void listener_on_gids_leaves_tcp_alone(struct kunit *test)
{
	struct rca_id *server = rig_listening(test, DEVICE_IP, RDMA_PS_TCP);
	struct rca_id *id = rig_new_id(test, DEVICE_SERVER, RDMA_PS_TCP);
	struct rca_device *dev = server->dev;
	int before = count_demuxes(dev);

	KUNIT_EXPECT_EQ(test, rig_bind(test, id, "ib:::"), 0);
	KUNIT_EXPECT_EQ(test, rca_listen(id, 1), 0);
	rig_expect_state(test, id, RCA_ST_LISTEN);
	KUNIT_EXPECT_EQ(test, count_demuxes(dev), before);
	/* An IP wildcard listener has one. */
	rig_listening(test, "0.0.0.0", RDMA_PS_TCP);
	KUNIT_EXPECT_EQ(test, count_demuxes(dev), before + 1);
}

static struct kunit_case tcp_cases[] = {
	KUNIT_CASE(tcp_request_belongs_to_the_device_with_the_address),
	KUNIT_CASE(tcp_request_without_a_port_is_told),
	KUNIT_CASE(tcp_request_without_a_listener_is_refused),
	KUNIT_CASE(tcp_request_without_room_is_dropped),
	KUNIT_CASE(listener_on_gids_leaves_tcp_alone),
	{}
};

static struct kunit_suite tcp_suite = {
	.name = "rdma_cm_alt_arrival_tcp",
	.suite_init = siw_suite_init,
	.suite_exit = device_bench_suite_exit,
	.init = device_bench_init,
	.exit = device_bench_exit,
	.test_cases = tcp_cases,
};
kunit_test_suites(&arrival_suite, &taken_suite, &tcp_suite);
