// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * Measurements with peers that answer: rates, resolution, storms, and live peers beside dead
 * ones.
 */
#include <err.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "perf.h"

/* Addresses in a storm: few enough that no message is lost. */
#define CALM 64

static void rate(struct client *client, const struct server *server)
{
	double began = now_us(), middle, end;

	client_run(client, STAGE_NEW, STAGE_CONNECTED, options.window);
	middle = now_us();
	client_run(client, STAGE_CONNECTED, STAGE_GONE, options.window);
	end = now_us();
	/* The work of the server is counted: wait until it has made its last call. */
	if (!client->failures)
		server_ask(server, SERVER_AWAIT);
	count_end();
	printf(", \"up_us\": %.0f, \"down_us\": %.0f", middle - began, end - middle);
	say_times("connect", client, STAGE_ROUTE, STAGE_CONNECTED);
	say_times("disconnect", client, STAGE_CONNECTED, STAGE_GONE);
	say_failures(client);
}

/* Each id is destroyed before the next one is created. */
static void fused_single(const struct client *client)
{
	for (int i = 0; i < client->count; i++) {
		struct client one = {
			.channel = client->channel, .conns = &client->conns[i], .count = 1,
		};

		fused_connect(&one, 1);
		fused_destroy(&one, 1);
		if (one.failures)
			errx(1, "connection %d: %s", i, one.why);
	}
}

/* Destroying disconnects without waiting: the end is when the server has seen all disconnects. */
static void fused_rate(struct client *client, const struct server *server)
{
	double began = now_us(), middle, end;

	if (options.window == 1)
		fused_single(client);
	else
		fused_connect(client, options.window);
	middle = now_us();
	if (options.window != 1)
		fused_destroy(client, options.window);
	if (!client->failures)
		server_ask(server, SERVER_AWAIT);
	end = now_us();
	count_end();
	printf(", \"up_us\": %.0f, \"down_us\": %.0f", middle - began, end - middle);
	say_times("connect", client, STAGE_ROUTE, STAGE_CONNECTED);
	say_failures(client);
}

void measure_rate(void)
{
	struct server server = server_start(false);
	struct client client;
	struct use use;

	client_init(&client, options.count);
	use_begin(&use);
	count_begin();
	if (options.fused)
		fused_rate(&client, &server);
	else
		rate(&client, &server);
	server_end(&server);
	say_use(&use);
	client_destroy(&client);
	client_end(&client);
}

/* An id is destroyed before the one that takes its place is made. */
void measure_cycle(void)
{
	struct server server = server_start(false);
	struct client client;

	client_init(&client, options.count);
	count_begin();
	client_run(&client, STAGE_NEW, STAGE_GONE, options.window);
	if (!client.failures)
		server_ask(&server, SERVER_AWAIT);
	count_end();
	say_times("cycle", &client, STAGE_NEW, STAGE_GONE);
	say_failures(&client);
	server_end(&server);
	client_destroy(&client);
	client_end(&client);
}

/* One id at a time, and only resolution; no listener is needed. */
void measure_resolve(void)
{
	struct client client, times;
	double began = now_us(), spent = 0;

	client_init(&times, options.count);
	client_init(&client, 1);
	count_begin();
	for (int i = 0; i < options.count; i++) {
		memset(client.conns, 0, sizeof(*client.conns));
		client_run(&client, STAGE_NEW, STAGE_ROUTE, 1);
		times.conns[i] = *client.conns;
		spent += client.conns->at[STAGE_ROUTE] - client.conns->begun[STAGE_ADDRESS];
		client_destroy(&client);
	}
	count_end();
	printf(", \"all_us\": %.0f, \"spent_us\": %.0f", now_us() - began, spent);
	say_times("resolve", &times, STAGE_NEW, STAGE_ROUTE);
	say_failures(&client);
	client_end(&client);
	client_end(&times);
}

