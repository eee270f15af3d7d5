// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/* CONNECT with the steps before it in one call, and its failures at each step. */
#include "rca_test.h"

enum {
	CREATE = RDMA_CM_ALT_STEP_CREATE,
	BIND = RDMA_CM_ALT_STEP_BIND,
	ADDR = RDMA_CM_ALT_STEP_ADDR,
	ROUTE = RDMA_CM_ALT_STEP_ROUTE,
};

/* A connect of a new id to a listener of @p; tests change members. */
static struct rdma_cm_alt_connect fused(const struct pair *p, const char *ip)
{
	return (struct rdma_cm_alt_connect) {
		.size = sizeof(struct rdma_cm_alt_connect),
		.pipe = {
			.steps = CREATE | ADDR | ROUTE,
			.queue_fd = p->cq,
			.timeout_ms = 2000,
			.cookie = CLIENT,
			.ps = RDMA_PS_TCP,
			.qp_type = IB_UVERBS_QPT_RC,
			.dst = make_addr(ip, p->port),
		},
		.param = {
			.qp_num = fresh_qp_num(),
			.responder_resources = 2,
			.initiator_depth = 3,
			.retry_count = 7,
		},
	};
}

/* The same of an id that exists. */
static struct rdma_cm_alt_connect fused_existing(const struct pair *p, uint32_t id, uint32_t steps)
{
	struct rdma_cm_alt_connect cmd = fused(p, HERE);

	cmd.pipe.steps = steps;
	cmd.pipe.id = id;
	cmd.pipe.queue_fd = -1;
	cmd.pipe.cookie = 0;
	cmd.pipe.ps = 0;
	cmd.pipe.qp_type = 0;
	return cmd;
}

static int call(const struct pair *p, struct rdma_cm_alt_connect *cmd)
{
	return rca_call(p->ctx, RDMA_CM_ALT_CONNECT, cmd);
}

/* Complete and end a connection whose request has been sent. */
static void complete(struct pair *p, uint32_t client, event_t *response)
{
	event_t ev;

	EXPECT_EVENT_STATUS(p->lq, CONNECT_REQUEST, 0, 0, &ev);
	EXPECT_EQ(rca_accept(p->ctx, ev.id, SERVER, NULL, 0), 0);
	EXPECT_EVENT_STATUS(p->cq, CONNECT_RESPONSE, client, 0, response);
	EXPECT_EQ(rca_establish(p->ctx, client), 0);
	EXPECT_EVENT(p->lq, ESTABLISHED, ev.id);
	EXPECT_EQ(rca_destroy(p->ctx, client), 0);
	EXPECT_EVENT(p->lq, DISCONNECTED, ev.id);
	EXPECT_EQ(rca_destroy(p->ctx, ev.id), 0);
	EXPECT(!event_waits(p->cq));
}

static void connects_to(const char *ip)
{
	struct pair p = get_listening(ip);
	struct rdma_cm_alt_connect cmd = fused(&p, ip);
	event_t ev;

	EXPECT_EQ(call(&p, &cmd), 0);
	EXPECT(cmd.out_id);
	EXPECT_EQ(cmd.out_queue_fd, -1);
	complete(&p, cmd.out_id, &ev);
	EXPECT_EQ(ev.cookie, CLIENT);
	/* The route, which no earlier event had, and the attributes of the QP. */
	EXPECT(ev.flags & RDMA_CM_ALT_EVENT_F_ROUTE);
	EXPECT(addr_is(&ev.route.dst, ip));
	EXPECT(ev.route.node_guid);
	EXPECT_EQ(ev.route.num_paths, 1);
	EXPECT(ev.flags & RDMA_CM_ALT_EVENT_F_QP);
	EXPECT(ev.qp.init_mask && ev.qp.rtr_mask && ev.qp.rts_mask);
}

TEST(one_call_connects_over_ipv4)
{
	connects_to(HERE);
}

TEST(one_call_connects_over_ipv6)
{
	connects_to(HERE6);
}

TEST(events_of_steps_come_when_they_are_wanted)
{
	struct pair p = get_listening(HERE);
	struct rdma_cm_alt_connect cmd = fused(&p, HERE);

	cmd.pipe.events = ADDR | ROUTE;
	EXPECT_EQ(call(&p, &cmd), 0);
	EXPECT_EVENT(p.cq, ADDR_RESOLVED, cmd.out_id);
	EXPECT_EVENT(p.cq, ROUTE_RESOLVED, cmd.out_id);
	complete(&p, cmd.out_id, NULL);
}

