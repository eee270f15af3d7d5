// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * A program that opens the device, and has functions whose names are those of internal ones of the
 * library.
 */
#include <errno.h>
#include <rdma/rdma_cma_alt.h>
#include <rdma/rsocket.h>
#include <stdio.h>
#include <string.h>

const char *rcl_log(void);
const char *rcl_sock_get(void);

const char *rcl_log(void)
{
	return "the program's own";
}

const char *rcl_sock_get(void)
{
	return rcl_log();
}

int main(void)
{
	struct rdma_event_channel *channel = rdma_create_event_channel();
	struct rdma_cm_id *id;

	if (strcmp(rcl_sock_get(), "the program's own"))
		return 2;
	if (!channel || rdma_create_id(channel, &id, NULL, RDMA_PS_TCP)) {
		printf("no id: %s\n", strerror(errno));
		return 0;
	}
	rdma_destroy_id(id);
	rdma_destroy_event_channel(channel);
	return 0;
}
