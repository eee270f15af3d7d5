// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * Pacing of requests: connection and disconnect requests to one peer.
 *
 * The queue pair for management of a peer has 512 receive buffers. A storm overruns
 * them, and each message that is lost costs a retransmission, all of them at the
 * same time. So at most RCA_PACE_WINDOW messages are on their way from one port to
 * one address. An answer makes room. A peer that answers nothing at all for a
 * twentieth of a second has taken what it did not lose out of its buffers, and is
 * dead, or slow to accept: then all that was sent to it is forgotten, and there is
 * room again, so that it stops nobody. One that answers is not sent more than it
 * answers, however slow it is: what it cannot take would be repeated by all.
 *
 * Whoever finds no room waits, first come, first served; but contexts, that is
 * processes, take turns, so that one that connects thousands of times does not
 * delay another that connects once. Who is next gets its slot, and its work is
 * kicked, which sends.
 *
 * What is forgotten ends an epoch. So a slot needs nothing to remember but its epoch.
 *
 * Locking: peer.lock, any context; taken with rca_id.op held or in callbacks, never
 * under rca_id.lock. Bucket locks are taken before it, in process context. A callback
 * finds the setup of its id, and the peer, under RCU: it may come late.
 */
#include "id/send_window.h"

#include <kunit/visibility.h>
#include <linux/hash.h>
#include <linux/jhash.h>
#include <linux/jiffies.h>
#include <linux/list.h>
#include <linux/refcount.h>
#include <linux/slab.h>

#include "device/devices.h"

/* After so much silence a message has left its receiver's buffers; unit tests change it. */
VISIBLE_IF_KUNIT unsigned int rca_pace_silence_ms = 50;
EXPORT_SYMBOL_IF_KUNIT(rca_pace_silence_ms);

/*
 * So many of those times an epoch lasts at most: messages that nobody answers, of a
 * service that accepts nothing, are not to take the room of those to another one.
 */
#define MAX_EPOCH	20

#define BUCKET_BITS	7

/* Values of &rca_pace.state. */
enum { NOTHING, WAITS, GRANTED, SENT };

/**
 * struct rca_peer - an address that a port sends to
 * @node: in its bucket (lock: the bucket's)
 * @ref: references: the ids that have sent to it, its work while queued
 * @dev: device of the port; names it alone
 * @port_num: the port (immutable)
 * @addr: the address (immutable)
 * @lock: protects what follows, and &rca_pace of its ids
 * @epoch: number of the present epoch
 * @begun: when its first message was sent, in jiffies
 * @heard: when the last answer came, or @begun
 * @sent: its messages without an answer
 * @unanswered: those of all epochs (read without the lock)
 * @flows: contexts that wait, the next one first
 * @work: looks again after a while, as long as somebody waits
 * @rcu: for callbacks that come late
 */
struct rca_peer {
	struct hlist_node node;
	refcount_t ref;
	const struct rca_device *dev;
	u32 port_num;
	union rca_addr addr;
	spinlock_t lock;
	u32 epoch;
	unsigned int sent;
	unsigned int unanswered;
	unsigned long begun;
	unsigned long heard;
	struct list_head flows;
	struct delayed_work work;
	struct rcu_head rcu;
};

/**
 * struct flow - the ids of a context that wait for a peer; is freed when there is none
 * @node: in &rca_peer.flows
 * @ids: them
 * @ctx: the context; names it alone
 */
struct flow {
	struct list_head node;
	struct list_head ids;
	const struct rca_ctx *ctx;
};

static struct {
	spinlock_t lock;
	struct hlist_head head;
} buckets[1 << BUCKET_BITS] = {
	[0 ... (1 << BUCKET_BITS) - 1].lock = __SPIN_LOCK_UNLOCKED(pace_bucket),
};

static unsigned long silence(void)
{
	return msecs_to_jiffies(rca_pace_silence_ms);
}

static u32 address_hash(const union rca_addr *addr)
{
	switch (addr->sa.sa_family) {
	case AF_INET:
		return (__force u32)addr->in.sin_addr.s_addr;
	case AF_INET6:
		return jhash(&addr->in6.sin6_addr, sizeof(addr->in6.sin6_addr), 0);
	default:
		return jhash(&addr->ib.sib_addr, sizeof(addr->ib.sib_addr), 0);
	}
}

