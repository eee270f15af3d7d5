// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * The table of trunks. A trunk is in it while it has a link, open or not yet.
 *
 * Locking: trunks_lock to add and to remove; trunks are found under RCU. It is never held with
 * rca_trunk.lock. Process context.
 */
#include "trunk/trunk.h"

#include <linux/jhash.h>
#include <linux/module.h>
#include <linux/slab.h>
#include <linux/string.h>
#include <rdma/ib_cache.h>

#include "device/devices.h"
#include "trunk/link.h"

/* A trunk takes about 30 KiB, and on soft-RoCE as much again for its QP. */
#define MOST_TRUNKS	512

static u32 hash_key(const void *data, u32 len, u32 seed)
{
	const struct rca_trunk_key *key = data;

	return jhash2((const u32 *)&key->peer.dgid, sizeof(key->peer.dgid) / sizeof(u32),
		      seed ^ key->peer.gid_index ^ key->peer.pkey);
}

static const struct rhashtable_params trunks_params = {
	.hashfn = hash_key,
	.key_len = sizeof(struct rca_trunk_key),
	.key_offset = offsetof(struct rca_trunk, key),
	.head_offset = offsetof(struct rca_trunk, node),
	.automatic_shrinking = true,
};

/* Set by rca_trunks_init(). */
const struct rca_trunk_upcalls *rca_trunk_upcalls;

static struct rhashtable trunks;
static DEFINE_SPINLOCK(trunks_lock);
static unsigned int count;	/* (lock: trunks_lock) */
static bool ready;		/* the table exists (lock: that of the module's parameters) */

/* A parameter can be written before the module is initialised, and until it is gone. */
static void set_ready(bool is_ready)
{
	kernel_param_lock(THIS_MODULE);
	ready = is_ready;
	kernel_param_unlock(THIS_MODULE);
}

/* Module init. Returns 0 or a negative errno. */
int __init rca_trunks_init(const struct rca_trunk_upcalls *upcalls)
{
	int ret = rhashtable_init(&trunks, &trunks_params);

	rca_trunk_upcalls = upcalls;
	set_ready(!ret);
	return ret;
}

/* Module exit, when all devices are gone. */
void rca_trunks_exit(void)
{
	set_ready(false);
	rhashtable_destroy(&trunks);
}

static struct rca_trunk *new_trunk(struct rca_device *dev, const struct rca_trunk_key *key,
				   const struct ib_gid_attr *sgid_attr)
{
	struct rca_trunk *trunk = kzalloc(sizeof(*trunk), GFP_NOWAIT | __GFP_NOWARN);

	if (!trunk)
		return NULL;
	refcount_set(&trunk->ref, 1);	/* of the caller */
	spin_lock_init(&trunk->lock);
	xa_init(&trunk->conns);
	INIT_LIST_HEAD(&trunk->waiting);
	timerqueue_init_head(&trunk->timers);
	INIT_DELAYED_WORK(&trunk->timer, rca_trunk_upcalls->timer);
	trunk->key = *key;
	trunk->dev = rca_device_get(dev);	/* put in rca_trunk_put() */
	rdma_hold_gid_attr(sgid_attr);		/* put in rca_trunk_put() */
	trunk->sgid_attr = sgid_attr;
	return trunk;
}

/* Returns @made, or the trunk that exists already, with a reference; NULL: there are too many. */
static struct rca_trunk *insert(struct rca_trunk *made)
{
	struct rca_trunk *trunk;

	lockdep_assert_held(&trunks_lock);
	trunk = rhashtable_lookup_fast(&trunks, &made->key, trunks_params);
	if (trunk) {
		refcount_inc(&trunk->ref);
		return trunk;
	}
	if (count >= MOST_TRUNKS || rhashtable_insert_fast(&trunks, &made->node, trunks_params))
		return NULL;
	count++;
	refcount_inc(&made->ref);	/* of the table: put in drop() */
	return made;
}

