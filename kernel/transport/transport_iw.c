// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * The transport over iw_cm: translates calls and events. Connects, which may block,
 * are in transport_iw_connect.c.
 *
 * Locking: &iw_lower.lock, not held over a callback: destroy() waits until those that run have
 * returned. iw_cm calls back from one ordered workqueue, which all of its users share: no callback
 * may wait, not even for a thread that has just marked its lower cm_id as destroyed.
 */
#include "transport/transport_iw.h"

#include <linux/etherdevice.h>
#include <linux/sched/mm.h>
#include <linux/slab.h>
#include <linux/spinlock.h>
#include <linux/wait_bit.h>
#include <net/ipv6.h>

#include "ip/netns.h"
#include "lib/sockaddr.h"
#include "transport/qp_owner.h"
#include "transport/transport_iw_connect.h"

/* In the callback of a request, as over ib_cm: see RCA_GFP_CALLBACK. */
#define GFP_REQUEST (GFP_NOWAIT | __GFP_ACCOUNT | __GFP_NOWARN)

static const struct rca_tp_upcalls *callbacks;

/* The stock rdma_cm reports these two errnos as a reject. */
static enum rca_input reply_input(int status)
{
	switch (status) {
	case 0:
		return RCA_IN_UP;
	case -ECONNRESET:
	case -ECONNREFUSED:
		return RCA_IN_REJ;
	case -ETIMEDOUT:
		return RCA_IN_REQ_TIMEOUT;
	default:
		return RCA_IN_ERROR;
	}
}

static void get_conn(struct rca_tp_conn *conn, const struct iw_cm_event *event)
{
	/* iw_cm reports depths from our view, and only with an established connection. */
	if (!event->status) {
		conn->responder_resources = event->ird;
		conn->initiator_depth = event->ord;
	}
	conn->private_data = event->private_data;
	conn->private_data_len = event->private_data_len;
	conn->qp_type = IB_QPT_RC;
}

/* False: the event is ignored. */
static bool get_event(struct rca_tp_event *out, const struct iw_cm_event *event)
{
	switch (event->event) {
	case IW_CM_EVENT_CONNECT_REPLY:
		out->input = reply_input(event->status);
		out->status = event->status;
		break;
	case IW_CM_EVENT_ESTABLISHED:
		out->input = event->status ? RCA_IN_ERROR : RCA_IN_UP;
		out->status = event->status;
		break;
	case IW_CM_EVENT_CLOSE:
		out->input = RCA_IN_DOWN;
		return true;
	default:
		return false;
	}
	out->has_conn = true;
	get_conn(&out->conn, event);
	return true;
}

/* iw_cm callback of a connection. It returns 0: iw_cm must not destroy the cm_id. */
static int iw_conn_handler(struct iw_cm_id *cm_id, struct iw_cm_event *event)
{
	struct iw_lower *lower = cm_id->context;
	struct rca_tp_event out = {};
	void *owner;

	if (!get_event(&out, event))
		return 0;
	if (event->event != IW_CM_EVENT_CLOSE)
		WRITE_ONCE(lower->pending, false);	/* pairs with iw_destroy() */
	spin_lock(&lower->lock);
	owner = lower->owner;
	if (owner)
		lower->callbacks++;
	spin_unlock(&lower->lock);
	if (!owner)
		return 0;
	callbacks->event(owner, lower, &out);
	spin_lock(&lower->lock);
	lower->callbacks--;
	wake_up_var(&lower->callbacks);
	spin_unlock(&lower->lock);
	return 0;
}

/* IPv6 sockets report IPv4 peers by v4-mapped addresses. */
static bool get_addr(union rca_addr *out, const struct sockaddr_storage *in)
{
	memset(out, 0, sizeof(*out));
	if (in->ss_family == AF_INET) {
		out->in = *(const struct sockaddr_in *)in;
		return true;
	}
	if (in->ss_family != AF_INET6)
		return false;
	out->in6 = *(const struct sockaddr_in6 *)in;
	if (ipv6_addr_v4mapped(&out->in6.sin6_addr)) {
		__be32 ip = out->in6.sin6_addr.s6_addr32[3];
		__be16 port = out->in6.sin6_port;

		memset(out, 0, sizeof(*out));
		out->in.sin_family = AF_INET;
		out->in.sin_addr.s_addr = ip;
		out->in.sin_port = port;
	}
	return true;
}

