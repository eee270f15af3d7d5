/* SPDX-License-Identifier: ((GPL-2.0 WITH Linux-syscall-note) OR BSD-2-Clause) */
/*
 * The interface between rdma_cm_alt.ko and user space: ioctls on
 * /dev/rdma_cm_alt, and the event records that its queues deliver. Programs
 * include it as one file.
 */
#ifndef RDMA_CM_ALT_UAPI_H
#define RDMA_CM_ALT_UAPI_H

#include <linux/ioctl.h>
#include <linux/types.h>
#include <rdma/ib_user_sa.h>
#include <rdma/ib_user_verbs.h>

/**
 * DOC: General rules
 *
 * An open of the device is a *context*. It owns *ids* (communication
 * identifiers), which are named by handles: numbers from 1 to 2^31-1 that are
 * valid in their context only. Events are delivered through *queues*, file
 * descriptors that RDMA_CM_ALT_QUEUE_CREATE creates.
 *
 * Every ioctl takes a pointer to a struct that starts with @size, the size of
 * the struct as the caller knows it, and @flags. A struct grows only at its
 * end, and a zero in a new member means the old behaviour. So callers and
 * kernels of different versions work together:
 *
 * - a struct of the caller that is shorter than the kernel's is extended with
 *   zeros;
 * - a longer one is accepted if the bytes that the kernel does not know are
 *   zero;
 * - the kernel writes back no more than @size bytes.
 *
 * There is no version number: RDMA_CM_ALT_INFO returns the features of this
 * kernel. The layout is the same for 32-bit and 64-bit callers. ioctl numbers
 * are defined with _IO(), because the number must not change when a struct
 * grows.
 *
 * Errors of the frame are the same for all ioctls. A call that returns one of
 * them has changed nothing, with the exception named for EFAULT:
 *
 * - ENOTTY: the ioctl number is not known
 * - EINVAL: @size is smaller than the part of the struct that is mandatory
 * - E2BIG: a byte beyond what this kernel knows is not zero, or @size is larger
 *   than a page (4096)
 * - EOPNOTSUPP: a flag, a step or a reserved member has a value that this
 *   kernel does not know, or the command is not built in (see
 *   &rdma_cm_alt_info.out_commands)
 * - EFAULT: user memory is not accessible. No event is lost and no object is
 *   leaked. If the memory of the answer is unmapped during the call, the call
 *   takes effect, and the answer is lost.
 * - ENOENT: no object with this handle
 *
 * Objects that need memory are counted and limited, see RDMA_CM_ALT_USAGE. Each
 * command that creates one, and also open() and the mmap() of a ring, returns EDQUOT
 * if a limit of the user or of the context is reached, and changes nothing then.
 *
 * Errors of the operations are those of the stock rdma_cm: EINVAL if the
 * state of the id does not allow the call, ENXIO if its device was removed,
 * and those that each command names. A call that returns ENOMEM has changed
 * nothing and may be repeated, except RDMA_CM_ALT_ACCEPT, _REJECT and
 * _ESTABLISH, which describe the state that follows.
 */

/**
 * DOC: How long calls take
 *
 * The description of each ioctl names what it waits for, with the words below. The
 * tests check the bounds in seconds, which assume a machine with free processor time
 * and memory.
 *
 * - *nothing*, 1 s: The call reads state, or it sends a message and an event reports the
 *   result. Neither a peer nor a subnet administrator nor a program that reads no
 *   events can delay it.
 * - *device*, 1 s: The same, after the device has completed the messages that were sent
 *   for the id, which takes microseconds on a healthy device, and after running
 *   callbacks have returned. A device that is broken, or removed under load, may keep
 *   messages for as long as its driver lets it.
 * - *devices*, 1 s: The same, after the core has announced devices that are being added.
 * - *event*, 1 s: The same, after an event was posted, or a signal arrived.
 * - *entries*, 1 s: The sum of the times of its entries, until a signal arrives.
 *
 * Where stated, a call waits for more: for TCP, up to two minutes until TCP gives up a
 * silent host, unless a signal arrives; for RTNL, the lock of all changes of the
 * network configuration, as long as other tasks hold it.
 *
 * Calls for one id wait for each other: while a DESTROY waits for its device, another
 * call waits, too. A thread that reads events into memory that does not respond
 * (userfaultfd, FUSE) delays nothing but other readers of that queue.
 *
 * Closing the last descriptor of a queue, or of a context, destroys its ids as DESTROY
 * does, up to eight at a time. Another user than the one who opened the device waits for
 * that a tenth of a second at most.
 */

/** RDMA_CM_ALT_IOC_TYPE - type byte of all ioctls */
#define RDMA_CM_ALT_IOC_TYPE 0xD9

/**
 * enum rdma_cm_alt_cmd - numbers of the ioctls; append only, never reused
 * @RDMA_CM_ALT_CMD_INFO: what this kernel can do
 * @RDMA_CM_ALT_CMD_QUEUE_CREATE: make an event queue
 * @RDMA_CM_ALT_CMD_RESOLVE: create an id, bind it, resolve address and route
 * @RDMA_CM_ALT_CMD_CONNECT: send a connection request
 * @RDMA_CM_ALT_CMD_LISTEN: accept connection requests on an id
 * @RDMA_CM_ALT_CMD_ACCEPT: accept a connection request
 * @RDMA_CM_ALT_CMD_REJECT: refuse a connection request
 * @RDMA_CM_ALT_CMD_ESTABLISH: complete a connection on the active side
 * @RDMA_CM_ALT_CMD_DISCONNECT: end a connection
 * @RDMA_CM_ALT_CMD_NOTIFY: report an asynchronous event of the QP
 * @RDMA_CM_ALT_CMD_QP_ATTR: attributes for a transition of the QP
 * @RDMA_CM_ALT_CMD_QUERY: addresses, device and path of an id
 * @RDMA_CM_ALT_CMD_SET_OPTION: set an option of an id
 * @RDMA_CM_ALT_CMD_GET_OPTION: read an option of an id
 * @RDMA_CM_ALT_CMD_SET_QUEUE: change the queue of an id
 * @RDMA_CM_ALT_CMD_GET_EVENT: take an event of an id that has no queue
 * @RDMA_CM_ALT_CMD_POST_EVENT: post a user event
 * @RDMA_CM_ALT_CMD_JOIN: join a multicast group
 * @RDMA_CM_ALT_CMD_LEAVE: leave a multicast group
 * @RDMA_CM_ALT_CMD_DESTROY: destroy an id
 * @RDMA_CM_ALT_CMD_BATCH: many commands in one call
 * @RDMA_CM_ALT_CMD_USAGE: what there is of what is limited
 * @RDMA_CM_ALT_CMD_RESOLVE_SERVICE: ask the subnet administrator where a service is
 * @RDMA_CM_ALT_CMD_SERVICES: read its answer
 * @RDMA_CM_ALT_CMD_END: first number that is not known
 */
enum rdma_cm_alt_cmd {
	RDMA_CM_ALT_CMD_INFO = 0x80,
	RDMA_CM_ALT_CMD_QUEUE_CREATE,
	RDMA_CM_ALT_CMD_RESOLVE,
	RDMA_CM_ALT_CMD_CONNECT,
	RDMA_CM_ALT_CMD_LISTEN,
	RDMA_CM_ALT_CMD_ACCEPT,
	RDMA_CM_ALT_CMD_REJECT,
	RDMA_CM_ALT_CMD_ESTABLISH,
	RDMA_CM_ALT_CMD_DISCONNECT,
	RDMA_CM_ALT_CMD_NOTIFY,
	RDMA_CM_ALT_CMD_QP_ATTR,
	RDMA_CM_ALT_CMD_QUERY,
	RDMA_CM_ALT_CMD_SET_OPTION,
	RDMA_CM_ALT_CMD_GET_OPTION,
	RDMA_CM_ALT_CMD_SET_QUEUE,
	RDMA_CM_ALT_CMD_GET_EVENT,
	RDMA_CM_ALT_CMD_POST_EVENT,
	RDMA_CM_ALT_CMD_JOIN,
	RDMA_CM_ALT_CMD_LEAVE,
	RDMA_CM_ALT_CMD_DESTROY,
	RDMA_CM_ALT_CMD_BATCH,
	RDMA_CM_ALT_CMD_USAGE,
	RDMA_CM_ALT_CMD_RESOLVE_SERVICE,
	RDMA_CM_ALT_CMD_SERVICES,
	RDMA_CM_ALT_CMD_END,
};

