// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * The switch that all ports are plugged into: one worker takes the packets in the order in which
 * they were sent, lets the rules look at the MADs, and hands each to the QPs it is for.
 *
 * Locking: @queue_lock for the list that senders add to, its count, the next number and whether
 * the switch is off, from any context. What is held is touched by the one worker of an ordered
 * workqueue only.
 */
#include "fabric/fabric.h"

#include <linux/atomic.h>
#include <linux/jiffies.h>
#include <linux/seq_file.h>
#include <linux/slab.h>
#include <linux/workqueue.h>

#include "fabric/rules.h"
#include "fabric/sa.h"
#include "port.h"
#include "verbs/verbs.h"

#define QUEUE_MAX	16384
#define OVERTAKE_MS	200	/* a packet that nothing overtakes goes on after this */
#define RETRY_MS	10	/* a connected QP without a receive request is tried again */
#define RETRIES		200

static const char *const count_names[] = {
	[HCA_SENT] = "sent",
	[HCA_DELIVERED] = "delivered",
	[HCA_PORT_DOWN] = "port_down",
	[HCA_NO_PORT] = "no_port",
	[HCA_NO_QP] = "no_qp",
	[HCA_BAD_PKEY] = "bad_pkey",
	[HCA_BAD_QKEY] = "bad_qkey",
	[HCA_NO_BUFFER] = "no_buffer",
	[HCA_NO_MEMBER] = "no_member",
	[HCA_TOO_MANY] = "too_many",
	[HCA_SA_ANSWERED] = "sa_answered",
	[HCA_SA_REFUSED] = "sa_refused",
};
static_assert(ARRAY_SIZE(count_names) == HCA_COUNTS);

static atomic64_t counts[HCA_COUNTS];
static DEFINE_SPINLOCK(queue_lock);
static LIST_HEAD(queue);
static unsigned int queued;
static u64 order_next;
static bool off;
static LIST_HEAD(held);
static struct workqueue_struct *worker;
static void run(struct work_struct *work);
static void tick(struct work_struct *work);
static DECLARE_WORK(run_work, run);
static DECLARE_DELAYED_WORK(tick_work, tick);

void hca_count(enum hca_count what)
{
	atomic64_inc(&counts[what]);
}

void hca_count_show(struct seq_file *file)
{
	int i;

	for (i = 0; i < HCA_COUNTS; i++)
		seq_printf(file, "%s %llu\n", count_names[i], (u64)atomic64_read(&counts[i]));
}

/* An empty packet, for hca_fabric_send() or kfree(). */
struct hca_packet *hca_packet_new(u32 len, gfp_t gfp)
{
	struct hca_packet *packet = kzalloc(struct_size(packet, data, len), gfp);

	if (packet)
		packet->len = len;
	return packet;
}

/* Takes the packet over. Any context. */
void hca_fabric_send(struct hca_packet *packet)
{
	unsigned long flags;

	hca_count(HCA_SENT);
	spin_lock_irqsave(&queue_lock, flags);
	if (queued < QUEUE_MAX && !off) {
		packet->order = order_next++;
		list_add_tail(&packet->entry, &queue);
		queued++;
		packet = NULL;
		queue_work(worker, &run_work);
	}
	spin_unlock_irqrestore(&queue_lock, flags);
	if (packet) {
		hca_count(HCA_TOO_MANY);
		kfree(packet);
	}
}

/* hold: the packet goes on later. The list is in the order in which the packets were sent. */
static void hold(struct hca_packet *packet, unsigned int ms)
{
	struct hca_packet *other;

	packet->due = jiffies + msecs_to_jiffies(ms);
	list_for_each_entry(other, &held, entry)
		if (other->order > packet->order)
			break;
	list_add_tail(&packet->entry, &other->entry);
	spin_lock_irq(&queue_lock);
	if (!off)
		mod_delayed_work(worker, &tick_work, 0);
	spin_unlock_irq(&queue_lock);
}

