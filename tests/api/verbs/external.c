// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * QPs that the program creates itself: attributes, the reply, establish, notify, ECE, early
 * data.
 */
#include "lib/ends.h"

/* The objects of a QP that the program creates itself. */
struct own {
	struct ibv_pd *pd;
	struct ibv_cq *cq;
	struct ibv_qp *qp;
	struct ibv_mr *mr;
	char buffer[128];
};

static void make_own(struct own *own, struct rdma_cm_id *id)
{
	struct ibv_qp_init_attr attr = qp_attr(4, 4);

	own->pd = ibv_alloc_pd(id->verbs);
	EXPECT(own->pd);
	own->cq = ibv_create_cq(id->verbs, 16, NULL, NULL, 0);
	EXPECT(own->cq);
	attr.send_cq = own->cq;
	attr.recv_cq = own->cq;
	own->qp = ibv_create_qp(own->pd, &attr);
	EXPECT(own->qp);
	own->mr = ibv_reg_mr(own->pd, own->buffer, sizeof(own->buffer), IBV_ACCESS_LOCAL_WRITE);
	EXPECT(own->mr);
}

static void end_own(struct own *own, struct rdma_cm_id *id)
{
	ibv_destroy_qp(own->qp);
	ibv_destroy_cq(own->cq);
	ibv_dereg_mr(own->mr);
	ibv_dealloc_pd(own->pd);
	MUST(rdma_destroy_id(id));
}

static void post_recv(struct own *own, uint64_t wr_id)
{
	struct ibv_sge sge = {
		.addr = (uintptr_t)own->buffer, .length = sizeof(own->buffer),
		.lkey = own->mr->lkey,
	};
	struct ibv_recv_wr wr = { .wr_id = wr_id, .sg_list = &sge, .num_sge = 1 }, *bad;

	EXPECT_EQ(ibv_post_recv(own->qp, &wr, &bad), 0);
}

static void post_send(struct own *own, uint64_t wr_id, const char *text)
{
	struct ibv_sge sge = { .addr = (uintptr_t)text, .length = strlen(text) + 1 };
	struct ibv_send_wr wr = {
		.wr_id = wr_id, .sg_list = &sge, .num_sge = 1, .opcode = IBV_WR_SEND,
		.send_flags = IBV_SEND_INLINE,
	}, *bad;

	EXPECT_EQ(ibv_post_send(own->qp, &wr, &bad), 0);
}