/** RDMA_CM_ALT_CMD_BASE - the first command number */
#define RDMA_CM_ALT_CMD_BASE RDMA_CM_ALT_CMD_INFO

/* Option levels and names, reject reasons and port spaces are the stock ones
 * of <rdma/rdma_user_cm.h>.
 */

/**
 * struct rdma_cm_alt_sockaddr - a struct sockaddr_in, sockaddr_in6 or sockaddr_ib
 * @family: AF_INET, AF_INET6 or AF_IB; 0 (AF_UNSPEC) says that there is no address
 * @bytes: the whole address, network byte order where its type says so; what
 *         the type does not use is ignored on input and zero on output
 * @align: not used; for the alignment
 */
struct rdma_cm_alt_sockaddr {
	union {
		__u16 family;
		__u8 bytes[48];
		__aligned_u64 align[6];
	};
};

/**
 * struct rdma_cm_alt_route - where an id is, and the way to its peer
 * @node_guid: node GUID of the device, network byte order; 0: no device yet
 * @ibdev_index: index of the device, as RDMA netlink gives it
 * @port_num: port of the device, from 1; 0: no device yet
 * @num_paths: number of valid entries in @path
 * @pkey: partition key, network byte order
 * @src: local address with its port
 * @dst: address of the peer with its port
 * @sgid: local GID
 * @dgid: GID of the peer
 * @path: path records; flags as rdma_query_route of librdmacm reads them
 */
struct rdma_cm_alt_route {
	__aligned_u64 node_guid;
	__u32 ibdev_index;
	__u8 port_num;
	__u8 num_paths;
	__be16 pkey;
	struct rdma_cm_alt_sockaddr src;
	struct rdma_cm_alt_sockaddr dst;
	__u8 sgid[16];
	__u8 dgid[16];
	struct ib_path_rec_data path[2];
};

/**
 * struct rdma_cm_alt_conn_param - parameters of a connection
 * @qp_num: number of the QP (24 bits). One of another user, or of the kernel, needs
 *          CAP_NET_RAW, else EPERM; of one that the kernel does not know it cannot tell
 * @qkey: queue key (datagrams); one with the highest bit set needs CAP_NET_RAW, else EPERM
 * @private_data_uptr: user address of the private data
 * @private_data_len: its length in bytes: over a trunk and iWARP up to 255; over ib_cm
 *                    with IP addresses up to 56 in a request and 196 in a reply, of
 *                    datagrams 180 and 136; 36 more in a request with AF_IB
 * @responder_resources: RDMA reads and atomics that we serve at a time
 * @initiator_depth: RDMA reads and atomics that we have under way at a time
 * @flow_control: end-to-end flow control (carried, not used)
 * @retry_count: retries of the transport, up to 7
 * @rnr_retry_count: retries after a receiver-not-ready of the peer, up to 7
 * @srq: the QP uses a shared receive queue
 * @__reserved: must be 0
 * @__reserved2: must be 0
 * @ece_vendor_id: vendor of the enhanced connection establishment data (24 bits); 0: none
 * @ece_attr_mod: its options
 */
struct rdma_cm_alt_conn_param {
	__u32 qp_num;
	__u32 qkey;
	__aligned_u64 private_data_uptr;
	__u16 private_data_len;
	__u8 responder_resources;
	__u8 initiator_depth;
	__u8 flow_control;
	__u8 retry_count;
	__u8 rnr_retry_count;
	__u8 srq;
	__u32 __reserved;
	__u32 ece_vendor_id;
	__u32 ece_attr_mod;
	__u32 __reserved2;
};

/**
 * struct rdma_cm_alt_qp_attr - what the next transitions of the QP need
 * @init_mask: IB_QP_* bits of @attr to set for the transition to INIT; 0: not known yet
 * @rtr_mask: likewise to RTR
 * @rts_mask: likewise to RTS
 * @__reserved: 0
 * @attr: the values; its qp_attr_mask and qp_state are not used
 *
 * The values are final but for: the depths (those of accept win), the
 * acknowledgement timeout (option RDMA_OPTION_ID_ACK_TIMEOUT) and min_rnr_timer.
 */
struct rdma_cm_alt_qp_attr {
	__u32 init_mask;
	__u32 rtr_mask;
	__u32 rts_mask;
	__u32 __reserved;
	struct ib_uverbs_qp_attr attr;
};

/**
 * enum rdma_cm_alt_event_type - types of events, with the values of librdmacm
 * @RDMA_CM_ALT_EVENT_ADDR_RESOLVED: the address is resolved, a device is bound
 * @RDMA_CM_ALT_EVENT_ADDR_ERROR: it could not be resolved
 * @RDMA_CM_ALT_EVENT_ROUTE_RESOLVED: the route is known
 * @RDMA_CM_ALT_EVENT_ROUTE_ERROR: it could not be found
 * @RDMA_CM_ALT_EVENT_CONNECT_REQUEST: a peer asks for a connection
 * @RDMA_CM_ALT_EVENT_CONNECT_RESPONSE: the peer accepted; establish comes next
 * @RDMA_CM_ALT_EVENT_CONNECT_ERROR: the connection failed
 * @RDMA_CM_ALT_EVENT_UNREACHABLE: the peer does not answer; or (RoCE), before the id was
 *                                 connected, its hardware address is not that of the id's
 *                                 path any more, which changes nothing of the id
 * @RDMA_CM_ALT_EVENT_REJECTED: the peer refused; status is its reason
 * @RDMA_CM_ALT_EVENT_ESTABLISHED: the connection is established
 * @RDMA_CM_ALT_EVENT_DISCONNECTED: the connection has ended
 * @RDMA_CM_ALT_EVENT_DEVICE_REMOVAL: the device is being removed; destroy the id
 * @RDMA_CM_ALT_EVENT_MULTICAST_JOIN: joined a multicast group
 * @RDMA_CM_ALT_EVENT_MULTICAST_ERROR: could not join, or lost a group
 * @RDMA_CM_ALT_EVENT_ADDR_CHANGE: the network device of the address changed, or (RoCE), once the
 *                                 id was connected, the hardware address of the peer
 * @RDMA_CM_ALT_EVENT_TIMEWAIT_EXIT: the QP number may be used again
 * @RDMA_CM_ALT_EVENT_ADDRINFO_RESOLVED: posted by RDMA_CM_ALT_POST_EVENT: a
 *                                       lookup in user space has ended
 * @RDMA_CM_ALT_EVENT_ADDRINFO_ERROR: likewise: it has failed
 * @RDMA_CM_ALT_EVENT_USER: posted by RDMA_CM_ALT_POST_EVENT
 */
enum rdma_cm_alt_event_type {
	RDMA_CM_ALT_EVENT_ADDR_RESOLVED,
	RDMA_CM_ALT_EVENT_ADDR_ERROR,
	RDMA_CM_ALT_EVENT_ROUTE_RESOLVED,
	RDMA_CM_ALT_EVENT_ROUTE_ERROR,
	RDMA_CM_ALT_EVENT_CONNECT_REQUEST,
	RDMA_CM_ALT_EVENT_CONNECT_RESPONSE,
	RDMA_CM_ALT_EVENT_CONNECT_ERROR,
	RDMA_CM_ALT_EVENT_UNREACHABLE,
	RDMA_CM_ALT_EVENT_REJECTED,
	RDMA_CM_ALT_EVENT_ESTABLISHED,
	RDMA_CM_ALT_EVENT_DISCONNECTED,
	RDMA_CM_ALT_EVENT_DEVICE_REMOVAL,
	RDMA_CM_ALT_EVENT_MULTICAST_JOIN,
	RDMA_CM_ALT_EVENT_MULTICAST_ERROR,
	RDMA_CM_ALT_EVENT_ADDR_CHANGE,
	RDMA_CM_ALT_EVENT_TIMEWAIT_EXIT,
	RDMA_CM_ALT_EVENT_ADDRINFO_RESOLVED,
	RDMA_CM_ALT_EVENT_ADDRINFO_ERROR,
	RDMA_CM_ALT_EVENT_USER,
};

/** RDMA_CM_ALT_EVENT_SKIP - type of a record of a ring that was taken back: pass over it */
#define RDMA_CM_ALT_EVENT_SKIP 0xffffffffU

