// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * The table of trunks. It has each trunk with users, or with a link that is open or being opened.
 * The description of a trunk for operators.
 *
 * Locking: trunks_lock to add and to remove; trunks are found under RCU. It is never held with
 * rca_trunk.lock. Process context.
 */
#include "trunk/trunk.h"

#include <linux/atomic.h>
#include <linux/jhash.h>
#include <linux/module.h>
#include <linux/slab.h>
#include <linux/string.h>
#include <linux/wait_bit.h>
#include <rdma/ib_cache.h>

#include "lib/trace.h"
#include "transport/transport.h"

static u32 hash_trunk_key(const void *data, u32 len, u32 seed)
{
	const struct rca_trunk_key *key = data;

	return jhash2((const u32 *)&key->peer.dgid, sizeof(key->peer.dgid) / sizeof(u32),
		      seed ^ key->peer.gid_index ^ key->peer.pkey);
}

static const struct rhashtable_params trunks_params = {
	.hashfn = hash_trunk_key,
	.key_len = sizeof(struct rca_trunk_key),
	.key_offset = offsetof(struct rca_trunk, key),
	.head_offset = offsetof(struct rca_trunk, node),
	.automatic_shrinking = true,
};

static struct rhashtable trunks;
static DEFINE_SPINLOCK(trunks_lock);

/* Trunks that are not freed yet: module exit waits for them. */
static atomic_t in_memory;
static work_func_t trunk_work;	/* the work of each trunk */
static work_func_t trunk_timer;	/* the work of its timer */
static struct workqueue_struct *trunk_wq;
static bool ready;		/* the table exists (lock: that of the module's parameters) */

/* A parameter can be written before the module is initialised, and until it is gone. */
static void set_table_ready(bool is_ready)
{
	kernel_param_lock(THIS_MODULE);
	ready = is_ready;
	kernel_param_unlock(THIS_MODULE);
}

/* Module init. @work is the work of each trunk, @timer that of its timer. Returns 0 or an errno. */
int __init rca_trunk_table_init(work_func_t work, work_func_t timer)
{
	int ret;

	trunk_work = work;
	trunk_timer = timer;
	trunk_wq = alloc_workqueue("rdma_cm_alt_trunk", WQ_UNBOUND, 0);
	if (!trunk_wq)
		return -ENOMEM;
	ret = rhashtable_init(&trunks, &trunks_params);
	if (ret)
		destroy_workqueue(trunk_wq);
	set_table_ready(!ret);
	return ret;
}

/* Module exit: wait until all trunks are freed, which have to be closed already. */
void rca_trunk_table_wait(void)
{
	wait_var_event(&in_memory, !atomic_read(&in_memory));	/* pairs with rca_trunk_put() */
}

/* Module exit, or after a failed init, when there is no trunk. */
void rca_trunk_table_exit(void)
{
	set_table_ready(false);
	destroy_workqueue(trunk_wq);
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
	INIT_DELAYED_WORK(&trunk->work, trunk_work);
	xa_init(&trunk->conns);
	INIT_LIST_HEAD(&trunk->place);
	INIT_LIST_HEAD(&trunk->waiting);
	timerqueue_init_head(&trunk->timers);
	INIT_DELAYED_WORK(&trunk->timer, trunk_timer);
	trunk->key = *key;
	trunk->dev = rca_device_get(dev);	/* put in rca_trunk_put() */
	rdma_hold_gid_attr(sgid_attr);		/* put in rca_trunk_put() */
	trunk->sgid_attr = sgid_attr;
	atomic_inc(&in_memory);		/* until rca_trunk_put() */
	return trunk;
}

/* Returns @made, or the trunk that exists already, with a reference; NULL: no memory. */
static struct rca_trunk *insert_trunk(struct rca_trunk *made)
{
	struct rca_trunk *trunk;

	lockdep_assert_held(&trunks_lock);
	trunk = rhashtable_lookup_fast(&trunks, &made->key, trunks_params);
	if (trunk) {
		refcount_inc(&trunk->ref);
		return trunk;
	}
	if (rhashtable_insert_fast(&trunks, &made->node, trunks_params))
		return NULL;
	refcount_inc(&made->ref);	/* of the table: put in rca_trunk_drop() */
	return made;
}

