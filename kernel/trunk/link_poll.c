// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * The completion queues of a link, and the work that handles completions and sends what waits.
 *
 * One run of the work handles all completions that there are. Records that are sent meanwhile, as
 * answers or by programs, are collected, and leave together at its end. While a SEND is under way,
 * a program that has something to send lets the work run, too, so connections share a frame. If
 * none is, a record is sent at once.
 *
 * Completions of SENDs only tell that there is room for others. So they are looked at when there
 * is something to send, and the work runs for them only if there is no room, or the QP is drained.
 *
 * Locking: rca_trunk.lock; rca_trunk_link.cq_lock in the callback of the queues.
 */
#include "trunk/link.h"

#include <linux/jiffies.h>
#include <linux/percpu.h>
#include <linux/sched.h>
#include <linux/workqueue.h>

#include "transport/devices.h"
#include "trunk/trunk.h"

/* Completions that are taken at once, and in one run of the work. */
#define POLL_BATCH	16
#define POLL_MOST	256

/*
 * Callback of the completion queues. The work may have handled the completion already, so this may
 * come when the QP is destroyed.
 */
static void completed(struct ib_cq *cq, void *context)
{
	struct rca_trunk_link *link = context;
	unsigned long flags;

	if (cq == link->send_cq)
		WRITE_ONCE(link->armed, false);
	spin_lock_irqsave(&link->cq_lock, flags);
	if (!link->cq_ends)
		rca_link_run(link);
	spin_unlock_irqrestore(&link->cq_lock, flags);
}

static void begin_batch(struct rca_trunk_link *link)
{
	struct rca_trunk *trunk = link->trunk;

	spin_lock(&trunk->lock);
	rca_link_reap_sends(link);
	trunk->handling = true;
	spin_unlock(&trunk->lock);
}

/* Returns whether the work has to run again. */
static bool end_batch(struct rca_trunk_link *link)
{
	struct rca_trunk *trunk = link->trunk;
	bool more = false;

	spin_lock(&trunk->lock);
	trunk->handling = false;
	rca_link_reap_sends(link);
	rca_link_push(link);
	if (rca_link_needs_completion(link))
		more = rca_link_arm_sends(link);
	spin_unlock(&trunk->lock);
	return more;
}

/* Handles received frames. Returns whether there may be more. */
static bool poll(struct rca_trunk_link *link)
{
	struct ib_wc wcs[POLL_BATCH];
	int left = POLL_MOST, count, i;

	do {
		count = ib_poll_cq(link->receive_cq, POLL_BATCH, wcs);
		for (i = 0; i < count; i++)
			wcs[i].wr_cqe->done(link->receive_cq, &wcs[i]);
		left -= count;
		if (left <= 0)
			return true;
	} while (count > 0);
	return rca_link_notify(link->receive_cq);
}

/*
 * While many connections are made, tasks that can run have more to send, but a work that is woken
 * comes before them: without this, their records leave in four times as many frames. There is no
 * event to wait for, and a timer would delay the records of an idle processor. Tasks that run for a
 * whole tick and send nothing are no users of trunks: the link waits for those about a ninth of
 * the time.
 */
static void let_others_run(struct rca_trunk_link *link)
{
	unsigned int pushes = this_cpu_read(rca_trunk_pushes);
	unsigned long begin = jiffies, took;

	if (!READ_ONCE(link->shared) || time_before(begin, link->yield_at))
		return;
	yield();
	took = jiffies - begin;
	if (took > 1 && this_cpu_read(rca_trunk_pushes) == pushes)
		link->yield_at = jiffies + 8 * took;
}

/* The work of a link. It holds no reference: rca_link_stop_cqs() waits for it. */
static void poll_work(struct work_struct *work)
{
	struct rca_trunk_link *link = container_of(work, struct rca_trunk_link, poll);
	bool more;

	let_others_run(link);
	begin_batch(link);
	more = poll(link);
	more |= end_batch(link);
	if (more)
		rca_link_run(link);
}

/*
 * A SEND that is under way for some milliseconds may be lost: see link_frames.c. It holds no
 * reference: rca_link_stop_cqs() waits for it.
 */
static void overdue_work(struct work_struct *work)
{
	struct rca_trunk_link *link = container_of(to_delayed_work(work), struct rca_trunk_link,
						   overdue);
	struct rca_trunk *trunk = link->trunk;
	u32 done;

	spin_lock(&trunk->lock);
	rca_link_reap_sends(link);
	done = link->posted - link->under_way;
	if (!link->closed && link->under_way) {
		if ((s32)(link->due - done) > 0) {
			rca_session_ask_ack(&trunk->session);
			rca_link_push(link);
		}
		link->due = link->posted;
		rca_link_run_overdue(link);
	}
	spin_unlock(&trunk->lock);
}

static struct ib_cq *create_cq(struct rca_trunk_link *link, unsigned int entries)
{
	const struct ib_cq_init_attr attr = { .cqe = entries };

	return ib_create_cq(link->trunk->dev->ibdev, completed, NULL, link, &attr);
}

/**
 * rca_link_create_cqs() - create the completion queues of a link
 * @link: the link
 * @sends: number of entries for SENDs
 * @receives: number of entries for receives
 *
 * Context: Process context. Sleeps. Only the work of its trunk calls it.
 * Return: 0 or a negative errno; rca_link_stop_cqs() and rca_link_destroy_cqs() are needed
 * in both cases.
 */
int rca_link_create_cqs(struct rca_trunk_link *link, unsigned int sends, unsigned int receives)
{
	INIT_WORK(&link->poll, poll_work);
	INIT_DELAYED_WORK(&link->overdue, overdue_work);
	spin_lock_init(&link->cq_lock);
	link->send_cq = create_cq(link, sends);
	if (IS_ERR(link->send_cq))
		return PTR_ERR(link->send_cq);
	link->receive_cq = create_cq(link, receives);
	if (IS_ERR(link->receive_cq))
		return PTR_ERR(link->receive_cq);
	return ib_req_notify_cq(link->receive_cq, IB_CQ_NEXT_COMP);
}

/**
 * rca_link_stop_cqs() - handle no completion of a link any more
 * @link: the link, whose QP is drained
 *
 * Context: Process context. Sleeps. Only the work of its trunk calls it.
 */
void rca_link_stop_cqs(struct rca_trunk_link *link)
{
	if (IS_ERR_OR_NULL(link->send_cq))
		return;
	spin_lock_irq(&link->cq_lock);
	link->cq_ends = true;
	spin_unlock_irq(&link->cq_lock);
	cancel_delayed_work_sync(&link->overdue);
	cancel_work_sync(&link->poll);
}

/**
 * rca_link_destroy_cqs() - destroy the completion queues of a link
 * @link: the link, after rca_link_stop_cqs(), whose QP is destroyed
 *
 * Context: Process context. Sleeps.
 */
void rca_link_destroy_cqs(struct rca_trunk_link *link)
{
	if (!IS_ERR_OR_NULL(link->send_cq))
		ib_destroy_cq(link->send_cq);
	link->send_cq = NULL;
	if (!IS_ERR_OR_NULL(link->receive_cq))
		ib_destroy_cq(link->receive_cq);
	link->receive_cq = NULL;
}
