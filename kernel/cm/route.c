// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * The path of a RoCE connection: created from the state of the id, or given by user space.
 *
 * Locking: rca_id.op.
 */
#include "cm/internal.h"

#include <linux/if_vlan.h>
#include <linux/jiffies.h>
#include <linux/list.h>
#include <linux/minmax.h>
#include <linux/netdevice.h>
#include <linux/rhashtable.h>
#include <linux/slab.h>
#include <linux/string.h>
#include <net/route.h>
#include <rdma/ib_addr.h>
#include <rdma/ib_cache.h>
#include <rdma/ib_sa.h>
#include <rdma/ib_user_sa.h>

#include "id/id.h"
#include "lib/compat.h"
#include "lib/testing.h"
#include "lib/wire.h"
#include "transport/transport.h"

/**
 * struct rca_path_question - a path query of an id
 * @rec: path record
 * @mask: its component mask
 * @key: both for tables
 * @epoch: epoch of the device when the question was made
 */
struct rca_path_question {
	struct sa_path_rec rec;
	ib_sa_comp_mask mask;
	struct rca_path_key key;
	u32 epoch;
};

/* 4.096 us * 2^16 = 268 ms: the value of stock 6.12 for Ethernet. */
#define ROCE_PACKET_LIFETIME	16

/* 2.4 hours: ib_cm computes with it in an int, and messages have 5 bits for it. */
#define MAX_PACKET_LIFETIME	31

/* Flags of the path records that user space may give; others have other uses. */
#define USABLE_PATH	(IB_PATH_GMP | IB_PATH_PRIMARY | IB_PATH_BIDIRECTIONAL)

struct prio_walk {
	int prio;
	int tc;
	bool found;
};

/*
 * Returns the traffic class of a priority on a VLAN device: that of its real device, or from its
 * egress map.
 */
static int vlan_tc(struct net_device *vlan, int prio)
{
	struct net_device *real = vlan_dev_real_dev(vlan);

	if (real->num_tc)
		return netdev_get_prio_tc_map(real, prio);
	return (vlan_dev_get_egress_qos_mask(vlan, prio) & VLAN_PRIO_MASK) >> VLAN_PRIO_SHIFT;
}

/* Looks only at the first lower device: the return value stops the walk. */
static int first_lower_tc(struct net_device *dev, struct netdev_nested_priv *priv)
{
	struct prio_walk *walk = priv->data;

	if (is_vlan_dev(dev))
		walk->tc = vlan_tc(dev, walk->prio);
	else if (dev->num_tc)
		walk->tc = netdev_get_prio_tc_map(dev, walk->prio);
	walk->found = true;
	return 1;
}

/* The service level is the traffic class of the network device for the TOS. */
static u8 tos_to_sl(struct net_device *ndev, u8 tos)
{
	struct prio_walk walk = { .prio = rt_tos2priority(tos) };
	struct netdev_nested_priv priv = { .data = &walk };

	if (is_vlan_dev(ndev))
		return vlan_tc(ndev, walk.prio);
	rcu_read_lock();
	netdev_walk_all_lower_dev_rcu(ndev, first_lower_tc, &priv);
	rcu_read_unlock();
	if (walk.found)
		return walk.tc;
	return ndev->num_tc ? netdev_get_prio_tc_map(ndev, walk.prio) : 0;
}

/*
 * Returns the service level of an id: the traffic class of its network device for its type of
 * service. Expects rca_id.op to be held by the caller.
 */
u8 rca_route_sl(struct rca_id *id)
{
	struct net_device *ndev = dev_get_by_index(id->net, id->link.ifindex);
	u8 sl = ndev ? tos_to_sl(ndev, rca_id_tos(id)) : 0;

	dev_put(ndev);
	return sl;
}

/*
 * RoCE v2 switches spread flows by the UDP source port, which is derived from the flow label: that
 * of the local IPv6 address if set, else a hash of both ports.
 */
