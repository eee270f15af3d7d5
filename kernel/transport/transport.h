/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* The transport interface: what ids call to use ib_cm or iw_cm, and what a transport calls back. */
#ifndef RCA_TRANSPORT_H
#define RCA_TRANSPORT_H

#include <linux/types.h>
#include <rdma/ib_verbs.h>

#include "lib/fsm.h"
#include "lib/types.h"
#include "lib/wire.h"

struct ib_uverbs_ah_attr;
struct net;
struct rca_account;
struct rca_device;
struct rca_tp_ops;
struct sa_path_rec;
struct work_struct;
struct workqueue_struct;

/**
 * DOC: Transport seam
 *
 * A *lower* cm_id is the connection object of a transport: a struct ib_cm_id over
 * ib_cm, a struct iw_lower over iw_cm, a &struct rca_trunk_conn over a trunk, or the
 * object of a fake transport in unit tests. It belongs to one owner, a &struct
 * rca_id, and calls it back until destroy() returns. The timeout of a message that
 * the peer did not answer may be reported slightly later, so each callback first
 * takes a reference of its owner under RCU.
 *
 * Everything but destroy(), unlisten(), join() and leave() may be called with the
 * op mutex of the id held. destroy() waits for callbacks that are running: never
 * call it from a callback, nor under a lock that a callback takes. join() and
 * leave() take RTNL, which other code holds around locks of its own: call them
 * with no lock held.
 *
 * iWARP connections are TCP connections. iw_cm may block the caller of a connect
 * until TCP has reached the peer, and the destroyer of an id until the peer has
 * answered. So connect() returns -EINPROGRESS before it blocks. The caller then
 * releases the op mutex and calls finish(), which connects. A caller that is a work
 * item itself, on a worker that others need, calls when_finished() before, which
 * lets another worker connect. destroy() makes the connect return soon, and leaves
 * waiting for the peer to the background.
 *
 * Each device has one transport (&rca_device.tp). Its connections may use a trunk as
 * well, which is chosen for each lower cm_id: &rca_id.tp is the transport of the one
 * that the id has.
 */

/**
 * struct rca_tp_conn - connection parameters, our own or those of the peer
 * @qp_num: QP number of the sender
 * @qkey: datagrams: queue key of the sender
 * @psn: starting packet sequence number of the receive queue of the sender
 * @responder_resources: from the view of the sender
 * @initiator_depth: from the view of the sender
 * @flow_control: end-to-end flow control
 * @retry_count: transport retries
 * @rnr_retry_count: receiver-not-ready retries
 * @srq: the sender uses a shared receive queue
 * @qp_type: type of the QP
 * @ece_vendor_id: enhanced connection establishment
 * @ece_attr_mod: enhanced connection establishment
 * @private_data: private data of the message
 * @private_data_len: length of @private_data
 * @tells_route: the program learns the route from the event of the answer
 */
struct rca_tp_conn {
	u32 qp_num;
	u32 qkey;
	u32 psn;
	u8 responder_resources;
	u8 initiator_depth;
	u8 flow_control;
	u8 retry_count;
	u8 rnr_retry_count;
	u8 srq;
	enum ib_qp_type qp_type;
	u32 ece_vendor_id;
	u32 ece_attr_mod;
	const void *private_data;
	u16 private_data_len;
	bool tells_route;
};

/**
 * struct rca_tp_req - parameters of connect() and sidr_request()
 *
 * What pointers refer to must stay until the call returns.
 *
 * @conn: connection parameters; private data with the IP CM header
 * @service_id: service ID of the listener
 * @path: the path
 * @path_in: inbound path where it differs, else NULL
 * @path_out: outbound path where it differs, else NULL
 * @sgid_attr: attributes of the local GID; NULL: none
 * @remote_timeout: time that the peer may take to answer, 4.096 us * 2^n
 * @local_timeout: time that the peer may wait for the answer to its reply, likewise
 * @retries: how often the request is sent again
 * @answer_ms: datagrams: milliseconds between two requests
 * @wait_ms: over a trunk: milliseconds until the request is given up
 * @net: over TCP: the network namespace
 * @local: over TCP: local address and port
 * @dst: over TCP: address and port of the peer
 * @tos: over TCP: type of service
 */
