// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * Datagram ids: one end asks for the QP of the other, which tells it or refuses.
 * Every operation in every state, the records, and the room for private data.
 */
#include <string.h>

#include "rca_test.h"

/* What a message has room for, over IPv4 and IPv6. */
enum { REQ_MAX = 180, REP_MAX = 136 };

/* The queue key of RDMA_PS_UDP, and one that is not. */
enum { UDP_QKEY = 0x01234567, OTHER_QKEY = 0x0badcafe };

/* Reasons of a refusal (IBTA volume 1, 12.11.2). */
enum { SIDR_UNSUPPORTED = 1, SIDR_REJECT = 2 };

/* Bits of qp_attr_mask that the verbs have. */
enum {
	QP_STATE = 1 << 0, QP_PKEY_INDEX = 1 << 4, QP_PORT = 1 << 5, QP_QKEY = 1 << 6,
	QP_INIT = QP_STATE | QP_PKEY_INDEX | QP_PORT | QP_QKEY,
};

static const uint8_t *pattern(void)
{
	static uint8_t data[256];

	for (int i = 0; i < 256; i++)
		data[i] = i * 5 + 3;
	return data;
}

static void check_data(const event_t *ev, int sent, int room)
{
	static const uint8_t zero[256];

	EXPECT_EQ(ev->private_data_len, room);
	EXPECT(!memcmp(ev->private_data, pattern(), sent));
	EXPECT(!memcmp(ev->private_data + sent, zero, sizeof(zero) - sent));
}

static void check_no_qp(const event_t *ev)
{
	static const struct ib_uverbs_ah_attr none;

	EXPECT_EQ(ev->qp_num, 0);
	EXPECT_EQ(ev->qkey, 0);
	EXPECT(!memcmp(&ev->ah_attr, &none, sizeof(none)));
}

static uint32_t get_ud(int ctx, int queue, uint16_t ps, uint64_t cookie)
{
	uint32_t id;

	EXPECT_EQ(rca_create(ctx, queue, ps, IB_UVERBS_QPT_UD, cookie, &id), 0);
	return id;
}

static uint32_t get_ud_client(int ctx, int queue, uint16_t ps, const char *ip, uint16_t port)
{
	uint32_t id = get_ud(ctx, queue, ps, CLIENT);

	EXPECT_EQ(rca_resolve_addr(ctx, id, NULL, ip, port), 0);
	EXPECT_EVENT(queue, ADDR_RESOLVED, id);
	EXPECT_EQ(rca_resolve_route(ctx, id), 0);
	EXPECT_EVENT(queue, ROUTE_RESOLVED, id);
	return id;
}

static void ud_listen(struct pair *p, uint16_t ps, const char *ip, uint32_t backlog)
{
	p->ctx = get_ctx();
	p->lq = get_queue(p->ctx);
	p->cq = get_queue(p->ctx);
	p->listener = get_ud(p->ctx, p->lq, ps, LISTENER);
	EXPECT_EQ(rca_bind(p->ctx, p->listener, ip, 0), 0);
	EXPECT_EQ(rca_listen(p->ctx, p->listener, backlog), 0);
	p->port = get_port(p->ctx, p->listener);
}

static void ud_route(struct pair *p, const char *ip)
{
	ud_listen(p, RDMA_PS_UDP, ip, 0);
	p->client = get_ud_client(p->ctx, p->cq, RDMA_PS_UDP, ip, p->port);
}

static void ud_request(struct pair *p, event_t *request)
{
	event_t own;

	request = request ?: &own;
	ud_route(p, THERE);
	EXPECT_EQ(rca_connect(p->ctx, p->client, NULL, 0), 0);
	EXPECT_EVENT_STATUS(p->lq, CONNECT_REQUEST, 0, 0, request);
	p->server = request->id;
}

/* An ACCEPT of the server of a pair; 0: the queue key of the port space. */
static struct rdma_cm_alt_accept accept_cmd(const struct pair *p, uint32_t qkey)
{
	return (struct rdma_cm_alt_accept) {
		.size = sizeof(struct rdma_cm_alt_accept),
		.id = p->server,
		.cookie = SERVER,
		.param = { .qp_num = 0x123456, .qkey = qkey },
	};
}

