// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * Any messages to the netlink family: of root, of a user without rights, and of another network
 * namespace. Headers and attributes have wrong lengths, types and nesting, several messages are
 * sent at once, answers are read into small buffers, and sockets are closed in the middle of a
 * dump, while ids come and go.
 *
 * - An errno is one of those that the family and generic netlink have, and EINVAL says why.
 * - Answers are well-formed, and belong to a request.
 * - A user sees no object of another user, and a namespace none of another one.
 * - A valid request is answered as ever, and nothing is left.
 *
 * Environment: FUZZ_MESSAGES (100,000, for each of the three), FUZZ_SEED (1).
 */
#define _GNU_SOURCE
#include <grp.h>
#include <linux/genetlink.h>
#include <linux/netlink.h>
#include <rdma/rdma_cm_alt_netlink.h>
#include <sys/socket.h>

#include "cm_mad.h"
#include "inventory.h"
#include "rca_test.h"
#include "tasks.h"

#ifndef SOL_NETLINK
#define SOL_NETLINK 270
#endif

#define NOBODY_UID 65534
#define AT_ONCE 8		/* messages of a datagram */
#define FRESH 64		/* datagrams until the socket is replaced */
#define ROOM 16384
#define OBJECTS 40		/* ids of root, more than one datagram of a dump */

/* who: who sends. */
enum who { OF_ROOT, OF_NOBODY, OF_ELSEWHERE };

struct fuzzer {
	enum who who;
	int sock;
	uint16_t family;
	uint32_t group;
	uint32_t first_seq, seq;	/* of this socket */
	uint64_t state;
	unsigned long messages, answers, dumps, errors[134];
	int ctx;
	uint32_t id;
};

static size_t put_attr(uint8_t *to, uint16_t type, const void *data, uint16_t len)
{
	struct nlattr attr = { .nla_len = NLA_HDRLEN + len, .nla_type = type };

	memset(to, 0, NLA_ALIGN(attr.nla_len));
	memcpy(to, &attr, sizeof(attr));
	memcpy(to + NLA_HDRLEN, data, len);
	return NLA_ALIGN(attr.nla_len);
}

static int get_socket(void)
{
	struct timeval patience = { .tv_sec = PATIENCE };
	int sock = MUST(socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC, NETLINK_GENERIC)), one = 1;

	MUST(setsockopt(sock, SOL_NETLINK, NETLINK_EXT_ACK, &one, sizeof(one)));
	MUST(setsockopt(sock, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof(patience)));
	return sock;
}

static void send_bytes(int sock, const void *data, size_t len)
{
	struct sockaddr_nl to = { .nl_family = AF_NETLINK };
	ssize_t sent = sendto(sock, data, len, 0, (struct sockaddr *)&to, sizeof(to));

	/* A socket with a full receive buffer takes no request; one that was read empty does. */
	if (sent < 0)
		EXPECT(errno == ENOBUFS || errno == EAGAIN || errno == EINVAL || errno == ENODATA);
}

static const struct nlattr *find_attr(const void *data, size_t len, uint16_t type)
{
	while (len >= NLA_HDRLEN) {
		const struct nlattr *attr = data;

		if (attr->nla_len < NLA_HDRLEN || attr->nla_len > len)
			ktap_fail(__FILE__, __LINE__, "an attribute of %u bytes where %zu are left",
				  attr->nla_len, len);
		if ((attr->nla_type & NLA_TYPE_MASK) == type)
			return attr;
		if ((size_t)NLA_ALIGN(attr->nla_len) >= len)
			return NULL;
		data += NLA_ALIGN(attr->nla_len);
		len -= NLA_ALIGN(attr->nla_len);
	}
	return NULL;
}

