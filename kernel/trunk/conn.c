// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * Connections over a trunk: the objects, their numbers and their timers.
 *
 * A connection is found by its number while its owner has it. It stays in memory until its last
 * record is in a frame, so that an owner does not wait for that.
 *
 * Messages are neither lost nor repeated, so no timer repeats one. Timers end what a program does
 * not: a request that nobody accepts, a reply that nobody completes, a DREQ that nobody answers,
 * and the timewait.
 *
 * Locking: rca_trunk.lock; process context.
 */
#include "trunk/conn.h"

#include <linux/jiffies.h>
#include <linux/slab.h>
#include <linux/wait_bit.h>

#include "lib/timing.h"
#include "trunk/trunk.h"

/*
 * Connections without an owner that wait to tell a peer their end: 4 MiB for each trunk, and 4 MiB
 * of private data.
 */
#define MOST_ANSWERS	16384

static const struct rca_tp_upcalls *callbacks;

/* Sets the callbacks of the transport, before any other use. Returns the former ones. */
const struct rca_tp_upcalls *rca_conn_init(const struct rca_tp_upcalls *upcalls)
{
	const struct rca_tp_upcalls *former = callbacks;

	callbacks = upcalls;
	return former;
}

/* Tells the owner of a connection of an event. Process context, no lock. */
void rca_conn_call_back(struct rca_trunk_conn *conn, const struct rca_tp_event *event)
{
	callbacks->event(conn->owner, conn, event);
}

/**
 * rca_conn_alloc() - allocate a connection
 * @trunk: its trunk; the caller has a reference
 * @number: its number, or 0: a new one of this host
 * @gfp: flags for the allocation
 *
 * Context: As @gfp says. Takes and releases the lock of @trunk.
 * Return: the connection, with a reference of the owner, or NULL.
 */
struct rca_trunk_conn *rca_conn_alloc(struct rca_trunk *trunk, u32 number, gfp_t gfp)
{
	struct rca_trunk_conn *conn = kzalloc(sizeof(*conn), gfp);

	if (!conn)
		return NULL;
	conn->ref = 1;
	conn->trunk = trunk;
	refcount_inc(&trunk->ref);	/* put in rca_conn_put_locked() */
	INIT_LIST_HEAD(&conn->waiting);
	timerqueue_init(&conn->timer);
	spin_lock(&trunk->lock);
	trunk->users++;
	conn->session = trunk->session.number;
	conn->number = number;
	if (!number) {
		conn->number = trunk->next_number;
		trunk->next_number += 2;
		if (!trunk->next_number)	/* 0 is none */
			trunk->next_number = 2;
	}
	spin_unlock(&trunk->lock);
	return conn;
}

/**
 * rca_conn_add() - make a connection known by its number
 * @conn: the connection
 * @gfp: flags for allocations
 *
 * Context: As @gfp says.
 * Return: 0; -EBUSY: the number is in use; -ENOMEM.
 */
int rca_conn_add(struct rca_trunk_conn *conn, gfp_t gfp)
{
	return xa_insert(&conn->trunk->conns, conn->number, conn, gfp);
}

/**
 * rca_conn_create() - create a connection over a trunk
 * @key: the peer
 * @owner: argument of its callbacks
 *
 * Context: Process context. Sleeps.
 * Return: the connection; NULL: there is no open trunk to the peer, or no memory.
 */
struct rca_trunk_conn *rca_conn_create(const struct rca_peer_key *key, void *owner)
{
	struct rca_trunk *trunk = rca_trunk_find_open(key);
	struct rca_trunk_conn *conn;

	if (!trunk)
		return NULL;
	conn = rca_conn_alloc(trunk, 0, GFP_KERNEL_ACCOUNT);
	if (conn) {
		conn->owner = owner;
		if (rca_conn_add(conn, GFP_KERNEL)) {
			spin_lock(&trunk->lock);
			rca_conn_put_locked(conn);
			spin_unlock(&trunk->lock);
			conn = NULL;
		}
	}
	rca_trunk_put(trunk);	/* got in rca_trunk_find_open() */
	return conn;
}

/**
 * rca_conn_get() - find a connection to call its owner back
 * @trunk: the trunk
 * @number: its number
 *
 * Context: Process context. Expects the lock of @trunk to be held.
 * Return: the connection, on which rca_conn_callback_done() has to be called; NULL: there is none.
 */
struct rca_trunk_conn *rca_conn_get(struct rca_trunk *trunk, u32 number)
{
	struct rca_trunk_conn *conn = xa_load(&trunk->conns, number);

	lockdep_assert_held(&trunk->lock);
	if (conn)
		conn->callbacks++;
	return conn;
}

/* Undo rca_conn_get(). Expects the lock of the trunk to be held. */
void rca_conn_callback_done(struct rca_trunk_conn *conn)
{
	lockdep_assert_held(&conn->trunk->lock);
	/* Pairs with rca_conn_remove(). */
	WRITE_ONCE(conn->callbacks, conn->callbacks - 1);
	if (!conn->callbacks) {
		smp_mb();	/* see wake_up_var() */
		wake_up_var(&conn->callbacks);
	}
}

/**
 * rca_conn_put_locked() - put a reference of a connection
 * @conn: the connection
 *
 * Context: Process context. Does not sleep. Expects the lock of the trunk to be held by the caller,
 * who has a reference of the trunk of his own.
 */
