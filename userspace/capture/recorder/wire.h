/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* Interface between the BPF program and the recorder. */
#ifndef CAPTURE_RECORDER_WIRE_H
#define CAPTURE_RECORDER_WIRE_H

#include <linux/types.h>

enum { WIRE_DEVICE_LEN = 64, WIRE_GRH_LEN = 40, WIRE_GID_LEN = 16 };

/* Lengths of messages: a MAD, and the longest frame of a trunk. */
enum { WIRE_MAD = 256, WIRE_FRAME = 1024 };

/* Ways, as enum record_way. */
enum { WIRE_SENT, WIRE_SENT_AGAIN, WIRE_RECEIVED };

/* Kinds, as enum record_kind. */
enum { WIRE_CM, WIRE_TRUNK };

/* The completion of a received message does not have the type of the network header. */
#define WIRE_GID_TYPE_UNKNOWN 0xff

/* struct wire_port - a port; padding is zero, as it is the key of the map of drops */
struct wire_port {
	char device[WIRE_DEVICE_LEN];
	__u32 port;
};

/*
 * struct wire_message - a message; numbers in the byte order of the host
 * @time: CLOCK_MONOTONIC, in nanoseconds
 * @addressed: sent: @gid to @hop_limit are valid
 * @grh_valid: received: @grh was filled in
 * @gid: the GID of the peer
 * @own_gid: the local GID; zero: unknown
 * @mac: RoCE: of the peer
 * @lid: InfiniBand: of the peer
 * @gid_type: sent, or of a trunk: enum ib_gid_type; received: enum rdma_network_type, or
 *	WIRE_GID_TYPE_UNKNOWN
 * @qpn: local QP
 * @peer_qpn: QP of the peer
 * @len: of the message
 * @bytes: the message; only WIRE_MAD bytes are passed for a MAD
 */
struct wire_message {
	__u64 time;
	struct wire_port port;
	__u8 kind;
	__u8 way;
	__u8 addressed;
	__u8 grh_valid;
	__u8 gid[WIRE_GID_LEN];
	__u8 own_gid[WIRE_GID_LEN];
	__u8 mac[6];
	__u16 lid;
	__u8 sl;
	__u8 hop_limit;
	__u8 gid_type;
	__u8 path_bits;
	__u16 pkey_index;
	__u16 pkey;		/* of a trunk */
	__u32 qpn;
	__u32 peer_qpn;
	__u32 qkey;
	__u32 len;
	__u32 session;		/* of a trunk */
	__u8 grh[WIRE_GRH_LEN];
	__u8 bytes[WIRE_FRAME];
};

#endif /* CAPTURE_RECORDER_WIRE_H */