/**
 * enum rdma_cm_alt_event_flags - which parts of a record are filled in
 * @RDMA_CM_ALT_EVENT_F_ROUTE: @route
 * @RDMA_CM_ALT_EVENT_F_CONN: the connection parameters
 * @RDMA_CM_ALT_EVENT_F_UD: @ah_attr, @qp_num, @qkey
 * @RDMA_CM_ALT_EVENT_F_ECE: @ece_vendor_id, @ece_attr_mod
 * @RDMA_CM_ALT_EVENT_F_QP: @qp; not with datagram ids: see RDMA_CM_ALT_QP_ATTR
 */
enum rdma_cm_alt_event_flags {
	RDMA_CM_ALT_EVENT_F_ROUTE = 1 << 0,
	RDMA_CM_ALT_EVENT_F_CONN = 1 << 1,
	RDMA_CM_ALT_EVENT_F_UD = 1 << 2,
	RDMA_CM_ALT_EVENT_F_ECE = 1 << 3,
	RDMA_CM_ALT_EVENT_F_QP = 1 << 4,
};

/**
 * struct rdma_cm_alt_event - the event record, as read() and the ring deliver it
 * @length: bytes of the record that this kernel filled in
 * @type: &enum rdma_cm_alt_event_type
 * @status: 0; a negative errno; or the peer's reason (> 0) of a rejection
 * @flags: &enum rdma_cm_alt_event_flags
 * @cookie: the cookie of the id that the event belongs to; of the listening id
 *          for a connection request
 * @id: handle of the id; of the new id for a connection request
 * @listen_id: connection request: handle of the listening id, else 0
 * @member: multicast events: handle of the membership, else 0
 * @user_status: events of RDMA_CM_ALT_POST_EVENT: status of the poster
 * @user_arg: events of RDMA_CM_ALT_POST_EVENT: argument of the poster; multicast events:
 *            cookie of the membership
 * @qp_num: QP number of the peer; 0xffffff for a multicast group
 * @qkey: queue key (datagrams, multicast)
 * @responder_resources: from the receiver's view: the peer's initiator depth
 * @initiator_depth: from the receiver's view: the peer's responder resources
 * @flow_control: of the peer
 * @retry_count: of the peer
 * @rnr_retry_count: of the peer
 * @srq: the peer's QP uses a shared receive queue
 * @private_data_len: valid bytes of @private_data; the length of the field of the
 *                    message of ib_cm, which does not carry another one; over a trunk
 *                    the length that was sent where that is longer, up to 255
 * @ece_vendor_id: enhanced connection establishment: the peer's vendor
 * @ece_attr_mod: enhanced connection establishment: the peer's options
 * @ah_attr: address handle attributes (datagrams, multicast); of a group grh.dgid
 *           is its MGID and dlid its MLID, to attach a QP with
 * @route: addresses, device and paths of the id
 * @qp: attributes for the transitions of the QP that come next
 * @private_data: the peer's private data
 */
struct rdma_cm_alt_event {
	__u32 length;
	__u32 type;
	__s32 status;
	__u32 flags;
	__aligned_u64 cookie;
	__u32 id;
	__u32 listen_id;
	__u32 member;
	__s32 user_status;
	__aligned_u64 user_arg;
	__u32 qp_num;
	__u32 qkey;
	__u8 responder_resources;
	__u8 initiator_depth;
	__u8 flow_control;
	__u8 retry_count;
	__u8 rnr_retry_count;
	__u8 srq;
	__u16 private_data_len;
	__u32 ece_vendor_id;
	__u32 ece_attr_mod;
	struct ib_uverbs_ah_attr ah_attr;
	struct rdma_cm_alt_route route;
	struct rdma_cm_alt_qp_attr qp;
	__u8 private_data[256];
};

/**
 * enum rdma_cm_alt_features - what a kernel can do beyond the commands
 * @RDMA_CM_ALT_FEATURE_RING: queues with a mapped ring
 * @RDMA_CM_ALT_FEATURE_AF_IB: addresses of family AF_IB
 * @RDMA_CM_ALT_FEATURE_UD: datagram ids (RDMA_PS_UDP, RDMA_PS_IPOIB)
 * @RDMA_CM_ALT_FEATURE_IWARP: iWARP devices
 * @RDMA_CM_ALT_FEATURE_IB: devices with an InfiniBand link layer
 */
enum rdma_cm_alt_features {
	RDMA_CM_ALT_FEATURE_RING = 1 << 0,
	RDMA_CM_ALT_FEATURE_AF_IB = 1 << 1,
	RDMA_CM_ALT_FEATURE_UD = 1 << 2,
	RDMA_CM_ALT_FEATURE_IWARP = 1 << 3,
	RDMA_CM_ALT_FEATURE_IB = 1 << 4,
};

/**
 * struct rdma_cm_alt_info - ioctl(RDMA_CM_ALT_INFO)
 * @size: sizeof(struct rdma_cm_alt_info)
 * @flags: must be 0
 * @out_commands: bit n: command RDMA_CM_ALT_CMD_BASE + n is built in
 * @out_features: &enum rdma_cm_alt_features
 * @out_resolve_steps: steps that RDMA_CM_ALT_RESOLVE can do
 * @out_connect_steps: steps that RDMA_CM_ALT_CONNECT can do
 * @out_record_size: size of an event record in bytes
 * @out_max_backlog: largest backlog of a listening id
 *
 * Errors: those of the frame.
 *
 * Waits for nothing.
 */
struct rdma_cm_alt_info {
	__u32 size;
	__u32 flags;
	__aligned_u64 out_commands;
	__aligned_u64 out_features;
	__u32 out_resolve_steps;
	__u32 out_connect_steps;
	__u32 out_record_size;
	__u32 out_max_backlog;
};
#define RDMA_CM_ALT_INFO _IO(RDMA_CM_ALT_IOC_TYPE, RDMA_CM_ALT_CMD_INFO)

/**
 * enum rdma_cm_alt_queue_flags - flags of RDMA_CM_ALT_QUEUE_CREATE
 * @RDMA_CM_ALT_QUEUE_NONBLOCK: the new file descriptor has O_NONBLOCK set
 */
enum rdma_cm_alt_queue_flags {
	RDMA_CM_ALT_QUEUE_NONBLOCK = 1 << 0,
};

/**
 * struct rdma_cm_alt_queue_create - ioctl(RDMA_CM_ALT_QUEUE_CREATE)
 * @size: sizeof(struct rdma_cm_alt_queue_create)
 * @flags: &enum rdma_cm_alt_queue_flags
 * @ring_entries: records in the ring that may be mapped, a power of two up to 1024; 0: no ring
 * @record_size: size of a record, from 64 to 4096, a multiple of 8; 0: the
 *               kernel's own (&rdma_cm_alt_info.out_record_size). A smaller
 *               one cuts records off, a larger one fills them up with zeros.
 * @out_fd: the queue: read(), poll(), close-on-exec. Closing its last
 *          descriptor destroys the ids that use it.
 * @out_record_size: size of the records that read() delivers
 * @out_ring_offset: mmap() offset of &struct rdma_cm_alt_ring and the records
 * @out_head_offset: mmap() offset of the head word, a __u32
 * @out_ring_bytes: size of the mapping of the records; 0: no ring
 * @__reserved: 0
 *
 * read() delivers as many whole records as fit and are there. It blocks while
 * there is none, or says EAGAIN with O_NONBLOCK. Errors of read(): EINVAL when
 * the buffer is smaller than a record, EFAULT (no event is lost), EINTR.
 *
 * Errors: EMFILE and ENFILE no free file descriptor, ENOMEM, EINVAL bad
 * @record_size or @ring_entries.
 *
 * Waits for nothing.
 */
struct rdma_cm_alt_queue_create {
	__u32 size;
	__u32 flags;
	__u32 ring_entries;
	__u32 record_size;
	__s32 out_fd;
	__u32 out_record_size;
	__aligned_u64 out_ring_offset;
	__aligned_u64 out_head_offset;
	__u32 out_ring_bytes;
	__u32 __reserved;
};
#define RDMA_CM_ALT_QUEUE_CREATE _IO(RDMA_CM_ALT_IOC_TYPE, RDMA_CM_ALT_CMD_QUEUE_CREATE)

