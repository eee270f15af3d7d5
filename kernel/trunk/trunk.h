/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* Trunks: declarations that the files of this module share. */
#ifndef RCA_TRUNK_TRUNK_H
#define RCA_TRUNK_TRUNK_H

#include <linux/jiffies.h>
#include <linux/kernel.h>
#include <linux/list.h>
#include <linux/mm.h>
#include <linux/rcupdate.h>
#include <linux/refcount.h>
#include <linux/rhashtable.h>
#include <linux/spinlock.h>
#include <linux/timerqueue.h>
#include <linux/types.h>
#include <linux/workqueue.h>
#include <linux/xarray.h>
#include <rdma/ib_cm.h>
#include <rdma/ib_sa.h>
#include <rdma/ib_verbs.h>

#include "transport/transport.h"
#include "trunk/credits.h"
#include "trunk/proto.h"

struct ib_gid_attr;
struct rca_trunk;
struct rca_trunk_link;

extern bool rca_trunks;

/* May trunks be opened? Yes from the end of module init to module exit. Any context. */
static inline bool rca_trunks_enabled(void)
{
	return READ_ONCE(rca_trunks);
}

/* Peers that run this module, and their hellos. */

void rca_peers_boot_id(u8 *boot_id);
void rca_peers_fill_hello(const struct rca_peer_key *key, const struct rca_device *dev,
			  struct rca_hello *hello);
u8 rca_peers_tell(const struct rca_peer_key *key, const struct rca_device *dev, u8 *data);
bool rca_peers_hear(const struct rca_peer_key *key, const void *data, size_t len);
bool rca_peers_accept(const struct rca_peer_key *key, const struct rca_trunk_open *open);
bool rca_peers_may_open(const struct rca_peer_key *key, struct rca_hello *hello);
void rca_peers_opened(const struct rca_peer_key *key);
void rca_peers_failed(const struct rca_peer_key *key);
void rca_peers_refused(const struct rca_peer_key *key, const struct rca_hello *hello);
u64 rca_peers_bad_frame(const struct rca_peer_key *key);
void rca_peers_forget(u32 device);
void rca_peers_renew(void);
void rca_peers_walk(struct rhashtable_iter *iter);
bool rca_peers_next(struct rhashtable_iter *iter, struct rca_trunk_peer *info);
int rca_peers_init(void);
void rca_peers_exit(void);

/* The service ID of each device, to which peers send requests for trunks. */

__be64 rca_service_id(const struct rca_device *dev);
void rca_service_listen(struct rca_device *dev, ib_cm_handler handler);
void rca_service_unlisten(struct rca_device *dev);
void rca_service_exit(void);

/* The table of trunks. */

/**
 * struct rca_trunk_key - identity of a trunk; padding is zero
 * @peer: the peer
 * @passive: of a trunk from a port to itself: its passive end
 * @pad: zero
 */
struct rca_trunk_key {
	struct rca_peer_key peer;
	u8 passive;
	u8 pad[7];
};

/* A trunk needs a place to have a link, and there are trunk_max places, see keepalive.c. */
enum rca_place {
	RCA_PLACE_NONE,
	RCA_PLACE_WAITS,	/* until the end of an idle link */
	RCA_PLACE_TAKEN,
};

