// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * Answers of the subnet administrator (SA) to path queries.
 *
 * Without the cache every id sends a query, and a large job spends its start waiting for the SA. An
 * answer is used for the same query only: same user, port, GIDs, partition, service ID and quality
 * of service. An answer from the cache is faster than a query, so the answers of other users are
 * not used: the time would reveal where they connect to. An answer is dropped
 *
 * - when it is older than the namespace of the id permits (net.rdma_cm_alt.path_cache_s; 0: the SA
 *   is always asked);
 * - when an event says that the fabric of the device has changed: LID, SM, partitions, GIDs, the
 *   state of a port, or a request of the SM to register again. Each event begins a new epoch of the
 *   device (&rca_device.path_epoch), and an answer counts only in the epoch of its question. On
 *   InfiniBand ib_core reports no changes of GIDs, but the source GID is part of the question;
 * - when a peer does not answer over it, or rejects: see rca_path_cache_doubt() and
 *   rca_path_cache_forget();
 * - when there are more than MAX_PATHS: those that were not used lately go first.
 *
 * Refusals and timeouts are not kept: the next id sends a query.
 *
 * The memory is not charged to a cgroup, because the ids of a user share the answers, and those of
 * all users the space; MAX_PATHS bounds it.
 *
 * Locking: rca_paths.lock to add and to remove; answers are found under RCU and are immutable, but
 * for marks that are single words. Process context.
 */
#include "cm/cm.h"

#include <linux/build_bug.h>
#include <linux/jiffies.h>
#include <linux/rhashtable.h>
#include <linux/slab.h>
#include <linux/stddef.h>
#include <linux/string.h>

#include "lib/lru.h"
#include "lib/testing.h"

/* Paths that are kept, 256 bytes each. */
#define MAX_PATHS	16384

/* Time after which a doubted path is asked for again. */
#define DOUBT	(5 * HZ)

/**
 * struct cached_path - an answer
 * @lru: entry in rca_paths
 * @key: the question (immutable)
 * @path: the answer (immutable)
 * @epoch: epoch of the device when the SA was asked (immutable)
 * @version: number of the answer; not 0 (immutable)
 * @made: time of the answer, in jiffies (immutable)
 * @doubted: a peer did not answer over the path, and an id asks the SA again (lock: that of
 *           rca_paths; also read without)
 * @doubted_at: when, in jiffies (lock: that of rca_paths)
 */
struct cached_path {
	struct rca_lru_entry lru;
	struct rca_path_key key;
	struct sa_path_rec path;
	u32 epoch;
	u32 version;
	unsigned long made;
	unsigned long doubted_at;
	bool doubted;
};

static_assert(!offsetof(struct cached_path, lru));
static_assert(offsetof(struct cached_path, key) == sizeof(struct rca_lru_entry));

/* Unit tests clear it. */
RCA_VISIBLE_IF_KUNIT struct rca_lru rca_paths;
static u32 last_version;	/* (lock: rca_paths.lock) */

/* Module init. Returns 0 or a negative errno. */
int __init rca_path_cache_init(void)
{
	return rca_lru_init(&rca_paths, sizeof(struct rca_path_key));
}

/* Module exit, when no id and no query exists any more. */
void rca_path_cache_exit(void)
{
	rca_lru_exit(&rca_paths);
}

/* Make the key of a query of a user for a port of a device, padding included. */
void rca_path_key(struct rca_path_key *key, u32 user, u32 device, u32 port_num,
		  const struct sa_path_rec *question, ib_sa_comp_mask mask)
{
	memset(key, 0, sizeof(*key));
	key->sgid = question->sgid;
	key->dgid = question->dgid;
	key->service_id = question->service_id;
	key->mask = (__force u64)mask;
	key->device = device;
	key->port_num = port_num;
	key->user = user;
	key->pkey = question->pkey;
	key->qos_class = question->qos_class;
	key->traffic_class = question->traffic_class;
}

static bool is_fresh(const struct cached_path *cached, u32 epoch, u32 max_age_s)
{
	unsigned long age_s = (jiffies - cached->made) / HZ;

	return cached->epoch == epoch && age_s < max_age_s && !READ_ONCE(cached->doubted);
}

/*
 * Look for the answer to a query in the current epoch of the device. Returns its version, or 0 if
 * there is none, as with a @max_age_s of 0.
 */