/**
 * struct rdma_cm_alt_ring - what the mapping of the records begins with
 * @tail: written by the kernel: records until now; the next one has this number
 * @entries: places for records
 * @record_size: bytes from one record to the next
 * @records_offset: where the records begin, in bytes from here
 * @__reserved: not used
 *
 * Record number n is at place n modulo @entries. The head word is the number
 * of records that user space is done with, modulo 2^32. While it is not @tail
 * (load it with acquire semantics) there are records: copy one, then store the
 * head (with release semantics). A record of type RDMA_CM_ALT_EVENT_SKIP is no
 * event. Both words are 0 when the records are mapped.
 *
 * The records are mapped with MAP_SHARED, PROT_READ alone and all their
 * bytes, the page of the head word with MAP_SHARED, too. mmap() gives EBUSY when the
 * records are mapped already. Mappings are not inherited by fork(), are unmapped
 * whole, and keep no queue open.
 *
 * While the records are mapped poll() also reports events in the ring, and moves
 * pending events into it. read() returns 0 if there are records in the ring. If there
 * are none, which looking at the ring does not prove, read() delivers events pending in
 * the kernel, or waits for one, and puts into the ring those that do not fit into the
 * buffer. read() by another process returns EBUSY.
 *
 * An event counts as delivered when the head is behind it. Records of a destroyed
 * id, of one that gets another queue, and of a membership that ends
 * become RDMA_CM_ALT_EVENT_SKIP. Their types change in place, so a program must not
 * take records of an id, or requests for it, while it calls these ioctls for the
 * id; those of other ids may be taken. A record in the ring keeps its cookie.
 *
 * Events that do not fit into the ring wait in the kernel, in order. Records that
 * were not taken when the mapping is removed wait there again. A head that is not
 * between its last value and @tail is clamped to the nearest valid value.
 */
struct rdma_cm_alt_ring {
	__u32 tail;
	__u32 entries;
	__u32 record_size;
	__u32 records_offset;
	__u32 __reserved[12];
};

/**
 * enum rdma_cm_alt_steps - steps of a pipeline, done in this order
 * @RDMA_CM_ALT_STEP_CREATE: create the id
 * @RDMA_CM_ALT_STEP_BIND: bind it to the address @src
 * @RDMA_CM_ALT_STEP_ADDR: resolve the address @dst; binds to a device. Without
 *                         RDMA_CM_ALT_STEP_BIND a @src that is given binds
 *                         the id first when it is not bound yet.
 * @RDMA_CM_ALT_STEP_ROUTE: resolve the route
 */
enum rdma_cm_alt_steps {
	RDMA_CM_ALT_STEP_CREATE = 1 << 0,
	RDMA_CM_ALT_STEP_BIND = 1 << 1,
	RDMA_CM_ALT_STEP_ADDR = 1 << 2,
	RDMA_CM_ALT_STEP_ROUTE = 1 << 3,
};

/**
 * enum rdma_cm_alt_pipeline_flags - details of a pipeline
 * @RDMA_CM_ALT_PIPE_NEW_QUEUE: STEP_CREATE: make a queue for this id;
 *                              @queue_fd must be -1
 */
enum rdma_cm_alt_pipeline_flags {
	RDMA_CM_ALT_PIPE_NEW_QUEUE = 1 << 0,
};

/**
 * struct rdma_cm_alt_pipeline - the steps that RESOLVE and CONNECT can do
 * @steps: &enum rdma_cm_alt_steps. A step that fails at once ends the call
 *         with its errno (a created id is destroyed again); one that fails
 *         later ends the pipeline with its error event.
 * @events: steps whose success event is wanted: of STEP_ADDR and STEP_ROUTE.
 *          Error events always come.
 * @flags: &enum rdma_cm_alt_pipeline_flags
 * @id: handle of the id; 0 with STEP_CREATE
 * @queue_fd: STEP_CREATE: the queue for its events, or -1: they wait on the id
 * @timeout_ms: bound of STEP_ADDR and of STEP_ROUTE, milliseconds, each
 * @cookie: STEP_CREATE: comes back with each event of the id
 * @ps: STEP_CREATE: port space (enum rdma_ucm_port_space)
 * @qp_type: STEP_CREATE: type of the QP (enum ib_uverbs_qp_type)
 * @__reserved: must be 0
 * @src: local address; family 0: none
 * @dst: address of the peer
 */
struct rdma_cm_alt_pipeline {
	__u32 steps;
	__u32 events;
	__u32 flags;
	__u32 id;
	__s32 queue_fd;
	__u32 timeout_ms;
	__aligned_u64 cookie;
	__u16 ps;
	__u8 qp_type;
	__u8 __reserved[5];
	struct rdma_cm_alt_sockaddr src;
	struct rdma_cm_alt_sockaddr dst;
};

/**
 * struct rdma_cm_alt_resolve - ioctl(RDMA_CM_ALT_RESOLVE)
 * @size: sizeof(struct rdma_cm_alt_resolve)
 * @flags: must be 0
 * @pipe: the steps
 * @out_id: handle of the id
 * @out_queue_fd: the new queue with RDMA_CM_ALT_PIPE_NEW_QUEUE, else -1
 * @out_done: steps that were complete when the call returned
 * @__reserved: 0
 * @out_route: what is known of the id when the call returns
 *
 * Loopback addresses and wildcards never go on the wire. As @pipe.dst they mean
 * the id's own address when it is bound to a device, else the first address of
 * the same family on an active port of a device; the events and @out_route have
 * that address. An id that is bound to one of them is bound to no device.
 *
 * Errors: EINVAL wrong state, unknown port space, no or unknown address
 * family, families of @src and @dst differ, @timeout_ms 0; EBADF @queue_fd is
 * not open; EINVAL it is no queue of this context; EADDRNOTAVAIL the address is
 * not local, or a wildcard holds the port; EADDRINUSE address and port are in
 * use; EACCES a port that needs CAP_NET_BIND_SERVICE; ENODEV no RDMA device
 * has this address; ENETUNREACH and EHOSTUNREACH no route; ENXIO the device
 * was removed; EAFNOSUPPORT, EPROTONOSUPPORT; ENOMEM; EMFILE, ENFILE. Of an id that
 * exists the steps before the one that failed are done, and what STEP_ADDR has bound
 * stays bound.
 *
 * Waits for nothing.
 */
struct rdma_cm_alt_resolve {
	__u32 size;
	__u32 flags;
	struct rdma_cm_alt_pipeline pipe;
	__u32 out_id;
	__s32 out_queue_fd;
	__u32 out_done;
	__u32 __reserved;
	struct rdma_cm_alt_route out_route;
};
#define RDMA_CM_ALT_RESOLVE _IO(RDMA_CM_ALT_IOC_TYPE, RDMA_CM_ALT_CMD_RESOLVE)

/**
 * struct rdma_cm_alt_connect - ioctl(RDMA_CM_ALT_CONNECT)
 * @size: sizeof(struct rdma_cm_alt_connect)
 * @flags: must be 0
 * @pipe: steps to do before, RDMA_CM_ALT_STEP_ROUTE among them; with @pipe.steps 0
 *        only @pipe.id counts
 * @param: parameters of the connection
 * @out_id: handle of the id
 * @out_queue_fd: the new queue with RDMA_CM_ALT_PIPE_NEW_QUEUE, else -1
 *
 * Ends with RDMA_CM_ALT_EVENT_CONNECT_RESPONSE, _REJECTED, _UNREACHABLE or
 * _CONNECT_ERROR; or with the error event of a step. With steps, and of a datagram
 * id, the way to the peer is in the event, too. When the steps are not complete
 * inside the call, the request is sent as soon as they are; what hinders it then is
 * the status of a _CONNECT_ERROR, after which the id may connect again. Of a
 * datagram id it asks for the peer's QP (SIDR) and ends
 * with _ESTABLISHED, which has the address handle attributes, the number and
 * the queue key of that QP, or with _UNREACHABLE, whose status is -ETIMEDOUT or
 * the peer's SIDR status (> 0: IBTA volume 1, 12.11.2); of @param the private
 * data counts. On iWARP it ends with _ESTABLISHED in place of
 * _CONNECT_RESPONSE, and may block while TCP connects. Errors: EINVAL wrong
 * state or private data too long, also for lack of a trunk; EPERM; EOPNOTSUPP: a
 * datagram id on iWARP, or the id requires a trunk and none is open; ENXIO; ENOMEM;
 * those of RDMA_CM_ALT_RESOLVE for its steps; on iWARP those of TCP as well, EINTR, and
 * ECONNABORTED: the id was destroyed meanwhile.
 *
 * Waits for nothing; over iWARP for TCP, but with steps that are not complete inside the call.
 */
