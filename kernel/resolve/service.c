// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * Service records: an id asks the subnet administrator (SA) where a service with a name or a
 * service ID is. The answer gives an AF_IB id its destination; no message goes to the service.
 *
 * The state of the id is that of an address resolution. As with path queries, the answer is handled
 * by the work of the id, because it may arrive before the call that sends the query returns.
 *
 * Locking: rca_id.op; service_lock so that a query is not cancelled while ib_sa frees it.
 */
#include "resolve/service.h"

#include <kunit/visibility.h>
#include <linux/limits.h>
#include <linux/memcontrol.h>
#include <linux/minmax.h>
#include <linux/overflow.h>
#include <linux/refcount.h>
#include <linux/sched/mm.h>
#include <linux/slab.h>
#include <linux/stddef.h>
#include <linux/string.h>
#include <rdma/ib_sa.h>

#include "device/devices.h"
#include "resolve/addr_ib.h"
#include "transport/group_ib.h"

/* Records of an answer that an id keeps: its callback allocates them at once, without waiting. */
#define MOST_SERVICES	64

/**
 * struct rca_service_query - the pending query of an id
 * @ref: references: rca_setup.service_query, and the pending callback and work
 * @id: the id (holds a reference)
 * @ev: record for the event (owned; lock: rca_id.op)
 * @services: the answer (owned); written by the callback, before the work
 * @status: result of the query, likewise
 * @sa_id: query number of ib_sa (lock: rca_id.op)
 * @sa: query of ib_sa, valid while @called is false
 * @called: the callback has begun (lock: service_lock)
 * @work: handles the answer after the callback
 */
struct rca_service_query {
	refcount_t ref;
	struct rca_id *id;
	struct rca_event *ev;
	struct rca_services *services;
	int status;
	int sa_id;
	struct ib_sa_query *sa;
	bool called;
	struct work_struct work;
};

static DEFINE_SPINLOCK(service_lock);

static void query_put(struct rca_service_query *query)
{
	if (!refcount_dec_and_test(&query->ref))
		return;
	rca_event_free(query->ev);
	rca_id_put(query->id);		/* got in query_alloc() */
	kfree(query->services);
	kfree(query);
}

/*
 * The address of the first record is the destination of an AF_IB id. Returns false if the id has
 * another family: the program has to use the records.
 */
static bool use_first(struct rca_id *id, const struct rdma_cm_alt_service *service)
{
	struct sockaddr_ib *dst = &id->dst.ib;

	lockdep_assert_held(&id->op);
	if (id->local.sa.sa_family != AF_IB)
		return false;
	memset(&id->dst, 0, sizeof(id->dst));
	dst->sib_family = AF_IB;
	dst->sib_pkey = service->pkey;
	dst->sib_sid = cpu_to_be64(service->service_id);
	dst->sib_sid_mask = cpu_to_be64(U64_MAX);
	memcpy(&dst->sib_addr, service->gid, sizeof(dst->sib_addr));
	rca_addr_ib_resolve(id);	/* succeeds: the id has a device */
	id->link.pkey = be16_to_cpu(service->pkey);
	return true;
}

static void finish(struct rca_id *id, struct rca_service_query *query)
{
	struct rdma_cm_alt_event *rec = &query->ev->rec;
	u32 type = RDMA_CM_ALT_EVENT_ADDRINFO_ERROR;
	enum rca_input input = RCA_IN_ADDR_FAIL;

	lockdep_assert_held(&id->op);
	/* The device may have been removed after the query started: see remove_from_device(). */
	if (!query->status && !id->dev)
		query->status = -ENODEV;
	if (!query->status) {
		type = RDMA_CM_ALT_EVENT_ADDRINFO_RESOLVED;
		if (use_first(id, query->services->list))
			input = RCA_IN_ADDR_OK;
		kfree(id->setup->services);
		id->setup->services = query->services;
		query->services = NULL;
		rca_id_fill_route_locked(id, &rec->route);
		rec->flags = RDMA_CM_ALT_EVENT_F_ROUTE;
	}
	spin_lock_irq(&id->lock);
	if (rca_id_step_locked(id, input).verdict == RCA_TAKE) {
		rca_id_post_locked(id, query->ev, type, query->status);
		query->ev = NULL;
	}
	spin_unlock_irq(&id->lock);
}

