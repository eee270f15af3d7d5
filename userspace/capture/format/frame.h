/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* Packets: the headers around a message (IBTA volume 1, chapters 7 to 9; annexes A16, A17). */
#ifndef CAPTURE_FORMAT_FRAME_H
#define CAPTURE_FORMAT_FRAME_H

#include "capture/format/entry.h"

/* Types of links in capture files: https://www.tcpdump.org/linktypes.html. */
enum {
	LINK_ETHERNET = 1,
	LINK_LINUX_SLL = 113,		/* "cooked": of tcpdump -i any */
	LINK_ERF = 197,
	LINK_INFINIBAND = 247,
	LINK_LINUX_SLL2 = 276,
};

/* More than the headers and checksums around a message: ERF, LRH, GRH, BTH, DETH, ICRC, VCRC. */
#define FRAME_MAX (RECORD_FRAME_LEN + 128)

/* Lengths of headers, and values in them. */
enum {
	ERF_LEN = 16,
	ETHERNET_LEN = 14,
	SLL_LEN = 16,
	SLL2_LEN = 20,
	LRH_LEN = 8,
	GRH_LEN = 40,		/* that of IPv6, too */
	IPV4_LEN = 20,
	UDP_LEN = 8,
	BTH_LEN = 12,
	DETH_LEN = 8,
	ICRC_LEN = 4,
	VCRC_LEN = 2,

	ERF_INFINIBAND = 21,
	ETHERTYPE_ROCE = 0x8915,
	GRH_NEXT_BTH = 0x1b,
	UDP_PORT_ROCE = 4791,
	BTH_RC_SEND_ONLY = 0x04,
	BTH_UD_SEND_ONLY = 0x64,
	BTH_UD_SEND_ONLY_IMMEDIATE = 0x65,
};

/*
 * struct frame - a packet of a file
 * @len: bytes in @bytes
 * @original: length of the packet on the wire; more than @len if the message was recorded in part
 */
struct frame {
	size_t len;
	size_t original;
	uint8_t bytes[FRAME_MAX];
};

/* Type of the link of an interface in a file. */
int frame_link(enum record_link link);

/* Puts the headers and checksums around a message of at most record_longest() bytes. */
void frame_build(const struct record_entry *entry, struct frame *frame);

/* Does frame_parse() know a type of link? */
bool frame_reads(int link);

/*
 * Extracts the message of a packet with any content. On success the members of the headers are set
 * in @entry; the message is short if the packet was not recorded completely. Returns whether the
 * packet has a CM message, or a send of an RC QP, which may belong to a trunk.
 */
bool frame_parse(int link, const uint8_t *bytes, size_t len, struct record_entry *entry);

#endif /* CAPTURE_FORMAT_FRAME_H */
