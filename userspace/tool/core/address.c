// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/* Parses addresses that users type, and compares them with addresses in netlink messages. */
#include "tool/core/address.h"

#include <arpa/inet.h>
#include <endian.h>
#include <errno.h>
#include <net/if.h>
#include <netdb.h>
#include <netinet/in.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tool/core/tool.h"

#define FORMS								\
	"an address is 192.0.2.1, 2001:db8::1, fe80::1%%eth0 or a name, with its port "	\
	"192.0.2.1:7471 or [2001:db8::1]:7471"

enum { BITS = 128, MAPPED = 96 };

/* An address of any family, normalised for comparison. */
struct bytes {
	struct in6_addr ip;
	unsigned int scope;
	int port;
};

static const char *wrong(const char *fmt, ...) __attribute__((format(printf, 1, 2)));

static const char *wrong(const char *fmt, ...)
{
	static char message[512];
	va_list args;

	va_start(args, fmt);
	vsnprintf(message, sizeof(message), fmt, args);
	va_end(args);
	return message;
}

static void map(struct in6_addr *ip, const struct in_addr *in)
{
	memset(ip, 0, sizeof(*ip));
	ip->s6_addr[10] = 0xff;
	ip->s6_addr[11] = 0xff;
	memcpy(&ip->s6_addr[12], in, sizeof(*in));
}

static bool to_bytes(const void *data, size_t len, struct bytes *bytes)
{
	union any_addr addr = {};

	memcpy(&addr, data, len < sizeof(addr) ? len : sizeof(addr));
	memset(bytes, 0, sizeof(*bytes));
	switch (addr.sa.sa_family) {
	case AF_INET:
		map(&bytes->ip, &addr.in.sin_addr);
		bytes->port = ntohs(addr.in.sin_port);
		return true;
	case AF_INET6:
		bytes->ip = addr.in6.sin6_addr;
		bytes->scope = addr.in6.sin6_scope_id;
		bytes->port = ntohs(addr.in6.sin6_port);
		return true;
	case AF_IB:
		memcpy(&bytes->ip, addr.ib.gid, sizeof(bytes->ip));
		bytes->port = be64toh(addr.ib.sid) & 0xffff;
		return true;
	default:
		return false;
	}
}

/* Splits off the port of "[2001:db8::1]:7471" or "192.0.2.1:7471"; "2001:db8::1" has none. */
static const char *take_port(char *host, int *port)
{
	char *colon = strrchr(host, ':'), *end;
	long number;

	*port = 0;
	if (!colon || colon == host || (colon[-1] != ']' && strchr(host, ':') != colon))
		return NULL;
	number = strtol(colon + 1, &end, 10);
	if (*end || end == colon + 1 || number <= 0 || number > 65535)
		return wrong("%s is no port: it is 1 to 65535", colon[1] ? colon + 1 : "''");
	*port = number;
	*colon = '\0';
	return NULL;
}

static const char *take_bits(char *host, int *bits)
{
	char *slash = strchr(host, '/'), *end;
	int most = strchr(host, ':') ? BITS : BITS - MAPPED;
	long number;

	*bits = BITS;
	if (!slash)
		return NULL;
	number = strtol(slash + 1, &end, 10);
	if (*end || end == slash + 1 || number < 0 || number > most)
		return wrong("%s is no length of a network: it is 0 to %d",
			     slash[1] ? slash + 1 : "''", most);
	*bits = BITS - most + number;
	*slash = '\0';
	return NULL;
}

static const char *look_up(const char *host, struct address *address)
{
	static const struct addrinfo hints = { .ai_socktype = SOCK_STREAM };
	const char *scope = strchr(host, '%');
	struct addrinfo *info;
	int ret;

	if (!*host)
		return wrong(FORMS);
	if (scope && !if_nametoindex(scope + 1) && !atoi(scope + 1))
		return wrong("%s is no address: there is no interface %s here, see ip link", host,
			     scope[1] ? scope + 1 : "''");
	ret = getaddrinfo(host, NULL, &hints, &info);
	if (ret)
		return wrong("%s is no address: %s; " FORMS, host,
			     ret == EAI_SYSTEM ? strerror(errno) : gai_strerror(ret));
	memset(&address->addr, 0, sizeof(address->addr));
	memcpy(&address->addr, info->ai_addr, info->ai_addrlen);
	ret = getnameinfo(info->ai_addr, info->ai_addrlen, address->text, sizeof(address->text),
			  NULL, 0, NI_NUMERICHOST);
	freeaddrinfo(info);
	return ret ? wrong("%s is no address: %s", host, gai_strerror(ret)) : NULL;
}

static const char *parse(const char *text, struct address *address, bool net)
{
	char host[NI_MAXHOST], *close;
	const char *why;

	if (snprintf(host, sizeof(host), "%s", text) >= (int)sizeof(host))
		return wrong("that is too long; " FORMS);
	address->bits = BITS;
	why = take_port(host, &address->port);
	if (!why && net)
		why = take_bits(host, &address->bits);
	if (why)
		return why;
	close = strchr(host, ']');
	if (*host == '[' && close && !close[1]) {
		*close = '\0';
		memmove(host, host + 1, strlen(host));
	}
	return look_up(host, address);
}

const char *address_parse(const char *text, struct address *address)
{
	return parse(text, address, false);
}

const char *address_parse_net(const char *text, struct address *address)
{
	return parse(text, address, true);
}

bool address_is_link_local(const struct address *address)
{
	const struct sockaddr_in6 *in6 = (const void *)&address->addr;

	return in6->sin6_family == AF_INET6 && (IN6_IS_ADDR_LINKLOCAL(&in6->sin6_addr) ||
						IN6_IS_ADDR_MC_LINKLOCAL(&in6->sin6_addr));
}

unsigned int address_scope(const struct address *address)
{
	const struct sockaddr_in6 *in6 = (const void *)&address->addr;

	return in6->sin6_family == AF_INET6 ? in6->sin6_scope_id : 0;
}

static bool same_bits(const struct in6_addr *one, const struct in6_addr *two, int bits)
{
	int whole = bits / 8, rest = bits % 8;

	return !memcmp(one, two, whole) &&
	       (!rest || !((one->s6_addr[whole] ^ two->s6_addr[whole]) >> (8 - rest)));
}

bool address_matches(const struct address *address, const struct nlattr *attr)
{
	struct bytes want, have;

	if (!attr || !to_bytes(nla_data(attr), nla_len(attr), &have) ||
	    !to_bytes(&address->addr, sizeof(address->addr), &want))
		return false;
	if (want.scope && have.scope && want.scope != have.scope)
		return false;
	return same_bits(&want.ip, &have.ip, address->bits) &&
	       (!address->port || address->port == have.port);
}

bool address_matches_gid(const struct address *address, const char *gid)
{
	struct sockaddr_in6 in6 = { .sin6_family = AF_INET6 };
	struct bytes want, have;

	return inet_pton(AF_INET6, gid, &in6.sin6_addr) == 1 &&
	       to_bytes(&in6, sizeof(in6), &have) &&
	       to_bytes(&address->addr, sizeof(address->addr), &want) &&
	       same_bits(&want.ip, &have.ip, address->bits);
}
