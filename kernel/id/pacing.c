// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * Pacing: how many messages wait for an answer at a time, and who sends next.
 *
 * A gate limits messages. A message takes a place of the gate with its ticket before it is sent,
 * and gives it back when it is answered or ends. Messages that find no place wait in FIFO order for
 * each context; users take turns, and so do the contexts of a user, so that a user with thousands
 * of connects in as many processes does not delay another user with one. A place that becomes free
 * is granted to the next ticket, and the work of its id is queued, which sends. There are two kinds
 * of gates.
 *
 * The send window of a peer: CM requests (REQ, DREQ) from one port to one address. The management
 * QP of a peer has 512 receive buffers. A burst of requests overruns them, and each lost message
 * costs a retransmission, all at the same time. The window therefore has RCA_WINDOW_SIZE places.
 * If a peer answers nothing for rca_window_timeout_ms, its receive buffers have been drained, and
 * the peer is dead or slow to accept. All outstanding messages to it are then forgotten: a new
 * epoch begins, in which those of earlier epochs no longer count, so that such a peer does not
 * block other requests to the same address. A responsive peer is self-clocked: it gets one request
 * per answer, however slow it is, because requests that it cannot process would all be
 * retransmitted.
 *
 * The places of a port: since 6.17 ib_mad limits the outstanding CM requests of a port, and the
 * queries of the subnet administrator (see cm/sa.c), and queues those beyond. It knows no users,
 * and keeps a request for as long as the program or its peer wants it to. So users share these
 * places, and a request waits for one of them in place of the window. A user may take a place while
 * the user has less than three times as many as are free: one user alone gets three quarters, and n
 * users, however many requests they have, get 3 / (3 n + 1) of the places each. Some are always
 * free for the next user. A user without any gets one in any case; ib_mad then queues the request.
 *
 * The wait for a place of a port does not depend on how long others wait for an answer. The work of
 * an id checks its request after rca_place_hold_ms. If other requests of its user wait, and its
 * peer has answered nothing meanwhile, or if other users wait, and its user has more than an equal
 * part of the places, the request is withdrawn, and waits for a place again. With each withdrawal
 * of a request this time doubles, so that a peer that needs seconds to accept is found.
 *
 * A user's requests to live peers do not wait behind those to dead ones: a peer is silent until it
 * answers, and again when its messages have been forgotten. Requests of a user to silent peers take
 * half of the places of the port at most, and an eighth more for the first ones to a peer, which
 * find out whether it is alive. They have turns of their own.
 *
 * Locking: rca_gate.lock, a leaf, in any context; never taken under rca_id.lock. Callbacks find the
 * setup of their id, and the gate of a ticket, under RCU, because they may run late.
 */
#include "id/id.h"

#include <linux/hash.h>
#include <linux/jhash.h>
#include <linux/jiffies.h>
#include <linux/list.h>
#include <linux/memcontrol.h>
#include <linux/rbtree.h>
#include <linux/rhashtable.h>
#include <linux/sched/mm.h>
#include <linux/slab.h>
#include <linux/timer.h>
#include <rdma/ib_addr.h>

#include "ctx/ctx.h"
#include "lib/testing.h"
#include "transport/transport.h"

/* After this time without an answer, outstanding messages are forgotten. Unit tests change it. */
RCA_VISIBLE_IF_KUNIT unsigned int rca_window_timeout_ms = 50;

#define WINDOW_TIMEOUT	msecs_to_jiffies(rca_window_timeout_ms)

/*
 * Longest epoch, in units of WINDOW_TIMEOUT. It keeps unanswered requests to a service that
 * accepts nothing from occupying the window of other services at the same address.
 */
#define MAX_EPOCH	20

/* After this time, a request gives its place of the port back if it is wanted. */
RCA_VISIBLE_IF_KUNIT unsigned int rca_place_hold_ms = 500;

/* Unit tests let the allocation of a party fail. */
RCA_VISIBLE_IF_KUNIT bool rca_no_parties;

#if IS_ENABLED(CONFIG_RDMA_CM_ALT_KUNIT)
unsigned int rca_places = RCA_PORT_PLACES;
#endif

/* The longest time, as a power of two: 16 s. */
#define MOST_RETURNS	5

/* A user may have SHARE times as many places of a port as are free. */
#define SHARE		3

/* The unanswered messages of users are counted apart by a hash of this many bits. */
#define USERS_BITS	5

