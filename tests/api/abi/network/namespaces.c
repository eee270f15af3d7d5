// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * Network namespaces on one device: rxe2 with a macvlan above its network
 * device in each of two other namespaces, and the ids of each.
 *
 * Each test makes the device anew. rxe takes a message from an address that was removed for an
 * error of its QP1, which may stay broken (tests/robust/stock/qp1_dies).
 *
 * rxe sends in the first namespace only, except to the sender's own Ethernet address, which is
 * looped back. For that it needs a route in the first namespace by the macvlan's interface index.
 * So there is a network device with that index and that address, too.
 */
#include "limits.h"
#include "stock_cm.h"
#include "tasks.h"

#define PORT 7471
#define LOW_PORT 445
#define SOMEBODY 70001
#define OWN "10.8.0.1"
#define IN_A "10.8.0.11"
#define IN_B "10.8.0.12"

static int home = -1;

static void cleanup(void)
{
	/*
	 * rxe2 goes before the addresses that connections over it end from; a send that finds none
	 * breaks its QP1. If it is in a namespace, it comes back when that goes. The network
	 * devices of a namespace go some time after it, perhaps during these commands.
	 */
	EXPECT_EQ(system("[ ! -e /sys/class/infiniband/rxe2 ] || rdma link delete rxe2;"
			 "for ns in rcaA rcaB; do"
			 " [ ! -e /run/netns/$ns ] || ip netns del $ns; done;"
			 "for dev in rcaA rcaB rcam rcav0; do"
			 " [ ! -e /sys/class/net/$dev ] || ip link del $dev ||"
			 " [ ! -e /sys/class/net/$dev ]; done;"
			 "[ ! -e /sys/class/infiniband/rxe2 ] || rdma link delete rxe2;"
			 "[ ! -e /sys/class/net/d2 ] || ip link del d2"), 0);
}

/* Bind in the caller's namespace. A new network device gets its GIDs from a work item. */
static uint32_t get_bound_soon(int ctx, int queue, const char *ip, uint16_t port)
{
	uint32_t id = get_id(ctx, queue, 0);
	int ret;

	for (int i = 0; i < PATIENCE * 20; i++) {
		ret = rca_bind(ctx, id, ip, port);
		if (ret != -ENODEV)
			break;
		usleep(50000);
	}
	EXPECT_EQ(ret, 0);
	return id;
}

static void add_device(void)
{
	int ctx = get_ctx();

	if (system("ip link add d2 type dummy && ip link set d2 up &&"
		   "ip addr add " OWN "/24 dev d2 && rdma link add rxe2 type rxe netdev d2"))
		ktap_skip("cannot make a device");
	get_bound_soon(ctx, -1, OWN, 0);
	MUST(close(ctx));
}

/* A new, empty namespace. The first one of a test removes what a failed test has left. */
static int get_netns(const char *name)
{
	char command[128];
	int ns;

	if (home < 0) {
		home = MUST(open("/proc/self/ns/net", O_RDONLY | O_CLOEXEC));
		cleanup();
		add_device();
	}
	snprintf(command, sizeof(command), "ip netns add %s && ip -n %s link set lo up", name,
		 name);
	if (system(command))
		ktap_skip("no network namespaces");
	snprintf(command, sizeof(command), "/run/netns/%s", name);
	ns = MUST(open(command, O_RDONLY | O_CLOEXEC));
	return ns;
}

static void add_macvlan(const char *name, const char *ip)
{
	char command[512];

	snprintf(command, sizeof(command),
		 "ns=%s ip=%s; ip link add link d2 name rcam type macvlan mode bridge &&"
		 "index=$(cat /sys/class/net/rcam/ifindex) && ip link set rcam netns $ns &&"
		 "ip -n $ns addr add $ip/24 dev rcam && ip -n $ns link set rcam up &&"
		 "ip link add $ns index $index type dummy && ip addr add $ip/32 dev $ns &&"
		 "ip link set $ns up", name, ip);
	if (system(command))
		ktap_skip("no macvlan");
}

static void enter(int ns)
{
	MUST(setns(ns, CLONE_NEWNET));
}