static unsigned int bucket_of(const struct rca_device *dev, const union rca_addr *addr)
{
	return hash_32(address_hash(addr) ^ hash_ptr(dev, 32), BUCKET_BITS);
}

static void put_peer(struct rca_peer *peer)
{
	unsigned int bucket = bucket_of(peer->dev, &peer->addr);

	if (!refcount_dec_and_lock(&peer->ref, &buckets[bucket].lock))
		return;
	hlist_del(&peer->node);
	spin_unlock(&buckets[bucket].lock);
	WARN_ON_ONCE(!list_empty(&peer->flows));
	kfree_rcu(peer, rcu);
}

/* full() looks without the lock. */
static void count_sent(struct rca_peer *peer, unsigned int sent)
{
	lockdep_assert_held(&peer->lock);
	WRITE_ONCE(peer->sent, sent);
}

/* Messages that nobody will answer, as it seems, do not count any more. */
static void forget(struct rca_peer *peer)
{
	lockdep_assert_held(&peer->lock);
	if (!peer->sent || (time_before(jiffies, peer->heard + silence()) &&
			    time_before(jiffies, peer->begun + MAX_EPOCH * silence())))
		return;
	count_sent(peer, 0);
	peer->epoch++;
}

static void set_state(struct rca_peer *peer, struct rca_pace *pace, u8 state)
{
	int more = (state == SENT) - (pace->state == SENT);

	lockdep_assert_held(&peer->lock);
	WRITE_ONCE(peer->unanswered, peer->unanswered + more);
	WRITE_ONCE(pace->state, state);
}

static bool take_slot(struct rca_peer *peer, struct rca_pace *pace, u8 state)
{
	lockdep_assert_held(&peer->lock);
	if (peer->sent >= RCA_PACE_WINDOW)
		return false;
	if (!peer->sent) {
		peer->begun = jiffies;
		peer->heard = jiffies;
	}
	count_sent(peer, peer->sent + 1);
	pace->epoch = peer->epoch;
	set_state(peer, pace, state);
	return true;
}

static void give_slot(struct rca_peer *peer, const struct rca_pace *pace)
{
	lockdep_assert_held(&peer->lock);
	if (pace->epoch == peer->epoch && !WARN_ON_ONCE(!peer->sent))
		count_sent(peer, peer->sent - 1);
}

static void drop_flow_if_empty(struct flow *flow)
{
	if (!list_empty(&flow->ids))
		return;
	list_del(&flow->node);
	kfree(flow);
}

/* Whoever is next, as long as there is room. */
static void serve(struct rca_peer *peer)
{
	struct rca_setup *setup;
	struct flow *flow;

	lockdep_assert_held(&peer->lock);
	while (!list_empty(&peer->flows)) {
		flow = list_first_entry(&peer->flows, struct flow, node);
		setup = list_first_entry(&flow->ids, struct rca_setup, pace.node);
		if (!take_slot(peer, &setup->pace, GRANTED))
			break;
		list_del_init(&setup->pace.node);
		list_move_tail(&flow->node, &peer->flows);
		drop_flow_if_empty(flow);
		/* It has not been released, so that its id has a reference. */
		rca_id_kick(setup->id);
	}
}

/* While somebody waits: look again. */
static void look_again(struct rca_peer *peer)
{
	lockdep_assert_held(&peer->lock);
	if (list_empty(&peer->flows))
		return;
	refcount_inc(&peer->ref);	/* put in peer_work() */
	if (!queue_delayed_work(rca_wq, &peer->work, silence() / 2))
		refcount_dec(&peer->ref);	/* the caller has one */
}

/* Nobody waits any more. */
static void look_away(struct rca_peer *peer)
{
	lockdep_assert_held(&peer->lock);
	if (list_empty(&peer->flows) && cancel_delayed_work(&peer->work))
		refcount_dec(&peer->ref);	/* the caller has one */
}

static void peer_work(struct work_struct *work)
{
	struct rca_peer *peer = container_of(work, struct rca_peer, work.work);
	unsigned long flags;

	spin_lock_irqsave(&peer->lock, flags);
	forget(peer);
	serve(peer);
	look_again(peer);
	spin_unlock_irqrestore(&peer->lock, flags);
	put_peer(peer);		/* got in look_again() */
}