/* Values of &rca_ticket.state. */
enum { NOTHING, WAITS, GRANTED, TAKEN };

/**
 * struct rca_party - a user at a gate, or a context of a user
 * @node: entry in &rca_turns.tree
 * @order: entry in &rca_turns.order while @waiting
 * @owner: the user or the context, for comparison only (holds no reference)
 * @waiting: tickets that wait
 * @taken: places that a user has at a port, by &rca_ticket.silent
 * @contexts: contexts of a user whose tickets wait, likewise
 * @tickets: the tickets of a context that wait, oldest first
 *
 * It exists while one of the numbers is not zero.
 */
struct rca_party {
	struct rb_node node;
	struct list_head order;
	const void *owner;
	unsigned int waiting;
	unsigned int taken[2];
	struct rca_turns contexts[2];
	struct list_head tickets;
};

/**
 * struct rca_window - the send window of a port to an address
 * @gate: limits the messages
 * @node: entry in the table (lock: windows_lock)
 * @ref: references of the ids that have sent to the address; becomes zero only under windows_lock
 * @key: the port and the address (immutable)
 * @unanswered: unanswered messages of all epochs, by a hash of their user (lock: that of @gate;
 *              also read without)
 * @timer: looks for silence periodically while ids wait; runs only while the window is referenced
 * @rcu: frees the window after callbacks that run late
 */
struct rca_window {
	struct rca_gate gate;
	struct rhash_head node;
	refcount_t ref;
	struct rca_window_key {
		const struct rca_device *dev;	/* for comparison only */
		u32 port_num;
		u32 scope_id;
		union ib_gid gid;
	} key;
	unsigned int unanswered[1 << USERS_BITS];
	struct timer_list timer;
	struct rcu_head rcu;
};

static struct rca_window *window_of(const struct rca_gate *gate)
{
	return container_of(gate, struct rca_window, gate);
}

/*
 * Returns the party of @owner, which is made if there is none; NULL without memory. The memory is
 * charged to nobody: a user whose memory cgroup is full must not get past the gate.
 */
static struct rca_party *find_or_add_party(struct rca_turns *turns, const void *owner)
{
	struct rb_node **link = &turns->tree.rb_node, *parent = NULL;
	struct rca_party *party;

	while (*link) {
		parent = *link;
		party = rb_entry(parent, struct rca_party, node);
		if (party->owner == owner)
			return party;
		link = owner < party->owner ? &parent->rb_left : &parent->rb_right;
	}
	party = rca_no_parties ? NULL : kzalloc(sizeof(*party), GFP_ATOMIC | __GFP_NOWARN);
	if (!party)
		return NULL;
	party->owner = owner;
	rca_turns_init(&party->contexts[false]);
	rca_turns_init(&party->contexts[true]);
	INIT_LIST_HEAD(&party->tickets);
	rb_link_node(&party->node, parent, link);
	rb_insert_color(&party->node, &turns->tree);
	turns->count++;
	return party;
}

static void drop_if_idle(struct rca_turns *turns, struct rca_party *party)
{
	if (party->waiting || party->taken[false] || party->taken[true])
		return;
	rb_erase(&party->node, &turns->tree);
	turns->count--;
	kfree(party);
}

/* Another ticket of a party waits. */
static void add_waiting(struct rca_turns *turns, struct rca_party *party)
{
	if (!party->waiting++)
		list_add_tail(&party->order, &turns->order);
}

static void remove_waiting(struct rca_turns *turns, struct rca_party *party)
{
	if (!--party->waiting)
		list_del(&party->order);
	drop_if_idle(turns, party);
}

/* Let a ticket wait behind the others of its context. False: there is no memory for that. */
static bool enqueue(struct rca_gate *gate, struct rca_ticket *ticket)
{
	struct rca_turns *contexts = &ticket->user->contexts[ticket->silent];

	ticket->context = find_or_add_party(contexts, ticket->id->obj.ctx);
	if (!ticket->context) {
		drop_if_idle(&gate->users, ticket->user);
		return false;
	}
	list_add_tail(&ticket->node, &ticket->context->tickets);
	add_waiting(contexts, ticket->context);
	add_waiting(&gate->users, ticket->user);
	gate->waiting++;
	WRITE_ONCE(ticket->state, WAITS);
	return true;
}

static void dequeue(struct rca_gate *gate, struct rca_ticket *ticket)
{
	list_del(&ticket->node);
	remove_waiting(&ticket->user->contexts[ticket->silent], ticket->context);
	remove_waiting(&gate->users, ticket->user);
	gate->waiting--;
}