/**
 * struct rca_trunk - a trunk: the connections with a peer, and its link, if there is one
 * @node: entry in the table of trunks (lock: trunks_lock)
 * @ref: references: the table, each link, each queued run of @work
 * @key: its identity (immutable)
 * @dev: its device (immutable; holds a reference)
 * @sgid_attr: local GID (immutable; holds a reference)
 * @lock: protects the members below, and marked members of @link
 * @link: the link that is being opened, used or ended, until its QP is drained; only @work
 *        changes it
 * @next: link for a request of the peer, which is answered when @link has ended
 * @place: entry in the list of trunks with a place, or of trunks that wait for one (lock:
 *         places_lock)
 * @has_place: its list (lock: places_lock); only @work changes it from and to none
 * @up: the peer has sent a frame on @link: connections may be requested
 * @gone: it was removed from the table, and gets no link
 * @closing: its device is being removed, or the module is being unloaded
 * @port_changed: its port has to be checked
 * @state_changed: likewise, and the peer has to be pinged if the port is up
 * @unusable: its GID or its partition does not exist any more, or the peer of a @former session has
 *            told this machine no hello yet
 * @port_down: its port was down at the last check by @work, which then polls it each second
 * @peer_ended: the peer has announced the end of the session: its connections are disconnected
 * @wanted: a link has to be opened
 * @unclear: another one, as the last one has failed: the ends may not agree on their connections
 * @end_lost: the last one may have lost the end of a connection: @unclear counts without users, too
 * @end_lost_at: time of that, in jiffies
 * @former: the session is of before this machine was copied: it ends when another link begins
 * @no_drep: the peer of the session waits for no DREP (also read without @lock)
 * @odd: this end chooses odd connection numbers
 * @handling: completions of @link are being handled; records are sent at the end of that
 * @users: connections of the trunk
 * @next_number: number of the next connection that is requested
 * @conns: connections of the session that have an owner, by number
 * @answers: number of connections without an owner, whose last record is unsent
 * @waiting: connections with unsent records
 * @timers: running timers of connections, by their end
 * @timer: work that handles expired @timers; holds a reference while it is queued
 * @timer_at: when it runs, in jiffies since boot; 0: it is not queued
 * @tries: attempts to open a link again since the last one was up
 * @tried_at: time of the last one of them, in jiffies
 * @barred_until: no link is opened before, because of bad frames; in jiffies since boot
 * @heard_at: time of the last frame of the peer, or of the start of its keepalive, in jiffies
 * @probed_at: time of the last PING of the keepalive, in jiffies
 * @probes: number of these PINGs since the last frame of the peer; those that were not sent because
 *          the port was down count, too
 * @why: why the link or the session ends, if known (a constant; without a lock)
 * @session: number of the session: the time in which both ends have the same loads of their
 *           modules; 0: none. Only @work changes it
 * @boot_id: boot identifier of the peer of the session
 * @ca_guid: node GUID of its device
 * @last: cookie of the peer on the last link that was connected, or 0
 * @hello: hello of the peer, with which the trunk was opened
 * @heard: a later one of another load of its module, or of another host
 * @has_heard: there is one
 * @path: path to the peer of which those of connections are made, as the receiver of a request
 *        sees it; changes only while a link begins
 * @sent: number of frames with records that were sent
 * @received: number of frames with records that were received
 * @work: opens and ends links, and ends the session; no other code does
 * @rcu: frees it after lookups
 */
struct rca_trunk {
	struct rhash_head node;
	refcount_t ref;
	struct rca_trunk_key key;
	struct rca_device *dev;
	const struct ib_gid_attr *sgid_attr;
	spinlock_t lock;
	struct rca_trunk_link *link;
	struct rca_trunk_link *next;
	struct list_head place;
	enum rca_place has_place;
	bool up;
	bool gone;
	bool closing;
	bool port_changed;
	bool state_changed;
	bool unusable;
	bool port_down;
	bool peer_ended;
	bool wanted;
	bool unclear;
	bool end_lost;
	bool former;
	bool no_drep;
	bool odd;
	bool handling;
	unsigned int users;
	u32 next_number;
	struct xarray conns;
	unsigned int answers;
	struct list_head waiting;
	struct timerqueue_head timers;
	struct delayed_work timer;
	u64 timer_at;
	unsigned int tries;
	unsigned long tried_at;
	unsigned long end_lost_at;
	u64 barred_until;
	unsigned long heard_at;
	unsigned long probed_at;
	unsigned int probes;
	const char *why;
	u32 session;
	u8 boot_id[RCA_BOOT_ID_LEN];
	__be64 ca_guid;
	u64 last;
	struct rca_hello hello;
	struct rca_hello heard;
	bool has_heard;
	struct sa_path_rec path;
	u32 sent;
	u32 received;
	struct delayed_work work;
	struct rcu_head rcu;
};

/* trunk.c */
int rca_trunk_table_init(work_func_t work, work_func_t timer);
void rca_trunk_table_wait(void);
void rca_trunk_table_exit(void);
struct rca_trunk *rca_trunk_make(struct rca_device *dev, const struct rca_trunk_key *key,
				 const struct ib_gid_attr *sgid_attr);