TEST(the_id_is_bound_first)
{
	struct pair p = get_listening(HERE);
	struct rdma_cm_alt_connect cmd = fused(&p, HERE);
	event_t ev;

	cmd.pipe.steps |= BIND;
	cmd.pipe.src = make_addr(THERE, 7231);
	EXPECT_EQ(call(&p, &cmd), 0);
	complete(&p, cmd.out_id, &ev);
	EXPECT(addr_is(&ev.route.src, THERE));
	EXPECT_EQ(addr_port(&ev.route.src), 7231);
}

TEST(private_data_is_kept)
{
	struct rdma_cm_alt_connect cmd;
	uint8_t data[56], sent[56];
	struct pair p;
	event_t ev;

	for (int i = 0; i < 56; i++)
		data[i] = i + 1;
	memcpy(sent, data, sizeof(sent));
	p = get_listening(HERE);
	cmd = fused(&p, HERE);
	cmd.param.private_data_uptr = (uintptr_t)data;
	cmd.param.private_data_len = sizeof(data);
	EXPECT_EQ(call(&p, &cmd), 0);
	memset(data, 0, sizeof(data));
	EXPECT_EVENT_STATUS(p.lq, CONNECT_REQUEST, 0, 0, &ev);
	EXPECT(!memcmp(ev.private_data, sent, sizeof(sent)));
	EXPECT_EQ(ev.initiator_depth, 2);
	EXPECT_EQ(ev.responder_resources, 3);
}

TEST(an_id_that_exists_does_what_is_left)
{
	struct pair p = get_listening(HERE);
	uint32_t id = get_id(p.ctx, p.cq, CLIENT);
	struct rdma_cm_alt_connect cmd = fused_existing(&p, id, ADDR | ROUTE);

	EXPECT_EQ(call(&p, &cmd), 0);
	EXPECT_EQ(cmd.out_id, id);
	complete(&p, id, NULL);

	id = get_id(p.ctx, p.cq, CLIENT);
	await_addr(p.ctx, p.cq, id, HERE, p.port);
	cmd = fused_existing(&p, id, ROUTE);
	EXPECT_EQ(call(&p, &cmd), 0);
	complete(&p, id, NULL);
}

TEST(events_come_by_a_queue_of_its_own_or_by_the_id)
{
	struct pair p = get_listening(HERE);
	struct rdma_cm_alt_connect cmd = fused(&p, HERE);
	event_t ev;

	cmd.pipe.queue_fd = -1;
	cmd.pipe.flags = RDMA_CM_ALT_PIPE_NEW_QUEUE;
	EXPECT_EQ(call(&p, &cmd), 0);
	EXPECT_EVENT_STATUS(p.lq, CONNECT_REQUEST, 0, 0, &ev);
	EXPECT_EQ(rca_reject(p.ctx, ev.id, 0, NULL, 0), 0);
	EXPECT_EVENT_STATUS(cmd.out_queue_fd, REJECTED, cmd.out_id, 28, &ev);
	MUST(close(cmd.out_queue_fd));
	EXPECT_EQ(rca_destroy(p.ctx, cmd.out_id), -ENOENT);

	cmd = fused(&p, HERE);
	cmd.pipe.queue_fd = -1;
	EXPECT_EQ(call(&p, &cmd), 0);
	EXPECT_EVENT_STATUS(p.lq, CONNECT_REQUEST, 0, 0, &ev);
	EXPECT_EQ(rca_reject(p.ctx, ev.id, 0, NULL, 0), 0);
	EXPECT_EQ(rca_get_event(p.ctx, cmd.out_id, 0, &ev), 0);
	EXPECT_EQ(ev.type, RDMA_CM_ALT_EVENT_REJECTED);
	EXPECT_EQ(ev.id, cmd.out_id);
	EXPECT_EQ(ev.cookie, CLIENT);
}

TEST(a_datagram_id_asks_for_its_peer)
{
	struct rdma_cm_alt_connect cmd;
	struct pair p = { .ctx = get_ctx() };
	uint32_t listener;
	event_t ev;

	p.lq = get_queue(p.ctx);
	p.cq = get_queue(p.ctx);
	EXPECT_EQ(rca_create(p.ctx, p.lq, RDMA_PS_UDP, IB_UVERBS_QPT_UD, LISTENER, &listener), 0);
	EXPECT_EQ(rca_bind(p.ctx, listener, HERE, 0), 0);
	EXPECT_EQ(rca_listen(p.ctx, listener, 0), 0);
	p.port = get_port(p.ctx, listener);
	cmd = fused(&p, HERE);
	cmd.pipe.ps = RDMA_PS_UDP;
	cmd.pipe.qp_type = IB_UVERBS_QPT_UD;
	EXPECT_EQ(call(&p, &cmd), 0);
	EXPECT_EVENT_STATUS(p.lq, CONNECT_REQUEST, 0, 0, &ev);
	EXPECT_EQ(rca_accept(p.ctx, ev.id, SERVER, NULL, 0), 0);
	EXPECT_EVENT_STATUS(p.cq, ESTABLISHED, cmd.out_id, 0, &ev);
	EXPECT(ev.flags & RDMA_CM_ALT_EVENT_F_UD && ev.flags & RDMA_CM_ALT_EVENT_F_ROUTE);
	EXPECT(addr_is(&ev.route.dst, HERE));
}

