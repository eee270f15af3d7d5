// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * Synchronous endpoints (rdma_create_ep) and an RDMA read, the server's side: lends a text to
 * clients, which read it from its memory. It tells them where it is in the private data of its
 * answer, and does nothing more until they disconnect. Clients for it: sync_client.
 *
 *	cc sync_server.c -o sync_server -lrdmacm -libverbs
 *	sync_server ADDRESS PORT TEXT [CLIENTS]
 *
 * Ends when so many clients, one if not said, have come and gone.
 */
#include <endian.h>
#include <errno.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <rdma/rdma_cma.h>
#include <rdma/rdma_verbs.h>

/* Where the text is, for the peer: big endian. */
struct lent {
	uint64_t addr;
	uint32_t rkey;
	uint32_t length;
};

static int failed(const char *call, const char *advice)
{
	fprintf(stderr, "%s: %s; %s\n", call, strerror(errno), advice);
	return -1;
}

static struct rdma_cm_id *listen_at(char *node, char *service)
{
	struct rdma_addrinfo hints = { .ai_flags = RAI_PASSIVE, .ai_port_space = RDMA_PS_TCP };
	/* Each request comes with a queue pair like that. */
	struct ibv_qp_init_attr attr = {
		.cap = { .max_send_wr = 1, .max_recv_wr = 1, .max_send_sge = 1, .max_recv_sge = 1 },
		.qp_type = IBV_QPT_RC,
	};
	struct rdma_cm_id *listener = NULL;
	struct rdma_addrinfo *res;

	if (rdma_getaddrinfo(node, service, &hints, &res)) {
		failed("rdma_getaddrinfo", "ADDRESS has to be one of this host, PORT a number");
		return NULL;
	}
	if (rdma_create_ep(&listener, res, NULL, &attr)) {
		failed("rdma_create_ep", "has an RDMA device of this host that address?");
	} else if (rdma_listen(listener, 0)) {
		failed("rdma_listen", "does another server have the port?");
		rdma_destroy_ep(listener);
		listener = NULL;
	}
	rdma_freeaddrinfo(res);
	return listener;
}

/* Until the client has gone. */
static int lend(struct rdma_cm_id *id, char *text)
{
	struct lent lent;
	/* One read of the client's at a time. */
	struct rdma_conn_param param = {
		.private_data = &lent, .private_data_len = sizeof(lent),
		.responder_resources = 1, .rnr_retry_count = 7,
	};
	struct rdma_cm_event *event;
	struct ibv_mr *mr;
	int ret = 0;

	mr = rdma_reg_read(id, text, strlen(text) + 1);
	if (!mr)
		return failed("rdma_reg_read", "does ulimit -l (locked memory) allow it?");
	lent.addr = htobe64((uintptr_t)text);
	lent.rkey = htobe32(mr->rkey);
	lent.length = htobe32(strlen(text) + 1);
	if (rdma_accept(id, &param)) {
		ret = failed("rdma_accept", "the client may have gone, or allows no reads");
	} else if (rdma_get_cm_event(id->channel, &event)) {
		/* The channel is the id's own, as it is synchronous. */
		ret = failed("rdma_get_cm_event", "the channel of the id cannot be read");
	} else {
		printf("%s\n", rdma_event_str(event->event));
		rdma_ack_cm_event(event);
	}
	rdma_dereg_mr(mr);
	return ret;
}

int main(int argc, char **argv)
{
	int clients = argc > 4 ? atoi(argv[4]) : 1, status = 0;
	struct rdma_cm_id *listener, *id;

	if (argc < 4 || clients < 1) {
		fprintf(stderr, "usage: sync_server ADDRESS PORT TEXT [CLIENTS]\n");
		return 2;
	}
	listener = listen_at(argv[1], argv[2]);
	if (!listener)
		return 1;
	printf("listening\n");
	fflush(stdout);
	while (clients--) {
		if (rdma_get_request(listener, &id)) {
			failed("rdma_get_request", "no request can be taken");
			status = 1;
			break;
		}
		if (lend(id, argv[3]))
			status = 1;
		rdma_destroy_ep(id);
	}
	rdma_destroy_ep(listener);
	return status;
}
