// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/* Multicast groups: joining, what the event says, leaving, and who else ends a membership. */
#define _GNU_SOURCE
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "rca_test.h"

#define GROUP "239.9.1.1"
#define OTHER_GROUP "239.9.1.2"
#define GROUP6 "ff1e:9::1"
#define COOKIE 0xc0ffee
#define QKEY 0x01234567

/* rxe2 on a network device of its own, which a test may take away. */
#define ADDR "10.8.0.1"

static void add_device(void)
{
	if (system("rdma link delete rxe2 2>/dev/null; ip link delete d2 2>/dev/null;"
		   "ip link add d2 type dummy && ip link set d2 up &&"
		   "ip addr add " ADDR "/24 dev d2 && rdma link add rxe2 type rxe netdev d2"))
		ktap_skip("cannot make a device");
}

static uint32_t get_ud(int ctx, int queue)
{
	uint32_t id;

	EXPECT_EQ(rca_create(ctx, queue, RDMA_PS_UDP, IB_UVERBS_QPT_UD, COOKIE, &id), 0);
	return id;
}

static uint32_t get_ud_bound(int ctx, int queue, const char *ip)
{
	uint32_t id = get_ud(ctx, queue);

	EXPECT_EQ(rca_bind(ctx, id, ip, 0), 0);
	return id;
}

static int join_addr(int ctx, uint32_t id, addr_t group, uint32_t state, uint32_t *member)
{
	struct rdma_cm_alt_join cmd = {
		.size = sizeof(cmd), .id = id, .join_state = state, .cookie = 42, .group = group,
	};
	int ret = rca_call(ctx, RDMA_CM_ALT_JOIN, &cmd);

	*member = cmd.out_member;
	return ret;
}

static int join(int ctx, uint32_t id, const char *group)
{
	uint32_t member;

	return join_addr(ctx, id, make_addr(group, 0), RDMA_MC_JOIN_FLAG_FULLMEMBER, &member);
}

static uint32_t get_member(int ctx, uint32_t id, const char *group)
{
	uint32_t member;

	EXPECT_EQ(join_addr(ctx, id, make_addr(group, 0), RDMA_MC_JOIN_FLAG_FULLMEMBER, &member),
		  0);
	EXPECT(member && member != id);
	return member;
}

static int leave_count(int ctx, uint32_t member, uint32_t *reported)
{
	struct rdma_cm_alt_leave cmd = { .size = sizeof(cmd), .member = member };
	int ret = rca_call(ctx, RDMA_CM_ALT_LEAVE, &cmd);

	*reported = cmd.out_events_reported;
	return ret;
}

static int leave(int ctx, uint32_t member)
{
	uint32_t reported;

	return leave_count(ctx, member, &reported);
}

/* How often the network device is in an IPv4 group: as /proc/net/igmp has it. */
static int igmp_users(const char *ndev, const char *group)
{
	FILE *file = MUST(fopen("/proc/net/igmp", "r") ?: (FILE *)-1);
	char line[256], name[32], here[32] = "";
	unsigned int found, users;
	struct in_addr wanted;
	int ret = 0;

	EXPECT_EQ(inet_pton(AF_INET, group, &wanted), 1);
	while (fgets(line, sizeof(line), file)) {
		if (line[0] != '\t' && sscanf(line, "%*d %31s", name) == 1)
			strcpy(here, name);
		else if (sscanf(line, " %x %u", &found, &users) == 2 && found == wanted.s_addr &&
			 !strcmp(here, ndev))
			ret = users;
	}
	fclose(file);
	return ret;
}

/* The same for an IPv6 group. */
static int mld_users(const char *ndev, const char *group)
{
	FILE *file = MUST(fopen("/proc/net/igmp6", "r") ?: (FILE *)-1);
	char line[256], name[32], found[40], wanted[40];
	struct in6_addr addr;
	unsigned int users;
	int ret = 0;

	EXPECT_EQ(inet_pton(AF_INET6, group, &addr), 1);
	for (int i = 0; i < 16; i++)
		sprintf(wanted + 2 * i, "%02x", addr.s6_addr[i]);
	while (fgets(line, sizeof(line), file))
		if (sscanf(line, "%*d %31s %39s %u", name, found, &users) == 3 &&
		    !strcmp(name, ndev) && !strcmp(found, wanted))
			ret = users;
	fclose(file);
	return ret;
}