static bool window_is_full(const struct rca_gate *gate)
{
	return !gate->is_port && gate->taken >= RCA_WINDOW_SIZE;
}

/* May the user of a ticket take a place for it? */
static bool may_take(const struct rca_gate *gate, const struct rca_ticket *ticket)
{
	unsigned int free, taken;

	if (!gate->is_port)
		return !window_is_full(gate);
	free = rca_places > gate->taken ? rca_places - gate->taken : 0;
	taken = ticket->user->taken[false] + ticket->user->taken[true];
	if (taken && taken >= SHARE * free)
		return false;
	return !ticket->silent || ticket->user->taken[true] <
				  rca_places / 2 + (ticket->first ? rca_places / 8 : 0);
}

/* The user of a ticket has another message, or one less, that is unanswered. */
static void count_message(struct rca_gate *gate, const struct rca_ticket *ticket, int more)
{
	unsigned int *count = gate->is_port ? &ticket->user->taken[ticket->silent] :
					      &window_of(gate)->unanswered[ticket->hash];

	WRITE_ONCE(*count, *count + more);
}

static void take_place(struct rca_gate *gate, struct rca_ticket *ticket, u8 state)
{
	lockdep_assert_held(&gate->lock);
	count_message(gate, ticket, 1);
	if (!gate->taken)
		gate->begun = jiffies;
	gate->taken++;
	ticket->epoch = gate->epoch;
	ticket->since = jiffies;
	WRITE_ONCE(ticket->state, state);
}

/* Grant a place to the next ticket of a user. False: none waits, or it has to. */
static bool grant_place(struct rca_gate *gate, struct rca_party *user, bool silent)
{
	struct rca_turns *contexts = &user->contexts[silent];
	struct rca_party *context;
	struct rca_ticket *ticket;

	if (list_empty(&contexts->order))
		return false;
	context = list_first_entry(&contexts->order, struct rca_party, order);
	ticket = list_first_entry(&context->tickets, struct rca_ticket, node);
	if (!may_take(gate, ticket))
		return false;
	list_move_tail(&context->order, &contexts->order);
	list_move_tail(&user->order, &gate->users.order);
	take_place(gate, ticket, GRANTED);
	dequeue(gate, ticket);
	/* The id waited until now, so it was not released and is still referenced. */
	rca_id_queue_work(ticket->id);
	return true;
}

/* Grant places to the tickets that wait, one for each user in turn. */
static void grant_places(struct rca_gate *gate)
{
	struct rca_party *user, *next;
	bool granted = gate->waiting;

	lockdep_assert_held(&gate->lock);
	while (granted) {
		granted = false;
		list_for_each_entry_safe(user, next, &gate->users.order, order) {
			if (window_is_full(gate))
				return;
			granted |= grant_place(gate, user, false) || grant_place(gate, user, true);
		}
	}
}

/* Start a new epoch if the peer has timed out: its unanswered messages no longer count. */
static void forget_if_timed_out(struct rca_gate *gate)
{
	unsigned long timeout;

	lockdep_assert_held(&gate->lock);
	if (gate->is_port || !gate->taken)
		return;
	timeout = WINDOW_TIMEOUT;
	if (time_before(jiffies, gate->begun + timeout) ||
	    (time_before(jiffies, gate->answered + timeout) &&
	     time_before(jiffies, gate->begun + MAX_EPOCH * timeout)))
		return;
	gate->taken = 0;
	gate->epoch++;
	WRITE_ONCE(gate->answers, false);
}

/* Give back what a ticket has, if anything, or end its wait. */
static void give_place(struct rca_gate *gate, struct rca_ticket *ticket)
{
	lockdep_assert_held(&gate->lock);
	if (ticket->state == WAITS) {
		dequeue(gate, ticket);
	} else if (ticket->state != NOTHING) {
		if (ticket->epoch == gate->epoch)
			gate->taken--;
		count_message(gate, ticket, -1);
		if (gate->is_port)
			drop_if_idle(&gate->users, ticket->user);
	}
	WRITE_ONCE(ticket->state, NOTHING);
	grant_places(gate);
}

