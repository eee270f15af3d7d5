/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* RAI_SA: services that the subnet administrator knows. */
#ifndef RCL_ADDRINFO_SA_H
#define RCL_ADDRINFO_SA_H

#include <rdma/rdma_cma.h>

struct rcl_id;

/**
 * rcl_sa_resolve - ask for the service records of a service
 * @id: the id, bound to an InfiniBand port
 * @service: a service ID as strtoull() reads it, or a name
 *
 * ADDRINFO_RESOLVED or ADDRINFO_ERROR follows.
 *
 * Return: 0 or a negative errno
 */
int rcl_sa_resolve(const struct rcl_id *id, const char *service);

/**
 * rcl_sa_find - ask on each active InfiniBand port until one knows the service
 * @service: as for rcl_sa_resolve()
 * @res: set to a list, for rdma_freeaddrinfo(): source and destination for each record
 *
 * Return: 0; -ENOENT: no port knows it
 */
int rcl_sa_find(const char *service, struct rdma_addrinfo **res);

#endif /* RCL_ADDRINFO_SA_H */
