// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * Socket addresses: length, port, text, the form of the ioctls, and the end of a list of them.
 *
 * Locking: none.
 */
#include "base/sockaddr.h"

#include <arpa/inet.h>
#include <endian.h>
#include <infiniband/ib.h>
#include <netinet/in.h>
#include <rdma/rdma_cma.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/compiler.h"

socklen_t rcl_addr_len(const struct sockaddr *addr)
{
	if (!addr)
		return 0;
	switch (addr->sa_family) {
	case AF_INET:
		return sizeof(struct sockaddr_in);
	case AF_INET6:
		return sizeof(struct sockaddr_in6);
	case AF_IB:
		return sizeof(struct sockaddr_ib);
	default:
		return 0;
	}
}

__be16 rcl_addr_port(const struct sockaddr *addr)
{
	uint64_t sid;

	switch (addr->sa_family) {
	case AF_INET:
		return ((const struct sockaddr_in *)(const void *)addr)->sin_port;
	case AF_INET6:
		return ((const struct sockaddr_in6 *)(const void *)addr)->sin6_port;
	case AF_IB:
		sid = be64toh(((const struct sockaddr_ib *)(const void *)addr)->sib_sid);
		return htobe16((uint16_t)sid);
	default:
		return 0;
	}
}

void rcl_addr_to_kernel(struct rdma_cm_alt_sockaddr *dst,
			const struct sockaddr *src)
{
	memset(dst, 0, sizeof(*dst));
	if (src)
		memcpy(dst->bytes, src, rcl_addr_len(src));
}

void rcl_addr_from_kernel(struct sockaddr_storage *dst,
			  const struct rdma_cm_alt_sockaddr *src)
{
	if (rcl_addr_len((const void *)src->bytes))
		memcpy(dst, src->bytes, sizeof(src->bytes));
}

static void format_addr(char *buf, size_t len, const struct sockaddr *sa)
{
	const struct sockaddr_in6 *sin6 = (const void *)sa;
	const struct sockaddr_in *sin = (const void *)sa;
	const struct sockaddr_ib *sib = (const void *)sa;
	char text[INET6_ADDRSTRLEN] = "?";

	switch (sa->sa_family) {
	case AF_INET:
		inet_ntop(AF_INET, &sin->sin_addr, text, sizeof(text));
		snprintf(buf, len, "%s:%u", text, ntohs(sin->sin_port));
		break;
	case AF_INET6:
		inet_ntop(AF_INET6, &sin6->sin6_addr, text, sizeof(text));
		snprintf(buf, len, "[%s]:%u", text, ntohs(sin6->sin6_port));
		break;
	case AF_IB:
		inet_ntop(AF_INET6, &sib->sib_addr, text, sizeof(text));
		snprintf(buf, len, "gid %s sid 0x%llx", text,
			 (unsigned long long)be64toh(sib->sib_sid));
		break;
	default:
		snprintf(buf, len, "-");
		break;
	}
}

struct rcl_addr_text rcl_addr_text(const struct sockaddr *sa)
{
	struct rcl_addr_text text;

	format_addr(text.s, sizeof(text.s), sa);
	return text;
}

RCL_EXPORT void rdma_freeaddrinfo(struct rdma_addrinfo *res)
{
	struct rdma_addrinfo *next;

	for (; res; res = next) {
		next = res->ai_next;
		free(res->ai_src_addr);
		free(res->ai_dst_addr);
		free(res->ai_src_canonname);
		free(res->ai_dst_canonname);
		free(res->ai_route);
		free(res->ai_connect);
		free(res);
	}
}
