// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * Common parts of the dumps: access rights of the reader, the walk over contexts,
 * messages and attributes.
 *
 * Locking: none.
 */
#include "diag/diag.h"

#include <linux/capability.h>
#include <linux/cred.h>
#include <linux/ktime.h>
#include <linux/slab.h>
#include <linux/string.h>
#include <net/genetlink.h>
#include <net/net_namespace.h>
#include <net/sock.h>
#include <rdma/ib_verbs.h>

#include "cm/cm.h"
#include "ctx/ctx.h"
#include "event/queue.h"
#include "id/id.h"
#include "lib/sockaddr.h"
#include "lib/testing.h"
#include "transport/transport.h"

/*
 * Set when module init can no longer fail. A dump holds a reference on the module for as long as
 * its reader likes, but a module whose init fails is freed in spite of references.
 */
static bool dumps_allowed;

/* start() of a dump: -EAGAIN while the module is being loaded. */
int rca_nl_start(struct netlink_callback *cb)
{
	if (READ_ONCE(dumps_allowed))
		return 0;
	NL_SET_ERR_MSG(cb->extack, "the module is being loaded: try again");
	return -EAGAIN;
}

/* Module init can no longer fail. */
void rca_nl_allow_dumps(void)
{
	WRITE_ONCE(dumps_allowed, true);
}

/* Begin or continue a dump, with the access rights of its reader. */
struct rca_nl_dump rca_nl_dump_start(struct sk_buff *skb, struct netlink_callback *cb)
{
	struct sock *sk = NETLINK_CB(cb->skb).sk;
	struct net *net = sock_net(sk);

	return (struct rca_nl_dump){
		.skb = skb,
		.cb = cb,
		.net = net,
		.uid = NETLINK_CREDS(cb->skb)->uid,
		.userns = sk_user_ns(sk),
		.all = netlink_ns_capable(cb->skb, net->user_ns, CAP_NET_ADMIN),
	};
}

/* May the reader of a dump see objects of a user? */
bool rca_nl_may_see(const struct rca_nl_dump *dump, kuid_t uid)
{
	return dump->all || uid_eq(dump->uid, uid);
}

/*
 * Dump objects of the contexts that the reader may see, in the order in which they were opened.
 * @dump_ctx puts the messages of a context, from cb->args[RCA_NL_POS] on.
 *
 * Return: the length of @skb; 0: the dump is complete; or a negative errno.
 */
static int rca_nl_dump_ctxs(struct sk_buff *skb, struct netlink_callback *cb,
			    int (*dump_ctx)(const struct rca_nl_dump *dump, struct rca_ctx *ctx,
					    const void *arg),
			    const void *arg)
{
	const struct rca_nl_dump dump = rca_nl_dump_start(skb, cb);
	struct rca_ctx *ctx = NULL;
	int ret = 0;

	while ((ctx = rca_ctx_next(ctx, cb->args[RCA_NL_DONE]))) {
		if (cb->args[RCA_NL_CTX] != ctx->serial) {
			cb->args[RCA_NL_CTX] = ctx->serial;
			cb->args[RCA_NL_POS] = 0;
		}
		if (rca_nl_may_see(&dump, ctx->uid))
			ret = dump_ctx(&dump, ctx, arg);
		if (ret) {
			rca_ctx_put(ctx);	/* got by rca_ctx_next() */
			break;
		}
		cb->args[RCA_NL_DONE] = ctx->serial;
		cond_resched();
	}
	return ret && !skb->len ? ret : skb->len;
}

/* Begin a message of a dump. NULL: the buffer is full. */
void *rca_nl_msg_begin(const struct rca_nl_dump *dump, u8 cmd)
{
	struct netlink_callback *cb = dump->cb;
	struct nlmsghdr *nlh = nlmsg_put(dump->skb, NETLINK_CB(cb->skb).portid,
					 cb->nlh->nlmsg_seq, cb->nlh->nlmsg_type, GENL_HDRLEN,
					 NLM_F_MULTI);
	struct genlmsghdr *hdr;

	if (!nlh)
		return NULL;
	hdr = nlmsg_data(nlh);
	*hdr = (struct genlmsghdr){ .cmd = cmd, .version = RDMA_CM_ALT_NL_VERSION };
	return (void *)hdr + GENL_HDRLEN;
}

