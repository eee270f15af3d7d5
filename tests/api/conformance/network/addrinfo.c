// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/* rdma_getaddrinfo: reference section 1.3. */
#include "steps.h"

#include <netdb.h>

static const char *family(int number)
{
	return number == AF_INET ? "INET" : number == AF_INET6 ? "INET6" : number == AF_IB ? "IB" :
	       number ? "other" : "0";
}

static const char *shown(const struct sockaddr *addr, socklen_t len, char *text, size_t size)
{
	const struct sockaddr_in *in = (const void *)addr;
	const struct sockaddr_in6 *in6 = (const void *)addr;
	char ip[INET6_ADDRSTRLEN] = "?";

	if (!addr)
		return len ? "none with length" : "none";
	if (addr->sa_family == AF_INET)
		inet_ntop(AF_INET, &in->sin_addr, ip, sizeof(ip));
	else if (addr->sa_family == AF_INET6)
		inet_ntop(AF_INET6, &in6->sin6_addr, ip, sizeof(ip));
	snprintf(text, size, "[%s]:%d/%u", ip, ntohs(in->sin_port), len);
	return text;
}

static const char *type_name(int type)
{
	return type == IBV_QPT_RC ? "RC" : type == IBV_QPT_UD ? "UD" : "other";
}

static void ask(const char *check, const char *node, const char *service,
		const struct rdma_addrinfo *hints)
{
	struct rdma_addrinfo *res = (void *)0x10;
	char name[64], src[96], dst[96];

	int ret = RET(check, rdma_getaddrinfo((char *)node, (char *)service,
					      (struct rdma_addrinfo *)hints, &res));

	snprintf(name, sizeof(name), "%s_result", check);
	if (ret) {
		answer(name, "%s", res == (void *)0x10 ? "untouched" : res ? "set" : "NULL");
		return;
	}
	answer(name, "flags=%#x family=%s type=%s ps=%#x src=%s dst=%s srcname=%s dstname=%s "
	       "route=%zu connect=%zu next=%s", res->ai_flags, family(res->ai_family),
	       type_name(res->ai_qp_type), res->ai_port_space,
	       shown(res->ai_src_addr, res->ai_src_len, src, sizeof(src)),
	       shown(res->ai_dst_addr, res->ai_dst_len, dst, sizeof(dst)),
	       res->ai_src_canonname ?: "none", res->ai_dst_canonname ?: "none",
	       res->ai_route_len, res->ai_connect_len, yes(res->ai_next));
	rdma_freeaddrinfo(res);
}

#define HINTS(...) (&(struct rdma_addrinfo){ __VA_ARGS__ })