static struct rca_peer *make_peer(const struct rca_id *id)
{
	struct rca_peer *peer = kzalloc(sizeof(*peer), GFP_KERNEL_ACCOUNT);

	if (!peer)
		return NULL;
	refcount_set(&peer->ref, 1);
	peer->dev = id->dev;
	peer->port_num = id->port_num;
	peer->addr = id->dst;
	spin_lock_init(&peer->lock);
	INIT_LIST_HEAD(&peer->flows);
	INIT_DELAYED_WORK(&peer->work, peer_work);
	return peer;
}

static struct rca_peer *find_peer(unsigned int bucket, const struct rca_id *id)
{
	struct rca_peer *peer;

	lockdep_assert_held(&buckets[bucket].lock);
	hlist_for_each_entry(peer, &buckets[bucket].head, node) {
		if (peer->dev == id->dev && peer->port_num == id->port_num &&
		    rca_addr_same_ip(&peer->addr, &id->dst)) {
			refcount_inc(&peer->ref);
			return peer;
		}
	}
	return NULL;
}

/* The peer of an id, with a reference; NULL: there is no memory. */
static struct rca_peer *get_peer(const struct rca_id *id)
{
	unsigned int bucket = bucket_of(id->dev, &id->dst);
	struct rca_peer *peer, *made;

	spin_lock(&buckets[bucket].lock);
	peer = find_peer(bucket, id);
	spin_unlock(&buckets[bucket].lock);
	if (peer)
		return peer;
	made = make_peer(id);
	if (!made)
		return NULL;
	spin_lock(&buckets[bucket].lock);
	peer = find_peer(bucket, id);
	if (!peer) {
		hlist_add_head(&made->node, &buckets[bucket].head);
		peer = made;
		made = NULL;
	}
	spin_unlock(&buckets[bucket].lock);
	kfree(made);
	return peer;
}

static struct flow *find_flow(struct rca_peer *peer, const struct rca_ctx *ctx)
{
	struct flow *flow;

	lockdep_assert_held(&peer->lock);
	list_for_each_entry(flow, &peer->flows, node) {
		if (flow->ctx == ctx)
			return flow;
	}
	return NULL;
}

/* True: it has its slot, or need not wait. @spare is used up when the context did not wait yet. */
static bool begin_locked(struct rca_peer *peer, struct rca_id *id, struct flow **spare)
{
	const struct rca_ctx *ctx = id->obj.ctx;
	struct rca_pace *pace = &id->setup->pace;
	struct flow *flow;

	lockdep_assert_held(&peer->lock);
	if (pace->state == WAITS)
		return false;
	if (pace->state == GRANTED) {
		set_state(peer, pace, SENT);
		return true;
	}
	forget(peer);
	if (pace->state == SENT)
		give_slot(peer, pace);
	set_state(peer, pace, NOTHING);
	if (list_empty(&peer->flows) && take_slot(peer, pace, SENT))
		return true;
	flow = find_flow(peer, ctx);
	if (!flow) {
		flow = *spare;
		if (!flow)
			return true;
		*spare = NULL;
		flow->ctx = ctx;
		INIT_LIST_HEAD(&flow->ids);
		list_add_tail(&flow->node, &peer->flows);
	}
	list_add_tail(&pace->node, &flow->ids);
	set_state(peer, pace, WAITS);
	look_again(peer);
	return false;
}

static bool full(struct rca_peer *peer)
{
	return READ_ONCE(peer->sent) >= RCA_PACE_WINDOW || !list_empty(&peer->flows);
}

/**
 * rca_pace_begin() - may a message be sent to the peer of an id now?
 * @id: the id, on a device
 *
 * Without memory for waiting it may, and without a setup: pacing is no promise.
 *
 * Context: Process context. May sleep. Expects @id->op to be held by the caller.
 * Return: true: send. False: it waits; its work is kicked when it may, and calls again.
 */
