// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * The drivers of a static program are named by RDMA_STATIC_PROVIDERS, and registered where it calls
 * ibv_get_device_list() by the header; librdmacm inside of it does not.
 */
#include <infiniband/verbs.h>
#include <stddef.h>

__attribute__((constructor)) static void register_drivers(void)
{
	struct ibv_device **list = ibv_get_device_list(NULL);

	if (list)
		ibv_free_device_list(list);
}
