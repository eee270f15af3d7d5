// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * Service IDs that the module holds on devices. ib_cm gives a service ID to one user per
 * device, whatever the IP address or network namespace, so our listeners share it here.
 *
 * Locking: rca_device.demux_mutex; requests walk the slots under RCU, and over a trunk find the
 * demux under RCU.
 */
#include "cm/internal.h"

#include <linux/if_arp.h>
#include <linux/inetdevice.h>
#include <linux/memcontrol.h>
#include <linux/module.h>
#include <linux/netdevice.h>
#include <linux/rculist.h>
#include <linux/sched/mm.h>
#include <linux/slab.h>
#include <linux/string.h>
#include <net/ip6_route.h>
#include <net/ip_fib.h>
#include <net/ipv6.h>
#include <net/net_namespace.h>
#include <rdma/ib_addr.h>
#include <rdma/ib_cache.h>
#include <rdma/ib_cm.h>
#include <rdma/rdma_user_cm.h>

#include "id/id.h"
#include "lib/testing.h"
#include "lib/timing.h"
#include "lib/trace.h"
#include "lib/wire.h"
#include "net/net.h"
#include "transport/transport.h"

/**
 * struct rca_req_dest - destination of a connection request
 * @local: the address that the request is for
 * @peer: the address of the peer
 * @ndev: the network device (holds a reference); NULL: over TCP or over GIDs
 * @port_num: port of the RDMA device
 * @sgid_attr: local GID (holds a reference)
 */
struct rca_req_dest {
	union rca_addr local;
	union rca_addr peer;
	struct net_device *ndev;
	u32 port_num;
	const struct ib_gid_attr *sgid_attr;
};

static struct rca_demux *demux_find(struct rca_device *dev, __be64 service_id)
{
	struct rca_demux *demux;

	lockdep_assert_held(&dev->demux_mutex);
	/* iw_cm selects the listener, also by address, so each listener has its own demux. */
	if (dev->tp->over_tcp)
		return NULL;
	hash_for_each_possible(dev->demuxes, demux, node, be64_to_cpu(service_id))
		if (demux->service_id == service_id)
			return demux;
	return NULL;
}

/* Listen for the service ID on the device. Requests may arrive at once, and find the slot. */
static struct rca_demux *demux_create(struct rca_device *dev, const struct rca_tp_listen *req,
				      struct rca_slot *slot, gfp_t gfp)
{
	struct rca_demux *demux;

	lockdep_assert_held(&dev->demux_mutex);
	demux = kzalloc(sizeof(*demux), gfp);
	if (!demux)
		return ERR_PTR(-ENOMEM);
	refcount_set(&demux->ref, 1);
	demux->service_id = req->service_id;
	demux->dev = dev;
	INIT_LIST_HEAD(&demux->slots);
	slot->demux = demux;
	list_add_tail_rcu(&slot->node, &demux->slots);
	demux->handle = dev->tp->listen(dev->ibdev, req, demux);
	if (IS_ERR(demux->handle)) {
		struct rca_demux *err = ERR_CAST(demux->handle);

		kfree(demux);
		return err;
	}
	rca_device_get(dev);	/* put in rca_demux_leave() */
	hash_add_rcu(dev->demuxes, &demux->node, be64_to_cpu(demux->service_id));
	return demux;
}

static void demux_put(struct rca_demux *demux)
{
	if (refcount_dec_and_test(&demux->ref))
		kfree_rcu(demux, rcu);
}

/*
 * Add a listener to a service ID, which the transport is asked for if the module does not hold it
 * yet. @id must exist until rca_demux_leave(). Other users wait for @dev->demux_mutex, and @gfp has
 * to allow for that. -EBUSY: another user of the device has the service ID; -ENXIO: the device is
 * being removed.
 */
struct rca_slot *rca_demux_join(struct rca_device *dev, const struct rca_tp_listen *req,
				struct rca_id *id, gfp_t gfp)
{
	struct rca_demux *demux;
	struct rca_slot *slot;

