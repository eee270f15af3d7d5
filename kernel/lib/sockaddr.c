// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * Addresses that users hand in: checked once, brought into one canonical form,
 * compared in that form.
 *
 * Locking: none; every function is pure.
 */
#include "lib/sockaddr.h"

#include <kunit/visibility.h>
#include <linux/build_bug.h>
#include <linux/errno.h>
#include <linux/in.h>
#include <linux/in6.h>
#include <linux/string.h>
#include <net/ipv6.h>
#include <rdma/ib.h>

static_assert(sizeof(union rca_addr) == sizeof(struct rdma_cm_alt_sockaddr));
static_assert(sizeof_field(union rca_addr, ib) == sizeof_field(union rca_addr, bytes));

/**
 * rca_addr_from_user() - make a canonical address of what a user gave
 * @addr: the result; all zero on error and when there is no address
 * @user: a copy of the user's address, already in kernel memory
 *
 * What the family does not use becomes zero, and so does an IPv6 scope id
 * where it has no meaning. An AF_IB address has no unused bytes.
 *
 * Context: any.
 * Return: 0, also for family 0 (no address); -EINVAL: unknown family.
 */
int rca_addr_from_user(union rca_addr *addr, const struct rdma_cm_alt_sockaddr *user)
{
	union rca_addr in;

	memcpy(&in, user, sizeof(in));
	memset(addr, 0, sizeof(*addr));
	switch (in.sa.sa_family) {
	case AF_UNSPEC:
		return 0;
	case AF_INET:
		addr->in.sin_family = AF_INET;
		addr->in.sin_port = in.in.sin_port;
		addr->in.sin_addr = in.in.sin_addr;
		return 0;
	case AF_INET6:
		addr->in6 = in.in6;
		if (!rca_addr_is_linklocal(&in))
			addr->in6.sin6_scope_id = 0;
		return 0;
	case AF_IB:
		addr->ib = in.ib;
		return 0;
	default:
		return -EINVAL;
	}
}
EXPORT_SYMBOL_IF_KUNIT(rca_addr_from_user);

/**
 * rca_addr_to_user() - write an address as the uAPI has it
 * @user: where to, in kernel memory; every byte is written
 * @addr: a canonical address
 *
 * Context: any.
 */
void rca_addr_to_user(struct rdma_cm_alt_sockaddr *user, const union rca_addr *addr)
{
	memcpy(user, addr, sizeof(*user));
}
EXPORT_SYMBOL_IF_KUNIT(rca_addr_to_user);

/**
 * rca_addr_is_set() - is there an address at all?
 * @addr: a canonical address
 *
 * Context: any.
 * Return: false for family 0.
 */
bool rca_addr_is_set(const union rca_addr *addr)
{
	return addr->sa.sa_family != AF_UNSPEC;
}
EXPORT_SYMBOL_IF_KUNIT(rca_addr_is_set);

/**
 * rca_addr_is_any() - is it the wildcard of its family?
 * @addr: a canonical address
 *
 * For binding and listening a loopback address means the same to the stock
 * stack; see rca_addr_is_loopback().
 *
 * Context: any.
 * Return: true for a wildcard; false for others and for no address.
 */
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
EXPORT_SYMBOL_IF_KUNIT(rca_addr_is_any);

/**
 * rca_addr_is_loopback() - is it a loopback address?
 * @addr: a canonical address
 *
 * Context: any.
 * Return: true for 127.0.0.0/8, ::1, and ::1 as an AF_IB address.
 */
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
EXPORT_SYMBOL_IF_KUNIT(rca_addr_is_loopback);

/**
 * rca_addr_is_linklocal() - does the address mean nothing without its scope id?
 * @addr: a canonical address
 *
 * Context: any.
 * Return: true for fe80::/10 and for the multicast groups of one link; false
 *         for IPv4 and AF_IB, which have no scope ids here.
 */
bool rca_addr_is_linklocal(const union rca_addr *addr)
{
	return addr->sa.sa_family == AF_INET6 &&
	       (ipv6_addr_type(&addr->in6.sin6_addr) & IPV6_ADDR_LINKLOCAL);
}
EXPORT_SYMBOL_IF_KUNIT(rca_addr_is_linklocal);

/**
 * rca_addr_is_multicast() - is it the address of a multicast group?
 * @addr: a canonical address
 *
 * Context: any.
 * Return: true for 224.0.0.0/4, ff00::/8, and GIDs that start with ff.
 */
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
EXPORT_SYMBOL_IF_KUNIT(rca_addr_is_multicast);

/**
 * rca_addr_same_ip() - do two addresses name the same interface address?
 * @a: a canonical address
 * @b: a canonical address
 *
 * Ports do not count, nor do flow labels and partition keys. The scope id
 * does; it is 0 where it has no meaning.
 *
 * Context: any.
 * Return: true when they are the same; false when the families differ or there
 *         is no address.
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
EXPORT_SYMBOL_IF_KUNIT(rca_addr_same_ip);

/**
 * rca_addr_port() - the port of an address
 * @addr: a canonical address
 *
 * Context: any.
 * Return: the port; of an AF_IB address the low 16 bits of its masked service
 *         ID; 0 when there is no address.
 */
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
EXPORT_SYMBOL_IF_KUNIT(rca_addr_port);

/**
 * rca_addr_set_port() - change the port of an address
 * @addr: a canonical address with a family
 * @port: the port
 *
 * An AF_IB address keeps the upper bits of its masked service ID and names
 * exactly one service ID afterwards.
 *
 * Context: any; the caller owns @addr.
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
EXPORT_SYMBOL_IF_KUNIT(rca_addr_set_port);

/**
 * rca_addr_set_ip() - change the interface address, and nothing else
 * @addr: a canonical address
 * @ip: a canonical address of the same family, whose address and scope id @addr gets
 *
 * Port and flow label stay, and of an AF_IB address service ID and partition key.
 *
 * Context: any; the caller owns @addr.
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
EXPORT_SYMBOL_IF_KUNIT(rca_addr_set_ip);

/**
 * rca_addr_scope() - the interface that an address is bound to
 * @addr: a canonical address
 *
 * Context: any.
 * Return: index of the network interface for a link-local IPv6 address that
 *         names it; else 0.
 */
u32 rca_addr_scope(const union rca_addr *addr)
{
	return addr->sa.sa_family == AF_INET6 ? addr->in6.sin6_scope_id : 0;
}
EXPORT_SYMBOL_IF_KUNIT(rca_addr_scope);

/**
 * rca_addr_set_any() - make the wildcard address of a family, port 0
 * @addr: the result
 * @family: AF_INET, AF_INET6 or AF_IB
 *
 * Context: any; the caller owns @addr.
 */
void rca_addr_set_any(union rca_addr *addr, sa_family_t family)
{
	memset(addr, 0, sizeof(*addr));
	addr->sa.sa_family = family;
}
EXPORT_SYMBOL_IF_KUNIT(rca_addr_set_any);