/* waits: an earlier packet of the same connection is held, so this one has to wait for it. */
static bool waits(const struct hca_packet *packet)
{
	const struct hca_packet *other;

	list_for_each_entry(other, &held, entry)
		if (other->connected && other->from == packet->from &&
		    other->order < packet->order)
			return true;
	return false;
}

/* find: the QP a packet is for and the P_Key by which it comes; a reference is held. */
static struct hca_qp *find(const struct hca_packet *packet, u16 *pkey_index)
{
	struct hca_port *port;
	struct hca_qp *qp;
	int index;

	lockdep_assert_held(&hca_lock);
	port = packet->dlid ? hca_port_by_lid(packet->dlid) : NULL;
	if (packet->has_grh) {
		struct hca_port *by_gid = hca_port_by_gid(&packet->grh.dgid);

		/* A route may lead to another GID of the port; one of another port is wrong. */
		if (packet->dlid && port != by_gid)
			port = NULL;
		else
			port = by_gid;
	}
	if (!port) {
		hca_count(HCA_NO_PORT);
		return NULL;
	}
	if (!port->up && packet->dst_qpn) {
		hca_count(HCA_PORT_DOWN);
		return NULL;
	}
	qp = hca_qp_get(port->dev, hca_qp_key(packet->dst_qpn, port->num));
	if (!qp || qp->port != port->num) {
		hca_count(HCA_NO_QP);
		goto err_put;
	}
	index = qp->attr.pkey_index;
	if (packet->dst_qpn == 1)
		index = hca_port_pkey_index(port, packet->pkey);
	if (packet->dst_qpn && (index < 0 || index >= HCA_PKEYS ||
				!hca_pkeys_match(port->pkeys[index], packet->pkey))) {
		hca_count(HCA_BAD_PKEY);
		goto err_put;
	}
	*pkey_index = index;
	return qp;

err_put:
	if (qp)
		hca_qp_put(qp);
	return NULL;
}

/* unicast: to one QP. Returns whether the packet is done with, else it is to be tried again. */
static bool unicast(struct hca_packet *packet)
{
	struct hca_qp *qp;
	u16 pkey_index;
	int ret;

	if (packet->connected && waits(packet))
		return false;
	spin_lock_irq(&hca_lock);
	qp = find(packet, &pkey_index);
	spin_unlock_irq(&hca_lock);
	if (!qp)
		return true;
	ret = hca_receive(qp, packet, pkey_index);
	hca_qp_put(qp);
	if (ret != -EAGAIN)
		return true;
	if (++packet->tries < RETRIES)
		return false;
	hca_count(HCA_NO_BUFFER);
	return true;
}

#define TARGETS	64

/* attached: the QPs that are attached to the group of a packet, with a reference each. */
static unsigned int attached(const struct hca_packet *packet, struct hca_qp **qps)
{
	struct hca_group *group;
	unsigned int count = 0;

	spin_lock_irq(&hca_lock);
	list_for_each_entry(group, &hca_groups, entry) {
		struct hca_qp *qp = group->qp;
		struct hca_port *port;
		u16 index = qp->attr.pkey_index;

		if (group->mlid != packet->dlid || !qp->port ||
		    memcmp(&group->mgid, &packet->grh.dgid, sizeof(group->mgid)) ||
		    (qp->no_loop && qp == packet->from))
			continue;
		port = hca_port(qp->ib.device, qp->port);
		if (!port->up || index >= HCA_PKEYS ||
		    !hca_pkeys_match(port->pkeys[index], packet->pkey))
			continue;
		if (count == TARGETS) {
			hca_count(HCA_TOO_MANY);
			break;
		}
		refcount_inc(&qp->refs);
		qps[count++] = qp;
	}
	spin_unlock_irq(&hca_lock);
	return count;
}

/* multicast: to all QPs that are attached, on ports that have joined. */
static void multicast(struct hca_packet *packet)
{
	struct hca_qp *qps[TARGETS];
	unsigned int i, count;

	if (!packet->has_grh) {
		hca_count(HCA_NO_PORT);
		return;
	}
	count = attached(packet, qps);
	for (i = 0; i < count; i++) {
		struct hca_port *port = hca_port(qps[i]->ib.device, qps[i]->port);

		if (hca_sa_receives(&packet->grh.dgid, port->dev->guid + port->num))
			hca_receive(qps[i], packet, qps[i]->attr.pkey_index);
		else
			hca_count(HCA_NO_MEMBER);
		hca_qp_put(qps[i]);
	}
}