/* The numbers of the family and of its group. */
static void find_family(struct fuzzer *fuzzer)
{
	uint8_t buf[4096];
	struct nlmsghdr *nlh = (struct nlmsghdr *)buf;
	struct genlmsghdr *genl = NLMSG_DATA(nlh);
	const struct nlattr *attr;
	int sock = get_socket();
	ssize_t len;

	*nlh = (struct nlmsghdr) { .nlmsg_type = GENL_ID_CTRL, .nlmsg_flags = NLM_F_REQUEST };
	*genl = (struct genlmsghdr) { .cmd = CTRL_CMD_GETFAMILY, .version = 1 };
	nlh->nlmsg_len = NLMSG_LENGTH(GENL_HDRLEN) +
		put_attr((uint8_t *)genl + GENL_HDRLEN, CTRL_ATTR_FAMILY_NAME,
			 RDMA_CM_ALT_NL_FAMILY, sizeof(RDMA_CM_ALT_NL_FAMILY));
	send_bytes(sock, buf, nlh->nlmsg_len);
	len = MUST(recv(sock, buf, sizeof(buf), 0)) - NLMSG_LENGTH(GENL_HDRLEN);
	attr = find_attr((uint8_t *)genl + GENL_HDRLEN, len, CTRL_ATTR_FAMILY_ID);
	EXPECT(attr);
	memcpy(&fuzzer->family, attr + 1, sizeof(fuzzer->family));
	attr = find_attr((uint8_t *)genl + GENL_HDRLEN, len, CTRL_ATTR_MCAST_GROUPS);
	EXPECT(attr);
	attr = attr + 1;	/* the only group */
	attr = find_attr(attr + 1, attr->nla_len - NLA_HDRLEN, CTRL_ATTR_MCAST_GRP_ID);
	EXPECT(attr);
	memcpy(&fuzzer->group, attr + 1, sizeof(fuzzer->group));
	close(sock);
}

static void fresh_socket(struct fuzzer *fuzzer)
{
	int size = 1 << (8 + draw_below(&fuzzer->state, 12)), one = 1;
	int ret, group = fuzzer->group;

	if (fuzzer->sock >= 0)
		close(fuzzer->sock);
	fuzzer->sock = get_socket();
	fuzzer->first_seq = draw(&fuzzer->state) >> 1;
	fuzzer->seq = fuzzer->first_seq;
	if (draw_below(&fuzzer->state, 2))
		MUST(setsockopt(fuzzer->sock, SOL_SOCKET, SO_RCVBUF, &size, sizeof(size)));
	if (draw_below(&fuzzer->state, 2))
		MUST(setsockopt(fuzzer->sock, SOL_NETLINK, NETLINK_GET_STRICT_CHK, &one,
				sizeof(one)));
	if (draw_below(&fuzzer->state, 8))
		return;
	ret = setsockopt(fuzzer->sock, SOL_NETLINK, NETLINK_ADD_MEMBERSHIP, &group, sizeof(group));
	if (fuzzer->who == OF_NOBODY)
		EXPECT(ret == -1 && errno == EPERM);
	else
		EXPECT_EQ(ret, 0);
}

static size_t any_attr(uint8_t *to, uint64_t *state, int depth)
{
	static const uint16_t lens[] = { 0, 1, 2, 4, 8, 16, 17, 48, 60 };
	uint16_t type = draw_below(state, 2) ? draw_below(state, RDMA_CM_ALT_NL_A_MAX + 2) :
			draw(state);
	uint8_t data[256];
	uint16_t len = lens[draw_below(state, sizeof(lens) / sizeof(lens[0]))];
	size_t total;

	draw_bytes(state, data, sizeof(data));
	if (depth < 3 && !draw_below(state, 3)) {
		len = any_attr(data, state, depth + 1);
		type |= NLA_F_NESTED;
	}
	total = put_attr(to, type, data, len);
	if (!draw_below(state, 6))
		((struct nlattr *)to)->nla_len = draw_below(state, 2) ? draw(state) :
						 len + draw_below(state, 9);
	return total;
}

