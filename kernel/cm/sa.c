// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * Queries of the subnet administrator (SA): how one ends, and when it may be sent.
 *
 * Where ib_mad limits the queries of a port, a query needs a place: see id/pacing.c. One without
 * a place waits in the turn of its user until its id gives up. One that has a place for half a
 * second or more without an answer gives it back if others wait for it: it is cancelled, its result
 * is -EINTR, and its id sends another one in its turn, with the time that is left. The timer that
 * does this runs on rca_wq, which no user can block, and takes no mutex of the id, which a thread
 * of its user may hold.
 *
 * Locking: rca_id.op; rca_sa_lock so that a query is not cancelled while ib_sa frees it, in process
 * context with interrupts on; inside it the lock of the places.
 */
#include "cm/internal.h"

#include <linux/jiffies.h>
#include <linux/limits.h>
#include <linux/memcontrol.h>
#include <linux/minmax.h>
#include <linux/overflow.h>
#include <linux/sched/mm.h>
#include <linux/slab.h>
#include <linux/stddef.h>
#include <linux/string.h>
#include <rdma/ib_sa.h>

#include "id/id.h"
#include "lib/testing.h"
#include "transport/transport.h"

DEFINE_SPINLOCK(rca_sa_lock);

/* Drop a reference. */
void rca_sa_put(struct rca_sa_query *query)
{
	struct rca_id *id;

	if (!refcount_dec_and_test(&query->ref))
		return;
	id = query->id;
	query->release(query);	/* before the context, whose account it uncharges */
	if (id)
		rca_id_put(id);	/* got in rca_sa_init() */
}

static void arm_timer(struct rca_sa_query *query, unsigned long delay)
{
	refcount_inc(&query->ref);	/* put in timer_work() or end_place() */
	if (mod_delayed_work(rca_wq, &query->timer, delay))
		refcount_dec(&query->ref);	/* the caller has one */
}

/* Keep a place for as long as it need not be given back; then look again. */
static void keep_place(struct rca_sa_query *query)
{
	long left = rca_gate_hold(&query->place);

	lockdep_assert_held(&rca_sa_lock);
	if (left < LONG_MAX)
		arm_timer(query, left);
}

static void timer_work(struct work_struct *work)
{
	struct rca_sa_query *query = container_of(work, struct rca_sa_query, timer.work);

	spin_lock(&rca_sa_lock);
	if (!query->called && !query->sent)
		rca_id_queue_work(query->id);
	/* While the query has a place, its device is there. */
	else if (!query->called && rca_gate_yield(&query->place, query->place.gate))
		ib_sa_cancel_query(query->sa_id, query->sa);
	else if (!query->called)
		keep_place(query);
	spin_unlock(&rca_sa_lock);
	rca_sa_put(query);	/* got in arm_timer() */
}

/* @answered: the SA has answered, whatever it was. */
static void end_place(struct rca_sa_query *query, bool answered)
{
	lockdep_assert_held(&rca_sa_lock);
	if (!rca_places)
		return;
	if (cancel_delayed_work(&query->timer))
		refcount_dec(&query->ref);	/* the caller has one */
	rca_gate_give(&query->place, answered);
}

/*
 * Initialise a query that is filled with zeros. The id gives up at @ends, in jiffies; @release
 * frees what @query is a member of. The reference belongs to the setup of the id.
 */
void rca_sa_init(struct rca_sa_query *query, struct rca_id *id, unsigned long ends,
		 void (*release)(struct rca_sa_query *query))
{
	refcount_set(&query->ref, 1);	/* put when the setup's pointer is cleared */
	query->id = rca_id_get(id);	/* put in rca_sa_put() */
	query->ends = ends;
	query->release = release;
	query->place.id = id;
	INIT_DELAYED_WORK(&query->timer, timer_work);
}

/* Is the result of a query there? Process context. */
bool rca_sa_called(struct rca_sa_query *query)
{
	bool called;

	spin_lock(&rca_sa_lock);
	called = query->called;
	spin_unlock(&rca_sa_lock);
	return called;
}

/*
 * Take a place for a query. Returns true if it may be sent: the caller adds a reference for the
 * callback, calls ib_sa, and then rca_sa_sent(). False if it waits: the work of the id is queued
 * when it has a place, or at its end.
 */
