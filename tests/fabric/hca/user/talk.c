// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * One end of a connection over any address that librdmacm knows; it tells every event.
 *
 *	talk [-u] [-r] listen ADDRESS PORT	until its standard input ends
 *	talk [-u] [-t MS] connect ADDRESS PORT [FROM]
 *	talk [-t MS] hold ADDRESS PORT [FROM]	disconnects only when its input ends
 *
 * An address is of IPv4 or IPv6, or "ib:" and a GID. -u: datagrams, that is SIDR. -r: the server
 * rejects. -t: how long address and route may take to resolve (2000).
 *
 * A line for each event: its name, its status, and what the peer said in text, if anything. A
 * client's exit status is 0 when it was established.
 */
#define _GNU_SOURCE
#include <endian.h>
#include <infiniband/ib.h>
#include <poll.h>
#include <stdbool.h>

#include "../../cm_program.h"

static struct rdma_event_channel *channel;
static enum rdma_port_space space = RDMA_PS_TCP;
static bool rejects, holds;
static int patience = 2000;
static bool established;

static struct sockaddr_storage address(const char *text, int port)
{
	struct sockaddr_storage any = {};
	struct sockaddr_ib *ib = (void *)&any;

	if (strncmp(text, "ib:", 3) || inet_pton(AF_INET6, text + 3, &ib->sib_addr) != 1)
		return get_address(text, port);
	ib->sib_family = AF_IB;
	ib->sib_pkey = htobe16(0xffff);
	ib->sib_sid = htobe64(((uint64_t)space << 16) + port);
	ib->sib_sid_mask = htobe64(port ? UINT64_MAX : ~0xffffULL);
	return any;
}

/* The next event, told; the id goes to @id, and what the peer said is dropped. */
static enum rdma_cm_event_type next_event(struct rdma_cm_id **id)
{
	enum rdma_cm_event_type type;
	struct rdma_cm_event *event;
	const char *said = NULL;

	if (rdma_get_cm_event(channel, &event))
		fail("rdma_get_cm_event");
	type = event->event;
	*id = event->id;
	if (space == RDMA_PS_UDP && event->param.ud.private_data_len)
		said = event->param.ud.private_data;
	else if (space == RDMA_PS_TCP && event->param.conn.private_data_len)
		said = event->param.conn.private_data;
	printf("%s %d%s%.8s\n", rdma_event_str(type) + strlen("RDMA_CM_EVENT_"), event->status,
	       said && *said ? " " : "", said ? said : "");
	rdma_ack_cm_event(event);
	return type;
}

static void serve_event(void)
{
	struct rdma_conn_param param = conn_param(NULL);
	struct rdma_cm_id *id;

	switch (next_event(&id)) {
	case RDMA_CM_EVENT_CONNECT_REQUEST:
		if (rejects) {
			if (rdma_reject(id, "no", 3))
				fail("rdma_reject");
			rdma_destroy_id(id);
			break;
		}
		param.private_data = "yes";
		param.private_data_len = 4;
		if (rdma_accept(id, &param))
			printf("rdma_accept: %s\n", error_name(errno));
		/* A datagram id has nothing more to do. */
		if (space == RDMA_PS_UDP)
			rdma_destroy_id(id);
		break;
	case RDMA_CM_EVENT_ESTABLISHED:
	case RDMA_CM_EVENT_TIMEWAIT_EXIT:
		break;
	case RDMA_CM_EVENT_DEVICE_REMOVAL:
		rdma_destroy_id(id);
		printf("done\n");
		exit(0);
	default:
		rdma_disconnect(id);
		rdma_destroy_id(id);
	}
}

static void serve(const char *text, int port)
{
	struct sockaddr_storage here = address(text, port);
	struct rdma_cm_id *listener;

	if (rdma_create_id(channel, &listener, NULL, space))
		fail("rdma_create_id");
	if (rdma_bind_addr(listener, (struct sockaddr *)&here))
		fail("rdma_bind_addr");
	if (rdma_listen(listener, 0))
		fail("rdma_listen");
	printf("listening\n");
	for (;;) {
		struct pollfd fds[] = {
			{ .fd = channel->fd, .events = POLLIN },
			{ .fd = STDIN_FILENO, .events = POLLIN },
		};

		if (poll(fds, 2, -1) < 0)
			fail("poll");
		if (fds[0].revents)
			serve_event();
		else if (fds[1].revents)
			return;
	}
}

/* What to do after an event of the client's. Returns whether there is more to come. */
static bool go_on(struct rdma_cm_id *id, enum rdma_cm_event_type type)
{
	struct rdma_conn_param param = conn_param(NULL);
	char byte;

	switch (type) {
	case RDMA_CM_EVENT_ADDR_RESOLVED:
		if (rdma_resolve_route(id, patience))
			fail("rdma_resolve_route");
		return true;
	case RDMA_CM_EVENT_ROUTE_RESOLVED:
		if (rdma_connect(id, &param))
			fail("rdma_connect");
		return true;
	case RDMA_CM_EVENT_CONNECT_RESPONSE:
		if (rdma_establish(id))
			fail("rdma_establish");
		__attribute__((fallthrough));
	case RDMA_CM_EVENT_ESTABLISHED:
		established = true;
		if (space == RDMA_PS_UDP)
			return false;
		if (holds && read(STDIN_FILENO, &byte, 1) < 0)
			fail("read");
		if (rdma_disconnect(id))
			fail("rdma_disconnect");
		return true;
	case RDMA_CM_EVENT_DISCONNECTED:
		/* Stock answers a peer that was first only now. */
		rdma_disconnect(id);
		return false;
	default:
		return false;
	}
}

static void client(const char *text, int port, const char *from)
{
	struct sockaddr_storage there = address(text, port), here;
	struct rdma_cm_id *id;

	if (rdma_create_id(channel, &id, NULL, space))
		fail("rdma_create_id");
	if (from)
		here = address(from, 0);
	if (rdma_resolve_addr(id, from ? (struct sockaddr *)&here : NULL,
			      (struct sockaddr *)&there, patience))
		fail("rdma_resolve_addr");
	while (go_on(id, next_event(&id)))
		;
	if (rdma_destroy_id(id))
		fail("rdma_destroy_id");
}

int main(int argc, char **argv)
{
	int option;

	while ((option = getopt(argc, argv, "urt:")) != -1) {
		if (option == 'u')
			space = RDMA_PS_UDP;
		else if (option == 'r')
			rejects = true;
		else if (option == 't')
			patience = atoi(optarg);
		else
			return 2;
	}
	argv += optind;
	argc -= optind;
	if (argc < 3) {
		fprintf(stderr, "usage: talk [-u] [-r] [-t MS] WHAT ADDRESS PORT [FROM]\n");
		return 2;
	}
	setvbuf(stdout, NULL, _IOLBF, 0);
	channel = rdma_create_event_channel();
	if (!channel)
		fail("rdma_create_event_channel");
	if (!strcmp(argv[0], "listen")) {
		serve(argv[1], atoi(argv[2]));
		return 0;
	}
	holds = !strcmp(argv[0], "hold");
	client(argv[1], atoi(argv[2]), argc > 3 ? argv[3] : NULL);
	return !established;
}
