/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* The seam between ids and the wire: what a transport does for us, and what it tells us. */
#ifndef RCA_TRANSPORT_H
#define RCA_TRANSPORT_H

#include <linux/types.h>
#include <rdma/ib_verbs.h>

#include "lib/fsm.h"
#include "lib/types.h"

struct ib_uverbs_ah_attr;
struct net;
struct sa_path_rec;
struct work_struct;
struct workqueue_struct;

/**
 * DOC: Transport seam
 *
 * A *lower* id is what the transport gives us for a connection: a struct
 * ib_cm_id, or what a test's transport makes up. It belongs to one owner (a
 * &struct rca_id) and calls it back until destroy() returns. The report of a
 * message that nobody answered may come later by a moment: whoever is called
 * back gets a reference of the owner first, under RCU.
 *
 * Everything but destroy(), unlisten(), join() and leave() may be called with
 * the id's op mutex held. destroy() waits for callbacks that run: never call it
 * from one, nor under a lock that one takes. join() and leave() take RTNL, which
 * others hold around locks of their own: call them with no lock held.
 *
 * iWARP connections are TCP's. iw_cm may block the caller of a connect until TCP
 * knows the peer, and the destroyer of an id until the peer has answered. So
 * connect() leaves that to a worker and returns -EINPROGRESS; its caller lets go
 * of the id's op mutex and waits in finish(), or, if it is work itself and others
 * need its worker, has a work queued by when_finished(). destroy() makes the worker
 * give up, and leaves what iw_cm waits for to the background.
 */

/**
 * struct rca_tp_conn - parameters of a connection, ours or the peer's
 * @qp_num: number of the sender's QP
 * @qkey: datagrams: its queue key
 * @psn: starting packet sequence number of the sender's receive queue
 * @responder_resources: as the sender sees it
 * @initiator_depth: as the sender sees it
 * @flow_control: end-to-end flow control
 * @retry_count: transport retries
 * @rnr_retry_count: receiver-not-ready retries
 * @srq: shared receive queue
 * @qp_type: type of the QP
 * @ece_vendor_id: enhanced connection establishment
 * @ece_attr_mod: enhanced connection establishment
 * @private_data: private data of the message
 * @private_data_len: its length
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
	u8 private_data_len;
};

/**
 * struct rca_tp_req - what connect() and sidr_request() need beside the parameters
 * @conn: the parameters; private data with the IP CM header
 * @service_id: of the listener
 * @path: the path; must stay until the call returns
 * @path_in: path for the way here where it is another one, else NULL; likewise
 * @path_out: path for the way there where it is another one, else NULL; likewise
 * @sgid_attr: attributes of the local GID; NULL: none
 * @remote_timeout: what the peer may take to answer, 4.096 us * 2^n
 * @local_timeout: what it may wait for the answer to its reply, likewise
 * @retries: how often the request is sent again
 * @answer_ms: datagrams: milliseconds between two of them
 * @net: over TCP: the network namespace
 * @local: over TCP: local address and port; must stay until the call returns
 * @dst: over TCP: those of the peer; likewise
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
	struct net *net;
	const union rca_addr *local;
	const union rca_addr *dst;
	u8 tos;
};

/**
 * struct rca_tp_listen - what listen() needs
 * @service_id: the service ID
 * @net: over TCP: the network namespace
 * @local: over TCP: address and port; must stay until the call returns
 * @backlog: over TCP: connections that may wait
 * @tos: over TCP: type of service
 * @afonly: over TCP: an IPv6 wildcard leaves IPv4 alone
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
 * struct rca_tp_request - a connection request that came in
 * @conn: the peer's parameters; private data as on the wire. Datagrams: the
 *        private data alone, with the QP type IB_QPT_UD.
 * @service_id: of the listener
 * @port_num: port of the device
 * @path: the path to the peer; dies when the callback returns; datagrams: NULL
 * @alt_path: the alternate path; may be NULL; dies likewise
 * @sgid_attr: local GID; may be NULL; hold it with rdma_hold_gid_attr() to keep it
 * @pkey: partition key of the message
 * @repeat_ms: messages to the peer are repeated by this time; over TCP: 0
 * @local: over TCP: the address that the peer asks for; dies when the callback returns
 * @peer: over TCP: that of the peer; likewise
 */
struct rca_tp_request {
	struct rca_tp_conn conn;
	__be64 service_id;
	u32 port_num;
	const struct sa_path_rec *path;
	const struct sa_path_rec *alt_path;
	const struct ib_gid_attr *sgid_attr;
	u16 pkey;
	u32 repeat_ms;
	const union rca_addr *local;
	const union rca_addr *peer;
};

/**
 * struct rca_tp_event - what happened to a lower id
 * @input: what it is to the id
 * @status: 0, a negative errno, or the reason of a reject (> 0); of a datagram
 *          request that is refused: the SIDR status
 * @has_conn: @conn is valid
 * @conn: the peer's parameters and private data; die when the callback returns
 */
struct rca_tp_event {
	enum rca_input input;
	int status;
	bool has_conn;
	struct rca_tp_conn conn;
};

