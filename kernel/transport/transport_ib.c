// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * The transport over ib_cm: turns our calls into its, and its events into ours.
 *
 * Locking: none of its own. ib_cm calls back from its workqueue and from those
 * of the MAD layer, which other users share: nothing here waits.
 */
#include "transport/transport_ib.h"

#include <linux/err.h>
#include <linux/slab.h>
#include <rdma/ib_cm.h>
#include <rdma/ib_marshall.h>
#include <rdma/ib_sa.h>

#include "lib/compat.h"
#include "transport/group.h"
#include "transport/group_ib.h"
#include "transport/qp_owner.h"
#include "lib/timing.h"
#include "transport/transport_ib_sidr.h"

static const struct rca_tp_upcalls *above;

static void get_rep(struct rca_tp_event *out, const struct ib_cm_event *event)
{
	const struct ib_cm_rep_event_param *rep = &event->param.rep_rcvd;

	out->input = RCA_IN_REP;
	out->has_conn = true;
	out->conn.qp_num = rep->remote_qpn;
	out->conn.psn = rep->starting_psn;
	/* ib_cm has changed the depths round for the receiver; ours are the sender's. */
	out->conn.responder_resources = rep->initiator_depth;
	out->conn.initiator_depth = rep->responder_resources;
	out->conn.flow_control = rep->flow_control;
	out->conn.rnr_retry_count = rep->rnr_retry_count;
	out->conn.srq = rep->srq;
	out->conn.ece_vendor_id = rep->ece.vendor_id;
	out->conn.ece_attr_mod = rep->ece.attr_mod;
	out->conn.private_data = event->private_data;
	out->conn.private_data_len = IB_CM_REP_PRIVATE_DATA_SIZE;
}

static void get_rej(struct rca_tp_event *out, const struct ib_cm_event *event)
{
	out->input = RCA_IN_REJ;
	out->status = event->param.rej_rcvd.reason;
	out->has_conn = true;
	out->conn.private_data = event->private_data;
	out->conn.private_data_len = IB_CM_REJ_PRIVATE_DATA_SIZE;
}

/* False: an event that means nothing to us. */
static bool get_event(struct rca_tp_event *out, const struct ib_cm_event *event)
{
	switch (event->event) {
	case IB_CM_REQ_ERROR:
	case IB_CM_SIDR_REQ_ERROR:
		out->input = RCA_IN_REQ_TIMEOUT;
		out->status = -ETIMEDOUT;
		return true;
	case IB_CM_REP_ERROR:
		out->input = RCA_IN_REP_TIMEOUT;
		out->status = -ETIMEDOUT;
		return true;
	case IB_CM_REP_RECEIVED:
		get_rep(out, event);
		return true;
	case IB_CM_RTU_RECEIVED:
	case IB_CM_USER_ESTABLISHED:
		out->input = RCA_IN_RTU;
		return true;
	case IB_CM_REJ_RECEIVED:
		get_rej(out, event);
		return true;
	case IB_CM_SIDR_REP_RECEIVED:
		rca_tp_ib_sidr_answered(out, event);
		return true;
	case IB_CM_DREQ_RECEIVED:
		out->input = RCA_IN_DREQ;
		return true;
	case IB_CM_DREP_RECEIVED:
		out->input = RCA_IN_DREP;
		return true;
	case IB_CM_DREQ_ERROR:
		out->input = RCA_IN_DREQ_TIMEOUT;
		out->status = -ETIMEDOUT;
		return true;
	case IB_CM_TIMEWAIT_EXIT:
		out->input = RCA_IN_TIMEWAIT_EXIT;
		return true;
	default:
		return false;
	}
}

/* Events of a lower id. 0: the lower id stays ours. */
static int conn_handler(struct ib_cm_id *cm_id, const struct ib_cm_event *event)
{
	struct rca_tp_event out = {};
	u8 action;

	if (!get_event(&out, event))
		return 0;
	action = above->event(cm_id->context, cm_id, &out);
	/* The peer waits for the answer, not for our application. */
	if (action & RCA_ACT_DREP)
		ib_send_cm_drep(cm_id, NULL, 0);
	return 0;
}

