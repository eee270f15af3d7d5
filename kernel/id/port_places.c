// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * The places of a port: how many CM requests ib_mad keeps outstanding for all users together. It
 * has such a limit since 6.17, and queues the requests beyond it. ib_mad knows no users, and keeps
 * a request for as long as the program or its peer wants it to.
 *
 * So the users share the places. A user may take a place while he has less than three times as many
 * as are free: one user alone gets three quarters, and n users, however many requests they have,
 * get 3 / (3 n + 1) of the places each. Some are always free for the next user. A user without any
 * gets one in any case; ib_mad then queues the request.
 *
 * Requests that find no place wait in FIFO order for each context. Users take turns, and so do the
 * contexts of a user. A place that is given back is granted at once, and the work of the id that
 * gets it is queued, which sends.
 *
 * The wait for a place does not depend on how long others wait for an answer. The work of an id
 * checks its request after rca_place_hold_ms. If other requests of its user wait, and its peer has
 * answered nothing meanwhile, or if other users wait, and its user has more than an equal part of
 * the places, the request is withdrawn, and waits for a place again. With each withdrawal of a
 * request this time doubles, so that a peer that needs seconds to accept is found.
 *
 * A user's requests to live peers do not wait behind those to dead ones: a peer is silent until it
 * answers, and again when it has not answered for a while; see send_window.c. Requests of a user to
 * silent peers take half of the places of the port at most, and an eighth more for the first ones
 * to a peer, which find out whether it is alive. The others have turns of their own.
 *
 * Queries of the subnet administrator have as many places, which are shared in the same way; see
 * cm/sa.c. They have one peer, which is never called silent.
 *
 * Locking: rca_port_places.lock, a leaf, in any context. Callbacks find the setup of their id, and
 * the places of the port, under RCU, because they may run late.
 */
#include "id/id.h"

#include <linux/jiffies.h>
#include <linux/memcontrol.h>
#include <linux/sched/mm.h>
#include <linux/slab.h>

#include "ctx/ctx.h"
#include "lib/testing.h"

#if RCA_COUNTS_PLACES
/* After this time, a request gives its place back if it is wanted. */
RCA_VISIBLE_IF_KUNIT unsigned int rca_place_hold_ms = 500;

#if IS_ENABLED(CONFIG_RDMA_CM_ALT_KUNIT)
unsigned int rca_places = RCA_PORT_PLACES;
#endif

/* The longest time, as a power of two: 16 s. */
#define MOST_RETURNS	5

/* A user may have SHARE times as many places as are free. */
#define SHARE		3

/* Values of &rca_port_place.state. */
enum { NOTHING, WAITS, GRANTED, TAKEN };

/* Requests to peers that answer, and to silent ones. */
enum { CLASSES = 2 };

/**
 * struct rca_places_user - a user with requests over a port
 * @node: entry in &rca_port_places.users
 * @user: the user, for comparison only (holds no reference)
 * @taken: places that the user has, by class
 * @waiting: requests that wait
 * @turns: requests that wait, by class, through &rca_port_place.node
 */
struct rca_places_user {
	struct list_head node;
	const struct rca_user *user;
	unsigned int taken[CLASSES];
	unsigned int waiting;
	struct rca_turns turns[CLASSES];
};

static unsigned int all_taken(const struct rca_places_user *user)
{
	return user->taken[false] + user->taken[true];
}

static struct rca_places_user *find_or_add(struct rca_port_places *port,
					   const struct rca_user *user,
					   struct rca_places_user **spare)
{
	struct rca_places_user *entry;

	lockdep_assert_held(&port->lock);
	list_for_each_entry(entry, &port->users, node)
		if (entry->user == user)
			return entry;
	entry = *spare;
	if (!entry)
		return NULL;
	*spare = NULL;
	entry->user = user;
	rca_turns_init(&entry->turns[false]);
	rca_turns_init(&entry->turns[true]);
	list_add_tail(&entry->node, &port->users);
	port->count++;
	return entry;
}

static void drop_if_idle(struct rca_port_places *port, struct rca_places_user *user)
{
	lockdep_assert_held(&port->lock);
	if (all_taken(user) || user->waiting)
		return;
	list_del(&user->node);
	port->count--;
	kfree(user);
}

