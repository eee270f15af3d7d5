/* SPDX-License-Identifier: (GPL-2.0 WITH Linux-syscall-note) OR BSD-2-Clause */
/*
 * Generated from Documentation/netlink/specs/rdma_cm_alt.yaml; do not edit it.
 *
 * What can be seen of rdma_cm_alt: a generic netlink family for tools.
 *
 * All of it is about the network namespace of the socket. A caller sees what belongs to his own
 * user ID, and all of the namespace with CAP_NET_ADMIN in the user namespace that owns it. Counts
 * of ports are for everybody, of the devices that the namespace has. Requests have no attributes:
 * they are refused with some.
 */
#ifndef RDMA_CM_ALT_NETLINK_H
#define RDMA_CM_ALT_NETLINK_H

#define RDMA_CM_ALT_NL_FAMILY	"rdma_cm_alt"
#define RDMA_CM_ALT_NL_VERSION	1

/** RDMA_CM_ALT_NL_GROUP - the multicast group of RDMA_CM_ALT_NL_STORY; needs CAP_NET_ADMIN */
#define RDMA_CM_ALT_NL_GROUP	"events"

/**
 * enum rdma_cm_alt_nl_cmd - commands
 * @RDMA_CM_ALT_NL_UNSPEC: none
 * @RDMA_CM_ALT_NL_ID: dump: a message for each id
 * @RDMA_CM_ALT_NL_MEMBER: dump: a message for each membership in a multicast group
 * @RDMA_CM_ALT_NL_QUEUE: dump: a message for each event queue that a process of the namespace has
 *	made
 * @RDMA_CM_ALT_NL_PORT: dump: a message for each port of a device; in the first network namespace
 *	one before them, without RDMA_CM_ALT_NL_A_DEV, for all that has no port yet
 * @RDMA_CM_ALT_NL_FAILURE: dump: a message for each of the last failures, the oldest first
 * @RDMA_CM_ALT_NL_STORY: message to the multicast group: an operation has ended, or an event was
 *	posted
 * @RDMA_CM_ALT_NL_PATH: dump: a message for each path of a subnet administrator that is kept, of
 *	the devices that the namespace has; needs CAP_NET_ADMIN in the first user namespace, as the
 *	paths are those of all users
 * @RDMA_CM_ALT_NL_PEER: dump: a message for each peer that was told, or has told, that it speaks
 *	the trunk protocol, of the devices that the namespace has; needs CAP_NET_ADMIN in the first
 *	user namespace, as connections of all users are known by it
 */
enum rdma_cm_alt_nl_cmd {
	RDMA_CM_ALT_NL_UNSPEC,
	RDMA_CM_ALT_NL_ID,
	RDMA_CM_ALT_NL_MEMBER,
	RDMA_CM_ALT_NL_QUEUE,
	RDMA_CM_ALT_NL_PORT,
	RDMA_CM_ALT_NL_FAILURE,
	RDMA_CM_ALT_NL_STORY,
	RDMA_CM_ALT_NL_PATH,
	RDMA_CM_ALT_NL_PEER,
	/* private: */
	__RDMA_CM_ALT_NL_MAX,
#define RDMA_CM_ALT_NL_MAX (__RDMA_CM_ALT_NL_MAX - 1)
};