static __be32 flow_label(struct rca_id *id)
{
	u32 label = 0;

	if (id->local.sa.sa_family == AF_INET6)
		label = be32_to_cpu(id->local.in6.sin6_flowinfo) & IB_GRH_FLOWLABEL_MASK;
	if (!label)
		label = (be16_to_cpu(rca_addr_port(&id->local)) * 31u +
			 be16_to_cpu(rca_addr_port(&id->dst))) & IB_GRH_FLOWLABEL_MASK;
	return cpu_to_be32(label);
}

/* Set the RoCE members of a path, which replace those of InfiniBand. */
static void set_roce(struct rca_id *id, struct sa_path_rec *path)
{
	bool routed = id->link.network == RDMA_NETWORK_IPV4 ||
		      id->link.network == RDMA_NETWORK_IPV6;
	enum ib_gid_type type;

	/* Packets through a gateway must be routable. */
	type = routed ? IB_GID_TYPE_ROCE_UDP_ENCAP : id->sgid_attr->gid_type;
	path->rec_type = sa_conv_gid_to_pathrec_type(type);
	path->roce.route_resolved = true;
	sa_path_set_dmac(path, id->link.dmac);
}

static int fill_path(struct rca_id *id, struct sa_path_rec *path, struct net_device *ndev)
{
	const struct rca_opts *opts = rca_id_opts(id);
	u8 tos = rca_id_tos(id);

	set_roce(id, path);
	rdma_ip2gid(&id->local.sa, &path->sgid);
	rdma_ip2gid(&id->dst.sa, &path->dgid);
	path->hop_limit = id->link.hoplimit;
	path->reversible = 1;
	path->pkey = cpu_to_be16(IB_DEFAULT_PKEY_FULL);
	path->mtu_selector = IB_SA_EQ;
	path->mtu = iboe_get_mtu(ndev->mtu);
	path->rate_selector = IB_SA_EQ;
	path->rate = IB_RATE_PORT_CURRENT;
	path->sl = tos_to_sl(ndev, tos);
	path->traffic_class = tos;
	path->packet_life_time_selector = IB_SA_EQ;
	/* IBTA 12.7.34: timeout = 2 * lifetime + the delay of the CA, which is small. */
	path->packet_life_time = opts->ack_timeout ?
		min(opts->ack_timeout - 1, MAX_PACKET_LIFETIME) : ROCE_PACKET_LIFETIME;
	if (rdma_protocol_roce_udp_encap(id->dev->ibdev, id->port_num))
		path->flow_label = flow_label(id);
	return path->mtu ? 0 : -EINVAL;
}

/*
 * Create the path of an id on RoCE; on iWARP it needs none. -ENODEV: the network device is gone;
 * -EINVAL: its MTU is too small.
 */
int rca_route_roce(struct rca_id *id)
{
	struct sa_path_rec path = {};
	struct net_device *ndev;
	int ret;

	lockdep_assert_held(&id->op);
	/* TCP uses the routes of the host. */
	if (id->dev->tp->over_tcp)
		return 0;
	ndev = dev_get_by_index(id->net, id->link.ifindex);
	if (!ndev)
		return -ENODEV;
	ret = fill_path(id, &path, ndev);
	dev_put(ndev);
	if (!ret)
		rca_id_set_path(id, &path);
	return ret;
}

/*
 * Select the usable path from an array of struct ib_path_rec_data. -EINVAL: @len is not a whole
 * number of records, none of them is an outgoing, reversible primary path, or its packet lifetime
 * does not fit messages.
 */
int rca_route_parse(struct sa_path_rec *path, const void *records, u32 len)
{
	const struct ib_path_rec_data *rec = records;
	u32 left = len / sizeof(*rec);

	if (len % sizeof(*rec))
		return -EINVAL;
	while (left && rec->flags != USABLE_PATH) {
		rec++;
		left--;
	}
	if (!left)
		return -EINVAL;
	memset(path, 0, sizeof(*path));
	path->rec_type = SA_PATH_REC_TYPE_IB;
	ib_sa_unpack_path((void *)rec->path_rec, path);
	return path->packet_life_time > MAX_PACKET_LIFETIME ? -EINVAL : 0;
}

