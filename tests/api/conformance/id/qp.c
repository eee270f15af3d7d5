// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/* QPs, SRQs and the inline calls of rdma_verbs.h: reference sections 1.2 and 2. */
#include "steps.h"

static void fields_answer(const char *check, const struct rdma_cm_id *id)
{
	answer(check, "qp=%s send_cq=%s recv_cq=%s send_channel=%s recv_channel=%s same_cq=%s "
	       "srq=%s pd=%s", qp_state(id->qp), yes(id->send_cq), yes(id->recv_cq),
	       yes(id->send_cq_channel), yes(id->recv_cq_channel),
	       yes(id->send_cq && id->send_cq == id->recv_cq), yes(id->srq), yes(id->pd));
}

GROUP(create_qp, IN_DEBUG)
{
	struct rdma_event_channel *ch = channel();
	struct rdma_cm_id *id = make_bound(ch, HERE, 0), *other = make_bound(ch, ELSEWHERE, 0);
	struct ibv_qp_init_attr attr = qp_attr();
	struct ibv_pd *pd;

	fields_answer("before", id);
	attr.cap.max_inline_data = 16;
	attr.cap.max_send_wr = 5;
	RET("create", rdma_create_qp(id, NULL, &attr));
	fields_answer("fields", id);
	answer("cap", "send=%u recv=%u ssge=%u rsge=%u inline=%u", attr.cap.max_send_wr,
	       attr.cap.max_recv_wr, attr.cap.max_send_sge, attr.cap.max_recv_sge,
	       attr.cap.max_inline_data);
	answer("cq", "context=%s channel=%s", yes(id->send_cq->cq_context == id &&
						  id->recv_cq->cq_context == id),
	       yes(id->send_cq->channel == id->send_cq_channel &&
		   id->recv_cq->channel == id->recv_cq_channel));
	answer("qp", "context=%s pd=%s", yes(id->qp->qp_context), yes(id->qp->pd == id->pd));
	answer("caller_struct", "send_cq=%s recv_cq=%s srq=%s", yes(attr.send_cq),
	       yes(attr.recv_cq), yes(attr.srq));
	attr = qp_attr();
	RET("again", rdma_create_qp(id, NULL, &attr));
	VOID("destroy", rdma_destroy_qp(id));
	fields_answer("destroyed", id);
	attr = qp_attr();
	RET("after_destroy", rdma_create_qp(id, NULL, &attr));
	VOID("destroy_again", rdma_destroy_qp(id));
	pd = NEED_PTR(ibv_alloc_pd(id->verbs));
	attr = qp_attr();
	RET("own_pd", rdma_create_qp(id, pd, &attr));
	answer("own_pd_used", "%s %s", yes(id->qp && id->qp->pd == pd), yes(id->pd == pd));
	rdma_destroy_qp(id);
	answer("own_pd_after", "%s", yes(id->pd == pd));
	attr = qp_attr();
	RET("foreign_pd", rdma_create_qp(other, pd, &attr));
	attr = qp_attr();
	attr.qp_type = IBV_QPT_UD;
	RET("ud_on_rc", rdma_create_qp(id, NULL, &attr));
	attr = qp_attr();
	attr.qp_type = IBV_QPT_UC;
	RET("uc_on_rc", rdma_create_qp(id, NULL, &attr));
	attr = qp_attr();
	attr.cap.max_send_wr = 2000000;
	RET("too_large", rdma_create_qp(id, NULL, &attr));
	fields_answer("too_large_fields", id);
	attr = qp_attr();
	attr.cap.max_recv_sge = 100000;
	RET("too_many_sge", rdma_create_qp(id, NULL, &attr));
	attr = qp_attr();
	attr.cap.max_inline_data = 1000000;
	RET("inline_too_large", rdma_create_qp(id, NULL, &attr));
}

GROUP(create_qp_reused_struct, 0)
{
	struct rdma_event_channel *ch = channel();
	struct rdma_cm_id *id = make_bound(ch, HERE, 0), *other = make_bound(ch, HERE, 0);
	struct ibv_qp_init_attr attr = qp_attr();

	NEED(rdma_create_qp(id, NULL, &attr));
	rdma_destroy_qp(id);
	RET("second_id", rdma_create_qp(other, NULL, &attr));
}

