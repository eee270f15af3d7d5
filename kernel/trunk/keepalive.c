// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * Keepalive of trunks: whether and when a trunk needs a link, whether its peer is alive, the state
 * of the port of this host, and the number of trunks with a link.
 *
 * With peer_death_ms, each peer with connections is pinged four times in that time, and its session
 * is lost after that time without a frame. Without the parameter, a peer is pinged only when a port
 * has come up: an RC QP that cannot reach its peer fails.
 *
 * While a port is down, no peer is pinged, and no exchange of CM messages is begun: soft-RoCE takes
 * a MAD that cannot leave for an error of the port's QP1, which then never works again. A RoCE port
 * is up if the net device of the GID is: only some drivers report that to the RDMA core.
 *
 * Locking: rca_trunk.lock. From the work of a trunk, but for the parameters.
 */
#include "trunk/trunk.h"

#include <linux/jiffies.h>
#include <linux/kernel.h>
#include <linux/list.h>
#include <linux/minmax.h>
#include <linux/module.h>
#include <linux/netdevice.h>
#include <linux/rcupdate.h>
#include <linux/string.h>
#include <rdma/ib_cache.h>

#include "lib/testing.h"
#include "transport/transport.h"

/* Time between two attempts to open a link: doubled after each, up to the last value. */
#define FIRST_BACKOFF	(1UL * HZ)
#define LAST_BACKOFF	(32UL * HZ)

/* Upper bound of trunk_idle_s; keeps seconds * HZ from overflowing. */
#define MOST_IDLE_S	3600U

static int set_trunk_idle_s(const char *val, const struct kernel_param *param)
{
	int ret = param_set_uint(val, param);

	if (!ret)
		rca_trunks_for_parameter(rca_trunk_look);
	return ret;
}

static const struct kernel_param_ops idle_ops = {
	.set = set_trunk_idle_s,
	.get = param_get_uint,
};

static unsigned int trunk_idle_s = 60;
module_param_cb(trunk_idle_s, &idle_ops, &trunk_idle_s, 0644);
MODULE_PARM_DESC(trunk_idle_s, "seconds without a message after which a trunk is closed, 3600 at most");

/* Range of peer_death_ms, besides 0. */
#define LEAST_MS	500U
#define MOST_MS		3600000U

/* Module parameter. Unit tests change it. */
RCA_VISIBLE_IF_KUNIT unsigned int rca_peer_death_ms;

/* Start the keepalive of a peer, whose earlier silence does not count. Under RCU. */
static void start_keepalive(struct rca_trunk *trunk)
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
	rca_trunks_for_parameter(start_keepalive);
	return 0;
}

static const struct kernel_param_ops peer_death_ops = {
	.set = set_peer_death_ms,
	.get = param_get_uint,
};

module_param_cb(peer_death_ms, &peer_death_ops, &rca_peer_death_ms, 0644);
MODULE_PARM_DESC(peer_death_ms, "milliseconds of silence after which the connections over a trunk end, 500 at least; 0: never");

/* Silence after which a session is lost, in jiffies; 0: no keepalive. Any context. */
static unsigned long death_time(void)
{
	return msecs_to_jiffies(READ_ONCE(rca_peer_death_ms));
}

/* Is the peer pinged? Only a session with connections has a keepalive. */
bool rca_watch_is_on(const struct rca_trunk *trunk)
{
	lockdep_assert_held(&trunk->lock);
	return death_time() && trunk->session && trunk->users;
}

bool rca_watch_needs_link(const struct rca_trunk *trunk)
{
	lockdep_assert_held(&trunk->lock);
	return trunk->wanted || trunk->unclear || rca_trunk_has_to_send(trunk);
}

/* Time without a frame after which a link ends, in jiffies. Any context. */
static unsigned long idle_time(void)
{
	return min(READ_ONCE(trunk_idle_s), MOST_IDLE_S) * HZ;
}

/* May the link of a trunk end when it is idle? The keepalive needs its link. */
static bool link_may_idle(const struct rca_trunk *trunk)
{
	return trunk->link && trunk->link->ready && !rca_watch_is_on(trunk);
}

/* Must the link of a trunk end because it is idle? Not before the port can send its DREQ. */
bool rca_watch_is_idle(struct rca_trunk *trunk)
{
	bool idle;

	spin_lock(&trunk->lock);
	idle = link_may_idle(trunk) && !trunk->port_down && !trunk->link->under_way &&
	       list_empty(&trunk->waiting) &&
	       time_after_eq(jiffies, trunk->link->used_at + idle_time());
	spin_unlock(&trunk->lock);
	return idle;
}

/*
 * Idle time of the link of a trunk, in jiffies; 0: it has none, needs it, or is ending it. With
 * trunk->lock held.
 */