/*
 * Check that the caller may use a path that it gives to an id. Peers keep what they learn from a
 * connection under its source GID, so a foreign one needs CAP_NET_RAW. Returns 0 or -EPERM; an id
 * without a GID is in the wrong state anyway, and TCP uses no path. With the credentials of the
 * caller.
 */
int rca_route_check_source(struct rca_id *id, const struct sa_path_rec *path)
{
	lockdep_assert_held(&id->op);
	if (!id->sgid_attr || id->dev->tp->over_tcp ||
	    !memcmp(&path->sgid, &id->sgid_attr->gid, sizeof(path->sgid)) ||
	    rdma_dev_has_raw_cap(id->dev->ibdev))
		return 0;
	return -EPERM;
}

/*
 * Set a path that user space has resolved. GIDs, partition key, MTU, rate and times are used as
 * given. -ENODEV: the network device is gone.
 */
int rca_route_set(struct rca_id *id, const struct sa_path_rec *given)
{
	struct sa_path_rec path = *given;
	struct net_device *ndev;

	lockdep_assert_held(&id->op);
	ndev = dev_get_by_index(id->net, id->link.ifindex);
	if (!ndev)
		return -ENODEV;
	dev_put(ndev);
	if (!id->dev->tp->over_tcp)
		set_roce(id, &path);
	rca_id_set_path(id, &path);
	return 0;
}

/*
 * Path queries to the subnet administrator (SA). The answer is handled by the work of each id that
 * has asked, because it may arrive before the call that sends the query returns.
 *
 * If another id has sent the same query, and it ends within the timeout of the id, the id follows
 * that query, the leader. When a job starts, the SA gets one query from this host, not one from
 * each id. A leader whose id is gone goes on as long as it has followers. If it is withdrawn
 * because others need its place, see sa.c, each of them starts a query anew; so does an id that has
 * waited for a place.
 *
 * Locking: rca_id.op; rca_sa_lock for leaders and followers. It is taken in process context alone,
 * with interrupts on: rhashtable of 6.1 enables softirqs inside.
 */

/* Followers that get their answer in one section with rca_sa_lock. */
#define BATCH	64

/**
 * struct rca_route_query - the pending path query of an id
 * @sa: the query; called when it has its answer, its own or that of its leader
 * @post: post an event on success (immutable)
 * @question: the question (immutable once it was sent)
 * @node: entry in asked, if @leads (lock: rca_sa_lock)
 * @leads: other queries may follow this one (lock: rca_sa_lock)
 * @gone: the id has given up (lock: rca_sa_lock)
 * @followers: queries with the same question (lock: rca_sa_lock)
 * @leader: the query that this one follows, or NULL (lock: rca_sa_lock)
 * @beside: entry in &followers of @leader (lock: rca_sa_lock)
 * @followed: it has or had a leader (lock: rca_id.op)
 * @status: result of the query (written before it is called)
 * @answer: its paths (likewise)
 */
struct rca_route_query {
	struct rca_sa_query sa;
	bool post;
	struct rca_path_question question;
	struct rhash_head node;
	bool leads;
	bool gone;
	struct list_head followers;
	struct rca_route_query *leader;
	struct list_head beside;
	bool followed;
	int status;
	struct rca_path_answer answer;
};

static const struct rhashtable_params asked_params = {
	.key_len = sizeof(struct rca_path_key),
	.key_offset = offsetof(struct rca_route_query, question.key),
	.head_offset = offsetof(struct rca_route_query, node),
	.automatic_shrinking = true,
};

static struct rhashtable asked;		/* leaders (lock: rca_sa_lock) */

/* Module init. Returns 0 or a negative errno. */
int __init rca_path_query_init(void)
{
	return rhashtable_init(&asked, &asked_params);
}

/* Module exit, when no query exists any more. */
void rca_path_query_exit(void)
{
	rhashtable_destroy(&asked);
}

static void free_path_query(struct rca_sa_query *query)
{
	kfree(container_of(query, struct rca_route_query, sa));
}

static int start_path_query(struct rca_id *id, const struct rca_path_question *question,
			    unsigned long ends, bool post, const struct rca_route_query *before);
static int send_path_query(struct rca_route_query *query, bool may_follow);

