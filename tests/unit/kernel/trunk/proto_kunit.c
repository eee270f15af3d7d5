// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * Tests of kernel/trunk/proto.c: the bytes of each message, and hostile ones.
 */
#include <kunit/test.h>
#include <linux/errno.h>
#include <linux/slab.h>
#include <linux/string.h>
#include <rdma/ib_verbs.h>

#include "trunk/proto.h"

/* Both ends of a trunk may run different builds, so these bytes never change. */
static const u8 hello_bytes[] = {
	0x52, 0x43, 0x4d, 0x54,	/* magic */
	0x01, 0x01, 0x00, 0x00,	/* versions */
	0x01, 0x02, 0x03, 0x04,	/* features */
	0x10, 0x11, 0x12, 0x13, 0x14, 0x15, 0x16, 0x17, 0x18, 0x19, 0x1a, 0x1b,	/* boot ID */
	0x1c, 0x1d, 0x1e, 0x1f,
	0x21, 0x22, 0x23, 0x24, 0x25, 0x26, 0x27, 0x28,	/* service ID */
	0x31, 0x32, 0x33, 0x34, 0x35, 0x36, 0x37, 0x38,	/* CA GUID */
	0x41, 0x42, 0x43, 0x44, 0x45, 0x46, 0x47, 0x48,	/* token */
	0x1f, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00,	/* ACK delay */
};

static const u8 trunk_req_bytes[] = {
	0x52, 0x43, 0x4d, 0x54,	/* magic */
	0x01, 0x01, 0x00, 0x00,	/* versions */
	0x01, 0x02, 0x03, 0x04,	/* features */
	0x10, 0x11, 0x12, 0x13, 0x14, 0x15, 0x16, 0x17, 0x18, 0x19, 0x1a, 0x1b,	/* boot ID */
	0x1c, 0x1d, 0x1e, 0x1f,
	0x21, 0x22, 0x23, 0x24, 0x25, 0x26, 0x27, 0x28,	/* service ID */
	0x31, 0x32, 0x33, 0x34, 0x35, 0x36, 0x37, 0x38,	/* CA GUID */
	0x41, 0x42, 0x43, 0x44, 0x45, 0x46, 0x47, 0x48,	/* token */
	0x1f, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00,	/* ACK delay */
	0x51, 0x52, 0x53, 0x54, 0x55, 0x56, 0x57, 0x58,	/* token of the receiver */
	0x61, 0x62, 0x63, 0x64, 0x65, 0x66, 0x67, 0x68,	/* cookie */
	0x71, 0x72, 0x73, 0x74, 0x81, 0x82, 0x83, 0x84,	/* last cookie */
	0x00, 0x00, 0x00, 0x00,	/* reserved */
};

static const u8 trunk_rep_bytes[] = {
	0x52, 0x43, 0x4d, 0x54,	/* magic */
	0x01, 0x01, 0x00, 0x00,	/* versions */
	0x01, 0x02, 0x03, 0x04,	/* features */
	0x10, 0x11, 0x12, 0x13, 0x14, 0x15, 0x16, 0x17, 0x18, 0x19, 0x1a, 0x1b,	/* boot ID */
	0x1c, 0x1d, 0x1e, 0x1f,
	0x21, 0x22, 0x23, 0x24, 0x25, 0x26, 0x27, 0x28,	/* service ID */
	0x31, 0x32, 0x33, 0x34, 0x35, 0x36, 0x37, 0x38,	/* CA GUID */
	0x41, 0x42, 0x43, 0x44, 0x45, 0x46, 0x47, 0x48,	/* token */
	0x1f, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00,	/* ACK delay */
	0x61, 0x62, 0x63, 0x64, 0x65, 0x66, 0x67, 0x68,	/* cookie */
	0x71, 0x72, 0x73, 0x74, 0x81, 0x82, 0x83, 0x84,	/* last cookie */
	0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00,	/* reserved */
};

static const u8 frame_bytes[68] = {
	0x11, 0x12, 0x13, 0x14, 0x15, 0x16, 0x17, 0x18,	/* cookie */
	0x21, 0x22, 0x23, 0x24, 0x00, 0x00, 0x00, 0x00,	/* number, reserved */
	0x41, 0x42, 0x00, 0x44, 0x02, 0x00, 0x00, 0x00,	/* credits, length, records */
};