static bool may_take(const struct rca_port_places *port, const struct rca_places_user *user,
		     const struct rca_port_place *place)
{
	unsigned int free = rca_places > port->taken ? rca_places - port->taken : 0;
	unsigned int taken = all_taken(user);

	lockdep_assert_held(&port->lock);
	if (taken && taken >= SHARE * free)
		return false;
	return !place->silent ||
	       user->taken[true] < rca_places / 2 + (place->first ? rca_places / 8 : 0);
}

static void count_waiting(struct rca_port_places *port, struct rca_places_user *user, int more)
{
	lockdep_assert_held(&port->lock);
	port->waiting += more;
	user->waiting += more;
}

static void take(struct rca_port_places *port, struct rca_port_place *place, u8 state)
{
	lockdep_assert_held(&port->lock);
	port->taken++;
	place->user->taken[place->silent]++;
	WRITE_ONCE(place->state, state);
}

/* Grant a place to the request of a user whose turn it is. False: none waits, or it has to. */
static bool grant_one(struct rca_port_places *port, struct rca_places_user *user, bool silent)
{
	struct list_head *first = rca_turns_first(&user->turns[silent]);
	struct rca_port_place *place;

	lockdep_assert_held(&port->lock);
	if (!first)
		return false;
	place = list_entry(first, struct rca_port_place, node);
	if (!may_take(port, user, place))
		return false;
	rca_turns_serve_first(&user->turns[silent]);
	count_waiting(port, user, -1);
	list_move_tail(&user->node, &port->users);
	take(port, place, GRANTED);
	place->granted(place);
	return true;
}

/* Grant places to waiting requests, one for each user in turn. */
static void grant_places(struct rca_port_places *port)
{
	struct rca_places_user *user, *next;
	bool granted = port->waiting;

	lockdep_assert_held(&port->lock);
	while (granted) {
		granted = false;
		list_for_each_entry_safe(user, next, &port->users, node)
			granted |= grant_one(port, user, false) || grant_one(port, user, true);
	}
}

/* Returns true if the message has a place or need not wait. */
static bool begin_anew(struct rca_port_places *port, struct rca_port_place *place)
{
	struct rca_places_user *user;
	struct rca_turns_spare spare;
	struct mem_cgroup *old_memcg;
	struct rca_turns *turns;
	bool waits = false;

	/* The work of an id has no memory cgroup of its own. Without memory, it sends at once. */
	old_memcg = set_active_memcg(place->ctx->memcg);
	user = kzalloc(sizeof(*user), GFP_KERNEL_ACCOUNT);
	rca_turns_prepare(&spare);
	set_active_memcg(old_memcg);
	spin_lock_irq(&port->lock);
	place->user = find_or_add(port, place->ctx->account.user, &user);
	if (!place->user)
		goto out_unlock;
	turns = &place->user->turns[place->silent];
	if ((place->first || rca_turns_empty(turns)) && may_take(port, place->user, place)) {
		take(port, place, TAKEN);
	} else if (rca_turns_add(turns, place->ctx, &place->node, &spare)) {
		count_waiting(port, place->user, 1);
		WRITE_ONCE(place->state, WAITS);
		waits = true;
	} else {
		drop_if_idle(port, place->user);
		place->user = NULL;
	}
out_unlock:
	spin_unlock_irq(&port->lock);
	rca_turns_finish(&spare);
	kfree(user);
	return !waits;
}

/**
 * rca_place_take() - take a place for a message
 * @place: its place, with @granted and @ctx set
 * @port: the places for its kind
 * @silent: its peer has not answered lately
 * @first: no other message to its peer is outstanding
 *
 * Context: Process context. May sleep. Expects the op mutex of the id to be held by the caller.
 * Return: true if the message may be sent. False if it waits: @granted is called when it has a
 * place, and this function must then be called again.
 */
bool rca_place_take(struct rca_port_place *place, struct rca_port_places *port, bool silent,
		    bool first)
{
	bool granted;

	WRITE_ONCE(place->port, port);	/* pairs with rca_place_give() */
	if (READ_ONCE(place->state) == WAITS)
		return false;
	spin_lock_irq(&port->lock);
	granted = place->state == GRANTED;
	if (granted)
		WRITE_ONCE(place->state, TAKEN);
	spin_unlock_irq(&port->lock);
	if (!granted) {
		rca_place_give(place);
		place->silent = silent;
		place->first = first;
		if (!begin_anew(port, place))
			return false;
	}
	place->since = jiffies;
	return true;
}

