// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * Whether a trunk needs a link, and when, whether its peer is there, and what it needs of the port
 * of this host.
 *
 * With peer_death_ms, peers to which there are connections are asked for a frame four times in that
 * time, and the sessions of those that are silent for so long are lost. Without it, a peer is only
 * asked when a port has come up: an RC QP that cannot reach it fails.
 *
 * While a port is down, the peer is not asked, and no CM message is begun: soft-RoCE takes one that
 * cannot leave for an error of the port's QP 1, which then never works again. A RoCE port is up if
 * the network device of the GID is: the core hears of that from some drivers only.
 *
 * Locking: rca_trunk.lock. From the work of a trunk, but for the parameter.
 */
#include "trunk/trunk.h"

#include <linux/jiffies.h>
#include <linux/kernel.h>
#include <linux/minmax.h>
#include <linux/module.h>
#include <linux/netdevice.h>
#include <linux/rcupdate.h>
#include <linux/string.h>
#include <rdma/ib_cache.h>

#include "lib/testing.h"
#include "transport/transport.h"

/* A session whose link cannot be opened again for so long is lost. */
#define REOPEN_TIME	(30UL * HZ)

/* Times between two attempts: doubled each time. */
#define FIRST_BACKOFF	(1UL * HZ)
#define LAST_BACKOFF	(8UL * HZ)

/* An hour is as good as for ever, and no overflow. */
#define MOST_IDLE_S	3600U

static int set_idle(const char *val, const struct kernel_param *param)
{
	int ret = param_set_uint(val, param);

	if (!ret)
		rca_trunks_for_parameter(rca_trunk_look);
	return ret;
}

static const struct kernel_param_ops idle_ops = {
	.set = set_idle,
	.get = param_get_uint,
};

static unsigned int trunk_idle_s = 60;
module_param_cb(trunk_idle_s, &idle_ops, &trunk_idle_s, 0644);
MODULE_PARM_DESC(trunk_idle_s, "seconds without a message after which a trunk is closed, 3600 at most");

/* Limits of peer_death_ms, but for 0. */
#define LEAST_MS	500U
#define MOST_MS		3600000U

/* Module parameter. Unit tests change it. */
RCA_VISIBLE_IF_KUNIT unsigned int rca_peer_death_ms;

/* The silence before is not that of a peer that was watched. Expects to be called under RCU. */
static void watch_peer(struct rca_trunk *trunk)
{
	spin_lock(&trunk->lock);
	if (!trunk->gone) {
		trunk->heard_at = jiffies;
		trunk->probes = 0;
		rca_trunk_run(trunk);
	}
	spin_unlock(&trunk->lock);
}

static int set_peer_death_ms(const char *val, const struct kernel_param *param)
{
	unsigned int ms;
	int ret = kstrtouint(val, 0, &ms);

	if (ret)
		return ret;
	if (ms && (ms < LEAST_MS || ms > MOST_MS)) {
		pr_warn("peer_death_ms: %u is not 0, and not from %u to %u\n", ms, LEAST_MS,
			MOST_MS);
		return -EINVAL;
	}
	WRITE_ONCE(rca_peer_death_ms, ms);
	rca_trunks_for_parameter(watch_peer);
	return 0;
}

static const struct kernel_param_ops peer_death_ops = {
	.set = set_peer_death_ms,
	.get = param_get_uint,
};

module_param_cb(peer_death_ms, &peer_death_ops, &rca_peer_death_ms, 0644);
MODULE_PARM_DESC(peer_death_ms, "milliseconds of silence after which the connections over a trunk end, 500 at least; 0: never");

/* Silence after which a session is lost, in jiffies; 0: peers are not watched. Any context. */
static unsigned long death_time(void)
{
	return msecs_to_jiffies(READ_ONCE(rca_peer_death_ms));
}

/* Is the peer of a trunk watched? Expects @trunk->lock to be held. */
bool rca_watch_is_on(const struct rca_trunk *trunk)
{
	lockdep_assert_held(&trunk->lock);
	return death_time() && trunk->session.number && trunk->users;
}

/* Is there something to send? Likewise. */
bool rca_watch_needs_link(const struct rca_trunk *trunk)
{
	lockdep_assert_held(&trunk->lock);
	return trunk->wanted || rca_trunk_has_to_send(trunk);
}

/* Time without a message after which a link ends, in jiffies. Any context. */
static unsigned long idle_time(void)
{
	return min(READ_ONCE(trunk_idle_s), MOST_IDLE_S) * HZ;
}

