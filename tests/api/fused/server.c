// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * The server of steps.c.
 *
 *	server ADDRESS PORT LOG		accepts at PORT, rejects at PORT + 1, logs its events to LOG
 *
 * Datagrams are accepted, too, where the device supports them.
 */
#include <arpa/inet.h>
#include <rdma/rdma_cma.h>
#include <stdio.h>
#include <stdlib.h>

#include "refusal.h"

static void listen_at(struct rdma_event_channel *ch, enum rdma_port_space ps, const char *ip,
		      int port)
{
	struct sockaddr_in addr = { .sin_family = AF_INET, .sin_port = htons((uint16_t)port) };
	struct rdma_cm_id *id;

	if (inet_pton(AF_INET, ip, &addr.sin_addr) != 1) {
		fprintf(stderr, "%s is no address of IPv4\n", ip);
		exit(2);
	}
	if (rdma_create_id(ch, &id, NULL, ps) || rdma_bind_addr(id, (struct sockaddr *)&addr)) {
		perror("bind");
		exit(1);
	}
	if (ps == RDMA_PS_UDP && id->verbs->device->transport_type == IBV_TRANSPORT_IWARP) {
		rdma_destroy_id(id);	/* has no datagrams */
	} else if (rdma_listen(id, 16)) {
		perror("listen");
		exit(1);
	}
}

static void take_request(struct rdma_cm_id *id, int port)
{
	struct rdma_conn_param param = { .retry_count = 7, .rnr_retry_count = 7 };
	struct ibv_qp_init_attr attr = {
		.qp_type = id->qp_type,
		.cap = { .max_send_wr = 2, .max_recv_wr = 2, .max_send_sge = 1, .max_recv_sge = 1 },
	};

	if (ntohs(rdma_get_src_port(id)) == port) {
		if (rdma_create_qp(id, NULL, &attr))
			perror("QP");
		if (id->qp_type == IBV_QPT_UD)
			param.qp_num = id->qp->qp_num;
		if (rdma_accept(id, &param))
			perror("accept");
		/* The SIDR reply has carried the QP; no more events follow. */
		if (id->qp_type == IBV_QPT_UD) {
			rdma_destroy_qp(id);
			rdma_destroy_id(id);
		}
	} else {
		if (rdma_reject(id, REFUSAL, sizeof(REFUSAL)))
			perror("reject");
		rdma_destroy_id(id);
	}
}

static int serve(const char *ip, int port, const char *path)
{
	struct rdma_event_channel *ch = rdma_create_event_channel();
	FILE *log = fopen(path, "w");
	struct rdma_cm_event *event;

	if (!ch || !log) {
		perror(ch ? path : "rdma_create_event_channel");
		return 1;
	}
	setvbuf(log, NULL, _IOLBF, 0);
	listen_at(ch, RDMA_PS_TCP, ip, port);
	listen_at(ch, RDMA_PS_TCP, ip, port + 1);
	listen_at(ch, RDMA_PS_UDP, ip, port);
	fprintf(log, "listening\n");
	while (!rdma_get_cm_event(ch, &event)) {
		struct rdma_cm_id *id = event->id;
		enum rdma_cm_event_type type = event->event;

		fprintf(log, "%s %d\n", rdma_event_str(type), event->status);
		rdma_ack_cm_event(event);
		if (type == RDMA_CM_EVENT_CONNECT_REQUEST) {
			take_request(id, port);
		} else if (type != RDMA_CM_EVENT_ESTABLISHED &&
			   type != RDMA_CM_EVENT_TIMEWAIT_EXIT) {
			rdma_disconnect(id);
			rdma_destroy_qp(id);
			rdma_destroy_id(id);
		}
	}
	return 1;
}

int main(int argc, char **argv)
{
	if (argc != 4) {
		fprintf(stderr, "usage: server ADDRESS PORT LOG\n");
		return 2;
	}
	return serve(argv[1], atoi(argv[2]), argv[3]);
}
