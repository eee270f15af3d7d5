// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/* Tests of ids for datagrams: how they request a QP from the peer, and report theirs. */
#include "fake/fixture.h"

#define LAST_CONNECT (&fake.last[FAKE(CONNECT)].connect.param)
#define LAST_ACCEPT (&fake.last[FAKE(ACCEPT)].accept)
#define REQUEST_DATA 180
#define REPLY_DATA 136

static struct rdma_cm_id *resolved(struct rdma_event_channel *ch)
{
	struct rdma_cm_id *id = new_ud_id(ch);

	resolve(id);
	return id;
}

static struct rdma_cm_id *ud_listener(struct rdma_event_channel *ch)
{
	struct rdma_cm_id *id = new_ud_id(ch);

	assert_int_equal(rdma_bind_addr(id, addr4("10.9.0.1", 7000)), 0);
	assert_int_equal(rdma_listen(id, 5), 0);
	return id;
}

/* The format of the peer's answer. */
static struct rdma_cm_alt_event answer(struct rdma_cm_id *id, __u32 type)
{
	struct rdma_cm_alt_event event = fake_event(type, handle_of(id));
	struct ib_uverbs_ah_attr *ah = &event.ah_attr;

	event.flags |= RDMA_CM_ALT_EVENT_F_UD;
	event.qp_num = 0x123456;
	event.qkey = 0x01234567;
	memset(ah->grh.dgid, 0xd6, sizeof(ah->grh.dgid));
	ah->grh.flow_label = 0xabcde;
	ah->grh.sgid_index = 3;
	ah->grh.hop_limit = 64;
	ah->grh.traffic_class = 104;
	ah->dlid = 0x1234;
	ah->sl = 5;
	ah->src_path_bits = 1;
	ah->static_rate = 2;
	ah->is_global = 1;
	ah->port_num = 1;
	event.private_data_len = REPLY_DATA;
	memset(event.private_data, 'p', REPLY_DATA);
	return event;
}

static void check_data(const struct rdma_ud_param *ud, int len, int byte)
{
	const uint8_t *data = ud->private_data;
	int i;

	assert_int_equal(ud->private_data_len, len);
	for (i = 0; i < len; i++)
		assert_int_equal(data[i], byte);
}

TEST(connect_without_parameters_needs_no_qp)
{
	struct rdma_event_channel *ch = rdma_create_event_channel();
	struct rdma_cm_id *id = resolved(ch);

	fake.connect_event = FAKE_NO_EVENT;
	assert_int_equal(rdma_connect(id, NULL), 0);
	assert_int_equal(LAST_CONNECT->private_data_len, 0);
	assert_int_equal(rdma_destroy_id(id), 0);
	rdma_destroy_event_channel(ch);
}

TEST(connect_sends_private_data_and_ignores_depths)
{
	struct rdma_conn_param param = {
		.private_data = "name", .private_data_len = 5,
		.responder_resources = 200, .initiator_depth = 200,
	};
	struct rdma_event_channel *ch = rdma_create_event_channel();
	struct rdma_cm_id *id = resolved(ch);

	fake.connect_event = FAKE_NO_EVENT;
	assert_int_equal(rdma_connect(id, &param), 0);
	assert_int_equal(LAST_CONNECT->private_data_len, 5);
	assert_string_equal((char *)fake.private_data, "name");
	fake.fail[FAKE(CONNECT)] = EINVAL;
	assert_fails(EINVAL, rdma_connect(id, &param));
	assert_int_equal(rdma_destroy_id(id), 0);
	rdma_destroy_event_channel(ch);
}