/**
 * rca_trunk_make() - find a trunk, or make one
 * @dev: its device
 * @key: which one
 * @sgid_attr: its local GID
 *
 * A new one that gets no link has to be removed with rca_trunk_drop_link().
 *
 * Context: Process context, also callbacks. Does not sleep. The caller prevents the removal of
 * @dev.
 * Return: the trunk with a reference; NULL: there are too many, or there is no memory.
 */
struct rca_trunk *rca_trunk_make(struct rca_device *dev, const struct rca_trunk_key *key,
				 const struct ib_gid_attr *sgid_attr)
{
	struct rca_trunk *made = new_trunk(dev, key, sgid_attr), *trunk;

	if (!made)
		return NULL;
	spin_lock(&trunks_lock);
	trunk = insert(made);
	spin_unlock(&trunks_lock);
	if (trunk != made)
		rca_trunk_put(made);
	return trunk;
}

/**
 * rca_trunk_find_open() - find the open trunk to a peer
 * @key: the peer
 *
 * Context: Process context. Does not sleep.
 * Return: the trunk with a reference; NULL: there is none, or it is not open.
 */
struct rca_trunk *rca_trunk_find_open(const struct rca_peer_key *key)
{
	const struct rca_trunk_key trunk_key = { .peer = *key };
	struct rca_trunk *trunk;

	rcu_read_lock();
	trunk = rhashtable_lookup(&trunks, &trunk_key, trunks_params);
	if (trunk && (!READ_ONCE(trunk->up) || !refcount_inc_not_zero(&trunk->ref)))
		trunk = NULL;
	rcu_read_unlock();
	return trunk;
}

/* Any context. */
void rca_trunk_put(struct rca_trunk *trunk)
{
	if (!refcount_dec_and_test(&trunk->ref))
		return;
	xa_destroy(&trunk->conns);
	rdma_put_gid_attr(trunk->sgid_attr);
	rca_device_put(trunk->dev);
	kfree_rcu(trunk, rcu);
}

/* The trunk has no link any more, and gets none. */
static void drop(struct rca_trunk *trunk)
{
	spin_lock(&trunks_lock);
	rhashtable_remove_fast(&trunks, &trunk->node, trunks_params);
	count--;
	spin_unlock(&trunks_lock);
	rca_trunk_put(trunk);	/* got in insert() */
}

/* Has the module of the peer been loaded again since the trunk was opened? */
static bool is_stale(const struct rca_trunk *trunk, const u8 *boot_id)
{
	return trunk->up && memcmp(trunk->boot_id, boot_id, sizeof(trunk->boot_id));
}

/*
 * A peer that asks has lost the trunk if it is open, and has given up a request that this host is
 * accepting. This host asks only if there is no trunk, or the peer cannot have it any more.
 */
static bool may_have_link(const struct rca_trunk *trunk, const struct rca_trunk_link *link,
			  bool yields)
{
	if (trunk->gone || !trunk->link)
		return !trunk->gone;
	if (link->active)
		return is_stale(trunk, link->peer.hello.boot_id);
	return trunk->up || !trunk->link->active || yields;
}

/**
 * rca_trunk_set_link() - give a trunk a new link
 * @trunk: the trunk
 * @link: the link
 * @yields: a request of this host yields to it
 * @old: set to the link that it replaces, with a reference, or NULL
 *
 * Context: Process context. Does not sleep. Takes and releases @trunk->lock.
 * Return: false: @link is not used.
 */
bool rca_trunk_set_link(struct rca_trunk *trunk, struct rca_trunk_link *link, bool yields,
			struct rca_trunk_link **old)
{
	bool taken;

	*old = NULL;
	spin_lock(&trunk->lock);
	taken = may_have_link(trunk, link, yields);
	if (taken) {
		*old = trunk->link;
		if (*old)
			refcount_inc(&(*old)->ref);
		trunk->link = link;
		WRITE_ONCE(trunk->up, false);
	}
	spin_unlock(&trunk->lock);
	return taken;
}

