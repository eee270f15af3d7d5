/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * Addresses of datagrams. Inside of dgram/ an address of IPv4 is always a sockaddr_in, also where
 * sockets of IPv6 have it as an IPv4-mapped address.
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

/**
 * rcl_inet_take - take over an address
 * @to: filled in
 * @from: of AF_INET or AF_INET6
 * @len: its length
 *
 * Return: 0; -EINVAL: it is too short; -EAFNOSUPPORT: another family
 */
int rcl_inet_take(union rcl_inet *to, const struct sockaddr *from, socklen_t len);

/**
 * rcl_inet_give - an address in the form that a socket has
 * @to: filled in
 * @from: the address
 * @family: of the socket
 *
 * Return: its length; 0: a socket of this family has no such addresses
 */
socklen_t rcl_inet_give(union rcl_inet *to, const union rcl_inet *from, int family);

/** rcl_inet_len - bytes of an address */
socklen_t rcl_inet_len(const union rcl_inet *addr);

/** rcl_inet_port - its port, network byte order */
static inline in_port_t rcl_inet_port(const union rcl_inet *addr)
{
	return addr->sin.sin_port;
}

/** rcl_inet_same_host - do both have the same address, whatever their ports are? */
bool rcl_inet_same_host(const union rcl_inet *a, const union rcl_inet *b);

/** rcl_inet_equal - do both have the same address and port? */
bool rcl_inet_equal(const union rcl_inet *a, const union rcl_inet *b);

/** rcl_inet_is_any - is it the wildcard address? */
bool rcl_inet_is_any(const union rcl_inet *addr);

/** rcl_inet_hash - a number that equal addresses have in common */
uint32_t rcl_inet_hash(const union rcl_inet *addr);

#endif /* RCL_RSOCKET_INET_H */
