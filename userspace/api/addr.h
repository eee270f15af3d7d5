/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* Socket addresses: their lengths, their ports, and the kernel's form of them. */
#ifndef RCL_ADDR_H
#define RCL_ADDR_H

#include <sys/socket.h>
#include <rdma/rdma_cm_alt.h>

/**
 * rcl_addr_len - bytes of an address
 * @addr: the address, or NULL
 *
 * Return: its length; 0 for NULL and for families that are not ours
 */
socklen_t rcl_addr_len(const struct sockaddr *addr);

/**
 * rcl_addr_port - the port in an address
 * @addr: the address; of AF_IB the low 16 bits of the service ID
 *
 * Return: the port, network byte order; 0 for other families
 */
__be16 rcl_addr_port(const struct sockaddr *addr);

/**
 * rcl_addr_to_kernel - fill in an address for a command
 * @dst: for the command
 * @src: the address, or NULL for none
 */
void rcl_addr_to_kernel(struct rdma_cm_alt_sockaddr *dst,
			const struct sockaddr *src);

/**
 * rcl_addr_from_kernel - take over an address, unless the kernel has none
 * @dst: at least as large as a struct sockaddr_storage
 * @src: from the kernel
 */
void rcl_addr_from_kernel(struct sockaddr_storage *dst,
			  const struct rdma_cm_alt_sockaddr *src);

#endif /* RCL_ADDR_H */
