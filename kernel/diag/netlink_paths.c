// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * Dump of the paths that are kept.
 *
 * Locking: none of its own.
 */
#include <linux/slab.h>
#include <net/genetlink.h>

#include "cm/path_cache.h"
#include "diag/netlink.h"
#include "transport/devices.h"

/**
 * struct paths_dump - state of a dump
 * @iter: position in the cache
 * @info: the path that is next, if @has_info
 * @has_info: the last message had no room for it
 */
struct paths_dump {
	struct rhashtable_iter iter;
	struct rca_path_info info;
	bool has_info;
};

/* start() of RDMA_CM_ALT_NL_PATH. */
int rca_nl_start_paths(struct netlink_callback *cb)
{
	struct paths_dump *paths;
	int ret = rca_nl_start(cb);

	if (ret)
		return ret;
	paths = kzalloc(sizeof(*paths), GFP_KERNEL_ACCOUNT);
	if (!paths)
		return -ENOMEM;
	rca_path_cache_walk(&paths->iter);
	cb->args[0] = (long)paths;	/* freed in rca_nl_done_paths() */
	return 0;
}

/* done() of RDMA_CM_ALT_NL_PATH. */
int rca_nl_done_paths(struct netlink_callback *cb)
{
	struct paths_dump *paths = (struct paths_dump *)cb->args[0];

	rhashtable_walk_exit(&paths->iter);
	kfree(paths);
	return 0;
}

static int put_path(struct sk_buff *skb, const struct rca_device *dev,
		    const struct rca_path_info *info)
{
	const struct rca_path_key *key = &info->key;
	u32 dlid = be32_to_cpu(sa_path_get_dlid((struct sa_path_rec *)&info->path));

	if (rca_nl_put_port(skb, dev->ibdev, key->port_num) ||
	    nla_put(skb, RDMA_CM_ALT_NL_A_SGID, sizeof(key->sgid), &key->sgid) ||
	    nla_put(skb, RDMA_CM_ALT_NL_A_DGID, sizeof(key->dgid), &key->dgid) ||
	    rca_nl_put_u64(skb, RDMA_CM_ALT_NL_A_SERVICE, be64_to_cpu(key->service_id)) ||
	    nla_put_u32(skb, RDMA_CM_ALT_NL_A_PKEY, be16_to_cpu(key->pkey)) ||
	    nla_put_u32(skb, RDMA_CM_ALT_NL_A_DLID, dlid) ||
	    nla_put_u32(skb, RDMA_CM_ALT_NL_A_SL, info->path.sl) ||
	    nla_put_u32(skb, RDMA_CM_ALT_NL_A_AGE, info->age_s))
		return -EMSGSIZE;
	return 0;
}

static int dump_path(const struct rca_nl_dump *dump, const struct rca_path_info *info)
{
	struct rca_device *dev = rca_nl_device(dump, info->key.device);
	void *msg;
	int ret = 0;

	if (!dev)
		return 0;
	if (atomic_read(&dev->path_epoch) != info->epoch)
		goto out_put;
	msg = rca_nl_msg_begin(dump, RDMA_CM_ALT_NL_PATH);
	ret = msg ? rca_nl_msg_end(dump, msg, put_path(dump->skb, dev, info)) : -EMSGSIZE;
out_put:
	rca_device_put(dev);	/* got in rca_nl_device() */
	return ret;
}

/* dumpit() of RDMA_CM_ALT_NL_PATH. */
int rca_nl_dump_paths(struct sk_buff *skb, struct netlink_callback *cb)
{
	struct paths_dump *paths = (struct paths_dump *)cb->args[0];
	const struct rca_nl_dump dump = rca_nl_dump_start(skb, cb);
	int ret;

	while (paths->has_info || rca_path_cache_next(&paths->iter, &paths->info)) {
		ret = dump_path(&dump, &paths->info);
		paths->has_info = ret;
		if (ret)
			return skb->len ?: ret;
		cond_resched();
	}
	return skb->len;
}
