// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * Connection requests that come in. The transport has found the service ID;
 * here the listener is found behind it, by network namespace and address, and
 * the id of the connection is built. The return value is the verdict.
 *
 * Locking: RCU to find the listener; the listener's state lock to post the
 * event. Runs in a callback of the transport.
 */
#include "request.h"

#include <kunit/visibility.h>
#include <linux/if_arp.h>
#include <linux/inetdevice.h>
#include <linux/memcontrol.h>
#include <linux/netdevice.h>
#include <linux/sched/mm.h>
#include <linux/slab.h>
#include <net/ip6_route.h>
#include <net/ip_fib.h>
#include <net/ipv6.h>
#include <rdma/ib_addr.h>
#include <rdma/ib_cache.h>
#include <rdma/rdma_user_cm.h>

#include "cmid.h"
#include "demux.h"
#include "devices.h"
#include "iwport.h"
#include "qpattr.h"
#include "request_ib.h"
#include "trace.h"
#include "wire.h"

/**
 * struct arrival - where a request has come to
 * @local: the address that it asks for
 * @peer: the address of the peer
 * @ndev: the network device (holds a reference); NULL: it names none
 */
struct arrival {
	union rca_addr local;
	union rca_addr peer;
	struct net_device *ndev;
};

static struct net_device *roce_ndev(const struct rca_tp_request *req)
{
	struct net_device *ndev;

	if (!req->sgid_attr)
		return NULL;
	rcu_read_lock();
	ndev = rdma_read_gid_attr_ndev_rcu(req->sgid_attr);
	if (IS_ERR(ndev))
		ndev = NULL;
	dev_hold(ndev);		/* put in rca_request() */
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

	ndev = rdma_protocol_ib(ibdev, req->port_num) ? rca_request_ib_ndev(ibdev, req, local) :
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
		return !id->bind.afonly || addr->sa.sa_family == local->sa.sa_family;
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
		if (rca_request_ib_listens(slot->id, demux->dev->ibdev, req) &&
		    rca_obj_tryget(&slot->id->obj)) {
			id = slot->id;
			break;
		}
	}
	rcu_read_unlock();
	return id;
}

/* Over TCP the demux has one listener: with a reference; NULL: it just starts or stops. */
static struct rca_id *only_listener(struct rca_demux *demux)
{
	struct rca_id *id = NULL;
	struct rca_slot *slot;

	rcu_read_lock();
	slot = list_first_or_null_rcu(&demux->slots, struct rca_slot, node);
	if (slot && rca_obj_tryget(&slot->id->obj))
		id = slot->id;
	rcu_read_unlock();
	return id;
}

/* Read the header, and find the listener behind its addresses. */
static struct rca_id *arrive_ip(struct rca_demux *demux, const struct rca_tp_request *req,
				struct arrival *at)
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
	ret = reachable(at->ndev, &at->peer, &at->local);
	if (ret)
		return ERR_PTR(ret);
	if (rca_addr_is_linklocal(&at->local))
		at->local.in6.sin6_scope_id = at->ndev->ifindex;
	if (rca_addr_is_linklocal(&at->peer))
		at->peer.in6.sin6_scope_id = at->ndev->ifindex;
	listener = find_listener(demux, at->ndev, &at->local);
	return listener ?: ERR_PTR(-ECONNREFUSED);
}

/*
 * What has no address of ours is for whoever listens on GIDs: the private data
 * of such a request may be anything, what looks like a header included.
 */
static struct rca_id *arrive(struct rca_demux *demux, const struct rca_tp_request *req,
			     struct arrival *at)
{
	struct rca_id *listener = arrive_ip(demux, req, at), *other;

	if (!IS_ERR(listener) || at->ndev)
		return listener;
	other = find_ib_listener(demux, req);
	if (!other)
		return listener;
	rca_request_ib_addrs(other, req, &at->local, &at->peer);
	return other;
}

static struct sa_path_rec *copy_path(const struct sa_path_rec *path)
{
	return path ? kmemdup(path, sizeof(*path), RCA_GFP_CALLBACK) : NULL;
}