bool rca_sa_begin(struct rca_sa_query *query)
{
	struct rca_device_places *places = rca_places_of(query->id);

	lockdep_assert_held(&query->id->op);
	if (!places || rca_gate_take(&places->ports[query->id->port_num].sa, &query->place, 0))
		return true;
	arm_timer(query, max_t(long, query->ends - jiffies, 0));
	return false;
}

/* Milliseconds until the id gives up; at least 1. */
u32 rca_sa_left_ms(const struct rca_sa_query *query)
{
	return max_t(long, jiffies_to_msecs(max_t(long, query->ends - jiffies, 0)), 1);
}

/*
 * ib_sa has taken a query, whose number @ret is; or not, with the errno @ret: then the reference of
 * the callback is put.
 */
void rca_sa_sent(struct rca_sa_query *query, int ret)
{
	lockdep_assert_held(&query->id->op);
	spin_lock(&rca_sa_lock);
	if (ret < 0) {
		end_place(query, false);
		refcount_dec(&query->ref);	/* the setup has one */
	} else {
		query->sa_id = ret;
		query->sent = true;
		if (!query->called)
			keep_place(query);
	}
	spin_unlock(&rca_sa_lock);
}

/*
 * The result of a query is there; -EINTR: it was withdrawn. ib_sa may free its query as soon as the
 * callback returns, so nobody cancels it from here on.
 */
void rca_sa_called_locked(struct rca_sa_query *query, int status)
{
	lockdep_assert_held(&rca_sa_lock);
	query->called = true;
	end_place(query, status != -ETIMEDOUT && status != -EINTR && status != -EIO);
}

/* Nobody waits for the result of a query any more; its callback may still come. */
void rca_sa_cancel_locked(struct rca_sa_query *query)
{
	lockdep_assert_held(&rca_sa_lock);
	end_place(query, false);
	if (query->sent && !query->called)
		ib_sa_cancel_query(query->sa_id, query->sa);
}

/* rca_sa_cancel_locked() that takes rca_sa_lock. */
void rca_sa_cancel(struct rca_sa_query *query)
{
	spin_lock(&rca_sa_lock);
	rca_sa_cancel_locked(query);
	spin_unlock(&rca_sa_lock);
}

/*
 * Service records: an id asks the subnet administrator (SA) where a service with a name or a
 * service ID is. The answer gives an AF_IB id its destination; no message goes to the service.
 *
 * The state of the id is that of an address resolution. As with path queries, the answer is handled
 * by the work of the id, because it may arrive before the call that sends the query returns.
 *
 * Locking: rca_id.op; see above.
 */

/* Records of an answer that an id keeps: its callback allocates them at once, without waiting. */
#define MOST_SERVICES	64

/**
 * struct rca_service_query - the pending query of an id
 * @sa: the query
 * @rec: the question (immutable)
 * @mask: its component mask (immutable)
 * @ev: record for the event (owned; lock: rca_id.op)
 * @services: the answer (owned; written before the query is called)
 * @status: result of the query (likewise)
 */
struct rca_service_query {
	struct rca_sa_query sa;
	struct sa_service_rec rec;
	ib_sa_comp_mask mask;
	struct rca_event *ev;
	struct rca_services *services;
	int status;
};

static void free_service_query(struct rca_sa_query *sa)
{
	struct rca_service_query *query = container_of(sa, struct rca_service_query, sa);

	rca_event_free(query->ev);
	kfree(query->services);
	kfree(query);
}

/*
 * The address of the first record is the destination of an AF_IB id. Returns false if the id has
 * another family: the program has to use the records.
 */
static bool use_first_service(struct rca_id *id, const struct rdma_cm_alt_service *service)
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

static void finish_service_query(struct rca_id *id, struct rca_service_query *query)
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
		if (use_first_service(id, query->services->list))
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

static int send_service_query(struct rca_id *id, struct rca_service_query *query);

/* Returns true if a query that has waited, or that was withdrawn, goes on. */
static bool resume_service_query(struct rca_id *id, struct rca_service_query *query)
{
	bool called = rca_sa_called(&query->sa);
	int ret = -ETIMEDOUT;

	lockdep_assert_held(&id->op);
	if (called && query->status != -EINTR)
		return false;
	if (!called && query->sa.sent)
		return true;
	spin_lock(&rca_sa_lock);
	query->sa.sent = false;
	query->sa.called = false;
	spin_unlock(&rca_sa_lock);
	if (!id->dev)
		ret = -ENODEV;
	else if (time_before(jiffies, query->sa.ends))
		ret = send_service_query(id, query);
	if (ret < 0) {
		rca_sa_cancel(&query->sa);
		query->status = ret;
	}
	return ret >= 0;
}