static void expect_mgid(const event_t *ev, const char *mgid)
{
	struct in6_addr wanted;

	EXPECT_EQ(inet_pton(AF_INET6, mgid, &wanted), 1);
	EXPECT(!memcmp(ev->ah_attr.grh.dgid, &wanted, sizeof(wanted)));
}

/* Is the GID of this index on port 1 of rxe0 the address? */
static bool gid_is(unsigned int index, const char *ip)
{
	char path[96], text[64] = "";
	struct in6_addr gid, wanted;
	FILE *file;

	snprintf(path, sizeof(path), "/sys/class/infiniband/rxe0/ports/1/gids/%u", index);
	file = MUST(fopen(path, "r") ?: (FILE *)-1);
	EXPECT(fscanf(file, "%63s", text) == 1);
	fclose(file);
	EXPECT_EQ(inet_pton(AF_INET6, text, &gid), 1);
	EXPECT_EQ(inet_pton(AF_INET6, ip, &wanted), 1);
	return !memcmp(&gid, &wanted, sizeof(gid));
}

static void expect_joined(int queue, uint32_t id, uint32_t member, const char *mgid)
{
	event_t ev;

	EXPECT_EVENT_STATUS(queue, MULTICAST_JOIN, id, 0, &ev);
	EXPECT_EQ(ev.flags, RDMA_CM_ALT_EVENT_F_UD);
	EXPECT_EQ(ev.cookie, COOKIE);
	EXPECT_EQ(ev.user_arg, 42);
	EXPECT_EQ(ev.member, member);
	EXPECT_EQ(ev.listen_id, 0);
	EXPECT_EQ(ev.qp_num, 0xffffff);
	EXPECT_EQ(ev.qkey, QKEY);
	EXPECT_EQ(ev.private_data_len, 0);
	EXPECT_EQ(ev.ah_attr.is_global, 1);
	EXPECT_EQ(ev.ah_attr.port_num, 1);
	EXPECT_EQ(ev.ah_attr.dlid, 0);
	EXPECT_EQ(ev.ah_attr.sl, 0);
	EXPECT_EQ(ev.ah_attr.static_rate, 0);
	EXPECT_EQ(ev.ah_attr.grh.hop_limit, 64);
	EXPECT_EQ(ev.ah_attr.grh.traffic_class, 0);
	EXPECT_EQ(ev.ah_attr.grh.flow_label, 0);
	expect_mgid(&ev, mgid);
}

TEST(ipv4_group)
{
	int ctx = get_ctx(), queue = get_queue(ctx);
	uint32_t id = get_ud_bound(ctx, queue, HERE), member, reported;

	EXPECT_EQ(igmp_users("d0", GROUP), 0);
	member = get_member(ctx, id, GROUP);
	EXPECT_EQ(igmp_users("d0", GROUP), 1);
	expect_joined(queue, id, member, "::ffff:" GROUP);
	EXPECT(!event_waits(queue));
	EXPECT_EQ(leave_count(ctx, member, &reported), 0);
	EXPECT_EQ(reported, 1);
	EXPECT_EQ(igmp_users("d0", GROUP), 0);
	EXPECT_EQ(leave(ctx, member), -ENOENT);
	EXPECT(!event_waits(queue));
	EXPECT_EQ(rca_destroy_count(ctx, id, &reported), 0);
	EXPECT_EQ(reported, 1);
}

TEST(ipv6_group)
{
	int ctx = get_ctx(), queue = get_queue(ctx);
	uint32_t id = get_ud_bound(ctx, queue, HERE6), member;

	EXPECT_EQ(mld_users("d0", GROUP6), 0);
	member = get_member(ctx, id, GROUP6);
	EXPECT_EQ(mld_users("d0", GROUP6), 1);
	expect_joined(queue, id, member, GROUP6);
	EXPECT_EQ(leave(ctx, member), 0);
	EXPECT_EQ(mld_users("d0", GROUP6), 0);
}

TEST(group_of_one_link_needs_no_scope)
{
	int ctx = get_ctx(), queue = get_queue(ctx);
	uint32_t id = get_ud_bound(ctx, queue, HERE6), member;

	member = get_member(ctx, id, "ff12:9::7");
	EXPECT_EQ(mld_users("d0", "ff12:9::7"), 1);
	expect_joined(queue, id, member, "ff12:9::7");
	EXPECT_EQ(rca_destroy(ctx, id), 0);
	EXPECT_EQ(mld_users("d0", "ff12:9::7"), 0);
}

