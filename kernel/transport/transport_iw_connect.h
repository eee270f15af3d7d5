/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* Lower ids of iWARP: their life, and the connect that may block. */
#ifndef RCA_TRANSPORT_IW_CONNECT_H
#define RCA_TRANSPORT_IW_CONNECT_H

#include <linux/mutex.h>
#include <linux/refcount.h>
#include <linux/workqueue.h>
#include <rdma/iw_cm.h>

#include "transport/transport.h"

struct iw_attempt;

/**
 * struct iw_lower - a lower id
 * @ref: references: of its owner, of a connect under way, of its finish()
 * @dev: its device (immutable; holds a reference)
 * @cm_id: iw_cm's (immutable; owned)
 * @mutex: held over upcalls
 * @owner: who is called; NULL: nobody any more (lock: @mutex)
 * @pending: iw_cm waits for the peer, and whoever destroys @cm_id does too
 * @attempt: the connect, NULL: none was tried (set once; owned)
 * @end: destroys @cm_id in the background
 */
struct iw_lower {
	refcount_t ref;
	struct ib_device *dev;
	struct iw_cm_id *cm_id;
	struct mutex mutex;
	void *owner;
	bool pending;
	struct iw_attempt *attempt;
	struct work_struct end;
};

int rca_iw_connect_init(void);
void rca_iw_connect_flush(void);
void rca_iw_connect_exit(void);
struct iw_lower *rca_iw_lower_alloc(struct ib_device *dev, void *owner, gfp_t gfp);
void rca_iw_lower_free(struct iw_lower *lower);
void rca_iw_lower_end(struct iw_lower *lower);
int rca_iw_connect(struct iw_lower *lower, const struct rca_tp_conn *conn, struct net *net);
int rca_iw_finish(void *lower);
void rca_iw_when_finished(void *lower, struct workqueue_struct *wq, struct work_struct *work);

#endif /* RCA_TRANSPORT_IW_CONNECT_H */
