// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * An id that is destroyed right after rdma_notify() has reported that its QP received before
 * the peer's RTU. ib_cm (6.1 and 6.12) sets the state to established at once (cm_establish()),
 * but stops repeating the REP only in its workqueue (cm_establish_handler()), which looks for
 * an id that is still established. If the id is destroyed, or the peer's DREQ is received,
 * before that work runs, the REP is never cancelled: cm_destroy_id() waits until all
 * repetitions have timed out, and so does the removal of the device. With the stock library and
 * modules alone:
 *
 *	notified_id ADDRESS
 *
 * The thread that notifies and destroys runs with real time priority, so that its processor
 * runs no work in between; on a loaded machine the priority is not necessary. The exit status
 * is 0 when the id was destroyed within two seconds.
 */
#define _GNU_SOURCE
#include <arpa/inet.h>
#include <err.h>
#include <rdma/rdma_cma.h>
#include <sched.h>
#include <stdio.h>
#include <time.h>

#define PORT		7472
#define PATIENCE	2

static struct sockaddr_in address = { .sin_family = AF_INET };

static double now(void)
{
	struct timespec time;

	clock_gettime(CLOCK_MONOTONIC, &time);
	return time.tv_sec + time.tv_nsec / 1e9;
}

/* The id of an event; for a request that of the new connection. */
static struct rdma_cm_id *wait_for(struct rdma_event_channel *channel,
				   enum rdma_cm_event_type wanted)
{
	struct rdma_cm_event *event;
	enum rdma_cm_event_type came;
	struct rdma_cm_id *id;

	if (rdma_get_cm_event(channel, &event))
		err(2, "rdma_get_cm_event");
	came = event->event;
	id = event->id;
	rdma_ack_cm_event(event);
	if (came != wanted)
		errx(2, "event %s came, %s was due", rdma_event_str(came), rdma_event_str(wanted));
	return id;
}

static struct rdma_event_channel *make_channel(struct rdma_cm_id **id)
{
	struct rdma_event_channel *channel = rdma_create_event_channel();

	if (!channel || rdma_create_id(channel, id, NULL, RDMA_PS_TCP))
		err(2, "rdma_create_id");
	return channel;
}

/* The passive end of a connection whose active end has received the reply and sends no RTU. */
static struct rdma_cm_id *half_connected(void)
{
	struct rdma_conn_param param = { .responder_resources = 1, .qp_num = 0x4711 };
	struct rdma_cm_id *listener, *client, *server;
	struct rdma_event_channel *passive = make_channel(&listener);
	struct rdma_event_channel *active = make_channel(&client);

	if (rdma_bind_addr(listener, (struct sockaddr *)&address) || rdma_listen(listener, 1))
		err(2, "rdma_listen");
	if (rdma_resolve_addr(client, NULL, (struct sockaddr *)&address, 2000))
		err(2, "rdma_resolve_addr");
	wait_for(active, RDMA_CM_EVENT_ADDR_RESOLVED);
	if (rdma_resolve_route(client, 2000))
		err(2, "rdma_resolve_route");
	wait_for(active, RDMA_CM_EVENT_ROUTE_RESOLVED);
	if (rdma_connect(client, &param))
		err(2, "rdma_connect");
	server = wait_for(passive, RDMA_CM_EVENT_CONNECT_REQUEST);
	param.qp_num++;
	if (rdma_accept(server, &param))
		err(2, "rdma_accept");
	wait_for(active, RDMA_CM_EVENT_CONNECT_RESPONSE);
	return server;
}

static void stay_alone(void)
{
	struct sched_param param = { .sched_priority = 1 };
	cpu_set_t here;

	CPU_ZERO(&here);
	CPU_SET(sched_getcpu(), &here);
	if (sched_setaffinity(0, sizeof(here), &here) || sched_setscheduler(0, SCHED_FIFO, &param))
		err(2, "sched_setscheduler");
}

int main(int argc, char **argv)
{
	struct rdma_cm_id *id;
	double began, took;

	if (argc != 2 || inet_pton(AF_INET, argv[1], &address.sin_addr) != 1)
		errx(2, "usage: %s IPV4-ADDRESS", argv[0]);
	address.sin_port = htons(PORT);
	id = half_connected();
	stay_alone();
	began = now();
	if (rdma_notify(id, IBV_EVENT_COMM_EST))
		err(2, "rdma_notify");
	/* rdma_destroy_id() also waits until the program has acknowledged all events. */
	rdma_destroy_id(id);
	took = now() - began;
	printf("destroyed after %.1f s\n", took);
	return took > PATIENCE;
}
