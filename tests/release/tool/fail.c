// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/* fail ADDRESS COUNT: makes COUNT binds fail, to a port that it has bound itself. */
#include <arpa/inet.h>
#include <rdma/rdma_cma.h>
#include <stdio.h>
#include <stdlib.h>

int main(int argc, char **argv)
{
	struct rdma_event_channel *channel = rdma_create_event_channel();
	struct sockaddr_in addr = { .sin_family = AF_INET };
	struct rdma_cm_id *one, *two;

	if (argc != 3 || inet_pton(AF_INET, argv[1], &addr.sin_addr) != 1 || !channel ||
	    rdma_create_id(channel, &one, NULL, RDMA_PS_TCP) ||
	    rdma_create_id(channel, &two, NULL, RDMA_PS_TCP) ||
	    rdma_bind_addr(one, (struct sockaddr *)&addr) || rdma_listen(one, 1)) {
		perror("fail");
		return 1;
	}
	addr.sin_port = rdma_get_src_port(one);
	for (int left = atoi(argv[2]); left; left--)
		if (!rdma_bind_addr(two, (struct sockaddr *)&addr))
			return 1;
	return 0;
}
