// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * The QP of a link, and its buffers.
 *
 * Locking: none of its own; only the work of a trunk calls these functions, and then the work that
 * frees the link.
 */
#include "trunk/trunk.h"

#include <linux/delay.h>
#include <linux/gfp.h>
#include <linux/jiffies.h>
#include <linux/sched.h>
#include <linux/sched/stat.h>
#include <linux/workqueue.h>
#include <rdma/ib_cache.h>

#include "lib/testing.h"
#include "transport/transport.h"

/*
 * The completion queues of a link, and the work that handles completions and sends records.
 *
 * One run of the work handles all completions that it finds. Records that are sent meanwhile, as
 * answers or by programs, are collected, and leave together at its end. While a SEND is under way,
 * a program that sends a record queues the work, too, so connections share a frame. Otherwise the
 * record is sent at once.
 *
 * The completion of a SEND only makes room for another one. So the queue of SENDs is polled when
 * there is a record to send, and the work runs for completions of SENDs only if there is no room,
 * or while the QP is drained.
 *
 * Locking: rca_trunk.lock; rca_trunk_link.cq_lock in the callback of the queues.
 */

/* Completions for each poll of a queue, and for each run of the work. */
#define POLL_BATCH	16
#define POLL_MOST	256

/*
 * Callback of the completion queues. The work may have handled the completion before, so the
 * callback may run while the QP is destroyed.
 */
static void link_cq_completed(struct ib_cq *cq, void *context)
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

/* Handle received frames. Returns whether there may be more. */
static bool poll_receives(struct rca_trunk_link *link)
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
		cond_resched();
	} while (count > 0);
	return rca_link_notify(link->receive_cq);
}

/* How long, and how often in a row, the work of a link sleeps for other tasks. */
#define MOMENT_US	400
#define MOST_MOMENTS	5

/*
 * While many connections are made, runnable tasks have more to send, but the work that is woken
 * precedes them: without this, their records leave in four times as many frames. So the work sleeps
 * for a moment if other tasks are runnable on its processor, and goes on sleeping while they send.
 * On an idle processor, and while frames have the records of one connection, it does not.
 */
static void let_others_run(struct rca_trunk_link *link)
{
	unsigned int moments, pushes;

	for (moments = 0; moments < MOST_MOMENTS; moments++) {
		if (!READ_ONCE(link->shared) || single_task_running())
			return;
		pushes = READ_ONCE(link->pushes);
		usleep_range(MOMENT_US, MOMENT_US + MOMENT_US / 4);
		if (READ_ONCE(link->pushes) == pushes)
			return;
	}
}

/* The work of a link. It holds no reference: rca_link_stop_cqs() waits for it. */
static void poll_work(struct work_struct *work)
{
	struct rca_trunk_link *link = container_of(work, struct rca_trunk_link, poll);
	bool more;

	let_others_run(link);
	begin_batch(link);
	more = poll_receives(link);
	more |= end_batch(link);
	if (more)
		rca_link_run(link);
}

/* A link ends if the peer reports no receive buffers for so long: it would never send again. */
#define MOST_OWED	(10UL * HZ)

/*
 * A SEND that is under way for some milliseconds may be lost: see frames.c. If all are complete,
 * the peer may still not handle what it receives. The work holds no reference: rca_link_stop_cqs()
 * waits for it.
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
			rca_credits_ask_ack(&link->credits);
			rca_link_push(link);
		}
		link->due = link->posted;
		rca_link_run_overdue(link, RCA_LINK_OVERDUE);
	} else {
		link->watched = false;
		if (!link->closed && rca_link_is_stuck(link, MOST_OWED)) {
			rca_trunk_because(trunk, "the peer acknowledges nothing");
			rca_link_tell(link, RCA_LINK_END);
		} else if (!link->closed && link->owed) {
			rca_link_run_overdue(link, HZ);
		}
	}
	spin_unlock(&trunk->lock);
}

/* The completion vectors of a device in turn, so that links interrupt different processors. */
RCA_VISIBLE_IF_KUNIT u32 rca_link_next_vector(const struct ib_device *ibdev)
{
	static atomic_t next;

	return ibdev->num_comp_vectors > 1 ?
		       (u32)atomic_inc_return(&next) % ibdev->num_comp_vectors : 0;
}

static struct ib_cq *create_cq(struct rca_trunk_link *link, unsigned int entries, u32 vector)
{
	const struct ib_cq_init_attr attr = { .cqe = entries, .comp_vector = vector };

