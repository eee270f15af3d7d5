// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/* Extracts the message of a packet, which may come from any program and have any content. */
#include <string.h>

#include "capture/format/bytes.h"
#include "capture/format/frame.h"

enum {
	MAD_HDR_LEN = 24,
	MAD_CLASS_CM = 7,
	GSI_QPN = 1,
	ERF_EXTENDED = 0x80,
	ETHERTYPE_IPV4 = 0x0800,
	ETHERTYPE_IPV6 = 0x86dd,
	ETHERTYPE_VLAN = 0x8100,
	ETHERTYPE_SERVICE_VLAN = 0x88a8,
	PROTOCOL_UDP = 17,
	IPV4_FRAGMENT = 0x3fff,		/* more fragments, or an offset */
	COOKED_RECEIVED = 0,		/* types of packets: for this host, and from it */
	COOKED_SENT = 4,
};

/*
 * struct rest - the part of a packet that was not parsed yet
 * @len: bytes at @at
 * @cut: number of bytes that the headers announce, but that were not recorded
 */
struct rest {
	const uint8_t *at;
	size_t len;
	size_t cut;
};

/* Takes a header; NULL if it is not there. */
static const uint8_t *take(struct rest *rest, size_t len)
{
	const uint8_t *header = rest->at;

	if (rest->len < len)
		return NULL;
	rest->at += len;
	rest->len -= len;
	return header;
}

/* Applies the length of a header: bytes beyond it are padding of the link. */
static void limit(struct rest *rest, size_t len)
{
	rest->cut = len > rest->len ? len - rest->len : 0;
	if (len < rest->len)
		rest->len = len;
}

/* The rest of a packet from its BTH, with the ICRC. */
static bool parse_transport(struct rest rest, struct record_entry *entry)
{
	const uint8_t *bth = take(&rest, BTH_LEN), *deth;
	size_t after = ICRC_LEN, pad, most;

	if (!bth)
		return false;
	pad = bth[1] >> 4 & 3;
	entry->pkey = get_be16(bth + 2);
	entry->dqpn = get_be24(bth + 5);
	entry->psn = get_be24(bth + 9);
	switch (bth[0]) {
	case BTH_UD_SEND_ONLY:
	case BTH_UD_SEND_ONLY_IMMEDIATE:
		deth = take(&rest, DETH_LEN);
		if (!deth || (bth[0] == BTH_UD_SEND_ONLY_IMMEDIATE && !take(&rest, 4)))
			return false;
		entry->kind = RECORD_CM;
		entry->qkey = get_be32(deth);
		entry->sqpn = get_be24(deth + 5);
		break;
	case BTH_RC_SEND_ONLY:
		entry->kind = RECORD_TRUNK;
		break;
	default:
		return false;
	}
	/* The checksum and the padding are the last bytes of the packet, recorded or not. */
	after += pad;
	after = after > rest.cut ? after - rest.cut : 0;
	if (rest.len < after)
		return false;
	rest.len -= after;
	if (entry->kind == RECORD_CM && (rest.len < MAD_HDR_LEN || rest.at[1] != MAD_CLASS_CM ||
					 entry->dqpn != GSI_QPN))
		return false;
	most = record_longest(entry->kind);
	entry->len = rest.len < most ? rest.len : most;
	memset(entry->bytes, 0, sizeof(entry->bytes));
	memcpy(entry->bytes, rest.at, entry->len);
	return true;
}

/* A GRH or IPv6 header. */
static bool parse_grh(struct rest *rest, uint8_t next, struct record_entry *entry)
{
	const uint8_t *grh = take(rest, GRH_LEN);

	if (!grh || grh[0] >> 4 != 6 || grh[6] != next)
		return false;
	limit(rest, get_be16(grh + 4));
	if (entry->link != RECORD_INFINIBAND && !entry->sl)
		entry->sl = get_be32(grh) >> 25 & 7;
	entry->grh = true;
	entry->hop_limit = grh[7];
	memcpy(entry->sgid, grh + 8, sizeof(entry->sgid));
	memcpy(entry->dgid, grh + 24, sizeof(entry->dgid));
	return true;
}

static void put_mapped(uint8_t *gid, const uint8_t *address)
{
	memset(gid, 0, 10);
	memset(gid + 10, 0xff, 2);
	memcpy(gid + 12, address, 4);
}

static bool parse_ipv4(struct rest *rest, struct record_entry *entry)
{
	const uint8_t *ip = take(rest, IPV4_LEN);
	size_t options, len;

	if (!ip || ip[0] >> 4 != 4 || (ip[0] & 15) < 5 || ip[9] != PROTOCOL_UDP ||
	    get_be16(ip + 6) & IPV4_FRAGMENT)
		return false;
	options = (ip[0] & 15) * 4 - IPV4_LEN;
	len = get_be16(ip + 2);
	if (!take(rest, options) || len < IPV4_LEN + options)
		return false;
	limit(rest, len - IPV4_LEN - options);
	if (!entry->sl)
		entry->sl = ip[1] >> 5;
	entry->grh = true;
	entry->hop_limit = ip[8];
	put_mapped(entry->sgid, ip + 12);
	put_mapped(entry->dgid, ip + 16);
	return true;
}

