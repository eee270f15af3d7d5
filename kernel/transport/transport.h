/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* RDMA devices, and the seam to ib_cm, iw_cm and trunks. */
#ifndef RCA_TRANSPORT_TRANSPORT_H
#define RCA_TRANSPORT_TRANSPORT_H

#include <linux/completion.h>
#include <linux/hashtable.h>
#include <linux/jiffies.h>
#include <linux/ktime.h>
#include <linux/list.h>
#include <linux/mutex.h>
#include <linux/overflow.h>
#include <linux/percpu.h>
#include <linux/rbtree_types.h>
#include <linux/rcupdate.h>
#include <linux/refcount.h>
#include <linux/slab.h>
#include <linux/spinlock.h>
#include <linux/types.h>
#include <linux/workqueue.h>
#include <net/net_namespace.h>
#include <rdma/ib_sa.h>
#include <rdma/ib_verbs.h>
#include <rdma/iw_cm.h>

#include "lib/fsm.h"
#include "lib/types.h"
#include "lib/wire.h"

struct ib_device;
struct ib_qp;
struct ib_uverbs_ah_attr;
struct iw_attempt;
struct net;
struct rca_account;
struct rca_device;
struct rca_device_places;
struct rca_group_ib;
struct rca_peer_key;
struct rca_port_sysfs;
struct rca_tp_ops;
struct rhashtable_iter;
struct sa_path_rec;
struct work_struct;
struct workqueue_struct;

/* The transport interface: what ids call to use ib_cm or iw_cm, and what a transport calls back. */

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
 * struct rca_tp_upcalls - what transports and devices call in the layers above
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
 * @device_removed: the device is being removed, and takes no new ids; no id uses it when this
 *                  returns. Process context.
 * @devices_changed: a device may be listened on from now on, or its GIDs have changed (@net is
 *                   NULL), or a network device has appeared in a namespace or left it: so
 *                   rca_device_serves_netns() may change. Called with locks of ib_core or RTNL
 *                   held, possibly before rca_devices_init() returns; must not sleep.
 * @trunk_barred: no trunk to a peer is opened for some time, because of bad frames. Any context.
 */
struct rca_tp_upcalls {
	u8 (*event)(void *owner, void *lower, const struct rca_tp_event *event);
	int (*request)(void *demux, void *lower, const struct rca_tp_request *req);
	void (*joined)(void *member, int status, const struct ib_uverbs_ah_attr *ah, u32 qkey);
	int (*request_for)(struct rca_device *dev, void *lower, const struct rca_tp_request *req);
	void (*device_removed)(struct rca_device *dev);
	void (*devices_changed)(struct net *net);
	void (*trunk_barred)(struct rca_device *dev, const struct rca_peer_key *peer);
};

/* Set before any use of a transport, and before rca_devices_init(). */
extern const struct rca_tp_upcalls *rca_tp_upcalls;

/**
 * struct rca_tp_ops - a transport
 * @owner: the module that has it, to which each lower cm_id with an owner holds a reference; NULL:
 *         this one
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
 * @disconnect: send a disconnect request; -EAGAIN: wait for the ready-to-use first; 1: no answer
 *              has to be waited for
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
	struct module *owner;
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

/* Which devices can receive requests for a network namespace. */

bool rca_device_in_netns(struct rca_device *dev, const struct net *net);
bool rca_device_serves_netns(struct rca_device *dev, struct net *net);

/* Settings of ports in sysfs. */

struct rca_port_sysfs *rca_port_sysfs_create(struct ib_device *ibdev);
void rca_port_sysfs_destroy(struct rca_port_sysfs *conf);
enum ib_gid_type rca_port_sysfs_gid_type(const struct rca_port_sysfs *conf, u32 port);
u8 rca_port_sysfs_tos(const struct rca_port_sysfs *conf, u32 port);

/* Counters and durations of a port. */

/**
 * enum rca_span - measured durations: from one state to the answer that ends it
 * @RCA_SPAN_ADDR: address resolution
 * @RCA_SPAN_ROUTE: route resolution
 * @RCA_SPAN_CONNECT: from the first REQ to the REP, or until TCP is connected
 * @RCA_SPAN_ACCEPT: from the REP to the RTU
 * @RCA_SPAN_LOOKUP: datagrams: from the SIDR_REQ to the SIDR_REP
 * @RCA_SPAN_DISCONNECT: from the DREQ to its answer
 * @RCA_SPANS: number of spans
 * @RCA_SPAN_NONE: nothing is measured
 */
