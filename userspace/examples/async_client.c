// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * An asynchronous client in one thread, with an event channel and poll(): opens several connections
 * at the same time, sends a message over each, compares the echo, and disconnects. Each event
 * triggers the next call, and no call blocks. Servers for it: async_server, epoll_server.
 *
 *	cc async_client.c -o async_client -lrdmacm -libverbs
 *	async_client ADDRESS PORT [CONNECTIONS [SECONDS]]
 *
 * The default is one connection, and at most 60 seconds.
 */
#include <errno.h>
#include <fcntl.h>
#include <netdb.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <rdma/rdma_cma.h>
#include <rdma/rdma_verbs.h>

#define MOST 1000
#define SIZE 64
#define TIMEOUT 2000	/* milliseconds, for address resolution and for route resolution */

struct connection {
	struct rdma_cm_id *id;		/* NULL: the connection has ended */
	struct ibv_comp_channel *completions;
	struct ibv_cq *cq;
	struct ibv_mr *mr;
	const char *waits_for;
	char sent[SIZE];
	char received[SIZE];
};

static struct rdma_event_channel *channel;
static struct connection connections[MOST];
static int count, over, good;

static int failed(const char *call, const char *advice)
{
	fprintf(stderr, "%s: %s; %s\n", call, strerror(errno), advice);
	return -1;
}

static void end_connection(struct connection *c)
{
	if (c->id->qp)
		rdma_destroy_qp(c->id);
	if (c->mr)
		rdma_dereg_mr(c->mr);
	if (c->cq)
		ibv_destroy_cq(c->cq);
	if (c->completions)
		ibv_destroy_comp_channel(c->completions);
	rdma_destroy_id(c->id);
	c->completions = NULL;
	c->id = NULL;
	over++;
}

static int start(struct connection *c, struct sockaddr *addr)
{
	if (rdma_create_id(channel, &c->id, c, RDMA_PS_TCP))
		return failed("rdma_create_id", "are there limits in the way?");
	c->waits_for = "its address";
	if (rdma_resolve_addr(c->id, NULL, addr, TIMEOUT))
		return failed("rdma_resolve_addr", "is there a route over an RDMA device?");
	return 0;
}

static int on_address(struct connection *c)
{
	c->waits_for = "its route";
	if (rdma_resolve_route(c->id, TIMEOUT))
		return failed("rdma_resolve_route", "is the port active (rdma link)?");
	return 0;
}

static int on_route(struct connection *c)
{
	struct ibv_qp_init_attr attr = {
		.cap = { .max_send_wr = 1, .max_recv_wr = 1, .max_send_sge = 1, .max_recv_sge = 1 },
		.qp_type = IBV_QPT_RC,
	};
	struct rdma_conn_param param = { .retry_count = 7, .rnr_retry_count = 7 };

	c->completions = ibv_create_comp_channel(c->id->verbs);
	if (!c->completions)
		return failed("ibv_create_comp_channel", "are there descriptors left (ulimit -n)?");
	c->cq = ibv_create_cq(c->id->verbs, 2, NULL, c->completions, 0);
	if (!c->cq || ibv_req_notify_cq(c->cq, 0))
		return failed("ibv_create_cq", "does ulimit -l allow it?");
	attr.send_cq = c->cq;
	attr.recv_cq = c->cq;
	if (rdma_create_qp(c->id, NULL, &attr))
		return failed("rdma_create_qp", "does ulimit -l allow it?");
	c->mr = rdma_reg_msgs(c->id, c, sizeof(*c));
	if (!c->mr)
		return failed("rdma_reg_msgs", "does ulimit -l allow it?");
	if (rdma_post_recv(c->id, NULL, c->received, SIZE, c->mr))
		return failed("rdma_post_recv", "is the queue pair large enough?");
	c->waits_for = "the server to accept";
	if (rdma_connect(c->id, &param))
		return failed("rdma_connect", "has the device gone?");
	return 0;
}

static int on_established(struct connection *c)
{
	int length = snprintf(c->sent, SIZE, "connection %d of %d", (int)(c - connections), count);

	c->waits_for = "the message to come back";
	if (rdma_post_send(c->id, NULL, c->sent, length + 1, c->mr, IBV_SEND_SIGNALED))
		return failed("rdma_post_send", "has the connection ended?");
	return 0;
}

/* Prints the reason of a failed step. */
static int on_error(struct connection *c, enum rdma_cm_event_type type, int status)
{
	fprintf(stderr, "connection %d waited for %s: %s, ", (int)(c - connections), c->waits_for,
		rdma_event_str(type));
	if (status < 0)
		fprintf(stderr, "%s\n", strerror(-status));
	else if (type == RDMA_CM_EVENT_REJECTED)
		/* IBTA volume 1, 12.6.7.2; Documentation/troubleshooting.rst lists all reasons. */
		fprintf(stderr, "reason %d%s\n", status,
			status == 28 ? ", the server does not want it" :
			status == 8 ? ", nobody listens at that port" : "");
	else
		fprintf(stderr, "status %d\n", status);
	return -1;
}