TEST(ipv4_group_in_ipv6_form)
{
	int ctx = get_ctx(), queue = get_queue(ctx);
	uint32_t id = get_ud_bound(ctx, queue, HERE6), member;

	member = get_member(ctx, id, "::ffff:" GROUP);
	EXPECT_EQ(igmp_users("d0", GROUP), 1);
	expect_joined(queue, id, member, "::ffff:" GROUP);
	EXPECT_EQ(leave(ctx, member), 0);
	EXPECT_EQ(igmp_users("d0", GROUP), 0);
}

TEST(event_names_the_local_gid)
{
	int ctx = get_ctx(), queue = get_queue(ctx);
	event_t ev;

	get_member(ctx, get_ud_bound(ctx, queue, HERE), GROUP);
	get_event(queue, &ev);
	EXPECT(gid_is(ev.ah_attr.grh.sgid_index, "::ffff:" HERE));
	get_member(ctx, get_ud_bound(ctx, queue, THERE), GROUP);
	get_event(queue, &ev);
	EXPECT(gid_is(ev.ah_attr.grh.sgid_index, "::ffff:" THERE));
	get_member(ctx, get_ud_bound(ctx, queue, HERE6), GROUP);
	get_event(queue, &ev);
	EXPECT(gid_is(ev.ah_attr.grh.sgid_index, HERE6));
}

TEST(type_of_service_goes_into_the_address_handle)
{
	int ctx = get_ctx(), queue = get_queue(ctx);
	uint32_t id = get_ud_bound(ctx, queue, HERE);
	uint8_t tos = 0x20;
	event_t ev;

	EXPECT_EQ(rca_set_option(ctx, id, RDMA_OPTION_ID, RDMA_OPTION_ID_TOS, &tos, 1), 0);
	get_member(ctx, id, GROUP);
	get_event(queue, &ev);
	EXPECT_EQ(ev.ah_attr.grh.traffic_class, 0x20);
}

TEST(send_only_member_is_not_told_to_the_network)
{
	int ctx = get_ctx(), queue = get_queue(ctx);
	uint32_t id = get_ud_bound(ctx, queue, HERE), member;

	EXPECT_EQ(join_addr(ctx, id, make_addr(GROUP, 0), RDMA_MC_JOIN_FLAG_SENDONLY_FULLMEMBER,
			    &member), 0);
	expect_joined(queue, id, member, "::ffff:" GROUP);
	EXPECT_EQ(igmp_users("d0", GROUP), 0);
	/* Leaving it does not take away what others have joined. */
	get_member(ctx, get_ud_bound(ctx, queue, HERE), GROUP);
	EXPECT_EQ(leave(ctx, member), 0);
	EXPECT_EQ(igmp_users("d0", GROUP), 1);
}

TEST(one_group_many_times)
{
	int ctx = get_ctx(), queue = get_queue(ctx);
	uint32_t id = get_ud_bound(ctx, queue, HERE), other = get_ud_bound(ctx, queue, THERE);
	uint32_t members[3];

	members[0] = get_member(ctx, id, GROUP);
	members[1] = get_member(ctx, id, GROUP);
	members[2] = get_member(ctx, other, GROUP);
	EXPECT(members[0] != members[1]);
	EXPECT_EQ(igmp_users("d0", GROUP), 3);
	expect_joined(queue, id, members[0], "::ffff:" GROUP);
	expect_joined(queue, id, members[1], "::ffff:" GROUP);
	expect_joined(queue, other, members[2], "::ffff:" GROUP);
	EXPECT_EQ(leave(ctx, members[0]), 0);
	EXPECT_EQ(igmp_users("d0", GROUP), 2);
	EXPECT_EQ(rca_destroy(ctx, other), 0);
	EXPECT_EQ(igmp_users("d0", GROUP), 1);
	EXPECT_EQ(leave(ctx, members[2]), -ENOENT);
	EXPECT_EQ(leave(ctx, members[1]), 0);
	EXPECT_EQ(igmp_users("d0", GROUP), 0);
}

