/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* The link of a trunk: its QP, with buffers, and its ib_cm connection. */
#ifndef RCA_TRUNK_LINK_H
#define RCA_TRUNK_LINK_H

#include <linux/kernel.h>
#include <linux/mm.h>
#include <linux/percpu.h>
#include <linux/refcount.h>
#include <linux/spinlock.h>
#include <linux/types.h>
#include <linux/workqueue.h>
#include <rdma/ib_cm.h>
#include <rdma/ib_sa.h>
#include <rdma/ib_verbs.h>

#include "trunk/proto.h"
#include "trunk/session.h"

struct rca_trunk;
struct rca_trunk_link;

/** RCA_LINK_SENDS - most SENDs under way; what comes meanwhile goes together with the next one */
#define RCA_LINK_SENDS		4

/** RCA_LINK_RNR_TIMER - RNR NAK timer of the QP (IBTA volume 1, 9.7.5.2.8): 0.12 ms */
#define RCA_LINK_RNR_TIMER	7

/** RCA_LINK_TIMEOUT - local ACK timeout of the QP, and twice the lifetime of its path: 67 ms */
#define RCA_LINK_TIMEOUT	14

/** RCA_LINK_ACK_SIZE - size of the buffer of an acknowledgement */
#define RCA_LINK_ACK_SIZE	64

/* Pages of the buffers for receives and acknowledgements, in this order. */
#define RCA_LINK_RECEIVE_PAGES	DIV_ROUND_UP(RCA_SESSION_RECEIVES * RCA_FRAME_MAX, PAGE_SIZE)
#define RCA_LINK_PAGES		(RCA_LINK_RECEIVE_PAGES + 1)

/**
 * struct rca_link_buf - a buffer for a frame
 * @cqe: completion of the SEND or receive with it
 * @link: the link that it belongs to
 * @data: RCA_FRAME_MAX bytes
 * @dma: their address for the device
 */
struct rca_link_buf {
	struct ib_cqe cqe;
	struct rca_trunk_link *link;
	u8 *data;
	u64 dma;
};

/* What has happened to a link: bits of &rca_trunk_link.news, for the work of its trunk. */
enum {
	RCA_LINK_START,	/* it was made */
	RCA_LINK_REP,	/* active side: the peer has replied */
	RCA_LINK_RTU,	/* passive side: the peer is ready */
	RCA_LINK_UP,	/* the peer has sent a frame */
	RCA_LINK_END,	/* it has to end */
	RCA_LINK_LOST,	/* it has to end, and its session */
};

/**
 * struct rca_trunk_link - a link
 * @ref: references: until it has ended, running callbacks of ib_cm
 * @trunk: its trunk (immutable; holds a reference)
 * @active: this host has asked for it (immutable)
 * @peer: what the peer has told (active side: the token from its hello; complete after its REP)
 * @peer_qpn: number of its QP; 0 until it has told (set as @peer)
 * @cookie: cookie of this host (immutable)
 * @psn: starting packet sequence number of the receive queue (immutable)
 * @path: path to the peer, as the receiver of a request sees it (immutable)
 * @cm_id: its cm_id; passive side: since the REQ (immutable once set, until it is destroyed; owned)
 * @lost: the session that has ended with the link; 0: none
 * @pd: protection domain
 * @send_cq: completion queue of SENDs
 * @receive_cq: completion queue of receives
 * @poll: work that handles completions and sends what waits, until @cq_ends
 * @overdue: work that looks whether a SEND may be lost, until @cq_ends
 * @cq_lock: protects @cq_ends; any context
 * @armed: @send_cq will call back at the next completion (without a lock)
 * @cq_ends: @poll must not be queued by the queues any more (lock: @cq_lock)
 * @qp: the QP, or NULL
 * @initialised: @qp is in INIT or in a later state
 * @ready: frames may be sent (lock: rca_trunk.lock)
 * @closed: nothing may be posted any more (lock: rca_trunk.lock)
 * @pages: memory of the buffers for receives and acknowledgements
 * @dma: address of each page for the device
 * @frames_dma: address of the frames of the trunk for the device
 * @frames_mapped: @frames_dma is valid
 * @receives: receive buffers
 * @sends: the frames of the trunk, by number
 * @acks: buffers for acknowledgements
 * @under_way: SENDs whose completion was not seen yet (lock: rca_trunk.lock)
 * @yield_at: when other tasks may be let run next, in jiffies; only @poll uses it
 * @shared: the last frame had several records (lock: rca_trunk.lock)
 * @posted: number of SENDs so far (lock: rca_trunk.lock)
 * @due: how many of them have to be complete when @overdue runs (lock: rca_trunk.lock)
 * @acks_under_way: bits of @acks that are in use (lock: rca_trunk.lock)
 * @used_at: time of the last frame, in jiffies (lock: rca_trunk.lock; also read without)
 * @news: what the work of @trunk has to handle
 * @end: work that destroys @qp and the rest, when @trunk has no use for the link any more; @cm_id
 *       when the port is up
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
	bool frames_mapped;
	struct page *pages[RCA_LINK_PAGES];
	u64 dma[RCA_LINK_PAGES];
	u64 frames_dma;
	struct rca_link_buf receives[RCA_SESSION_RECEIVES];
	struct rca_link_buf sends[RCA_SESSION_FRAMES];
	struct rca_link_buf acks[RCA_LINK_SENDS];
	unsigned int under_way;
	unsigned long yield_at;
	bool shared;
	u32 posted;
	u32 due;
	unsigned long acks_under_way;
	unsigned long used_at;
	unsigned long news;
	struct delayed_work end;
	struct rcu_head rcu;
};

/* Asks for the callback of a completion queue. Returns whether there may be completions already. */
static inline bool rca_link_notify(struct ib_cq *cq)
{
	return ib_req_notify_cq(cq, IB_CQ_NEXT_COMP | IB_CQ_REPORT_MISSED_EVENTS) > 0;
}

