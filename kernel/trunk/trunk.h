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
 * @fill: put records that wait into frames by rca_link_add(). &rca_trunk.lock is held
 * @timer: work of &rca_trunk.timer, with a reference of the trunk, which it puts
 * @lost: the session is lost. Process context, no lock
 */
struct rca_trunk_upcalls {
	int (*record)(struct rca_trunk *trunk, const struct rca_trunk_record *record);
	void (*fill)(struct rca_trunk *trunk);
	work_func_t timer;
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

/**
 * struct rca_trunk - a trunk
 * @node: entry in the table of trunks (lock: trunks_lock)
 * @ref: references: the table, each link
 * @key: which one (immutable)
 * @dev: its device (immutable; holds a reference)
 * @sgid_attr: local GID (immutable; holds a reference)
 * @lock: protects the members below, and marked ones of @link
 * @link: the QP that is used or being opened; NULL: the trunk is ending
 * @links: links that exist, ending ones included (atomic)
 * @up: the peer has sent a frame: records may be sent
 * @gone: it is not in the table any more, and gets no link
 * @session: numbers of the frames
 * @boot_id: boot identifier of the peer
 * @ca_guid: node GUID of its device
 * @path: path to the peer, as the receiver of a request sees it
 * @handling: a received frame is being handled
 * @odd: this host chooses odd numbers for connections, and its peer even ones
 * @next_number: number of the next one
 * @conns: connections that have an owner, by number
 * @users: number of connections
 * @answers: number of those that only wait to be sent to a peer that knows them no more
 * @waiting: connections that have something to send
 * @timers: connections that wait, by the time when that ends
 * @timer: ends it; holds a reference while it is queued
 * @timer_at: when it runs, in jiffies since boot; 0: it is not queued
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
	atomic_t links;
	bool up;
	bool gone;
	struct rca_session session;
	u8 boot_id[RCA_BOOT_ID_LEN];
	__be64 ca_guid;
	struct sa_path_rec path;
	bool handling;
	bool odd;
	u32 next_number;
	struct xarray conns;
	unsigned int users;
	unsigned int answers;
	struct list_head waiting;
	struct timerqueue_head timers;
	struct delayed_work timer;
	u64 timer_at;
	struct rcu_head rcu;
};

/**
 * struct rca_trunk_info - a trunk, for tools
 * @up: it is open
 * @sent: number of frames sent
 * @received: number of frames received
 */
struct rca_trunk_info {
	bool up;
	u32 sent;
	u32 received;
};

extern const struct rca_trunk_upcalls *rca_trunk_upcalls;

int rca_trunks_init(const struct rca_trunk_upcalls *upcalls);
void rca_trunks_exit(void);
struct rca_trunk *rca_trunk_make(struct rca_device *dev, const struct rca_trunk_key *key,
				 const struct ib_gid_attr *sgid_attr);
struct rca_trunk *rca_trunk_find_open(const struct rca_peer_key *key);
void rca_trunk_put(struct rca_trunk *trunk);
bool rca_trunk_set_link(struct rca_trunk *trunk, struct rca_trunk_link *link, bool yields,
			struct rca_trunk_link **old);
bool rca_trunk_drop_link(struct rca_trunk *trunk, struct rca_trunk_link *link);
void rca_trunks_of_device(const struct rca_device *dev, void (*fn)(struct rca_trunk *trunk));
void rca_trunks_switched_off(void (*fn)(struct rca_trunk *trunk));
bool rca_trunk_is_current(const struct rca_trunk_key *key, const u8 *boot_id);
bool rca_trunk_describe(const struct rca_peer_key *key, struct rca_trunk_info *info);

#endif /* RCA_TRUNK_H */