static int accept_with(const struct pair *p, uint32_t qkey)
{
	struct rdma_cm_alt_accept cmd = accept_cmd(p, qkey);

	return rca_call(p->ctx, RDMA_CM_ALT_ACCEPT, &cmd);
}

static void ud_connect(struct pair *p, event_t *established)
{
	ud_request(p, NULL);
	EXPECT_EQ(accept_with(p, 0), 0);
	EXPECT_EVENT_STATUS(p->cq, ESTABLISHED, p->client, 0, established);
}

TEST(port_spaces_take_datagrams_where_stock_does)
{
	int ctx = get_ctx();
	uint32_t id;

	get_ud(ctx, -1, RDMA_PS_UDP, 0);
	get_ud(ctx, -1, RDMA_PS_IPOIB, 0);
	get_ud(ctx, -1, RDMA_PS_IB, 0);
	EXPECT_EQ(rca_create(ctx, -1, RDMA_PS_TCP, IB_UVERBS_QPT_UD, 0, &id), -EINVAL);
	for (int type = 0; type < 256; type++) {
		if (type == IB_UVERBS_QPT_UD)
			continue;
		EXPECT_EQ(rca_create(ctx, -1, RDMA_PS_UDP, type, 0, &id), -EINVAL);
		EXPECT_EQ(rca_create(ctx, -1, RDMA_PS_IPOIB, type, 0, &id), -EINVAL);
	}
}

TEST(request_tells_everything)
{
	struct rdma_cm_alt_route route;
	struct pair p;
	event_t ev;

	ud_request(&p, &ev);
	EXPECT_EQ(ev.length, sizeof(ev));
	EXPECT_EQ(ev.cookie, LISTENER);
	EXPECT_EQ(ev.listen_id, p.listener);
	EXPECT(ev.id != p.listener && ev.id != p.client);
	EXPECT_EQ(ev.flags, RDMA_CM_ALT_EVENT_F_ROUTE | RDMA_CM_ALT_EVENT_F_UD |
		  RDMA_CM_ALT_EVENT_F_QP);
	check_no_qp(&ev);
	check_data(&ev, 0, REQ_MAX);
	EXPECT_EQ(ev.route.port_num, 1);
	EXPECT_EQ(ev.route.num_paths, 0);
	EXPECT(addr_is(&ev.route.src, THERE));
	EXPECT_EQ(addr_port(&ev.route.src), p.port);
	EXPECT(addr_is(&ev.route.dst, HERE) || addr_is(&ev.route.dst, THERE));
	EXPECT_EQ(addr_port(&ev.route.dst), get_port(p.ctx, p.client));
	EXPECT_EQ(ev.qp.init_mask, QP_INIT);
	EXPECT_EQ(ev.qp.attr.qkey, UDP_QKEY);
	EXPECT_EQ(ev.qp.attr.port_num, 1);
	EXPECT_EQ(rca_query(p.ctx, ev.id, &route), 0);
	EXPECT(!memcmp(&route, &ev.route, sizeof(route)));
}

static void check_established(const char *ip)
{
	struct rdma_cm_alt_route route;
	struct pair p;
	event_t ev;

	ud_route(&p, ip);
	EXPECT_EQ(rca_query(p.ctx, p.client, &route), 0);
	EXPECT_EQ(rca_connect(p.ctx, p.client, NULL, 0), 0);
	EXPECT_EVENT_STATUS(p.lq, CONNECT_REQUEST, 0, 0, &ev);
	p.server = ev.id;
	EXPECT_EQ(accept_with(&p, 0), 0);
	EXPECT_EVENT_STATUS(p.cq, ESTABLISHED, p.client, 0, &ev);
	EXPECT_EQ(ev.cookie, CLIENT);
	EXPECT_EQ(ev.listen_id, 0);
	EXPECT_EQ(ev.flags, RDMA_CM_ALT_EVENT_F_UD);
	EXPECT_EQ(ev.qp_num, 0x123456);
	EXPECT_EQ(ev.qkey, UDP_QKEY);
	check_data(&ev, 0, REP_MAX);
	EXPECT_EQ(ev.ah_attr.is_global, 1);
	EXPECT_EQ(ev.ah_attr.port_num, route.port_num);
	EXPECT(!memcmp(ev.ah_attr.grh.dgid, route.dgid, 16));
	EXPECT(ev.ah_attr.grh.hop_limit > 0);
	/* The server has what it needs since it accepted. */
	EXPECT(!event_waits(p.lq));
	EXPECT(!event_waits(p.cq));
}

