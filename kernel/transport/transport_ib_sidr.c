// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * Datagrams over ib_cm: its messages for service ID resolution (SIDR, IBTA
 * volume 1, 12.11) turned into our structs and back, and the address of a peer.
 *
 * Locking: none.
 */
#include "transport/transport_ib_sidr.h"

#include <rdma/ib_cm.h>
#include <rdma/ib_marshall.h>
#include <rdma/ib_sa.h>

/**
 * rca_tp_ib_sidr_requested() - what a request that came in says
 * @out: all of it is written
 * @event: IB_CM_SIDR_REQ_RECEIVED; its private data must stay as long as that of @out
 *
 * Context: Any context.
 */
void rca_tp_ib_sidr_requested(struct rca_tp_request *out, const struct ib_cm_event *event)
{
	const struct ib_cm_sidr_req_event_param *req = &event->param.sidr_req_rcvd;

	*out = (struct rca_tp_request) {
		.service_id = req->service_id,
		.port_num = req->port,
		.sgid_attr = req->sgid_attr,
		.pkey = req->pkey,
		.conn = {
			.qp_type = IB_QPT_UD,
			.private_data = event->private_data,
			.private_data_len = IB_CM_SIDR_REQ_PRIVATE_DATA_SIZE,
		},
	};
}

/**
 * rca_tp_ib_sidr_answered() - what the answer to our request says
 * @out: all of it is written
 * @event: IB_CM_SIDR_REP_RECEIVED; its private data must stay as long as that of @out
 *
 * Context: Any context.
 */
void rca_tp_ib_sidr_answered(struct rca_tp_event *out, const struct ib_cm_event *event)
{
	const struct ib_cm_sidr_rep_event_param *rep = &event->param.sidr_rep_rcvd;

	*out = (struct rca_tp_event) {
		.input = rep->status == IB_SIDR_SUCCESS ? RCA_IN_REP : RCA_IN_REJ,
		.status = rep->status,
		.has_conn = true,
		.conn = {
			.qp_type = IB_QPT_UD,
			.qp_num = rep->qpn,
			.qkey = rep->qkey,
			.private_data = event->private_data,
			.private_data_len = IB_CM_SIDR_REP_PRIVATE_DATA_SIZE,
		},
	};
}

/**
 * rca_tp_ib_sidr_request() - send a request
 * @lower: the ib_cm_id, which does nothing yet
 * @req: whom to ask, and the private data
 *
 * Context: Process context. May sleep.
 * Return: 0 or the errno of ib_cm: nothing was sent.
 */
int rca_tp_ib_sidr_request(void *lower, const struct rca_tp_req *req)
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

/**
 * rca_tp_ib_sidr_reply() - answer a request
 * @lower: the ib_cm_id of the request
 * @status: enum ib_cm_sidr_status
 * @conn: number and queue key of the QP, private data, ECE
 *
 * Context: Process context. May sleep.
 * Return: 0 or the errno of ib_cm: nothing was sent.
 */
int rca_tp_ib_sidr_reply(void *lower, int status, const struct rca_tp_conn *conn)
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

/**
 * rca_tp_ib_ah_attr() - the address of the peer at the end of a path
 * @dev: the device
 * @port_num: its port
 * @path: the path
 * @sgid_attr: local GID; NULL: that of @path
 * @out: the attributes, for user space
 *
 * Context: Process context. May sleep.
 * Return: 0 or a negative errno.
 */
int rca_tp_ib_ah_attr(struct ib_device *dev, u32 port_num, struct sa_path_rec *path,
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