RCA_VISIBLE_IF_KUNIT unsigned long rca_watch_idle_for(const struct rca_trunk *trunk)
{
	const struct rca_trunk_link *link = trunk->link;

	if (!link_may_idle(trunk) || !trunk->up || rca_link_is_ending(link) || link->under_way ||
	    rca_watch_needs_link(trunk))
		return 0;
	return jiffies - link->used_at;
}

/*
 * Is the session lost because the peer was silent for too long? With an open link, the peer must
 * also have left RCA_WATCH_PROBES PINGs unanswered, so a host that was stopped for a while does not
 * take its own silence for that of the peer. While the port is down, PINGs are counted without
 * being sent.
 */
bool rca_watch_is_silent(const struct rca_trunk *trunk)
{
	return rca_watch_is_on(trunk) &&
	       time_after_eq(jiffies, trunk->heard_at + death_time()) &&
	       (!trunk->up || trunk->probes >= RCA_WATCH_PROBES);
}

/* Does the port still have the GID and the partition of a trunk? */
static bool port_has_gid_and_pkey(const struct rca_trunk *trunk)
{
	const struct rca_peer_key *key = &trunk->key.peer;
	struct ib_device *ibdev = trunk->dev->ibdev;
	union ib_gid gid;
	u16 index;

	return !rdma_query_gid(ibdev, key->port_num, key->gid_index, &gid) &&
	       !memcmp(&gid, &key->sgid, sizeof(gid)) &&
	       !ib_find_cached_pkey(ibdev, key->port_num, key->pkey, &index);
}

/* A removed GID has no net device, and counts as up: nothing is sent with it. */
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

/* Can the port of a trunk send now? Any context. */
bool rca_watch_port_is_up(const struct rca_trunk *trunk)
{
	struct ib_device *ibdev = trunk->dev->ibdev;
	u32 port = trunk->key.peer.port_num;
	enum ib_port_state state;

	if (rdma_protocol_roce(ibdev, port))
		return netdev_is_up(trunk->sgid_attr);
	return !ib_get_cached_port_state(ibdev, port, &state) && state == IB_PORT_ACTIVE;
}

/* Returns whether the state of the port has changed, so that the peer has to be pinged. */
static bool take_port_change(struct rca_trunk *trunk)
{
	bool state_changed;

	spin_lock(&trunk->lock);
	state_changed = trunk->state_changed;
	trunk->port_changed = false;
	trunk->state_changed = false;
	spin_unlock(&trunk->lock);
	return state_changed;
}

/*
 * Check the port of a trunk if it has changed or is down, or if a link may be opened. If its GID or
 * its partition is gone, the link of the trunk ends. From the work of @trunk.
 */
void rca_watch_port(struct rca_trunk *trunk)
{
	bool has, ask, down;

	if (trunk->link && !trunk->unusable && !trunk->port_down &&
	    !READ_ONCE(trunk->port_changed))
		return;
	ask = take_port_change(trunk);
	has = port_has_gid_and_pkey(trunk);
	down = !rca_watch_port_is_up(trunk);
	spin_lock(&trunk->lock);
	trunk->unusable = !has || (trunk->former && !trunk->hello.service_id);
	trunk->port_down = down;
	if (!has && trunk->link) {
		rca_trunk_because(trunk, "its GID or partition is gone");
		rca_link_tell(trunk->link, RCA_LINK_END);
	} else if (ask && trunk->up && !down) {
		rca_trunk_probe(trunk);
	}
	spin_unlock(&trunk->lock);
}

/* Ping the peer of a trunk if its keepalive is due. From the work of @trunk. */
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

static unsigned long link_backoff(unsigned int tries)
{
	return tries ? min(FIRST_BACKOFF << min(tries - 1, 16U), LAST_BACKOFF) : 0;
}

/* Time of the next attempt to open a link, in jiffies. */
unsigned long rca_watch_next_try(const struct rca_trunk *trunk)
{
	lockdep_assert_held(&trunk->lock);
	if (rca_trunk_is_barred(trunk))
		return trunk->barred_until;
	return trunk->tried_at + link_backoff(trunk->tries);
}

static unsigned long earlier_time(unsigned long a, unsigned long b)
{
	return time_before(a, b) ? a : b;
}

/* Time of the next run of the work of a trunk with a link, in jiffies. */
static unsigned long link_time(const struct rca_trunk *trunk)
{
	const struct rca_trunk_link *link = trunk->link;
	unsigned long idle_at = link->used_at + idle_time();
	unsigned long death = death_time();

	if (!death)
		return idle_at;
	/* A first connection may start the keepalive meanwhile. */
	if (!rca_watch_is_on(trunk))
		return earlier_time(idle_at, jiffies + death / RCA_WATCH_PROBES);
	if (!trunk->up)
		return trunk->heard_at + death;
	return trunk->probed_at + death / RCA_WATCH_PROBES;
}

