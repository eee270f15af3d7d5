// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * A datagram client. Looks up the queue pair of a server (rdma_connect of an id of RDMA_PS_UDP
 * establishes no connection) and sends a datagram to it. Datagrams may be lost, so the client sends
 * again if there is no answer within a second. Its server: datagram_server.
 *
 *	cc datagram_client.c -o datagram_client -lrdmacm -libverbs
 *	datagram_client ADDRESS PORT MESSAGE
 */
#include <errno.h>
#include <netdb.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <rdma/rdma_cma.h>
#include <rdma/rdma_verbs.h>

#define TIMEOUT 2000	/* milliseconds, for address resolution and for route resolution */
#define ATTEMPTS 10
#define SIZE 1024
/* The device writes the global routing header in front of each received datagram. */
#define HEADER sizeof(struct ibv_grh)

static char out[SIZE], in[HEADER + SIZE];

static int failed(const char *call, const char *advice)
{
	fprintf(stderr, "%s: %s; %s\n", call, strerror(errno), advice);
	return -1;
}

static struct rdma_cm_id *resolve(struct sockaddr *addr)
{
	struct rdma_cm_id *id;

	if (rdma_create_id(NULL, &id, NULL, RDMA_PS_UDP))
		failed("rdma_create_id", "is the module loaded, and may you open its node?");
	else if (rdma_resolve_addr(id, NULL, addr, TIMEOUT))
		failed("rdma_resolve_addr", "does the address answer ping, over an RDMA device?");
	else if (rdma_resolve_route(id, TIMEOUT))
		failed("rdma_resolve_route", "is the port active (rdma link)?");
	else
		return id;
	return NULL;
}

static int prepare(struct rdma_cm_id *id, struct ibv_mr **out_mr, struct ibv_mr **in_mr)
{
	struct ibv_qp_init_attr attr = {
		.cap = { .max_send_wr = 1, .max_recv_wr = 1, .max_send_sge = 1, .max_recv_sge = 1 },
		.qp_type = IBV_QPT_UD,
	};

	if (rdma_create_qp(id, NULL, &attr))
		return failed("rdma_create_qp", "has the device datagrams (iWARP has none)?");
	*out_mr = rdma_reg_msgs(id, out, sizeof(out));
	*in_mr = rdma_reg_msgs(id, in, sizeof(in));
	if (!*out_mr || !*in_mr)
		return failed("rdma_reg_msgs", "does ulimit -l allow it?");
	if (rdma_post_recv(id, NULL, in, sizeof(in), *in_mr) || ibv_req_notify_cq(id->recv_cq, 0))
		return failed("rdma_post_recv", "has the device gone?");
	return 0;
}

/* Looks up the destination: the number of the server's queue pair, and an address handle. */
static struct ibv_ah *ask(struct rdma_cm_id *id, uint32_t *qp_num)
{
	struct rdma_conn_param param = { .retry_count = 7 };
	struct ibv_ah *ah;

	if (rdma_connect(id, &param)) {
		failed("rdma_connect", "is there a server for datagrams at that port?");
		return NULL;
	}
	/* The event that rdma_connect() waited for. */
	*qp_num = id->event->param.ud.qp_num;
	ah = ibv_create_ah(id->pd, &id->event->param.ud.ah_attr);
	if (!ah)
		failed("ibv_create_ah", "is the server's address reachable?");
	return ah;
}

static int send_out(struct rdma_cm_id *id, struct ibv_mr *mr, struct ibv_ah *ah, uint32_t qp_num)
{
	struct ibv_wc wc;

	if (rdma_post_ud_send(id, NULL, out, strlen(out) + 1, mr, IBV_SEND_SIGNALED, ah, qp_num) ||
	    rdma_get_send_comp(id, &wc) < 0)
		return failed("rdma_post_ud_send", "has the device gone?");
	if (wc.status == IBV_WC_SUCCESS)
		return 0;
	fprintf(stderr, "cannot send: %s\n", ibv_wc_status_str(wc.status));
	return -1;
}

static int talk(struct rdma_cm_id *id, struct ibv_mr *mr, struct ibv_ah *ah, uint32_t qp_num)
{
	struct pollfd fd = { .fd = id->recv_cq_channel->fd, .events = POLLIN };
	struct ibv_wc wc;
	int i, n = 0;

	for (i = 0; i < ATTEMPTS && !n; i++) {
		if (send_out(id, mr, ah, qp_num))
			return -1;
		n = poll(&fd, 1, 1000);
		if (n < 0)
			return failed("poll", "cannot wait");
	}
	if (!n) {
		fprintf(stderr, "no answer to %d datagrams; does the server run?\n", ATTEMPTS);
		return -1;
	}
	if (rdma_get_recv_comp(id, &wc) < 0)
		return failed("rdma_get_recv_comp", "the completion queue cannot be read");
	if (wc.status != IBV_WC_SUCCESS) {
		fprintf(stderr, "no answer: %s\n", ibv_wc_status_str(wc.status));
		return -1;
	}
	printf("%.*s\n", SIZE, in + HEADER);
	return 0;
}

int main(int argc, char **argv)
{
	struct ibv_mr *out_mr = NULL, *in_mr = NULL;
	struct rdma_cm_id *id;
	struct addrinfo *res;
	struct ibv_ah *ah;
	uint32_t qp_num;
	int status;

	if (argc != 4 || getaddrinfo(argv[1], argv[2], NULL, &res)) {
		fprintf(stderr, "usage: datagram_client ADDRESS PORT MESSAGE\n");
		return 2;
	}
	snprintf(out, sizeof(out), "%s", argv[3]);
	id = resolve(res->ai_addr);
	freeaddrinfo(res);
	if (!id || prepare(id, &out_mr, &in_mr))
		return 1;
	ah = ask(id, &qp_num);
	if (!ah)
		return 1;
	status = talk(id, out_mr, ah, qp_num) ? 1 : 0;
	ibv_destroy_ah(ah);
	rdma_destroy_qp(id);
	rdma_dereg_mr(out_mr);
	rdma_dereg_mr(in_mr);
	rdma_destroy_id(id);
	return status;
}