void rca_conn_put_locked(struct rca_trunk_conn *conn)
{
	struct rca_trunk *trunk = conn->trunk;

	lockdep_assert_held(&trunk->lock);
	if (--conn->ref)
		return;
	WARN_ON_ONCE(!RB_EMPTY_NODE(&conn->timer.node));
	if (conn->is_answer)
		trunk->answers--;
	rdma_destroy_ah_attr(&conn->ah);
	kfree(conn->data);
	kfree_rcu(conn, rcu);
	rca_trunk_unuse(trunk);
	if (!trunk->users && cancel_delayed_work(&trunk->timer)) {
		trunk->timer_at = 0;
		rca_trunk_put(trunk);	/* got in rca_conn_wake_at() */
	}
	rca_trunk_put(trunk);	/* got in rca_conn_alloc() */
}

/* Does a connection have its session still? Expects the lock of the trunk to be held. */
bool rca_conn_has_session(const struct rca_trunk_conn *conn)
{
	lockdep_assert_held(&conn->trunk->lock);
	return conn->session && conn->session == conn->trunk->session.number;
}

/* A connection is not found by its number any more. Another session may use that. Any context. */
void rca_conn_forget(struct rca_trunk_conn *conn)
{
	xa_cmpxchg(&conn->trunk->conns, conn->number, conn, NULL, 0);
}

/**
 * rca_conn_withdraw() - forget the records of a connection that were not sent
 * @conn: the connection, of which the caller has a reference
 *
 * Context: Process context. Does not sleep. Expects the lock of the trunk to be held.
 */
void rca_conn_withdraw(struct rca_trunk_conn *conn)
{
	lockdep_assert_held(&conn->trunk->lock);
	conn->to_send = 0;
	kfree(conn->data);
	conn->data = NULL;
	conn->data_len = 0;
	if (!list_empty(&conn->waiting)) {
		list_del_init(&conn->waiting);
		conn->ref--;	/* got in rca_conn_send() */
	}
}

/**
 * rca_conn_abandon() - put the reference of the owner
 * @conn: the connection
 *
 * A connection whose last record waits stays until that is sent. There is a limit for these, as a
 * peer may take nothing: beyond it the record is lost.
 *
 * Context: Process context. Does not sleep. Expects the lock of the trunk to be held by the caller,
 * who has a reference of the trunk of his own.
 */
void rca_conn_abandon(struct rca_trunk_conn *conn)
{
	struct rca_trunk *trunk = conn->trunk;

	lockdep_assert_held(&trunk->lock);
	if (!list_empty(&conn->waiting)) {
		if (trunk->answers < MOST_ANSWERS) {
			trunk->answers++;
			conn->is_answer = true;
		} else {
			rca_conn_withdraw(conn);
		}
	}
	rca_conn_put_locked(conn);
}

/**
 * rca_conn_remove() - the owner has no use for a connection any more
 * @conn: the connection; the reference of the owner is put
 *
 * No callback runs afterwards. Records that wait to be sent are sent.
 *
 * Context: Process context. Sleeps. Not from a callback of @conn.
 */
void rca_conn_remove(struct rca_trunk_conn *conn)
{
	struct rca_trunk *trunk = conn->trunk;

	refcount_inc(&trunk->ref);
	spin_lock(&trunk->lock);
	rca_conn_forget(conn);
	rca_conn_stop_timer(conn);
	while (conn->callbacks) {
		spin_unlock(&trunk->lock);
		/* Pairs with rca_conn_callback_done(). */
		wait_var_event(&conn->callbacks, !READ_ONCE(conn->callbacks));
		spin_lock(&trunk->lock);
		rca_conn_stop_timer(conn);
	}
	rca_conn_abandon(conn);
	spin_unlock(&trunk->lock);
	rca_trunk_put(trunk);
}

/* Runs the work of the timers at a time, or earlier. Expects the lock of @trunk to be held. */
void rca_conn_wake_at(struct rca_trunk *trunk, u64 when)
{
	u64 now = get_jiffies_64();

	lockdep_assert_held(&trunk->lock);
	if (trunk->timer_at && !time_before64(when, trunk->timer_at))
		return;
	trunk->timer_at = when;
	refcount_inc(&trunk->ref);		/* put in rca_conn_timer_work() */
	if (rca_trunk_queue(&trunk->timer, time_after64(when, now) ? when - now : 0))
		refcount_dec(&trunk->ref);	/* it was pending already, with a reference */
}

/**
 * rca_conn_set_timer() - set the timer of a connection, and stop the one that runs
 * @conn: the connection
 * @ms: milliseconds
 *
 * Context: Process context. Does not sleep. Expects the lock of the trunk to be held.
 */
void rca_conn_set_timer(struct rca_trunk_conn *conn, u32 ms)
{
	rca_conn_stop_timer(conn);
	conn->timer.expires = get_jiffies_64() + msecs_to_jiffies(ms);
	timerqueue_add(&conn->trunk->timers, &conn->timer);
	rca_conn_wake_at(conn->trunk, conn->timer.expires);
}

/* Stops the timer of a connection, if it runs. Expects the lock of the trunk to be held. */
void rca_conn_stop_timer(struct rca_trunk_conn *conn)
{
	lockdep_assert_held(&conn->trunk->lock);
	if (!RB_EMPTY_NODE(&conn->timer.node))
		timerqueue_del(&conn->trunk->timers, &conn->timer);
}

/* The connection has ended; its owner is told when the timewait is over. Likewise. */
void rca_conn_enter_timewait(struct rca_trunk_conn *conn)
{
	conn->state = RCA_CONN_TIMEWAIT;
	rca_conn_set_timer(conn, rca_timing_ms(conn->ack_timeout));
}