GROUP(create_qp_own_cqs, IN_DEBUG)
{
	struct rdma_event_channel *ch = channel();
	struct rdma_cm_id *id = make_bound(ch, HERE, 0);
	struct ibv_qp_init_attr attr = qp_attr();
	struct ibv_cq *cq = NEED_PTR(ibv_create_cq(id->verbs, 8, NULL, NULL, 0)), *wrong;

	attr.send_cq = cq;
	attr.recv_cq = cq;
	attr.qp_context = ch;
	attr.sq_sig_all = 1;
	RET("both", rdma_create_qp(id, NULL, &attr));
	fields_answer("both_fields", id);
	answer("both_qp", "send_cq=%s recv_cq=%s context=%s", yes(id->qp->send_cq == cq),
	       yes(id->qp->recv_cq == cq), yes(id->qp->qp_context == ch));
	VOID("destroy", rdma_destroy_qp(id));
	attr = qp_attr();
	attr.send_cq = cq;
	RET("send_only", rdma_create_qp(id, NULL, &attr));
	fields_answer("send_only_fields", id);
	VOID("send_only_destroy", rdma_destroy_qp(id));
	wrong = NEED_PTR(ibv_create_cq(make_bound(ch, ELSEWHERE, 0)->verbs, 8, NULL, NULL, 0));
	attr = qp_attr();
	attr.send_cq = wrong;
	attr.recv_cq = wrong;
	RET("other_device", rdma_create_qp(id, NULL, &attr));
}

GROUP(create_qp_states, 0)
{
	struct rdma_event_channel *ch = channel();
	struct ibv_qp_init_attr attr = qp_attr();

	RET("unbound", rdma_create_qp(make_id(ch, RDMA_PS_TCP), NULL, &attr));
}

GROUP(create_qp_states_rest, 0)
{
	struct rdma_event_channel *ch = channel();
	struct ibv_qp_init_attr attr = qp_attr();
	struct pair pair = make_pair();

	RET("resolved", rdma_create_qp(make_resolved(ch, HERE, 1), NULL, &attr));
	attr = qp_attr();
	RET("routed", rdma_create_qp(make_routed(ch, HERE, 1), NULL, &attr));
	attr = qp_attr();
	RET("listener", rdma_create_qp(pair.listener, NULL, &attr));
	rdma_destroy_qp(pair.client);
	attr = qp_attr();
	RET("established", rdma_create_qp(pair.client, NULL, &attr));
	answer("established_state", "%s", qp_state(pair.client->qp));
}

GROUP(create_qp_no_sends, 0)
{
	struct rdma_cm_id *id = make_bound(channel(), HERE, 0);
	struct ibv_qp_init_attr attr = qp_attr();

	attr.cap.max_send_wr = 0;
	RET("create", rdma_create_qp(id, NULL, &attr));
}

GROUP(create_qp_no_receives, 0)
{
	struct rdma_cm_id *id = make_bound(channel(), HERE, 0);
	struct ibv_qp_init_attr attr = qp_attr();

	attr.cap.max_recv_wr = 0;
	RET("create", rdma_create_qp(id, NULL, &attr));
}

GROUP(create_qp_ex, 0)
{
	struct rdma_cm_id *id = make_bound(channel(), HERE, 0);
	struct ibv_qp_init_attr_ex attr = {
		.cap = { .max_send_wr = 4, .max_recv_wr = 4, .max_send_sge = 1, .max_recv_sge = 1 },
		.qp_type = IBV_QPT_RC,
	};

	RET("create", rdma_create_qp_ex(id, &attr));
	fields_answer("fields", id);
	answer("caller_struct", "mask=%#x pd=%s send_cq=%s", attr.comp_mask, yes(attr.pd),
	       yes(attr.send_cq));
	VOID("destroy", rdma_destroy_qp(id));
	memset(&attr, 0, sizeof(attr));
	attr.cap.max_send_wr = 4;
	attr.cap.max_send_sge = 1;
	attr.cap.max_recv_wr = 4;
	attr.cap.max_recv_sge = 1;
	attr.qp_type = IBV_QPT_RC;
	attr.comp_mask = IBV_QP_INIT_ATTR_PD;
	attr.pd = NEED_PTR(ibv_alloc_pd(id->verbs));
	RET("own_pd", rdma_create_qp_ex(id, &attr));
	answer("own_pd_used", "%s", yes(id->qp && id->qp->pd == attr.pd));
}