TEST(several_groups_of_one_id)
{
	int ctx = get_ctx(), queue = get_queue(ctx);
	uint32_t id = get_ud_bound(ctx, queue, HERE), reported;
	char group[32];

	for (int i = 1; i <= 15; i++) {
		snprintf(group, sizeof(group), "239.9.2.%d", i);
		get_member(ctx, id, group);
		EXPECT_EQ(igmp_users("d0", group), 1);
	}
	get_member(ctx, id, GROUP6);
	for (int i = 0; i < 4; i++)
		EXPECT_EVENT(queue, MULTICAST_JOIN, id);
	EXPECT_EQ(rca_destroy_count(ctx, id, &reported), 0);
	EXPECT_EQ(reported, 4);
	EXPECT(!event_waits(queue));
	for (int i = 1; i <= 15; i++) {
		snprintf(group, sizeof(group), "239.9.2.%d", i);
		EXPECT_EQ(igmp_users("d0", group), 0);
	}
	EXPECT_EQ(mld_users("d0", GROUP6), 0);
}

TEST(leave_drops_the_event_that_nobody_read)
{
	int ctx = get_ctx(), queue = get_queue(ctx);
	uint32_t id = get_ud_bound(ctx, queue, HERE), members[3], reported;

	for (int i = 0; i < 3; i++)
		members[i] = get_member(ctx, id, GROUP);
	EXPECT_EQ(leave_count(ctx, members[1], &reported), 0);
	EXPECT_EQ(reported, 0);
	expect_joined(queue, id, members[0], "::ffff:" GROUP);
	expect_joined(queue, id, members[2], "::ffff:" GROUP);
	EXPECT(!event_waits(queue));
	EXPECT_EQ(leave_count(ctx, members[2], &reported), 0);
	EXPECT_EQ(reported, 1);
	EXPECT_EQ(rca_destroy_count(ctx, id, &reported), 0);
	EXPECT_EQ(reported, 2);
}

TEST(events_move_with_the_id)
{
	int ctx = get_ctx(), from = get_queue(ctx), to = get_queue(ctx);
	uint32_t id = get_ud_bound(ctx, from, HERE), members[2], reported;

	members[0] = get_member(ctx, id, GROUP);
	members[1] = get_member(ctx, id, OTHER_GROUP);
	EXPECT_EQ(rca_set_queue(ctx, id, to), 0);
	EXPECT(!event_waits(from));
	MUST(close(from));
	EXPECT_EQ(igmp_users("d0", GROUP), 1);
	expect_joined(to, id, members[0], "::ffff:" GROUP);
	EXPECT_EQ(leave_count(ctx, members[1], &reported), 0);
	EXPECT_EQ(reported, 0);
	EXPECT(!event_waits(to));
	EXPECT_EQ(leave_count(ctx, members[0], &reported), 0);
	EXPECT_EQ(reported, 1);
}

TEST(id_without_a_queue)
{
	int ctx = get_ctx();
	uint32_t id = get_ud_bound(ctx, -1, HERE), member = get_member(ctx, id, GROUP);
	event_t ev;

	EXPECT_EQ(rca_get_event(ctx, id, RDMA_CM_ALT_GET_EVENT_NONBLOCK, &ev), 0);
	EXPECT_EQ(ev.type, RDMA_CM_ALT_EVENT_MULTICAST_JOIN);
	EXPECT_EQ(ev.member, member);
	EXPECT_EQ(igmp_users("d0", GROUP), 1);
	MUST(close(ctx));
	EXPECT_EQ(igmp_users("d0", GROUP), 0);
}

TEST(close_of_the_queue_ends_memberships)
{
	int ctx = get_ctx(), queue = get_queue(ctx);
	uint32_t member;

	member = get_member(ctx, get_ud_bound(ctx, queue, HERE), GROUP);
	MUST(close(queue));
	EXPECT_EQ(igmp_users("d0", GROUP), 0);
	EXPECT_EQ(leave(ctx, member), -ENOENT);
}

TEST(close_of_the_context_leaves_them_to_the_queue)
{
	int ctx = get_ctx(), queue = get_queue(ctx);
	uint32_t id = get_ud_bound(ctx, queue, HERE), member = get_member(ctx, id, GROUP);

	MUST(close(ctx));
	EXPECT_EQ(igmp_users("d0", GROUP), 1);
	expect_joined(queue, id, member, "::ffff:" GROUP);
	MUST(close(queue));
	EXPECT_EQ(igmp_users("d0", GROUP), 0);
}

