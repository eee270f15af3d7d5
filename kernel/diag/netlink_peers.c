// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * Dump of the peers with which hellos of the trunk protocol were exchanged.
 *
 * Locking: none of its own.
 */
#include <linux/slab.h>
#include <net/genetlink.h>

#include "diag/netlink.h"
#include "transport/devices.h"
#include "trunk/peers.h"
#include "trunk/trunk.h"

/**
 * struct peers_dump - state of a dump
 * @iter: position in the table
 * @info: the peer that is next, if @has_info
 * @has_info: the last message had no room for it
 */
struct peers_dump {
	struct rhashtable_iter iter;
	struct rca_peer_info info;
	bool has_info;
};

/* start() of RDMA_CM_ALT_NL_PEER. */
int rca_nl_start_peers(struct netlink_callback *cb)
{
	struct peers_dump *peers;
	int ret = rca_nl_start(cb);

	if (ret)
		return ret;
	peers = kzalloc(sizeof(*peers), GFP_KERNEL_ACCOUNT);
	if (!peers)
		return -ENOMEM;
	rca_peers_walk(&peers->iter);
	cb->args[0] = (long)peers;	/* freed in rca_nl_done_peers() */
	return 0;
}

/* done() of RDMA_CM_ALT_NL_PEER. */
int rca_nl_done_peers(struct netlink_callback *cb)
{
	struct peers_dump *peers = (struct peers_dump *)cb->args[0];

	rhashtable_walk_exit(&peers->iter);
	kfree(peers);
	return 0;
}

static int put_hello(struct sk_buff *skb, const struct rca_peer_info *info)
{
	const struct rca_hello *hello = &info->hello;

	if (nla_put_u32(skb, RDMA_CM_ALT_NL_A_PROTOCOL, hello->version) ||
	    nla_put_u32(skb, RDMA_CM_ALT_NL_A_COMMON, rca_hello_common_version(hello)) ||
	    nla_put_u32(skb, RDMA_CM_ALT_NL_A_FEATURES, hello->features) ||
	    nla_put(skb, RDMA_CM_ALT_NL_A_BOOT_ID, sizeof(hello->boot_id), hello->boot_id) ||
	    rca_nl_put_u64(skb, RDMA_CM_ALT_NL_A_GUID, be64_to_cpu(hello->ca_guid)) ||
	    nla_put_u32(skb, RDMA_CM_ALT_NL_A_FAILURES, info->failures) ||
	    (info->retry_ms && nla_put_u32(skb, RDMA_CM_ALT_NL_A_RETRY, info->retry_ms)) ||
	    nla_put_u32(skb, RDMA_CM_ALT_NL_A_AGE, info->heard_s))
		return -EMSGSIZE;
	return 0;
}

static int put_trunk(struct sk_buff *skb, const struct rca_peer_info *info)
{
	struct rca_trunk_info trunk;
	const char *state;

	if (!rca_trunk_describe(&info->key, &trunk))
		return 0;
	state = trunk.up ? "open" : trunk.linked ? "opening" : "idle";
	if (nla_put_string(skb, RDMA_CM_ALT_NL_A_TRUNK, state) ||
	    nla_put_u32(skb, RDMA_CM_ALT_NL_A_FRAMES_SENT, trunk.sent) ||
	    nla_put_u32(skb, RDMA_CM_ALT_NL_A_FRAMES_RECEIVED, trunk.received))
		return -EMSGSIZE;
	return 0;
}

static int put_peer(struct sk_buff *skb, const struct rca_device *dev,
		    const struct rca_peer_info *info)
{
	const struct rca_peer_key *key = &info->key;

	if (rca_nl_put_port(skb, dev->ibdev, key->port_num) ||
	    nla_put(skb, RDMA_CM_ALT_NL_A_SGID, sizeof(key->sgid), &key->sgid) ||
	    nla_put(skb, RDMA_CM_ALT_NL_A_DGID, sizeof(key->dgid), &key->dgid) ||
	    nla_put_u32(skb, RDMA_CM_ALT_NL_A_PKEY, key->pkey) ||
	    nla_put_u32(skb, RDMA_CM_ALT_NL_A_HELLOS, info->told) || put_trunk(skb, info))
		return -EMSGSIZE;
	return info->heard ? put_hello(skb, info) : 0;
}

static int dump_peer(const struct rca_nl_dump *dump, const struct rca_peer_info *info)
{
	struct rca_device *dev = rca_nl_device(dump, info->key.device);
	void *msg;
	int ret;

	if (!dev)
		return 0;
	msg = rca_nl_msg_begin(dump, RDMA_CM_ALT_NL_PEER);
	ret = msg ? rca_nl_msg_end(dump, msg, put_peer(dump->skb, dev, info)) : -EMSGSIZE;
	rca_device_put(dev);	/* got in rca_nl_device() */
	return ret;
}

/* dumpit() of RDMA_CM_ALT_NL_PEER. */
int rca_nl_dump_peers(struct sk_buff *skb, struct netlink_callback *cb)
{
	struct peers_dump *peers = (struct peers_dump *)cb->args[0];
	const struct rca_nl_dump dump = rca_nl_dump_start(skb, cb);
	int ret;

	while (peers->has_info || rca_peers_next(&peers->iter, &peers->info)) {
		ret = dump_peer(&dump, &peers->info);
		peers->has_info = ret;
		if (ret)
			return skb->len ?: ret;
		cond_resched();
	}
	return skb->len;
}