static uint32_t get_wildcard(int ctx, int queue, uint64_t cookie)
{
	uint32_t id = get_id(ctx, queue, cookie);

	EXPECT_EQ(rca_bind(ctx, id, "0.0.0.0", PORT), 0);
	EXPECT_EQ(rca_listen(ctx, id, 0), 0);
	return id;
}

/* Wait until the service ID is in use, or free. */
static void await_taken(bool taken)
{
	for (int i = 0; i < PATIENCE * 10; i++) {
		if (!stock_may_listen(OWN, PORT) == !taken)
			return;
		usleep(100000);
	}
	ktap_fail(__FILE__, __LINE__, "the service ID should be %s", taken ? "taken" : "free");
}

TEST(id_is_in_the_namespace_of_its_creator)
{
	int ctx = get_ctx(), a = get_netns("rcaA"), b = get_netns("rcaB"), queue = get_queue(ctx);
	uint32_t id, other, ours;

	add_macvlan("rcaA", IN_A);
	ours = get_id(ctx, -1, 0);
	enter(a);
	EXPECT_EQ(rca_destroy(ctx, get_bound_soon(ctx, -1, IN_A, 0)), 0);
	id = get_id(ctx, -1, 0);
	other = get_id(ctx, -1, 0);
	EXPECT_EQ(rca_bind(ctx, ours, IN_A, PORT), -ENODEV);
	EXPECT_EQ(rca_bind(ctx, ours, OWN, PORT), 0);
	/* The caller's namespace does not matter. */
	enter(b);
	EXPECT_EQ(rca_bind(ctx, other, OWN, PORT), -EADDRNOTAVAIL);
	EXPECT_EQ(rca_bind(ctx, id, IN_A, PORT), 0);
	EXPECT_EQ(rca_bind(ctx, other, IN_A, PORT), -EADDRINUSE);
	enter(home);
	EXPECT_EQ(rca_bind(ctx, get_id(ctx, -1, 0), "0.0.0.0", PORT + 1), 0);
	EXPECT_EQ(rca_bind(ctx, other, "0.0.0.0", PORT + 1), 0);
	id = get_id(ctx, queue, 0);
	EXPECT_EQ(rca_resolve_addr(ctx, id, NULL, IN_A, PORT), 0);
	EXPECT_EVENT_STATUS(queue, ADDR_ERROR, id, -ENODEV, NULL);
	cleanup();
}

/* Listen, connect and disconnect in the caller's namespace. */
static void connect_here(int ctx, int lq, uint32_t listener, const char *ip)
{
	int cq = get_queue(ctx);
	uint32_t client = get_client(ctx, cq, ip, PORT, CLIENT);
	event_t ev;

	EXPECT_EQ(rca_connect(ctx, client, NULL, 0), 0);
	EXPECT_EVENT_STATUS(lq, CONNECT_REQUEST, 0, 0, &ev);
	EXPECT_EQ(ev.listen_id, listener);
	EXPECT(addr_is(&ev.route.src, ip));
	EXPECT_EQ(rca_accept(ctx, ev.id, SERVER, NULL, 0), 0);
	EXPECT_EVENT(cq, CONNECT_RESPONSE, client);
	EXPECT_EQ(rca_establish(ctx, client), 0);
	EXPECT_EVENT(lq, ESTABLISHED, ev.id);
	EXPECT_EQ(rca_disconnect(ctx, client), 0);
	EXPECT_EVENT(lq, DISCONNECTED, ev.id);
	EXPECT_EVENT(cq, DISCONNECTED, client);
	EXPECT_EQ(rca_destroy(ctx, client), 0);
	EXPECT_EQ(rca_destroy(ctx, ev.id), 0);
}