	slot = kzalloc(sizeof(*slot), gfp);
	if (!slot)
		return ERR_PTR(-ENOMEM);
	slot->id = id;
	INIT_LIST_HEAD(&slot->listener_node);
	mutex_lock(&dev->demux_mutex);
	demux = demux_find(dev, req->service_id);
	if (READ_ONCE(dev->removing)) {
		demux = ERR_PTR(-ENXIO);	/* pairs with rca_demux_first_net() */
	} else if (demux) {
		slot->demux = demux;
		list_add_tail_rcu(&slot->node, &demux->slots);
	} else {
		demux = demux_create(dev, req, slot, gfp);
	}
	mutex_unlock(&dev->demux_mutex);
	if (IS_ERR(demux)) {
		kfree(slot);
		return ERR_CAST(demux);
	}
	return slot;
}

/*
 * Remove a listener and free its slot; the last one releases the service ID. When this returns, no
 * request finds the listener any more. A request that found it before may still be handled, and
 * holds a reference on the id.
 */
void rca_demux_leave(struct rca_slot *slot)
{
	struct rca_demux *demux = slot->demux;
	struct rca_device *dev = demux->dev;
	bool last;

	/* Another listener's put may be the last one while this mutex is still being released. */
	rca_device_get(dev);
	mutex_lock(&dev->demux_mutex);
	list_del_rcu(&slot->node);
	last = list_empty(&demux->slots);
	if (last) {
		hash_del_rcu(&demux->node);
		/* Waits for requests that are being handled, which do not take the mutex. */
		dev->tp->unlisten(demux->handle);
		demux_put(demux);	/* got in demux_create() */
	}
	mutex_unlock(&dev->demux_mutex);
	if (last)
		rca_device_put(dev);	/* got in demux_create() */
	rca_device_put(dev);
	kfree_rcu(slot, rcu);
}

static struct rca_slot *first_slot(struct rca_device *dev)
{
	struct rca_demux *demux;
	int bucket;

	lockdep_assert_held(&dev->demux_mutex);
	hash_for_each(dev->demuxes, bucket, demux, node)
		return list_first_entry(&demux->slots, struct rca_slot, node);
	return NULL;
}

/*
 * Returns the namespace of the first listener of a device that is being removed, with a reference.
 * NULL: there is no listener, nor will there be one.
 */
struct net *rca_demux_first_net(struct rca_device *dev)
{
	struct net *net = NULL;
	struct rca_slot *slot;

	mutex_lock(&dev->demux_mutex);
	slot = first_slot(dev);
	if (slot)
		net = get_net(slot->id->net);
	mutex_unlock(&dev->demux_mutex);
	return net;
}

/*
 * Returns the slot of the first listener of a device, unless that is of another namespace than
 * @net, whose listeners the caller keeps from leaving the device.
 */
struct rca_slot *rca_demux_first(struct rca_device *dev, const struct net *net)
{
	struct rca_slot *slot;

	mutex_lock(&dev->demux_mutex);
	slot = first_slot(dev);
	if (slot && !net_eq(slot->id->net, net))
		slot = NULL;
	mutex_unlock(&dev->demux_mutex);
	return slot;
}

/*
 * Connection requests over InfiniBand. A request over IP is for the IPoIB device that has
 * the destination address. A request over GIDs names no network device, and has no mark by
 * which it could be recognized: a listener that is bound to an AF_IB address gets any
 * request for its service ID.
 *
 * Locking: RCU or a reference on the listener.
 */

/* Offsets in the hardware address of an IPoIB device and in its broadcast address (RFC 4391). */
#define IPOIB_GID	4
#define IPOIB_PKEY	8

/*
 * Does the listener get a request over GIDs? Such a request belongs to the network namespace of its
 * device; in the shared mode of the RDMA subsystem that is the initial one.
 */
static bool rca_req_ib_listens(const struct rca_id *id, const struct ib_device *ibdev,
			       const struct rca_tp_request *req)
{
	if (id->local.sa.sa_family != AF_IB || !rdma_protocol_ib(ibdev, req->port_num) ||
	    !net_eq(id->net, read_pnet(&ibdev->coredev.rdma_net)))
		return false;
	if (rca_addr_is_wildcard(&id->local))
		return true;
	if (id->port_num && id->port_num != req->port_num)
		return false;
	return !req->path || !memcmp(&id->local.ib.sib_addr, &req->path->sgid,
				     sizeof(req->path->sgid));
}