/* A message that is nearly valid; returns its aligned length. */
static size_t any_message(struct fuzzer *fuzzer, uint8_t *to)
{
	static const uint16_t flags[] = {
		NLM_F_REQUEST | NLM_F_DUMP, NLM_F_REQUEST | NLM_F_DUMP, NLM_F_REQUEST | NLM_F_ACK,
		NLM_F_REQUEST | NLM_F_DUMP | NLM_F_ACK, NLM_F_REQUEST, 0,
	};
	uint64_t *state = &fuzzer->state;
	uint32_t flag = draw_below(state, 7);
	struct nlmsghdr *nlh = (struct nlmsghdr *)to;
	struct genlmsghdr *genl = NLMSG_DATA(nlh);
	size_t len = NLMSG_LENGTH(GENL_HDRLEN);

	*nlh = (struct nlmsghdr) {
		.nlmsg_type = draw_below(state, 32) ? fuzzer->family :
			      draw_below(state, NLMSG_MIN_TYPE),
		.nlmsg_flags = flag < 6 ? flags[flag] : draw(state),
		.nlmsg_seq = ++fuzzer->seq,
		.nlmsg_pid = draw_below(state, 8) ? 0 : draw(state),
	};
	*genl = (struct genlmsghdr) {
		.cmd = draw_below(state, 8) ? draw_below(state, RDMA_CM_ALT_NL_MAX + 2) :
		       draw(state),
		.version = draw_below(state, 4) ? 1 : draw(state),
		.reserved = draw_below(state, 8) ? 0 : draw(state),
	};
	for (uint32_t attrs = draw_below(state, 2) ? 0 : draw_below(state, 4); attrs; attrs--)
		len += any_attr(to + len, state, 0);
	nlh->nlmsg_len = len;
	if (!draw_below(state, 16)) {
		nlh->nlmsg_len = draw_below(state, 2) ? draw_below(state, len + 1) : draw(state);
		len = draw_below(state, 2) ? NLMSG_ALIGN(draw_below(state, len)) : len;
	}
	fuzzer->messages++;
	return NLMSG_ALIGN(len);
}

static const char *extack(const struct nlmsghdr *nlh)
{
	const struct nlmsgerr *err = NLMSG_DATA(nlh);
	size_t at = nlh->nlmsg_type == NLMSG_DONE ? NLMSG_LENGTH(sizeof(int)) :
		    NLMSG_LENGTH(sizeof(*err)) +
		    (nlh->nlmsg_flags & NLM_F_CAPPED ? 0 :
		     NLMSG_ALIGN(err->msg.nlmsg_len) - NLMSG_HDRLEN);
	const struct nlattr *attr;

	if (!(nlh->nlmsg_flags & NLM_F_ACK_TLVS) || at >= nlh->nlmsg_len)
		return NULL;
	attr = find_attr((const uint8_t *)nlh + at, nlh->nlmsg_len - at, NLMSGERR_ATTR_MSG);
	return attr ? (const char *)(attr + 1) : "an offset";
}

static void check_error(struct fuzzer *fuzzer, const struct nlmsghdr *nlh)
{
	const struct nlmsgerr *ack = NLMSG_DATA(nlh);
	bool done = nlh->nlmsg_type == NLMSG_DONE;
	int err = -ack->error;

	EXPECT(nlh->nlmsg_len >= NLMSG_LENGTH(sizeof(int)));
	/* After a message with a wrong length something else is taken for a message. */
	if (!done && ack->msg.nlmsg_type != fuzzer->family)
		return;
	switch (err) {
	case 0:
	case EBUSY:		/* a dump is under way */
	case EOPNOTSUPP:
	case ENOMEM:
	case ENOBUFS:
		break;
	case EPERM:
		EXPECT(fuzzer->who == OF_NOBODY);
		break;
	case EINVAL:
	case ERANGE:
		/* A message that is too short for its header is refused without a reason. */
		if (!done && !extack(nlh) && ack->msg.nlmsg_len >= NLMSG_LENGTH(GENL_HDRLEN))
			ktap_fail(__FILE__, __LINE__, "%s without a reason, request flags %#x",
				  strerror(err), ack->msg.nlmsg_flags);
		break;
	default:
		ktap_fail(__FILE__, __LINE__, "an answer says %s", strerror(err));
	}
	fuzzer->errors[err]++;
}

