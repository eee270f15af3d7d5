// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * The path of a link: where its packets go, and what their headers say. The ib_cm connection of the
 * link has the same path.
 *
 * A trunk carries the messages of all users, so no request of one of them decides about its path:
 *
 * - Traffic class and service level are parameters of this module. The flow label of each link is
 *   random, so a network with several ways spreads links over them.
 * - Over RoCE, MTU and hop limit are those of the network device of the local GID, and ib_core
 *   finds the next hop to the GID of the peer.
 * - Over InfiniBand the subnet administrator (SA) tells the path to the GID of the peer, so no
 *   other host receives what is meant for the peer. Its service level counts, as the routing of a
 *   subnet may depend on it.
 *
 * Each end does this for the packets that it sends.
 *
 * Locking: rca_trunk.lock for the answer of the SA. From the work of a trunk.
 */
#include "trunk/trunk.h"

#include <linux/errno.h>
#include <linux/gfp.h>
#include <linux/minmax.h>
#include <linux/module.h>
#include <linux/netdevice.h>
#include <linux/random.h>
#include <linux/rcupdate.h>
#include <net/addrconf.h>
#include <net/ipv6.h>
#include <net/net_namespace.h>
#include <rdma/ib_addr.h>
#include <rdma/ib_cache.h>
#include <rdma/ib_sa.h>

#include "lib/compat.h"
#include "lib/testing.h"
#include "transport/transport.h"

#define FLOW_LABEL_MASK	0xfffff

/* A frame fits a packet with this MTU, which most networks have. */
#define MOST_MTU	IB_MTU_1024

/* Time limit of a query to the SA, in milliseconds. */
#define QUERY_MS	1000

static struct ib_sa_client sa_client;

static int set_trunk_traffic_class(const char *val, const struct kernel_param *param)
{
	return param_set_uint_minmax(val, param, 0, U8_MAX);
}

static const struct kernel_param_ops traffic_class_ops = {
	.set = set_trunk_traffic_class,
	.get = param_get_uint,
};

/* Module parameters. Unit tests change them. */
RCA_VISIBLE_IF_KUNIT unsigned int rca_trunk_traffic_class;
RCA_VISIBLE_IF_KUNIT unsigned int rca_trunk_sl;

module_param_cb(trunk_traffic_class, &traffic_class_ops, &rca_trunk_traffic_class, 0644);
MODULE_PARM_DESC(trunk_traffic_class, "traffic class (type of service) of trunks that are opened from now on, 0 to 255");

static int set_trunk_sl(const char *val, const struct kernel_param *param)
{
	return param_set_uint_minmax(val, param, 0, 15);
}

static const struct kernel_param_ops sl_ops = {
	.set = set_trunk_sl,
	.get = param_get_uint,
};

module_param_cb(trunk_sl, &sl_ops, &rca_trunk_sl, 0644);
MODULE_PARM_DESC(trunk_sl, "service level of trunks that are opened from now on, 0 to 15; over InfiniBand, 0 leaves it to the subnet administrator");

void rca_link_paths_init(void)
{
	ib_sa_register_client(&sa_client);
}

/* Module exit, when all trunks are gone. */
void rca_link_paths_exit(void)
{
	ib_sa_unregister_client(&sa_client);
}

/* Set what both fabrics have. The lifetime makes that of the QP: see RCA_LINK_TIMEOUT. */
static void set_common_path(struct sa_path_rec *path)
{
	path->traffic_class = READ_ONCE(rca_trunk_traffic_class);
	path->flow_label = cpu_to_be32(get_random_u32() & FLOW_LABEL_MASK);
	path->packet_life_time = RCA_LINK_TIMEOUT - 1;
}

/* Hop limit of packets that a network device sends to a GID. Under RCU. */
static u8 hop_limit_to_gid(const struct net_device *ndev, const union ib_gid *dgid)
{
#if IS_ENABLED(CONFIG_IPV6)
	const struct inet6_dev *idev = __in6_dev_get(ndev);

	if (!ipv6_addr_v4mapped((const struct in6_addr *)dgid))
		return idev ? READ_ONCE(idev->cnf.hop_limit) : IPV6_DEFAULT_HOPLIMIT;
#endif
	return READ_ONCE(dev_net(ndev)->ipv4.sysctl_ip_default_ttl);
}

