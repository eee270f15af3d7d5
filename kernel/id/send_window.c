// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * The send window: how many CM requests (REQ, DREQ, SIDR_REQ) may be outstanding between a
 * port and a peer address.
 *
 * The management QP of a peer has 512 receive buffers. A burst of requests overruns them, and
 * each lost message costs a retransmission, all at the same time. At most RCA_WINDOW_SIZE
 * messages are therefore outstanding from one port to one address. An answer frees a slot.
 *
 * If a peer answers nothing for rca_window_timeout_ms, its receive buffers have been drained, and
 * the peer is dead or slow to accept. All outstanding messages to it are then forgotten and the
 * window is empty again, so that such a peer does not block other requests to the same address.
 * A responsive peer is self-clocked: it gets one request per answer, however slow it is, because
 * requests that it cannot process would all be retransmitted.
 *
 * Ids that find the window full wait in FIFO order for each context, and the users and their
 * contexts take turns (ctx/turns.h), so that a user with thousands of connects in as many
 * processes does not delay another user with one. When a slot becomes free, it is granted to the
 * next id and the work of that id is queued, which sends.
 *
 * Since 6.17 ib_mad itself limits the outstanding requests of a port, those of all users together,
 * and queues the others. There a connection request that has a slot needs a place of the port, too;
 * see port_places.c.
 *
 * Forgetting the outstanding messages starts a new epoch. A slot stores only its epoch: a slot of
 * an earlier epoch no longer counts.
 *
 * Locking: peer.lock, in any context; taken with rca_id.op held or in callbacks, never under
 * rca_id.lock. Callbacks find the setup of their id, and the peer, under RCU, because they may run
 * late. The table of windows has a lock of its own, see below.
 */
#include "id/id.h"

#include <linux/hash.h>
#include <linux/jhash.h>
#include <linux/jiffies.h>
#include <linux/list.h>
#include <linux/memcontrol.h>
#include <linux/rhashtable.h>
#include <linux/sched/mm.h>
#include <linux/slab.h>

#include "ctx/ctx.h"
#include "lib/testing.h"
#include "transport/transport.h"

/**
 * struct rca_window - the send window of a port to an address
 * @node: entry in the table (lock: rca_windows_lock)
 * @ref: references: ids that have sent to the address, and @work while it is queued; becomes zero
 *       only under rca_windows_lock
 * @key: the port and the address (immutable)
 * @lock: protects the members below, and &rca_window_slot of the ids of this peer
 * @epoch: number of the current epoch
 * @begun: time of the first message of the epoch, in jiffies
 * @heard: time of the last answer, or @begun
 * @sent: unanswered messages of the current epoch
 * @unanswered: unanswered messages of all epochs, by a hash of their user (read without the lock)
 * @answers: the peer has answered in this epoch or the last one (read without the lock; only set if
 *           ib_mad limits the requests of a port)
 * @answered: time of the last answer, in jiffies (likewise)
 * @turns: the waiting ids, through &rca_window_slot.node
 * @work: retries granting slots periodically while ids wait
 * @rcu: frees the window after callbacks that run late
 */
struct rca_window {
	struct rhash_head node;
	refcount_t ref;
	struct rca_window_key key;
	spinlock_t lock;
	u32 epoch;
	unsigned int sent;
	unsigned int unanswered[1 << RCA_WINDOW_USERS_BITS];
	bool answers;
	unsigned long answered;
	unsigned long begun;
	unsigned long heard;
	struct rca_turns turns;
	struct delayed_work work;
	struct rcu_head rcu;
};

/*
 * The table of send windows: finds the window of an id by its port and the address of its peer.
 * A window is made for the first id that sends to the address, and freed with the last reference.
 *
 * Locking: rca_windows_lock, in process context, is taken to add and to remove a window; windows
 * are found under RCU. The reference count of a window in the table becomes zero only under this
 * lock, which rca_window_put() releases after it has removed the window. Callbacks of an id may
 * run late and look at its window under RCU, so it is freed after a grace period.
 */