static void check_object(struct fuzzer *fuzzer, const struct nlmsghdr *nlh)
{
	const struct genlmsghdr *genl = NLMSG_DATA(nlh);
	const uint8_t *attrs = (const uint8_t *)genl + GENL_HDRLEN;
	size_t len = nlh->nlmsg_len - NLMSG_LENGTH(GENL_HDRLEN);
	const struct nlattr *uid = find_attr(attrs, len, RDMA_CM_ALT_NL_A_UID);
	const struct nlattr *pid = find_attr(attrs, len, RDMA_CM_ALT_NL_A_PID);

	EXPECT(nlh->nlmsg_len >= NLMSG_LENGTH(GENL_HDRLEN));
	EXPECT(genl->cmd && genl->cmd <= RDMA_CM_ALT_NL_MAX);
	EXPECT(!find_attr(attrs, len, UINT16_MAX));	/* all are well-formed */
	fuzzer->answers++;
	if (genl->cmd == RDMA_CM_ALT_NL_STORY) {
		EXPECT(fuzzer->who != OF_NOBODY);
		return;
	}
	EXPECT(nlh->nlmsg_flags & NLM_F_MULTI);
	EXPECT(nlh->nlmsg_seq - fuzzer->first_seq <= fuzzer->seq - fuzzer->first_seq);
	if (uid && fuzzer->who == OF_NOBODY && *(const uint32_t *)(uid + 1) != NOBODY_UID)
		ktap_fail(__FILE__, __LINE__, "nobody sees an object of user %u (command %u)",
			  *(const uint32_t *)(uid + 1), genl->cmd);
	if (fuzzer->who == OF_ELSEWHERE && genl->cmd == RDMA_CM_ALT_NL_ID)
		EXPECT(pid && *(const uint32_t *)(pid + 1) == (uint32_t)getpid());
	EXPECT(fuzzer->who != OF_NOBODY || genl->cmd != RDMA_CM_ALT_NL_PATH);
}

/* One datagram; false: there is none. */
static bool read_answer(struct fuzzer *fuzzer, size_t room)
{
	static uint8_t buf[ROOM] __attribute__((aligned(8)));
	ssize_t len = recv(fuzzer->sock, buf, room, MSG_DONTWAIT | MSG_TRUNC);
	const struct nlmsghdr *nlh = (const struct nlmsghdr *)buf;

	if (len < 0) {
		EXPECT(errno == EAGAIN || errno == ENOBUFS);
		return errno != EAGAIN;
	}
	if (len > (ssize_t)room)
		return true;
	for (; NLMSG_OK(nlh, len); nlh = NLMSG_NEXT(nlh, len)) {
		if (nlh->nlmsg_type == NLMSG_ERROR || nlh->nlmsg_type == NLMSG_DONE)
			check_error(fuzzer, nlh);
		else if (nlh->nlmsg_type == fuzzer->family)
			check_object(fuzzer, nlh);
		fuzzer->dumps += nlh->nlmsg_type == NLMSG_DONE;
	}
	EXPECT_EQ(len, 0);
	return true;
}

static void read_answers(struct fuzzer *fuzzer)
{
	uint32_t most = draw_below(&fuzzer->state, 3) ? 1000 : draw_below(&fuzzer->state, 3);

	while (most--) {
		size_t room = draw_below(&fuzzer->state, 8) ? ROOM :
			      draw_below(&fuzzer->state, 300);

		if (!read_answer(fuzzer, room))
			return;
	}
}

/* An id of this user comes or goes, perhaps in the middle of a dump. */
static void change_objects(struct fuzzer *fuzzer)
{
	if (fuzzer->id)
		EXPECT_EQ(rca_destroy(fuzzer->ctx, fuzzer->id), 0);
	fuzzer->id = fuzzer->id ? 0 : get_id(fuzzer->ctx, -1, 1);
}

