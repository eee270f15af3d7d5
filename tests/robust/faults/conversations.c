// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * Faults in whole conversations: a connection and a datagram request, from listen to destroy; a
 * group that is joined and left.
 */
#define _GNU_SOURCE
#include <infiniband/verbs.h>
#include <poll.h>

#include "conversation.h"
#include "groups.h"
#include "knobs.h"
#include "rca_datagram.h"

/* Seconds until a server disconnects, too, if the client could not send its request for that. */
#define UNTOLD 1

static uint32_t member;
static struct ibv_qp *qps[2];

/* Over iWARP both ends are on one device, as the others are in another network namespace. */
static const char *target(void)
{
	return over_tcp() ? here() : there();
}

/* Whether the next event of an id is this one. Otherwise it is one that ends a connect. */
static bool hears(int queue, uint32_t id, uint32_t type)
{
	event_t ev;

	hear(queue, id, &ev);
	if (ev.type == type && !ev.status)
		return true;
	if (ev.type != RDMA_CM_ALT_EVENT_REJECTED && ev.type != RDMA_CM_ALT_EVENT_UNREACHABLE &&
	    ev.type != RDMA_CM_ALT_EVENT_CONNECT_ERROR)
		ktap_fail(__FILE__, __LINE__, "event %u/%d, wanted event %u", ev.type, ev.status,
			  type);
	excuse("event", ev.status);
	return false;
}

static void expect_failure(int queue, uint32_t id)
{
	EXPECT(!hears(queue, id, RDMA_CM_ALT_EVENT_CONNECT_REQUEST));
}

/* A QP number; over TCP that of a QP which iw_cm can use. */
static uint32_t get_qp_num(int end)
{
	struct ibv_qp_init_attr init = {
		.qp_type = IBV_QPT_RC,
		.cap = { .max_send_wr = 1, .max_recv_wr = 1, .max_send_sge = 1, .max_recv_sge = 1 },
	};
	static struct ibv_pd *pd;
	struct ibv_context *verbs = NULL;
	struct ibv_device **list;
	static struct ibv_cq *cq;

	if (!over_tcp())
		return fresh_qp_num();
	if (!pd) {
		list = ibv_get_device_list(NULL);
		for (int i = 0; list && list[i]; i++)
			if (!strcmp(ibv_get_device_name(list[i]), "siw0"))
				verbs = ibv_open_device(list[i]);
		EXPECT(verbs);
		pd = ibv_alloc_pd(verbs);
		cq = ibv_create_cq(verbs, 1, NULL, NULL, 0);
		EXPECT(pd && cq);
	}
	if (!qps[end]) {
		init.send_cq = cq;
		init.recv_cq = cq;
		qps[end] = ibv_create_qp(pd, &init);
		EXPECT(qps[end]);
	}
	return qps[end]->qp_num;
}

static struct rdma_cm_alt_conn_param conn_param(int end)
{
	return (struct rdma_cm_alt_conn_param) {
		.qp_num = get_qp_num(end), .responder_resources = 1, .initiator_depth = 1,
		.retry_count = 7, .rnr_retry_count = 7,
	};
}

static int connect_client(void)
{
	return RCA_CALL(p.ctx, CONNECT, rdma_cm_alt_connect, .pipe.id = p.client,
			.param = conn_param(0));
}

static int accept_server(void)
{
	return RCA_CALL(p.ctx, ACCEPT, rdma_cm_alt_accept, .id = p.server, .cookie = SERVER,
			.param = conn_param(1));
}

static bool listen_as(bool datagram)
{
	create(&p.listener, p.lq, datagram);
	AGAIN(rca_bind(p.ctx, p.listener, target(), 0));
	AGAIN(rca_listen(p.ctx, p.listener, 0));
	p.port = get_port(p.ctx, p.listener);
	return true;
}

/* A step of the resolution works when it is repeated after its error event. */
static void resolve_step(int (*call)(void), uint32_t resolved)
{
	event_t ev;

	AGAIN(call());
	hear(p.cq, p.client, &ev);
	if (ev.type == resolved)
		return;
	EXPECT(ev.type == RDMA_CM_ALT_EVENT_ADDR_ERROR ||
	       ev.type == RDMA_CM_ALT_EVENT_ROUTE_ERROR);
	EXPECT(ev.status == -ENOMEM || ev.status == -ETIMEDOUT);
	excuse("resolve", ev.status);
	EXPECT_EQ(call(), 0);
	hear(p.cq, p.client, &ev);
	EXPECT_EQ(ev.type, resolved);
}