GROUP(destroy_qp_none, 0)
{
	struct rdma_cm_id *id = make_bound(channel(), HERE, 0);

	VOID("destroy", rdma_destroy_qp(id));
}

GROUP(init_qp_attr, 0)
{
	struct rdma_event_channel *ch = channel();
	struct rdma_cm_id *id = make_bound(ch, HERE, 0);
	struct ibv_qp_attr attr = { .qp_state = IBV_QPS_INIT };
	int mask = 0;

	RET("bound_init", rdma_init_qp_attr(id, &attr, &mask));
	answer("bound_init_attr", "mask=%#x access=%#x port=%u pkey=%u", mask, attr.qp_access_flags,
	       attr.port_num, attr.pkey_index);
	memset(&attr, 0, sizeof(attr));
	attr.qp_state = 99;
	RET("bound_state_99", rdma_init_qp_attr(id, &attr, &mask));
	attr.qp_state = IBV_QPS_INIT;
	RET("unbound", rdma_init_qp_attr(make_id(ch, RDMA_PS_TCP), &attr, &mask));
	attr.qp_state = IBV_QPS_INIT;
	RET("wildcard", rdma_init_qp_attr(make_bound(ch, NULL, 0), &attr, &mask));
	attr.qp_state = IBV_QPS_RTS;
	RET("routed_rts", rdma_init_qp_attr(make_routed(ch, HERE, 1), &attr, &mask));
}

GROUP(srq, 0)
{
	struct rdma_event_channel *ch = channel();
	struct rdma_cm_id *id = make_bound(ch, HERE, 0);
	struct ibv_srq_init_attr attr = { .attr = { .max_wr = 8, .max_sge = 1 } };
	struct ibv_srq_init_attr_ex ex = { .attr = { .max_wr = 8, .max_sge = 1 } };
	struct ibv_qp_init_attr qp = qp_attr();
	struct ibv_pd *pd = NEED_PTR(ibv_alloc_pd(id->verbs));
	char buffer[64];

	RET("create", rdma_create_srq(id, NULL, &attr));
	answer("fields", "srq=%s pd=%s max_wr=%s", yes(id->srq),
	       yes(id->srq && id->srq->pd == id->pd), yes(attr.attr.max_wr >= 8));
	RET("again", rdma_create_srq(id, NULL, &attr));
	RET("qp", rdma_create_qp(id, NULL, &qp));
	fields_answer("qp_fields", id);
	answer("qp_srq", "%s", yes(id->qp && id->qp->srq == id->srq));
	RET("post", rdma_post_recv(id, NULL, buffer, 64, rdma_reg_msgs(id, buffer, 64)));
	VOID("destroy_qp", rdma_destroy_qp(id));
	VOID("destroy", rdma_destroy_srq(id));
	answer("destroyed", "%s", yes(id->srq));
	RET("own_pd", rdma_create_srq(id, pd, &attr));
	answer("own_pd_used", "%s %s", yes(id->srq && id->srq->pd == pd), yes(id->pd == pd));
	rdma_destroy_srq(id);
	RET("ex_without_type", rdma_create_srq_ex(id, &ex));
	ex.comp_mask = IBV_SRQ_INIT_ATTR_TYPE;
	ex.srq_type = IBV_SRQT_BASIC;
	RET("ex_without_pd", rdma_create_srq_ex(id, &ex));
	if (id->srq)
		rdma_destroy_srq(id);
	ex.comp_mask = IBV_SRQ_INIT_ATTR_TYPE | IBV_SRQ_INIT_ATTR_PD;
	ex.pd = pd;
	RET("ex", rdma_create_srq_ex(id, &ex));
	attr.attr.max_wr = 10000000;
	RET("too_large", rdma_create_srq(make_bound(ch, HERE, 0), NULL, &attr));
}