/* Time of the next run of the work of a trunk without a link, in jiffies. */
static unsigned long retry_time(const struct rca_trunk *trunk)
{
	unsigned long at = rca_watch_next_try(trunk);

	/* The work also runs when the trunk gets its place. */
	if (READ_ONCE(trunk->has_place) == RCA_PLACE_WAITS)
		return trunk->heard_at + death_time();
	if (!rca_watch_is_on(trunk))
		return at;
	return trunk->unusable ? trunk->heard_at + death_time() :
				 earlier_time(at, trunk->heard_at + death_time());
}

/* Must the work of a trunk run again without an event? */
static bool trunk_is_timed(const struct rca_trunk *trunk)
{
	if (trunk->link)
		return trunk->link->ready || rca_watch_is_on(trunk);
	if (READ_ONCE(trunk->has_place) == RCA_PLACE_WAITS)
		return rca_watch_is_on(trunk);
	return rca_watch_is_on(trunk) ||
	       ((trunk->tries || rca_trunk_is_barred(trunk)) && !trunk->unusable &&
		rca_watch_needs_link(trunk));
}

/* Time of the next poll of a port that is down: some drivers never report PORT_ACTIVE. */
static unsigned long port_time(void)
{
	unsigned long death = death_time();

	return jiffies + (death ? min(death / RCA_WATCH_PROBES, RCA_WATCH_PORT) : RCA_WATCH_PORT);
}

/*
 * Time until the work of a trunk must run again without an event, in jiffies; 0: it need not. From
 * that work.
 */
unsigned long rca_watch_delay(struct rca_trunk *trunk)
{
	unsigned long at = 0;
	bool timed;

	spin_lock(&trunk->lock);
	timed = trunk->port_down || trunk_is_timed(trunk);
	if (trunk->port_down)
		at = port_time();
	else if (timed)
		at = trunk->link ? link_time(trunk) : retry_time(trunk);
	spin_unlock(&trunk->lock);
	if (!timed)
		return 0;
	return time_after(at, jiffies) ? at - jiffies : 1;
}

/*
 * Which trunks have a link.
 *
 * A trunk has a place while it has a link, and there are trunk_max places. A trunk that needs a
 * link when no place is free ends the link that was idle longest, and waits for its place. A trunk
 * with connections comes first: before those without that wait, and in place of one without whose
 * link is not open yet.
 *
 * Locking: places_lock, under which the locks of trunks may be taken.
 */

/* Range of trunk_max. A link takes about 22 KiB, and on soft-RoCE twice as much. */
#define LEAST_PLACES	1U
#define MOST_PLACES	4096U

/* A link that was idle for a shorter time does not end for another one. */
#define LEAST_IDLE	(1UL * HZ)

/* Module parameter. Unit tests change it. */
RCA_VISIBLE_IF_KUNIT unsigned int rca_trunk_max = 512;

static DEFINE_SPINLOCK(places_lock);
static LIST_HEAD(placed);	/* trunks that have a place (lock: places_lock) */
static LIST_HEAD(waiting);	/* trunks that wait for one (lock: places_lock) */
static LIST_HEAD(used);		/* likewise, with connections (lock: places_lock) */
static unsigned int places;	/* length of placed (lock: places_lock) */
static unsigned int waiters;	/* length of waiting and used (lock: places_lock) */

static int set_trunk_max(const char *val, const struct kernel_param *param)
{
	unsigned int max;
	int ret = kstrtouint(val, 0, &max);

	if (ret)
		return ret;
	if (max < LEAST_PLACES || max > MOST_PLACES) {
		pr_warn("trunk_max: %u is not from %u to %u\n", max, LEAST_PLACES, MOST_PLACES);
		return -EINVAL;
	}
	WRITE_ONCE(rca_trunk_max, max);
	return 0;
}

static const struct kernel_param_ops trunk_max_ops = {
	.set = set_trunk_max,
	.get = param_get_uint,
};

module_param_cb(trunk_max, &trunk_max_ops, &rca_trunk_max, 0644);
MODULE_PARM_DESC(trunk_max, "how many trunks may be open on a host, 1 to 4096, about 30 KiB each");

/* Is the link of a trunk ending, so that its place will be free? */
static bool link_is_leaving(const struct rca_trunk *trunk)
{
	const struct rca_trunk_link *link = trunk->link;

	lockdep_assert_held(&trunk->lock);
	return link && (link->closed || rca_link_is_ending(link));
}

/* Is a link being opened that no connection waits for? */
static bool link_is_unused(const struct rca_trunk *trunk)
{
	lockdep_assert_held(&trunk->lock);
	return trunk->link && !trunk->up && !trunk->users && !link_is_leaving(trunk);
}