/* Of the key only the address has many values. */
static u32 hash_key(const void *data, u32 len, u32 seed)
{
	const struct rca_window_key *key = data;

	return jhash2((const u32 *)key->addr, sizeof(key->addr) / sizeof(u32),
		      seed ^ (u32)(unsigned long)key->dev ^ key->port_num);
}

static const struct rhashtable_params windows_params = {
	.hashfn = hash_key,
	.key_len = sizeof(struct rca_window_key),
	.key_offset = offsetof(struct rca_window, key),
	.head_offset = offsetof(struct rca_window, node),
	.automatic_shrinking = true,
};

static struct rhashtable windows;
static DEFINE_SPINLOCK(rca_windows_lock);

/* Module init. */
int rca_windows_init(void)
{
	return rhashtable_init(&windows, &windows_params);
}

/* Module exit, when there are no ids any more. */
void rca_windows_exit(void)
{
	flush_workqueue(rca_wq);	/* the work of a window may still run */
	rhashtable_destroy(&windows);
}

static void set_key(struct rca_window_key *key, const struct rca_id *id)
{
	const union rca_addr *dst = &id->dst;

	memset(key, 0, sizeof(*key));
	key->dev = id->dev;
	key->port_num = id->port_num;
	key->family = dst->sa.sa_family;
	switch (key->family) {
	case AF_INET:
		memcpy(key->addr, &dst->in.sin_addr, sizeof(dst->in.sin_addr));
		break;
	case AF_INET6:
		memcpy(key->addr, &dst->in6.sin6_addr, sizeof(dst->in6.sin6_addr));
		key->scope_id = dst->in6.sin6_scope_id;
		break;
	default:
		memcpy(key->addr, &dst->ib.sib_addr, sizeof(dst->ib.sib_addr));
	}
}

static void peer_work(struct work_struct *work);

/* Returns the window with a reference, or NULL. */
static struct rca_window *find_window(const struct rca_window_key *key)
{
	struct rca_window *window;

	rcu_read_lock();
	window = rhashtable_lookup(&windows, key, windows_params);
	if (window && !refcount_inc_not_zero(&window->ref))
		window = NULL;
	rcu_read_unlock();
	return window;
}

/* Adds a window, or returns the one of this key that another id has added; NULL without memory. */
static struct rca_window *add_window(const struct rca_window_key *key)
{
	struct rca_window *new = kzalloc(sizeof(*new), GFP_KERNEL_ACCOUNT), *window;

	if (!new)
		return NULL;
	refcount_set(&new->ref, 1);
	new->key = *key;
	if (rca_places)
		new->answered = jiffies - 1;	/* before any message of its ids */
	spin_lock_init(&new->lock);
	rca_turns_init(&new->turns);
	INIT_DELAYED_WORK(&new->work, peer_work);
	spin_lock(&rca_windows_lock);
	window = rhashtable_lookup_get_insert_fast(&windows, &new->node, windows_params);
	if (!IS_ERR_OR_NULL(window))
		refcount_inc(&window->ref);
	spin_unlock(&rca_windows_lock);
	if (!window)
		return new;
	kfree(new);
	return IS_ERR(window) ? NULL : window;
}

/* Drops a reference on a window; no id waits in it if this is the last one. Process context. */
static void rca_window_put(struct rca_window *window)
{
	if (!refcount_dec_and_lock(&window->ref, &rca_windows_lock))
		return;
	__acquire(&rca_windows_lock);	/* sparse does not know that it is taken */
	rhashtable_remove_fast(&windows, &window->node, windows_params);
	spin_unlock(&rca_windows_lock);
	WARN_ON_ONCE(!rca_turns_empty(&window->turns));
	kfree_rcu(window, rcu);
}

/* After this time without an answer, outstanding messages are forgotten. Unit tests change it. */
RCA_VISIBLE_IF_KUNIT unsigned int rca_window_timeout_ms = 50;

/*
 * Longest epoch, in units of rca_window_timeout_ms. It keeps unanswered requests to a service that
 * accepts nothing from occupying the window of other services at the same address.
 */
#define MAX_EPOCH	20

/* Values of &rca_window_slot.state. */
enum { NOTHING, WAITS, GRANTED, SENT };

