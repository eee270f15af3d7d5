// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * Connection requests that come in. The transport has found the service ID, and
 * req_route.c who listens behind it; here the id of the connection is built. The
 * return value is the verdict.
 *
 * Locking: the listener's state lock to post the event. Runs in a callback of the
 * transport.
 */
#include "listen/req_handler.h"

#include <kunit/visibility.h>
#include <linux/if_arp.h>
#include <linux/memcontrol.h>
#include <linux/netdevice.h>
#include <linux/sched/mm.h>
#include <linux/slab.h>
#include <rdma/ib_addr.h>
#include <rdma/ib_cache.h>
#include <rdma/rdma_user_cm.h>

#include "listen/req_route.h"
#include "listen/demux.h"
#include "device/devices.h"
#include "ip/iwport.h"
#include "resolve/qp_attr.h"
#include "listen/req_ib.h"
#include "lib/timing.h"
#include "lib/trace.h"
#include "lib/wire.h"

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

static struct sa_path_rec *copy_path(const struct sa_path_rec *path)
{
	return path ? kmemdup(path, sizeof(*path), RCA_GFP_CALLBACK) : NULL;
}

/* Users of RDMA_PS_IPOIB expect an IPoIB interface, see rca_qkey(). */
static bool fits_port_space(const struct rca_id *listener, const struct rca_req_dest *at)
{
	return listener->ps != RDMA_PS_IPOIB || (at->ndev && at->ndev->type == ARPHRD_INFINIBAND);
}

/* Our GID of the request, with a reference. */
static const struct ib_gid_attr *place(struct rca_id *child, struct rca_id *listener,
				       struct ib_device *ibdev, const struct rca_tp_request *req,
				       const struct rca_req_dest *at)
{
	if (rdma_protocol_ib(ibdev, req->port_num))
		return rca_req_ib_attach(child, listener, ibdev, req, at->ndev);
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
				  const struct rca_tp_request *req, const struct rca_req_dest *at)
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
	child->repeat = rca_timing_repeat(req->repeat_ms);
	ret = -ENOMEM;
	child->setup->path = copy_path(req->path);
	child->setup->alt_path = copy_path(req->alt_path);
	if ((req->path && !child->setup->path) || (req->alt_path && !child->setup->alt_path))
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
	rca_id_free_unpublished(child);
	return ERR_PTR(ret);
}

static struct rca_event *build_event(struct rca_id *listener, struct rca_id *child, void *lower,
				     const struct rca_tp_request *req)
{
	struct rca_event *ev = rca_event_alloc(listener->obj.ctx, RCA_GFP_CALLBACK);
	struct rca_tp_conn user = req->conn;

	if (IS_ERR(ev))
		return ev;
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
	ev->credit = &listener->opts->waiting;
	ev->is_request = true;
	return ev;
}

/*
 * A place in the backlog of the listener, and among the requests of its context and user.
 * -ENOBUFS: that of the listener is full; -EDQUOT: it is one of their limits.
 */
static int take_place(struct rca_id *listener)
{
	struct rca_account *account = &listener->obj.ctx->account;
	struct rca_opts *opts = listener->opts;
	bool fits = atomic_inc_return(&opts->waiting) <= opts->backlog;
	int ret;

	/* User space may have taken requests from the ring since we looked last. */
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
	if (ret)
		atomic_dec(&opts->waiting);
	return ret;
}

static void return_place(struct rca_id *listener)
{
	rca_uncharge(&listener->obj.ctx->account, RDMA_CM_ALT_RESOURCE_REQUESTS, 1);
	atomic_dec(&listener->opts->waiting);
}

/* Build the child and give its event to the listener. */
static int take_request(struct rca_id *listener, struct rca_demux *demux, void *lower,
			const struct rca_tp_request *req, const struct rca_req_dest *at)
{
	struct rca_event *ev;
	struct rca_id *child;
	unsigned long flags;
	int ret;

	if (req->conn.qp_type != listener->qp_type)
		return -EINVAL;
	ret = take_place(listener);
	if (ret)
		return ret;
	child = build_child(listener, demux, req, at);
	if (IS_ERR(child)) {
		ret = PTR_ERR(child);
		goto err_return_place;
	}
	ev = build_event(listener, child, lower, req);
	if (IS_ERR(ev)) {
		ret = PTR_ERR(ev);
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
	ev->is_request = false;
	rca_event_free(ev);
err_abandon_child:
	rca_id_free_unpublished(child);
err_return_place:
	return_place(listener);
	return ret;
}

/* No room: say nothing, the peer asks again. */
static int verdict(const struct rca_demux *demux, u32 port_num, int ret)
{
	if (ret)
		rca_stats_refused(rca_device_stats(demux->dev, port_num));
	return ret == -EDQUOT || ret == -ENOBUFS ? -ENOMEM : ret;
}

static int take_charged(struct rca_id *listener, struct rca_demux *demux, void *lower,
			const struct rca_tp_request *req, const struct rca_req_dest *at)
{
	struct mem_cgroup *memcg = set_active_memcg(listener->obj.ctx->memcg);
	int ret = take_request(listener, demux, lower, req, at);

	set_active_memcg(memcg);
	if (ret)
		rca_id_report_refused(listener, &at->peer, ret);
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
	struct rca_req_dest at = { .local = *in->local, .peer = *in->peer };
	struct rca_id *listener = only_listener(demux);
	struct rca_tp_request req = *in;
	int ret;

	if (!listener)
		return -ECONNREFUSED;
	ret = find_port(listener, demux->dev->ibdev, &req);
	if (!ret) {
		ret = take_charged(listener, demux, lower, &req, &at);
		rdma_put_gid_attr(req.sgid_attr);
	} else {
		rca_id_report_refused(listener, &at.peer, ret);
	}
	rca_id_put(listener);
	trace_rca_request(&at.peer.sa, &at.local.sa, demux->service_id, ret);
	return verdict(demux, req.port_num, ret);
}

/**
 * rca_req_handler() - a connection request came in
 * @_demux: the demux of its service ID
 * @lower: the transport's id for the connection
 * @req: the request
 *
 * Context: Process context, callback of a transport. May sleep.
 * Return: 0: @lower has an owner; -ENOMEM: drop the request silently;
 * another errno: reject it. @lower is the transport's then.
 */
int rca_req_handler(void *_demux, void *lower, const struct rca_tp_request *req)
{
	struct rca_demux *demux = _demux;
	struct rca_req_dest at = {};
	struct rca_id *listener;
	int ret;

	if (demux->dev->tp->over_tcp)
		return tcp_request(demux, lower, req);
	listener = rca_req_route(demux, req, &at);
	ret = PTR_ERR_OR_ZERO(listener);
	if (!ret) {
		ret = take_charged(listener, demux, lower, req, &at);
		rca_id_put(listener);
	}
	trace_rca_request(&at.peer.sa, &at.local.sa, req->service_id, ret);
	dev_put(at.ndev);
	return verdict(demux, req->port_num, ret);
}
EXPORT_SYMBOL_IF_KUNIT(rca_req_handler);
