// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * The switch of all ports: one worker takes the packets in the order in which they were sent,
 * applies the rules to MADs, and delivers each packet to its QPs.
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

#include "fabric/host.h"
#include "fabric/messages.h"
#include "fabric/peers.h"
#include "fabric/rules.h"
#include "fabric/sa.h"
#include "port.h"
#include "verbs/acked.h"
#include "verbs/verbs.h"

#define QUEUE_MAX	16384
#define OVERTAKE_MS	200	/* a packet that nothing overtakes goes on after this */
#define RETRY_MS	10	/* what a connected QP cannot receive is tried again */
#define RETRIES		200
#define RNR_FOR_EVER	7	/* InfiniBand specification, vol. 1, section 9.7.5.2.8 */

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
static LIST_HEAD(due);		/* of the held ones */
static struct workqueue_struct *worker;
static void run_queue(struct work_struct *work);
static void release_held(struct work_struct *work);
static DECLARE_WORK(run_work, run_queue);
static DECLARE_DELAYED_WORK(tick_work, release_held);

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

/* An empty MAD from the receiver of a MAD to its sender, or NULL. */
struct hca_packet *hca_packet_answer(const struct hca_packet *packet)
{
	struct hca_packet *answer = hca_packet_new(IB_MGMT_MAD_SIZE, GFP_KERNEL);

	if (!answer)
		return NULL;
	answer->slid = packet->dlid;
	answer->dlid = packet->slid;
	answer->sl = packet->sl;
	answer->pkey = packet->pkey;
	answer->src_qpn = 1;
	answer->dst_qpn = packet->src_qpn;
	answer->qkey = HCA_GSI_QKEY;
	return answer;
}

/* Takes the packet over. Any context. */
void hca_fabric_send(struct hca_packet *packet)
{
	unsigned long flags;

	if (!packet->ack.refused)
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
		hca_acked_end(packet, IB_WC_RETRY_EXC_ERR);
		kfree(packet);
	}
}

/* Delivers a packet later. The list is in the order in which the packets were sent. */
static void hold_packet(struct hca_packet *packet, unsigned int ms)
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

/* Whether an earlier packet of the same connection is held, which must be delivered first. */
static bool is_behind_held(const struct hca_packet *packet)
{
	const struct hca_packet *other;

	list_for_each_entry(other, &held, entry)
		if (other->connected && other->from == packet->from &&
		    other->order < packet->order)
			return true;
	return false;
}

/* Is the port up from which a reliable packet is sent? Others are not sent if it is not. */
static bool sender_is_up(const struct hca_packet *packet)
{
	const struct hca_port *port;

	if (!packet->reliable)
		return true;
	port = hca_port_by_lid(packet->slid);
	return port && port->up;
}

