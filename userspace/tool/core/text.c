// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/* Text forms of numbers and addresses; makes untrusted names safe to print. */
#include <arpa/inet.h>
#include <infiniband/sa.h>
#include <infiniband/verbs.h>
#include <net/if.h>
#include <netinet/in.h>
#include <rdma/rdma_cm_alt.h>
#include <rdma/rdma_user_cm.h>
#include <stdio.h>
#include <string.h>

#include "tool/core/tool.h"

/**
 * text_clean() - replace characters that are unsafe for terminals and JSON
 * @text: the text
 *
 * Names are untrusted: a process chooses its own name, and the administrator of a network namespace
 * chooses those of its interfaces. Escape sequences could overwrite other output.
 */
void text_clean(char *text)
{
	for (char *pos = text; *pos; pos++)
		if (*pos < ' ' || *pos > '~')
			*pos = '?';
}

/* Reads the first line of a file, without its end. Returns false if there is none. */
bool text_read_line(const char *path, char *line, size_t len)
{
	FILE *file = fopen(path, "re");
	bool good = file && fgets(line, (int)len, file);

	if (file)
		fclose(file);
	if (good)
		line[strcspn(line, "\n")] = '\0';
	return good;
}

/**
 * text_quoted() - quote a word of a command line that the user may copy
 * @text: the word, as text_clean() leaves it
 *
 * Return: a word that a shell reads as @text; valid until the next call
 */
const char *text_quoted(const char *text)
{
	static const char plain[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"
				    "%+,-./0123456789:=@_";
	static const char escaped[] = "'\\''";
	static char quoted[512];
	size_t len = 0;

	if (*text && !text[strspn(text, plain)])
		return text;
	quoted[len++] = '\'';
	for (; *text && len + sizeof(escaped) < sizeof(quoted); text++) {
		if (*text == '\'')
			len = stpcpy(quoted + len, escaped) - quoted;
		else
			quoted[len++] = *text;
	}
	strcpy(quoted + len, "'");
	return quoted;
}

/* Formats the interface of a link-local address: "%eth0"; its index if it no longer exists. */
static void text_scope(unsigned int scope, char *text, size_t len)
{
	char name[IF_NAMESIZE];

	if (!scope) {
		*text = '\0';
	} else if (if_indextoname(scope, name)) {
		text_clean(name);
		snprintf(text, len, "%%%s", name);
	} else {
		snprintf(text, len, "%%%u", scope);
	}
}

/*
 * Formats an address: "192.0.2.1:7471", "[2001:db8::1]:7471", "[fe80::1%eth0]:7471",
 * "fe80::1 sid 0x...". NULL: there is no address, or a wildcard without a port.
 */
struct json_object *text_addr(const struct nlattr *attr)
{
	char ip[INET6_ADDRSTRLEN] = "", scope[IF_NAMESIZE + 1], text[128];
	union any_addr addr = {};
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
		text_scope(addr.in6.sin6_scope_id, scope, sizeof(scope));
		snprintf(text, sizeof(text), "[%s%s]:%u", ip, scope, ntohs(addr.in6.sin6_port));
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