/* Move the QP to a state with the attributes of the id, and print them. */
static void move(struct own *own, struct rdma_cm_id *id, enum ibv_qp_state state)
{
	struct ibv_qp_attr attr = { .qp_state = state };
	int mask;

	MUST(rdma_init_qp_attr(id, &attr, &mask));
	tell("state %d: mask 0x%x", state, mask);
#define TELL(bit, member)							\
	do {									\
		if (mask & (bit))						\
			tell("state %d: " #member " 0x%x", state, attr.member);	\
	} while (0)
	TELL(IBV_QP_ACCESS_FLAGS, qp_access_flags);
	TELL(IBV_QP_PKEY_INDEX, pkey_index);
	TELL(IBV_QP_PORT, port_num);
	TELL(IBV_QP_PATH_MTU, path_mtu);
	TELL(IBV_QP_AV, ah_attr.port_num);
	TELL(IBV_QP_AV, ah_attr.grh.sgid_index);
	TELL(IBV_QP_AV, ah_attr.grh.hop_limit);
	TELL(IBV_QP_MAX_DEST_RD_ATOMIC, max_dest_rd_atomic);
	TELL(IBV_QP_MIN_RNR_TIMER, min_rnr_timer);
	TELL(IBV_QP_MAX_QP_RD_ATOMIC, max_rd_atomic);
	TELL(IBV_QP_TIMEOUT, timeout);
	TELL(IBV_QP_RETRY_CNT, retry_cnt);
	TELL(IBV_QP_RNR_RETRY, rnr_retry);
#undef TELL
	EXPECT_EQ(attr.qp_state, state);
	EXPECT_EQ(ibv_modify_qp(own->qp, &attr, mask), 0);
}

static void move_all(struct own *own, struct rdma_cm_id *id)
{
	move(own, id, IBV_QPS_INIT);
	post_recv(own, 1);
	move(own, id, IBV_QPS_RTR);
	move(own, id, IBV_QPS_RTS);
}

static struct rdma_conn_param param_of(const struct own *own)
{
	return (struct rdma_conn_param) {
		.responder_resources = 2, .initiator_depth = 3, .retry_count = 5,
		.rnr_retry_count = 6, .qp_num = own->qp->qp_num,
	};
}

/* The server's end up to the request; creates *own. */
static struct rdma_cm_id *await_request(struct rdma_event_channel **channel, struct own *own)
{
	struct rdma_cm_event *event;
	struct rdma_cm_id *id;

	*channel = rdma_create_event_channel();
	EXPECT(*channel);
	listen_async(*channel);
	event = next_event(*channel, RDMA_CM_EVENT_CONNECT_REQUEST);
	id = event->id;
	tell("request: depths %u %u retries %u %u", event->param.conn.responder_resources,
	     event->param.conn.initiator_depth, event->param.conn.retry_count,
	     event->param.conn.rnr_retry_count);
	EXPECT_EQ(event->param.conn.qp_num, take_number());
	rdma_ack_cm_event(event);
	make_own(own, id);
	return id;
}

/* The client's end up to the reply; creates *own and moves it to RTS. */
static struct rdma_cm_id *await_response(struct rdma_event_channel **channel, struct own *own,
					 struct ibv_ece *ece)
{
	struct rdma_conn_param param;
	struct rdma_cm_event *event;
	struct rdma_cm_id *id;

	*channel = rdma_create_event_channel();
	EXPECT(*channel);
	id = resolve_async(*channel);
	make_own(own, id);
	param = param_of(own);
	give_number(own->qp->qp_num);
	if (ece)
		MUST(rdma_set_local_ece(id, ece));
	MUST(rdma_connect(id, &param));
	event = next_event(*channel, RDMA_CM_EVENT_CONNECT_RESPONSE);
	EXPECT(event->id == id);
	tell("response: depths %u %u", event->param.conn.responder_resources,
	     event->param.conn.initiator_depth);
	EXPECT_EQ(event->param.conn.qp_num, take_number());
	rdma_ack_cm_event(event);
	move_all(own, id);
	return id;
}

static void accept_own(struct rdma_cm_id *id, struct own *own)
{
	struct rdma_conn_param param = param_of(own);

	move_all(own, id);
	give_number(own->qp->qp_num);
	MUST(rdma_accept(id, &param));
}

static void server_ends(struct rdma_event_channel *channel, struct own *own, struct rdma_cm_id *id)
{
	struct ibv_qp_attr attr = { .qp_state = IBV_QPS_ERR };

	expect_cm_event(channel, RDMA_CM_EVENT_DISCONNECTED);
	EXPECT_EQ(ibv_modify_qp(own->qp, &attr, IBV_QP_STATE), 0);
	MUST(rdma_disconnect(id));
	end_own(own, id);
}

static void client_ends(struct rdma_event_channel *channel, struct own *own, struct rdma_cm_id *id)
{
	MUST(rdma_disconnect(id));
	expect_cm_event(channel, RDMA_CM_EVENT_DISCONNECTED);
	end_own(own, id);
}

/* The complete sequence, and calls in the wrong state. */
DUO(establish)

SERVER(establish)
{
	struct rdma_event_channel *channel;
	struct own own;
	struct rdma_cm_id *id = await_request(&channel, &own);

	accept_own(id, &own);
	expect_cm_event(channel, RDMA_CM_EVENT_ESTABLISHED);
	expect_polled(own.cq, 1, IBV_WC_SUCCESS, NULL);
	EXPECT(!strcmp(own.buffer, "hello"));
	meet();
	post_send(&own, 2, "hello too");
	expect_polled(own.cq, 2, IBV_WC_SUCCESS, NULL);
	check_qp_numbers(own.qp);
	EXPECT_EQ(rdma_establish(id), -1);
	tell("establish on this side: %s", errno_name());
	meet();
	server_ends(channel, &own, id);
}

CLIENT(establish)
{
	struct rdma_event_channel *channel;
	struct own own;
	struct rdma_cm_id *id = await_response(&channel, &own, NULL);

	MUST(rdma_establish(id));
	EXPECT_EQ(rdma_establish(id), -1);
	tell("establish twice: %s", errno_name());
	post_send(&own, 3, "hello");
	expect_polled(own.cq, 3, IBV_WC_SUCCESS, NULL);
	meet();
	expect_polled(own.cq, 1, IBV_WC_SUCCESS, NULL);
	EXPECT(!strcmp(own.buffer, "hello too"));
	check_qp_numbers(own.qp);
	meet();
	client_ends(channel, &own, id);
}

/* A message arrives before the RTU: the server notifies the kernel of the connection. */
DUO(data_before_rtu)

SERVER(data_before_rtu)
{
	struct rdma_event_channel *channel;
	struct own own;
	struct rdma_cm_id *id = await_request(&channel, &own);

	EXPECT_EQ(rdma_notify(id, IBV_EVENT_COMM_EST), -1);
	tell("notify before accept: %s", errno_name());
	accept_own(id, &own);
	expect_polled(own.cq, 1, IBV_WC_SUCCESS, NULL);
	EXPECT(!strcmp(own.buffer, "early"));
	EXPECT_EQ(rdma_notify(id, IBV_EVENT_QP_FATAL), -1);
	tell("notify of another event: %s", errno_name());
	MUST(rdma_notify(id, IBV_EVENT_COMM_EST));
	expect_cm_event(channel, RDMA_CM_EVENT_ESTABLISHED);
	EXPECT_EQ(rdma_notify(id, IBV_EVENT_COMM_EST), -1);
	tell("notify twice: %s", errno_name());
	/* The answer reaches a client that has not sent its RTU. */
	meet();
	post_send(&own, 2, "answer");
	expect_polled(own.cq, 2, IBV_WC_SUCCESS, NULL);
	meet();
	/* The RTU arrives and causes no second ESTABLISHED. */
	server_ends(channel, &own, id);
}

CLIENT(data_before_rtu)
{
	struct rdma_event_channel *channel;
	struct own own;
	struct rdma_cm_id *id = await_response(&channel, &own, NULL);

	post_send(&own, 3, "early");
	expect_polled(own.cq, 3, IBV_WC_SUCCESS, NULL);
	meet();
	expect_polled(own.cq, 1, IBV_WC_SUCCESS, NULL);
	EXPECT(!strcmp(own.buffer, "answer"));
	meet();
	MUST(rdma_establish(id));
	client_ends(channel, &own, id);
}

/* The request and the reply carry the ECE vendor and options. */
DUO(ece)

SERVER(ece)
{
	struct ibv_ece ece = { .vendor_id = 0x1234, .options = 0x11 };
	struct rdma_event_channel *channel;
	struct own own;
	struct rdma_cm_id *id = await_request(&channel, &own);

	MUST(rdma_get_remote_ece(id, &ece));
	tell("request: vendor 0x%x options 0x%x", ece.vendor_id, ece.options);
	EXPECT_EQ(ece.vendor_id, 0x1234);
	EXPECT_EQ(ece.options, 0x55aa);
	ece.options = 0x11;
	MUST(rdma_set_local_ece(id, &ece));
	accept_own(id, &own);
	expect_cm_event(channel, RDMA_CM_EVENT_ESTABLISHED);
	server_ends(channel, &own, id);
}

CLIENT(ece)
{
	struct ibv_ece ece = { .vendor_id = 0x1234, .options = 0x55aa };
	struct rdma_event_channel *channel;
	struct own own;
	struct rdma_cm_id *id = await_response(&channel, &own, &ece);

	MUST(rdma_get_remote_ece(id, &ece));
	tell("reply: vendor 0x%x options 0x%x", ece.vendor_id, ece.options);
	EXPECT_EQ(ece.options, 0x11);
	MUST(rdma_establish(id));
	client_ends(channel, &own, id);
}

/* Unsupported ECE options: the request is rejected with the reason for that. */
DUO(reject_ece)

SERVER(reject_ece)
{
	struct rdma_event_channel *channel;
	struct own own;
	struct rdma_cm_id *id = await_request(&channel, &own);

	MUST(rdma_reject_ece(id, "not this", 9));
	EXPECT_EQ(rdma_reject_ece(id, NULL, 0), -1);
	tell("rejecting twice: %s", errno_name());
	end_own(&own, id);
}

CLIENT(reject_ece)
{
	struct ibv_ece none = { 0 }, some = { .vendor_id = 1 };
	struct rdma_event_channel *channel = rdma_create_event_channel();
	struct rdma_conn_param param;
	struct rdma_cm_event *event;
	struct rdma_cm_id *id;
	struct own own;

	EXPECT(channel);
	id = resolve_async(channel);
	make_own(&own, id);
	param = param_of(&own);
	give_number(own.qp->qp_num);
	EXPECT_EQ(rdma_set_local_ece(id, &none), -1);
	tell("no vendor: %s", errno_name());
	MUST(rdma_set_local_ece(id, &some));
	MUST(rdma_connect(id, &param));
	event = next_event(channel, RDMA_CM_EVENT_REJECTED);
	tell("rejected: %d, %s", event->status, (const char *)event->param.conn.private_data);
	rdma_ack_cm_event(event);
	end_own(&own, id);
}

DUO_MAIN
