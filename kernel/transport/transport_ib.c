// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * The transport over ib_cm. It translates calls and events; datagrams use service ID
 * resolution (SIDR, IBTA volume 1, 12.11).
 *
 * Locking: none of its own. ib_cm calls back from its workqueue and from those of the
 * MAD layer, which it shares with other users: no callback may wait.
 */
#include "transport/transport.h"

#include <linux/err.h>
#include <linux/slab.h>
#include <rdma/ib_cm.h>
#include <rdma/ib_marshall.h>
#include <rdma/ib_sa.h>

#include "lib/compat.h"
#include "lib/timing.h"

static void get_rep(struct rca_tp_event *out, const struct ib_cm_event *event)
{
	const struct ib_cm_rep_event_param *rep = &event->param.rep_rcvd;

	out->input = RCA_IN_REP;
	out->has_conn = true;
	out->ca_guid = rep->remote_ca_guid;
	out->conn.qp_num = rep->remote_qpn;
	out->conn.psn = rep->starting_psn;
	/* ib_cm has swapped the depths for the receiver; rca_tp_conn has those of the sender. */
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

static void get_sidr_rep(struct rca_tp_event *out, const struct ib_cm_event *event)
{
	const struct ib_cm_sidr_rep_event_param *rep = &event->param.sidr_rep_rcvd;

	out->input = rep->status == IB_SIDR_SUCCESS ? RCA_IN_REP : RCA_IN_REJ;
	out->status = rep->status;
	out->has_conn = true;
	out->conn.qp_type = IB_QPT_UD;
	out->conn.qp_num = rep->qpn;
	out->conn.qkey = rep->qkey;
	out->conn.private_data = event->private_data;
	out->conn.private_data_len = IB_CM_SIDR_REP_PRIVATE_DATA_SIZE;
}

/* False: the event is ignored. */
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
		out->rtu_data = event->private_data;
		out->rtu_len = IB_CM_RTU_PRIVATE_DATA_SIZE;
		fallthrough;
	case IB_CM_USER_ESTABLISHED:
		out->input = RCA_IN_RTU;
		return true;
	case IB_CM_REJ_RECEIVED:
		get_rej(out, event);
		return true;
	case IB_CM_SIDR_REP_RECEIVED:
		get_sidr_rep(out, event);
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

/* ib_cm callback of a connection. It returns 0: ib_cm must not destroy the cm_id. */
static int ib_conn_handler(struct ib_cm_id *cm_id, const struct ib_cm_event *event)
{
	struct rca_tp_event out = {};
	u8 action;

	if (!get_event(&out, event))
		return 0;
	action = rca_tp_upcalls->event(cm_id->context, cm_id, &out);
	/* Answer the peer at once: it does not have to wait for the application. */
	if (action & RCA_ACT_DREP)
		ib_send_cm_drep(cm_id, NULL, 0);
	return 0;
}

static int handle_req(struct ib_cm_id *cm_id, const struct ib_cm_event *event)
{
	const struct ib_cm_req_event_param *in = &event->param.req_rcvd;
	struct rca_tp_request req = {};
	int ret;

	req.tp = &rca_tp_ib;
	req.service_id = in->primary_path->service_id;
	req.port_num = in->port;
	req.path = in->primary_path;
	req.alt_path = in->alternate_path;
	req.sgid_attr = in->ppath_sgid_attr;
	req.pkey = be16_to_cpu(in->primary_path->pkey);
	req.ca_guid = in->remote_ca_guid;
	/* ib_cm takes its timer from this field of the request, too. */
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

	ret = rca_tp_upcalls->request(cm_id->context, cm_id, &req);
	if (!ret)
		rca_send_mra(cm_id, true, RCA_MAX_MRA);
	return ret;
}

/*
 * @cm_id must not be used after the request was accepted: its owner may destroy it
 * at once, and ib_cm holds no reference here. A request that is not accepted is
 * refused, whatever the errno: ib_cm cannot drop a SIDR request silently.
 */
static int handle_sidr_req(struct ib_cm_id *cm_id, const struct ib_cm_event *event)
{
	const struct ib_cm_sidr_req_event_param *in = &event->param.sidr_req_rcvd;
	struct rca_tp_request req = {
		.tp = &rca_tp_ib,
		.service_id = in->service_id,
		.port_num = in->port,
		.sgid_attr = in->sgid_attr,
		.pkey = in->pkey,
		.conn = {
			.qp_type = IB_QPT_UD,
			.private_data = event->private_data,
			.private_data_len = IB_CM_SIDR_REQ_PRIVATE_DATA_SIZE,
		},
	};

	return rca_tp_upcalls->request(cm_id->context, cm_id, &req);
}

/* ib_cm callback of a listening cm_id; a non-zero return makes ib_cm destroy the new cm_id. */
static int ib_listen_handler(struct ib_cm_id *cm_id, const struct ib_cm_event *event)
{
	switch (event->event) {
	case IB_CM_REQ_RECEIVED:
		return handle_req(cm_id, event);
	case IB_CM_SIDR_REQ_RECEIVED:
		return handle_sidr_req(cm_id, event);
	default:
		return -EINVAL;
	}
}

static void *ib_create(struct ib_device *dev, void *owner)
{
	return ib_create_cm_id(dev, ib_conn_handler, owner);
}

/* Also of a listening cm_id. */
static void ib_destroy(void *lower)
{
	ib_destroy_cm_id(lower);
}

/* ib_cm frees a cm_id after an RCU grace period. */
static void ib_numbers(const void *lower, struct rca_tp_numbers *out)
{
	const struct ib_cm_id *cm_id = lower;

	out->comm_id = be32_to_cpu(READ_ONCE(cm_id->local_id));
	out->remote_comm_id = be32_to_cpu(READ_ONCE(cm_id->remote_id));
}

static void ib_set_owner(void *lower, void *owner)
{
	struct ib_cm_id *cm_id = lower;

	cm_id->context = owner;
	cm_id->cm_handler = ib_conn_handler;
}

static void *ib_listen(struct ib_device *dev, const struct rca_tp_listen *req, void *demux)
{
	struct ib_cm_id *cm_id = ib_create_cm_id(dev, ib_listen_handler, demux);
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

static int ib_connect(void *lower, const struct rca_tp_req *req)
{
	struct sa_path_rec path = *req->path;
	struct ib_cm_req_param param = {
		.primary_path = &path,
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

	path.packet_life_time = min_t(u8, path.packet_life_time, RCA_MAX_LIFETIME);
	return ib_send_cm_req(lower, &param);
}

/*
 * Lengths have been checked, so -EINVAL means that the cm_id cannot be answered any more:
 * a message of the peer has just ended the connection.
 */
static int reply_result(int ret)
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

	return reply_result(ib_send_cm_rep(lower, &param));
}

/* ib_cm sends the MRA again when the peer repeats its reply. */
static int ib_send_mra(void *lower, u8 time)
{
	return rca_send_mra(lower, false, time);
}

static int ib_send_rtu(void *lower, const void *data, u8 len)
{
	return reply_result(ib_send_cm_rtu(lower, data, len));
}

static int ib_reject(void *lower, int reason, const void *data, u8 len)
{
	return ib_send_cm_rej(lower, reason, NULL, 0, data, len);
}

/*
 * ib_cm sends a DREQ only for an established connection. A cm_id that still waits for the
 * RTU has to wait, see rca_tp_ops.
 */
static int ib_disconnect(void *lower)
{
	struct ib_cm_id *cm_id = lower;
	int ret;

	for (;;) {
		ret = ib_send_cm_dreq(cm_id, NULL, 0);
		if (ret != -EINVAL)
			return ret;
		switch (READ_ONCE(cm_id->state)) {
		case IB_CM_ESTABLISHED:		/* it became so just now */
			break;
		case IB_CM_REP_SENT:
		case IB_CM_MRA_REP_RCVD:
			return -EAGAIN;
		default:
			return -EINVAL;
		}
	}
}

static int ib_qp_attr(void *lower, struct ib_qp_attr *attr, int *mask)
{
	return ib_cm_init_qp_attr(lower, attr, mask);
}

static int ib_sidr_request(void *lower, const struct rca_tp_req *req)
{
	struct ib_cm_sidr_req_param param = {
		.path = req->path,
		.sgid_attr = req->sgid_attr,
		.service_id = req->service_id,
		.timeout_ms = req->answer_ms,
		.private_data = req->conn.private_data,
		.private_data_len = req->conn.private_data_len,
		.max_cm_retries = req->retries,
	};

	return ib_send_cm_sidr_req(lower, &param);
}

static int ib_sidr_reply(void *lower, int status, const struct rca_tp_conn *conn)
{
	struct ib_cm_sidr_rep_param param = {
		.qp_num = conn->qp_num,
		.qkey = conn->qkey,
		.status = status,
		.private_data = conn->private_data,
		.private_data_len = conn->private_data_len,
		.ece.vendor_id = conn->ece_vendor_id,
		.ece.attr_mod = conn->ece_attr_mod,
	};

	return ib_send_cm_sidr_rep(lower, &param);
}

/* @sgid_attr: NULL: the local GID of @path */
static int ib_ah_attr(struct ib_device *dev, u32 port_num, struct sa_path_rec *path,
		      const struct ib_gid_attr *sgid_attr, struct ib_uverbs_ah_attr *out)
{
	struct rdma_ah_attr attr;
	int ret;

	ret = ib_init_ah_attr_from_path(dev, port_num, path, &attr, sgid_attr);
	if (!ret)
		ib_copy_ah_attr_to_user(dev, out, &attr);
	rdma_destroy_ah_attr(&attr);
	return ret;
}

/**
 * struct ib_member - a membership in a multicast group
 * @roce: over RoCE: the membership of the network device
 * @ib: else: the membership at the subnet administrator
 */
struct ib_member {
	void *roce;
	struct rca_group_ib *ib;
};

static void *ib_join(struct ib_device *ibdev, const struct rca_tp_join *req, void *owner)
{
	struct ib_uverbs_ah_attr user_ah = {};
	struct rdma_ah_attr ah = {};
	struct ib_member *member;
	void *group;

	member = kzalloc(sizeof(*member), GFP_KERNEL_ACCOUNT);
	if (!member)
		return ERR_PTR(-ENOMEM);
	if (rdma_protocol_roce(ibdev, req->port_num)) {
		group = rca_group_join(ibdev, req, &ah);
		member->roce = group;
	} else {
		group = rca_group_ib_join(ibdev, req, owner);
		member->ib = group;
	}
	if (IS_ERR(group)) {
		kfree(member);
		return group;
	}
	if (member->roce) {
		ib_copy_ah_attr_to_user(ibdev, &user_ah, &ah);
		rca_tp_upcalls->joined(owner, 0, &user_ah, req->qkey);
	}
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

const struct rca_tp_ops rca_tp_ib = {
	.name = "ib_cm",
	.finds_stale = true,
	.create = ib_create,
	.destroy = ib_destroy,
	.numbers = ib_numbers,
	.set_owner = ib_set_owner,
	.listen = ib_listen,
	.unlisten = ib_destroy,
	.connect = ib_connect,
	.reply = ib_reply,
	.send_mra = ib_send_mra,
	.send_rtu = ib_send_rtu,
	.reject = ib_reject,
	.disconnect = ib_disconnect,
	.check_qp = rca_qp_owner_check,
	.qp_attr = ib_qp_attr,
	.sidr_request = ib_sidr_request,
	.sidr_reply = ib_sidr_reply,
	.ah_attr = ib_ah_attr,
	.join = ib_join,
	.leave = ib_leave,
	.reject_msg = ibcm_reject_msg,
};
