// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * Conversion of structs of the kernel's ABI to those of libibverbs, member by member.
 *
 * Locking: none.
 */
#include "base/marshal.h"

#include <endian.h>
#include <string.h>

_Static_assert(sizeof(struct ib_path_rec_data) == sizeof(struct ibv_path_data),
	       "a path of the kernel is a path of libibverbs");

#define SELECTOR_EXACTLY 2

void rcl_path_from_kernel(struct ibv_sa_path_rec *dst,
			  const struct ib_path_rec_data *src)
{
	struct ibv_path_data data;
	const struct ibv_path_record *p = &data.path;
	uint32_t flow_and_hops;

	memcpy(&data, src, sizeof(data));
	flow_and_hops = be32toh(p->flowlabel_hoplimit);
	*dst = (struct ibv_sa_path_rec) {
		.dgid = p->dgid,
		.sgid = p->sgid,
		.dlid = p->dlid,
		.slid = p->slid,
		.flow_label = htobe32(flow_and_hops >> 8),
		.hop_limit = (uint8_t)flow_and_hops,
		.traffic_class = p->tclass,
		.reversible = p->reversible_numpath >> 7,
		.numb_path = 1,
		.pkey = p->pkey,
		.sl = be16toh(p->qosclass_sl) & 0xf,
		.mtu_selector = SELECTOR_EXACTLY,
		.mtu = p->mtu & 0x1f,
		.rate_selector = SELECTOR_EXACTLY,
		.rate = p->rate & 0x1f,
		.packet_life_time_selector = SELECTOR_EXACTLY,
		.packet_life_time = p->packetlifetime & 0x1f,
		.preference = (uint8_t)data.flags,
	};
}

void rcl_ah_from_kernel(struct ibv_ah_attr *dst,
			const struct ib_uverbs_ah_attr *src)
{
	memcpy(dst->grh.dgid.raw, src->grh.dgid, sizeof(dst->grh.dgid.raw));
	dst->grh.flow_label = src->grh.flow_label;
	dst->grh.sgid_index = src->grh.sgid_index;
	dst->grh.hop_limit = src->grh.hop_limit;
	dst->grh.traffic_class = src->grh.traffic_class;
	dst->dlid = src->dlid;
	dst->sl = src->sl;
	dst->src_path_bits = src->src_path_bits;
	dst->static_rate = src->static_rate;
	dst->is_global = src->is_global;
	dst->port_num = src->port_num;
}

void rcl_qp_attr_from_kernel(struct ibv_qp_attr *dst,
			     const struct ib_uverbs_qp_attr *src)
{
	rcl_ah_from_kernel(&dst->ah_attr, &src->ah_attr);
	rcl_ah_from_kernel(&dst->alt_ah_attr, &src->alt_ah_attr);
	dst->cur_qp_state = src->cur_qp_state;
	dst->path_mtu = src->path_mtu;
	dst->path_mig_state = src->path_mig_state;
	dst->qkey = src->qkey;
	dst->rq_psn = src->rq_psn;
	dst->sq_psn = src->sq_psn;
	dst->dest_qp_num = src->dest_qp_num;
	dst->qp_access_flags = src->qp_access_flags;
	dst->cap.max_send_wr = src->max_send_wr;
	dst->cap.max_recv_wr = src->max_recv_wr;
	dst->cap.max_send_sge = src->max_send_sge;
	dst->cap.max_recv_sge = src->max_recv_sge;
	dst->cap.max_inline_data = src->max_inline_data;
	dst->pkey_index = src->pkey_index;
	dst->alt_pkey_index = src->alt_pkey_index;
	dst->en_sqd_async_notify = src->en_sqd_async_notify;
	dst->sq_draining = src->sq_draining;
	dst->max_rd_atomic = src->max_rd_atomic;
	dst->max_dest_rd_atomic = src->max_dest_rd_atomic;
	dst->min_rnr_timer = src->min_rnr_timer;
	dst->port_num = src->port_num;
	dst->timeout = src->timeout;
	dst->retry_cnt = src->retry_cnt;
	dst->rnr_retry = src->rnr_retry;
	dst->alt_port_num = src->alt_port_num;
	dst->alt_timeout = src->alt_timeout;
}