u32 rca_path_cache_find(const struct rca_path_key *key, u32 epoch, u32 max_age_s,
			struct sa_path_rec *path)
{
	struct cached_path *cached;
	u32 version = 0;

	if (!max_age_s)
		return 0;
	rcu_read_lock();
	cached = rca_lru_find(&rca_paths, key);
	if (cached && is_fresh(cached, epoch, max_age_s)) {
		*path = cached->path;
		version = cached->version;
		rca_lru_use(&cached->lru);
	}
	rcu_read_unlock();
	return version;
}

/* Keep the answer to a query that was sent in @epoch. Without memory it is not kept. Sleeps. */
void rca_path_cache_add(const struct rca_path_key *key, u32 epoch, const struct sa_path_rec *path)
{
	struct cached_path *cached, *old;

	/* The answers of many ids are not charged to one of them. */
	cached = kzalloc(sizeof(*cached), GFP_KERNEL);
	if (!cached)
		return;
	cached->key = *key;
	cached->path = *path;
	cached->epoch = epoch;
	cached->made = jiffies;
	spin_lock(&rca_paths.lock);
	old = rca_lru_find(&rca_paths, key);
	if (old)
		rca_lru_remove(&rca_paths, &old->lru);
	last_version += 1 + (last_version == U32_MAX);
	cached->version = last_version;
	if (rca_lru_add(&rca_paths, &cached->lru, MAX_PATHS))
		kfree(cached);
	spin_unlock(&rca_paths.lock);
}

/*
 * A peer does not answer over a cached path. One of the ids that use the path has to ask the SA
 * again, and to add the answer. No other id gets the path meanwhile. If there is no answer after
 * DOUBT, as the id may be gone, another one asks. If there is a newer path, @version and @path are
 * set to it.
 */
enum rca_path_doubt rca_path_cache_doubt(const struct rca_path_key *key, u32 epoch, u32 *version,
					 struct sa_path_rec *path)
{
	enum rca_path_doubt doubt = RCA_PATH_ASK;
	struct cached_path *cached;

	spin_lock(&rca_paths.lock);
	cached = rca_lru_find(&rca_paths, key);
	if (!cached || cached->epoch != epoch)
		goto out_unlock;
	if (cached->version != *version) {
		*version = cached->version;
		*path = cached->path;
		doubt = RCA_PATH_NEWER;
	} else if (cached->doubted && time_before(jiffies, cached->doubted_at + DOUBT)) {
		doubt = RCA_PATH_ASKED;
	} else {
		WRITE_ONCE(cached->doubted, true);	/* pairs with is_fresh() */
		cached->doubted_at = jiffies;
	}
out_unlock:
	spin_unlock(&rca_paths.lock);
	return doubt;
}

/*
 * Drop a path over which an id has not connected, and which it gives up; a newer version is kept.
 * Unlike rca_path_cache_doubt(), the id asks nobody, so the next one has to.
 */
void rca_path_cache_forget(const struct rca_path_key *key, u32 version)
{
	struct cached_path *cached;

	spin_lock(&rca_paths.lock);
	cached = rca_lru_find(&rca_paths, key);
	if (cached && cached->version == version)
		rca_lru_remove(&rca_paths, &cached->lru);
	spin_unlock(&rca_paths.lock);
}

/* Start a walk; rhashtable_walk_exit() ends it. Process context. */
void rca_path_cache_walk(struct rhashtable_iter *iter)
{
	rhashtable_walk_enter(&rca_paths.table, iter);
}

/**
 * rca_path_cache_next() - the next path of a walk
 * @iter: from rca_path_cache_walk()
 * @info: filled in
 *
 * Paths that are added or removed meanwhile may be left out, or come twice.
 *
 * Context: Process context.
 * Return: false at the end.
 */
bool rca_path_cache_next(struct rhashtable_iter *iter, struct rca_path_info *info)
{
	struct cached_path *cached;

	rhashtable_walk_start(iter);
	cached = rca_lru_next(iter);
	if (cached) {
		info->key = cached->key;
		info->path = cached->path;
		info->epoch = cached->epoch;
		info->age_s = (jiffies - cached->made) / HZ;
	}
	rhashtable_walk_stop(iter);
	return cached;
}
