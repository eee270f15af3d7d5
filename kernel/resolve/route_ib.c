// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * The path of an id on InfiniBand. The subnet administrator knows it: a query
 * goes out, and its answer is taken over from a work, as it may come before the
 * call that sends the query returns.
 *
 * Locking: rca_id.op; rca_id.lock for rca_setup.query; query_lock so that a query
 * is not cancelled while ib_sa frees it.
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
#include "transport/group_ib.h"
#include "lib/wire.h"

/* Where an IPv6 flow information has its traffic class. */
#define FLOWINFO_TCLASS_SHIFT	20

/**
 * struct rca_route_query - a query under way
 * @ref: references: rca_setup.query, and the callback and work that are to come
 * @id: the id (holds a reference)
 * @done: whom to tell
 * @tell: for @done
 * @sa_id: ib_sa's number of the query (immutable once the op mutex was released)
 * @sa: ib_sa's query, good as long as @called is false
 * @called: the callback ran (lock: query_lock)
 * @status: of the query
 * @path: the path that was found
 * @inbound: another one for the way here, when its flags are not 0
 * @outbound: another one for the way there, when its flags are not 0
 * @work: goes on after the callback
 */
struct rca_route_query {
	refcount_t ref;
	struct rca_id *id;
	rca_route_done done;
	bool tell;
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

/* The traffic class that a program gives with its own address. */
static u8 flowinfo_tclass(__be32 flowinfo)
{
	return be32_to_cpu(flowinfo) >> FLOWINFO_TCLASS_SHIFT;
}

/**
 * rca_route_ib_question() - what the administrator is asked for
 * @id: the id; its address is resolved
 * @opa: the port speaks Omni-Path, whose records have longer LIDs
 * @rec: filled in
 *
 * One reversible path between the two GIDs in the partition of the id, for its
 * service. How the traffic is to be treated goes by what the family of the
 * addresses has for it: the type of service of the id, or a traffic class.
 *
 * Context: Any context. Pure. Expects @id->op to be held by the caller.
 * Return: the component mask: which members of @rec count.
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

static int copy_record(struct sa_path_rec **to, const struct sa_path_rec *from)
{
	*to = kmemdup(from, sizeof(*from), GFP_KERNEL_ACCOUNT);
	return *to ? 0 : -ENOMEM;
}

/* The records become the id's: all of them, or none. */
static int install(struct rca_id *id, const struct rca_route_query *query)
{
	struct mem_cgroup *old_memcg;
	int ret;

	lockdep_assert_held(&id->op);
	if (!id->dev)
		return -ENODEV;
	rca_id_drop_path(id);
	old_memcg = set_active_memcg(id->obj.ctx->memcg);
	ret = copy_record(&id->setup->path, &query->path);
	if (!ret && query->inbound.flags)
		ret = copy_record(&id->setup->path_in, &query->inbound);
	if (!ret && query->outbound.flags)
		ret = copy_record(&id->setup->path_out, &query->outbound);
	set_active_memcg(old_memcg);
	if (ret)
		rca_id_drop_path(id);
	return ret;
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
		status = query->status ?: install(id, query);
		query->done(id, status, query->tell);
		query_put(query);	/* of the setup */
	}
	mutex_unlock(&id->op);
	query_put(query);		/* of the callback and this work */
}

/* Sorts the records by their flags; those of an administrator have none. */
static int sort_records(struct rca_route_query *query, const struct sa_path_rec *recs,
			unsigned int count)
{
	const struct sa_path_rec *path = NULL;
	unsigned int i;

	/* On 6.1 ib_sa leaves the flags of one that came over Omni-Path to chance. */
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
	spin_lock_irqsave(&query_lock, flags);
	query->called = true;
	spin_unlock_irqrestore(&query_lock, flags);
	queue_work(rca_wq, &query->work);
}

/**
 * rca_route_ib_start() - ask for the path of an id
 * @id: the id, in the state RCA_ST_ROUTE_QUERY
 * @timeout_ms: bound for the answer; ib_sa sends the query up to ten times in it
 * @done: called when the answer is there, or is not to come; not after rca_route_ib_cancel()
 * @tell: for @done
 *
 * Context: Process context. Sleeps. Expects @id->op to be held by the caller.
 * Return: 0, or the errno of ib_sa: @done is not called. -EAGAIN: the port does
 * not know its subnet manager.
 */
int rca_route_ib_start(struct rca_id *id, u32 timeout_ms, rca_route_done done, bool tell)
{
	struct ib_device *ibdev = id->dev->ibdev;
	struct rca_route_query *query;
	struct sa_path_rec question;
	unsigned long flags;
	ib_sa_comp_mask mask;
	int ret;

	lockdep_assert_held(&id->op);
	query = kzalloc(sizeof(*query), GFP_KERNEL_ACCOUNT);
	if (!query)
		return -ENOMEM;
	refcount_set(&query->ref, 2);	/* the setup; callback and work */
	query->id = rca_id_get(id);	/* put in query_put() */
	query->done = done;
	query->tell = tell;
	INIT_WORK(&query->work, query_work);
	spin_lock_irqsave(&id->lock, flags);
	id->setup->query = query;
	spin_unlock_irqrestore(&id->lock, flags);

	mask = rca_route_ib_question(id, rdma_cap_opa_ah(ibdev, id->port_num), &question);
	ret = ib_sa_path_rec_get(&rca_sa_client, ibdev, id->port_num, &question, mask,
				 min_t(u32, timeout_ms, INT_MAX), GFP_KERNEL_ACCOUNT,
				 query_callback, query, &query->sa);
	/* Whoever cancels it waits for the op mutex, and finds the number here. */
	query->sa_id = ret;
	if (ret >= 0)
		return 0;

	spin_lock_irqsave(&id->lock, flags);
	id->setup->query = NULL;
	spin_unlock_irqrestore(&id->lock, flags);
	query_put(query);
	query_put(query);
	return ret;
}

/**
 * rca_route_ib_cancel() - forget the query under way, if there is one
 * @id: the id; its state takes no new query
 *
 * The answer may still come; it finds nobody who waits for it.
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
 * rca_route_ib_set() - give an id a path that user space has found by itself
 * @id: the id; its address is resolved
 * @given: the path, as the wire has it: of InfiniBand
 *
 * Context: Process context. Sleeps. Expects @id->op to be held by the caller.
 * Return: 0; -ENODEV the device is gone; -ENOMEM.
 */
int rca_route_ib_set(struct rca_id *id, const struct sa_path_rec *given)
{
	struct sa_path_rec *path;

	lockdep_assert_held(&id->op);
	if (!id->dev)
		return -ENODEV;
	path = kmemdup(given, sizeof(*given), GFP_KERNEL_ACCOUNT);
	if (!path)
		return -ENOMEM;
	if (rdma_cap_opa_ah(id->dev->ibdev, id->port_num))
		sa_convert_path_ib_to_opa(path, (struct sa_path_rec *)given);
	rca_id_drop_path(id);
	id->setup->path = path;
	return 0;
}
