// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * Reports of operations and events: notifications to the multicast group of the netlink family, and
 * the failure log. There is one record of each, which waits to be sent, and is kept afterwards if
 * it is a failure: the last RCA_REPORTS_KEPT of each network namespace. Without memory for a new
 * failure, the oldest one is overwritten.
 *
 * A work item sends notifications, because records are reported with interrupts disabled, and
 * netlink may transmit over a network device (nlmon). Each network namespace has one. The work
 * items are executed in turn, and each sends one record, so that a namespace with many records
 * neither uses up the space of others nor delays them. Records wait only while there is a listener
 * in any namespace; netlink does not tell in which one.
 *
 * Locking: rca_reports.lock, a leaf; taken in any context, also with rca_id.lock held.
 */
#include "event/event.h"

#include <linux/capability.h>
#include <linux/fs.h>
#include <linux/ktime.h>
#include <linux/pid.h>
#include <linux/rcupdate.h>
#include <linux/slab.h>
#include <linux/user_namespace.h>
#include <linux/workqueue.h>
#include <net/genetlink.h>
#include <net/net_namespace.h>
#include <net/netns/generic.h>
#include <rdma/ib_addr.h>
#include <rdma/rdma_cm_alt_netlink.h>

#include "lib/compat.h"
#include "lib/fsm.h"
#include "lib/sockaddr.h"
#include "lib/testing.h"

/* The only group of the family. */
#define GROUP 0

static unsigned int reports_id;
static struct workqueue_struct *reports_wq;

/* Set while notifications are sent. */
static const struct genl_family *family;

/* Unit tests get notifications in place of the group; a loss as NULL. */
RCA_VISIBLE_IF_KUNIT void (*rca_report_hook)(struct net *net, const struct rca_report *report);

/* The reports of a namespace. Any context. */
struct rca_reports *rca_reports_of(struct net *net)
{
	return net_generic(net, reports_id);
}

/* Attributes. The functions return 0, or -EMSGSIZE when the buffer is full. Any context. */

int rca_nl_put_u64(struct sk_buff *skb, int attr, u64 value)
{
	return nla_put_u64_64bit(skb, attr, value, RDMA_CM_ALT_NL_A_PAD);
}

/*
 * User, process and program. @userns is the user namespace in which @uid is reported;
 * @pid is the process in the PID namespace of the reader, or 0 when it is not visible there.
 */
int rca_nl_put_owner(struct sk_buff *skb, struct user_namespace *userns, kuid_t uid,
		     pid_t pid, const char *comm)
{
	if (nla_put_u32(skb, RDMA_CM_ALT_NL_A_UID, from_kuid_munged(userns, uid)) ||
	    (pid && nla_put_u32(skb, RDMA_CM_ALT_NL_A_PID, pid)))
		return -EMSGSIZE;
	return nla_put_string(skb, RDMA_CM_ALT_NL_A_COMM, comm);
}

/* Nothing is put for an address without a family. */
int rca_nl_put_addr(struct sk_buff *skb, int attr, const union rca_addr *addr)
{
	int len = rdma_addr_size(&addr->sa);

	return len ? nla_put(skb, attr, len, addr) : 0;
}

static int put_number(struct sk_buff *skb, int attr, u32 number)
{
	return number ? nla_put_u32(skb, attr, number) : 0;
}

/* Those of a connection that it has. */
int rca_nl_put_numbers(struct sk_buff *skb, const struct rca_tp_numbers *numbers)
{
	return put_number(skb, RDMA_CM_ALT_NL_A_COMM_ID, numbers->comm_id) ?:
	       put_number(skb, RDMA_CM_ALT_NL_A_REMOTE_COMM_ID, numbers->remote_comm_id) ?:
	       put_number(skb, RDMA_CM_ALT_NL_A_SESSION, numbers->session) ?:
	       put_number(skb, RDMA_CM_ALT_NL_A_NUMBER, numbers->number);
}