static int resolve_addr(void)
{
	return rca_resolve_addr(p.ctx, p.client, NULL, target(), p.port);
}

static int resolve_route(void)
{
	return rca_resolve_route(p.ctx, p.client);
}

static bool resolve_as(bool datagram)
{
	create(&p.client, p.cq, datagram);
	resolve_step(resolve_addr, RDMA_CM_ALT_EVENT_ADDR_RESOLVED);
	resolve_step(resolve_route, RDMA_CM_ALT_EVENT_ROUTE_RESOLVED);
	return true;
}

/* Over TCP there is one listener, as iw_cm takes long to ask for a port mapper each time. */
static bool listens(void)
{
	return p.listener || listen_as(false);
}

static bool resolves(void)
{
	return resolve_as(false);
}

static bool listens_for_datagrams(void)
{
	return listen_as(true);
}

static bool resolves_for_datagrams(void)
{
	return resolve_as(true);
}

/* Whether a request comes before an event of the client. */
static bool request_comes(void)
{
	struct pollfd fds[] = {
		{ .fd = p.cq, .events = POLLIN }, { .fd = p.lq, .events = POLLIN },
	};
	event_t ev;

	if (!MUST(poll(fds, 2, PATIENCE * 1000)))
		ktap_fail(__FILE__, __LINE__, "neither end was told of the request");
	if (fds[0].revents)
		return false;
	destroy(&p.server);
	EXPECT_EVENT_STATUS(p.lq, CONNECT_REQUEST, 0, 0, &ev);
	p.server = ev.id;
	return true;
}

static bool connects(void)
{
	AGAIN(connect_client());
	if (request_comes())
		return true;
	expect_failure(p.cq, p.client);
	return false;
}

/* An accept that fails has rejected the request. */
static bool accepts(void)
{
	if (FAILS(accept_server())) {
		EXPECT_EQ(accept_server(), -EINVAL);
		expect_failure(p.cq, p.client);
		return false;
	}
	if (!over_tcp())
		return hears(p.cq, p.client, RDMA_CM_ALT_EVENT_CONNECT_RESPONSE);
	EXPECT_EVENT(p.lq, ESTABLISHED, p.server);
	EXPECT_EVENT(p.cq, ESTABLISHED, p.client);
	return true;
}

/* An establish that fails has ended the connection. */
static bool establishes(void)
{
	if (over_tcp())
		return true;
	if (FAILS(rca_establish(p.ctx, p.client))) {
		EXPECT_EQ(rca_establish(p.ctx, p.client), -EINVAL);
		expect_failure(p.lq, p.server);
		return false;
	}
	EXPECT_EVENT(p.lq, ESTABLISHED, p.server);
	return true;
}

/* A disconnect does not fail. Without memory the peer may not be told, and disconnects itself. */
static bool disconnects(void)
{
	event_t ev;

	EXPECT_EQ(rca_disconnect(p.ctx, p.client), 0);
	hear(p.cq, p.client, &ev);
	EXPECT_EQ(ev.type, RDMA_CM_ALT_EVENT_DISCONNECTED);
	if (was_hit() && !event_comes(p.lq, UNTOLD))
		EXPECT_EQ(rca_disconnect(p.ctx, p.server), 0);
	hear(p.lq, p.server, &ev);
	EXPECT_EQ(ev.type, RDMA_CM_ALT_EVENT_DISCONNECTED);
	return true;
}

static bool destroys(void)
{
	destroy(&p.server);
	destroy(&p.client);
	if (!over_tcp())
		destroy(&p.listener);
	for (int end = 0; end < 2; end++) {
		if (qps[end])
			EXPECT(!ibv_destroy_qp(qps[end]));
		qps[end] = NULL;
	}
	expect_no_events(&p);
	return true;
}

/* The request comes again if its answer was lost, as ib_cm does not keep answers to datagrams. */
static bool answers(void)
{
	do {
		if (FAILS(datagram_accept(&p, 0)))
			EXPECT_EQ(datagram_accept(&p, 0), -EINVAL);
	} while (request_comes());
	return hears(p.cq, p.client, RDMA_CM_ALT_EVENT_ESTABLISHED);
}

static bool binds(void)
{
	create(&p.client, p.cq, true);
	AGAIN(rca_bind(p.ctx, p.client, here(), 0));
	return true;
}

static void expect_users(int wanted)
{
	if (on_roce())
		EXPECT_EQ(igmp_users("d0", GROUP), wanted);
}

static int join_group(void)
{
	return rca_join(p.ctx, p.client, GROUP, RDMA_MC_JOIN_FLAG_FULLMEMBER, 42, &member);
}

