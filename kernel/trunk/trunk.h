/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* Trunks: the table of those that there are. */
#ifndef RCA_TRUNK_H
#define RCA_TRUNK_H

#include <linux/refcount.h>
#include <linux/rhashtable.h>
#include <linux/spinlock.h>
#include <linux/types.h>

#include "trunk/peers.h"
#include "trunk/proto.h"
#include "trunk/session.h"

struct rca_device;
struct rca_trunk_link;

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

int rca_trunks_init(void);
void rca_trunks_exit(void);
struct rca_trunk *rca_trunk_make(struct rca_device *dev, const struct rca_trunk_key *key,
				 const struct ib_gid_attr *sgid_attr);
void rca_trunk_put(struct rca_trunk *trunk);
bool rca_trunk_set_link(struct rca_trunk *trunk, struct rca_trunk_link *link, bool yields,
			struct rca_trunk_link **old);
bool rca_trunk_drop_link(struct rca_trunk *trunk, struct rca_trunk_link *link);
void rca_trunks_of_device(const struct rca_device *dev, void (*fn)(struct rca_trunk *trunk));
void rca_trunks_switched_off(void (*fn)(struct rca_trunk *trunk));
bool rca_trunk_is_current(const struct rca_trunk_key *key, const u8 *boot_id);
bool rca_trunk_describe(const struct rca_peer_key *key, struct rca_trunk_info *info);

#endif /* RCA_TRUNK_H */