struct rdma_cm_alt_connect {
	__u32 size;
	__u32 flags;
	struct rdma_cm_alt_pipeline pipe;
	struct rdma_cm_alt_conn_param param;
	__u32 out_id;
	__s32 out_queue_fd;
};
#define RDMA_CM_ALT_CONNECT _IO(RDMA_CM_ALT_IOC_TYPE, RDMA_CM_ALT_CMD_CONNECT)

/**
 * struct rdma_cm_alt_listen - ioctl(RDMA_CM_ALT_LISTEN)
 * @size: sizeof(struct rdma_cm_alt_listen)
 * @flags: must be 0
 * @id: handle of the id; one that is not bound is bound to the wildcard
 *      address and a free port
 * @backlog: connection requests that may wait to be read; 0, or more than
 *           &rdma_cm_alt_info.out_max_backlog: that maximum
 * @out_route: address and device of the id. A port that the kernel chose may
 *             have changed, when another user of the device holds its
 *             service ID.
 *
 * Errors: EINVAL wrong state; EADDRINUSE another listener, ours or of the
 * stock rdma_cm, has the port; EACCES a port that is privileged in the initial
 * network namespace, was bound in another one without CAP_NET_BIND_SERVICE in the
 * initial user namespace, and would be taken on a device that namespaces share;
 * EOPNOTSUPP: a datagram id on iWARP; ENXIO; ENOMEM.
 * An id that was not bound stays bound after an error.
 *
 * Waits for devices.
 */
struct rdma_cm_alt_listen {
	__u32 size;
	__u32 flags;
	__u32 id;
	__u32 backlog;
	struct rdma_cm_alt_route out_route;
};
#define RDMA_CM_ALT_LISTEN _IO(RDMA_CM_ALT_IOC_TYPE, RDMA_CM_ALT_CMD_LISTEN)

/**
 * enum rdma_cm_alt_accept_flags - flags of RDMA_CM_ALT_ACCEPT
 * @RDMA_CM_ALT_ACCEPT_QUIET: no RDMA_CM_ALT_EVENT_ESTABLISHED is wanted: the caller needs
 *                            not know, or learns it from the peer's first message
 */
enum rdma_cm_alt_accept_flags {
	RDMA_CM_ALT_ACCEPT_QUIET = 1 << 0,
};

/**
 * struct rdma_cm_alt_accept - ioctl(RDMA_CM_ALT_ACCEPT)
 * @size: sizeof(struct rdma_cm_alt_accept)
 * @flags: &enum rdma_cm_alt_accept_flags
 * @id: handle of the id of the request
 * @__reserved: must be 0
 * @cookie: comes back with each event of the id from now on. Before accept
 *          no event of the id is delivered.
 * @param: parameters of the connection
 *
 * Ends with RDMA_CM_ALT_EVENT_ESTABLISHED, if that is wanted. A datagram id gets no event: it
 * answers with the number of its QP and its queue key (@param.qkey; 0: that of
 * the port space) and is done. Errors: EINVAL wrong state, private data too
 * long, or (datagrams) not the queue key that the id has; EPERM; ECONNRESET the peer
 * has given up; ENXIO; ENOMEM, or another error of sending: the request was
 * rejected. No event tells of it again after an error.
 *
 * Waits for nothing.
 */
struct rdma_cm_alt_accept {
	__u32 size;
	__u32 flags;
	__u32 id;
	__u32 __reserved;
	__aligned_u64 cookie;
	struct rdma_cm_alt_conn_param param;
};
#define RDMA_CM_ALT_ACCEPT _IO(RDMA_CM_ALT_IOC_TYPE, RDMA_CM_ALT_CMD_ACCEPT)

/**
 * struct rdma_cm_alt_reject - ioctl(RDMA_CM_ALT_REJECT)
 * @size: sizeof(struct rdma_cm_alt_reject)
 * @flags: must be 0
 * @id: handle of the id of the request
 * @reason: 0 or 28 (consumer defined) or 35 (vendor option not supported);
 *          others are EINVAL. The peer of a datagram id sees SIDR status 2.
 * @private_data_uptr: user address of the private data
 * @private_data_len: its length, up to 148; of datagrams 136; over a trunk and iWARP 255
 * @__reserved: must be 0
 *
 * Errors: EINVAL wrong state or private data too long; ENXIO; ENOMEM, or another
 * error of sending: the request is done with, and the peer finds out by its timers.
 *
 * Waits for nothing.
 */
struct rdma_cm_alt_reject {
	__u32 size;
	__u32 flags;
	__u32 id;
	__u32 reason;
	__aligned_u64 private_data_uptr;
	__u32 private_data_len;
	__u32 __reserved;
};
#define RDMA_CM_ALT_REJECT _IO(RDMA_CM_ALT_IOC_TYPE, RDMA_CM_ALT_CMD_REJECT)

/**
 * struct rdma_cm_alt_establish - ioctl(RDMA_CM_ALT_ESTABLISH)
 * @size: sizeof(struct rdma_cm_alt_establish)
 * @flags: must be 0
 * @id: handle of an id that got RDMA_CM_ALT_EVENT_CONNECT_RESPONSE
 * @__reserved: must be 0
 *
 * Tells the peer that our QP is ready. Errors: EINVAL wrong state; ENXIO; ENOMEM, or
 * another error of sending: the connection has failed, and the peer is sent a reject.
 *
 * Waits for nothing.
 */
struct rdma_cm_alt_establish {
	__u32 size;
	__u32 flags;
	__u32 id;
	__u32 __reserved;
};
#define RDMA_CM_ALT_ESTABLISH _IO(RDMA_CM_ALT_IOC_TYPE, RDMA_CM_ALT_CMD_ESTABLISH)

/**
 * struct rdma_cm_alt_disconnect - ioctl(RDMA_CM_ALT_DISCONNECT)
 * @size: sizeof(struct rdma_cm_alt_disconnect)
 * @flags: must be 0
 * @id: handle of the id
 * @__reserved: must be 0
 *
 * Ends with RDMA_CM_ALT_EVENT_DISCONNECTED on the side that asks first. The
 * kernel answers a peer's disconnect request itself; the call returns 0 then,
 * as on any id that was connected or tried to. Errors: EINVAL the id was never
 * connected; ENXIO.
 *
 * Waits for nothing.
 */
struct rdma_cm_alt_disconnect {
	__u32 size;
	__u32 flags;
	__u32 id;
	__u32 __reserved;
};
#define RDMA_CM_ALT_DISCONNECT _IO(RDMA_CM_ALT_IOC_TYPE, RDMA_CM_ALT_CMD_DISCONNECT)

/**
 * struct rdma_cm_alt_notify - ioctl(RDMA_CM_ALT_NOTIFY)
 * @size: sizeof(struct rdma_cm_alt_notify)
 * @flags: must be 0
 * @id: handle of the id
 * @event: asynchronous event of its QP: IBV_EVENT_COMM_EST (4)
 *
 * Errors: EINVAL other event or wrong state; EISCONN already established; ENXIO; ENOMEM.
 *
 * Waits for nothing.
 */
struct rdma_cm_alt_notify {
	__u32 size;
	__u32 flags;
	__u32 id;
	__u32 event;
};
#define RDMA_CM_ALT_NOTIFY _IO(RDMA_CM_ALT_IOC_TYPE, RDMA_CM_ALT_CMD_NOTIFY)

/**
 * struct rdma_cm_alt_qp_attr_get - ioctl(RDMA_CM_ALT_QP_ATTR)
 * @size: sizeof(struct rdma_cm_alt_qp_attr_get)
 * @flags: must be 0
 * @id: handle of the id
 * @qp_state: IB_QPS_INIT (1), IB_QPS_RTR (2) or IB_QPS_RTS (3)
 * @out_attr: attributes for the transition, with their mask
 *
 * With a datagram id the queue key is the id's for good: a peer or an accept
 * that says another one does not fit any more.
 *
 * Errors: EINVAL other state, no device, or the state of the connection does
 * not give them; ENOENT no such handle, or the partition of its address is not in the
 * port's table any more, as with stock; ENXIO.
 *
 * Waits for nothing.
 */
struct rdma_cm_alt_qp_attr_get {
	__u32 size;
	__u32 flags;
	__u32 id;
	__u32 qp_state;
	struct ib_uverbs_qp_attr out_attr;
};
#define RDMA_CM_ALT_QP_ATTR _IO(RDMA_CM_ALT_IOC_TYPE, RDMA_CM_ALT_CMD_QP_ATTR)