/*
 * Start another query if this one or its leader was withdrawn, or if the leader got no answer, but
 * had less time than this id. Returns true if there is another query.
 */
static bool ask_again(struct rca_route_query *query)
{
	struct rca_id *id = query->sa.id;
	int ret;

	lockdep_assert_held(&id->op);
	if (query->status != -EINTR && !(query->followed && query->status == -ETIMEDOUT))
		return false;
	if (!id->dev)
		return false;
	if (time_after_eq(jiffies, query->sa.ends)) {
		query->status = -ETIMEDOUT;
		return false;
	}
	query->question.epoch = atomic_read(&id->dev->path_epoch);
	ret = start_path_query(id, &query->question, query->sa.ends, query->post, query);
	if (ret < 0)
		query->status = ret;
	return ret >= 0;
}

/* A query that waits has a place, or its time is over. Returns true if it goes on. */
static bool resume_path_query(struct rca_route_query *query)
{
	int ret = -ETIMEDOUT;

	lockdep_assert_held(&query->sa.id->op);
	if (query->sa.sent || query->followed)
		return true;
	if (!query->sa.id->dev)
		ret = -ENODEV;
	else if (time_before(jiffies, query->sa.ends))
		ret = send_path_query(query, true);
	if (ret >= 0)
		return true;
	query->status = ret;
	rca_sa_cancel(&query->sa);
	return false;
}

/*
 * End the pending path query if its result is there, and set @post to the argument of
 * rca_route_ib_start(). A query that waits for its place, or that was withdrawn, is sent.
 * -EINPROGRESS: the work of the id will be queued again; another errno: no path.
 */
int rca_path_query_continue(struct rca_id *id, bool *post)
{
	struct rca_route_query *query = id->setup->query;
	const struct rca_path_answer *answer;
	int ret = -EINPROGRESS;

	lockdep_assert_held(&id->op);
	if (!query || (!rca_sa_called(&query->sa) && resume_path_query(query)))
		return -EINPROGRESS;
	id->setup->query = NULL;
	if (!ask_again(query)) {
		*post = query->post;
		answer = &query->answer;
		ret = query->status;
		/* The device may have been removed meanwhile: see remove_from_device(). */
		if (!ret && !id->dev)
			ret = -ENODEV;
		if (!ret)
			ret = rca_id_set_paths(id, &answer->path,
					       answer->inbound.flags ? &answer->inbound : NULL,
					       answer->outbound.flags ? &answer->outbound : NULL);
	}
	rca_sa_put(&query->sa);	/* of the setup */
	return ret;
}

/* Sort the records by their flags; those of a subnet administrator have none. */
RCA_VISIBLE_IF_KUNIT
int rca_path_sort(const struct sa_path_rec *recs, unsigned int count,
		  struct rca_path_answer *answer)
{
	const struct sa_path_rec *path = NULL;
	unsigned int i;

	/* On 6.1, ib_sa does not initialise the flags of an Omni-Path record. */
	if (count == 1) {
		answer->path = recs[0];
		answer->path.flags = 0;
		return 0;
	}
	for (i = 0; i < count; i++) {
		if (!recs[i].flags || recs[i].flags & IB_PATH_GMP)
			path = &recs[i];
		else if (recs[i].flags & IB_PATH_INBOUND)
			answer->inbound = recs[i];
		else if (recs[i].flags & IB_PATH_OUTBOUND)
			answer->outbound = recs[i];
		else
			return -EINVAL;
	}
	if (!path)
		return -EINVAL;
	answer->path = *path;
	return 0;
}

static void stop_leading(struct rca_route_query *query)
{
	lockdep_assert_held(&rca_sa_lock);
	if (query->leads)
		rhashtable_remove_fast(&asked, &query->node, asked_params);
	query->leads = false;
}

