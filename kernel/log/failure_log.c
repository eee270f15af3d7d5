// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * The failure log: for each network namespace the last RCA_LOG_ENTRIES failures of operations and
 * events that report a failure. Every record, also of a success, is passed to the monitor
 * (notify.c).
 *
 * The log is bounded. Without memory for a new record, the oldest one is overwritten.
 *
 * Locking: log_net.lock, a leaf; taken in any context, also with rca_id.lock held.
 */
#include "log/log.h"

#include <linux/ktime.h>
#include <linux/pid.h>
#include <linux/ratelimit.h>
#include <linux/slab.h>
#include <linux/spinlock.h>
#include <net/net_namespace.h>
#include <net/netns/generic.h>

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
		rca_report_free(report);
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
			get_pid(entry->pid);	/* put in rca_report_free() or get_entry() */
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