TEST(quiet_accept_tells_of_the_end_alone)
{
	struct rdma_cm_alt_accept accept = {
		.size = sizeof(accept), .flags = RDMA_CM_ALT_ACCEPT_QUIET, .cookie = SERVER,
	};
	event_t ev;
	struct pair p = get_requested(NULL);

	accept.id = p.server;
	accept.param.qp_num = fresh_qp_num();
	EXPECT_EQ(rca_call(p.ctx, RDMA_CM_ALT_ACCEPT, &accept), 0);
	EXPECT_EVENT(p.cq, CONNECT_RESPONSE, p.client);
	EXPECT_EQ(rca_establish(p.ctx, p.client), 0);
	EXPECT_EQ(rca_disconnect(p.ctx, p.client), 0);
	EXPECT_EVENT_STATUS(p.lq, DISCONNECTED, p.server, 0, &ev);
	EXPECT_EQ(ev.cookie, SERVER);
	EXPECT(!event_waits(p.lq));
}

TEST(quiet_accept_that_fails_changes_nothing)
{
	struct rdma_cm_alt_accept accept = {
		.size = sizeof(accept), .flags = RDMA_CM_ALT_ACCEPT_QUIET, .cookie = SERVER,
		.param.private_data_len = 255,
	};
	uint8_t data[255] = {};
	struct pair p = get_requested(NULL);

	accept.id = p.server;
	accept.param.private_data_uptr = (uintptr_t)data;
	EXPECT_EQ(rca_call(p.ctx, RDMA_CM_ALT_ACCEPT, &accept), -EINVAL);
	pair_send_rep(&p);
	pair_send_rtu(&p);
}

/* Failures. */

TEST(pipelines_that_make_no_sense_are_einval)
{
	static const uint32_t steps[] = {
		CREATE, CREATE | BIND, CREATE | ADDR, CREATE | BIND | ADDR, CREATE | ROUTE,
	};
	struct rdma_cm_alt_connect cmd;
	struct pair p = get_listening(HERE);

	for (unsigned int i = 0; i < sizeof(steps) / sizeof(steps[0]); i++) {
		cmd = fused(&p, HERE);
		cmd.pipe.steps = steps[i];
		cmd.pipe.src = make_addr(HERE, 0);
		EXPECT_EQ(call(&p, &cmd), -EINVAL);
	}
	cmd = fused(&p, HERE);
	cmd.pipe.timeout_ms = 0;
	EXPECT_EQ(call(&p, &cmd), -EINVAL);
	cmd = fused(&p, HERE);
	cmd.pipe.id = 1;
	EXPECT_EQ(call(&p, &cmd), -EINVAL);
	EXPECT(!event_waits(p.lq));
}

TEST(connect_without_steps_takes_no_flags)
{
	struct pair p = get_listening(HERE);
	uint32_t id = get_id(p.ctx, p.cq, CLIENT);
	struct rdma_cm_alt_connect cmd = fused_existing(&p, id, 0);

	cmd.pipe.flags = RDMA_CM_ALT_PIPE_NEW_QUEUE;
	EXPECT_EQ(call(&p, &cmd), -EOPNOTSUPP);
	/* Without the flag the call reaches the id, which has no route. */
	cmd.pipe.flags = 0;
	EXPECT_EQ(call(&p, &cmd), -EINVAL);
}

TEST(create_fails)
{
	struct pair p = get_listening(HERE);
	struct rdma_cm_alt_connect cmd = fused(&p, HERE);

	cmd.pipe.ps = 1;
	EXPECT_EQ(call(&p, &cmd), -EINVAL);
	cmd = fused(&p, HERE);
	cmd.pipe.queue_fd = 9999;
	EXPECT_EQ(call(&p, &cmd), -EBADF);
	EXPECT_EQ(cmd.out_id, 0);
}

TEST(bind_fails)
{
	struct pair p = get_listening(HERE);
	struct rdma_cm_alt_connect cmd = fused(&p, HERE);

	cmd.pipe.steps |= BIND;
	cmd.pipe.src = make_addr(NOT_OURS, 0);
	EXPECT_EQ(call(&p, &cmd), -EADDRNOTAVAIL);
	cmd.pipe.src = make_addr(HERE, p.port);
	EXPECT_EQ(call(&p, &cmd), -EADDRINUSE);
	expect_no_events(&p);
}