static const u8 req_bytes[] = {
	0x01, 0x00, 0x00, 0x48,	/* type, length */
	0x01, 0x02, 0x03, 0x04,	/* number of the connection */
	0x51, 0x52, 0x53, 0x54, 0x55, 0x56, 0x57, 0x58,	/* service ID */
	0x00, 0x11, 0x12, 0x13, 0x00, 0x21, 0x22, 0x23,	/* QP, PSN */
	0x31, 0x32, 0x33, 0x34, 0x41, 0x42, 0x43, 0x44,	/* ECE */
	0x05, 0x06, 0x07, 0x04, 0x01, 0x00, 0x00, 0x00,	/* depths, retries, flags */
	0x00, 0x06, 0x16, 0x26, 0x71, 0x72, 0x73, 0x74, 0x81, 0x82, 0x83, 0x84,	/* label, LIDs */
	0x91, 0x92, 0x0e, 0x04, 0x11, 0x12, 0x02, 0x00,	/* path, QP type */
	0x00, 0x05, 0x00, 0x00,	/* length of private data */
	0x61, 0x62, 0x63, 0x64, 0x65, 0x00, 0x00, 0x00,
};

static const u8 rep_bytes[] = {
	0x02, 0x00, 0x00, 0x2c,	/* type, length */
	0x01, 0x02, 0x03, 0x04,	/* number of the connection */
	0x00, 0x11, 0x12, 0x13, 0x00, 0x21, 0x22, 0x23,	/* QP, PSN */
	0x31, 0x32, 0x33, 0x34, 0x41, 0x42, 0x43, 0x44,	/* ECE */
	0x05, 0x06, 0x07, 0x04, 0x02, 0x00, 0x00, 0x00,	/* depths, retries, flags */
	0x15, 0x00, 0x00, 0x00,	/* ACK delay */
	0x00, 0x04, 0x00, 0x00,	/* length of private data */
	0x61, 0x62, 0x63, 0x64,
};

static const u8 rtu_bytes[] = {
	0x03, 0x00, 0x00, 0x08,	/* type, length */
	0x01, 0x02, 0x03, 0x04,	/* number of the connection */
};

static const u8 rej_bytes[] = {
	0x04, 0x00, 0x00, 0x14,	/* type, length */
	0x01, 0x02, 0x03, 0x04,	/* number of the connection */
	0x00, 0x1c, 0x00, 0x00,	/* reason */
	0x00, 0x01, 0x00, 0x00,	/* length of private data */
	0x78, 0x00, 0x00, 0x00,
};

static const u8 dreq_bytes[] = {
	0x05, 0x00, 0x00, 0x0c,	/* type, length */
	0x01, 0x02, 0x03, 0x04,	/* number of the connection */
	0x00, 0x11, 0x22, 0x33,	/* QP */
};

static const u8 drep_bytes[] = {
	0x06, 0x00, 0x00, 0x08,	/* type, length */
	0x01, 0x02, 0x03, 0x04,	/* number of the connection */
};

static const u8 held_bytes[] = {
	0x07, 0x00, 0x00, 0x0c,	/* type, length */
	0x01, 0x02, 0x03, 0x04,	/* number of the connection */
	0x00, 0x00, 0xea, 0x60,	/* ms */
};

static const u8 ping_bytes[] = {
	0x08, 0x00, 0x00, 0x08,	/* type, length */
	0x01, 0x02, 0x03, 0x04,	/* number of the connection */
};

static const u8 ask_bytes[] = {
	0x09, 0x00, 0x00, 0x10,	/* type, length */
	0x01, 0x02, 0x03, 0x04,	/* number of the connection */
	0x00, 0x11, 0x12, 0x13, 0x00, 0x11, 0x22, 0x33,	/* QPs */
};

enum kind { HELLO, TRUNK_REQ, TRUNK_REP, FRAME, RECORD };

union any {
	struct rca_hello hello;
	struct rca_trunk_open open;
	struct rca_frame_hdr frame;
	struct rca_trunk_record record;
};

#define HELLO_FIELDS {							\
	.boot_id = { 0x10, 0x11, 0x12, 0x13, 0x14, 0x15, 0x16, 0x17,	\
		     0x18, 0x19, 0x1a, 0x1b, 0x1c, 0x1d, 0x1e, 0x1f },	\
	.service_id = cpu_to_be64(0x2122232425262728),			\
	.ca_guid = cpu_to_be64(0x3132333435363738),			\
	.token = 0x4142434445464748,					\
	.features = 0x01020304,						\
	.version = 1,							\
	.oldest = 1,							\
	.ack_delay = 31,						\
}

#define QP_FIELDS							\
	.qp_num = 0x111213, .psn = 0x212223,				\
	.ece_vendor_id = 0x31323334, .ece_attr_mod = 0x41424344,	\
	.responder_resources = 5, .initiator_depth = 6,			\
	.retry_count = 7, .rnr_retry_count = 4

