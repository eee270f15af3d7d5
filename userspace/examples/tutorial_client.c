// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * The client of the tutorial: connects, sends a message, prints the answer, and disconnects. If the
 * server disconnects without an answer, the client prints that. Documentation/tutorial.rst explains
 * the program. Its server: tutorial_server.
 *
 *	cc tutorial_client.c -o tutorial_client -lrdmacm -libverbs
 *	tutorial_client ADDRESS PORT MESSAGE
 */
#include <errno.h>
#include <netdb.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <rdma/rdma_cma.h>
#include <rdma/rdma_verbs.h>

#define TIMEOUT 2000	/* milliseconds, for address resolution and for route resolution */

static char out[256], in[256];

/* Prints the error and advice. When the program ends, the kernel releases its resources. */
static int failed(const char *call, const char *advice)
{
	fprintf(stderr, "%s: %s; %s\n", call, strerror(errno), advice);
	return -1;
}

/* Step 1: create an id, select the device that leads to the address, and find the route. */
static struct rdma_cm_id *resolve(struct sockaddr *addr)
{
	struct rdma_cm_id *id;

	if (rdma_create_id(NULL, &id, NULL, RDMA_PS_TCP))
		failed("rdma_create_id", "is the module loaded, and may you open its node?");
	else if (rdma_resolve_addr(id, NULL, addr, TIMEOUT))
		failed("rdma_resolve_addr", "does the address answer ping, over an RDMA device?");
	else if (rdma_resolve_route(id, TIMEOUT))
		failed("rdma_resolve_route", "is the port active (rdma link)?");
	else
		return id;
	return NULL;
}

/* Step 2: a queue pair, memory that the device may access, and a receive for the answer. */
static int prepare(struct rdma_cm_id *id, struct ibv_mr **out_mr, struct ibv_mr **in_mr)
{
	struct ibv_qp_init_attr attr = {
		.cap = { .max_send_wr = 1, .max_recv_wr = 1, .max_send_sge = 1, .max_recv_sge = 1 },
		.qp_type = IBV_QPT_RC,
	};

	if (rdma_create_qp(id, NULL, &attr))
		return failed("rdma_create_qp", "does ulimit -l allow it?");
	*out_mr = rdma_reg_msgs(id, out, sizeof(out));
	*in_mr = rdma_reg_msgs(id, in, sizeof(in));
	if (!*out_mr || !*in_mr)
		return failed("rdma_reg_msgs", "does ulimit -l allow it?");
	if (rdma_post_recv(id, NULL, in, sizeof(in), *in_mr))
		return failed("rdma_post_recv", "is the queue pair large enough?");
	/* The next completion makes the completion channel readable. */
	if (ibv_req_notify_cq(id->recv_cq, 0))
		return failed("ibv_req_notify_cq", "has the device gone?");
	return 0;
}

/* Step 3: connect; when the call returns, the server has accepted. */
static int connect_to(struct rdma_cm_id *id)
{
	struct rdma_conn_param param = { .retry_count = 7, .rnr_retry_count = 7 };

	if (!rdma_connect(id, &param))
		return 0;
	if (errno == ECONNREFUSED)
		return failed("rdma_connect", "is there a server at that port?");
	return failed("rdma_connect", "does the other host answer?");
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
	rdma_ack_cm_event(event);
	/* ADDR_CHANGE is only informative. All other events end the connection. */
	if (type == RDMA_CM_EVENT_ADDR_CHANGE)
		return 1;
	fprintf(stderr, "no answer: %s\n", rdma_event_str(type));
	return 0;
}

/* Step 5: send the message and wait for the answer, or for the end of the connection. */
static int talk(struct rdma_cm_id *id, struct ibv_mr *out_mr)
{
	struct pollfd fds[] = {
		{ .fd = id->recv_cq_channel->fd, .events = POLLIN },
		{ .fd = id->channel->fd, .events = POLLIN },
	};
	struct ibv_wc wc;

	if (rdma_post_send(id, NULL, out, strlen(out) + 1, out_mr, IBV_SEND_SIGNALED))
		return failed("rdma_post_send", "has the connection ended?");
	if (rdma_get_send_comp(id, &wc) < 0)
		return failed("rdma_get_send_comp", "the completion queue cannot be read");
	if (wc.status != IBV_WC_SUCCESS) {
		fprintf(stderr, "cannot send: %s\n", ibv_wc_status_str(wc.status));
		return -1;
	}
	do {
		if (poll(fds, 2, -1) < 0)
			return failed("poll", "cannot wait");
	} while (!fds[0].revents && goes_on(id));
	if (!fds[0].revents)
		return -1;
	if (rdma_get_recv_comp(id, &wc) < 0)
		return failed("rdma_get_recv_comp", "the completion queue cannot be read");
	if (wc.status != IBV_WC_SUCCESS) {
		fprintf(stderr, "no answer: %s\n", ibv_wc_status_str(wc.status));
		return -1;
	}
	printf("%.*s\n", (int)sizeof(in), in);
	return 0;
}

int main(int argc, char **argv)
{
	struct ibv_mr *out_mr = NULL, *in_mr = NULL;
	struct rdma_cm_id *id;
	struct addrinfo *res;

	if (argc != 4 || getaddrinfo(argv[1], argv[2], NULL, &res)) {
		fprintf(stderr, "usage: tutorial_client ADDRESS PORT MESSAGE\n");
		return 2;
	}
	snprintf(out, sizeof(out), "%s", argv[3]);
	id = resolve(res->ai_addr);
	freeaddrinfo(res);
	if (!id || prepare(id, &out_mr, &in_mr) || connect_to(id) || talk(id, out_mr))
		return 1;
	/* Step 6: disconnect. */
	if (rdma_disconnect(id)) {
		failed("rdma_disconnect", "has the device gone?");
		return 1;
	}
	rdma_dereg_mr(out_mr);
	rdma_dereg_mr(in_mr);
	rdma_destroy_qp(id);
	rdma_destroy_id(id);
	return 0;
}
