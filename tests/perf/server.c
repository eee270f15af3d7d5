// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * The passive end, a process of its own: accepts all requests, as a plain program does, and
 * answers the requests of the active end over a socket.
 */
#define _GNU_SOURCE
#include <err.h>
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "perf.h"

#define BACKLOG 16384
#define MANY 64

static struct rdma_event_channel *channel;
static int established, gone;

/* Go to the server's network namespace. */
void enter_netns(void)
{
	int fd;

	if (!options.netns)
		return;
	fd = open(options.netns, O_RDONLY);
	if (fd < 0 || setns(fd, CLONE_NEWNET))
		give_up(options.netns);
	close(fd);
}

static void listen_there(void)
{
	struct rdma_cm_id *listener;

	enter_netns();
	channel = rdma_create_event_channel();
	if (!channel)
		give_up("rdma_create_event_channel");
	if (rdma_create_id(channel, &listener, NULL, RDMA_PS_TCP))
		give_up("rdma_create_id");
	if (rdma_bind_addr(listener, address_of(options.address, options.port)))
		give_up("rdma_bind_addr of the server");
	if (rdma_listen(listener, BACKLOG))
		give_up("rdma_listen");
}

/* The other half of the QP numbers; each is used once. */
static struct rdma_conn_param answer_param(void)
{
	struct rdma_conn_param param = conn_param();

	param.qp_num = (param.qp_num + 0x800000) & 0xffffff;
	return param;
}

static bool is_end(enum rdma_cm_event_type type)
{
	return type == RDMA_CM_EVENT_DISCONNECTED || type == RDMA_CM_EVENT_CONNECT_ERROR ||
	       type == RDMA_CM_EVENT_UNREACHABLE;
}

/* A quiet accept reports no ESTABLISHED event. */
static void accept_quietly(struct rdma_cm_id *id)
{
	struct rdma_conn_param param = answer_param();

	if (options.qps && make_qp(id))
		give_up("rdma_create_qp of the server");
	if (fused.accept(id, &param, RDMA_ALT_ACCEPT_QUIET))
		give_up("rdma_alt_accept");
	established++;
}

/* Read all pending events. */
static void take_events(void)
{
	struct rdma_cm_event *events[MANY];
	struct rdma_cm_id *ids[MANY];
	int i, ends = 0, count = fused.get_events(channel, events, MANY);

	if (count < 0)
		give_up("rdma_alt_get_cm_events of the server");
	for (i = 0; i < count; i++) {
		enum rdma_cm_event_type type = events[i]->event;
		struct rdma_cm_id *id = events[i]->id;

		rdma_ack_cm_event(events[i]);
		if (type == RDMA_CM_EVENT_CONNECT_REQUEST)
			accept_quietly(id);
		if (!is_end(type))
			continue;
		if (id->qp)
			rdma_destroy_qp(id);
		ids[ends++] = id;
	}
	if (ends && fused.destroy_many(ids, ends, NULL) != ends)
		give_up("rdma_alt_destroy_many of the server");
	gone += ends;
}

static void take_event(void)
{
	struct rdma_conn_param param;
	enum rdma_cm_event_type type;
	struct rdma_cm_event *event;
	struct rdma_cm_id *id;

	id = next_message(channel);
	if (id) {
		if (send_message(id))
			give_up("rdma_post_send of the server");
		return;
	}
	if (rdma_get_cm_event(channel, &event))
		give_up("rdma_get_cm_event of the server");
	type = event->event;
	id = event->id;
	if (type == RDMA_CM_EVENT_CONNECT_REQUEST) {
		param = answer_param();
		if (options.qps && make_qp(id))
			give_up("rdma_create_qp of the server");
		if (rdma_accept(id, &param))
			warn("rdma_accept");
	} else if (type == RDMA_CM_EVENT_DISCONNECTED) {
		rdma_disconnect(id);
	}
	rdma_ack_cm_event(event);
	if (type == RDMA_CM_EVENT_ESTABLISHED)
		established++;
	if (is_end(type)) {
		destroy_id(id);
		gone++;
	}
}

static void take(void)
{
	if (options.fused)
		take_events();
	else
		take_event();
}

static double close_channel(void)
{
	double began = now_us();

	rdma_destroy_event_channel(channel);
	return now_us() - began;
}

/* Block for requests only when no connection is open; otherwise this process does not poll. */
static void serve(int pipe, bool holds)
{
	double answer = 0;
	char what;

	for (;;) {
		while (established + gone < options.count || (!holds && gone < options.count))
			take();
		if (read(pipe, &what, 1) != 1)
			exit(0);
		if (what == SERVER_SERVE)
			holds = false;
		else
			answer = what == SERVER_CLOSE ? close_channel() : established;
		if (write(pipe, &answer, sizeof(answer)) != sizeof(answer))
			exit(1);
	}
}

/*
 * Start a server, which listens on return. With hold, it stops reading events when all
 * connections exist, until it is asked to continue.
 */
struct server server_start(bool holds)
{
	struct server server = {};
	int pair[2];
	char ready;

	if (options.elsewhere)
		return server;
	if (socketpair(AF_UNIX, SOCK_STREAM, 0, pair))
		give_up("socketpair");
	server.pid = fork();
	if (server.pid < 0)
		give_up("fork");
	if (!server.pid) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		close(pair[0]);
		listen_there();
		if (write(pair[1], "", 1) != 1)
			exit(1);
		serve(pair[1], holds);
	}
	close(pair[1]);
	server.pipe = pair[0];
	if (read(server.pipe, &ready, 1) != 1)
		errx(1, "the server does not listen");
	return server;
}

void serve_only(void)
{
	listen_there();
	printf(", \"listens\": true}\n");
	fflush(stdout);
	for (;;)
		take();
}

double server_ask(const struct server *server, char what)
{
	double answer = 0;

	if (!server->pid)
		return 0;
	if (write(server->pipe, &what, 1) != 1 ||
	    read(server->pipe, &answer, sizeof(answer)) != sizeof(answer))
		errx(1, "the server does not answer");
	return answer;
}

void server_end(const struct server *server)
{
	if (!server->pid)
		return;
	kill(server->pid, SIGKILL);
	waitpid(server->pid, NULL, 0);
	close(server->pipe);
}