/**
 * struct rdma_cm_alt_query - ioctl(RDMA_CM_ALT_QUERY)
 * @size: sizeof(struct rdma_cm_alt_query)
 * @flags: must be 0
 * @id: handle of the id
 * @__reserved: must be 0
 * @out_route: addresses, device and path as far as they are known
 *
 * Errors: those of the frame; ENXIO.
 *
 * Waits for nothing.
 */
struct rdma_cm_alt_query {
	__u32 size;
	__u32 flags;
	__u32 id;
	__u32 __reserved;
	struct rdma_cm_alt_route out_route;
};
#define RDMA_CM_ALT_QUERY _IO(RDMA_CM_ALT_IOC_TYPE, RDMA_CM_ALT_CMD_QUERY)

/** RDMA_CM_ALT_OPTION - level of the options that the stock rdma_cm does not have */
#define RDMA_CM_ALT_OPTION 0xA17

/**
 * enum rdma_cm_alt_options - names of the options of level RDMA_CM_ALT_OPTION
 * @RDMA_CM_ALT_OPTION_GID_TYPE: RoCE: type of the local GID, a byte:
 *                               IB_UVERBS_GID_TYPE_ROCE_V1 (1) or _V2 (2). A port that
 *                               does not have the type does not have the address, either.
 * @RDMA_CM_ALT_OPTION_PORT_DEFAULTS: RoCE: what counts where the id has no option of its
 *                                    own: an array of &struct rdma_cm_alt_port_default, which
 *                                    replaces the one before. It cannot be read.
 * @RDMA_CM_ALT_OPTION_RESPONSE_TIMEOUT: what a peer may take to answer a message, beside the
 *                                       way there and back, before it is sent again: a byte n,
 *                                       4.096 us * 2^n, 0 to 31
 * @RDMA_CM_ALT_OPTION_MAX_RETRIES: how often it is sent again, a byte, 0 to 15
 * @RDMA_CM_ALT_OPTION_MRA_TIMEOUT: what a peer is asked to wait that repeats its reply, as the
 *                                  program is slow: a byte n, 4.096 us * 2^n, 0 to 24
 * @RDMA_CM_ALT_OPTION_DEADLINE: when connect and disconnect are given up, in milliseconds from
 *                               the call: __u32, a day at most; 0: not set
 * @RDMA_CM_ALT_OPTION_TRUNK: whether connection requests of the id use a trunk, a byte of &enum
 *                            rdma_cm_alt_trunk: 0 if one is open, 1 always, 2 never. Where none
 *                            is open, a connect fails: with 1 EOPNOTSUPP; EINVAL if its private
 *                            data, up to 255 bytes, are more than ib_cm carries.
 *
 * The first two are set before the id has a device; EINVAL later. The GID type of an id
 * is that of RDMA_CM_ALT_OPTION_GID_TYPE; else that of
 * RDMA_CM_ALT_OPTION_PORT_DEFAULTS for the port; else the setting of the port in
 * /sys/class/infiniband/DEVICE/rdma_cm_alt/PORT/default_roce_mode, which begins
 * with RoCE v2 where the port has it. The type of service likewise: that of
 * RDMA_OPTION_ID_TOS, of RDMA_CM_ALT_OPTION_PORT_DEFAULTS, of default_roce_tos,
 * which begins with 0.
 *
 * The others may be set at any time and count for the next operation. The id of a
 * request has those of its listener that are about time. What of these is not set is that of the
 * network namespace of the id, in /proc/sys/net/rdma_cm_alt/: response_timeout,
 * max_retries, mra_timeout (-1: not set) and deadline_ms (0: not set); what is not set
 * there is that of the initial namespace, else the default. GET tells the value that counts.
 *
 * A request without an answer is sent by these timers 1 + max_retries times; then
 * again, with twice the response timeout, until the deadline; without one, as long
 * as the stock rdma_cm does, or not at all when max_retries was set. At the
 * deadline comes UNREACHABLE, or DISCONNECTED; without one a disconnect takes 10 s
 * at most, or 33 s for eight requests where the timers are stock's, as those of
 * connections that its clients make. Messages for datagrams have timers of their own
 * unless the response timeout is set. Connections of iWARP are TCP's, and have none
 * of these.
 */
enum rdma_cm_alt_options {
	RDMA_CM_ALT_OPTION_GID_TYPE,
	RDMA_CM_ALT_OPTION_PORT_DEFAULTS,
	RDMA_CM_ALT_OPTION_RESPONSE_TIMEOUT,
	RDMA_CM_ALT_OPTION_MAX_RETRIES,
	RDMA_CM_ALT_OPTION_MRA_TIMEOUT,
	RDMA_CM_ALT_OPTION_DEADLINE,
	RDMA_CM_ALT_OPTION_TRUNK,
};

/**
 * enum rdma_cm_alt_trunk - whether a connection request uses a trunk to its peer
 * @RDMA_CM_ALT_TRUNK_AUTO: if one is open, else ib_cm; the default
 * @RDMA_CM_ALT_TRUNK_REQUIRE: it does not use ib_cm: EOPNOTSUPP of CONNECT if no trunk is open
 * @RDMA_CM_ALT_TRUNK_NEVER: it uses ib_cm
 *
 * A request whose private data are too long for ib_cm needs a trunk as well: EINVAL where none is
 * open. When the trunk of a request that needs one is lost, and no other one is open, the request
 * ends with UNREACHABLE, status -ETIMEDOUT. If the peer's module does not have the service ID,
 * it ends with REJECTED, reason 8, although another user of ib_cm there may have it.
 */
enum rdma_cm_alt_trunk {
	RDMA_CM_ALT_TRUNK_AUTO,
	RDMA_CM_ALT_TRUNK_REQUIRE,
	RDMA_CM_ALT_TRUNK_NEVER,
};

/**
 * struct rdma_cm_alt_port_default - defaults for a port
 * @ibdev_index: index of the device, as RDMA netlink gives it
 * @port_num: port of the device, from 1
 * @gid_type: IB_UVERBS_GID_TYPE_ROCE_V1 (1) or IB_UVERBS_GID_TYPE_ROCE_V2 (2)
 * @tos: type of service
 * @__reserved: must be 0
 */
struct rdma_cm_alt_port_default {
	__u32 ibdev_index;
	__u32 port_num;
	__u8 gid_type;
	__u8 tos;
	__u8 __reserved[6];
};

/**
 * struct rdma_cm_alt_option - ioctl(RDMA_CM_ALT_SET_OPTION), ioctl(RDMA_CM_ALT_GET_OPTION)
 * @size: sizeof(struct rdma_cm_alt_option)
 * @flags: must be 0
 * @id: handle of the id
 * @level: RDMA_OPTION_ID or RDMA_OPTION_IB of <rdma/rdma_user_cm.h>, or RDMA_CM_ALT_OPTION
 * @optname: RDMA_OPTION_ID_*, RDMA_OPTION_IB_PATH, or &enum rdma_cm_alt_options
 * @optlen: bytes at @optval_uptr; GET: on return the bytes that were written
 * @optval_uptr: user address of the value
 *
 * RDMA_OPTION_IB_PATH is an array of struct ib_path_rec_data, of at most 4096
 * bytes. SET takes the first one whose flags are IB_PATH_GMP, IB_PATH_PRIMARY
 * and IB_PATH_BIDIRECTIONAL, in the place of RDMA_CM_ALT_STEP_ROUTE, and ends
 * with RDMA_CM_ALT_EVENT_ROUTE_RESOLVED; over RoCE the hardware address is that
 * which address resolution found.
 *
 * Errors: ENOSYS unknown level or option; EINVAL wrong length, value or state;
 * ENODATA GET: RDMA_OPTION_ID_ACK_TIMEOUT or RDMA_CM_ALT_OPTION_GID_TYPE was not
 * set, or there is no path;
 * ENODEV a path whose network device is gone; ENXIO; ENOMEM; EFAULT.
 *
 * Waits for nothing.
 */
struct rdma_cm_alt_option {
	__u32 size;
	__u32 flags;
	__u32 id;
	__u32 level;
	__u32 optname;
	__u32 optlen;
	__aligned_u64 optval_uptr;
};
#define RDMA_CM_ALT_SET_OPTION _IO(RDMA_CM_ALT_IOC_TYPE, RDMA_CM_ALT_CMD_SET_OPTION)
#define RDMA_CM_ALT_GET_OPTION _IO(RDMA_CM_ALT_IOC_TYPE, RDMA_CM_ALT_CMD_GET_OPTION)

