// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/* Synchronous ids: calls that wait for their event: reference sections 0 and 1.1. */
#include "steps.h"

struct half {
	struct rdma_cm_id *listener, *id;
	int port;
};

/* Runs in a thread: the server's side up to an accepted connection. */
static int serve(void *arg)
{
	struct half *half = arg;
	int ret = rdma_get_request(half->listener, &half->id);

	if (ret)
		return ret;
	make_qp(half->id);
	return rdma_accept(half->id, NULL);
}

static int disconnect(void *arg)
{
	return rdma_disconnect(arg);
}

static int get_request(void *arg)
{
	struct half *half = arg;

	return rdma_get_request(half->listener, &half->id);
}

static struct half make_server(const char *ip)
{
	struct half half = { .listener = make_id(NULL, RDMA_PS_TCP) };

	NEED(rdma_bind_addr(half.listener, at(ip, 0)));
	NEED(rdma_listen(half.listener, 0));
	half.port = port_of(half.listener);
	return half;
}

static struct rdma_cm_id *make_client(int port)
{
	struct rdma_cm_id *id = make_id(NULL, RDMA_PS_TCP);

	NEED(rdma_resolve_addr(id, NULL, at(HERE, port), SOON));
	NEED(rdma_resolve_route(id, SOON));
	make_qp(id);
	return id;
}

GROUP(sync, IN_DEBUG)
{
	struct half server = make_server(HERE);
	struct rdma_conn_param param = conn_param();
	struct rdma_cm_id *id = make_id(NULL, RDMA_PS_TCP);
	struct thread *thread;

	sync_event_answer("event_new", id);
	RET("resolve_addr", rdma_resolve_addr(id, NULL, at(HERE, server.port), SOON));
	sync_event_answer("resolve_addr_event", id);
	RET("resolve_route", rdma_resolve_route(id, SOON));
	sync_event_answer("resolve_route_event", id);
	make_qp(id);
	sync_event_answer("create_qp_event", id);
	thread = thread_begin(serve, &server);
	RET("connect", rdma_connect(id, &param));
	sync_event_answer("connect_event", id);
	if (id->event)
		show_conn("connect_data", id->event);
	answer("qp", "%s", qp_state(id->qp));
	thread_answer("accept", thread, patience(SOON));
	sync_event_answer("accept_event", server.id);
	answer("child", "own_channel=%s context=%s",
	       yes(server.id->channel != server.listener->channel), yes(server.id->context));
	sync_event_answer("listener_event", server.listener);
	thread = thread_begin(disconnect, id);
	NEED(thread_wait(thread, patience(1500), NULL) != RUNNING &&
	     !server.id->verbs);
	RET("disconnect_server", rdma_disconnect(server.id));
	sync_event_answer("disconnect_server_event", server.id);
	thread_answer("disconnect", thread, patience(SOON));
	sync_event_answer("disconnect_event", id);
	rdma_destroy_qp(server.id);
	RET("destroy_child", rdma_destroy_id(server.id));
	rdma_destroy_qp(id);
	RET("destroy", rdma_destroy_id(id));
	RET("destroy_listener", rdma_destroy_id(server.listener));
}

GROUP(sync_disconnect, WAITS)
{
	struct half server = make_server(HERE);
	struct thread *thread = thread_begin(serve, &server);
	struct rdma_cm_id *id = make_client(server.port);
	struct rdma_conn_param param = conn_param();

	NEED(rdma_connect(id, &param));
	NEED(thread_wait(thread, patience(SOON), NULL));
	thread = thread_begin(disconnect, id);
	/* The peer's program makes no call for a while. */
	thread_answer("peer_busy", thread, 1500);
	NEED(rdma_disconnect(server.id));
	thread_answer("peer_answered", thread, patience(SOON));
}

GROUP(sync_disconnect_unconnected, WAITS)
{
	struct rdma_cm_id *id = make_client(1);
	struct thread *thread = thread_begin(disconnect, id);

	thread_answer("routed", thread, 1500);
}

GROUP(sync_failures, WAITS)
{
	struct rdma_cm_id *id = make_id(NULL, RDMA_PS_TCP);
	struct rdma_conn_param param = conn_param();

	RET("nobody", rdma_resolve_addr(id, NULL, at(NOBODY, 1), 500));
	sync_event_answer("nobody_event", id);
	RET("no_route", rdma_resolve_addr(id, NULL, at(NOT_OURS, 1), 500));
	sync_event_answer("no_route_event", id);
	RET("destroy", rdma_destroy_id(id));
	id = make_client(6998);
	RET("no_listener", rdma_connect(id, &param));
	sync_event_answer("no_listener_event", id);
	RET("connect_again", rdma_connect(id, &param));
	sync_event_answer("connect_again_event", id);
	RET("data_too_long", ({ param.private_data = "", param.private_data_len = 57;
				rdma_connect(id, &param); }));
}