/* Take a place with a ticket that has none. False: it waits. Without memory, it need not wait. */
static bool take_or_wait(struct rca_gate *gate, struct rca_ticket *ticket, unsigned int how)
{
	bool waits = !(how & RCA_TICKET_NOWAIT) && (gate->waiting || window_is_full(gate));

	ticket->silent = how & RCA_TICKET_SILENT;
	ticket->first = how & RCA_TICKET_FIRST;
	if (gate->is_port || waits) {
		ticket->user = find_or_add_party(&gate->users, ticket->id->obj.ctx->account.user);
		if (!ticket->user)
			return true;
	}
	if (gate->is_port) {
		struct rca_turns *contexts = &ticket->user->contexts[ticket->silent];

		waits = !may_take(gate, ticket) ||
			(!ticket->first && !list_empty(&contexts->order));
	}
	if (!waits) {
		take_place(gate, ticket, TAKEN);
		return true;
	}
	if (!enqueue(gate, ticket))
		return true;
	if (!gate->is_port)
		timer_reduce(&window_of(gate)->timer, jiffies + WINDOW_TIMEOUT / 2);
	return false;
}

/**
 * rca_gate_take() - take a place of a gate
 * @gate: the gate
 * @ticket: the ticket of the message, with @id set; it has nothing of another gate
 * @how: RCA_TICKET_SILENT, RCA_TICKET_FIRST, RCA_TICKET_NOWAIT
 *
 * A ticket that has a place gives it back before, and waits behind the others.
 *
 * Context: Process context. Expects the op mutex of the id to be held by the caller.
 * Return: true if the message may be sent. False if it waits: the work of its id is queued when it
 * has a place, and must call this function again.
 */
bool rca_gate_take(struct rca_gate *gate, struct rca_ticket *ticket, unsigned int how)
{
	bool sends = true;

	WRITE_ONCE(ticket->gate, gate);
	spin_lock_irq(&gate->lock);
	if (ticket->state == GRANTED) {
		WRITE_ONCE(ticket->state, TAKEN);
		ticket->since = jiffies;
	} else if (ticket->state == WAITS) {
		sends = false;
	} else {
		forget_if_timed_out(gate);
		if (ticket->state == TAKEN || gate->waiting)
			give_place(gate, ticket);
		sends = take_or_wait(gate, ticket, how);
	}
	spin_unlock_irq(&gate->lock);
	return sends;
}

/**
 * rca_gate_give() - give back the place of a ticket, or end its wait
 * @ticket: the ticket
 * @answered: because the peer has answered
 *
 * Does nothing if there is neither.
 *
 * Context: Any context. The caller keeps the gate, or is an RCU reader.
 */
void rca_gate_give(struct rca_ticket *ticket, bool answered)
{
	/* Pairs with rca_window_release(). */
	struct rca_gate *gate = READ_ONCE(ticket->gate);
	unsigned long flags;

	if (!gate || READ_ONCE(ticket->state) == NOTHING)
		return;
	spin_lock_irqsave(&gate->lock, flags);
	/* Unless a concurrent call has ended it already; the window may then be unreferenced. */
	if (ticket->state != NOTHING) {
		if (answered) {
			WRITE_ONCE(gate->answers, true);
			WRITE_ONCE(gate->answered, jiffies);
		}
		forget_if_timed_out(gate);
		give_place(gate, ticket);
	}
	spin_unlock_irqrestore(&gate->lock, flags);
}

static long hold_left(const struct rca_ticket *ticket)
{
	long hold = msecs_to_jiffies(rca_place_hold_ms) << ticket->returns;

	if (READ_ONCE(ticket->state) != TAKEN)
		return LONG_MAX;
	return max_t(long, ticket->since + hold - jiffies, 0);
}

/**
 * rca_gate_hold() - when to call rca_gate_yield() for a message
 * @ticket: its ticket at a port
 *
 * Context: Process context. No place is being taken with @ticket.
 * Return: jiffies from now; LONG_MAX if it has no place.
 */
long rca_gate_hold(const struct rca_ticket *ticket)
{
	return hold_left(ticket) ?: HZ / 2;
}

/**
 * rca_gate_yield() - give back the place of a message if it has had it for long and others need it
 * @ticket: its ticket at a port
 * @peer: the gate that knows the answers of its peer; NULL: none does
 *
 * A message that is withdrawn keeps its next place for longer.
 *
 * Context: Process context. No place is being taken with @ticket.
 * Return: true if the message has to be withdrawn.
 */