GROUP(getaddrinfo, IN_DEBUG)
{
	ask("nothing", NULL, NULL, NULL);
	ask("node_service", HERE, "7471", NULL);
	ask("node", HERE, NULL, NULL);
	ask("service", NULL, "7471", NULL);
	ask("localhost", "localhost", "7471", HINTS(.ai_flags = 0));
	ask("ipv6", HERE6, "7471", NULL);
	ask("service_name", HERE, "http", NULL);
	ask("passive", HERE, "7471", HINTS(.ai_flags = RAI_PASSIVE));
	ask("passive_any", NULL, "7471", HINTS(.ai_flags = RAI_PASSIVE));
	ask("tcp", HERE, "7471", HINTS(.ai_port_space = RDMA_PS_TCP));
	ask("udp", HERE, "7471", HINTS(.ai_port_space = RDMA_PS_UDP));
	ask("ib", HERE, "7471", HINTS(.ai_port_space = RDMA_PS_IB));
	ask("ipoib", HERE, "7471", HINTS(.ai_port_space = RDMA_PS_IPOIB));
	ask("space_unknown", HERE, "7471", HINTS(.ai_port_space = 0x9999));
	ask("type_rc", HERE, "7471", HINTS(.ai_qp_type = IBV_QPT_RC));
	ask("type_ud", HERE, "7471", HINTS(.ai_qp_type = IBV_QPT_UD));
	ask("type_uc", HERE, "7471", HINTS(.ai_qp_type = IBV_QPT_UC));
	ask("type_and_space", HERE, "7471", HINTS(.ai_qp_type = IBV_QPT_UD,
						  .ai_port_space = RDMA_PS_TCP));
	ask("numeric", HERE, "7471", HINTS(.ai_flags = RAI_NUMERICHOST));
	ask("numeric_name", "localhost", "7471", HINTS(.ai_flags = RAI_NUMERICHOST));
	ask("noroute", HERE, "7471", HINTS(.ai_flags = RAI_NOROUTE));
	ask("family4", HERE, "7471", HINTS(.ai_flags = RAI_FAMILY, .ai_family = AF_INET));
	ask("family6", HERE, "7471", HINTS(.ai_flags = RAI_FAMILY, .ai_family = AF_INET6));
	ask("family6_both", HERE6, "7471", HINTS(.ai_flags = RAI_FAMILY, .ai_family = AF_INET6));
	ask("family_without_flag", HERE, "7471", HINTS(.ai_family = AF_INET6));
	ask("family_unknown", HERE, "7471", HINTS(.ai_flags = RAI_FAMILY, .ai_family = 99));
	ask("flags_unknown", HERE, "7471", HINTS(.ai_flags = 0x4000));
	ask("source", HERE, "7471", HINTS(.ai_src_addr = at(THERE, 0),
					  .ai_src_len = sizeof(struct sockaddr_in)));
	ask("source_passive", HERE, "7471", HINTS(.ai_flags = RAI_PASSIVE,
						  .ai_src_addr = at(THERE, 0),
						  .ai_src_len = sizeof(struct sockaddr_in)));
	ask("hints_only_dst", NULL, NULL, HINTS(.ai_dst_addr = at(HERE, 7471),
						.ai_dst_len = sizeof(struct sockaddr_in)));
	ask("hints_only_src", NULL, NULL, HINTS(.ai_flags = RAI_PASSIVE,
						.ai_src_addr = at(HERE, 7471),
						.ai_src_len = sizeof(struct sockaddr_in)));
	ask("hints_only_both", NULL, NULL, HINTS(.ai_src_addr = at(THERE, 0),
						 .ai_dst_addr = at(HERE, 7471),
						 .ai_src_len = sizeof(struct sockaddr_in),
						 .ai_dst_len = sizeof(struct sockaddr_in)));
	ask("hints_empty", NULL, NULL, HINTS(.ai_flags = 0));
	ask("not_an_address", "300.1.2.3", "7471", HINTS(.ai_flags = RAI_NUMERICHOST));
	ask("not_a_service", HERE, "no-such-service", NULL);
	ask("port_too_large", HERE, "70000", NULL);
	ask("empty_node", "", "7471", HINTS(.ai_flags = RAI_NUMERICHOST));
	ask("sa_with_node", HERE, "7471", HINTS(.ai_flags = 0x10));
	ask("sa", NULL, "7471", HINTS(.ai_flags = 0x10));
	ask("dns", HERE, "7471", HINTS(.ai_flags = 0x20));
	VOID("free_null", rdma_freeaddrinfo(NULL));
}

GROUP(getaddrinfo_name, WAITS)
{
	ask("unknown", "no-such-host.invalid", "7471", NULL);
}

GROUP(getaddrinfo_ib, 0)
{
	struct rdma_addrinfo hints = {
		.ai_flags = RAI_FAMILY | RAI_NUMERICHOST, .ai_family = AF_IB,
	};

	ask("no_gid", "elsewhere", "7471", &hints);
	hints.ai_port_space = RDMA_PS_IB;
	ask("gid", "fe80::1", "7471", &hints);
	hints.ai_flags |= RAI_PASSIVE;
	hints.ai_port_space = RDMA_PS_TCP;
	ask("gid_passive", "fe80::1", "7471", &hints);
}
