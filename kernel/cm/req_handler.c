// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * Connection requests. req_route.c finds the listener; this file takes a place in its
 * backlog, builds the id of the connection (the child) and posts the event.
 *
 * Locking: the listener's state lock to post the event. Runs in a callback of the
 * transport.
 */
#include "cm/req_handler.h"

#include <linux/if_arp.h>
#include <linux/memcontrol.h>
#include <linux/netdevice.h>
#include <linux/sched/mm.h>
#include <linux/string.h>
#include <rdma/ib_cache.h>
#include <rdma/ib_cm.h>
#include <rdma/rdma_user_cm.h>

#include "cm/addr_ib.h"
#include "cm/demux.h"
#include "cm/qp_attr.h"
#include "cm/req_route.h"
#include "id/peer_qp.h"
#include "lib/timing.h"
#include "lib/trace.h"
#include "lib/wire.h"
#include "transport/devices.h"
#include "trunk/open.h"
#include "trunk/trunk.h"

/* An alternate path comes with a path. Returns false without memory. */
static bool copy_paths(struct rca_setup *setup, const struct rca_tp_request *req)
{
	if (!req->path)
		return true;
	setup->path = *req->path;
	setup->has_path = true;
	if (!req->alt_path)
		return true;
	setup->alt_path = kmemdup(req->alt_path, sizeof(*req->alt_path), RCA_GFP_CALLBACK);
	return setup->alt_path;
}

/* RDMA_PS_IPOIB is for IPoIB interfaces, see rca_qkey(). */
static bool fits_port_space(const struct rca_id *listener, const struct rca_req_dest *dest)
{
	return listener->ps != RDMA_PS_IPOIB ||
	       (dest->ndev && dest->ndev->type == ARPHRD_INFINIBAND);
}

static void set_ib_link(struct rca_id *child, const struct rca_tp_request *req,
			const struct net_device *ndev)
{
	child->link.ib = true;
	child->link.pkey = req->pkey;
	if (ndev)
		rca_addr_ib_keep_ndev(&child->link, ndev);
	if (req->path)
		memcpy(child->link.dgid, req->path->dgid.raw, sizeof(child->link.dgid));
}

/* RoCE and iWARP: the present network device of the GID. */
static void set_ethernet_link(struct rca_id *child, const struct rca_tp_request *req)
{
	struct net_device *ndev;

	if (req->path)
		memcpy(child->link.dgid, req->path->dgid.raw, sizeof(child->link.dgid));
	rcu_read_lock();
	ndev = rdma_read_gid_attr_ndev_rcu(child->sgid_attr);
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
	struct rca_id *child;
	int ret;

	if (!fits_port_space(listener, dest))
		return ERR_PTR(-EINVAL);
	child = rca_id_create_child(listener);
	if (IS_ERR(child))
		return child;
	child->local = dest->local;
	child->dst = dest->peer;
	child->repeat = rca_timing_repeat(req->repeat_ms);
	ret = -ENOMEM;
	if (!copy_paths(child->setup, req))
		goto err_free_child;
	if (rdma_protocol_ib(demux->dev->ibdev, dest->port_num))
		set_ib_link(child, req, dest->ndev);
	rdma_hold_gid_attr(dest->sgid_attr);	/* put in rca_id_detach() */
	ret = rca_id_attach(child, demux->dev, dest->port_num, dest->sgid_attr);
	if (ret) {
		rdma_put_gid_attr(dest->sgid_attr);
		goto err_free_child;
	}
	child->tp = req->tp;
	if (!child->link.ib)
		set_ethernet_link(child, req);
	rca_id_watch_netdev(child);
	return child;

err_free_child:
	rca_id_free_unpublished(child);
	return ERR_PTR(ret);
}

static struct rca_event *build_event(struct rca_id *listener, struct rca_id *child, void *lower,
				     const struct rca_tp_request *req)
{
	struct rca_tp_conn user = req->conn;
	struct rca_event *ev;

	if (!child->dev->tp->over_tcp && child->local.sa.sa_family != AF_IB) {
		user.private_data += RCA_WIRE_HDR_LEN;
		user.private_data_len -= RCA_WIRE_HDR_LEN;
	}
	/* A long request over IP for a listener on GIDs, which gets the header, too. */
	if (user.private_data_len > RCA_WIRE_USER_MAX)
		return ERR_PTR(-EMSGSIZE);
	ev = rca_event_alloc(listener->obj.ctx, RCA_GFP_CALLBACK);
	if (IS_ERR(ev))
		return ev;
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
 * Count the request in the backlog of the listener, and among the requests of its context
 * and user. -ENOBUFS: the backlog is full; -EDQUOT: a limit of the context or the user.
 */
static int backlog_get(struct rca_id *listener)
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
	if (ret)
		atomic_dec(&opts->waiting);
	return ret;
}

static void backlog_put(struct rca_id *listener)
{
	rca_uncharge(&listener->obj.ctx->account, RDMA_CM_ALT_RESOURCE_REQUESTS, 1);
	atomic_dec(&listener->opts->waiting);
}

/* Build the child, which takes over what is @borrowed, and post its event to the listener. */
static int build_and_post(struct rca_id *listener, struct rca_demux *demux, void *lower,
			  const struct rca_tp_request *req, const struct rca_req_dest *dest,
			  bool borrowed)
{
	struct rca_event *ev;
	struct rca_id *child;
	int ret;

	if (req->conn.qp_type != listener->qp_type)
		return -EINVAL;
	ret = backlog_get(listener);
	if (ret)
		return ret;
	child = build_child(listener, demux, req, dest);
	if (IS_ERR(child)) {
		ret = PTR_ERR(child);
		goto err_backlog_put;
	}
	ev = build_event(listener, child, lower, req);
	if (IS_ERR(ev)) {
		ret = PTR_ERR(ev);
		goto err_free_child;
	}
	if (rca_trunks_used() && !rca_peer_qp_claim(child, req->ca_guid, req->conn.qp_num)) {
		child->tp->reject(lower, IB_CM_REJ_STALE_CONN, NULL, 0);
		ret = -ESTALE;
		goto err_free_event;
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
	rca_id_post_request_locked(listener, ev);
	spin_unlock_irq(&listener->lock);
	return 0;

err_release_qp:
	rca_peer_qp_release(child);
err_free_event:
	ev->child = NULL;
	ev->credit = NULL;
	ev->is_request = false;
	rca_event_free(ev);
err_free_child:
	rca_id_free_unpublished(child);
err_backlog_put:
	backlog_put(listener);
	return ret;
}

/*
 * The callback must not wait for memory. A memory cgroup that is full of page cache refuses memory
 * to those who do not wait, although it has some: the first requests get theirs from outside.
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
			rca_open_requested(demux->dev, req, dest.sgid_attr);
		rca_id_put(listener);
	}
	trace_rca_request(&dest.peer.sa, &dest.local.sa, demux->service_id, ret);
	if (ret)
		rca_stats_refused(rca_device_stats(demux->dev, dest.port_num));
	rca_req_dest_put(&dest);
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
	struct rca_demux *demux = rca_demux_get(dev, req->service_id);
	int ret;

	if (!demux)
		return -EADDRNOTAVAIL;
	ret = rca_req_handler(demux, lower, req);
	rca_demux_put(demux);
	return ret;
}
