// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * Sending, and posting receive requests. The kernel hands its requests over in a list; a program
 * writes them to its ring and posts an empty list.
 *
 * Datagrams are whole. Of connected QPs sends go, and RDMA writes of programs; what else there is
 * completes with an error.
 *
 * Locking: the QP's mutex @sending for a program's ring, the QP's lock for the receive queue.
 */
#include "verbs/verbs.h"

#include <linux/etherdevice.h>

#include "fabric/fabric.h"
#include "port.h"
#include "verbs/acked.h"
#include "verbs/late.h"

#define MESSAGE_MAX	262144	/* of a connected QP */

/**
 * struct message - a send request of a program or of the kernel
 * @wr_id: identifier of the client
 * @opcode: what to do
 * @flags: as in the verbs
 * @imm: immediate data
 * @ah: where to, of a datagram
 * @qpn: to which QP, of a datagram
 * @qkey: of that QP
 * @pkey_index: of the P_Key, for QP1
 * @sge: where the data is
 * @count: how many pieces
 * @inlined: the data itself, instead
 * @len: how much in all
 * @target: where to, of an RDMA write
 */
struct message {
	u64 wr_id;
	u32 opcode;
	u32 flags;
	__be32 imm;
	const struct rdma_ah_attr *ah;
	u32 qpn;
	u32 qkey;
	u16 pkey_index;
	const struct ib_sge *sge;
	u32 count;
	const void *inlined;
	u32 len;
	struct hca_target target;
};

static bool is_write(const struct message *msg)
{
	return msg->opcode == IB_WR_RDMA_WRITE || msg->opcode == IB_WR_RDMA_WRITE_WITH_IMM;
}

static bool has_imm(const struct message *msg)
{
	return msg->opcode == IB_WR_SEND_WITH_IMM || msg->opcode == IB_WR_RDMA_WRITE_WITH_IMM;
}

static bool is_connected(const struct hca_qp *qp)
{
	return qp->ib.qp_type != IB_QPT_UD && qp->ib.qp_type != IB_QPT_SMI &&
	       qp->ib.qp_type != IB_QPT_GSI;
}

/* Can this QP do what the message asks for? */
static bool is_possible(const struct hca_qp *qp, const struct message *msg)
{
	if (is_write(msg))
		return qp->user && is_connected(qp);
	return msg->opcode == IB_WR_SEND || msg->opcode == IB_WR_SEND_WITH_IMM;
}

static bool is_signalled(const struct hca_qp *qp, const struct message *msg)
{
	return qp->signal_all || (msg->flags & IB_SEND_SIGNALED);
}

/* Not of an RC QP: such a message completes when it has arrived. */
static void complete_send(struct hca_qp *qp, const struct message *msg, enum ib_wc_status status)
{
	bool solicited = status || (msg->flags & IB_SEND_SOLICITED);
	struct ib_wc wc = {
		.wr_id = msg->wr_id,
		.status = status,
		.opcode = IB_WC_SEND,
		.byte_len = msg->len,
		.qp = &qp->ib,
		.port_num = qp->port,
	};

	if (!status && !is_signalled(qp, msg))
		return;
	if (qp->ib.qp_type == IB_QPT_GSI)
		hca_late_add(qp, &wc, solicited);
	else
		hca_cq_add(qp->ib.send_cq, &wc, solicited);
}

static void begin_acked(struct hca_packet *packet, struct hca_qp *qp, const struct message *msg)
{
	packet->ack.wr_id = msg->wr_id;
	packet->ack.len = msg->len;
	packet->ack.is_write = is_write(msg);
	packet->ack.signalled = is_signalled(qp, msg);
	hca_acked_begin(packet, qp);
}

/* A message completes with an error, in its turn if it is of an RC QP. Returns 0 or an errno. */
static int refuse(struct hca_qp *qp, const struct message *msg, enum ib_wc_status status, gfp_t gfp)
{
	struct hca_packet *packet;

	if (qp->ib.qp_type != IB_QPT_RC) {
		complete_send(qp, msg, status);
		return 0;
	}
	packet = hca_packet_new(0, gfp);
	if (!packet)
		return -ENOMEM;
	packet->ack.refused = status;
	begin_acked(packet, qp, msg);
	hca_fabric_send(packet);
	return 0;
}