struct rca_trunk *rca_trunk_find(const struct rca_trunk_key *key);
struct rca_trunk *rca_trunk_find_open(const struct rca_peer_key *key);
void rca_trunk_put(struct rca_trunk *trunk);
void rca_trunk_run(struct rca_trunk *trunk);
void rca_trunk_run_later(struct rca_trunk *trunk, unsigned long delay);
bool rca_trunk_queue(struct delayed_work *work, unsigned long delay);
void rca_open_again(struct rca_trunk *trunk);
void rca_trunk_unuse(struct rca_trunk *trunk);
bool rca_trunk_has_to_tell(const struct rca_trunk *trunk);
bool rca_trunk_drop(struct rca_trunk *trunk);
bool rca_trunk_is_barred(const struct rca_trunk *trunk);
void rca_trunks_of_port(const struct rca_device *dev, u32 port,
			void (*fn)(struct rca_trunk *trunk));
void rca_trunk_look(struct rca_trunk *trunk);
void rca_trunks_for_parameter(void (*fn)(struct rca_trunk *trunk));
void rca_trunk_describe(struct rca_trunk_peer *peer);

bool rca_trunk_peer_wins(const struct rca_peer_key *key, const struct rca_hello *hello);
bool rca_trunk_is_own(const struct rca_peer_key *key, const struct rca_hello *hello);
bool rca_trunk_has_to_send(const struct rca_trunk *trunk);

/* trunk.c: diagnostics */
void rca_trunk_trace_frame(const struct rca_trunk_link *link, bool sent, const void *data, u32 len);
void rca_trunk_count_one(const struct rca_trunk *trunk, enum rca_trunk_stat stat);
void rca_trunk_because(struct rca_trunk *trunk, const char *why);
void rca_trunk_opening(struct rca_trunk *trunk);
void rca_trunk_opened(struct rca_trunk *trunk);
void rca_trunk_closed(struct rca_trunk *trunk, bool failed, bool lost);
void rca_trunk_lost(struct rca_trunk *trunk, u32 session, bool had_users);

/* Connections over trunks. */

/** RCA_CONN_HELD_MS - delay after which a peer may repeat a request that found no room */
#define RCA_CONN_HELD_MS	20

/**
 * enum rca_conn_state - states of a connection over a trunk
 * @RCA_CONN_NEW: active side: nothing was sent
 * @RCA_CONN_REQ_SENT: active side: waits for the reply
 * @RCA_CONN_REP_RCVD: active side: waits for send_rtu()
 * @RCA_CONN_REQ_RCVD: passive side: waits for reply()
 * @RCA_CONN_REP_SENT: passive side: waits for the ready-to-use
 * @RCA_CONN_UP: established
 * @RCA_CONN_DREQ_SENT: the disconnect request waits for a frame, or the owner to be told of that
 * @RCA_CONN_TIMEWAIT: disconnected
 * @RCA_CONN_CLOSED: rejected, lost, or its timewait is over
 */
enum rca_conn_state {
	RCA_CONN_NEW,
	RCA_CONN_REQ_SENT,
	RCA_CONN_REP_RCVD,
	RCA_CONN_REQ_RCVD,
	RCA_CONN_REP_SENT,
	RCA_CONN_UP,
	RCA_CONN_DREQ_SENT,
	RCA_CONN_TIMEWAIT,
	RCA_CONN_CLOSED,
};