/*
 * End the pending query for service records if its result is there. A query that waits for its
 * place, or that was withdrawn, is sent.
 */
void rca_service_continue(struct rca_id *id)
{
	struct rca_service_query *query = id->setup->service_query;

	lockdep_assert_held(&id->op);
	if (!query || resume_service_query(id, query))
		return;
	id->setup->service_query = NULL;
	finish_service_query(id, query);
	rca_sa_put(&query->sa);	/* of the setup */
}

static void fill_service(struct rdma_cm_alt_service *out, const struct sa_service_rec *rec)
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
RCA_VISIBLE_IF_KUNIT
int rca_services_keep(struct rca_services **services, const struct sa_service_rec *recs,
		      unsigned int count)
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
		fill_service(&kept->list[i], &recs[i]);
	*services = kept;
	return 0;
}

/* Runs on a workqueue of the MAD layer. */
static void service_query_done(int status, struct sa_service_rec *recs, unsigned int count,
			       void *context)
{
	struct rca_service_query *query = context;
	struct mem_cgroup *old_memcg;

	old_memcg = set_active_memcg(query->sa.id->obj.ctx->memcg);
	query->status = status ?: rca_services_keep(&query->services, recs, count);
	set_active_memcg(old_memcg);
	spin_lock(&rca_sa_lock);
	rca_sa_called_locked(&query->sa, status);
	spin_unlock(&rca_sa_lock);
	rca_id_queue_work(query->sa.id);
	rca_sa_put(&query->sa);		/* of the callback */
}

static struct rca_service_query *alloc_service_query(struct rca_id *id, unsigned long ends)
{
	struct rca_service_query *query = kzalloc(sizeof(*query), GFP_KERNEL_ACCOUNT);
	struct rca_event *ev;

	if (!query)
		return ERR_PTR(-ENOMEM);
	ev = rca_id_new_event(id, GFP_KERNEL_ACCOUNT);
	if (IS_ERR(ev)) {
		kfree(query);
		return ERR_CAST(ev);
	}
	rca_sa_init(&query->sa, id, ends, free_service_query);
	query->ev = ev;
	return query;
}

/* The record and the component mask of a query. */
RCA_VISIBLE_IF_KUNIT
ib_sa_comp_mask rca_service_question(const struct rca_service_wanted *wanted,
				     struct sa_service_rec *rec)
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

/* Returns 0: the query waits for its turn or for its answer; or a negative errno. */
static int send_service_query(struct rca_id *id, struct rca_service_query *query)
{
	int ret;

	lockdep_assert_held(&id->op);
	if (!rca_sa_begin(&query->sa))
		return 0;
	refcount_inc(&query->sa.ref);	/* put in service_query_done() */
	ret = ib_sa_service_rec_get(&rca_sa_client, id->dev->ibdev, id->port_num, &query->rec,
				    query->mask, rca_sa_left_ms(&query->sa), GFP_KERNEL_ACCOUNT,
				    service_query_done, query, &query->sa.sa);
	rca_sa_sent(&query->sa, ret);
	return min(ret, 0);
}

static int start_service_query(struct rca_id *id, const struct rca_service_wanted *wanted,
			       u32 timeout_ms)
{
	unsigned long ends = jiffies + msecs_to_jiffies(timeout_ms);
	struct rca_service_query *query = alloc_service_query(id, ends);
	int ret;

	lockdep_assert_held(&id->op);
	if (IS_ERR(query))
		return PTR_ERR(query);
	query->mask = rca_service_question(wanted, &query->rec);
	id->setup->service_query = query;
	ret = send_service_query(id, query);
	if (ret) {
		id->setup->service_query = NULL;
		rca_sa_put(&query->sa);
	}
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
	ret = start_service_query(id, wanted, timeout_ms);
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
RCA_EXPORT(rca_service_resolve);

/* Cancel the pending query for service records of an id whose state permits no new one. */
void rca_service_cancel(struct rca_id *id)
{
	struct rca_service_query *query = id->setup ? id->setup->service_query : NULL;

	lockdep_assert_held(&id->op);
	if (!query)
		return;
	id->setup->service_query = NULL;
	rca_sa_cancel(&query->sa);
	rca_sa_put(&query->sa);	/* of the setup; the callback may still come */
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
RCA_EXPORT(rca_services_copy);