TEST(established_tells_everything)
{
	check_established(THERE);
}

TEST(established_over_ipv6)
{
	check_established(HERE6);
}

TEST(established_on_another_device)
{
	check_established(ELSEWHERE);
}

TEST(established_in_rdma_ps_ib)
{
	struct pair p;
	event_t ev;

	ud_listen(&p, RDMA_PS_IB, THERE, 0);
	p.client = get_ud_client(p.ctx, p.cq, RDMA_PS_IB, THERE, p.port);
	EXPECT_EQ(rca_connect(p.ctx, p.client, NULL, 0), 0);
	EXPECT_EVENT_STATUS(p.lq, CONNECT_REQUEST, 0, 0, &ev);
	p.server = ev.id;
	EXPECT_EQ(accept_with(&p, 0), 0);
	EXPECT_EVENT_STATUS(p.cq, ESTABLISHED, p.client, 0, &ev);
	EXPECT_EQ(ev.qkey, UDP_QKEY);
}

static void check_request_data(int len)
{
	struct pair p;
	event_t ev;

	ud_route(&p, HERE);
	EXPECT_EQ(rca_connect(p.ctx, p.client, pattern(), len), 0);
	EXPECT_EVENT_STATUS(p.lq, CONNECT_REQUEST, 0, 0, &ev);
	check_data(&ev, len, REQ_MAX);
}

TEST(private_data_of_a_request)
{
	check_request_data(1);
	check_request_data(REQ_MAX);
}

TEST(request_with_too_much_data_is_einval)
{
	struct pair p;

	ud_route(&p, HERE);
	EXPECT_EQ(rca_connect(p.ctx, p.client, pattern(), REQ_MAX + 1), -EINVAL);
	EXPECT_EQ(rca_connect(p.ctx, p.client, pattern(), 216), -EINVAL);
	EXPECT_EQ(rca_connect(p.ctx, p.client, pattern(), 255), -EINVAL);
	EXPECT_EQ(rca_connect(p.ctx, p.client, pattern(), 65535), -EINVAL);
	EXPECT_EQ(rca_connect(p.ctx, p.client, pattern(), REQ_MAX), 0);
	EXPECT_EVENT(p.lq, CONNECT_REQUEST, 0);
}

TEST(private_data_of_a_reply)
{
	struct pair p;
	event_t ev;

	ud_request(&p, NULL);
	EXPECT_EQ(rca_accept(p.ctx, p.server, SERVER, pattern(), REP_MAX + 1), -EINVAL);
	EXPECT_EQ(rca_accept(p.ctx, p.server, SERVER, pattern(), 255), -EINVAL);
	EXPECT_EQ(rca_accept(p.ctx, p.server, SERVER, pattern(), REP_MAX), 0);
	EXPECT_EVENT_STATUS(p.cq, ESTABLISHED, p.client, 0, &ev);
	check_data(&ev, REP_MAX, REP_MAX);
}

TEST(reject_is_status_2_with_private_data)
{
	struct pair p;
	event_t ev;

	ud_request(&p, NULL);
	EXPECT_EQ(rca_reject(p.ctx, p.server, 0, pattern(), REP_MAX + 1), -EINVAL);
	EXPECT_EQ(rca_reject(p.ctx, p.server, 0, pattern(), UINT32_MAX), -EINVAL);
	EXPECT_EQ(rca_reject(p.ctx, p.server, 27, NULL, 0), -EINVAL);
	EXPECT_EQ(rca_reject(p.ctx, p.server, 0, pattern(), REP_MAX), 0);
	EXPECT_EVENT_STATUS(p.cq, UNREACHABLE, p.client, SIDR_REJECT, &ev);
	EXPECT_EQ(ev.flags, RDMA_CM_ALT_EVENT_F_UD);
	check_no_qp(&ev);
	check_data(&ev, REP_MAX, REP_MAX);
}