/* Users of RDMA_PS_IPOIB expect an IPoIB interface, see rca_qkey(). */
static bool fits_port_space(const struct rca_id *listener, const struct arrival *at)
{
	return listener->ps != RDMA_PS_IPOIB || (at->ndev && at->ndev->type == ARPHRD_INFINIBAND);
}

/* Our GID of the request, with a reference. */
static const struct ib_gid_attr *place(struct rca_id *child, struct rca_id *listener,
				       struct ib_device *ibdev, const struct rca_tp_request *req,
				       const struct arrival *at)
{
	if (rdma_protocol_ib(ibdev, req->port_num))
		return rca_request_ib_place(child, listener, ibdev, req, at->ndev);
	rdma_hold_gid_attr(req->sgid_attr);
	return req->sgid_attr;
}

/* The network device that a request over RoCE came to, as it is now. */
static void keep_link(struct rca_id *child)
{
	struct net_device *ndev;

	rcu_read_lock();
	ndev = rdma_read_gid_attr_ndev_rcu(child->sgid_attr);
	if (!IS_ERR(ndev)) {
		child->link.ifindex = ndev->ifindex;
		memcpy(child->link.smac, ndev->dev_addr, ETH_ALEN);
	}
	rcu_read_unlock();
}

/* The id of the connection, complete but for its lower id. */
static struct rca_id *build_child(struct rca_id *listener, struct rca_demux *demux,
				  const struct rca_tp_request *req, const struct arrival *at)
{
	const struct ib_gid_attr *sgid_attr;
	struct rca_id *child;
	int ret;

	if (!fits_port_space(listener, at))
		return ERR_PTR(-EINVAL);
	child = rca_id_create_child(listener);
	if (IS_ERR(child))
		return child;
	child->local = at->local;
	child->dst = at->peer;
	ret = -ENOMEM;
	child->path = copy_path(req->path);
	child->alt_path = copy_path(req->alt_path);
	if ((req->path && !child->path) || (req->alt_path && !child->alt_path))
		goto err_abandon;
	sgid_attr = place(child, listener, demux->dev->ibdev, req, at);
	if (IS_ERR(sgid_attr)) {
		ret = PTR_ERR(sgid_attr);
		goto err_abandon;
	}
	/* The GID is put in rca_id_detach(). */
	ret = rca_id_attach(child, demux->dev, req->port_num, sgid_attr);
	if (ret) {
		rdma_put_gid_attr(sgid_attr);
		goto err_abandon;
	}
	if (!child->link.ib)
		keep_link(child);
	rca_id_watch_netdev(child);
	return child;

err_abandon:
	rca_id_abandon(child);
	return ERR_PTR(ret);
}

static struct rca_event *build_event(struct rca_id *listener, struct rca_id *child, void *lower,
				     const struct rca_tp_request *req)
{
	struct rca_event *ev = rca_event_alloc(RCA_GFP_CALLBACK);
	struct rca_tp_conn user = req->conn;

	if (!ev)
		return NULL;
	if (!child->dev->tp->over_tcp && child->local.sa.sa_family != AF_IB) {
		user.private_data += RCA_WIRE_HDR_LEN;
		user.private_data_len -= RCA_WIRE_HDR_LEN;
	}
	if (user.qp_type == IB_QPT_UD)
		rca_event_set_ud(ev, &user);
	else
		rca_event_set_conn(ev, &user);
	ev->rec.id = child->obj.handle;
	ev->rec.listen_id = listener->obj.handle;
	ev->rec.flags |= RDMA_CM_ALT_EVENT_F_ROUTE;
	rca_id_fill_route_locked(child, &ev->rec.route);
	if (rca_qp_attr_fill(child, lower, &ev->rec.qp))
		ev->rec.flags |= RDMA_CM_ALT_EVENT_F_QP;
	ev->child = &child->obj;
	ev->child_src = &child->src;
	ev->credit = &listener->waiting;
	return ev;
}

