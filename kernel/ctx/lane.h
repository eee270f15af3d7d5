/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* Lanes: calls of a user that take locks which other users wait for. */
#ifndef RCA_LANE_H
#define RCA_LANE_H

#include <linux/list.h>
#include <linux/mutex.h>
#include <linux/spinlock.h>
#include <linux/workqueue.h>

/**
 * struct rca_lane - calls of a user that take the same locks
 * @turn: held over a call
 * @lock: a leaf; protects @calls
 * @calls: calls that wait for @work, oldest first
 * @work: makes @calls
 * @wq: the workqueue of @work (immutable)
 */
struct rca_lane {
	struct mutex turn;
	spinlock_t lock;
	struct list_head calls;
	struct work_struct work;
	struct workqueue_struct *wq;
};

void rca_lane_init(struct rca_lane *lane, struct workqueue_struct *wq);
void rca_lane_destroy(struct rca_lane *lane);
void rca_lane_call(struct rca_lane *lane, void (*fn)(void *arg), void *arg);

#endif /* RCA_LANE_H */
