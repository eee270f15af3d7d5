// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * Hash tables with an upper bound. An object that was found since it was last looked at stays once
 * more, as in the clock algorithm, so finding one changes no list and takes no lock.
 *
 * Locking: rca_lru.lock to add and to remove; objects are found under RCU. Process context.
 */
#include "lib/lru.h"

#include <linux/err.h>
#include <linux/list.h>
#include <linux/slab.h>

#include "lib/compat.h"
#include "lib/testing.h"

/* Objects that are looked at under the lock: several, for the case that the bound was lowered. */
#define MOST_LOOKS	32

/**
 * rca_lru_init() - make a table
 * @lru: the table; its memory is zeroed
 * @key_len: length of the key behind the &struct rca_lru_entry of an object; keys are equal if all
 *           their bytes are
 *
 * Context: Process context. May sleep.
 * Return: 0 or a negative errno.
 */
int rca_lru_init(struct rca_lru *lru, size_t key_len)
{
	const struct rhashtable_params params = {
		.key_len = key_len,
		.key_offset = sizeof(struct rca_lru_entry),
		.head_offset = offsetof(struct rca_lru_entry, node),
		.automatic_shrinking = true,
	};

	spin_lock_init(&lru->lock);
	INIT_LIST_HEAD(&lru->order);
	return rhashtable_init(&lru->table, &params);
}
RCA_EXPORT(rca_lru_init);

/* Remove an object, which is freed after a grace period. */
void rca_lru_remove(struct rca_lru *lru, struct rca_lru_entry *entry)
{
	lockdep_assert_held(&lru->lock);
	rhashtable_remove_fast(&lru->table, &entry->node, lru->table.p);
	list_del(&entry->order);
	lru->count--;
	kfree_rcu(entry, rcu);
}
RCA_EXPORT(rca_lru_remove);

/* Remove all objects. Process context. */
RCA_VISIBLE_IF_KUNIT void rca_lru_clear(struct rca_lru *lru)
{
	struct rca_lru_entry *entry, *next;

	spin_lock(&lru->lock);
	list_for_each_entry_safe(entry, next, &lru->order, order)
		rca_lru_remove(lru, entry);
	spin_unlock(&lru->lock);
}

/* Free a table that nobody uses any more, with its objects. Process context. Sleeps. */
void rca_lru_exit(struct rca_lru *lru)
{
	rca_lru_clear(lru);
	rhashtable_destroy(&lru->table);
}
RCA_EXPORT(rca_lru_exit);

/* Returns the object with a key, or NULL. Under RCU, or with the lock held. */
void *rca_lru_find(struct rca_lru *lru, const void *key)
{
	return rhashtable_lookup_fast(&lru->table, key, lru->table.p);
}
RCA_EXPORT(rca_lru_find);

/* Remove objects until there are at most @most, first those that were not found lately. */
static void make_room(struct rca_lru *lru, unsigned int most)
{
	struct rca_lru_entry *entry;
	unsigned int looks;

	for (looks = 0; lru->count > most && looks < MOST_LOOKS; looks++) {
		entry = list_first_entry(&lru->order, struct rca_lru_entry, order);
		/* Pairs with rca_lru_use(). */
		if (!READ_ONCE(entry->used) || looks >= MOST_LOOKS / 2) {
			rca_lru_remove(lru, entry);
			continue;
		}
		WRITE_ONCE(entry->used, false);
		list_move_tail(&entry->order, &lru->order);
	}
}

/**
 * rca_lru_add() - add an object, and remove others if there are too many
 * @lru: the table, which has no object with this key
 * @entry: the first member of the object, which was allocated with kmalloc()
 * @most: how many objects the table may have; not 0
 *
 * Context: Process context.
 * Return: 0, or a negative errno: the table could not grow.
 */
int rca_lru_add(struct rca_lru *lru, struct rca_lru_entry *entry, unsigned int most)
{
	int ret;

	lockdep_assert_held(&lru->lock);
	make_room(lru, most - 1);
	ret = rhashtable_insert_fast(&lru->table, &entry->node, lru->table.p);
	if (ret)
		return ret;
	list_add_tail(&entry->order, &lru->order);
	lru->count++;
	return 0;
}
RCA_EXPORT(rca_lru_add);

/*
 * The next object of a walk, or NULL at the end; between rhashtable_walk_start() and
 * rhashtable_walk_stop(). Objects that are added or removed meanwhile may be left out, or come
 * twice.
 */
void *rca_lru_next(struct rhashtable_iter *iter)
{
	void *object;

	do
		object = rhashtable_walk_next(iter);
	while (object == ERR_PTR(-EAGAIN));	/* the table is being resized */
	return IS_ERR(object) ? NULL : object;
}
RCA_EXPORT(rca_lru_next);
