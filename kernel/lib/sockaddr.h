/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* The canonical address type: checked and zero-filled on entry, then compared and hashed. */
#ifndef RCA_SOCKADDR_H
#define RCA_SOCKADDR_H

#include <linux/in.h>
#include <linux/in6.h>
#include <linux/socket.h>
#include <rdma/ib.h>
#include <rdma/rdma_cm_alt.h>

#include "lib/types.h"

/**
 * union rca_addr - a canonical address: bytes that its family does not use are zero
 * @sa: generic; sa.sa_family is AF_UNSPEC, AF_INET, AF_INET6 or AF_IB
 * @in: AF_INET
 * @in6: AF_INET6; sin6_flowinfo is kept; sin6_scope_id is 0 unless the address is link-local
 * @ib: AF_IB
 * @bytes: for comparison and hashing
 */
union rca_addr {
	struct sockaddr sa;
	struct sockaddr_in in;
	struct sockaddr_in6 in6;
	struct sockaddr_ib ib;
	u8 bytes[48];
};

int rca_addr_from_user(union rca_addr *addr, const struct rdma_cm_alt_sockaddr *user);
bool rca_addr_is_any(const union rca_addr *addr);
bool rca_addr_is_loopback(const union rca_addr *addr);
bool rca_addr_is_wildcard(const union rca_addr *addr);
bool rca_addr_is_linklocal(const union rca_addr *addr);
bool rca_addr_is_multicast(const union rca_addr *addr);
bool rca_addr_same_ip(const union rca_addr *a, const union rca_addr *b);
__be16 rca_addr_port(const union rca_addr *addr);
void rca_addr_set_port(union rca_addr *addr, __be16 port);
void rca_addr_set_ip(union rca_addr *addr, const union rca_addr *ip);
u32 rca_addr_scope(const union rca_addr *addr);
void rca_addr_set_any(union rca_addr *addr, sa_family_t family);

/* False for family 0: no address. */
static inline bool rca_addr_is_set(const union rca_addr *addr)
{
	return addr->sa.sa_family != AF_UNSPEC;
}

#endif /* RCA_SOCKADDR_H */
