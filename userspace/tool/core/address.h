/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* Parses addresses that users type, and compares them with addresses in netlink messages. */
#ifndef ADDRESS_H
#define ADDRESS_H

#include <netlink/attr.h>
#include <stdbool.h>
#include <sys/socket.h>

/*
 * struct address - an address that the user typed
 * @addr: the address, without its port
 * @text: numeric form; includes the interface of a link-local address
 * @port: the port; 0: any
 * @bits: prefix length as an IPv6 address; that of an IPv4 address is 96 more than typed
 */
struct address {
	struct sockaddr_storage addr;
	char text[64];
	int port;
	int bits;
};

/*
 * address_parse() - parse an address or host name, with or without a port
 * @text: "192.0.2.1:7471", "2001:db8::1", "[2001:db8::1]:7471", "[fe80::1%eth0]:7471"
 * @address: returns the address
 *
 * Return: NULL; or an error message for the user, valid until the next call
 */
const char *address_parse(const char *text, struct address *address);

/* address_parse_net() - like address_parse(), and also parses a network, "192.0.2.0/24" */
const char *address_parse_net(const char *text, struct address *address);

/* address_is_link_local() - whether the address is link-local, so that it needs an interface */
bool address_is_link_local(const struct address *address);

/* address_scope() - interface index of a link-local address, or 0 */
unsigned int address_scope(const struct address *address);

/*
 * address_matches() - whether an address of a netlink message matches the user's address
 *
 * Compares binary forms, so the notation does not matter. An IPv4 address equals the IPv6 address
 * that has it mapped (::ffff:192.0.2.1). If one of two link-local addresses has no interface, the
 * interface is not compared.
 */
bool address_matches(const struct address *address, const struct nlattr *attr);

/* address_matches_gid() - whether a GID is the user's address, in whose text form it is */
bool address_matches_gid(const struct address *address, const char *gid);

#endif /* ADDRESS_H */