bool rca_gate_yield(struct rca_ticket *ticket, const struct rca_gate *peer)
{
	struct rca_gate *gate = ticket->gate;
	const struct rca_party *user;
	bool alive, others, wanted = false;

	if (hold_left(ticket))
		return false;
	alive = peer && time_after_eq(READ_ONCE(peer->answered), ticket->since);
	spin_lock_irq(&gate->lock);
	if (ticket->state == TAKEN) {
		user = ticket->user;
		others = gate->waiting > user->waiting || gate->taken > rca_places;
		wanted = (user->waiting && !alive) ||
			 (others && (user->taken[false] + user->taken[true]) * gate->users.count >
				    rca_places);
	}
	if (wanted) {
		ticket->returns = min(ticket->returns + 1, MOST_RETURNS);
		give_place(gate, ticket);
	}
	spin_unlock_irq(&gate->lock);
	return wanted;
}

/*
 * The table of send windows: finds the window of an id by its port and the address of its peer.
 * A window is made for the first id that sends to the address, and freed with the last reference.
 *
 * Locking: windows_lock, in process context, is taken to add and to remove a window; windows are
 * found under RCU. The reference count of a window in the table becomes zero only under this lock,
 * which put_window() releases after it has removed the window. Callbacks of an id may run late and
 * look at its window under RCU, so it is freed after a grace period.
 */

