// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * An asynchronous echo server in one thread, with an event channel and poll(), for up to 64 clients
 * at the same time. The descriptor of the event channel is readable when an event is pending, and
 * that of a completion channel when a connection has completions. Clients for it: async_client.
 *
 *	cc async_server.c -o async_server -lrdmacm -libverbs
 *	async_server ADDRESS PORT [CLIENTS]
 *
 * The server ends when CLIENTS clients (default: one) have disconnected, or when the device is
 * removed. A client that fails does not count, and does not affect other clients. epoll_server
 * serves more clients at the same time, with one completion queue for all of them.
 */
#include <errno.h>
#include <fcntl.h>
#include <netdb.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <rdma/rdma_cma.h>
#include <rdma/rdma_verbs.h>

#define MOST 64
#define SIZE 1024

struct client {
	struct rdma_cm_id *id;
	struct ibv_comp_channel *completions;
	struct ibv_cq *cq;
	struct ibv_mr *mr;
	int broken;	/* the queue pair is in an error state */
	char message[SIZE];
};

static struct rdma_event_channel *channel;
static struct rdma_cm_id *listener;
static struct client *clients[MOST];
static int count;	/* connected clients */
static int gone;	/* clients that have disconnected */
static int removed;	/* the device of the listener is being removed */

static int failed(const char *call, const char *advice)
{
	fprintf(stderr, "%s: %s; %s\n", call, strerror(errno), advice);
	return -1;
}

/* Frees a client, which may be only partly set up. */
static void free_client(struct client *client)
{
	if (client->id->qp)
		rdma_destroy_qp(client->id);
	if (client->mr)
		rdma_dereg_mr(client->mr);
	if (client->cq)
		ibv_destroy_cq(client->cq);
	if (client->completions)
		ibv_destroy_comp_channel(client->completions);
	rdma_destroy_id(client->id);
	free(client);
}

static int post_receive(struct client *client)
{
	if (rdma_post_recv(client->id, NULL, client->message, SIZE, client->mr))
		return failed("rdma_post_recv", "has the connection ended?");
	return 0;
}

static int prepare(struct client *client)
{
	struct ibv_qp_init_attr attr = {
		.cap = { .max_send_wr = 2, .max_recv_wr = 1, .max_send_sge = 1, .max_recv_sge = 1 },
		.qp_type = IBV_QPT_RC,
	};
	struct rdma_cm_id *id = client->id;

	client->completions = ibv_create_comp_channel(id->verbs);
	if (!client->completions)
		return failed("ibv_create_comp_channel", "are there descriptors left (ulimit -n)?");
	client->cq = ibv_create_cq(id->verbs, 4, NULL, client->completions, 0);
	if (!client->cq || ibv_req_notify_cq(client->cq, 0))
		return failed("ibv_create_cq", "does ulimit -l allow it?");
	attr.send_cq = client->cq;
	attr.recv_cq = client->cq;
	if (rdma_create_qp(id, NULL, &attr))
		return failed("rdma_create_qp", "does ulimit -l allow it?");
	client->mr = rdma_reg_msgs(id, client->message, SIZE);
	if (!client->mr)
		return failed("rdma_reg_msgs", "does ulimit -l allow it?");
	return post_receive(client);
}

/* A failure here ends this request only. */
static void take_request(struct rdma_cm_id *id)
{
	struct rdma_conn_param param = { .rnr_retry_count = 7 };
	struct client *client = count < MOST ? calloc(1, sizeof(*client)) : NULL;

	if (!client) {
		/* The client gets RDMA_CM_EVENT_REJECTED, with this text as private data. */
		rdma_reject(id, "full", sizeof("full"));
		rdma_destroy_id(id);
		return;
	}
	client->id = id;
	id->context = client;
	if (prepare(client)) {
		rdma_reject(id, NULL, 0);
		free_client(client);
	} else if (rdma_accept(id, &param)) {
		/* For example, the client gave up while its request was pending here. */
		failed("rdma_accept", "the client may have gone");
		free_client(client);
	} else {
		clients[count++] = client;
	}
}

static void remove_client(struct client *client)
{
	int i;

	for (i = 0; clients[i] != client; i++)
		;
	clients[i] = clients[--count];
	/* Flushes the work of the queue pair; the peer has got its reply already. */
	rdma_disconnect(client->id);
	free_client(client);
}