/* How often something was to be sent over a trunk. */
DECLARE_PER_CPU(unsigned int, rca_trunk_pushes);

/**
 * typedef rca_link_idle_t - for how long was the link of a trunk idle?
 * @trunk: the trunk
 *
 * Returns that time in jiffies; 0: the link must not end for another one, or ends already. Called
 * with the lock of the trunk held.
 */
typedef unsigned long (*rca_link_idle_t)(const struct rca_trunk *trunk);

/* link.c */
int rca_links_init(void);
void rca_links_exit(void);
void rca_link_run(struct rca_trunk_link *link);
bool rca_link_arm_sends(struct rca_trunk_link *link);
void rca_link_run_overdue(struct rca_trunk_link *link);
void rca_link_run_end(struct rca_trunk_link *link, unsigned long delay);
struct rca_trunk_link *rca_link_make(struct rca_trunk *trunk, bool active);
struct rca_trunk_link *rca_link_get_live(struct rca_trunk_link *link);
void rca_link_put(struct rca_trunk_link *link);
void rca_link_tell(struct rca_trunk_link *link, unsigned int news);
bool rca_link_is_ending(const struct rca_trunk_link *link);
enum rca_place rca_link_take_place(struct rca_trunk *trunk, rca_link_idle_t idle);
void rca_link_leave_place(struct rca_trunk *trunk);

/* link_cm.c */
int rca_link_handler(struct ib_cm_id *cm_id, const struct ib_cm_event *event);
int rca_link_step(struct rca_trunk_link *link);
bool rca_link_end(struct rca_trunk_link *link, bool lost);

/* link_poll.c */
int rca_link_create_cqs(struct rca_trunk_link *link, unsigned int sends, unsigned int receives);
void rca_link_stop_cqs(struct rca_trunk_link *link);
void rca_link_destroy_cqs(struct rca_trunk_link *link);

/* link_frames.c */
void rca_link_reap_sends(struct rca_trunk_link *link);
bool rca_link_needs_completion(const struct rca_trunk_link *link);
void rca_link_push(struct rca_trunk_link *link);
void rca_trunk_push(struct rca_trunk *trunk);
void rca_trunk_probe(struct rca_trunk *trunk);
int rca_link_post_receive(struct rca_trunk_link *link, struct rca_link_buf *buf);
void rca_link_send_done(struct ib_cq *cq, struct ib_wc *wc);
void rca_link_receive_done(struct ib_cq *cq, struct ib_wc *wc);

/* link_qp.c */
int rca_link_create_qp(struct rca_trunk_link *link);
int rca_link_connect_qp(struct rca_trunk_link *link);
void rca_link_drain_qp(struct rca_trunk_link *link);
void rca_link_destroy_qp(struct rca_trunk_link *link);

#endif /* RCA_TRUNK_LINK_H */