static void take_event(struct connection *c, enum rdma_cm_event_type type, int status)
{
	int ret = 0;

	switch (type) {
	case RDMA_CM_EVENT_ADDR_RESOLVED:
		ret = on_address(c);
		break;
	case RDMA_CM_EVENT_ROUTE_RESOLVED:
		ret = on_route(c);
		break;
	case RDMA_CM_EVENT_ESTABLISHED:
		ret = on_established(c);
		break;
	case RDMA_CM_EVENT_ADDR_CHANGE:
	case RDMA_CM_EVENT_TIMEWAIT_EXIT:
		break;
	case RDMA_CM_EVENT_DISCONNECTED:
		good += c->sent[0] && !strcmp(c->sent, c->received);
		end_connection(c);
		return;
	default:
		ret = on_error(c, type, status);
	}
	if (ret)
		end_connection(c);
}

static int take_events(void)
{
	struct rdma_cm_event *event;
	enum rdma_cm_event_type type;
	struct connection *c;
	int status;

	while (!rdma_get_cm_event(channel, &event)) {
		c = event->id->context;
		type = event->event;
		status = event->status;
		/* Acknowledge first: destroying the id waits for its events. */
		rdma_ack_cm_event(event);
		take_event(c, type, status);
	}
	return errno == EAGAIN ? 0 : failed("rdma_get_cm_event", "the channel cannot be read");
}

/* Disconnects at the completion of the receive, which has the echo, or of a failed request. */
static void take_completions(struct connection *c)
{
	struct ibv_cq *cq;
	struct ibv_wc wc;
	void *context;

	if (!ibv_get_cq_event(c->completions, &cq, &context))
		ibv_ack_cq_events(cq, 1);
	/* Request the notification before polling, so that no completion is missed. */
	if (ibv_req_notify_cq(c->cq, 0))
		failed("ibv_req_notify_cq", "no more completions will be seen");
	while (ibv_poll_cq(c->cq, 1, &wc) > 0) {
		/* A failed completion has no opcode. The end of a connection flushes its work. */
		if (wc.status == IBV_WC_SUCCESS && wc.opcode != IBV_WC_RECV)
			continue;
		if (wc.status != IBV_WC_SUCCESS && wc.status != IBV_WC_WR_FLUSH_ERR)
			fprintf(stderr, "connection %d waited for %s: %s\n",
				(int)(c - connections), c->waits_for, ibv_wc_status_str(wc.status));
		c->waits_for = "the end";
		if (rdma_disconnect(c->id))
			failed("rdma_disconnect", "has the device gone?");
	}
}

static int turn(int milliseconds)
{
	static struct pollfd fds[MOST + 1];
	int i;

	fds[0] = (struct pollfd) { .fd = channel->fd, .events = POLLIN };
	/* poll() ignores the descriptor -1. */
	for (i = 0; i < count; i++)
		fds[i + 1] = (struct pollfd) {
			.fd = connections[i].completions ? connections[i].completions->fd : -1,
			.events = POLLIN,
		};
	if (poll(fds, count + 1, milliseconds) < 0)
		return errno == EINTR ? 0 : failed("poll", "cannot wait");
	for (i = 0; i < count; i++)
		if (fds[i + 1].revents)
			take_completions(&connections[i]);
	/* Handle completions first: events end connections. */
	return fds[0].revents ? take_events() : 0;
}

int main(int argc, char **argv)
{
	time_t end = time(NULL) + (argc > 4 ? atoi(argv[4]) : 60);
	struct addrinfo *res;
	int i;

	count = argc > 3 ? atoi(argv[3]) : 1;
	if (argc < 3 || count < 1 || count > MOST || getaddrinfo(argv[1], argv[2], NULL, &res)) {
		fprintf(stderr, "usage: async_client ADDRESS PORT [CONNECTIONS [SECONDS]]\n");
		return 2;
	}
	channel = rdma_create_event_channel();
	if (!channel || fcntl(channel->fd, F_SETFL, O_NONBLOCK)) {
		failed("rdma_create_event_channel", "is the kernel module loaded?");
		return 1;
	}
	for (i = 0; i < count; i++)
		if (start(&connections[i], res->ai_addr))
			return 1;
	freeaddrinfo(res);
	while (over < count && time(NULL) < end)
		if (turn(1000))
			return 1;
	for (i = 0; i < count; i++) {
		if (!connections[i].id)
			continue;
		fprintf(stderr, "connection %d still waits for %s\n", i, connections[i].waits_for);
		end_connection(&connections[i]);
	}
	printf("%d of %d came back\n", good, count);
	rdma_destroy_event_channel(channel);
	return good == count ? 0 : 1;
}