/**
 * enum rdma_cm_alt_set_queue_flags - flags of RDMA_CM_ALT_SET_QUEUE
 * @RDMA_CM_ALT_SET_QUEUE_NEW: to a queue that this call makes; @queue_fd must be -1
 * @RDMA_CM_ALT_SET_QUEUE_COOKIE: @cookie replaces the id's cookie
 */
enum rdma_cm_alt_set_queue_flags {
	RDMA_CM_ALT_SET_QUEUE_NEW = 1 << 0,
	RDMA_CM_ALT_SET_QUEUE_COOKIE = 1 << 1,
};

/**
 * struct rdma_cm_alt_set_queue - ioctl(RDMA_CM_ALT_SET_QUEUE)
 * @size: sizeof(struct rdma_cm_alt_set_queue)
 * @flags: &enum rdma_cm_alt_set_queue_flags
 * @id: handle of the id
 * @queue_fd: the new queue, of the same context; -1: none, events wait on the id
 * @cookie: see @flags
 * @out_events_reported: events of the id that were delivered until now
 * @out_queue_fd: the new queue with RDMA_CM_ALT_SET_QUEUE_NEW, else -1
 *
 * Events of the id that were not delivered yet move along, in order. Errors:
 * EBADF @queue_fd is not open; EINVAL it is no queue of this context, or it is
 * being closed; EMFILE, ENFILE; ENOMEM.
 *
 * Waits for nothing.
 */
struct rdma_cm_alt_set_queue {
	__u32 size;
	__u32 flags;
	__u32 id;
	__s32 queue_fd;
	__aligned_u64 cookie;
	__u32 out_events_reported;
	__s32 out_queue_fd;
};
#define RDMA_CM_ALT_SET_QUEUE _IO(RDMA_CM_ALT_IOC_TYPE, RDMA_CM_ALT_CMD_SET_QUEUE)

/**
 * enum rdma_cm_alt_get_event_flags - flags of RDMA_CM_ALT_GET_EVENT
 * @RDMA_CM_ALT_GET_EVENT_NONBLOCK: EAGAIN instead of waiting
 */
enum rdma_cm_alt_get_event_flags {
	RDMA_CM_ALT_GET_EVENT_NONBLOCK = 1 << 0,
};

/**
 * struct rdma_cm_alt_get_event - ioctl(RDMA_CM_ALT_GET_EVENT)
 * @size: sizeof(struct rdma_cm_alt_get_event)
 * @flags: &enum rdma_cm_alt_get_event_flags
 * @id: handle of an id that has no queue
 * @record_len: bytes at @record_uptr, at least 64
 * @record_uptr: user address for one struct rdma_cm_alt_event
 *
 * Errors: EINVAL the id has a queue, or @record_len is too small; EAGAIN;
 * EINTR; EFAULT and ENOMEM (the event is not lost); ENOENT the id was destroyed
 * meanwhile.
 *
 * Waits for an event, without RDMA_CM_ALT_GET_EVENT_NONBLOCK.
 */
struct rdma_cm_alt_get_event {
	__u32 size;
	__u32 flags;
	__u32 id;
	__u32 record_len;
	__aligned_u64 record_uptr;
};
#define RDMA_CM_ALT_GET_EVENT _IO(RDMA_CM_ALT_IOC_TYPE, RDMA_CM_ALT_CMD_GET_EVENT)

/**
 * struct rdma_cm_alt_post_event - ioctl(RDMA_CM_ALT_POST_EVENT)
 * @size: sizeof(struct rdma_cm_alt_post_event)
 * @flags: must be 0
 * @id: handle of the id
 * @type: RDMA_CM_ALT_EVENT_USER, _ADDRINFO_RESOLVED or _ADDRINFO_ERROR
 * @status: &rdma_cm_alt_event.user_status, and the status of the record
 * @__reserved: must be 0
 * @arg: &rdma_cm_alt_event.user_arg
 *
 * The event is delivered in order with the others of the id, in any state of
 * it; only records of a connection request that was not accepted yet have the
 * cookie 0, unless RDMA_CM_ALT_SET_QUEUE gave it one. 1024 of an id may wait to
 * be read.
 *
 * Errors: EINVAL other type; ENOBUFS too many wait; ENOMEM.
 *
 * Waits for nothing.
 */
struct rdma_cm_alt_post_event {
	__u32 size;
	__u32 flags;
	__u32 id;
	__u32 type;
	__s32 status;
	__u32 __reserved;
	__aligned_u64 arg;
};
#define RDMA_CM_ALT_POST_EVENT _IO(RDMA_CM_ALT_IOC_TYPE, RDMA_CM_ALT_CMD_POST_EVENT)

/**
 * struct rdma_cm_alt_join - ioctl(RDMA_CM_ALT_JOIN)
 * @size: sizeof(struct rdma_cm_alt_join)
 * @flags: must be 0
 * @id: handle of the id
 * @join_state: RDMA_MC_JOIN_FLAG_* of <rdma/rdma_user_cm.h>
 * @cookie: comes back with the events of the membership, as
 *          &rdma_cm_alt_event.user_arg
 * @group: address of the group
 * @out_member: handle of the membership
 * @__reserved: 0
 *
 * Ends with RDMA_CM_ALT_EVENT_MULTICAST_JOIN or _MULTICAST_ERROR. An id may
 * join several groups, and one group several times, up to 1024 memberships,
 * which end with it, or with its device. The group of a full member is joined by
 * the network device, too (IGMP, MLD). Errors: EINVAL wrong state, QP type or
 * address; ENODEV the network device is gone; EADDRNOTAVAIL the id has no IPoIB
 * network device, or that is no member of its subnet's group; ENOBUFS too many
 * memberships; EOPNOTSUPP groups of this link layer are not built in; ENXIO;
 * ENOENT also when the id is destroyed meanwhile; ENOMEM.
 *
 * Waits for nothing; on RoCE for RTNL.
 */
struct rdma_cm_alt_join {
	__u32 size;
	__u32 flags;
	__u32 id;
	__u32 join_state;
	__aligned_u64 cookie;
	struct rdma_cm_alt_sockaddr group;
	__u32 out_member;
	__u32 __reserved;
};
#define RDMA_CM_ALT_JOIN _IO(RDMA_CM_ALT_IOC_TYPE, RDMA_CM_ALT_CMD_JOIN)

/**
 * struct rdma_cm_alt_leave - ioctl(RDMA_CM_ALT_LEAVE)
 * @size: sizeof(struct rdma_cm_alt_leave)
 * @flags: must be 0
 * @member: handle of the membership
 * @out_events_reported: events of the membership that were delivered
 *
 * No event of the membership is delivered any more when the call returns.
 * Errors: those of the frame; ENOENT, also when another thread leaves.
 *
 * Waits for nothing but callbacks; on RoCE for RTNL.
 */
struct rdma_cm_alt_leave {
	__u32 size;
	__u32 flags;
	__u32 member;
	__u32 out_events_reported;
};
#define RDMA_CM_ALT_LEAVE _IO(RDMA_CM_ALT_IOC_TYPE, RDMA_CM_ALT_CMD_LEAVE)

/**
 * struct rdma_cm_alt_destroy - ioctl(RDMA_CM_ALT_DESTROY)
 * @size: sizeof(struct rdma_cm_alt_destroy)
 * @flags: must be 0
 * @id: handle of the id
 * @out_events_reported: events of the id that were delivered
 *
 * Port and service ID are free again and no event of the id is delivered any
 * more when the call returns. A peer that is connected sees a disconnect, one
 * whose request is pending a reject (reason 28). Errors: ENOENT, also when
 * another thread destroys the id.
 *
 * Waits for its device; with memberships on RoCE for RTNL.
 */
struct rdma_cm_alt_destroy {
	__u32 size;
	__u32 flags;
	__u32 id;
	__u32 out_events_reported;
};
#define RDMA_CM_ALT_DESTROY _IO(RDMA_CM_ALT_IOC_TYPE, RDMA_CM_ALT_CMD_DESTROY)

