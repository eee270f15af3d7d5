// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * The completion queue of a link, and the work that handles completions and sends what waits.
 *
 * One run of the work handles all completions that there are. Records that are sent meanwhile, as
 * answers or by programs, are collected, and leave together at its end. While a SEND is under way,
 * a program that has something to send lets the work run, too, so connections share a frame. If
 * none is, a record is sent at once.
 *
 * Locking: rca_trunk.lock; rca_trunk_link.cq_lock in the callback of the queue.
 */
#include "trunk/link.h"

#include <linux/workqueue.h>

#include "device/devices.h"
#include "trunk/trunk.h"

/* Completions that are taken at once, and in one run of the work. */
#define POLL_BATCH	16
#define POLL_MOST	256

/*
 * Callback of the completion queue. The work may have handled the completion already, so this may
 * come when the QP is destroyed.
 */
static void completed(struct ib_cq *cq, void *context)
{
	struct rca_trunk_link *link = context;
	unsigned long flags;

	spin_lock_irqsave(&link->cq_lock, flags);
	if (!link->cq_ends)
		rca_link_run(link);
	spin_unlock_irqrestore(&link->cq_lock, flags);
}

static void begin_batch(struct rca_trunk *trunk)
{
	spin_lock(&trunk->lock);
	trunk->handling = true;
	spin_unlock(&trunk->lock);
}

static void end_batch(struct rca_trunk_link *link)
{
	struct rca_trunk *trunk = link->trunk;

	spin_lock(&trunk->lock);
	trunk->handling = false;
	rca_link_push(link);
	spin_unlock(&trunk->lock);
}

/* Handles completions. Returns whether there may be more. */
static bool poll(struct rca_trunk_link *link)
{
	struct ib_wc wcs[POLL_BATCH];
	int left = POLL_MOST, count, i;

	do {
		count = ib_poll_cq(link->cq, POLL_BATCH, wcs);
		for (i = 0; i < count; i++)
			wcs[i].wr_cqe->done(link->cq, &wcs[i]);
		left -= count;
		if (left <= 0)
			return true;
	} while (count > 0);
	return ib_req_notify_cq(link->cq, IB_CQ_NEXT_COMP | IB_CQ_REPORT_MISSED_EVENTS) > 0;
}

/* The work of a link. It holds no reference: rca_link_destroy_cq() waits for it. */
static void poll_work(struct work_struct *work)
{
	struct rca_trunk_link *link = container_of(work, struct rca_trunk_link, poll);
	bool more;

	begin_batch(link->trunk);
	more = poll(link);
	end_batch(link);
	if (more)
		rca_link_run(link);
}

/**
 * rca_link_create_cq() - create the completion queue of a link
 * @link: the link
 * @entries: number of its entries
 *
 * Context: Process context. Sleeps. Only the work of its trunk calls it.
 * Return: 0 or a negative errno; rca_link_destroy_cq() is needed in both cases.
 */
int rca_link_create_cq(struct rca_trunk_link *link, unsigned int entries)
{
	const struct ib_cq_init_attr attr = { .cqe = entries };

	INIT_WORK(&link->poll, poll_work);
	spin_lock_init(&link->cq_lock);
	link->cq = ib_create_cq(link->trunk->dev->ibdev, completed, NULL, link, &attr);
	if (IS_ERR(link->cq))
		return PTR_ERR(link->cq);
	return ib_req_notify_cq(link->cq, IB_CQ_NEXT_COMP);
}

/**
 * rca_link_destroy_cq() - destroy the completion queue of a link
 * @link: the link, whose QP is destroyed
 *
 * Context: Process context. Sleeps. Only the work of its trunk calls it.
 */
void rca_link_destroy_cq(struct rca_trunk_link *link)
{
	if (IS_ERR_OR_NULL(link->cq))
		return;
	spin_lock_irq(&link->cq_lock);
	link->cq_ends = true;
	spin_unlock_irq(&link->cq_lock);
	cancel_work_sync(&link->poll);
	ib_destroy_cq(link->cq);
}