#define RECORD_FIELDS(record_type)					\
	.type = (record_type), .conn = 0x01020304

#define PRIVATE(text)							\
	.private_len = sizeof(text) - 1, .private_data = (const u8 *)(text)

static const union any hello = { .hello = HELLO_FIELDS };

static const union any trunk_req = { .open = {
	.hello = HELLO_FIELDS,
	.token = 0x5152535455565758,
	.cookie = 0x6162636465666768,
	.last = 0x7172737481828384,
} };

static const union any trunk_rep = { .open = {
	.hello = HELLO_FIELDS,
	.cookie = 0x6162636465666768,
	.last = 0x7172737481828384,
} };

static const union any frame = { .frame = {
	.cookie = 0x1112131415161718,
	.number = 0x21222324,
	.credits = 0x4142,
	.len = 68,
	.records = 2,
} };

static const union any req = { .record = {
	RECORD_FIELDS(RCA_RECORD_REQ),
	.service_id = cpu_to_be64(0x5152535455565758),
	.qp_type = IB_QPT_RC,
	.qp = { QP_FIELDS, .flow_control = true },
	.path = {
		.flow_label = 0x61626,
		.slid = 0x71727374,
		.dlid = 0x81828384,
		.traffic_class = 0x91,
		.hop_limit = 0x92,
		.sl = 14,
		.mtu = IB_MTU_2048,
		.rate = 0x11,
		.ack_timeout = 0x12,
	},
	PRIVATE("abcde"),
} };

static const union any rep = { .record = {
	RECORD_FIELDS(RCA_RECORD_REP),
	.qp = { QP_FIELDS, .srq = true },
	.ack_delay = 0x15,
	PRIVATE("abcd"),
} };

static const union any rtu = { .record = { RECORD_FIELDS(RCA_RECORD_RTU) } };
static const union any rej = { .record = {
	RECORD_FIELDS(RCA_RECORD_REJ), .reason = 28, PRIVATE("x"),
} };

static const union any dreq = { .record = {
	RECORD_FIELDS(RCA_RECORD_DREQ), .remote_qpn = 0x112233,
} };

static const union any drep = { .record = { RECORD_FIELDS(RCA_RECORD_DREP) } };
static const union any held = { .record = {
	RECORD_FIELDS(RCA_RECORD_HELD), .delay_ms = 60000,
} };

static const union any ping = { .record = { RECORD_FIELDS(RCA_RECORD_PING) } };
static const union any ask = { .record = {
	RECORD_FIELDS(RCA_RECORD_ASK), .qp.qp_num = 0x111213, .remote_qpn = 0x112233,
} };

/* Records are last. @packed: packed bytes; a frame has more. */
struct message {
	const char *name;
	enum kind kind;
	const union any *fields;
	const u8 *bytes;
	size_t len;
	size_t packed;
};