/* A record, without its owner, whose form depends on the receiver. */
int rca_nl_put_report(struct sk_buff *skb, const struct rca_report *report)
{
	static const union ib_gid none;

	if (rca_nl_put_u64(skb, RDMA_CM_ALT_NL_A_TIME, report->at) ||
	    (report->serial && rca_nl_put_u64(skb, RDMA_CM_ALT_NL_A_SERIAL, report->serial)) ||
	    rca_nl_put_u64(skb, RDMA_CM_ALT_NL_A_CTX, report->ctx) ||
	    nla_put_u32(skb, RDMA_CM_ALT_NL_A_HANDLE, report->handle) ||
	    nla_put_s32(skb, RDMA_CM_ALT_NL_A_STATUS, report->status) ||
	    nla_put_string(skb, RDMA_CM_ALT_NL_A_STATE, rca_state_name(report->state)) ||
	    nla_put_string(skb, RDMA_CM_ALT_NL_A_BEFORE, rca_state_name(report->before)) ||
	    nla_put_u32(skb, RDMA_CM_ALT_NL_A_PS, report->ps) ||
	    rca_nl_put_addr(skb, RDMA_CM_ALT_NL_A_LOCAL, &report->local) ||
	    rca_nl_put_addr(skb, RDMA_CM_ALT_NL_A_PEER, &report->peer))
		return -EMSGSIZE;
	if (*report->op ? nla_put_string(skb, RDMA_CM_ALT_NL_A_OP, report->op) :
			nla_put_u32(skb, RDMA_CM_ALT_NL_A_EVENT, report->event))
		return -EMSGSIZE;
	if (*report->dev && (nla_put_string(skb, RDMA_CM_ALT_NL_A_DEV, report->dev) ||
			     nla_put_u32(skb, RDMA_CM_ALT_NL_A_PORT, report->port)))
		return -EMSGSIZE;
	if (memcmp(&report->sgid, &none, sizeof(none)) &&
	    nla_put(skb, RDMA_CM_ALT_NL_A_SGID, sizeof(report->sgid), &report->sgid))
		return -EMSGSIZE;
	return rca_nl_put_numbers(skb, &report->numbers);
}

/* Notifications. */

/*
 * All listeners of the namespace get the same message: user IDs are those of the user
 * namespace that owns @net, process IDs those of the PID namespace of the process.
 */
static int put_notification(const struct genl_family *to, struct sk_buff *skb, struct net *net,
			    const struct rca_report *report)
{
	pid_t pid = pid_nr_ns(report->pid, ns_of_pid(report->pid));
	void *msg = genlmsg_put(skb, 0, 0, to, 0, RDMA_CM_ALT_NL_STORY);

	if (!msg || rca_nl_put_report(skb, report) ||
	    rca_nl_put_owner(skb, net->user_ns, report->uid, pid, report->comm))
		return -EMSGSIZE;
	genlmsg_end(skb, msg);
	return 0;
}

/*
 * Filter of receivers. The kernel checks GENL_MCAST_CAP_NET_ADMIN only when a socket joins, and
 * any socket can join the number of a group before that group is registered.
 */
static int lacks_capability(struct sock *sk, struct sk_buff *skb, void *data)
{
	struct file *file = sk->sk_socket ? sk->sk_socket->file : NULL;
	struct net *net = data;

	return !file || !file_ns_capable(file, net->user_ns, CAP_NET_ADMIN);
}

/* Send a record. Returns false if it is lost. */
static bool send_notification(const struct genl_family *to, struct net *net,
			      const struct rca_report *report)
{
	struct sk_buff *skb = genlmsg_new(NLMSG_DEFAULT_SIZE, GFP_KERNEL);

	if (!skb || put_notification(to, skb, net, report)) {
		nlmsg_free(skb);
		return false;
	}
	rca_genl_multicast(to, net, skb, GROUP, lacks_capability);
	return true;
}

/* Send a record, if there is one, and report a loss. Process context. */
static void notify_listeners(struct net *net, const struct rca_report *report, bool lost)
{
	const struct genl_family *to = READ_ONCE(family);

	if (rca_report_hook) {
		if (report)
			rca_report_hook(net, report);
		if (lost)
			rca_report_hook(net, NULL);
	} else if (to) {
		lost |= report && !send_notification(to, net, report);
		/* The same error that a socket with a full receive buffer reports. */
		if (lost)
			genl_set_err(to, net, 0, GROUP, -ENOBUFS);
	}
}

/* Free a record that is in no list. */
static void free_report(struct rca_report *report)
{
	put_pid(report->pid);	/* got in rca_report() */
	kfree(report);
}

