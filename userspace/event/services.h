/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* Service records of the subnet administrator, as addresses. */
#ifndef RCL_SERVICES_H
#define RCL_SERVICES_H

#include <rdma/rdma_cma.h>

struct rcl_id;

/**
 * rcl_services_get - read the service records that the kernel has found for an id
 * @id: the id
 * @res: set to a list, for rdma_freeaddrinfo(): a destination of family AF_IB for each
 *
 * Return: 0 or a negative errno: -ENODATA when the id has none
 */
int rcl_services_get(const struct rcl_id *id, struct rdma_addrinfo **res);

#endif /* RCL_SERVICES_H */