/*
 * The addresses of a request over GIDs. The service ID of the peer is unknown, and its GID too if
 * the request is for datagrams and has no path.
 */
RCA_VISIBLE_IF_KUNIT void rca_req_ib_addrs(const struct rca_id *listener,
					   const struct rca_tp_request *req,
					   union rca_addr *local, union rca_addr *peer)
{
	const struct sa_path_rec *path = req->path;

	rca_addr_set_any(peer, AF_IB);
	*local = listener->local;
	local->ib.sib_sid = req->service_id;
	local->ib.sib_sid_mask = cpu_to_be64(U64_MAX);
	if (!path) {
		if (req->sgid_attr)
			memcpy(&local->ib.sib_addr, req->sgid_attr->gid.raw,
			       sizeof(local->ib.sib_addr));
		return;
	}
	local->ib.sib_pkey = path->pkey;
	local->ib.sib_flowinfo = path->flow_label;
	local->ib.sib_scope_id = 0;
	memcpy(&local->ib.sib_addr, path->sgid.raw, sizeof(local->ib.sib_addr));
	peer->ib.sib_pkey = path->pkey;
	peer->ib.sib_flowinfo = path->flow_label;
	memcpy(&peer->ib.sib_addr, path->dgid.raw, sizeof(peer->ib.sib_addr));
}

static const struct ib_gid_attr *find_ib_gid(struct ib_device *ibdev, u32 port, const void *gid)
{
	union ib_gid key;

	memcpy(key.raw, gid, sizeof(key.raw));
	return rdma_find_gid_by_port(ibdev, &key, IB_GID_TYPE_IB, port, NULL);
}

/*
 * The local GID of a request over InfiniBand, with a reference: that of @ndev; without one, that of
 * the path or of the message. A request for datagrams may have neither: it gets that of the
 * listener, or the first of the port.
 */
static const struct ib_gid_attr *rca_req_ib_gid(const struct rca_id *listener,
						struct ib_device *ibdev,
						const struct rca_tp_request *req,
						const struct net_device *ndev)
{
	if (ndev)
		return find_ib_gid(ibdev, req->port_num, ndev->dev_addr + IPOIB_GID);
	if (req->path)
		return find_ib_gid(ibdev, req->port_num, req->path->sgid.raw);
	if (req->sgid_attr) {
		rdma_hold_gid_attr(req->sgid_attr);
		return req->sgid_attr;
	}
	if (!rca_addr_is_wildcard(&listener->local))
		return find_ib_gid(ibdev, req->port_num, &listener->local.ib.sib_addr);
	return rdma_get_gid_attr(ibdev, req->port_num, 0);
}

/*
 * The destination of a connection request, and the listener there: by network namespace
 * and IP address; by GID; over TCP, where iw_cm has selected the listener.
 *
 * Locking: RCU.
 */

/*
 * The network device of the GID that the request was sent to; on InfiniBand the IPoIB
 * device that has the destination address. NULL: there is none, or it is down.
 */
static struct net_device *request_ndev(struct ib_device *ibdev, const struct rca_tp_request *req,
				       const union rca_addr *local)
{
	const union ib_gid *gid = req->path ? &req->path->sgid : NULL;
	struct net_device *ndev = NULL;

	if (rdma_protocol_ib(ibdev, req->port_num)) {
		ndev = ib_get_net_dev_by_params(ibdev, req->port_num, req->pkey, gid, &local->sa);
	} else if (req->sgid_attr) {
		rcu_read_lock();
		ndev = rdma_read_gid_attr_ndev_rcu(req->sgid_attr);
		if (IS_ERR(ndev))
			ndev = NULL;
		dev_hold(ndev);		/* put in rca_req_handler() */
		rcu_read_unlock();
	}
	if (!ndev || READ_ONCE(ndev->flags) & IFF_UP)
		return ndev;
	dev_put(ndev);
	return NULL;
}

/*
 * An interface that comes up receives packets before the routes of its addresses exist.
 * A request at that time is dropped instead of rejected, so the peer sends it again.
 */
