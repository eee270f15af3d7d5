/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* Addresses as people write them, and which of them the module's are. */
#ifndef ADDRESS_H
#define ADDRESS_H

#include <netlink/attr.h>
#include <stdbool.h>
#include <sys/socket.h>

/*
 * struct address - what somebody has written
 * @addr: the address, without its port
 * @text: the same, in numbers; link-local ones with their interface
 * @port: 0: any
 * @bits: how many of the address count; of IPv4 96 more
 */
struct address {
	struct sockaddr_storage addr;
	char text[64];
	int port;
	int bits;
};

/*
 * address_parse() - numbers or a name, with a port or none
 * @text: "192.0.2.1:7471", "2001:db8::1", "[2001:db8::1]:7471", "[fe80::1%eth0]:7471"
 * @address: is set to it
 *
 * Return: NULL; or what is wrong with it, for people, until the next call.
 */
const char *address_parse(const char *text, struct address *address);

/* address_parse_net() - likewise; also a network, "192.0.2.0/24" */
const char *address_parse_net(const char *text, struct address *address);

/* address_is_link_local() - whether only its interface says where it is */
bool address_is_link_local(const struct address *address);

/* address_scope() - the number of its interface, or 0 */
unsigned int address_scope(const struct address *address);

/*
 * address_matches() - whether an address of the module is it
 *
 * By its bytes, so it does not matter how either is written. An IPv4 address is the same as an
 * IPv6 one that has it mapped (::ffff:192.0.2.1); a link-local one is the same on any interface
 * when one of both has none.
 */
bool address_matches(const struct address *address, const struct nlattr *attr);

#endif /* ADDRESS_H */
