// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/* Puts the headers and checksums around a recorded message, as they were on the wire. */
#include <string.h>

#include "capture/format/bytes.h"
#include "capture/format/crc.h"
#include "capture/format/frame.h"

#define NANOSECONDS 1000000000u

/* Offset of the length in the header of a trunk's frame (struct rca_proto_frame). */
enum { TRUNK_LEN_AT = 18, TRUNK_HDR_LEN = 24 };

static const uint8_t mapped[12] = { [10] = 0xff, [11] = 0xff };

static bool is_ipv4(const struct record_entry *entry)
{
	return !memcmp(entry->sgid, mapped, sizeof(mapped)) &&
	       !memcmp(entry->dgid, mapped, sizeof(mapped));
}

/* Length of the message on the wire: a frame may be longer than its recorded part. */
static size_t message_len(const struct record_entry *entry)
{
	size_t len;

	if (entry->kind != RECORD_TRUNK || entry->len < TRUNK_HDR_LEN)
		return entry->len;
	len = get_be16(entry->bytes + TRUNK_LEN_AT);
	return len > entry->len && len <= RECORD_FRAME_LEN ? len : entry->len;
}

static size_t padding(const struct record_entry *entry)
{
	return -message_len(entry) % 4;
}

/* Length from the BTH to the ICRC. */
static size_t transport_len(const struct record_entry *entry)
{
	return BTH_LEN + (entry->kind == RECORD_CM ? DETH_LEN : 0) + message_len(entry) +
	       padding(entry) + ICRC_LEN;
}

/* A GRH, or the IPv6 header that has the same form. */
static uint8_t *put_grh(uint8_t *to, const struct record_entry *entry, uint8_t next, size_t len)
{
	put_be32(to, 6u << 28 | (uint32_t)(entry->sl & 7) << 25);
	put_be16(to + 4, len);
	to[6] = next;
	to[7] = entry->hop_limit;
	memcpy(to + 8, entry->sgid, sizeof(entry->sgid));
	memcpy(to + 24, entry->dgid, sizeof(entry->dgid));
	return to + GRH_LEN;
}

static uint8_t *put_ipv4(uint8_t *to, const struct record_entry *entry, size_t len)
{
	memset(to, 0, IPV4_LEN);
	to[0] = 0x45;
	to[1] = (entry->sl & 7) << 5;
	put_be16(to + 2, IPV4_LEN + len);
	to[6] = 0x40;			/* not to be fragmented */
	to[8] = entry->hop_limit;
	to[9] = 17;
	memcpy(to + 12, entry->sgid + sizeof(mapped), 4);
	memcpy(to + 16, entry->dgid + sizeof(mapped), 4);
	put_be16(to + 10, ~crc_internet(0, to, IPV4_LEN));
	return to + IPV4_LEN;
}

static uint8_t *put_udp(uint8_t *to, const struct record_entry *entry, size_t len)
{
	put_be16(to, entry->udp_sport);
	put_be16(to + 2, UDP_PORT_ROCE);
	put_be16(to + 4, len);
	put_be16(to + 6, 0);
	return to + UDP_LEN;
}

static uint8_t *put_ethernet(uint8_t *to, const struct record_entry *entry)
{
	uint16_t type = is_ipv4(entry) ? 0x0800 : 0x86dd;

	memcpy(to, entry->dmac, sizeof(entry->dmac));
	memcpy(to + 6, entry->smac, sizeof(entry->smac));
	put_be16(to + 12, entry->link == RECORD_ROCE_V1 ? ETHERTYPE_ROCE : type);
	return to + ETHERNET_LEN;
}

static uint8_t *put_lrh(uint8_t *to, const struct record_entry *entry)
{
	size_t len = LRH_LEN + (entry->grh ? GRH_LEN : 0) + transport_len(entry);

	to[0] = 0;
	to[1] = entry->sl << 4 | (entry->grh ? 3 : 2);
	put_be16(to + 2, entry->dlid);
	put_be16(to + 4, len / 4);
	put_be16(to + 6, entry->slid);
	return to + LRH_LEN;
}