static bool route_is_pending(struct net_device *ndev, __be32 peer)
{
	const struct in_device *in_dev = __in_dev_get_rcu(ndev);
	const struct in_ifaddr *ifa;

	if (!in_dev)
		return false;
	in_dev_for_each_ifa_rcu(ifa, in_dev) {
		if (inet_ifa_match(peer, ifa) && !(ifa->ifa_flags & IFA_F_NOPREFIXROUTE))
			return true;
	}
	return false;
}

/*
 * Would a reply to @peer leave through @ndev? -EHOSTUNREACH: no, as with stock such a request
 * is rejected; -ENOMEM: not yet.
 */
static int reachable_v4(struct net_device *ndev, __be32 peer, __be32 local)
{
	struct flowi4 fl4 = {
		.flowi4_oif = ndev->ifindex,
		.daddr = peer,
		.saddr = local,
	};
	struct fib_result res;
	int ret;

	if (ipv4_is_multicast(local) || ipv4_is_lbcast(local) || ipv4_is_zeronet(local) ||
	    ipv4_is_loopback(local) || ipv4_is_multicast(peer) || ipv4_is_lbcast(peer) ||
	    ipv4_is_zeronet(peer) || ipv4_is_loopback(peer))
		return -EHOSTUNREACH;
	rcu_read_lock();
	ret = fib_lookup(dev_net(ndev), &fl4, &res, 0);
	if (ret == -ENETUNREACH && route_is_pending(ndev, peer))
		ret = -ENOMEM;
	else if (ret || FIB_RES_DEV(res) != ndev)
		ret = -EHOSTUNREACH;
	rcu_read_unlock();
	return ret;
}

static int reachable_v6(struct net_device *ndev, const struct in6_addr *peer,
			const struct in6_addr *local)
{
#if IS_ENABLED(CONFIG_IPV6)
	struct rt6_info *rt;
	int ret;

	rt = rt6_lookup(dev_net(ndev), peer, local, ndev->ifindex, NULL,
			ipv6_addr_type(peer) & IPV6_ADDR_LINKLOCAL ? 1 : 0);
	if (!rt)
		return -EHOSTUNREACH;
	ret = rt->rt6i_idev && rt->rt6i_idev->dev == ndev ? 0 : -EHOSTUNREACH;
	ip6_rt_put(rt);
	return ret;
#else
	return -EHOSTUNREACH;
#endif
}

/* Selects a listener behind the service ID of @dev. */
typedef bool (*match_fn)(const struct rca_id *id, const struct rca_device *dev,
			 const struct rca_tp_request *req, const struct rca_req_dest *dest);

static bool match_ip(const struct rca_id *id, const struct rca_device *dev,
		     const struct rca_tp_request *req, const struct rca_req_dest *dest)
{
	const union rca_addr *addr = &id->local;

	if (!net_eq(id->net, dev_net(dest->ndev)))
		return false;
	/* On IPoIB, AF_IB listeners get requests over GIDs. */
	if (addr->sa.sa_family == AF_IB && dest->ndev->type == ARPHRD_INFINIBAND)
		return false;
	if (rca_addr_is_wildcard(addr))
		return !id->opts->bind->afonly ||
		       addr->sa.sa_family == dest->local.sa.sa_family;
	return rca_addr_same_ip(addr, &dest->local);
}

static bool match_gid(const struct rca_id *id, const struct rca_device *dev,
		      const struct rca_tp_request *req, const struct rca_req_dest *dest)
{
	return rca_req_ib_listens(id, dev->ibdev, req);
}

/* Over TCP a demux has one listener. */
static bool match_any(const struct rca_id *id, const struct rca_device *dev,
		      const struct rca_tp_request *req, const struct rca_req_dest *dest)
{
	return true;
}

/* The listener with a reference; NULL: there is none. */
static struct rca_id *find_listener(struct rca_demux *demux, match_fn match,
				    const struct rca_tp_request *req,
				    const struct rca_req_dest *dest)
{
	struct rca_id *id = NULL;
	struct rca_slot *slot;

	rcu_read_lock();
	list_for_each_entry_rcu(slot, &demux->slots, node) {
		if (match(slot->id, demux->dev, req, dest) && rca_obj_tryget(&slot->id->obj)) {
			id = slot->id;
			break;
		}
	}
	rcu_read_unlock();
	return id;
}

