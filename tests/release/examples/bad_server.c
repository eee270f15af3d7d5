// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * A server that accepts a connection, receives a message, and is killed before it answers.
 *
 *	bad_server ADDRESS PORT
 */
#include <errno.h>
#include <netdb.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <rdma/rdma_cma.h>
#include <rdma/rdma_verbs.h>

static char message[256];

static int failed(const char *call)
{
	fprintf(stderr, "%s: %s\n", call, strerror(errno));
	return -1;
}

static struct rdma_cm_id *listen_at(struct sockaddr *addr)
{
	struct rdma_cm_id *listener;

	if (!rdma_create_id(NULL, &listener, NULL, RDMA_PS_TCP) &&
	    !rdma_bind_addr(listener, addr) && !rdma_listen(listener, 1))
		return listener;
	failed("rdma_listen");
	return NULL;
}

/* Accepts a connection and waits for a message. */
static int receive(struct rdma_cm_id *listener)
{
	struct ibv_qp_init_attr attr = {
		.cap = { .max_send_wr = 1, .max_recv_wr = 1, .max_send_sge = 1, .max_recv_sge = 1 },
		.qp_type = IBV_QPT_RC,
	};
	struct rdma_cm_id *id;
	struct ibv_mr *mr;
	struct ibv_wc wc;

	if (rdma_get_request(listener, &id))
		return failed("rdma_get_request");
	if (rdma_create_qp(id, NULL, &attr))
		return failed("rdma_create_qp");
	mr = rdma_reg_msgs(id, message, sizeof(message));
	if (!mr || rdma_post_recv(id, NULL, message, sizeof(message), mr))
		return failed("rdma_post_recv");
	if (rdma_accept(id, NULL))
		return failed("rdma_accept");
	if (rdma_get_recv_comp(id, &wc) < 0)
		return failed("rdma_get_recv_comp");
	if (wc.status == IBV_WC_SUCCESS)
		return 0;
	fprintf(stderr, "no message: %s\n", ibv_wc_status_str(wc.status));
	return -1;
}

int main(int argc, char **argv)
{
	struct rdma_cm_id *listener;
	struct addrinfo *res;

	if (argc != 3 || getaddrinfo(argv[1], argv[2], NULL, &res)) {
		fprintf(stderr, "usage: bad_server ADDRESS PORT\n");
		return 2;
	}
	listener = listen_at(res->ai_addr);
	if (!listener)
		return 1;
	printf("listening\n");
	fflush(stdout);
	if (receive(listener))
		return 1;
	return raise(SIGKILL);
}
