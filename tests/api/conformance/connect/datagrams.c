// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/* RDMA_PS_UDP: SIDR instead of a connection: reference sections 1.1, 4 and 4.1. */
#include "steps.h"

static char data[256] = "hello";

GROUP(udp, IN_DEBUG)
{
	struct pair pair = make_halves(RDMA_PS_UDP, true);
	struct rdma_conn_param param = {
		.private_data = data, .private_data_len = 20, .responder_resources = 200,
		.initiator_depth = 200, .flow_control = 1, .retry_count = 6, .qp_num = 77,
	};
	struct rdma_conn_param reply = { .private_data = "answer", .private_data_len = 6 };
	struct rdma_cm_event *event;

	answer("client_qp", "%s type=%d", qp_state(pair.client->qp), pair.client->qp->qp_type);
	RET("connect", rdma_connect(pair.client, &param));
	event = NEED_PTR(get_event(pair.passive, SOON));
	show_ud("request", event);
	answer("request_ids", "child=%s listener=%s", yes(event->id != pair.listener),
	       yes(event->listen_id == pair.listener));
	pair.child = event->id;
	NEED(rdma_ack_cm_event(event));
	addr_answer("child_addresses", pair.child, pair.port);
	answer("child", "verbs=%s pd=%s ps=%#x type=%s paths=%d", yes(pair.child->verbs),
	       yes(pair.child->pd), pair.child->ps,
	       pair.child->qp_type == IBV_QPT_UD ? "UD" : "other", pair.child->route.num_paths);
	make_qp(pair.child);
	answer("child_qp", "%s", qp_state(pair.child->qp));
	RET("accept", rdma_accept(pair.child, &reply));
	event = NEED_PTR(get_event(pair.active, SOON));
	show_ud("active", event);
	answer("active_qpn", "%s", yes(event->param.ud.qp_num == pair.child->qp->qp_num));
	NEED(rdma_ack_cm_event(event));
	quiet_answer("passive", pair.passive);
	RET("accept_again", rdma_accept(pair.child, &reply));
	RET("connect_again", rdma_connect(pair.client, &param));
	RET("disconnect", rdma_disconnect(pair.client));
	RET("disconnect_child", rdma_disconnect(pair.child));
	quiet_answer("active_after", pair.active);
	RET("destroy_child", ({ rdma_destroy_qp(pair.child); rdma_destroy_id(pair.child); }));
	pair.child = NULL;
	quiet_answer("active_end", pair.active);
	end_pair(&pair);
}

GROUP(udp_limits, 0)
{
	struct pair pair = make_halves(RDMA_PS_UDP, true);
	struct rdma_conn_param param = { .private_data = data, .private_data_len = 181 };

	RET("data_181", rdma_connect(pair.client, &param));
	param.private_data_len = 180;
	RET("data_180", rdma_connect(pair.client, &param));
	pair.child = get_child(pair.passive);
	make_qp(pair.child);
	param.private_data_len = 137;
	RET("accept_137", rdma_accept(pair.child, &param));
	event_answer("accept_137_client", pair.active, SOON);
	end_pair(&pair);

	pair = make_halves(RDMA_PS_UDP, true);
	param.private_data_len = 0;
	RET("empty", rdma_connect(pair.client, &param));
	pair.child = get_child(pair.passive);
	make_qp(pair.child);
	param.private_data_len = 136;
	RET("accept_136", rdma_accept(pair.child, &param));
	event_answer("accept_136_client", pair.active, SOON);
	end_pair(&pair);
}

GROUP(udp_null, 0)
{
	struct pair pair = make_halves(RDMA_PS_UDP, true);

	RET("connect", rdma_connect(pair.client, NULL));
	quiet_answer("request", pair.passive);
}

GROUP(udp_accept_null, 0)
{
	struct pair pair = make_halves(RDMA_PS_UDP, true);
	struct rdma_conn_param param = { 0 };

	NEED(rdma_connect(pair.client, &param));
	pair.child = get_child(pair.passive);
	make_qp(pair.child);
	RET("accept", rdma_accept(pair.child, NULL));
	event_answer("client", pair.active, SOON);
}