/* Complete a message, or remove it if its attributes failed with @ret. Returns @ret. */
int rca_nl_msg_end(const struct rca_nl_dump *dump, void *msg, int ret)
{
	if (ret)
		genlmsg_cancel(dump->skb, msg);
	else
		genlmsg_end(dump->skb, msg);
	return ret;
}

/* The functions below put attributes, as those of event/event.h do. */

static int rca_nl_put_ctx_owner(const struct rca_nl_dump *dump, const struct rca_ctx *ctx)
{
	return rca_nl_put_owner(dump->skb, dump->userns, ctx->uid, pid_vnr(ctx->pid), ctx->comm);
}

static int rca_nl_put_port(struct sk_buff *skb, const struct ib_device *ibdev, u32 port)
{
	char name[IB_DEVICE_NAME_MAX];

	/* A rename may be under way: the copy is terminated, and its length is read only once. */
	strscpy(name, ibdev->name, sizeof(name));
	return nla_put_string(skb, RDMA_CM_ALT_NL_A_DEV, name) ?:
	       nla_put_u32(skb, RDMA_CM_ALT_NL_A_PORT, port);
}

/* Get a device that the reader of a dump may see, or NULL. */
static struct rca_device *rca_nl_device(const struct rca_nl_dump *dump, u32 serial)
{
	struct rca_device *dev = NULL;

	while ((dev = rca_device_next(dev))) {
		if (dev->serial != serial)
			continue;
		if (rdma_dev_access_netns(dev->ibdev, dump->net))
			return dev;
		rca_device_put(dev);	/* got by rca_device_next() */
		break;
	}
	return NULL;
}

/*
 * Dumps of ids and multicast memberships.
 *
 * A dump goes through contexts in the order in which they were opened, and through
 * each context by handle. An object that is created or destroyed during the dump may
 * be missing or included; no object is included twice.
 *
 * Locking: rca_id.op where it is free, else only what is known without it; rca_id.lock.
 */

static int put_obj(const struct rca_nl_dump *dump, const struct rca_obj *obj)
{
	u32 age = (u32)ktime_get_boottime_seconds() - obj->born;
	u32 qp_num = READ_ONCE(obj->qp_num);
	struct sk_buff *skb = dump->skb;

	if (rca_nl_put_u64(skb, RDMA_CM_ALT_NL_A_CTX, obj->ctx->serial) ||
	    nla_put_u32(skb, RDMA_CM_ALT_NL_A_HANDLE, obj->handle) ||
	    nla_put_u32(skb, RDMA_CM_ALT_NL_A_AGE, age) ||
	    (qp_num && nla_put_u32(skb, RDMA_CM_ALT_NL_A_QPN, qp_num)))
		return -EMSGSIZE;
	return rca_nl_put_ctx_owner(dump, obj->ctx);
}

static int put_dev(struct sk_buff *skb, const struct rca_id *id)
{
	lockdep_assert_held(&id->op);
	if (!id->dev)
		return 0;
	if (rca_nl_put_port(skb, id->dev->ibdev, id->port_num))
		return -EMSGSIZE;
	return id->sgid_attr ? nla_put(skb, RDMA_CM_ALT_NL_A_SGID, sizeof(id->sgid_attr->gid),
				       &id->sgid_attr->gid) : 0;
}