TEST_LONG(listeners_of_three_namespaces_on_one_port_of_one_device)
{
	int ctx = get_ctx(), a = get_netns("rcaA"), b = get_netns("rcaB");
	int qa = get_queue(ctx), qb = get_queue(ctx), qh = get_queue(ctx);
	uint32_t la, lb, lh;

	add_macvlan("rcaA", IN_A);
	add_macvlan("rcaB", IN_B);
	/* On an address and on the wildcard; no namespace gets a request of the other. */
	enter(a);
	la = get_bound_soon(ctx, qa, IN_A, PORT);
	EXPECT_EQ(rca_listen(ctx, la, 0), 0);
	enter(b);
	EXPECT_EQ(rca_destroy(ctx, get_bound_soon(ctx, -1, IN_B, 0)), 0);
	lb = get_wildcard(ctx, qb, 0);
	enter(home);
	lh = get_wildcard(ctx, qh, 0);
	enter(a);
	connect_here(ctx, qa, la, IN_A);
	enter(b);
	connect_here(ctx, qb, lb, IN_B);
	enter(home);
	connect_here(ctx, qh, lh, OWN);
	EXPECT(!event_waits(qa) && !event_waits(qb) && !event_waits(qh));
	/* The others are not affected when one is destroyed. */
	EXPECT_EQ(rca_destroy(ctx, lb), 0);
	enter(a);
	connect_here(ctx, qa, la, IN_A);
	enter(home);
	connect_here(ctx, qh, lh, OWN);
	EXPECT(stock_may_listen(OWN, PORT) < 0);
	cleanup();
}

TEST(wildcard_listener_takes_only_what_reaches_its_namespace)
{
	int ctx = get_ctx(), a = get_netns("rcaA");
	uint32_t id;

	enter(a);
	id = get_wildcard(ctx, get_queue(ctx), 0);
	enter(home);
	EXPECT_EQ(stock_may_listen(OWN, PORT), 0);
	/* A network device of rxe2 is moved to the namespace: the listener covers it. */
	add_macvlan("rcaA", IN_A);
	await_taken(true);
	/* rxe1 is still free for stock. */
	EXPECT_EQ(stock_may_listen(ELSEWHERE, PORT), 0);
	/* The network device goes; after a while the listener releases the device. */
	EXPECT_EQ(system("ip -n rcaA link del rcam"), 0);
	await_taken(false);
	EXPECT_EQ(rca_destroy(ctx, id), 0);
	cleanup();
}

/*
 * The namespace lets its users have low ports. On a device of the host that takes the right to
 * ports of the host, as the service ID is one of all namespaces.
 */
TEST(low_port_of_a_namespace_is_not_one_of_the_host)
{
	int ctx = get_ctx(), a = get_netns("rcaA");
	uint32_t early, late, bound;

	enter(a);
	bound = get_bound(ctx, -1, "0.0.0.0", LOW_PORT + 1);
	EXPECT_EQ(system("sysctl -qw net.ipv4.ip_unprivileged_port_start=0"), 0);
	become(SOMEBODY);
	early = get_bound(ctx, -1, "0.0.0.0", LOW_PORT);
	EXPECT_EQ(rca_listen(ctx, early, 0), 0);	/* on no device */
	get_wildcard(ctx, -1, 0);
	become(0);
	enter(home);
	add_macvlan("rcaA", IN_A);
	await_taken(true);
	EXPECT_EQ(stock_may_listen(OWN, LOW_PORT), 0);
	EXPECT_EQ(rca_destroy(ctx, early), 0);
	enter(a);
	become(SOMEBODY);
	late = get_bound(ctx, -1, "0.0.0.0", LOW_PORT);
	EXPECT_EQ(rca_listen(ctx, late, 0), -EACCES);
	EXPECT_EQ(rca_destroy(ctx, late), 0);
	late = get_bound(ctx, -1, IN_A, LOW_PORT);
	EXPECT_EQ(rca_listen(ctx, late, 0), -EACCES);
	/* The port counts, and who has bound it. */
	EXPECT_EQ(rca_listen(ctx, get_bound(ctx, -1, IN_A, 1024), 0), 0);
	EXPECT_EQ(rca_listen(ctx, bound, 0), 0);
	become(0);
	enter(home);
	cleanup();
}

/* Start a process that adds and deletes a network device in a loop. */
static pid_t start_changes(void)
{
	pid_t pid = MUST(fork());

	if (!pid) {
		while (!system("ip link add rcav0 type dummy && ip link del rcav0"))
			usleep(100000);
		_exit(1);
	}
	return pid;
}

