// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * The path of an id on InfiniBand, from the cache or the subnet administrator. The answer to a
 * query is handled by work, because it may arrive before the call that sends the query returns.
 *
 * Locking: rca_id.op; rca_id.lock for rca_setup.query; query_lock so that a query is not cancelled
 * while ib_sa frees it.
 */
#include "resolve/route_ib.h"

#include <kunit/visibility.h>
#include <linux/memcontrol.h>
#include <linux/minmax.h>
#include <linux/refcount.h>
#include <linux/sched/mm.h>
#include <linux/slab.h>
#include <rdma/ib_sa.h>

#include "lib/compat.h"
#include "device/devices.h"
#include "id/timing_net.h"
#include "resolve/path_cache.h"
#include "transport/group_ib.h"
#include "lib/wire.h"

/* Timeout in ms of a query for another path, while a connection request waits for it. */
#define RENEW_MS	2000

/* Position of the traffic class in an IPv6 flow information. */
#define FLOWINFO_TCLASS_SHIFT	20

/**
 * struct rca_route_query - a pending path query
 * @ref: references: rca_setup.query, and the pending callback and work
 * @id: the id (holds a reference)
 * @done: called with the result
 * @post: argument of @done
 * @key: the question (immutable)
 * @epoch: epoch of the device before it was asked (immutable)
 * @sa_id: query number of ib_sa (immutable once the op mutex was released)
 * @sa: query of ib_sa, valid while @called is false
 * @called: the callback ran (lock: query_lock)
 * @status: result of the query
 * @path: the path
 * @inbound: separate inbound path, if its flags are not 0
 * @outbound: separate outbound path, if its flags are not 0
 * @work: handles the answer after the callback
 */
struct rca_route_query {
	refcount_t ref;
	struct rca_id *id;
	rca_route_done done;
	bool post;
	struct rca_path_key key;
	u32 epoch;
	int sa_id;
	struct ib_sa_query *sa;
	bool called;
	int status;
	struct sa_path_rec path;
	struct sa_path_rec inbound;
	struct sa_path_rec outbound;
	struct work_struct work;
};

static DEFINE_SPINLOCK(query_lock);

static void query_put(struct rca_route_query *query)
{
	if (refcount_dec_and_test(&query->ref)) {
		rca_id_put(query->id);	/* got in rca_route_ib_start() */
		kfree(query);
	}
}

/* Traffic class of the flow information in a local address. */
static u8 flowinfo_tclass(__be32 flowinfo)
{
	return be32_to_cpu(flowinfo) >> FLOWINFO_TCLASS_SHIFT;
}

/**
 * rca_route_ib_question() - fill in the path record of a query
 * @id: the id; its address is resolved
 * @opa: the port is Omni-Path, whose records have longer LIDs
 * @rec: filled in
 *
 * Asks for one reversible path between the two GIDs in the partition of the id, for its service.
 * The quality of service depends on the family of the addresses: type of service of the id, or
 * traffic class.
 *
 * Context: Any context. Pure. Expects @id->op to be held by the caller.
 * Return: the component mask: the members of @rec that are valid.
 */
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
EXPORT_SYMBOL_IF_KUNIT(rca_route_ib_question);

static struct sa_path_rec *copy_record(const struct sa_path_rec *from)
{
	return kmemdup(from, sizeof(*from), GFP_KERNEL_ACCOUNT);
}

/* Store all records in the id; on failure, it keeps those it has. */
static int store_paths(struct rca_id *id, const struct rca_route_query *query)
{
	struct sa_path_rec *path, *in = NULL, *out = NULL;
	struct mem_cgroup *old_memcg;

	lockdep_assert_held(&id->op);
	/* The device may have been removed after the query started: see remove_from_device(). */
	if (!id->dev)
		return -ENODEV;
	old_memcg = set_active_memcg(id->obj.ctx->memcg);
	path = copy_record(&query->path);
	if (query->inbound.flags)
		in = copy_record(&query->inbound);
	if (query->outbound.flags)
		out = copy_record(&query->outbound);
	set_active_memcg(old_memcg);
	if (!path || (query->inbound.flags && !in) || (query->outbound.flags && !out)) {
		kfree(path);
		kfree(in);
		kfree(out);
		return -ENOMEM;
	}
	rca_id_drop_path(id);
	id->setup->path = path;
	id->setup->path_in = in;
	id->setup->path_out = out;
	return 0;
}

/* Use a cached path. Returns 0 or -ENOMEM. */
static int store_cached(struct rca_id *id, const struct sa_path_rec *found, u32 version)
{
	struct sa_path_rec *path = copy_record(found);

	lockdep_assert_held(&id->op);
	if (!path)
		return -ENOMEM;
	rca_id_drop_path(id);
	id->setup->path = path;
	id->setup->path_version = version;
	return 0;
}