static int reject_one(void *arg)
{
	struct half *half = arg;
	int ret = rdma_get_request(half->listener, &half->id);

	return ret ?: rdma_reject(half->id, "no", 2);
}

GROUP(sync_reject, 0)
{
	struct half server = make_server(HERE);
	struct thread *thread = thread_begin(reject_one, &server);
	struct rdma_cm_id *id = make_client(server.port);
	struct rdma_conn_param param = conn_param();

	RET("connect", rdma_connect(id, &param));
	sync_event_answer("connect_event", id);
	if (id->event)
		show_conn("data", id->event);
	thread_answer("reject", thread, patience(SOON));
	sync_event_answer("server_event", server.id);
	RET("accept_after", rdma_accept(server.id, NULL));
}

GROUP(get_request, 0)
{
	struct rdma_event_channel *active = channel();
	struct half server = make_server(HERE);
	struct rdma_conn_param param = conn_param();
	struct rdma_cm_id *client, *async;
	struct thread *thread = thread_begin(get_request, &server);

	thread_answer("nobody_there", thread, QUIET);
	client = make_routed(active, HERE, server.port);
	make_qp(client);
	NEED(rdma_connect(client, &param));
	thread_answer("request", thread, patience(SOON));
	answer("child", "verbs=%s pd=%s qp=%s event=%s", yes(server.id->verbs), yes(server.id->pd),
	       yes(server.id->qp), yes(server.id->event));
	addr_answer("addresses", server.id, server.port);
	if (server.id->event)
		show_conn("event", server.id->event);
	answer("listen_id", "%s", yes(server.id->event &&
				      server.id->event->listen_id == server.listener));
	RET("destroy_child", rdma_destroy_id(server.id));
	event_answer("client", active, SOON);

	async = make_bound(active, HERE, 0);
	NEED(rdma_listen(async, 0));
	RET("async_listener", rdma_get_request(async, &server.id));
	RET("idle", rdma_get_request(make_id(active, RDMA_PS_TCP), &server.id));
	NEED(fcntl(server.listener->channel->fd, F_SETFL, O_NONBLOCK));
	RET("nonblocking", rdma_get_request(server.listener, &server.id));
}

GROUP(sync_nonblocking, WAITS)
{
	struct half server = make_server(HERE);
	struct rdma_cm_id *id = make_id(NULL, RDMA_PS_TCP);
	struct rdma_conn_param param = conn_param();
	struct rdma_cm_event *event;
	struct thread *thread;
	int ret;

	/* As rsockets do: one call starts the operation, another one completes it. */
	NEED(fcntl(id->channel->fd, F_SETFL, O_NONBLOCK));
	RET("resolve_addr", rdma_resolve_addr(id, NULL, at(NOBODY, server.port), 1000));
	event_answer("resolve_addr_event", id->channel, SOON);
	answer("verbs", "%s", yes(id->verbs));
	NEED(rdma_destroy_id(id));
	id = make_client(server.port);
	NEED(fcntl(id->channel->fd, F_SETFL, O_NONBLOCK));
	ret = rdma_connect(id, &param);
	answer("connect", "ret=%d errno=%s", ret, errno_name(errno));
	thread = thread_begin(serve, &server);
	event = get_event(id->channel, SOON);
	if (event)
		show_conn("connect_event", event);
	answer("qp", "%s", qp_state(id->qp));
	thread_answer("accept", thread, patience(SOON));
}

GROUP(sync_mixed, 0)
{
	struct rdma_event_channel *ch = channel();
	struct rdma_cm_id *id = make_id(NULL, RDMA_PS_TCP);

	NEED(rdma_resolve_addr(id, NULL, at(HERE, 1), SOON));
	sync_event_answer("event", id);
	RET("migrate", rdma_migrate_id(id, ch));
	sync_event_answer("event_after", id);
	RET("route", rdma_resolve_route(id, SOON));
	event_answer("route_event", ch, SOON);
	RET("back", rdma_migrate_id(id, NULL));
	RET("destroy", rdma_destroy_id(id));
}
