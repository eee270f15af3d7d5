/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* Trunks: the table of those that there are. */
#ifndef RCA_TRUNK_H
#define RCA_TRUNK_H

#include <linux/list.h>
#include <linux/refcount.h>
#include <linux/rhashtable.h>
#include <linux/spinlock.h>
#include <linux/timerqueue.h>
#include <linux/types.h>
#include <linux/workqueue.h>
#include <linux/xarray.h>
#include <rdma/ib_sa.h>

#include "transport/stats.h"
#include "trunk/peers.h"
#include "trunk/proto.h"
#include "trunk/session.h"

struct rca_device;
struct rca_trunk;
struct rca_trunk_link;

/**
 * struct rca_trunk_upcalls - what a trunk calls: the connections over it
 * @record: a record was received. Process context, no lock. Returns 0, or an errno: the session has
 *          to end
 * @fill: put records that wait into frames by rca_trunk_add(). &rca_trunk.lock is held
 * @timer: work of &rca_trunk.timer, with a reference of the trunk, which it puts
 * @not_linked: a link could not be opened, for which records wait. Process context, no lock
 * @lost: the session is lost, and there is no link: ends its connections, which stop to be users of
 *        the trunk now or later. From the work of the trunk, so no other session begins meanwhile;
 *        once for each session that had a user. Process context, no lock
 */
struct rca_trunk_upcalls {
	int (*record)(struct rca_trunk *trunk, const struct rca_trunk_record *record);
	void (*fill)(struct rca_trunk *trunk);
	work_func_t timer;
	void (*not_linked)(struct rca_trunk *trunk);
	void (*lost)(struct rca_trunk *trunk);
};

/**
 * struct rca_trunk_key - a trunk; padding is zero
 * @peer: the peer
 * @passive: of a trunk from a port to itself: the end that was asked
 * @pad: zero
 */
struct rca_trunk_key {
	struct rca_peer_key peer;
	u8 passive;
	u8 pad[7];
};

/* May a trunk have a link? There are trunk_max places, see link.c. */
enum rca_place {
	RCA_PLACE_NONE,
	RCA_PLACE_WAITS,	/* for the end of a link that was idle */
	RCA_PLACE_TAKEN,
};

/**
 * struct rca_trunk - a trunk: a session, and the link that it has or not
 * @node: entry in the table of trunks (lock: trunks_lock)
 * @ref: references: the table, each link, each queued run of @work
 * @key: which one (immutable)
 * @dev: its device (immutable; holds a reference)
 * @sgid_attr: local GID (immutable; holds a reference)
 * @frames: buffers of the frames of the session, by number (immutable; owned)
 * @lock: protects the members below, and marked ones of @link
 * @link: the link that is being opened, used or ended, until its QP is drained; only @work
 *        changes it
 * @next: link for a request of the peer, which is answered when @link has ended
 * @place: entry in the list of those that have a place, or wait for one (lock: places_lock)
 * @has_place: which of them (lock: places_lock); only @work changes it from and to none
 * @up: the peer has sent a frame on @link: connections may be requested
 * @gone: it is not in the table any more, and gets no link
 * @closing: its device is being removed, or trunks were switched off
 * @port_changed: its port has to be looked at
 * @state_changed: likewise, and if it is up, the peer has to be asked whether it is there
 * @unusable: its GID or its partition does not exist any more
 * @port_down: its port was down when @work looked at it, which does so each second then
 * @peer_ended: the peer has said that it ends the session: its connections are disconnected
 * @wanted: a link has to be opened
 * @odd: this end chooses odd connection numbers: it was the active one when the session was created
 * @handling: completions of @link are being handled; what is sent waits for the end of that
 * @users: connections of the session, and those of a lost one that have not ended yet
 * @next_number: number of the next connection that is requested
 * @conns: connections of the session that have an owner, by number
 * @answers: number of those that only wait to be sent to a peer that knows them no more
 * @waiting: connections that have something to send
 * @timers: connections that wait, by the time when that ends
 * @timer: ends it; holds a reference while it is queued
 * @timer_at: when it runs, in jiffies since boot; 0: it is not queued
 * @tries: attempts to open a link again since the last one was up
 * @down_at: time of the first of them, in jiffies
 * @tried_at: time of the last one, in jiffies
 * @heard_at: time of the last frame of the peer, or since when it is watched, in jiffies
 * @probed_at: when the peer was asked for one, in jiffies
 * @probes: how often it was asked since the last frame, or could not be as the port was down
 * @why: why the link or the session ends, as far as known (a constant; without a lock)
 * @session: numbers of the frames; its number is 0 if there is no session, and only @work changes
 *           that
 * @boot_id: boot identifier of the peer of the session
 * @ca_guid: node GUID of its device
 * @hello: last hello of the peer
 * @path: path to the peer, as the receiver of a request sees it; changes only without a link
 * @filling: length of the frame that is being filled, 0: none
 * @filled: its records
 * @lens: length of each frame that is kept
 * @records: number of records in each
 * @sent: number of the last frame whose SEND has completed
 * @needed: number of the last frame that has another record than a PING
 * @work: opens and ends links, and ends the session; the only place that does
 * @rcu: frees it after lookups
 */
