// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * hold COUNT [leave]: holds COUNT ids until it is ended; "leave": in a network namespace that it
 * leaves when it has them.
 * hold COUNT channels: holds COUNT event channels.
 * hold bind ADDRESS: binds an id, which is a notification for listeners.
 * hold busy ADDRESS: binds ids, one after the other, until it is ended.
 * hold wait ADDRESS: connects to an address that does not answer.
 * hold user ADDRESS: posts two user events with a status.
 */
#define _GNU_SOURCE
#include <arpa/inet.h>
#include <dlfcn.h>
#include <errno.h>
#include <netdb.h>
#include <rdma/rdma_cma.h>
#include <sched.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { PATIENCE_MS = 100000 };

/* RDMA_CM_EVENT_USER of newer headers. */
enum { EVENT_USER = 18 };

/* rdma_write_cm_event() is missing in older headers and libraries. */
static int write_events(struct rdma_cm_id *id)
{
	int (*write_event)(struct rdma_cm_id *id, int event, int status, uint64_t arg) =
		dlsym(RTLD_DEFAULT, "rdma_write_cm_event");

	if (!write_event || write_event(id, EVENT_USER, 3, 0) ||
	    write_event(id, EVENT_USER, -EINVAL, 0)) {
		perror("hold: rdma_write_cm_event");
		return 1;
	}
	return 0;
}

static int bind_to(struct rdma_event_channel *channel, const char *ip, bool user)
{
	struct sockaddr_in addr = { .sin_family = AF_INET };
	struct rdma_cm_id *id;

	if (inet_pton(AF_INET, ip, &addr.sin_addr) != 1 ||
	    rdma_create_id(channel, &id, NULL, RDMA_PS_TCP) ||
	    rdma_bind_addr(id, (struct sockaddr *)&addr) || rdma_listen(id, 1)) {
		perror("hold");
		return 1;
	}
	return user ? write_events(id) : 0;
}

/* Each bind is a notification. */
static int be_busy(struct rdma_event_channel *channel, const char *ip)
{
	struct sockaddr_in addr = { .sin_family = AF_INET };
	struct rdma_cm_id *id;

	if (inet_pton(AF_INET, ip, &addr.sin_addr) != 1)
		return 1;
	puts("busy");
	fflush(stdout);
	while (!rdma_create_id(channel, &id, NULL, RDMA_PS_TCP) &&
	       !rdma_bind_addr(id, (struct sockaddr *)&addr))
		rdma_destroy_id(id);
	perror("hold");
	return 1;
}

static void next_event(struct rdma_event_channel *channel)
{
	struct rdma_cm_event *event;

	if (rdma_get_cm_event(channel, &event) || event->status)
		pause();
	rdma_ack_cm_event(event);
}

static int wait_for(struct rdma_event_channel *channel, const char *host)
{
	struct rdma_conn_param param = { .qp_num = 1, .retry_count = 7 };
	struct addrinfo *info;
	struct rdma_cm_id *id;

	if (getaddrinfo(host, "7471", NULL, &info) ||
	    rdma_create_id(channel, &id, NULL, RDMA_PS_TCP) ||
	    rdma_resolve_addr(id, NULL, info->ai_addr, PATIENCE_MS)) {
		perror("hold");
		return 1;
	}
	next_event(channel);
	if (rdma_resolve_route(id, PATIENCE_MS)) {
		perror("hold: rdma_resolve_route");
		return 1;
	}
	next_event(channel);
	if (rdma_connect(id, &param)) {
		perror("hold: rdma_connect");
		return 1;
	}
	return pause();
}

int main(int argc, char **argv)
{
	struct rdma_event_channel *channel = rdma_create_event_channel();
	struct rdma_cm_id *id;

	if (argc == 3 && (!strcmp(argv[1], "bind") || !strcmp(argv[1], "user")))
		return bind_to(channel, argv[2], *argv[1] == 'u');
	if (argc == 3 && !strcmp(argv[1], "busy"))
		return be_busy(channel, argv[2]);
	if (argc == 3 && !strcmp(argv[1], "wait"))
		return wait_for(channel, argv[2]);
	if (argc == 3 && !strcmp(argv[2], "channels")) {
		/* This one is the first. */
		for (int left = atoi(argv[1]); channel && --left > 0;)
			channel = rdma_create_event_channel();
		return channel ? pause() : 1;
	}
	for (int left = argc > 1 ? atoi(argv[1]) : 0; left; left--) {
		if (!channel || rdma_create_id(channel, &id, NULL, RDMA_PS_TCP)) {
			perror("hold");
			return 1;
		}
	}
	if (argc == 3 && !strcmp(argv[2], "leave")) {
		/* Time for a look at it before. */
		sleep(2);
		if (unshare(CLONE_NEWNET)) {
			perror("hold: unshare");
			return 1;
		}
	}
	return pause();
}