struct rca_tp_req {
	struct rca_tp_conn conn;
	__be64 service_id;
	struct sa_path_rec *path;
	struct sa_path_rec *path_in;
	struct sa_path_rec *path_out;
	const struct ib_gid_attr *sgid_attr;
	u8 remote_timeout;
	u8 local_timeout;
	u8 retries;
	u32 answer_ms;
	u32 wait_ms;
	struct net *net;
	const union rca_addr *local;
	const union rca_addr *dst;
	u8 tos;
};

/**
 * struct rca_tp_listen - parameters of listen()
 * @service_id: the service ID
 * @net: over TCP: the network namespace
 * @local: over TCP: address and port; must stay until the call returns
 * @backlog: over TCP: connections that may wait
 * @tos: over TCP: type of service
 * @afonly: over TCP: an IPv6 wildcard does not cover IPv4
 */
struct rca_tp_listen {
	__be64 service_id;
	struct net *net;
	const union rca_addr *local;
	u32 backlog;
	u8 tos;
	bool afonly;
};

/**
 * struct rca_tp_request - a received connection request
 *
 * What pointers refer to is valid until the callback returns.
 *
 * @tp: transport of the lower cm_id
 * @conn: parameters of the peer; private data as on the wire. Datagrams: the
 *        private data alone, with the QP type IB_QPT_UD.
 * @service_id: service ID of the listener
 * @port_num: port of the device
 * @path: path to the peer; datagrams: NULL
 * @alt_path: alternate path, or NULL
 * @sgid_attr: local GID, or NULL; keep it with rdma_hold_gid_attr()
 * @pkey: partition key of the message
 * @ca_guid: GUID of the CA of the peer; datagrams and over TCP: 0
 * @repeat_ms: interval at which messages to the peer are repeated; over TCP: 0
 * @local: over TCP: address that the peer connects to
 * @peer: over TCP: address of the peer
 */
struct rca_tp_request {
	const struct rca_tp_ops *tp;
	struct rca_tp_conn conn;
	__be64 service_id;
	u32 port_num;
	const struct sa_path_rec *path;
	const struct sa_path_rec *alt_path;
	const struct ib_gid_attr *sgid_attr;
	u16 pkey;
	__be64 ca_guid;
	u32 repeat_ms;
	const union rca_addr *local;
	const union rca_addr *peer;
};

/**
 * struct rca_tp_event - an event of a lower cm_id
 * @input: the input that it is for the state machine of the id
 * @status: 0, a negative errno, or the reason of a reject (> 0); of a refused
 *          datagram request: the SIDR status
 * @has_conn: @conn is valid
 * @conn: parameters and private data of the peer, valid until the callback returns
 * @ca_guid: reply of the peer: GUID of its CA; datagrams and over TCP: 0
 * @rtu_data: ready-to-use of the peer: its private data, likewise; else NULL
 * @rtu_len: length of @rtu_data
 * @elsewhere: a reject over a trunk: another user of ib_cm at the peer may have the service ID
 * @delay_ms: RCA_IN_HELD over a trunk: milliseconds until the request may be repeated
 */
struct rca_tp_event {
	enum rca_input input;
	int status;
	bool has_conn;
	struct rca_tp_conn conn;
	__be64 ca_guid;
	const void *rtu_data;
	u8 rtu_len;
	bool elsewhere;
	u32 delay_ms;
};

/**
 * struct rca_tp_join - parameters of join()
 * @account: that of the member; outlives the membership
 * @net: network namespace of the member
 * @ifindex: network device of its local address
 * @port_num: port of the device
 * @sgid_attr: its local GID; must stay until join() returns
 * @group: address of the group; not validated yet
 * @sl: service level of packets to the group
 * @traffic_class: traffic class of packets to the group
 * @send_only: the member does not receive
 * @ps: port space of the member
 * @qkey: queue key of the member
 * @pkey: InfiniBand: partition of the member
 * @subnet: InfiniBand: MGID of the broadcast group of the IPoIB subnet; 0: there is none
 */