static void query_work(struct work_struct *work)
{
	struct rca_service_query *query = container_of(work, struct rca_service_query, work);
	struct rca_id *id = query->id;

	mutex_lock(&id->op);
	if (id->setup && id->setup->service_query == query) {
		id->setup->service_query = NULL;
		finish(id, query);
		query_put(query);	/* of the setup */
	}
	mutex_unlock(&id->op);
	query_put(query);		/* of the callback and this work */
}

static void convert(struct rdma_cm_alt_service *out, const struct sa_service_rec *rec)
{
	static_assert(offsetofend(struct sa_service_rec, data_64) -
		      offsetof(struct sa_service_rec, data_8) == sizeof(out->data));
	memset(out, 0, sizeof(*out));
	out->service_id = be64_to_cpu(rec->id);
	memcpy(out->gid, rec->gid, sizeof(out->gid));
	out->lease_s = be32_to_cpu(rec->lease);
	out->pkey = rec->pkey;
	memcpy(out->name, rec->name, sizeof(out->name));
	memcpy(out->data, (const u8 *)rec + offsetof(struct sa_service_rec, data_8),
	       sizeof(out->data));
}

/* Keep the first records of an answer. Returns 0, -ENOENT without a record, or -ENOMEM. */
VISIBLE_IF_KUNIT int rca_services_keep(struct rca_services **services,
				       const struct sa_service_rec *recs, unsigned int count)
{
	struct rca_services *kept;
	u32 i;

	if (!count)
		return -ENOENT;
	count = min_t(unsigned int, count, MOST_SERVICES);
	kept = kzalloc(struct_size(kept, list, count), RCA_GFP_CALLBACK);
	if (!kept)
		return -ENOMEM;
	kept->count = count;
	for (i = 0; i < count; i++)
		convert(&kept->list[i], &recs[i]);
	*services = kept;
	return 0;
}
EXPORT_SYMBOL_IF_KUNIT(rca_services_keep);

/* Runs on a workqueue of the MAD layer. */
static void service_query_done(int status, struct sa_service_rec *recs, unsigned int count,
			       void *context)
{
	struct rca_service_query *query = context;
	struct mem_cgroup *old_memcg;

	/* ib_sa may free its query as soon as this returns, so nobody cancels that from here on. */
	spin_lock(&service_lock);
	query->called = true;
	spin_unlock(&service_lock);
	old_memcg = set_active_memcg(query->id->obj.ctx->memcg);
	query->status = status ?: rca_services_keep(&query->services, recs, count);
	set_active_memcg(old_memcg);
	queue_work(rca_id_wq(query->id), &query->work);
}

static struct rca_service_query *query_alloc(struct rca_id *id)
{
	struct rca_service_query *query = kzalloc(sizeof(*query), GFP_KERNEL_ACCOUNT);
	struct rca_event *ev;

	if (!query)
		return ERR_PTR(-ENOMEM);
	ev = rca_id_new_event(id);
	if (IS_ERR(ev)) {
		kfree(query);
		return ERR_CAST(ev);
	}
	refcount_set(&query->ref, 2);	/* of the setup; of callback and work */
	query->id = rca_id_get(id);	/* put in query_put() */
	query->ev = ev;
	INIT_WORK(&query->work, query_work);
	return query;
}

/* The record and the component mask of a query. */
VISIBLE_IF_KUNIT ib_sa_comp_mask
rca_service_question(const struct rca_service_wanted *wanted, struct sa_service_rec *rec)
{
	ib_sa_comp_mask mask = 0;

	memset(rec, 0, sizeof(*rec));
	if (wanted->has_id) {
		rec->id = cpu_to_be64(wanted->service_id);
		mask |= IB_SA_SERVICE_REC_SERVICE_ID;
	}
	if (wanted->name_len) {
		memcpy(rec->name, wanted->name, sizeof(rec->name));
		mask |= IB_SA_SERVICE_REC_SERVICE_NAME;
	}
	return mask;
}
EXPORT_SYMBOL_IF_KUNIT(rca_service_question);