/* Of the key only the address has many values. */
static u32 hash_key(const void *data, u32 len, u32 seed)
{
	const struct rca_window_key *key = data;

	return jhash2((const u32 *)&key->gid, sizeof(key->gid) / sizeof(u32),
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
static DEFINE_SPINLOCK(windows_lock);

/* Module init. */
int rca_windows_init(void)
{
	return rhashtable_init(&windows, &windows_params);
}

/* Module exit, when there are no ids any more. */
void rca_windows_exit(void)
{
	rhashtable_destroy(&windows);
}

/* No answer may come in time: see whether the messages that the ids wait for can be forgotten. */
static void window_timer(struct timer_list *timer)
{
	struct rca_window *window = timer_container_of(window, timer, timer);
	struct rca_gate *gate = &window->gate;
	unsigned long flags;

	spin_lock_irqsave(&gate->lock, flags);
	forget_if_timed_out(gate);
	grant_places(gate);
	if (gate->waiting)
		mod_timer(timer, jiffies + WINDOW_TIMEOUT / 2);
	spin_unlock_irqrestore(&gate->lock, flags);
}

/* Returns the window for the messages of an id, with a reference; NULL without memory. */
static struct rca_window *get_window(const struct rca_id *id)
{
	struct rca_window_key key = {
		.dev = id->dev,
		.port_num = id->port_num,
		.scope_id = id->dst.sa.sa_family == AF_INET6 ? id->dst.in6.sin6_scope_id : 0,
	};
	struct rca_window *window, *new;
	struct mem_cgroup *old_memcg;

	if (id->link.ib)
		memcpy(&key.gid, id->link.dgid, sizeof(key.gid));
	else
		rdma_ip2gid((struct sockaddr *)&id->dst.sa, &key.gid);
	rcu_read_lock();
	window = rhashtable_lookup(&windows, &key, windows_params);
	if (window && !refcount_inc_not_zero(&window->ref))
		window = NULL;
	rcu_read_unlock();
	if (window)
		return window;
	/* The work of an id has no memory cgroup of its own. */
	old_memcg = set_active_memcg(id->obj.ctx->memcg);
	new = kzalloc(sizeof(*new), GFP_KERNEL_ACCOUNT);
	set_active_memcg(old_memcg);
	if (!new)
		return NULL;
	rca_gate_init(&new->gate, false);
	refcount_set(&new->ref, 1);	/* put in rca_window_release() */
	new->key = key;
	timer_setup(&new->timer, window_timer, 0);
	spin_lock(&windows_lock);
	window = rhashtable_lookup_get_insert_fast(&windows, &new->node, windows_params);
	if (!IS_ERR_OR_NULL(window))
		refcount_inc(&window->ref);
	spin_unlock(&windows_lock);
	if (!window)
		return new;
	kfree(new);
	return IS_ERR(window) ? NULL : window;
}

/* Drops a reference on a window; no id waits in it if this is the last one. Process context. */
static void put_window(struct rca_window *window)
{
	if (!refcount_dec_and_lock(&window->ref, &windows_lock))
		return;
	__acquire(&windows_lock);	/* sparse does not know that it is taken */
	rhashtable_remove_fast(&windows, &window->node, windows_params);
	spin_unlock(&windows_lock);
	WARN_ON_ONCE(!RB_EMPTY_ROOT(&window->gate.users.tree));
	timer_delete_sync(&window->timer);
	kfree_rcu(window, rcu);
}

/**
 * rca_place_begin() - take a place of the port of an id for a request
 * @id: the id, on a device, with a setup
 * @how: see rca_gate_take()
 *
 * Context: Process context.
 * Return: false if the id waits: its work is queued when it gets a place, and must call this
 * function again.
 */
bool rca_place_begin(struct rca_id *id, unsigned int how)
{
	struct rca_device_places *places = rca_places_of(id);

	lockdep_assert_held(&id->op);
	return !places ||
	       rca_gate_take(&places->ports[id->port_num].cm, &id->setup->place, how);
}

/**
 * rca_window_begin() - may a message to the peer of an id be sent?
 * @id: the id, on a device
 *
 * A place of the port, if these are limited, and one of the send window are taken for it. Where the
 * port is limited, a request does not wait for the window; disconnects do not wait for a place of
 * the port, because they end soon, whether or not they are answered. Pacing is best-effort: an id
 * without a setup, or without memory to wait, may send at once. A trunk has a window of its own.
 *
 * Context: Process context. May sleep.
 * Return: true if the message may be sent. False if the id waits: its work is queued when it gets a
 * place, and must call this function again.
 */
bool rca_window_begin(struct rca_id *id)
{
	struct rca_setup *setup = id->setup;
	struct rca_window *window;
	unsigned int how = 0;
	struct rca_gate *gate;

	lockdep_assert_held(&id->op);
	if (!setup || id->tp->reliable)
		return true;
	if (!setup->slot.gate) {
		window = get_window(id);	/* put in rca_window_release() */
		if (!window)
			return true;
		/* The messages of other users do not slow down those of this one. */
		setup->slot.hash = hash_ptr(id->obj.ctx->account.user, USERS_BITS);
		setup->slot.gate = &window->gate;
	}
	gate = setup->slot.gate;
	if (rca_places &&
	    (rca_id_state(id) == RCA_ST_REQ_SENT || rca_id_state(id) == RCA_ST_REQ_WAIT)) {
		spin_lock_irq(&gate->lock);
		forget_if_timed_out(gate);
		how = gate->answers ? 0 : RCA_TICKET_SILENT;
		spin_unlock_irq(&gate->lock);
		if (!rca_window_unanswered(id))
			how |= RCA_TICKET_FIRST;
		if (!rca_place_begin(id, how))
			return false;
		how = RCA_TICKET_NOWAIT;
	}
	return rca_gate_take(gate, &setup->slot, how);
}

/**
 * rca_window_granted() - was a place of the send window granted to a waiting id?
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
	const struct rca_ticket *slot = id->setup ? &id->setup->slot : NULL;

	return slot && slot->gate ? READ_ONCE(window_of(slot->gate)->unanswered[slot->hash]) : 0;
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
	const struct rca_gate *gate = id->setup ? id->setup->slot.gate : NULL;

	return gate && rca_places_of(id) && !READ_ONCE(gate->answers);
}

/**
 * rca_window_end() - give back the places of an id, or end its wait for them
 * @id: the id
 * @answered: because its peer has answered; else its message was withdrawn or has timed out
 *
 * Does nothing if the id has none.
 *
 * Context: Any context: with @id->op held, or in a callback of the lower cm_id of @id.
 */
void rca_window_end(struct rca_id *id, bool answered)
{
	struct rca_setup *setup;

	rcu_read_lock();
	setup = READ_ONCE(id->setup);
	if (setup) {
		if (rca_places)
			rca_gate_give(&setup->place, false);
		rca_gate_give(&setup->slot, answered);
	}
	rcu_read_unlock();
}

/**
 * rca_window_release() - give back the places of an id and its reference on the window
 * @id: the id
 *
 * A later rca_window_begin() looks the window up again.
 *
 * Context: Process context. Expects @id->op to be held by the caller, or @id to be unpublished.
 */
void rca_window_release(struct rca_id *id)
{
	struct rca_gate *gate = id->setup ? id->setup->slot.gate : NULL;

	rca_window_end(id, false);
	if (!gate)
		return;
	WRITE_ONCE(id->setup->slot.gate, NULL);	/* pairs with rca_gate_give() */
	put_window(window_of(gate));
}
