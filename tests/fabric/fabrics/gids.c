// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * Addresses of family AF_IB on InfiniBand ports, by the ioctls: the local port that leads to a
 * peer, and the listener of a request. The adapters are those of ib.py, which runs this
 * program.
 */
#include <endian.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "hca.h"
#include "rca_test.h"

#define PORT 7900
#define DEFAULT_PKEY 0xffff
#define IPOIB_HERE "10.8.0.1"
#define IPOIB_THERE "10.8.0.2"

/* The port space of ids and addresses. */
static uint16_t space = RDMA_PS_TCP;

static addr_t sib_addr(const char *gid, uint16_t pkey)
{
	struct sib sib = {
		.family = AF_IB, .pkey = htobe16(pkey),
		.sid = htobe64(((uint64_t)space << 16) + PORT), .sid_mask = UINT64_MAX,
	};
	addr_t addr;

	EXPECT_EQ(inet_pton(AF_INET6, gid, sib.addr), 1);
	memcpy(&addr, &sib, sizeof(addr));
	return addr;
}

/* The first GID of a port, as text. */
static const char *gid_of(const char *adapter, int port)
{
	static char gids[8][GID_TEXT];
	static int next;

	return hca_gid(adapter, port, gids[next++ % 8]);
}

static bool has_gid(const addr_t *addr, const char *gid)
{
	addr_t wanted = sib_addr(gid, 0);

	return !memcmp(&((const struct sib *)addr)->addr, &((struct sib *)&wanted)->addr, 16);
}

static int resolve(int ctx, uint32_t id, uint32_t steps, addr_t src, addr_t dst)
{
	struct rdma_cm_alt_resolve cmd = {
		.size = sizeof(cmd),
		.pipe = {
			.steps = steps, .id = id, .queue_fd = -1, .timeout_ms = 5000,
			.src = src, .dst = dst,
		},
	};

	return rca_call(ctx, RDMA_CM_ALT_RESOLVE, &cmd);
}

static uint32_t new_id(int ctx, int queue)
{
	uint32_t id;

	EXPECT_EQ(rca_create(ctx, queue, space, space == RDMA_PS_UDP ? IB_UVERBS_QPT_UD :
			     IB_UVERBS_QPT_RC, 0, &id), 0);
	return id;
}

static int bind_ib(int ctx, uint32_t id, const char *gid)
{
	return resolve(ctx, id, RDMA_CM_ALT_STEP_BIND, sib_addr(gid, DEFAULT_PKEY),
		       make_addr(NULL, 0));
}

/* The path of an id to its peer; the id is bound to @src, or to nothing. */
static int lead(int ctx, const char *src, const char *dst, uint16_t pkey,
		struct rdma_cm_alt_route *route)
{
	uint32_t id = new_id(ctx, -1);
	int ret;

	if (src)
		EXPECT_EQ(bind_ib(ctx, id, src), 0);
	ret = resolve(ctx, id, RDMA_CM_ALT_STEP_ADDR, make_addr(NULL, 0), sib_addr(dst, pkey));
	if (!ret)
		EXPECT_EQ(rca_query(ctx, id, route), 0);
	EXPECT_EQ(rca_destroy(ctx, id), 0);
	return ret;
}

/* Ports are updated by work. */
static void await_state(const char *adapter, const char *state)
{
	char command[256];

	snprintf(command, sizeof(command),
		 "for i in $(seq 100); do grep -q %s /sys/class/infiniband/%s/ports/1/state && "
		 "exit 0; sleep 0.05; done; exit 1", state, adapter);
	EXPECT_EQ(system(command), 0);
	usleep(100000);
}

static void set_port(const char *adapter, const char *state)
{
	char name[64];

	snprintf(name, sizeof(name), "%s/1/state", adapter);
	knob(state, name);
	await_state(adapter, strcmp(state, "up") ? "DOWN" : "ACTIVE");
}

TEST(wildcard_peer_is_the_first_port_that_is_up)
{
	static const char * const peers[] = { "::", "::1" };
	const char *first = gid_of("hca0", 1), *second = gid_of("hca1", 1);
	struct rdma_cm_alt_route route;
	int ctx = get_ctx();

	for (int i = 0; i < 2; i++) {
		EXPECT_EQ(lead(ctx, NULL, peers[i], DEFAULT_PKEY, &route), 0);
		EXPECT(has_gid(&route.dst, first));
		EXPECT(has_gid(&route.src, first));
		/* An id with a port resolves to itself. */
		EXPECT_EQ(lead(ctx, second, peers[i], DEFAULT_PKEY, &route), 0);
		EXPECT(has_gid(&route.dst, second));
		EXPECT(has_gid(&route.src, second));
		/* No port is in this partition. */
		EXPECT_EQ(lead(ctx, NULL, peers[i], 0x9234, &route), -ENODEV);
	}
	set_port("hca0", "down");
	EXPECT_EQ(lead(ctx, NULL, "::", DEFAULT_PKEY, &route), 0);
	EXPECT(has_gid(&route.dst, second));
	set_port("hca1", "down");
	EXPECT_EQ(lead(ctx, NULL, "::", DEFAULT_PKEY, &route), -ENODEV);
	set_port("hca0", "up");
	set_port("hca1", "up");
}