static bool parse_udp(struct rest *rest, struct record_entry *entry)
{
	const uint8_t *udp = take(rest, UDP_LEN);

	if (!udp || get_be16(udp + 2) != UDP_PORT_ROCE)
		return false;
	entry->udp_sport = get_be16(udp);
	return true;
}

/* The packet behind the header of its link, with its Ethernet type; may begin with VLAN tags. */
static bool parse_network(struct rest rest, uint16_t type, struct record_entry *entry)
{
	const uint8_t *tag;

	while (type == ETHERTYPE_VLAN || type == ETHERTYPE_SERVICE_VLAN) {
		tag = take(&rest, 4);
		if (!tag)
			return false;
		entry->sl = tag[0] >> 5;
		type = get_be16(tag + 2);
	}
	switch (type) {
	case ETHERTYPE_ROCE:
		entry->link = RECORD_ROCE_V1;
		return parse_grh(&rest, GRH_NEXT_BTH, entry) && parse_transport(rest, entry);
	case ETHERTYPE_IPV4:
		entry->link = RECORD_ROCE_V2;
		return parse_ipv4(&rest, entry) && parse_udp(&rest, entry) &&
		       parse_transport(rest, entry);
	case ETHERTYPE_IPV6:
		entry->link = RECORD_ROCE_V2;
		return parse_grh(&rest, PROTOCOL_UDP, entry) && parse_udp(&rest, entry) &&
		       parse_transport(rest, entry);
	default:
		return false;
	}
}

static bool parse_ethernet(struct rest rest, struct record_entry *entry)
{
	const uint8_t *header = take(&rest, ETHERNET_LEN);

	if (!header)
		return false;
	memcpy(entry->dmac, header, sizeof(entry->dmac));
	memcpy(entry->smac, header + 6, sizeof(entry->smac));
	return parse_network(rest, get_be16(header + 12), entry);
}

/* Headers that Linux puts in place of those of any link, with the sender and the direction. */
static bool parse_cooked(struct rest rest, bool second, struct record_entry *entry)
{
	const uint8_t *header = take(&rest, second ? SLL2_LEN : SLL_LEN);
	unsigned int way, address_len;

	if (!header)
		return false;
	way = second ? header[10] : get_be16(header);
	address_len = second ? header[11] : get_be16(header + 4);
	if (entry->way == RECORD_SEEN && way == COOKED_SENT)
		entry->way = RECORD_SENT;
	else if (entry->way == RECORD_SEEN && way == COOKED_RECEIVED)
		entry->way = RECORD_RECEIVED;
	if (address_len == sizeof(entry->smac))
		memcpy(entry->smac, header + (second ? 12 : 6), sizeof(entry->smac));
	return parse_network(rest, get_be16(second ? header : header + 14), entry);
}

static bool parse_infiniband(struct rest rest, struct record_entry *entry)
{
	const uint8_t *lrh = take(&rest, LRH_LEN);
	size_t len;

	if (!lrh)
		return false;
	entry->link = RECORD_INFINIBAND;
	entry->sl = lrh[1] >> 4;
	entry->dlid = get_be16(lrh + 2);
	entry->slid = get_be16(lrh + 6);
	len = (get_be16(lrh + 4) & 0x7ff) * 4;
	if (len < LRH_LEN)
		return false;
	limit(&rest, len - LRH_LEN);
	switch (lrh[1] & 3) {
	case 2:
		return parse_transport(rest, entry);
	case 3:
		return parse_grh(&rest, GRH_NEXT_BTH, entry) && parse_transport(rest, entry);
	default:
		return false;
	}
}

static bool parse_erf(struct rest rest, struct record_entry *entry)
{
	const uint8_t *erf = take(&rest, ERF_LEN), *extension;

	if (!erf || (erf[8] & ~ERF_EXTENDED) != ERF_INFINIBAND)
		return false;
	for (uint8_t more = erf[8]; more & ERF_EXTENDED; more = extension[0]) {
		extension = take(&rest, 8);
		if (!extension)
			return false;
	}
	return parse_infiniband(rest, entry);
}

bool frame_reads(int link)
{
	switch (link) {
	case LINK_ETHERNET:
	case LINK_LINUX_SLL:
	case LINK_LINUX_SLL2:
	case LINK_ERF:
	case LINK_INFINIBAND:
		return true;
	default:
		return false;
	}
}

bool frame_parse(int link, const uint8_t *bytes, size_t len, struct record_entry *entry)
{
	struct record_entry parsed = *entry;
	struct rest rest = { .at = bytes, .len = len };
	bool found;

	switch (link) {
	case LINK_ETHERNET:
		found = parse_ethernet(rest, &parsed);
		break;
	case LINK_LINUX_SLL:
	case LINK_LINUX_SLL2:
		found = parse_cooked(rest, link == LINK_LINUX_SLL2, &parsed);
		break;
	case LINK_ERF:
		found = parse_erf(rest, &parsed);
		break;
	case LINK_INFINIBAND:
		found = parse_infiniband(rest, &parsed);
		break;
	default:
		found = false;
	}
	if (found)
		*entry = parsed;
	return found;
}
