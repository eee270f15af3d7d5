// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/* Multicast groups: joining them, the event of a join, and ids that cannot join. */
#include "groups.h"

#define MOST 1024	/* memberships of one id */

/* Whether the GID with this index on port 1 of rxe0 is the address. */
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

TEST(ipv4_group)
{
	int ctx = get_ctx(), queue = get_queue(ctx);
	uint32_t id = get_ud_bound(ctx, queue, HERE), member, reported;

	EXPECT_EQ(igmp_users("d0", GROUP), 0);
	member = get_member(ctx, id, GROUP);
	EXPECT_EQ(igmp_users("d0", GROUP), 1);
	expect_joined(queue, id, member, "::ffff:" GROUP);
	EXPECT(!event_waits(queue));
	EXPECT_LEFT(ctx, member, 1);
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

	EXPECT_EQ(rca_join(ctx, id, GROUP, RDMA_MC_JOIN_FLAG_SENDONLY_FULLMEMBER, 42, &member), 0);
	expect_joined(queue, id, member, "::ffff:" GROUP);
	EXPECT_EQ(igmp_users("d0", GROUP), 0);
	/* Leaving a group does not affect other members. */
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

TEST(memberships_of_an_id_are_limited)
{
	int ctx = get_ctx(), queue = get_queue(ctx);
	uint32_t id = get_ud_bound(ctx, queue, HERE), member = 0;

	/* Failed joins are not counted. */
	EXPECT_EQ(join(ctx, id, HERE), -EINVAL);
	for (int i = 0; i < MOST; i++)
		member = get_member(ctx, id, GROUP);
	EXPECT_EQ(join(ctx, id, OTHER_GROUP), -ENOBUFS);
	EXPECT_EQ(igmp_users("d0", GROUP), MOST);
	EXPECT_EQ(igmp_users("d0", OTHER_GROUP), 0);
	EXPECT_EQ(join(ctx, get_ud_bound(ctx, queue, HERE), OTHER_GROUP), 0);
	EXPECT_EQ(leave(ctx, member), 0);
	EXPECT_EQ(join(ctx, id, OTHER_GROUP), 0);
	EXPECT_EQ(join(ctx, id, OTHER_GROUP), -ENOBUFS);
	EXPECT_EQ(rca_destroy(ctx, id), 0);
	EXPECT_EQ(igmp_users("d0", GROUP), 0);
}

TEST(states_that_may_join)
{
	int ctx = get_ctx(), queue = get_queue(ctx);
	uint32_t id = get_ud(ctx, queue);

	EXPECT_EQ(join(ctx, id, GROUP), -EINVAL);	/* no address */
	EXPECT_EQ(rca_bind(ctx, id, "0.0.0.0", 0), 0);
	EXPECT_EQ(join(ctx, id, GROUP), -EINVAL);	/* no device */
	await_addr(ctx, queue, id, THERE, 1);
	EXPECT_EQ(join(ctx, id, GROUP), 0);
	EXPECT_EVENT(queue, MULTICAST_JOIN, id);
	await_route(ctx, queue, id);
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
	struct rdma_cm_alt_join cmd = { .size = sizeof(cmd), .group = make_addr(GROUP6, 0) };
	uint32_t id = get_ud_bound(ctx, queue, HERE);

	for (unsigned int i = 0; i < sizeof(others) / sizeof(others[0]); i++)
		EXPECT_EQ(join(ctx, id, others[i]), -EINVAL);
	cmd.id = id;
	cmd.group.family = 27;	/* AF_IB */
	EXPECT_EQ(rca_call(ctx, RDMA_CM_ALT_JOIN, &cmd), -EINVAL);
	cmd.group.family = AF_UNIX;
	EXPECT_EQ(rca_call(ctx, RDMA_CM_ALT_JOIN, &cmd), -EINVAL);
	EXPECT(!event_waits(queue));
}

TEST(unknown_join_state_is_einval)
{
	int ctx = get_ctx(), queue = get_queue(ctx);
	uint32_t id = get_ud_bound(ctx, queue, HERE), member;

	EXPECT_EQ(rca_join(ctx, id, GROUP, RDMA_MC_JOIN_FLAG_RESERVED, 42, &member), -EINVAL);
	EXPECT_EQ(rca_join(ctx, id, GROUP, UINT32_MAX, 42, &member), -EINVAL);
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

KTAP_MAIN
