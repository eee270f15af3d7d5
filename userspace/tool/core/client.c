// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/* Client of the module's generic netlink family. */
#include <errno.h>
#include <netlink/genl/ctrl.h>
#include <netlink/genl/genl.h>
#include <netlink/netlink.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

#include "tool/core/netlink_policy.h"
#include "tool/core/tool.h"

/* Receive buffer size: one message has all counters of a port. */
#define ROOM (64 << 10)
/* Likewise, of a notification; and notifications that may wait for client_monitor_drain(). */
#define NOTIFICATION_ROOM (8 << 10)
#define NOTIFICATIONS_ROOM (1024 << 10)
/* How many it takes at once, so that its caller can do something else, too. */
#define NOTIFICATIONS 4096

struct receiver {
	message_fn fn;
	void *arg;
	bool gone;	/* the family was unregistered */
	bool lost;	/* notifications were lost */
	bool empty;	/* there were no more notifications */
};

static const struct nla_policy control_policy[CTRL_ATTR_MAX + 1] = {
	[CTRL_ATTR_FAMILY_NAME] = { .type = NLA_STRING },
};

/*
 * Accepts messages of the kernel only: a process with CAP_NET_ADMIN in the network namespace can
 * send to any netlink socket in it.
 */
static int pass_kernel(struct nl_msg *msg, void *arg)
{
	(void)arg;
	return nlmsg_get_src(msg)->nl_pid ? NL_SKIP : NL_OK;
}

/* Whether a message of the generic netlink controller reports that our family was unregistered. */
static bool is_farewell(struct nlmsghdr *nlh)
{
	struct nlattr *attrs[CTRL_ATTR_MAX + 1];
	struct genlmsghdr *hdr = nlmsg_data(nlh);

	return genlmsg_parse(nlh, 0, attrs, CTRL_ATTR_MAX, control_policy) >= 0 &&
	       hdr->cmd == CTRL_CMD_DELFAMILY && attrs[CTRL_ATTR_FAMILY_NAME] &&
	       !strcmp(nla_get_string(attrs[CTRL_ATTR_FAMILY_NAME]), RDMA_CM_ALT_NL_FAMILY);
}

static int receive(struct nl_msg *msg, void *arg)
{
	struct nlattr *attrs[RDMA_CM_ALT_NL_A_MAX + 1];
	struct receiver *receiver = arg;
	int ret;

	if (nlmsg_hdr(msg)->nlmsg_type == GENL_ID_CTRL) {
		receiver->gone |= is_farewell(nlmsg_hdr(msg));
		return NL_OK;
	}
	ret = genlmsg_parse(nlmsg_hdr(msg), 0, attrs, RDMA_CM_ALT_NL_A_MAX, policy);
	if (ret < 0)
		tool_warn("a message of the module is left out, it is not as it should be (%s): do "
			  "versions fit? modinfo rdma_cm_alt; rdma-cm-alt --version",
			  nl_geterror(ret));
	else
		receiver->fn(nlmsg_hdr(msg), attrs, receiver->arg);
	return NL_OK;
}

static struct nl_sock *open_socket(struct receiver *receiver)
{
	struct nl_sock *sock = nl_socket_alloc();
	int ret;

	if (!sock)
		fail(TOOL_ERROR, "there is no memory for a netlink socket");
	ret = genl_connect(sock);
	if (ret)
		fail(TOOL_ERROR, "generic netlink cannot be reached: %s", nl_geterror(ret));
	nl_socket_set_msg_buf_size(sock, ROOM);
	nl_socket_modify_cb(sock, NL_CB_MSG_IN, NL_CB_CUSTOM, pass_kernel, NULL);
	nl_socket_modify_cb(sock, NL_CB_VALID, NL_CB_CUSTOM, receive, receiver);
	return sock;
}

