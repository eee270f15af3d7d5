// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * A fault at each place of the netlink family: a dump is complete or fails, an operation has the
 * same result whether its failure can be recorded or not, and a listener gets the notification or
 * ENOBUFS. A network namespace is created completely or not at all.
 */
#define _GNU_SOURCE
#include <fcntl.h>
#include <linux/genetlink.h>
#include <linux/netlink.h>
#include <rdma/rdma_cm_alt_netlink.h>
#include <sched.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <unistd.h>

#include "rca_test.h"
#include "sweep.h"

#define MODULE "rdma_cm_alt"

/* More ids than one message of a dump can hold. */
#define IDS 40

static int ctx, queue, family, group;

struct request {
	struct nlmsghdr head;
	struct genlmsghdr genl;
	struct nlattr attr;
	char name[16];
};

static int get_socket(void)
{
	struct sockaddr_nl any = { .nl_family = AF_NETLINK };
	struct timeval patience = { .tv_sec = PATIENCE };
	int nl = MUST(socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC, NETLINK_GENERIC));

	MUST(setsockopt(nl, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof(patience)));
	/* A socket without a port takes messages to the group for answers. */
	MUST(bind(nl, (struct sockaddr *)&any, sizeof(any)));
	return nl;
}

static struct nlattr *find_attr(void *attrs, int len, int type)
{
	struct nlattr *attr = attrs;

	while (len >= NLA_HDRLEN && (attr->nla_type & NLA_TYPE_MASK) != type) {
		len -= NLA_ALIGN(attr->nla_len);
		attr = (void *)attr + NLA_ALIGN(attr->nla_len);
	}
	EXPECT(len >= NLA_HDRLEN);
	return attr;
}

/* An attribute of a generic netlink message. */
static struct nlattr *attr_of(struct nlmsghdr *head, int type)
{
	return find_attr(NLMSG_DATA(head) + GENL_HDRLEN,
			 head->nlmsg_len - NLMSG_HDRLEN - GENL_HDRLEN, type);
}

/* The payload of a nested attribute. */
static void *inside(struct nlattr *attr, int type)
{
	return find_attr((void *)attr + NLA_HDRLEN, attr->nla_len - NLA_HDRLEN, type);
}

static void find_family(void)
{
	struct request req = {
		.head = {
			.nlmsg_len = NLMSG_LENGTH(GENL_HDRLEN + NLA_HDRLEN +
						  NLA_ALIGN(sizeof(RDMA_CM_ALT_NL_FAMILY))),
			.nlmsg_type = GENL_ID_CTRL,
			.nlmsg_flags = NLM_F_REQUEST,
		},
		.genl = { .cmd = CTRL_CMD_GETFAMILY },
		.attr = { NLA_HDRLEN + sizeof(RDMA_CM_ALT_NL_FAMILY), CTRL_ATTR_FAMILY_NAME },
		.name = RDMA_CM_ALT_NL_FAMILY,
	};
	char answer[4096] __attribute__((aligned(8)));
	int nl = get_socket(), len;
	void *attrs = answer + NLMSG_HDRLEN + GENL_HDRLEN;
	struct nlattr *groups;

	MUST(send(nl, &req, req.head.nlmsg_len, 0));
	len = MUST(recv(nl, answer, sizeof(answer), 0)) - NLMSG_HDRLEN - GENL_HDRLEN;
	family = *(uint16_t *)((void *)find_attr(attrs, len, CTRL_ATTR_FAMILY_ID) + NLA_HDRLEN);
	groups = find_attr(attrs, len, CTRL_ATTR_MCAST_GROUPS);
	group = *(uint32_t *)(inside(inside(groups, 1), CTRL_ATTR_MCAST_GRP_ID) + NLA_HDRLEN);
	MUST(close(nl));
}

static void open_queue(void)
{
	ctx = get_ctx();
	queue = get_queue(ctx);
	find_family();
}

/* Counts messages of an answer. 1: more will follow; 0 or a negative errno: the end. */
static int read_some(int nl, uint64_t *serial, unsigned int *count)
{
	static char answer[1 << 15] __attribute__((aligned(8)));
	int left = OR_ERRNO(recv(nl, answer, sizeof(answer), 0));
	struct nlmsghdr *head = (void *)answer;

	if (left < 0)
		return left;
	for (; NLMSG_OK(head, left); head = NLMSG_NEXT(head, left)) {
		if (head->nlmsg_type == NLMSG_DONE || head->nlmsg_type == NLMSG_ERROR)
			return *(int *)NLMSG_DATA(head);
		++*count;
		if (serial)
			memcpy(serial, (void *)attr_of(head, RDMA_CM_ALT_NL_A_SERIAL) + NLA_HDRLEN,
			       sizeof(*serial));
	}
	return 1;
}

/* A complete dump. */
static int dump(int nl, int cmd, uint64_t *serial, unsigned int *count)
{
	struct {
		struct nlmsghdr head;
		struct genlmsghdr genl;
	} req = {
		.head = {
			.nlmsg_len = sizeof(req),
			.nlmsg_type = family,
			.nlmsg_flags = NLM_F_REQUEST | NLM_F_DUMP,
		},
		.genl = { .cmd = cmd },
	};
	int ret = OR_ERRNO(send(nl, &req, sizeof(req), 0));

	*count = 0;
	if (ret < 0)
		return ret;
	do {
		ret = read_some(nl, serial, count);
	} while (ret > 0);
	return ret;
}