static int ask(struct rca_id *id, const struct rca_service_wanted *wanted, u32 timeout_ms)
{
	struct rca_service_query *query = query_alloc(id);
	struct sa_service_rec rec;
	ib_sa_comp_mask mask;
	int ret;

	lockdep_assert_held(&id->op);
	if (IS_ERR(query))
		return PTR_ERR(query);
	mask = rca_service_question(wanted, &rec);
	id->setup->service_query = query;
	ret = ib_sa_service_rec_get(&rca_sa_client, id->dev->ibdev, id->port_num, &rec, mask,
				    timeout_ms, GFP_KERNEL_ACCOUNT, service_query_done, query,
				    &query->sa);
	/* rca_service_cancel() runs with the op mutex held, so it finds the number here. */
	query->sa_id = ret;
	if (ret >= 0)
		return 0;
	id->setup->service_query = NULL;
	query_put(query);
	query_put(query);
	return ret;
}

static int resolve_locked(struct rca_id *id, const struct rca_service_wanted *wanted,
			  u32 timeout_ms)
{
	struct rca_step step;
	int ret;

	lockdep_assert_held(&id->op);
	ret = rca_id_may(id, RCA_IN_RESOLVE_ADDR);
	if (ret)
		return ret;
	if (!id->dev)
		return -EINVAL;
	if (!rdma_cap_ib_sa(id->dev->ibdev, id->port_num))
		return -EOPNOTSUPP;
	step = rca_id_step(id, RCA_IN_RESOLVE_ADDR);
	if (step.verdict != RCA_TAKE)
		return step.err;
	ret = ask(id, wanted, timeout_ms);
	if (ret)
		rca_id_step(id, RCA_IN_ADDR_FAIL);
	return ret;
}

/**
 * rca_service_resolve() - ask for the service records of a service
 * @id: the id, bound to a port
 * @wanted: what the records must have
 * @timeout_ms: total timeout; ib_sa sends the query up to ten times
 *
 * Posts ADDRINFO_RESOLVED or ADDRINFO_ERROR at the end, unless rca_service_cancel() comes first.
 *
 * Context: Process context. Sleeps.
 * Return: 0; -EINVAL wrong state, or no device; -EOPNOTSUPP not on InfiniBand;
 * -EDQUOT; -ENOMEM; or an errno of ib_sa.
 */
int rca_service_resolve(struct rca_id *id, const struct rca_service_wanted *wanted, u32 timeout_ms)
{
	int ret;

	mutex_lock(&id->op);
	ret = resolve_locked(id, wanted, timeout_ms);
	rca_id_report_op(id, "resolve_service", ret);
	mutex_unlock(&id->op);
	return ret;
}

/**
 * rca_service_cancel() - cancel the pending query for service records, if there is one
 * @id: the id; its state permits no new query
 *
 * Context: Process context. Expects @id->op to be held by the caller.
 */
void rca_service_cancel(struct rca_id *id)
{
	struct rca_service_query *query = id->setup ? id->setup->service_query : NULL;

	lockdep_assert_held(&id->op);
	if (!query)
		return;
	id->setup->service_query = NULL;
	spin_lock(&service_lock);
	if (!query->called)
		ib_sa_cancel_query(query->sa_id, query->sa);
	spin_unlock(&service_lock);
	query_put(query);	/* of the setup; the callback and the work still come */
}

/**
 * rca_services_copy() - copy the service records of an id
 * @id: the id
 *
 * Context: Process context. Sleeps.
 * Return: the copy, for kfree(); -ENODATA it has none; -ENOMEM.
 */
struct rca_services *rca_services_copy(struct rca_id *id)
{
	struct rca_services *services, *copy = ERR_PTR(-ENODATA);

	mutex_lock(&id->op);
	services = id->setup ? id->setup->services : NULL;
	if (services)
		copy = kmemdup(services, struct_size(services, list, services->count),
			       GFP_KERNEL_ACCOUNT) ?: ERR_PTR(-ENOMEM);
	mutex_unlock(&id->op);
	return copy;
}
