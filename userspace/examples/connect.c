// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * Connects to a server by its address in one call, waits, and disconnects. Without a QP the
 * connection carries no data. A server for it: get_many_events.
 *
 *	cc connect.c $(pkg-config --cflags --libs librdmacm_alt)
 *	connect ADDRESS PORT
 */
#include <rdma/rdma_cma_alt.h>
#include <netdb.h>
#include <stdio.h>
#include <unistd.h>

int main(int argc, char **argv)
{
	struct rdma_conn_param param = {
		.qp_num = (unsigned int)getpid() << 12 & 0xffffff, .retry_count = 7,
	};
	struct rdma_alt_connect_attr attr = { .timeout_ms = 2000, .conn_param = &param };
	struct addrinfo *res;
	struct rdma_cm_id *id;

	if (argc != 3 || getaddrinfo(argv[1], argv[2], NULL, &res)) {
		fprintf(stderr, "usage: connect ADDRESS PORT\n");
		return 2;
	}
	/* Without a channel the id is synchronous: the call waits for the server's reply. */
	attr.dst_addr = res->ai_addr;
	if (rdma_alt_connect(&attr, &id)) {
		perror("rdma_alt_connect");
		return 1;
	}
	freeaddrinfo(res);
	/* With a QP in attr.qp the library would do this in rdma_alt_connect(). */
	if (rdma_establish(id)) {
		perror("rdma_establish");
		return 1;
	}
	printf("connected over %s, port %u\n", id->verbs->device->name, id->port_num);
	if (rdma_disconnect(id))
		perror("rdma_disconnect");
	return rdma_destroy_id(id) ? 1 : 0;
}
