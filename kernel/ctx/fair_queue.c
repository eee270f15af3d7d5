// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * Turns: a fair order for entries that wait for one thing. Each user has one turn after the other,
 * however many contexts and entries they have; in a turn of a user, the next one of the user's
 * contexts is served, with its oldest entry.
 *
 * A party, a user or a context, is in a tree by the address of its owner, so it is found among n
 * parties in log n steps, whatever addresses a user may cause. It exists while entries of it wait.
 *
 * Locking: the caller's, for all functions but rca_turns_prepare() and rca_turns_finish().
 */
#include "ctx/ctx.h"

#include <linux/slab.h>

/**
 * struct rca_party - a user or a context whose entries wait
 * @node: entry in &rca_turns.tree
 * @order: entry in &rca_turns.order
 * @owner: the user or the context, for comparison only (holds no reference)
 * @contexts: the contexts of a user; a context has none
 * @entries: the entries of a context, oldest first; a user has none
 */
struct rca_party {
	struct rb_node node;
	struct list_head order;
	const void *owner;
	struct rca_turns contexts;
	struct list_head entries;
};

/* Initialise an empty order. */
void rca_turns_init(struct rca_turns *turns)
{
	turns->tree = RB_ROOT;
	INIT_LIST_HEAD(&turns->order);
}

/**
 * rca_turns_prepare() - allocate memory for rca_turns_add(), if there is some
 * @spare: the memory; to be freed by rca_turns_finish()
 *
 * Context: Process context. Sleeps.
 */
void rca_turns_prepare(struct rca_turns_spare *spare)
{
	spare->user = kmalloc(sizeof(*spare->user), GFP_KERNEL_ACCOUNT);
	spare->context = kmalloc(sizeof(*spare->context), GFP_KERNEL_ACCOUNT);
}

/* Free what rca_turns_add() did not use. */
void rca_turns_finish(struct rca_turns_spare *spare)
{
	kfree(spare->user);
	kfree(spare->context);
}

/* Returns the party of @owner; if there is none, makes it of *spare, which may be NULL. */
static struct rca_party *find_or_add(struct rca_turns *turns, const void *owner,
				     struct rca_party **spare)
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
	party = *spare;
	if (!party)
		return NULL;
	*spare = NULL;
	party->owner = owner;
	rca_turns_init(&party->contexts);
	INIT_LIST_HEAD(&party->entries);
	rb_link_node(&party->node, parent, link);
	rb_insert_color(&party->node, &turns->tree);
	list_add_tail(&party->order, &turns->order);
	return party;
}

static struct rca_party *find(struct rca_turns *turns, const void *owner)
{
	struct rca_party *none = NULL;

	return find_or_add(turns, owner, &none);
}

/* Free a party for which nothing waits any more. */
static void drop_if_empty(struct rca_turns *turns, struct rca_party *party)
{
	if (!rca_turns_empty(&party->contexts) || !list_empty(&party->entries))
		return;
	rb_erase(&party->node, &turns->tree);
	list_del(&party->order);
	kfree(party);
}

/**
 * rca_turns_add() - add an entry behind the others of its context
 * @turns: the order
 * @ctx: the context
 * @entry: the entry, in no list
 * @spare: from rca_turns_prepare(), or zero; used if the user or the context has no entry yet
 *
 * Return: false if memory is needed, but not in @spare; the entry was not added.
 */
bool rca_turns_add(struct rca_turns *turns, const struct rca_ctx *ctx, struct list_head *entry,
		   struct rca_turns_spare *spare)
{
	struct rca_party *user, *context;

	user = find_or_add(turns, ctx->account.user, &spare->user);
	if (!user)
		return false;
	context = find_or_add(&user->contexts, ctx, &spare->context);
	if (!context) {
		drop_if_empty(turns, user);
		return false;
	}
	list_add_tail(entry, &context->entries);
	return true;
}

static struct rca_party *first_of(const struct rca_turns *turns)
{
	return list_first_entry(&turns->order, struct rca_party, order);
}

/* The entry whose turn it is; NULL if none waits. */
struct list_head *rca_turns_first(const struct rca_turns *turns)
{
	if (rca_turns_empty(turns))
		return NULL;
	return first_of(&first_of(turns)->contexts)->entries.next;
}

/* Remove the entry whose turn it is. Its user and its context are served last from here on. */
void rca_turns_serve_first(struct rca_turns *turns)
{
	struct rca_party *user = first_of(turns);
	struct rca_party *context = first_of(&user->contexts);

	list_del_init(context->entries.next);
	list_move_tail(&context->order, &user->contexts.order);
	list_move_tail(&user->order, &turns->order);
	drop_if_empty(&user->contexts, context);
	drop_if_empty(turns, user);
}

/* Remove an entry that waits no longer; @ctx is its context. */
void rca_turns_remove(struct rca_turns *turns, const struct rca_ctx *ctx, struct list_head *entry)
{
	struct rca_party *user = find(turns, ctx->account.user);
	struct rca_party *context = find(&user->contexts, ctx);

	list_del_init(entry);
	drop_if_empty(&user->contexts, context);
	drop_if_empty(turns, user);
}
