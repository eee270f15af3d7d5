// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * What the QP saw, told to ib_cm.
 *
 * When the QP has received before the peer's RTU came, ib_cm takes the lower id for
 * established at once, and leaves it to its workqueue to stop repeating the REP. A
 * lower id that is destroyed in between goes on to repeat it, and its destroyer waits
 * until the last one has timed out, as does the removal of the device. So whoever
 * tells of such an event waits here until ib_cm is done with it.
 *
 * Locking: waiters_lock, a leaf.
 */
#include "transport_ib_notify.h"

#include <linux/completion.h>
#include <linux/jiffies.h>
#include <linux/list.h>
#include <linux/spinlock.h>
#include <rdma/ib_cm.h>

/* More than ib_cm needs to get to it, as long as its workqueue moves at all. */
#define PATIENCE	(5 * HZ)

/**
 * struct waiter - a thread that waits for an event of a lower id
 * @node: in waiters (lock: waiters_lock)
 * @cm_id: the lower id (immutable)
 * @done: an event came
 */
struct waiter {
	struct list_head node;
	const struct ib_cm_id *cm_id;
	struct completion done;
};

static LIST_HEAD(waiters);
static DEFINE_SPINLOCK(waiters_lock);

/**
 * rca_tp_ib_notify() - tell ib_cm of an event of the QP
 * @cm_id: the lower id; it stays for as long as this takes
 * @event: the event
 *
 * Context: Process context. Sleeps. Not from a callback of @cm_id, nor with a lock
 * that those take.
 * Return: 0: what follows of it was reported already; else as ib_cm_notify().
 */
int rca_tp_ib_notify(struct ib_cm_id *cm_id, enum ib_event_type event)
{
	struct waiter waiter = { .cm_id = cm_id };
	int ret;

	if (event != IB_EVENT_COMM_EST)
		return ib_cm_notify(cm_id, event);
	init_completion(&waiter.done);
	spin_lock_irq(&waiters_lock);
	list_add(&waiter.node, &waiters);
	spin_unlock_irq(&waiters_lock);

	ret = ib_cm_notify(cm_id, event);
	if (!ret)
		wait_for_completion_timeout(&waiter.done, PATIENCE);

	spin_lock_irq(&waiters_lock);
	list_del(&waiter.node);
	spin_unlock_irq(&waiters_lock);
	return ret;
}

/**
 * rca_tp_ib_notified() - an event of a lower id was reported
 * @cm_id: the lower id
 *
 * Any event will do: where the peer has ended the connection before ib_cm got to what
 * it was told, it is that which is reported, and nothing else follows.
 *
 * Context: Process context, callback of ib_cm.
 */
void rca_tp_ib_notified(const struct ib_cm_id *cm_id)
{
	struct waiter *waiter;
	unsigned long flags;

	/* Who waits was in the list before ib_cm, under its lock of the id, got to know. */
	if (list_empty(&waiters))
		return;
	spin_lock_irqsave(&waiters_lock, flags);
	list_for_each_entry(waiter, &waiters, node)
		if (waiter->cm_id == cm_id)
			complete(&waiter->done);
	spin_unlock_irqrestore(&waiters_lock, flags);
}
