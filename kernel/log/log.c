// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * Reports of operations and events. Failures are kept in a log, the last RCA_LOG_ENTRIES of each
 * network namespace; without memory for a new record, the oldest one is overwritten.
 *
 * Every record, also of a success, is passed to one receiver, the netlink monitor. A work item
 * calls it, because records are reported with interrupts disabled, and netlink may transmit over a
 * network device (nlmon). Each network namespace has a queue. The work serves one record of each
 * queue in turn, so that a namespace with many records neither uses up the space of others nor
 * delays them. Queues are filled only while there is a receiver in any namespace; netlink does not
 * tell in which one.
 *
 * Locking: log_net.lock and monitor_lock, leaves; taken in any context, also with rca_id.lock held.
 */
#include "log/log.h"

#include <linux/ktime.h>
#include <linux/pid.h>
#include <linux/ratelimit.h>
#include <linux/rcupdate.h>
#include <linux/sched.h>
#include <linux/slab.h>
#include <linux/spinlock.h>
#include <linux/workqueue.h>
#include <net/net_namespace.h>
#include <net/netns/generic.h>

#include "lib/testing.h"

/**
 * struct log_net - the failure log of a namespace
 * @lock: protects the members but @refusals and @queue
 * @reports: the records, the oldest first
 * @count: number of records
 * @serial: serial number of the newest record
 * @refusals: rate limit of refused requests, so that a flood of them does not fill the log
 * @queue: records that wait for the monitor
 */
struct log_net {
	spinlock_t lock;
	struct list_head reports;
	unsigned int count;
	u64 serial;
	struct ratelimit_state refusals;
	struct rca_monitor_queue queue;
};

static unsigned int log_net_id;

static void deliver_work(struct work_struct *work);

static const struct rca_monitor_ops *receiver;

/* Queues that are not empty; the first one is served next. */
static LIST_HEAD(turns);
static DEFINE_SPINLOCK(monitor_lock);
static DECLARE_WORK(monitor_work, deliver_work);

/* Free a record that was removed from its list; it holds a reference on its process. */
static void free_report(struct rca_report *report)
{
	put_pid(report->pid);	/* got when the record was copied */
	kfree(report);
}

RCA_VISIBLE_IF_KUNIT void rca_monitor_queue_init(struct rca_monitor_queue *queue, struct net *net)
{
	queue->net = net;
	INIT_LIST_HEAD(&queue->turn);
	INIT_LIST_HEAD(&queue->reports);
	queue->count = 0;
	queue->lost = false;
	queue->since = 0;
}

static int __net_init log_net_init(struct net *net)
{
	struct log_net *log = net_generic(net, log_net_id);

	spin_lock_init(&log->lock);
	INIT_LIST_HEAD(&log->reports);
	ratelimit_state_init(&log->refusals, HZ, 8);
	ratelimit_set_flags(&log->refusals, RATELIMIT_MSG_ON_RELEASE);
	rca_monitor_queue_init(&log->queue, net);
	return 0;
}

/*
 * Ids and a non-empty notification queue hold references on the namespace, so neither exists any
 * more.
 */
static void __net_exit log_net_exit(struct net *net)
{
	struct log_net *log = net_generic(net, log_net_id);
	struct rca_report *report, *tmp;

	list_for_each_entry_safe(report, tmp, &log->reports, node)
		free_report(report);
}

static struct pernet_operations log_net_ops = {
	.init = log_net_init,
	.exit = log_net_exit,
	.id = &log_net_id,
	.size = sizeof(struct log_net),
};

/* Create the failure log of each namespace. Module init. */
int rca_log_init(void)
{
	return register_pernet_subsys(&log_net_ops);
}

/* Free all failure logs. Module exit; no id exists any more. */
void rca_log_exit(void)
{
	unregister_pernet_subsys(&log_net_ops);
}

/* Notifications. */

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
			free_report(report);
		else
			put_net(queue->net);	/* got in rca_monitor_enqueue() */
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

