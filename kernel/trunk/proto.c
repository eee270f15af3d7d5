// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * The trunk protocol: hello, the private data that open a trunk, and the header of a frame.
 *
 * All functions are pure. Data need not be aligned. Messages to unpack come from a peer and may be
 * anything; -EPROTO: a message is invalid, and its result is not to be used. Messages of fixed
 * length are packed to RCA_HELLO_LEN bytes, RCA_TRUNK_REQ_LEN and so on, all of which are written.
 */
#include "trunk/proto.h"

#include <asm/byteorder.h>
#include <linux/align.h>
#include <linux/bits.h>
#include <linux/build_bug.h>
#include <linux/errno.h>
#include <linux/minmax.h>
#include <linux/string.h>
#include <rdma/ib_verbs.h>

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

/* Common part of the REQ and the REP that open a trunk. */
struct rca_proto_open {
	__be64 cookie;
	__be64 last;
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
	__be32 reserved1;
	__be16 credits;
	__be16 len;
	u8 records;
	u8 reserved2[3];
} __packed;

static_assert(sizeof(struct rca_proto_frame) == RCA_FRAME_HDR_LEN);

static void put_hello_fields(struct rca_proto_hello *wire, const struct rca_hello *hello)
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

void rca_hello_pack(u8 *data, const struct rca_hello *hello)
{
	struct rca_proto_hello wire;

	put_hello_fields(&wire, hello);
	memcpy(data, &wire, sizeof(wire));
}

/* Returns 0; -ENOMSG: there is no hello, as from stock; -EPROTO. Later bytes are ignored. */
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

/* Returns the highest version that both this host and the sender speak, or 0. */
u8 rca_hello_common_version(const struct rca_hello *hello)
{
	u8 version = min_t(u8, hello->version, RCA_TRUNK_VERSION);

	return version >= max_t(u8, hello->oldest, RCA_TRUNK_OLDEST) ? version : 0;
}

/* Is a hello from the load of a module with this boot identifier? */
bool rca_hello_is_of(const struct rca_hello *hello, const u8 *boot_id)
{
	return !memcmp(hello->boot_id, boot_id, RCA_BOOT_ID_LEN);
}

static void put_open(struct rca_proto_open *wire, const struct rca_trunk_open *open)
{
	wire->cookie = cpu_to_be64(open->cookie);
	wire->last = cpu_to_be64(open->last);
}

/* Unpack the hello and @wire; the token stays 0. */
static int get_open(const u8 *data, size_t len, const struct rca_proto_open *wire,
		    struct rca_trunk_open *open)
{
	struct rca_trunk_open got = {
		.cookie = be64_to_cpu(wire->cookie),
		.last = be64_to_cpu(wire->last),
	};

	if (rca_hello_unpack(data, len, &got.hello))
		return -EPROTO;
	if (!got.cookie)
		return -EPROTO;
	*open = got;
	return 0;
}

void rca_trunk_req_pack(u8 *data, const struct rca_trunk_open *open)
{
	struct rca_proto_trunk_req wire = { .token = cpu_to_be64(open->token) };

	put_hello_fields(&wire.hello, &open->hello);
	put_open(&wire.open, open);
	memcpy(data, &wire, sizeof(wire));
}

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

/* A REP has no token. */
void rca_trunk_rep_pack(u8 *data, const struct rca_trunk_open *open)
{
	struct rca_proto_trunk_rep wire = {};

	put_hello_fields(&wire.hello, &open->hello);
	put_open(&wire.open, open);
	memcpy(data, &wire, sizeof(wire));
}

int rca_trunk_rep_unpack(const u8 *data, size_t len, struct rca_trunk_open *open)
{
	struct rca_proto_trunk_rep wire;

	if (len < sizeof(wire))
		return -EPROTO;
	memcpy(&wire, data, sizeof(wire));
	return get_open(data, len, &wire.open, open);
}

