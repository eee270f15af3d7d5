// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * Statements of the documents on which the project is based that no other group tests:
 * seeds.conf lists all of them. tests/api/conformance/conformance.rst numbers the documents.
 */
#include "steps.h"

/* rdma_create_ep(3) 0.1, rdma_create_id(3) 1.1, rdma_connect 4.1: the signatures. */
static int (*const create_ep)(struct rdma_cm_id **id, struct rdma_addrinfo *res, struct ibv_pd *pd,
			      struct ibv_qp_init_attr *attr) = rdma_create_ep;
static int (*const create_id)(struct rdma_event_channel *ch, struct rdma_cm_id **id, void *context,
			      enum rdma_port_space ps) = rdma_create_id;
static int (*const post_recv)(struct rdma_cm_id *id, void *context, void *addr, size_t length,
			      struct ibv_mr *mr) = rdma_post_recv;
static int (*const connect_id)(struct rdma_cm_id *id, struct rdma_conn_param *param) = rdma_connect;

GROUP(signatures, 0)
{
	answer("all", "%s", yes(create_ep && create_id && post_recv && connect_id));
}

/* rdma_create_id(3) 1.7: only calls that are asked to wait do wait. */
GROUP(asynchronous, 0)
{
	struct pair pair = make_halves(RDMA_PS_TCP, true);
	struct rdma_event_channel *ch = channel();
	struct rdma_conn_param param = conn_param();
	struct rdma_cm_id *id = make_id(ch, RDMA_PS_TCP);

	RET("resolve_addr", rdma_resolve_addr(id, NULL, at(NOBODY, 1), 1000));
	quiet_answer("resolve_addr_not_yet", ch);
	RET("connect", rdma_connect(pair.client, &param));
	answer("connect_not_yet", "%s", qp_state(pair.client->qp));
	quiet_answer("connect_no_event", pair.active);
	event_answer("resolve_addr_event", ch, SOON);
}

/* rdma_create_id(3) 1.4: the event remains valid until the next call. */
GROUP(event_lifetime, 0)
{
	struct rdma_cm_id *id = make_id(NULL, RDMA_PS_TCP);
	struct rdma_cm_event *first;

	NEED(rdma_resolve_addr(id, NULL, at(HERE, 1), SOON));
	first = id->event;
	answer("still_there", "%s", yes(first && first->event == RDMA_CM_EVENT_ADDR_RESOLVED));
	NEED(rdma_resolve_route(id, SOON));
	sync_event_answer("next", id);
	RET("refused_call", rdma_bind_addr(id, at(HERE, 0)));
	sync_event_answer("after_refused_call", id);
}

/* ibv_create_qp 3.7: a send without the signaled flag completes with an entry. */
GROUP(signal_all, 0)
{
	struct rdma_event_channel *active = channel(), *passive = channel();
	struct ibv_qp_init_attr attr = qp_attr();
	struct rdma_conn_param param = conn_param();
	struct rdma_cm_id *listener, *client, *child;
	char out[8] = "signal", in[8] = "";
	struct ibv_mr *in_mr, *out_mr;
	struct ibv_wc wc = { 0 };
	int port;

	listener = make_listener(passive, HERE, &port);
	client = make_routed(active, HERE, port);
	attr.sq_sig_all = 1;
	NEED(rdma_create_qp(client, NULL, &attr));
	NEED(rdma_connect(client, &param));
	child = get_child(passive);
	make_qp(child);
	in_mr = NEED_PTR(rdma_reg_msgs(child, in, sizeof(in)));
	out_mr = NEED_PTR(rdma_reg_msgs(client, out, sizeof(out)));
	NEED(rdma_post_recv(child, NULL, in, sizeof(in), in_mr));
	NEED(rdma_accept(child, &param));
	expect(active, RDMA_CM_EVENT_ESTABLISHED);
	RET("send", rdma_post_send(client, (void *)7, out, 7, out_mr, 0));
	RET("comp", rdma_get_send_comp(client, &wc));
	answer("wc", "status=%d wr_id=%ld", wc.status, (long)wc.wr_id);
	NEED(rdma_destroy_id(listener));
}

/* rdma_post_recv(3) 2.4: the receive is posted before the send, and large enough. */
GROUP(receive_too_small, 0)
{
	struct pair pair = make_pair();
	char out[64] = "much too long", in[4];
	struct ibv_mr *in_mr = NEED_PTR(rdma_reg_msgs(pair.child, in, sizeof(in)));
	struct ibv_mr *out_mr = NEED_PTR(rdma_reg_msgs(pair.client, out, sizeof(out)));
	struct ibv_wc wc = { 0 };

	NEED(rdma_post_recv(pair.child, NULL, in, sizeof(in), in_mr));
	NEED(rdma_post_send(pair.client, NULL, out, 14, out_mr, IBV_SEND_SIGNALED));
	RET("recv_comp", rdma_get_recv_comp(pair.child, &wc));
	answer("recv_wc", "status=%s", ibv_wc_status_str(wc.status));
	RET("send_comp", rdma_get_send_comp(pair.client, &wc));
	answer("send_wc", "status=%s", ibv_wc_status_str(wc.status));
}

/* ibv_create_qp 3.2, 3.8 and 3.9, through the id. */
GROUP(qp_fields, 0)
{
	struct rdma_cm_id *id = make_bound(channel(), HERE, 0);
	struct ibv_qp_init_attr attr = qp_attr(), init;
	struct ibv_qp_attr now;
	int fds;

	attr.qp_context = &init;
	attr.sq_sig_all = 1;
	NEED(rdma_create_qp(id, NULL, &attr));
	NEED(ibv_query_qp(id->qp, &now, IBV_QP_CAP, &init));
	answer("read_back", "context=%s send_cq=%s recv_cq=%s srq=%s type=%d cap=%s",
	       yes(id->qp->qp_context == &init), yes(init.send_cq == id->send_cq),
	       yes(init.recv_cq == id->recv_cq), yes(init.srq), id->qp->qp_type,
	       yes(now.cap.max_send_wr >= 4 && now.cap.max_recv_wr >= 4));
	rdma_destroy_qp(id);
	fds = count_fds();
	attr = qp_attr();
	attr.cap.max_send_wr = 2000000;
	RET("too_large", rdma_create_qp(id, NULL, &attr));
	answer("nothing_left", "fds=%+d qp=%s send_cq=%s", count_fds() - fds, yes(id->qp),
	       yes(id->send_cq));
}

/* rdma_connect 4.4 and 4.11: the limits of the device, on this side only; not for datagrams. */
GROUP(connect_depths, 0)
{
	struct pair pair = make_halves(RDMA_PS_TCP, true);
	struct rdma_conn_param param = conn_param();
	struct ibv_device_attr device;

	NEED(ibv_query_device(pair.client->verbs, &device));
	param.responder_resources = device.max_qp_rd_atom;
	param.initiator_depth = device.max_qp_init_rd_atom;
	RET("the_most", rdma_connect(pair.client, &param));
	conn_answer("the_most_request", pair.passive);
}
