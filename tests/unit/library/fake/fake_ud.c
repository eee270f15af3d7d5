// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * Datagrams of the fake data path. Only the QP number says where one goes: all QPs are on one port.
 *
 * Locking: the lock of the fabric.
 */
#include "fake/fake_ud.h"

#include <arpa/inet.h>
#include <errno.h>
#include <stddef.h>
#include <string.h>
#include <infiniband/sa.h>

#include "fake/fake_qp.h"
#include "fake/fake_verbs.h"

#undef ibv_query_port

#define SET_IN_QP 0x80000000	/* of a Q_Key in a work request: use that of the QP */

/**
 * struct fake_ah - an address handle
 * @ah: the public part
 * @attr: the way to the peer
 */
struct fake_ah {
	struct ibv_ah ah;
	struct ibv_ah_attr attr;
};

struct ibv_ah *ibv_create_ah(struct ibv_pd *pd, struct ibv_ah_attr *attr)
{
	struct fake_ah *ah;

	if (attr->port_num != 1) {
		errno = EINVAL;
		return NULL;
	}
	ah = fake_verbs_object(sizeof(*ah));
	if (!ah)
		return NULL;
	ah->ah.context = pd->context;
	ah->ah.pd = pd;
	ah->attr = *attr;
	return &ah->ah;
}

int ibv_destroy_ah(struct ibv_ah *ah)
{
	return fake_verbs_destroyed(ah);
}

int ibv_query_port(struct ibv_context *context, uint8_t port_num,
		   struct _compat_ibv_port_attr *compat)
{
	/* The compatible struct is the beginning of the public one. */
	struct ibv_port_attr *attr = (struct ibv_port_attr *)(void *)compat;

	(void)context;
	if (port_num != 1)
		return EINVAL;
	attr->state = IBV_PORT_ACTIVE;
	attr->max_mtu = IBV_MTU_4096;
	attr->active_mtu = IBV_MTU_4096;
	attr->gid_tbl_len = 2;
	attr->lid = FAKE_LID;
	attr->link_layer = IBV_LINK_LAYER_INFINIBAND;
	return 0;
}

int ibv_query_gid(struct ibv_context *context, uint8_t port_num, int index, union ibv_gid *gid)
{
	(void)context;
	if (port_num != 1 || index < 0 || index > 1) {
		errno = EINVAL;
		return -1;
	}
	inet_pton(AF_INET6, index ? "::ffff:10.9.0.1" : "fe80::9", gid);
	return 0;
}

/* The GRH that precedes a datagram. */
static void fill_grh(struct ibv_grh *grh, const struct ibv_ah_attr *attr, uint32_t length)
{
	memset(grh, 0, sizeof(*grh));
	if (!attr->is_global)
		return;
	grh->version_tclass_flow = htonl(6U << 28 | attr->grh.flow_label);
	grh->paylen = htons((uint16_t)length);
	grh->hop_limit = attr->grh.hop_limit;
	grh->dgid = attr->grh.dgid;
	ibv_query_gid(NULL, 1, attr->grh.sgid_index, &grh->sgid);
}

void fake_ud_deliver(struct fake_qp *from, const struct fake_send *send, const void *data)
{
	const struct fake_ah *ah = (const struct fake_ah *)(const void *)send->wr.wr.ud.ah;
	struct fake_qp *to = fake_qp_find(send->wr.wr.ud.remote_qpn);
	uint32_t qkey = send->wr.wr.ud.remote_qkey;
	struct ibv_grh grh;
	struct ibv_wc wc = {
		.opcode = IBV_WC_RECV,
		.byte_len = send->length + FAKE_GRH_SIZE,
		.src_qp = from->qp.qp_num,
		.slid = FAKE_LID,
		.wc_flags = ah->attr.is_global ? IBV_WC_GRH : 0,
	};

	_Static_assert(sizeof(grh) == FAKE_GRH_SIZE, "the GRH");
	if (qkey & SET_IN_QP)
		qkey = from->qkey;
	if (!to || to->qp.qp_type != IBV_QPT_UD || !fake_qp_receives(to) || to->qkey != qkey)
		return;
	if (STAILQ_EMPTY(&to->recvs) ||
	    fake_qp_scatter(to, FAKE_GRH_SIZE, data, send->length) != IBV_WC_SUCCESS)
		return;
	fill_grh(&grh, &ah->attr, send->length);
	fake_qp_scatter(to, 0, &grh, sizeof(grh));
	if (send->wr.opcode == IBV_WR_SEND_WITH_IMM) {
		wc.wc_flags |= IBV_WC_WITH_IMM;
		wc.imm_data = send->wr.imm_data;
	}
	fake_qp_received(to, &wc, send->wr.send_flags & IBV_SEND_SOLICITED);
}
