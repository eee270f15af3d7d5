/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* A hash table with an upper bound: the entries that were not used lately make room. */
#ifndef RCA_LRU_H
#define RCA_LRU_H

#include <linux/rhashtable.h>
#include <linux/spinlock.h>

/**
 * struct rca_lru_entry - the first member of an object in a table; its key comes next
 * @node: in the table (lock: &rca_lru.lock)
 * @order: in &rca_lru.order (lock: &rca_lru.lock)
 * @rcu: frees the object after readers, when it is in no list any more
 * @used: found since the last search for one to remove
 */
struct rca_lru_entry {
	struct rhash_head node;
	union {
		struct list_head order;
		struct rcu_head rcu;
	};
	bool used;
};

/**
 * struct rca_lru - a table
 * @lock: taken by the user to add, change and remove objects
 * @table: the objects, which are found under RCU
 * @order: oldest first (lock: @lock)
 * @count: how many there are (lock: @lock)
 */
struct rca_lru {
	spinlock_t lock;
	struct rhashtable table;
	struct list_head order;
	unsigned int count;
};

/* The object is in use. Under RCU. */
static inline void rca_lru_use(struct rca_lru_entry *entry)
{
	if (!READ_ONCE(entry->used))	/* pairs with make_room() */
		WRITE_ONCE(entry->used, true);
}

int rca_lru_init(struct rca_lru *lru, size_t key_len);
void rca_lru_exit(struct rca_lru *lru);
void *rca_lru_find(struct rca_lru *lru, const void *key);
int rca_lru_add(struct rca_lru *lru, struct rca_lru_entry *entry, unsigned int most);
void rca_lru_remove(struct rca_lru *lru, struct rca_lru_entry *entry);
void *rca_lru_next(struct rhashtable_iter *iter);

#endif /* RCA_LRU_H */