static int connection_requested(struct ib_cm_id *cm_id, const struct ib_cm_event *event)
{
	const struct ib_cm_req_event_param *in = &event->param.req_rcvd;
	struct rca_tp_request req = {};
	int ret;

	req.service_id = in->primary_path->service_id;
	req.port_num = in->port;
	req.path = in->primary_path;
	req.alt_path = in->alternate_path;
	req.sgid_attr = in->ppath_sgid_attr;
	req.pkey = be16_to_cpu(in->primary_path->pkey);
	/* As ib_cm does it, which has its timer from the request. */
	req.repeat_ms = rca_timing_ms(in->remote_cm_response_timeout);
	req.conn.qp_num = in->remote_qpn;
	req.conn.psn = in->starting_psn;
	req.conn.qp_type = in->qp_type;
	/* See get_rep(). */
	req.conn.responder_resources = in->initiator_depth;
	req.conn.initiator_depth = in->responder_resources;
	req.conn.flow_control = in->flow_control;
	req.conn.retry_count = in->retry_count;
	req.conn.rnr_retry_count = in->rnr_retry_count;
	req.conn.srq = in->srq;
	req.conn.ece_vendor_id = in->ece.vendor_id;
	req.conn.ece_attr_mod = in->ece.attr_mod;
	req.conn.private_data = event->private_data;
	req.conn.private_data_len = IB_CM_REQ_PRIVATE_DATA_SIZE;

	ret = above->request(cm_id->context, cm_id, &req);
	if (!ret)
		rca_send_mra(cm_id, true, rca_timing_mra_request());
	return ret;
}

/*
 * Nothing may be done with @cm_id once the request was taken: its owner may
 * destroy it at once, and ib_cm has no reference of it here. What is not taken
 * is refused, whatever the errno: ib_cm knows no silence for these.
 */
static int datagrams_requested(struct ib_cm_id *cm_id, const struct ib_cm_event *event)
{
	struct rca_tp_request req;

	rca_tp_ib_sidr_requested(&req, event);
	return above->request(cm_id->context, cm_id, &req);
}

/* Events of a service ID: the value says what becomes of the new lower id. */
static int listen_handler(struct ib_cm_id *cm_id, const struct ib_cm_event *event)
{
	switch (event->event) {
	case IB_CM_REQ_RECEIVED:
		return connection_requested(cm_id, event);
	case IB_CM_SIDR_REQ_RECEIVED:
		return datagrams_requested(cm_id, event);
	default:
		return -EINVAL;
	}
}

static void *ib_create(struct ib_device *dev, void *owner)
{
	return ib_create_cm_id(dev, conn_handler, owner);
}

static void ib_destroy(void *lower)
{
	ib_destroy_cm_id(lower);
}

static void ib_set_owner(void *lower, void *owner)
{
	struct ib_cm_id *cm_id = lower;

	cm_id->context = owner;
	cm_id->cm_handler = conn_handler;
}

static void *ib_listen(struct ib_device *dev, const struct rca_tp_listen *req, void *demux)
{
	struct ib_cm_id *cm_id = ib_create_cm_id(dev, listen_handler, demux);
	int ret;

	if (IS_ERR(cm_id))
		return cm_id;
	ret = ib_cm_listen(cm_id, req->service_id);
	if (ret) {
		ib_destroy_cm_id(cm_id);
		return ERR_PTR(ret);
	}
	return cm_id;
}

static void ib_unlisten(void *listen)
{
	ib_destroy_cm_id(listen);
}

static int ib_connect(void *lower, const struct rca_tp_req *req)
{
	struct ib_cm_req_param param = {
		.primary_path = req->path,
		.primary_path_inbound = req->path_in,
		.primary_path_outbound = req->path_out,
		.ppath_sgid_attr = req->sgid_attr,
		.service_id = req->service_id,
		.qp_num = req->conn.qp_num,
		.qp_type = req->conn.qp_type,
		.starting_psn = req->conn.psn,
		.private_data = req->conn.private_data,
		.private_data_len = req->conn.private_data_len,
		.responder_resources = req->conn.responder_resources,
		.initiator_depth = req->conn.initiator_depth,
		.remote_cm_response_timeout = req->remote_timeout,
		.local_cm_response_timeout = req->local_timeout,
		.max_cm_retries = req->retries,
		.flow_control = req->conn.flow_control,
		.retry_count = req->conn.retry_count,
		.rnr_retry_count = req->conn.rnr_retry_count,
		.srq = req->conn.srq,
		.ece.vendor_id = req->conn.ece_vendor_id,
		.ece.attr_mod = req->conn.ece_attr_mod,
	};

	return ib_send_cm_req(lower, &param);
}

/* Lengths were checked: ib_cm's id takes no answer any more, as a message has ended it just now. */
static int answered(int ret)
{
	return ret == -EINVAL ? -ECONNRESET : ret;
}