TEST(peer_is_reached_from_its_subnet)
{
	const char *first = gid_of("hca0", 1), *second = gid_of("hca1", 1);
	struct rdma_cm_alt_route route;
	int ctx = get_ctx();

	EXPECT_EQ(lead(ctx, NULL, "fe80::77", DEFAULT_PKEY, &route), 0);
	EXPECT(has_gid(&route.src, first));
	EXPECT_EQ(lead(ctx, NULL, "fec0::77", DEFAULT_PKEY, &route), -ENODEV);
	set_port("hca0", "down");
	EXPECT_EQ(lead(ctx, NULL, "fe80::77", DEFAULT_PKEY, &route), 0);
	EXPECT(has_gid(&route.src, second));
	/* A port that connects to itself needs no cable. */
	EXPECT_EQ(lead(ctx, NULL, first, DEFAULT_PKEY, &route), 0);
	EXPECT(has_gid(&route.src, first));
	set_port("hca0", "up");
}

/*
 * hca0 does not belong to this namespace in the exclusive mode, in which namespaces.py runs
 * this.
 */
TEST(adapter_of_another_namespace)
{
	struct rdma_cm_alt_route route;
	int ctx = get_ctx();

	if (system("rdma system show | grep -q exclusive"))
		ktap_skip("the adapters are everybody's");
	EXPECT_EQ(lead(ctx, NULL, "::", DEFAULT_PKEY, &route), 0);
	EXPECT(has_gid(&route.dst, gid_of("hca1", 1)));
	EXPECT_EQ(lead(ctx, NULL, "fe80::77", DEFAULT_PKEY, &route), 0);
	EXPECT(has_gid(&route.src, gid_of("hca1", 1)));
}

/*
 * Connect to @gid: returns the status of the reject, or 0 when the listener's queue gets a
 * request, whose local address must be @gid.
 */
static int knock(int ctx, int lq, const char *gid)
{
	int cq = get_queue(ctx);
	uint32_t id = new_id(ctx, cq);
	event_t ev = {};

	EXPECT_EQ(resolve(ctx, id, RDMA_CM_ALT_STEP_ADDR | RDMA_CM_ALT_STEP_ROUTE,
			  make_addr(NULL, 0), sib_addr(gid, DEFAULT_PKEY)), 0);
	for (int i = 0; i < 200; i++) {
		struct rdma_cm_alt_route route;

		EXPECT_EQ(rca_query(ctx, id, &route), 0);
		if (route.num_paths)
			break;
		usleep(20000);
	}
	EXPECT_EQ(rca_connect(ctx, id, NULL, 0), 0);
	for (int i = 0; i < PATIENCE * 50 && !event_waits(lq) && !event_waits(cq); i++)
		usleep(20000);
	if (event_waits(lq)) {
		EXPECT_EVENT_STATUS(lq, CONNECT_REQUEST, 0, 0, &ev);
		EXPECT(has_gid(&ev.route.src, gid));
		EXPECT_EQ(rca_destroy(ctx, ev.id), 0);
	} else {
		get_event(cq, &ev);
		EXPECT_EQ(ev.type, RDMA_CM_ALT_EVENT_REJECTED);
	}
	EXPECT_EQ(rca_destroy(ctx, id), 0);
	return ev.status;
}

static int listen_on(int ctx, const char *gid, uint32_t *id)
{
	int queue = get_queue(ctx);

	*id = new_id(ctx, queue);
	EXPECT_EQ(bind_ib(ctx, *id, gid), 0);
	EXPECT_EQ(rca_listen(ctx, *id, 0), 0);
	return queue;
}

TEST(listener_on_loopback_hears_all_ports)
{
	int ctx = get_ctx(), queue;
	uint32_t listener;

	queue = listen_on(ctx, "::1", &listener);
	EXPECT_EQ(knock(ctx, queue, gid_of("hca0", 1)), 0);
	EXPECT_EQ(knock(ctx, queue, gid_of("hca1", 1)), 0);
}

TEST(listener_of_a_gid_does_not_hear_another_one)
{
	int ctx = get_ctx(), queue;
	uint32_t listener;

	queue = listen_on(ctx, gid_of("hca1", 1), &listener);
	knob("1 fe80::77:77", "hca1/1/gids");
	EXPECT(knock(ctx, queue, "fe80::77:77") != 0);
	EXPECT_EQ(knock(ctx, queue, gid_of("hca1", 1)), 0);
	knob("1 ::", "hca1/1/gids");
}

