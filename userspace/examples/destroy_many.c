// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * Binds several ids to ports of an address, and destroys all of them with one system call.
 *
 *	cc destroy_many.c $(pkg-config --cflags --libs librdmacm_alt)
 *	destroy_many ADDRESS COUNT
 */
#include <rdma/rdma_cma_alt.h>
#include <netdb.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int main(int argc, char **argv)
{
	struct rdma_event_channel *channel;
	int i, count, destroyed, *errors;
	struct rdma_cm_id **ids;
	struct addrinfo *res;

	count = argc == 3 ? atoi(argv[2]) : 0;
	if (count < 1 || getaddrinfo(argv[1], NULL, NULL, &res)) {
		fprintf(stderr, "usage: destroy_many ADDRESS COUNT\n");
		return 2;
	}
	channel = rdma_create_event_channel();
	errors = calloc(count, sizeof(*errors));
	ids = calloc(count, sizeof(*ids));
	if (!channel || !errors || !ids) {
		perror("destroy_many");
		return 1;
	}
	for (i = 0; i < count; i++) {
		if (rdma_create_id(channel, &ids[i], NULL, RDMA_PS_TCP) ||
		    rdma_bind_addr(ids[i], res->ai_addr)) {
			perror("an id");
			break;	/* the remaining entries are NULL, and are skipped */
		}
	}
	destroyed = rdma_alt_destroy_many(ids, count, errors);
	for (i = 0; i < count; i++)
		if (errors[i])
			fprintf(stderr, "id %d: %s\n", i, strerror(errors[i]));
	printf("%d destroyed\n", destroyed);
	rdma_destroy_event_channel(channel);
	freeaddrinfo(res);
	free(errors);
	free(ids);
	return destroyed == count ? 0 : 1;
}