TEST(established_names_the_peers_qp)
{
	struct rdma_event_channel *ch = rdma_create_event_channel();
	struct rdma_cm_id *id = resolved(ch);
	struct rdma_cm_alt_event record;
	struct rdma_cm_event *event;
	const struct ibv_ah_attr *ah;
	int i;

	add_qp(id);
	fake_verbs.moves = 0;
	fake.connect_event = FAKE_NO_EVENT;
	assert_int_equal(rdma_connect(id, NULL), 0);
	record = answer(id, RDMA_CM_ALT_EVENT_ESTABLISHED);
	fake_post(&record);
	event = take(ch, RDMA_CM_EVENT_ESTABLISHED);
	ah = &event->param.ud.ah_attr;
	assert_int_equal(event->status, 0);
	assert_int_equal(event->param.ud.qp_num, 0x123456);
	assert_int_equal(event->param.ud.qkey, 0x01234567);
	for (i = 0; i < 16; i++)
		assert_int_equal(ah->grh.dgid.raw[i], 0xd6);
	assert_int_equal(ah->grh.flow_label, 0xabcde);
	assert_int_equal(ah->grh.sgid_index, 3);
	assert_int_equal(ah->grh.hop_limit, 64);
	assert_int_equal(ah->grh.traffic_class, 104);
	assert_int_equal(ah->dlid, 0x1234);
	assert_int_equal(ah->sl, 5);
	assert_int_equal(ah->src_path_bits, 1);
	assert_int_equal(ah->static_rate, 2);
	assert_int_equal(ah->is_global, 1);
	assert_int_equal(ah->port_num, 1);
	check_data(&event->param.ud, REPLY_DATA, 'p');
	/* The QP was already in RTS. */
	assert_int_equal(fake_verbs.moves, 0);
	assert_int_equal(fake.calls[FAKE(ESTABLISH)], 0);
	rdma_ack_cm_event(event);
	rdma_destroy_qp(id);
	assert_int_equal(rdma_destroy_id(id), 0);
	rdma_destroy_event_channel(ch);
}

TEST(unreachable_has_the_sidr_status_and_data)
{
	struct rdma_event_channel *ch = rdma_create_event_channel();
	struct rdma_cm_id *id = resolved(ch);
	struct rdma_cm_alt_event record;
	struct rdma_cm_event *event;

	record = answer(id, RDMA_CM_ALT_EVENT_UNREACHABLE);
	record.status = 2;
	fake_post(&record);
	event = take(ch, RDMA_CM_EVENT_UNREACHABLE);
	assert_int_equal(event->status, 2);
	check_data(&event->param.ud, REPLY_DATA, 'p');
	rdma_ack_cm_event(event);
	assert_int_equal(rdma_destroy_id(id), 0);
	rdma_destroy_event_channel(ch);
}

TEST(synchronous_connect_has_the_result_of_the_event)
{
	struct rdma_cm_id *id = resolved(NULL);

	fake.connect_event = RDMA_CM_ALT_EVENT_ESTABLISHED;
	assert_int_equal(rdma_connect(id, NULL), 0);
	assert_int_equal(id->event->event, RDMA_CM_EVENT_ESTABLISHED);
	fake.connect_event = RDMA_CM_ALT_EVENT_UNREACHABLE;
	fake.status = -ETIMEDOUT;
	assert_fails(ETIMEDOUT, rdma_connect(id, NULL));
	fake.status = 2;
	assert_fails(2, rdma_connect(id, NULL));
	assert_int_equal(id->event->status, 2);
	assert_int_equal(rdma_destroy_id(id), 0);
}

/* There is no event to wait for. */
TEST(disconnect_returns_at_once)
{
	struct rdma_cm_id *id = resolved(NULL);

	add_qp(id);
	fake.connect_event = RDMA_CM_ALT_EVENT_ESTABLISHED;
	assert_int_equal(rdma_connect(id, NULL), 0);
	fake.disconnect_event = FAKE_NO_EVENT;
	assert_int_equal(rdma_disconnect(id), 0);
	assert_int_equal(id->qp->state, IBV_QPS_ERR);
	fake.fail[FAKE(DISCONNECT)] = EINVAL;
	assert_fails(EINVAL, rdma_disconnect(id));
	rdma_destroy_qp(id);
	assert_int_equal(rdma_destroy_id(id), 0);
}

