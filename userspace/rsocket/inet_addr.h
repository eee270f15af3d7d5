/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * IP addresses. Inside of rsockets an IPv4 address is always a sockaddr_in, also where IPv6
 * sockets use an IPv4-mapped address.
 */
#ifndef RCL_RSOCKET_INET_H
#define RCL_RSOCKET_INET_H

#include <netinet/in.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/socket.h>

/** union rcl_inet - an address and a port */
union rcl_inet {
	struct sockaddr sa;
	struct sockaddr_in sin;
	struct sockaddr_in6 sin6;
};

/*
 * Converts an address of a program to the internal form. -EINVAL: @len is too short; -EAFNOSUPPORT:
 * neither AF_INET nor AF_INET6.
 */
int rcl_inet_take(union rcl_inet *to, const struct sockaddr *from, socklen_t len);

/*
 * Converts an address to the form of a socket of @family. Returns its length; 0: such a socket
 * cannot have the address.
 */
socklen_t rcl_inet_give(union rcl_inet *to, const union rcl_inet *from, int family);

socklen_t rcl_inet_len(const union rcl_inet *addr);

/* Network byte order. */
static inline in_port_t rcl_inet_port(const union rcl_inet *addr)
{
	return addr->sin.sin_port;
}

/* Are both addresses equal, without their ports? */
bool rcl_inet_same_host(const union rcl_inet *a, const union rcl_inet *b);

/* Are both addresses and ports equal? */
bool rcl_inet_equal(const union rcl_inet *a, const union rcl_inet *b);

/* Is it the wildcard address? */
bool rcl_inet_is_any(const union rcl_inet *addr);

uint32_t rcl_inet_hash(const union rcl_inet *addr);

#endif /* RCL_RSOCKET_INET_H */