/* Find the listener by the IP addresses in the IP CM header. */
static struct rca_id *route_by_ip(struct rca_demux *demux, const struct rca_tp_request *req,
				  struct rca_req_dest *dest)
{
	struct rca_id *listener;
	int ret;

	ret = rca_wire_get_hdr(req->conn.private_data, req->conn.private_data_len,
			       rca_wire_sid_port(req->service_id), &dest->peer, &dest->local);
	if (ret)
		return ERR_PTR(ret);
	dest->ndev = request_ndev(demux->dev->ibdev, req, &dest->local);
	if (!dest->ndev)
		return ERR_PTR(-ENODEV);
	if (rca_addr_is_linklocal(&dest->local))
		dest->local.in6.sin6_scope_id = dest->ndev->ifindex;
	if (rca_addr_is_linklocal(&dest->peer))
		dest->peer.in6.sin6_scope_id = dest->ndev->ifindex;
	listener = find_listener(demux, match_ip, req, dest);
	if (dest->peer.sa.sa_family == AF_INET)
		ret = reachable_v4(dest->ndev, dest->peer.in.sin_addr.s_addr,
				   dest->local.in.sin_addr.s_addr);
	else
		ret = reachable_v6(dest->ndev, &dest->peer.in6.sin6_addr,
				   &dest->local.in6.sin6_addr);
	if (!ret)
		return listener ?: ERR_PTR(-ECONNREFUSED);
	if (listener) {
		/* A request that is dropped until the route exists has not failed. */
		if (ret == -EHOSTUNREACH)
			rca_id_report_refused(listener, &dest->peer, ret);
		rca_id_put(listener);
	}
	return ERR_PTR(ret);
}

static struct rca_id *route_over_tcp(struct rca_demux *demux, const struct rca_tp_request *req,
				     struct rca_req_dest *dest)
{
	dest->local = *req->local;
	dest->peer = *req->peer;
	/* No listener: it is being started or stopped. */
	return find_listener(demux, match_any, req, dest) ?: ERR_PTR(-ECONNREFUSED);
}

/* The local GID of a TCP connection, with its port: that of the local address. */
static const struct ib_gid_attr *tcp_gid(const struct rca_id *listener, struct ib_device *ibdev,
					 struct rca_req_dest *dest)
{
	struct rdma_dev_addr addr = { .net = listener->net };
	const struct ib_gid_attr *attr;
	u32 port;
	int ret;

	if (rca_addr_is_linklocal(&dest->local))
		addr.bound_dev_if = rca_addr_scope(&dest->local);
	ret = rdma_translate_ip(&dest->local.sa, &addr);
	if (ret)
		return ERR_PTR(ret);
	rdma_for_each_port(ibdev, port) {
		attr = rca_iwport_find(ibdev, port, listener->net, addr.bound_dev_if);
		if (IS_ERR(attr))
			continue;
		dest->port_num = port;
		return attr;
	}
	return ERR_PTR(-ENODEV);
}

/* Find the local GID of a request, and for AF_IB complete the local address by it. */
static int find_local_gid(const struct rca_id *listener, struct rca_device *dev,
			  const struct rca_tp_request *req, struct rca_req_dest *dest)
{
	const struct ib_gid_attr *attr = req->sgid_attr;

	if (dev->tp->over_tcp)
		attr = tcp_gid(listener, dev->ibdev, dest);
	else if (rdma_protocol_ib(dev->ibdev, req->port_num))
		attr = rca_req_ib_gid(listener, dev->ibdev, req, dest->ndev);
	else
		rdma_hold_gid_attr(attr);
	if (IS_ERR(attr))
		return PTR_ERR(attr);
	if (dest->local.sa.sa_family == AF_IB)
		memcpy(&dest->local.ib.sib_addr, attr->gid.raw, sizeof(dest->local.ib.sib_addr));
	dest->sgid_attr = attr;
	return 0;
}

/*
 * Find the destination of a request, and the listener there. @dest is filled in as far as known,
 * also on error; the caller puts its references. Returns the listener with a reference, or the
 * reason of the refusal.
 */