enum rca_span {
	RCA_SPAN_ADDR,
	RCA_SPAN_ROUTE,
	RCA_SPAN_CONNECT,
	RCA_SPAN_ACCEPT,
	RCA_SPAN_LOOKUP,
	RCA_SPAN_DISCONNECT,
	RCA_SPANS,
	RCA_SPAN_NONE = RCA_SPANS,
};

/**
 * enum rca_trunk_stat - what is counted of trunks
 * @RCA_STAT_CONNECT: requests for connections that this host has sent over a trunk
 * @RCA_STAT_REQUEST: those that peers have sent
 * @RCA_STAT_OPENED: links that were opened, those that replaced another one included
 * @RCA_STAT_FAILED: links that could not be opened
 * @RCA_STAT_REPLACED: links that continue the session of the one before
 * @RCA_STAT_LOST: sessions that were lost while they had connections
 * @RCA_STAT_NO_TOKEN: requests of peers for a trunk, refused because of the token or the version,
 *                     or because the peer is barred
 * @RCA_STAT_BAD_FRAME: frames that were not the peer's, or malformed: each has ended its link
 * @RCA_STAT_HELLO_SENT: hellos that were sent with an RTU
 * @RCA_STAT_HELLO_RECEIVED: hellos that were received with one
 * @RCA_TRUNK_STATS: their number
 */
enum rca_trunk_stat {
	RCA_STAT_CONNECT,
	RCA_STAT_REQUEST,
	RCA_STAT_OPENED,
	RCA_STAT_FAILED,
	RCA_STAT_REPLACED,
	RCA_STAT_LOST,
	RCA_STAT_NO_TOKEN,
	RCA_STAT_BAD_FRAME,
	RCA_STAT_HELLO_SENT,
	RCA_STAT_HELLO_RECEIVED,
	RCA_TRUNK_STATS,
};

/** RCA_BUCKETS - bucket n counts durations below 2^n us; the last one also all longer ones */
#define RCA_BUCKETS 28

/**
 * struct rca_stats - counters of a port on one CPU
 * @inputs: number of each input that a state machine accepted
 * @took: histogram of each span
 * @us: total duration of each span, in us
 * @refused: requests of peers for which no id was created
 * @cached_paths: routes of InfiniBand that needed no query
 * @trunks: number of each enum rca_trunk_stat
 */
struct rca_stats {
	unsigned long inputs[RCA_IN_COUNT];
	unsigned long took[RCA_SPANS][RCA_BUCKETS];
	u64 us[RCA_SPANS];
	unsigned long refused;
	unsigned long cached_paths;
	unsigned long trunks[RCA_TRUNK_STATS];
};

/* Events without a port, or of a port whose counters could not be allocated. */
DECLARE_PER_CPU(struct rca_stats, rca_stats_elsewhere);

enum rca_span rca_stats_span(enum rca_state state);
const char *rca_stats_span_name(enum rca_span span);
void rca_stats_step(struct rca_stats __percpu *stats, enum rca_state old, enum rca_input input,
		    enum rca_state new, ktime_t *since);
const char *rca_stats_trunk_name(enum rca_trunk_stat stat);
void rca_stats_sum(const struct rca_stats __percpu *stats, struct rca_stats *sum);

/* RDMA devices: references, and removal. */

/**
 * struct rca_device - an RDMA device
 * @ibdev: the device of ib_core (immutable; valid while a reference is held)
 * @tp: its transport (immutable)
 * @conf: settings of its ports; NULL: they could not be allocated (immutable)
 * @node: in the list of devices (lock: devices_lock in devices.c)
 * @serial: number of the device, from 1, in the order of the list; never reused (immutable)
 * @ref: references; the removal waits until all are gone
 * @gone: completed by the last rca_device_put()
 * @lock: protects @ids
 * @ids: ids that are bound to the device (lock: @lock)
 * @removing: no id may be attached any more (lock: @lock)
 * @listenable: the fence has passed, service IDs may be taken (lock: @lock; also read without)
 * @fence: sets @listenable
 * @demux_mutex: serialises the first listen and the last close of a service ID; no
 *               callback takes it
 * @demuxes: service IDs that we hold, by number (lock: @demux_mutex)
 * @events: handler of events of the ports (immutable)
 * @path_epoch: number of events after which a path of the subnet administrator may be another
 *              (atomic)
 * @places: the places of the ports: see id/pacing.c; NULL: no limit, or they could not be
 *          allocated (immutable)
 * @stats: counters of each port, from 1; NULL, also for one port: they could not be
 *         allocated (immutable)
 */