/* Build the child and give its event to the listener. */
static int take_request(struct rca_id *listener, struct rca_demux *demux, void *lower,
			const struct rca_tp_request *req, const struct arrival *at)
{
	struct rca_event *ev;
	struct rca_id *child;
	unsigned long flags;
	int ret;

	if (req->conn.qp_type != listener->qp_type)
		return -EINVAL;
	/* No room: say nothing, the peer asks again. */
	if (atomic_inc_return(&listener->waiting) > listener->backlog) {
		ret = -ENOMEM;
		goto err_return_credit;
	}
	child = build_child(listener, demux, req, at);
	if (IS_ERR(child)) {
		ret = PTR_ERR(child);
		goto err_return_credit;
	}
	ev = build_event(listener, child, lower, req);
	if (!ev) {
		ret = -ENOMEM;
		goto err_abandon_child;
	}

	spin_lock_irqsave(&listener->lock, flags);
	if (listener->state != RCA_ST_LISTEN || !listener->src.queue) {
		spin_unlock_irqrestore(&listener->lock, flags);
		ret = -ECONNABORTED;
		goto err_free_event;
	}
	child->lower = lower;
	demux->dev->tp->set_owner(lower, child);
	rca_id_post_locked(listener, ev, RDMA_CM_ALT_EVENT_CONNECT_REQUEST, 0);
	spin_unlock_irqrestore(&listener->lock, flags);
	return 0;

err_free_event:
	ev->child = NULL;
	ev->credit = NULL;
	rca_event_free(ev);
err_abandon_child:
	rca_id_abandon(child);
err_return_credit:
	atomic_dec(&listener->waiting);
	return ret;
}

static int take_charged(struct rca_id *listener, struct rca_demux *demux, void *lower,
			const struct rca_tp_request *req, const struct arrival *at)
{
	struct mem_cgroup *memcg = set_active_memcg(listener->obj.ctx->memcg);
	int ret = take_request(listener, demux, lower, req, at);

	set_active_memcg(memcg);
	return ret;
}

/*
 * The port of the device that has the local address. TCP was answered, so the
 * peer is reachable, and iw_cm has found who listens.
 */
static int find_port(struct rca_id *listener, struct ib_device *ibdev, struct rca_tp_request *req)
{
	struct rdma_dev_addr addr = { .net = listener->net };
	const struct ib_gid_attr *attr;
	u32 port;
	int ret;

	if (rca_addr_is_linklocal(req->local))
		addr.bound_dev_if = rca_addr_scope(req->local);
	ret = rdma_translate_ip(&req->local->sa, &addr);
	if (ret)
		return ret;
	rdma_for_each_port(ibdev, port) {
		attr = rca_iwport_find(ibdev, port, listener->net, addr.bound_dev_if);
		if (IS_ERR(attr))
			continue;
		req->port_num = port;
		req->sgid_attr = attr;
		return 0;
	}
	return -ENODEV;
}

static int tcp_request(struct rca_demux *demux, void *lower, const struct rca_tp_request *in)
{
	struct arrival at = { .local = *in->local, .peer = *in->peer };
	struct rca_id *listener = only_listener(demux);
	struct rca_tp_request req = *in;
	int ret;

	if (!listener)
		return -ECONNREFUSED;
	ret = find_port(listener, demux->dev->ibdev, &req);
	if (!ret) {
		ret = take_charged(listener, demux, lower, &req, &at);
		rdma_put_gid_attr(req.sgid_attr);
	}
	rca_id_put(listener);
	trace_rca_request(&at.peer.sa, &at.local.sa, demux->service_id, ret);
	return ret;
}

/**
 * rca_request() - a connection request came in
 * @_demux: the demux of its service ID
 * @lower: the transport's id for the connection
 * @req: the request
 *
 * Context: Process context, callback of a transport. May sleep.
 * Return: 0: @lower has an owner; -ENOMEM: drop the request silently;
 * another errno: reject it. @lower is the transport's then.
 */
int rca_request(void *_demux, void *lower, const struct rca_tp_request *req)
{
	struct rca_demux *demux = _demux;
	struct arrival at = {};
	struct rca_id *listener;
	int ret;

	if (demux->dev->tp->over_tcp)
		return tcp_request(demux, lower, req);
	listener = arrive(demux, req, &at);
	ret = PTR_ERR_OR_ZERO(listener);
	if (!ret) {
		ret = take_charged(listener, demux, lower, req, &at);
		rca_id_put(listener);
	}
	trace_rca_request(&at.peer.sa, &at.local.sa, req->service_id, ret);
	dev_put(at.ndev);
	return ret;
}
EXPORT_SYMBOL_IF_KUNIT(rca_request);
