// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * rdma_getaddrinfo(): getaddrinfo(3) with port space, QP type, source and destination.
 *
 * Locking: none.
 */
#include <endian.h>
#include <infiniband/ib.h>
#include <netdb.h>
#include <netinet/in.h>
#include <rdma/rdma_cma.h>
#include <stdlib.h>
#include <string.h>

#include "api/init.h"
#include "api/addrinfo_sa.h"
#include "base/compiler.h"
#include "base/err.h"
#include "base/log.h"
#include "base/rdma_cma_new.h"
#include "base/sockaddr.h"

#define PKEY_DEFAULT 0xffff

/* The caller asks for AF_IB addresses, which are a GID and a service ID. */
static bool wants_gid(const struct rdma_addrinfo *hints)
{
	const int flags = RAI_FAMILY | RAI_NUMERICHOST;

	return hints && hints->ai_family == AF_IB && (hints->ai_flags & flags) == flags;
}

static int socket_type(int qp_type)
{
	switch (qp_type) {
	case IBV_QPT_RC:
	case IBV_QPT_UC:
	case IBV_QPT_XRC_SEND:
	case IBV_QPT_XRC_RECV:
		return SOCK_STREAM;
	case IBV_QPT_UD:
		return SOCK_DGRAM;
	default:
		return 0;
	}
}

static int protocol(int port_space, int socktype)
{
	switch (port_space) {
	case RDMA_PS_TCP:
		return IPPROTO_TCP;
	case RDMA_PS_UDP:
	case RDMA_PS_IPOIB:
		return IPPROTO_UDP;
	case RDMA_PS_IB:
		if (socktype == SOCK_STREAM)
			return IPPROTO_TCP;
		return socktype == SOCK_DGRAM ? IPPROTO_UDP : 0;
	default:
		return 0;
	}
}

static void hints_to_libc(struct addrinfo *out, const struct rdma_addrinfo *hints)
{
	memset(out, 0, sizeof(*out));
	if (hints->ai_flags & RAI_PASSIVE)
		out->ai_flags |= AI_PASSIVE;
	if (hints->ai_flags & RAI_NUMERICHOST)
		out->ai_flags |= AI_NUMERICHOST;
	if (wants_gid(hints))
		out->ai_family = AF_INET6;	/* a GID has the form of an IPv6 address */
	else if (hints->ai_family != AF_IB)
		out->ai_family = hints->ai_family;
	out->ai_socktype = socket_type(hints->ai_qp_type);
	out->ai_protocol = protocol(hints->ai_port_space, out->ai_socktype);
}

static int copy_addr(struct sockaddr **dst, socklen_t *dst_len,
		     const struct sockaddr *src, socklen_t len)
{
	*dst = malloc(len);
	if (!*dst)
		return -ENOMEM;
	memcpy(*dst, src, len);
	*dst_len = len;
	return 0;
}

static int make_gid_addr(struct sockaddr **dst, socklen_t *dst_len,
			 const struct sockaddr_in6 *src, int port_space)
{
	uint16_t port = ntohs(src->sin6_port);
	struct sockaddr_ib *sib;
	uint64_t mask = 0;

	sib = calloc(1, sizeof(*sib));
	if (!sib)
		return -ENOMEM;
	if (port_space)
		mask |= RDMA_IB_IP_PS_MASK;
	if (port)
		mask |= RDMA_IB_IP_PORT_MASK;
	sib->sib_family = AF_IB;
	sib->sib_pkey = htobe16(PKEY_DEFAULT);
	sib->sib_flowinfo = src->sin6_flowinfo;
	memcpy(&sib->sib_addr, &src->sin6_addr, sizeof(sib->sib_addr));
	sib->sib_sid = htobe64(((uint64_t)port_space << 16) + port);
	sib->sib_sid_mask = htobe64(mask);
	sib->sib_scope_id = src->sin6_scope_id;
	*dst = (struct sockaddr *)(void *)sib;
	*dst_len = sizeof(*sib);
	return 0;
}

