// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * Whether the peer of a trunk is there, and what a trunk needs of the port of this host.
 *
 * With peer_death_ms, peers are asked for a frame four times in that time, and the sessions of
 * those that are silent for so long are lost. Without it, a peer is only asked when a port has
 * changed: an RC QP that cannot reach it fails.
 *
 * Locking: rca_trunk.lock. From the work of a trunk, but for the parameter.
 */
#include "trunk/open.h"

#include <linux/jiffies.h>
#include <linux/kernel.h>
#include <linux/module.h>
#include <linux/string.h>
#include <rdma/ib_cache.h>

#include "device/devices.h"
#include "trunk/link.h"
#include "trunk/trunk.h"

/* Limits of the parameter, but for 0. */
#define LEAST_MS	500U
#define MOST_MS		3600000U

static unsigned int peer_death_ms;

/* The silence before is not that of a peer that was watched. Expects to be called under RCU. */
static void watch_peer(struct rca_trunk *trunk)
{
	spin_lock(&trunk->lock);
	if (!trunk->gone) {
		trunk->heard_at = jiffies;
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
	WRITE_ONCE(peer_death_ms, ms);
	rca_trunks_for_parameter(watch_peer);
	return 0;
}

static const struct kernel_param_ops peer_death_ops = {
	.set = set_peer_death_ms,
	.get = param_get_uint,
};

module_param_cb(peer_death_ms, &peer_death_ops, &peer_death_ms, 0644);
MODULE_PARM_DESC(peer_death_ms, "milliseconds of silence after which the connections over a trunk end, 500 at least; 0: never");

/* Silence after which a session is lost, in jiffies; 0: peers are not watched. Any context. */
unsigned long rca_watch_time(void)
{
	return msecs_to_jiffies(READ_ONCE(peer_death_ms));
}

/* Has nothing come from a peer that is watched? Expects @trunk->lock to be held. */
bool rca_watch_is_silent(const struct rca_trunk *trunk)
{
	unsigned long death = rca_watch_time();

	lockdep_assert_held(&trunk->lock);
	return death && trunk->session.number &&
	       time_after_eq(jiffies, trunk->heard_at + death);
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

/**
 * rca_watch_port() - look at the port of a trunk, if it has changed
 * @trunk: the trunk
 *
 * If its GID or its partition has gone, its link ends. Else the peer is asked whether it is there.
 *
 * Context: Process context. From the work of @trunk.
 */
void rca_watch_port(struct rca_trunk *trunk)
{
	bool has;

	if (!READ_ONCE(trunk->port_changed))
		return;
	WRITE_ONCE(trunk->port_changed, false);
	has = port_has(trunk);
	spin_lock(&trunk->lock);
	trunk->unusable = !has;
	if (!has && trunk->link) {
		rca_trunk_because(trunk, "its GID or partition is gone");
		rca_link_tell(trunk->link, RCA_LINK_END);
	} else if (trunk->up) {
		rca_trunk_probe(trunk);
	}
	spin_unlock(&trunk->lock);
}

/* Asks a peer that is watched for a frame, if it is time. From the work of @trunk. */
void rca_watch_peer(struct rca_trunk *trunk)
{
	unsigned long death = rca_watch_time();

	spin_lock(&trunk->lock);
	if (death && trunk->link && trunk->up &&
	    time_after_eq(jiffies, trunk->probed_at + death / RCA_WATCH_PROBES)) {
		trunk->probed_at = jiffies;
		rca_trunk_probe(trunk);
	}
	spin_unlock(&trunk->lock);
}

