// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * Dump of the counters of ports.
 *
 * Locking: none of its own.
 */
#include <linux/slab.h>
#include <net/genetlink.h>
#include <net/net_namespace.h>

#include "diag/netlink.h"
#include "transport/devices.h"
#include "transport/stats.h"

/* Progress of the dump: indices of cb->args. */
enum {
	DEV_DONE,	/* serial of the last device that is complete */
	DEV,		/* serial of the device that PORT is of */
	PORT,		/* ports below this one are complete */
	PORTLESS_DONE,	/* the counters of events without a port, which come first, are complete */
};

/* A message has all counters of a port. */
#define MESSAGE_SIZE	8192

/* start() of RDMA_CM_ALT_NL_PORT. */
int rca_nl_start_ports(struct netlink_callback *cb)
{
	cb->min_dump_alloc = MESSAGE_SIZE;
	return rca_nl_start(cb);
}

static int put_counter(struct sk_buff *skb, const char *name, u64 value)
{
	struct nlattr *nest = nla_nest_start(skb, RDMA_CM_ALT_NL_A_COUNTER);

	if (!nest || nla_put_string(skb, RDMA_CM_ALT_NL_A_NAME, name) ||
	    rca_nl_put_u64(skb, RDMA_CM_ALT_NL_A_VALUE, value))
		return -EMSGSIZE;
	nla_nest_end(skb, nest);
	return 0;
}

static int put_span(struct sk_buff *skb, enum rca_span span, const struct rca_stats *sum)
{
	struct nlattr *nest = nla_nest_start(skb, RDMA_CM_ALT_NL_A_SPAN);
	u64 buckets[RCA_BUCKETS];
	int i;

	for (i = 0; i < RCA_BUCKETS; i++)
		buckets[i] = sum->took[span][i];
	if (!nest || nla_put_string(skb, RDMA_CM_ALT_NL_A_NAME, rca_stats_span_name(span)) ||
	    rca_nl_put_u64(skb, RDMA_CM_ALT_NL_A_VALUE, sum->us[span]) ||
	    nla_put_64bit(skb, RDMA_CM_ALT_NL_A_BUCKETS, sizeof(buckets), buckets,
			  RDMA_CM_ALT_NL_A_PAD))
		return -EMSGSIZE;
	nla_nest_end(skb, nest);
	return 0;
}

static int put_stats(struct sk_buff *skb, const struct rca_stats __percpu *stats)
{
	struct rca_stats *sum = kmalloc(sizeof(*sum), GFP_KERNEL);
	int ret = 0, i;

	if (!sum)
		return -ENOMEM;
	rca_stats_sum(stats, sum);
	for (i = 0; !ret && i < RCA_IN_COUNT; i++)
		ret = put_counter(skb, rca_input_name(i), sum->inputs[i]);
	if (!ret)
		ret = put_counter(skb, "request-refused", sum->refused) ?:
		      put_counter(skb, "path-cached", sum->cached_paths);
	for (i = 0; !ret && i < RCA_TRUNK_STATS; i++)
		ret = put_counter(skb, rca_stats_trunk_name(i), sum->trunks[i]);
	for (i = 0; !ret && i < RCA_SPANS; i++)
		ret = put_span(skb, i, sum);
	kfree(sum);
	return ret;
}

/* @dev: NULL: the counters of events without a port */
static int put_port(struct sk_buff *skb, struct rca_device *dev, u32 port)
{
	const struct rca_stats __percpu *stats = rca_device_stats(dev, port);
	int ret = dev ? rca_nl_put_port(skb, dev->ibdev, port) : 0;

	/* A port whose counters could not be allocated is reported without them. */
	if (ret || (dev && stats == &rca_stats_elsewhere))
		return ret;
	return put_stats(skb, stats);
}

static int dump_port(const struct rca_nl_dump *dump, struct rca_device *dev, u32 port)
{
	void *msg = rca_nl_msg_begin(dump, RDMA_CM_ALT_NL_PORT);

	if (!msg)
		return -EMSGSIZE;
	return rca_nl_msg_end(dump, msg, put_port(dump->skb, dev, port));
}

/* Events without a port are counted for all namespaces together: only init_net may see them. */
static int dump_portless(const struct rca_nl_dump *dump)
{
	long *args = dump->cb->args;
	int ret = 0;

	if (net_eq(dump->net, &init_net) && !args[PORTLESS_DONE])
		ret = dump_port(dump, NULL, 0);
	if (!ret)
		args[PORTLESS_DONE] = true;
	return ret;
}

static int dump_device(const struct rca_nl_dump *dump, struct rca_device *dev)
{
	long *args = dump->cb->args;
	int ret = 0;
	u32 port;

	if (!rdma_dev_access_netns(dev->ibdev, dump->net))
		return 0;
	if (args[DEV] != dev->serial) {
		args[DEV] = dev->serial;
		args[PORT] = 0;
	}
	rdma_for_each_port(dev->ibdev, port) {
		if (port < args[PORT])
			continue;
		ret = dump_port(dump, dev, port);
		if (ret)
			break;
		args[PORT] = port + 1;
	}
	return ret;
}

/* dumpit() of RDMA_CM_ALT_NL_PORT. Sleeps. */
int rca_nl_dump_ports(struct sk_buff *skb, struct netlink_callback *cb)
{
	const struct rca_nl_dump dump = rca_nl_dump_start(skb, cb);
	int ret = dump_portless(&dump);
	struct rca_device *dev = NULL;

	while (!ret && (dev = rca_device_next(dev))) {
		if (dev->serial <= cb->args[DEV_DONE])
			continue;
		ret = dump_device(&dump, dev);
		if (ret)
			rca_device_put(dev);	/* got by rca_device_next() */
		else
			cb->args[DEV_DONE] = dev->serial;
	}
	return ret && !skb->len ? ret : skb->len;
}