static struct rca_id *rca_req_route(struct rca_demux *demux, const struct rca_tp_request *req,
				    struct rca_req_dest *dest)
{
	struct rca_id *listener, *other;
	int ret;

	*dest = (struct rca_req_dest){ .port_num = req->port_num };
	if (demux->dev->tp->over_tcp)
		listener = route_over_tcp(demux, req, dest);
	else
		listener = route_by_ip(demux, req, dest);
	/*
	 * A request without an address of ours is for a listener on GIDs: its private data may be
	 * anything, even what looks like an IP CM header.
	 */
	if (IS_ERR(listener) && !dest->ndev && !demux->dev->tp->over_tcp) {
		other = find_listener(demux, match_gid, req, dest);
		if (other) {
			rca_req_ib_addrs(other, req, &dest->local, &dest->peer);
			listener = other;
		}
	}
	if (IS_ERR(listener))
		return listener;
	ret = find_local_gid(listener, demux->dev, req, dest);
	if (ret) {
		rca_id_report_refused(listener, &dest->peer, ret);
		rca_id_put(listener);
		return ERR_PTR(ret);
	}
	return listener;
}

/*
 * Connection requests: take a place in the backlog of the listener that was found, build the id of
 * the connection (the child), and post the event.
 *
 * Locking: the listener's state lock to post the event. Runs in a callback of the
 * transport.
 */

/* InfiniBand: that of the request, or of its IPoIB device; else the present device of the GID. */
static void set_link(struct rca_id *child, const struct rca_tp_request *req,
		     const struct rca_req_dest *dest, bool ib)
{
	struct net_device *ndev = dest->ndev;

	if (req->path)
		memcpy(child->link.dgid, req->path->dgid.raw, sizeof(child->link.dgid));
	if (ib) {
		child->link.ib = true;
		child->link.pkey = req->pkey;
		if (ndev) {
			child->link.ifindex = ndev->ifindex;
			child->link.pkey = ndev->broadcast[IPOIB_PKEY] << 8 |
					   ndev->broadcast[IPOIB_PKEY + 1];
		}
		return;
	}
	rcu_read_lock();
	ndev = rdma_read_gid_attr_ndev_rcu(dest->sgid_attr);
	if (!IS_ERR(ndev)) {
		child->link.ifindex = ndev->ifindex;
		memcpy(child->link.smac, ndev->dev_addr, ETH_ALEN);
	}
	rcu_read_unlock();
}

/* The id of the connection, complete except for its lower id. */
static struct rca_id *build_child(struct rca_id *listener, struct rca_demux *demux,
				  const struct rca_tp_request *req,
				  const struct rca_req_dest *dest)
{
	const struct sa_path_rec *alt_path = req->path ? req->alt_path : NULL;
	struct rca_id *child;
	int ret;

	/* RDMA_PS_IPOIB is for IPoIB interfaces, see rca_qkey(). */
	if (listener->ps == RDMA_PS_IPOIB &&
	    (!dest->ndev || dest->ndev->type != ARPHRD_INFINIBAND))
		return ERR_PTR(-EINVAL);
	child = rca_id_create_child(listener);
	if (IS_ERR(child))
		return child;
	child->local = dest->local;
	child->dst = dest->peer;
	child->repeat = rca_timing_repeat(req->repeat_ms);
	if (req->path) {
		child->setup->path = *req->path;
		child->setup->has_path = true;
	}
	if (alt_path) {
		ret = -ENOMEM;
		child->setup->alt_path = kmemdup(alt_path, sizeof(*alt_path), RCA_GFP_CALLBACK);
		if (!child->setup->alt_path)
			goto err_free_child;
	}
	set_link(child, req, dest, rdma_protocol_ib(demux->dev->ibdev, dest->port_num));
	rdma_hold_gid_attr(dest->sgid_attr);	/* put in rca_id_detach() */
	ret = rca_id_attach(child, demux->dev, dest->port_num, dest->sgid_attr);
	if (ret) {
		rdma_put_gid_attr(dest->sgid_attr);
		goto err_free_child;
	}
	child->tp = req->tp;
	rca_id_watch_netdev(child);
	return child;

err_free_child:
	rca_id_free_unpublished(child);
	return ERR_PTR(ret);
}

