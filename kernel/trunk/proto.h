/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* The trunk protocol: its messages, in memory and on the wire. */
#ifndef RCA_TRUNK_PROTO_H
#define RCA_TRUNK_PROTO_H

#include <linux/types.h>

/**
 * DOC: Trunk protocol
 *
 * All numbers are big endian, and reserved fields are sent as zero and ignored. Four messages of
 * ib_cm carry data of this protocol in their private data: an RTU the *hello*, the REQ and the REP
 * that open a trunk, and the DREQ that ends it. On the QP of a trunk, each SEND is a *frame*: a
 * header and whole *records*. A record is a message about one connection, and corresponds to the CM
 * message of its name (IBTA volume 1, 12.6), but for ASK and PING.
 *
 * The end that requests a connection chooses its number, which is in all records about it. The end
 * with the greater boot identifier, or of two ports of one host that with the greater GID, chooses
 * odd numbers, the other end even ones, so both may request connections at the same time. The first
 * number is random.
 *
 * A QP delivers records once and in order, until it fails. On the next one each end sends again
 * what its connections wait for: a REQ or a REP to be answered, a DREQ to be sent; for each other
 * connection it sends an ASK. A record that was received before changes nothing: number, state and
 * QP numbers tell. Who does not have the connection of a REP or an ASK answers with a DREQ. So both
 * ends agree again. A DREQ is answered with a DREP if the features of the peer do not say NO_DREP.
 *
 * Both ends use the highest version that both speak. Fields that a later version appends to a
 * record are after its private data, and this version ignores them; a record of an unknown type is
 * skipped.
 */

/** RCA_TRUNK_VERSION - the newest version of the protocol that this module speaks */
#define RCA_TRUNK_VERSION	2
/** RCA_TRUNK_OLDEST - the oldest one: version 1 kept and numbered its frames */
#define RCA_TRUNK_OLDEST	2

/** RCA_HELLO_LEN - length of a hello */
#define RCA_HELLO_LEN		64
/** RCA_TRUNK_REQ_LEN - length of the private data of the REQ that opens a trunk */
#define RCA_TRUNK_REQ_LEN	92
/** RCA_TRUNK_REP_LEN - length of the private data of its REP */
#define RCA_TRUNK_REP_LEN	88
/** RCA_TRUNK_DREQ_LEN - length of the private data of a DREQ that ends a session or an idle link */
#define RCA_TRUNK_DREQ_LEN	8

/** RCA_FRAME_MAX - longest frame, header included */
#define RCA_FRAME_MAX		1024
/** RCA_FRAME_HDR_LEN - length of the header of a frame */
#define RCA_FRAME_HDR_LEN	24
/** RCA_RECORD_HDR_LEN - length of the header of a record */
#define RCA_RECORD_HDR_LEN	8
/** RCA_RECORD_USER_MAX - limit of the private data of a REP or REJ: those of a user */
#define RCA_RECORD_USER_MAX	255
/** RCA_RECORD_PRIVATE_MAX - limit of the private data of a REQ: IP CM header and those of a user */
#define RCA_RECORD_PRIVATE_MAX	(36 + RCA_RECORD_USER_MAX)

#define RCA_BOOT_ID_LEN		16

/** RCA_HELLO_NO_DREP - feature: the sender of a DREQ over a trunk does not wait for a DREP */
#define RCA_HELLO_NO_DREP	1

/**
 * struct rca_hello - announcement of a host to a peer
 * @boot_id: random number of this load of the module
 * @service_id: service ID for REQs that open a trunk; 0: the sender accepts none
 * @ca_guid: node GUID of the device
 * @token: required in a REQ that opens a trunk to the sender
 * @features: RCA_HELLO_NO_DREP; unknown bits are ignored
 * @version: newest version of the protocol that the sender speaks
 * @oldest: oldest version that the sender speaks
 * @ack_delay: local CA ACK delay of the device (IBTA volume 1, 11.2.1.2), 4.096 us * 2^n
 */
struct rca_hello {
	u8 boot_id[RCA_BOOT_ID_LEN];
	__be64 service_id;
	__be64 ca_guid;
	u64 token;
	u32 features;
	u8 version;
	u8 oldest;
	u8 ack_delay;
};

/**
 * struct rca_trunk_open - private data of the REQ and the REP that open a trunk
 * @hello: of the sender
 * @token: REQ: from the hello of the receiver
 * @cookie: required in every frame to the sender
 * @last: REQ: cookie of the receiver on the last QP that was connected, or 0; REP: 0
 */
struct rca_trunk_open {
	struct rca_hello hello;
	u64 token;
	u64 cookie;
	u64 last;
};

/**
 * struct rca_frame_hdr - header of a frame
 * @cookie: of the receiver
 * @number: number of frames with records so far; for readers of captures, not checked
 * @credits: receive buffers that the sender has posted on the QP since it exists, modulo 2^16
 * @records: number of records; 0: the frame reports credits, or answers a PING
 * @len: length of the frame, header included
 */
struct rca_frame_hdr {
	u64 cookie;
	u32 number;
	u16 credits;
	u16 len;
	u8 records;
};