static int ib_reply(void *lower, const struct rca_tp_conn *conn)
{
	struct ib_cm_rep_param param = {
		.qp_num = conn->qp_num,
		.starting_psn = conn->psn,
		.private_data = conn->private_data,
		.private_data_len = conn->private_data_len,
		.responder_resources = conn->responder_resources,
		.initiator_depth = conn->initiator_depth,
		.flow_control = conn->flow_control,
		.rnr_retry_count = conn->rnr_retry_count,
		.srq = conn->srq,
		.ece.vendor_id = conn->ece_vendor_id,
		.ece.attr_mod = conn->ece_attr_mod,
	};

	return answered(ib_send_cm_rep(lower, &param));
}

/* ib_cm repeats it when the peer repeats its reply. */
static int ib_send_mra(void *lower, u8 time)
{
	return rca_send_mra(lower, false, time);
}

static int ib_send_rtu(void *lower)
{
	return answered(ib_send_cm_rtu(lower, NULL, 0));
}

static int ib_reject(void *lower, int reason, const void *data, u8 len)
{
	return ib_send_cm_rej(lower, reason, NULL, 0, data, len);
}

/* ib_cm disconnects what is established for it, and gives up what waits in vain for that. */
static int ib_disconnect(void *lower)
{
	struct ib_cm_id *cm_id = lower;
	int ret;

	for (;;) {
		ret = ib_send_cm_dreq(cm_id, NULL, 0);
		if (ret != -EINVAL)
			return ret;
		switch (READ_ONCE(cm_id->state)) {
		case IB_CM_ESTABLISHED:		/* just now */
			break;
		case IB_CM_REP_SENT:
		case IB_CM_MRA_REP_RCVD:
			return -EAGAIN;
		default:
			return -EINVAL;
		}
	}
}

static int ib_path_migrated(void *lower)
{
	return ib_cm_notify(lower, IB_EVENT_PATH_MIG);
}

static int ib_qp_attr(void *lower, struct ib_qp_attr *attr, int *mask)
{
	return ib_cm_init_qp_attr(lower, attr, mask);
}

/*
 * A membership: of a network device where the device is RoCE, else at the
 * administrator of the fabric.
 */
struct ib_member {
	struct ib_device *ibdev;
	void *above;
	void *roce;
	struct rca_group_ib *ib;
};

static void group_joined(void *data, int status, struct rdma_ah_attr *ah, u32 qkey)
{
	struct ib_member *member = data;
	struct ib_uverbs_ah_attr user_ah = {};

	if (!status)
		ib_copy_ah_attr_to_user(member->ibdev, &user_ah, ah);
	above->joined(member->above, status, &user_ah, qkey);
}

static void *ib_join(struct ib_device *ibdev, const struct rca_tp_join *req, void *owner)
{
	struct rdma_ah_attr ah = {};
	struct ib_member *member;
	void *group;

	member = kzalloc(sizeof(*member), GFP_KERNEL_ACCOUNT);
	if (!member)
		return ERR_PTR(-ENOMEM);
	member->ibdev = ibdev;
	member->above = owner;
	if (rdma_protocol_roce(ibdev, req->port_num)) {
		group = rca_group_join(ibdev, req, &ah);
		member->roce = group;
	} else {
		group = rca_group_ib_join(ibdev, req, group_joined, member);
		member->ib = group;
	}
	if (IS_ERR(group)) {
		kfree(member);
		return group;
	}
	if (member->roce)
		group_joined(member, 0, &ah, req->qkey);
	return member;
}

static void ib_leave(void *group)
{
	struct ib_member *member = group;

	if (member->roce)
		rca_group_leave(member->roce);
	else
		rca_group_ib_leave(member->ib);
	kfree(member);
}

/* The transport over ib_cm. */
const struct rca_tp_ops rca_tp_ib = {
	.name = "ib_cm",
	.create = ib_create,
	.destroy = ib_destroy,
	.set_owner = ib_set_owner,
	.listen = ib_listen,
	.unlisten = ib_unlisten,
	.connect = ib_connect,
	.reply = ib_reply,
	.send_mra = ib_send_mra,
	.send_rtu = ib_send_rtu,
	.reject = ib_reject,
	.disconnect = ib_disconnect,
	.path_migrated = ib_path_migrated,
	.check_qp = rca_qp_owner_check,
	.qp_attr = ib_qp_attr,
	.sidr_request = rca_tp_ib_sidr_request,
	.sidr_reply = rca_tp_ib_sidr_reply,
	.ah_attr = rca_tp_ib_ah_attr,
	.join = ib_join,
	.leave = ib_leave,
	.reject_msg = ibcm_reject_msg,
};

/**
 * rca_tp_ib_init() - tell the transport whom to call
 * @upcalls: must stay as long as the module
 *
 * Context: Process context. Module init, before any other use.
 */
void rca_tp_ib_init(const struct rca_tp_upcalls *upcalls)
{
	above = upcalls;
}