bool rca_pace_begin(struct rca_id *id)
{
	struct rca_setup *setup = id->setup;
	struct flow *spare = NULL;
	struct rca_peer *peer;
	unsigned long flags;
	bool ret;

	lockdep_assert_held(&id->op);
	if (!setup)
		return true;
	if (!setup->pace.peer)
		setup->pace.peer = get_peer(id);	/* put in rca_pace_release() */
	peer = setup->pace.peer;
	if (!peer)
		return true;
	if (full(peer))
		spare = kmalloc(sizeof(*spare), GFP_KERNEL_ACCOUNT);
	spin_lock_irqsave(&peer->lock, flags);
	ret = begin_locked(peer, id, &spare);
	spin_unlock_irqrestore(&peer->lock, flags);
	kfree(spare);
	return ret;
}
EXPORT_SYMBOL_IF_KUNIT(rca_pace_begin);

/**
 * rca_pace_granted() - is it the turn of an id that has waited?
 * @id: the id
 *
 * Context: Process context. Expects @id->op to be held by the caller. It stays true
 * until rca_pace_begin() is called.
 * Return: true: it is.
 */
bool rca_pace_granted(const struct rca_id *id)
{
	return id->setup && READ_ONCE(id->setup->pace.state) == GRANTED;
}
EXPORT_SYMBOL_IF_KUNIT(rca_pace_granted);

/**
 * rca_pace_unanswered() - what has the peer of an id not answered?
 * @id: the id
 *
 * Context: Process context. Expects @id->op to be held by the caller.
 * Return: how many messages of this host, to the same address.
 */
unsigned int rca_pace_unanswered(const struct rca_id *id)
{
	const struct rca_peer *peer = id->setup ? id->setup->pace.peer : NULL;

	return peer ? READ_ONCE(peer->unanswered) : 0;
}
EXPORT_SYMBOL_IF_KUNIT(rca_pace_unanswered);

/* Give up the slot, or the place among those who wait for one. */
static void end_in(struct rca_peer *peer, struct rca_setup *setup, bool answered)
{
	struct rca_pace *pace = &setup->pace;
	unsigned long flags;
	struct flow *flow;

	spin_lock_irqsave(&peer->lock, flags);
	/* Else somebody was quicker, and the peer may have no reference any more. */
	if (pace->state == NOTHING)
		goto out_unlock;
	if (answered)
		peer->heard = jiffies;
	forget(peer);
	if (pace->state == WAITS) {
		flow = find_flow(peer, setup->id->obj.ctx);
		list_del_init(&pace->node);
		drop_flow_if_empty(flow);
	} else {
		give_slot(peer, pace);
	}
	set_state(peer, pace, NOTHING);
	serve(peer);
	look_away(peer);
out_unlock:
	spin_unlock_irqrestore(&peer->lock, flags);
}

static void end(struct rca_id *id, bool answered)
{
	struct rca_setup *setup;
	struct rca_peer *peer;

	rcu_read_lock();
	setup = READ_ONCE(id->setup);
	if (setup && READ_ONCE(setup->pace.state) != NOTHING) {
		peer = READ_ONCE(setup->pace.peer);	/* pairs with rca_pace_release() */
		if (peer)
			end_in(peer, setup, answered);
	}
	rcu_read_unlock();
}

/**
 * rca_pace_answered() - the peer has sent a message for an id
 * @id: the id
 *
 * Context: Any context: a callback of the lower id of @id, which may find that nothing is left
 * to be done.
 */
void rca_pace_answered(struct rca_id *id)
{
	end(id, true);
}
EXPORT_SYMBOL_IF_KUNIT(rca_pace_answered);

/**
 * rca_pace_end() - the message of an id is not needed any more, or nobody answers it
 * @id: the id
 *
 * Context: Any context: @id->op is held, or it is a callback of the lower id of @id, which may find
 * that nothing is left to be done.
 */
void rca_pace_end(struct rca_id *id)
{
	end(id, false);
}
EXPORT_SYMBOL_IF_KUNIT(rca_pace_end);

/**
 * rca_pace_release() - an id sends no more to its peer, as far as is known now
 * @id: the id
 *
 * Context: Process context. Expects @id->op to be held by the caller, or @id to
 * be known to nobody else.
 */
void rca_pace_release(struct rca_id *id)
{
	struct rca_setup *setup = id->setup;
	struct rca_peer *peer = setup ? setup->pace.peer : NULL;

	if (!peer)
		return;
	rca_pace_end(id);
	WRITE_ONCE(setup->pace.peer, NULL);
	put_peer(peer);
}
EXPORT_SYMBOL_IF_KUNIT(rca_pace_release);