/**
 * struct rca_trunk_conn - a connection over a trunk: a lower cm_id
 * @trunk: its trunk (immutable; holds a reference, and counts as a user)
 * @owner: argument of its callbacks (set by its owner before it uses @trunk)
 * @session: number of the session in which it was made; 0: that was lost before it was requested
 * @number: number in the records, odd or even as &rca_trunk.odd says (immutable)
 * @ref: references: the owner, the list of @waiting (lock: rca_trunk.lock)
 * @callbacks: number of callbacks that are running; the owner waits for them when it destroys the
 *             connection, unless it is its own request that is being handled (lock: rca_trunk.lock)
 * @state: enum rca_conn_state (lock: rca_trunk.lock)
 * @qp_type: IB_QPT_RC or IB_QPT_UC (immutable once a request was sent or received)
 * @is_answer: it has no owner, and is counted in &rca_trunk.answers (lock: rca_trunk.lock)
 * @held: active side: the peer has asked for another REQ later (lock: rca_trunk.lock)
 * @told: the DREQ that has waited for a frame is in one (lock: rca_trunk.lock)
 * @to_send: bit n: the record of type n waits to be put into a frame (lock: rca_trunk.lock)
 * @waiting: entry in &rca_trunk.waiting while @to_send is not 0 (lock: rca_trunk.lock)
 * @rcu: frees the connection after readers of its numbers; shares memory with @waiting, because
 *       nothing waits to be sent then
 * @timer: entry in &rca_trunk.timers, or empty (lock: rca_trunk.lock)
 * @service_id: of the request
 * @qp: of the REQ or REP of this host: the local QP (lock: rca_trunk.lock)
 * @path: REQ that is sent: the path (lock: rca_trunk.lock)
 * @reason: REJ that is sent: its reason (lock: rca_trunk.lock)
 * @data: private data of the REQ or REP until it is answered, or of a REJ; or NULL (lock:
 *        rca_trunk.lock; owned)
 * @data_len: its length (lock: rca_trunk.lock)
 * @peer_qpn: number of the QP of the peer, or 0 (lock: rca_trunk.lock)
 * @sq_psn: starting PSN of the send queue (lock: rca_trunk.lock)
 * @responder_resources: of the local QP (lock: rca_trunk.lock)
 * @initiator_depth: of the local QP (lock: rca_trunk.lock)
 * @retry_count: transport retries (lock: rca_trunk.lock)
 * @rnr_retry_count: receiver-not-ready retries (lock: rca_trunk.lock)
 * @ack_timeout: local ACK timeout (lock: rca_trunk.lock)
 * @mtu: enum ib_mtu of the path (immutable once a request was sent or received)
 * @pkey_index: index of the partition (likewise)
 * @ah: address handle attributes of the peer (likewise; owned)
 */
struct rca_trunk_conn {
	struct rca_trunk *trunk;
	void *owner;
	u32 session;
	u32 number;
	unsigned int ref;
	unsigned int callbacks;
	u8 state;
	u8 qp_type;
	bool is_answer;
	bool held;
	bool told;
	u16 to_send;
	union {
		struct list_head waiting;
		struct rcu_head rcu;
	};
	struct timerqueue_node timer;
	__be64 service_id;
	struct rca_record_qp qp;
	struct rca_record_path path;
	u16 reason;
	u16 data_len;
	void *data;
	u32 peer_qpn;
	u32 sq_psn;
	u8 responder_resources;
	u8 initiator_depth;
	u8 retry_count;
	u8 rnr_retry_count;
	u8 ack_timeout;
	u8 mtu;
	u16 pkey_index;
	struct rdma_ah_attr ah;
};

/* conn.c */
struct rca_trunk_conn *rca_conn_create(const struct rca_peer_key *key, void *owner);
struct rca_trunk_conn *rca_conn_alloc(struct rca_trunk *trunk, u32 number, gfp_t gfp);
int rca_conn_add(struct rca_trunk_conn *conn, gfp_t gfp);
void rca_conn_put_locked(struct rca_trunk_conn *conn);
struct rca_trunk_conn *rca_conn_get(struct rca_trunk *trunk, u32 number);
void rca_conn_callback_done(struct rca_trunk_conn *conn);
bool rca_conn_has_session(const struct rca_trunk_conn *conn);
void rca_conn_forget(struct rca_trunk_conn *conn);
void rca_conn_withdraw(struct rca_trunk_conn *conn);
void rca_conn_abandon(struct rca_trunk_conn *conn);
void rca_conn_remove(struct rca_trunk_conn *conn);
void rca_conn_wake_at(struct rca_trunk *trunk, u64 when);
void rca_conn_set_timer(struct rca_trunk_conn *conn, u32 ms);
void rca_conn_stop_timer(struct rca_trunk_conn *conn);
void rca_conn_answered(struct rca_trunk_conn *conn);
void rca_conn_enter_timewait(struct rca_trunk_conn *conn);