/**
 * enum rca_record_type - types of records
 * @RCA_RECORD_REQ: connection request
 * @RCA_RECORD_REP: reply
 * @RCA_RECORD_RTU: ready to use
 * @RCA_RECORD_REJ: reject
 * @RCA_RECORD_DREQ: disconnect request
 * @RCA_RECORD_DREP: disconnect reply
 * @RCA_RECORD_HELD: the backlog of the listener is full: repeat the request later
 * @RCA_RECORD_PING: requests a frame, with or without records, as a sign of life of the peer
 * @RCA_RECORD_ASK: the sender has the connection; a receiver that does not answers with a DREQ
 * @RCA_RECORD_TYPES: number of types, with 0
 */
enum rca_record_type {
	RCA_RECORD_REQ = 1,
	RCA_RECORD_REP,
	RCA_RECORD_RTU,
	RCA_RECORD_REJ,
	RCA_RECORD_DREQ,
	RCA_RECORD_DREP,
	RCA_RECORD_HELD,
	RCA_RECORD_PING,
	RCA_RECORD_ASK,
	RCA_RECORD_TYPES,
};

/**
 * struct rca_record_qp - REQ, REP: the QP of the sender
 * @qp_num: its number
 * @psn: starting packet sequence number of its receive queue
 * @ece_vendor_id: enhanced connection establishment
 * @ece_attr_mod: enhanced connection establishment
 * @responder_resources: from the view of the sender
 * @initiator_depth: from the view of the sender
 * @retry_count: REQ: transport retries
 * @rnr_retry_count: receiver-not-ready retries
 * @flow_control: end-to-end flow control
 * @srq: the sender uses a shared receive queue
 */
struct rca_record_qp {
	u32 qp_num;
	u32 psn;
	u32 ece_vendor_id;
	u32 ece_attr_mod;
	u8 responder_resources;
	u8 initiator_depth;
	u8 retry_count;
	u8 rnr_retry_count;
	bool flow_control;
	bool srq;
};

/**
 * struct rca_record_path - REQ: the path of the connection, from the sender to the receiver
 *
 * GIDs and partition are those of the trunk.
 *
 * @flow_label: of the GRH
 * @slid: InfiniBand: LID of the sender; extended LIDs: all their bits
 * @dlid: InfiniBand: LID of the receiver
 * @traffic_class: of the GRH
 * @hop_limit: of the GRH
 * @sl: service level
 * @mtu: enum ib_mtu
 * @rate: enum ib_rate
 * @ack_timeout: for the QP of the receiver: local ACK timeout, 4.096 us * 2^n
 */
struct rca_record_path {
	u32 flow_label;
	u32 slid;
	u32 dlid;
	u8 traffic_class;
	u8 hop_limit;
	u8 sl;
	u8 mtu;
	u8 rate;
	u8 ack_timeout;
};

/**
 * struct rca_trunk_record - a record
 * @type: enum rca_record_type
 * @conn: number of the connection, chosen by the end that requests it; 0 in a PING
 * @service_id: REQ: service ID of the listener
 * @qp_type: REQ: enum ib_qp_type: IB_QPT_RC, IB_QPT_UC or IB_QPT_XRC_INI
 * @qp: REQ, REP: QP of the sender; ASK: its number, or 0 if there is none yet
 * @path: REQ: the path
 * @ack_delay: REP: local CA ACK delay of the device of the sender
 * @reason: REJ: reason (IBTA volume 1, 12.6.7.2)
 * @delay_ms: HELD: milliseconds until the request may be repeated
 * @remote_qpn: DREQ, ASK: number of the QP of the receiver (IBTA volume 1, 12.6.10), or 0
 * @private_len: REQ, REP, REJ: length of @private_data
 * @private_data: REQ, REP, REJ: private data; after unpacking, in the frame
 */
struct rca_trunk_record {
	u8 type;
	u8 qp_type;
	u8 ack_delay;
	u16 reason;
	u16 private_len;
	u32 conn;
	u32 delay_ms;
	u32 remote_qpn;
	__be64 service_id;
	struct rca_record_qp qp;
	struct rca_record_path path;
	const u8 *private_data;
};

void rca_hello_pack(u8 *data, const struct rca_hello *hello);
int rca_hello_unpack(const u8 *data, size_t len, struct rca_hello *hello);
u8 rca_hello_common_version(const struct rca_hello *hello);
bool rca_hello_is_of(const struct rca_hello *hello, const u8 *boot_id);
void rca_trunk_req_pack(u8 *data, const struct rca_trunk_open *open);
int rca_trunk_req_unpack(const u8 *data, size_t len, struct rca_trunk_open *open);
void rca_trunk_rep_pack(u8 *data, const struct rca_trunk_open *open);
int rca_trunk_rep_unpack(const u8 *data, size_t len, struct rca_trunk_open *open);
void rca_trunk_dreq_pack(u8 *data, u32 session);
int rca_trunk_dreq_unpack(const u8 *data, size_t len, u32 *session);
void rca_frame_hdr_pack(u8 *data, const struct rca_frame_hdr *hdr);
int rca_frame_hdr_unpack(const u8 *data, size_t len, struct rca_frame_hdr *hdr);
int rca_record_pack(u8 *data, size_t room, const struct rca_trunk_record *record);
int rca_record_unpack(const u8 *data, size_t len, struct rca_trunk_record *record);

#endif /* RCA_TRUNK_PROTO_H */
