// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * Parts of CM messages that ib_cm leaves to its users: service IDs, the IP CM service header, and
 * the private data that remains for user space. Path records, as user space gets them.
 *
 * All functions are pure, and may be called in any context.
 */
#include "lib/wire.h"

#include <linux/bug.h>
#include <linux/build_bug.h>
#include <linux/errno.h>
#include <linux/string.h>
#include <rdma/ib_cm.h>
#include <rdma/ib_sa.h>

#include "lib/testing.h"

#define RCA_WIRE_VERSION 0

/**
 * struct rca_wire_hdr - IP CM service header (IBTA annex A11)
 * @version: RCA_WIRE_VERSION
 * @ip_version: 4 or 6 in the upper half; the lower half is reserved
 * @src_port: port of the sender
 * @src: address of the sender; IPv4 in the last 4 bytes, the others 0
 * @dst: requested address, likewise
 */
struct rca_wire_hdr {
	u8 version;
	u8 ip_version;
	__be16 src_port;
	u8 src[16];
	u8 dst[16];
} __packed;

static_assert(sizeof(struct rca_wire_hdr) == RCA_WIRE_HDR_LEN);

/**
 * struct rca_wire_path - path record of the subnet administrator (IBTA volume 1, 15.2.5.16)
 * @service_id: service ID
 * @dgid: GID of the destination
 * @sgid: GID of the source
 * @dlid: LID of the destination
 * @slid: LID of the source
 * @flow: 1 bit raw traffic, 3 reserved bits, 20 bits flow label, 8 bits hop limit
 * @tclass: traffic class
 * @numb_path: 1 bit reversible, 7 bits number of paths
 * @pkey: partition key
 * @qos_sl: 12 bits class of quality of service, 4 bits service level
 * @mtu: 2 bits selector, 6 bits MTU
 * @rate: 2 bits selector, 6 bits rate
 * @life_time: 2 bits selector, 6 bits packet lifetime
 * @preference: preference
 * @reserved: 0
 */
struct rca_wire_path {
	__be64 service_id;
	union ib_gid dgid;
	union ib_gid sgid;
	__be16 dlid;
	__be16 slid;
	__be32 flow;
	u8 tclass;
	u8 numb_path;
	__be16 pkey;
	__be16 qos_sl;
	u8 mtu;
	u8 rate;
	u8 life_time;
	u8 preference;
	u8 reserved[6];
};

static_assert(sizeof(struct rca_wire_path) == RCA_WIRE_PATH_LEN);

/* Offset of an IPv4 address in a 16 byte field. */
#define RCA_WIRE_IP4 12

/* The service ID of a port in a port space. */
__be64 rca_wire_service_id(u16 ps, __be16 port)
{
	return cpu_to_be64(((u64)ps << 16) + be16_to_cpu(port));
}

/* The service ID of an address; that of an AF_IB address need not belong to a port. */
__be64 rca_wire_addr_service_id(u16 ps, const union rca_addr *addr)
{
	if (addr->sa.sa_family == AF_IB)
		return addr->ib.sib_sid;
	return rca_wire_service_id(ps, rca_addr_port(addr));
}

/* The port of a service ID that belongs to a port. */
__be16 rca_wire_sid_port(__be64 service_id)
{
	return cpu_to_be16((u16)be64_to_cpu(service_id));
}

/* Most bytes of private data of a user in a message of ib_cm; with AF_IB there is no header. */
unsigned int rca_wire_private_max(enum rca_wire_msg msg, sa_family_t family)
{
	unsigned int hdr = family == AF_IB ? 0 : RCA_WIRE_HDR_LEN;

	switch (msg) {
	case RCA_WIRE_REQ:
		return IB_CM_REQ_PRIVATE_DATA_SIZE - hdr;
	case RCA_WIRE_REP:
		return IB_CM_REP_PRIVATE_DATA_SIZE;
	case RCA_WIRE_REJ:
		return IB_CM_REJ_PRIVATE_DATA_SIZE;
	case RCA_WIRE_SIDR_REQ:
		return IB_CM_SIDR_REQ_PRIVATE_DATA_SIZE - hdr;
	case RCA_WIRE_SIDR_REP:
		return IB_CM_SIDR_REP_PRIVATE_DATA_SIZE;
	}
	return 0;
}

/**
 * rca_wire_put_hdr() - write the header that precedes a user's private data
 * @hdr: RCA_WIRE_HDR_LEN bytes, all of which are written
 * @src: our address with its port
 * @dst: address of the peer, of the same family: AF_INET or AF_INET6
 */