int rca_conn_set_path(struct rca_trunk_conn *conn, struct sa_path_rec *path,
		      const struct ib_gid_attr *sgid_attr);
void rca_conn_tell_path(struct rca_trunk_conn *conn, const struct sa_path_rec *path);
void rca_conn_read_path(const struct rca_trunk *trunk, const struct rca_record_path *from,
			struct sa_path_rec *path);
u8 rca_conn_ack_timeout(u8 delay, u8 lifetime);
int rca_conn_qp_attr(void *lower, struct ib_qp_attr *attr, int *mask);

/* frames.c: sending */
void rca_conn_send(struct rca_trunk_conn *conn, enum rca_record_type type);
bool rca_conn_send_dreq(struct rca_trunk_conn *conn);
void rca_conn_give_up(struct rca_trunk_conn *conn);

/* conn_receive.c */
const struct rca_tp_upcalls *rca_conn_init(const struct rca_tp_upcalls *upcalls);
void rca_link_receive_done(struct ib_cq *cq, struct ib_wc *wc);
void rca_conn_timer_work(struct work_struct *work);
void rca_conn_not_linked(struct rca_trunk *trunk);
void rca_conn_say_again(struct rca_trunk *trunk);
void rca_trunk_join_session(struct rca_trunk *trunk, struct rca_trunk_link *link);
void rca_trunk_lose_session(struct rca_trunk *trunk);

/* The link of a trunk: its QP, with buffers, and its ib_cm connection. */

/** RCA_LINK_SENDS - most SENDs under way; records sent meanwhile share the next one */
#define RCA_LINK_SENDS		4
/** RCA_LINK_FRAMES - buffers for frames to send: a power of two, more than may be under way */
#define RCA_LINK_FRAMES		8

/** RCA_LINK_OVERDUE - time in jiffies after which a SEND may be lost: 4 ms at least */
#define RCA_LINK_OVERDUE	(msecs_to_jiffies(4) + 1)

/** RCA_LINK_RNR_TIMER - RNR NAK timer of the QP (IBTA volume 1, 9.7.5.2.8): 0.12 ms */
#define RCA_LINK_RNR_TIMER	7

/** RCA_LINK_TIMEOUT - local ACK timeout of the QP, and twice the lifetime of its path: 67 ms */
#define RCA_LINK_TIMEOUT	14

/* Pages of the buffers for receives and frames to send, in this order. */
#define RCA_LINK_BUFFERS	(RCA_LINK_RECEIVES + RCA_LINK_FRAMES)
#define RCA_LINK_PAGES		DIV_ROUND_UP(RCA_LINK_BUFFERS * RCA_FRAME_MAX, PAGE_SIZE)

/**
 * struct rca_link_buf - a buffer for a frame
 * @cqe: completion of the SEND or receive with it
 * @link: the link that it belongs to
 * @data: RCA_FRAME_MAX bytes
 * @dma: their address for the device
 * @says: of a SEND: a record is of a connection (lock: rca_trunk.lock)
 */
struct rca_link_buf {
	struct ib_cqe cqe;
	struct rca_trunk_link *link;
	u8 *data;
	u64 dma;
	bool says;
};

/* Events of a link for the work of its trunk: bits of &rca_trunk_link.news. */
enum {
	RCA_LINK_START,	/* the link was made */
	RCA_LINK_PATH,	/* its path is known */
	RCA_LINK_REP,	/* active side: the peer has replied */
	RCA_LINK_RTU,	/* passive side: the peer is ready */
	RCA_LINK_UP,	/* the peer has sent a frame */
	RCA_LINK_END,	/* the link has to end */
	RCA_LINK_LOST,	/* the link has to end, and its session: the peer has ended that */
};