/* Writes the addresses of a packet. Returns whether the port is up. */
static bool fill_address(struct hca_qp *qp, const struct message *msg, struct hca_packet *packet)
{
	struct hca_port *port = hca_port(qp->ib.device, qp->port);
	const struct rdma_ah_attr *ah = msg->ah;
	unsigned long flags;
	u16 pkey_index;
	bool up;

	pkey_index = qp->ib.qp_type == IB_QPT_GSI ? msg->pkey_index : qp->attr.pkey_index;
	packet->connected = is_connected(qp);
	packet->from = qp;
	packet->src_qpn = qp->ib.qp_num;
	packet->dst_qpn = msg->qpn;
	/* The high bit says that the key of the sending QP counts. */
	packet->qkey = msg->qkey & BIT(31) ? qp->attr.qkey : msg->qkey;
	packet->sl = rdma_ah_get_sl(ah);
	packet->dlid = rdma_ah_get_dlid(ah);
	packet->solicited = msg->flags & IB_SEND_SOLICITED;
	packet->has_imm = has_imm(msg);
	packet->imm = msg->imm;
	packet->is_write = is_write(msg);
	packet->target = msg->target;
	packet->has_grh = rdma_ah_get_ah_flags(ah) & IB_AH_GRH;
	spin_lock_irqsave(&hca_lock, flags);
	up = port->up || !qp->ib.qp_num;
	packet->slid = port->lid;
	ether_addr_copy(packet->smac, port->mac);
	packet->pkey = port->pkeys[pkey_index % HCA_PKEYS];
	if (packet->has_grh) {
		const struct ib_global_route *route = rdma_ah_read_grh(ah);

		packet->grh.version_tclass_flow =
			cpu_to_be32(6 << 28 | route->traffic_class << 20 |
				    (route->flow_label & 0xfffff));
		packet->grh.paylen = cpu_to_be16(packet->len + 24);
		packet->grh.next_hdr = 0x1b;
		packet->grh.hop_limit = route->hop_limit;
		packet->grh.sgid = port->gids[route->sgid_index % HCA_GIDS];
		packet->grh.dgid = route->dgid;
	}
	spin_unlock_irqrestore(&hca_lock, flags);
	return up;
}

/* One message. Returns 0, or an errno when the request itself is refused. */
static int send_message(struct hca_qp *qp, struct message *msg, gfp_t gfp)
{
	enum ib_qp_state state = READ_ONCE(qp->attr.qp_state);
	struct hca_packet *packet;
	int ret = 0;
	bool up;

	if (state == IB_QPS_ERR)
		return refuse(qp, msg, IB_WC_WR_FLUSH_ERR, gfp);
	if (state != IB_QPS_RTS && state != IB_QPS_SQD)
		return -EINVAL;
	if (!is_possible(qp, msg))
		return refuse(qp, msg, IB_WC_LOC_QP_OP_ERR, gfp);
	if (is_connected(qp)) {
		msg->ah = &qp->attr.ah_attr;
		msg->qpn = qp->attr.dest_qp_num;
	}
	if (!msg->ah)
		return refuse(qp, msg, IB_WC_LOC_QP_OP_ERR, gfp);
	if (msg->len > (is_connected(qp) ? MESSAGE_MAX : HCA_MTU))
		return refuse(qp, msg, IB_WC_LOC_LEN_ERR, gfp);
	packet = hca_packet_new(msg->len, gfp);
	if (!packet)
		return -ENOMEM;
	if (msg->inlined)
		memcpy(packet->data, msg->inlined, msg->len);
	else
		ret = hca_gather(qp, msg->sge, msg->count, packet->data, msg->len);
	if (ret) {
		kfree(packet);
		return refuse(qp, msg, IB_WC_LOC_PROT_ERR, gfp);
	}
	up = fill_address(qp, msg, packet);
	if (qp->ib.qp_type == IB_QPT_RC) {
		begin_acked(packet, qp, msg);
		hca_fabric_send(packet);
		return 0;
	}
	if (up) {
		hca_fabric_send(packet);
	} else {
		hca_count(HCA_PORT_DOWN);
		kfree(packet);
	}
	complete_send(qp, msg, IB_WC_SUCCESS);
	return 0;
}