/* Give the answer to some of the followers. Returns true if there may be more. */
static bool answer_batch(struct rca_route_query *leader)
{
	struct rca_route_query *query;
	unsigned int n;

	spin_lock(&rca_sa_lock);
	for (n = 0; n < BATCH && !list_empty(&leader->followers); n++) {
		query = list_first_entry(&leader->followers, struct rca_route_query, beside);
		list_del_init(&query->beside);
		query->leader = NULL;
		query->status = leader->status;
		query->answer = leader->answer;
		query->sa.called = true;
		rca_id_queue_work(query->sa.id);
	}
	spin_unlock(&rca_sa_lock);
	return n == BATCH;
}

/* Runs on a workqueue of the MAD layer, or before ib_sa_path_rec_get() returns. */
static void path_query_done(int status, struct sa_path_rec *recs, rca_num_paths_t count,
			    void *context)
{
	struct rca_route_query *query = context;
	const struct rca_path_question *question = &query->question;

	query->status = status ?: rca_path_sort(recs, count, &query->answer);
	/* A resolver in user space may give a path for each direction; those are not kept. */
	if (!query->status && !query->answer.inbound.flags && !query->answer.outbound.flags)
		rca_path_cache_add(&question->key, question->epoch, &query->answer.path);
	spin_lock(&rca_sa_lock);
	rca_sa_called_locked(&query->sa, status);
	stop_leading(query);		/* no follower is added from here on */
	spin_unlock(&rca_sa_lock);
	while (answer_batch(query))
		cond_resched();
	if (query->sa.id)
		rca_id_queue_work(query->sa.id);
	rca_sa_put(&query->sa);		/* of the callback */
}

/* Follow the same query of another id that ends soon enough. Returns false if there is none. */
static bool follow_leader(struct rca_route_query *query)
{
	struct rca_route_query *leader;

	spin_lock(&rca_sa_lock);
	leader = rhashtable_lookup_fast(&asked, &query->question.key, asked_params);
	if (leader && leader->question.epoch == query->question.epoch &&
	    time_before_eq(leader->sa.ends, query->sa.ends)) {
		query->leader = leader;
		query->followed = true;
		list_add_tail(&query->beside, &leader->followers);
		rca_sa_cancel_locked(&query->sa);	/* it needs no place */
	}
	spin_unlock(&rca_sa_lock);
	return query->followed;
}

/* Returns 1: there will be a result; or a negative errno. */
static int send_path_query(struct rca_route_query *query, bool may_follow)
{
	struct rca_id *id = query->sa.id;
	int ret;

	lockdep_assert_held(&id->op);
	if (may_follow && follow_leader(query))
		return 1;
	if (!rca_sa_begin(&query->sa))
		return 1;
	refcount_inc(&query->sa.ref);	/* put in path_query_done() */
	ret = ib_sa_path_rec_get(&rca_sa_client, id->dev->ibdev, id->port_num,
				 &query->question.rec, query->question.mask,
				 rca_sa_left_ms(&query->sa), GFP_KERNEL_ACCOUNT, path_query_done,
				 query, &query->sa.sa);
	rca_sa_sent(&query->sa, ret);
	if (ret < 0)
		return ret;
	/* Let other ids follow the query. Without memory, they send their own. */
	spin_lock(&rca_sa_lock);
	if (!query->sa.called)
		query->leads = !rhashtable_lookup_insert_fast(&asked, &query->node, asked_params);
	spin_unlock(&rca_sa_lock);
	return 1;
}

/*
 * An id whose leader had no answer in time follows no other: a user who repeats queries with short
 * timeouts would keep it waiting.
 */
static int start_path_query(struct rca_id *id, const struct rca_path_question *question,
			    unsigned long ends, bool post, const struct rca_route_query *before)
{
	struct rca_route_query *query = kzalloc(sizeof(*query), GFP_KERNEL_ACCOUNT);
	int ret;

	lockdep_assert_held(&id->op);
	if (!query)
		return -ENOMEM;
	rca_sa_init(&query->sa, id, ends, free_path_query);
	query->post = post;
	query->question = *question;
	INIT_LIST_HEAD(&query->followers);
	INIT_LIST_HEAD(&query->beside);
	/* A query that was withdrawn keeps its next place for longer. */
	if (before)
		query->sa.place.returns = before->sa.place.returns;
	id->setup->query = query;
	ret = send_path_query(query, !before || before->status == -EINTR);
	if (ret < 0) {
		id->setup->query = NULL;
		rca_sa_put(&query->sa);
	}
	return ret;
}