TEST(bind_that_fails_later_steps_is_undone_with_a_new_id)
{
	struct pair p = get_listening(HERE);
	struct rdma_cm_alt_connect cmd = fused(&p, HERE);

	cmd.pipe.steps |= BIND;
	cmd.pipe.src = make_addr(HERE, 7232);
	cmd.pipe.dst = make_addr(HERE6, p.port);
	EXPECT_EQ(call(&p, &cmd), -EINVAL);
	/* The port is free again. */
	get_bound(p.ctx, p.cq, HERE, 7232);
}

TEST(address_is_not_resolved)
{
	struct pair p = get_listening(HERE);
	struct rdma_cm_alt_connect cmd = fused(&p, NOBODY);
	uint32_t id;
	event_t ev;

	cmd.pipe.timeout_ms = 100;
	EXPECT_EQ(call(&p, &cmd), 0);
	id = cmd.out_id;
	EXPECT(event_comes(p.cq, PATIENCE));
	get_event(p.cq, &ev);
	EXPECT_EQ(ev.type, RDMA_CM_ALT_EVENT_ADDR_ERROR);
	EXPECT_EQ(ev.id, id);
	EXPECT(ev.status < 0);

	/* The connect was cancelled with its pipeline: resolving again does not connect. */
	await_addr(p.ctx, p.cq, id, HERE, p.port);
	await_route(p.ctx, p.cq, id);
	EXPECT(!event_waits(p.lq));
	EXPECT_EQ(rca_connect(p.ctx, id, NULL, 0), 0);
	complete(&p, id, NULL);
}

TEST(request_that_cannot_be_sent_fails_in_the_call_or_by_its_event)
{
	uint8_t data[57] = {};	/* one byte too many */
	int ret;
	struct pair p = get_listening(HERE);
	uint32_t id = get_id(p.ctx, p.cq, CLIENT);
	struct rdma_cm_alt_connect cmd = fused_existing(&p, id, ADDR | ROUTE);

	cmd.param.private_data_uptr = (uintptr_t)data;
	cmd.param.private_data_len = sizeof(data);
	ret = call(&p, &cmd);
	if (ret)
		EXPECT_EQ(ret, -EINVAL);
	else
		EXPECT_EVENT_STATUS(p.cq, CONNECT_ERROR, id, -EINVAL, NULL);
	EXPECT(!event_waits(p.lq));

	/* The steps before the request have succeeded. */
	EXPECT_EQ(rca_connect(p.ctx, id, data, 56), 0);
	complete(&p, id, NULL);
}

TEST(nobody_listens)
{
	struct pair p = get_listening(HERE);
	struct rdma_cm_alt_connect cmd = fused(&p, HERE);

	EXPECT_EQ(rca_destroy(p.ctx, p.listener), 0);
	EXPECT_EQ(call(&p, &cmd), 0);
	EXPECT_EVENT_STATUS(p.cq, REJECTED, cmd.out_id, 8, NULL);
}

TEST(other_operations_wait_for_the_end_of_the_pipeline)
{
	struct pair p = get_listening(HERE);
	struct rdma_cm_alt_connect cmd, again;
	uint32_t id;

	cmd = fused(&p, NOBODY);
	cmd.pipe.timeout_ms = 30000;
	EXPECT_EQ(call(&p, &cmd), 0);
	id = cmd.out_id;
	again = fused_existing(&p, id, ADDR | ROUTE);
	EXPECT_EQ(call(&p, &again), -EINVAL);
	EXPECT_EQ(rca_connect(p.ctx, id, NULL, 0), -EINVAL);
	EXPECT_EQ(rca_resolve_addr(p.ctx, id, NULL, HERE, 1), -EINVAL);
	EXPECT_EQ(rca_disconnect(p.ctx, id), -EINVAL);
	EXPECT_EQ(rca_destroy(p.ctx, id), 0);
	EXPECT(!event_waits(p.cq));
}

TEST(ids_go_in_the_middle_of_their_pipelines)
{
	struct pair p = get_listening(HERE);
	struct rdma_cm_alt_connect cmd;

	for (int i = 0; i < 40; i++) {
		cmd = fused(&p, i % 2 ? NOBODY : HERE);
		EXPECT_EQ(call(&p, &cmd), 0);
		usleep(i % 4 * 200);
		EXPECT_EQ(rca_destroy(p.ctx, cmd.out_id), 0);
	}
	/* Some ids are destroyed with their queue, the others with the process. */
	for (int i = 0; i < 10; i++) {
		cmd = fused(&p, i % 2 ? NOBODY : HERE);
		EXPECT_EQ(call(&p, &cmd), 0);
	}
	MUST(close(p.cq));
	p.cq = get_queue(p.ctx);
	for (int i = 0; i < 10; i++) {
		cmd = fused(&p, i % 2 ? NOBODY : HERE);
		EXPECT_EQ(call(&p, &cmd), 0);
	}
}

KTAP_MAIN