void measure_storm(void)
{
	struct server server = server_start(true);
	struct client client;
	double began, up;

	client_init(&client, options.count);
	client_run(&client, STAGE_NEW, STAGE_ROUTE, CALM);
	began = now_us();
	client_run(&client, STAGE_ROUTE, STAGE_CONNECTED, options.window);
	up = now_us() - began;
	printf(", \"up_us\": %.0f", up);
	say_times("connect", &client, STAGE_ROUTE, STAGE_CONNECTED);
	say_failures(&client);
	server_end(&server);
	/* The next measurement must not overlap with the end of this one. */
	quiet_us();
	client_destroy(&client);
	client_end(&client);
}

/* One connection every few ms, with its disconnect, until the time is over. */
static void live(const char *name)
{
	struct client client, times;

	client_init(&times, options.count);
	client_init(&client, 1);
	for (int i = 0; i < options.count; i++) {
		double next = now_us() + options.interval * 1e3, left;

		memset(client.conns, 0, sizeof(*client.conns));
		client_run(&client, STAGE_NEW, STAGE_CONNECTED, 1);
		times.conns[i] = *client.conns;
		client_run(&client, STAGE_CONNECTED, STAGE_GONE, 1);
		left = next - now_us();
		if (left > 0)
			usleep(left);
	}
	say_times(name, &times, STAGE_NEW, STAGE_CONNECTED);
	printf(", \"%s_failures\": %d", name, client.failures);
	client_end(&client);
	client_end(&times);
}

/* Ids wait for dead peers: some for a neighbour, some for a reply. */
static void make_dead(void)
{
	struct client client;

	client_init(&client, options.dead_count);
	for (int i = 0; i < client.count; i++) {
		struct conn *conn = &client.conns[i];
		struct rdma_conn_param param = conn_param();
		const char *to = i & 1 ? options.nobody : options.dead;
		struct rdma_cm_event *event;

		param.qp_num = (param.qp_num + 0x400000) & 0xffffff;
		if (rdma_create_id(client.channel, &conn->id, conn, RDMA_PS_TCP) ||
		    rdma_resolve_addr(conn->id, NULL, address_of(to, options.port), 60000))
			give_up("an id for a dead peer");
		while (!(i & 1) && conn->stage < STAGE_ROUTE) {
			if (rdma_get_cm_event(client.channel, &event))
				give_up("rdma_get_cm_event for dead peers");
			/* The other ids may get errors: no neighbour, or no reply. */
			if (event->id == conn->id && event->status)
				errx(1, "%s %d for a dead peer", rdma_event_str(event->event),
				     event->status);
			if (event->id == conn->id)
				conn->stage++;
			rdma_ack_cm_event(event);
			if (conn->stage == STAGE_ADDRESS && !conn->begun[STAGE_ROUTE]++ &&
			    rdma_resolve_route(conn->id, 60000))
				give_up("rdma_resolve_route to a dead peer");
		}
		if (!(i & 1) && rdma_connect(conn->id, &param))
			give_up("rdma_connect to a dead peer");
	}
}

/* Another process; it creates its ids on request and reports when they exist. */
static pid_t start_dead(int *pipe)
{
	int pair[2];
	pid_t pid;
	char go;

	if (socketpair(AF_UNIX, SOCK_STREAM, 0, pair))
		give_up("socketpair");
	pid = fork();
	if (pid < 0)
		give_up("fork");
	*pipe = pair[0];
	if (pid) {
		close(pair[1]);
		return pid;
	}
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	close(pair[0]);
	if (read(pair[1], &go, 1) != 1)
		_exit(1);
	make_dead();
	if (write(pair[1], "", 1) != 1)
		_exit(1);
	for (;;)
		pause();
}

void measure_dead(void)
{
	struct server server;
	pid_t dead;
	char done;
	int pipe;

	if (!options.dead || !options.nobody)
		errx(2, "whom is nobody to answer for?");
	/* Forked before any RDMA device is opened, as the server. */
	dead = start_dead(&pipe);
	options.count *= 2;
	server = server_start(false);
	options.count /= 2;
	live("idle");
	if (write(pipe, "", 1) != 1 || read(pipe, &done, 1) != 1)
		errx(1, "the ids for dead peers are not there");
	live("beside");
	server_end(&server);
	kill(dead, SIGKILL);
	waitpid(dead, NULL, 0);
}
