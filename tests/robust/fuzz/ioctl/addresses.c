// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/* Addresses: those of the rig, unused ones and invalid ones. */
#include <arpa/inet.h>
#include <endian.h>
#include <netinet/in.h>
#include <rdma/rdma_user_cm.h>
#include <string.h>

#include "memory.h"

#ifndef AF_IB
#define AF_IB 27
#endif

/* A family that does not exist. */
#define AF_NEVER 77

static const struct {
	const char *name;
	int family;
	const char *text;
} addresses[] = {
	{ "none", 0, NULL },
	{ "here", AF_INET, "10.9.0.1" },
	{ "there", AF_INET, "10.9.0.2" },
	{ "here6", AF_INET6, "fd00:9::1" },
	{ "there6", AF_INET6, "fd00:9::2" },
	{ "elsewhere", AF_INET, "10.7.0.1" },
	{ "nobody", AF_INET, "10.7.0.99" },
	{ "not-ours", AF_INET, "192.0.2.1" },
	{ "not-ours6", AF_INET6, "2001:db8::1" },
	{ "any", AF_INET, "0.0.0.0" },
	{ "any6", AF_INET6, "::" },
	{ "lo", AF_INET, "127.0.0.1" },
	{ "lo6", AF_INET6, "::1" },
	{ "mapped", AF_INET6, "::ffff:10.9.0.2" },
	{ "link", AF_INET6, "fe80::1" },
	{ "group", AF_INET, "239.1.2.3" },
	{ "group6", AF_INET6, "ff0e::1234" },
	{ "broadcast", AF_INET, "255.255.255.255" },
	{ "ib-here", AF_INET, "10.8.0.1" },
	{ "ib-there", AF_INET, "10.8.0.2" },
	{ "ib-there6", AF_INET6, "fd00:8::2" },
	/* GIDs of the adapters of tests/fabric/hca. */
	{ "gid", AF_IB, "fe80::2ca:0:0:101" },
	{ "gid-v2", AF_IB, "::ffff:10.9.0.2" },
	{ "gid-any", AF_IB, "::" },
	{ "gid-group", AF_IB, "ff12:a01b::1" },
	{ "never", AF_NEVER, NULL },
};

static const uint16_t ports[] = { 0, 7471, 80, 65535, 0, 7472 };

const unsigned int address_count = COUNT(addresses);
const unsigned int port_count = COUNT(ports);

const char *address_name(unsigned int number)
{
	return addresses[number % address_count].name;
}

int address_find(const char *name)
{
	for (unsigned int i = 0; i < address_count; i++)
		if (!strcmp(addresses[i].name, name))
			return i;
	return -1;
}

/* Fills in a struct sockaddr_ib. */
static void make_ib(addr_t *addr, const char *text, uint16_t port)
{
	uint64_t sid = htobe64((uint64_t)RDMA_PS_TCP << 16 | port), mask = -1;
	uint16_t pkey = 0xffff;

	memcpy(addr->bytes + 2, &pkey, sizeof(pkey));
	inet_pton(AF_INET6, text, addr->bytes + 8);
	memcpy(addr->bytes + 24, &sid, sizeof(sid));
	memcpy(addr->bytes + 32, &mask, sizeof(mask));
}

/* Numbers of an address and of a port; @listener: the port for PORT_OF_LISTENER. */
addr_t address_make(unsigned int number, unsigned int port, uint16_t listener)
{
	const char *text = addresses[number % address_count].text;
	uint16_t is = port == PORT_OF_LISTENER ? listener : ports[port % port_count];
	addr_t addr = { .family = addresses[number % address_count].family };
	struct sockaddr_in6 in6 = { .sin6_family = AF_INET6, .sin6_port = htons(is) };
	struct sockaddr_in in = { .sin_family = AF_INET, .sin_port = htons(is) };

	switch (addr.family) {
	case AF_INET:
		inet_pton(AF_INET, text, &in.sin_addr);
		memcpy(&addr, &in, sizeof(in));
		break;
	case AF_INET6:
		inet_pton(AF_INET6, text, &in6.sin6_addr);
		memcpy(&addr, &in6, sizeof(in6));
		break;
	case AF_IB:
		make_ib(&addr, text, is);
		break;
	default:
		break;
	}
	return addr;
}