/**
 * enum rdma_cm_alt_nl_attr - attributes of all messages
 * @RDMA_CM_ALT_NL_A_UNSPEC: none
 * @RDMA_CM_ALT_NL_A_PAD: for alignment
 * @RDMA_CM_ALT_NL_A_CTX: u64: number of the context, which is never used again
 * @RDMA_CM_ALT_NL_A_HANDLE: u32: handle in the context
 * @RDMA_CM_ALT_NL_A_ID: u32: memberships: handle of the id
 * @RDMA_CM_ALT_NL_A_UID: u32: user that owns the context, as the reader's user namespace calls it;
 *	of a STORY, as the one that owns the network namespace does
 * @RDMA_CM_ALT_NL_A_PID: u32: process that opened the context, as the reader's PID namespace calls
 *	it, of a STORY, as its own one does; absent: it has no name there
 * @RDMA_CM_ALT_NL_A_COMM: string: its name when it did
 * @RDMA_CM_ALT_NL_A_STATE: string: state of the id, as in tracepoints
 * @RDMA_CM_ALT_NL_A_PS: u32: port space (enum rdma_ucm_port_space)
 * @RDMA_CM_ALT_NL_A_QP_TYPE: u32: type of its QP (enum ib_uverbs_qp_type)
 * @RDMA_CM_ALT_NL_A_LOCAL: struct sockaddr_in, sockaddr_in6 or sockaddr_ib
 * @RDMA_CM_ALT_NL_A_PEER: likewise; memberships: the group
 * @RDMA_CM_ALT_NL_A_DEV: string: name of the device
 * @RDMA_CM_ALT_NL_A_PORT: u32: its port
 * @RDMA_CM_ALT_NL_A_SGID: 16 bytes: GID of the device that is used
 * @RDMA_CM_ALT_NL_A_QPN: u32: number of the QP that it is for
 * @RDMA_CM_ALT_NL_A_AGE: u32: seconds since it was made; peers: since the last hello of the peer,
 *	absent: it has sent none
 * @RDMA_CM_ALT_NL_A_TIME: u64: when, in ns since 1970
 * @RDMA_CM_ALT_NL_A_SERIAL: u64: counts the failures of the namespace
 * @RDMA_CM_ALT_NL_A_OP: string: the operation that has ended; absent: it was an event
 * @RDMA_CM_ALT_NL_A_EVENT: u32: enum rdma_cm_alt_event_type
 * @RDMA_CM_ALT_NL_A_STATUS: s32: 0, a negative errno, or of a reject the peer's reason
 * @RDMA_CM_ALT_NL_A_COUNTER: nest, repeated: a count: NAME, VALUE
 * @RDMA_CM_ALT_NL_A_SPAN: nest, repeated: how long something took: NAME, VALUE (us together),
 *	BUCKETS
 * @RDMA_CM_ALT_NL_A_NAME: string
 * @RDMA_CM_ALT_NL_A_VALUE: u64
 * @RDMA_CM_ALT_NL_A_BUCKETS: u64[]: number n has how many took less than 2^n us and not less than
 *	2^(n-1); the last one all above, too
 * @RDMA_CM_ALT_NL_A_BUSY: flag: an operation was under way, so addresses and GID are missing
 * @RDMA_CM_ALT_NL_A_QUEUE: u32: number of the queue in its context; ids: absent: it has none with a
 *	file descriptor
 * @RDMA_CM_ALT_NL_A_IDS: u32: ids whose events go to the queue
 * @RDMA_CM_ALT_NL_A_WAITING: u32: events that wait in the queue, in its ring or not
 * @RDMA_CM_ALT_NL_A_RING: u32: records of the ring, when it is mapped
 * @RDMA_CM_ALT_NL_A_READERS: u32: threads that wait in read()
 * @RDMA_CM_ALT_NL_A_RECORD: u32: bytes per record
 * @RDMA_CM_ALT_NL_A_BEFORE: string: of failures and notifications: the state that the id left for
 *	STATE
 * @RDMA_CM_ALT_NL_A_SINCE: u64: ids: since when it waits for an answer, in ns since 1970; absent:
 *	it waits for none
 * @RDMA_CM_ALT_NL_A_DGID: 16 bytes: paths, peers, ids with a TRANSPORT: GID of the peer
 * @RDMA_CM_ALT_NL_A_SERVICE: u64: paths: service ID that was asked for
 * @RDMA_CM_ALT_NL_A_PKEY: u32: paths: partition key; peers: the same without its membership bit
 * @RDMA_CM_ALT_NL_A_DLID: u32: paths: LID of the peer, or of the router to it
 * @RDMA_CM_ALT_NL_A_SL: u32: paths: service level
 * @RDMA_CM_ALT_NL_A_HELLOS: u32: peers: number of hellos that were sent to the peer
 * @RDMA_CM_ALT_NL_A_PROTOCOL: u32: peers: newest version of the trunk protocol that it speaks
 * @RDMA_CM_ALT_NL_A_FEATURES: u32: peers: features that it has told
 * @RDMA_CM_ALT_NL_A_BOOT_ID: 16 bytes: peers: random number that it made when its module was loaded
 * @RDMA_CM_ALT_NL_A_GUID: u64: peers: node GUID of its device
 * @RDMA_CM_ALT_NL_A_FAILURES: u32: peers: how often in a row a trunk could not be opened
 * @RDMA_CM_ALT_NL_A_TRUNK: string: peers: "open", "opening", or "idle": it has no link at the
 *	moment; absent: there is no trunk
 * @RDMA_CM_ALT_NL_A_FRAMES_SENT: u32: trunks: number of frames with messages that were sent
 * @RDMA_CM_ALT_NL_A_FRAMES_RECEIVED: u32: trunks: number of those that were received
 * @RDMA_CM_ALT_NL_A_TRANSPORT: string: ids: what its connection is made over: "ib_cm", "trunk" or
 *	"iw_cm"; absent: there is no connection, or an operation was under way
 * @RDMA_CM_ALT_NL_A_NO_TRUNK: string: ids: why that is no trunk: "off": trunks were off, "iwarp":
 *	the device is of iWARP, "qp-type": datagrams or XRC, "path": it has no MTU or differs by
 *	direction, "never": the program does not want one, "elsewhere": the peer has no such
 *	listener for trunks, "asked": the peer has chosen, "none": there was no open trunk to the
 *	peer
 * @RDMA_CM_ALT_NL_A_RETRY: u32: peers: milliseconds until it is tried again to open a trunk that
 *	could not be opened, if there is a connection then; absent: at any time
 * @RDMA_CM_ALT_NL_A_COMMON: u32: peers: version of the trunk protocol that both hosts use; 0: there
 *	is none that both speak
 * @RDMA_CM_ALT_NL_A_COMM_ID: u32: ids, failures and notifications: communication ID of this host in
 *	the messages of the connection over ib_cm, or its request ID of datagrams; of a connection
 *	request that of the new id; absent: there is none
 * @RDMA_CM_ALT_NL_A_REMOTE_COMM_ID: u32: likewise, communication ID of the peer
 * @RDMA_CM_ALT_NL_A_SESSION: u32: likewise, over a trunk: number of its session
 * @RDMA_CM_ALT_NL_A_NUMBER: u32: likewise, over a trunk: number of the connection in the session
 * @RDMA_CM_ALT_NL_A_BAD_FRAMES: u32: peers: number of frames on trunks to it that were not its own,
 *	or malformed; after three in a minute no trunk to it is opened for five minutes
 */
