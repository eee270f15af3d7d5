// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * Child processes, daemons and changed credentials: the behaviour of inherited channels and
 * ids. Reference section 9, row 6.
 */
#include "steps.h"

#include <sys/prctl.h>

/* Print in the parent how a child ended. */
static void child_answer(const char *check, pid_t pid)
{
	int status = 0;

	NEED(waitpid(pid, &status, 0) != pid);
	if (WIFSIGNALED(status))
		answer(check, "signal %d", WTERMSIG(status));
	else
		answer(check, "exit %d", WEXITSTATUS(status));
}

/* In a child: accept the next request, with a QP of the child's own, and disconnect. */
static void serve(struct rdma_event_channel *ch)
{
	struct rdma_conn_param param = conn_param();
	struct rdma_cm_event *event;
	struct rdma_cm_id *id;

	if (RET("take", rdma_get_cm_event(ch, &event)))
		return;
	id = event->id;
	answer("taken", "%s", event_name(event->event));
	RET("ack", rdma_ack_cm_event(event));
	make_qp(id);
	RET("accept", rdma_accept(id, &param));
	event_answer("server", ch, SOON);
	answer("server_qp", "%s", qp_state(id->qp));
	event_answer("server_end", ch, SOON);
	RET("disconnect", rdma_disconnect(id));
	rdma_destroy_qp(id);
	RET("destroy", rdma_destroy_id(id));
}

/* The child accepts a request from the inherited channel; then the parent accepts the next. */
GROUP(fork_server, 0)
{
	struct pair pair = make_halves(RDMA_PS_TCP, true);
	struct rdma_conn_param param = conn_param();
	struct rdma_event_channel *ch;
	struct rdma_cm_id *client;
	pid_t pid = fork();

	if (!pid) {
		serve(pair.passive);
		_exit(0);
	}
	NEED(pid < 0);
	RET("connect", rdma_connect(pair.client, &param));
	event_answer("client", pair.active, 6000);
	RET("client_disconnect", rdma_disconnect(pair.client));
	child_answer("child", pid);
	/* The listener is the parent's as before. With stock the first request is still pending. */
	ch = channel();
	client = make_routed(ch, HERE, pair.port);
	make_qp(client);
	NEED(rdma_connect(client, &param));
	event_answer("parent", pair.passive, SOON);
	RET("parent_listener", rdma_destroy_id(pair.listener));
}

/* daemon(3): the process that created the listener has exited, its child serves. */
GROUP(fork_daemon, 0)
{
	struct rdma_conn_param param = conn_param();
	struct rdma_event_channel *ch;
	struct rdma_cm_id *id;
	int ends[2], port = 0;
	pid_t pid;

	/* The daemon becomes our child, so that we can wait for its exit. */
	NEED(prctl(PR_SET_CHILD_SUBREAPER, 1));
	NEED(pipe(ends));
	pid = fork();
	if (!pid) {
		ch = channel();
		id = make_listener(ch, HERE, &port);
		if (fork())
			_exit(0);
		NEED(write(ends[1], &port, sizeof(port)) != sizeof(port));
		serve(ch);
		RET("listener", rdma_destroy_id(id));
		_exit(0);
	}
	child_answer("maker", pid);
	NEED(read(ends[0], &port, sizeof(port)) != sizeof(port));
	ch = channel();
	id = make_routed(ch, HERE, port);
	make_qp(id);
	RET("connect", rdma_connect(id, &param));
	event_answer("client", ch, SOON);
	RET("client_disconnect", rdma_disconnect(id));
	NEED(wait(NULL) < 0);
}

