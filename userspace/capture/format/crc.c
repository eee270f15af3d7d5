// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/* Checksums of packets: invariant and variant CRC, IP and UDP. */
#include "capture/format/crc.h"

#include <string.h>

#include "capture/format/frame.h"

/* The polynomials x^32+x^26+...+1 and x^16+x^12+x^3+x+1, lowest bit first. */
#define POLYNOMIAL_32 0xedb88320u
#define POLYNOMIAL_16 0xd008u

static uint32_t add_bits(uint32_t crc, const uint8_t *bytes, size_t len, uint32_t polynomial)
{
	for (; len; len--) {
		crc ^= *bytes++;
		for (int bit = 0; bit < 8; bit++)
			crc = crc >> 1 ^ (crc & 1 ? polynomial : 0);
	}
	return crc;
}

/* Fields that routers change in an IPv6 header or GRH (class, flow label, hops) become ones. */
static void mask_ipv6(uint8_t *header)
{
	header[0] |= 0x0f;
	memset(header + 1, 0xff, 3);
	header[7] = 0xff;
}

static void mask_ipv4(uint8_t *header)
{
	header[1] = 0xff;		/* type of service */
	header[8] = 0xff;		/* time to live */
	memset(header + 10, 0xff, 2);	/* checksum */
}

uint32_t crc_invariant(const uint8_t *packet, size_t len, size_t bth, bool lrh)
{
	/* RoCE counts ones in place of the LRH. */
	size_t before = lrh ? 0 : LRH_LEN, first = before + (lrh ? LRH_LEN : 0);
	uint8_t copy[LRH_LEN + FRAME_MAX];

	if (len > sizeof(copy) - before)
		len = sizeof(copy) - before;
	memset(copy, 0xff, before);
	memcpy(copy + before, packet, len);
	bth += before;
	if (lrh)
		copy[0] |= 0xf0;	/* virtual lane */
	if (bth > first) {
		if (copy[first] >> 4 == 4)
			mask_ipv4(copy + first);
		else
			mask_ipv6(copy + first);
	}
	if (bth > first && bth - first != GRH_LEN)
		memset(copy + bth - 2, 0xff, 2);	/* checksum of UDP */
	copy[bth + 4] = 0xff;
	return ~add_bits(0xffffffff, copy, before + len, POLYNOMIAL_32);
}

uint16_t crc_variant(const uint8_t *packet, size_t len)
{
	return ~add_bits(0xffff, packet, len, POLYNOMIAL_16);
}

uint16_t crc_internet(uint16_t sum, const uint8_t *bytes, size_t len)
{
	uint32_t all = sum;

	for (size_t i = 0; i < len; i++)
		all += i % 2 ? bytes[i] : bytes[i] << 8;
	while (all >> 16)
		all = (all & 0xffff) + (all >> 16);
	return all;
}
