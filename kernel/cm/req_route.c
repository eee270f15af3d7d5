// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * The destination of a connection request, and the listener there: by network namespace
 * and IP address; by GID; over TCP, where iw_cm has selected the listener.
 *
 * Locking: RCU.
 */
#include "cm/req_route.h"

#include <linux/if_arp.h>
#include <linux/inetdevice.h>
#include <linux/netdevice.h>
#include <net/ip6_route.h>
#include <net/ip_fib.h>
#include <net/ipv6.h>
#include <rdma/ib_addr.h>
#include <rdma/ib_cache.h>

#include "cm/demux.h"
#include "cm/req_ib.h"
#include "ip/iwport.h"
#include "lib/wire.h"
#include "transport/devices.h"

static struct net_device *roce_ndev(const struct rca_tp_request *req)
{
	struct net_device *ndev;

	if (!req->sgid_attr)
		return NULL;
	rcu_read_lock();
	ndev = rdma_read_gid_attr_ndev_rcu(req->sgid_attr);
	if (IS_ERR(ndev))
		ndev = NULL;
	dev_hold(ndev);		/* put in rca_req_dest_put() */
	rcu_read_unlock();
	return ndev;
}

/*
 * The network device of the GID that the request was sent to; on InfiniBand the IPoIB
 * device that has the destination address. NULL: there is none, or it is down.
 */
static struct net_device *request_ndev(struct ib_device *ibdev, const struct rca_tp_request *req,
				       const union rca_addr *local)
{
	const union ib_gid *gid = req->path ? &req->path->sgid : NULL;
	struct net_device *ndev;

	if (rdma_protocol_ib(ibdev, req->port_num))
		ndev = ib_get_net_dev_by_params(ibdev, req->port_num, req->pkey, gid, &local->sa);
	else
		ndev = roce_ndev(req);
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

static int reachable(struct net_device *ndev, const union rca_addr *peer,
		     const union rca_addr *local)
{
	if (peer->sa.sa_family == AF_INET)
		return reachable_v4(ndev, peer->in.sin_addr.s_addr, local->in.sin_addr.s_addr);
	return reachable_v6(ndev, &peer->in6.sin6_addr, &local->in6.sin6_addr);
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
	if (rca_addr_is_any(addr) || rca_addr_is_loopback(addr))
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
	ret = reachable(dest->ndev, &dest->peer, &dest->local);
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

/*
 * A request without an address of ours is for a listener on GIDs: its private data may be
 * anything, even what looks like an IP CM header.
 */
static struct rca_id *route_by_ip_or_gid(struct rca_demux *demux, const struct rca_tp_request *req,
					 struct rca_req_dest *dest)
{
	struct rca_id *listener = route_by_ip(demux, req, dest), *other;

	if (!IS_ERR(listener) || dest->ndev)
		return listener;
	other = find_listener(demux, match_gid, req, dest);
	if (!other)
		return listener;
	rca_req_ib_addrs(other, req, &dest->local, &dest->peer);
	return other;
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

/**
 * rca_req_route() - find the destination of a connection request, and the listener there
 * @demux: the demux of the service ID
 * @req: the request
 * @dest: filled in as far as known, also on error; the caller ends with rca_req_dest_put()
 *
 * Context: Process context, callback of a transport. Takes and releases RCU, and the lock of
 * a listener to which a refused request is reported.
 * Return: the listener with a reference, or an ERR_PTR() with the reason of the refusal.
 */
struct rca_id *rca_req_route(struct rca_demux *demux, const struct rca_tp_request *req,
			     struct rca_req_dest *dest)
{
	struct rca_id *listener;
	int ret;

	*dest = (struct rca_req_dest){ .port_num = req->port_num };
	if (demux->dev->tp->over_tcp)
		listener = route_over_tcp(demux, req, dest);
	else
		listener = route_by_ip_or_gid(demux, req, dest);
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

/* Put the references of a destination that rca_req_route() has filled in. */
void rca_req_dest_put(struct rca_req_dest *dest)
{
	dev_put(dest->ndev);
	if (dest->sgid_attr)
		rdma_put_gid_attr(dest->sgid_attr);
}
