// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * The trunk protocol: hello, the private data that open a trunk, and the header of a frame.
 *
 * All functions are pure, and may be called in any context. Data need not be aligned. What is
 * unpacked comes from a peer and may be anything.
 */
#include "trunk/proto.h"

#include <asm/byteorder.h>
#include <linux/build_bug.h>
#include <linux/errno.h>
#include <linux/minmax.h>
#include <linux/string.h>

#define RCA_PROTO_MAGIC		0x52434d54	/* "RCMT" */
#define RCA_PROTO_ACK_MAX	31

struct rca_proto_hello {
	__be32 magic;
	u8 version;
	u8 oldest;
	__be16 reserved1;
	__be32 features;
	u8 boot_id[RCA_BOOT_ID_LEN];
	__be64 service_id;
	__be64 ca_guid;
	__be64 token;
	u8 ack_delay;
	u8 reserved2[11];
} __packed;

static_assert(sizeof(struct rca_proto_hello) == RCA_HELLO_LEN);

/* What the REQ and the REP that open a trunk have in common. */
struct rca_proto_open {
	__be64 cookie;
	__be32 session;
	__be32 received;
} __packed;

struct rca_proto_trunk_req {
	struct rca_proto_hello hello;
	__be64 token;
	struct rca_proto_open open;
	u8 reserved[4];
} __packed;

static_assert(sizeof(struct rca_proto_trunk_req) == RCA_TRUNK_REQ_LEN);

struct rca_proto_trunk_rep {
	struct rca_proto_hello hello;
	struct rca_proto_open open;
	u8 reserved[8];
} __packed;

static_assert(sizeof(struct rca_proto_trunk_rep) == RCA_TRUNK_REP_LEN);

struct rca_proto_trunk_dreq {
	__be32 magic;
	__be32 session;
} __packed;

static_assert(sizeof(struct rca_proto_trunk_dreq) == RCA_TRUNK_DREQ_LEN);

struct rca_proto_frame {
	__be64 cookie;
	__be32 number;
	__be32 received;
	__be16 credits;
	__be16 len;
	u8 records;
	u8 reserved[3];
} __packed;

static_assert(sizeof(struct rca_proto_frame) == RCA_FRAME_HDR_LEN);

static void put_hello(struct rca_proto_hello *wire, const struct rca_hello *hello)
{
	*wire = (struct rca_proto_hello) {
		.magic = cpu_to_be32(RCA_PROTO_MAGIC),
		.version = hello->version,
		.oldest = hello->oldest,
		.features = cpu_to_be32(hello->features),
		.service_id = hello->service_id,
		.ca_guid = hello->ca_guid,
		.token = cpu_to_be64(hello->token),
		.ack_delay = hello->ack_delay,
	};
	memcpy(wire->boot_id, hello->boot_id, sizeof(wire->boot_id));
}

/**
 * rca_hello_pack() - write a hello
 * @data: RCA_HELLO_LEN bytes, all of which are written
 * @hello: what to write
 */
void rca_hello_pack(u8 *data, const struct rca_hello *hello)
{
	struct rca_proto_hello wire;

	put_hello(&wire, hello);
	memcpy(data, &wire, sizeof(wire));
}

/**
 * rca_hello_unpack() - read a hello
 * @data: private data of an RTU
 * @len: bytes at @data; what follows the hello is ignored
 * @hello: set on success
 *
 * Return: 0; -ENOMSG: there is no hello, as from stock; -EPROTO: it is invalid.
 */
int rca_hello_unpack(const u8 *data, size_t len, struct rca_hello *hello)
{
	const __be32 magic = cpu_to_be32(RCA_PROTO_MAGIC);
	struct rca_proto_hello wire;

	if (len < sizeof(magic) || memcmp(data, &magic, sizeof(magic)))
		return -ENOMSG;
	if (len < sizeof(wire))
		return -EPROTO;
	memcpy(&wire, data, sizeof(wire));
	if (!wire.version || wire.oldest > wire.version || wire.ack_delay > RCA_PROTO_ACK_MAX)
		return -EPROTO;

	*hello = (struct rca_hello) {
		.service_id = wire.service_id,
		.ca_guid = wire.ca_guid,
		.token = be64_to_cpu(wire.token),
		.features = be32_to_cpu(wire.features),
		.version = wire.version,
		.oldest = wire.oldest,
		.ack_delay = wire.ack_delay,
	};
	memcpy(hello->boot_id, wire.boot_id, sizeof(hello->boot_id));
	return 0;
}

/**
 * rca_hello_common_version() - the version of the protocol to use with a peer
 * @hello: hello of the peer
 *
 * Return: the highest version that both speak, or 0 if there is none.
 */
u8 rca_hello_common_version(const struct rca_hello *hello)
{
	u8 version = min_t(u8, hello->version, RCA_TRUNK_VERSION);

	return version >= max_t(u8, hello->oldest, RCA_TRUNK_OLDEST) ? version : 0;
}

/* Is a hello of the load of a module that has this boot identifier? Any context. Pure. */
bool rca_hello_is_of(const struct rca_hello *hello, const u8 *boot_id)
{
	return !memcmp(hello->boot_id, boot_id, RCA_BOOT_ID_LEN);
}

static void put_open(struct rca_proto_open *wire, const struct rca_trunk_open *open)
{
	wire->cookie = cpu_to_be64(open->cookie);
	wire->session = cpu_to_be32(open->session);
	wire->received = cpu_to_be32(open->received);
}

/* Unpacks the hello and @wire; the token is left 0. */
static int get_open(const u8 *data, size_t len, const struct rca_proto_open *wire,
		    struct rca_trunk_open *open)
{
	struct rca_trunk_open got = {
		.cookie = be64_to_cpu(wire->cookie),
		.session = be32_to_cpu(wire->session),
		.received = be32_to_cpu(wire->received),
	};