/* What the connection of an id is made over, and why no trunk. */
RCA_VISIBLE_IF_KUNIT int rca_nl_put_transport(struct sk_buff *skb, const struct rca_id *id)
{
	struct rdma_cm_alt_route route;
	const char *why;

	lockdep_assert_held(&id->op);
	if (!id->dev || !id->lower)
		return 0;
	why = rca_lower_why(id);
	if (nla_put_string(skb, RDMA_CM_ALT_NL_A_TRANSPORT, id->tp->name) ||
	    (why && nla_put_string(skb, RDMA_CM_ALT_NL_A_NO_TRUNK, why)))
		return -EMSGSIZE;
	rca_id_fill_route_locked(id, &route);
	if (id->tp->over_tcp || !memchr_inv(route.dgid, 0, sizeof(route.dgid)))
		return 0;
	return nla_put(skb, RDMA_CM_ALT_NL_A_DGID, sizeof(route.dgid), route.dgid);
}

/* While an operation is under way, the device of an id can be read, but not its addresses. */
static int put_dev_of_busy(struct sk_buff *skb, struct rca_id *id)
{
	unsigned long flags;
	int ret;

	spin_lock_irqsave(&id->lock, flags);
	ret = id->dev ? rca_nl_put_port(skb, id->dev->ibdev, id->port_num) : 0;
	spin_unlock_irqrestore(&id->lock, flags);
	return ret ?: nla_put_flag(skb, RDMA_CM_ALT_NL_A_BUSY);
}

/*
 * A connect over TCP may hold the op mutex for seconds: the reader does not wait for that.
 * @connection: put the transport of the id, too
 */
static int put_addrs(struct sk_buff *skb, struct rca_id *id, const union rca_addr *peer,
		     bool connection)
{
	int ret;

	if (!mutex_trylock(&id->op))
		return put_dev_of_busy(skb, id);
	ret = rca_nl_put_addr(skb, RDMA_CM_ALT_NL_A_LOCAL, &id->local) ?:
	      rca_nl_put_addr(skb, RDMA_CM_ALT_NL_A_PEER, peer) ?:
	      put_dev(skb, id);
	if (!ret && connection)
		ret = rca_nl_put_transport(skb, id);
	mutex_unlock(&id->op);
	return ret;
}

/* The private queue of an id has the serial 0, and is not reported. */
static int put_queue(struct sk_buff *skb, struct rca_id *id)
{
	struct rca_queue *queue = rca_source_queue(&id->src);
	u32 serial = queue ? queue->serial : 0;

	rca_queue_put(queue);	/* got by rca_source_queue() */
	return serial ? nla_put_u32(skb, RDMA_CM_ALT_NL_A_QUEUE, serial) : 0;
}

/* State and time are read under one lock, so they belong together. */
static int put_state(struct sk_buff *skb, struct rca_id *id)
{
	enum rca_state state;
	unsigned long flags;
	ktime_t since;

	spin_lock_irqsave(&id->lock, flags);
	state = id->state;
	since = id->since;
	spin_unlock_irqrestore(&id->lock, flags);
	if (nla_put_string(skb, RDMA_CM_ALT_NL_A_STATE, rca_state_name(state)))
		return -EMSGSIZE;
	if (rca_stats_span(state) == RCA_SPAN_NONE)
		return 0;
	return rca_nl_put_u64(skb, RDMA_CM_ALT_NL_A_SINCE,
			      ktime_to_ns(ktime_mono_to_real(since)));
}

static int put_id(const struct rca_nl_dump *dump, struct rca_obj *obj)
{
	struct rca_id *id = rca_id_of(obj);
	struct sk_buff *skb = dump->skb;
	struct rca_tp_numbers numbers;

	rca_id_numbers(id, &numbers);
	if (put_state(skb, id) ||
	    nla_put_u32(skb, RDMA_CM_ALT_NL_A_PS, id->ps) ||
	    nla_put_u32(skb, RDMA_CM_ALT_NL_A_QP_TYPE, id->qp_type) ||
	    rca_nl_put_numbers(skb, &numbers) || put_queue(skb, id))
		return -EMSGSIZE;
	return put_addrs(skb, id, &id->dst, true) ?: put_obj(dump, obj);
}