/* -EMSGSIZE: the private data do not fit. */
static int fill_event(struct rca_event *ev, struct rca_id *listener, struct rca_id *child,
		      void *lower, const struct rca_tp_request *req)
{
	struct rca_tp_conn user = req->conn;

	if (!child->dev->tp->over_tcp && child->local.sa.sa_family != AF_IB) {
		user.private_data += RCA_WIRE_HDR_LEN;
		user.private_data_len -= RCA_WIRE_HDR_LEN;
	}
	/* A long request over IP for a listener on GIDs, which gets the header, too. */
	if (user.private_data_len > RCA_WIRE_USER_MAX)
		return -EMSGSIZE;
	ev->rec.type = RDMA_CM_ALT_EVENT_CONNECT_REQUEST;
	ev->rec.id = child->obj.handle;
	ev->rec.listen_id = listener->obj.handle;
	ev->rec.flags = RDMA_CM_ALT_EVENT_F_ROUTE;
	rca_id_fill_route_locked(child, &ev->rec.route);
	if (user.qp_type == IB_QPT_UD) {
		rca_event_set_ud(ev, &user);
	} else {
		rca_event_set_conn(ev, &user);
		if (rca_qp_attr_fill(child, lower, &ev->rec.qp))
			ev->rec.flags |= RDMA_CM_ALT_EVENT_F_QP;
	}
	ev->child = &child->obj;
	ev->child_src = &child->src;
	return 0;
}

/*
 * Count the request of an event in the backlog of the listener, and among the requests of its
 * context and user. -ENOBUFS: the backlog is full; -EDQUOT: a limit of the context or the user.
 */
static int backlog_get(struct rca_id *listener, struct rca_event *ev)
{
	struct rca_account *account = &listener->obj.ctx->account;
	struct rca_opts *opts = listener->opts;
	bool fits = atomic_inc_return(&opts->waiting) <= opts->backlog;
	int ret;

	/* Requests that user space has read from the ring are still counted: uncount them. */
	if (!fits || rca_account_full(account, RDMA_CM_ALT_RESOURCE_REQUESTS)) {
		rca_source_reap(&listener->src);
		fits = atomic_read(&opts->waiting) <= opts->backlog;
	}
	if (fits) {
		ret = rca_charge(account, RDMA_CM_ALT_RESOURCE_REQUESTS, 1);
	} else {
		rca_account_refused(account, RDMA_CM_ALT_RESOURCE_REQUESTS);
		ret = -ENOBUFS;
	}
	ev->credit = &opts->waiting;
	ev->is_request = !ret;
	return ret;
}

/* Build the child, which repays memory that was @borrowed, and post its event to the listener. */
static int build_and_post(struct rca_id *listener, struct rca_demux *demux, void *lower,
			  const struct rca_tp_request *req, const struct rca_req_dest *dest,
			  bool borrowed)
{
	struct rca_event *ev;
	struct rca_id *child;
	int ret;

	if (req->conn.qp_type != listener->qp_type)
		return -EINVAL;
	ev = rca_id_new_event(listener, RCA_GFP_CALLBACK);
	if (IS_ERR(ev))
		return PTR_ERR(ev);
	ret = backlog_get(listener, ev);
	if (ret)
		goto err_free_event;
	child = build_child(listener, demux, req, dest);
	if (IS_ERR(child)) {
		ret = PTR_ERR(child);
		goto err_free_event;
	}
	ret = fill_event(ev, listener, child, lower, req);
	if (ret)
		goto err_free_child;
	if (rca_trunks_used() && !rca_peer_qp_claim(child, req->ca_guid, req->conn.qp_num)) {
		child->tp->reject(lower, IB_CM_REJ_STALE_CONN, NULL, 0);
		ret = -ESTALE;
		goto err_free_child;
	}

	spin_lock_irq(&listener->lock);
	if (listener->state != RCA_ST_LISTEN || !listener->src.queue) {
		spin_unlock_irq(&listener->lock);
		ret = -ECONNABORTED;
		goto err_release_qp;
	}
	smp_store_release(&child->lower, lower);	/* pairs with rca_id_numbers() */
	child->borrowed = borrowed;
	child->tp->set_owner(lower, child);
	/* Reports have the numbers of the new connection. */
	rca_id_report_event_locked(listener, ev->rec.type, 0, &listener->dst, child);
	rca_post(&listener->src, ev);
	spin_unlock_irq(&listener->lock);
	return 0;

err_release_qp:
	rca_peer_qp_release(child);
err_free_child:
	rca_id_free_unpublished(child);
err_free_event:
	rca_event_free(ev);
	return ret;
}