/* Nobody waits for the answer to a query. */
static void end_query(struct rca_route_query *query)
{
	lockdep_assert_held(&rca_sa_lock);
	stop_leading(query);
	rca_sa_cancel_locked(&query->sa);
}

/*
 * Cancel the pending path query of an id whose state permits no new one. The answer may still
 * arrive; it is ignored.
 */
void rca_path_query_cancel(struct rca_id *id)
{
	struct rca_route_query *query = id->setup ? id->setup->query : NULL, *leader;
	bool is_free = false;

	lockdep_assert_held(&id->op);
	if (!query)
		return;
	id->setup->query = NULL;
	spin_lock(&rca_sa_lock);
	leader = query->leader;
	query->gone = true;
	if (leader) {
		list_del_init(&query->beside);
		query->leader = NULL;
		if (leader->gone && !leader->sa.called && list_empty(&leader->followers))
			end_query(leader);
	}
	if (list_empty(&query->followers))
		end_query(query);
	if (query->sa.sent && !query->sa.called) {
		query->sa.id = NULL;	/* it would keep the network namespace */
		is_free = true;
	}
	spin_unlock(&rca_sa_lock);
	if (is_free)
		rca_id_put(id);		/* got in rca_sa_init() */
	rca_sa_put(&query->sa);		/* of the setup */
}

/*
 * The path of an id on InfiniBand: from the cache, from the subnet administrator, or given by user
 * space.
 *
 * Locking: rca_id.op.
 */

/* Timeout in ms of a query for another path, while a connection request waits for it. */
#define RENEW_MS	2000

/* Position of the traffic class in an IPv6 flow information. */
#define FLOWINFO_TCLASS_SHIFT	20

/* Traffic class of the flow information in a local address. */
static u8 flowinfo_tclass(__be32 flowinfo)
{
	return be32_to_cpu(flowinfo) >> FLOWINFO_TCLASS_SHIFT;
}

/*
 * Fill in the path record of a query, and return its component mask: one reversible path between
 * the two GIDs in the partition of the id, for its service. The quality of service depends on the
 * family of the addresses: type of service of the id, or traffic class. @opa: the port is
 * Omni-Path, whose records have longer LIDs.
 */
RCA_VISIBLE_IF_KUNIT
ib_sa_comp_mask rca_route_ib_question(const struct rca_id *id, bool opa, struct sa_path_rec *rec)
{
	ib_sa_comp_mask mask = IB_SA_PATH_REC_DGID | IB_SA_PATH_REC_SGID | IB_SA_PATH_REC_PKEY |
			       IB_SA_PATH_REC_NUMB_PATH | IB_SA_PATH_REC_REVERSIBLE |
			       IB_SA_PATH_REC_SERVICE_ID;

	memset(rec, 0, sizeof(*rec));
	rec->rec_type = opa ? SA_PATH_REC_TYPE_OPA : SA_PATH_REC_TYPE_IB;
	rec->sgid = id->sgid_attr->gid;
	memcpy(rec->dgid.raw, id->link.dgid, sizeof(id->link.dgid));
	rec->pkey = cpu_to_be16(id->link.pkey);
	rec->numb_path = 1;
	rec->reversible = 1;
	rec->service_id = rca_wire_addr_service_id(id->ps, &id->dst);
	switch (id->local.sa.sa_family) {
	case AF_INET:
		rec->qos_class = cpu_to_be16(rca_id_opts(id)->tos);
		return mask | IB_SA_PATH_REC_QOS_CLASS;
	case AF_INET6:
		rec->traffic_class = flowinfo_tclass(id->local.in6.sin6_flowinfo);
		return mask | IB_SA_PATH_REC_TRAFFIC_CLASS;
	case AF_IB:
		rec->traffic_class = flowinfo_tclass(id->local.ib.sib_flowinfo);
		return mask | IB_SA_PATH_REC_TRAFFIC_CLASS;
	default:
		return mask;
	}
}

