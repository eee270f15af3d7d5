// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/* The network changes while ids come and go: neighbours, and a bond. */
#include <stdatomic.h>

#include "rca_test.h"

#define WORKERS 3
#define SECONDS 3
#define PEER "10.7.0.88"

static atomic_bool enough;
static const char *from, *to;

static void shell(const char *command)
{
	EXPECT_EQ(system(command), 0);
}

/* Make and destroy ids with a route, several at a time, until the flag is set. */
static void *come_and_go(void *arg)
{
	int ctx = get_ctx(), queue = get_queue(ctx), i;
	uint32_t id[8];
	event_t ev;

	(void)arg;
	while (!enough) {
		for (i = 0; i < 8; i++) {
			id[i] = get_id(ctx, queue, 0);
			EXPECT_EQ(rca_resolve_addr(ctx, id[i], from, to, 7777), 0);
		}
		for (i = 0; i < 8; i++) {
			/* A bond that changes may lose its address for a moment. */
			get_event(queue, &ev);
			if (ev.type == RDMA_CM_ALT_EVENT_ADDR_RESOLVED)
				rca_resolve_route(ctx, ev.id);
		}
		while (event_waits(queue))
			get_event(queue, &ev);
		for (i = 0; i < 8; i++)
			EXPECT_EQ(rca_destroy(ctx, id[i]), 0);
	}
	close(queue);
	close(ctx);
	return NULL;
}

/* Call @change with 0 and 1 in turn while threads make and destroy ids. */
static void change_under_load(void (*change)(int which))
{
	pthread_t worker[WORKERS];
	time_t end = time(NULL) + SECONDS;
	int i, count;

	enough = false;
	for (i = 0; i < WORKERS; i++)
		EXPECT_EQ(pthread_create(&worker[i], NULL, come_and_go, NULL), 0);
	for (count = 0; time(NULL) < end || count < 4; count++)
		change(count & 1);
	enough = true;
	for (i = 0; i < WORKERS; i++)
		pthread_join(worker[i], NULL);
}

static void change_neighbour(int which)
{
	shell(which ? "ip neigh replace " PEER " lladdr 02:00:00:00:88:01 dev v0 nud permanent" :
		      "ip neigh replace " PEER " lladdr 02:00:00:00:88:02 dev v0 nud permanent");
}

TEST(neighbour_changes_under_ids_that_come_and_go)
{
	from = NULL;
	to = PEER;
	change_neighbour(0);
	change_under_load(change_neighbour);
	shell("ip neigh del " PEER " dev v0");
}

static void set_neighbour(const char *ip, int last)
{
	char command[128];

	snprintf(command, sizeof(command),
		 "ip neigh replace %s lladdr 02:00:00:00:88:%02x dev v0 nud permanent", ip, last);
	shell(command);
}

static void neighbour_changes(const char *ip, const char *other)
{
	int ctx = get_ctx(), queue = get_queue(ctx);
	uint32_t id = get_id(ctx, queue, 0);
	char command[64];

	set_neighbour(ip, 1);
	await_addr(ctx, queue, id, ip, 7777);
	await_route(ctx, queue, id);
	/* The address before, and another one. */
	set_neighbour(ip, 1);
	set_neighbour(other, 3);
	EXPECT(!event_waits(queue));
	set_neighbour(ip, 2);
	EXPECT_EVENT_STATUS(queue, UNREACHABLE, id, -ETIMEDOUT, NULL);
	EXPECT(!event_waits(queue));
	EXPECT_EQ(rca_destroy(ctx, id), 0);
	snprintf(command, sizeof(command), "ip neigh del %s dev v0", ip);
	shell(command);
	snprintf(command, sizeof(command), "ip neigh del %s dev v0", other);
	shell(command);
}

TEST(peer_with_another_hardware_address_is_unreachable)
{
	neighbour_changes(PEER, "10.7.0.89");
	shell("ip addr add fd00:7::1/64 dev v0 nodad");
	sleep(1);	/* the device gets the GID from a work item */
	neighbour_changes("fd00:7::88", "fd00:7::89");
	shell("ip addr del fd00:7::1/64 dev v0");
}

static void change_bond(int which)
{
	int fd = open("/sys/class/net/bond6/bonding/active_slave", O_WRONLY | O_CLOEXEC);

	EXPECT(fd >= 0);
	EXPECT_EQ(write(fd, which ? "t1" : "t0", 2), 2);
	close(fd);
}

TEST(bond_changes_under_ids_that_come_and_go)
{
	shell("modprobe -a bonding dummy && ip link add t0 type dummy && "
	      "ip link add t1 type dummy && ip link add bond6 type bond mode active-backup "
	      "fail_over_mac active miimon 50 && ip link set t0 master bond6 && "
	      "ip link set t1 master bond6 && ip link set bond6 up && "
	      "ip addr add 10.6.6.1/24 dev bond6 && ip addr add 10.6.6.2/24 dev bond6 && "
	      "rdma link add rbond6 type rxe netdev bond6");
	from = NULL;
	to = "10.6.6.2";
	change_under_load(change_bond);
	shell("rdma link del rbond6 && ip link del bond6 && ip link del t0 && ip link del t1");
}

KTAP_MAIN
