/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * Headers of datagrams: over UDP the number of the sender's queue pair, and on a queue pair the
 * sender's address. The formats are those of librdmacm's rsockets.
 */
#ifndef RCL_RSOCKET_DGRAM_WIRE_H
#define RCL_RSOCKET_DGRAM_WIRE_H

#include <stddef.h>

#include "rsocket/inet_addr.h"

/* Longest datagram with its header that the peer can receive. */
#define RCL_SLOT_LEN 2048

/* Bytes of the longest header of a datagram on a queue pair. */
#define RCL_UD_HEADER_MOST 24

/* Bytes of the longest header of a datagram over UDP. */
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

/* Bytes of data of the longest datagram between addresses of a family. */
size_t rcl_data_most(int family);

/*
 * Writes the header of a datagram over UDP: at most RCL_UDP_HEADER_MOST bytes. Returns its length.
 */
size_t rcl_udp_pack(uint8_t *wire, const struct rcl_udp_header *header,
		    const union rcl_inet *local);

/*
 * Reads the header of a datagram over UDP; @from is its sender according to UDP. Returns the length
 * of the header; 0: no header of rsockets, or a reserved number of a queue pair.
 */
size_t rcl_udp_unpack(struct rcl_udp_header *header, const uint8_t *wire, size_t len,
		      const union rcl_inet *from);

/*
 * Writes the header of a datagram on a queue pair, the address and port of the sender: at most
 * RCL_UD_HEADER_MOST bytes. Returns its length.
 */
size_t rcl_ud_pack(uint8_t *wire, const union rcl_inet *from);

/* Length of the header that rcl_ud_pack() writes for a family. */
size_t rcl_ud_len(int family);

/* Reads the header of a datagram on a queue pair. Returns its length; 0: it is invalid. */
size_t rcl_ud_unpack(union rcl_inet *from, const uint8_t *wire, size_t len);

#endif /* RCL_RSOCKET_DGRAM_WIRE_H */
