// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * What makes trunks open: requests of peers for a link, by the service ID of each device, requests
 * for connections, and hellos.
 *
 * A request for a link is accepted if it has the token that this host has told the peer in a hello.
 * If both hosts ask at the same time, the request of the host with the greater boot identifier
 * counts; two ports of one host compare their GIDs.
 *
 * These are callbacks of transports and devices. They note what they have found in the trunk, and
 * let its work run, see open.c.
 *
 * Locking: rca_trunk.lock.
 */
#include "trunk/open.h"

#include <linux/err.h>
#include <linux/string.h>
#include <rdma/ib_cache.h>
#include <rdma/ib_cm.h>
#include <rdma/ib_sa.h>

#include "transport/devices.h"
#include "trunk/link.h"
#include "trunk/peers.h"
#include "trunk/trunk.h"

/**
 * struct link_req - a request of a peer for a link
 * @open: what it has told
 * @path: path to it
 * @qpn: number of its QP
 * @yields: if this host asks at the same time, its own request yields to this one
 */
struct link_req {
	const struct rca_trunk_open *open;
	const struct sa_path_rec *path;
	u32 qpn;
	bool yields;
};

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

/*
 * A peer asks for a link. @cm_id: has received the request. Returns 0: @cm_id belongs to the trunk;
 * a negative errno: the request has to be rejected.
 */
static int accept(struct rca_device *dev, const struct rca_trunk_key *key,
		  const struct ib_gid_attr *sgid_attr, const struct link_req *req,
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
		link->peer_qpn = req->qpn;
		link->cm_id = cm_id;
		cm_id->context = link;
		cm_id->cm_handler = rca_link_handler;
		set_path(&link->path, req->path);
		trunk->hello = req->open->hello;
		if (trunk->link) {
			rca_trunk_because(trunk, "the peer asks for another link");
			rca_link_tell(trunk->link, RCA_LINK_END);
		}
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

/* The port of a trunk has changed. @state: it went down or came up. Expects RCU. */
static void note(struct rca_trunk *trunk, bool state)
{
	spin_lock(&trunk->lock);
	if (!trunk->gone) {
		trunk->port_changed = true;
		trunk->state_changed |= state;
		rca_trunk_run(trunk);
	}
	spin_unlock(&trunk->lock);
}

static void note_change(struct rca_trunk *trunk)
{
	note(trunk, false);
}

static void note_state(struct rca_trunk *trunk)
{
	note(trunk, true);
}

/**
 * rca_open_port_changed() - the state, the GIDs or the partitions of a port may have changed
 * @dev: its device
 * @port: number of the port; 0: all ports
 * @state: its state has
 *
 * Context: Process context, event handler of a device. The device is not removed meanwhile.
 */
void rca_open_port_changed(struct rca_device *dev, u32 port, bool state)
{
	if (rca_trunks_used())
		rca_trunks_of_port(dev, port, state ? note_state : note_change);
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

/* Which of two requests that cross counts? */
static bool peer_wins(const struct rca_peer_key *key, const struct rca_hello *hello)
{
	int order = memcmp(hello->boot_id, rca_peers_boot_id(), RCA_BOOT_ID_LEN) ?:
		    memcmp(&key->dgid, &key->sgid, sizeof(key->dgid));

	return order > 0;
}

/* The two ends of a trunk from a port to itself are two trunks. */
static bool is_same_port(const struct rca_peer_key *key, const struct rca_hello *hello)
{
	return rca_hello_is_of(hello, rca_peers_boot_id()) &&
	       !memcmp(&key->dgid, &key->sgid, sizeof(key->dgid));
}

/*
 * The local GID of a request, with a reference, or NULL. On InfiniBand ib_cm reports none if the
 * request came without a GRH.
 */
static const struct ib_gid_attr *local_gid(struct ib_device *ibdev,
					   const struct ib_cm_req_event_param *req)
{
	const struct ib_gid_attr *attr = req->ppath_sgid_attr;

	if (attr) {
		rdma_hold_gid_attr(attr);
		return attr;
	}
	if (!rdma_protocol_ib(ibdev, req->port))
		return NULL;
	attr = rdma_find_gid_by_port(ibdev, &req->primary_path->sgid, IB_GID_TYPE_IB, req->port,
				     NULL);
	return IS_ERR(attr) ? NULL : attr;
}

/*
 * ib_cm callback of the service: a peer asks for a trunk. A non-zero return makes ib_cm reject the
 * request and destroy @cm_id.
 */
static int ib_trunk_handler(struct ib_cm_id *cm_id, const struct ib_cm_event *event)
{
	const struct ib_cm_req_event_param *req = &event->param.req_rcvd;
	struct rca_device *dev = cm_id->context;
	const struct ib_gid_attr *sgid_attr;
	struct rca_trunk_key key = {};
	struct rca_trunk_open open;
	int ret = -EACCES;

	if (event->event != IB_CM_REQ_RECEIVED ||
	    rca_trunk_req_unpack(event->private_data, RCA_TRUNK_REQ_LEN, &open))
		return -EINVAL;
	sgid_attr = local_gid(dev->ibdev, req);
	if (!sgid_attr)
		return -EINVAL;
	rca_peer_key(&key.peer, dev->serial, req->port, sgid_attr, &req->primary_path->dgid,
		     be16_to_cpu(req->primary_path->pkey));
	if (rca_peers_accept(&key.peer, &open)) {
		const struct link_req asked = {
			.open = &open,
			.path = req->primary_path,
			.qpn = req->remote_qpn,
			.yields = peer_wins(&key.peer, &open.hello),
		};

		key.passive = is_same_port(&key.peer, &open.hello);
		ret = accept(dev, &key, sgid_attr, &asked, cm_id);
	} else {
		rca_stats_trunk(rca_device_stats(dev, req->port), RCA_STAT_NO_TOKEN);
	}
	rdma_put_gid_attr(sgid_attr);	/* got in local_gid() */
	return ret;
}

/**
 * rca_trunk_listen() - accept trunks on a device
 * @dev: the device
 *
 * Does nothing if it does already, or if ib_cm refuses a service ID: then peers are not told one.
 *
 * Context: Process context. Sleeps. The caller has a reference of @dev.
 */
void rca_trunk_listen(struct rca_device *dev)
{
	struct ib_cm_id *cm_id;
	__be64 service_id;

	if (READ_ONCE(dev->trunk_service))
		return;
	cm_id = ib_create_cm_id(dev->ibdev, ib_trunk_handler, dev);
	if (IS_ERR(cm_id))
		return;
	if (ib_cm_listen(cm_id, IB_CM_ASSIGN_SERVICE_ID)) {
		ib_destroy_cm_id(cm_id);
		return;
	}
	service_id = cm_id->service_id;
	if (cmpxchg(&dev->trunk_service, NULL, cm_id))
		ib_destroy_cm_id(cm_id);
	else
		WRITE_ONCE(dev->trunk_service_id, service_id);
	/* rca_trunk_unlisten() may have run before; both have full barriers. */
	if (READ_ONCE(dev->removing))
		rca_trunk_unlisten(dev);
}

/* No peer can open a trunk any more. Called when no id can use @dev. Sleeps. */
void rca_trunk_unlisten(struct rca_device *dev)
{
	struct ib_cm_id *cm_id = xchg(&dev->trunk_service, NULL);

	if (cm_id)
		ib_destroy_cm_id(cm_id);	/* waits for ib_trunk_handler() */
}