/*
 * For how long could the link of a trunk have ended for another one, in jiffies? @for_users: for
 * one with connections.
 */
static unsigned long spare_for(const struct rca_trunk *trunk, bool for_users)
{
	return for_users && link_is_unused(trunk) ? ULONG_MAX : rca_watch_idle_for(trunk);
}

/*
 * Returns the trunk whose link may end for another one, best one first: not open and without
 * connections, or idle for LEAST_IDLE and longest; NULL: there is none. @leaving: set to the number
 * of links that are ending.
 */
static struct rca_trunk *find_spare(bool for_users, unsigned int *leaving)
{
	struct rca_trunk *trunk, *oldest = NULL;
	unsigned long time, longest = LEAST_IDLE - 1;

	lockdep_assert_held(&places_lock);
	*leaving = 0;
	list_for_each_entry(trunk, &placed, place) {
		spin_lock(&trunk->lock);
		*leaving += link_is_leaving(trunk);
		time = spare_for(trunk, for_users);
		spin_unlock(&trunk->lock);
		if (time > longest) {
			longest = time;
			oldest = trunk;
		}
	}
	return oldest;
}

/* End the link of a trunk, unless it was used meanwhile. Returns whether it ends. */
static bool end_spare(struct rca_trunk *trunk, bool for_users)
{
	bool ends;

	spin_lock(&trunk->lock);
	ends = spare_for(trunk, for_users) >= LEAST_IDLE;
	if (ends) {
		rca_trunk_because(trunk, "another trunk needs its place");
		trunk->link->idle = trunk->up;
		rca_link_tell(trunk->link, RCA_LINK_END);
	}
	spin_unlock(&trunk->lock);
	return ends;
}

/*
 * Will there be a place for another trunk? If each ending link has a waiting trunk already, end
 * another one.
 */
static bool make_place(bool for_users)
{
	struct rca_trunk *oldest;
	unsigned int leaving;

	do {
		oldest = find_spare(for_users, &leaving);
		if (leaving > waiters)
			return true;
	} while (oldest && !end_spare(oldest, for_users));
	return oldest;
}

/* Put a trunk into a list: of those with a place, or of those that wait for one. */
static void enter_place_list(struct rca_trunk *trunk, enum rca_place has_place,
			     struct list_head *list)
{
	lockdep_assert_held(&places_lock);
	WRITE_ONCE(trunk->has_place, has_place);
	list_move_tail(&trunk->place, list);
}

static bool trunk_has_users(struct rca_trunk *trunk)
{
	bool has;

	spin_lock(&trunk->lock);
	has = trunk->users;
	spin_unlock(&trunk->lock);
	return has;
}

/*
 * Get a place for a trunk, which has no link. RCA_PLACE_WAITS: its work runs when it has the place
 * of a link that is ending. RCA_PLACE_NONE: no other link may end now. After trunk_max was lowered,
 * no trunk waits before the surplus links have ended. From the work of @trunk.
 */
enum rca_place rca_link_take_place(struct rca_trunk *trunk)
{
	unsigned int max = READ_ONCE(rca_trunk_max);
	bool for_users = trunk_has_users(trunk);
	enum rca_place has_place;

	spin_lock(&places_lock);
	if (!trunk->has_place && places < max) {
		places++;
		enter_place_list(trunk, RCA_PLACE_TAKEN, &placed);
	} else if (!trunk->has_place && make_place(for_users) && places == max) {
		waiters++;
		enter_place_list(trunk, RCA_PLACE_WAITS, for_users ? &used : &waiting);
	}
	has_place = trunk->has_place;
	spin_unlock(&places_lock);
	return has_place;
}

/*
 * Give a free place to the trunk that has waited longest, with connections if one has. A waiting
 * trunk is not dropped.
 */
static void pass_place_on(void)
{
	struct rca_trunk *next = list_first_entry_or_null(list_empty(&used) ? &waiting : &used,
							  struct rca_trunk, place);

	lockdep_assert_held(&places_lock);
	if (!next) {
		places--;
		return;
	}
	waiters--;
	enter_place_list(next, RCA_PLACE_TAKEN, &placed);
	rca_trunk_run(next);
}

/* Give up the place of a trunk without a link, or stop waiting for one. From the work of @trunk. */
void rca_link_leave_place(struct rca_trunk *trunk)
{
	spin_lock(&places_lock);
	if (trunk->has_place == RCA_PLACE_TAKEN)
		pass_place_on();
	else if (trunk->has_place == RCA_PLACE_WAITS)
		waiters--;
	WRITE_ONCE(trunk->has_place, RCA_PLACE_NONE);
	list_del_init(&trunk->place);
	spin_unlock(&places_lock);
}