struct rca_device {
	struct ib_device *ibdev;
	const struct rca_tp_ops *tp;
	struct rca_port_sysfs *conf;
	struct list_head node;
	u32 serial;
	refcount_t ref;
	struct completion gone;
	spinlock_t lock;
	struct list_head ids;
	bool removing;
	bool listenable;
	struct work_struct fence;
	struct mutex demux_mutex;
	DECLARE_HASHTABLE(demuxes, 8);
	struct ib_event_handler events;
	atomic_t path_epoch;
	struct rca_device_places *places;
	struct rca_stats __percpu **stats;
};

int rca_devices_init(void);
void rca_devices_exit(void);
struct rca_device *rca_device_get(struct rca_device *dev);
void rca_device_put(struct rca_device *dev);
struct rca_device *rca_device_next(struct rca_device *prev);
bool rca_device_exists(u32 serial);
void rca_device_wait_listenable(struct rca_device *dev);

/**
 * rca_device_stats() - get the counters of a port
 * @dev: the device, or NULL
 * @port: port of the device
 *
 * Context: Any context. The caller has a reference, or prevents the removal.
 * Return: the counters of the port; without a port, or for a port that has none, the
 * counters of events without a port.
 */
static inline struct rca_stats __percpu *
rca_device_stats(const struct rca_device *dev, u32 port)
{
	struct rca_stats __percpu *stats = dev && dev->stats ? dev->stats[port] : NULL;

	return stats ?: &rca_stats_elsewhere;
}

void rca_stats_trunk(const struct rca_device *dev, u32 port, enum rca_trunk_stat stat);

/* Multicast groups over RoCE: MGIDs, and memberships of network devices (IGMP, MLD). */

int rca_group_init(void);
void rca_group_exit(void);
void *rca_group_join(struct ib_device *ibdev, const struct rca_tp_join *req,
		     struct rdma_ah_attr *ah);
void rca_group_leave(void *membership);

/* Multicast groups over InfiniBand, and our client of ib_sa. */

extern struct ib_sa_client rca_sa_client;

u32 rca_group_ib_qkey(struct ib_device *ibdev, u32 port_num, union ib_gid *mgid);
struct rca_group_ib *rca_group_ib_join(struct ib_device *ibdev, const struct rca_tp_join *req,
				       void *owner);
void rca_group_ib_leave(struct rca_group_ib *group);

/* Gates, which limit messages; those of the ports of a device. They are used in id/pacing.c. */

/**
 * struct rca_turns - parties that take turns: the users at a gate, or the contexts of a user
 * @tree: the parties by their owner
 * @order: those that wait, in the order in which they are served, through &rca_party.order
 * @count: number of parties in @tree
 */
struct rca_turns {
	struct rb_root tree;
	struct list_head order;
	unsigned int count;
};

static inline void rca_turns_init(struct rca_turns *turns)
{
	turns->tree = RB_ROOT;
	INIT_LIST_HEAD(&turns->order);
}

/**
 * struct rca_gate - limits the messages of a port to an address, or of a port to all addresses
 * @lock: protects the members below, and &rca_ticket of the messages
 * @is_port: the limit is that of ib_mad for the port (immutable)
 * @answers: the peer has answered in this epoch or the last one (read without the lock)
 * @epoch: number of the current epoch; a port has only one
 * @taken: places that messages of the current epoch have
 * @waiting: tickets that wait
 * @begun: time of the first message of the epoch, in jiffies
 * @answered: time of the last answer (read without the lock)
 * @users: the users whose tickets wait, or have a place of the port
 */
struct rca_gate {
	spinlock_t lock;
	bool is_port;
	bool answers;
	u32 epoch;
	unsigned int taken;
	unsigned int waiting;
	unsigned long begun;
	unsigned long answered;
	struct rca_turns users;
};

