/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* Checksums of packets. */
#ifndef CAPTURE_FORMAT_CRC_H
#define CAPTURE_FORMAT_CRC_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/*
 * crc_invariant() - the invariant CRC of a packet (IBTA volume 1, 7.8.1; annexes A16, A17)
 * @packet: begins with the LRH, or for RoCE with the GRH or IP header; at most FRAME_MAX bytes
 * @len: up to the checksum
 * @bth: offset of the BTH
 * @lrh: @packet begins with an LRH
 *
 * Return: the checksum, whose lowest byte is the first one in the packet
 */
uint32_t crc_invariant(const uint8_t *packet, size_t len, size_t bth, bool lrh);

/* The variant CRC of an InfiniBand packet, LRH to ICRC (7.8.2); likewise. */
uint16_t crc_variant(const uint8_t *packet, size_t len);

/*
 * crc_internet() - the checksum of IP and UDP
 * @sum: result for the bytes before, 0 at first
 *
 * Return: the sum; its complement is the checksum
 */
uint16_t crc_internet(uint16_t sum, const uint8_t *bytes, size_t len);

#endif /* CAPTURE_FORMAT_CRC_H */