static int resolve_family(struct nl_sock *sock)
{
	int family = genl_ctrl_resolve(sock, RDMA_CM_ALT_NL_FAMILY);

	if (family < 0)
		fail(TOOL_MODULE, "the module is not loaded: modprobe rdma_cm_alt");
	return family;
}

static int dump(enum rdma_cm_alt_nl_cmd cmd, message_fn fn, void *arg)
{
	struct receiver receiver = { .fn = fn, .arg = arg };
	struct nl_sock *sock;
	int family, ret;

	sock = open_socket(&receiver);
	family = resolve_family(sock);
	ret = genl_send_simple(sock, family, cmd, RDMA_CM_ALT_NL_VERSION, NLM_F_DUMP);
	if (ret >= 0)
		ret = nl_recvmsgs_default(sock);
	nl_socket_free(sock);
	return ret;
}

/**
 * client_dump() - read all objects of a kind
 * @cmd: the kind
 * @fn: called for each message
 * @arg: argument of @fn
 */
void client_dump(enum rdma_cm_alt_nl_cmd cmd, message_fn fn, void *arg)
{
	int ret = dump(cmd, fn, arg);

	if (ret < 0)
		fail(TOOL_ERROR, "cannot read from the module: %s", nl_geterror(ret));
}

/**
 * client_may_dump() - read all objects of a kind, if the user may, and the module has it
 * @cmd: the kind
 * @fn: called for each message
 * @arg: argument of @fn
 *
 * Return: false if the user may not, or the module has no such objects
 */
bool client_may_dump(enum rdma_cm_alt_nl_cmd cmd, message_fn fn, void *arg)
{
	int ret = dump(cmd, fn, arg);

	if (ret < 0 && ret != -NLE_PERM && ret != -NLE_OPNOTSUPP)
		fail(TOOL_ERROR, "cannot read from the module: %s", nl_geterror(ret));
	return ret >= 0;
}

static void join(struct nl_sock *sock, int group)
{
	int ret = group < 0 ? group : nl_socket_add_membership(sock, group);

	if (ret == -NLE_PERM)
		fail(TOOL_ERROR, "notifications need CAP_NET_ADMIN: try sudo");
	if (ret < 0)
		fail(TOOL_ERROR, "cannot read notifications: %s", nl_geterror(ret));
}

struct client_monitor {
	struct receiver receiver;
	struct receiver nobody;
	struct nl_sock *sock;
	struct nl_sock *asker;
};

/**
 * client_monitor_open() - begin to receive notifications
 * @fn: called for each message
 * @arg: argument of @fn
 *
 * Return: the socket, for the functions below; it stays until the process ends
 */
struct client_monitor *client_monitor_open(message_fn fn, void *arg)
{
	struct client_monitor *monitor = calloc(1, sizeof(*monitor));

	if (!monitor)
		fail(TOOL_ERROR, "there is no memory for a netlink socket");
	monitor->receiver = (struct receiver){ .fn = fn, .arg = arg };
	monitor->sock = open_socket(&monitor->receiver);
	monitor->asker = open_socket(&monitor->nobody);
	/*
	 * Join the controller's group before the family is resolved: if the module is unloaded
	 * meanwhile, either the notification or the failing lookup reports it.
	 */
	join(monitor->sock, genl_ctrl_resolve_grp(monitor->sock, "nlctrl", "notify"));
	resolve_family(monitor->asker);
	join(monitor->sock, genl_ctrl_resolve_grp(monitor->asker, RDMA_CM_ALT_NL_FAMILY,
						  RDMA_CM_ALT_NL_GROUP));
	nl_socket_disable_seq_check(monitor->sock);
	return monitor;
}

/* Returns the descriptor to poll for input. */
int client_monitor_fd(struct client_monitor *monitor)
{
	return nl_socket_get_fd(monitor->sock);
}

/**
 * client_monitor_read() - wait for notifications, and pass them on
 * @monitor: the socket
 *
 * Return: false: the module was unloaded
 */
