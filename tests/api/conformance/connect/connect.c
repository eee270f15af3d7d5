// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/* rdma_connect, rdma_accept, rdma_establish: reference sections 1.1, 4 and 4.1. */
#include "steps.h"

static char data[256] = "hello";

#define QP_MASK (IBV_QP_STATE | IBV_QP_ACCESS_FLAGS | IBV_QP_PKEY_INDEX | IBV_QP_PORT |		\
		 IBV_QP_AV | IBV_QP_PATH_MTU | IBV_QP_TIMEOUT | IBV_QP_RETRY_CNT |		\
		 IBV_QP_RNR_RETRY | IBV_QP_MAX_QP_RD_ATOMIC | IBV_QP_MAX_DEST_RD_ATOMIC |	\
		 IBV_QP_MIN_RNR_TIMER | IBV_QP_DEST_QPN)

/* The attributes that the connection manager chose. */
static struct ibv_qp_attr qp_answer(const char *check, struct ibv_qp *qp)
{
	struct ibv_qp_init_attr init;
	struct ibv_qp_attr attr;

	NEED(ibv_query_qp(qp, &attr, QP_MASK, &init));
	answer(check, "%s rd=%u dest_rd=%u retry=%u rnr=%u timeout=%u minrnr=%u mtu=%d "
	       "access=%#x port=%u pkey=%u ah: global=%u hop=%u tclass=%u sl=%u port=%u",
	       qp_state(qp), attr.max_rd_atomic, attr.max_dest_rd_atomic, attr.retry_cnt,
	       attr.rnr_retry, attr.timeout, attr.min_rnr_timer, attr.path_mtu,
	       attr.qp_access_flags, attr.port_num, attr.pkey_index, attr.ah_attr.is_global,
	       attr.ah_attr.grh.hop_limit, attr.ah_attr.grh.traffic_class, attr.ah_attr.sl,
	       attr.ah_attr.port_num);
	return attr;
}

GROUP(connection, IN_DEBUG)
{
	struct pair pair = make_halves(RDMA_PS_TCP, true);
	struct rdma_conn_param param = {
		.private_data = data, .private_data_len = 20, .responder_resources = 5,
		.initiator_depth = 3, .flow_control = 1, .retry_count = 6, .rnr_retry_count = 5,
		.srq = 1, .qp_num = 77,
	};
	struct rdma_conn_param reply = {
		.private_data = "answer", .private_data_len = 6, .responder_resources = 2,
		.initiator_depth = 4, .flow_control = 1, .rnr_retry_count = 4, .srq = 1,
	};
	struct ibv_qp_attr attr;
	struct rdma_cm_event *event;

	answer("qp_before", "%s", qp_state(pair.client->qp));
	RET("connect", rdma_connect(pair.client, &param));
	event = NEED_PTR(get_event(pair.passive, SOON));
	show_conn("request", event);
	answer("request_qpn", "%s", yes(event->param.conn.qp_num == pair.client->qp->qp_num));
	pair.child = event->id;
	NEED(rdma_ack_cm_event(event));
	make_qp(pair.child);
	RET("accept", rdma_accept(pair.child, &reply));
	event = NEED_PTR(get_event(pair.active, SOON));
	show_conn("active", event);
	answer("active_qpn", "%s", yes(event->param.conn.qp_num == pair.child->qp->qp_num));
	NEED(rdma_ack_cm_event(event));
	event = NEED_PTR(get_event(pair.passive, SOON));
	show_conn("passive", event);
	answer("passive_id", "child=%s listener=%s", yes(event->id == pair.child),
	       yes(event->listen_id));
	NEED(rdma_ack_cm_event(event));
	attr = qp_answer("client_qp", pair.client->qp);
	answer("client_dest", "%s", yes(attr.dest_qp_num == pair.child->qp->qp_num));
	attr = qp_answer("child_qp", pair.child->qp);
	answer("child_dest", "%s", yes(attr.dest_qp_num == pair.client->qp->qp_num));
	RET("connect_again", rdma_connect(pair.client, &param));
	RET("accept_again", rdma_accept(pair.child, &reply));
	RET("establish_with_qp", rdma_establish(pair.client));
	quiet_answer("nothing_more_active", pair.active);
	quiet_answer("nothing_more_passive", pair.passive);
	end_pair(&pair);
}