/* The same with a synchronous listener and QPs of its endpoint. */
GROUP(fork_endpoint, 0)
{
	struct rdma_addrinfo hints = { .ai_flags = RAI_PASSIVE, .ai_port_space = RDMA_PS_TCP };
	struct ibv_qp_init_attr attr = qp_attr();
	struct rdma_conn_param param = conn_param();
	struct rdma_cm_id *listener, *id;
	struct rdma_event_channel *ch;
	struct rdma_addrinfo *res;
	pid_t pid;

	NEED(rdma_getaddrinfo(HERE, "7391", &hints, &res));
	NEED(rdma_create_ep(&listener, res, NULL, &attr));
	NEED(rdma_listen(listener, 0));
	pid = fork();
	if (!pid) {
		if (!RET("get_request", rdma_get_request(listener, &id))) {
			RET("accept", rdma_accept(id, &param));
			sync_event_answer("server", id);
			answer("server_qp", "%s", qp_state(id->qp));
			RET("disconnect", rdma_disconnect(id));
			VOID("destroy", rdma_destroy_ep(id));
		}
		_exit(0);
	}
	ch = channel();
	id = make_routed(ch, HERE, 7391);
	make_qp(id);
	RET("connect", rdma_connect(id, &param));
	event_answer("client", ch, 6000);
	child_answer("child", pid);
	VOID("listener", rdma_destroy_ep(listener));
}

#define WORKERS 3
#define CLIENTS 6

/* In a child: accept requests until no more arrive. */
static _Noreturn void work(struct rdma_cm_id *listener)
{
	struct rdma_conn_param param = conn_param();
	struct rdma_cm_id *id;

	while (!rdma_get_request(listener, &id)) {
		NEED(rdma_accept(id, &param));
		NEED(rdma_disconnect(id));
		rdma_destroy_ep(id);
	}
	_exit(errno == EACCES ? 2 : 1);
}

/* A pre-forking server: several processes accept requests of one listener. */
GROUP(fork_workers, 0)
{
	struct rdma_addrinfo hints = { .ai_flags = RAI_PASSIVE, .ai_port_space = RDMA_PS_TCP };
	struct ibv_qp_init_attr attr = qp_attr();
	struct rdma_conn_param param = conn_param();
	struct rdma_event_channel *ch[CLIENTS];
	struct rdma_cm_id *listener, *id[CLIENTS];
	struct rdma_cm_event *event;
	struct rdma_addrinfo *res;
	pid_t workers[WORKERS];
	int n, connected = 0;

	NEED(rdma_getaddrinfo(HERE, "7392", &hints, &res));
	NEED(rdma_create_ep(&listener, res, NULL, &attr));
	NEED(rdma_listen(listener, 0));
	for (n = 0; n < WORKERS; n++) {
		workers[n] = fork();
		if (!workers[n])
			work(listener);
	}
	for (n = 0; n < CLIENTS; n++) {
		ch[n] = channel();
		id[n] = make_routed(ch[n], HERE, 7392);
		make_qp(id[n]);
	}
	for (n = 0; n < CLIENTS; n++)
		NEED(rdma_connect(id[n], &param));
	for (n = 0; n < CLIENTS; n++) {
		/* If the first request is not answered, the others are not, either. */
		event = get_event(ch[n], connected ? SOON : n ? 1 : 5000);
		if (event && event->event == RDMA_CM_EVENT_ESTABLISHED)
			connected++;
	}
	answer("connected", "%d", connected);
	for (n = 0; n < WORKERS; n++) {
		kill(workers[n], SIGKILL);
		NEED(waitpid(workers[n], NULL, 0) != workers[n]);
	}
	VOID("listener", rdma_destroy_ep(listener));
}

/* Every step of a client on an inherited id, and an id of the child's own. */
GROUP(fork_client, IN_DEBUG)
{
	struct rdma_event_channel *ch = channel();
	struct rdma_cm_id *id = make_id(ch, RDMA_PS_TCP), *own;
	struct rdma_cm_event *event;
	pid_t pid = fork();
	int value = 1;

	if (!pid) {
		RET("reuse", rdma_set_option(id, RDMA_OPTION_ID, RDMA_OPTION_ID_REUSEADDR, &value,
					     sizeof(value)));
		RET("bind", rdma_bind_addr(id, at(HERE, 0)));
		if (!RET("resolve", rdma_resolve_addr(id, NULL, at(THERE, 1), SOON)) &&
		    !RET("event", rdma_get_cm_event(ch, &event))) {
			answer("event_type", "%s", event_name(event->event));
			RET("ack", rdma_ack_cm_event(event));
			RET("create", rdma_create_id(ch, &own, NULL, RDMA_PS_TCP));
			RET("own_bind", rdma_bind_addr(own, at(HERE, 0)));
			answer("same_device", "%s", yes(own->verbs == id->verbs));
			RET("own_destroy", rdma_destroy_id(own));
			RET("migrate", rdma_migrate_id(id, NULL));
			RET("route", rdma_resolve_route(id, SOON));
			RET("destroy", rdma_destroy_id(id));
		}
		_exit(0);
	}
	child_answer("child", pid);
	/* Objects that the child destroyed are freed here all the same. */
	RET("parent_destroy", rdma_destroy_id(id));
	RET("parent_create", rdma_create_id(ch, &id, NULL, RDMA_PS_TCP));
	RET("parent_bind", rdma_bind_addr(id, at(HERE, 0)));
}