static void query_work(struct work_struct *work)
{
	struct rca_route_query *query = container_of(work, struct rca_route_query, work);
	struct rca_id *id = query->id;
	unsigned long flags;
	bool current_one;
	int status;

	mutex_lock(&id->op);
	spin_lock_irqsave(&id->lock, flags);
	current_one = id->setup && id->setup->query == query;
	if (current_one)
		id->setup->query = NULL;
	spin_unlock_irqrestore(&id->lock, flags);
	if (current_one) {
		status = query->status ?: store_paths(id, query);
		query->done(id, status, query->post);
		query_put(query);	/* of the setup */
	}
	mutex_unlock(&id->op);
	query_put(query);		/* of the callback and this work */
}

/* Sort the records by their flags; those of a subnet administrator have none. */
static int sort_records(struct rca_route_query *query, const struct sa_path_rec *recs,
			unsigned int count)
{
	const struct sa_path_rec *path = NULL;
	unsigned int i;

	/* On 6.1, ib_sa does not initialise the flags of an Omni-Path record. */
	if (count == 1) {
		query->path = recs[0];
		query->path.flags = 0;
		return 0;
	}
	for (i = 0; i < count; i++) {
		if (!recs[i].flags || recs[i].flags & IB_PATH_GMP)
			path = &recs[i];
		else if (recs[i].flags & IB_PATH_INBOUND)
			query->inbound = recs[i];
		else if (recs[i].flags & IB_PATH_OUTBOUND)
			query->outbound = recs[i];
		else
			return -EINVAL;
	}
	if (!path)
		return -EINVAL;
	query->path = *path;
	return 0;
}

/* Runs on a workqueue of the MAD layer, or before ib_sa_path_rec_get() returns. */
static void query_callback(int status, struct sa_path_rec *recs, rca_num_paths_t count,
			   void *context)
{
	struct rca_route_query *query = context;
	unsigned long flags;

	query->status = status ?: sort_records(query, recs, count);
	/* A resolver in user space may give a path for each direction; those are not kept. */
	if (!query->status && !query->inbound.flags && !query->outbound.flags)
		rca_path_cache_add(&query->key, query->epoch, &query->path);
	spin_lock_irqsave(&query_lock, flags);
	query->called = true;
	spin_unlock_irqrestore(&query_lock, flags);
	queue_work(rca_id_wq(query->id), &query->work);
}

/**
 * struct question - a path query of an id
 * @rec: path record
 * @mask: its component mask
 * @key: the same for the cache
 * @epoch: present epoch of the device
 */
struct question {
	struct sa_path_rec rec;
	ib_sa_comp_mask mask;
	struct rca_path_key key;
	u32 epoch;
};

static void set_question(const struct rca_id *id, struct question *question)
{
	const struct rca_device *dev = id->dev;

	question->epoch = atomic_read(&dev->path_epoch);
	question->mask = rca_route_ib_question(id, rdma_cap_opa_ah(dev->ibdev, id->port_num),
					       &question->rec);
	rca_path_key(&question->key, dev->serial, id->port_num, &question->rec, question->mask);
}

static int ask(struct rca_id *id, const struct question *question, u32 timeout_ms,
	       rca_route_done done, bool post)
{
	struct ib_device *ibdev = id->dev->ibdev;
	struct sa_path_rec rec = question->rec;
	struct rca_route_query *query;
	unsigned long flags;
	int ret;

	lockdep_assert_held(&id->op);
	query = kzalloc(sizeof(*query), GFP_KERNEL_ACCOUNT);
	if (!query)
		return -ENOMEM;
	refcount_set(&query->ref, 2);	/* of the setup; of callback and work */
	query->id = rca_id_get(id);	/* put in query_put() */
	query->done = done;
	query->post = post;
	query->key = question->key;
	query->epoch = question->epoch;
	INIT_WORK(&query->work, query_work);
	spin_lock_irqsave(&id->lock, flags);
	id->setup->query = query;
	spin_unlock_irqrestore(&id->lock, flags);

	ret = ib_sa_path_rec_get(&rca_sa_client, ibdev, id->port_num, &rec, question->mask,
				 min_t(u32, timeout_ms, INT_MAX), GFP_KERNEL_ACCOUNT,
				 query_callback, query, &query->sa);
	/* rca_route_ib_cancel() runs with the op mutex held, so it finds the number here. */
	query->sa_id = ret;
	if (ret >= 0)
		return 1;

	spin_lock_irqsave(&id->lock, flags);
	id->setup->query = NULL;
	spin_unlock_irqrestore(&id->lock, flags);
	query_put(query);
	query_put(query);
	return ret;
}