/* Netlink fails with ENOBUFS without memory. */
static void sweep_dump(int cmd)
{
	unsigned int all, count;
	struct sweep s = {};
	int nl = get_socket();

	EXPECT_EQ(dump(nl, cmd, NULL, &all), 0);
	/* Only InfiniBand has paths, and peers are known only while trunks are on. */
	EXPECT(all > 0 || cmd == RDMA_CM_ALT_NL_PATH || cmd == RDMA_CM_ALT_NL_PEER);
	MUST(close(nl));
	while (sweep_more(&s)) {
		nl = get_socket();
		if (!SWEEP_FAILS_AS(&s, ENOBUFS, dump(nl, cmd, NULL, &count)))
			EXPECT_EQ(count, all);
		MUST(close(nl));
	}
}

/* A bind to a port that is in use. */
static int fail_bind(uint32_t id)
{
	return rca_bind(ctx, id, HERE, 7472);
}

static uint32_t get_failing(void)
{
	get_bound(ctx, queue, HERE, 7472);
	return get_id(ctx, queue, 1);
}

/* The serial number of the last failure; 0: there is none. */
static uint64_t last_failure(void)
{
	uint64_t serial = 0;
	unsigned int count;
	int nl = get_socket();

	EXPECT_EQ(dump(nl, RDMA_CM_ALT_NL_FAILURE, &serial, &count), 0);
	MUST(close(nl));
	return serial;
}

TEST(ids)
{
	uint32_t id;
	event_t ev;

	open_queue();
	for (int i = 0; i < IDS; i++)
		get_bound(ctx, queue, HERE, 0);
	/* An id without a queue, and one whose queue has no descriptor. */
	EXPECT_EQ(rca_create(ctx, -1, RDMA_PS_TCP, IB_UVERBS_QPT_RC, 0, &id), 0);
	EXPECT_EQ(rca_create(ctx, -1, RDMA_PS_TCP, IB_UVERBS_QPT_RC, 0, &id), 0);
	EXPECT_EQ(rca_get_event(ctx, id, RDMA_CM_ALT_GET_EVENT_NONBLOCK, &ev), -EAGAIN);
	sweep_dump(RDMA_CM_ALT_NL_ID);
}

TEST(queues)
{
	open_queue();
	sweep_dump(RDMA_CM_ALT_NL_QUEUE);
}

TEST(ports)
{
	open_queue();
	sweep_dump(RDMA_CM_ALT_NL_PORT);
}

TEST(paths)
{
	open_queue();
	sweep_dump(RDMA_CM_ALT_NL_PATH);
}

TEST(peers)
{
	open_queue();
	sweep_dump(RDMA_CM_ALT_NL_PEER);
}

TEST(failures)
{
	uint32_t id;

	open_queue();
	id = get_failing();
	for (int i = 0; i < 20; i++)
		EXPECT(fail_bind(id) < 0);
	sweep_dump(RDMA_CM_ALT_NL_FAILURE);
}

static int get_listener(void)
{
	int nl = get_socket();

	MUST(setsockopt(nl, SOL_NETLINK, NETLINK_ADD_MEMBERSHIP, &group, sizeof(group)));
	return nl;
}

/* true: a notification was received; false: one was lost */
static bool hears(int nl)
{
	unsigned int count = 0;
	int ret = read_some(nl, NULL, &count);

	if (ret != -ENOBUFS)
		EXPECT_EQ(ret, 1);
	return ret == 1;
}

/* In the operation: without memory its failure replaces an older one. */
TEST(notification_of_an_operation)
{
	struct text report = text_of_function("rca_report");
	unsigned int heard = 0, missed = 0;
	struct sweep s = {};
	uint64_t before;
	uint32_t id;
	int nl, ret;

	open_queue();
	id = get_failing();
	ret = fail_bind(id);
	EXPECT(ret < 0);
	nl = get_listener();
	faults_within(&report, NULL);
	while (sweep_more(&s)) {
		before = last_failure();
		SWEEP(&s, fail_bind(id) - ret);
		EXPECT_EQ(s.ret, 0);
		EXPECT_EQ(last_failure(), before + 1);
		if (hears(nl))
			heard++;
		else
			missed++;
	}
	faults_within(NULL, NULL);
	EXPECT(heard && missed);
}

/* In the work that sends notifications: the faults are those of all tasks. */
TEST(notification_that_is_sent)
{
	struct text report = text_of_function("deliver_work");
	unsigned int heard = 0, missed = 0;
	uint32_t id;
	int nl;

	open_queue();
	id = get_failing();
	nl = get_listener();
	faults_within(&report, NULL);
	faults_random(50);
	for (int i = 0; i < 100; i++) {
		EXPECT(fail_bind(id) < 0);
		if (hears(nl))
			heard++;
		else
			missed++;
	}
	ktap_note("faults tried: %u allocations in the work that sends", faults_end());
	EXPECT(heard && missed);
	EXPECT(fail_bind(id) < 0);
	EXPECT(hears(nl));
}

TEST(network_namespace)
{
	struct text ours = text_of_module(MODULE);
	int here = MUST(open("/proc/self/ns/net", O_RDONLY | O_CLOEXEC));
	struct sweep s = {};

	faults_within(&ours, NULL);
	while (sweep_more(&s)) {
		if (SWEEP_FAILS(&s, OR_ERRNO(unshare(CLONE_NEWNET))))
			continue;
		EXPECT_EQ(access("/proc/sys/net/rdma_cm_alt", F_OK), 0);
		MUST(setns(here, CLONE_NEWNET));
	}
	faults_within(NULL, NULL);
}

KTAP_MAIN