/* For the DREQ of a trunk whose session has ended; @session 0: the link was idle. */
void rca_trunk_dreq_pack(u8 *data, u32 session)
{
	const struct rca_proto_trunk_dreq wire = {
		.magic = cpu_to_be32(RCA_PROTO_MAGIC),
		.session = cpu_to_be32(session),
	};

	memcpy(data, &wire, sizeof(wire));
}

/*
 * Returns 0, and in @session the number of the session that has ended at the peer, or 0: the link
 * was idle. Returns -ENOMSG if the link ends for another reason.
 */
int rca_trunk_dreq_unpack(const u8 *data, size_t len, u32 *session)
{
	struct rca_proto_trunk_dreq wire;

	if (len < sizeof(wire))
		return -ENOMSG;
	memcpy(&wire, data, sizeof(wire));
	if (wire.magic != cpu_to_be32(RCA_PROTO_MAGIC))
		return -ENOMSG;
	*session = be32_to_cpu(wire.session);
	return 0;
}

void rca_frame_hdr_pack(u8 *data, const struct rca_frame_hdr *hdr)
{
	struct rca_proto_frame wire = {
		.cookie = cpu_to_be64(hdr->cookie),
		.number = cpu_to_be32(hdr->number),
		.credits = cpu_to_be16(hdr->credits),
		.len = cpu_to_be16(hdr->len),
		.records = hdr->records,
	};

	memcpy(data, &wire, sizeof(wire));
}

/* Can a frame of this length have this number of records? Each has at least a header. */
static bool frame_holds_records(const struct rca_frame_hdr *hdr)
{
	unsigned int bytes = hdr->len - RCA_FRAME_HDR_LEN;

	return hdr->records ? bytes >= hdr->records * RCA_RECORD_HDR_LEN : !bytes;
}

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
		.credits = be16_to_cpu(wire.credits),
		.len = be16_to_cpu(wire.len),
		.records = wire.records,
	};
	if (got.len != len || !frame_holds_records(&got))
		return -EPROTO;
	*hdr = got;
	return 0;
}

/* The trunk protocol: records. */

#define RCA_RECORD_24_BITS	0xffffff
#define RCA_RECORD_FLOW_MAX	0xfffff
#define RCA_RECORD_ACK_MAX	31
#define RCA_RECORD_RETRY_MAX	7
#define RCA_RECORD_SL_MAX	15
#define RCA_RECORD_RATE_MAX	63
#define RCA_RECORD_DELAY_MAX_MS	60000

/* Bits of rca_proto_qp.flags; others are reserved. */
#define RCA_RECORD_FLOW_CONTROL	BIT(0)
#define RCA_RECORD_SRQ		BIT(1)

struct rca_proto_record {
	u8 type;
	u8 reserved;
	__be16 len;
	__be32 conn;
} __packed;

static_assert(sizeof(struct rca_proto_record) == RCA_RECORD_HDR_LEN);

struct rca_proto_qp {
	__be32 qp_num;
	__be32 psn;
	__be32 ece_vendor_id;
	__be32 ece_attr_mod;
	u8 responder_resources;
	u8 initiator_depth;
	u8 retry_count;
	u8 rnr_retry_count;
	u8 flags;
	u8 reserved[3];
} __packed;

static_assert(sizeof(struct rca_proto_qp) == 24);

/* Last part of a body, before the private data. */
struct rca_proto_private {
	__be16 len;
	__be16 reserved;
} __packed;

struct rca_proto_req {
	struct rca_proto_record hdr;
	__be64 service_id;
	struct rca_proto_qp qp;
	__be32 flow_label;
	__be32 slid;
	__be32 dlid;
	u8 traffic_class;
	u8 hop_limit;
	u8 sl;
	u8 mtu;
	u8 rate;
	u8 ack_timeout;
	u8 qp_type;
	u8 reserved;
	struct rca_proto_private private;
} __packed;

static_assert(sizeof(struct rca_proto_req) == 64);

struct rca_proto_rep {
	struct rca_proto_record hdr;
	struct rca_proto_qp qp;
	u8 ack_delay;
	u8 reserved[3];
	struct rca_proto_private private;
} __packed;