/* Queue a copy of a record for the receiver, if there is one. */
RCA_VISIBLE_IF_KUNIT
void rca_monitor_enqueue(struct rca_monitor_queue *queue, const struct rca_report *report)
{
	const struct rca_monitor_ops *ops;
	struct rca_report *copy;
	unsigned long flags;

	rcu_read_lock();	/* rca_monitor_set() waits for it */
	ops = READ_ONCE(receiver);
	if (!ops || !ops->wanted(queue->net))
		goto out_unlock;
	copy = kmemdup(report, sizeof(*report), GFP_NOWAIT | __GFP_NOWARN | __GFP_ACCOUNT);
	spin_lock_irqsave(&monitor_lock, flags);
	if (list_empty(&queue->turn)) {
		get_net(queue->net);	/* put in deliver_work() */
		list_add_tail(&queue->turn, &turns);
	}
	if (copy && queue->count < RCA_MONITOR_QUEUE_MAX) {
		/* Several ids report at the same time: the times of a queue do not go back. */
		copy->at = ktime_get_real_ns();
		get_pid(copy->pid);	/* put in free_report() */
		list_add_tail(&copy->node, &queue->reports);
		queue->count++;
		copy = NULL;
	} else {
		queue->lost = true;
	}
	spin_unlock_irqrestore(&monitor_lock, flags);
	kfree(copy);
	schedule_work(&monitor_work);
out_unlock:
	rcu_read_unlock();
}

/* The failure log. */

/* Memory for one record: new, else that of the oldest record. NULL if there is neither. */
static struct rca_report *get_entry(struct log_net *log)
{
	struct rca_report *entry = NULL;

	lockdep_assert_held(&log->lock);
	if (log->count < RCA_LOG_ENTRIES)
		entry = kmalloc(sizeof(*entry), GFP_NOWAIT | __GFP_NOWARN | __GFP_ACCOUNT);
	if (entry) {
		log->count++;
	} else if (log->count) {
		entry = list_first_entry(&log->reports, struct rca_report, node);
		list_del(&entry->node);
		put_pid(entry->pid);
	}
	return entry;
}

/**
 * rca_log_report() - report an operation or event
 * @net: the network namespace of the id
 * @report: the record; this function sets its @at and @serial
 * @keep: the record is a failure: add it to the failure log
 *
 * Context: Any context.
 */
void rca_log_report(struct net *net, struct rca_report *report, bool keep)
{
	struct log_net *log = net_generic(net, log_net_id);
	struct rca_report *entry;
	unsigned long flags;

	report->at = ktime_get_real_ns();
	if (keep) {
		spin_lock_irqsave(&log->lock, flags);
		report->serial = ++log->serial;
		entry = get_entry(log);
		if (entry) {
			*entry = *report;
			get_pid(entry->pid);	/* put in free_report() or get_entry() */
			list_add_tail(&entry->node, &log->reports);
		}
		spin_unlock_irqrestore(&log->lock, flags);
	}
	rca_monitor_enqueue(&log->queue, report);
}

/* May a refused request be reported now? Any context. */
bool rca_monitor_ratelimit(struct net *net)
{
	struct log_net *log = net_generic(net, log_net_id);

	return __ratelimit(&log->refusals);
}

/**
 * rca_log_next() - iterate over the failure log of a namespace, the oldest record first
 * @net: the namespace
 * @after: serial number of the previous record, 0 to start
 * @copy: set to the next record; its @pid holds a reference, for put_pid()
 *
 * Context: Any context.
 * Return: false if there is no further record.
 */
bool rca_log_next(struct net *net, u64 after, struct rca_report *copy)
{
	struct log_net *log = net_generic(net, log_net_id);
	struct rca_report *report;
	unsigned long flags;
	bool found = false;

	spin_lock_irqsave(&log->lock, flags);
	list_for_each_entry(report, &log->reports, node) {
		if (report->serial <= after)
			continue;
		*copy = *report;
		get_pid(copy->pid);
		found = true;
		break;
	}
	spin_unlock_irqrestore(&log->lock, flags);
	return found;
}