/* Use a cached path. */
static void store_cached(struct rca_id *id, const struct sa_path_rec *path, u32 version)
{
	rca_id_set_path(id, path);
	id->setup->path_version = version;
}

static void set_question(const struct rca_id *id, struct rca_path_question *question)
{
	const u32 user = __kuid_val(rca_account_uid(&id->obj.ctx->account));
	const struct rca_device *dev = id->dev;

	question->epoch = atomic_read(&dev->path_epoch);
	question->mask = rca_route_ib_question(id, rdma_cap_opa_ah(dev->ibdev, id->port_num),
					       &question->rec);
	rca_path_key(&question->key, user, dev->serial, id->port_num, &question->rec,
		     question->mask);
}

/*
 * The greatest age of a cached path for an id, in seconds. A cached path has to be renewed if the
 * peer does not answer over it, so ids that send their request in a single round do not use one.
 */
static u32 max_age_s(struct rca_id *id)
{
	const struct rca_timing timing = rca_id_timing(id);

	if (id->qp_type == IB_QPT_UD || rca_timing_once(&timing))
		return 0;
	return rca_timing_net_path_cache_s(id->net);
}

/*
 * Find the path of an id in the cache, else by a query, which ib_sa sends up to ten times within
 * @timeout_ms. Returns 0, the id has its path; 1, the work of the id will be queued for
 * rca_path_query_continue(), unless rca_path_query_cancel() comes first; or an errno of ib_sa:
 * -EAGAIN if the port does not know its subnet manager.
 */
int rca_route_ib_start(struct rca_id *id, u32 timeout_ms, bool post)
{
	struct rca_path_question question;
	struct sa_path_rec path;
	u32 version;

	lockdep_assert_held(&id->op);
	set_question(id, &question);
	version = rca_path_cache_find(&question.key, question.epoch, max_age_s(id), &path);
	if (version) {
		this_cpu_inc(rca_device_stats(id->dev, id->port_num)->cached_paths);
		store_cached(id, &path, version);
		return 0;
	}
	timeout_ms = min_t(u32, timeout_ms, INT_MAX);
	return start_path_query(id, &question, jiffies + msecs_to_jiffies(timeout_ms), post, NULL);
}

/*
 * Replace a cached path over which the peer did not answer. Returns true if the work of the id has
 * to call rca_path_query_continue(), as after rca_route_ib_start(); if that fails, the id keeps the
 * old path. False: the request may be sent now, as the path was not a cached one, was replaced, or
 * cannot be.
 */
bool rca_route_ib_renew(struct rca_id *id)
{
	u32 version = id->setup->path_version;
	struct rca_path_question question;
	struct sa_path_rec path;

	lockdep_assert_held(&id->op);
	if (!version)
		return false;
	set_question(id, &question);
	switch (rca_path_cache_doubt(&question.key, question.epoch, &version, &path)) {
	case RCA_PATH_NEWER:
		store_cached(id, &path, version);
		return false;
	case RCA_PATH_ASKED:
		return false;
	default:
		id->setup->path_version = 0;
		return start_path_query(id, &question, jiffies + msecs_to_jiffies(RENEW_MS), false,
					NULL) > 0;
	}
}

/*
 * An id that is destroyed has not connected over its path. If that is a cached one, the next id
 * queries the subnet administrator: the peer may have another LID, and the old one may belong to a
 * host that rejects.
 */
void rca_route_ib_forget(struct rca_id *id)
{
	u32 version = id->setup ? id->setup->path_version : 0;
	struct rca_path_question question;

	lockdep_assert_held(&id->op);
	if (!version || !id->dev)
		return;
	set_question(id, &question);
	rca_path_cache_forget(&question.key, version);
}

/* Set a path that user space has resolved, from an InfiniBand record. */
void rca_route_ib_set(struct rca_id *id, const struct sa_path_rec *given)
{
	struct sa_path_rec path = *given;

	lockdep_assert_held(&id->op);
	if (rdma_cap_opa_ah(id->dev->ibdev, id->port_num))
		sa_convert_path_ib_to_opa(&path, (struct sa_path_rec *)given);
	rca_id_set_path(id, &path);
}