	return ib_create_cq(rca_link_ibdev(link), link_cq_completed, NULL, link, &attr);
}

/*
 * Create the completion queues of a link, for @sends and @receives entries. Returns 0 or a negative
 * errno; rca_link_stop_cqs() and rca_link_destroy_cqs() are needed in both cases.
 */
RCA_VISIBLE_IF_KUNIT int rca_link_create_cqs(struct rca_trunk_link *link, unsigned int sends,
					     unsigned int receives)
{
	const u32 vector = rca_link_next_vector(rca_link_ibdev(link));

	INIT_WORK(&link->poll, poll_work);
	INIT_DELAYED_WORK(&link->overdue, overdue_work);
	spin_lock_init(&link->cq_lock);
	link->send_cq = create_cq(link, sends, vector);
	if (IS_ERR(link->send_cq))
		return PTR_ERR(link->send_cq);
	link->receive_cq = create_cq(link, receives, vector);
	if (IS_ERR(link->receive_cq))
		return PTR_ERR(link->receive_cq);
	return ib_req_notify_cq(link->receive_cq, IB_CQ_NEXT_COMP);
}

/* Handle no more completions of a link, whose QP is drained. Sleeps. */
RCA_VISIBLE_IF_KUNIT void rca_link_stop_cqs(struct rca_trunk_link *link)
{
	if (IS_ERR_OR_NULL(link->send_cq))
		return;
	spin_lock_irq(&link->cq_lock);
	link->cq_ends = true;
	spin_unlock_irq(&link->cq_lock);
	cancel_delayed_work_sync(&link->overdue);
	cancel_work_sync(&link->poll);
}

/* Called after rca_link_stop_cqs(), when the QP is destroyed. */
RCA_VISIBLE_IF_KUNIT void rca_link_destroy_cqs(struct rca_trunk_link *link)
{
	if (!IS_ERR_OR_NULL(link->send_cq))
		ib_destroy_cq(link->send_cq);
	link->send_cq = NULL;
	if (!IS_ERR_OR_NULL(link->receive_cq))
		ib_destroy_cq(link->receive_cq);
	link->receive_cq = NULL;
}

/* Buffer @number of the pages of a link. */
static void set_buf(struct rca_trunk_link *link, struct rca_link_buf *buf, unsigned int number,
		    void (*done)(struct ib_cq *cq, struct ib_wc *wc))
{
	unsigned int page = number * RCA_FRAME_MAX / PAGE_SIZE;
	unsigned int offset = number * RCA_FRAME_MAX % PAGE_SIZE;

	*buf = (struct rca_link_buf) {
		.cqe.done = done,
		.link = link,
		.data = page_address(link->pages[page]) + offset,
		.dma = link->dma[page] + offset,
	};
}

static void free_buffers(struct rca_trunk_link *link)
{
	int i;

	for (i = 0; i < RCA_LINK_PAGES && link->pages[i]; i++) {
		ib_dma_unmap_page(rca_link_ibdev(link), link->dma[i], PAGE_SIZE, DMA_BIDIRECTIONAL);
		__free_page(link->pages[i]);
		link->pages[i] = NULL;
	}
}

static int alloc_pages_of(struct rca_trunk_link *link)
{
	struct page *page;
	unsigned int i;
	u64 dma;

	for (i = 0; i < RCA_LINK_PAGES; i++) {
		page = alloc_page(GFP_KERNEL | __GFP_ZERO);
		if (!page)
			return -ENOMEM;
		dma = ib_dma_map_page(rca_link_ibdev(link), page, 0, PAGE_SIZE, DMA_BIDIRECTIONAL);
		if (ib_dma_mapping_error(rca_link_ibdev(link), dma)) {
			__free_page(page);
			return -ENOMEM;
		}
		link->pages[i] = page;
		link->dma[i] = dma;
	}
	return 0;
}

/* Returns 0 or a negative errno; free_buffers() is needed in both cases. */
static int alloc_buffers(struct rca_trunk_link *link)
{
	unsigned int i;
	int ret;

	ret = alloc_pages_of(link);
	if (ret)
		return ret;
	for (i = 0; i < RCA_LINK_RECEIVES; i++)
		set_buf(link, &link->receives[i], i, rca_link_receive_done);
	for (i = 0; i < RCA_LINK_FRAMES; i++)
		set_buf(link, &link->frames[i], RCA_LINK_RECEIVES + i, rca_link_send_done);
	return 0;
}