/**
 * struct rdma_cm_alt_batch - ioctl(RDMA_CM_ALT_BATCH)
 * @size: sizeof(struct rdma_cm_alt_batch)
 * @flags: must be 0
 * @cmd: &enum rdma_cm_alt_cmd of all entries
 * @count: number of entries
 * @stride: bytes from one entry to the next
 * @out_done: entries that were tried, from the first one on
 * @entries_uptr: user address of the command structs, each with its size and flags
 * @results_uptr: user address of @count __s32: 0 or a negative errno each
 *
 * Each entry is executed as a call of its own would be, in order; one that fails
 * changes nothing for the others. RDMA_CM_ALT_INFO, _QUEUE_CREATE, _GET_EVENT, _BATCH
 * and _USAGE cannot be batched. A signal ends a batch early, behind the entry that is
 * being executed: the call then succeeds with @out_done less than @count, but not 0, and
 * the caller passes the other entries in another call.
 *
 * Errors: those of the frame; EINVAL a command that cannot be batched, or a
 * @stride that is smaller than the mandatory part of its struct; EFAULT the
 * result of entry @out_done cannot be written: it and those after it were not tried.
 *
 * Waits for its entries.
 */
struct rdma_cm_alt_batch {
	__u32 size;
	__u32 flags;
	__u32 cmd;
	__u32 count;
	__u32 stride;
	__u32 out_done;
	__aligned_u64 entries_uptr;
	__aligned_u64 results_uptr;
};
#define RDMA_CM_ALT_BATCH _IO(RDMA_CM_ALT_IOC_TYPE, RDMA_CM_ALT_CMD_BATCH)

/**
 * enum rdma_cm_alt_resource - what is counted and limited
 * @RDMA_CM_ALT_RESOURCE_CONTEXTS: contexts; one that is closed counts as long as something
 *                                 of it is left
 * @RDMA_CM_ALT_RESOURCE_QUEUES: queues that have a descriptor
 * @RDMA_CM_ALT_RESOURCE_IDS: ids, also those of connection requests that wait to be read, and
 *                            those that are destroyed and still wait for their peer's answer
 * @RDMA_CM_ALT_RESOURCE_REQUESTS: connection requests that wait to be read
 * @RDMA_CM_ALT_RESOURCE_MEMBERSHIPS: memberships in multicast groups
 * @RDMA_CM_ALT_RESOURCE_EVENTS: event records: those that wait to be read, also in a ring,
 *                               and those of operations that have begun
 * @RDMA_CM_ALT_RESOURCE_RING_PAGES: pages of rings, mapped once or more
 */
enum rdma_cm_alt_resource {
	RDMA_CM_ALT_RESOURCE_CONTEXTS,
	RDMA_CM_ALT_RESOURCE_QUEUES,
	RDMA_CM_ALT_RESOURCE_IDS,
	RDMA_CM_ALT_RESOURCE_REQUESTS,
	RDMA_CM_ALT_RESOURCE_MEMBERSHIPS,
	RDMA_CM_ALT_RESOURCE_EVENTS,
	RDMA_CM_ALT_RESOURCE_RING_PAGES,
};

/**
 * struct rdma_cm_alt_usage - ioctl(RDMA_CM_ALT_USAGE)
 * @size: sizeof(struct rdma_cm_alt_usage)
 * @flags: must be 0
 * @resource: &enum rdma_cm_alt_resource
 * @__reserved: must be 0
 * @out_context_used: what the context has
 * @out_context_limit: what it may have
 * @out_user_used: what all contexts of the user have who opened this one
 * @out_user_limit: what they may have; 0xffffffff: any number, as the context was
 *                  opened with the capability CAP_SYS_RESOURCE
 * @out_context_refused: how often the limit of the context was reached; of requests also
 *                       how often the backlog of a listener was
 * @out_user_refused: how often the limit of the user was, since he has contexts
 *
 * All objects of a context are charged to it and to the user who opened it, whatever
 * process creates them. A connection request that exceeds a limit is dropped, and its peer
 * retransmits it (over iWARP it is rejected). If an event of a peer gets no record, it is
 * delivered without its details. Figures of the user are 0 if the caller is another user.
 *
 * Errors: those of the frame; EOPNOTSUPP the resource is not known.
 *
 * Waits for nothing.
 */
struct rdma_cm_alt_usage {
	__u32 size;
	__u32 flags;
	__u32 resource;
	__u32 __reserved;
	__u32 out_context_used;
	__u32 out_context_limit;
	__u32 out_user_used;
	__u32 out_user_limit;
	__aligned_u64 out_context_refused;
	__aligned_u64 out_user_refused;
};
#define RDMA_CM_ALT_USAGE _IO(RDMA_CM_ALT_IOC_TYPE, RDMA_CM_ALT_CMD_USAGE)

/**
 * enum rdma_cm_alt_resolve_service_flags - which service records are wanted
 * @RDMA_CM_ALT_SERVICE_BY_ID: those with the service ID @service_id
 */
enum rdma_cm_alt_resolve_service_flags {
	RDMA_CM_ALT_SERVICE_BY_ID = 1 << 0,
};

/**
 * struct rdma_cm_alt_resolve_service - ioctl(RDMA_CM_ALT_RESOLVE_SERVICE)
 * @size: sizeof(struct rdma_cm_alt_resolve_service)
 * @flags: &enum rdma_cm_alt_resolve_service_flags
 * @id: handle of the id, bound to an InfiniBand port
 * @timeout_ms: bound of the query, milliseconds
 * @service_id: service ID, host byte order; 0 without RDMA_CM_ALT_SERVICE_BY_ID
 * @name_uptr: user address of the name of the service
 * @name_len: its length, at most 64; 0: records with any name
 * @__reserved: must be 0
 *
 * Asks the subnet administrator of the port for service records (IBTA volume 1,
 * 15.2.5.14). The event ADDRINFO_RESOLVED or ADDRINFO_ERROR reports the end.
 * RDMA_CM_ALT_SERVICES then returns the records. If the id is bound to an address of
 * family AF_IB, the first record is its destination from then on, with GID, partition and
 * service ID, and its address counts as resolved; another id stays bound.
 *
 * Not built in on kernels before 6.17, see &rdma_cm_alt_info.out_commands.
 *
 * Errors: EINVAL wrong state, not bound to a device, @timeout_ms 0, @name_len too long, or
 * @service_id without its flag; EOPNOTSUPP the port is not InfiniBand; EAGAIN it does not know
 * its subnet administrator; ENXIO the device was removed; ENODEV; ENOMEM.
 *
 * Waits for nothing.
 */
struct rdma_cm_alt_resolve_service {
	__u32 size;
	__u32 flags;
	__u32 id;
	__u32 timeout_ms;
	__aligned_u64 service_id;
	__aligned_u64 name_uptr;
	__u32 name_len;
	__u32 __reserved;
};
#define RDMA_CM_ALT_RESOLVE_SERVICE _IO(RDMA_CM_ALT_IOC_TYPE, RDMA_CM_ALT_CMD_RESOLVE_SERVICE)

/**
 * struct rdma_cm_alt_service - a service record, without its key
 * @service_id: service ID, host byte order
 * @gid: GID of the port with the service
 * @lease_s: how long it is valid, in seconds; 0xffffffff: without an end
 * @pkey: partition key, network byte order
 * @__reserved: 0
 * @name: name of the service
 * @data: data of the service, as in the record
 */
struct rdma_cm_alt_service {
	__aligned_u64 service_id;
	__u8 gid[16];
	__u32 lease_s;
	__be16 pkey;
	__u8 __reserved[2];
	__u8 name[64];
	__u8 data[64];
};

/**
 * struct rdma_cm_alt_services - ioctl(RDMA_CM_ALT_SERVICES)
 * @size: sizeof(struct rdma_cm_alt_services)
 * @flags: must be 0
 * @id: handle of the id
 * @count: room at @services_uptr, in records
 * @services_uptr: user address of the records, each a struct rdma_cm_alt_service
 * @out_count: number of records that the id has; the first @count of them were written
 * @__reserved: must be 0
 *
 * The id has the records from ADDRINFO_RESOLVED on until it is connected; at most 64.
 *
 * Not built in where RDMA_CM_ALT_RESOLVE_SERVICE is not.
 *
 * Errors: ENODATA the id has none; ENOMEM.
 *
 * Waits for nothing.
 */
struct rdma_cm_alt_services {
	__u32 size;
	__u32 flags;
	__u32 id;
	__u32 count;
	__aligned_u64 services_uptr;
	__u32 out_count;
	__u32 __reserved;
};
#define RDMA_CM_ALT_SERVICES _IO(RDMA_CM_ALT_IOC_TYPE, RDMA_CM_ALT_CMD_SERVICES)

#endif /* RDMA_CM_ALT_UAPI_H */