static int put_member(const struct rca_nl_dump *dump, struct rca_obj *obj)
{
	struct rca_id *id = rca_member_id(obj);

	if (nla_put_u32(dump->skb, RDMA_CM_ALT_NL_A_ID, id->obj.handle))
		return -EMSGSIZE;
	return put_addrs(dump->skb, id, rca_member_group(obj), false) ?: put_obj(dump, obj);
}

/**
 * struct dump_kind - what a dump contains
 * @cmd: command of its messages
 * @kind: kind of the objects
 * @put: puts the attributes of one
 */
struct dump_kind {
	u8 cmd;
	enum rca_kind kind;
	int (*put)(const struct rca_nl_dump *dump, struct rca_obj *obj);
};

static const struct dump_kind ids = { RDMA_CM_ALT_NL_ID, RCA_KIND_ID, put_id };
static const struct dump_kind members = { RDMA_CM_ALT_NL_MEMBER, RCA_KIND_MEMBER, put_member };

static int dump_obj(const struct rca_nl_dump *dump, const struct dump_kind *kind,
		    struct rca_obj *obj)
{
	struct rca_id *id;
	void *msg;

	if (obj->type->kind != kind->kind)
		return 0;
	id = kind->kind == RCA_KIND_ID ? rca_id_of(obj) : rca_member_id(obj);
	/* For comparison only: a destroyed id may leave its namespace now. */
	if (!net_eq(READ_ONCE(id->net), dump->net))
		return 0;
	msg = rca_nl_msg_begin(dump, kind->cmd);
	if (!msg)
		return -EMSGSIZE;
	return rca_nl_msg_end(dump, msg, kind->put(dump, obj));
}

/* RCA_NL_POS: position of rca_obj_next(). */
static int dump_ctx_objs(const struct rca_nl_dump *dump, struct rca_ctx *ctx, const void *kind)
{
	unsigned long pos = dump->cb->args[RCA_NL_POS];
	struct rca_obj *obj;
	int ret = 0;

	while (!ret && (obj = rca_obj_next(ctx, &pos))) {
		ret = dump_obj(dump, kind, obj);
		rca_obj_put(obj);	/* got by rca_obj_next() */
		if (!ret)
			dump->cb->args[RCA_NL_POS] = pos;
		cond_resched();
	}
	return ret;
}

/* dumpit() of RDMA_CM_ALT_NL_ID. */
int rca_nl_dump_ids(struct sk_buff *skb, struct netlink_callback *cb)
{
	return rca_nl_dump_ctxs(skb, cb, dump_ctx_objs, &ids);
}

/* dumpit() of RDMA_CM_ALT_NL_MEMBER. */
int rca_nl_dump_members(struct sk_buff *skb, struct netlink_callback *cb)
{
	return rca_nl_dump_ctxs(skb, cb, dump_ctx_objs, &members);
}

/*
 * Dumps of the paths that are kept, and of the peers with which hellos of the trunk protocol were
 * exchanged.
 *
 * Locking: none of its own.
 */

/**
 * struct table_dump - state of a dump of paths or peers
 * @trunks: the module of trunks, whose peers are dumped (holds a reference); NULL: paths are
 *          dumped, or there is no peer
 * @iter: position in the table; zero: there is no peer
 * @path: the path that is next, if @has_next
 * @peer: the peer that is next, if @has_next
 * @has_next: the last message had no room for it
 */
struct table_dump {
	const struct rca_trunk_ops *trunks;
	struct rhashtable_iter iter;
	union {
		struct rca_path_info path;
		struct rca_trunk_peer peer;
	};
	bool has_next;
};