static void leave_group(void)
{
	uint32_t reported;

	EXPECT_EQ(rca_leave(p.ctx, member, &reported), 0);
	EXPECT_EQ(reported, 1);
	expect_users(0);
}

/* After the error event the membership can only be left. */
static bool joins(void)
{
	event_t ev;

	AGAIN(join_group());
	hear(p.cq, p.client, &ev);
	if (ev.type != RDMA_CM_ALT_EVENT_MULTICAST_JOIN) {
		EXPECT_EQ(ev.type, RDMA_CM_ALT_EVENT_MULTICAST_ERROR);
		EXPECT(ev.status == -ENOMEM || ev.status == -ETIMEDOUT);
		excuse("join", ev.status);
		leave_group();
		EXPECT_EQ(join_group(), 0);
		EXPECT_EVENT(p.cq, MULTICAST_JOIN, p.client);
	}
	expect_users(1);
	return true;
}

/* The subnet administrator is told later. */
static bool leaves(void)
{
	leave_group();
	if (!on_roce())
		usleep(20000);
	return true;
}

static const struct phase connection[] = {
	{ "listen", listens }, { "resolve", resolves }, { "connect", connects },
	{ "accept", accepts }, { "establish", establishes }, { "disconnect", disconnects },
	{ "destroy", destroys }, {},
};

static const struct phase request[] = {
	{ "listen", listens_for_datagrams }, { "resolve", resolves_for_datagrams },
	{ "connect", connects }, { "accept", answers }, { "destroy", destroys }, {},
};

static const struct phase group[] = {
	{ "bind", binds }, { "join", joins }, { "leave", leaves }, { "destroy", destroys }, {},
};

/* The bits of the first phases. */
#define FIRST(number) ((1U << (number)) - 1)

TEST(connections)
{
	sweep_conversation(connection, &allocations, over_tcp() ? 0xe : FIRST(6));
}

TEST(datagrams)
{
	if (over_tcp())
		ktap_skip("TCP has no datagrams");
	sweep_conversation(request, &allocations, FIRST(4));
}

TEST(memberships)
{
	if (over_tcp())
		ktap_skip("TCP has no groups");
	sweep_conversation(group, &allocations, FIRST(2));
}

static void fail_ib_cm(unsigned int nth)
{
	static struct text ib_cm;

	if (!ib_cm.start)
		ib_cm = text_of_module("ib_cm");
	faults_at(&ib_cm, NULL, nth);
}

/* With those of messages that ib_cm receives, which are lost for us. */
static const struct kind of_ib_cm = {
	"allocations that fail in ib_cm", fail_ib_cm, faults_hit, fail_no_more,
};

TEST(connection_in_ib_cm)
{
	if (over_tcp())
		ktap_skip("iw_cm has no messages");
	sweep_conversation(connection, &of_ib_cm, 0);
}

TEST(datagram_in_ib_cm)
{
	if (over_tcp())
		ktap_skip("iw_cm has no messages");
	sweep_conversation(request, &of_ib_cm, 0);
}

static bool lost_one(void)
{
	return rules_hit();
}

static void lose_no_more(void)
{
	rule("clear");
}

static void lose_nth(const char *messages, unsigned int nth)
{
	char text[64];

	snprintf(text, sizeof(text), "drop %s skip=%u count=1", messages, nth - 1);
	lose(text);
}

static void lose_cm(unsigned int nth)
{
	lose_nth("CM", nth);
}

static void lose_sa(unsigned int nth)
{
	lose_nth("SA", nth);
}

static const struct kind lost_cm = {
	"messages of a conversation that are lost", lose_cm, lost_one, lose_no_more,
};

static const struct kind lost_sa = {
	"queries of a conversation that are lost", lose_sa, lost_one, lose_no_more,
};

static void skip_unless_rules(void)
{
	if (on_roce() || over_tcp())
		ktap_skip("of InfiniBand alone");
}

TEST(connection_that_loses_a_message)
{
	skip_unless_rules();
	sweep_conversation(connection, &lost_cm, 0);
}

TEST(datagram_that_loses_a_message)
{
	skip_unless_rules();
	sweep_conversation(request, &lost_cm, 0);
}

TEST(connection_that_loses_a_query)
{
	skip_unless_rules();
	sweep_conversation(connection, &lost_sa, 1 << 1);
}

TEST(groups_that_lose_a_query)
{
	skip_unless_rules();
	sweep_conversation(group, &lost_sa, 1 << 1);
}

KTAP_MAIN
