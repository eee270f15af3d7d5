/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* The send windows by port and address, and their lifetime; see send_window.c for what they do. */
#ifndef RCA_WINDOW_TABLE_H
#define RCA_WINDOW_TABLE_H

#include <linux/refcount.h>
#include <linux/rhashtable-types.h>
#include <linux/spinlock.h>
#include <linux/workqueue.h>

#include "ctx/turns.h"

struct rca_device;
struct rca_id;

/** RCA_WINDOW_USERS_BITS - logarithm of the number of users of a window that are counted apart */
#define RCA_WINDOW_USERS_BITS	5

/**
 * struct rca_window_key - the port and the address of a window; padding is zero
 * @dev: device of the port, for comparison only (holds no reference)
 * @port_num: the port
 * @scope_id: interface index of an IPv6 address, or 0
 * @family: address family
 * @addr: the address
 */
struct rca_window_key {
	const struct rca_device *dev;
	u32 port_num;
	u32 scope_id;
	u32 family;
	u8 addr[16] __aligned(4);
};

/**
 * struct rca_window - the send window of a port to an address
 * @node: entry in the table (lock: rca_windows_lock)
 * @ref: references: ids that have sent to the address, and @work while it is queued; becomes zero
 *       only under rca_windows_lock
 * @key: the port and the address (immutable)
 * @lock: protects the members below, and &rca_window_slot of the ids of this peer
 * @epoch: number of the current epoch
 * @begun: time of the first message of the epoch, in jiffies
 * @heard: time of the last answer, or @begun
 * @sent: unanswered messages of the current epoch
 * @unanswered: unanswered messages of all epochs, by a hash of their user (read without the lock)
 * @answers: the peer has answered in this epoch or the last one (read without the lock; only set if
 *           ib_mad limits the requests of a port)
 * @answered: time of the last answer, in jiffies (likewise)
 * @turns: the waiting ids, through &rca_window_slot.node
 * @work: retries granting slots periodically while ids wait
 * @rcu: frees the window after callbacks that run late
 */
struct rca_window {
	struct rhash_head node;
	refcount_t ref;
	struct rca_window_key key;
	spinlock_t lock;
	u32 epoch;
	unsigned int sent;
	unsigned int unanswered[1 << RCA_WINDOW_USERS_BITS];
	bool answers;
	unsigned long answered;
	unsigned long begun;
	unsigned long heard;
	struct rca_turns turns;
	struct delayed_work work;
	struct rcu_head rcu;
};

extern spinlock_t rca_windows_lock;

int rca_windows_init(void);
void rca_windows_exit(void);
struct rca_window *rca_window_get(const struct rca_id *id, work_func_t work);
void rca_window_free(struct rca_window *window);

/**
 * rca_window_put() - drop a reference on a window
 * @window: the window; no id waits in it if this is the last reference
 *
 * Context: Process context.
 */
static inline void rca_window_put(struct rca_window *window)
{
	if (refcount_dec_and_lock(&window->ref, &rca_windows_lock))
		rca_window_free(window);
}

#endif /* RCA_WINDOW_TABLE_H */
