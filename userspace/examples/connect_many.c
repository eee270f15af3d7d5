// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * Opens several connections to a server with one system call, prints how many succeeded, and ends
 * them with another system call; repeats that if requested. There are no QPs: the QP numbers in the
 * requests belong to no QP. A server for it: get_many_events.
 *
 *	cc connect_many.c $(pkg-config --cflags --libs librdmacm_alt)
 *	connect_many ADDRESS PORT COUNT [ROUNDS]
 */
#include <rdma/rdma_cma_alt.h>
#include <netdb.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

struct many {
	struct rdma_event_channel *channel;
	struct rdma_alt_connect_attr *attrs;
	struct rdma_conn_param *params;
	struct rdma_cm_id **ids;
	int *errors;
	int count;
};

/* Whether an event answers a connect; increments *connected if the connect succeeded. */
static int is_answer(const struct rdma_cm_event *event, int *connected)
{
	switch (event->event) {
	case RDMA_CM_EVENT_CONNECT_RESPONSE:
		*connected += !rdma_establish(event->id);
		return 1;
	case RDMA_CM_EVENT_DISCONNECTED:
	case RDMA_CM_EVENT_TIMEWAIT_EXIT:
		return 0;
	default:
		fprintf(stderr, "%s: %d\n", rdma_event_str(event->event), event->status);
		return 1;
	}
}

/* Waits for all missing answers; returns the number of established connections. */
static int complete(struct rdma_event_channel *channel, int missing)
{
	struct rdma_cm_event *events[64];
	int i, n, connected = 0;

	while (missing > 0) {
		n = rdma_alt_get_cm_events(channel, events, 64);
		if (n < 0) {
			perror("rdma_alt_get_cm_events");
			return connected;
		}
		for (i = 0; i < n; i++) {
			missing -= is_answer(events[i], &connected);
			rdma_ack_cm_event(events[i]);
		}
	}
	return connected;
}

/* Returns the number of connections that were established. */
static int run(struct many *many)
{
	int i, started, connected;

	for (i = 0; i < many->count; i++) {
		static unsigned int last;

		/* A QP number in use would make peers end the older connection as stale. */
		many->params[i].qp_num = ((unsigned int)getpid() << 12 | ++last) & 0xffffff;
	}
	started = rdma_alt_connect_many(many->attrs, many->count, many->ids, many->errors);
	for (i = 0; i < many->count; i++)
		if (many->errors[i])
			fprintf(stderr, "connection %d: %s\n", i, strerror(many->errors[i]));
	connected = complete(many->channel, started);

	/* This also disconnects the established connections. */
	if (rdma_alt_destroy_many(many->ids, many->count, NULL) < 0)
		perror("rdma_alt_destroy_many");
	return connected;
}

int main(int argc, char **argv)
{
	struct many many = { .count = argc > 3 ? atoi(argv[3]) : 0 };
	int i, rounds = argc > 4 ? atoi(argv[4]) : 1;
	int wanted = many.count * rounds, connected = 0;
	struct addrinfo *res;

	if (many.count < 1 || rounds < 1 || getaddrinfo(argv[1], argv[2], NULL, &res)) {
		fprintf(stderr, "usage: connect_many ADDRESS PORT COUNT [ROUNDS]\n");
		return 2;
	}
	many.channel = rdma_create_event_channel();
	many.attrs = calloc(many.count, sizeof(*many.attrs));
	many.params = calloc(many.count, sizeof(*many.params));
	many.ids = calloc(many.count, sizeof(*many.ids));
	many.errors = calloc(many.count, sizeof(*many.errors));
	if (!many.channel || !many.attrs || !many.params || !many.ids || !many.errors) {
		perror("connect_many");
		return 1;
	}
	for (i = 0; i < many.count; i++) {
		many.params[i].retry_count = 7;
		many.attrs[i].channel = many.channel;
		many.attrs[i].dst_addr = res->ai_addr;
		many.attrs[i].timeout_ms = 2000;
		many.attrs[i].conn_param = &many.params[i];
	}
	while (rounds--)
		connected += run(&many);
	printf("%d of %d connected\n", connected, wanted);
	rdma_destroy_event_channel(many.channel);
	freeaddrinfo(res);
	free(many.attrs);
	free(many.params);
	free(many.ids);
	free(many.errors);
	return connected == wanted ? 0 : 1;
}