struct rca_tp_join {
	const struct rca_account *account;
	struct net *net;
	int ifindex;
	u32 port_num;
	const struct ib_gid_attr *sgid_attr;
	const union rca_addr *group;
	u8 sl;
	u8 traffic_class;
	bool send_only;
	u16 ps;
	u32 qkey;
	u16 pkey;
	union ib_gid subnet;
};

/**
 * struct rca_tp_upcalls - callbacks of a transport
 * @event: event of the lower cm_id of @owner. Process context; must not destroy
 *         the lower cm_id. May run before the call that caused it returns. Returns
 *         what the transport must do (enum rca_action): RCA_ACT_DREP.
 * @request: request received for a demux. Returns 0: the lower cm_id has an owner
 *           now (set_owner()); -ENOMEM: drop the request silently, and the peer
 *           sends it again; another errno: reject it, unless the callback has called
 *           reject(). A datagram request may be rejected in both cases.
 * @joined: a join has ended. Process context. Called once for each join() that
 *          succeeds, possibly before it returns, and not after leave(). With
 *          status 0 it has the queue key of the group and the address handle
 *          attributes for it, its MGID included, in the form for user space.
 *          Called once more, with an error, when a joined group is lost.
 * @request_for: as @request, for a service ID of a device; -EADDRNOTAVAIL: there is no
 *               demux for it. It may still run when unlisten() has returned.
 */
struct rca_tp_upcalls {
	u8 (*event)(void *owner, void *lower, const struct rca_tp_event *event);
	int (*request)(void *demux, void *lower, const struct rca_tp_request *req);
	void (*joined)(void *member, int status, const struct ib_uverbs_ah_attr *ah, u32 qkey);
	int (*request_for)(struct rca_device *dev, void *lower, const struct rca_tp_request *req);
};

/**
 * struct rca_tp_numbers - numbers by which messages on the wire name a connection; 0: none
 * @comm_id: over ib_cm: communication ID of this host, or its request ID of datagrams
 * @remote_comm_id: over ib_cm: communication ID of the peer, once it is known
 * @session: over a trunk: number of its session
 * @number: over a trunk: number of the connection in the session
 */
struct rca_tp_numbers {
	u32 comm_id;
	u32 remote_comm_id;
	u32 session;
	u32 number;
};