	if (rca_hello_unpack(data, len, &got.hello))
		return -EPROTO;
	if (!got.cookie || (!got.session && got.received))
		return -EPROTO;
	*open = got;
	return 0;
}

/**
 * rca_trunk_req_pack() - write the private data of the REQ that opens a trunk
 * @data: RCA_TRUNK_REQ_LEN bytes, all of which are written
 * @open: what to write
 */
void rca_trunk_req_pack(u8 *data, const struct rca_trunk_open *open)
{
	struct rca_proto_trunk_req wire = { .token = cpu_to_be64(open->token) };

	put_hello(&wire.hello, &open->hello);
	put_open(&wire.open, open);
	memcpy(data, &wire, sizeof(wire));
}

/**
 * rca_trunk_req_unpack() - read the private data of a REQ that opens a trunk
 * @data: private data of the REQ
 * @len: bytes at @data
 * @open: set on success
 *
 * Return: 0, or -EPROTO.
 */
int rca_trunk_req_unpack(const u8 *data, size_t len, struct rca_trunk_open *open)
{
	struct rca_proto_trunk_req wire;
	int ret;

	if (len < sizeof(wire))
		return -EPROTO;
	memcpy(&wire, data, sizeof(wire));
	ret = get_open(data, len, &wire.open, open);
	if (!ret)
		open->token = be64_to_cpu(wire.token);
	return ret;
}

/**
 * rca_trunk_rep_pack() - write the private data of the REP that opens a trunk
 * @data: RCA_TRUNK_REP_LEN bytes, all of which are written
 * @open: what to write; the token is not in a REP
 */
void rca_trunk_rep_pack(u8 *data, const struct rca_trunk_open *open)
{
	struct rca_proto_trunk_rep wire = {};

	put_hello(&wire.hello, &open->hello);
	put_open(&wire.open, open);
	memcpy(data, &wire, sizeof(wire));
}

/**
 * rca_trunk_rep_unpack() - read the private data of a REP that opens a trunk
 * @data: private data of the REP
 * @len: bytes at @data
 * @open: set on success; its token is 0
 *
 * Return: 0, or -EPROTO.
 */
int rca_trunk_rep_unpack(const u8 *data, size_t len, struct rca_trunk_open *open)
{
	struct rca_proto_trunk_rep wire;

	if (len < sizeof(wire))
		return -EPROTO;
	memcpy(&wire, data, sizeof(wire));
	return get_open(data, len, &wire.open, open);
}

/**
 * rca_trunk_dreq_pack() - write the private data of the DREQ of a trunk whose session is lost
 * @data: RCA_TRUNK_DREQ_LEN bytes, all of which are written
 * @session: number of the session
 */
void rca_trunk_dreq_pack(u8 *data, u32 session)
{
	const struct rca_proto_trunk_dreq wire = {
		.magic = cpu_to_be32(RCA_PROTO_MAGIC),
		.session = cpu_to_be32(session),
	};

	memcpy(data, &wire, sizeof(wire));
}

/**
 * rca_trunk_dreq_unpack() - read the private data of the DREQ of a trunk
 * @data: the private data
 * @len: its length
 *
 * Return: number of the session that the peer has lost; 0: only the link ends.
 */
u32 rca_trunk_dreq_unpack(const u8 *data, size_t len)
{
	struct rca_proto_trunk_dreq wire;

	if (len < sizeof(wire))
		return 0;
	memcpy(&wire, data, sizeof(wire));
	return wire.magic == cpu_to_be32(RCA_PROTO_MAGIC) ? be32_to_cpu(wire.session) : 0;
}

/**
 * rca_frame_hdr_pack() - write the header of a frame
 * @data: RCA_FRAME_HDR_LEN bytes, all of which are written
 * @hdr: what to write
 */
void rca_frame_hdr_pack(u8 *data, const struct rca_frame_hdr *hdr)
{
	struct rca_proto_frame wire = {
		.cookie = cpu_to_be64(hdr->cookie),
		.number = cpu_to_be32(hdr->number),
		.received = cpu_to_be32(hdr->received),
		.credits = cpu_to_be16(hdr->credits),
		.len = cpu_to_be16(hdr->len),
		.records = hdr->records,
	};

	memcpy(data, &wire, sizeof(wire));
}

/* Whether a frame of this length can have so many records: each has at least a header. */
static bool frame_holds_records(const struct rca_frame_hdr *hdr)
{
	unsigned int bytes = hdr->len - RCA_FRAME_HDR_LEN;

	return hdr->records ? bytes >= hdr->records * RCA_RECORD_HDR_LEN : !bytes;
}

/**
 * rca_frame_hdr_unpack() - read the header of a frame
 * @data: the frame
 * @len: its length, as received
 * @hdr: set on success
 *
 * Return: 0, or -EPROTO.
 */
int rca_frame_hdr_unpack(const u8 *data, size_t len, struct rca_frame_hdr *hdr)
{
	struct rca_proto_frame wire;
	struct rca_frame_hdr got;

	if (len < sizeof(wire) || len > RCA_FRAME_MAX || len % 4)
		return -EPROTO;
	memcpy(&wire, data, sizeof(wire));
	got = (struct rca_frame_hdr) {
		.cookie = be64_to_cpu(wire.cookie),
		.number = be32_to_cpu(wire.number),
		.received = be32_to_cpu(wire.received),
		.credits = be16_to_cpu(wire.credits),
		.len = be16_to_cpu(wire.len),
		.records = wire.records,
	};
	if (got.len != len || !frame_holds_records(&got))
		return -EPROTO;
	*hdr = got;
	return 0;
}
