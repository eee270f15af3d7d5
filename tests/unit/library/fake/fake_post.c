// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * Creating, moving and posting to QPs of the fake data path: what the calls check.
 *
 * Locking: the lock of the fabric.
 */
#include "fake/fake_post.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "fake/fake_cq.h"
#include "fake/fake_fabric.h"
#include "fake/fake_qp.h"
#include "fake/fake_ud.h"
#include "fake/fake_verbs.h"
#include "fake/fake_wire.h"

static bool is_iwarp(const struct fake_qp *qp)
{
	return qp->qp.context->device->transport_type == IBV_TRANSPORT_IWARP;
}

static uint32_t total(const struct ibv_send_wr *wr)
{
	uint32_t length = 0;
	int i;

	for (i = 0; i < wr->num_sge; i++)
		length += wr->sg_list[i].length;
	return length;
}

static bool opcode_fits(const struct fake_qp *qp, const struct ibv_send_wr *wr)
{
	switch (wr->opcode) {
	case IBV_WR_SEND:
		return true;
	case IBV_WR_SEND_WITH_IMM:
		return !is_iwarp(qp);
	case IBV_WR_RDMA_WRITE_WITH_IMM:
		return !is_iwarp(qp) && qp->qp.qp_type == IBV_QPT_RC;
	case IBV_WR_RDMA_WRITE:
		return qp->qp.qp_type == IBV_QPT_RC;
	default:
		return false;
	}
}

static int check_send(const struct fake_qp *qp, const struct ibv_send_wr *wr)
{
	if (qp->state != IBV_QPS_RTS && qp->state != IBV_QPS_SQD && qp->state != IBV_QPS_ERR)
		return EINVAL;
	if (wr->num_sge < 0 || (uint32_t)wr->num_sge > qp->cap.max_send_sge ||
	    !opcode_fits(qp, wr))
		return EINVAL;
	if ((wr->send_flags & IBV_SEND_INLINE) && total(wr) > qp->cap.max_inline_data)
		return EINVAL;
	if (qp->qp.qp_type == IBV_QPT_UD && (!wr->wr.ud.ah || total(wr) > FAKE_MTU))
		return EINVAL;
	if (qp->sq_used >= qp->cap.max_send_wr) {
		fake_complain("a send queue of %u overflows", qp->cap.max_send_wr);
		return ENOMEM;
	}
	return 0;
}

static uint8_t *copy_inline(const struct ibv_send_wr *wr)
{
	uint8_t *copy = malloc(total(wr) + 1);
	uint32_t at = 0;
	int i;

	for (i = 0; i < wr->num_sge; i++) {
		memcpy(copy + at, (void *)(uintptr_t)wr->sg_list[i].addr, wr->sg_list[i].length);
		at += wr->sg_list[i].length;
	}
	return copy;
}

static void queue_send(struct fake_qp *qp, const struct ibv_send_wr *wr)
{
	struct fake_send *send = calloc(1, sizeof(*send));

	send->wr = *wr;
	send->length = total(wr);
	send->signaled = qp->sq_sig_all || (wr->send_flags & IBV_SEND_SIGNALED);
	if (wr->send_flags & IBV_SEND_INLINE)
		send->copy = copy_inline(wr);
	else if (wr->num_sge)
		memcpy(send->sge, wr->sg_list, (size_t)wr->num_sge * sizeof(send->sge[0]));
	STAILQ_INSERT_TAIL(&qp->sends, send, link);
	qp->sq_used++;
}

/* In ERR a work request completes at once. */
static void run_sends(struct fake_qp *qp)
{
	if (qp->state == IBV_QPS_ERR)
		fake_qp_fail(qp);
	fake_wire_run(qp);
}

static int post_send(struct ibv_qp *ibv_qp, struct ibv_send_wr *wr, struct ibv_send_wr **bad_wr)
{
	struct fake_qp *qp = fake_qp_of(ibv_qp);
	int ret = 0;

	fake_fabric_lock();
	for (; wr; wr = wr->next) {
		ret = check_send(qp, wr);
		if (ret)
			break;
		queue_send(qp, wr);
	}
	if (ret)
		*bad_wr = wr;
	run_sends(qp);
	fake_fabric_unlock();
	return ret;
}

static int queue_recv(struct fake_qp *qp, const struct ibv_recv_wr *wr)
{
	struct fake_recv *recv;

	if (qp->state == IBV_QPS_RESET || wr->num_sge < 0 ||
	    (uint32_t)wr->num_sge > qp->cap.max_recv_sge)
		return EINVAL;
	if (qp->rq_used >= qp->cap.max_recv_wr) {
		fake_complain("a receive queue of %u overflows", qp->cap.max_recv_wr);
		return ENOMEM;
	}
	recv = calloc(1, sizeof(*recv));
	recv->wr = *wr;
	if (wr->num_sge)
		memcpy(recv->sge, wr->sg_list, (size_t)wr->num_sge * sizeof(recv->sge[0]));
	STAILQ_INSERT_TAIL(&qp->recvs, recv, link);
	qp->rq_used++;
	return 0;
}

static int post_recv(struct ibv_qp *ibv_qp, struct ibv_recv_wr *wr, struct ibv_recv_wr **bad_wr)
{
	struct fake_qp *qp = fake_qp_of(ibv_qp);
	int ret = 0;

	fake_fabric_lock();
	for (; wr; wr = wr->next) {
		ret = queue_recv(qp, wr);
		if (ret)
			break;
	}
	if (ret)
		*bad_wr = wr;
	run_sends(qp);
	fake_fabric_unlock();
	return ret;
}