/* The destination QP of a packet, with a reference, and the index of its P_Key. */
static struct hca_qp *find_qp(const struct hca_packet *packet, u16 *pkey_index)
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
	if ((!port->up || !sender_is_up(packet)) && packet->dst_qpn) {
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

/* Clients of the kernel start soft interrupts, as from an interrupt of hardware. */
static void end_send(struct hca_packet *packet, enum ib_wc_status status)
{
	local_bh_disable();
	hca_acked_end(packet, status);
	local_bh_enable();
}

/* The QP of a message fails. Later messages of it are flushed when it is their turn. */
static void fail_sender(struct hca_packet *packet, enum ib_wc_status status)
{
	struct hca_qp *qp = packet->ack.qp;

	refcount_inc(&qp->refs);	/* put below */
	end_send(packet, status);
	hca_qp_fail(qp);
	hca_qp_put(qp);
}

/* Counts the attempts to deliver a packet. Returns whether this was the last one. */
static bool gave_up(struct hca_packet *packet)
{
	if (++packet->tries < RETRIES)
		return false;
	if (packet->reliable)
		fail_sender(packet, IB_WC_RETRY_EXC_ERR);
	return true;
}

/* Does the sender wait as long as it takes until the receiver has a receive request? */
static bool waits_for_request(const struct hca_packet *packet)
{
	return packet->ack.qp && READ_ONCE(packet->ack.qp->attr.rnr_retry) == RNR_FOR_EVER;
}

/* To one QP. Returns whether the packet is done with, else it has to be tried again. */
static bool deliver_unicast(struct hca_packet *packet)
{
	enum ib_wc_status refused;
	struct hca_qp *qp;
	u16 pkey_index;
	int ret;

	if (packet->connected && is_behind_held(packet))
		return false;
	refused = hca_acked_refused(packet);
	if (refused) {
		end_send(packet, refused);
		return true;
	}
	spin_lock_irq(&hca_lock);
	qp = find_qp(packet, &pkey_index);
	spin_unlock_irq(&hca_lock);
	if (!qp)
		return !packet->reliable || gave_up(packet);
	hca_messages_to_port(packet);
	ret = hca_receive(qp, packet, pkey_index);
	/* Both ends of a connection fail, as its messages would not be in order any more. */
	if (ret == -EACCES)
		hca_qp_fail(qp);
	hca_qp_put(qp);
	if (ret == -EACCES && packet->reliable) {
		fail_sender(packet, IB_WC_REM_ACCESS_ERR);
		return true;
	}
	if (ret != -EAGAIN && ret != -ENOBUFS) {
		end_send(packet, IB_WC_SUCCESS);
		return true;
	}
	if (ret == -ENOBUFS && waits_for_request(packet))
		return false;
	if (!gave_up(packet))
		return false;
	hca_count(HCA_NO_BUFFER);
	return true;
}

#define TARGETS	64

/* The QPs that are attached to the group of a packet, with a reference each. */
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

/* To all attached QPs on ports that have joined. */
static void deliver_multicast(struct hca_packet *packet)
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

/* Delivers a packet by its LID; it is freed, or held for another attempt. */
static void deliver_packet(struct hca_packet *packet)
{
	const struct ib_mad_hdr *mad = hca_packet_mad(packet);

	if (packet->dlid >= be16_to_cpu(IB_MULTICAST_LID_BASE) &&
	    packet->dlid != be16_to_cpu(IB_LID_PERMISSIVE)) {
		deliver_multicast(packet);
	} else if (mad && packet->dlid == hca_sa_lid()) {
		hca_sa_request(packet);
	} else if (mad && hca_peer_has(packet->dlid)) {
		hca_peer_answer(packet);
	} else if (mad && hca_host_receive(packet)) {
		hca_messages_to_peer(packet);
	} else if (!deliver_unicast(packet)) {
		hold_packet(packet, RETRY_MS);
		return;
	}
	kfree(packet);
}

/* A packet was delivered: the first reordered packet follows it. */
static void deliver_reordered(void)
{
	struct hca_packet *packet;

	list_for_each_entry(packet, &held, entry) {
		if (packet->behind) {
			list_del(&packet->entry);
			deliver_packet(packet);
			return;
		}
	}
}

/* Applies the verdict of the rules to a packet. */
static void apply_rules(struct hca_packet *packet)
{
	struct hca_packet *twin;
	unsigned int ms;

	switch (hca_rules_judge(packet, &ms)) {
	case HCA_DROP:
		kfree(packet);
		return;
	case HCA_DELAY:
		hold_packet(packet, ms);
		return;
	case HCA_REORDER:
		packet->behind = true;
		hold_packet(packet, OVERTAKE_MS);
		return;
	case HCA_DUPLICATE:
		twin = kmemdup(packet, struct_size(packet, data, packet->len), GFP_KERNEL);
		if (twin)
			hold_packet(twin, ms);
		break;
	case HCA_MUTATE:
	case HCA_PASS:
		break;
	}
	deliver_packet(packet);
	deliver_reordered();
}

static void run_queue(struct work_struct *work)
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
			apply_rules(packet);
		else
			deliver_packet(packet);
		cond_resched();
	}
}

/* Delivers the held packets that are due, and requeues itself for the next one. */
static void release_held(struct work_struct *work)
{
	struct hca_packet *packet, *next;
	unsigned long now = jiffies, wait = 0;

	list_for_each_entry_safe(packet, next, &held, entry)
		if (time_after_eq(now, packet->due))
			list_move_tail(&packet->entry, &due);
	while ((packet = list_first_entry_or_null(&due, struct hca_packet, entry))) {
		list_del(&packet->entry);
		deliver_packet(packet);
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

	/* From here on neither senders nor the worker queue anything. */
	spin_lock_irq(&queue_lock);
	off = true;
	spin_unlock_irq(&queue_lock);
	cancel_delayed_work_sync(&tick_work);
	destroy_workqueue(worker);
	list_splice_init(&queue, &held);
	list_for_each_entry_safe(packet, next, &held, entry)
		kfree(packet);
}