TEST(changes_without_end_do_not_keep_a_listener_on_a_device)
{
	int ctx = get_ctx(), a = get_netns("rcaA");
	pid_t pid;

	enter(a);
	get_wildcard(ctx, get_queue(ctx), 0);
	enter(home);
	add_macvlan("rcaA", IN_A);
	await_taken(true);
	pid = start_changes();
	EXPECT_EQ(system("ip -n rcaA link del rcam"), 0);
	await_taken(false);
	/* The changes go on. */
	EXPECT_EQ(waitpid(pid, NULL, WNOHANG), 0);
	kill_child(pid);
	cleanup();
}

TEST_LONG(wildcard_listener_waits_for_what_another_user_holds)
{
	int ctx = get_ctx(), a = get_netns("rcaA"), b = get_netns("rcaB"), fd = stock_open();
	uint32_t theirs = stock_id(fd), id;

	EXPECT_EQ(stock_bind(fd, theirs, OWN, PORT), 0);
	EXPECT_EQ(stock_listen(fd, theirs), 0);
	enter(a);
	get_wildcard(ctx, get_queue(ctx), 0);
	enter(home);
	add_macvlan("rcaA", IN_A);
	add_macvlan("rcaB", IN_B);
	/* A new listen fails; the listener that exists gets no event. */
	enter(b);
	EXPECT_EQ(rca_destroy(ctx, get_bound_soon(ctx, -1, IN_B, 0)), 0);
	id = get_id(ctx, -1, 0);
	EXPECT_EQ(rca_bind(ctx, id, "0.0.0.0", PORT), 0);
	EXPECT_EQ(rca_listen(ctx, id, 0), -EADDRINUSE);
	enter(home);
	MUST(close(fd));
	await_taken(true);
	cleanup();
}

TEST(network_device_goes_under_ids_of_its_namespace)
{
	int ctx = get_ctx(), a = get_netns("rcaA"), queue = get_queue(ctx);
	uint32_t bound, listener, client;
	event_t ev;

	add_macvlan("rcaA", IN_A);
	enter(a);
	bound = get_bound_soon(ctx, queue, IN_A, 0);
	listener = get_wildcard(ctx, queue, 0);
	client = get_client(ctx, queue, IN_A, PORT, CLIENT);
	EXPECT_EQ(rca_connect(ctx, client, NULL, 0), 0);
	EXPECT_EVENT_STATUS(queue, CONNECT_REQUEST, 0, 0, &ev);
	/* Returns when the network device has no more references. */
	EXPECT_EQ(system("timeout 20 ip -n rcaA link del rcam"), 0);
	EXPECT_EQ(rca_destroy(ctx, client), 0);
	EXPECT_EQ(rca_destroy(ctx, ev.id), 0);
	EXPECT_EQ(rca_destroy(ctx, bound), 0);
	EXPECT_EQ(rca_destroy(ctx, listener), 0);
	enter(home);
	cleanup();
}

/* A namespace is freed when the veth pair with one end in it has gone. */
static bool alive(void)
{
	return !access("/sys/class/net/rcav0", F_OK);
}

static int get_watched_netns(void)
{
	int ns = get_netns("rcaA");

	if (system("ip link add rcav0 type veth peer name rcav1 netns rcaA"))
		ktap_skip("no veth");
	return ns;
}

static void expect_dead(void)
{
	for (int i = 0; i < PATIENCE * 10 && alive(); i++)
		usleep(100000);
	EXPECT(!alive());
}