/* The requests that a program has written to its ring. */
static int send_ring(struct hca_qp *qp)
{
	struct hca_device *dev = to_hca(qp->ib.device);
	struct rxe_send_wqe *ring, wqe;
	struct rdma_ah_attr attr;
	u8 data[HCA_MAX_INLINE];
	struct hca_ah *ah;
	int ret = 0;

	static_assert(sizeof(data) >= HCA_MAX_SGE * sizeof(struct ib_sge));
	static_assert(sizeof(struct ib_sge) == sizeof(struct rxe_sge));

	mutex_lock(&qp->sending);
	while (!ret && (ring = hca_queue_next_used(qp->sq))) {
		struct message msg = {};

		/* The program may write while we read: look at a copy only. */
		memcpy(&wqe, ring, sizeof(wqe));
		memcpy(data, ring->dma.inline_data, sizeof(data));
		msg.wr_id = wqe.wr.wr_id;
		msg.opcode = wqe.wr.opcode;
		msg.flags = wqe.wr.send_flags;
		msg.imm = wqe.wr.ex.imm_data;
		msg.len = wqe.dma.length;
		if (wqe.wr.send_flags & IB_SEND_INLINE) {
			msg.inlined = data;
			msg.len = min_t(u32, msg.len, sizeof(data));
		} else {
			msg.sge = (struct ib_sge *)data;
			msg.count = min_t(u32, wqe.dma.num_sge, HCA_MAX_SGE);
		}
		if (is_write(&msg)) {
			msg.target.addr = wqe.wr.wr.rdma.remote_addr;
			msg.target.rkey = wqe.wr.wr.rdma.rkey;
		}
		if (!is_connected(qp)) {
			msg.qpn = wqe.wr.wr.ud.remote_qpn;
			msg.qkey = wqe.wr.wr.ud.remote_qkey;
			xa_lock_irq(&dev->ahs);
			ah = xa_load(&dev->ahs, wqe.wr.wr.ud.ah_num);
			if (ah && ah->ib.pd == qp->ib.pd) {
				attr = ah->attr;
				msg.ah = &attr;
			}
			xa_unlock_irq(&dev->ahs);
		}
		ret = send_message(qp, &msg, GFP_KERNEL);
		hca_queue_consumed(qp->sq);
	}
	mutex_unlock(&qp->sending);
	return ret;
}

/*
 * Send requests of the kernel, in any context; for a program @wr is empty, and its ring has the
 * requests. Returns -EINVAL before the QP can send.
 */
int hca_post_send(struct ib_qp *ibqp, const struct ib_send_wr *wr, const struct ib_send_wr **bad)
{
	struct hca_qp *qp = to_hca_qp(ibqp);
	int i, ret = 0;

	if (qp->user)
		return send_ring(qp);
	for (; wr; wr = wr->next) {
		struct message msg = {
			.wr_id = wr->wr_id,
			.opcode = wr->opcode,
			.flags = wr->send_flags,
			.imm = wr->ex.imm_data,
			.sge = wr->sg_list,
			.count = wr->num_sge,
		};

		for (i = 0; i < wr->num_sge; i++)
			msg.len += wr->sg_list[i].length;
		if (!is_connected(qp)) {
			msg.ah = &to_hca_ah(ud_wr(wr)->ah)->attr;
			msg.qpn = ud_wr(wr)->remote_qpn;
			msg.qkey = ud_wr(wr)->remote_qkey;
			msg.pkey_index = ud_wr(wr)->pkey_index;
		}
		ret = send_message(qp, &msg, GFP_ATOMIC);
		if (ret)
			break;
	}
	if (bad)
		*bad = wr;
	return ret;
}

/* Writes a receive request of the kernel to its ring; needs the lock of the ring. */
static int put_receive(struct hca_queue *queue, const struct ib_recv_wr *wr, u32 max_sge)
{
	struct rxe_recv_wqe *wqe;

	if (wr->num_sge > max_sge)
		return -EINVAL;
	wqe = hca_queue_client_free(queue);
	if (!wqe)
		return -ENOMEM;
	wqe->wr_id = wr->wr_id;
	wqe->dma.num_sge = wr->num_sge;
	memcpy(wqe->dma.sge, wr->sg_list, wr->num_sge * sizeof(*wr->sg_list));
	hca_queue_client_produced(queue);
	return 0;
}

/* Receive requests of the kernel; a program writes its own to the ring. */
int hca_post_recv(struct ib_qp *ibqp, const struct ib_recv_wr *wr, const struct ib_recv_wr **bad)
{
	struct hca_qp *qp = to_hca_qp(ibqp);
	unsigned long flags;
	bool flush;
	int ret = 0;

	if (!qp->rq || qp->user) {
		*bad = wr;
		return qp->user ? 0 : -EINVAL;
	}
	spin_lock_irqsave(&qp->lock, flags);
	for (; wr && !ret; wr = ret ? wr : wr->next)
		ret = put_receive(qp->rq, wr, qp->cap.max_recv_sge);
	flush = qp->attr.qp_state == IB_QPS_ERR;
	spin_unlock_irqrestore(&qp->lock, flags);
	if (bad)
		*bad = wr;
	if (flush)
		hca_flush_receives(qp);
	return ret;
}

int hca_post_srq_recv(struct ib_srq *ibsrq, const struct ib_recv_wr *wr,
		      const struct ib_recv_wr **bad)
{
	struct hca_srq *srq = to_hca_srq(ibsrq);
	unsigned long flags;
	int ret = 0;

	spin_lock_irqsave(&srq->lock, flags);
	for (; wr && !ret; wr = ret ? wr : wr->next)
		ret = put_receive(srq->queue, wr, srq->max_sge);
	spin_unlock_irqrestore(&srq->lock, flags);
	if (bad)
		*bad = wr;
	return ret;
}
