// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * Queries of the subnet administrator (SA): how one ends, and when it may be sent.
 *
 * Where ib_mad limits the queries of a port, a query needs a place: see port_places.c. One without
 * a place waits in the turn of its user until its id gives up. One that has a place for half a
 * second or more without an answer gives it back if others wait for it: it is cancelled, its result
 * is -EINTR, and its owner asks again in its turn, with the time that is left. The timer that sees
 * to this is work of nobody alone, and needs no mutex of the id, which a thread of its user may
 * hold.
 *
 * Locking: rca_id.op; rca_sa_lock so that a query is not cancelled while ib_sa frees it, in process
 * context with interrupts on; inside it the lock of the places.
 */
#include "cm/sa_query.h"

#include <linux/jiffies.h>
#include <linux/minmax.h>

#include "id/port_places.h"
#include "transport/devices.h"

DEFINE_SPINLOCK(rca_sa_lock);

/* Drop a reference. */
void rca_sa_put(struct rca_sa_query *query)
{
	struct rca_id *id;

	if (!refcount_dec_and_test(&query->ref))
		return;
	id = query->id;
	query->release(query);	/* before the context, which has accounts of what it frees */
	if (id)
		rca_id_put(id);	/* got in rca_sa_init() */
}

/* Queue the work of a query that has an id. Any context. */
void rca_sa_queue_work(struct rca_sa_query *query)
{
	refcount_inc(&query->ref);	/* put at the end of the work */
	if (!queue_work(rca_id_wq(query->id), &query->work))
		refcount_dec(&query->ref);	/* the caller has one */
}

#if RCA_COUNTS_PLACES
static void arm(struct rca_sa_query *query, unsigned long delay)
{
	refcount_inc(&query->ref);	/* put in timer_work() or end_place() */
	if (mod_delayed_work(rca_wq, &query->timer, delay))
		refcount_dec(&query->ref);	/* the caller has one */
}

/* A place is granted to a query that waits, and whose id is therefore there. */
static void queue_granted(struct rca_port_place *place)
{
	rca_sa_queue_work(container_of(place, struct rca_sa_query, place));
}

/* Keep a place for as long as it need not be given back; then look again. */
static void keep_place(struct rca_sa_query *query)
{
	long left = rca_place_left(&query->place);

	lockdep_assert_held(&rca_sa_lock);
	if (left < LONG_MAX)
		arm(query, left ?: HZ / 2);
}

static bool is_wanted(struct rca_sa_query *query)
{
	struct rca_port_place *place = &query->place;

	lockdep_assert_held(&rca_sa_lock);
	/* While the query has a place, its device is there. */
	return !rca_place_left(place) &&
	       rca_place_is_wanted(place, time_after_eq(READ_ONCE(place->port->answered),
							place->since));
}

static void timer_work(struct work_struct *work)
{
	struct rca_sa_query *query = container_of(work, struct rca_sa_query, timer.work);

	spin_lock(&rca_sa_lock);
	if (!query->called && !query->sent) {
		rca_sa_queue_work(query);
	} else if (!query->called && is_wanted(query)) {
		ib_sa_cancel_query(query->sa_id, query->sa);
		rca_place_withdraw(&query->place);
	} else if (!query->called) {
		keep_place(query);
	}
	spin_unlock(&rca_sa_lock);
	rca_sa_put(query);	/* got in arm() */
}

static void init_place(struct rca_sa_query *query)
{
	query->place.granted = queue_granted;
	query->place.ctx = query->id->obj.ctx;
	INIT_DELAYED_WORK(&query->timer, timer_work);
}

static bool take_place(struct rca_sa_query *query)
{
	struct rca_device_places *places = rca_places_of(query->id);

	if (!places || rca_place_take(&query->place, &places->ports[query->id->port_num].sa, false,
				      false))
		return true;
	arm(query, max_t(long, query->ends - jiffies, 0));
	return false;
}

/* @answered: the SA has answered, whatever it was. */
static void end_place(struct rca_sa_query *query, bool answered)
{
	lockdep_assert_held(&rca_sa_lock);
	if (cancel_delayed_work(&query->timer))
		refcount_dec(&query->ref);	/* the caller has one */
	if (answered && rca_place_left(&query->place) < LONG_MAX)
		WRITE_ONCE(query->place.port->answered, jiffies);
	rca_place_give(&query->place);
}
#else
static inline void keep_place(struct rca_sa_query *query)
{
}

