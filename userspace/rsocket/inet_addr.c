// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * IP addresses.
 *
 * Locking: none.
 */
#include "rsocket/inet_addr.h"

#include <arpa/inet.h>
#include <errno.h>
#include <stddef.h>
#include <string.h>

/* Offset of the IPv4 address in an IPv4-mapped one. */
#define MAPPED_AT 12

_Static_assert(offsetof(struct sockaddr_in, sin_port) == offsetof(struct sockaddr_in6, sin6_port),
	       "the port is in the same place");

socklen_t rcl_inet_len(const union rcl_inet *addr)
{
	return addr->sa.sa_family == AF_INET ? sizeof(addr->sin) : sizeof(addr->sin6);
}

int rcl_inet_take(union rcl_inet *to, const struct sockaddr *from, socklen_t len)
{
	struct sockaddr_in sin = { .sin_family = AF_INET };

	if (!from || len < sizeof(from->sa_family))
		return -EINVAL;
	if (from->sa_family != AF_INET && from->sa_family != AF_INET6)
		return -EAFNOSUPPORT;
	memset(to, 0, sizeof(*to));
	to->sa.sa_family = from->sa_family;
	if (len < rcl_inet_len(to))
		return -EINVAL;
	memcpy(to, from, rcl_inet_len(to));
	if (to->sa.sa_family == AF_INET) {
		memset(to->sin.sin_zero, 0, sizeof(to->sin.sin_zero));
	} else if (IN6_IS_ADDR_V4MAPPED(&to->sin6.sin6_addr)) {
		sin.sin_port = to->sin6.sin6_port;
		memcpy(&sin.sin_addr, &to->sin6.sin6_addr.s6_addr[MAPPED_AT], sizeof(sin.sin_addr));
		memset(to, 0, sizeof(*to));
		to->sin = sin;
	}
	return 0;
}

socklen_t rcl_inet_give(union rcl_inet *to, const union rcl_inet *from, int family)
{
	*to = *from;
	if (from->sa.sa_family == family)
		return rcl_inet_len(to);
	if (family != AF_INET6)
		return 0;
	memset(to, 0, sizeof(*to));
	to->sin6.sin6_family = AF_INET6;
	to->sin6.sin6_port = from->sin.sin_port;
	memset(&to->sin6.sin6_addr.s6_addr[MAPPED_AT - 2], 0xff, 2);
	memcpy(&to->sin6.sin6_addr.s6_addr[MAPPED_AT], &from->sin.sin_addr,
	       sizeof(from->sin.sin_addr));
	return sizeof(to->sin6);
}

/* Link-local addresses of two links differ; a socket that is bound to a link need not name it. */
static bool is_same_link(const union rcl_inet *a, const union rcl_inet *b)
{
	return !IN6_IS_ADDR_LINKLOCAL(&a->sin6.sin6_addr) || !a->sin6.sin6_scope_id ||
	       !b->sin6.sin6_scope_id || a->sin6.sin6_scope_id == b->sin6.sin6_scope_id;
}

bool rcl_inet_same_host(const union rcl_inet *a, const union rcl_inet *b)
{
	if (a->sa.sa_family != b->sa.sa_family)
		return false;
	if (a->sa.sa_family == AF_INET)
		return a->sin.sin_addr.s_addr == b->sin.sin_addr.s_addr;
	return IN6_ARE_ADDR_EQUAL(&a->sin6.sin6_addr, &b->sin6.sin6_addr) && is_same_link(a, b);
}

bool rcl_inet_equal(const union rcl_inet *a, const union rcl_inet *b)
{
	return rcl_inet_port(a) == rcl_inet_port(b) && rcl_inet_same_host(a, b);
}

bool rcl_inet_is_any(const union rcl_inet *addr)
{
	if (addr->sa.sa_family == AF_INET)
		return addr->sin.sin_addr.s_addr == htonl(INADDR_ANY);
	return IN6_IS_ADDR_UNSPECIFIED(&addr->sin6.sin6_addr);
}

uint32_t rcl_inet_hash(const union rcl_inet *addr)
{
	const uint8_t *byte = addr->sin6.sin6_addr.s6_addr;
	size_t i, len = sizeof(addr->sin6.sin6_addr);
	uint32_t hash = rcl_inet_port(addr);

	if (addr->sa.sa_family == AF_INET) {
		byte = (const uint8_t *)&addr->sin.sin_addr;
		len = sizeof(addr->sin.sin_addr);
	}
	for (i = 0; i < len; i++)
		hash = (hash ^ byte[i]) * 16777619U;
	return hash ^ hash >> 15;
}