static void opened(struct ibv_context *context)
{
	context->ops.post_send = post_send;
	context->ops.post_recv = post_recv;
	context->ops.poll_cq = fake_cq_poll;
	context->ops.req_notify_cq = fake_cq_arm;
}

static bool qp_created(struct ibv_qp *ibv_qp, const struct ibv_qp_init_attr *attr)
{
	struct fake_qp *qp = fake_qp_of(ibv_qp);

	if (attr->cap.max_send_sge > FAKE_MAX_SGE || attr->cap.max_recv_sge > FAKE_MAX_SGE)
		return false;
	qp->cap = attr->cap;
	qp->sq_sig_all = attr->sq_sig_all;
	fake_fabric_lock();
	fake_qp_add(qp);
	fake_fabric_unlock();
	return true;
}

static void qp_destroyed(struct ibv_qp *ibv_qp)
{
	struct fake_qp *qp = fake_qp_of(ibv_qp);
	struct fake_qp *peer;

	fake_fabric_lock();
	peer = fake_qp_find(qp->peer);
	fake_qp_remove(qp);
	if (peer)
		fake_wire_run(peer);
	fake_fabric_unlock();
}

static void set_attr(struct fake_qp *qp, const struct ibv_qp_attr *attr, int mask)
{
	if (mask & IBV_QP_ACCESS_FLAGS)
		qp->access = (unsigned int)attr->qp_access_flags;
	if (mask & IBV_QP_DEST_QPN)
		qp->peer = attr->dest_qp_num;
	if (mask & IBV_QP_QKEY)
		qp->qkey = attr->qkey;
	if (mask & IBV_QP_RNR_RETRY)
		qp->rnr_retry = attr->rnr_retry;
}

/* Only ibv_modify_qp() to RESET leaves ERR. */
static bool allowed(enum ibv_qp_state from, enum ibv_qp_state to)
{
	switch (to) {
	case IBV_QPS_RESET:
	case IBV_QPS_ERR:
		return true;
	case IBV_QPS_INIT:
		return from == IBV_QPS_RESET || from == IBV_QPS_INIT;
	case IBV_QPS_RTR:
		return from == IBV_QPS_INIT;
	case IBV_QPS_RTS:
		return from == IBV_QPS_RTR || from == IBV_QPS_RTS || from == IBV_QPS_SQD;
	case IBV_QPS_SQD:
		return from == IBV_QPS_RTS || from == IBV_QPS_SQD;
	default:
		return false;
	}
}

static int qp_modified(struct ibv_qp *ibv_qp, const struct ibv_qp_attr *attr, int mask)
{
	struct fake_qp *qp = fake_qp_of(ibv_qp);
	int ret = 0;

	fake_fabric_lock();
	if (!(mask & IBV_QP_STATE)) {
		set_attr(qp, attr, mask);
	} else if (!allowed(qp->state, attr->qp_state)) {
		ret = EINVAL;
	} else {
		set_attr(qp, attr, mask);
		qp->state = attr->qp_state;
		if (qp->state == IBV_QPS_RESET)
			fake_qp_clear(qp);
		/* SQD of iWARP closes the connection, which ends what is posted. */
		if (qp->state == IBV_QPS_SQD && is_iwarp(qp))
			fake_qp_fail(qp);
		run_sends(qp);
	}
	fake_fabric_unlock();
	return ret;
}

void fake_qp_connect(uint32_t num, uint32_t peer)
{
	struct fake_qp *one, *other;

	fake_fabric_lock();
	one = fake_qp_find(num);
	other = fake_qp_find(peer);
	if (one && other) {
		one->peer = peer;
		other->peer = num;
		one->state = IBV_QPS_RTS;
		other->state = IBV_QPS_RTS;
		fake_wire_run(one);
	}
	fake_fabric_unlock();
}

int ibv_query_qp(struct ibv_qp *qp, struct ibv_qp_attr *attr, int attr_mask,
		 struct ibv_qp_init_attr *init_attr)
{
	(void)attr_mask;
	memset(attr, 0, sizeof(*attr));
	memset(init_attr, 0, sizeof(*init_attr));
	fake_fabric_lock();
	qp->state = fake_qp_of(qp)->state;
	attr->qp_state = qp->state;
	attr->cap = fake_qp_of(qp)->cap;
	attr->dest_qp_num = fake_qp_of(qp)->peer;
	init_attr->cap = attr->cap;
	fake_fabric_unlock();
	return 0;
}

static const struct fake_data_path data_path = {
	.channel_size = sizeof(struct fake_channel),
	.cq_size = sizeof(struct fake_cq),
	.qp_size = sizeof(struct fake_qp),
	.opened = opened,
	.channel_created = fake_channel_init,
	.channel_destroyed = fake_channel_fini,
	.cq_created = fake_cq_init,
	.cq_destroyed = fake_cq_fini,
	.qp_created = qp_created,
	.qp_destroyed = qp_destroyed,
	.qp_modified = qp_modified,
};

void fake_data_path_install(void)
{
	fake_verbs.data_path = &data_path;
	fake_verbs.extra_wr = 0;
}
