// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/* The generic netlink family of the module. */
#include <errno.h>
#include <netlink/genl/ctrl.h>
#include <netlink/genl/genl.h>
#include <netlink/netlink.h>
#include <stdlib.h>

#include "tool.h"

/* One message for a port has all its counts. */
#define ROOM (64 << 10)

struct receiver {
	message_fn fn;
	void *arg;
};

static int receive(struct nl_msg *msg, void *arg)
{
	struct nlattr *attrs[RDMA_CM_ALT_NL_A_MAX + 1];
	struct receiver *receiver = arg;

	if (genlmsg_parse(nlmsg_hdr(msg), 0, attrs, RDMA_CM_ALT_NL_A_MAX, NULL) >= 0)
		receiver->fn(nlmsg_hdr(msg), attrs, receiver->arg);
	return NL_OK;
}

static struct nl_sock *open_family(int *family, struct receiver *receiver)
{
	struct nl_sock *sock = nl_socket_alloc();
	int ret;

	if (!sock)
		fail(TOOL_ERROR, "there is no memory for a netlink socket");
	ret = genl_connect(sock);
	if (ret)
		fail(TOOL_ERROR, "generic netlink cannot be reached: %s", nl_geterror(ret));
	*family = genl_ctrl_resolve(sock, RDMA_CM_ALT_NL_FAMILY);
	if (*family < 0)
		fail(TOOL_MODULE, "the module is not loaded: modprobe rdma_cm_alt");
	nl_socket_set_msg_buf_size(sock, ROOM);
	nl_socket_modify_cb(sock, NL_CB_VALID, NL_CB_CUSTOM, receive, receiver);
	return sock;
}

/**
 * client_dump() - read all of a kind
 * @cmd: the kind
 * @fn: called for each message
 * @arg: for it
 */
void client_dump(enum rdma_cm_alt_nl_cmd cmd, message_fn fn, void *arg)
{
	struct receiver receiver = { fn, arg };
	struct nl_sock *sock;
	int family, ret;

	sock = open_family(&family, &receiver);
	ret = genl_send_simple(sock, family, cmd, RDMA_CM_ALT_NL_VERSION, NLM_F_DUMP);
	if (ret >= 0)
		ret = nl_recvmsgs_default(sock);
	if (ret < 0)
		fail(TOOL_ERROR, "the module does not tell: %s", nl_geterror(ret));
	nl_socket_free(sock);
}

/**
 * client_listen() - read what happens from now on
 * @fn: called for each message
 * @arg: for it
 */
void client_listen(message_fn fn, void *arg)
{
	struct receiver receiver = { fn, arg };
	struct nl_sock *sock;
	int family, ret;

	sock = open_family(&family, &receiver);
	ret = genl_ctrl_resolve_grp(sock, RDMA_CM_ALT_NL_FAMILY, RDMA_CM_ALT_NL_GROUP);
	if (ret >= 0)
		ret = nl_socket_add_membership(sock, ret);
	if (ret == -NLE_PERM)
		fail(TOOL_ERROR, "only who has CAP_NET_ADMIN sees what happens: try sudo");
	if (ret < 0)
		fail(TOOL_ERROR, "the module does not tell what happens: %s", nl_geterror(ret));
	nl_socket_disable_seq_check(sock);
	for (;;) {
		ret = nl_recvmsgs_default(sock);
		/* The socket was full. */
		if (ret == -NLE_NOMEM)
			warn("some of it was lost: it came faster than it was read");
		else if (ret < 0)
			fail(TOOL_ERROR, "the module does not tell any more: %s", nl_geterror(ret));
	}
}

uint32_t client_u32(struct nlattr **attrs, int attr, uint32_t otherwise)
{
	return attrs[attr] ? nla_get_u32(attrs[attr]) : otherwise;
}

uint64_t client_u64(struct nlattr **attrs, int attr, uint64_t otherwise)
{
	return attrs[attr] ? nla_get_u64(attrs[attr]) : otherwise;
}

const char *client_string(struct nlattr **attrs, int attr, const char *otherwise)
{
	return attrs[attr] ? nla_get_string(attrs[attr]) : otherwise;
}