/**
 * struct rca_trunk_link - a link
 * @ref: references: until it has ended, running callbacks of ib_cm
 * @trunk: its trunk (immutable; holds a reference)
 * @active: this host has requested it (immutable)
 * @peer: private data of the peer (active side: the token from its hello; complete after its REP)
 * @peer_qpn: number of the peer's QP; 0 until known (set as @peer)
 * @cookie: cookie of this host (immutable)
 * @psn: starting packet sequence number of the receive queue (immutable)
 * @path: path to the peer: first that of the request that led to the link, see link_path.c
 *        (lock: rca_trunk.lock; immutable after RCA_LINK_PATH)
 * @cm_id: its cm_id; passive side: since the REQ (immutable once set, until it is destroyed; owned)
 * @lost: the session that has ended with the link; 0: none
 * @idle: one of the ends has ended it because it was idle
 * @unsent: a record of a connection may be lost (lock: rca_trunk.lock)
 * @pd: protection domain
 * @send_cq: completion queue of SENDs
 * @receive_cq: completion queue of receives
 * @poll: work that handles completions and sends records, until @cq_ends
 * @overdue: work that checks whether a SEND may be lost, until @cq_ends
 * @cq_lock: protects @cq_ends; any context
 * @armed: @send_cq will call back at the next completion (without a lock)
 * @cq_ends: @poll must not be queued by the queues any more (lock: @cq_lock)
 * @qp: the QP, or NULL
 * @initialised: @qp is in INIT or in a later state
 * @ready: frames may be sent (lock: rca_trunk.lock)
 * @closed: nothing may be posted any more (lock: rca_trunk.lock)
 * @pages: memory of the buffers
 * @dma: address of each page for the device
 * @receives: receive buffers
 * @frames: buffers for frames to send, of which frame n has number n modulo RCA_LINK_FRAMES
 * @credits: its credits (lock: rca_trunk.lock)
 * @filling: length of the records in the open frame, which is the next one (lock: rca_trunk.lock)
 * @filled: number of these records (lock: rca_trunk.lock)
 * @says: one of them is of a connection (lock: rca_trunk.lock)
 * @under_way: SENDs whose completion was not handled yet (lock: rca_trunk.lock)
 * @pushes: number of times that records were added (lock: rca_trunk.lock; also read without)
 * @shared: the last frame had records of several connections (likewise)
 * @posted: number of SENDs so far (lock: rca_trunk.lock)
 * @due: how many of them have to be complete when @overdue runs (lock: rca_trunk.lock)
 * @watched: @overdue will run for SENDs that are under way (lock: rca_trunk.lock)
 * @owed: the peer has to report receive buffers (lock: rca_trunk.lock)
 * @owed_at: since when, or when it last did, in jiffies (lock: rca_trunk.lock)
 * @used_at: time of the last frame, in jiffies (lock: rca_trunk.lock; also read without)
 * @news: events that the work of @trunk has to handle
 * @end: work that destroys @qp and the rest when @trunk no longer uses the link; @cm_id when the
 *       port is up
 * @rcu: frees it after callbacks that run late
 */
struct rca_trunk_link {
	refcount_t ref;
	struct rca_trunk *trunk;
	bool active;
	struct rca_trunk_open peer;
	u32 peer_qpn;
	u64 cookie;
	u32 psn;
	struct sa_path_rec path;
	struct ib_cm_id *cm_id;
	u32 lost;
	bool idle;
	bool unsent;
	struct ib_pd *pd;
	struct ib_cq *send_cq;
	struct ib_cq *receive_cq;
	struct work_struct poll;
	struct delayed_work overdue;
	bool armed;
	spinlock_t cq_lock;
	bool cq_ends;
	struct ib_qp *qp;
	bool initialised;
	bool ready;
	bool closed;
	struct page *pages[RCA_LINK_PAGES];
	u64 dma[RCA_LINK_PAGES];
	struct rca_link_buf receives[RCA_LINK_RECEIVES];
	struct rca_link_buf frames[RCA_LINK_FRAMES];
	struct rca_credits credits;
	u16 filling;
	u8 filled;
	bool says;
	unsigned int under_way;
	unsigned int pushes;
	bool shared;
	u32 posted;
	u32 due;
	bool watched;
	bool owed;
	unsigned long owed_at;
	unsigned long used_at;
	unsigned long news;
	struct delayed_work end;
	struct rcu_head rcu;
};

static inline struct ib_device *rca_link_ibdev(const struct rca_trunk_link *link)
{
	return link->trunk->dev->ibdev;
}

