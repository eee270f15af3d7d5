/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * Headers of datagrams: over UDP the number of the sender's queue pair, and on a queue pair the
 * sender's address. The formats are those of librdmacm's rsockets.
 */
#ifndef RCL_RSOCKET_DGRAM_WIRE_H
#define RCL_RSOCKET_DGRAM_WIRE_H

#include <stddef.h>

#include "rsocket/dgram/inet.h"

/** RCL_SLOT_LEN - longest datagram with its header that the peer can receive */
#define RCL_SLOT_LEN 2048

/** RCL_UD_HEADER_MOST - bytes of the longest header of a datagram on a queue pair */
#define RCL_UD_HEADER_MOST 24

/** RCL_UDP_HEADER_MOST - bytes of the longest header of a datagram on UDP */
#define RCL_UDP_HEADER_MOST 28

/**
 * enum rcl_udp_op - type of a datagram over UDP
 * @RCL_UDP_DATA: data for the program; the receiver answers with RCL_UDP_CONTROL
 * @RCL_UDP_CONTROL: only the number of the sender's queue pair, without data
 */
enum rcl_udp_op {
	RCL_UDP_DATA = 0,
	RCL_UDP_CONTROL = 7,
};

/**
 * struct rcl_udp_header - header of a datagram over UDP
 * @op: its type
 * @qpn: number of the sender's queue pair
 */
struct rcl_udp_header {
	enum rcl_udp_op op;
	uint32_t qpn;
};

/** rcl_data_most - bytes of data of the longest datagram between addresses of a family */
size_t rcl_data_most(int family);

/**
 * rcl_udp_pack - write the header of a datagram on UDP
 * @wire: RCL_UDP_HEADER_MOST bytes
 * @header: its content
 * @local: address of the sender
 *
 * Return: its length
 */
size_t rcl_udp_pack(uint8_t *wire, const struct rcl_udp_header *header,
		    const union rcl_inet *local);

/**
 * rcl_udp_unpack - read the header of a datagram on UDP
 * @header: filled in
 * @wire: the datagram
 * @len: its length
 * @from: its sender according to UDP
 *
 * Return: length of the header; 0: not a header of rsockets, or a reserved number of a queue pair
 */
size_t rcl_udp_unpack(struct rcl_udp_header *header, const uint8_t *wire, size_t len,
		      const union rcl_inet *from);

/**
 * rcl_ud_pack - write the header of a datagram on a queue pair
 * @wire: RCL_UD_HEADER_MOST bytes
 * @from: address and port of the sender
 *
 * Return: its length
 */
size_t rcl_ud_pack(uint8_t *wire, const union rcl_inet *from);

/** rcl_ud_len - length of the header that rcl_ud_pack() writes for a family */
size_t rcl_ud_len(int family);

/**
 * rcl_ud_unpack - read the header of a datagram on a queue pair
 * @from: set to the address and port of the sender
 * @wire: the datagram
 * @len: its length
 *
 * Return: length of the header; 0: it is invalid
 */
size_t rcl_ud_unpack(union rcl_inet *from, const uint8_t *wire, size_t len);

#endif /* RCL_RSOCKET_DGRAM_WIRE_H */
