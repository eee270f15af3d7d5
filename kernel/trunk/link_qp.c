// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * The QP of a link, and its buffers.
 *
 * The frames that are sent belong to the trunk, and are mapped for the device while the link has
 * its QP. The device only reads them, so what is added to them meanwhile is not overwritten when a
 * mapping ends that has copied them.
 *
 * Locking: none of its own; only the work of a trunk calls these functions, and then the work that
 * frees the link.
 */
#include "trunk/link.h"

#include <linux/gfp.h>
#include <rdma/ib_cache.h>

#include "transport/devices.h"
#include "trunk/trunk.h"

static struct ib_device *ibdev_of(const struct rca_trunk_link *link)
{
	return link->trunk->dev->ibdev;
}

static void set_buf(struct rca_trunk_link *link, struct rca_link_buf *buf, unsigned int number,
		    unsigned int size, unsigned int first_page)
{
	unsigned int per_page = PAGE_SIZE / size;
	unsigned int page = first_page + number / per_page;
	unsigned int offset = number % per_page * size;

	buf->link = link;
	buf->data = page_address(link->pages[page]) + offset;
	buf->dma = link->dma[page] + offset;
}

static void free_buffers(struct rca_trunk_link *link)
{
	int i;

	if (link->frames_mapped)
		ib_dma_unmap_single(ibdev_of(link), link->frames_dma,
				    RCA_SESSION_FRAMES * RCA_FRAME_MAX, DMA_TO_DEVICE);
	link->frames_mapped = false;
	for (i = 0; i < RCA_LINK_PAGES && link->pages[i]; i++) {
		ib_dma_unmap_page(ibdev_of(link), link->dma[i], PAGE_SIZE, DMA_BIDIRECTIONAL);
		__free_page(link->pages[i]);
		link->pages[i] = NULL;
	}
}

static int map_frames(struct rca_trunk_link *link)
{
	struct rca_trunk *trunk = link->trunk;
	unsigned int i;

	link->frames_dma = ib_dma_map_single(ibdev_of(link), trunk->frames,
					     RCA_SESSION_FRAMES * RCA_FRAME_MAX, DMA_TO_DEVICE);
	if (ib_dma_mapping_error(ibdev_of(link), link->frames_dma))
		return -ENOMEM;
	link->frames_mapped = true;
	for (i = 0; i < RCA_SESSION_FRAMES; i++) {
		link->sends[i] = (struct rca_link_buf) {
			.cqe.done = rca_link_send_done,
			.link = link,
			.data = rca_trunk_frame(trunk, i),
			.dma = link->frames_dma + i * RCA_FRAME_MAX,
		};
	}
	return 0;
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
		dma = ib_dma_map_page(ibdev_of(link), page, 0, PAGE_SIZE, DMA_BIDIRECTIONAL);
		if (ib_dma_mapping_error(ibdev_of(link), dma)) {
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

	ret = map_frames(link) ?: alloc_pages_of(link);
	if (ret)
		return ret;
	for (i = 0; i < RCA_SESSION_RECEIVES; i++) {
		set_buf(link, &link->receives[i], i, RCA_FRAME_MAX, 0);
		link->receives[i].cqe.done = rca_link_receive_done;
	}
	for (i = 0; i < RCA_LINK_SENDS; i++) {
		set_buf(link, &link->acks[i], i, RCA_LINK_ACK_SIZE, RCA_LINK_RECEIVE_PAGES);
		link->acks[i].cqe.done = rca_link_send_done;
	}
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

	ret = ib_find_cached_pkey(ibdev_of(link), key->port_num, key->pkey, &attr.pkey_index);
	if (ret)
		return ret;
	return ib_modify_qp(link->qp, &attr, IB_QP_STATE | IB_QP_ACCESS_FLAGS |
			    IB_QP_PKEY_INDEX | IB_QP_PORT);
}

/**
 * rca_link_create_qp() - create the QP of a link, with receive buffers posted
 * @link: the link
 *
 * Context: Process context. Sleeps. Only the work of its trunk calls it.
 * Return: 0 or a negative errno; rca_link_drain_qp() and rca_link_destroy_qp() are needed in both
 * cases.
 */
int rca_link_create_qp(struct rca_trunk_link *link)
{
	struct ib_qp_init_attr init = {
		.qp_type = IB_QPT_RC,
		.sq_sig_type = IB_SIGNAL_REQ_WR,
		/* One more of each for ib_drain_qp(). */
		.cap.max_send_wr = RCA_LINK_SENDS + 1,
		.cap.max_recv_wr = RCA_SESSION_RECEIVES + 1,
		.cap.max_send_sge = 1,
		.cap.max_recv_sge = 1,
	};
	int ret, i;

	link->pd = ib_alloc_pd(ibdev_of(link), 0);
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
	for (i = 0; i < RCA_SESSION_RECEIVES && !ret; i++)
		ret = rca_link_post_receive(link, &link->receives[i]);
	return ret;
}

static int modify_qp(struct rca_trunk_link *link, enum ib_qp_state state)
{
	struct ib_qp_attr attr = { .qp_state = state };
	int mask = 0;
	int ret;

	ret = ib_cm_init_qp_attr(link->cm_id, &attr, &mask);
	if (ret)
		return ret;
	if (state == IB_QPS_RTR) {
		attr.min_rnr_timer = RCA_LINK_RNR_TIMER;
		/* On the passive side ib_cm knows it only after the REP. */
		attr.rq_psn = link->psn;
	}
	/* Not what the path of a connection has, which a user may have chosen. */
	if (state == IB_QPS_RTS)
		attr.timeout = RCA_LINK_TIMEOUT;
	return ib_modify_qp(link->qp, &attr, mask);
}

/**
 * rca_link_connect_qp() - connect the QP of a link
 * @link: the link, whose cm_id knows the QP of the peer
 *
 * Context: Process context. Sleeps. Only the work of its trunk calls it.
 * Return: 0 or a negative errno.
 */
int rca_link_connect_qp(struct rca_trunk_link *link)
{
	return modify_qp(link, IB_QPS_RTR) ?: modify_qp(link, IB_QPS_RTS);
}

/**
 * rca_link_drain_qp() - let the QP of a link come to rest
 * @link: the link, which is closed
 *
 * Nothing is received or sent afterwards, and no completion is handled.
 *
 * Context: Process context. Sleeps. Only the work of its trunk calls it.
 */
void rca_link_drain_qp(struct rca_trunk_link *link)
{
	/* A QP without a state but RESET cannot be drained, and has nothing to be. */
	if (link->initialised) {
		rca_link_run(link);	/* asks for the completions of SENDs */
		ib_drain_qp(link->qp);
	}
	rca_link_stop_cqs(link);
}

/**
 * rca_link_destroy_qp() - undo rca_link_create_qp()
 * @link: the link, after rca_link_drain_qp()
 *
 * Does nothing if it was done before.
 *
 * A driver may wait here until the network has taken the last packets: soft-RoCE does so for
 * seconds if the peer is gone.
 *
 * Context: Process context. Sleeps.
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