/* A request event of a listener. */
static struct rdma_cm_event *request(struct rdma_event_channel *ch, struct rdma_cm_id *l)
{
	struct rdma_cm_alt_event record;
	struct rdma_cm_event *event;

	record = fake_event(RDMA_CM_ALT_EVENT_CONNECT_REQUEST, fake_child(handle_of(l)));
	record.cookie = rcl_id_of(l)->cookie;
	record.listen_id = handle_of(l);
	record.private_data_len = REQUEST_DATA;
	memset(record.private_data, 'q', REQUEST_DATA);
	fake_post(&record);
	event = take(ch, RDMA_CM_EVENT_CONNECT_REQUEST);
	assert_ptr_equal(event->listen_id, l);
	return event;
}

TEST(request_makes_an_id_for_datagrams)
{
	struct rdma_event_channel *ch = rdma_create_event_channel();
	struct rdma_cm_id *l = ud_listener(ch);
	struct rdma_cm_event *event = request(ch, l);
	struct rdma_cm_id *child = event->id;

	assert_int_equal(child->ps, RDMA_PS_UDP);
	assert_int_equal(child->qp_type, IBV_QPT_UD);
	assert_non_null(child->verbs);
	check_data(&event->param.ud, REQUEST_DATA, 'q');
	rdma_ack_cm_event(event);
	assert_int_equal(rdma_destroy_id(child), 0);
	assert_int_equal(rdma_destroy_id(l), 0);
	rdma_destroy_event_channel(ch);
}

TEST(accept_names_the_qp_and_leaves_it_alone)
{
	struct rdma_conn_param param = {
		.qp_num = 0x99, .private_data = "here", .private_data_len = 5,
	};
	struct rdma_event_channel *ch = rdma_create_event_channel();
	struct rdma_cm_id *l = ud_listener(ch);
	struct rdma_cm_event *event = request(ch, l);
	struct rdma_cm_id *child = event->id;

	fake.accept_event = FAKE_NO_EVENT;
	assert_fails(EINVAL, rdma_accept(child, NULL));
	assert_int_equal(rdma_accept(child, &param), 0);
	assert_int_equal(LAST_ACCEPT->param.qp_num, 0x99);
	assert_int_equal(LAST_ACCEPT->param.qkey, 0);
	assert_int_equal(LAST_ACCEPT->param.private_data_len, 5);
	assert_string_equal((char *)fake.private_data, "here");
	add_qp(child);
	fake_verbs.moves = 0;
	assert_int_equal(rdma_accept(child, &param), 0);
	assert_int_equal(LAST_ACCEPT->param.qp_num, 0x77);
	assert_int_equal(rdma_accept(child, NULL), 0);
	assert_int_equal(LAST_ACCEPT->param.qp_num, 0x77);
	assert_int_equal(fake_verbs.moves, 0);
	fake.fail[FAKE(ACCEPT)] = ECONNRESET;
	assert_fails(ECONNRESET, rdma_accept(child, NULL));
	assert_int_equal(child->qp->state, IBV_QPS_ERR);
	rdma_ack_cm_event(event);
	rdma_destroy_qp(child);
	assert_int_equal(rdma_destroy_id(child), 0);
	assert_int_equal(rdma_destroy_id(l), 0);
	rdma_destroy_event_channel(ch);
}

TEST(reject_carries_data)
{
	struct rdma_event_channel *ch = rdma_create_event_channel();
	struct rdma_cm_id *l = ud_listener(ch);
	struct rdma_cm_event *event = request(ch, l);
	struct rdma_cm_id *child = event->id;
	uint8_t data[REPLY_DATA + 1] = "no";

	assert_int_equal(rdma_reject(child, data, REPLY_DATA), 0);
	assert_int_equal(fake.last[FAKE(REJECT)].reject.private_data_len, REPLY_DATA);
	/* The kernel checks the limit. */
	fake.fail[FAKE(REJECT)] = EINVAL;
	assert_fails(EINVAL, rdma_reject(child, data, REPLY_DATA + 1));
	assert_int_equal(fake.last[FAKE(REJECT)].reject.private_data_len, REPLY_DATA + 1);
	rdma_ack_cm_event(event);
	assert_int_equal(rdma_destroy_id(child), 0);
	assert_int_equal(rdma_destroy_id(l), 0);
	rdma_destroy_event_channel(ch);
}