/*
 * iw_cm callback of a listening cm_id. The lower cm_id must not be used after the request
 * was accepted, as its owner may destroy it at once. iw_cm rejects a request that is not
 * accepted, whatever the errno: a TCP connection cannot be dropped silently.
 */
static int iw_listen_handler(struct iw_cm_id *cm_id, struct iw_cm_event *event)
{
	void *demux = cm_id->context;
	struct rca_tp_request req = { .tp = &rca_tp_iw };
	union rca_addr local, peer;
	struct iw_lower *lower;
	int ret;

	if (event->event != IW_CM_EVENT_CONNECT_REQUEST)
		return -EINVAL;
	if (!get_addr(&local, &event->local_addr) || !get_addr(&peer, &event->remote_addr))
		return -EAFNOSUPPORT;
	lower = rca_iw_lower_alloc(cm_id->device, NULL, GFP_REQUEST);
	if (IS_ERR(lower))
		return PTR_ERR(lower);
	lower->cm_id = cm_id;
	cm_id->context = lower;
	cm_id->cm_handler = iw_conn_handler;
	req.local = &local;
	req.peer = &peer;
	get_conn(&req.conn, event);
	ret = callbacks->request(demux, lower, &req);
	if (ret) {
		cm_id->context = demux;
		rca_iw_lower_free(lower);
	}
	return ret;
}

static void *iw_create(struct ib_device *dev, void *owner)
{
	struct iw_lower *lower = rca_iw_lower_alloc(dev, owner, GFP_KERNEL_ACCOUNT);
	struct iw_cm_id *cm_id;

	if (IS_ERR(lower))
		return lower;
	cm_id = iw_create_cm_id(dev, iw_conn_handler, lower);
	if (IS_ERR(cm_id)) {
		rca_iw_lower_free(lower);
		return cm_id;
	}
	lower->cm_id = cm_id;
	return lower;
}

static bool has_callbacks(struct iw_lower *lower)
{
	bool some;

	spin_lock(&lower->lock);
	some = lower->callbacks;
	spin_unlock(&lower->lock);
	return some;
}

static void iw_destroy(void *_lower)
{
	struct iw_lower *lower = _lower;

	spin_lock(&lower->lock);
	lower->owner = NULL;
	spin_unlock(&lower->lock);
	wait_var_event(&lower->callbacks, !has_callbacks(lower));
	rca_iw_lower_destroy(lower);
}

/* Called with the state lock of the listener held. iw_cm reports no event before accept. */
static void iw_set_owner(void *_lower, void *owner)
{
	struct iw_lower *lower = _lower;

	spin_lock(&lower->lock);
	lower->owner = owner;
	spin_unlock(&lower->lock);
}

/* Fill in an address for iw_cm. */
static void put_addr(struct sockaddr_storage *out, const union rca_addr *in)
{
	memcpy(out, in, in->sa.sa_family == AF_INET ? sizeof(in->in) : sizeof(in->in6));
}

static void *iw_listen(struct ib_device *dev, const struct rca_tp_listen *req, void *demux)
{
	struct iw_cm_id *cm_id = iw_create_cm_id(dev, iw_listen_handler, demux);
	struct mem_cgroup *old_memcg;
	struct rca_netns visit;
	int ret;

	if (IS_ERR(cm_id))
		return cm_id;
	put_addr(&cm_id->local_addr, req->local);
	cm_id->tos = req->tos;
	cm_id->tos_set = req->tos;
	cm_id->afonly = req->afonly;
	rca_netns_enter(&visit, req->net);
	/* The driver may wait for memory, and others wait for this: no memory cgroup is charged. */
	old_memcg = set_active_memcg(NULL);
	ret = iw_cm_listen(cm_id, req->backlog);
	set_active_memcg(old_memcg);
	rca_netns_leave(&visit);
	if (ret) {
		iw_destroy_cm_id(cm_id);
		return ERR_PTR(ret == -EADDRINUSE ? -EBUSY : ret);
	}
	return cm_id;
}