static void choose_types(struct rdma_addrinfo *rai, const struct rdma_addrinfo *hints,
			 const struct addrinfo *ai)
{
	if (hints)
		rai->ai_qp_type = hints->ai_qp_type;
	if (!rai->ai_qp_type && ai->ai_socktype == SOCK_STREAM)
		rai->ai_qp_type = IBV_QPT_RC;
	else if (!rai->ai_qp_type && ai->ai_socktype == SOCK_DGRAM)
		rai->ai_qp_type = IBV_QPT_UD;

	if (hints)
		rai->ai_port_space = hints->ai_port_space;
	if (!rai->ai_port_space && ai->ai_protocol == IPPROTO_TCP)
		rai->ai_port_space = RDMA_PS_TCP;
	else if (!rai->ai_port_space && ai->ai_protocol == IPPROTO_UDP)
		rai->ai_port_space = RDMA_PS_UDP;
}

/* Converts a result of libc: to the source when the caller is passive, else to the destination. */
static int fill_result(struct rdma_addrinfo *rai, const struct rdma_addrinfo *hints,
		       const struct addrinfo *ai)
{
	bool passive = hints && (hints->ai_flags & RAI_PASSIVE);
	struct sockaddr **addr = passive ? &rai->ai_src_addr : &rai->ai_dst_addr;
	socklen_t *len = passive ? &rai->ai_src_len : &rai->ai_dst_len;
	char **name = passive ? &rai->ai_src_canonname : &rai->ai_dst_canonname;
	int ret;

	choose_types(rai, hints, ai);
	rai->ai_flags = passive ? RAI_PASSIVE : 0;
	rai->ai_family = wants_gid(hints) ? AF_IB : ai->ai_family;
	if (ai->ai_canonname) {
		*name = strdup(ai->ai_canonname);
		if (!*name)
			return -ENOMEM;
	}
	if (wants_gid(hints))
		ret = make_gid_addr(addr, len, (const void *)ai->ai_addr, rai->ai_port_space);
	else
		ret = copy_addr(addr, len, ai->ai_addr, ai->ai_addrlen);
	if (ret || rai->ai_src_len || !hints || !hints->ai_src_len)
		return ret;
	return copy_addr(&rai->ai_src_addr, &rai->ai_src_len,
			 hints->ai_src_addr, hints->ai_src_len);
}

/* Does a result have the family of the source address in the hints, if any? */
static bool fits_source(const struct addrinfo *ai, const struct rdma_addrinfo *hints)
{
	return !hints || !hints->ai_src_len || wants_gid(hints) ||
	       hints->ai_src_addr->sa_family == ai->ai_family;
}

/* The first result with the family of the source, or just the first one. */
static const struct addrinfo *first_result(const struct addrinfo *list,
					   const struct rdma_addrinfo *hints)
{
	const struct addrinfo *ai;

	for (ai = list; ai; ai = ai->ai_next) {
		if (fits_source(ai, hints))
			return ai;
	}
	return list;
}

/*
 * libc lists an address once for each socket type. Results of another type than the first one, and
 * repeated addresses, are left out.
 */
static bool is_new_result(const struct addrinfo *ai, const struct addrinfo *first,
			  const struct rdma_addrinfo *hints)
{
	const struct addrinfo *e;

	if (ai->ai_socktype != first->ai_socktype ||
	    ai->ai_protocol != first->ai_protocol || !fits_source(ai, hints))
		return false;
	for (e = first; e != ai; e = e->ai_next) {
		if (e->ai_addrlen == ai->ai_addrlen &&
		    !memcmp(e->ai_addr, ai->ai_addr, ai->ai_addrlen))
			return false;
	}
	return true;
}

