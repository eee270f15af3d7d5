// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * One end of many connections, for either stack: a server that accepts all requests, or a
 * client that connects and disconnects without a pause. It prints the events.
 *
 *	endpoint listen ADDRESS PORT	until its standard input ends
 *	endpoint later ADDRESS PORT	likewise, but says "ready" and waits for input first
 *	endpoint hold ADDRESS PORT N	N connections, until the input or the peer ends
 *	endpoint churn ADDRESS PORT N	likewise, but they are replaced all the time
 *
 * Output lines: "listening PORT", "live N" when the number of server connections changes,
 * "connected" (N are, or the first is), the name of an event that ends an id and is not the
 * usual one, "idle TOTAL" in answer to a line of input as soon as no connection is left, "done"
 * at the end. After a call that fails: "CALL: ERRNO", and status 1.
 */
#define _GNU_SOURCE
#include <poll.h>
#include <stdbool.h>

#include "../cm_program.h"

static struct rdma_event_channel *channel;
static struct rdma_cm_id *listener;
static struct sockaddr_storage address;
static unsigned int wanted;	/* client: connections at a time */
static unsigned int live;	/* server: connections; client: ids */
static unsigned int up;		/* connections that were established */
static unsigned int total;
static bool churn, ending, told, asked;

static void new_client(void)
{
	struct rdma_cm_id *id;

	if (rdma_create_id(channel, &id, NULL, RDMA_PS_TCP))
		fail("rdma_create_id");
	live++;
	if (rdma_resolve_addr(id, NULL, (struct sockaddr *)&address, 2000))
		fail("rdma_resolve_addr");
}

static void end_id(struct rdma_cm_id *id)
{
	if (rdma_destroy_id(id))
		fail("rdma_destroy_id");
	live--;
}

/*
 * The peer has ended, or this program is to end: make no new connections, and disconnect the
 * present ones.
 */
static void client_ended(struct rdma_cm_id *id, enum rdma_cm_event_type type)
{
	if (type != RDMA_CM_EVENT_DISCONNECTED) {
		printf("%s\n", rdma_event_str(type));
		ending = true;
	}
	end_id(id);
	if (churn && !ending && !told)
		new_client();
}

static void client_event(struct rdma_cm_id *id, enum rdma_cm_event_type type)
{
	struct rdma_conn_param param = conn_param(NULL);

	switch (type) {
	case RDMA_CM_EVENT_ADDR_RESOLVED:
		if (rdma_resolve_route(id, 2000))
			fail("rdma_resolve_route");
		break;
	case RDMA_CM_EVENT_ROUTE_RESOLVED:
		if (rdma_connect(id, &param))
			fail("rdma_connect");
		break;
	case RDMA_CM_EVENT_CONNECT_RESPONSE:
		/* The peer may have been killed meanwhile; its event then follows. */
		if (rdma_establish(id))
			break;
		total++;
		if (++up == (churn ? 1 : wanted))
			printf("connected\n");
		if (churn)
			rdma_disconnect(id);	/* fails when the peer was first */
		break;
	case RDMA_CM_EVENT_DISCONNECTED:
		if (!churn) {
			printf("%s\n", rdma_event_str(type));
			rdma_disconnect(id);	/* stock answers the peer only then */
			ending = true;
		}
		client_ended(id, type);
		break;
	case RDMA_CM_EVENT_TIMEWAIT_EXIT:
		break;
	default:
		client_ended(id, type);
	}
}

static void server_event(struct rdma_cm_id *id, enum rdma_cm_event_type type)
{
	struct rdma_conn_param param = conn_param(NULL);

	switch (type) {
	case RDMA_CM_EVENT_CONNECT_REQUEST:
		total++;
		live++;
		if (rdma_accept(id, &param))	/* the client has given up */
			end_id(id);
		else
			printf("live %u\n", live);
		break;
	case RDMA_CM_EVENT_ESTABLISHED:
		printf("up %u\n", ++up);
		break;
	case RDMA_CM_EVENT_TIMEWAIT_EXIT:
		break;
	case RDMA_CM_EVENT_DEVICE_REMOVAL:
		printf("%s\n", rdma_event_str(type));
		rdma_destroy_id(id);
		if (id != listener) {
			live--;
			break;
		}
		printf("done\n");
		exit(0);
	default:
		rdma_disconnect(id);
		end_id(id);
		printf("live %u\n", live);
	}
}

static void get_event(void)
{
	enum rdma_cm_event_type type;
	struct rdma_cm_event *event;
	struct rdma_cm_id *id;

	if (rdma_get_cm_event(channel, &event))
		fail("rdma_get_cm_event");
	id = event->id;
	type = event->event;
	rdma_ack_cm_event(event);
	if (listener)
		server_event(id, type);
	else
		client_event(id, type);
}

static void get_input(void)
{
	char line[64];
	ssize_t len = read(STDIN_FILENO, line, sizeof(line));

	if (len > 0)
		asked = true;
	else
		told = true;
}

static void start_command(const char *what)
{
	char line[64];
	unsigned int i;

	if (!strcmp(what, "hold") || !strcmp(what, "churn")) {
		churn = !strcmp(what, "churn");
		for (i = 0; i < wanted; i++)
			new_client();
		return;
	}
	if (!strcmp(what, "later")) {
		printf("ready\n");
		if (read(STDIN_FILENO, line, sizeof(line)) <= 0)
			exit(1);
	}
	if (rdma_create_id(channel, &listener, NULL, RDMA_PS_TCP))
		fail("rdma_create_id");
	if (rdma_bind_addr(listener, (struct sockaddr *)&address))
		fail("rdma_bind_addr");
	if (rdma_listen(listener, 0))
		fail("rdma_listen");
	printf("listening %u\n", ntohs(rdma_get_src_port(listener)));
}

int main(int argc, char **argv)
{
	if (argc < 4) {
		fprintf(stderr, "usage: endpoint listen|later|hold|churn ADDRESS PORT [N]\n");
		return 2;
	}
	setvbuf(stdout, NULL, _IOLBF, 0);
	address = get_address(argv[2], atoi(argv[3]));
	wanted = argc > 4 ? atoi(argv[4]) : 1;
	channel = rdma_create_event_channel();
	if (!channel)
		fail("rdma_create_event_channel");
	start_command(argv[1]);
	/* Without churn the program ends with its input, even if connections are open. */
	while (!((told || ending) && !live) && !(told && !churn)) {
		struct pollfd fds[] = {
			{ .fd = channel->fd, .events = POLLIN },
			/* Do not read from an input at its end. */
			{ .fd = told ? -1 : STDIN_FILENO, .events = POLLIN },
		};

		if (asked && !live) {
			printf("idle %u\n", total);
			asked = false;
		}
		if (poll(fds, 2, -1) < 0)
			fail("poll");
		if (fds[0].revents)
			get_event();
		if (fds[1].revents)
			get_input();
	}
	printf("done\n");
	return 0;
}