/* An id of either stack keeps its namespace, as a socket does. */
TEST_LONG(id_keeps_its_namespace_until_it_is_destroyed)
{
	int ctx = get_ctx(), a = get_watched_netns(), fd = -1;
	uint32_t bound, listener;

	enter(a);
	bound = get_id(ctx, -1, 0);
	EXPECT_EQ(rca_bind(ctx, bound, "0.0.0.0", PORT + 1), 0);
	listener = get_wildcard(ctx, -1, 0);
	enter(home);
	MUST(close(a));
	EXPECT_EQ(system("ip netns del rcaA"), 0);
	sleep(1);
	EXPECT(alive());
	/* The ids still work in their namespace, which has no name any more. */
	EXPECT_EQ(rca_bind(ctx, get_id(ctx, -1, 0), "0.0.0.0", PORT), 0);
	EXPECT_EQ(rca_destroy(ctx, listener), 0);
	EXPECT_EQ(rca_listen(ctx, bound, 0), 0);
	EXPECT(alive());
	EXPECT_EQ(rca_destroy(ctx, bound), 0);
	expect_dead();

	a = get_watched_netns();
	fd = stock_open();
	enter(a);
	EXPECT_EQ(stock_bind(fd, stock_id(fd), "0.0.0.0", PORT), 0);
	enter(home);
	MUST(close(a));
	EXPECT_EQ(system("ip netns del rcaA"), 0);
	sleep(1);
	EXPECT(alive());
	MUST(close(fd));
	expect_dead();
}

TEST(closed_descriptors_let_namespaces_go)
{
	int ctx = get_ctx(), a = get_watched_netns(), queue = get_queue(ctx);
	uint32_t client;

	add_macvlan("rcaA", IN_A);
	enter(a);
	EXPECT_EQ(rca_destroy(ctx, get_bound_soon(ctx, -1, IN_A, 0)), 0);
	get_wildcard(ctx, queue, 0);
	client = get_client(ctx, queue, IN_A, PORT, CLIENT);
	EXPECT_EQ(rca_connect(ctx, client, NULL, 0), 0);
	EXPECT(event_comes(queue, PATIENCE));
	enter(home);
	MUST(close(a));
	EXPECT_EQ(system("ip netns del rcaA"), 0);
	MUST(close(queue));
	MUST(close(ctx));
	expect_dead();
	cleanup();
}

/* The mode cannot be changed while another namespace exists; a work item frees namespaces. */
static bool set_mode(const char *mode)
{
	char command[64];

	snprintf(command, sizeof(command), "rdma system set netns %s 2>/dev/null", mode);
	for (int i = 0; i < PATIENCE * 10; i++) {
		if (!system(command))
			return true;
		usleep(100000);
	}
	return false;
}

static void exclusively(void)
{
	int ctx = get_ctx(), a = get_netns("rcaA"), queue = get_queue(ctx);
	uint32_t id, other, listener;

	add_macvlan("rcaA", IN_A);
	EXPECT_EQ(rca_bind(ctx, get_id(ctx, -1, 0), OWN, PORT + 1), 0);
	enter(a);
	id = get_id(ctx, -1, 0);
	other = get_id(ctx, queue, 0);
	listener = get_wildcard(ctx, -1, 0);
	/* The address exists, the device belongs to another namespace. */
	for (int i = 0; i < 10; i++) {
		EXPECT_EQ(rca_bind(ctx, id, IN_A, PORT + 1), -ENODEV);
		usleep(50000);
	}
	EXPECT_EQ(rca_resolve_addr(ctx, other, NULL, IN_A, PORT), 0);
	EXPECT_EVENT_STATUS(queue, ADDR_ERROR, other, -ENODEV, NULL);
	enter(home);
	EXPECT_EQ(stock_may_listen(OWN, PORT), 0);
	EXPECT_EQ(rca_destroy(ctx, listener), 0);
	cleanup();
}

TEST_LONG(device_of_another_namespace_in_exclusive_mode)
{
	pid_t pid;
	int status;

	home = MUST(open("/proc/self/ns/net", O_RDONLY | O_CLOEXEC));
	cleanup();
	EXPECT_EQ(system("bash -c '. tests/harness/guest/rig.sh; rig_namespaces_gone'"), 0);
	if (!set_mode("exclusive"))
		ktap_skip("the mode cannot be changed");
	home = -1;
	pid = MUST(fork());
	if (!pid) {
		exclusively();
		_exit(0);
	}
	MUST(waitpid(pid, &status, 0));
	cleanup();
	EXPECT(set_mode("shared"));
	EXPECT_EQ(status, 0);
}

KTAP_MAIN
