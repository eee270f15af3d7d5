// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * Headers of datagrams.
 *
 * Locking: none.
 */
#include "rsocket/dgram/dgram_wire.h"

#include <endian.h>
#include <string.h>

#define TAG 0x55555555U

/* Reserved numbers of queue pairs: 0 and 1 for management, and that of multicast. */
#define QPN_SPECIAL 1
#define QPN_MULTICAST 0xffffffU
#define QPN_MASK 0xffffffU

/* struct wire_udp - header of a datagram over UDP; an IPv4 address takes only 4 bytes */
struct wire_udp {
	uint32_t tag;
	uint8_t version;
	uint8_t op;
	uint8_t length;
	uint8_t reserved;
	uint32_t qpn;
	uint8_t addr[16];
};

#define UDP_LEN4 16
#define UDP_LEN6 28

/* struct wire_ud - header of a datagram on a queue pair */
struct wire_ud {
	uint8_t version;
	uint8_t length;
	uint16_t port;
	union {
		struct in_addr ipv4;
		struct {
			uint32_t flowinfo;
			struct in6_addr addr;
		} ipv6;
	};
};

#define UD_LEN4 8
#define UD_LEN6 24

_Static_assert(sizeof(struct wire_udp) == UDP_LEN6 && UDP_LEN6 == RCL_UDP_HEADER_MOST,
	       "the header on UDP");
_Static_assert(sizeof(struct wire_ud) == UD_LEN6 && UD_LEN6 == RCL_UD_HEADER_MOST,
	       "the header on a queue pair");

size_t rcl_data_most(int family)
{
	/* The UDP header is the longer one, and librdmacm receives it into a slot as well. */
	return RCL_SLOT_LEN - (family == AF_INET ? UDP_LEN4 : UDP_LEN6);
}

size_t rcl_udp_pack(uint8_t *wire, const struct rcl_udp_header *header,
		    const union rcl_inet *local)
{
	bool ipv4 = local->sa.sa_family == AF_INET;
	struct wire_udp packed = {
		.tag = htobe32(TAG),
		.version = ipv4 ? 4 : 6,
		.op = (uint8_t)header->op,
		.length = ipv4 ? UDP_LEN4 : UDP_LEN6,
		.qpn = htobe32(header->qpn & QPN_MASK),
	};

	if (ipv4)
		memcpy(packed.addr, &local->sin.sin_addr, sizeof(local->sin.sin_addr));
	else
		memcpy(packed.addr, &local->sin6.sin6_addr, sizeof(local->sin6.sin6_addr));
	memcpy(wire, &packed, packed.length);
	return packed.length;
}

static bool is_known_op(uint8_t op)
{
	return op == RCL_UDP_DATA || op == RCL_UDP_CONTROL;
}

size_t rcl_udp_unpack(struct rcl_udp_header *header, const uint8_t *wire, size_t len,
		      const union rcl_inet *from)
{
	bool ipv4 = from->sa.sa_family == AF_INET;
	size_t expected = ipv4 ? UDP_LEN4 : UDP_LEN6;
	struct wire_udp packed = { 0 };

	if (len < expected)
		return 0;
	memcpy(&packed, wire, expected);
	if (be32toh(packed.tag) != TAG || packed.version != (ipv4 ? 4 : 6) ||
	    packed.length != expected || !is_known_op(packed.op))
		return 0;
	header->op = packed.op;
	header->qpn = be32toh(packed.qpn) & QPN_MASK;
	if (header->qpn <= QPN_SPECIAL || header->qpn == QPN_MULTICAST)
		return 0;
	return expected;
}

size_t rcl_ud_len(int family)
{
	return family == AF_INET ? UD_LEN4 : UD_LEN6;
}

size_t rcl_ud_pack(uint8_t *wire, const union rcl_inet *from)
{
	size_t len = rcl_ud_len(from->sa.sa_family);
	struct wire_ud packed = {
		.version = len == UD_LEN4 ? 4 : 6,
		.length = (uint8_t)len,
		.port = rcl_inet_port(from),
	};

	if (len == UD_LEN4) {
		packed.ipv4 = from->sin.sin_addr;
	} else {
		packed.ipv6.flowinfo = from->sin6.sin6_flowinfo;
		packed.ipv6.addr = from->sin6.sin6_addr;
	}
	memcpy(wire, &packed, len);
	return len;
}

size_t rcl_ud_unpack(union rcl_inet *from, const uint8_t *wire, size_t len)
{
	struct wire_ud packed = { 0 };

	if (len < UD_LEN4)
		return 0;
	memcpy(&packed, wire, len < UD_LEN6 ? len : UD_LEN6);
	memset(from, 0, sizeof(*from));
	if (packed.version == 4 && packed.length == UD_LEN4) {
		from->sin.sin_family = AF_INET;
		from->sin.sin_port = packed.port;
		from->sin.sin_addr = packed.ipv4;
		return UD_LEN4;
	}
	if (packed.version != 6 || packed.length != UD_LEN6 || len < UD_LEN6)
		return 0;
	from->sin6.sin6_family = AF_INET6;
	from->sin6.sin6_port = packed.port;
	from->sin6.sin6_flowinfo = packed.ipv6.flowinfo;
	from->sin6.sin6_addr = packed.ipv6.addr;
	return UD_LEN6;
}
