/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* Blocks and options of pcapng files (draft-ietf-opsawg-pcapng). */
#ifndef CAPTURE_FORMAT_PCAPNG_H
#define CAPTURE_FORMAT_PCAPNG_H

#include <stdint.h>

enum {
	PCAPNG_SECTION = 0x0a0d0d0a,
	PCAPNG_INTERFACE = 1,
	PCAPNG_OLD_PACKET = 2,
	PCAPNG_SIMPLE_PACKET = 3,
	PCAPNG_STATISTICS = 5,
	PCAPNG_PACKET = 6,
	PCAPNG_JOURNAL = 9,		/* an entry of a journal: Wireshark numbers it, too */

	/* Type and length before a body, and the length after it. */
	PCAPNG_HEAD_LEN = 8,
	PCAPNG_TAIL_LEN = 4,

	/* Options of any block, of sections, interfaces, packets and statistics. */
	OPTION_END = 0,
	OPTION_COMMENT = 1,
	OPTION_SHB_USERAPPL = 4,
	OPTION_IF_NAME = 2,
	OPTION_IF_TSRESOL = 9,
	OPTION_IF_TSOFFSET = 14,
	OPTION_EPB_FLAGS = 2,
	OPTION_ISB_IFRECV = 4,
	OPTION_ISB_IFDROP = 5,

	/* The lowest bits of epb_flags. */
	EPB_WAY_MASK = 3,
	EPB_INBOUND = 1,
	EPB_OUTBOUND = 2,
};

#define PCAPNG_BYTE_ORDER 0x1a2b3c4du

#endif /* CAPTURE_FORMAT_PCAPNG_H */
