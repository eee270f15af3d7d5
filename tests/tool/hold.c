// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/* hold COUNT: so many ids, until somebody ends it. */
#include <rdma/rdma_cma.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

int main(int argc, char **argv)
{
	struct rdma_event_channel *channel = rdma_create_event_channel();
	struct rdma_cm_id *id;

	for (int left = argc == 2 ? atoi(argv[1]) : 0; left; left--) {
		if (!channel || rdma_create_id(channel, &id, NULL, RDMA_PS_TCP)) {
			perror("hold");
			return 1;
		}
	}
	return pause();
}
