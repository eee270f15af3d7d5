/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* The UDP socket of a datagram socket. */
#ifndef RCL_RSOCKET_UDP_H
#define RCL_RSOCKET_UDP_H

#include <stddef.h>
#include <sys/types.h>

#include "rsocket/dgram/inet.h"

/**
 * rcl_udp_create - create a UDP socket, which librspreload does not replace by an rsocket
 * @family: AF_INET or AF_INET6
 *
 * Return: its descriptor, or a negative errno
 */
int rcl_udp_create(int family);

/**
 * rcl_udp_source - the address from which a socket sends to a destination
 * @udp: the socket
 * @to: the destination
 * @source: filled in, with the port of the socket, which is 0 before it has one
 *
 * Return: 0, or a negative errno if the destination cannot be reached
 */
int rcl_udp_source(int udp, const union rcl_inet *to, union rcl_inet *source);

/**
 * rcl_udp_port - the port of a socket, which is bound if it has none
 * @udp: the socket
 * @family: of the socket
 * @port: filled in, network byte order
 *
 * Return: 0 or a negative errno
 */
int rcl_udp_port(int udp, int family, in_port_t *port);

/**
 * rcl_udp_send - send without waiting
 * @udp: the socket
 * @family: of the socket
 * @data: the bytes
 * @len: their number
 * @to: the destination
 *
 * Return: 0, also if the port has no receiver; -EAGAIN: no room; another negative errno
 */
int rcl_udp_send(int udp, int family, const void *data, size_t len, const union rcl_inet *to);

/**
 * rcl_udp_recv - receive without waiting
 * @udp: the socket
 * @data: buffer
 * @size: its size
 * @from: the sender
 *
 * Return: number of bytes; more than @size: the datagram was longer and is lost; -EAGAIN: none;
 * another negative errno
 */
ssize_t rcl_udp_recv(int udp, void *data, size_t size, union rcl_inet *from);

/**
 * rcl_udp_drop_errors - empty the error queue of a socket
 * @udp: the socket
 *
 * With IP_RECVERR and the like, the descriptor is ready until the queue is empty.
 */
void rcl_udp_drop_errors(int udp);

#endif /* RCL_RSOCKET_UDP_H */
