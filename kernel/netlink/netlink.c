// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * The generic netlink family, its multicast group, and the last failures. See
 * <rdma/rdma_cm_alt_netlink.h>.
 *
 * Locking: none of its own.
 */
#include "netlink/netlink.h"

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
#include "netlink/netlink_ids.h"
#include "netlink/netlink_ports.h"
#include "netlink/netlink_put.h"
#include "netlink/netlink_queues.h"
#include "log/failure_log.h"

static struct genl_family family;

enum { STORIES };

static const struct genl_multicast_group groups[] = {
	[STORIES] = { .name = RDMA_CM_ALT_NL_GROUP, .flags = GENL_MCAST_CAP_NET_ADMIN },
};

/* All but its owner, whom everybody calls otherwise. */
static int put_story(struct sk_buff *skb, const struct rca_report *report)
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
	return 0;
}

static bool anybody_listens(struct net *net)
{
	return genl_has_listeners(&family, net, STORIES);
}

/* It goes to all who listen in the namespace, so its owner is called as he is at home. */
static int put_message(struct sk_buff *skb, struct net *net, const struct rca_report *report)
{
	pid_t pid = pid_nr_ns(report->pid, ns_of_pid(report->pid));
	void *msg = genlmsg_put(skb, 0, 0, &family, 0, RDMA_CM_ALT_NL_STORY);

	if (!msg || put_story(skb, report) ||
	    rca_nl_put_owner(skb, net->user_ns, report->uid, pid, report->comm))
		return -EMSGSIZE;
	genlmsg_end(skb, msg);
	return 0;
}

/* As a socket does when it is full. */
static void tell_of_loss(struct net *net)
{
	genl_set_err(&family, net, 0, STORIES, -ENOBUFS);
}

/*
 * The group's flag is looked at by those who join it alone, and a number that no group has yet can
 * be joined by everybody.
 */
static int refuses(struct sock *sk, struct sk_buff *skb, void *data)
{
	struct file *file = sk->sk_socket ? sk->sk_socket->file : NULL;
	struct net *net = data;

	return !file || !file_ns_capable(file, net->user_ns, CAP_NET_ADMIN);
}

static void send_story(struct net *net, const struct rca_report *report)
{
	struct sk_buff *skb = genlmsg_new(NLMSG_DEFAULT_SIZE, GFP_KERNEL);

	if (!skb || put_message(skb, net, report)) {
		nlmsg_free(skb);
		tell_of_loss(net);
		return;
	}
	rca_genl_multicast(&family, net, skb, STORIES, refuses);
}

static const struct rca_monitor_ops story_ops = {
	.wanted = anybody_listens,
	.tell = send_story,
	.lost = tell_of_loss,
};

/* args[0]: serial number of the last one. */
static int dump_failures(struct sk_buff *skb, struct netlink_callback *cb)
{
	const struct rca_nl_reader reader = rca_nl_reader(cb);
	struct rca_report report;
	int ret = 0;
	void *msg;

	while (!ret && rca_log_next(reader.net, cb->args[0], &report)) {
		if (rca_nl_sees(&reader, report.uid)) {
			msg = rca_nl_begin(skb, cb, RDMA_CM_ALT_NL_FAILURE);
			ret = msg ? put_story(skb, &report) : -EMSGSIZE;
			if (!ret)
				ret = rca_nl_put_owner(skb, reader.users, report.uid,
						       pid_vnr(report.pid), report.comm);
			if (!ret)
				genlmsg_end(skb, msg);
			else if (msg)
				genlmsg_cancel(skb, msg);
		}
		put_pid(report.pid);	/* got in rca_log_next() */
		if (!ret)
			cb->args[0] = report.serial;
	}
	return ret && !skb->len ? ret : skb->len;
}

static const struct genl_ops ops[] = {
	{ .cmd = RDMA_CM_ALT_NL_ID, .dumpit = rca_nl_dump_ids },
	{ .cmd = RDMA_CM_ALT_NL_MEMBER, .dumpit = rca_nl_dump_members },
	{ .cmd = RDMA_CM_ALT_NL_QUEUE, .dumpit = rca_nl_dump_queues },
	{ .cmd = RDMA_CM_ALT_NL_PORT, .start = rca_nl_start_ports, .dumpit = rca_nl_dump_ports },
	{ .cmd = RDMA_CM_ALT_NL_FAILURE, .dumpit = dump_failures },
};

/* Requests have no attributes, and are refused with some: later ones may have a meaning. */
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

/* How often who has joined too early is put out. */
#define TRIES 8

/*
 * Where a message cannot be refused: has anybody joined before the group was there? Who is in the
 * middle of it has done so after a while, and from now on the flag counts.
 */
static bool __init joined_before(void)
{
	if (RCA_MULTICAST_REFUSES)
		return false;
	msleep(20);
	return anybody_listens(&init_net);
}

/**
 * rca_netlink_init() - let tools see
 *
 * Context: Process context. Module init. Sleeps.
 * Return: 0 or a negative errno.
 */
int __init rca_netlink_init(void)
{
	int ret, tries;

	for (tries = 0; tries < TRIES; tries++) {
		ret = genl_register_family(&family);
		if (ret)
			return ret;
		if (!joined_before()) {
			rca_monitor_set(&story_ops);
			return 0;
		}
		genl_unregister_family(&family);
	}
	pr_warn("group %s: somebody joins it before it is there, again and again; it is told nothing until the module is loaded again\n",
		groups[STORIES].name);
	return genl_register_family(&family);
}

/**
 * rca_netlink_exit() - no tool sees anything any more
 *
 * Context: Process context. Module exit. Sleeps.
 */
void rca_netlink_exit(void)
{
	rca_monitor_set(NULL);
	genl_unregister_family(&family);
}