GROUP(messages, IN_DEBUG)
{
	struct pair pair = make_requested();
	struct rdma_conn_param param = conn_param();
	char out[64] = "message", in[64] = "";
	struct ibv_mr *out_mr, *in_mr;
	struct ibv_wc wc = { 0 };

	out_mr = PTR("reg_msgs", rdma_reg_msgs(pair.client, out, sizeof(out)));
	in_mr = PTR("reg_write", rdma_reg_write(pair.child, in, sizeof(in)));
	RET("post_recv", rdma_post_recv(pair.child, (void *)0x99, in, sizeof(in), in_mr));
	NEED(rdma_accept(pair.child, &param));
	expect(pair.active, RDMA_CM_EVENT_ESTABLISHED);
	expect(pair.passive, RDMA_CM_EVENT_ESTABLISHED);
	RET("post_send", rdma_post_send(pair.client, (void *)0x42, out, 8, out_mr,
					IBV_SEND_SIGNALED));
	RET("send_comp", rdma_get_send_comp(pair.client, &wc));
	answer("send_wc", "status=%d wr_id=%#lx", wc.status, (long)wc.wr_id);
	RET("recv_comp", rdma_get_recv_comp(pair.child, &wc));
	answer("recv_wc", "status=%d wr_id=%#lx len=%u text=%s", wc.status, (long)wc.wr_id,
	       wc.byte_len, in);
	strcpy(out, "written");
	RET("post_write", rdma_post_write(pair.client, NULL, out, 8, out_mr, IBV_SEND_SIGNALED,
					  (uintptr_t)in, in_mr->rkey));
	NEED(rdma_get_send_comp(pair.client, &wc) != 1);
	answer("written", "status=%d text=%s", wc.status, in);
	RET("post_recv_flush", rdma_post_recv(pair.child, (void *)0x77, in, sizeof(in), in_mr));
	NEED(rdma_disconnect(pair.client));
	expect(pair.passive, RDMA_CM_EVENT_DISCONNECTED);
	NEED(rdma_disconnect(pair.child));
	RET("flush_comp", rdma_get_recv_comp(pair.child, &wc));
	answer("flush_wc", "status=%d wr_id=%#lx", wc.status, (long)wc.wr_id);
	RET("dereg", rdma_dereg_mr(out_mr));
	NEED(rdma_dereg_mr(in_mr));
	end_pair(&pair);
}

GROUP(reads, 0)
{
	struct pair pair = make_pair();
	char here[64] = "", there[64] = "read me";
	struct ibv_mr *here_mr = NEED_PTR(rdma_reg_msgs(pair.client, here, sizeof(here)));
	struct ibv_mr *there_mr = PTR("reg_read", rdma_reg_read(pair.child, there, sizeof(there)));
	struct ibv_wc wc = { 0 };

	RET("post_read", rdma_post_read(pair.client, NULL, here, 8, here_mr, IBV_SEND_SIGNALED,
					(uintptr_t)there, there_mr->rkey));
	RET("comp", rdma_get_send_comp(pair.client, &wc));
	answer("read", "status=%d text=%s", wc.status, here);
	RET("reg_null", rdma_reg_msgs(pair.client, NULL, 0) ? 0 : -1);
}

GROUP(post_without_qp, 0)
{
	struct rdma_cm_id *id = make_bound(channel(), HERE, 0);
	char buffer[64];
	struct ibv_mr *mr = NEED_PTR(rdma_reg_msgs(id, buffer, sizeof(buffer)));

	RET("recv", rdma_post_recv(id, NULL, buffer, sizeof(buffer), mr));
	RET("send", rdma_post_send(id, NULL, buffer, 1, mr, 0));
}

GROUP(post_recv, 0)
{
	struct rdma_cm_id *id = make_bound(channel(), HERE, 0);
	char buffer[64];
	struct ibv_mr *mr = NEED_PTR(rdma_reg_msgs(id, buffer, 32));
	int n, ret = 0;

	make_qp(id);
	RET("in_init", rdma_post_recv(id, NULL, buffer, 32, mr));
	for (n = 0; n < 100 && !ret; n++)
		ret = rdma_post_recv(id, NULL, buffer, 32, mr);
	answer("overfilled", "ret=%d errno=%s", ret, errno_name(errno));
	RET("outside_mr", rdma_post_recv(id, NULL, buffer, 33, mr));
}