static void queue_id(struct rca_port_place *place)
{
	/* The id waited until now, so it was not released and is still referenced. */
	rca_id_queue_work(container_of(place, struct rca_setup, place)->id);
}

/**
 * rca_place_begin() - take a place for a request
 * @id: the id, on a device, with a setup
 * @silent: its peer has not answered lately
 * @first: no other request to its peer is outstanding
 *
 * Context: Process context. May sleep.
 * Return: true if the request may be sent. False if the id waits: its work is queued when it gets a
 * place, and must call this function again.
 */
bool rca_place_begin(struct rca_id *id, bool silent, bool first)
{
	struct rca_port_place *place = &id->setup->place;
	struct rca_device_places *places = rca_places_of(id);

	lockdep_assert_held(&id->op);
	if (!places)
		return true;
	place->granted = queue_id;
	place->ctx = id->obj.ctx;
	return rca_place_take(place, &places->ports[id->port_num].cm, silent, first);
}

/**
 * rca_place_give() - give back the place of a message, or end the wait for it
 * @place: the place
 *
 * Does nothing if there is none.
 *
 * Context: Any context.
 */
void rca_place_give(struct rca_port_place *place)
{
	struct rca_port_places *port;
	struct rca_places_user *user;
	unsigned long flags;

	rcu_read_lock();
	port = READ_ONCE(place->port);	/* pairs with rca_place_take() */
	if (!port || READ_ONCE(place->state) == NOTHING)
		goto out_unlock_rcu;
	spin_lock_irqsave(&port->lock, flags);
	if (place->state == NOTHING)
		goto out_unlock;
	user = place->user;
	if (place->state == WAITS) {
		rca_turns_remove(&user->turns[place->silent], place->ctx, &place->node);
		count_waiting(port, user, -1);
	} else {
		port->taken--;
		user->taken[place->silent]--;
	}
	place->user = NULL;
	WRITE_ONCE(place->state, NOTHING);
	drop_if_idle(port, user);
	grant_places(port);
out_unlock:
	spin_unlock_irqrestore(&port->lock, flags);
out_unlock_rcu:
	rcu_read_unlock();
}

/**
 * rca_place_end() - give back the place of a request, or end the wait for it
 * @id: the id
 *
 * Does nothing if the id has no place.
 *
 * Context: Any context: with @id->op held, or in a callback of the lower cm_id of @id.
 */
void rca_place_end(struct rca_id *id)
{
	struct rca_setup *setup;

	rcu_read_lock();
	setup = READ_ONCE(id->setup);
	if (setup)
		rca_place_give(&setup->place);
	rcu_read_unlock();
}

/**
 * rca_place_left() - how long a message keeps its place even if it is wanted
 * @place: the place
 *
 * Context: Process context. @place is not being taken.
 * Return: jiffies; LONG_MAX if there is no place.
 */
long rca_place_left(const struct rca_port_place *place)
{
	long hold = msecs_to_jiffies(rca_place_hold_ms) << place->returns;
	long left = place->since + hold - jiffies;

	if (READ_ONCE(place->state) != TAKEN)
		return LONG_MAX;
	return max(left, 0L);
}

/**
 * rca_place_is_wanted() - do others wait for the place of a message?
 * @place: the place
 * @alive: its peer has answered a message since the place was taken
 *
 * Context: Process context. @place is not being taken.
 * Return: true if the message has to be withdrawn.
 */
bool rca_place_is_wanted(struct rca_port_place *place, bool alive)
{
	struct rca_port_places *port = place->port;
	bool others, wanted = false;

	if (rca_place_left(place))
		return false;
	spin_lock_irq(&port->lock);
	if (place->state == TAKEN) {
		others = port->waiting > place->user->waiting || port->taken > rca_places;
		wanted = (place->user->waiting && !alive) ||
			 (others && all_taken(place->user) * port->count > rca_places);
	}
	spin_unlock_irq(&port->lock);
	return wanted;
}

/* A message that is withdrawn keeps its next place for longer. */
void rca_place_withdraw(struct rca_port_place *place)
{
	if (place->returns < MOST_RETURNS)
		place->returns++;
	rca_place_give(place);
}
#endif