static unsigned long peer_timeout(void)
{
	return msecs_to_jiffies(rca_window_timeout_ms);
}

/* Start a new epoch if the peer has timed out: its unanswered messages no longer count. */
static void forget_if_timed_out(struct rca_window *peer)
{
	lockdep_assert_held(&peer->lock);
	if (!peer->sent || (time_before(jiffies, peer->heard + peer_timeout()) &&
			    time_before(jiffies, peer->begun + MAX_EPOCH * peer_timeout())))
		return;
	WRITE_ONCE(peer->sent, 0);
	peer->epoch++;
	if (rca_places)
		WRITE_ONCE(peer->answers, false);
}

static void set_state(struct rca_window *peer, struct rca_window_slot *slot, u8 state)
{
	unsigned int *unanswered = &peer->unanswered[slot->user];
	int more = (state == SENT) - (slot->state == SENT);

	lockdep_assert_held(&peer->lock);
	if (more)
		WRITE_ONCE(*unanswered, *unanswered + more);
	WRITE_ONCE(slot->state, state);
}

static bool take_slot(struct rca_window *peer, struct rca_window_slot *slot, u8 state)
{
	lockdep_assert_held(&peer->lock);
	if (peer->sent >= RCA_WINDOW_SIZE)
		return false;
	if (!peer->sent) {
		peer->begun = jiffies;
		peer->heard = jiffies;
	}
	WRITE_ONCE(peer->sent, peer->sent + 1);	/* pairs with begin_slot() */
	slot->epoch = peer->epoch;
	set_state(peer, slot, state);
	return true;
}

static void give_slot(struct rca_window *peer, const struct rca_window_slot *slot)
{
	lockdep_assert_held(&peer->lock);
	if (slot->epoch == peer->epoch && !WARN_ON_ONCE(!peer->sent))
		WRITE_ONCE(peer->sent, peer->sent - 1);
}

/* Grant slots to waiting ids until the window is full. */
static void grant_slots(struct rca_window *peer)
{
	struct list_head *first;
	struct rca_setup *setup;

	lockdep_assert_held(&peer->lock);
	while ((first = rca_turns_first(&peer->turns))) {
		setup = list_entry(first, struct rca_setup, slot.node);
		if (!take_slot(peer, &setup->slot, GRANTED))
			break;
		rca_turns_serve_first(&peer->turns);
		/* The id waited until now, so it was not released and is still referenced. */
		rca_id_queue_work(setup->id);
	}
}

/* Arm the periodic work while ids wait. */
static void queue_peer_work(struct rca_window *peer)
{
	lockdep_assert_held(&peer->lock);
	if (rca_turns_empty(&peer->turns))
		return;
	refcount_inc(&peer->ref);	/* put in peer_work() */
	if (!queue_delayed_work(rca_wq, &peer->work, peer_timeout() / 2))
		refcount_dec(&peer->ref);	/* the caller has one */
}

static void peer_work(struct work_struct *work)
{
	struct rca_window *peer = container_of(work, struct rca_window, work.work);
	unsigned long flags;

	spin_lock_irqsave(&peer->lock, flags);
	forget_if_timed_out(peer);
	grant_slots(peer);
	queue_peer_work(peer);
	spin_unlock_irqrestore(&peer->lock, flags);
	rca_window_put(peer);		/* got in queue_peer_work() */
}

/* The window of an id, which is made if there is none yet; NULL without memory. */
static struct rca_window *need_window(struct rca_id *id)
{
	struct rca_window_slot *slot = &id->setup->slot;
	struct mem_cgroup *old_memcg;
	struct rca_window_key key;
	struct rca_window *window;

	if (slot->peer)
		return slot->peer;
	/* The messages of other users do not slow down those of this one. */
	slot->user = hash_32(__kuid_val(rca_account_uid(&id->obj.ctx->account)),
			     RCA_WINDOW_USERS_BITS);
	set_key(&key, id);
	window = find_window(&key);
	if (!window) {
		/* The work of an id has no memory cgroup of its own. */
		old_memcg = set_active_memcg(id->obj.ctx->memcg);
		window = add_window(&key);
		set_active_memcg(old_memcg);
	}
	slot->peer = window;	/* put in rca_window_release() */
	return window;
}

