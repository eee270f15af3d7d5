// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/* Endpoints, events, completions and QPs of tests with two ends. */
#include "ends.h"

#include <arpa/inet.h>

static struct rdma_cm_id *listener_of_rc;

struct ibv_qp_init_attr qp_attr(uint32_t send, uint32_t recv)
{
	return (struct ibv_qp_init_attr) {
		.cap = {
			.max_send_wr = send, .max_recv_wr = recv,
			.max_send_sge = 2, .max_recv_sge = 2, .max_inline_data = 32,
		},
		.qp_type = IBV_QPT_RC,
		.sq_sig_all = 1,
	};
}

struct rdma_addrinfo *get_addrinfo(bool passive, uint16_t port, int ps, enum ibv_qp_type type)
{
	struct rdma_addrinfo hints = {
		.ai_flags = RAI_NUMERICHOST | (passive ? RAI_PASSIVE : 0),
		.ai_port_space = ps, .ai_qp_type = type,
	};
	struct rdma_addrinfo *res;
	char service[8];

	snprintf(service, sizeof(service), "%u", port);
	EXPECT_EQ(rdma_getaddrinfo(HERE, service, &hints, &res), 0);
	return res;
}

struct rdma_cm_id *listen_ep(int ps, enum ibv_qp_type type, struct ibv_pd *pd,
			     struct ibv_qp_init_attr *attr)
{
	struct rdma_addrinfo *res = get_addrinfo(true, 0, ps, type);
	struct rdma_cm_id *id;

	MUST(rdma_create_ep(&id, res, pd, attr));
	rdma_freeaddrinfo(res);
	MUST(rdma_listen(id, 8));
	give_number(ntohs(rdma_get_src_port(id)));
	return id;
}

struct rdma_cm_id *active_ep(int ps, enum ibv_qp_type type, struct ibv_pd *pd,
			     struct ibv_qp_init_attr *attr)
{
	struct rdma_addrinfo *res = get_addrinfo(false, take_number(), ps, type);
	struct rdma_cm_id *id;

	MUST(rdma_create_ep(&id, res, pd, attr));
	rdma_freeaddrinfo(res);
	return id;
}

struct rdma_cm_id *get_request(struct rdma_cm_id *listener)
{
	struct rdma_cm_id *id;

	MUST(rdma_get_request(listener, &id));
	return id;
}

struct rdma_cm_id *accept_one(struct rdma_cm_id *listener, struct rdma_conn_param *param)
{
	struct rdma_cm_id *id = get_request(listener);

	MUST(rdma_accept(id, param));
	return id;
}

struct rdma_cm_id *serve_rc(uint32_t send, uint32_t recv)
{
	struct ibv_qp_init_attr attr = qp_attr(send, recv);

	listener_of_rc = listen_ep(RDMA_PS_TCP, IBV_QPT_RC, NULL, &attr);
	return accept_one(listener_of_rc, NULL);
}

struct rdma_cm_id *connect_rc(uint32_t send, uint32_t recv)
{
	struct ibv_qp_init_attr attr = qp_attr(send, recv);
	struct rdma_cm_id *id = active_ep(RDMA_PS_TCP, IBV_QPT_RC, NULL, &attr);

	MUST(rdma_connect(id, NULL));
	return id;
}

void end_rc(struct rdma_cm_id *id)
{
	/* Stock answers the peer's DREQ only in its own disconnect call: both ends make it. */
	rdma_disconnect(id);
	end_disconnected(id);
}

void end_disconnected(struct rdma_cm_id *id)
{
	rdma_destroy_ep(id);
	if (listener_of_rc)
		rdma_destroy_ep(listener_of_rc);
	listener_of_rc = NULL;
}

struct rdma_cm_id *listen_async(struct rdma_event_channel *channel)
{
	struct sockaddr_in addr = { .sin_family = AF_INET };
	struct rdma_cm_id *id;

	inet_pton(AF_INET, HERE, &addr.sin_addr);
	MUST(rdma_create_id(channel, &id, NULL, RDMA_PS_TCP));
	MUST(rdma_bind_addr(id, (struct sockaddr *)&addr));
	MUST(rdma_listen(id, 0));
	give_number(ntohs(rdma_get_src_port(id)));
	return id;
}

struct rdma_cm_id *resolve_async(struct rdma_event_channel *channel)
{
	struct sockaddr_in addr = { .sin_family = AF_INET, .sin_port = htons(take_number()) };
	struct rdma_cm_id *id;

	inet_pton(AF_INET, HERE, &addr.sin_addr);
	MUST(rdma_create_id(channel, &id, NULL, RDMA_PS_TCP));
	MUST(rdma_resolve_addr(id, NULL, (struct sockaddr *)&addr, 2000));
	expect_cm_event(channel, RDMA_CM_EVENT_ADDR_RESOLVED);
	MUST(rdma_resolve_route(id, 2000));
	expect_cm_event(channel, RDMA_CM_EVENT_ROUTE_RESOLVED);
	return id;
}

struct rdma_cm_event *next_event(struct rdma_event_channel *channel,
				 enum rdma_cm_event_type type)
{
	struct rdma_cm_event *event;