static int init_qp(struct rca_trunk_link *link)
{
	const struct rca_peer_key *key = &link->trunk->key.peer;
	struct ib_qp_attr attr = {
		.qp_state = IB_QPS_INIT,
		.port_num = key->port_num,
	};
	int ret;

	ret = ib_find_cached_pkey(rca_link_ibdev(link), key->port_num, key->pkey, &attr.pkey_index);
	if (ret)
		return ret;
	return ib_modify_qp(link->qp, &attr, IB_QP_STATE | IB_QP_ACCESS_FLAGS |
			    IB_QP_PKEY_INDEX | IB_QP_PORT);
}

/*
 * Create the QP of a link, and post its receive buffers. Returns 0 or a negative errno;
 * rca_link_drain_qp() and rca_link_destroy_qp() are needed in both cases.
 */
int rca_link_create_qp(struct rca_trunk_link *link)
{
	struct ib_qp_init_attr init = {
		.qp_type = IB_QPT_RC,
		.sq_sig_type = IB_SIGNAL_REQ_WR,
		/* One more of each for ib_drain_qp(). */
		.cap.max_send_wr = RCA_LINK_SENDS + 1,
		.cap.max_recv_wr = RCA_LINK_RECEIVES + 1,
		.cap.max_send_sge = 1,
		.cap.max_recv_sge = 1,
	};
	int ret, i;

	link->pd = ib_alloc_pd(rca_link_ibdev(link), 0);
	if (IS_ERR(link->pd))
		return PTR_ERR(link->pd);
	ret = rca_link_create_cqs(link, init.cap.max_send_wr, init.cap.max_recv_wr);
	if (ret)
		return ret;
	ret = alloc_buffers(link);
	if (ret)
		return ret;
	init.send_cq = link->send_cq;
	init.recv_cq = link->receive_cq;
	link->qp = ib_create_qp(link->pd, &init);
	if (IS_ERR(link->qp))
		return PTR_ERR(link->qp);
	ret = init_qp(link);
	link->initialised = !ret;
	for (i = 0; i < RCA_LINK_RECEIVES && !ret; i++)
		ret = rca_link_post_receive(link, &link->receives[i]);
	return ret;
}

static int modify_qp(struct rca_trunk_link *link, enum ib_qp_state state)
{
	struct ib_qp_attr attr = { .qp_state = state };
	struct rdma_ah_attr ah = {};
	int mask = 0;
	int ret;

	ret = ib_cm_init_qp_attr(link->cm_id, &attr, &mask);
	if (!ret && state == IB_QPS_RTR)
		ret = rca_link_address(link, &ah);
	if (ret)
		return ret;
	if (state == IB_QPS_RTR) {
		/* Not the path that the peer has chosen for its own packets. */
		attr.ah_attr = ah;
		attr.min_rnr_timer = RCA_LINK_RNR_TIMER;
		/* On the passive side ib_cm knows the PSN only after the REP. */
		attr.rq_psn = link->psn;
	}
	/* Not the timeout of the path of a connection, which a user may have chosen. */
	if (state == IB_QPS_RTS)
		attr.timeout = RCA_LINK_TIMEOUT;
	ret = ib_modify_qp(link->qp, &attr, mask);
	rdma_destroy_ah_attr(&ah);
	return ret;
}

/* The cm_id of the link has to know the QP of the peer. */
int rca_link_connect_qp(struct rca_trunk_link *link)
{
	return modify_qp(link, IB_QPS_RTR) ?: modify_qp(link, IB_QPS_RTS);
}

/*
 * Drain the QP of a closed link. Afterwards nothing is received or sent, and no completion is
 * handled.
 */
void rca_link_drain_qp(struct rca_trunk_link *link)
{
	/* A QP in RESET cannot be drained, and has no work requests. */
	if (link->initialised) {
		rca_link_run(link);	/* its run arms the queue of SENDs */
		ib_drain_qp(link->qp);
	}
	rca_link_stop_cqs(link);
}

/*
 * Undo rca_link_create_qp(), after rca_link_drain_qp(). A second call does nothing. A driver may
 * wait here until the network has taken the last packets: soft-RoCE does for seconds if the peer is
 * gone.
 */
void rca_link_destroy_qp(struct rca_trunk_link *link)
{
	if (!IS_ERR_OR_NULL(link->qp))
		ib_destroy_qp(link->qp);
	link->qp = NULL;
	rca_link_destroy_cqs(link);
	free_buffers(link);
	if (!IS_ERR_OR_NULL(link->pd))
		ib_dealloc_pd(link->pd);
	link->pd = NULL;
}