static void iw_unlisten(void *listen)
{
	iw_destroy_cm_id(listen);
}

static int iw_connect(void *_lower, const struct rca_tp_req *req)
{
	struct iw_lower *lower = _lower;

	put_addr(&lower->cm_id->local_addr, req->local);
	put_addr(&lower->cm_id->remote_addr, req->dst);
	lower->cm_id->tos = req->tos;
	lower->cm_id->tos_set = req->tos;
	return rca_iw_connect(lower, &req->conn, req->net);
}

static int iw_reply(void *_lower, const struct rca_tp_conn *conn)
{
	struct iw_lower *lower = _lower;
	struct iw_cm_conn_param param = {
		.private_data = conn->private_data,
		.private_data_len = conn->private_data_len,
		.ord = conn->initiator_depth,
		.ird = conn->responder_resources,
		.qpn = conn->qp_num,
	};
	struct ib_qp *qp = rca_qp_owner_hold_iw(lower->dev, conn->qp_num);
	int ret;

	if (IS_ERR(qp))
		return PTR_ERR(qp);
	WRITE_ONCE(lower->pending, true);	/* until iw_conn_handler() */
	ret = iw_cm_accept(lower->cm_id, &param);
	if (ret)
		WRITE_ONCE(lower->pending, false);
	rca_qp_owner_release_iw(lower->dev, qp);
	return ret;
}

/* TCP connections are established without a ready-to-use. */
static int iw_send_rtu(void *lower, const void *data, u8 len)
{
	return -EINVAL;
}

static int iw_reject(void *_lower, int reason, const void *data, u8 len)
{
	struct iw_lower *lower = _lower;

	return iw_cm_reject(lower->cm_id, data, len);
}

static int iw_disconnect(void *_lower)
{
	struct iw_lower *lower = _lower;

	return iw_cm_disconnect(lower->cm_id, 0);
}

static int iw_qp_attr(void *_lower, struct ib_qp_attr *attr, int *mask)
{
	struct iw_lower *lower = _lower;

	return iw_cm_init_qp_attr(lower->cm_id, attr, mask);
}

static int iw_sidr_request(void *lower, const struct rca_tp_req *req)
{
	return -EOPNOTSUPP;
}

static int iw_sidr_reply(void *lower, int status, const struct rca_tp_conn *conn)
{
	return -EOPNOTSUPP;
}

static int iw_ah_attr(struct ib_device *dev, u32 port_num, struct sa_path_rec *path,
		      const struct ib_gid_attr *sgid_attr, struct ib_uverbs_ah_attr *out)
{
	return -EOPNOTSUPP;
}

static void *iw_join(struct ib_device *dev, const struct rca_tp_join *req, void *member)
{
	return ERR_PTR(-EOPNOTSUPP);
}

static void iw_leave(void *group)
{
}

const struct rca_tp_ops rca_tp_iw = {
	.name = "iw_cm",
	.over_tcp = true,
	.long_private = true,
	.create = iw_create,
	.destroy = iw_destroy,
	.set_owner = iw_set_owner,
	.listen = iw_listen,
	.unlisten = iw_unlisten,
	.connect = iw_connect,
	.finish = rca_iw_finish,
	.when_finished = rca_iw_when_finished,
	.reply = iw_reply,
	.send_rtu = iw_send_rtu,
	.reject = iw_reject,
	.disconnect = iw_disconnect,
	.check_qp = rca_qp_owner_check,
	.qp_attr = iw_qp_attr,
	.sidr_request = iw_sidr_request,
	.sidr_reply = iw_sidr_reply,
	.ah_attr = iw_ah_attr,
	.join = iw_join,
	.leave = iw_leave,
};

/* Sets the callbacks of the transport, before any other use. */
void rca_tp_iw_init(const struct rca_tp_upcalls *upcalls)
{
	callbacks = upcalls;
}