TEST(reject_reasons_make_no_difference)
{
	struct pair p;

	ud_request(&p, NULL);
	EXPECT_EQ(rca_reject(p.ctx, p.server, 35, NULL, 0), 0);
	EXPECT_EVENT_STATUS(p.cq, UNREACHABLE, p.client, SIDR_REJECT, NULL);
}

TEST(nobody_listens_is_status_1)
{
	struct pair p;

	ud_route(&p, THERE);
	EXPECT_EQ(rca_destroy(p.ctx, p.listener), 0);
	EXPECT_EQ(rca_connect(p.ctx, p.client, NULL, 0), 0);
	EXPECT_EVENT_STATUS(p.cq, UNREACHABLE, p.client, SIDR_UNSUPPORTED, NULL);
}

TEST(destroy_of_the_request_refuses_it)
{
	struct pair p;

	ud_request(&p, NULL);
	EXPECT_EQ(rca_destroy(p.ctx, p.server), 0);
	EXPECT_EVENT_STATUS(p.cq, UNREACHABLE, p.client, SIDR_REJECT, NULL);
}

TEST(destroy_of_the_listener_refuses_what_nobody_read)
{
	struct pair p;

	ud_route(&p, THERE);
	EXPECT_EQ(rca_connect(p.ctx, p.client, NULL, 0), 0);
	EXPECT(event_comes(p.lq, PATIENCE));
	EXPECT_EQ(rca_destroy(p.ctx, p.listener), 0);
	EXPECT_EVENT_STATUS(p.cq, UNREACHABLE, p.client, SIDR_REJECT, NULL);
}

TEST(destroy_while_the_request_waits)
{
	struct pair p;

	ud_request(&p, NULL);
	EXPECT_EQ(rca_destroy(p.ctx, p.client), 0);
	/* The server cannot know. */
	EXPECT_EQ(accept_with(&p, 0), 0);
	EXPECT(!event_waits(p.lq));
	EXPECT(!event_waits(p.cq));
}

TEST(full_backlog_refuses)
{
	uint32_t one, two;
	struct pair p;

	ud_listen(&p, RDMA_PS_UDP, THERE, 1);
	one = get_ud_client(p.ctx, p.cq, RDMA_PS_UDP, THERE, p.port);
	two = get_ud_client(p.ctx, p.cq, RDMA_PS_UDP, THERE, p.port);
	EXPECT_EQ(rca_connect(p.ctx, one, NULL, 0), 0);
	EXPECT(event_comes(p.lq, PATIENCE));
	EXPECT_EQ(rca_connect(p.ctx, two, NULL, 0), 0);
	EXPECT_EVENT_STATUS(p.cq, UNREACHABLE, two, SIDR_REJECT, NULL);
	/* There is room when the first was read. */
	EXPECT_EVENT(p.lq, CONNECT_REQUEST, 0);
	two = get_ud_client(p.ctx, p.cq, RDMA_PS_UDP, THERE, p.port);
	EXPECT_EQ(rca_connect(p.ctx, two, NULL, 0), 0);
	EXPECT_EVENT(p.lq, CONNECT_REQUEST, 0);
}

TEST(connection_request_for_a_datagram_port)
{
	struct pair p;
	uint32_t id;

	/* One service ID: that of a port in RDMA_PS_IB. */
	ud_listen(&p, RDMA_PS_IB, THERE, 0);
	EXPECT_EQ(rca_create(p.ctx, p.cq, RDMA_PS_IB, IB_UVERBS_QPT_RC, CLIENT, &id), 0);
	EXPECT_EQ(rca_resolve_addr(p.ctx, id, NULL, THERE, p.port), 0);
	EXPECT_EVENT(p.cq, ADDR_RESOLVED, id);
	EXPECT_EQ(rca_resolve_route(p.ctx, id), 0);
	EXPECT_EVENT(p.cq, ROUTE_RESOLVED, id);
	EXPECT_EQ(rca_connect(p.ctx, id, NULL, 0), 0);
	EXPECT_EVENT_STATUS(p.cq, REJECTED, id, 28, NULL);
	EXPECT(!event_waits(p.lq));
}