	MUST(rdma_get_cm_event(channel, &event));
	if (event->event != type)
		ktap_fail(__FILE__, __LINE__, "%s (status %d), wanted %s",
			  rdma_event_str(event->event), event->status, rdma_event_str(type));
	return event;
}

void expect_cm_event(struct rdma_event_channel *channel, enum rdma_cm_event_type type)
{
	rdma_ack_cm_event(next_event(channel, type));
}

static void check_wc(const struct ibv_wc *wc, uint64_t wr_id, enum ibv_wc_status status)
{
	if (wc->status != status || wc->wr_id != wr_id)
		ktap_fail(__FILE__, __LINE__, "request 0x%llx: %s, wanted request 0x%llx: %s",
			  (long long)wc->wr_id, ibv_wc_status_str(wc->status),
			  (long long)wr_id, ibv_wc_status_str(status));
}

void expect_send(struct rdma_cm_id *id, uint64_t wr_id, enum ibv_wc_status status)
{
	struct ibv_wc wc;

	EXPECT_EQ(rdma_get_send_comp(id, &wc), 1);
	check_wc(&wc, wr_id, status);
}

void expect_recv(struct rdma_cm_id *id, uint64_t wr_id, enum ibv_wc_status status,
		 struct ibv_wc *wc)
{
	struct ibv_wc own;

	if (!wc)
		wc = &own;
	EXPECT_EQ(rdma_get_recv_comp(id, wc), 1);
	check_wc(wc, wr_id, status);
}

void expect_polled(struct ibv_cq *cq, uint64_t wr_id, enum ibv_wc_status status,
		   struct ibv_wc *wc)
{
	struct timespec pause = { .tv_nsec = 1000000 };
	struct ibv_wc own;
	int ret;

	if (!wc)
		wc = &own;
	while (!(ret = ibv_poll_cq(cq, 1, wc)))
		nanosleep(&pause, NULL);
	EXPECT_EQ(ret, 1);
	check_wc(wc, wr_id, status);
}

static void tell_ah(const struct ibv_ah_attr *ah)
{
	char gid[INET6_ADDRSTRLEN];

	inet_ntop(AF_INET6, &ah->grh.dgid, gid, sizeof(gid));
	tell("ah global=%u dgid=%s sgid_index=%u flow_label=0x%x hop_limit=%u traffic_class=%u",
	     ah->is_global, gid, ah->grh.sgid_index, ah->grh.flow_label, ah->grh.hop_limit,
	     ah->grh.traffic_class);
	tell("ah sl=%u dlid=%u path_bits=%u static_rate=%u port=%u", ah->sl, ah->dlid,
	     ah->src_path_bits, ah->static_rate, ah->port_num);
}

void tell_qp(struct ibv_qp *qp)
{
	struct ibv_qp_init_attr init;
	struct ibv_qp_attr a = { 0 };

	EXPECT_EQ(ibv_query_qp(qp, &a, (IBV_QP_DEST_QPN << 1) - 1, &init), 0);
	tell("qp state=%u cur=%u type=%u sig_all=%d", a.qp_state, a.cur_qp_state, init.qp_type,
	     init.sq_sig_all);
	tell("qp mtu=%u mig=%u qkey=0x%x access=0x%x pkey=%u port=%u", a.path_mtu,
	     a.path_mig_state, a.qkey, a.qp_access_flags, a.pkey_index, a.port_num);
	tell("qp cap send=%u/%u recv=%u/%u inline=%u", a.cap.max_send_wr, a.cap.max_send_sge,
	     a.cap.max_recv_wr, a.cap.max_recv_sge, a.cap.max_inline_data);
	tell("qp rd_atomic=%u dest_rd_atomic=%u", a.max_rd_atomic, a.max_dest_rd_atomic);
	tell("qp min_rnr_timer=%u timeout=%u", a.min_rnr_timer, a.timeout);
	tell("qp retry=%u rnr_retry=%u", a.retry_cnt, a.rnr_retry);
	tell("qp alt pkey=%u port=%u timeout=%u sqd=%u/%u", a.alt_pkey_index, a.alt_port_num,
	     a.alt_timeout, a.en_sqd_async_notify, a.sq_draining);
	tell_ah(&a.ah_attr);
}

void check_qp_numbers(struct ibv_qp *qp)
{
	struct { uint32_t qp_num, dest_qp_num, rq_psn, sq_psn; } own, other;
	struct ibv_qp_init_attr init;
	struct ibv_qp_attr attr;

	EXPECT_EQ(ibv_query_qp(qp, &attr, IBV_QP_DEST_QPN | IBV_QP_RQ_PSN | IBV_QP_SQ_PSN, &init),
		  0);
	own.qp_num = qp->qp_num;
	own.dest_qp_num = attr.dest_qp_num;
	own.rq_psn = attr.rq_psn;
	own.sq_psn = attr.sq_psn;
	give(&own, sizeof(own));
	take(&other, sizeof(other));
	EXPECT_EQ(other.qp_num, own.dest_qp_num);
	EXPECT_EQ(other.dest_qp_num, own.qp_num);
	EXPECT_EQ(other.sq_psn, own.rq_psn);
}