/*
 * Find or make a trunk. Returns it with a reference, or NULL without memory. Its work has to run
 * afterwards, which drops a trunk that gets no link. Does not sleep; callbacks call it, too. The
 * caller prevents the removal of @dev.
 */
struct rca_trunk *rca_trunk_make(struct rca_device *dev, const struct rca_trunk_key *key,
				 const struct ib_gid_attr *sgid_attr)
{
	struct rca_trunk *made = new_trunk(dev, key, sgid_attr), *trunk;

	if (!made)
		return NULL;
	spin_lock(&trunks_lock);
	trunk = insert_trunk(made);
	spin_unlock(&trunks_lock);
	if (trunk != made)
		rca_trunk_put(made);
	return trunk;
}

/* Returns the trunk with a reference, or NULL. Does not sleep. */
struct rca_trunk *rca_trunk_find(const struct rca_trunk_key *key)
{
	struct rca_trunk *trunk;

	rcu_read_lock();
	trunk = rhashtable_lookup(&trunks, key, trunks_params);
	if (trunk && !refcount_inc_not_zero(&trunk->ref))
		trunk = NULL;
	rcu_read_unlock();
	return trunk;
}

/* Must no link be opened now, because of bad frames? */
bool rca_trunk_is_barred(const struct rca_trunk *trunk)
{
	lockdep_assert_held(&trunk->lock);
	return time_before64(get_jiffies_64(), trunk->barred_until);
}

/* Can a connection be requested? A connection does not wait for a link that failed. */
static bool trunk_is_open(const struct rca_trunk *trunk)
{
	lockdep_assert_held(&trunk->lock);
	return trunk->up || (trunk->session && !trunk->former && trunk->users && !trunk->link &&
			     !trunk->tries && !trunk->unusable && !trunk->port_down &&
			     !rca_trunk_is_barred(trunk));
}

/*
 * Returns the trunk with a reference; NULL: there is none, or it is not open. A session whose link
 * was closed because it was idle is open, too.
 */
struct rca_trunk *rca_trunk_find_open(const struct rca_peer_key *key)
{
	const struct rca_trunk_key trunk_key = { .peer = *key };
	struct rca_trunk *trunk = rca_trunk_find(&trunk_key);
	bool open;

	if (!trunk)
		return NULL;
	spin_lock(&trunk->lock);
	open = trunk_is_open(trunk);
	spin_unlock(&trunk->lock);
	if (open)
		return trunk;
	rca_trunk_put(trunk);	/* got in rca_trunk_find() */
	return NULL;
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
	if (atomic_dec_and_test(&in_memory))
		wake_up_var(&in_memory);
}

/*
 * Queue the work of a trunk. Any context. The caller holds a reference, or trunk->lock of a trunk
 * that is not gone.
 */
void rca_trunk_run(struct rca_trunk *trunk)
{
	refcount_inc(&trunk->ref);	/* put by the work */
	if (mod_delayed_work(trunk_wq, &trunk->work, 0))
		rca_trunk_put(trunk);	/* it was queued already */
}

/* Queue the work of a trunk in @delay jiffies, unless it is queued already. From that work. */
void rca_trunk_run_later(struct rca_trunk *trunk, unsigned long delay)
{
	refcount_inc(&trunk->ref);	/* put by the work */
	if (!queue_delayed_work(trunk_wq, &trunk->work, delay))
		rca_trunk_put(trunk);
}

/*
 * Queue another work of a trunk, or change its delay. Returns true if it was queued already. Any
 * context.
 */
bool rca_trunk_queue(struct delayed_work *work, unsigned long delay)
{
	return mod_delayed_work(trunk_wq, work, delay);
}

/* The session of a trunk needs a link. Nothing happens if it has one, or without a session. */
void rca_open_again(struct rca_trunk *trunk)
{
	lockdep_assert_held(&trunk->lock);
	if (!trunk->session || trunk->gone || trunk->wanted)
		return;
	trunk->wanted = true;
	rca_trunk_run(trunk);
}

/*
 * A connection of a trunk has ended. Without users and a link the trunk leaves the table. The
 * caller holds a reference on it.
 */
void rca_trunk_unuse(struct rca_trunk *trunk)
{
	lockdep_assert_held(&trunk->lock);
	if (!--trunk->users && !trunk->link)
		rca_trunk_run(trunk);
}

