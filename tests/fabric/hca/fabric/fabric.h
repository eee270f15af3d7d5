/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * Packets, and the switch that all ports are plugged into.
 */
#ifndef HCA_FABRIC_H
#define HCA_FABRIC_H

#include <linux/if_ether.h>
#include <linux/list.h>
#include <linux/types.h>
#include <rdma/ib_mad.h>
#include <rdma/ib_verbs.h>

struct hca_qp;
struct seq_file;

#define HCA_GRH		40	/* bytes before the data of a datagram */
#define HCA_GSI_QKEY	0x80010000

/* hca_count: what happened to packets, see the file counters in debugfs. */
enum hca_count {
	HCA_SENT,
	HCA_DELIVERED,
	HCA_PORT_DOWN,
	HCA_NO_PORT,
	HCA_NO_QP,
	HCA_BAD_PKEY,
	HCA_BAD_QKEY,
	HCA_NO_BUFFER,
	HCA_NO_MEMBER,
	HCA_TOO_MANY,
	HCA_SA_ANSWERED,
	HCA_SA_REFUSED,
	HCA_COUNTS,
};

/**
 * struct hca_ack - what the sender of a message of an RC QP gets for it
 * @qp: the sender's QP (holds a reference), NULL: nothing
 * @wr_id: identifier of the client
 * @len: length of the message
 * @is_write: it is an RDMA write
 * @refused: it is not delivered, and completes with this when it is its turn
 * @signalled: it has a completion if it arrives
 */
struct hca_ack {
	struct hca_qp *qp;
	u64 wr_id;
	u32 len;
	bool is_write;
	enum ib_wc_status refused;
	bool signalled;
};

/**
 * struct hca_target - where an RDMA write goes
 * @addr: address in a region of the receiver
 * @rkey: key of the region
 */
struct hca_target {
	u64 addr;
	u32 rkey;
};

/**
 * struct hca_packet - a packet on the wire
 * @entry: in a list of the fabric's
 * @order: the number of the packet, counted over all
 * @due: when it goes on, in jiffies, of one that a rule holds
 * @behind: it waits for another to overtake it
 * @judged: the rules have had their say
 * @connected: of a connected QP, else a datagram
 * @reliable: of an RC QP, which fails if the packet cannot be delivered
 * @has_grh: @grh holds
 * @has_imm: @imm holds
 * @is_write: an RDMA write to @target, which takes a receive request only with immediate data
 * @solicited: the sender wants the receiver's attention
 * @sl: service level
 * @tries: how often it could not be delivered
 * @smac: Ethernet address of the sender, if its port is one of RoCE
 * @slid: LID of the sender
 * @dlid: LID of the receiver or of a group
 * @pkey: of the partition
 * @src_qpn: the sender's QP
 * @dst_qpn: the receiver's QP
 * @qkey: what the receiver's QP must have
 * @from: the sender's QP, to know it by and nothing else
 * @ack: what the sender gets for it
 * @imm: immediate data
 * @target: of an RDMA write
 * @grh: global route header
 * @len: of @data
 * @data: the payload
 */
struct hca_packet {
	struct list_head entry;
	u64 order;
	unsigned long due;
	bool behind;
	bool judged;
	bool connected;
	bool reliable;
	bool has_grh;
	bool has_imm;
	bool is_write;
	bool solicited;
	u8 sl;
	u8 tries;
	u8 smac[ETH_ALEN];
	u16 slid;
	u16 dlid;
	u16 pkey;
	u32 src_qpn;
	u32 dst_qpn;
	u32 qkey;
	const void *from;
	struct hca_ack ack;
	__be32 imm;
	struct hca_target target;
	struct ib_grh grh;
	u32 len;
	u8 data[];
};

/* hca_packet_mad: the MAD in a packet to a QP1, NULL in any other. */
static inline const struct ib_mad_hdr *hca_packet_mad(const struct hca_packet *packet)
{
	if (packet->connected || packet->dst_qpn != 1 || packet->len != IB_MGMT_MAD_SIZE)
		return NULL;
	return (const struct ib_mad_hdr *)packet->data;
}

int hca_fabric_init(void);
void hca_fabric_exit(void);
struct hca_packet *hca_packet_new(u32 len, gfp_t gfp);
struct hca_packet *hca_packet_answer(const struct hca_packet *packet);
void hca_fabric_send(struct hca_packet *packet);
void hca_count(enum hca_count what);
void hca_count_show(struct seq_file *file);

#endif /* HCA_FABRIC_H */