/* Returns true if the id has a slot or need not wait. */
static bool begin_slot(struct rca_window *peer, struct rca_id *id)
{
	bool full = READ_ONCE(peer->sent) >= RCA_WINDOW_SIZE || !rca_turns_empty(&peer->turns);
	struct rca_window_slot *slot = &id->setup->slot;
	struct rca_turns_spare spare = {};
	struct mem_cgroup *old_memcg;
	bool waits = false;

	/* It may have to wait. */
	if (full) {
		old_memcg = set_active_memcg(id->obj.ctx->memcg);
		rca_turns_prepare(&spare);	/* without memory, it may send at once */
		set_active_memcg(old_memcg);
	}
	spin_lock_irq(&peer->lock);
	if (slot->state == WAITS) {
		waits = true;
		goto out_unlock;
	}
	if (slot->state == GRANTED) {
		set_state(peer, slot, SENT);
		goto out_unlock;
	}
	forget_if_timed_out(peer);
	if (slot->state == SENT)
		give_slot(peer, slot);
	set_state(peer, slot, NOTHING);
	if (rca_turns_empty(&peer->turns) && take_slot(peer, slot, SENT))
		goto out_unlock;
	if (!rca_turns_add(&peer->turns, id->obj.ctx, &slot->node, &spare))
		goto out_unlock;
	set_state(peer, slot, WAITS);
	queue_peer_work(peer);
	waits = true;
out_unlock:
	spin_unlock_irq(&peer->lock);
	if (full)
		rca_turns_finish(&spare);
	return !waits;
}

/*
 * Take a place of the port, where ib_mad limits its requests. Disconnects do not wait for one: they
 * end soon, whether or not they are answered. While a request waits for its slot, it has a place.
 */
static bool begin_place(struct rca_window *peer, struct rca_id *id)
{
	enum rca_state state = rca_id_state(id);
	u8 slot = READ_ONCE(id->setup->slot.state);
	bool answers;

	if ((state != RCA_ST_REQ_SENT && state != RCA_ST_REQ_WAIT) || slot == WAITS ||
	    slot == GRANTED)
		return true;
	spin_lock_irq(&peer->lock);
	forget_if_timed_out(peer);
	answers = peer->answers;
	spin_unlock_irq(&peer->lock);
	return rca_place_begin(id, !answers, !rca_window_unanswered(id));
}

/**
 * rca_window_begin() - take a slot in the send window for a message to the peer of an id
 * @id: the id, on a device
 *
 * Pacing is best-effort: an id without a setup, or without memory to wait, may send at once. A
 * trunk has a window of its own.
 *
 * Context: Process context. May sleep.
 * Return: true if the message may be sent. False if the id waits, for a place of its port or for a
 * slot: its work is queued when it gets that, and must call this function again.
 */
bool rca_window_begin(struct rca_id *id)
{
	struct rca_window *peer;

	lockdep_assert_held(&id->op);
	if (!id->setup || id->tp->reliable)
		return true;
	peer = need_window(id);
	if (!peer)
		return true;
	if (rca_places && !begin_place(peer, id))
		return false;
	return begin_slot(peer, id);
}

/**
 * rca_window_granted() - was a slot granted to a waiting id?
 * @id: the id
 *
 * Context: Process context. Expects @id->op to be held by the caller.
 * Return: true from the grant until rca_window_begin() is called.
 */
bool rca_window_granted(const struct rca_id *id)
{
	return id->setup && READ_ONCE(id->setup->slot.state) == GRANTED;
}

/**
 * rca_window_unanswered() - count the messages of a user that the peer of an id has not answered
 * @id: the id
 *
 * Context: Process context. Expects @id->op to be held by the caller.
 * Return: the number of unanswered messages of the user's ids from the same port to the same
 * address. Users with the same hash are counted together.
 */