TEST(ports_of_datagrams_are_their_own)
{
	int ctx = get_ctx();
	uint16_t port = get_port(ctx, get_bound(ctx, -1, HERE, 0));
	uint32_t id = get_ud(ctx, -1, RDMA_PS_UDP, 0), other = get_ud(ctx, -1, RDMA_PS_UDP, 0);

	EXPECT_EQ(rca_bind(ctx, id, HERE, port), 0);
	EXPECT_EQ(rca_listen(ctx, id, 0), 0);
	EXPECT_EQ(rca_bind(ctx, other, HERE, port), -EADDRINUSE);
}

TEST(queue_key_of_accept)
{
	struct ib_uverbs_qp_attr attr;
	struct pair p;
	event_t ev;

	ud_request(&p, NULL);
	EXPECT_EQ(accept_with(&p, OTHER_QKEY), 0);
	EXPECT_EVENT_STATUS(p.cq, ESTABLISHED, p.client, 0, &ev);
	EXPECT_EQ(ev.qkey, OTHER_QKEY);
	/* It is the key of both ids from now on. */
	EXPECT_EQ(rca_qp_attr(p.ctx, p.client, 1, &attr), 0);
	EXPECT_EQ(attr.qkey, OTHER_QKEY);
	EXPECT_EQ(rca_qp_attr(p.ctx, p.server, 1, &attr), 0);
	EXPECT_EQ(attr.qkey, OTHER_QKEY);
}

TEST(queue_key_that_does_not_fit_is_an_address_error)
{
	struct ib_uverbs_qp_attr attr;
	struct pair p;
	event_t ev;

	ud_request(&p, NULL);
	/* The QP of the client has another one now. */
	EXPECT_EQ(rca_qp_attr(p.ctx, p.client, 1, &attr), 0);
	EXPECT_EQ(accept_with(&p, OTHER_QKEY), 0);
	EXPECT_EVENT_STATUS(p.cq, ADDR_ERROR, p.client, -EINVAL, &ev);
	check_no_qp(&ev);
	EXPECT_EQ(rca_connect(p.ctx, p.client, NULL, 0), -EINVAL);
	EXPECT_EQ(rca_disconnect(p.ctx, p.client), 0);
}

TEST(accept_with_a_second_queue_key_is_einval)
{
	struct ib_uverbs_qp_attr attr;
	struct pair p;
	event_t ev;

	ud_request(&p, NULL);
	EXPECT_EQ(rca_qp_attr(p.ctx, p.server, 1, &attr), 0);
	EXPECT_EQ(accept_with(&p, OTHER_QKEY), -EINVAL);
	EXPECT_EQ(accept_with(&p, UDP_QKEY), 0);
	EXPECT_EVENT_STATUS(p.cq, ESTABLISHED, p.client, 0, &ev);
	EXPECT_EQ(ev.qkey, UDP_QKEY);
}

TEST(numbers_beyond_24_bits_are_einval)
{
	struct rdma_cm_alt_accept cmd;
	struct pair p;

	ud_request(&p, NULL);
	cmd = accept_cmd(&p, 0);
	cmd.param.qp_num = 1 << 24;
	EXPECT_EQ(rca_call(p.ctx, RDMA_CM_ALT_ACCEPT, &cmd), -EINVAL);
	EXPECT_EQ(accept_with(&p, 0), 0);
	EXPECT_EVENT(p.cq, ESTABLISHED, p.client);
}

/* All three transitions get the same, at any time once there is a device. */
static void check_attr(const struct pair *p, uint32_t id)
{
	struct ib_uverbs_qp_attr attr;

	for (uint32_t state = 1; state <= 3; state++) {
		EXPECT_EQ(rca_qp_attr(p->ctx, id, state, &attr), 0);
		EXPECT_EQ(attr.qp_attr_mask, QP_INIT);
		EXPECT_EQ(attr.qp_state, state);
		EXPECT_EQ(attr.qkey, UDP_QKEY);
		EXPECT_EQ(attr.port_num, 1);
		EXPECT_EQ(attr.pkey_index, 0);
	}
	EXPECT_EQ(rca_qp_attr(p->ctx, id, 0, &attr), -EINVAL);
	EXPECT_EQ(rca_qp_attr(p->ctx, id, 4, &attr), -EINVAL);
}

