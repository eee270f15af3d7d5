// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * The path of an id on InfiniBand, from the subnet administrator. The answer to the query is
 * handled by work, because it may arrive before the call that sends the query returns.
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
#include "transport/group_ib.h"
#include "lib/wire.h"

/* Position of the traffic class in an IPv6 flow information. */
#define FLOWINFO_TCLASS_SHIFT	20

/**
 * struct rca_route_query - a pending path query
 * @ref: references: rca_setup.query, and the pending callback and work
 * @id: the id (holds a reference)
 * @done: called with the result
 * @post: argument of @done
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

static int copy_record(struct sa_path_rec **to, const struct sa_path_rec *from)
{
	*to = kmemdup(from, sizeof(*from), GFP_KERNEL_ACCOUNT);
	return *to ? 0 : -ENOMEM;
}

/* Store all records in the id, or none. */
static int store_paths(struct rca_id *id, const struct rca_route_query *query)
{
	struct mem_cgroup *old_memcg;
	int ret;

	lockdep_assert_held(&id->op);
	/* The device may have been removed after the query started: see remove_from_device(). */
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
	spin_lock_irqsave(&query_lock, flags);
	query->called = true;
	spin_unlock_irqrestore(&query_lock, flags);
	queue_work(rca_id_wq(query->id), &query->work);
}

/**
 * rca_route_ib_start() - query the path of an id
 * @id: the id, in the state RCA_ST_ROUTE_QUERY
 * @timeout_ms: total timeout; ib_sa sends the query up to ten times
 * @done: called when the query has ended, unless rca_route_ib_cancel() comes first
 * @post: argument of @done
 *
 * Context: Process context. Sleeps. Expects @id->op to be held by the caller.
 * Return: 0; or an errno of ib_sa, @done is not called: -EAGAIN if the port does not know its
 * subnet manager.
 */
int rca_route_ib_start(struct rca_id *id, u32 timeout_ms, rca_route_done done, bool post)
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
	refcount_set(&query->ref, 2);	/* of the setup; of callback and work */
	query->id = rca_id_get(id);	/* put in query_put() */
	query->done = done;
	query->post = post;
	INIT_WORK(&query->work, query_work);
	spin_lock_irqsave(&id->lock, flags);
	id->setup->query = query;
	spin_unlock_irqrestore(&id->lock, flags);

	mask = rca_route_ib_question(id, rdma_cap_opa_ah(ibdev, id->port_num), &question);
	ret = ib_sa_path_rec_get(&rca_sa_client, ibdev, id->port_num, &question, mask,
				 min_t(u32, timeout_ms, INT_MAX), GFP_KERNEL_ACCOUNT,
				 query_callback, query, &query->sa);
	/* rca_route_ib_cancel() runs with the op mutex held, so it finds the number here. */
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