/**
 * struct rca_tp_ops - a transport
 * @name: for messages
 * @over_tcp: connections are TCP connections: no IP CM header in front of private
 *            data, one listen() for each listener, a port for each connection, no
 *            datagrams, no timewait
 * @long_private: RCA_WIRE_USER_MAX bytes of a user's private data fit each message; else as many as
 *                fit that of ib_cm
 * @reliable: messages arrive, in their order: they need no send window and no MRA
 * @finds_stale: a request or reply that names the QP of another connection of the transport is
 *               rejected by the transport, which ends the other connection
 * @create: create a lower cm_id for @owner on @dev; ERR_PTR() on failure
 * @destroy: destroy it, whatever it is doing; no callback runs afterwards. Sleeps.
 * @numbers: read the numbers of a lower cm_id, in any context; under RCU it may have been destroyed
 *           meanwhile. NULL: it has none
 * @set_owner: set the owner of a lower cm_id that came with a request
 * @listen: listen on a service ID, or on an address and port, for @demux; -EBUSY:
 *          another user of the device listens there; ERR_PTR() on failure
 * @unlisten: undo @listen; waits for requests that are being handled. Sleeps.
 * @connect: send a request. -EINPROGRESS: call finish() in any case
 * @finish: connect, or get the result, without locks: 0, or the errno why no
 *          request was sent; -ECONNABORTED: the lower cm_id was destroyed meanwhile;
 *          -ERESTARTSYS: interrupted by a signal. NULL: connect() is never in progress
 * @when_finished: connect on @slow_wq, and queue @work as soon as finish() would not
 *                 wait, which may be at once; call it before finish(), at most once. NULL
 *                 as finish()
 * @reply: send a reply; -ECONNRESET: the peer has ended the connection, and the
 *         event for that is still to come
 * @send_mra: ask the peer to wait longer for our ready-to-use: n of 4.096 us * 2^n.
 *            Over TCP: NULL
 * @send_rtu: send a ready-to-use, with private data for the connection manager of the peer;
 *            -ECONNRESET as reply()
 * @reject: send a reject with an IBTA reason
 * @received: the QP has received from the peer, so the ready-to-use no longer has to come;
 *            NULL: makes no difference
 * @disconnect: send a disconnect request; -EAGAIN: wait for the ready-to-use first
 * @check_qp: may the caller have peers connect to a QP of this number? 0 or -EPERM
 * @qp_attr: attributes for attr->qp_state
 * @sidr_request: ask for the QP of the peer; ends with RCA_IN_REP, RCA_IN_REJ or
 *                RCA_IN_REQ_TIMEOUT
 * @sidr_reply: answer such a request with our QP, or refuse it with a status that
 *              is not 0 (IBTA volume 1, 12.11.2); of @conn, QP number, queue key,
 *              private data and ECE are used
 * @ah_attr: address handle attributes for a path, in the form for user space
 * @join: join a multicast group for @member; ends with the callback joined();
 *        ERR_PTR() when it could not be started. Sleeps; takes RTNL.
 * @leave: undo join(). Sleeps; takes RTNL.
 * @reject_msg: text for the reason of a reject (> 0); NULL: its rejects have none
 */
struct rca_tp_ops {
	const char *name;
	bool over_tcp;
	bool long_private;
	bool reliable;
	bool finds_stale;
	void *(*create)(struct ib_device *dev, void *owner);
	void (*destroy)(void *lower);
	void (*numbers)(const void *lower, struct rca_tp_numbers *out);
	void (*set_owner)(void *lower, void *owner);
	void *(*listen)(struct ib_device *dev, const struct rca_tp_listen *req, void *demux);
	void (*unlisten)(void *listen);
	int (*connect)(void *lower, const struct rca_tp_req *req);
	int (*finish)(void *lower);
	void (*when_finished)(void *lower, struct workqueue_struct *slow_wq,
			      struct workqueue_struct *wq, struct work_struct *work);
	int (*reply)(void *lower, const struct rca_tp_conn *conn);
	int (*send_mra)(void *lower, u8 time);
	int (*send_rtu)(void *lower, const void *data, u8 len);
	int (*reject)(void *lower, int reason, const void *data, u8 len);
	void (*received)(void *lower);
	int (*disconnect)(void *lower);
	int (*check_qp)(struct ib_device *dev, u32 qp_num);
	int (*qp_attr)(void *lower, struct ib_qp_attr *attr, int *mask);
	int (*sidr_request)(void *lower, const struct rca_tp_req *req);
	int (*sidr_reply)(void *lower, int status, const struct rca_tp_conn *conn);
	int (*ah_attr)(struct ib_device *dev, u32 port_num, struct sa_path_rec *path,
		       const struct ib_gid_attr *sgid_attr, struct ib_uverbs_ah_attr *out);
	void *(*join)(struct ib_device *dev, const struct rca_tp_join *req, void *member);
	void (*leave)(void *group);
	const char *(*reject_msg)(int reason);
};

/* Most bytes of private data of a user in a message of a transport, for peers of a family. */
static inline unsigned int rca_tp_private_max(const struct rca_tp_ops *tp, enum rca_wire_msg msg,
					      sa_family_t family)
{
	return tp->long_private ? RCA_WIRE_USER_MAX : rca_wire_private_max(msg, family);
}

#endif /* RCA_TRANSPORT_H */