/* Set the path of a link over RoCE, which keeps the addresses of that of the trunk. */
static int set_roce_path(struct rca_trunk_link *link)
{
	struct sa_path_rec *path = &link->path;
	struct net_device *ndev;
	int ret = 0;

	rcu_read_lock();
	ndev = rdma_read_gid_attr_ndev_rcu(link->trunk->sgid_attr);
	if (IS_ERR(ndev)) {
		ret = PTR_ERR(ndev);
	} else {
		path->mtu = min(iboe_get_mtu(ndev->mtu), MOST_MTU);
		path->hop_limit = hop_limit_to_gid(ndev, &path->dgid);
	}
	rcu_read_unlock();
	path->sl = READ_ONCE(rca_trunk_sl);
	path->rate = IB_RATE_PORT_CURRENT;
	set_common_path(path);
	return ret;
}

/* The answer of the SA: one record, or one of several that is for both directions. */
static const struct sa_path_rec *choose_path_rec(const struct sa_path_rec *recs, unsigned int count)
{
	unsigned int i;

	for (i = 0; i < count; i++)
		if (count == 1 || !recs[i].flags || recs[i].flags & IB_PATH_GMP)
			return &recs[i];
	return NULL;
}

/* Runs on a workqueue of the MAD layer, or before ib_sa_path_rec_get() returns. */
RCA_VISIBLE_IF_KUNIT void rca_link_path_found(int status, struct sa_path_rec *recs,
					      rca_num_paths_t count, void *context)
{
	const struct sa_path_rec *found = status ? NULL : choose_path_rec(recs, count);
	struct rca_trunk_link *link = context;
	struct rca_trunk *trunk = link->trunk;

	if (found) {
		spin_lock(&trunk->lock);
		link->path = *found;
		set_common_path(&link->path);
		spin_unlock(&trunk->lock);
	} else {
		rca_trunk_because(trunk, "the subnet administrator tells no path");
	}
	rca_link_tell(link, found ? RCA_LINK_PATH : RCA_LINK_END);
	rca_link_put(link);	/* got in query_sa_path() */
}

/* Ask the SA for a path to the peer, as ids do. RCA_LINK_PATH or RCA_LINK_END follows. */
static int query_sa_path(struct rca_trunk_link *link)
{
	const struct rca_peer_key *key = &link->trunk->key.peer;
	struct ib_device *ibdev = rca_link_ibdev(link);
	struct sa_path_rec rec = {
		.rec_type = rdma_cap_opa_ah(ibdev, key->port_num) ? SA_PATH_REC_TYPE_OPA :
								    SA_PATH_REC_TYPE_IB,
		.sgid = key->sgid,
		.dgid = key->dgid,
		.pkey = link->path.pkey,
		.numb_path = 1,
		.reversible = 1,
		.traffic_class = READ_ONCE(rca_trunk_traffic_class),
		.sl = READ_ONCE(rca_trunk_sl),
	};
	ib_sa_comp_mask mask = IB_SA_PATH_REC_DGID | IB_SA_PATH_REC_SGID | IB_SA_PATH_REC_PKEY |
			       IB_SA_PATH_REC_NUMB_PATH | IB_SA_PATH_REC_REVERSIBLE |
			       IB_SA_PATH_REC_TRAFFIC_CLASS | (rec.sl ? IB_SA_PATH_REC_SL : 0);
	struct ib_sa_query *sa_query;
	int ret;

	refcount_inc(&link->ref);	/* put in rca_link_path_found() */
	ret = ib_sa_path_rec_get(&sa_client, ibdev, key->port_num, &rec, mask, QUERY_MS,
				 GFP_KERNEL, rca_link_path_found, link, &sa_query);
	if (ret >= 0)
		return 0;
	rca_link_put(link);
	return ret;
}

/*
 * Find the path of a new link, which has that of the request that led to it. RCA_LINK_PATH follows,
 * or RCA_LINK_END if there is none. Returns 0 or a negative errno. Sleeps. From the work of the
 * trunk.
 */
int rca_link_find_path(struct rca_trunk_link *link)
{
	int ret;

	if (!sa_path_is_roce(&link->path))
		return query_sa_path(link);
	ret = set_roce_path(link);
	if (!ret)
		set_bit(RCA_LINK_PATH, &link->news);
	return ret;
}

/* The address of the peer for the QP of a link. rdma_destroy_ah_attr() has to follow. Sleeps. */
int rca_link_address(struct rca_trunk_link *link, struct rdma_ah_attr *ah)
{
	const struct rca_trunk *trunk = link->trunk;

	return ib_init_ah_attr_from_path(trunk->dev->ibdev, trunk->key.peer.port_num, &link->path,
					 ah, trunk->sgid_attr);
}