GROUP(connect_limits, IN_DEBUG)
{
	struct pair pair = make_halves(RDMA_PS_TCP, true);
	struct rdma_conn_param param = conn_param();
	struct ibv_device_attr device;

	NEED(ibv_query_device(pair.client->verbs, &device));
	param.private_data = data;
	param.private_data_len = 57;
	RET("data_57", rdma_connect(pair.client, &param));
	param.private_data_len = 255;
	RET("data_255", rdma_connect(pair.client, &param));
	param.private_data_len = 0;
	param.responder_resources = device.max_qp_rd_atom + 1;
	RET("responder_resources", rdma_connect(pair.client, &param));
	param.responder_resources = 1;
	param.initiator_depth = device.max_qp_init_rd_atom + 1;
	RET("initiator_depth", rdma_connect(pair.client, &param));
	param.initiator_depth = RDMA_MAX_INIT_DEPTH;
	param.responder_resources = RDMA_MAX_RESP_RES;
	param.retry_count = 9;
	param.rnr_retry_count = 12;
	param.private_data_len = 56;
	RET("maxima", rdma_connect(pair.client, &param));
	conn_answer("maxima_request", pair.passive);
}

GROUP(connect_null, IN_DEBUG)
{
	struct pair pair = make_halves(RDMA_PS_TCP, true), bare = make_halves(RDMA_PS_TCP, false);

	RET("param_without_qp", rdma_connect(bare.client, NULL));
	RET("param", rdma_connect(pair.client, NULL));
	conn_answer("request", pair.passive);
}

GROUP(accept_null, IN_DEBUG)
{
	struct pair pair = make_halves(RDMA_PS_TCP, true);
	struct rdma_conn_param param = conn_param();

	param.responder_resources = 6;
	param.initiator_depth = 3;
	param.private_data = data;
	param.private_data_len = 9;
	NEED(rdma_connect(pair.client, &param));
	pair.child = get_child(pair.passive);
	make_qp(pair.child);
	RET("accept", rdma_accept(pair.child, NULL));
	conn_answer("active", pair.active);
	conn_answer("passive", pair.passive);
	qp_answer("child_qp", pair.child->qp);
	end_pair(&pair);
}

GROUP(accept_limits, 0)
{
	struct pair pair = make_requested();
	struct rdma_conn_param param = conn_param();

	param.responder_resources = 200;
	RET("depth", rdma_accept(pair.child, &param));
	quiet_answer("depth_client", pair.active);
	param.responder_resources = 1;
	param.initiator_depth = 200;
	RET("initiator_depth", rdma_accept(pair.child, &param));
	param.initiator_depth = 1;
	RET("retry", rdma_accept(pair.child, &param));
	event_answer("retry_client", pair.active, SOON);
	end_pair(&pair);

	pair = make_requested();
	param.private_data = data;
	param.private_data_len = 197;
	RET("data_197", rdma_accept(pair.child, &param));
	answer("data_197_qp", "%s", qp_state(pair.child->qp));
	event_answer("data_197_client", pair.active, SOON);
	quiet_answer("data_197_server", pair.passive);
	param.private_data_len = 4;
	RET("after_data_197", rdma_accept(pair.child, &param));
	end_pair(&pair);

	pair = make_requested();
	param.private_data_len = 196;
	param.responder_resources = RDMA_MAX_RESP_RES;
	param.initiator_depth = RDMA_MAX_INIT_DEPTH;
	RET("maxima", rdma_accept(pair.child, &param));
	conn_answer("maxima_client", pair.active);
	end_pair(&pair);
}

GROUP(accept_states, 0)
{
	struct pair pair = make_requested();
	struct rdma_conn_param param = conn_param();

	RET("listener", rdma_accept(pair.listener, &param));
	RET("client", rdma_accept(pair.client, &param));
	/* The client is destroyed before it is accepted. */
	rdma_destroy_qp(pair.client);
	NEED(rdma_destroy_id(pair.client));
	pair.client = NULL;
	quiet_answer("gone_no_event", pair.passive);
	RET("gone", rdma_accept(pair.child, &param));
	quiet_answer("gone_event", pair.passive);
	end_pair(&pair);
}

