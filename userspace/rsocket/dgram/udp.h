/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* The UDP socket of a datagram socket. */
#ifndef RCL_RSOCKET_UDP_H
#define RCL_RSOCKET_UDP_H

#include <stddef.h>
#include <sys/types.h>

#include "rsocket/inet_addr.h"

/* Creates a UDP socket, which librspreload does not replace by an rsocket. */
int rcl_udp_create(int family);

/*
 * Finds the address from which a socket sends to a destination, and the port of the socket: 0
 * before it has one.
 */
int rcl_udp_source(int udp, const union rcl_inet *to, union rcl_inet *source);

/* Returns in @port (network byte order) the port of a socket, which is bound if it has none. */
int rcl_udp_port(int udp, int family, in_port_t *port);

/*
 * Sends without waiting. Returns 0 also if the port has no receiver; -EAGAIN: no room; another
 * negative errno.
 */
int rcl_udp_send(int udp, int family, const void *data, size_t len, const union rcl_inet *to);

/*
 * Receives without waiting. Returns a number of bytes: if it is more than @size, the datagram was
 * longer and is lost. -EAGAIN: there is none; another negative errno.
 */
ssize_t rcl_udp_recv(int udp, void *data, size_t size, union rcl_inet *from);

/*
 * Empties the error queue. With IP_RECVERR and the like, the descriptor is ready until it is empty.
 */
void rcl_udp_drop_errors(int udp);

#endif /* RCL_RSOCKET_UDP_H */
