/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* Lower cm_ids over iw_cm: lifetime, and connects, which may block. */
#ifndef RCA_TRANSPORT_IW_CONNECT_H
#define RCA_TRANSPORT_IW_CONNECT_H

#include <linux/refcount.h>
#include <linux/spinlock.h>
#include <linux/workqueue.h>
#include <rdma/iw_cm.h>

#include "transport/transport.h"

struct iw_attempt;

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
struct iw_lower *rca_iw_lower_alloc(struct ib_device *dev, void *owner, gfp_t gfp);
void rca_iw_lower_free(struct iw_lower *lower);
void rca_iw_lower_destroy(struct iw_lower *lower);
int rca_iw_connect(struct iw_lower *lower, const struct rca_tp_conn *conn, struct net *net);
int rca_iw_finish(void *lower);
void rca_iw_when_finished(void *lower, struct workqueue_struct *slow_wq,
			  struct workqueue_struct *wq, struct work_struct *work);

#endif /* RCA_TRANSPORT_IW_CONNECT_H */