/*
 * The greatest age of a cached path for an id, in seconds. A cached path has to be renewed if the
 * peer does not answer over it, so ids that send their request in a single round ask for theirs.
 */
static u32 max_age_s(struct rca_id *id)
{
	const struct rca_timing timing = rca_id_timing(id);
	int here = rca_timing_net_path_cache_s(id->net);

	if (id->qp_type == IB_QPT_UD || rca_timing_once(&timing))
		return 0;
	return here < 0 ? rca_path_cache_default_age_s() : here;
}

/**
 * rca_route_ib_start() - find the path of an id: in the cache, else by a query
 * @id: the id, in the state RCA_ST_ROUTE_QUERY
 * @timeout_ms: total timeout; ib_sa sends the query up to ten times
 * @done: called when the query has ended, unless rca_route_ib_cancel() comes first
 * @post: argument of @done
 *
 * Context: Process context. Sleeps. Expects @id->op to be held by the caller.
 * Return: 0, the id has its path and @done is not called; 1, @done will be called; -ENOMEM, or an
 * errno of ib_sa, @done is not called: -EAGAIN if the port does not know its subnet manager.
 */
int rca_route_ib_start(struct rca_id *id, u32 timeout_ms, rca_route_done done, bool post)
{
	struct question question;
	struct sa_path_rec path;
	u32 version;

	lockdep_assert_held(&id->op);
	set_question(id, &question);
	version = rca_path_cache_find(&question.key, question.epoch, max_age_s(id), &path);
	if (version)
		return store_cached(id, &path, version);
	return ask(id, &question, timeout_ms, done, post);
}

/**
 * rca_route_ib_renew() - replace a cached path over which the peer did not answer
 * @id: the id, in the state RCA_ST_REQ_WAIT
 * @done: called when the subnet administrator has answered or not, unless rca_route_ib_cancel()
 *        comes first; the id has the old path if the status is not 0
 *
 * Context: Process context. Sleeps. Expects @id->op to be held by the caller.
 * Return: true if @done will be called; false if the request may be sent now: the path was not a
 * cached one, was replaced, or cannot be.
 */
bool rca_route_ib_renew(struct rca_id *id, rca_route_done done)
{
	u32 version = id->setup->path_version;
	struct question question;
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
		return ask(id, &question, RENEW_MS, done, false) > 0;
	}
}

/**
 * rca_route_ib_doubt() - an id that is destroyed has not connected over its path
 * @id: the id
 *
 * If its path is a cached one, the next id asks the subnet administrator: the peer may have another
 * LID, and the old one may belong to a host that rejects.
 *
 * Context: Process context. Expects @id->op to be held by the caller.
 */
void rca_route_ib_doubt(struct rca_id *id)
{
	u32 version = id->setup ? id->setup->path_version : 0;
	struct question question;
	struct sa_path_rec path;

	lockdep_assert_held(&id->op);
	if (!version || !id->dev)
		return;
	set_question(id, &question);
	rca_path_cache_doubt(&question.key, question.epoch, &version, &path);
}

/**
 * rca_route_ib_cancel() - cancel the pending path query, if there is one
 * @id: the id; its state permits no new query
 *
 * The answer may still arrive; it is ignored.
 *
 * Context: Process context. Expects @id->op to be held by the caller.
 */
void rca_route_ib_cancel(struct rca_id *id)
{
	struct rca_route_query *query = NULL;
	unsigned long flags;

	lockdep_assert_held(&id->op);
	spin_lock_irqsave(&id->lock, flags);
	if (id->setup)
		swap(id->setup->query, query);
	spin_unlock_irqrestore(&id->lock, flags);
	if (!query)
		return;
	spin_lock_irqsave(&query_lock, flags);
	if (!query->called)
		ib_sa_cancel_query(query->sa_id, query->sa);
	spin_unlock_irqrestore(&query_lock, flags);
	query_put(query);	/* of the setup */
}

/**
 * rca_route_ib_set() - set the path of an id that user space has resolved
 * @id: the id; its address is resolved
 * @given: the path, as an InfiniBand record
 *
 * Context: Process context. Sleeps. Expects @id->op to be held by the caller.
 * Return: 0 or -ENOMEM.
 */
int rca_route_ib_set(struct rca_id *id, const struct sa_path_rec *given)
{
	struct sa_path_rec *path;

	lockdep_assert_held(&id->op);
	path = kmemdup(given, sizeof(*given), GFP_KERNEL_ACCOUNT);
	if (!path)
		return -ENOMEM;
	if (rdma_cap_opa_ah(id->dev->ibdev, id->port_num))
		sa_convert_path_ib_to_opa(path, (struct sa_path_rec *)given);
	rca_id_drop_path(id);
	id->setup->path = path;
	return 0;
}
