// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * blunder ADDRESS: failures with the same errno or event in different states, one each, of this
 * host with itself:
 *   a connect before the address is resolved;
 *   a client that rejects what the server has accepted;
 *   a server that accepts when the client has gone;
 *   a datagram server that is not there.
 */
#include <arpa/inet.h>
#include <errno.h>
#include <rdma/rdma_cma.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

enum { TIMEOUT_MS = 5000 };

static struct rdma_event_channel *channel;
/* Numbers of QPs that nobody has; equal ones would be taken for an old connection's. */
static unsigned int qp_num;
static struct sockaddr_in here = { .sin_family = AF_INET };

static void must(int ret, const char *what)
{
	if (ret) {
		perror(what);
		exit(1);
	}
}

/* The id that the event is of. */
static struct rdma_cm_id *expect(enum rdma_cm_event_type type)
{
	struct rdma_cm_event *event;
	struct rdma_cm_id *id;

	must(rdma_get_cm_event(channel, &event), "rdma_get_cm_event");
	if (event->event != type) {
		fprintf(stderr, "%s in place of %s\n", rdma_event_str(event->event),
			rdma_event_str(type));
		exit(1);
	}
	id = event->id;
	must(rdma_ack_cm_event(event), "rdma_ack_cm_event");
	return id;
}

static struct rdma_cm_id *make_id(enum rdma_port_space ps)
{
	struct rdma_cm_id *id;

	must(rdma_create_id(channel, &id, NULL, ps), "rdma_create_id");
	return id;
}

static struct sockaddr_in listen_on(enum rdma_port_space ps)
{
	struct rdma_cm_id *id = make_id(ps);
	struct sockaddr_in addr = here;

	must(rdma_bind_addr(id, (struct sockaddr *)&addr), "rdma_bind_addr");
	must(rdma_listen(id, 4), "rdma_listen");
	addr.sin_port = rdma_get_src_port(id);
	return addr;
}

static struct rdma_cm_id *start_id(enum rdma_port_space ps, struct sockaddr_in to)
{
	struct rdma_conn_param param = { .qp_num = ++qp_num };
	struct rdma_cm_id *id = make_id(ps);

	must(rdma_resolve_addr(id, NULL, (struct sockaddr *)&to, TIMEOUT_MS), "rdma_resolve_addr");
	expect(RDMA_CM_EVENT_ADDR_RESOLVED);
	must(rdma_resolve_route(id, TIMEOUT_MS), "rdma_resolve_route");
	expect(RDMA_CM_EVENT_ROUTE_RESOLVED);
	must(rdma_connect(id, &param), "rdma_connect");
	return id;
}

int main(int argc, char **argv)
{
	struct rdma_conn_param param = { .qp_num = 1000 };
	struct rdma_cm_id *client, *served;
	struct sockaddr_in server, nobody;

	if (argc != 2 || inet_pton(AF_INET, argv[1], &here.sin_addr) != 1)
		return 2;
	channel = rdma_create_event_channel();
	must(!channel, "rdma_create_event_channel");
	nobody = here;
	server = listen_on(RDMA_PS_TCP);
	client = make_id(RDMA_PS_TCP);
	must(rdma_bind_addr(client, (struct sockaddr *)&here), "rdma_bind_addr");
	must(!rdma_connect(client, &param) || errno != EINVAL, "a connect that comes too early");

	client = start_id(RDMA_PS_TCP, server);
	must(rdma_accept(expect(RDMA_CM_EVENT_CONNECT_REQUEST), &param), "rdma_accept");
	expect(RDMA_CM_EVENT_CONNECT_RESPONSE);
	must(rdma_reject(client, NULL, 0), "rdma_reject");
	expect(RDMA_CM_EVENT_REJECTED);

	client = start_id(RDMA_PS_TCP, server);
	served = expect(RDMA_CM_EVENT_CONNECT_REQUEST);
	must(rdma_destroy_id(client), "rdma_destroy_id");
	/* Its reject is on its way. */
	usleep(200000);
	must(!rdma_accept(served, &param) || errno != ECONNRESET, "an accept that comes too late");

	nobody.sin_port = htons(9999);
	start_id(RDMA_PS_UDP, nobody);
	expect(RDMA_CM_EVENT_UNREACHABLE);
	return 0;
}