static_assert(sizeof(struct rca_proto_rep) == 40);

struct rca_proto_rej {
	struct rca_proto_record hdr;
	__be16 reason;
	__be16 reserved;
	struct rca_proto_private private;
} __packed;

static_assert(sizeof(struct rca_proto_rej) == 16);

struct rca_proto_dreq {
	struct rca_proto_record hdr;
	__be32 remote_qpn;
} __packed;

static_assert(sizeof(struct rca_proto_dreq) == 12);

struct rca_proto_held {
	struct rca_proto_record hdr;
	__be32 delay_ms;
} __packed;

static_assert(sizeof(struct rca_proto_held) == 12);

struct rca_proto_ask {
	struct rca_proto_record hdr;
	__be32 qp_num;
	__be32 remote_qpn;
} __packed;

static_assert(sizeof(struct rca_proto_ask) == 16);

/* A record without its private data. */
union rca_proto_any {
	struct rca_proto_record hdr;
	struct rca_proto_req req;
	struct rca_proto_rep rep;
	struct rca_proto_rej rej;
	struct rca_proto_dreq dreq;
	struct rca_proto_held held;
	struct rca_proto_ask ask;
};

/* Length of that, and limit of the private data, by type. */
static const struct {
	u16 len;
	u16 private_max;
} rca_proto_types[RCA_RECORD_TYPES] = {
	[RCA_RECORD_REQ] = { sizeof(struct rca_proto_req), RCA_RECORD_PRIVATE_MAX },
	[RCA_RECORD_REP] = { sizeof(struct rca_proto_rep), RCA_RECORD_USER_MAX },
	[RCA_RECORD_RTU] = { sizeof(struct rca_proto_record) },
	[RCA_RECORD_REJ] = { sizeof(struct rca_proto_rej), RCA_RECORD_USER_MAX },
	[RCA_RECORD_DREQ] = { sizeof(struct rca_proto_dreq) },
	[RCA_RECORD_DREP] = { sizeof(struct rca_proto_record) },
	[RCA_RECORD_HELD] = { sizeof(struct rca_proto_held) },
	[RCA_RECORD_PING] = { sizeof(struct rca_proto_record) },
	[RCA_RECORD_ASK] = { sizeof(struct rca_proto_ask) },
};

static bool rca_proto_knows(u8 type)
{
	return type < RCA_RECORD_TYPES && rca_proto_types[type].len;
}

static bool qp_is_valid(const struct rca_record_qp *qp)
{
	return qp->qp_num <= RCA_RECORD_24_BITS && qp->psn <= RCA_RECORD_24_BITS &&
	       qp->retry_count <= RCA_RECORD_RETRY_MAX &&
	       qp->rnr_retry_count <= RCA_RECORD_RETRY_MAX;
}

static bool path_is_valid(const struct rca_record_path *path)
{
	return path->flow_label <= RCA_RECORD_FLOW_MAX && path->sl <= RCA_RECORD_SL_MAX &&
	       path->mtu >= IB_MTU_256 && path->mtu <= IB_MTU_4096 &&
	       path->rate <= RCA_RECORD_RATE_MAX && path->ack_timeout <= RCA_RECORD_ACK_MAX;
}

static bool qp_type_is_valid(u8 type)
{
	return type == IB_QPT_RC || type == IB_QPT_UC || type == IB_QPT_XRC_INI;
}

/* Are the fields of a record in their ranges? */
static bool record_is_valid(const struct rca_trunk_record *record)
{
	if (record->private_len > rca_proto_types[record->type].private_max)
		return false;
	switch (record->type) {
	case RCA_RECORD_REQ:
		return qp_is_valid(&record->qp) && path_is_valid(&record->path) &&
		       qp_type_is_valid(record->qp_type);
	case RCA_RECORD_REP:
		return qp_is_valid(&record->qp) && record->ack_delay <= RCA_RECORD_ACK_MAX;
	case RCA_RECORD_DREQ:
		return record->remote_qpn <= RCA_RECORD_24_BITS;
	case RCA_RECORD_HELD:
		return record->delay_ms <= RCA_RECORD_DELAY_MAX_MS;
	case RCA_RECORD_ASK:
		return record->qp.qp_num <= RCA_RECORD_24_BITS &&
		       record->remote_qpn <= RCA_RECORD_24_BITS;
	default:
		return true;
	}
}