/* start() of RDMA_CM_ALT_NL_PATH and RDMA_CM_ALT_NL_PEER. */
int rca_nl_start_table(struct netlink_callback *cb)
{
	const struct genlmsghdr *hdr = nlmsg_data(cb->nlh);
	struct table_dump *table;
	int ret = rca_nl_start(cb);

	if (ret)
		return ret;
	table = kzalloc(sizeof(*table), GFP_KERNEL_ACCOUNT);
	if (!table)
		return -ENOMEM;
	if (hdr->cmd == RDMA_CM_ALT_NL_PATH)
		rca_path_cache_walk(&table->iter);
	else
		table->trunks = rca_trunks_get();
	if (table->trunks)
		table->trunks->peers_walk(&table->iter);
	cb->args[0] = (long)table;	/* freed in rca_nl_done_table() */
	return 0;
}

/* done() of RDMA_CM_ALT_NL_PATH and RDMA_CM_ALT_NL_PEER. */
int rca_nl_done_table(struct netlink_callback *cb)
{
	struct table_dump *table = (struct table_dump *)cb->args[0];

	if (table->iter.ht)
		rhashtable_walk_exit(&table->iter);
	if (table->trunks)
		rca_trunks_put(table->trunks);
	kfree(table);
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

static int put_hello(struct sk_buff *skb, const struct rca_trunk_peer *peer)
{
	if (nla_put_u32(skb, RDMA_CM_ALT_NL_A_PROTOCOL, peer->version) ||
	    nla_put_u32(skb, RDMA_CM_ALT_NL_A_COMMON, peer->common) ||
	    nla_put_u32(skb, RDMA_CM_ALT_NL_A_FEATURES, peer->features) ||
	    nla_put(skb, RDMA_CM_ALT_NL_A_BOOT_ID, sizeof(peer->boot_id), peer->boot_id) ||
	    rca_nl_put_u64(skb, RDMA_CM_ALT_NL_A_GUID, be64_to_cpu(peer->ca_guid)) ||
	    nla_put_u32(skb, RDMA_CM_ALT_NL_A_FAILURES, peer->failures) ||
	    (peer->retry_ms && nla_put_u32(skb, RDMA_CM_ALT_NL_A_RETRY, peer->retry_ms)) ||
	    nla_put_u32(skb, RDMA_CM_ALT_NL_A_AGE, peer->heard_s))
		return -EMSGSIZE;
	return 0;
}

static int put_peer(struct sk_buff *skb, const struct rca_device *dev,
		    const struct rca_trunk_peer *peer)
{
	const struct rca_peer_key *key = &peer->key;

	if (rca_nl_put_port(skb, dev->ibdev, key->port_num) ||
	    nla_put(skb, RDMA_CM_ALT_NL_A_SGID, sizeof(key->sgid), &key->sgid) ||
	    nla_put(skb, RDMA_CM_ALT_NL_A_DGID, sizeof(key->dgid), &key->dgid) ||
	    nla_put_u32(skb, RDMA_CM_ALT_NL_A_PKEY, key->pkey) ||
	    nla_put_u32(skb, RDMA_CM_ALT_NL_A_HELLOS, peer->told) ||
	    nla_put_u32(skb, RDMA_CM_ALT_NL_A_BAD_FRAMES, peer->bad_frames))
		return -EMSGSIZE;
	if (peer->state &&
	    (nla_put_string(skb, RDMA_CM_ALT_NL_A_TRUNK, peer->state) ||
	     nla_put_u32(skb, RDMA_CM_ALT_NL_A_FRAMES_SENT, peer->sent) ||
	     nla_put_u32(skb, RDMA_CM_ALT_NL_A_FRAMES_RECEIVED, peer->received)))
		return -EMSGSIZE;
	return peer->heard ? put_hello(skb, peer) : 0;
}

static bool next_entry(struct table_dump *table)
{
	if (table->trunks)
		return table->trunks->peers_next(&table->iter, &table->peer);
	return table->iter.ht && rca_path_cache_next(&table->iter, &table->path);
}

static int dump_entry(const struct rca_nl_dump *dump, const struct table_dump *table)
{
	bool peer = table->trunks;
	struct rca_device *dev = rca_nl_device(dump, peer ? table->peer.key.device :
							    table->path.key.device);
	int ret = 0;
	void *msg;

	if (!dev)
		return 0;
	if (!peer && atomic_read(&dev->path_epoch) != table->path.epoch)
		goto out_put;
	msg = rca_nl_msg_begin(dump, peer ? RDMA_CM_ALT_NL_PEER : RDMA_CM_ALT_NL_PATH);
	ret = -EMSGSIZE;
	if (msg)
		ret = rca_nl_msg_end(dump, msg, peer ? put_peer(dump->skb, dev, &table->peer) :
						       put_path(dump->skb, dev, &table->path));
out_put:
	rca_device_put(dev);	/* got in rca_nl_device() */
	return ret;
}

/* dumpit() of RDMA_CM_ALT_NL_PATH and RDMA_CM_ALT_NL_PEER. */
int rca_nl_dump_table(struct sk_buff *skb, struct netlink_callback *cb)
{
	struct table_dump *table = (struct table_dump *)cb->args[0];
	const struct rca_nl_dump dump = rca_nl_dump_start(skb, cb);
	int ret;

	while (table->has_next || next_entry(table)) {
		ret = dump_entry(&dump, table);
		table->has_next = ret;
		if (ret)
			return skb->len ?: ret;
		cond_resched();
	}
	return skb->len;
}

/*
 * Dump of the counters of ports.
 *
 * Locking: none of its own.
 */

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

/*
 * Dump of event queues: by context, in the order in which they were made.
 *
 * Locking: none of its own.
 */

static int dump_queue(const struct rca_nl_dump *dump, struct rca_queue *queue)
{
	struct sk_buff *skb = dump->skb;
	struct rca_queue_stat stat;
	int ret = -EMSGSIZE;
	void *msg;

	if (queue->netns != dump->net->net_cookie)
		return 0;
	msg = rca_nl_msg_begin(dump, RDMA_CM_ALT_NL_QUEUE);
	if (!msg)
		return -EMSGSIZE;
	rca_queue_stat(queue, &stat);
	if (!rca_nl_put_u64(skb, RDMA_CM_ALT_NL_A_CTX, queue->ctx->serial) &&
	    !nla_put_u32(skb, RDMA_CM_ALT_NL_A_QUEUE, queue->serial) &&
	    !nla_put_u32(skb, RDMA_CM_ALT_NL_A_IDS, stat.ids) &&
	    !nla_put_u32(skb, RDMA_CM_ALT_NL_A_WAITING, stat.waiting) &&
	    !(stat.ring && nla_put_u32(skb, RDMA_CM_ALT_NL_A_RING, stat.ring)) &&
	    !nla_put_u32(skb, RDMA_CM_ALT_NL_A_READERS, stat.readers) &&
	    !nla_put_u32(skb, RDMA_CM_ALT_NL_A_RECORD, queue->record_size))
		ret = rca_nl_put_ctx_owner(dump, queue->ctx);
	return rca_nl_msg_end(dump, msg, ret);
}

/* RCA_NL_POS: serial of the last queue that is done. */
static int dump_ctx_queues(const struct rca_nl_dump *dump, struct rca_ctx *ctx, const void *arg)
{
	long *pos = &dump->cb->args[RCA_NL_POS];
	struct rca_queue *queue = NULL;
	int ret;

	while ((queue = rca_queue_next(ctx, queue, *pos))) {
		ret = dump_queue(dump, queue);
		if (ret) {
			rca_queue_put(queue);	/* got by rca_queue_next() */
			return ret;
		}
		*pos = queue->serial;
		cond_resched();
	}
	return 0;
}

/* dumpit() of RDMA_CM_ALT_NL_QUEUE. */
int rca_nl_dump_queues(struct sk_buff *skb, struct netlink_callback *cb)
{
	return rca_nl_dump_ctxs(skb, cb, dump_ctx_queues, NULL);
}