#define MESSAGE(message_kind, message)						\
	{ #message, message_kind, &(message), message##_bytes, sizeof(message##_bytes),	\
	  (message_kind) == FRAME ? RCA_FRAME_HDR_LEN : sizeof(message##_bytes) }

static const struct message messages[] = {
	MESSAGE(HELLO, hello), MESSAGE(TRUNK_REQ, trunk_req), MESSAGE(TRUNK_REP, trunk_rep),
	MESSAGE(FRAME, frame), MESSAGE(RECORD, req), MESSAGE(RECORD, rep), MESSAGE(RECORD, rtu),
	MESSAGE(RECORD, rej), MESSAGE(RECORD, dreq), MESSAGE(RECORD, drep), MESSAGE(RECORD, held),
	MESSAGE(RECORD, ping), MESSAGE(RECORD, ask),
};

#define FIRST_RECORD 4

static void message_desc(const struct message *m, char *desc)
{
	strscpy(desc, m->name, KUNIT_PARAM_DESC_SIZE);
}

KUNIT_ARRAY_PARAM(message, messages, message_desc);

/* Returns the length of a message that was written, or an errno. */
static int pack(enum kind kind, const union any *from, u8 *data, size_t room)
{
	switch (kind) {
	case HELLO:
		rca_hello_pack(data, &from->hello);
		return RCA_HELLO_LEN;
	case TRUNK_REQ:
		rca_trunk_req_pack(data, &from->open);
		return RCA_TRUNK_REQ_LEN;
	case TRUNK_REP:
		rca_trunk_rep_pack(data, &from->open);
		return RCA_TRUNK_REP_LEN;
	case FRAME:
		rca_frame_hdr_pack(data, &from->frame);
		return RCA_FRAME_HDR_LEN;
	case RECORD:
		return rca_record_pack(data, room, &from->record);
	}
	return -EINVAL;
}

/* Returns 0, the length of a record, or an errno. */
static int unpack(enum kind kind, const u8 *data, size_t len, union any *to)
{
	switch (kind) {
	case HELLO:
		return rca_hello_unpack(data, len, &to->hello);
	case TRUNK_REQ:
		return rca_trunk_req_unpack(data, len, &to->open);
	case TRUNK_REP:
		return rca_trunk_rep_unpack(data, len, &to->open);
	case FRAME:
		return rca_frame_hdr_unpack(data, len, &to->frame);
	case RECORD:
		return rca_record_unpack(data, len, &to->record);
	}
	return -EINVAL;
}

/* Packs a message into memory of the length that @m has, at an odd address. */
static void expect_bytes(struct kunit *test, const struct message *m, const union any *from)
{
	u8 *room = kunit_kzalloc(test, RCA_FRAME_MAX + 1, GFP_KERNEL);

	KUNIT_ASSERT_NOT_NULL(test, room);
	memset(room, 0xa5, RCA_FRAME_MAX + 1);
	KUNIT_ASSERT_EQ(test, (int)m->packed, pack(m->kind, from, room + 1, m->packed));
	KUNIT_EXPECT_EQ(test, 0, memcmp(room + 1, m->bytes, m->packed));
	KUNIT_EXPECT_EQ(test, 0xa5, room[m->packed + 1]);
}

static void packed_message_has_these_bytes(struct kunit *test)
{
	const struct message *m = test->param_value;

	expect_bytes(test, m, m->fields);
}

static void unpacked_message_packs_to_the_same(struct kunit *test)
{
	const struct message *m = test->param_value;
	u8 *odd = kunit_kzalloc(test, m->len + 1, GFP_KERNEL);
	union any got;

	KUNIT_ASSERT_NOT_NULL(test, odd);
	memcpy(odd + 1, m->bytes, m->len);
	memset(&got, 0xa5, sizeof(got));

	KUNIT_ASSERT_EQ(test, m->kind == RECORD ? (int)m->len : 0,
			unpack(m->kind, odd + 1, m->len, &got));
	expect_bytes(test, m, &got);
}

static void truncated_message_is_refused(struct kunit *test)
{
	const struct message *m = test->param_value;
	union any got;
	size_t len;

	for (len = 0; len < m->len; len++) {
		/* Allocate exactly that length, so that KASAN finds a read beyond it. */
		u8 *data = kmemdup(m->bytes, len ?: 1, GFP_KERNEL);
		int want = m->kind == HELLO && len < 4 ? -ENOMSG : -EPROTO;

		KUNIT_ASSERT_NOT_NULL(test, data);
		KUNIT_EXPECT_EQ_MSG(test, want, unpack(m->kind, data, len, &got), "%zu bytes",
				    len);
		kfree(data);
	}
}

/* Accepted messages are the same after packing and unpacking. */
static void bit_flip_is_harmless(struct kunit *test)
{
	const struct message *m = test->param_value;
	u8 *data = kunit_kzalloc(test, m->len, GFP_KERNEL);
	u8 first[512], second[512];
	union any got, again;
	size_t bit;
	int len;

	KUNIT_ASSERT_NOT_NULL(test, data);
	for (bit = 0; bit < 8 * m->len; bit++) {
		memcpy(data, m->bytes, m->len);
		data[bit / 8] ^= 1 << bit % 8;
		if (unpack(m->kind, data, m->len, &got) < 0 ||
		    (m->kind == RECORD && data[0] >= RCA_RECORD_TYPES) ||
		    (m->kind == RECORD && !data[0]))
			continue;
		len = pack(m->kind, &got, first, sizeof(first));
		KUNIT_ASSERT_GT(test, len, 0);
		if (m->kind == FRAME) {
			/* Bytes 12 to 15, and the last three, are reserved. */
			KUNIT_ASSERT_EQ(test, 0, memcmp(first, data, 12));
			KUNIT_ASSERT_EQ(test, 0, memcmp(first + 16, data + 16, 5));
			continue;
		}
		KUNIT_ASSERT_GE(test, unpack(m->kind, first, len, &again), 0);
		KUNIT_ASSERT_EQ(test, len, pack(m->kind, &again, second, sizeof(second)));
		KUNIT_ASSERT_EQ(test, 0, memcmp(first, second, len));
	}
}

/* A message of @messages with @len bytes replaced at @offset. */
struct changed {
	const char *name;
	const union any *message;
	size_t offset;
	size_t len;
	u8 value[8];
	int want;
};

static const struct changed changes[] = {
	{ "hello: stock sends zeros", &hello, 0, 4, { 0, 0, 0, 0 }, -ENOMSG },
	{ "hello: other magic", &hello, 3, 1, { 'U' }, -ENOMSG },
	{ "hello: version 0", &hello, 4, 2, { 0, 0 }, -EPROTO },
	{ "hello: oldest after version", &hello, 5, 1, { 2 }, -EPROTO },
	{ "hello: a later version", &hello, 4, 2, { 255, 255 }, 0 },
	{ "hello: any version", &hello, 4, 2, { 255, 0 }, 0 },
	{ "hello: reserved bytes", &hello, 6, 2, { 1, 1 }, 0 },
	{ "hello: reserved bytes at the end", &hello, 53, 8, { 1, 1, 1, 1, 1, 1, 1, 1 }, 0 },
	{ "hello: ACK delay 32", &hello, 52, 1, { 32 }, -EPROTO },
	{ "trunk REQ: no magic", &trunk_req, 0, 4, { 0, 0, 0, 0 }, -EPROTO },
	{ "trunk REQ: oldest after version", &trunk_req, 5, 1, { 2 }, -EPROTO },
	{ "trunk REQ: ACK delay 32", &trunk_req, 52, 1, { 32 }, -EPROTO },
	{ "trunk REQ: cookie 0", &trunk_req, 72, 8, { 0 }, -EPROTO },
	{ "trunk REQ: the first link", &trunk_req, 80, 8, { 0 }, 0 },
	{ "trunk REQ: reserved bytes", &trunk_req, 88, 4, { 1, 1, 1, 1 }, 0 },
	{ "trunk REP: no magic", &trunk_rep, 0, 4, { 0, 0, 0, 0 }, -EPROTO },
	{ "trunk REP: version 0", &trunk_rep, 4, 2, { 0, 0 }, -EPROTO },
	{ "trunk REP: cookie 0", &trunk_rep, 64, 8, { 0 }, -EPROTO },
	{ "frame: shorter than received", &frame, 18, 2, { 0, 64 }, -EPROTO },
	{ "frame: longer than received", &frame, 18, 2, { 0, 72 }, -EPROTO },
	{ "frame: no records and yet bytes", &frame, 20, 1, { 0 }, -EPROTO },
	{ "frame: 5 records fit", &frame, 20, 1, { 5 }, 0 },
	{ "frame: 6 records do not fit", &frame, 20, 1, { 6 }, -EPROTO },
	{ "frame: reserved bytes", &frame, 21, 3, { 1, 1, 1 }, 0 },
	{ "frame: reserved bytes after the number", &frame, 12, 4, { 1, 1, 1, 1 }, 0 },
	{ "record: length 0", &ping, 2, 2, { 0, 0 }, -EPROTO },
	{ "record: shorter than its header", &ping, 2, 2, { 0, 4 }, -EPROTO },
	{ "record: beyond the frame", &ping, 2, 2, { 0, 12 }, -EPROTO },
	{ "record: far beyond the frame", &ping, 2, 2, { 0xff, 0xfc }, -EPROTO },
	{ "record: not a multiple of 4", &req, 2, 2, { 0, 70 }, -EPROTO },
	{ "record: reserved byte", &ping, 1, 1, { 1 }, 8 },
	{ "REQ: shorter than its fields", &req, 2, 2, { 0, 60 }, -EPROTO },
	{ "REQ: no room for private data", &req, 2, 2, { 0, 64 }, -EPROTO },
	{ "REQ: QP number of 25 bits", &req, 16, 4, { 1, 0, 0, 0 }, -EPROTO },
	{ "REQ: PSN of 25 bits", &req, 20, 4, { 1, 0, 0, 0 }, -EPROTO },
	{ "REQ: greatest QP number, PSN", &req, 16, 8, { 0, 255, 255, 255, 0, 255, 255, 255 }, 72 },
	{ "REQ: retry count 8", &req, 34, 1, { 8 }, -EPROTO },
	{ "REQ: RNR retry count 8", &req, 35, 1, { 8 }, -EPROTO },
	{ "REQ: unknown flags", &req, 36, 4, { 0xff, 1, 1, 1 }, 72 },
	{ "REQ: flow label of 21 bits", &req, 40, 4, { 0, 0x10, 0, 0 }, -EPROTO },
	{ "REQ: greatest flow label", &req, 40, 4, { 0, 0xf, 0xff, 0xff }, 72 },
	{ "REQ: service level 16", &req, 54, 1, { 16 }, -EPROTO },
	{ "REQ: MTU 0", &req, 55, 1, { 0 }, -EPROTO },
	{ "REQ: MTU 6", &req, 55, 1, { 6 }, -EPROTO },
	{ "REQ: MTU 256", &req, 55, 1, { IB_MTU_256 }, 72 },
	{ "REQ: MTU 4096", &req, 55, 1, { IB_MTU_4096 }, 72 },
	{ "REQ: rate of 7 bits", &req, 56, 1, { 64 }, -EPROTO },
	{ "REQ: ACK timeout 32", &req, 57, 1, { 32 }, -EPROTO },
	{ "REQ: QP of datagrams", &req, 58, 1, { IB_QPT_UD }, -EPROTO },
	{ "REQ: QP 0", &req, 58, 1, { IB_QPT_SMI }, -EPROTO },
	{ "REQ: XRC target", &req, 58, 1, { IB_QPT_XRC_TGT }, -EPROTO },
	{ "REQ: UC", &req, 58, 1, { IB_QPT_UC }, 72 },
	{ "REQ: XRC", &req, 58, 1, { IB_QPT_XRC_INI }, 72 },
	{ "REQ: private data up to the end", &req, 60, 2, { 0, 8 }, 72 },
	{ "REQ: private data beyond the end", &req, 60, 2, { 0, 9 }, -EPROTO },
	{ "REQ: endless private data", &req, 60, 2, { 255, 255 }, -EPROTO },
	{ "REP: shorter than its fields", &rep, 2, 2, { 0, 36 }, -EPROTO },
	{ "REP: QP number of 25 bits", &rep, 8, 1, { 1 }, -EPROTO },
	{ "REP: PSN of 25 bits", &rep, 12, 1, { 1 }, -EPROTO },
	{ "REP: retry count 8", &rep, 26, 1, { 8 }, -EPROTO },
	{ "REP: RNR retry count 8", &rep, 27, 1, { 8 }, -EPROTO },
	{ "REP: ACK delay 32", &rep, 32, 1, { 32 }, -EPROTO },
	{ "REP: private data beyond the end", &rep, 36, 2, { 0, 5 }, -EPROTO },
	{ "REP: bytes after less private data", &rep, 36, 2, { 0, 0 }, 44 },
	{ "REJ: shorter than its fields", &rej, 2, 2, { 0, 12 }, -EPROTO },
	{ "REJ: any reason", &rej, 8, 2, { 255, 255 }, 20 },
	{ "REJ: private data beyond the end", &rej, 12, 2, { 0, 5 }, -EPROTO },
	{ "DREQ: shorter than its fields", &dreq, 2, 2, { 0, 8 }, -EPROTO },
	{ "DREQ: QP number of 25 bits", &dreq, 8, 1, { 1 }, -EPROTO },
	{ "ASK: shorter than its fields", &ask, 2, 2, { 0, 12 }, -EPROTO },
	{ "ASK: QP number of 25 bits", &ask, 8, 1, { 1 }, -EPROTO },
	{ "ASK: remote QP number of 25 bits", &ask, 12, 1, { 1 }, -EPROTO },
	{ "HELD: shorter than its fields", &held, 2, 2, { 0, 8 }, -EPROTO },
	{ "HELD: more than a minute", &held, 8, 4, { 0, 0, 0xea, 0x61 }, -EPROTO },
};

static void changed_desc(const struct changed *c, char *desc)
{
	strscpy(desc, c->name, KUNIT_PARAM_DESC_SIZE);
}

KUNIT_ARRAY_PARAM(changed, changes, changed_desc);

static const struct message *message_of(struct kunit *test, const union any *fields)
{
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(messages); i++) {
		if (messages[i].fields == fields)
			return &messages[i];
	}
	KUNIT_FAIL(test, "not in messages[]");
	return NULL;
}

static void changed_message_is_judged(struct kunit *test)
{
	const struct changed *c = test->param_value;
	const struct message *m = message_of(test, c->message);
	union any got;
	u8 *data;

	KUNIT_ASSERT_NOT_NULL(test, m);
	data = kunit_kzalloc(test, m->len, GFP_KERNEL);
	KUNIT_ASSERT_NOT_NULL(test, data);
	memcpy(data, m->bytes, m->len);
	memcpy(data + c->offset, c->value, c->len);

	KUNIT_EXPECT_EQ(test, c->want, unpack(m->kind, data, m->len, &got));
}

static void dreq_may_name_a_session(struct kunit *test)
{
	static const u8 bytes[] = { 0x52, 0x43, 0x4d, 0x54, 0x71, 0x72, 0x73, 0x74 };
	u8 data[RCA_TRUNK_DREQ_LEN];
	u32 session;

	rca_trunk_dreq_pack(data, 0x71727374);
	KUNIT_EXPECT_EQ(test, 0, memcmp(data, bytes, sizeof(bytes)));
	KUNIT_EXPECT_EQ(test, 0, rca_trunk_dreq_unpack(data, sizeof(data), &session));
	KUNIT_EXPECT_EQ(test, 0x71727374U, session);
	KUNIT_EXPECT_EQ(test, -ENOMSG, rca_trunk_dreq_unpack(data, sizeof(data) - 1, &session));
	data[0] = 0;
	KUNIT_EXPECT_EQ(test, -ENOMSG, rca_trunk_dreq_unpack(data, sizeof(data), &session));
}

static void version_is_the_highest_of_both(struct kunit *test)
{
	struct rca_hello peer = {};
	unsigned int version, oldest;

	for (version = 1; version <= 255; version++) {
		for (oldest = 0; oldest <= version; oldest++) {
			bool common = version >= RCA_TRUNK_OLDEST && oldest <= RCA_TRUNK_VERSION;

			peer.version = version;
			peer.oldest = oldest;
			KUNIT_ASSERT_EQ(test, common ? min(version, RCA_TRUNK_VERSION + 0U) : 0,
					(unsigned int)rca_hello_common_version(&peer));
		}
	}
}

static void frame_has_a_greatest_length(struct kunit *test)
{
	u8 *data = kunit_kzalloc(test, RCA_FRAME_MAX + 4, GFP_KERNEL);
	struct rca_frame_hdr hdr = { .cookie = 1, .number = 1, .records = 1 }, got;
	unsigned int len;

	KUNIT_ASSERT_NOT_NULL(test, data);
	for (len = 0; len <= RCA_FRAME_MAX + 4; len++) {
		bool fits = len >= RCA_FRAME_HDR_LEN + RCA_RECORD_HDR_LEN &&
			    len <= RCA_FRAME_MAX && len % 4 == 0;

		hdr.len = len;
		rca_frame_hdr_pack(data, &hdr);
		KUNIT_ASSERT_EQ_MSG(test, fits ? 0 : -EPROTO,
				    rca_frame_hdr_unpack(data, len, &got), "%u bytes", len);
	}
}

static void acknowledgement_is_a_header_alone(struct kunit *test)
{
	struct rca_frame_hdr hdr = { .cookie = 1, .len = RCA_FRAME_HDR_LEN }, got;
	u8 data[RCA_FRAME_HDR_LEN];

	rca_frame_hdr_pack(data, &hdr);
	KUNIT_EXPECT_EQ(test, 0, rca_frame_hdr_unpack(data, sizeof(data), &got));
	KUNIT_EXPECT_EQ(test, 0U, (unsigned int)got.records);
}

static void record_of_unknown_type_is_skipped(struct kunit *test)
{
	struct rca_trunk_record got;
	u8 data[sizeof(req_bytes)];
	int type;

	memcpy(data, req_bytes, sizeof(data));
	for (type = RCA_RECORD_TYPES; type <= 256; type++) {
		data[0] = (u8)type;	/* the last one is 0 */
		KUNIT_EXPECT_EQ(test, (int)sizeof(data),
				rca_record_unpack(data, sizeof(data), &got));
		KUNIT_EXPECT_EQ(test, (u8)type, got.type);
		KUNIT_EXPECT_EQ(test, req.record.conn, got.conn);
		KUNIT_EXPECT_EQ(test, 0U, got.qp.qp_num);
		KUNIT_EXPECT_EQ(test, -EINVAL, rca_record_pack(data, sizeof(data), &got));
	}
}

/* A later version appends fields; the next record begins after them. */
static void bytes_after_a_record_are_ignored(struct kunit *test)
{
	u8 data[sizeof(req_bytes) + 8];
	unsigned int i;

	for (i = FIRST_RECORD; i < ARRAY_SIZE(messages); i++) {
		const struct message *m = &messages[i];
		union any got;

		memset(data, 0xff, sizeof(data));
		memcpy(data, m->bytes, m->len);
		data[3] += 4;
		KUNIT_EXPECT_EQ(test, (int)m->len + 4, unpack(m->kind, data, m->len + 8, &got));
		expect_bytes(test, m, &got);
	}
}

static void record_that_does_not_fit_is_emsgsize(struct kunit *test)
{
	u8 data[sizeof(req_bytes)];
	unsigned int i;
	size_t room;

	for (i = FIRST_RECORD; i < ARRAY_SIZE(messages); i++) {
		const struct message *m = &messages[i];

		for (room = 0; room < m->len; room++) {
			memset(data, 0xa5, sizeof(data));
			KUNIT_EXPECT_EQ(test, -EMSGSIZE, pack(m->kind, m->fields, data, room));
			KUNIT_EXPECT_EQ(test, 0xa5, data[0]);
		}
	}
}

static void private_data_has_a_greatest_length(struct kunit *test)
{
	static const struct {
		u8 type;
		unsigned int most;
	} rules[] = {
		{ RCA_RECORD_REQ, 36 + 255 }, { RCA_RECORD_REP, 255 }, { RCA_RECORD_REJ, 255 },
	};
	u8 *user = kunit_kzalloc(test, RCA_RECORD_PRIVATE_MAX + 1, GFP_KERNEL);
	u8 *data = kunit_kzalloc(test, RCA_FRAME_MAX, GFP_KERNEL);
	struct rca_trunk_record record = req.record, got;
	unsigned int i, len, fixed;

	KUNIT_ASSERT_NOT_NULL(test, user);
	KUNIT_ASSERT_NOT_NULL(test, data);
	memset(user, 0x5a, RCA_RECORD_PRIVATE_MAX + 1);
	record.private_data = user;
	for (i = 0; i < ARRAY_SIZE(rules); i++) {
		record.type = rules[i].type;
		record.private_len = 0;
		fixed = rca_record_pack(data, RCA_FRAME_MAX, &record);
		for (len = 0; len <= rules[i].most; len++) {
			int want = fixed + ALIGN(len, 4);

			record.private_len = len;
			KUNIT_ASSERT_EQ(test, want, rca_record_pack(data, want, &record));
			KUNIT_ASSERT_EQ(test, want, rca_record_unpack(data, want, &got));
			KUNIT_ASSERT_EQ(test, len, (unsigned int)got.private_len);
			KUNIT_ASSERT_TRUE(test, !len || !memcmp(user, got.private_data, len));
			KUNIT_ASSERT_FALSE(test, memchr_inv(data + fixed + len, 0,
							    want - fixed - len));
		}
		record.private_len = len;
		KUNIT_EXPECT_EQ(test, -EINVAL, rca_record_pack(data, RCA_FRAME_MAX, &record));
		/* The same from a peer: the field of the length is before the private data. */
		data[fixed - 4] = len >> 8;
		data[fixed - 3] = len & 0xff;
		KUNIT_EXPECT_EQ(test, -EPROTO, rca_record_unpack(data, RCA_FRAME_MAX, &got));
	}
	record = rtu.record;
	record.private_len = 1;
	KUNIT_EXPECT_EQ(test, -EINVAL, rca_record_pack(data, RCA_FRAME_MAX, &record));
}

static void record_out_of_range_is_not_packed(struct kunit *test)
{
	struct rca_trunk_record record = req.record;
	u8 data[sizeof(req_bytes)];

	record.path.mtu = 0;
	KUNIT_EXPECT_EQ(test, -EINVAL, rca_record_pack(data, sizeof(data), &record));
	record = req.record;
	record.qp_type = IB_QPT_UD;
	KUNIT_EXPECT_EQ(test, -EINVAL, rca_record_pack(data, sizeof(data), &record));
}

static struct kunit_case proto_cases[] = {
	KUNIT_CASE_PARAM(packed_message_has_these_bytes, message_gen_params),
	KUNIT_CASE_PARAM(unpacked_message_packs_to_the_same, message_gen_params),
	KUNIT_CASE_PARAM(truncated_message_is_refused, message_gen_params),
	KUNIT_CASE_PARAM(bit_flip_is_harmless, message_gen_params),
	KUNIT_CASE_PARAM(changed_message_is_judged, changed_gen_params),
	KUNIT_CASE(dreq_may_name_a_session),
	KUNIT_CASE(version_is_the_highest_of_both),
	KUNIT_CASE(frame_has_a_greatest_length),
	KUNIT_CASE(acknowledgement_is_a_header_alone),
	KUNIT_CASE(record_of_unknown_type_is_skipped),
	KUNIT_CASE(bytes_after_a_record_are_ignored),
	KUNIT_CASE(record_that_does_not_fit_is_emsgsize),
	KUNIT_CASE(private_data_has_a_greatest_length),
	KUNIT_CASE(record_out_of_range_is_not_packed),
	{}
};

static struct kunit_suite proto_suite = {
	.name = "rdma_cm_alt_trunk_proto",
	.test_cases = proto_cases,
};

kunit_test_suite(proto_suite);