static void put_qp(struct rca_proto_qp *wire, const struct rca_record_qp *qp)
{
	*wire = (struct rca_proto_qp) {
		.qp_num = cpu_to_be32(qp->qp_num),
		.psn = cpu_to_be32(qp->psn),
		.ece_vendor_id = cpu_to_be32(qp->ece_vendor_id),
		.ece_attr_mod = cpu_to_be32(qp->ece_attr_mod),
		.responder_resources = qp->responder_resources,
		.initiator_depth = qp->initiator_depth,
		.retry_count = qp->retry_count,
		.rnr_retry_count = qp->rnr_retry_count,
		.flags = (qp->flow_control ? RCA_RECORD_FLOW_CONTROL : 0) |
			 (qp->srq ? RCA_RECORD_SRQ : 0),
	};
}

static void get_qp(const struct rca_proto_qp *wire, struct rca_record_qp *qp)
{
	*qp = (struct rca_record_qp) {
		.qp_num = be32_to_cpu(wire->qp_num),
		.psn = be32_to_cpu(wire->psn),
		.ece_vendor_id = be32_to_cpu(wire->ece_vendor_id),
		.ece_attr_mod = be32_to_cpu(wire->ece_attr_mod),
		.responder_resources = wire->responder_resources,
		.initiator_depth = wire->initiator_depth,
		.retry_count = wire->retry_count,
		.rnr_retry_count = wire->rnr_retry_count,
		.flow_control = wire->flags & RCA_RECORD_FLOW_CONTROL,
		.srq = wire->flags & RCA_RECORD_SRQ,
	};
}

static void put_req(struct rca_proto_req *wire, const struct rca_trunk_record *record)
{
	const struct rca_record_path *path = &record->path;

	wire->service_id = record->service_id;
	put_qp(&wire->qp, &record->qp);
	wire->flow_label = cpu_to_be32(path->flow_label);
	wire->slid = cpu_to_be32(path->slid);
	wire->dlid = cpu_to_be32(path->dlid);
	wire->traffic_class = path->traffic_class;
	wire->hop_limit = path->hop_limit;
	wire->sl = path->sl;
	wire->mtu = path->mtu;
	wire->rate = path->rate;
	wire->ack_timeout = path->ack_timeout;
	wire->qp_type = record->qp_type;
	wire->private.len = cpu_to_be16(record->private_len);
}

static void get_req(const struct rca_proto_req *wire, struct rca_trunk_record *record)
{
	record->service_id = wire->service_id;
	get_qp(&wire->qp, &record->qp);
	record->path = (struct rca_record_path) {
		.flow_label = be32_to_cpu(wire->flow_label),
		.slid = be32_to_cpu(wire->slid),
		.dlid = be32_to_cpu(wire->dlid),
		.traffic_class = wire->traffic_class,
		.hop_limit = wire->hop_limit,
		.sl = wire->sl,
		.mtu = wire->mtu,
		.rate = wire->rate,
		.ack_timeout = wire->ack_timeout,
	};
	record->qp_type = wire->qp_type;
	record->private_len = be16_to_cpu(wire->private.len);
}

/*
 * Returns the length of the record; -EMSGSIZE: it is longer than @room; -EINVAL: the type is
 * unknown, a field is out of its range, or there is too much private data for the type. Nothing is
 * written then.
 */
