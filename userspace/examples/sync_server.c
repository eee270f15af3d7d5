// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * The server of an RDMA read with synchronous endpoints (rdma_create_ep): clients read a text from
 * the server's memory. The private data of the reply has the location of the text. After that the
 * server only waits until the client disconnects. Clients for it: sync_client.
 *
 *	cc sync_server.c -o sync_server -lrdmacm -libverbs
 *	sync_server ADDRESS PORT TEXT [CLIENTS]
 *
 * The server ends when CLIENTS clients (default: one) have disconnected, or when the device is
 * removed. A client that fails does not count.
 */
#include <endian.h>
#include <errno.h>
#include <netdb.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <rdma/rdma_cma.h>
#include <rdma/rdma_verbs.h>

/* Location of the text for the peer, in big endian. */
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
	/* Each request gets a queue pair with these attributes. */
	struct ibv_qp_init_attr attr = {
		.cap = { .max_send_wr = 1, .max_recv_wr = 1, .max_send_sge = 1, .max_recv_sge = 1 },
		.qp_type = IBV_QPT_RC,
	};
	struct rdma_cm_id *listener = NULL;
	struct rdma_addrinfo *res;
	int ret;

	ret = rdma_getaddrinfo(node, service, &hints, &res);
	if (ret) {
		/* The error is -1 with errno, or a code of getaddrinfo(3). */
		fprintf(stderr, "%s, port %s: %s\n", node, service,
			ret == -1 ? strerror(errno) : gai_strerror(ret));
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

/* Waits for a request; its id has a queue pair. After a failure, waits for the next request. */
static struct rdma_cm_id *take_request(struct rdma_cm_id *listener)
{
	struct rdma_cm_event *event;
	struct rdma_cm_id *id;

	while (rdma_get_request(listener, &id)) {
		failed("rdma_get_request", "no client was let in");
		event = listener->event;
		/* Without an event the listener itself has failed. */
		if (!event || event->event == RDMA_CM_EVENT_DEVICE_REMOVAL)
			return NULL;
		/* There is no queue pair, for example because of the locked memory limit. */
		if (event->event == RDMA_CM_EVENT_CONNECT_REQUEST)
			rdma_reject(event->id, NULL, 0);
	}
	return id;
}

/* Waits until the connection ends: with DISCONNECTED, or with an error. */
static int wait_for_end(struct rdma_cm_id *id)
{
	enum rdma_cm_event_type type;
	struct rdma_cm_event *event;

	do {
		/* A synchronous id has an event channel of its own. */
		if (rdma_get_cm_event(id->channel, &event))
			return failed("rdma_get_cm_event", "the channel of the id cannot be read");
		type = event->event;
		printf("%s\n", rdma_event_str(type));
		/* Acknowledge first: destroying the id waits for its events. */
		rdma_ack_cm_event(event);
	} while (type == RDMA_CM_EVENT_ADDR_CHANGE);
	return type == RDMA_CM_EVENT_DISCONNECTED ? 0 : -1;
}

static int lend(struct rdma_cm_id *id, char *text)
{
	struct lent lent;
	/* responder_resources: the client has one outstanding read. */
	struct rdma_conn_param param = {
		.private_data = &lent, .private_data_len = sizeof(lent),
		.responder_resources = 1, .rnr_retry_count = 7,
	};
	struct ibv_mr *mr;
	int ret;

	mr = rdma_reg_read(id, text, strlen(text) + 1);
	if (!mr)
		return failed("rdma_reg_read", "does ulimit -l (locked memory) allow it?");
	lent.addr = htobe64((uintptr_t)text);
	lent.rkey = htobe32(mr->rkey);
	lent.length = htobe32(strlen(text) + 1);
	if (rdma_accept(id, &param))
		ret = failed("rdma_accept", "the client may have gone, or allows no reads");
	else if (id->event && id->event->event == RDMA_CM_EVENT_DISCONNECTED)
		ret = 0;	/* already: its disconnect came before its last connect message */
	else
		ret = wait_for_end(id);
	rdma_dereg_mr(mr);
	return ret;
}

int main(int argc, char **argv)
{
	int clients = argc > 4 ? atoi(argv[4]) : 1;
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
	while (clients) {
		id = take_request(listener);
		if (!id)
			break;
		if (!lend(id, argv[3]))
			clients--;
		rdma_destroy_ep(id);
	}
	rdma_destroy_ep(listener);
	return clients ? 1 : 0;
}
