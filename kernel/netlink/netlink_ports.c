// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * Counts of ports, as tools see them.
 *
 * Locking: none of its own.
 */
#include "netlink/netlink_ports.h"

#include <linux/slab.h>
#include <net/genetlink.h>
#include <net/net_namespace.h>

#include "device/devices.h"
#include "netlink/netlink_put.h"
#include "device/stats.h"

/* Where a dump is: cb->args. */
enum {
	AFTER,		/* devices up to this one are done; before them comes what has no port */
	WITHIN,		/* the one that PORT is of */
	PORT,		/* ports below this one are done */
	ELSEWHERE,	/* that is done */
};

/* All counts in one message. */
#define ROOM	8192

/**
 * rca_nl_start_ports() - there will be long messages
 * @cb: the dump
 *
 * Context: Process context.
 * Return: 0.
 */
int rca_nl_start_ports(struct netlink_callback *cb)
{
	cb->min_dump_alloc = ROOM;
	return 0;
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
		ret = put_counter(skb, "request-refused", sum->refused);
	for (i = 0; !ret && i < RCA_SPANS; i++)
		ret = put_span(skb, i, sum);
	kfree(sum);
	return ret;
}

/* @dev: NULL: what has no port */
static int put_port(struct sk_buff *skb, struct rca_device *dev, u32 port)
{
	const struct rca_stats __percpu *stats = rca_device_stats(dev, port);
	int ret = dev ? rca_nl_put_port(skb, dev->ibdev, port) : 0;

	/* One without memory for counts has none to tell. */
	if (ret || (dev && stats == &rca_stats_elsewhere))
		return ret;
	return put_stats(skb, stats);
}

static int dump_port(struct sk_buff *skb, struct netlink_callback *cb, struct rca_device *dev,
		     u32 port)
{
	void *msg = rca_nl_begin(skb, cb, RDMA_CM_ALT_NL_PORT);
	int ret;

	if (!msg)
		return -EMSGSIZE;
	ret = put_port(skb, dev, port);
	if (ret)
		genlmsg_cancel(skb, msg);
	else
		genlmsg_end(skb, msg);
	return ret;
}

/* What has no port is counted for all namespaces together: only the first one is told. */
static int dump_elsewhere(struct sk_buff *skb, struct netlink_callback *cb, struct net *net)
{
	int ret = 0;

	if (net_eq(net, &init_net) && !cb->args[ELSEWHERE])
		ret = dump_port(skb, cb, NULL, 0);
	if (!ret)
		cb->args[ELSEWHERE] = true;
	return ret;
}

static int dump_device(struct sk_buff *skb, struct netlink_callback *cb, struct net *net,
		       struct rca_device *dev)
{
	int ret = 0;
	u32 port;

	if (!rdma_dev_access_netns(dev->ibdev, net))
		return 0;
	if (cb->args[WITHIN] != dev->serial) {
		cb->args[WITHIN] = dev->serial;
		cb->args[PORT] = 0;
	}
	rdma_for_each_port(dev->ibdev, port) {
		if (port < cb->args[PORT])
			continue;
		ret = dump_port(skb, cb, dev, port);
		if (ret)
			break;
		cb->args[PORT] = port + 1;
	}
	return ret;
}

/**
 * rca_nl_dump_ports() - RDMA_CM_ALT_NL_PORT
 * @skb: where
 * @cb: the dump
 *
 * Context: Process context. Sleeps.
 * Return: how much there is in @skb; 0: that was all; or a negative errno.
 */
int rca_nl_dump_ports(struct sk_buff *skb, struct netlink_callback *cb)
{
	const struct rca_nl_reader reader = rca_nl_reader(cb);
	int ret = dump_elsewhere(skb, cb, reader.net);
	struct rca_device *dev = NULL;

	while (!ret && (dev = rca_device_next(dev))) {
		if (dev->serial <= cb->args[AFTER])
			continue;
		ret = dump_device(skb, cb, reader.net, dev);
		if (ret)
			rca_device_put(dev);	/* got by rca_device_next() */
		else
			cb->args[AFTER] = dev->serial;
	}
	return ret && !skb->len ? ret : skb->len;
}