enum rdma_cm_alt_nl_attr {
	RDMA_CM_ALT_NL_A_UNSPEC,
	RDMA_CM_ALT_NL_A_PAD,
	RDMA_CM_ALT_NL_A_CTX,
	RDMA_CM_ALT_NL_A_HANDLE,
	RDMA_CM_ALT_NL_A_ID,
	RDMA_CM_ALT_NL_A_UID,
	RDMA_CM_ALT_NL_A_PID,
	RDMA_CM_ALT_NL_A_COMM,
	RDMA_CM_ALT_NL_A_STATE,
	RDMA_CM_ALT_NL_A_PS,
	RDMA_CM_ALT_NL_A_QP_TYPE,
	RDMA_CM_ALT_NL_A_LOCAL,
	RDMA_CM_ALT_NL_A_PEER,
	RDMA_CM_ALT_NL_A_DEV,
	RDMA_CM_ALT_NL_A_PORT,
	RDMA_CM_ALT_NL_A_SGID,
	RDMA_CM_ALT_NL_A_QPN,
	RDMA_CM_ALT_NL_A_AGE,
	RDMA_CM_ALT_NL_A_TIME,
	RDMA_CM_ALT_NL_A_SERIAL,
	RDMA_CM_ALT_NL_A_OP,
	RDMA_CM_ALT_NL_A_EVENT,
	RDMA_CM_ALT_NL_A_STATUS,
	RDMA_CM_ALT_NL_A_COUNTER,
	RDMA_CM_ALT_NL_A_SPAN,
	RDMA_CM_ALT_NL_A_NAME,
	RDMA_CM_ALT_NL_A_VALUE,
	RDMA_CM_ALT_NL_A_BUCKETS,
	RDMA_CM_ALT_NL_A_BUSY,
	RDMA_CM_ALT_NL_A_QUEUE,
	RDMA_CM_ALT_NL_A_IDS,
	RDMA_CM_ALT_NL_A_WAITING,
	RDMA_CM_ALT_NL_A_RING,
	RDMA_CM_ALT_NL_A_READERS,
	RDMA_CM_ALT_NL_A_RECORD,
	RDMA_CM_ALT_NL_A_BEFORE,
	RDMA_CM_ALT_NL_A_SINCE,
	RDMA_CM_ALT_NL_A_DGID,
	RDMA_CM_ALT_NL_A_SERVICE,
	RDMA_CM_ALT_NL_A_PKEY,
	RDMA_CM_ALT_NL_A_DLID,
	RDMA_CM_ALT_NL_A_SL,
	RDMA_CM_ALT_NL_A_HELLOS,
	RDMA_CM_ALT_NL_A_PROTOCOL,
	RDMA_CM_ALT_NL_A_FEATURES,
	RDMA_CM_ALT_NL_A_BOOT_ID,
	RDMA_CM_ALT_NL_A_GUID,
	RDMA_CM_ALT_NL_A_FAILURES,
	RDMA_CM_ALT_NL_A_TRUNK,
	RDMA_CM_ALT_NL_A_FRAMES_SENT,
	RDMA_CM_ALT_NL_A_FRAMES_RECEIVED,
	RDMA_CM_ALT_NL_A_TRANSPORT,
	RDMA_CM_ALT_NL_A_NO_TRUNK,
	RDMA_CM_ALT_NL_A_RETRY,
	RDMA_CM_ALT_NL_A_COMMON,
	RDMA_CM_ALT_NL_A_COMM_ID,
	RDMA_CM_ALT_NL_A_REMOTE_COMM_ID,
	RDMA_CM_ALT_NL_A_SESSION,
	RDMA_CM_ALT_NL_A_NUMBER,
	RDMA_CM_ALT_NL_A_BAD_FRAMES,
	/* private: */
	__RDMA_CM_ALT_NL_A_MAX,
#define RDMA_CM_ALT_NL_A_MAX (__RDMA_CM_ALT_NL_A_MAX - 1)
};

#endif /* RDMA_CM_ALT_NETLINK_H */
