// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * The server of the tutorial: accepts a connection, receives a message, sends it back in capital
 * letters, and ends when the client has disconnected. If a client disconnects earlier, the server
 * waits for the next one. Documentation/tutorial.rst explains the program.
 *
 *	cc tutorial_server.c -o tutorial_server -lrdmacm -libverbs
 *	tutorial_server ADDRESS PORT
 */
#include <ctype.h>
#include <errno.h>
#include <netdb.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <rdma/rdma_cma.h>
#include <rdma/rdma_verbs.h>

static char message[256];

/* Prints the error and advice. When the program ends, the kernel releases its resources. */
static int failed(const char *call, const char *advice)
{
	fprintf(stderr, "%s: %s; %s\n", call, strerror(errno), advice);
	return -1;
}

/* Step 1: a listening id. Without a channel an id is synchronous: its calls block. */
static struct rdma_cm_id *start(struct sockaddr *addr)
{
	struct rdma_cm_id *listener;

	if (rdma_create_id(NULL, &listener, NULL, RDMA_PS_TCP))
		failed("rdma_create_id", "is the module loaded, and may you open its node?");
	else if (rdma_bind_addr(listener, addr))
		failed("rdma_bind_addr", "has an RDMA device here this address, is the port free?");
	else if (rdma_listen(listener, 8))
		failed("rdma_listen", "does another server have the port?");
	else
		return listener;
	return NULL;
}

/* Step 2: wait for a request. After most failures the next request can still arrive. */
static struct rdma_cm_id *take(struct rdma_cm_id *listener)
{
	struct rdma_cm_id *id;

	while (rdma_get_request(listener, &id)) {
		failed("rdma_get_request", "is the device still there?");
		/* The event that came instead of a request; NULL: the listener itself failed. */
		if (!listener->event || listener->event->event == RDMA_CM_EVENT_DEVICE_REMOVAL)
			return NULL;
	}
	return id;
}

/* Step 3: create the queue pair, post a receive before the client can send, and accept. */
static int let_in(struct rdma_cm_id *id, struct ibv_mr **mr)
{
	struct ibv_qp_init_attr attr = {
		.cap = { .max_send_wr = 1, .max_recv_wr = 1, .max_send_sge = 1, .max_recv_sge = 1 },
		.qp_type = IBV_QPT_RC,
	};
	struct rdma_conn_param param = { .rnr_retry_count = 7 };

	if (rdma_create_qp(id, NULL, &attr))
		return failed("rdma_create_qp", "does ulimit -l (locked memory) allow it?");
	*mr = rdma_reg_msgs(id, message, sizeof(message));
	if (!*mr)
		return failed("rdma_reg_msgs", "does ulimit -l (locked memory) allow it?");
	if (rdma_post_recv(id, NULL, message, sizeof(message), *mr))
		return failed("rdma_post_recv", "is the queue pair large enough?");
	/* The next completion makes the completion channel readable. */
	if (ibv_req_notify_cq(id->recv_cq, 0))
		return failed("ibv_req_notify_cq", "has the device gone?");
	if (rdma_accept(id, &param))
		return failed("rdma_accept", "the client may have gone");
	return 0;
}

/* Step 4: handle an event of the connection. Returns whether the connection continues. */
static int goes_on(struct rdma_cm_id *id)
{
	enum rdma_cm_event_type type;
	struct rdma_cm_event *event;

	if (rdma_get_cm_event(id->channel, &event)) {
		failed("rdma_get_cm_event", "the channel of the id cannot be read");
		return 0;
	}
	type = event->event;
	printf("%s\n", rdma_event_str(type));
	rdma_ack_cm_event(event);
	/* ADDR_CHANGE is only informative. All other events end the connection. */
	return type == RDMA_CM_EVENT_ADDR_CHANGE;
}

/* Step 5: receive a message and send it back, unless the connection ends before. */
static int answer(struct rdma_cm_id *id, struct ibv_mr *mr)
{
	struct pollfd fds[] = {
		{ .fd = id->recv_cq_channel->fd, .events = POLLIN },
		{ .fd = id->channel->fd, .events = POLLIN },
	};
	struct ibv_wc wc;
	unsigned int i;

	do {
		if (poll(fds, 2, -1) < 0)
			return failed("poll", "cannot wait");
	} while (!fds[0].revents && goes_on(id));
	if (!fds[0].revents)
		return -1;
	if (rdma_get_recv_comp(id, &wc) < 0)
		return failed("rdma_get_recv_comp", "the completion queue cannot be read");
	if (wc.status != IBV_WC_SUCCESS) {
		fprintf(stderr, "no message: %s\n", ibv_wc_status_str(wc.status));
		return -1;
	}
	for (i = 0; i < wc.byte_len; i++)
		message[i] = toupper((unsigned char)message[i]);
	if (rdma_post_send(id, NULL, message, wc.byte_len, mr, IBV_SEND_SIGNALED))
		return failed("rdma_post_send", "has the connection ended?");
	return 0;
}

/* Step 6: serve a client, from its request to the end of its connection. */
static int serve(struct rdma_cm_id *id)
{
	struct ibv_mr *mr = NULL;
	int ret;

	ret = let_in(id, &mr);
	if (!ret)
		ret = answer(id, mr);
	/* A client that disconnects has the answer: better evidence than a completion. */
	while (!ret && goes_on(id))
		;
	if (id->qp)
		rdma_destroy_qp(id);
	if (mr)
		rdma_dereg_mr(mr);
	rdma_destroy_id(id);
	return ret;
}

int main(int argc, char **argv)
{
	struct rdma_cm_id *listener, *id;
	struct addrinfo *res;
	int served = 0;

	if (argc != 3 || getaddrinfo(argv[1], argv[2], NULL, &res)) {
		fprintf(stderr, "usage: tutorial_server ADDRESS PORT\n");
		return 2;
	}
	listener = start(res->ai_addr);
	freeaddrinfo(res);
	if (!listener)
		return 1;
	printf("listening\n");
	fflush(stdout);
	while (!served && (id = take(listener)))
		served = !serve(id);
	rdma_destroy_id(listener);
	return served ? 0 : 1;
}