/* Time in which a trunk without users tells the peer of ends that the last link may have lost. */
#define TELL_TIME	(60UL * HZ)

/* Does a trunk need another link for ends of connections that are forgotten here? */
bool rca_trunk_has_to_tell(const struct rca_trunk *trunk)
{
	lockdep_assert_held(&trunk->lock);
	return trunk->end_lost && !trunk->unusable &&
	       time_before(jiffies, trunk->end_lost_at + TELL_TIME);
}

/*
 * Drop a trunk that has no link, waits for none, and has neither users nor an end to tell. From its
 * work. Returns true if it is gone.
 */
bool rca_trunk_drop(struct rca_trunk *trunk)
{
	bool gone;

	spin_lock(&trunk->lock);
	gone = !trunk->link && !trunk->next && !READ_ONCE(trunk->has_place) && !trunk->users &&
	       !rca_trunk_has_to_tell(trunk) && !trunk->gone;
	if (gone) {
		trunk->gone = true;
		trunk->session = 0;
	}
	spin_unlock(&trunk->lock);
	if (!gone)
		return false;
	spin_lock(&trunks_lock);
	rhashtable_remove_fast(&trunks, &trunk->node, trunks_params);
	spin_unlock(&trunks_lock);
	rca_trunk_put(trunk);	/* got in insert_trunk() */
	return true;
}

/*
 * Call @fn under RCU for each trunk of a port. @dev: NULL: of all devices. @port: 0: of all ports.
 * Trunks that are added meanwhile may be left out. Sleeps.
 */
void rca_trunks_of_port(const struct rca_device *dev, u32 port,
			void (*fn)(struct rca_trunk *trunk))
{
	struct rhashtable_iter iter;
	struct rca_trunk *trunk;

	rhashtable_walk_enter(&trunks, &iter);
	rhashtable_walk_start(&iter);
	while ((trunk = rhashtable_walk_next(&iter))) {
		/* -EAGAIN: the table is being resized. */
		if (!IS_ERR(trunk) && (!dev || trunk->dev == dev) &&
		    (!port || trunk->key.peer.port_num == port))
			fn(trunk);
	}
	rhashtable_walk_stop(&iter);
	rhashtable_walk_exit(&iter);
}

/* Queue the work of a trunk, unless it is gone. Under RCU. */
void rca_trunk_look(struct rca_trunk *trunk)
{
	spin_lock(&trunk->lock);
	if (!trunk->gone)
		rca_trunk_run(trunk);
	spin_unlock(&trunk->lock);
}

/*
 * Call @fn under RCU for each trunk. The caller writes a parameter of the module, with the lock of
 * the parameters.
 */
void rca_trunks_for_parameter(void (*fn)(struct rca_trunk *trunk))
{
	if (ready)
		rca_trunks_of_port(NULL, 0, fn);
}

static bool describe_trunk(struct rca_trunk_peer *peer, bool passive)
{
	const struct rca_trunk_key key = { .peer = peer->key, .passive = passive };
	struct rca_trunk *trunk;

	rcu_read_lock();
	trunk = rhashtable_lookup(&trunks, &key, trunks_params);
	if (trunk) {
		spin_lock(&trunk->lock);
		peer->state = trunk->up ? "open" : trunk->link || trunk->next ? "opening" : "idle";
		peer->sent = trunk->sent;
		peer->received = trunk->received;
		spin_unlock(&trunk->lock);
	}
	rcu_read_unlock();
	return trunk;
}

/* Describe the trunk to a peer, if there is one: the active end of one from a port to itself. */
void rca_trunk_describe(struct rca_trunk_peer *peer)
{
	if (!describe_trunk(peer, false))
		describe_trunk(peer, true);
}

/* Does the request of the peer count, if it crosses that of this host? */
bool rca_trunk_peer_wins(const struct rca_peer_key *key, const struct rca_hello *hello)
{
	u8 own[RCA_BOOT_ID_LEN];

	rca_peers_boot_id(own);
	return (memcmp(hello->boot_id, own, sizeof(own)) ?:
		memcmp(&key->dgid, &key->sgid, sizeof(key->dgid))) > 0;
}