TEST(endpoint_gives_requests_a_qp_and_accept_does_not_wait)
{
	struct rdma_addrinfo res = {
		.ai_flags = RAI_PASSIVE, .ai_qp_type = IBV_QPT_UD,
		.ai_port_space = RDMA_PS_UDP,
		.ai_src_addr = addr4("10.9.0.1", 7000),
		.ai_src_len = sizeof(struct sockaddr_in),
	};
	struct ibv_qp_init_attr attr = qp_attr();
	struct rdma_cm_id *l, *child = NULL;

	assert_int_equal(rdma_create_ep(&l, &res, NULL, &attr), 0);
	assert_int_equal(rdma_listen(l, 1), 0);
	fake_request(handle_of(l));
	fake.accept_event = FAKE_NO_EVENT;
	assert_int_equal(rdma_get_request(l, &child), 0);
	assert_int_equal(child->qp_type, IBV_QPT_UD);
	assert_non_null(child->qp);
	assert_int_equal(child->qp->state, IBV_QPS_RTS);
	assert_non_null(child->event);
	assert_int_equal(rdma_accept(child, NULL), 0);
	assert_null(child->event);
	rdma_destroy_ep(child);
	rdma_destroy_ep(l);
}

TEST(qp_is_ready_with_the_kernels_queue_key)
{
	struct rdma_cm_id *id = new_ud_id(NULL);

	fake.attr.qkey = 0x01234567;
	fake.attr.qp_attr_mask = IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT | IBV_QP_QKEY;
	assert_int_equal(rdma_bind_addr(id, addr4("10.9.0.1", 7000)), 0);
	add_qp(id);
	assert_int_equal(fake_verbs.moves, 3);
	assert_int_equal(fake_verbs.state[0], IBV_QPS_INIT);
	assert_int_equal(fake_verbs.mask[0], fake.attr.qp_attr_mask);
	assert_int_equal(fake_verbs.attr[0].qkey, 0x01234567);
	assert_int_equal(fake_verbs.state[1], IBV_QPS_RTR);
	assert_int_equal(fake_verbs.mask[1], IBV_QP_STATE);
	assert_int_equal(fake_verbs.state[2], IBV_QPS_RTS);
	assert_int_equal(fake_verbs.mask[2], IBV_QP_STATE | IBV_QP_SQ_PSN);
	rdma_destroy_qp(id);
	assert_int_equal(rdma_destroy_id(id), 0);
}

TEST(attributes_for_a_foreign_qp)
{
	struct ibv_qp_attr attr = { .qp_state = IBV_QPS_INIT };
	struct rdma_cm_id *id = new_ud_id(NULL);
	int mask = 0;

	fake.attr.qkey = 0x01234567;
	fake.attr.qp_attr_mask = IBV_QP_STATE | IBV_QP_QKEY;
	assert_int_equal(rdma_bind_addr(id, addr4("10.9.0.1", 7000)), 0);
	assert_int_equal(rdma_init_qp_attr(id, &attr, &mask), 0);
	assert_int_equal(mask, IBV_QP_STATE | IBV_QP_QKEY);
	assert_int_equal(attr.qkey, 0x01234567);
	fake.fail[FAKE(QP_ATTR)] = EINVAL;
	attr.qp_state = IBV_QPS_RTR;
	assert_fails(EINVAL, rdma_init_qp_attr(id, &attr, &mask));
	assert_int_equal(rdma_destroy_id(id), 0);
}

RUN
