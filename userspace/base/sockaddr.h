/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* Socket addresses: length, port, text, and the form of the ioctls. */
#ifndef RCL_SOCKADDR_H
#define RCL_SOCKADDR_H

#include <rdma/rdma_cm_alt.h>
#include <sys/socket.h>

/**
 * rcl_addr_len - bytes of an address
 * @addr: the address, or NULL
 *
 * Return: its length; 0 for NULL and for a family other than IPv4, IPv6 and AF_IB
 */
socklen_t rcl_addr_len(const struct sockaddr *addr);

/**
 * rcl_addr_port - the port of an address
 * @addr: the address; of AF_IB the low 16 bits of the service ID
 *
 * Return: the port, network byte order; 0 for other families
 */
__be16 rcl_addr_port(const struct sockaddr *addr);

/**
 * rcl_addr_to_kernel - fill in an address of a command
 * @dst: in the command
 * @src: the address, or NULL for none
 */
void rcl_addr_to_kernel(struct rdma_cm_alt_sockaddr *dst, const struct sockaddr *src);

/**
 * rcl_addr_from_kernel - take over an address from the kernel
 * @dst: left as it is when @src has no known family
 * @src: from the kernel
 */
void rcl_addr_from_kernel(struct sockaddr_storage *dst, const struct rdma_cm_alt_sockaddr *src);

/** struct rcl_addr_text - an address as text in @s */
struct rcl_addr_text {
	char s[96];
};

/** rcl_addr_text - an address and its port as text; "-" for none */
struct rcl_addr_text rcl_addr_text(const struct sockaddr *sa);

#endif /* RCL_SOCKADDR_H */
