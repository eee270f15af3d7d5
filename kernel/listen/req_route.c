// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * Where a connection request has come to: its network device, whether we would
 * answer through that, and the listener behind the service ID, which is found by
 * network namespace and address.
 *
 * Locking: RCU.
 */
#include "listen/req_route.h"

#include <linux/if_arp.h>
#include <linux/inetdevice.h>
#include <linux/netdevice.h>
#include <net/ip6_route.h>
#include <net/ip_fib.h>
#include <net/ipv6.h>
#include <rdma/ib_addr.h>
#include <rdma/ib_cache.h>

#include "listen/demux.h"
#include "device/devices.h"
#include "listen/req_ib.h"
#include "lib/wire.h"

static struct net_device *roce_ndev(const struct rca_tp_request *req)
{
	struct net_device *ndev;

	if (!req->sgid_attr)
		return NULL;
	rcu_read_lock();
	ndev = rdma_read_gid_attr_ndev_rcu(req->sgid_attr);
	if (IS_ERR(ndev))
		ndev = NULL;
	dev_hold(ndev);		/* put by who has the arrival */
	rcu_read_unlock();
	return ndev;
}

/*
 * The network device that the request came to: that of the GID it was sent to.
 * On InfiniBand IPoIB says which of its devices has the address.
 */
static struct net_device *request_ndev(struct ib_device *ibdev, const struct rca_tp_request *req,
				       const union rca_addr *local)
{
	struct net_device *ndev;

	ndev = rdma_protocol_ib(ibdev, req->port_num) ? rca_req_ib_ndev(ibdev, req, local) :
							roce_ndev(req);
	if (!ndev || READ_ONCE(ndev->flags) & IFF_UP)
		return ndev;
	dev_put(ndev);
	return NULL;
}

/*
 * An interface that comes up receives before it has the routes of its
 * addresses. A peer that asks in that moment is not rejected; it asks again.
 */
static bool route_is_coming(struct net_device *ndev, __be32 peer)
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
 * Would we answer @peer through @ndev? -EHOSTUNREACH: no, the request is for
 * somebody else; -ENOMEM: not yet.
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
	if (ret == -ENETUNREACH && route_is_coming(ndev, peer))
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

static bool listens_for(struct rca_id *id, struct net_device *ndev, const union rca_addr *local)
{
	const union rca_addr *addr = &id->local;

	if (!net_eq(id->net, dev_net(ndev)))
		return false;
	/* Whoever listens on GIDs gets requests as those, where there are some. */
	if (addr->sa.sa_family == AF_IB && ndev->type == ARPHRD_INFINIBAND)
		return false;
	if (rca_addr_is_any(addr) || rca_addr_is_loopback(addr))
		return !id->opts->bind->afonly || addr->sa.sa_family == local->sa.sa_family;
	return rca_addr_same_ip(addr, local);
}

/* The listener with a reference; NULL: there is none. */
static struct rca_id *find_listener(struct rca_demux *demux, struct net_device *ndev,
				    const union rca_addr *local)
{
	struct rca_id *id = NULL;
	struct rca_slot *slot;

	rcu_read_lock();
	list_for_each_entry_rcu(slot, &demux->slots, node) {
		if (listens_for(slot->id, ndev, local) && rca_obj_tryget(&slot->id->obj)) {
			id = slot->id;
			break;
		}
	}
	rcu_read_unlock();
	return id;
}

/* Likewise, for a request over GIDs. */
static struct rca_id *find_ib_listener(struct rca_demux *demux, const struct rca_tp_request *req)
{
	struct rca_id *id = NULL;
	struct rca_slot *slot;

	rcu_read_lock();
	list_for_each_entry_rcu(slot, &demux->slots, node) {
		if (rca_req_ib_listens(slot->id, demux->dev->ibdev, req) &&
		    rca_obj_tryget(&slot->id->obj)) {
			id = slot->id;
			break;
		}
	}
	rcu_read_unlock();
	return id;
}

/* Read the header, and find the listener behind its addresses. */
static struct rca_id *arrive_ip(struct rca_demux *demux, const struct rca_tp_request *req,
				struct rca_req_dest *at)
{
	struct rca_id *listener;
	int ret;

	ret = rca_wire_get_hdr(req->conn.private_data, req->conn.private_data_len,
			       rca_wire_sid_port(req->service_id), &at->peer, &at->local);
	if (ret)
		return ERR_PTR(ret);
	at->ndev = request_ndev(demux->dev->ibdev, req, &at->local);
	if (!at->ndev)
		return ERR_PTR(-ENODEV);
	if (rca_addr_is_linklocal(&at->local))
		at->local.in6.sin6_scope_id = at->ndev->ifindex;
	if (rca_addr_is_linklocal(&at->peer))
		at->peer.in6.sin6_scope_id = at->ndev->ifindex;
	listener = find_listener(demux, at->ndev, &at->local);
	ret = reachable(at->ndev, &at->peer, &at->local);
	if (!ret)
		return listener ?: ERR_PTR(-ECONNREFUSED);
	if (listener) {
		/* A route that is coming is no failure. */
		if (ret == -EHOSTUNREACH)
			rca_id_report_refused(listener, &at->peer, ret);
		rca_id_put(listener);
	}
	return ERR_PTR(ret);
}

/**
 * rca_req_route() - where has a request come to, and who listens there?
 * @demux: the demux of its service ID
 * @req: the request; not over TCP
 * @at: filled in as far as it is known, also on error; the caller puts &rca_req_dest.ndev
 *
 * What has no address of ours is for whoever listens on GIDs: the private data
 * of such a request may be anything, what looks like a header included.
 *
 * Context: Process context, callback of a transport. Takes and releases RCU, and the lock of a
 * listener that is told of a request it does not get.
 * Return: the listener with a reference, or an ERR_PTR(): why there is none.
 */
struct rca_id *rca_req_route(struct rca_demux *demux, const struct rca_tp_request *req,
			     struct rca_req_dest *at)
{
	struct rca_id *listener = arrive_ip(demux, req, at), *other;

	if (!IS_ERR(listener) || at->ndev)
		return listener;
	other = find_ib_listener(demux, req);
	if (!other)
		return listener;
	rca_req_ib_addrs(other, req, &at->local, &at->peer);
	return other;
}
