// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/* Multicast: ids that join groups, and the memberships of network devices. */
#include "groups.h"


uint32_t get_ud(int ctx, int queue)
{
	uint32_t id;

	EXPECT_EQ(rca_create(ctx, queue, RDMA_PS_UDP, IB_UVERBS_QPT_UD, COOKIE, &id), 0);
	return id;
}

uint32_t get_ud_bound(int ctx, int queue, const char *ip)
{
	uint32_t id = get_ud(ctx, queue);

	EXPECT_EQ(rca_bind(ctx, id, ip, 0), 0);
	return id;
}

int join(int ctx, uint32_t id, const char *group)
{
	uint32_t member;

	return rca_join(ctx, id, group, RDMA_MC_JOIN_FLAG_FULLMEMBER, 42, &member);
}

uint32_t get_member(int ctx, uint32_t id, const char *group)
{
	uint32_t member;

	EXPECT_EQ(rca_join(ctx, id, group, RDMA_MC_JOIN_FLAG_FULLMEMBER, 42, &member), 0);
	EXPECT(member && member != id);
	return member;
}

int leave(int ctx, uint32_t member)
{
	uint32_t reported;

	return rca_leave(ctx, member, &reported);
}

void expect_left(const char *file, int line, int ctx, uint32_t member, uint32_t wanted)
{
	uint32_t reported;

	ktap_expect_eq(file, line, "leave", rca_leave(ctx, member, &reported), 0);
	ktap_expect_eq(file, line, "events reported", reported, wanted);
}

int igmp_users(const char *ndev, const char *group)
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

int mld_users(const char *ndev, const char *group)
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

void expect_joined(int queue, uint32_t id, uint32_t member, const char *mgid)
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