/* A record is not to be sent any more. */
static void stop_waiting(struct rca_reports *reports, struct rca_report *report)
{
	lockdep_assert_held(&reports->lock);
	list_del_init(&report->waiting);
	reports->waits--;
}

/*
 * Send the record that has waited longest. Under a continuous flood there is always another one, so
 * a loss is reported from time to time. Returns false if nothing is left to do.
 */
static bool deliver_report(struct rca_reports *reports)
{
	struct rca_report report, *first;
	bool lost, more;

	spin_lock_irq(&reports->lock);
	first = list_first_entry_or_null(&reports->wait, struct rca_report, waiting);
	if (first) {
		report = *first;
		get_pid(report.pid);
		stop_waiting(reports, first);
		reports->since++;
		if (list_empty(&first->kept))
			free_report(first);
	}
	lost = reports->lost && (!reports->waits || reports->since >= RCA_REPORTS_WAIT_MAX);
	if (lost) {
		reports->lost = false;
		reports->since = 0;
	}
	spin_unlock_irq(&reports->lock);
	notify_listeners(reports->net, first ? &report : NULL, lost);
	if (first)
		put_pid(report.pid);

	spin_lock_irq(&reports->lock);
	more = reports->waits || reports->lost;
	reports->delivering = more;
	spin_unlock_irq(&reports->lock);
	return more;
}

/* Other namespaces have their turn after each record that is sent. */
static void deliver_work(struct work_struct *work)
{
	struct rca_reports *reports = container_of(work, struct rca_reports, work);
	struct net *net = reports->net;

	while (deliver_report(reports)) {
		if (READ_ONCE(family)) {
			queue_work(reports_wq, work);
			return;
		}
	}
	put_net(net);	/* got in wait_to_send() */
}

/**
 * rca_reports_send_to() - set where notifications are sent
 * @to: the family, which is registered; NULL: nowhere
 *
 * Context: Process context. Sleeps until the previous family is not used any more.
 */
void rca_reports_send_to(const struct genl_family *to)
{
	WRITE_ONCE(family, to);
	synchronize_rcu();	/* it is read, and work is queued, under RCU */
	drain_workqueue(reports_wq);
}

/**
 * rca_reports_wanted() - may there be a listener for records of a namespace?
 * @net: the network namespace
 *
 * Context: Any context.
 * Return: false if only failures have to be reported.
 */
bool rca_reports_wanted(struct net *net)
{
	const struct genl_family *to;
	bool wanted;

	rcu_read_lock();
	to = READ_ONCE(family);
	wanted = to && (rca_report_hook || genl_has_listeners(to, net, GROUP));
	rcu_read_unlock();
	return wanted;
}

/* Let a record wait to be sent. NULL: there is no memory for it, so it is lost. */
static void wait_to_send(struct rca_reports *reports, struct rca_report *report)
{
	lockdep_assert_held(&reports->lock);
	if (report && reports->waits < RCA_REPORTS_WAIT_MAX) {
		list_add_tail(&report->waiting, &reports->wait);
		reports->waits++;
	} else {
		reports->lost = true;
	}
	if (!reports->delivering) {
		reports->delivering = true;
		get_net(reports->net);	/* put in deliver_work() */
		queue_work(reports_wq, &reports->work);
	}
}

/* The failure log. */

/*
 * Make room for another failure. Returns memory for it: @fresh, or if that is NULL, the memory of
 * the oldest one, which is not sent any more. NULL if there is neither.
 */
static struct rca_report *make_room_in_log(struct rca_reports *reports, struct rca_report *fresh)
{
	struct rca_report *oldest;

	lockdep_assert_held(&reports->lock);
	oldest = list_first_entry_or_null(&reports->log, struct rca_report, kept);
	if (!oldest || (fresh && reports->count < RCA_REPORTS_KEPT))
		return fresh;
	list_del_init(&oldest->kept);
	reports->count--;
	if (fresh) {
		if (list_empty(&oldest->waiting))
			free_report(oldest);
		return fresh;
	}
	if (!list_empty(&oldest->waiting)) {
		stop_waiting(reports, oldest);
		reports->lost = true;
	}
	put_pid(oldest->pid);
	return oldest;
}

/**
 * rca_report() - report an operation or event
 * @reports: the reports of the network namespace of the id
 * @report: the record; this function sets its @at and @serial
 * @keep: the record is a failure: add it to the failure log
 *
 * Context: Any context.
 */
