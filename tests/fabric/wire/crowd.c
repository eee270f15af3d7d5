// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * One end of very many connections, which prints counts and times only.
 *
 *	crowd server PORT COUNT QPN
 *	crowd client ADDRESS PORT COUNT QPN WINDOW [hold]
 *
 * The client resolves the address for COUNT ids, then connects them with WINDOW requests under way
 * at a time, and ends without a disconnect of its own; with "hold" it waits until the connections
 * have ended. The server accepts all. QPs are numbers only, QPN + i.
 *
 * Output lines: "listening"; "up N MS", when all COUNT connections are established, with the
 * milliseconds since the first connect, or since the first request at the server; "down N LOST MS"
 * when all have ended: those that ended with -ETIMEDOUT, and the time of the last one since boot.
 * Another event, or a call that fails: a line that says so, and status 1.
 */
#define _GNU_SOURCE
#include <stdbool.h>
#include <time.h>

#include "../cm_program.h"

#define RESOLVE_MS	60000

static struct rdma_event_channel *channel;
static struct sockaddr_storage address;
static unsigned int count, first_qp, window;
static unsigned int ready, asked, up, down, lost;
static struct rdma_cm_id **ids;		/* of the client, in the order of their resolution */
static long long began;

static long long now_ms(void)
{
	struct timespec now;

	clock_gettime(CLOCK_BOOTTIME, &now);
	return now.tv_sec * 1000LL + now.tv_nsec / 1000000;
}

static struct rdma_cm_id *new_id(void)
{
	struct rdma_cm_id *id;

	if (rdma_create_id(channel, &id, NULL, RDMA_PS_TCP))
		fail("rdma_create_id");
	return id;
}

static void start_server(void)
{
	struct rdma_cm_id *listener = new_id();

	if (rdma_bind_addr(listener, (struct sockaddr *)&address))
		fail("rdma_bind_addr");
	if (rdma_listen(listener, 0))
		fail("rdma_listen");
	puts("listening");
}

static void start_client(void)
{
	unsigned int i;

	for (i = 0; i < count; i++)
		if (rdma_resolve_addr(new_id(), NULL, (struct sockaddr *)&address, RESOLVE_MS))
			fail("rdma_resolve_addr");
}

static struct rdma_conn_param next_param(void)
{
	struct rdma_conn_param param = conn_param(NULL);

	if (!asked)
		began = now_ms();
	param.qp_num = first_qp + asked++;
	return param;
}

static void connect_more(void)
{
	while (asked < count && asked - up < window) {
		struct rdma_cm_id *id = ids[asked];
		struct rdma_conn_param param = next_param();

		if (rdma_connect(id, &param))
			fail("rdma_connect");
	}
}

static void accept_one(struct rdma_cm_id *id)
{
	struct rdma_conn_param param = next_param();

	if (rdma_accept(id, &param))
		fail("rdma_accept");
}

static void resolved(struct rdma_cm_id *id)
{
	ids[ready++] = id;
	if (ready == count)
		connect_more();
}

static void established(void)
{
	if (++up == count)
		printf("up %u %lld\n", up, now_ms() - began);
	else if (window)
		connect_more();
}

static void ended(int status)
{
	lost += status == -ETIMEDOUT;
	if (++down == count)
		printf("down %u %u %lld\n", down, lost, now_ms());
}

static void unexpected(enum rdma_cm_event_type type, int status)
{
	printf("%s %d, with %u established\n", rdma_event_str(type), status, up);
	exit(1);
}

static void handle(struct rdma_cm_id *id, enum rdma_cm_event_type type, int status)
{
	switch (type) {
	case RDMA_CM_EVENT_ADDR_RESOLVED:
		if (rdma_resolve_route(id, RESOLVE_MS))
			fail("rdma_resolve_route");
		break;
	case RDMA_CM_EVENT_ROUTE_RESOLVED:
		resolved(id);
		break;
	case RDMA_CM_EVENT_CONNECT_REQUEST:
		accept_one(id);
		break;
	case RDMA_CM_EVENT_CONNECT_RESPONSE:
		if (rdma_establish(id))
			fail("rdma_establish");
		established();
		break;
	case RDMA_CM_EVENT_ESTABLISHED:
		established();
		break;
	case RDMA_CM_EVENT_DISCONNECTED:
		ended(status);
		break;
	case RDMA_CM_EVENT_TIMEWAIT_EXIT:
		break;
	default:
		unexpected(type, status);
	}
}

static void next_event(void)
{
	enum rdma_cm_event_type type;
	struct rdma_cm_event *event;
	struct rdma_cm_id *id;
	int status;

	if (rdma_get_cm_event(channel, &event))
		fail("rdma_get_cm_event");
	type = event->event;
	id = event->id;
	status = event->status;
	rdma_ack_cm_event(event);
	handle(id, type, status);
}

int main(int argc, char **argv)
{
	bool server = argc > 1 && !strcmp(argv[1], "server");
	bool hold = server || argc > 7;

	setvbuf(stdout, NULL, _IOLBF, 0);
	if (argc < (server ? 5 : 7)) {
		fputs("usage: crowd server PORT COUNT QPN\n"
		      "       crowd client ADDRESS PORT COUNT QPN WINDOW [hold]\n", stderr);
		return 2;
	}
	address = get_address(server ? "::" : argv[2], atoi(argv[server ? 2 : 3]));
	argv += server ? 3 : 4;
	count = atoi(argv[0]);
	first_qp = atoi(argv[1]);
	window = server ? 0 : atoi(argv[2]);
	ids = calloc(count, sizeof(*ids));
	channel = rdma_create_event_channel();
	if (!channel || !ids)
		fail("rdma_create_event_channel");
	if (server)
		start_server();
	else
		start_client();
	while (hold ? down < count : up < count)
		next_event();
	return 0;
}