/* A child that ends with destructors: they end no connection of its parent. */
GROUP(fork_calls, IN_DEBUG)
{
	struct pair pair = make_pair();
	pid_t pid = fork();

	if (!pid) {
		RET("disconnect", rdma_disconnect(pair.client));
		RET("passive_disconnect", rdma_disconnect(pair.child));
		RET("destroy", rdma_destroy_id(pair.client));
		RET("listener", rdma_destroy_id(pair.listener));
		_exit(0);
	}
	child_answer("child", pid);
	quiet_answer("active", pair.active);
	quiet_answer("passive", pair.passive);
	answer("qp", "%s", qp_state(pair.client->qp));
	RET("parent_disconnect", rdma_disconnect(pair.client));
	event_answer("passive_end", pair.passive, SOON);
	RET("parent_passive_disconnect", rdma_disconnect(pair.child));
	event_answer("active_end", pair.active, SOON);
	end_pair(&pair);
}

/* Objects that the child opens for itself. */
GROUP(fork_own_channel, IN_DEBUG)
{
	struct rdma_event_channel *ch = channel(), *own;
	struct rdma_cm_id *id = make_bound(ch, HERE, 0);
	pid_t pid = fork();

	if (!pid) {
		own = PTR("channel", rdma_create_event_channel());
		RET("create", rdma_create_id(own, &id, NULL, RDMA_PS_TCP));
		RET("bind", rdma_bind_addr(id, at(HERE, 0)));
		RET("resolve", rdma_resolve_addr(id, NULL, at(THERE, 1), SOON));
		event_answer("event", own, SOON);
		RET("destroy", rdma_destroy_id(id));
		VOID("close", rdma_destroy_event_channel(own));
		_exit(0);
	}
	child_answer("child", pid);
	RET("parent_destroy", rdma_destroy_id(id));
}

/* The exit of a child, however it happens, does not affect the parent's connection. */
GROUP(fork_end, IN_DEBUG)
{
	struct pair pair = make_pair();
	pid_t pid = fork();

	if (!pid)
		_exit(0);
	child_answer("child", pid);
	pid = fork();
	if (!pid) {
		rdma_destroy_event_channel(pair.passive);
		rdma_destroy_event_channel(pair.active);
		_exit(0);
	}
	child_answer("closing", pid);
	pid = fork();
	if (!pid)
		abort();
	NEED(waitpid(pid, NULL, 0) != pid);
	quiet_answer("active", pair.active);
	quiet_answer("passive", pair.passive);
	answer("qp", "%s", qp_state(pair.client->qp));
	RET("disconnect", rdma_disconnect(pair.client));
	event_answer("passive_end", pair.passive, SOON);
	RET("passive_disconnect", rdma_disconnect(pair.child));
	event_answer("active_end", pair.active, SOON);
	end_pair(&pair);
}

/* Capabilities are checked at each call, not when the channel was created. */
GROUP(setuid_ids, 0)
{
	struct rdma_event_channel *ch = channel();
	struct rdma_cm_id *low = make_id(ch, RDMA_PS_TCP), *high = make_id(ch, RDMA_PS_TCP);
	struct rdma_cm_id *low_bound = make_bound(ch, HERE, 80), *id;

	NEED(setresuid(65534, 65534, 65534));
	RET("listen_low", rdma_listen(low_bound, 0));
	RET("bind_low", rdma_bind_addr(low, at(HERE, 81)));
	RET("bind_high", rdma_bind_addr(high, at(HERE, 0)));
	RET("create", rdma_create_id(ch, &id, NULL, RDMA_PS_TCP));
	RET("destroy", rdma_destroy_id(high));
	PTR("channel", rdma_create_event_channel());
}