struct rca_trunk {
	struct rhash_head node;
	refcount_t ref;
	struct rca_trunk_key key;
	struct rca_device *dev;
	const struct ib_gid_attr *sgid_attr;
	u8 *frames;
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
	unsigned long down_at;
	unsigned long tried_at;
	unsigned long heard_at;
	unsigned long probed_at;
	unsigned int probes;
	const char *why;
	struct rca_session session;
	u8 boot_id[RCA_BOOT_ID_LEN];
	__be64 ca_guid;
	struct rca_hello hello;
	struct sa_path_rec path;
	u16 filling;
	u8 filled;
	u16 lens[RCA_SESSION_FRAMES];
	u8 records[RCA_SESSION_FRAMES];
	u32 sent;
	u32 needed;
	struct delayed_work work;
	struct rcu_head rcu;
};

/**
 * struct rca_trunk_info - a trunk, for tools
 * @up: it is open
 * @linked: it has a link, open or not yet
 * @sent: number of frames sent
 * @received: number of frames received
 */
struct rca_trunk_info {
	bool up;
	bool linked;
	u32 sent;
	u32 received;
};

extern const struct rca_trunk_upcalls *rca_trunk_upcalls;
extern unsigned int rca_trunk_count;

/* Are trunks on, or are there some that have connections, although they are off? Any context. */
static inline bool rca_trunks_used(void)
{
	return READ_ONCE(rca_trunks) || READ_ONCE(rca_trunk_count);
}

/* trunk.c */
int rca_trunks_init(const struct rca_trunk_upcalls *upcalls, work_func_t work);
void rca_trunks_exit(void);
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
bool rca_trunk_drop(struct rca_trunk *trunk);
void rca_trunks_of_port(const struct rca_device *dev, u32 port,
			void (*fn)(struct rca_trunk *trunk));
void rca_trunk_look(struct rca_trunk *trunk);
void rca_trunks_for_parameter(void (*fn)(struct rca_trunk *trunk));
bool rca_trunk_describe(const struct rca_peer_key *key, struct rca_trunk_info *info);

/* seen.c */
void rca_trunk_trace_frame(const struct rca_trunk_link *link, bool sent, const void *data, u32 len);
void rca_trunk_count_one(const struct rca_trunk *trunk, enum rca_trunk_stat stat);
void rca_trunk_because(struct rca_trunk *trunk, const char *why);
void rca_trunk_opening(struct rca_trunk *trunk);
void rca_trunk_opened(struct rca_trunk *trunk);
void rca_trunk_closed(struct rca_trunk *trunk, bool failed, bool lost);
void rca_trunk_lost(struct rca_trunk *trunk, u32 session, bool had_users);

/* frames.c */
u8 *rca_trunk_frame(const struct rca_trunk *trunk, unsigned int slot);
int rca_trunk_add(struct rca_trunk *trunk, const struct rca_trunk_record *record);
void rca_trunk_close_frame(struct rca_trunk *trunk);
bool rca_trunk_has_to_send(const struct rca_trunk *trunk);
int rca_trunk_join_session(struct rca_trunk *trunk, const struct rca_trunk_link *link, u32 number,
			   u32 peer_received);
void rca_trunk_lose_session(struct rca_trunk *trunk);

#endif /* RCA_TRUNK_H */