RCA_VISIBLE_IF_KUNIT
void rca_wire_put_hdr(u8 *hdr, const union rca_addr *src, const union rca_addr *dst)
{
	struct rca_wire_hdr out = {
		.version = RCA_WIRE_VERSION,
		.src_port = rca_addr_port(src),
	};

	WARN_ON_ONCE(src->sa.sa_family != dst->sa.sa_family);
	switch (src->sa.sa_family) {
	case AF_INET:
		out.ip_version = 4 << 4;
		memcpy(out.src + RCA_WIRE_IP4, &src->in.sin_addr, sizeof(src->in.sin_addr));
		memcpy(out.dst + RCA_WIRE_IP4, &dst->in.sin_addr, sizeof(dst->in.sin_addr));
		break;
	case AF_INET6:
		out.ip_version = 6 << 4;
		memcpy(out.src, &src->in6.sin6_addr, sizeof(out.src));
		memcpy(out.dst, &dst->in6.sin6_addr, sizeof(out.dst));
		break;
	default:
		WARN_ON_ONCE(1);
	}
	memcpy(hdr, &out, sizeof(out));
}

/**
 * rca_wire_put_private() - write the private data of a request: header and data of the user
 * @data: has room for both
 * @src: our address with its port
 * @dst: address of the peer, of the same family; with AF_IB there is no header
 * @user: private data of the user
 * @len: its length
 *
 * Return: bytes of both.
 */
u16 rca_wire_put_private(u8 *data, const union rca_addr *src, const union rca_addr *dst,
			 const void *user, u16 len)
{
	u16 hdr = 0;

	if (dst->sa.sa_family != AF_IB) {
		rca_wire_put_hdr(data, src, dst);
		hdr = RCA_WIRE_HDR_LEN;
	}
	if (len)
		memcpy(data + hdr, user, len);
	return hdr + len;
}

static void rca_wire_get_ip4(union rca_addr *addr, const u8 *field, __be16 port)
{
	rca_addr_set_any(addr, AF_INET);
	memcpy(&addr->in.sin_addr, field + RCA_WIRE_IP4, sizeof(addr->in.sin_addr));
	addr->in.sin_port = port;
}

static void rca_wire_get_ip6(union rca_addr *addr, const u8 *field, __be16 port)
{
	rca_addr_set_any(addr, AF_INET6);
	memcpy(&addr->in6.sin6_addr, field, sizeof(addr->in6.sin6_addr));
	addr->in6.sin6_port = port;
}

/**
 * rca_wire_get_hdr() - read the header that precedes a user's private data
 * @data: private data of a received REQ or SIDR_REQ
 * @len: bytes at @data
 * @dst_port: requested port, from the service ID
 * @src: set to address and port of the peer
 * @dst: set to the requested address, with @dst_port
 *
 * A message for an AF_IB listener has no header, although its private data may look like one:
 * check the family of the listener first. Scope ids are set to 0; the header has none.
 *
 * Return: 0; -EINVAL: too short, unknown version or unknown IP version; neither address is set.
 */
int rca_wire_get_hdr(const void *data, size_t len, __be16 dst_port, union rca_addr *src,
		     union rca_addr *dst)
{
	struct rca_wire_hdr in;

	if (len < sizeof(in))
		return -EINVAL;
	memcpy(&in, data, sizeof(in));
	if (in.version != RCA_WIRE_VERSION)
		return -EINVAL;

	switch (in.ip_version >> 4) {
	case 4:
		rca_wire_get_ip4(src, in.src, in.src_port);
		rca_wire_get_ip4(dst, in.dst, dst_port);
		return 0;
	case 6:
		rca_wire_get_ip6(src, in.src, in.src_port);
		rca_wire_get_ip6(dst, in.dst, dst_port);
		return 0;
	default:
		return -EINVAL;
	}
}

/* A byte with a selector of 2 bits and a value of 6 bits. */
static u8 selected(u8 selector, u8 value)
{
	return selector << 6 | (value & 0x3f);
}

/**
 * rca_wire_put_path() - write a path record
 * @to: RCA_WIRE_PATH_LEN bytes, aligned to 8, all of which are written
 * @path: the path, not of Omni-Path
 *
 * The bytes are those of ib_sa_pack_path(), which interprets a table of the fields and takes ten
 * times as long.
 */
void rca_wire_put_path(void *to, const struct sa_path_rec *path)
{
	struct rca_wire_path *out = to;

	out->service_id = path->service_id;
	out->dgid = path->dgid;
	out->sgid = path->sgid;
	out->dlid = path->ib.dlid;
	out->slid = path->ib.slid;
	out->flow = cpu_to_be32((u32)path->ib.raw_traffic << 31 |
				(be32_to_cpu(path->flow_label) & 0xfffff) << 8 | path->hop_limit);
	out->tclass = path->traffic_class;
	out->numb_path = path->reversible << 7 | (path->numb_path & 0x7f);
	out->pkey = path->pkey;
	out->qos_sl = cpu_to_be16(be16_to_cpu(path->qos_class) << 4 | (path->sl & 0xf));
	out->mtu = selected(path->mtu_selector, path->mtu);
	out->rate = selected(path->rate_selector, path->rate);
	out->life_time = selected(path->packet_life_time_selector, path->packet_life_time);
	out->preference = path->preference;
	memset(out->reserved, 0, sizeof(out->reserved));
}
