// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/* Names of numbers. */
#include <arpa/inet.h>
#include <infiniband/sa.h>
#include <infiniband/verbs.h>
#include <netinet/in.h>
#include <rdma/rdma_cm_alt.h>
#include <rdma/rdma_user_cm.h>
#include <stdio.h>
#include <string.h>

#include "tool.h"

#ifndef AF_IB
#define AF_IB 27
#endif

/* struct sockaddr_ib, of which glibc knows nothing. */
struct sockaddr_gid {
	uint16_t family;
	uint16_t pkey;
	uint32_t flowinfo;
	uint8_t gid[16];
	uint64_t sid;
	uint64_t sid_mask;
	uint64_t scope;
};

/* "192.0.2.1:7471", "[2001:db8::1]:7471", "fe80::1 sid 0x...". NULL: none, or nobody's. */
struct json_object *text_addr(const struct nlattr *attr)
{
	char ip[INET6_ADDRSTRLEN] = "", text[128];
	union {
		struct sockaddr sa;
		struct sockaddr_in in;
		struct sockaddr_in6 in6;
		struct sockaddr_gid ib;
	} addr = {};
	size_t len;

	if (!attr)
		return NULL;
	len = nla_len(attr);
	memcpy(&addr, nla_data(attr), len < sizeof(addr) ? len : sizeof(addr));
	switch (addr.sa.sa_family) {
	case AF_INET:
		if (!addr.in.sin_addr.s_addr && !addr.in.sin_port)
			return NULL;
		inet_ntop(AF_INET, &addr.in.sin_addr, ip, sizeof(ip));
		snprintf(text, sizeof(text), "%s:%u", ip, ntohs(addr.in.sin_port));
		break;
	case AF_INET6:
		if (IN6_IS_ADDR_UNSPECIFIED(&addr.in6.sin6_addr) && !addr.in6.sin6_port)
			return NULL;
		inet_ntop(AF_INET6, &addr.in6.sin6_addr, ip, sizeof(ip));
		snprintf(text, sizeof(text), "[%s]:%u", ip, ntohs(addr.in6.sin6_port));
		break;
	case AF_IB:
		inet_ntop(AF_INET6, addr.ib.gid, ip, sizeof(ip));
		snprintf(text, sizeof(text), "%s sid 0x%016llx", ip,
			 (unsigned long long)be64toh(addr.ib.sid));
		break;
	default:
		return NULL;
	}
	return json_object_new_string(text);
}

struct json_object *text_gid(const struct nlattr *attr)
{
	char text[INET6_ADDRSTRLEN];

	if (!attr || nla_len(attr) != 16)
		return NULL;
	return json_object_new_string(inet_ntop(AF_INET6, nla_data(attr), text, sizeof(text)));
}

const char *text_ps(uint32_t ps)
{
	switch (ps) {
	case RDMA_PS_IPOIB: return "ipoib";
	case RDMA_PS_IB: return "ib";
	case RDMA_PS_TCP: return "tcp";
	case RDMA_PS_UDP: return "udp";
	default: return "other";
	}
}

const char *text_qp_type(uint32_t type)
{
	switch (type) {
	case IBV_QPT_RC: return "rc";
	case IBV_QPT_UC: return "uc";
	case IBV_QPT_UD: return "ud";
	case IBV_QPT_XRC_SEND: return "xrc-send";
	case IBV_QPT_XRC_RECV: return "xrc-recv";
	default: return "other";
	}
}

const char *text_event(uint32_t type)
{
	static const char * const names[] = {
		[RDMA_CM_ALT_EVENT_ADDR_RESOLVED] = "ADDR_RESOLVED",
		[RDMA_CM_ALT_EVENT_ADDR_ERROR] = "ADDR_ERROR",
		[RDMA_CM_ALT_EVENT_ROUTE_RESOLVED] = "ROUTE_RESOLVED",
		[RDMA_CM_ALT_EVENT_ROUTE_ERROR] = "ROUTE_ERROR",
		[RDMA_CM_ALT_EVENT_CONNECT_REQUEST] = "CONNECT_REQUEST",
		[RDMA_CM_ALT_EVENT_CONNECT_RESPONSE] = "CONNECT_RESPONSE",
		[RDMA_CM_ALT_EVENT_CONNECT_ERROR] = "CONNECT_ERROR",
		[RDMA_CM_ALT_EVENT_UNREACHABLE] = "UNREACHABLE",
		[RDMA_CM_ALT_EVENT_REJECTED] = "REJECTED",
		[RDMA_CM_ALT_EVENT_ESTABLISHED] = "ESTABLISHED",
		[RDMA_CM_ALT_EVENT_DISCONNECTED] = "DISCONNECTED",
		[RDMA_CM_ALT_EVENT_DEVICE_REMOVAL] = "DEVICE_REMOVAL",
		[RDMA_CM_ALT_EVENT_MULTICAST_JOIN] = "MULTICAST_JOIN",
		[RDMA_CM_ALT_EVENT_MULTICAST_ERROR] = "MULTICAST_ERROR",
		[RDMA_CM_ALT_EVENT_ADDR_CHANGE] = "ADDR_CHANGE",
		[RDMA_CM_ALT_EVENT_TIMEWAIT_EXIT] = "TIMEWAIT_EXIT",
		[RDMA_CM_ALT_EVENT_USER] = "USER",
	};

	return type < sizeof(names) / sizeof(names[0]) && names[type] ? names[type] : "USER";
}

/* IBTA volume 1, 12.6.7.2. */
const char *text_reject(int reason)
{
	static const char * const texts[] = {
		[1] = "the peer has no QP left",
		[2] = "the peer has no end-to-end context left",
		[3] = "the peer has no resources left",
		[4] = "the peer did not get an answer in time",
		[5] = "the request was sent in a way that the peer does not support",
		[6] = "a communication ID is not valid",
		[7] = "a communication instance is not valid",
		[8] = "nobody listens there: wrong port, or the server is not running",
		[9] = "the transport service type is not supported",
		[10] = "the peer still has an old connection of this QP",
		[11] = "the request has no such RDC",
		[12] = "the primary GID is not the peer's",
		[13] = "the primary LID is not the peer's",
		[14] = "the primary service level is not supported",
		[15] = "the primary traffic class is not supported",
		[16] = "the primary hop limit is too low",
		[17] = "the primary packet rate is not supported",
		[18] = "the alternate GID is not the peer's",
		[19] = "the alternate LID is not the peer's",
		[24] = "the peer's port is another one now: the CM is redirected",
		[25] = "the peer's port was redirected",
		[26] = "the path MTU is not supported",
		[27] = "the peer has not enough responder resources",
		[28] = "the program on the other side has rejected it",
		[29] = "the RNR retry count is not valid",
	};

	return reason > 0 && (size_t)reason < sizeof(texts) / sizeof(texts[0]) && texts[reason] ?
	       texts[reason] : "the peer gives no reason that is known here";
}
