// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * What operators see of a trunk: counters of its port, and tracepoints.
 *
 * The reason why a link or a session ends is noted where that is decided, which may be a callback,
 * and told when it has ended. If there are several, the first one counts. It is forgotten when the
 * next link begins.
 *
 * Locking: none of its own.
 */
#include "trunk/trunk.h"


#include "lib/trace.h"
#include "transport/devices.h"
#include "trunk/link.h"

/* What is told of a link or a session that ended for a reason which nobody noted. */
#define NO_REASON "failed"

/* Counts something for the port of a trunk. Any context. */
void rca_trunk_count_one(const struct rca_trunk *trunk, enum rca_trunk_stat stat)
{
	rca_stats_trunk(rca_device_stats(trunk->dev, trunk->key.peer.port_num), stat);
}

static void trace(const struct rca_trunk *trunk, u32 session, const char *what, const char *why)
{
	const struct rca_peer_key *peer = &trunk->key.peer;

	trace_rca_trunk(peer->sgid.raw, peer->dgid.raw, peer->pkey, session, what, why);
}

/**
 * rca_trunk_trace_frame() - report a frame to recorders
 * @link: its link, with a QP
 * @sent: it is being posted; false: it was received
 * @data: the frame
 * @len: its length in bytes
 *
 * Call it only while the tracepoint rca_frame is on.
 *
 * Context: Any context.
 */
void rca_trunk_trace_frame(const struct rca_trunk_link *link, bool sent, const void *data, u32 len)
{
	const struct rca_peer_key *peer = &link->trunk->key.peer;

	trace_rca_frame(link->trunk->dev->ibdev->name, peer->port_num, peer->sgid.raw,
			peer->dgid.raw, peer->pkey, link->qp->qp_num, link->peer_qpn, sent, data,
			len, link->trunk->sgid_attr->gid_type,
			READ_ONCE(link->trunk->session.number));
}

/**
 * rca_trunk_because() - note why the link or the session of a trunk has to end
 * @trunk: the trunk
 * @why: the reason, a constant; ignored if there is one already
 *
 * Context: Any context.
 */
void rca_trunk_because(struct rca_trunk *trunk, const char *why)
{
	cmpxchg(&trunk->why, NULL, why);
}

/* A link begins. From the work of the trunk. */
void rca_trunk_opening(struct rca_trunk *trunk)
{
	WRITE_ONCE(trunk->why, NULL);
	trace(trunk, trunk->session.number, "opening",
	      trunk->link->active ? "this host asks" : "the peer asks");
}

/* The peer has sent a frame on a new link. Likewise. */
void rca_trunk_opened(struct rca_trunk *trunk)
{
	rca_trunk_count_one(trunk, RCA_STAT_OPENED);
	trace(trunk, trunk->session.number, "open", "the peer has sent a frame");
}

/**
 * rca_trunk_closed() - the link of a trunk has ended
 * @trunk: the trunk
 * @failed: the link was not open, and no other one follows at once
 * @lost: the session ends, too: rca_trunk_lost() follows
 *
 * Context: Process context. From the work of @trunk.
 */
void rca_trunk_closed(struct rca_trunk *trunk, bool failed, bool lost)
{
	if (failed)
		rca_trunk_count_one(trunk, RCA_STAT_FAILED);
	trace(trunk, trunk->session.number, "closed", READ_ONCE(trunk->why) ?: NO_REASON);
	if (!lost)
		WRITE_ONCE(trunk->why, NULL);
}

/**
 * rca_trunk_lost() - a trunk has no session any more
 * @trunk: the trunk
 * @session: number of the session that it had, or 0
 * @had_users: it had connections; only then the session was lost, else it has ended
 *
 * Context: Process context. From the work of @trunk.
 */
void rca_trunk_lost(struct rca_trunk *trunk, u32 session, bool had_users)
{
	if (had_users) {
		rca_trunk_count_one(trunk, RCA_STAT_LOST);
		trace(trunk, session, "lost", READ_ONCE(trunk->why) ?: NO_REASON);
	}
	WRITE_ONCE(trunk->why, NULL);
}