/* Is the peer this port itself? The two ends of such a trunk are two trunks. */
bool rca_trunk_is_own(const struct rca_peer_key *key, const struct rca_hello *hello)
{
	u8 own[RCA_BOOT_ID_LEN];

	rca_peers_boot_id(own);
	return rca_hello_is_of(hello, own) &&
	       !memcmp(&key->dgid, &key->sgid, sizeof(key->dgid));
}

/*
 * Does a trunk need a link for connections that wait? What was sent and not answered needs none: if
 * the link has failed, another one is wanted anyway, see rca_link_end().
 */
bool rca_trunk_has_to_send(const struct rca_trunk *trunk)
{
	lockdep_assert_held(&trunk->lock);
	return trunk->session && !list_empty(&trunk->waiting);
}

/*
 * Diagnostics of trunks: counters of the port, and tracepoints.
 *
 * The reason why a link or a session ends is stored where that is decided, which may be a callback,
 * and traced at the end. Of several reasons the first one counts. The reason is cleared when the
 * next link begins.
 *
 * Locking: none of its own.
 */

/* Reason of a link or a session that ended without a stored one. */
#define NO_REASON "failed"

void rca_trunk_count_one(const struct rca_trunk *trunk, enum rca_trunk_stat stat)
{
	rca_stats_trunk(trunk->dev, trunk->key.peer.port_num, stat);
}

static void trace_trunk_event(const struct rca_trunk *trunk, u32 session, const char *what,
			      const char *why)
{
	const struct rca_peer_key *peer = &trunk->key.peer;

	trace_rca_trunk(peer->sgid.raw, peer->dgid.raw, peer->pkey, session, what, why);
}

/*
 * Trace a frame that is being posted (@sent) or was received. Called only while the tracepoint
 * rca_frame is on. Any context.
 */
void rca_trunk_trace_frame(const struct rca_trunk_link *link, bool sent, const void *data, u32 len)
{
	const struct rca_peer_key *peer = &link->trunk->key.peer;

	trace_rca_frame(rca_link_ibdev(link)->name, peer->port_num, peer->sgid.raw,
			peer->dgid.raw, peer->pkey, link->qp->qp_num, link->peer_qpn, sent, data,
			len, link->trunk->sgid_attr->gid_type,
			READ_ONCE(link->trunk->session));
}

/*
 * Store why the link or the session of a trunk has to end: a constant, ignored if there is a reason
 * already. Any context.
 */
void rca_trunk_because(struct rca_trunk *trunk, const char *why)
{
	cmpxchg(&trunk->why, NULL, why);
}

/* A link begins. From the work of the trunk. */
void rca_trunk_opening(struct rca_trunk *trunk)
{
	WRITE_ONCE(trunk->why, NULL);
	trace_trunk_event(trunk, trunk->session, "opening",
			  trunk->link->active ? "this host asks" : "the peer asks");
}

/* The peer has sent a frame on a new link. Likewise. */
void rca_trunk_opened(struct rca_trunk *trunk)
{
	rca_trunk_count_one(trunk, RCA_STAT_OPENED);
	trace_trunk_event(trunk, trunk->session, "open", "the peer has sent a frame");
}

/*
 * The link of a trunk has ended. @failed: it was not open, and no other one follows at once. @lost:
 * the session ends, too: rca_trunk_lost() follows. From the work of @trunk.
 */
void rca_trunk_closed(struct rca_trunk *trunk, bool failed, bool lost)
{
	if (failed)
		rca_trunk_count_one(trunk, RCA_STAT_FAILED);
	trace_trunk_event(trunk, trunk->session, "closed", READ_ONCE(trunk->why) ?: NO_REASON);
	if (!lost)
		WRITE_ONCE(trunk->why, NULL);
}

/*
 * A trunk has no session any more. @session: number of the former one, or 0. @had_users: that had
 * connections; without any it has ended, but was not lost. From the work of @trunk.
 */
void rca_trunk_lost(struct rca_trunk *trunk, u32 session, bool had_users)
{
	if (had_users) {
		rca_trunk_count_one(trunk, RCA_STAT_LOST);
		trace_trunk_event(trunk, session, "lost", READ_ONCE(trunk->why) ?: NO_REASON);
	}
	WRITE_ONCE(trunk->why, NULL);
}