void rca_report(struct rca_reports *reports, struct rca_report *report, bool keep)
{
	struct rca_report *entry, *fresh;
	unsigned long flags;
	bool wanted;

	rcu_read_lock();	/* rca_reports_send_to() waits for it */
	wanted = rca_reports_wanted(reports->net);
	if (!keep && !wanted)
		goto out_unlock;
	fresh = kmalloc(sizeof(*fresh), GFP_NOWAIT | __GFP_NOWARN | __GFP_ACCOUNT);
	spin_lock_irqsave(&reports->lock, flags);
	report->at = ktime_get_real_ns();
	if (keep)
		report->serial = ++reports->serial;
	entry = keep ? make_room_in_log(reports, fresh) : fresh;
	if (entry) {
		*entry = *report;
		INIT_LIST_HEAD(&entry->kept);
		INIT_LIST_HEAD(&entry->waiting);
		get_pid(entry->pid);	/* put in free_report() or make_room_in_log() */
	}
	if (entry && keep) {
		list_add_tail(&entry->kept, &reports->log);
		reports->count++;
	}
	if (wanted)
		wait_to_send(reports, fresh);
	if (entry && !keep && list_empty(&entry->waiting))
		free_report(entry);
	spin_unlock_irqrestore(&reports->lock, flags);
out_unlock:
	rcu_read_unlock();
}

/* May a refused request be reported now? Any context. */
bool rca_reports_ratelimit(struct net *net)
{
	return __ratelimit(&rca_reports_of(net)->refusals);
}

/**
 * rca_reports_next() - iterate over the failure log of a namespace, the oldest record first
 * @net: the namespace
 * @after: serial number of the previous record, 0 to start
 * @copy: set to the next record; its @pid holds a reference, for put_pid()
 *
 * Context: Any context.
 * Return: false if there is no further record.
 */
bool rca_reports_next(struct net *net, u64 after, struct rca_report *copy)
{
	struct rca_reports *reports = rca_reports_of(net);
	struct rca_report *report;
	unsigned long flags;
	bool found = false;

	spin_lock_irqsave(&reports->lock, flags);
	list_for_each_entry(report, &reports->log, kept) {
		if (report->serial <= after)
			continue;
		*copy = *report;
		get_pid(copy->pid);
		found = true;
		break;
	}
	spin_unlock_irqrestore(&reports->lock, flags);
	return found;
}

/* Module init and exit. */

RCA_VISIBLE_IF_KUNIT void rca_reports_init(struct rca_reports *reports, struct net *net)
{
	spin_lock_init(&reports->lock);
	reports->net = net;
	INIT_LIST_HEAD(&reports->log);
	INIT_LIST_HEAD(&reports->wait);
	INIT_WORK(&reports->work, deliver_work);
	ratelimit_state_init(&reports->refusals, HZ, 8);
	ratelimit_set_flags(&reports->refusals, RATELIMIT_MSG_ON_RELEASE);
}

static int __net_init reports_net_init(struct net *net)
{
	rca_reports_init(rca_reports_of(net), net);
	return 0;
}

/* Ids, and records that wait, hold references on the namespace, so there are none any more. */
static void __net_exit reports_net_exit(struct net *net)
{
	struct rca_report *report, *tmp;

	list_for_each_entry_safe(report, tmp, &rca_reports_of(net)->log, kept)
		free_report(report);
}

static struct pernet_operations reports_net_ops = {
	.init = reports_net_init,
	.exit = reports_net_exit,
	.id = &reports_id,
	.size = sizeof(struct rca_reports),
};

/* Create the failure log of each namespace. Module init. */
int rca_report_init(void)
{
	int ret;

	/* Ordered: the work of each namespace sends one record, and is queued behind the others. */
	reports_wq = alloc_ordered_workqueue("rdma_cm_alt_report", 0);
	if (!reports_wq)
		return -ENOMEM;
	ret = register_pernet_subsys(&reports_net_ops);
	if (ret)
		destroy_workqueue(reports_wq);
	return ret;
}

/* Free all failure logs. Module exit; no id exists any more, and nothing waits to be sent. */
void rca_report_exit(void)
{
	unregister_pernet_subsys(&reports_net_ops);
	destroy_workqueue(reports_wq);
}