bool client_monitor_read(struct client_monitor *monitor)
{
	int ret = nl_recvmsgs_default(monitor->sock);

	/*
	 * The receive buffer overflowed, so the notification that the family was unregistered may
	 * be lost, too. A message longer than ROOM cannot be from the kernel.
	 */
	if (ret == -NLE_AGAIN) {
		monitor->receiver.empty = true;
	} else if (ret == -NLE_NOMEM) {
		monitor->receiver.lost = true;
		tool_warn("some of it was lost: it came faster than it was read");
		resolve_family(monitor->asker);
	} else if (ret < 0 && ret != -NLE_MSG_TRUNC && ret != -NLE_INTR) {
		fail(TOOL_ERROR, "cannot read further notifications: %s", nl_geterror(ret));
	}
	return !monitor->receiver.gone;
}

/**
 * client_monitor_gather() - let notifications wait until client_monitor_drain() takes them
 * @monitor: the socket
 */
void client_monitor_gather(struct client_monitor *monitor)
{
	int fd = nl_socket_get_fd(monitor->sock), room = NOTIFICATIONS_ROOM;

	/* Who may receive notifications may exceed the limit of the host. */
	if (setsockopt(fd, SOL_SOCKET, SO_RCVBUFFORCE, &room, sizeof(room)) ||
	    nl_socket_set_nonblocking(monitor->sock))
		fail(TOOL_ERROR, "the netlink socket cannot be set up: %m");
	nl_socket_set_msg_buf_size(monitor->sock, NOTIFICATION_ROOM);
	nl_socket_disable_msg_peek(monitor->sock);
}

/**
 * client_monitor_drain() - pass on the notifications that there are
 * @monitor: the socket, after client_monitor_gather()
 * @lost: returns whether some were lost; it is told when those that wait have been passed on, as
 *	there is no room for others until then
 *
 * If they come faster than they are passed on, it returns before there are none.
 *
 * Return: false: the module was unloaded
 */
bool client_monitor_drain(struct client_monitor *monitor, bool *lost)
{
	struct receiver *receiver = &monitor->receiver;

	receiver->empty = false;
	for (int i = 0; i < NOTIFICATIONS && !receiver->empty && !receiver->gone; i++)
		client_monitor_read(monitor);
	*lost = receiver->lost && receiver->empty;
	if (*lost)
		receiver->lost = false;
	return !receiver->gone;
}

/**
 * client_listen() - receive notifications until the module is unloaded
 * @fn: called for each message
 * @arg: argument of @fn
 */
void client_listen(message_fn fn, void *arg)
{
	struct client_monitor *monitor = client_monitor_open(fn, arg);

	while (client_monitor_read(monitor))
		;
	fail(TOOL_MODULE, "the module was unloaded, so nothing happens any more; when it is loaded "
	     "again: rdma-cm-alt monitor");
}

/**
 * client_nest() - parse a nested attribute
 * @nest: the attribute
 * @attrs: returns the attributes in it, indexed as those of a message
 *
 * Return: false: an attribute is malformed
 */
bool client_nest(struct nlattr *nest, struct nlattr **attrs)
{
	return nla_parse_nested(attrs, RDMA_CM_ALT_NL_A_MAX, nest, policy) >= 0;
}

uint32_t client_u32(struct nlattr **attrs, int attr, uint32_t otherwise)
{
	return attrs[attr] ? nla_get_u32(attrs[attr]) : otherwise;
}

uint64_t client_u64(struct nlattr **attrs, int attr, uint64_t otherwise)
{
	return attrs[attr] ? nla_get_u64(attrs[attr]) : otherwise;
}

/* Returns a string attribute with unprintable characters replaced. */
const char *client_string(struct nlattr **attrs, int attr, const char *otherwise)
{
	if (!attrs[attr])
		return otherwise;
	text_clean(nla_get_string(attrs[attr]));
	return nla_get_string(attrs[attr]);
}