GROUP(udp_reject, 0)
{
	struct pair pair = make_halves(RDMA_PS_UDP, true);
	struct rdma_conn_param param = { 0 };
	struct rdma_cm_event *event;

	NEED(rdma_connect(pair.client, &param));
	pair.child = get_child(pair.passive);
	RET("data_137", rdma_reject(pair.child, data, 137));
	RET("reject", rdma_reject(pair.child, data, 136));
	event = NEED_PTR(get_event(pair.active, SOON));
	show_ud("client", event);
	NEED(rdma_ack_cm_event(event));
	RET("again", rdma_reject(pair.child, NULL, 0));
	RET("accept_after", rdma_accept(pair.child, &param));
	end_pair(&pair);
}

GROUP(udp_nobody, 0)
{
	struct rdma_event_channel *ch = channel();
	struct rdma_cm_id *id = make_id(ch, RDMA_PS_UDP);
	struct rdma_conn_param param = { 0 };

	NEED(rdma_resolve_addr(id, NULL, at(HERE, 6997), SOON));
	expect(ch, RDMA_CM_EVENT_ADDR_RESOLVED);
	RET("before_route", rdma_connect(id, &param));
	NEED(rdma_resolve_route(id, SOON));
	expect(ch, RDMA_CM_EVENT_ROUTE_RESOLVED);
	make_qp(id);
	RET("connect", rdma_connect(id, &param));
	event_answer("event", ch, SOON);
	RET("connect_again", rdma_connect(id, &param));
}

GROUP(udp_destroy_requested, 0)
{
	struct pair pair = make_halves(RDMA_PS_UDP, true);
	struct rdma_conn_param param = { 0 };

	NEED(rdma_connect(pair.client, &param));
	pair.child = get_child(pair.passive);
	RET("destroy", rdma_destroy_id(pair.child));
	pair.child = NULL;
	event_answer("client", pair.active, SOON);
	end_pair(&pair);
}

GROUP(udp_external_qp, 0)
{
	struct pair pair = make_halves(RDMA_PS_UDP, false);
	struct rdma_conn_param param = { .qp_num = 0x123 };
	struct rdma_cm_event *event;
	struct ibv_qp_attr attr = { .qp_state = IBV_QPS_INIT };
	int mask = 0;

	RET("init_attr", rdma_init_qp_attr(pair.client, &attr, &mask));
	answer("init_attr_values", "mask=%#x qkey=%#x port=%u pkey=%u", mask, attr.qkey,
	       attr.port_num, attr.pkey_index);
	attr.qp_state = IBV_QPS_RTR;
	RET("rtr_attr", rdma_init_qp_attr(pair.client, &attr, &mask));
	answer("rtr_attr_mask", "%#x", mask);
	RET("connect", rdma_connect(pair.client, &param));
	pair.child = get_child(pair.passive);
	param.qp_num = 0x456;
	RET("accept", rdma_accept(pair.child, &param));
	event = NEED_PTR(get_event(pair.active, SOON));
	show_ud("active", event);
	answer("qpn", "%#x", event->param.ud.qp_num);
	NEED(rdma_ack_cm_event(event));
}

GROUP(udp_message, IN_DEBUG)
{
	struct pair pair = make_halves(RDMA_PS_UDP, true);
	struct rdma_conn_param param = { 0 };
	struct rdma_cm_event *event;
	char out[64] = "datagram", in[128] = "";
	struct ibv_mr *out_mr, *in_mr;
	struct ibv_wc wc = { 0 };
	struct ibv_ah *ah;

	NEED(rdma_connect(pair.client, &param));
	pair.child = get_child(pair.passive);
	make_qp(pair.child);
	in_mr = NEED_PTR(rdma_reg_msgs(pair.child, in, sizeof(in)));
	out_mr = NEED_PTR(rdma_reg_msgs(pair.client, out, sizeof(out)));
	RET("post_recv", rdma_post_recv(pair.child, (void *)5, in, sizeof(in), in_mr));
	NEED(rdma_accept(pair.child, &param));
	event = NEED_PTR(get_event(pair.active, SOON));
	ah = NEED_PTR(ibv_create_ah(pair.client->pd, &event->param.ud.ah_attr));
	RET("post_ud_send", rdma_post_ud_send(pair.client, NULL, out, 9, out_mr, IBV_SEND_SIGNALED,
					      ah, event->param.ud.qp_num));
	NEED(rdma_ack_cm_event(event));
	RET("send_comp", rdma_get_send_comp(pair.client, &wc));
	answer("send_wc", "%d", wc.status);
	RET("recv_comp", rdma_get_recv_comp(pair.child, &wc));
	answer("recv_wc", "status=%d wr_id=%ld len=%u grh=%s text=%s", wc.status, (long)wc.wr_id,
	       wc.byte_len, yes(wc.wc_flags & IBV_WC_GRH), in + 40);
}

