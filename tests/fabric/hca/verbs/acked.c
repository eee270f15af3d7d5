// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * Completions of the sends of RC QPs: a send completes when the peer has received it, fails when it
 * cannot be delivered, or is flushed. All of a QP come in the order in which they were posted, so
 * what is refused goes through the fabric, too.
 *
 * Locking: none. A packet holds a reference of its QP, which is destroyed after its last send has
 * ended.
 */
#include "verbs/acked.h"

/* The packet is a send of this QP. Its wr_id and the flags were set before. Any context. */
void hca_acked_begin(struct hca_packet *packet, struct hca_qp *qp)
{
	refcount_inc(&qp->refs);	/* put in hca_acked_end() */
	packet->ack.qp = qp;
	packet->from = qp;
	packet->connected = true;
	packet->reliable = true;
}

/* Why a packet is not delivered: its QP is in the error state, or refuses it. */
enum ib_wc_status hca_acked_refused(const struct hca_packet *packet)
{
	enum ib_qp_state state;

	if (!packet->ack.qp)
		return IB_WC_SUCCESS;
	state = READ_ONCE(packet->ack.qp->attr.qp_state);
	if (state == IB_QPS_ERR || state == IB_QPS_RESET)
		return IB_WC_WR_FLUSH_ERR;
	return packet->ack.refused;
}

/* The send is over; in reset it vanishes. Any context, as of hca_cq_add(). */
void hca_acked_end(struct hca_packet *packet, enum ib_wc_status status)
{
	struct hca_qp *qp = packet->ack.qp;
	struct ib_wc wc = {
		.wr_id = packet->ack.wr_id,
		.status = status,
		.opcode = packet->ack.is_write ? IB_WC_RDMA_WRITE : IB_WC_SEND,
		.byte_len = packet->ack.len,
	};

	if (!qp)
		return;
	wc.qp = &qp->ib;
	wc.port_num = qp->port;
	if ((status || packet->ack.signalled) && READ_ONCE(qp->attr.qp_state) != IB_QPS_RESET)
		hca_cq_add(qp->ib.send_cq, &wc, status || packet->solicited);
	packet->ack.qp = NULL;
	hca_qp_put(qp);		/* got in hca_acked_begin() */
}