/* The time is in seconds, with a fraction of 32 bits; the lengths count this header. */
static void put_erf(uint8_t *to, uint64_t time, size_t len, size_t original)
{
	uint64_t seconds = time / NANOSECONDS, part = time % NANOSECONDS;

	put_le64(to, seconds << 32 | ((part << 32) + NANOSECONDS / 2) / NANOSECONDS);
	to[8] = ERF_INFINIBAND;
	to[9] = 4;			/* records of any length */
	put_be16(to + 10, ERF_LEN + len);
	put_be16(to + 12, 0);
	put_be16(to + 14, original);
}

static uint8_t *put_transport(uint8_t *to, const struct record_entry *entry)
{
	to[0] = entry->kind == RECORD_CM ? BTH_UD_SEND_ONLY : BTH_RC_SEND_ONLY;
	to[1] = 0x40 | padding(entry) << 4;
	put_be16(to + 2, entry->pkey);
	put_be32(to + 4, entry->dqpn & 0xffffff);
	put_be32(to + 8, entry->psn & 0xffffff);
	to += BTH_LEN;
	if (entry->kind == RECORD_CM) {
		put_be32(to, entry->qkey);
		put_be32(to + 4, entry->sqpn & 0xffffff);
		to += DETH_LEN;
	}
	memcpy(to, entry->bytes, entry->len);
	return to + entry->len;
}

/* The checksum of UDP; the pseudo-header has the addresses, the length and the protocol. */
static void put_udp_checksum(uint8_t *udp, const uint8_t *ip, size_t len)
{
	bool v4 = ip[0] >> 4 == 4;
	const uint8_t *addresses = v4 ? ip + 12 : ip + 8;
	uint8_t tail[4] = { len >> 8, len, 0, 17 };
	uint16_t sum;

	sum = crc_internet(0, addresses, v4 ? 8 : 32);
	sum = crc_internet(sum, tail, sizeof(tail));
	sum = ~crc_internet(sum, udp, len);
	put_be16(udp + 6, sum ?: 0xffff);
}

int frame_link(enum record_link link)
{
	return link == RECORD_INFINIBAND ? LINK_ERF : LINK_ETHERNET;
}

/* Everything that precedes the BTH but the ERF header. */
static uint8_t *put_network(uint8_t *to, const struct record_entry *entry, uint8_t **udp)
{
	size_t len = transport_len(entry);

	*udp = NULL;
	switch (entry->link) {
	case RECORD_INFINIBAND:
		return entry->grh ? put_grh(to, entry, GRH_NEXT_BTH, len) : to;
	case RECORD_ROCE_V1:
		return put_grh(to, entry, GRH_NEXT_BTH, len);
	default:
		to = is_ipv4(entry) ? put_ipv4(to, entry, UDP_LEN + len) :
				      put_grh(to, entry, 17, UDP_LEN + len);
		*udp = to;
		return put_udp(to, entry, UDP_LEN + len);
	}
}

void frame_build(const struct record_entry *entry, struct frame *frame)
{
	bool infiniband = entry->link == RECORD_INFINIBAND;
	bool complete = message_len(entry) == entry->len;
	uint8_t *packet, *network, *bth, *to, *udp;

	/* Checksums begin with the LRH, or behind the Ethernet header. */
	packet = frame->bytes + (infiniband ? ERF_LEN : ETHERNET_LEN);
	if (!infiniband)
		put_ethernet(frame->bytes, entry);
	network = infiniband ? put_lrh(packet, entry) : packet;
	bth = put_network(network, entry, &udp);
	to = put_transport(bth, entry);
	frame->original = (bth - frame->bytes) + transport_len(entry) + (infiniband ? VCRC_LEN : 0);
	if (complete) {
		memset(to, 0, padding(entry));
		to += padding(entry);
		put_le32(to, crc_invariant(packet, to - packet, bth - packet, infiniband));
		to += ICRC_LEN;
		if (udp)
			put_udp_checksum(udp, packet, to - udp);
	}
	if (complete && infiniband) {
		put_le16(to, crc_variant(packet, to - packet));
		to += VCRC_LEN;
	}
	frame->len = to - frame->bytes;
	if (infiniband)
		put_erf(frame->bytes, entry->time, frame->len - ERF_LEN, frame->original - ERF_LEN);
}