/* Initialise a gate that is filled with zeros. */
static inline void rca_gate_init(struct rca_gate *gate, bool is_port)
{
	spin_lock_init(&gate->lock);
	gate->is_port = is_port;
	gate->answered = jiffies - 1;	/* before any message */
	rca_turns_init(&gate->users);
}

/**
 * struct rca_device_places - the places that ib_mad has for each port of a device
 * @rcu: frees the struct after callbacks that run late
 * @ports: for each port, from 1: @cm: for CM requests, @sa: for queries of the subnet administrator
 */
struct rca_device_places {
	struct rcu_head rcu;
	struct {
		struct rca_gate cm;
		struct rca_gate sa;
	} ports[];
};

/**
 * rca_places_create() - make the places of the ports of a device
 * @ports: the highest number of a port
 *
 * Context: Process context. Sleeps.
 * Return: to be freed by kfree_rcu(); NULL without memory: then the ports have no limit.
 */
static inline struct rca_device_places *rca_places_create(unsigned int ports)
{
	struct rca_device_places *places;
	unsigned int i;

	places = kzalloc(struct_size(places, ports, ports + 1), GFP_KERNEL);
	if (!places)
		return NULL;
	for (i = 0; i <= ports; i++) {
		rca_gate_init(&places->ports[i].cm, true);
		rca_gate_init(&places->ports[i].sa, true);
	}
	return places;
}

/* Checks of QP numbers and queue keys that a caller passes. */

int rca_qp_owner_check(struct ib_device *ibdev, u32 qp_num);
struct ib_qp *rca_qp_owner_hold_iw(struct ib_device *ibdev, u32 qp_num);
void rca_qp_owner_release_iw(struct ib_device *ibdev, struct ib_qp *qp);
int rca_qp_owner_check_qkey(const struct ib_device *ibdev, u32 qkey);

/* The transport over ib_cm: InfiniBand and RoCE. */

extern const struct rca_tp_ops rca_tp_ib;

/* The transport over iw_cm: iWARP, whose connections are TCP connections. */

extern const struct rca_tp_ops rca_tp_iw;

/* Lower cm_ids over iw_cm: lifetime, and connects, which may block. */

/**
 * struct iw_lower - a lower cm_id
 * @ref: references: of the owner, of a connect under way, of the finish() of a connect
 * @dev: the device (immutable; referenced)
 * @cm_id: the cm_id of iw_cm (immutable; owned)
 * @lock: a leaf
 * @owner: argument of the callbacks; NULL: none yet, or destroyed (lock: @lock)
 * @callbacks: callbacks of @owner that are running (lock: @lock)
 * @pending: iw_cm waits for the peer, and iw_destroy_cm_id() would wait, too
 * @attempt: the connect; NULL: there was none (set once; owned)
 * @destroy_work: destroys @cm_id in the background
 */
struct iw_lower {
	refcount_t ref;
	struct ib_device *dev;
	struct iw_cm_id *cm_id;
	spinlock_t lock;
	void *owner;
	unsigned int callbacks;
	bool pending;
	struct iw_attempt *attempt;
	struct work_struct destroy_work;
};

int rca_iw_connect_init(void);
void rca_iw_connect_exit(void);

/* The transport over trunks, which is a module of its own: rdma_cm_alt_trunk. */

/** RCA_RTU_DATA_MAX - most private data of an RTU, by which the module says hello to its peer */
#define RCA_RTU_DATA_MAX	64

/**
 * struct rca_peer_key - a pair of ports between which a trunk may be; padding is zero
 * @sgid: local GID
 * @dgid: GID of the peer
 * @device: &rca_device.serial, which is never reused
 * @port_num: port of the device
 * @gid_index: index of @sgid in the table of the port, as RoCE versions and network namespaces may
 *             have the same GID
 * @pkey: partition, without the membership bit
 * @pad: zero
 */
struct rca_peer_key {
	union ib_gid sgid;
	union ib_gid dgid;
	u32 device;
	u32 port_num;
	u16 gid_index;
	u16 pkey;
	u8 pad[4];
};