TEST(kill_ends_memberships)
{
	int pipes[2];
	pid_t pid;
	char byte;

	MUST(pipe(pipes));
	pid = MUST(fork());
	if (!pid) {
		int ctx = get_ctx(), queue = get_queue(ctx);

		get_member(ctx, get_ud_bound(ctx, queue, HERE), GROUP);
		get_member(ctx, get_ud_bound(ctx, -1, HERE6), GROUP6);
		MUST(write(pipes[1], "", 1));
		pause();
	}
	close(pipes[1]);
	EXPECT_EQ(MUST(read(pipes[0], &byte, 1)), 1);
	EXPECT_EQ(igmp_users("d0", GROUP), 1);
	EXPECT_EQ(mld_users("d0", GROUP6), 1);
	MUST(kill(pid, SIGKILL));
	MUST(waitpid(pid, NULL, 0));
	EXPECT_EQ(igmp_users("d0", GROUP), 0);
	EXPECT_EQ(mld_users("d0", GROUP6), 0);
}

TEST(states_that_may_join)
{
	int ctx = get_ctx(), queue = get_queue(ctx);
	uint32_t id = get_ud(ctx, queue);

	EXPECT_EQ(join(ctx, id, GROUP), -EINVAL);	/* no address */
	EXPECT_EQ(rca_bind(ctx, id, "0.0.0.0", 0), 0);
	EXPECT_EQ(join(ctx, id, GROUP), -EINVAL);	/* no device */
	EXPECT_EQ(rca_resolve_addr(ctx, id, NULL, THERE, 1), 0);
	EXPECT_EVENT(queue, ADDR_RESOLVED, id);
	EXPECT_EQ(join(ctx, id, GROUP), 0);
	EXPECT_EVENT(queue, MULTICAST_JOIN, id);
	EXPECT_EQ(rca_resolve_route(ctx, id), 0);
	EXPECT_EVENT(queue, ROUTE_RESOLVED, id);
	EXPECT_EQ(join(ctx, id, GROUP), -EINVAL);	/* as stock */
	EXPECT_EQ(igmp_users("d0", GROUP), 1);
	EXPECT(!event_waits(queue));
}

TEST(only_datagram_ids_join)
{
	int ctx = get_ctx();
	uint32_t id = get_bound(ctx, -1, HERE, 0);

	EXPECT_EQ(join(ctx, id, GROUP), -EINVAL);
	EXPECT_EQ(igmp_users("d0", GROUP), 0);
}

TEST(only_groups_are_joined)
{
	static const char * const others[] = {
		"0.0.0.0", "::", HERE, HERE6, "223.255.255.255", "240.0.0.0", "255.255.255.255",
		"127.0.0.1", "::1", "fe80::1", "::ffff:10.9.0.1", "::ffff:0.0.0.0", NULL,
	};
	int ctx = get_ctx(), queue = get_queue(ctx);
	uint32_t id = get_ud_bound(ctx, queue, HERE), member;
	addr_t addr;

	for (unsigned int i = 0; i < sizeof(others) / sizeof(others[0]); i++)
		EXPECT_EQ(join(ctx, id, others[i]), -EINVAL);
	addr = make_addr(GROUP6, 0);
	addr.family = 27;	/* AF_IB */
	EXPECT_EQ(join_addr(ctx, id, addr, 0, &member), -EINVAL);
	addr.family = AF_UNIX;
	EXPECT_EQ(join_addr(ctx, id, addr, 0, &member), -EINVAL);
	EXPECT(!event_waits(queue));
}

TEST(unknown_join_state_is_einval)
{
	int ctx = get_ctx(), queue = get_queue(ctx);
	uint32_t id = get_ud_bound(ctx, queue, HERE), member;

	EXPECT_EQ(join_addr(ctx, id, make_addr(GROUP, 0), 2, &member), -EINVAL);
	EXPECT_EQ(join_addr(ctx, id, make_addr(GROUP, 0), UINT32_MAX, &member), -EINVAL);
	EXPECT_EQ(igmp_users("d0", GROUP), 0);
}

