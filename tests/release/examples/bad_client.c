// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * Clients with faulty behaviour; the exit status is 0 when it was possible.
 *
 *	bad_client ADDRESS PORT withdraw	sends a request, and gives up when its input ends
 *	bad_client ADDRESS PORT refuse		rejects the reply of the server
 *	bad_client ADDRESS PORT mute		ignores the reply until it is killed
 *	bad_client ADDRESS PORT leave		connects and disconnects without a message
 *	bad_client ADDRESS PORT stay		connects, prints that, and waits until it is killed
 *	bad_client ADDRESS PORT flood		sends too long a message, waits for the disconnect
 */
#include <errno.h>
#include <netdb.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>
#include <rdma/rdma_cma.h>
#include <rdma/rdma_verbs.h>

#define TIMEOUT 2000

static struct rdma_event_channel *channel;
static char text[8192];

static int failed(const char *call)
{
	fprintf(stderr, "%s: %s\n", call, strerror(errno));
	return -1;
}

/* The next event must be this one. */
static int expect(enum rdma_cm_event_type wanted)
{
	enum rdma_cm_event_type type;
	struct rdma_cm_event *event;
	int status;

	if (rdma_get_cm_event(channel, &event))
		return failed("rdma_get_cm_event");
	type = event->event;
	status = event->status;
	rdma_ack_cm_event(event);
	if (type == wanted)
		return 0;
	fprintf(stderr, "%s, status %d, not %s\n", rdma_event_str(type), status,
		rdma_event_str(wanted));
	return -1;
}

static int resolve(struct rdma_cm_id *id, struct sockaddr *addr)
{
	if (rdma_resolve_addr(id, NULL, addr, TIMEOUT))
		return failed("rdma_resolve_addr");
	if (expect(RDMA_CM_EVENT_ADDR_RESOLVED))
		return -1;
	if (rdma_resolve_route(id, TIMEOUT))
		return failed("rdma_resolve_route");
	return expect(RDMA_CM_EVENT_ROUTE_RESOLVED);
}

/* Connects without a QP, so the reply is reported as CONNECT_RESPONSE. */
static int ask(struct rdma_cm_id *id)
{
	struct rdma_conn_param param = {
		.qp_num = (unsigned int)getpid() << 8 & 0xffffff, .retry_count = 7,
	};

	return rdma_connect(id, &param) ? failed("rdma_connect") : 0;
}

static int answered(struct rdma_cm_id *id)
{
	return ask(id) || expect(RDMA_CM_EVENT_CONNECT_RESPONSE);
}

static int establish(struct rdma_cm_id *id)
{
	if (answered(id))
		return -1;
	return rdma_establish(id) ? failed("rdma_establish") : 0;
}

static int flood(struct rdma_cm_id *id)
{
	struct ibv_qp_init_attr attr = {
		.cap = { .max_send_wr = 1, .max_recv_wr = 1, .max_send_sge = 1, .max_recv_sge = 1 },
		.qp_type = IBV_QPT_RC,
	};
	struct rdma_conn_param param = { .retry_count = 7, .rnr_retry_count = 7 };
	struct ibv_mr *mr;

	if (rdma_create_qp(id, NULL, &attr))
		return failed("rdma_create_qp");
	mr = rdma_reg_msgs(id, text, sizeof(text));
	if (!mr)
		return failed("rdma_reg_msgs");
	if (rdma_connect(id, &param) || expect(RDMA_CM_EVENT_ESTABLISHED) ||
	    rdma_post_send(id, NULL, text, sizeof(text), mr, IBV_SEND_SIGNALED))
		return failed("sending");
	return expect(RDMA_CM_EVENT_DISCONNECTED);
}

static int be(const char *kind, struct rdma_cm_id *id)
{
	if (!strcmp(kind, "withdraw"))
		return ask(id) || getchar() != EOF || rdma_destroy_id(id);
	if (!strcmp(kind, "refuse"))
		return answered(id) || rdma_reject(id, NULL, 0);
	if (!strcmp(kind, "mute"))
		return answered(id) || pause();
	if (!strcmp(kind, "leave"))
		return establish(id) || rdma_disconnect(id) || expect(RDMA_CM_EVENT_DISCONNECTED);
	if (!strcmp(kind, "flood"))
		return flood(id);
	if (strcmp(kind, "stay") || establish(id))
		return -1;
	printf("established\n");
	fflush(stdout);
	return pause();
}

int main(int argc, char **argv)
{
	struct addrinfo *res;
	struct rdma_cm_id *id;

	if (argc != 4 || getaddrinfo(argv[1], argv[2], NULL, &res)) {
		fprintf(stderr, "usage: bad_client ADDRESS PORT KIND\n");
		return 2;
	}
	channel = rdma_create_event_channel();
	if (!channel || rdma_create_id(channel, &id, NULL, RDMA_PS_TCP)) {
		failed("rdma_create_id");
		return 1;
	}
	return resolve(id, res->ai_addr) || be(argv[3], id) ? 1 : 0;
}
