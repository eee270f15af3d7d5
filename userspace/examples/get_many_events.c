// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * A server that gets all pending events with one system call. It accepts every connection, without
 * an ESTABLISHED event, and ends when COUNT connections have ended, or when the device is removed.
 * There are no QPs: the QP numbers in the replies belong to no QP. Clients for it: connect,
 * connect_many.
 *
 *	cc get_many_events.c $(pkg-config --cflags --libs librdmacm_alt)
 *	get_many_events ADDRESS PORT COUNT
 */
#include <rdma/rdma_cma_alt.h>
#include <netdb.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#define MOST 64

static struct rdma_cm_id *listener;
static int gone, removed;

/* Returns whether the request was accepted. */
static int take_request(struct rdma_cm_id *id)
{
	static unsigned int last;
	struct rdma_conn_param param = {
		/* A QP number in use would make peers end the older connection as stale. */
		.qp_num = ((unsigned int)getpid() << 12 | ++last) & 0xffffff,
		.rnr_retry_count = 7,
	};

	if (!rdma_alt_accept(id, &param, RDMA_ALT_ACCEPT_QUIET))
		return 1;
	perror("rdma_alt_accept");
	return 0;
}

static int is_end(int type)
{
	return type == RDMA_CM_EVENT_DISCONNECTED || type == RDMA_CM_EVENT_UNREACHABLE ||
	       type == RDMA_CM_EVENT_REJECTED || type == RDMA_CM_EVENT_CONNECT_ERROR ||
	       type == RDMA_CM_EVENT_DEVICE_REMOVAL;
}

static void add(struct rdma_cm_id **ids, int *count, struct rdma_cm_id *id)
{
	int i;

	for (i = 0; i < *count; i++)
		if (ids[i] == id)
			return;
	ids[(*count)++] = id;
}

/* Handles all pending events, and destroys the ids of ended connections in one call. */
static int serve(struct rdma_event_channel *channel)
{
	struct rdma_cm_event *events[MOST];
	struct rdma_cm_id *ended[MOST];
	int i, n, ends = 0;

	n = rdma_alt_get_cm_events(channel, events, MOST);
	for (i = 0; i < n; i++) {
		struct rdma_cm_id *id = events[i]->id;
		int type = events[i]->event;

		gone += type == RDMA_CM_EVENT_DISCONNECTED;
		if (id == listener)
			removed |= type == RDMA_CM_EVENT_DEVICE_REMOVAL;
		else if (is_end(type) ||
			 (type == RDMA_CM_EVENT_CONNECT_REQUEST && !take_request(id)))
			add(ended, &ends, id);
	}
	/* Several events may be of one id: acknowledge all of them before ids are destroyed. */
	for (i = 0; i < n; i++)
		rdma_ack_cm_event(events[i]);
	rdma_alt_destroy_many(ended, ends, NULL);
	return n < 0 ? n : 0;
}

int main(int argc, char **argv)
{
	struct rdma_event_channel *channel;
	struct addrinfo *res;
	int count;

	count = argc == 4 ? atoi(argv[3]) : 0;
	if (count < 1 || getaddrinfo(argv[1], argv[2], NULL, &res)) {
		fprintf(stderr, "usage: get_many_events ADDRESS PORT COUNT\n");
		return 2;
	}
	channel = rdma_create_event_channel();
	if (!channel || rdma_create_id(channel, &listener, NULL, RDMA_PS_TCP) ||
	    rdma_bind_addr(listener, res->ai_addr) || rdma_listen(listener, 0)) {
		perror("cannot listen");
		return 1;
	}
	printf("listening\n");
	fflush(stdout);
	while (gone < count && !removed)
		if (serve(channel)) {
			perror("rdma_alt_get_cm_events");
			return 1;
		}
	printf("%d came and went\n", gone);
	rdma_destroy_id(listener);
	rdma_destroy_event_channel(channel);
	freeaddrinfo(res);
	return removed;
}
