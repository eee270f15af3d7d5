// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * Receiving: a packet meets a receive request.
 *
 * Locking: the QP's lock, and inside of it that of a shared receive queue. Data is copied and
 * clients are told with no lock held.
 */
#include "verbs/verbs.h"

#include <linux/etherdevice.h>

#include "fabric/fabric.h"

/* A receive request, copied from where a program might change it. */
struct request {
	u64 wr_id;
	u32 count;
	struct ib_sge sge[HCA_MAX_SGE];
};

/* take_from: the next request of a ring; its lock is held. */
static bool take_from_ring(struct hca_queue *queue, u32 max_sge, struct request *request)
{
	struct rxe_recv_wqe *wqe = hca_queue_next_used(queue);

	if (!wqe)
		return false;
	request->wr_id = wqe->wr_id;
	request->count = min_t(u32, READ_ONCE(wqe->dma.num_sge), max_sge);
	memcpy(request->sge, wqe->dma.sge, request->count * sizeof(*request->sge));
	hca_queue_consumed(queue);
	return true;
}

/* take: the next request of a QP; its lock is held. */
static bool take_request(struct hca_qp *qp, struct request *request)
{
	struct hca_srq *srq;
	bool took;

	if (qp->rq)
		return take_from_ring(qp->rq, qp->cap.max_recv_sge, request);
	if (!qp->ib.srq)
		return false;
	srq = to_hca_srq(qp->ib.srq);
	spin_lock(&srq->lock);
	took = take_from_ring(srq->queue, srq->max_sge, request);
	spin_unlock(&srq->lock);
	return took;
}

static bool can_receive(const struct hca_qp *qp)
{
	return qp->attr.qp_state == IB_QPS_RTR || qp->attr.qp_state == IB_QPS_RTS ||
	       qp->attr.qp_state == IB_QPS_SQD;
}

/* right_key: the packet is one for this QP, by its key or its connection; the lock is held. */
static bool key_matches(const struct hca_qp *qp, const struct hca_packet *packet)
{
	bool connected = qp->ib.qp_type == IB_QPT_RC || qp->ib.qp_type == IB_QPT_UC;

	if (packet->connected != connected)
		return false;
	if (connected)
		return qp->attr.dest_qp_num == packet->src_qpn;
	if (qp->ib.qp_type == IB_QPT_SMI)
		return true;
	return packet->qkey == (qp->ib.qp_type == IB_QPT_GSI ? HCA_GSI_QKEY : qp->attr.qkey);
}

/* fill: the data to where the request wants it. */
static enum ib_wc_status copy_payload(struct hca_qp *qp, const struct hca_packet *packet,
				      const struct request *request)
{
	size_t skip = packet->connected ? 0 : HCA_GRH;
	int ret = 0;

	if (packet->has_grh && skip)
		ret = hca_scatter(qp, request->sge, request->count, 0, &packet->grh, HCA_GRH);
	if (!ret)
		ret = hca_scatter(qp, request->sge, request->count, skip, packet->data,
				  packet->len);
	switch (ret) {
	case 0:
		return IB_WC_SUCCESS;
	case -EMSGSIZE:
		return IB_WC_LOC_LEN_ERR;
	default:
		return IB_WC_LOC_PROT_ERR;
	}
}

/* The data to where the packet or the request wants it. */
static enum ib_wc_status store(struct hca_qp *qp, const struct hca_packet *packet,
			       const struct request *request)
{
	if (!packet->is_write)
		return copy_payload(qp, packet, request);
	return hca_write_remote(qp, packet->target.addr, packet->target.rkey, packet->data,
				packet->len) ? IB_WC_LOC_ACCESS_ERR : IB_WC_SUCCESS;
}

/* What a completion of RoCE v1 has instead of a LID. */
static void set_ethernet(struct ib_wc *wc, const struct hca_packet *packet)
{
	wc->slid = 0;
	wc->wc_flags |= IB_WC_WITH_NETWORK_HDR_TYPE | IB_WC_WITH_SMAC;
	wc->network_hdr_type = RDMA_NETWORK_ROCE_V1;
	ether_addr_copy(wc->smac, packet->smac);
}

/*
 * Delivers a packet to a QP, of which the caller holds a reference. Returns -ENOBUFS when a
 * connected QP has no receive request for it yet, -EAGAIN when an RC QP cannot receive it for
 * another reason, -EACCES for an RDMA write that is not allowed, and 0 when it was received,
 * or dropped and counted.
 */
int hca_receive(struct hca_qp *qp, const struct hca_packet *packet, u16 pkey_index)
{
	bool needs_request = !packet->is_write || packet->has_imm;
	struct request request;
	struct ib_wc wc = {
		.opcode = packet->is_write ? IB_WC_RECV_RDMA_WITH_IMM : IB_WC_RECV,
		.qp = &qp->ib,
		.src_qp = packet->src_qpn,
		.slid = packet->slid,
		.sl = packet->sl,
		.pkey_index = pkey_index,
		.port_num = qp->port,
	};
	bool ready, right, took = false;

	spin_lock_irq(&qp->lock);
	ready = can_receive(qp);
	right = key_matches(qp, packet);
	if (ready && right)
		took = !needs_request || take_request(qp, &request);
	spin_unlock_irq(&qp->lock);
	if (!took) {
		if (packet->connected && ready && right)
			return -ENOBUFS;
		if (packet->reliable)
			return -EAGAIN;
		hca_count(!ready ? HCA_NO_QP : right ? HCA_NO_BUFFER : HCA_BAD_QKEY);
		return 0;
	}
	wc.status = store(qp, packet, &request);
	hca_count(HCA_DELIVERED);
	if (!needs_request)
		return wc.status ? -EACCES : 0;
	wc.wr_id = request.wr_id;
	wc.byte_len = packet->len + (packet->connected ? 0 : HCA_GRH);
	if (packet->has_grh && !packet->connected)
		wc.wc_flags |= IB_WC_GRH;
	if (hca_port(qp->ib.device, qp->port)->ethernet)
		set_ethernet(&wc, packet);
	if (packet->has_imm) {
		wc.wc_flags |= IB_WC_WITH_IMM;
		wc.ex.imm_data = packet->imm;
	}
	/* Clients of the kernel start soft interrupts, as from an interrupt of hardware. */
	local_bh_disable();
	hca_cq_add(qp->ib.recv_cq, &wc, packet->solicited || wc.status);
	local_bh_enable();
	return packet->is_write && wc.status ? -EACCES : 0;
}

/* Completes the receive requests of a QP in the error state; in reset they vanish. Any context. */
void hca_flush_receives(struct hca_qp *qp)
{
	struct ib_wc wc = {
		.status = IB_WC_WR_FLUSH_ERR,
		.opcode = IB_WC_RECV,
		.qp = &qp->ib,
	};
	struct request request;
	unsigned long flags;
	bool took, silent;

	if (!qp->rq)
		return;
	for (;;) {
		spin_lock_irqsave(&qp->lock, flags);
		silent = qp->attr.qp_state == IB_QPS_RESET;
		took = (silent || qp->attr.qp_state == IB_QPS_ERR) && take_request(qp, &request);
		spin_unlock_irqrestore(&qp->lock, flags);
		if (!took)
			return;
		wc.wr_id = request.wr_id;
		if (!silent)
			hca_cq_add(qp->ib.recv_cq, &wc, true);
	}
}