/* route: to where the packet wants; it is freed, or held to be tried again. */
static void route(struct hca_packet *packet)
{
	const struct ib_mad_hdr *mad = hca_packet_mad(packet);

	if (packet->dlid >= be16_to_cpu(IB_MULTICAST_LID_BASE) &&
	    packet->dlid != be16_to_cpu(IB_LID_PERMISSIVE)) {
		multicast(packet);
	} else if (mad && packet->dlid == hca_sa_lid()) {
		hca_sa_request(packet);
	} else if (!unicast(packet)) {
		hold(packet, RETRY_MS);
		return;
	}
	kfree(packet);
}

/* overtaken: another went by, so the first that waits for this goes on. */
static void overtaken(void)
{
	struct hca_packet *packet;

	list_for_each_entry(packet, &held, entry) {
		if (packet->behind) {
			list_del(&packet->entry);
			route(packet);
			return;
		}
	}
}

/* judge: what the rules say of a packet is done to it. */
static void judge(struct hca_packet *packet)
{
	struct hca_packet *twin;
	unsigned int ms;

	switch (hca_rules_judge(packet, &ms)) {
	case HCA_DROP:
		kfree(packet);
		return;
	case HCA_DELAY:
		hold(packet, ms);
		return;
	case HCA_REORDER:
		packet->behind = true;
		hold(packet, OVERTAKE_MS);
		return;
	case HCA_DUPLICATE:
		twin = kmemdup(packet, struct_size(packet, data, packet->len), GFP_KERNEL);
		if (twin)
			hold(twin, ms);
		break;
	case HCA_MUTATE:
	case HCA_PASS:
		break;
	}
	route(packet);
	overtaken();
}

static void run(struct work_struct *work)
{
	struct hca_packet *packet;

	for (;;) {
		spin_lock_irq(&queue_lock);
		packet = list_first_entry_or_null(&queue, struct hca_packet, entry);
		if (packet) {
			list_del(&packet->entry);
			queued--;
		}
		spin_unlock_irq(&queue_lock);
		if (!packet)
			return;
		if (hca_packet_mad(packet))
			judge(packet);
		else
			route(packet);
		cond_resched();
	}
}

/* tick: what was held long enough goes on; comes again when the next is due. */
static void tick(struct work_struct *work)
{
	struct hca_packet *packet, *next;
	unsigned long now = jiffies, wait = 0;
	LIST_HEAD(due);

	list_for_each_entry_safe(packet, next, &held, entry)
		if (time_after_eq(now, packet->due))
			list_move_tail(&packet->entry, &due);
	list_for_each_entry_safe(packet, next, &due, entry) {
		list_del(&packet->entry);
		route(packet);
	}
	list_for_each_entry(packet, &held, entry)
		if (!wait || packet->due - now < wait)
			wait = max(1UL, packet->due - now);
	spin_lock_irq(&queue_lock);
	if (wait && !off)
		mod_delayed_work(worker, &tick_work, wait);
	spin_unlock_irq(&queue_lock);
}

/* Before any adapter. */
int hca_fabric_init(void)
{
	worker = alloc_ordered_workqueue("rca_hca", WQ_MEM_RECLAIM);
	return worker ? 0 : -ENOMEM;
}

/* After the last adapter. Packets in flight are lost. */
void hca_fabric_exit(void)
{
	struct hca_packet *packet, *next;

	/* Nothing is queued any more once this is said, neither by senders nor by the worker. */
	spin_lock_irq(&queue_lock);
	off = true;
	spin_unlock_irq(&queue_lock);
	cancel_delayed_work_sync(&tick_work);
	destroy_workqueue(worker);
	list_splice_init(&queue, &held);
	list_for_each_entry_safe(packet, next, &held, entry)
		kfree(packet);
}
