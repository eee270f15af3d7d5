// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * One end of some connections, for either stack, which prints each event.
 *
 *	end server PORT COUNT QPN [hold]
 *	end client ADDRESS PORT COUNT QPN [hold]
 *
 * The client makes COUNT connections at once; the server disconnects them when all are
 * established, or with "hold" neither end does. Connection number i is that of the client's id
 * i: the private data of the request carries i. QPs are numbers only, QPN + i, which neither
 * stack minds; a peer takes a number that it knows for an old connection.
 *
 * Output lines: "listening"; "I EVENT STATUS" for each event of connection I; "all" when COUNT
 * connections are established, "end" when COUNT have ended with the timewait (the program ends
 * then, but for "hold"). A call that fails: "I CALL: text", and status 1.
 */
#define _GNU_SOURCE
#include <stdbool.h>

#include "../cm_program.h"

static struct rdma_event_channel *channel;
static struct sockaddr_storage address;
static unsigned int count, first_qp, up, over;
static struct rdma_cm_id **ids;		/* those that are connected */
static bool server, hold;

static void fail_of(long number, const char *call)
{
	printf("%ld %s: %s\n", number, call, strerror(errno));
	exit(1);
}

/* Connect or accept connection @number, with the number as private data where it fits. */
static struct rdma_conn_param numbered_param(long number, const uint32_t *data)
{
	struct rdma_conn_param param = conn_param(NULL);

	param.qp_num = first_qp + number;
	param.private_data = data;
	param.private_data_len = data ? sizeof(*data) : 0;
	return param;
}

static void new_client(long number)
{
	struct rdma_cm_id *id;

	if (rdma_create_id(channel, &id, (void *)number, RDMA_PS_TCP))
		fail_of(number, "rdma_create_id");
	if (rdma_resolve_addr(id, NULL, (struct sockaddr *)&address, 4000))
		fail_of(number, "rdma_resolve_addr");
}

static void start_side(void)
{
	struct rdma_cm_id *listener;
	unsigned int i;

	if (!server) {
		for (i = 0; i < count; i++)
			new_client(i);
		return;
	}
	if (rdma_create_id(channel, &listener, (void *)-1L, RDMA_PS_TCP))
		fail_of(-1, "rdma_create_id");
	if (rdma_bind_addr(listener, (struct sockaddr *)&address))
		fail_of(-1, "rdma_bind_addr");
	if (rdma_listen(listener, 0))
		fail_of(-1, "rdma_listen");
	puts("listening");
}

/* Count one more connection: the server disconnects all when it has COUNT. */
static void connected(struct rdma_cm_id *id)
{
	unsigned int i;

	ids[up++ % count] = id;
	if (up != count)
		return;
	puts("all");
	for (i = 0; server && !hold && i < count; i++)
		if (rdma_disconnect(ids[i]))
			fail_of((long)ids[i]->context, "rdma_disconnect");
}

static void requested(struct rdma_cm_id *id, const uint32_t *number)
{
	struct rdma_conn_param param = numbered_param(*number, NULL);

	id->context = (void *)(long)*number;
	if (rdma_accept(id, &param))
		printf("%u rdma_accept: %s\n", *number, strerror(errno));
}

static void answer(struct rdma_cm_id *id, enum rdma_cm_event_type type)
{
	long number = (long)id->context;
	uint32_t data = number;
	struct rdma_conn_param param = numbered_param(number, &data);

	switch (type) {
	case RDMA_CM_EVENT_ADDR_RESOLVED:
		if (rdma_resolve_route(id, 4000))
			fail_of(number, "rdma_resolve_route");
		break;
	case RDMA_CM_EVENT_ROUTE_RESOLVED:
		if (rdma_connect(id, &param))
			fail_of(number, "rdma_connect");
		break;
	case RDMA_CM_EVENT_CONNECT_RESPONSE:
		if (rdma_establish(id))
			fail_of(number, "rdma_establish");
		connected(id);
		break;
	case RDMA_CM_EVENT_ESTABLISHED:
		connected(id);
		break;
	case RDMA_CM_EVENT_DISCONNECTED:
		if (rdma_disconnect(id))
			fail_of(number, "rdma_disconnect");
		break;
	case RDMA_CM_EVENT_TIMEWAIT_EXIT:
		over++;
		break;
	default:
		break;
	}
}

int main(int argc, char **argv)
{
	struct rdma_cm_event *event;

	setvbuf(stdout, NULL, _IOLBF, 0);
	server = argc > 1 && !strcmp(argv[1], "server");
	if (argc < (server ? 5 : 6)) {
		fputs("usage: end server PORT COUNT QPN [hold]\n"
		      "       end client ADDRESS PORT COUNT QPN [hold]\n", stderr);
		return 2;
	}
	address = get_address(server ? "::" : argv[2], atoi(argv[server ? 2 : 3]));
	argv += server ? 3 : 4;
	count = atoi(argv[0]);
	first_qp = atoi(argv[1]);
	hold = argv[2];
	ids = calloc(count, sizeof(*ids));
	channel = rdma_create_event_channel();
	if (!channel || !ids)
		fail_of(-1, "rdma_create_event_channel");
	start_side();
	while (hold || over < count) {
		enum rdma_cm_event_type type;
		struct rdma_cm_id *id;

		if (rdma_get_cm_event(channel, &event))
			fail_of(-1, "rdma_get_cm_event");
		type = event->event;
		id = event->id;
		if (type == RDMA_CM_EVENT_CONNECT_REQUEST)
			requested(id, event->param.conn.private_data);
		printf("%ld %s %d\n", (long)id->context,
		       rdma_event_str(type) + strlen("RDMA_CM_EVENT_"), event->status);
		rdma_ack_cm_event(event);
		if (type != RDMA_CM_EVENT_CONNECT_REQUEST)
			answer(id, type);
	}
	puts("end");
	return 0;
}