/**
 * struct rca_tp_join - what join() needs
 * @net: network namespace of the member
 * @ifindex: network device of its local address
 * @port_num: port of the device
 * @sgid_attr: its local GID; must stay until join() returns
 * @group: address of the group; not checked yet
 * @sl: service level for what is sent to the group
 * @traffic_class: likewise
 * @send_only: nothing of the group needs to be delivered here
 * @ps: port space of the member
 * @qkey: its queue key
 * @pkey: InfiniBand: its partition
 * @subnet: InfiniBand: MGID of the group of the whole IPoIB subnet; 0: it is in none
 */
struct rca_tp_join {
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
 * struct rca_tp_upcalls - what a transport calls
 * @event: something happened to the lower id of @owner. Process context; must
 *         not destroy the lower id. May run before the call that caused it
 *         returns. Returns what the transport must do (enum rca_action):
 *         RCA_ACT_DREP.
 * @request: a request came in for a demux. Returns 0: the lower id is ours and
 *           has an owner now (set_owner()); -ENOMEM: drop it silently, the
 *           peer tries again; another errno: reject it. A request for datagrams
 *           may be rejected in both cases.
 * @joined: a join has ended. Process context. Once for each join() that
 *          succeeds; may run before it returns, and does not run after leave().
 *          With status 0 it tells how to send to the group, its MGID included,
 *          in the form for user space, and the group's queue key. Once more,
 *          with an error, when a group that was joined is lost.
 */
struct rca_tp_upcalls {
	u8 (*event)(void *owner, void *lower, const struct rca_tp_event *event);
	int (*request)(void *demux, void *lower, const struct rca_tp_request *req);
	void (*joined)(void *member, int status, const struct ib_uverbs_ah_attr *ah, u32 qkey);
};

/**
 * struct rca_tp_ops - a transport
 * @name: for people
 * @over_tcp: connections are TCP's: no IP CM header in front of private data, one
 *            listen() for each listener and a port for each connection, no
 *            datagrams, nothing to wait for after the end
 * @create: make a lower id for @owner on @dev; ERR_PTR() on failure
 * @destroy: destroy it; ends whatever it does; no callback runs afterwards. Sleeps.
 * @set_owner: give a lower id that came with a request its owner
 * @listen: take a service ID, or an address and port, for @demux; -EBUSY: another
 *          user of the device has it; ERR_PTR() on failure
 * @unlisten: give it back; waits for requests that are being handled. Sleeps.
 * @connect: send a request. -EINPROGRESS: call finish() in any case
 * @finish: wait for the result of connect(), without locks: 0 or the errno why no
 *          request was sent; -ECONNABORTED: the lower id was destroyed meanwhile.
 *          A signal ends it with -ERESTARTSYS. NULL: it never is in progress
 * @when_finished: have a work queued as soon as finish() would not wait, which may be at
 *                 once; before finish(), and not more than once. NULL as finish()
 * @reply: send a reply; -ECONNRESET: the lower id has heard of the peer's end, and its upcall is
 *         still to come
 * @send_mra: the peer shall wait longer for our ready-to-use: n of 4.096 us * 2^n. Over TCP:
 *                NULL
 * @send_rtu: send a ready-to-use; -ECONNRESET: likewise
 * @reject: send a reject with an IBTA reason
 * @disconnect: send a disconnect request; -EAGAIN: the peer's ready-to-use comes first
 * @path_migrated: the QP uses the alternate path now
 * @check_qp: may the caller have peers connect to a QP of this number? 0 or -EPERM
 * @qp_attr: attributes for attr->qp_state
 * @sidr_request: ask for the peer's QP; ends with RCA_IN_REP, RCA_IN_REJ or
 *                RCA_IN_REQ_TIMEOUT
 * @sidr_reply: answer such a request with our QP, or refuse it by a status that
 *              is not 0 (IBTA volume 1, 12.11.2); of @conn number and queue key
 *              of the QP, private data and ECE count
 * @ah_attr: attributes of an address handle for a path, in the form for user space
 * @join: join a multicast group for @member; ends with the upcall joined();
 *        ERR_PTR() when it cannot even start. Sleeps; takes RTNL.
 * @leave: end what join() returned. Sleeps; takes RTNL.
 * @reject_msg: the reason of a reject (> 0) in words; NULL: its rejects have none
 */
struct rca_tp_ops {
	const char *name;
	bool over_tcp;
	void *(*create)(struct ib_device *dev, void *owner);
	void (*destroy)(void *lower);
	void (*set_owner)(void *lower, void *owner);
	void *(*listen)(struct ib_device *dev, const struct rca_tp_listen *req, void *demux);
	void (*unlisten)(void *listen);
	int (*connect)(void *lower, const struct rca_tp_req *req);
	int (*finish)(void *lower);
	void (*when_finished)(void *lower, struct workqueue_struct *wq, struct work_struct *work);
	int (*reply)(void *lower, const struct rca_tp_conn *conn);
	int (*send_mra)(void *lower, u8 time);
	int (*send_rtu)(void *lower);
	int (*reject)(void *lower, int reason, const void *data, u8 len);
	int (*disconnect)(void *lower);
	int (*path_migrated)(void *lower);
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

#endif /* RCA_TRANSPORT_H */
