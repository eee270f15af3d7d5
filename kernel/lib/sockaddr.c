// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * Addresses from user space: checked once, converted into a canonical form, compared in that form.
 *
 * All functions are pure, and may be called in any context. An @addr is canonical.
 */
#include "lib/sockaddr.h"

#include <linux/build_bug.h>
#include <linux/errno.h>
#include <linux/in.h>
#include <linux/in6.h>
#include <linux/string.h>
#include <net/ipv6.h>
#include <rdma/ib.h>

#include "lib/compat.h"

static_assert(sizeof(union rca_addr) == sizeof(struct rdma_cm_alt_sockaddr));
static_assert(sizeof_field(union rca_addr, ib) == sizeof_field(union rca_addr, bytes));

/**
 * rca_addr_from_user() - convert an address from user space
 * @addr: the result; all zero on error and without an address
 * @user: a copy of the user's address in kernel memory
 *
 * Bytes that the family does not use become zero, and so does an IPv6 scope id where it has no
 * meaning. An AF_IB address has no unused bytes.
 *
 * Return: 0, also for family 0 (no address); -EINVAL: unknown family.
 */
int rca_addr_from_user(union rca_addr *addr, const struct rdma_cm_alt_sockaddr *user)
{
	const union rca_addr *in = (const union rca_addr *)user;

	memset(addr, 0, sizeof(*addr));
	switch (in->sa.sa_family) {
	case AF_UNSPEC:
		return 0;
	case AF_INET:
		addr->in.sin_family = AF_INET;
		addr->in.sin_port = in->in.sin_port;
		addr->in.sin_addr = in->in.sin_addr;
		return 0;
	case AF_INET6:
		addr->in6 = in->in6;
		if (!rca_addr_is_linklocal(in))
			addr->in6.sin6_scope_id = 0;
		return 0;
	case AF_IB:
		addr->ib = in->ib;
		return 0;
	default:
		return -EINVAL;
	}
}
RCA_EXPORT(rca_addr_from_user);

/* Is it the wildcard of its family? */
bool rca_addr_is_any(const union rca_addr *addr)
{
	switch (addr->sa.sa_family) {
	case AF_INET:
		return ipv4_is_zeronet(addr->in.sin_addr.s_addr);
	case AF_INET6:
		return ipv6_addr_any(&addr->in6.sin6_addr);
	case AF_IB:
		return ib_addr_any(&addr->ib.sib_addr);
	default:
		return false;
	}
}

/* True for 127.0.0.0/8, ::1, and ::1 as an AF_IB address. */
bool rca_addr_is_loopback(const union rca_addr *addr)
{
	switch (addr->sa.sa_family) {
	case AF_INET:
		return ipv4_is_loopback(addr->in.sin_addr.s_addr);
	case AF_INET6:
		return ipv6_addr_loopback(&addr->in6.sin6_addr);
	case AF_IB:
		return ib_addr_loopback(&addr->ib.sib_addr);
	default:
		return false;
	}
}

/*
 * Is it an address without a device? For binding and listening, the stock rdma_cm treats a loopback
 * address as a wildcard.
 */
bool rca_addr_is_wildcard(const union rca_addr *addr)
{
	return rca_addr_is_any(addr) || rca_addr_is_loopback(addr);
}

/*
 * Does the address need a scope id? True for fe80::/10 and for link-local multicast groups of IPv6;
 * IPv4 and AF_IB have no scope ids here.
 */
bool rca_addr_is_linklocal(const union rca_addr *addr)
{
	return addr->sa.sa_family == AF_INET6 &&
	       (ipv6_addr_type(&addr->in6.sin6_addr) & IPV6_ADDR_LINKLOCAL);
}

/* True for 224.0.0.0/4, ff00::/8, and GIDs that start with ff. */
bool rca_addr_is_multicast(const union rca_addr *addr)
{
	switch (addr->sa.sa_family) {
	case AF_INET:
		return ipv4_is_multicast(addr->in.sin_addr.s_addr);
	case AF_INET6:
		return ipv6_addr_is_multicast(&addr->in6.sin6_addr);
	case AF_IB:
		return addr->ib.sib_addr.sib_addr8[0] == 0xff;
	default:
		return false;
	}
}

/*
 * Do two addresses name the same interface address? Ports, flow labels and partition keys are not
 * compared. The scope id is; it is 0 where it has no meaning. False without an address.
 */
bool rca_addr_same_ip(const union rca_addr *a, const union rca_addr *b)
{
	if (a->sa.sa_family != b->sa.sa_family)
		return false;

	switch (a->sa.sa_family) {
	case AF_INET:
		return a->in.sin_addr.s_addr == b->in.sin_addr.s_addr;
	case AF_INET6:
		return ipv6_addr_equal(&a->in6.sin6_addr, &b->in6.sin6_addr) &&
		       a->in6.sin6_scope_id == b->in6.sin6_scope_id;
	case AF_IB:
		return !ib_addr_cmp(&a->ib.sib_addr, &b->ib.sib_addr);
	default:
		return false;
	}
}

/* The port; of an AF_IB address the low 16 bits of its masked service ID; 0 without an address. */
__be16 rca_addr_port(const union rca_addr *addr)
{
	switch (addr->sa.sa_family) {
	case AF_INET:
		return addr->in.sin_port;
	case AF_INET6:
		return addr->in6.sin6_port;
	case AF_IB:
		return cpu_to_be16((u16)be64_to_cpu(addr->ib.sib_sid & addr->ib.sib_sid_mask));
	default:
		return 0;
	}
}

/*
 * Set the port of an address, which has a family. An AF_IB address keeps the upper bits of its
 * masked service ID, and its new mask selects exactly one service ID.
 */
void rca_addr_set_port(union rca_addr *addr, __be16 port)
{
	u64 sid;

	switch (addr->sa.sa_family) {
	case AF_INET:
		addr->in.sin_port = port;
		break;
	case AF_INET6:
		addr->in6.sin6_port = port;
		break;
	case AF_IB:
		sid = be64_to_cpu(addr->ib.sib_sid & addr->ib.sib_sid_mask);
		addr->ib.sib_sid = cpu_to_be64((sid & ~(u64)U16_MAX) | be16_to_cpu(port));
		addr->ib.sib_sid_mask = cpu_to_be64(U64_MAX);
		break;
	}
}

/*
 * Set the interface address and scope id to those of @ip, which has the same family. Port and flow
 * label are kept, and of an AF_IB address service ID and partition key.
 */
void rca_addr_set_ip(union rca_addr *addr, const union rca_addr *ip)
{
	switch (addr->sa.sa_family) {
	case AF_INET:
		addr->in.sin_addr = ip->in.sin_addr;
		break;
	case AF_INET6:
		addr->in6.sin6_addr = ip->in6.sin6_addr;
		addr->in6.sin6_scope_id = ip->in6.sin6_scope_id;
		break;
	case AF_IB:
		addr->ib.sib_addr = ip->ib.sib_addr;
		break;
	}
}

/* The ifindex of a link-local IPv6 address that has one, else 0. */
u32 rca_addr_scope(const union rca_addr *addr)
{
	return addr->sa.sa_family == AF_INET6 ? addr->in6.sin6_scope_id : 0;
}

/* Set @addr to the wildcard of a family (AF_INET, AF_INET6 or AF_IB), port 0. */
void rca_addr_set_any(union rca_addr *addr, sa_family_t family)
{
	memset(addr, 0, sizeof(*addr));
	addr->sa.sa_family = family;
}