/* A valid dump; returns the number of its messages. */
static unsigned long count_ids(struct fuzzer *fuzzer)
{
	struct {
		struct nlmsghdr nlh;
		struct genlmsghdr genl;
	} msg = {
		.nlh = {
			.nlmsg_len = sizeof(msg), .nlmsg_type = fuzzer->family,
			.nlmsg_flags = NLM_F_REQUEST | NLM_F_DUMP,
		},
		.genl = { .cmd = RDMA_CM_ALT_NL_ID, .version = 1 },
	};
	unsigned long dumps = fuzzer->dumps, answers;
	double end = ktap_now() + PATIENCE;

	close(fuzzer->sock);
	fuzzer->sock = get_socket();
	fuzzer->first_seq = 0;
	fuzzer->seq = 0;
	answers = fuzzer->answers;
	send_bytes(fuzzer->sock, &msg, sizeof(msg));
	while (fuzzer->dumps == dumps) {
		EXPECT(ktap_now() < end);
		read_answer(fuzzer, ROOM);
	}
	return fuzzer->answers - answers;
}

static void fuzz(enum who who)
{
	unsigned long messages = ktap_env("FUZZ_MESSAGES", 100000), datagrams = 0;
	struct fuzzer fuzzer = { .who = who, .sock = -1, .state = ktap_env("FUZZ_SEED", 1) + who };
	static uint8_t datagram[AT_ONCE * 2048] __attribute__((aligned(8)));
	double begin = ktap_now(), took;
	unsigned long ids;

	fuzzer.ctx = get_ctx();
	find_family(&fuzzer);
	while (fuzzer.messages < messages) {
		size_t len = 0;

		if (!(datagrams++ % FRESH))
			fresh_socket(&fuzzer);
		for (uint32_t count = 1 + draw_below(&fuzzer.state, AT_ONCE); count; count--)
			len += any_message(&fuzzer, datagram + len);
		send_bytes(fuzzer.sock, datagram, len);
		if (!draw_below(&fuzzer.state, 8))
			change_objects(&fuzzer);
		read_answers(&fuzzer);
	}
	took = ktap_now() - begin;
	if (!fuzzer.id)
		change_objects(&fuzzer);
	ids = count_ids(&fuzzer);
	ktap_note("seed %llu: %lu messages, %.0f in a second, %lu objects, %lu whole dumps",
		  ktap_env("FUZZ_SEED", 1), fuzzer.messages, fuzzer.messages / took, fuzzer.answers,
		  fuzzer.dumps);
	for (int err = 0; err < 134; err++)
		if (fuzzer.errors[err])
			ktap_note("%s: %lu", strerror(err), fuzzer.errors[err]);
	EXPECT_EQ(ids, who == OF_ROOT ? OBJECTS + 1 : 1);
	close(fuzzer.sock);
	close(fuzzer.ctx);
}

/* Ids of root in the first namespace; then a child becomes somebody else. */
static void fuzz_as(enum who who)
{
	struct inventory before;
	pid_t pid;
	int ctx;

	ktap_timeout(120 + ktap_env("FUZZ_MESSAGES", 100000) / 200);
	inventory_take(&before);
	ctx = get_ctx();
	for (int i = 0; i < OBJECTS; i++)
		get_id(ctx, -1, i);
	fflush(stdout);
	pid = MUST(fork());
	if (!pid) {
		if (who == OF_NOBODY)
			EXPECT(!setgroups(0, NULL) && !setuid(NOBODY_UID));
		if (who == OF_ELSEWHERE)
			EXPECT(!unshare(CLONE_NEWNET));
		fuzz(who);
		fflush(stdout);
		_exit(0);
	}
	EXPECT_EQ(wait_exit(pid), 0);
	close(ctx);
	inventory_await(&before);
}

TEST(of_root)
{
	fuzz_as(OF_ROOT);
}

TEST(of_a_user_without_rights)
{
	fuzz_as(OF_NOBODY);
}

TEST(of_another_namespace)
{
	fuzz_as(OF_ELSEWHERE);
}

KTAP_MAIN