/*
 * The callback must not wait for memory. A memory cgroup that is full of page cache refuses memory
 * without a wait, although it could reclaim some: the first requests borrow theirs from outside.
 */
static int deliver_request(struct rca_id *listener, struct rca_demux *demux, void *lower,
			   const struct rca_tp_request *req, const struct rca_req_dest *dest)
{
	struct rca_ctx *ctx = listener->obj.ctx;
	struct mem_cgroup *old_memcg = set_active_memcg(ctx->memcg);
	int ret = build_and_post(listener, demux, lower, req, dest, false);

	set_active_memcg(NULL);
	if (ret == -ENOMEM && rca_account_borrow(&ctx->account)) {
		ret = build_and_post(listener, demux, lower, req, dest, true);
		if (ret)
			rca_account_repay(&ctx->account);
	}
	set_active_memcg(old_memcg);
	return ret;
}

/**
 * rca_req_handler() - handle a connection request
 * @_demux: the demux of the service ID
 * @lower: the transport's id for the connection
 * @req: the request
 *
 * Context: Process context, callback of a transport.
 * Return: 0: @lower has an owner. Otherwise @lower stays the transport's. -ENOMEM: drop the
 * request silently, so that the peer sends it again; another errno: reject it.
 */
int rca_req_handler(void *_demux, void *lower, const struct rca_tp_request *req)
{
	struct rca_demux *demux = _demux;
	struct rca_req_dest dest;
	struct rca_id *listener;
	int ret;

	listener = rca_req_route(demux, req, &dest);
	ret = PTR_ERR_OR_ZERO(listener);
	if (!ret) {
		ret = deliver_request(listener, demux, lower, req, &dest);
		if (ret)
			rca_id_report_refused(listener, &dest.peer, ret);
		else
			rca_trunks_requested(demux->dev, req, dest.sgid_attr);
		rca_id_put(listener);
	}
	trace_rca_request(&dest.peer.sa, &dest.local.sa, demux->service_id, ret);
	if (ret)
		this_cpu_inc(rca_device_stats(demux->dev, dest.port_num)->refused);
	dev_put(dest.ndev);
	if (dest.sgid_attr)
		rdma_put_gid_attr(dest.sgid_attr);
	/* A full backlog, or an exhausted limit. */
	return ret == -EDQUOT || ret == -ENOBUFS ? -ENOMEM : ret;
}

/**
 * rca_req_handler_for() - handle a connection request of a transport that does not know the demux
 * @dev: the device
 * @lower: the transport's id for the connection
 * @req: the request
 *
 * Context: Process context, callback of a transport.
 * Return: as rca_req_handler(); -EADDRNOTAVAIL: the module does not have the service ID.
 */
int rca_req_handler_for(struct rca_device *dev, void *lower, const struct rca_tp_request *req)
{
	struct rca_demux *demux, *found = NULL;
	int ret = -EADDRNOTAVAIL;

	rcu_read_lock();
	hash_for_each_possible_rcu(dev->demuxes, demux, node, be64_to_cpu(req->service_id)) {
		/* It may have been given up meanwhile. */
		if (demux->service_id == req->service_id && refcount_inc_not_zero(&demux->ref)) {
			found = demux;
			break;
		}
	}
	rcu_read_unlock();
	if (!found)
		return -EADDRNOTAVAIL;
	if (try_module_get(req->tp->owner)) {	/* of the id: put in rca_id_drop_lower() */
		ret = rca_req_handler(found, lower, req);
		if (ret)
			module_put(req->tp->owner);
	}
	demux_put(found);
	return ret;
}