GROUP(depths_lower, 0)
{
	struct pair pair = make_halves(RDMA_PS_TCP, true);
	struct rdma_conn_param param = conn_param();

	param.responder_resources = 8;
	param.initiator_depth = 8;
	NEED(rdma_connect(pair.client, &param));
	pair.child = get_child(pair.passive);
	make_qp(pair.child);
	param.responder_resources = 4;
	param.initiator_depth = 2;
	RET("accept", rdma_accept(pair.child, &param));
	conn_answer("client", pair.active);
	qp_answer("client_qp", pair.client->qp);
	qp_answer("child_qp", pair.child->qp);
}

GROUP(data_copied, 0)
{
	struct pair pair = make_halves(RDMA_PS_TCP, true);
	struct rdma_conn_param param = conn_param();
	char buffer[56];

	memset(buffer, 'a', sizeof(buffer));
	param.private_data = buffer;
	param.private_data_len = 56;
	NEED(rdma_connect(pair.client, &param));
	memset(buffer, 'b', sizeof(buffer));
	conn_answer("request", pair.passive);
}

/* A QP that the library does not know, as libfabric, UCX and SPDK use it. */
static struct ibv_qp *external_qp(struct rdma_cm_id *id)
{
	struct ibv_qp_init_attr attr = qp_attr();

	attr.send_cq = NEED_PTR(ibv_create_cq(id->verbs, 8, NULL, NULL, 0));
	attr.recv_cq = attr.send_cq;
	return NEED_PTR(ibv_create_qp(id->pd, &attr));
}

static void external_step(const char *check, struct rdma_cm_id *id, struct ibv_qp *qp, int state)
{
	struct ibv_qp_attr attr = { .qp_state = state };
	char name[64];
	int mask = 0;

	if (RET(check, rdma_init_qp_attr(id, &attr, &mask)))
		return;
	snprintf(name, sizeof(name), "%s_mask", check);
	/* Attributes outside the mask are undefined. */
	answer(name, "%#x state=%d access=%#x rd=%u dest_rd=%u retry=%u rnr=%u timeout=%u", mask,
	       attr.qp_state, mask & IBV_QP_ACCESS_FLAGS ? attr.qp_access_flags : 0,
	       mask & IBV_QP_MAX_QP_RD_ATOMIC ? attr.max_rd_atomic : 0,
	       mask & IBV_QP_MAX_DEST_RD_ATOMIC ? attr.max_dest_rd_atomic : 0,
	       mask & IBV_QP_RETRY_CNT ? attr.retry_cnt : 0,
	       mask & IBV_QP_RNR_RETRY ? attr.rnr_retry : 0,
	       mask & IBV_QP_TIMEOUT ? attr.timeout : 0);
	snprintf(name, sizeof(name), "%s_modify", check);
	answer(name, "%d", ibv_modify_qp(qp, &attr, mask));
}

GROUP(external_qp, IN_DEBUG)
{
	struct pair pair = make_halves(RDMA_PS_TCP, false);
	struct rdma_conn_param param = conn_param();
	struct ibv_qp_attr attr = { .qp_state = IBV_QPS_RTR };
	struct ibv_qp *mine = external_qp(pair.client), *its;
	struct rdma_cm_event *event;
	int mask = 0;

	RET("rtr_too_early", rdma_init_qp_attr(pair.client, &attr, &mask));
	answer("rtr_too_early_attr", "state=%d mask=%#x access=%#x", attr.qp_state, mask,
	       attr.qp_access_flags);
	external_step("init", pair.client, mine, IBV_QPS_INIT);
	param.qp_num = mine->qp_num;
	param.srq = 1;
	RET("connect", rdma_connect(pair.client, &param));
	event = NEED_PTR(get_event(pair.passive, SOON));
	show_conn("request", event);
	answer("request_qpn", "%s", yes(event->param.conn.qp_num == mine->qp_num));
	pair.child = event->id;
	NEED(rdma_ack_cm_event(event));
	its = external_qp(pair.child);
	external_step("child_init", pair.child, its, IBV_QPS_INIT);
	external_step("child_rtr", pair.child, its, IBV_QPS_RTR);
	external_step("child_rts", pair.child, its, IBV_QPS_RTS);
	param.qp_num = its->qp_num;
	RET("accept", rdma_accept(pair.child, &param));
	event = NEED_PTR(get_event(pair.active, SOON));
	show_conn("response", event);
	answer("response_qpn", "%s", yes(event->param.conn.qp_num == its->qp_num));
	NEED(rdma_ack_cm_event(event));
	quiet_answer("not_established", pair.passive);
	external_step("rtr", pair.client, mine, IBV_QPS_RTR);
	external_step("rts", pair.client, mine, IBV_QPS_RTS);
	RET("establish", rdma_establish(pair.client));
	event_answer("established", pair.passive, SOON);
	quiet_answer("active_after", pair.active);
	RET("establish_again", rdma_establish(pair.client));
	external_step("after", pair.client, mine, IBV_QPS_RTS);
	RET("disconnect", rdma_disconnect(pair.client));
	answer("qp_untouched", "%s", qp_state(mine));
	event_answer("disconnected", pair.passive, SOON);
	RET("disconnect_child", rdma_disconnect(pair.child));
	event_answer("disconnected_client", pair.active, SOON);
}

