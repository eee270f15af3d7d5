// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * Notifications: passes all records to one receiver, the netlink monitor. A work item calls it,
 * because records are reported with interrupts disabled, and netlink may transmit over a network
 * device (nlmon).
 *
 * Each network namespace has a queue. The work serves one record of each queue in turn, so that
 * a namespace with many records neither uses up the space of others nor delays them. Queues are
 * filled only while there is a receiver in any namespace; netlink does not tell in which one.
 *
 * Locking: monitor_lock, a leaf; taken in any context, also with rca_id.lock held.
 */
#include "log/log.h"

#include <linux/ktime.h>
#include <linux/pid.h>
#include <linux/rcupdate.h>
#include <linux/sched.h>
#include <linux/slab.h>
#include <linux/spinlock.h>
#include <linux/workqueue.h>
#include <net/net_namespace.h>

#include "lib/testing.h"

static void deliver_work(struct work_struct *work);

static const struct rca_monitor_ops *receiver;

/* Queues that are not empty; the first one is served next. */
static LIST_HEAD(turns);
static DEFINE_SPINLOCK(monitor_lock);
static DECLARE_WORK(monitor_work, deliver_work);

/* Free a record that was removed from its list; it holds a reference on its process. */
void rca_report_free(struct rca_report *report)
{
	put_pid(report->pid);	/* got when the record was copied */
	kfree(report);
}

void rca_monitor_queue_init(struct rca_monitor_queue *queue, struct net *net)
{
	queue->net = net;
	INIT_LIST_HEAD(&queue->turn);
	INIT_LIST_HEAD(&queue->reports);
	queue->count = 0;
	queue->lost = false;
	queue->since = 0;
}

/*
 * Returns the queue to serve next, or NULL. Sets *report to the record to deliver, or to NULL if
 * the queue was empty and removed from the list; the caller then owns the reference on the
 * namespace. Sets *lost if a loss has to be reported.
 */
static struct rca_monitor_queue *next_queue(struct rca_report **report, bool *lost)
{
	struct rca_monitor_queue *queue;

	spin_lock_irq(&monitor_lock);
	queue = list_first_entry_or_null(&turns, struct rca_monitor_queue, turn);
	if (!queue)
		goto out_unlock;
	*report = list_first_entry_or_null(&queue->reports, struct rca_report, node);
	if (*report) {
		list_del(&(*report)->node);
		queue->count--;
		queue->since++;
		list_move_tail(&queue->turn, &turns);
	} else {
		list_del_init(&queue->turn);
	}
	/* Under a continuous flood the queue is never empty; report a loss from time to time. */
	*lost = queue->lost && (!*report || queue->since >= RCA_MONITOR_QUEUE_MAX);
	if (*lost) {
		queue->lost = false;
		queue->since = 0;
	}
out_unlock:
	spin_unlock_irq(&monitor_lock);
	return queue;
}

static void deliver_work(struct work_struct *work)
{
	const struct rca_monitor_ops *ops = READ_ONCE(receiver);
	struct rca_monitor_queue *queue;
	struct rca_report *report;
	bool lost;

	while ((queue = next_queue(&report, &lost))) {
		if (report && ops)
			ops->tell(queue->net, report);
		if (lost && ops)
			ops->lost(queue->net);
		if (report)
			rca_report_free(report);
		else
			put_net(queue->net);	/* got in enqueue() */
		cond_resched();
	}
}

/* Wait until all queued records were delivered. Process context, sleeps. */
RCA_VISIBLE_IF_KUNIT void rca_monitor_flush(void)
{
	flush_work(&monitor_work);
}

/**
 * rca_monitor_set() - set the receiver of all records
 * @ops: the receiver, or NULL; must stay valid until it is replaced
 *
 * Context: Process context. Sleeps until the previous receiver is no longer called.
 * Return: the previous receiver, or NULL.
 */
const struct rca_monitor_ops *rca_monitor_set(const struct rca_monitor_ops *ops)
{
	const struct rca_monitor_ops *before = xchg(&receiver, ops);

	synchronize_rcu();	/* wanted() is called, and records are queued, under RCU */
	rca_monitor_flush();
	return before;
}

/**
 * rca_monitor_wanted() - may there be a receiver for records of a namespace?
 * @net: the network namespace
 *
 * Context: Any context.
 * Return: false if only failures have to be reported.
 */
bool rca_monitor_wanted(struct net *net)
{
	const struct rca_monitor_ops *ops;
	bool wanted;

	rcu_read_lock();
	ops = READ_ONCE(receiver);
	wanted = ops && ops->wanted(net);
	rcu_read_unlock();
	return wanted;
}

/* Queue a record for the work. Called under RCU, which rca_monitor_set() waits for. */
static void enqueue(struct rca_monitor_queue *queue, const struct rca_report *report)
{
	struct rca_report *copy = kmemdup(report, sizeof(*report),
					  GFP_NOWAIT | __GFP_NOWARN | __GFP_ACCOUNT);
	unsigned long flags;

	spin_lock_irqsave(&monitor_lock, flags);
	if (list_empty(&queue->turn)) {
		get_net(queue->net);	/* put in deliver_work() */
		list_add_tail(&queue->turn, &turns);
	}
	if (copy && queue->count < RCA_MONITOR_QUEUE_MAX) {
		/* Several ids report at the same time: the times of a queue do not go back. */
		copy->at = ktime_get_real_ns();
		get_pid(copy->pid);	/* put in rca_report_free() */
		list_add_tail(&copy->node, &queue->reports);
		queue->count++;
		copy = NULL;
	} else {
		queue->lost = true;
	}
	spin_unlock_irqrestore(&monitor_lock, flags);
	kfree(copy);
	schedule_work(&monitor_work);
}

/**
 * rca_monitor_enqueue() - queue a record for the receiver, if there is one
 * @queue: the queue of the namespace, on which the caller holds a reference
 * @report: the record; it is copied, and the time of the copy is set
 *
 * Context: Any context.
 */
void rca_monitor_enqueue(struct rca_monitor_queue *queue, const struct rca_report *report)
{
	const struct rca_monitor_ops *ops;

	rcu_read_lock();
	ops = READ_ONCE(receiver);
	if (ops && ops->wanted(queue->net))
		enqueue(queue, report);
	rcu_read_unlock();
}
