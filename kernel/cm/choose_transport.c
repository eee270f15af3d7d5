// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * Which transport the request of an id uses: an open trunk to its peer, else that of the device.
 *
 * Locking: rca_id.op.
 */
#include "cm/internal.h"

#include <linux/err.h>
#include <rdma/rdma_cm_alt.h>

#include "transport/transport.h"

/* The peer of a trunk for an id that has a path and a local GID. */
static void set_peer(struct rca_id *id, struct rca_peer_key *key)
{
	const struct sa_path_rec *path = &id->setup->path;

	lockdep_assert_held(&id->op);
	rca_peer_key(key, id->dev->serial, id->port_num, id->sgid_attr, &path->dgid,
		     be16_to_cpu(path->pkey));
}

static bool is_connected(const struct rca_id *id)
{
	return id->qp_type == IB_QPT_RC || id->qp_type == IB_QPT_UC;
}

/*
 * Why a connection may not use a trunk, or RCA_NO_TRUNK_NONE: it may, but there is none. A trunk
 * does not know XRC, paths that differ by direction, and an MTU that is none. A program may not
 * want a trunk. A request that a peer has refused because it has no such listener may be for
 * another user of ib_cm there.
 */
static enum rca_no_trunk why_not(const struct rca_id *id)
{
	const struct rca_setup *setup = id->setup;

	if (id->dev->tp->over_tcp || !is_connected(id) || !id->sgid_attr || setup->path_in ||
	    setup->path_out || setup->path.mtu < IB_MTU_256 || setup->path.mtu > IB_MTU_4096)
		return RCA_NO_TRUNK_PATH;
	if (rca_id_opts(id)->trunk == RDMA_CM_ALT_TRUNK_NEVER)
		return RCA_NO_TRUNK_NEVER;
	if (setup->retry && setup->retry->elsewhere)
		return RCA_NO_TRUNK_ELSEWHERE;
	return RCA_NO_TRUNK_NONE;
}

/* Not inline, so that a key is only cleared for those that may use a trunk. */
static noinline void *create_over_trunk(struct rca_id *id, const struct rca_tp_ops **tp)
{
	struct rca_peer_key key;
	void *lower;

	id->no_trunk = why_not(id);
	if (id->no_trunk != RCA_NO_TRUNK_NONE)
		return NULL;
	set_peer(id, &key);
	lower = rca_trunks_create(&key, id, tp);
	if (lower)
		rca_stats_trunk(id->dev, id->port_num, RCA_STAT_CONNECT);
	return lower;
}

/**
 * rca_lower_why() - why the lower cm_id of an id was not made over a trunk
 * @id: the id, with a lower cm_id
 *
 * Context: Process context.
 * Return: the reason, as in RDMA_CM_ALT_NL_A_NO_TRUNK; NULL: it was.
 */
const char *rca_lower_why(const struct rca_id *id)
{
	static const char * const names[] = {
		[RCA_NO_TRUNK_OFF] = "off",
		[RCA_NO_TRUNK_ASKED] = "asked",
		[RCA_NO_TRUNK_PATH] = "path",
		[RCA_NO_TRUNK_NEVER] = "never",
		[RCA_NO_TRUNK_ELSEWHERE] = "elsewhere",
		[RCA_NO_TRUNK_NONE] = "none",
	};

	lockdep_assert_held(&id->op);
	if (id->tp != id->dev->tp)
		return NULL;
	if (id->tp->over_tcp)
		return "iwarp";
	return is_connected(id) ? names[id->no_trunk] : "qp-type";
}

/*
 * Create the lower cm_id of an id for a connection request, which is kept, unless it is over TCP.
 * -EOPNOTSUPP: no trunk is open, which the program requires; -EINVAL: likewise, and the private
 * data are too long for another transport.
 */
int rca_lower_create(struct rca_id *id)
{
	bool required = rca_id_opts(id)->trunk == RDMA_CM_ALT_TRUNK_REQUIRE;
	const struct rca_retry *retry = id->setup->retry;
	const struct rca_tp_ops *tp = id->dev->tp;
	void *lower = NULL;

	lockdep_assert_held(&id->op);
	if (rca_trunks_used())
		lower = create_over_trunk(id, &tp);
	else
		id->no_trunk = RCA_NO_TRUNK_OFF;
	id->tp = tp;
	if (!lower && (retry ? retry->trunk_only : required))
		return required ? -EOPNOTSUPP : -EINVAL;
	if (!lower)
		lower = id->tp->create(id->dev->ibdev, id);
	if (IS_ERR(lower))
		return PTR_ERR(lower);
	/* Pairs with rca_id_numbers(), which reads @tp afterwards. */
	smp_store_release(&id->lower, lower);
	return 0;
}

/*
 * Hellos of the trunk protocol, in the RTU of a connection: from its id to its peer.
 *
 * Locking: only rca_id.lock.
 */

/*
 * Make the private data of the RTU of an id, up to RCA_RTU_DATA_MAX bytes. Returns their length; 0:
 * no hello, as trunks are not used, or the RTU goes over one.
 */
u8 rca_hello_fill(struct rca_id *id, u8 *data)
{
	struct rca_peer_key key;
	u8 len;

	lockdep_assert_held(&id->op);
	if (!id->sgid_attr || !rca_trunks_used() || id->tp->reliable)
		return 0;
	/*
	 * A hello speaks for the GID of the port to the host that has the GID of the peer. The path
	 * that a program has set may lead elsewhere, or have the GID of another host as source.
	 */
	if (id->setup->path_given)
		return 0;
	set_peer(id, &key);
	len = rca_trunks_tell(id->dev, &key, data);
	if (len)
		rca_stats_trunk(id->dev, id->port_num, RCA_STAT_HELLO_SENT);
	return len;
}

/* Returns false if the id has no device or no GID any more. */
static bool get_peer(struct rca_id *id, struct rca_peer_key *key)
{
	u16 pkey = id->link.ib ? id->link.pkey : IB_DEFAULT_PKEY_FULL;
	bool found;

	spin_lock_irq(&id->lock);
	found = id->dev && id->sgid_attr;
	if (found)
		rca_peer_key(key, id->dev->serial, id->port_num, id->sgid_attr, id->link.dgid,
			     pkey);
	spin_unlock_irq(&id->lock);
	return found;
}

/* Read the private data of an RTU for an id that a connection request created. Does not sleep. */
void rca_hello_read(struct rca_id *id, const struct rca_tp_event *event)
{
	struct rca_peer_key key;

	if (!rca_trunks_used() || !get_peer(id, &key))
		return;
	if (!rca_trunks_heard(&key, event->rtu_data, event->rtu_len))
		return;
	/* The id may have lost its device meanwhile. */
	spin_lock_irq(&id->lock);
	rca_stats_trunk(id->dev, id->port_num, RCA_STAT_HELLO_RECEIVED);
	spin_unlock_irq(&id->lock);
}
