// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * Every operation in every state that a program can bring an id to. An operation that the state
 * does not allow is EINVAL and changes nothing: a valid operation succeeds afterwards.
 */
#include "rca_test.h"

enum {
	BIND = 1 << 0,
	ADDR = 1 << 1,
	ROUTE = 1 << 2,
	LISTEN = 1 << 3,
	CONNECT = 1 << 4,
	ACCEPT = 1 << 5,
	REJECT = 1 << 6,
	ESTABLISH = 1 << 7,
	DISCONNECT = 1 << 8,
	NOTIFY = 1 << 9,
	ALL = (1 << 10) - 1,
};

static int call(int ctx, uint32_t id, int op)
{
	switch (op) {
	case BIND:
		return rca_bind(ctx, id, HERE, 0);
	case ADDR:
		return rca_resolve_addr(ctx, id, NULL, THERE, 1);
	case ROUTE:
		return rca_resolve_route(ctx, id);
	case LISTEN:
		return rca_listen(ctx, id, 0);
	case CONNECT:
		return rca_connect(ctx, id, NULL, 0);
	case ACCEPT:
		return rca_accept(ctx, id, 0, NULL, 0);
	case REJECT:
		return rca_reject(ctx, id, 0, NULL, 0);
	case ESTABLISH:
		return rca_establish(ctx, id);
	case DISCONNECT:
		return rca_disconnect(ctx, id);
	case NOTIFY:
		return rca_notify(ctx, id, 4);
	default:
		return -ENOSYS;
	}
}

/* All operations but those in @allowed are EINVAL; those in @ignored are 0 and do nothing. */
static void refused(int ctx, uint32_t id, int allowed, int ignored)
{
	static const char * const names[] = {
		"bind", "resolve address", "resolve route", "listen", "connect", "accept",
		"reject", "establish", "disconnect", "notify",
	};

	for (int i = 0; 1 << i <= ALL; i++) {
		int op = 1 << i, ret, wanted = op & ignored ? 0 : -EINVAL;

		if (op & allowed)
			continue;
		ret = call(ctx, id, op);
		if (ret != wanted)
			ktap_fail(__FILE__, __LINE__, "%s: %d, wanted %d", names[i], ret, wanted);
	}
}

TEST(idle)
{
	int ctx = get_ctx();
	uint32_t id = get_id(ctx, -1, 0);

	refused(ctx, id, BIND | ADDR | LISTEN, 0);
	EXPECT_EQ(rca_bind(ctx, id, HERE, 0), 0);
}

TEST(bound)
{
	int ctx = get_ctx(), queue = get_queue(ctx);
	uint32_t id = get_bound(ctx, queue, HERE, 0);

	refused(ctx, id, ADDR | LISTEN, 0);
	EXPECT_EQ(rca_listen(ctx, id, 0), 0);
	id = get_bound(ctx, queue, HERE, 0);
	refused(ctx, id, ADDR | LISTEN, 0);
	await_addr(ctx, queue, id, THERE, 1);
}

TEST(listening)
{
	struct pair p = get_listening(HERE);

	refused(p.ctx, p.listener, 0, DISCONNECT);
	p.client = get_client(p.ctx, p.cq, HERE, p.port, 0);
	pair_send_req(&p, NULL);
}

TEST(resolving_the_address)
{
	int ctx = get_ctx(), queue = get_queue(ctx);
	uint32_t id = get_id(ctx, queue, 0);

	EXPECT_EQ(rca_resolve_addr(ctx, id, NULL, NOBODY, 1), 0);
	refused(ctx, id, 0, 0);
	EXPECT_EVENT_STATUS(queue, ADDR_ERROR, id, -ETIMEDOUT, NULL);
}

TEST(address_resolved)
{
	int ctx = get_ctx(), queue = get_queue(ctx);
	uint32_t id = get_id(ctx, queue, 0);

	await_addr(ctx, queue, id, HERE, 1);
	refused(ctx, id, ROUTE, 0);
	EXPECT(!event_waits(queue));
	await_route(ctx, queue, id);
}

