// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * What makes trunks open: requests of peers for a link, requests for connections, and hellos.
 *
 * These are callbacks of transports. They note what they have found in the trunk, and let its work
 * run, see open.c.
 *
 * Locking: rca_trunk.lock.
 */
#include "trunk/open.h"

#include <rdma/ib_cm.h>
#include <rdma/ib_sa.h>

#include "device/devices.h"
#include "trunk/link.h"
#include "trunk/peers.h"
#include "trunk/trunk.h"

/*
 * May a request of the peer have a link? If both ends ask at the same time, one of them yields.
 * While trunks are switched off, only connections that exist may need one.
 *
 * While a trunk is open, its peer asks for another one only if its own link has failed. It names
 * the session then. Another request is either an old one that was on its way while the trunk was
 * opened at the request of this host, or the peer has lost the session and this host has not heard
 * of it. Both are refused. In the second case the probe that is sent now finds nobody, this link
 * ends, and the request that the peer repeats after its back-off finds no open trunk.
 *
 * What remains: an old request that does name the session, from two ends that opened a link again
 * at the same time, replaces a good link by one that fails. It is opened again, and no connection
 * is lost. An old request that finds no open trunk, because the link has failed within the seconds
 * in which ib_cm repeats a request, makes this host lose the session.
 */
static bool may_accept(const struct rca_trunk *trunk, const struct rca_trunk_open *open,
		       bool yields)
{
	const struct rca_trunk_link *link = trunk->link;

	lockdep_assert_held(&trunk->lock);
	if (trunk->gone || trunk->next || (!rca_peers_enabled() && !trunk->users))
		return false;
	if (!link || link->closed || rca_link_is_ending(link) ||
	    !rca_hello_is_of(&open->hello, link->peer.hello.boot_id))
		return true;
	if (trunk->up)
		return open->session && open->session == trunk->session.number;
	return !link->active || yields;
}

static void set_path(struct sa_path_rec *to, const struct sa_path_rec *path)
{
	*to = *path;
	to->packet_life_time = RCA_LINK_TIMEOUT - 1;
}

/**
 * rca_open_accept() - a peer asks for a link
 * @dev: device that has received the request
 * @key: the trunk
 * @sgid_attr: local GID
 * @req: what the peer has told, the path to it, and whether a request of this host yields
 * @cm_id: cm_id that has received the request
 *
 * Context: Process context, callback of ib_cm. Does not sleep.
 * Return: 0: @cm_id belongs to the trunk; a negative errno: the request has to be rejected.
 */
int rca_open_accept(struct rca_device *dev, const struct rca_trunk_key *key,
		    const struct ib_gid_attr *sgid_attr, const struct rca_open_req *req,
		    struct ib_cm_id *cm_id)
{
	struct rca_trunk *trunk = rca_trunk_make(dev, key, sgid_attr);
	struct rca_trunk_link *link;
	int ret = -EBUSY;

	if (!trunk)
		return -ENOMEM;
	link = rca_link_make(trunk, false);
	spin_lock(&trunk->lock);
	if (link && may_accept(trunk, req->open, req->yields)) {
		link->peer = *req->open;
		link->cm_id = cm_id;
		cm_id->context = link;
		cm_id->cm_handler = rca_link_handler;
		set_path(&link->path, req->path);
		trunk->hello = req->open->hello;
		rca_trunk_because(trunk, "the peer asks for another link");
		if (trunk->link)
			rca_link_tell(trunk->link, RCA_LINK_END);
		trunk->next = link;
		link = NULL;
		ret = 0;
	} else if (trunk->up) {
		rca_trunk_probe(trunk);
	}
	spin_unlock(&trunk->lock);
	if (link)
		rca_link_put(link);	/* the first reference */
	rca_trunk_run(trunk);
	rca_trunk_put(trunk);	/* got in rca_trunk_make() */
	return ret;
}

/* Expects to be called under RCU. */
static void note_change(struct rca_trunk *trunk)
{
	spin_lock(&trunk->lock);
	if (!trunk->gone) {
		trunk->port_changed = true;
		rca_trunk_run(trunk);
	}
	spin_unlock(&trunk->lock);
}

/**
 * rca_open_port_changed() - the state, the GIDs or the partitions of a port may have changed
 * @dev: its device
 * @port: number of the port; 0: all ports
 *
 * Context: Process context, event handler of a device. The device is not removed meanwhile.
 */
void rca_open_port_changed(struct rca_device *dev, u32 port)
{
	if (rca_trunks_used())
		rca_trunks_of_port(dev, port, note_change);
}

/* Does a trunk need what has been found out now about its peer? */
static bool is_news(const struct rca_trunk_key *key, const struct rca_hello *hello)
{
	struct rca_trunk *trunk = rca_trunk_find(key);
	bool news = true;

	if (!trunk)
		return true;
	spin_lock(&trunk->lock);
	if (trunk->link || trunk->next || trunk->session.number)
		news = !rca_hello_is_of(&trunk->hello, hello->boot_id);
	spin_unlock(&trunk->lock);
	rca_trunk_put(trunk);	/* got in rca_trunk_find() */
	return news;
}

/**
 * rca_open_requested() - a peer requests a connection: open a trunk to it if it is worth it
 * @dev: device that has received the request
 * @req: the request
 * @sgid_attr: local GID
 *
 * The peer has told within the last seconds that it accepts trunks, so this is not its first
 * connection.
 *
 * Context: Process context, callback of a transport. Does not sleep.
 */
void rca_open_requested(struct rca_device *dev, const struct rca_tp_request *req,
			const struct ib_gid_attr *sgid_attr)
{
	struct rca_trunk_key key = {};
	struct rca_trunk *trunk;
	struct rca_hello hello;

	if (!rca_peers_enabled() || !req->path || !sgid_attr)
		return;
	rca_peer_key(&key.peer, dev->serial, req->port_num, sgid_attr, &req->path->dgid, req->pkey);
	if (!rca_peers_may_open(&key.peer, &hello) || !is_news(&key, &hello))
		return;
	trunk = rca_trunk_make(dev, &key, sgid_attr);
	if (!trunk)
		return;
	spin_lock(&trunk->lock);
	trunk->hello = hello;
	if (!trunk->link)
		set_path(&trunk->path, req->path);
	trunk->wanted = true;
	spin_unlock(&trunk->lock);
	rca_trunk_run(trunk);
	rca_trunk_put(trunk);	/* got in rca_trunk_make() */
}

/**
 * rca_open_heard() - a peer has sent the private data of an RTU
 * @key: the peer
 * @data: the private data
 * @len: its length
 *
 * If it is a hello of another load of its module, the peer has no session of an earlier one.
 *
 * Context: Process context, callback of a transport. Does not sleep.
 */
void rca_open_heard(const struct rca_peer_key *key, const void *data, size_t len)
{
	const struct rca_trunk_key trunk_key = { .peer = *key };
	struct rca_trunk *trunk;
	struct rca_hello hello;

	if (rca_hello_unpack(data, len, &hello))
		return;
	trunk = rca_trunk_find(&trunk_key);
	if (!trunk)
		return;
	spin_lock(&trunk->lock);
	trunk->hello = hello;
	spin_unlock(&trunk->lock);
	rca_trunk_run(trunk);
	rca_trunk_put(trunk);	/* got in rca_trunk_find() */
}