/* Return: 0, EAI_* or, in *err, a negative errno; *res may be a list in any case */
static int lookup_host(const char *node, const char *service,
		       const struct rdma_addrinfo *hints, struct rdma_addrinfo **res,
		       int *err)
{
	struct rdma_addrinfo **end = res;
	struct addrinfo libc_hints, *list;
	const struct addrinfo *first, *ai;
	int ret;

	if (hints)
		hints_to_libc(&libc_hints, hints);
	ret = getaddrinfo(node, service, hints ? &libc_hints : NULL, &list);
	if (ret)
		return ret;
	*err = 0;
	first = first_result(list, hints);
	for (ai = first; ai && !*err; ai = ai->ai_next) {
		if (ai != first && !is_new_result(ai, first, hints))
			continue;
		*end = calloc(1, sizeof(**end));
		*err = *end ? fill_result(*end, hints, ai) : -ENOMEM;
		if (*end)
			end = &(*end)->ai_next;
	}
	freeaddrinfo(list);
	return 0;
}

static int copy_hints(const struct rdma_addrinfo *hints, struct rdma_addrinfo **res)
{
	struct rdma_addrinfo *rai = calloc(1, sizeof(*rai));
	int ret = 0;

	*res = rai;
	if (!rai)
		return -ENOMEM;
	rai->ai_flags = hints->ai_flags;
	rai->ai_family = hints->ai_family;
	rai->ai_qp_type = hints->ai_qp_type;
	rai->ai_port_space = hints->ai_port_space;
	if (hints->ai_dst_len)
		ret = copy_addr(&rai->ai_dst_addr, &rai->ai_dst_len,
				hints->ai_dst_addr, hints->ai_dst_len);
	if (!ret && hints->ai_src_len)
		ret = copy_addr(&rai->ai_src_addr, &rai->ai_src_len,
				hints->ai_src_addr, hints->ai_src_len);
	return ret;
}

/* Is an address of the caller at least as long as its family needs? */
static bool is_complete_addr(const struct sockaddr *addr, socklen_t len)
{
	if (!len)
		return true;
	return addr && len >= sizeof(addr->sa_family) && len >= rcl_addr_len(addr);
}

/* Is an address missing or cut off, or nothing asked for? */
static bool bad_arguments(const char *node, const char *service,
			  const struct rdma_addrinfo *hints)
{
	if (!hints)
		return !node && !service;
	return !is_complete_addr(hints->ai_src_addr, hints->ai_src_len) ||
	       !is_complete_addr(hints->ai_dst_addr, hints->ai_dst_len);
}

/* The addresses of a service that the subnet administrator knows. */
static int lookup_service(const char *node, const char *service, int flags,
			  struct rdma_addrinfo **res)
{
	if (node || (flags & RAI_DNS))
		return -EOPNOTSUPP;
	return service ? rcl_sa_find(service, res) : -EINVAL;
}

RCL_EXPORT int rdma_getaddrinfo(const char *node, const char *service,
				const struct rdma_addrinfo *hints,
				struct rdma_addrinfo **res)
{
	struct rdma_addrinfo *list = NULL;
	int eai = 0, ret;

	if (!res || bad_arguments(node, service, hints))
		return rcl_fail(-EINVAL, __func__,
				"node, service and hints are all NULL, or an address is, or is cut off");
	ret = rcl_init();
	if (ret)
		return rcl_fail(ret, __func__, "no RDMA device");
	if (hints && (hints->ai_flags & RAI_SA)) {
		ret = lookup_service(node, service, hints->ai_flags, res);
		return ret ? rcl_fail(ret, __func__, "RAI_SA: no service record") : 0;
	}
	if (node || service)
		eai = lookup_host(node, service, hints, &list, &ret);
	else
		ret = copy_hints(hints, &list);
	if (eai || ret) {
		rdma_freeaddrinfo(list);
		if (!eai)
			return rcl_fail(ret, __func__, "no memory for the result");
		rcl_log("%s: node %s, service %s: %s", __func__, node ? node : "NULL",
			service ? service : "NULL", gai_strerror(eai));
		return eai;
	}
	*res = list;
	return 0;
}
