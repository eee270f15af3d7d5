// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * The generic netlink family of <rdma/rdma_cm_alt_netlink.h>, its multicast group for
 * notifications, and the dump of the failure log.
 *
 * Locking: none of its own.
 */
#include "diag/diag.h"

#include <linux/capability.h>
#include <linux/delay.h>
#include <linux/fs.h>
#include <linux/module.h>
#include <linux/pid.h>
#include <net/genetlink.h>
#include <net/net_namespace.h>
#include <rdma/rdma_cm_alt_netlink.h>

#include "lib/compat.h"
#include "lib/fsm.h"
#include "log/log.h"

static struct genl_family family;

enum { EVENTS };

static const struct genl_multicast_group groups[] = {
	[EVENTS] = { .name = RDMA_CM_ALT_NL_GROUP, .flags = GENL_MCAST_CAP_NET_ADMIN },
};

/* All but the owner, whose form depends on the receiver. */
static int put_report(struct sk_buff *skb, const struct rca_report *report)
{
	static const union ib_gid none;

	if (rca_nl_put_u64(skb, RDMA_CM_ALT_NL_A_TIME, report->at) ||
	    (report->serial && rca_nl_put_u64(skb, RDMA_CM_ALT_NL_A_SERIAL, report->serial)) ||
	    rca_nl_put_u64(skb, RDMA_CM_ALT_NL_A_CTX, report->ctx) ||
	    nla_put_u32(skb, RDMA_CM_ALT_NL_A_HANDLE, report->handle) ||
	    nla_put_s32(skb, RDMA_CM_ALT_NL_A_STATUS, report->status) ||
	    nla_put_string(skb, RDMA_CM_ALT_NL_A_STATE, rca_state_name(report->state)) ||
	    nla_put_string(skb, RDMA_CM_ALT_NL_A_BEFORE, rca_state_name(report->before)) ||
	    nla_put_u32(skb, RDMA_CM_ALT_NL_A_PS, report->ps) ||
	    rca_nl_put_addr(skb, RDMA_CM_ALT_NL_A_LOCAL, &report->local) ||
	    rca_nl_put_addr(skb, RDMA_CM_ALT_NL_A_PEER, &report->peer))
		return -EMSGSIZE;
	if (*report->op ? nla_put_string(skb, RDMA_CM_ALT_NL_A_OP, report->op) :
			nla_put_u32(skb, RDMA_CM_ALT_NL_A_EVENT, report->event))
		return -EMSGSIZE;
	if (*report->dev && (nla_put_string(skb, RDMA_CM_ALT_NL_A_DEV, report->dev) ||
			     nla_put_u32(skb, RDMA_CM_ALT_NL_A_PORT, report->port)))
		return -EMSGSIZE;
	if (memcmp(&report->sgid, &none, sizeof(none)) &&
	    nla_put(skb, RDMA_CM_ALT_NL_A_SGID, sizeof(report->sgid), &report->sgid))
		return -EMSGSIZE;
	return rca_nl_put_numbers(skb, &report->numbers);
}

static bool has_listeners(struct net *net)
{
	return genl_has_listeners(&family, net, EVENTS);
}

/*
 * All listeners of the namespace get the same message: user IDs are those of the user
 * namespace that owns @net, process IDs those of the PID namespace of the process.
 */
static int put_notification(struct sk_buff *skb, struct net *net, const struct rca_report *report)
{
	pid_t pid = pid_nr_ns(report->pid, ns_of_pid(report->pid));
	void *msg = genlmsg_put(skb, 0, 0, &family, 0, RDMA_CM_ALT_NL_STORY);

	if (!msg || put_report(skb, report) ||
	    rca_nl_put_owner(skb, net->user_ns, report->uid, pid, report->comm))
		return -EMSGSIZE;
	genlmsg_end(skb, msg);
	return 0;
}

/* The same error that a socket with a full receive buffer reports. */
static void report_loss(struct net *net)
{
	genl_set_err(&family, net, 0, EVENTS, -ENOBUFS);
}

/*
 * Filter of receivers. The kernel checks GENL_MCAST_CAP_NET_ADMIN only when a socket joins, and
 * any socket can join the number of a group before that group is registered.
 */
static int lacks_capability(struct sock *sk, struct sk_buff *skb, void *data)
{
	struct file *file = sk->sk_socket ? sk->sk_socket->file : NULL;
	struct net *net = data;

	return !file || !file_ns_capable(file, net->user_ns, CAP_NET_ADMIN);
}