static inline void init_place(struct rca_sa_query *query)
{
}

static inline bool take_place(struct rca_sa_query *query)
{
	return true;
}

static inline void end_place(struct rca_sa_query *query, bool answered)
{
}
#endif

/**
 * rca_sa_init() - initialise a query
 * @query: the query, filled with zeros
 * @id: its id
 * @ends: when the id gives up, in jiffies
 * @work: handles the result; begins with rca_sa_begin_work()
 * @release: frees what @query is a member of
 *
 * The reference belongs to the setup of the id.
 *
 * Context: Any context.
 */
void rca_sa_init(struct rca_sa_query *query, struct rca_id *id, unsigned long ends,
		 work_func_t work, void (*release)(struct rca_sa_query *query))
{
	refcount_set(&query->ref, 1);	/* put by who clears the setup's pointer */
	query->id = rca_id_get(id);	/* put in rca_sa_put() */
	query->ends = ends;
	query->release = release;
	INIT_WORK(&query->work, work);
	init_place(query);
}

/**
 * rca_sa_begin_work() - begin the work of a query
 * @query: the query
 * @called: set to whether its result is there; else it waits for a place, or there is nothing to do
 *
 * Context: Process context.
 * Return: the id, with a reference; NULL: it has given up.
 */
struct rca_id *rca_sa_begin_work(struct rca_sa_query *query, bool *called)
{
	struct rca_id *id;

	spin_lock(&rca_sa_lock);
	id = query->id ? rca_id_get(query->id) : NULL;	/* put by the caller */
	*called = query->called;
	spin_unlock(&rca_sa_lock);
	return id;
}

/**
 * rca_sa_begin() - take a place for a query
 * @query: the query
 *
 * Context: Process context. May sleep. Expects the op mutex of the id to be held by the caller.
 * Return: true if it may be sent: the caller adds a reference for the callback, calls ib_sa, and
 * then rca_sa_sent(). False if it waits: its work is queued when it has a place, or at its end.
 */
bool rca_sa_begin(struct rca_sa_query *query)
{
	lockdep_assert_held(&query->id->op);
	return take_place(query);
}

/* Milliseconds until the id gives up; at least 1. */
u32 rca_sa_left_ms(const struct rca_sa_query *query)
{
	return max_t(long, jiffies_to_msecs(max_t(long, query->ends - jiffies, 0)), 1);
}

/**
 * rca_sa_sent() - ib_sa has taken a query, or not
 * @query: the query
 * @ret: the number of the query, or a negative errno: then the reference of the callback is put
 *
 * Context: Process context. Expects the op mutex of the id to be held by the caller.
 */
void rca_sa_sent(struct rca_sa_query *query, int ret)
{
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

/**
 * rca_sa_called_locked() - the result of a query is there
 * @query: the query
 * @status: its result; -EINTR: it was withdrawn
 *
 * ib_sa may free its query as soon as the callback returns, so nobody cancels it from here on.
 *
 * Context: Process context. Expects rca_sa_lock to be held by the caller.
 */
void rca_sa_called_locked(struct rca_sa_query *query, int status)
{
	lockdep_assert_held(&rca_sa_lock);
	query->called = true;
	end_place(query, status != -ETIMEDOUT && status != -EINTR && status != -EIO);
}

/**
 * rca_sa_cancel_locked() - nobody waits for the result of a query any more
 * @query: the query; its callback may still come
 *
 * Context: Process context. Expects rca_sa_lock to be held by the caller.
 */
void rca_sa_cancel_locked(struct rca_sa_query *query)
{
	lockdep_assert_held(&rca_sa_lock);
	end_place(query, false);
	if (query->sent && !query->called)
		ib_sa_cancel_query(query->sa_id, query->sa);
}

/* The same. Process context. */
void rca_sa_cancel(struct rca_sa_query *query)
{
	spin_lock(&rca_sa_lock);
	rca_sa_cancel_locked(query);
	spin_unlock(&rca_sa_lock);
}

/* A query that was withdrawn is sent again. Process context. */
void rca_sa_renew(struct rca_sa_query *query)
{
	spin_lock(&rca_sa_lock);
	query->sent = false;
	query->called = false;
	spin_unlock(&rca_sa_lock);
}

/* A query asks again what one asked that was withdrawn. */
void rca_sa_again(struct rca_sa_query *query, const struct rca_sa_query *before)
{
#if RCA_COUNTS_PLACES
	query->place.returns = before->place.returns;
#endif
}