/**
 * struct rca_trunk_peer - a peer of the module, for tools
 * @key: the peer
 * @told: number of hellos that were sent to it
 * @failures: how often in a row a trunk to it could not be opened
 * @retry_ms: time until it may be tried again, in milliseconds
 * @bad_frames: number of frames on trunks to it that were not its own, or malformed
 * @heard: a hello was received from it; only then the members up to @ca_guid are valid
 * @heard_s: seconds since the last one
 * @version: newest version of the protocol that it speaks
 * @common: version that both hosts use, or 0
 * @features: features that it has
 * @boot_id: identifies this load of its module
 * @ca_guid: node GUID of its device
 * @state: of the trunk to it; NULL: there is none, and the members below are not valid
 * @sent: number of frames sent
 * @received: number of frames received
 */
struct rca_trunk_peer {
	struct rca_peer_key key;
	u32 told;
	u32 failures;
	u32 retry_ms;
	u32 bad_frames;
	bool heard;
	u32 heard_s;
	u32 version;
	u32 common;
	u32 features;
	u8 boot_id[16];
	__be64 ca_guid;
	const char *state;
	u32 sent;
	u32 received;
};

/**
 * struct rca_trunk_ops - the functions that the engine calls in the module of trunks
 * @tp: its transport, whose create() is not used
 * @create: create a lower cm_id for @owner over the trunk to a peer; NULL: there is no open one, or
 *          no memory. Sleeps
 * @tell: make the private data of an RTU to a peer, RCA_RTU_DATA_MAX bytes at most: their length;
 *        0: there is nothing to tell. Sleeps. The caller has a reference of @dev
 * @heard: private data of an RTU were received: are they of this module? Must not sleep
 * @requested: a request of a peer was delivered. Must not sleep; @dev is not removed meanwhile
 * @device_removed: no id uses the device any more: put all references to it, now or soon. Sleeps
 * @port_changed: the state (@state), the GIDs or the partitions of a port have changed, or the
 *                device has failed (@port is 0). Not after @device_removed was called
 * @peers_walk: start a walk over the peers; rhashtable_walk_exit() ends it. The caller has a
 *              reference of the module until then
 * @peers_next: the next peer of a walk; false at the end
 *
 * All are called in process context, and none after rca_trunks_unregister() has returned.
 */
struct rca_trunk_ops {
	const struct rca_tp_ops *tp;
	void *(*create)(const struct rca_peer_key *key, void *owner);
	u8 (*tell)(struct rca_device *dev, const struct rca_peer_key *key, u8 *data);
	bool (*heard)(const struct rca_peer_key *key, const void *data, size_t len);
	void (*requested)(struct rca_device *dev, const struct rca_tp_request *req,
			  const struct ib_gid_attr *sgid_attr);
	void (*device_removed)(struct rca_device *dev);
	void (*port_changed)(struct rca_device *dev, u32 port, bool state);
	void (*peers_walk)(struct rhashtable_iter *iter);
	bool (*peers_next)(struct rhashtable_iter *iter, struct rca_trunk_peer *peer);
};

extern const struct rca_trunk_ops __rcu *rca_trunk_ops;

/* Is the module of trunks loaded? Any context. */
static inline bool rca_trunks_used(void)
{
	return rcu_access_pointer(rca_trunk_ops);
}

void rca_peer_key(struct rca_peer_key *key, u32 device, u32 port_num,
		  const struct ib_gid_attr *sgid_attr, const void *dgid, u16 pkey);
const struct rca_tp_upcalls *rca_trunks_upcalls(void);
void rca_trunks_register(const struct rca_trunk_ops *ops);
void rca_trunks_unregister(void);
const struct rca_trunk_ops *rca_trunks_get(void);
void rca_trunks_put(const struct rca_trunk_ops *ops);
void *rca_trunks_create(const struct rca_peer_key *key, void *owner, const struct rca_tp_ops **tp);
u8 rca_trunks_tell(struct rca_device *dev, const struct rca_peer_key *key, u8 *data);
bool rca_trunks_heard(const struct rca_peer_key *key, const void *data, size_t len);
void rca_trunks_requested(struct rca_device *dev, const struct rca_tp_request *req,
			  const struct ib_gid_attr *sgid_attr);
void rca_trunks_device_removed(struct rca_device *dev);
void rca_trunks_port_changed(struct rca_device *dev, u32 port, bool state);

#endif