int rca_record_pack(u8 *data, size_t room, const struct rca_trunk_record *record)
{
	union rca_proto_any wire = {};
	size_t fixed, len;

	if (!rca_proto_knows(record->type) || !record_is_valid(record))
		return -EINVAL;
	fixed = rca_proto_types[record->type].len;
	len = fixed + ALIGN(record->private_len, 4);
	if (len > room)
		return -EMSGSIZE;

	wire.hdr = (struct rca_proto_record) {
		.type = record->type,
		.len = cpu_to_be16(len),
		.conn = cpu_to_be32(record->conn),
	};
	switch (record->type) {
	case RCA_RECORD_REQ:
		put_req(&wire.req, record);
		break;
	case RCA_RECORD_REP:
		put_qp(&wire.rep.qp, &record->qp);
		wire.rep.ack_delay = record->ack_delay;
		wire.rep.private.len = cpu_to_be16(record->private_len);
		break;
	case RCA_RECORD_REJ:
		wire.rej.reason = cpu_to_be16(record->reason);
		wire.rej.private.len = cpu_to_be16(record->private_len);
		break;
	case RCA_RECORD_DREQ:
		wire.dreq.remote_qpn = cpu_to_be32(record->remote_qpn);
		break;
	case RCA_RECORD_HELD:
		wire.held.delay_ms = cpu_to_be32(record->delay_ms);
		break;
	case RCA_RECORD_ASK:
		wire.ask.qp_num = cpu_to_be32(record->qp.qp_num);
		wire.ask.remote_qpn = cpu_to_be32(record->remote_qpn);
		break;
	}
	memcpy(data, &wire, fixed);
	if (record->private_len)
		memcpy(data + fixed, record->private_data, record->private_len);
	memset(data + fixed + record->private_len, 0, len - fixed - record->private_len);
	return (int)len;
}

static void get_body(const union rca_proto_any *wire, struct rca_trunk_record *record)
{
	switch (record->type) {
	case RCA_RECORD_REQ:
		get_req(&wire->req, record);
		break;
	case RCA_RECORD_REP:
		get_qp(&wire->rep.qp, &record->qp);
		record->ack_delay = wire->rep.ack_delay;
		record->private_len = be16_to_cpu(wire->rep.private.len);
		break;
	case RCA_RECORD_REJ:
		record->reason = be16_to_cpu(wire->rej.reason);
		record->private_len = be16_to_cpu(wire->rej.private.len);
		break;
	case RCA_RECORD_DREQ:
		record->remote_qpn = be32_to_cpu(wire->dreq.remote_qpn);
		break;
	case RCA_RECORD_HELD:
		record->delay_ms = be32_to_cpu(wire->held.delay_ms);
		break;
	case RCA_RECORD_ASK:
		record->qp.qp_num = be32_to_cpu(wire->ask.qp_num);
		record->remote_qpn = be32_to_cpu(wire->ask.remote_qpn);
		break;
	}
}

/*
 * Unpack the first record of the rest of a frame. Returns its length, after which the next record
 * begins, or -EPROTO. Of an unknown type only @type and @conn are set.
 */
int rca_record_unpack(const u8 *data, size_t len, struct rca_trunk_record *record)
{
	union rca_proto_any wire;
	size_t fixed, whole;

	if (len < sizeof(wire.hdr))
		return -EPROTO;
	memcpy(&wire.hdr, data, sizeof(wire.hdr));
	whole = be16_to_cpu(wire.hdr.len);
	if (whole < sizeof(wire.hdr) || whole > len || whole % 4)
		return -EPROTO;

	*record = (struct rca_trunk_record) {
		.type = wire.hdr.type,
		.conn = be32_to_cpu(wire.hdr.conn),
	};
	if (!rca_proto_knows(record->type))
		return (int)whole;
	fixed = rca_proto_types[record->type].len;
	if (whole < fixed)
		return -EPROTO;
	memcpy(&wire, data, fixed);
	get_body(&wire, record);
	if (record->private_len > whole - fixed || !record_is_valid(record))
		return -EPROTO;
	if (record->private_len)
		record->private_data = data + fixed;
	return (int)whole;
}
