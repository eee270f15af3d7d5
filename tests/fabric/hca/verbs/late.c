// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * Late completions, as of an adapter with busy firmware, which sends a message long before it
 * reports that. Only sends of QP1 are late: connection managers wait for these.
 *
 * Locking: none; a late completion has one owner, and holds a reference of its QP.
 */
#include "verbs/late.h"

#include <linux/jiffies.h>
#include <linux/slab.h>
#include <linux/workqueue.h>

static struct workqueue_struct *worker;

/**
 * struct late - a completion that is kept back
 * @work: adds it
 * @qp: the QP (holds a reference)
 * @wc: the completion
 * @solicited: the client wants to be told
 */
struct late {
	struct delayed_work work;
	struct hca_qp *qp;
	struct ib_wc wc;
	bool solicited;
};

static void add_completion(struct work_struct *work)
{
	struct late *late = container_of(work, struct late, work.work);

	hca_cq_add(late->qp->ib.send_cq, &late->wc, late->solicited);
	hca_qp_put(late->qp);	/* got in hca_late_add() */
	kfree(late);
}

/*
 * Adds a send completion of QP1 to its queue, now or after the delay of the adapter. Any context.
 */
void hca_late_add(struct hca_qp *qp, const struct ib_wc *wc, bool solicited)
{
	unsigned int ms = READ_ONCE(to_hca(qp->ib.device)->slow_ms);
	struct late *late = ms ? kzalloc(sizeof(*late), GFP_ATOMIC) : NULL;

	if (!late) {
		hca_cq_add(qp->ib.send_cq, wc, solicited);
		return;
	}
	refcount_inc(&qp->refs);	/* put in add_completion() */
	late->qp = qp;
	late->wc = *wc;
	late->solicited = solicited;
	INIT_DELAYED_WORK(&late->work, add_completion);
	queue_delayed_work(worker, &late->work, msecs_to_jiffies(ms));
}

/* Before any adapter. */
int hca_late_init(void)
{
	worker = alloc_ordered_workqueue("rca_hca_late", WQ_MEM_RECLAIM);
	return worker ? 0 : -ENOMEM;
}

/* After the last adapter, whose QPs have waited for their completions. */
void hca_late_exit(void)
{
	destroy_workqueue(worker);
}