static void take_event(enum rdma_cm_event_type type, struct rdma_cm_id *id, int status)
{
	struct client *client = id->context;

	switch (type) {
	case RDMA_CM_EVENT_CONNECT_REQUEST:
		take_request(id);
		break;
	case RDMA_CM_EVENT_ESTABLISHED:
		/* A message may fail before this event, and an id cannot disconnect before it. */
		if (client->broken)
			rdma_disconnect(id);
		break;
	case RDMA_CM_EVENT_DISCONNECTED:
		/* There may have been no ESTABLISHED, because its message (RTU) was lost. */
		gone++;
		remove_client(client);
		break;
	case RDMA_CM_EVENT_CONNECT_ERROR:
	case RDMA_CM_EVENT_UNREACHABLE:
	case RDMA_CM_EVENT_REJECTED:
	case RDMA_CM_EVENT_DEVICE_REMOVAL:
		fprintf(stderr, "%s, status %d\n", rdma_event_str(type), status);
		/* Every id of the device gets it; some drivers wait until the program ends. */
		if (id == listener)
			removed = 1;
		else
			remove_client(client);
		break;
	default:
		/* ADDR_CHANGE and TIMEWAIT_EXIT need no action. */
		break;
	}
}

/* Handles all pending events. */
static int take_events(void)
{
	struct rdma_cm_event *event;
	enum rdma_cm_event_type type;
	struct rdma_cm_id *id;
	int status;

	while (!rdma_get_cm_event(channel, &event)) {
		type = event->event;
		status = event->status;
		id = event->id;
		/* Acknowledge first: destroying the id waits for its events. */
		rdma_ack_cm_event(event);
		take_event(type, id, status);
	}
	return errno == EAGAIN ? 0 : failed("rdma_get_cm_event", "the channel cannot be read");
}

/* DISCONNECTED follows, unless it has been reported already. */
static void break_off(struct client *client)
{
	client->broken = 1;
	rdma_disconnect(client->id);
}

/* Echoes a received message; when the send completes, posts the next receive. */
static int go_on(struct client *client, const struct ibv_wc *wc)
{
	if (wc->opcode == IBV_WC_SEND)
		return post_receive(client);
	if (rdma_post_send(client->id, NULL, client->message, wc->byte_len, client->mr,
			   IBV_SEND_SIGNALED))
		return failed("rdma_post_send", "has the connection ended?");
	return 0;
}

/* Handles all completions of a client. */
static void serve(struct client *client)
{
	struct ibv_cq *cq;
	struct ibv_wc wc;
	void *context;

	if (!ibv_get_cq_event(client->completions, &cq, &context))
		ibv_ack_cq_events(cq, 1);
	/* Request the notification before polling, so that no completion is missed. */
	if (ibv_req_notify_cq(client->cq, 0))
		failed("ibv_req_notify_cq", "the client will not be served any more");
	while (ibv_poll_cq(client->cq, 1, &wc) > 0)
		if (wc.status != IBV_WC_SUCCESS || go_on(client, &wc))
			break_off(client);
}

/* Waits for events and completions, and handles them. */
static int turn(void)
{
	struct pollfd fds[MOST + 1];
	int i, clients_now = count;

	fds[0] = (struct pollfd) { .fd = channel->fd, .events = POLLIN };
	for (i = 0; i < clients_now; i++)
		fds[i + 1] = (struct pollfd) {
			.fd = clients[i]->completions->fd, .events = POLLIN,
		};
	if (poll(fds, clients_now + 1, -1) < 0)
		return errno == EINTR ? 0 : failed("poll", "cannot wait");
	for (i = 0; i < clients_now; i++)
		if (fds[i + 1].revents)
			serve(clients[i]);
	/* Handle completions first: events change the array of clients. */
	return fds[0].revents ? take_events() : 0;
}

static int listen_at(struct sockaddr *addr)
{
	channel = rdma_create_event_channel();
	if (!channel)
		return failed("rdma_create_event_channel", "is the kernel module loaded?");
	if (fcntl(channel->fd, F_SETFL, O_NONBLOCK))
		return failed("fcntl", "the channel cannot be made non-blocking");
	if (rdma_create_id(channel, &listener, NULL, RDMA_PS_TCP))
		return failed("rdma_create_id", "are there limits in the way?");
	if (rdma_bind_addr(listener, addr))
		return failed("rdma_bind_addr",
			      "has an RDMA device here this address, is the port free?");
	if (rdma_listen(listener, MOST))
		return failed("rdma_listen", "does another server have the port?");
	return 0;
}

int main(int argc, char **argv)
{
	int wanted = argc > 3 ? atoi(argv[3]) : 1, status = 0;
	struct addrinfo *res;

	if (argc < 3 || wanted < 1 || getaddrinfo(argv[1], argv[2], NULL, &res)) {
		fprintf(stderr, "usage: async_server ADDRESS PORT [CLIENTS]\n");
		return 2;
	}
	status = listen_at(res->ai_addr);
	freeaddrinfo(res);
	if (status)
		return 1;
	printf("listening\n");
	fflush(stdout);
	while (gone < wanted && !removed && !status)
		status = turn();
	printf("%d came and went\n", gone);
	while (count)
		remove_client(clients[0]);
	rdma_destroy_id(listener);
	rdma_destroy_event_channel(channel);
	return status || removed;
}
