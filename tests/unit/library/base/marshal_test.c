// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/* Tests of converting the kernel's structs to those of libibverbs. */
#include <endian.h>

#include "fake/fixture.h"
#include "base/marshal.h"

TEST(path_record_is_unpacked)
{
	struct ibv_path_data data = {
		.flags = 3,
		.path = {
			.dlid = htobe16(1), .slid = htobe16(2),
			.flowlabel_hoplimit = htobe32(0x12345 << 8 | 64),
			.tclass = 104, .reversible_numpath = 0x81, .pkey = htobe16(0xffff),
			.qosclass_sl = htobe16(0xabc5), .mtu = 0x84, .rate = 0x83,
			.packetlifetime = 0x90,
		},
	};
	struct ib_path_rec_data raw;
	struct ibv_sa_path_rec path;

	memcpy(&raw, &data, sizeof(raw));
	rcl_path_from_kernel(&path, &raw);
	assert_int_equal(path.flow_label, htobe32(0x12345));
	assert_int_equal(path.hop_limit, 64);
	assert_int_equal(path.traffic_class, 104);
	assert_int_equal(path.reversible, 1);
	assert_int_equal(path.numb_path, 1);
	assert_int_equal(path.sl, 5);
	assert_int_equal(path.mtu, 4);
	assert_int_equal(path.mtu_selector, 2);
	assert_int_equal(path.rate, 3);
	assert_int_equal(path.packet_life_time, 16);
	assert_int_equal(path.preference, 3);
	assert_int_equal(path.pkey, htobe16(0xffff));
}

TEST(qp_attributes_are_copied_but_for_the_state)
{
	struct ib_uverbs_qp_attr src = {
		.qp_state = 3, .path_mtu = 5, .rq_psn = 0xabcdef, .dest_qp_num = 0x777,
		.ah_attr = {
			.is_global = 1, .dlid = 9,
			.grh = { .hop_limit = 64, .sgid_index = 2 },
		},
		.timeout = 17, .alt_timeout = 18, .port_num = 1, .max_rd_atomic = 4,
	};
	struct ibv_qp_attr dst = { .qp_state = IBV_QPS_RTR };

	src.ah_attr.grh.dgid[15] = 0xaa;
	rcl_qp_attr_from_kernel(&dst, &src);
	assert_int_equal(dst.qp_state, IBV_QPS_RTR);
	assert_int_equal(dst.path_mtu, IBV_MTU_4096);
	assert_int_equal(dst.rq_psn, 0xabcdef);
	assert_int_equal(dst.dest_qp_num, 0x777);
	assert_int_equal(dst.ah_attr.grh.dgid.raw[15], 0xaa);
	assert_int_equal(dst.ah_attr.grh.sgid_index, 2);
	assert_int_equal(dst.ah_attr.is_global, 1);
	assert_int_equal(dst.timeout, 17);
	assert_int_equal(dst.alt_timeout, 18);
	assert_int_equal(dst.max_rd_atomic, 4);
}

RUN
