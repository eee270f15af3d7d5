// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * The table of send windows: finds the window of an id by its port and the address of its peer.
 * A window is made for the first id that sends to the address, and freed with the last reference.
 *
 * Locking: rca_windows_lock, in process context, is taken to add and to remove a window; windows
 * are found under RCU. The reference count of a window in the table becomes zero only under this
 * lock, which rca_window_free() releases after it has removed the window. Callbacks of an id may
 * run late and look at its window under RCU, so it is freed after a grace period.
 */
#include "id/window_table.h"

#include <linux/jhash.h>
#include <linux/jiffies.h>
#include <linux/rhashtable.h>
#include <linux/slab.h>

#include "id/id.h"
#include "id/port_places.h"

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
DEFINE_SPINLOCK(rca_windows_lock);

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

static struct rca_window *alloc_window(const struct rca_window_key *key, work_func_t work)
{
	struct rca_window *window = kzalloc(sizeof(*window), GFP_KERNEL_ACCOUNT);

	if (!window)
		return NULL;
	refcount_set(&window->ref, 1);
	window->key = *key;
	if (rca_places)
		window->answered = jiffies - 1;	/* before any message of its ids */
	spin_lock_init(&window->lock);
	rca_turns_init(&window->turns);
	INIT_DELAYED_WORK(&window->work, work);
	return window;
}

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

/* Adds a new window, or frees it if its key is in the table already, and returns the one there. */
static struct rca_window *add_window(struct rca_window *new)
{
	struct rca_window *window;

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

/**
 * rca_window_get() - get the window of an id, which is made if there is none yet
 * @id: the id, on a device and with the address of its peer
 * @work: function of &rca_window.work of a new window
 *
 * Context: Process context. May sleep. Memory is charged to the active memory cgroup.
 * Return: the window with a reference for rca_window_put(), or NULL without memory.
 */
struct rca_window *rca_window_get(const struct rca_id *id, work_func_t work)
{
	struct rca_window *window;
	struct rca_window_key key;

	set_key(&key, id);
	window = find_window(&key);
	if (window)
		return window;
	window = alloc_window(&key, work);
	return window ? add_window(window) : NULL;
}

/* The caller, rca_window_put(), has taken rca_windows_lock, which is released here. */
void rca_window_free(struct rca_window *window) __releases(&rca_windows_lock)
{
	rhashtable_remove_fast(&windows, &window->node, windows_params);
	spin_unlock(&rca_windows_lock);
	WARN_ON_ONCE(!rca_turns_empty(&window->turns));
	kfree_rcu(window, rcu);
}
