// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * A libFuzzer program for the trunk protocol. The first byte of an input selects what the others
 * are: one of the messages, or a list of operations on links (links.c). What is unpacked has
 * to pack and unpack to the same.
 */
#include "fuzz.h"

#include <stdio.h>
#include <stdlib.h>

#include "trunk/proto.h"

void must(bool condition, const char *text, const char *file, int line)
{
	if (condition)
		return;
	fprintf(stderr, "not true: %s (%s:%d)\n", text, file, line);
	abort();
}

u8 in_u8(struct input *in)
{
	if (!in->left)
		return 0;
	in->left--;
	return *in->at++;
}

static void check_open(const struct rca_trunk_open *open)
{
	MUST(open->hello.version && open->hello.oldest <= open->hello.version);
	MUST(open->hello.ack_delay <= 31);
	MUST(open->cookie);
}

/* Bytes 6, 7 and those after 53 are reserved. */
static void check_hello_bytes(const u8 *data, const u8 *again)
{
	MUST(!memcmp(data, again, 6) && !memcmp(data + 8, again + 8, 45));
}

static void fuzz_hello(const u8 *data, size_t len)
{
	u8 bytes[RCA_HELLO_LEN];
	struct rca_hello hello;
	u8 version;

	if (rca_hello_unpack(data, len, &hello))
		return;
	rca_hello_pack(bytes, &hello);
	check_hello_bytes(data, bytes);
	version = rca_hello_common_version(&hello);
	MUST(!version || (version >= hello.oldest && version <= hello.version));
	MUST(version <= RCA_TRUNK_VERSION && (!version || version >= RCA_TRUNK_OLDEST));
}

static void fuzz_req(const u8 *data, size_t len)
{
	u8 bytes[RCA_TRUNK_REQ_LEN];
	struct rca_trunk_open open;

	if (rca_trunk_req_unpack(data, len, &open))
		return;
	check_open(&open);
	rca_trunk_req_pack(bytes, &open);
	check_hello_bytes(data, bytes);
	MUST(!memcmp(data + RCA_HELLO_LEN, bytes + RCA_HELLO_LEN, 24));
}

static void fuzz_rep(const u8 *data, size_t len)
{
	u8 bytes[RCA_TRUNK_REP_LEN];
	struct rca_trunk_open open;

	if (rca_trunk_rep_unpack(data, len, &open))
		return;
	check_open(&open);
	MUST(!open.token);
	rca_trunk_rep_pack(bytes, &open);
	check_hello_bytes(data, bytes);
	MUST(!memcmp(data + RCA_HELLO_LEN, bytes + RCA_HELLO_LEN, 16));
}

static void check_ranges(const struct rca_trunk_record *record)
{
	const struct rca_record_path *path = &record->path;
	const struct rca_record_qp *qp = &record->qp;

	MUST(qp->qp_num < 1 << 24 && qp->psn < 1 << 24 && record->remote_qpn < 1 << 24);
	MUST(qp->retry_count <= 7 && qp->rnr_retry_count <= 7);
	MUST(path->flow_label < 1 << 20 && path->sl <= 15 && path->rate <= 63);
	MUST(path->ack_timeout <= 31 && record->ack_delay <= 31);
	MUST(record->delay_ms <= 60000 && record->private_len <= RCA_RECORD_PRIVATE_MAX);
	if (record->type != RCA_RECORD_REQ)
		return;
	MUST(path->mtu >= IB_MTU_256 && path->mtu <= IB_MTU_4096);
	MUST(record->qp_type == IB_QPT_RC || record->qp_type == IB_QPT_UC ||
	     record->qp_type == IB_QPT_XRC_INI);
}

/* Returns the length of the record, or an errno. */
static int fuzz_record(const u8 *data, size_t len)
{
	u8 bytes[RCA_FRAME_MAX], second[RCA_FRAME_MAX];
	struct rca_trunk_record record, again;
	int whole, packed;

	whole = rca_record_unpack(data, len, &record);
	if (whole < 0)
		return whole;
	MUST(whole >= RCA_RECORD_HDR_LEN && whole % 4 == 0 && (size_t)whole <= len);
	MUST(record.type == data[0]);
	packed = rca_record_pack(bytes, sizeof(bytes), &record);
	if (!record.type || record.type >= RCA_RECORD_TYPES) {
		MUST(packed == -EINVAL);
		return whole;
	}
	check_ranges(&record);
	MUST(packed >= RCA_RECORD_HDR_LEN && packed <= whole);
	MUST(data[0] == bytes[0] && !memcmp(data + 4, bytes + 4, 4));
	MUST(rca_record_unpack(bytes, packed, &again) == packed);
	MUST(again.private_len == record.private_len);
	MUST(!again.private_len ||
	     !memcmp(again.private_data, record.private_data, again.private_len));
	MUST(rca_record_pack(second, packed, &again) == packed);
	MUST(!memcmp(bytes, second, packed));
	return whole;
}

/* A frame, as a trunk will read it. */
static void fuzz_frame(const u8 *data, size_t len)
{
	u8 bytes[RCA_FRAME_HDR_LEN];
	struct rca_frame_hdr hdr;
	unsigned int i;
	int whole;

	if (rca_frame_hdr_unpack(data, len, &hdr))
		return;
	rca_frame_hdr_pack(bytes, &hdr);
	MUST(!memcmp(data, bytes, 12) && !memcmp(data + 16, bytes + 16, 5));
	MUST(hdr.len == len && len <= RCA_FRAME_MAX);
	MUST(hdr.records || len == RCA_FRAME_HDR_LEN);
	data += RCA_FRAME_HDR_LEN;
	len -= RCA_FRAME_HDR_LEN;
	for (i = 0; i < hdr.records; i++) {
		whole = fuzz_record(data, len);
		if (whole < 0)
			return;
		data += whole;
		len -= whole;
	}
}

int LLVMFuzzerTestOneInput(const u8 *data, size_t size);

int LLVMFuzzerTestOneInput(const u8 *data, size_t size)
{
	struct input in = { data, size };

	switch (in_u8(&in) % 7) {
	case 0:
		fuzz_hello(in.at, in.left);
		break;
	case 1:
		fuzz_req(in.at, in.left);
		break;
	case 2:
		fuzz_rep(in.at, in.left);
		break;
	case 3:
		fuzz_frame(in.at, in.left);
		break;
	case 4:
		fuzz_record(in.at, in.left);
		break;
	case 5:
		fuzz_pair(&in);
		break;
	case 6:
		fuzz_liar(&in);
		break;
	}
	return 0;
}