unsigned int rca_window_unanswered(const struct rca_id *id)
{
	const struct rca_window *peer = id->setup ? id->setup->slot.peer : NULL;

	return peer ? READ_ONCE(peer->unanswered[id->setup->slot.user]) : 0;
}

/**
 * rca_window_silent() - does the peer of an id take places that others need?
 * @id: the id
 *
 * Context: Process context. Expects @id->op to be held by the caller.
 * Return: true if ib_mad limits the requests of the port, and the peer does not answer.
 */
bool rca_window_silent(const struct rca_id *id)
{
	const struct rca_window *peer = id->setup ? id->setup->slot.peer : NULL;

	return peer && rca_places_of(id) && !READ_ONCE(peer->answers);
}

/**
 * rca_window_heard() - has the peer of an id answered a message since a time?
 * @id: the id
 * @since: the time, in jiffies
 *
 * Context: Process context. Expects @id->op to be held by the caller.
 * Return: true if it has. Only known if ib_mad limits the requests of a port.
 */
bool rca_window_heard(const struct rca_id *id, unsigned long since)
{
	const struct rca_window *peer = id->setup->slot.peer;

	return peer && time_after_eq(READ_ONCE(peer->answered), since);
}

/*
 * Release the slot of an id, or remove the id from the waiting list. Callbacks that run late find
 * the setup and the peer under RCU.
 */
static void end_slot(struct rca_id *id, bool answered)
{
	struct rca_window *peer = NULL;
	struct rca_window_slot *slot;
	struct rca_setup *setup;
	unsigned long flags;

	rcu_read_lock();
	setup = READ_ONCE(id->setup);
	if (setup && READ_ONCE(setup->slot.state) != NOTHING)
		peer = READ_ONCE(setup->slot.peer);	/* pairs with rca_window_release() */
	if (!peer)
		goto out_unlock_rcu;
	slot = &setup->slot;
	spin_lock_irqsave(&peer->lock, flags);
	/* A concurrent call may have ended it already; the peer may then be unreferenced. */
	if (slot->state == NOTHING)
		goto out_unlock;
	if (answered)
		peer->heard = jiffies;
	if (answered && rca_places) {
		WRITE_ONCE(peer->answers, true);
		WRITE_ONCE(peer->answered, jiffies);
	}
	forget_if_timed_out(peer);
	if (slot->state == WAITS)
		rca_turns_remove(&peer->turns, id->obj.ctx, &slot->node);
	else
		give_slot(peer, slot);
	set_state(peer, slot, NOTHING);
	grant_slots(peer);
	if (rca_turns_empty(&peer->turns) && cancel_delayed_work(&peer->work))
		refcount_dec(&peer->ref);	/* the id has one */
out_unlock:
	spin_unlock_irqrestore(&peer->lock, flags);
out_unlock_rcu:
	rcu_read_unlock();
}

/**
 * rca_window_answered() - release the slot of an id because its peer has answered
 * @id: the id
 *
 * Does nothing if the id has no slot.
 *
 * Context: Any context: a callback of the lower cm_id of @id.
 */
void rca_window_answered(struct rca_id *id)
{
	rca_place_end(id);
	end_slot(id, true);
}

/**
 * rca_window_end() - release the slot of an id whose message was withdrawn or timed out
 * @id: the id
 *
 * Does nothing if the id has no slot.
 *
 * Context: Any context: with @id->op held, or in a callback of the lower cm_id of @id.
 */
void rca_window_end(struct rca_id *id)
{
	rca_place_end(id);
	end_slot(id, false);
}

/**
 * rca_window_release() - release the slot of an id and its reference on the peer
 * @id: the id
 *
 * A later rca_window_begin() looks the peer up again.
 *
 * Context: Process context. Expects @id->op to be held by the caller, or @id to be unpublished.
 */
void rca_window_release(struct rca_id *id)
{
	struct rca_setup *setup = id->setup;
	struct rca_window *peer = setup ? setup->slot.peer : NULL;

	rca_place_end(id);
	if (!peer)
		return;
	rca_window_end(id);
	WRITE_ONCE(setup->slot.peer, NULL);
	rca_window_put(peer);
}