TEST(route_resolved)
{
	struct pair p = get_routed(HERE);

	refused(p.ctx, p.client, CONNECT, 0);
	EXPECT(!event_waits(p.cq));
	pair_send_req(&p, NULL);
}

TEST(request_sent)
{
	struct pair p = get_requested(NULL);

	refused(p.ctx, p.client, 0, DISCONNECT);
	EXPECT_EQ(rca_accept(p.ctx, p.server, 0, NULL, 0), 0);
	EXPECT_EVENT(p.cq, CONNECT_RESPONSE, p.client);
}

TEST(request_received)
{
	struct pair p = get_requested(NULL);

	refused(p.ctx, p.server, ACCEPT | REJECT, DISCONNECT);
	EXPECT_EQ(rca_accept(p.ctx, p.server, 0, NULL, 0), 0);
	EXPECT_EVENT(p.cq, CONNECT_RESPONSE, p.client);
}

TEST(reply_received)
{
	struct pair p = get_accepted(NULL);

	refused(p.ctx, p.client, REJECT | ESTABLISH, DISCONNECT);
	pair_send_rtu(&p);
}

TEST(reply_sent)
{
	struct pair p = get_accepted(NULL);

	refused(p.ctx, p.server, NOTIFY, DISCONNECT);
	pair_send_rtu(&p);
}

TEST(connected)
{
	struct pair p = get_connected();

	refused(p.ctx, p.client, DISCONNECT | NOTIFY, 0);
	refused(p.ctx, p.server, DISCONNECT | NOTIFY, 0);
	EXPECT_EQ(rca_notify(p.ctx, p.client, 4), -EISCONN);
	EXPECT_EQ(rca_notify(p.ctx, p.server, 4), -EISCONN);
	expect_no_events(&p);
	pair_disconnect(&p);
}

TEST(disconnected)
{
	struct pair p = get_connected();

	pair_disconnect(&p);
	refused(p.ctx, p.client, 0, DISCONNECT);
	refused(p.ctx, p.server, 0, DISCONNECT);
	EXPECT_EVENT(p.cq, TIMEWAIT_EXIT, p.client);
	EXPECT_EVENT(p.lq, TIMEWAIT_EXIT, p.server);
}

TEST(after_timewait)
{
	struct pair p = get_connected();

	EXPECT_EQ(rca_disconnect(p.ctx, p.client), 0);
	EXPECT_EVENT(p.cq, DISCONNECTED, p.client);
	EXPECT_EVENT(p.cq, TIMEWAIT_EXIT, p.client);
	refused(p.ctx, p.client, 0, DISCONNECT);
	EXPECT_EQ(rca_destroy(p.ctx, p.client), 0);
}

TEST(rejected)
{
	struct pair p = get_requested(NULL);

	EXPECT_EQ(rca_reject(p.ctx, p.server, 0, NULL, 0), 0);
	EXPECT_EVENT_STATUS(p.cq, REJECTED, p.client, 28, NULL);
	refused(p.ctx, p.client, 0, DISCONNECT);
	refused(p.ctx, p.server, 0, DISCONNECT);
	EXPECT_EQ(rca_destroy(p.ctx, p.client), 0);
	EXPECT_EQ(rca_destroy(p.ctx, p.server), 0);
}

TEST(address_failed)
{
	int ctx = get_ctx(), queue = get_queue(ctx);
	uint32_t id = get_id(ctx, queue, 0);

	EXPECT_EQ(rca_resolve_addr(ctx, id, NULL, NOBODY, 1), 0);
	EXPECT_EVENT_STATUS(queue, ADDR_ERROR, id, -ETIMEDOUT, NULL);
	refused(ctx, id, ADDR | LISTEN, 0);
	await_addr(ctx, queue, id, HERE, 1);
}

KTAP_MAIN