static void send_notification(struct net *net, const struct rca_report *report)
{
	struct sk_buff *skb = genlmsg_new(NLMSG_DEFAULT_SIZE, GFP_KERNEL);

	if (!skb || put_notification(skb, net, report)) {
		nlmsg_free(skb);
		report_loss(net);
		return;
	}
	rca_genl_multicast(&family, net, skb, EVENTS, lacks_capability);
}

static const struct rca_monitor_ops monitor_ops = {
	.wanted = has_listeners,
	.tell = send_notification,
	.lost = report_loss,
};

static int dump_failure(const struct rca_nl_dump *dump, const struct rca_report *report)
{
	void *msg = rca_nl_msg_begin(dump, RDMA_CM_ALT_NL_FAILURE);
	int ret;

	if (!msg)
		return -EMSGSIZE;
	ret = put_report(dump->skb, report) ?:
	      rca_nl_put_owner(dump->skb, dump->userns, report->uid, pid_vnr(report->pid),
			       report->comm);
	return rca_nl_msg_end(dump, msg, ret);
}

/* args[0]: serial number of the last failure that was put. */
static int dump_failures(struct sk_buff *skb, struct netlink_callback *cb)
{
	const struct rca_nl_dump dump = rca_nl_dump_start(skb, cb);
	struct rca_report report;
	int ret = 0;

	while (!ret && rca_log_next(dump.net, cb->args[0], &report)) {
		if (rca_nl_may_see(&dump, report.uid))
			ret = dump_failure(&dump, &report);
		put_pid(report.pid);	/* got in rca_log_next() */
		if (!ret)
			cb->args[0] = report.serial;
	}
	return ret && !skb->len ? ret : skb->len;
}

static const struct genl_ops ops[] = {
	{ .cmd = RDMA_CM_ALT_NL_ID, .start = rca_nl_start, .dumpit = rca_nl_dump_ids },
	{ .cmd = RDMA_CM_ALT_NL_MEMBER, .start = rca_nl_start, .dumpit = rca_nl_dump_members },
	{ .cmd = RDMA_CM_ALT_NL_QUEUE, .start = rca_nl_start, .dumpit = rca_nl_dump_queues },
	{ .cmd = RDMA_CM_ALT_NL_PORT, .start = rca_nl_start_ports, .dumpit = rca_nl_dump_ports },
	{ .cmd = RDMA_CM_ALT_NL_FAILURE, .start = rca_nl_start, .dumpit = dump_failures },
	{ .cmd = RDMA_CM_ALT_NL_PATH, .flags = GENL_ADMIN_PERM, .start = rca_nl_start_paths,
	  .dumpit = rca_nl_dump_paths, .done = rca_nl_done_paths },
	{ .cmd = RDMA_CM_ALT_NL_PEER, .flags = GENL_ADMIN_PERM, .start = rca_nl_start_peers,
	  .dumpit = rca_nl_dump_peers, .done = rca_nl_done_peers },
};

/* A request with any attribute is refused, so that attributes can be defined later. */
static const struct nla_policy no_attributes[RDMA_CM_ALT_NL_A_MAX + 1];

static struct genl_family family __ro_after_init = {
	.name = RDMA_CM_ALT_NL_FAMILY,
	.version = RDMA_CM_ALT_NL_VERSION,
	.module = THIS_MODULE,
	.netnsok = true,
	.parallel_ops = true,
	.ops = ops,
	.n_ops = ARRAY_SIZE(ops),
	.policy = no_attributes,
	.maxattr = RDMA_CM_ALT_NL_A_MAX,
	.mcgrps = groups,
	.n_mcgrps = ARRAY_SIZE(groups),
};

/* How often the family is registered again when a socket has joined its group too early. */
#define REGISTER_TRIES 8

/*
 * On kernels without a filter of receivers, check whether a socket joined the number of the
 * group before the group was registered. A join that was under way is complete after a while;
 * later joins need the capability.
 */
static bool __init joined_too_early(void)
{
	if (RCA_MULTICAST_REFUSES)
		return false;
	msleep(20);
	return has_listeners(&init_net);
}

/* Module init: register the family. Dumps are refused until rca_nl_allow_dumps(). */
int __init rca_netlink_init(void)
{
	int ret, tries;

	for (tries = 0; tries < REGISTER_TRIES; tries++) {
		ret = genl_register_family(&family);
		if (ret)
			return ret;
		if (!joined_too_early()) {
			rca_monitor_set(&monitor_ops);
			return 0;
		}
		genl_unregister_family(&family);
	}
	pr_warn("multicast group %s: a socket joins it each time before it is registered; notifications are off until the module is loaded again\n",
		groups[EVENTS].name);
	return genl_register_family(&family);
}

/* Module exit. Sleeps. */
void rca_netlink_exit(void)
{
	rca_monitor_set(NULL);
	genl_unregister_family(&family);
}