struct server {
	struct rdma_cm_id *listener, *id;
};

static int serve(void *arg)
{
	struct server *server = arg;
	struct rdma_conn_param param = { 0 };
	int ret = rdma_get_request(server->listener, &server->id);

	if (ret)
		return ret;
	make_qp(server->id);
	return rdma_accept(server->id, &param);
}

GROUP(udp_sync, 0)
{
	struct rdma_conn_param param = { .private_data = "sync", .private_data_len = 4 };
	struct server server = { make_id(NULL, RDMA_PS_UDP), NULL };
	struct rdma_cm_id *id = make_id(NULL, RDMA_PS_UDP);
	struct thread *thread;

	NEED(rdma_bind_addr(server.listener, at(HERE, 0)));
	NEED(rdma_listen(server.listener, 0));
	thread = thread_begin(serve, &server);
	NEED(rdma_resolve_addr(id, NULL, at(HERE, port_of(server.listener)), SOON));
	NEED(rdma_resolve_route(id, SOON));
	make_qp(id);
	RET("connect", rdma_connect(id, &param));
	if (id->event)
		show_ud("event", id->event);
	thread_answer("accept", thread, patience(SOON));
	sync_event_answer("child_event", server.id);
	RET("destroy", ({ rdma_destroy_qp(id); rdma_destroy_id(id); }));
}

GROUP(udp_ep, 0)
{
	struct rdma_addrinfo hints = { .ai_port_space = RDMA_PS_UDP }, *res;
	struct ibv_qp_init_attr attr = qp_attr();
	struct rdma_cm_id *id;

	NEED(rdma_getaddrinfo(HERE, "7020", &hints, &res));
	answer("info", "type=%d ps=%#x", res->ai_qp_type, res->ai_port_space);
	RET("create", rdma_create_ep(&id, res, NULL, &attr));
	answer("qp", "%s type=%d", qp_state(id->qp), id->qp->qp_type);
	VOID("destroy", rdma_destroy_ep(id));
}

GROUP(udp_listen, 0)
{
	struct rdma_event_channel *ch = channel();
	struct rdma_cm_id *udp = make_id(ch, RDMA_PS_UDP), *tcp, *again = make_id(ch, RDMA_PS_UDP);
	int port;

	NEED(rdma_bind_addr(udp, at(HERE, 0)));
	port = port_of(udp);
	tcp = make_id(ch, RDMA_PS_TCP);
	RET("listen", rdma_listen(udp, 0));
	RET("tcp_same_port", rdma_bind_addr(tcp, at(HERE, port)));
	RET("tcp_listen", rdma_listen(tcp, 0));
	RET("udp_same_port", rdma_bind_addr(again, at(HERE, port)));
	RET("wildcard", ({ struct rdma_cm_id *id = make_id(ch, RDMA_PS_UDP);
			   rdma_bind_addr(id, at(NULL, 0)) ?: rdma_listen(id, 0); }));
	RET("establish", rdma_establish(udp));
	RET("notify", rdma_notify(udp, IBV_EVENT_COMM_EST));
}

GROUP(ipoib, 0)
{
	struct rdma_event_channel *ch = channel();
	struct rdma_cm_id *id = make_id(ch, RDMA_PS_IPOIB);

	RET("bind", rdma_bind_addr(id, at(HERE, 0)));
	RET("bind_wildcard", rdma_bind_addr(id, at(NULL, 0)));
	id = make_id(ch, RDMA_PS_IPOIB);
	RET("resolve", rdma_resolve_addr(id, NULL, at(HERE, 1), SOON));
	event_answer("resolve_event", ch, SOON);
}