/* May the link of a trunk end because it is idle? Links to peers that are watched stay. */
static bool may_idle(const struct rca_trunk *trunk)
{
	return trunk->link && trunk->link->ready && !rca_watch_is_on(trunk);
}

/* Has the link of a trunk to end because it is idle? Its peer has to hear that. */
bool rca_watch_is_idle(struct rca_trunk *trunk)
{
	bool idle;

	spin_lock(&trunk->lock);
	idle = may_idle(trunk) && !trunk->port_down &&
	       time_after_eq(jiffies, trunk->link->used_at + idle_time());
	spin_unlock(&trunk->lock);
	return idle;
}

/**
 * rca_watch_idle_for() - for how long was the link of a trunk idle?
 * @trunk: the trunk
 *
 * Context: Process context. Expects @trunk->lock to be held by the caller.
 * Return: the time in jiffies; 0: it has no link, the link is needed, or it ends already.
 */
unsigned long rca_watch_idle_for(const struct rca_trunk *trunk)
{
	const struct rca_trunk_link *link = trunk->link;

	if (!may_idle(trunk) || !trunk->up || rca_link_is_ending(link) || link->under_way ||
	    rca_watch_needs_link(trunk))
		return 0;
	return jiffies - link->used_at;
}

/**
 * rca_watch_is_silent() - has nothing come from a peer that is watched?
 * @trunk: the trunk
 *
 * A peer that can be asked was asked without an answer, so a host that was stopped for a while does
 * not take its own silence for that of the peer. While its port is down it cannot be asked, which
 * counts as often.
 *
 * Context: Process context. Expects @trunk->lock to be held by the caller.
 * Return: whether its session is lost.
 */
bool rca_watch_is_silent(const struct rca_trunk *trunk)
{
	return rca_watch_is_on(trunk) &&
	       time_after_eq(jiffies, trunk->heard_at + death_time()) &&
	       (!trunk->up || trunk->probes >= RCA_WATCH_PROBES);
}

/* Do the GID and the partition of a trunk exist? */
static bool port_has(const struct rca_trunk *trunk)
{
	const struct rca_peer_key *key = &trunk->key.peer;
	struct ib_device *ibdev = trunk->dev->ibdev;
	union ib_gid gid;
	u16 index;

	return !rdma_query_gid(ibdev, key->port_num, key->gid_index, &gid) &&
	       !memcmp(&gid, &key->sgid, sizeof(gid)) &&
	       !ib_find_cached_pkey(ibdev, key->port_num, key->pkey, &index);
}

/* A GID that is gone has no network device; nothing is sent with it. */
static bool netdev_is_up(const struct ib_gid_attr *attr)
{
	struct net_device *ndev;
	bool up;

	rcu_read_lock();
	ndev = rdma_read_gid_attr_ndev_rcu(attr);
	up = IS_ERR(ndev) || (netif_running(ndev) && netif_carrier_ok(ndev));
	rcu_read_unlock();
	return up;
}

/**
 * rca_watch_port_is_up() - can the port of a trunk send?
 * @trunk: the trunk
 *
 * Context: Any context.
 * Return: whether it is active now.
 */
bool rca_watch_port_is_up(const struct rca_trunk *trunk)
{
	struct ib_device *ibdev = trunk->dev->ibdev;
	u32 port = trunk->key.peer.port_num;
	enum ib_port_state state;

	if (rdma_protocol_roce(ibdev, port))
		return netdev_is_up(trunk->sgid_attr);
	return !ib_get_cached_port_state(ibdev, port, &state) && state == IB_PORT_ACTIVE;
}

/* Returns whether the peer has to be asked, because the state of the port has changed. */
static bool take_change(struct rca_trunk *trunk)
{
	bool state_changed;

	spin_lock(&trunk->lock);
	state_changed = trunk->state_changed;
	trunk->port_changed = false;
	trunk->state_changed = false;
	spin_unlock(&trunk->lock);
	return state_changed;
}

/**
 * rca_watch_port() - look at the port of a trunk, if it has changed or is down, or if a link may be
 *                    opened
 * @trunk: the trunk
 *
 * If its GID or its partition has gone, its link ends.
 *
 * Context: Process context. From the work of @trunk.
 */
void rca_watch_port(struct rca_trunk *trunk)
{
	bool has, ask, down;

	if (trunk->link && !trunk->unusable && !trunk->port_down &&
	    !READ_ONCE(trunk->port_changed))
		return;
	ask = take_change(trunk);
	has = port_has(trunk);
	down = !rca_watch_port_is_up(trunk);
	spin_lock(&trunk->lock);
	trunk->unusable = !has;
	trunk->port_down = down;
	if (!has && trunk->link) {
		rca_trunk_because(trunk, "its GID or partition is gone");
		rca_link_tell(trunk->link, RCA_LINK_END);
	} else if (ask && trunk->up && !down) {
		rca_trunk_probe(trunk);
	}
	spin_unlock(&trunk->lock);
}