TEST(qp_attributes_do_not_depend_on_the_state)
{
	struct ib_uverbs_qp_attr attr;
	struct pair p;
	uint32_t id;

	ud_route(&p, THERE);
	id = get_ud(p.ctx, p.cq, RDMA_PS_UDP, 0);
	EXPECT_EQ(rca_qp_attr(p.ctx, id, 1, &attr), -EINVAL);
	EXPECT_EQ(rca_bind(p.ctx, id, HERE, 0), 0);
	check_attr(&p, id);
	check_attr(&p, p.listener);
	check_attr(&p, p.client);
	ud_request(&p, NULL);
	check_attr(&p, p.server);
	check_attr(&p, p.client);
	EXPECT_EQ(accept_with(&p, 0), 0);
	EXPECT_EVENT(p.cq, ESTABLISHED, p.client);
	check_attr(&p, p.server);
	check_attr(&p, p.client);
}

TEST(resolved_events_have_the_attributes)
{
	int ctx = get_ctx(), queue = get_queue(ctx);
	uint32_t id = get_ud(ctx, queue, RDMA_PS_UDP, 0);
	event_t ev;

	EXPECT_EQ(rca_resolve_addr(ctx, id, NULL, THERE, 1), 0);
	EXPECT_EVENT_STATUS(queue, ADDR_RESOLVED, id, 0, &ev);
	EXPECT(ev.flags & RDMA_CM_ALT_EVENT_F_QP);
	EXPECT_EQ(ev.qp.init_mask, QP_INIT);
	EXPECT_EQ(ev.qp.rtr_mask, 0);
	EXPECT_EQ(ev.qp.attr.qkey, UDP_QKEY);
}

/* What is allowed nowhere once there was a request: EINVAL, and nothing changes. */
static void check_refused(int ctx, uint32_t id)
{
	EXPECT_EQ(rca_bind(ctx, id, HERE, 0), -EINVAL);
	EXPECT_EQ(rca_resolve_addr(ctx, id, NULL, THERE, 1), -EINVAL);
	EXPECT_EQ(rca_resolve_route(ctx, id), -EINVAL);
	EXPECT_EQ(rca_listen(ctx, id, 0), -EINVAL);
	EXPECT_EQ(rca_connect(ctx, id, NULL, 0), -EINVAL);
	EXPECT_EQ(rca_establish(ctx, id), -EINVAL);
	EXPECT_EQ(rca_notify(ctx, id, 4), -EINVAL);
	EXPECT_EQ(rca_notify(ctx, id, 7), -EINVAL);
	/* As with connections. */
	EXPECT_EQ(rca_disconnect(ctx, id), 0);
}

static void check_answered(int ctx, uint32_t id)
{
	check_refused(ctx, id);
	EXPECT_EQ(rca_accept(ctx, id, 0, NULL, 0), -EINVAL);
	EXPECT_EQ(rca_reject(ctx, id, 0, NULL, 0), -EINVAL);
}

TEST(states_before_a_request)
{
	struct pair p;

	ud_route(&p, THERE);
	EXPECT_EQ(rca_accept(p.ctx, p.client, 0, NULL, 0), -EINVAL);
	EXPECT_EQ(rca_reject(p.ctx, p.client, 0, NULL, 0), -EINVAL);
	EXPECT_EQ(rca_establish(p.ctx, p.client), -EINVAL);
	EXPECT_EQ(rca_disconnect(p.ctx, p.client), -EINVAL);
	EXPECT_EQ(rca_notify(p.ctx, p.client, 4), -EINVAL);
	EXPECT_EQ(rca_connect(p.ctx, p.listener, NULL, 0), -EINVAL);
	EXPECT_EQ(rca_accept(p.ctx, p.listener, 0, NULL, 0), -EINVAL);
	EXPECT_EQ(rca_disconnect(p.ctx, p.listener), -EINVAL);
	EXPECT_EQ(rca_connect(p.ctx, p.client, NULL, 0), 0);
	EXPECT_EVENT(p.lq, CONNECT_REQUEST, 0);
}

