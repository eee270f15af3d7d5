// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * Hellos of the trunk protocol, in the RTU of a connection: from its id to its peer.
 *
 * Locking: only rca_id.lock.
 */
#include "cm/hello.h"

#include <linux/string.h>

#include "cm/lower.h"
#include "transport/devices.h"
#include "trunk/open.h"
#include "trunk/peers.h"
#include "trunk/trunk.h"

/*
 * The peer keeps a hello under the source GID of the path, to which it is to be true. A program may
 * have set a path whose source is another host.
 */
static bool is_from_here(const struct rca_id *id)
{
	return !memcmp(&id->setup->path.sgid, &id->sgid_attr->gid, sizeof(union ib_gid));
}

/**
 * rca_hello_tell() - make the private data of the RTU of an id
 * @id: the id, whose device is not over TCP
 * @data: RCA_HELLO_LEN bytes; filled in
 *
 * Context: Process context. May sleep. Expects @id->op to be held by the caller.
 * Return: length of the private data; 0: there is nothing to tell, or the RTU goes over a trunk.
 */
u8 rca_hello_tell(struct rca_id *id, u8 *data)
{
	struct rca_peer_key key;
	u8 len;

	lockdep_assert_held(&id->op);
	if (!id->sgid_attr || !rca_peers_enabled() || id->tp->reliable || !is_from_here(id))
		return 0;
	rca_trunk_listen(id->dev);
	rca_lower_peer(id, &key);
	len = rca_peers_tell(&key, id->dev, data);
	if (len)
		rca_stats_trunk(rca_device_stats(id->dev, id->port_num), RCA_STAT_HELLO_SENT);
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

/* The id may lose its device meanwhile. */
static void count_heard(struct rca_id *id)
{
	spin_lock_irq(&id->lock);
	rca_stats_trunk(rca_device_stats(id->dev, id->port_num), RCA_STAT_HELLO_RECEIVED);
	spin_unlock_irq(&id->lock);
}

/**
 * rca_hello_hear() - read the private data of an RTU
 * @id: the id that has received it, which a connection request created
 * @event: the RTU
 *
 * Context: Process context, callback of a transport. Does not sleep. Takes and releases @id->lock.
 */
void rca_hello_hear(struct rca_id *id, const struct rca_tp_event *event)
{
	struct rca_peer_key key;

	if (!rca_trunks_used() || !get_peer(id, &key))
		return;
	if (rca_peers_hear(&key, event->rtu_data, event->rtu_len))
		count_heard(id);
	rca_open_heard(&key, event->rtu_data, event->rtu_len);
}
