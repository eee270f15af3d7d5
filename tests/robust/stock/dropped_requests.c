// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * Requests that are withdrawn before an answer: each makes the peer's ib_cm look up a remote id
 * while others are removed. It shows why tests/harness/qemu/patches/ib_cm-remote-id-root.patch
 * is needed, with the stock library and modules alone:
 *
 *	dropped_requests ADDRESS [SECONDS [CLIENTS]]
 *
 * The server never accepts. Each client process connects BATCH ids and destroys them at once,
 * so ib_cm sends as many REJ with reason 4 (timeout).
 */
#include <arpa/inet.h>
#include <err.h>
#include <rdma/rdma_cma.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define BATCH	32
#define PORT	7471

static struct sockaddr_in address = { .sin_family = AF_INET };
static time_t end;

static void wait_for(struct rdma_event_channel *channel, enum rdma_cm_event_type wanted)
{
	struct rdma_cm_event *event;
	enum rdma_cm_event_type came;

	do {
		if (rdma_get_cm_event(channel, &event))
			err(1, "rdma_get_cm_event");
		came = event->event;
		rdma_ack_cm_event(event);
	} while (came == RDMA_CM_EVENT_REJECTED || came == RDMA_CM_EVENT_UNREACHABLE);
	if (came != wanted)
		errx(1, "event %s came, %s was due", rdma_event_str(came), rdma_event_str(wanted));
}

static unsigned long client(void)
{
	struct rdma_conn_param param = { .responder_resources = 1, .retry_count = 7 };
	struct rdma_event_channel *channel = rdma_create_event_channel();
	struct rdma_cm_id *ids[BATCH];
	unsigned long count = 0;

	if (!channel)
		err(1, "rdma_create_event_channel");
	while (time(NULL) < end) {
		for (int i = 0; i < BATCH; i++) {
			if (rdma_create_id(channel, &ids[i], NULL, RDMA_PS_TCP))
				err(1, "rdma_create_id");
			if (rdma_resolve_addr(ids[i], NULL, (struct sockaddr *)&address, 2000))
				err(1, "rdma_resolve_addr");
			wait_for(channel, RDMA_CM_EVENT_ADDR_RESOLVED);
			if (rdma_resolve_route(ids[i], 2000))
				err(1, "rdma_resolve_route");
			wait_for(channel, RDMA_CM_EVENT_ROUTE_RESOLVED);
			param.qp_num = 0x1000 + (getpid() % 4096) * 256 + i;
			if (rdma_connect(ids[i], &param))
				err(1, "rdma_connect");
		}
		usleep(20000);
		for (int i = 0; i < BATCH; i++)
			rdma_destroy_id(ids[i]);
		count += BATCH;
	}
	return count;
}

static void serve(int ready)
{
	struct rdma_event_channel *channel = rdma_create_event_channel();
	struct rdma_cm_id *listener;

	if (!channel || rdma_create_id(channel, &listener, NULL, RDMA_PS_TCP) ||
	    rdma_bind_addr(listener, (struct sockaddr *)&address) || rdma_listen(listener, 4096))
		err(1, "server");
	if (write(ready, "", 1) != 1)
		err(1, "write");
	for (;;) {
		struct rdma_cm_event *event;
		struct rdma_cm_id *id = NULL;

		if (rdma_get_cm_event(channel, &event))
			err(1, "server: rdma_get_cm_event");
		if (event->event == RDMA_CM_EVENT_REJECTED ||
		    event->event == RDMA_CM_EVENT_UNREACHABLE)
			id = event->id;
		rdma_ack_cm_event(event);
		if (id)
			rdma_destroy_id(id);
	}
}

int main(int argc, char **argv)
{
	int clients = argc > 3 ? atoi(argv[3]) : 4;
	int ready[2];
	int bad = 0;
	pid_t server;
	char byte;

	if (argc < 2 || inet_pton(AF_INET, argv[1], &address.sin_addr) != 1)
		errx(2, "usage: %s IPV4-ADDRESS [SECONDS [CLIENTS]]", argv[0]);
	address.sin_port = htons(PORT);
	end = time(NULL) + (argc > 2 ? atoi(argv[2]) : 30);
	if (pipe(ready))
		err(1, "pipe");
	server = fork();
	if (server == 0)
		serve(ready[1]);
	close(ready[1]);
	if (read(ready[0], &byte, 1) != 1)
		errx(1, "the server did not start");
	for (int i = 0; i < clients; i++) {
		if (fork() == 0) {
			printf("%lu requests taken back\n", client());
			return 0;
		}
	}
	for (int i = 0; i < clients; i++) {
		int status = 0;

		wait(&status);
		bad |= status;
	}
	kill(server, SIGKILL);
	return bad ? 1 : 0;
}