TEST(states_while_a_request_waits)
{
	struct pair p;

	ud_request(&p, NULL);
	check_answered(p.ctx, p.client);
	check_refused(p.ctx, p.server);
	EXPECT_EQ(accept_with(&p, 0), 0);
	EXPECT_EVENT(p.cq, ESTABLISHED, p.client);
}

TEST(states_when_it_was_accepted)
{
	struct pair p;

	ud_connect(&p, NULL);
	check_answered(p.ctx, p.client);
	check_answered(p.ctx, p.server);
	EXPECT(!event_waits(p.cq));
	EXPECT(!event_waits(p.lq));
	EXPECT_EQ(rca_destroy(p.ctx, p.client), 0);
	EXPECT_EQ(rca_destroy(p.ctx, p.server), 0);
}

TEST(states_when_it_was_refused)
{
	struct pair p;

	ud_request(&p, NULL);
	EXPECT_EQ(rca_reject(p.ctx, p.server, 0, NULL, 0), 0);
	EXPECT_EVENT_STATUS(p.cq, UNREACHABLE, p.client, SIDR_REJECT, NULL);
	check_answered(p.ctx, p.client);
	check_answered(p.ctx, p.server);
}

TEST(ack_timeout_is_einval)
{
	struct pair p;
	uint8_t val = 14;

	ud_route(&p, THERE);
	EXPECT_EQ(rca_set_option(p.ctx, p.client, RDMA_OPTION_ID, RDMA_OPTION_ID_ACK_TIMEOUT,
				 &val, 1), -EINVAL);
	EXPECT_EQ(rca_set_option(p.ctx, p.client, RDMA_OPTION_ID, RDMA_OPTION_ID_TOS, &val, 1),
		  0);
}

/* An address that no IPoIB interface has, which is what this port space is for. */
TEST(ipoib_needs_an_ipoib_interface)
{
	int ctx = get_ctx(), queue = get_queue(ctx);
	uint32_t id = get_ud(ctx, queue, RDMA_PS_IPOIB, 0);

	EXPECT_EQ(rca_bind(ctx, id, HERE, 0), -EINVAL);
	EXPECT_EQ(rca_resolve_addr(ctx, id, HERE, THERE, 1), -EINVAL);
	EXPECT_EQ(rca_resolve_addr(ctx, id, NULL, THERE, 1), 0);
	EXPECT_EVENT_STATUS(queue, ADDR_ERROR, id, -EINVAL, NULL);
	id = get_ud(ctx, queue, RDMA_PS_IPOIB, 0);
	EXPECT_EQ(rca_bind(ctx, id, "0.0.0.0", 0), 0);
	EXPECT_EQ(rca_listen(ctx, id, 0), 0);
}

TEST(many_requests_of_one_listener)
{
	enum { MANY = 30 };
	uint32_t clients[MANY];
	bool seen[MANY] = {};
	struct pair p;
	event_t ev;

	ud_listen(&p, RDMA_PS_UDP, HERE, 0);
	for (int i = 0; i < MANY; i++)
		clients[i] = get_ud_client(p.ctx, p.cq, RDMA_PS_UDP, HERE, p.port);
	for (int i = 0; i < MANY; i++) {
		uint8_t number = i;

		EXPECT_EQ(rca_connect(p.ctx, clients[i], &number, 1), 0);
	}
	for (int i = 0; i < MANY; i++) {
		EXPECT_EVENT_STATUS(p.lq, CONNECT_REQUEST, 0, 0, &ev);
		EXPECT_EQ(rca_accept(p.ctx, ev.id, SERVER, ev.private_data, 1), 0);
	}
	for (int i = 0; i < MANY; i++) {
		EXPECT_EVENT_STATUS(p.cq, ESTABLISHED, 0, 0, &ev);
		EXPECT(ev.private_data[0] < MANY && !seen[ev.private_data[0]]);
		EXPECT_EQ(ev.id, clients[ev.private_data[0]]);
		seen[ev.private_data[0]] = true;
	}
}

KTAP_MAIN