GROUP(establish_passive, 0)
{
	struct pair pair = make_halves(RDMA_PS_TCP, false);
	struct rdma_conn_param param = conn_param();
	struct ibv_qp *mine = external_qp(pair.client), *its;

	RET("too_early", rdma_establish(pair.client));
	param.qp_num = mine->qp_num;
	NEED(rdma_connect(pair.client, &param));
	RET("before_reply", rdma_establish(pair.client));
	pair.child = get_child(pair.passive);
	its = external_qp(pair.child);
	param.qp_num = its->qp_num;
	NEED(rdma_accept(pair.child, &param));
	RET("passive", rdma_establish(pair.child));
	event_answer("active", pair.active, SOON);
	RET("active_then", rdma_establish(pair.client));
}

GROUP(external_reject, 0)
{
	struct pair pair = make_halves(RDMA_PS_TCP, false);
	struct rdma_conn_param param = conn_param();
	struct ibv_qp *mine = external_qp(pair.client), *its;

	param.qp_num = mine->qp_num;
	NEED(rdma_connect(pair.client, &param));
	pair.child = get_child(pair.passive);
	its = external_qp(pair.child);
	param.qp_num = its->qp_num;
	NEED(rdma_accept(pair.child, &param));
	expect(pair.active, RDMA_CM_EVENT_CONNECT_RESPONSE);
	/* The active side rejects the reply. */
	RET("reject", rdma_reject(pair.client, "no", 2));
	conn_answer("passive", pair.passive);
	RET("establish_after", rdma_establish(pair.client));
}

GROUP(port_space_ib, 0)
{
	struct pair pair = make_halves(RDMA_PS_IB, true);
	struct rdma_conn_param param = conn_param();

	param.private_data = data;
	param.private_data_len = 57;
	RET("data_57", rdma_connect(pair.client, &param));
	param.private_data_len = 56;
	RET("connect", rdma_connect(pair.client, &param));
	conn_answer("request", pair.passive);
}

GROUP(notify, 0)
{
	struct pair pair = make_requested();
	struct rdma_conn_param param = conn_param();
	struct rdma_cm_id *idle = make_id(pair.active, RDMA_PS_TCP);

	RET("idle", rdma_notify(idle, IBV_EVENT_COMM_EST));
	RET("before_accept", rdma_notify(pair.child, IBV_EVENT_COMM_EST));
	NEED(rdma_accept(pair.child, &param));
	expect(pair.active, RDMA_CM_EVENT_ESTABLISHED);
	expect(pair.passive, RDMA_CM_EVENT_ESTABLISHED);
	RET("established", rdma_notify(pair.child, IBV_EVENT_COMM_EST));
	RET("established_client", rdma_notify(pair.client, IBV_EVENT_COMM_EST));
	RET("other_event", rdma_notify(pair.child, IBV_EVENT_QP_FATAL));
	RET("listener", rdma_notify(pair.listener, IBV_EVENT_COMM_EST));
}

GROUP(notify_before_rtu, 0)
{
	struct pair pair = make_halves(RDMA_PS_TCP, false);
	struct rdma_conn_param param = conn_param();
	struct ibv_qp *mine = external_qp(pair.client), *its;

	param.qp_num = mine->qp_num;
	NEED(rdma_connect(pair.client, &param));
	pair.child = get_child(pair.passive);
	its = external_qp(pair.child);
	param.qp_num = its->qp_num;
	NEED(rdma_accept(pair.child, &param));
	expect(pair.active, RDMA_CM_EVENT_CONNECT_RESPONSE);
	RET("notify", rdma_notify(pair.child, IBV_EVENT_COMM_EST));
	event_answer("established", pair.passive, SOON);
	RET("establish", rdma_establish(pair.client));
	quiet_answer("once", pair.passive);
}