TEST(listener_of_a_port_does_not_hear_the_other_one)
{
	const char *adapter = "hca2";
	int ctx = get_ctx(), queue;
	uint32_t listener;

	knob("2", "add");
	EXPECT_EQ(system("for i in $(seq 200); do grep -q ACTIVE "
			 "/sys/class/infiniband/hca2/ports/1/state && grep -q ACTIVE "
			 "/sys/class/infiniband/hca2/ports/2/state && exit 0; sleep 0.05; done; "
			 "exit 1"), 0);
	queue = listen_on(ctx, gid_of(adapter, 1), &listener);
	EXPECT(knock(ctx, queue, gid_of(adapter, 2)) != 0);
	EXPECT_EQ(knock(ctx, queue, gid_of(adapter, 1)), 0);
	knob(adapter, "remove");
}

/* Nothing then identifies the GID of the port that the request is for. */
TEST(request_for_datagrams_without_a_route_header)
{
	static const char * const wildcards[] = { "::", "::1" };
	const char *second = gid_of("hca1", 1);
	int ctx = get_ctx(), queue;
	uint32_t listener;

	space = RDMA_PS_UDP;
	knob("0", "sa_hop_limit");
	for (int i = 0; i < 3; i++) {
		queue = listen_on(ctx, i < 2 ? wildcards[i] : second, &listener);
		EXPECT_EQ(knock(ctx, queue, second), 0);
		EXPECT_EQ(rca_destroy(ctx, listener), 0);
	}
	knob("1", "sa_hop_limit");
	space = RDMA_PS_TCP;
}

/* The Q_Key of RDMA_PS_IPOIB is that of a group, which the network device leaves. */
TEST(queue_key_of_ipoib_goes_with_its_group)
{
	struct ib_uverbs_qp_attr attr;
	int ctx = get_ctx(), tries = 0, ret;
	uint32_t id;

	EXPECT_EQ(rca_create(ctx, -1, RDMA_PS_IPOIB, IB_UVERBS_QPT_UD, 0, &id), 0);
	EXPECT_EQ(rca_bind(ctx, id, IPOIB_HERE, 0), 0);
	EXPECT_EQ(system("ip link set ib0 down"), 0);
	do {
		uint32_t other;

		EXPECT_EQ(rca_create(ctx, -1, RDMA_PS_IPOIB, IB_UVERBS_QPT_UD, 0, &other), 0);
		EXPECT_EQ(rca_bind(ctx, other, IPOIB_HERE, 0), 0);
		ret = rca_qp_attr(ctx, other, 1, &attr);
		usleep(20000);
	} while (!ret && ++tries < 100);
	EXPECT_EQ(ret, -EINVAL);
	EXPECT_EQ(rca_qp_attr(ctx, id, 1, &attr), -EINVAL);
	EXPECT_EQ(system("ip link set ib0 up; ip addr add fd00:8::1/64 dev ib0 nodad"), 0);
	for (tries = 0; tries < 500 && ret; tries++) {
		ret = rca_qp_attr(ctx, id, 1, &attr);
		usleep(20000);
	}
	EXPECT_EQ(ret, 0);
}

/* A QP needs the index of its partition in the P_Key table of the port. */
TEST(partition_of_an_address_goes)
{
	int ctx = get_ctx(), tries = 0, ret;
	struct ib_uverbs_qp_attr attr;
	uint32_t id;

	EXPECT_EQ(rca_create(ctx, -1, RDMA_PS_UDP, IB_UVERBS_QPT_UD, 0, &id), 0);
	EXPECT_EQ(rca_bind(ctx, id, IPOIB_THERE, 0), 0);
	EXPECT_EQ(rca_qp_attr(ctx, id, 1, &attr), 0);
	knob("0x8003", "hca1/1/pkeys");
	do
		usleep(20000);
	while (!(ret = rca_qp_attr(ctx, id, 1, &attr)) && ++tries < 200);
	knob("0xffff", "hca1/1/pkeys");
	EXPECT_EQ(ret, -ENOENT);
	for (tries = 0; tries < 500 && ret; tries++) {
		ret = rca_qp_attr(ctx, id, 1, &attr);
		usleep(20000);
	}
	EXPECT_EQ(ret, 0);
}

TEST(address_of_a_device_without_rdma_is_enodev)
{
	int ctx = get_ctx();

	if (system("modprobe -q dummy; ip link add dum0 type dummy && "
		   "ip addr add 10.66.0.1/24 dev dum0 && ip link set dum0 up"))
		ktap_skip("no dummy devices");
	EXPECT_EQ(rca_bind(ctx, get_id(ctx, -1, 0), "10.66.0.1", 0), -ENODEV);
	EXPECT_EQ(system("ip link del dum0"), 0);
}

KTAP_MAIN