/**
 * rca_trunk_drop_link() - a link ends
 * @trunk: its trunk
 * @link: the link; NULL: a new trunk gets none
 *
 * Context: Process context. Does not sleep. Takes and releases @trunk->lock.
 * Return: the trunk had no other link, and was not open.
 */
bool rca_trunk_drop_link(struct rca_trunk *trunk, struct rca_trunk_link *link)
{
	bool current_one, was_up;

	spin_lock(&trunk->lock);
	was_up = trunk->up;
	current_one = trunk->link == link && !trunk->gone;
	if (current_one) {
		trunk->link = NULL;
		WRITE_ONCE(trunk->up, false);
		trunk->gone = true;
	}
	spin_unlock(&trunk->lock);
	if (current_one)
		drop(trunk);
	return current_one && !was_up;
}

/**
 * rca_trunks_of_device() - call a function for each trunk of a device
 * @dev: the device; NULL: of all devices
 * @fn: the function; is called under RCU
 *
 * Trunks that are added meanwhile may be left out.
 *
 * Context: Process context. Sleeps.
 */
void rca_trunks_of_device(const struct rca_device *dev, void (*fn)(struct rca_trunk *trunk))
{
	struct rhashtable_iter iter;
	struct rca_trunk *trunk;

	rhashtable_walk_enter(&trunks, &iter);
	rhashtable_walk_start(&iter);
	while ((trunk = rhashtable_walk_next(&iter))) {
		/* -EAGAIN: the table is being resized. */
		if (!IS_ERR(trunk) && (!dev || trunk->dev == dev))
			fn(trunk);
	}
	rhashtable_walk_stop(&iter);
	rhashtable_walk_exit(&iter);
}

/**
 * rca_trunk_is_current() - is there a trunk to a peer already?
 * @key: the trunk
 * @boot_id: boot identifier in the last hello of the peer
 *
 * Context: Process context, also callbacks. Does not sleep.
 * Return: false: there is none, or the module of the peer has been loaded again since it was
 * opened, so the peer does not have it any more.
 */
bool rca_trunk_is_current(const struct rca_trunk_key *key, const u8 *boot_id)
{
	struct rca_trunk *trunk;
	bool is_current = false;

	rcu_read_lock();
	trunk = rhashtable_lookup(&trunks, key, trunks_params);
	if (trunk) {
		spin_lock(&trunk->lock);
		is_current = trunk->link && !is_stale(trunk, boot_id);
		spin_unlock(&trunk->lock);
	}
	rcu_read_unlock();
	return is_current;
}

/**
 * rca_trunks_switched_off() - call a function for each trunk, from the write of a parameter
 * @fn: the function; is called under RCU
 *
 * Context: Process context. Sleeps. Expects the lock of the module's parameters to be held.
 */
void rca_trunks_switched_off(void (*fn)(struct rca_trunk *trunk))
{
	if (ready)
		rca_trunks_of_device(NULL, fn);
}

static bool describe(const struct rca_peer_key *key, bool passive, struct rca_trunk_info *info)
{
	const struct rca_trunk_key trunk_key = { .peer = *key, .passive = passive };
	struct rca_trunk *trunk;

	rcu_read_lock();
	trunk = rhashtable_lookup(&trunks, &trunk_key, trunks_params);
	if (trunk) {
		spin_lock(&trunk->lock);
		info->up = trunk->up;
		info->sent = trunk->session.sent;
		info->received = trunk->session.received;
		spin_unlock(&trunk->lock);
	}
	rcu_read_unlock();
	return trunk;
}

/**
 * rca_trunk_describe() - describe the trunk to a peer
 * @key: the peer
 * @info: filled in; of a trunk from a port to itself, of the end that has asked
 *
 * Context: Process context. Does not sleep.
 * Return: false: there is none.
 */
bool rca_trunk_describe(const struct rca_peer_key *key, struct rca_trunk_info *info)
{
	return describe(key, false, info) || describe(key, true, info);
}
