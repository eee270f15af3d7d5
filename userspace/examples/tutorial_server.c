// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * The server of the tutorial: takes one connection, receives a message, sends it back in capital
 * letters, and ends when the client has disconnected. Documentation/tutorial.rst goes through it.
 *
 *	cc tutorial_server.c -o tutorial_server -lrdmacm -libverbs
 *	tutorial_server ADDRESS PORT
 */
#include <ctype.h>
#include <errno.h>
#include <netdb.h>
#include <stdio.h>
#include <string.h>
#include <rdma/rdma_cma.h>
#include <rdma/rdma_verbs.h>

static char message[256];

/* What failed, why, and where to look; the kernel gives back what the process leaves. */
static int failed(const char *call, const char *advice)
{
	fprintf(stderr, "%s: %s; %s\n", call, strerror(errno), advice);
	return -1;
}

/* Step 1: an id that listens. Without a channel it is synchronous: its calls wait. */
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

/* Step 2: a request; the queue pair, with a receive in it before the client may send; accept. */
static struct rdma_cm_id *take(struct rdma_cm_id *listener, struct ibv_mr **mr)
{
	struct ibv_qp_init_attr attr = {
		.cap = { .max_send_wr = 1, .max_recv_wr = 1, .max_send_sge = 1, .max_recv_sge = 1 },
		.qp_type = IBV_QPT_RC,
	};
	struct rdma_conn_param param = { .rnr_retry_count = 7 };
	struct rdma_cm_id *id;

	if (rdma_get_request(listener, &id)) {
		failed("rdma_get_request", "try again");
		return NULL;
	}
	if (rdma_create_qp(id, NULL, &attr)) {
		failed("rdma_create_qp", "does ulimit -l (locked memory) allow it?");
		return NULL;
	}
	*mr = rdma_reg_msgs(id, message, sizeof(message));
	if (!*mr)
		failed("rdma_reg_msgs", "does ulimit -l (locked memory) allow it?");
	else if (rdma_post_recv(id, NULL, message, sizeof(message), *mr))
		failed("rdma_post_recv", "is the queue pair large enough?");
	else if (rdma_accept(id, &param))
		failed("rdma_accept", "the client may have gone");
	else
		return id;
	return NULL;
}

/* Step 3: a message comes, and goes back. */
static int answer(struct rdma_cm_id *id, struct ibv_mr *mr)
{
	struct ibv_wc wc;
	unsigned int i;

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

/* Step 4: the client disconnects when it has the answer; that is better proof than a completion. */
static int finish(struct rdma_cm_id *id)
{
	struct rdma_cm_event *event;

	if (rdma_get_cm_event(id->channel, &event))
		return failed("rdma_get_cm_event", "the channel of the id cannot be read");
	printf("%s\n", rdma_event_str(event->event));
	rdma_ack_cm_event(event);
	return 0;
}

int main(int argc, char **argv)
{
	struct rdma_cm_id *listener, *id;
	struct addrinfo *res;
	struct ibv_mr *mr = NULL;

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
	id = take(listener, &mr);
	if (!id || answer(id, mr) || finish(id))
		return 1;
	rdma_dereg_mr(mr);
	rdma_destroy_qp(id);
	rdma_destroy_id(id);
	rdma_destroy_id(listener);
	return 0;
}
