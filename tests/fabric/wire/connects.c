// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * Connections one at a time, for either stack: how long does each connect take?
 *
 *	connects ADDRESS PORT COUNT QPN
 *
 * The server is `end server PORT COUNT QPN hold`. A connection is requested when the one before has
 * ended. Output lines: "connect I MICROSECONDS", from rdma_connect() to its event, and "end". What
 * fails is named, and the status is 1.
 */
#include <time.h>

#include "../cm_program.h"

static struct rdma_event_channel *channel;

static long now_us(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return now.tv_sec * 1000000 + now.tv_nsec / 1000;
}

/* The next event must be this one. */
static void expect(enum rdma_cm_event_type wanted)
{
	struct rdma_cm_event *event;

	if (rdma_get_cm_event(channel, &event))
		fail("rdma_get_cm_event");
	if (event->event != wanted) {
		printf("%s %d, not %s\n", rdma_event_str(event->event), event->status,
		       rdma_event_str(wanted));
		exit(1);
	}
	rdma_ack_cm_event(event);
}

/* A new id with a route to @address. */
static struct rdma_cm_id *resolve(struct sockaddr_storage *address)
{
	struct rdma_cm_id *id;

	if (rdma_create_id(channel, &id, NULL, RDMA_PS_TCP))
		fail("rdma_create_id");
	if (rdma_resolve_addr(id, NULL, (struct sockaddr *)address, 4000))
		fail("rdma_resolve_addr");
	expect(RDMA_CM_EVENT_ADDR_RESOLVED);
	if (rdma_resolve_route(id, 4000))
		fail("rdma_resolve_route");
	expect(RDMA_CM_EVENT_ROUTE_RESOLVED);
	return id;
}

/* Returns the microseconds that connection @number with this QP takes. */
static long time_connect(struct rdma_cm_id *id, uint32_t number, uint32_t qp_num)
{
	struct rdma_conn_param param = conn_param(NULL);
	long began, took;

	param.qp_num = qp_num;
	param.private_data = &number;
	param.private_data_len = sizeof(number);
	began = now_us();
	if (rdma_connect(id, &param))
		fail("rdma_connect");
	expect(RDMA_CM_EVENT_CONNECT_RESPONSE);
	took = now_us() - began;
	if (rdma_establish(id))
		fail("rdma_establish");
	return took;
}

/* Waits until the peer has answered. */
static void end_id(struct rdma_cm_id *id)
{
	if (rdma_disconnect(id))
		fail("rdma_disconnect");
	expect(RDMA_CM_EVENT_DISCONNECTED);
	if (rdma_destroy_id(id))
		fail("rdma_destroy_id");
}

int main(int argc, char **argv)
{
	struct sockaddr_storage address;
	unsigned int count, first_qp;

	setvbuf(stdout, NULL, _IOLBF, 0);
	if (argc != 5) {
		fputs("usage: connects ADDRESS PORT COUNT QPN\n", stderr);
		return 2;
	}
	address = get_address(argv[1], atoi(argv[2]));
	count = atoi(argv[3]);
	first_qp = atoi(argv[4]);
	channel = rdma_create_event_channel();
	if (!channel)
		fail("rdma_create_event_channel");
	for (unsigned int i = 0; i < count; i++) {
		struct rdma_cm_id *id = resolve(&address);

		printf("connect %u %ld\n", i, time_connect(id, i, first_qp + i));
		end_id(id);
	}
	puts("end");
	return 0;
}
