// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * One process in two network namespaces, for either stack: a listener in each,
 * on the wildcard and the same port, and a connection in each.
 *
 *	spaces NAMESPACE HERE THERE PORT
 *
 * NAMESPACE is a file; HERE is an address in the namespace of the start, THERE
 * one in the other. Prints "done", or the call that failed.
 */
#define _GNU_SOURCE
#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <rdma/rdma_cma.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static struct rdma_event_channel *channel;
static struct sockaddr_in anywhere;

#define NEED(call) do {								\
	if (call) {								\
		const char *name = strerrorname_np(errno);			\
										\
		printf("%s: %s\n", #call, name ? name : "?");			\
		exit(1);							\
	}									\
} while (0)

static void wrong(const char *what)
{
	printf("%s\n", what);
	exit(1);
}

static void enter(int space)
{
	NEED(setns(space, CLONE_NEWNET));
}

static struct rdma_cm_id *make_listener(void)
{
	struct rdma_cm_id *id;

	NEED(rdma_create_id(channel, &id, NULL, RDMA_PS_TCP));
	NEED(rdma_bind_addr(id, (struct sockaddr *)&anywhere));
	NEED(rdma_listen(id, 1));
	return id;
}

/* The id of the next event, which must be this one. */
static struct rdma_cm_id *await(enum rdma_cm_event_type type, struct rdma_cm_id *listener)
{
	struct rdma_cm_event *event;
	struct rdma_cm_id *id;

	NEED(rdma_get_cm_event(channel, &event));
	if (event->event != type) {
		printf("%s (%d) for %s\n", rdma_event_str(event->event), event->status,
		       rdma_event_str(type));
		exit(1);
	}
	if (listener && event->listen_id != listener)
		wrong("a request came to the other namespace");
	id = event->id;
	NEED(rdma_ack_cm_event(event));
	return id;
}

static void connect_to(const char *ip, struct rdma_cm_id *listener)
{
	struct rdma_conn_param param = {
		.responder_resources = 1, .initiator_depth = 1, .retry_count = 7,
		.rnr_retry_count = 7,
	};
	struct sockaddr_in addr = anywhere;
	struct rdma_cm_id *client, *server;
	static int number;

	if (inet_pton(AF_INET, ip, &addr.sin_addr) != 1)
		wrong("no address");
	NEED(rdma_create_id(channel, &client, NULL, RDMA_PS_TCP));
	NEED(rdma_resolve_addr(client, NULL, (struct sockaddr *)&addr, 5000));
	await(RDMA_CM_EVENT_ADDR_RESOLVED, NULL);
	NEED(rdma_resolve_route(client, 5000));
	await(RDMA_CM_EVENT_ROUTE_RESOLVED, NULL);
	/* Numbers that no other test's connection has. */
	param.qp_num = 0x700000 + ((getpid() & 0xffff) << 4) + number++;
	NEED(rdma_connect(client, &param));
	server = await(RDMA_CM_EVENT_CONNECT_REQUEST, listener);
	param.qp_num = 0x700000 + ((getpid() & 0xffff) << 4) + number++;
	NEED(rdma_accept(server, &param));
	await(RDMA_CM_EVENT_CONNECT_RESPONSE, NULL);
	NEED(rdma_establish(client));
	await(RDMA_CM_EVENT_ESTABLISHED, NULL);
	NEED(rdma_disconnect(client));
	await(RDMA_CM_EVENT_DISCONNECTED, NULL);
	NEED(rdma_disconnect(server));
	await(RDMA_CM_EVENT_DISCONNECTED, NULL);
	NEED(rdma_destroy_id(server));
	NEED(rdma_destroy_id(client));
}

int main(int argc, char **argv)
{
	struct rdma_cm_id *here, *there;
	int home, other;

	if (argc != 5) {
		fprintf(stderr, "usage: spaces NAMESPACE HERE THERE PORT\n");
		return 2;
	}
	setvbuf(stdout, NULL, _IOLBF, 0);
	home = open("/proc/self/ns/net", O_RDONLY | O_CLOEXEC);
	other = open(argv[1], O_RDONLY | O_CLOEXEC);
	if (home < 0 || other < 0)
		wrong("no such namespace");
	anywhere.sin_family = AF_INET;
	anywhere.sin_port = htons(atoi(argv[4]));
	channel = rdma_create_event_channel();
	NEED(!channel);
	here = make_listener();
	enter(other);
	there = make_listener();
	connect_to(argv[3], there);
	enter(home);
	connect_to(argv[2], here);
	/* A listener serves its own namespace, wherever its process is. */
	NEED(rdma_destroy_id(here));
	enter(other);
	connect_to(argv[3], there);
	printf("done\n");
	return 0;
}