/* Asks a peer that is watched for a frame, if it is time. From the work of @trunk. */
void rca_watch_peer(struct rca_trunk *trunk)
{
	spin_lock(&trunk->lock);
	if (trunk->up && rca_watch_is_on(trunk) &&
	    time_after_eq(jiffies, trunk->probed_at + death_time() / RCA_WATCH_PROBES)) {
		trunk->probed_at = jiffies;
		trunk->probes++;
		if (!trunk->port_down)
			rca_trunk_probe(trunk);
	}
	spin_unlock(&trunk->lock);
}

static unsigned long backoff(unsigned int tries)
{
	return tries ? min(FIRST_BACKOFF << min(tries - 1, 16U), LAST_BACKOFF) : 0;
}

/* Does a session that needs a link get none? Expects @trunk->lock to be held. */
bool rca_watch_is_overdue(const struct rca_trunk *trunk)
{
	lockdep_assert_held(&trunk->lock);
	if (!trunk->session.number || !rca_watch_needs_link(trunk))
		return false;
	return trunk->unusable ||
	       (trunk->tries && time_after_eq(jiffies, trunk->down_at + REOPEN_TIME));
}

/* When may a link be asked for again, in jiffies? Likewise. */
unsigned long rca_watch_next_try(const struct rca_trunk *trunk)
{
	lockdep_assert_held(&trunk->lock);
	return trunk->tried_at + backoff(trunk->tries);
}

/* The earlier of two times, in jiffies. */
static unsigned long earlier(unsigned long a, unsigned long b)
{
	return time_before(a, b) ? a : b;
}

/* When a trunk that has a link has to be looked at. */
static unsigned long link_time(const struct rca_trunk *trunk)
{
	const struct rca_trunk_link *link = trunk->link;
	unsigned long idle_at = link->used_at + idle_time();
	unsigned long death = death_time();

	if (!death)
		return idle_at;
	/* It may get users meanwhile. */
	if (!rca_watch_is_on(trunk))
		return earlier(idle_at, jiffies + death / RCA_WATCH_PROBES);
	if (!trunk->up)
		return trunk->heard_at + death;
	return trunk->probed_at + death / RCA_WATCH_PROBES;
}

/* When a trunk that has no link has to be looked at. */
static unsigned long retry_time(const struct rca_trunk *trunk)
{
	unsigned long at = rca_watch_next_try(trunk);

	/* Its work runs when it has a place. */
	if (READ_ONCE(trunk->has_place) == RCA_PLACE_WAITS)
		return trunk->heard_at + death_time();
	if (rca_watch_needs_link(trunk))
		at = earlier(at, trunk->down_at + REOPEN_TIME);
	if (!rca_watch_is_on(trunk))
		return at;
	return trunk->unusable ? trunk->heard_at + death_time() :
				 earlier(at, trunk->heard_at + death_time());
}

/* Does a trunk have to be looked at later? */
static bool is_timed(const struct rca_trunk *trunk)
{
	if (trunk->link)
		return trunk->link->ready || rca_watch_is_on(trunk);
	if (READ_ONCE(trunk->has_place) == RCA_PLACE_WAITS)
		return rca_watch_is_on(trunk);
	return rca_watch_is_on(trunk) ||
	       (trunk->tries && !trunk->unusable && rca_watch_needs_link(trunk));
}

/* When a trunk has to be looked at whose port is down: some drivers do not tell that it is up. */
static unsigned long port_time(void)
{
	unsigned long death = death_time();

	return jiffies + (death ? min(death / RCA_WATCH_PROBES, RCA_WATCH_PORT) : RCA_WATCH_PORT);
}

/**
 * rca_watch_delay() - when does the work of a trunk have to run again by itself?
 * @trunk: the trunk
 *
 * Context: Process context. From the work of @trunk.
 * Return: the time until then in jiffies; 0: it need not.
 */
unsigned long rca_watch_delay(struct rca_trunk *trunk)
{
	unsigned long at = 0;
	bool timed;

	spin_lock(&trunk->lock);
	timed = trunk->port_down || is_timed(trunk);
	if (trunk->port_down)
		at = port_time();
	else if (timed)
		at = trunk->link ? link_time(trunk) : retry_time(trunk);
	spin_unlock(&trunk->lock);
	if (!timed)
		return 0;
	return time_after(at, jiffies) ? at - jiffies : 1;
}