/* Arm a completion queue. Returns true if there may be completions already. */
static inline bool rca_link_notify(struct ib_cq *cq)
{
	return ib_req_notify_cq(cq, IB_CQ_NEXT_COMP | IB_CQ_REPORT_MISSED_EVENTS) > 0;
}

/* link.c */
int rca_links_init(void);
void rca_links_exit(void);
void rca_link_run(struct rca_trunk_link *link);
bool rca_link_arm_sends(struct rca_trunk_link *link);
void rca_link_run_overdue(struct rca_trunk_link *link, unsigned long delay);
void rca_link_run_end(struct rca_trunk_link *link, unsigned long delay);
struct rca_trunk_link *rca_link_make(struct rca_trunk *trunk, bool active);
struct rca_trunk_link *rca_link_get_live(struct rca_trunk_link *link);
void rca_link_put(struct rca_trunk_link *link);
void rca_link_tell(struct rca_trunk_link *link, unsigned int news);
bool rca_link_is_ending(const struct rca_trunk_link *link);
bool rca_link_is_stuck(const struct rca_trunk_link *link, unsigned long time);

/* link_cm.c */
int rca_link_handler(struct ib_cm_id *cm_id, const struct ib_cm_event *event);
int rca_link_step(struct rca_trunk_link *link);
bool rca_link_end(struct rca_trunk_link *link, bool lost);

/* frames.c */
void rca_link_reap_sends(struct rca_trunk_link *link);
bool rca_link_needs_completion(const struct rca_trunk_link *link);
void rca_link_push(struct rca_trunk_link *link);
int rca_link_add(struct rca_trunk_link *link, const struct rca_trunk_record *record);
void rca_trunk_probe(struct rca_trunk *trunk);
int rca_link_post_receive(struct rca_trunk_link *link, struct rca_link_buf *buf);
void rca_link_send_done(struct ib_cq *cq, struct ib_wc *wc);

/* link_path.c */
void rca_link_paths_init(void);
void rca_link_paths_exit(void);
int rca_link_find_path(struct rca_trunk_link *link);
int rca_link_address(struct rca_trunk_link *link, struct rdma_ah_attr *ah);

/* link_qp.c */
int rca_link_create_qp(struct rca_trunk_link *link);
int rca_link_connect_qp(struct rca_trunk_link *link);
void rca_link_drain_qp(struct rca_trunk_link *link);
void rca_link_destroy_qp(struct rca_trunk_link *link);

/* Opening and ending trunks. */

/** RCA_WATCH_PROBES - PINGs per peer_death_ms */
#define RCA_WATCH_PROBES	4
/** RCA_WATCH_PORT - poll interval of a port that is down, in jiffies */
#define RCA_WATCH_PORT		(1UL * HZ)

/* keepalive.c */
bool rca_watch_is_on(const struct rca_trunk *trunk);
bool rca_watch_needs_link(const struct rca_trunk *trunk);
bool rca_watch_is_idle(struct rca_trunk *trunk);
bool rca_watch_is_silent(const struct rca_trunk *trunk);
bool rca_watch_port_is_up(const struct rca_trunk *trunk);
void rca_watch_port(struct rca_trunk *trunk);
void rca_watch_peer(struct rca_trunk *trunk);
unsigned long rca_watch_next_try(const struct rca_trunk *trunk);
unsigned long rca_watch_delay(struct rca_trunk *trunk);
enum rca_place rca_link_take_place(struct rca_trunk *trunk);
void rca_link_leave_place(struct rca_trunk *trunk);

/* open.c */
void rca_open_work(struct work_struct *work);
void rca_open_end_device(struct rca_device *dev);
void rca_open_end_all(void);
void rca_open_separate_all(void);
void rca_open_requested(struct rca_device *dev, const struct rca_tp_request *req,
			const struct ib_gid_attr *sgid_attr);
void rca_open_port_changed(struct rca_device *dev, u32 port, bool state);
void rca_open_heard(const struct rca_peer_key *key, const void *data, size_t len);
void rca_open_listen(struct rca_device *dev);

/* The transport over trunks. */

extern const struct rca_tp_ops rca_tp_trunk;

#endif
