// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * The generic netlink family of <rdma/rdma_cm_alt_netlink.h>, with its multicast group for
 * notifications, which event/report.c sends, and the dump of the failure log.
 *
 * Locking: none of its own.
 */
#include "diag/diag.h"

#include <linux/delay.h>
#include <linux/module.h>
#include <linux/pid.h>
#include <net/genetlink.h>
#include <net/net_namespace.h>
#include <rdma/rdma_cm_alt_netlink.h>

#include "event/event.h"
#include "lib/compat.h"
#include "transport/transport.h"

static const struct genl_multicast_group groups[] = {
	{ .name = RDMA_CM_ALT_NL_GROUP, .flags = GENL_MCAST_CAP_NET_ADMIN },
};

static int dump_failure(const struct rca_nl_dump *dump, const struct rca_report *report)
{
	void *msg = rca_nl_msg_begin(dump, RDMA_CM_ALT_NL_FAILURE);
	int ret;

	if (!msg)
		return -EMSGSIZE;
	ret = rca_nl_put_report(dump->skb, report) ?:
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

	while (!ret && rca_reports_next(dump.net, cb->args[0], &report)) {
		if (rca_nl_may_see(&dump, report.uid))
			ret = dump_failure(&dump, &report);
		put_pid(report.pid);	/* got in rca_reports_next() */
		if (!ret)
			cb->args[0] = report.serial;
	}
	return ret && !skb->len ? ret : skb->len;
}

/*
 * &rca_tp_upcalls.trunk_barred: an entry in the failure log of the first network namespace. It has
 * neither a context nor an id, as a trunk belongs to all users.
 */
void rca_nl_trunk_barred(struct rca_device *dev, const struct rca_peer_key *peer)
{
	struct rca_report report = {
		.uid = GLOBAL_ROOT_UID,
		.op = "trunk",
		.status = -EBADMSG,
		.local.in6 = { .sin6_family = AF_INET6 },
		.peer.in6 = { .sin6_family = AF_INET6 },
		.port = peer->port_num,
		.sgid = peer->sgid,
	};

	memcpy(&report.local.in6.sin6_addr, &peer->sgid, sizeof(peer->sgid));
	memcpy(&report.peer.in6.sin6_addr, &peer->dgid, sizeof(peer->dgid));
	strscpy(report.dev, dev->ibdev->name, sizeof(report.dev));
	pr_warn_ratelimited("%s/%u: frames on the trunk to %pI6c were not the peer's, or malformed: none is opened for 5 minutes\n",
			    report.dev, report.port, &peer->dgid);
	rca_report(rca_reports_of(&init_net), &report, true);
}

static const struct genl_ops ops[] = {
	{ .cmd = RDMA_CM_ALT_NL_ID, .start = rca_nl_start, .dumpit = rca_nl_dump_ids },
	{ .cmd = RDMA_CM_ALT_NL_MEMBER, .start = rca_nl_start, .dumpit = rca_nl_dump_members },
	{ .cmd = RDMA_CM_ALT_NL_QUEUE, .start = rca_nl_start, .dumpit = rca_nl_dump_queues },
	{ .cmd = RDMA_CM_ALT_NL_PORT, .start = rca_nl_start_ports, .dumpit = rca_nl_dump_ports },
	{ .cmd = RDMA_CM_ALT_NL_FAILURE, .start = rca_nl_start, .dumpit = dump_failures },
	{ .cmd = RDMA_CM_ALT_NL_PATH, .flags = GENL_ADMIN_PERM, .start = rca_nl_start_table,
	  .dumpit = rca_nl_dump_table, .done = rca_nl_done_table },
	{ .cmd = RDMA_CM_ALT_NL_PEER, .flags = GENL_ADMIN_PERM, .start = rca_nl_start_table,
	  .dumpit = rca_nl_dump_table, .done = rca_nl_done_table },
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
	return genl_has_listeners(&family, &init_net, 0);
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
			rca_reports_send_to(&family);
			return 0;
		}
		genl_unregister_family(&family);
	}
	pr_warn("multicast group %s: a socket joins it each time before it is registered; notifications are off until the module is loaded again\n",
		groups[0].name);
	return genl_register_family(&family);
}

/* Module exit. Sleeps. */
void rca_netlink_exit(void)
{
	rca_reports_send_to(NULL);
	genl_unregister_family(&family);
}