TEST(handles_of_ids_and_members_are_not_mixed_up)
{
	int ctx = get_ctx(), other = get_ctx(), queue = get_queue(ctx);
	uint32_t id = get_ud_bound(ctx, queue, HERE), member = get_member(ctx, id, GROUP);
	struct rdma_cm_alt_route route;

	EXPECT_EQ(leave(ctx, id), -EINVAL);
	EXPECT_EQ(leave(ctx, 0), -ENOENT);
	EXPECT_EQ(leave(other, member), -ENOENT);
	EXPECT_EQ(rca_destroy(ctx, member), -EINVAL);
	EXPECT_EQ(rca_query(ctx, member, &route), -EINVAL);
	EXPECT_EQ(rca_set_queue(ctx, member, queue), -EINVAL);
	EXPECT_EQ(join(ctx, member, GROUP), -EINVAL);
	EXPECT_EQ(join(other, id, GROUP), -ENOENT);
	EXPECT_EQ(igmp_users("d0", GROUP), 1);
	EXPECT_EQ(leave(ctx, member), 0);
}

TEST(answer_that_cannot_be_written_joins_nothing)
{
	struct rdma_cm_alt_join *cmd = MUST(mmap(NULL, 4096, PROT_READ | PROT_WRITE,
						 MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
	int ctx = get_ctx(), queue = get_queue(ctx);
	uint32_t id = get_ud_bound(ctx, queue, HERE);

	*cmd = (struct rdma_cm_alt_join) { .size = sizeof(*cmd), .id = id,
					   .group = make_addr(GROUP, 0) };
	MUST(mprotect(cmd, 4096, PROT_READ));
	EXPECT_EQ(rca_call(ctx, RDMA_CM_ALT_JOIN, cmd), -EFAULT);
	EXPECT_EQ(igmp_users("d0", GROUP), 0);
	EXPECT(!event_waits(queue));
}

TEST(device_that_is_removed_takes_its_memberships)
{
	uint32_t id, members[2], reported;
	int ctx, queue;

	add_device();
	ctx = get_ctx();
	queue = get_queue(ctx);
	id = get_ud_bound(ctx, queue, ADDR);
	members[0] = get_member(ctx, id, GROUP);
	expect_joined(queue, id, members[0], "::ffff:" GROUP);
	members[1] = get_member(ctx, id, OTHER_GROUP);
	EXPECT_EQ(igmp_users("d2", GROUP), 1);
	EXPECT_EQ(system("rdma link delete rxe2"), 0);
	EXPECT_EQ(igmp_users("d2", GROUP), 0);
	EXPECT_EQ(igmp_users("d2", OTHER_GROUP), 0);
	expect_joined(queue, id, members[1], "::ffff:" OTHER_GROUP);
	EXPECT_EVENT(queue, DEVICE_REMOVAL, id);
	EXPECT(!event_waits(queue));
	EXPECT_EQ(join(ctx, id, GROUP), -ENXIO);
	EXPECT_EQ(leave_count(ctx, members[0], &reported), 0);
	EXPECT_EQ(reported, 1);
	EXPECT_EQ(rca_destroy_count(ctx, id, &reported), 0);
	EXPECT_EQ(reported, 3);
	EXPECT_EQ(leave(ctx, members[1]), -ENOENT);
}

TEST(network_device_that_is_removed_takes_them_along)
{
	uint32_t id, member;
	int ctx, queue;

	add_device();
	ctx = get_ctx();
	queue = get_queue(ctx);
	id = get_ud_bound(ctx, queue, ADDR);
	member = get_member(ctx, id, GROUP);
	EXPECT_EVENT(queue, MULTICAST_JOIN, id);
	/* Returns when nobody has a reference on it any more. */
	EXPECT_EQ(system("ip link delete d2"), 0);
	EXPECT_EVENT(queue, DEVICE_REMOVAL, id);
	EXPECT_EQ(leave(ctx, member), 0);
}

TEST(memberships_of_a_lost_stack_are_not_left_twice)
{
	uint32_t id, member;
	int ctx, queue;

	/* The device leaves the IP stack and comes back; what is joined then is another's. */
	add_device();
	ctx = get_ctx();
	queue = get_queue(ctx);
	id = get_ud_bound(ctx, queue, ADDR);
	member = get_member(ctx, id, GROUP);
	EXPECT_EQ(system("ip link set d2 mtu 68"), 0);
	EXPECT_EQ(igmp_users("d2", GROUP), 1);
	EXPECT_EQ(system("ip link set d2 mtu 67"), 0);
	EXPECT_EQ(igmp_users("d2", GROUP), 0);
	EXPECT_EQ(system("ip link set d2 mtu 1500 && ip addr add 10.8.1.1/24 dev d2"), 0);
	EXPECT_EQ(igmp_users("d2", GROUP), 0);
	EXPECT_EQ(system("ip addr add " GROUP "/32 dev d2 autojoin"), 0);
	EXPECT_EQ(igmp_users("d2", GROUP), 1);
	EXPECT_EQ(leave(ctx, member), 0);
	EXPECT_EQ(igmp_users("d2", GROUP), 1);
	EXPECT_EQ(system("rdma link delete rxe2; ip link delete d2"), 0);
}

struct busy {
	int ctx;
	bool stop;
	uint32_t member;
};

static void *join_and_leave(void *arg)
{
	struct busy *busy = arg;

	while (!__atomic_load_n(&busy->stop, __ATOMIC_SEQ_CST)) {
		uint32_t id = get_ud(busy->ctx, -1), member;

		if (!rca_bind(busy->ctx, id, ADDR, 0)) {
			join_addr(busy->ctx, id, make_addr(GROUP, 0), 0, &member);
			if (!join_addr(busy->ctx, id, make_addr(GROUP6, 0), 0, &member))
				leave(busy->ctx, member);
		}
		rca_destroy(busy->ctx, id);
	}
	return NULL;
}

TEST(device_that_comes_and_goes_under_load)
{
	struct busy busy = { .ctx = get_ctx() };
	pthread_t threads[2];

	ktap_timeout(120);
	add_device();
	for (int i = 0; i < 2; i++)
		EXPECT_EQ(pthread_create(&threads[i], NULL, join_and_leave, &busy), 0);
	for (int i = 0; i < 3; i++) {
		EXPECT_EQ(system("rdma link delete rxe2; sleep 0.2;"
				 "rdma link add rxe2 type rxe netdev d2; sleep 0.2"), 0);
	}
	__atomic_store_n(&busy.stop, true, __ATOMIC_SEQ_CST);
	for (int i = 0; i < 2; i++)
		EXPECT_EQ(pthread_join(threads[i], NULL), 0);
	EXPECT_EQ(igmp_users("d2", GROUP), 0);
	EXPECT_EQ(mld_users("d2", GROUP6), 0);
	EXPECT_EQ(system("rdma link delete rxe2; ip link delete d2"), 0);
}

/* Handles are given one after the other, so the next ones can be guessed. */
static void *destroy_and_leave(void *arg)
{
	struct busy *busy = arg;

	while (!__atomic_load_n(&busy->stop, __ATOMIC_SEQ_CST)) {
		uint32_t handle = __atomic_load_n(&busy->member, __ATOMIC_SEQ_CST);

		for (uint32_t n = 0; n < 4; n++) {
			leave(busy->ctx, handle + n);
			if (n % 2)
				rca_destroy(busy->ctx, handle + n);
		}
	}
	return NULL;
}

TEST(leave_and_destroy_race_with_join)
{
	struct busy busy = { .ctx = get_ctx() };
	int queue = get_queue(busy.ctx);
	pthread_t thread;
	event_t ev;

	ktap_timeout(120);
	EXPECT_EQ(pthread_create(&thread, NULL, destroy_and_leave, &busy), 0);
	for (int i = 0; i < 500; i++) {
		uint32_t id = get_ud(busy.ctx, queue), member;

		__atomic_store_n(&busy.member, id, __ATOMIC_SEQ_CST);
		rca_bind(busy.ctx, id, HERE, 0);
		for (int n = 0; n < 3; n++)
			join_addr(busy.ctx, id, make_addr(GROUP, 0), 0, &member);
		rca_destroy(busy.ctx, id);
		while (event_waits(queue))
			EXPECT(read(queue, &ev, sizeof(ev)) == sizeof(ev));
	}
	__atomic_store_n(&busy.stop, true, __ATOMIC_SEQ_CST);
	EXPECT_EQ(pthread_join(thread, NULL), 0);
	EXPECT_EQ(igmp_users("d0", GROUP), 0);
}

KTAP_MAIN
