/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* Turns: a fair order for what waits: users take turns, then the contexts of a user. */
#ifndef RCA_TURNS_H
#define RCA_TURNS_H

#include <linux/list.h>
#include <linux/rbtree.h>

struct rca_ctx;
struct rca_party;

/**
 * struct rca_turns - parties that take turns: the users, or the contexts of a user
 * @tree: the parties by their owner
 * @order: the parties in the order in which they are served, through &rca_party.order
 */
struct rca_turns {
	struct rb_root tree;
	struct list_head order;
};

/**
 * struct rca_turns_spare - memory for the first entry of a user and of a context
 * @user: a party that is not in use, or NULL
 * @context: likewise
 */
struct rca_turns_spare {
	struct rca_party *user;
	struct rca_party *context;
};

void rca_turns_init(struct rca_turns *turns);
void rca_turns_prepare(struct rca_turns_spare *spare);
void rca_turns_finish(struct rca_turns_spare *spare);
bool rca_turns_add(struct rca_turns *turns, const struct rca_ctx *ctx, struct list_head *entry,
		   struct rca_turns_spare *spare);
struct list_head *rca_turns_first(const struct rca_turns *turns);
void rca_turns_serve_first(struct rca_turns *turns);
void rca_turns_remove(struct rca_turns *turns, const struct rca_ctx *ctx, struct list_head *entry);

/* Does nothing wait? May be called without the lock; the answer may then be outdated. */
static inline bool rca_turns_empty(const struct rca_turns *turns)
{
	return list_empty(&turns->order);
}

#endif /* RCA_TURNS_H */
