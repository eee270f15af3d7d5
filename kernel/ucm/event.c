// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * Events: read one, post one of the program itself.
 *
 * Locking: &rca_queue.reading while an event is copied to user space: only other readers of the
 * file wait for it.
 */
#include "ucm/ucm.h"

#include <linux/mutex.h>
#include <linux/string.h>

#include "lib/compat.h"

/* An event that programs may post to themselves: RDMA_CM_EVENT_INTERNAL of newer kernels. */
#define EVENT_INTERNAL (RDMA_CM_ALT_EVENT_USER + 1)

/* Convert a record of the engine. Only what its flags name is valid behind the fixed members. */
static void fill_event(struct rdma_ucm_event_resp *resp, const struct rdma_cm_alt_event *rec)
{
	struct rdma_ucm_conn_param *conn = &resp->param.conn;
	struct rdma_ucm_ud_param *ud = &resp->param.ud;

	memset(resp, 0, sizeof(*resp));
	resp->uid = rec->member ? rec->user_arg : rec->cookie;
	resp->id = rec->member ?: rec->id;
	resp->event = rec->type;
	resp->status = rec->status;
	if (rec->type >= RDMA_CM_ALT_EVENT_USER) {
		memcpy(&resp->param, &rec->user_arg, sizeof(rec->user_arg));
	} else if (rec->flags & RDMA_CM_ALT_EVENT_F_UD) {
		ud->qp_num = rec->qp_num;
		ud->qkey = rec->qkey;
		ud->ah_attr = rec->ah_attr;
		ud->private_data_len = rec->private_data_len;
		memcpy(ud->private_data, rec->private_data, ud->private_data_len);
	} else if (rec->flags & RDMA_CM_ALT_EVENT_F_CONN) {
		conn->qp_num = rec->qp_num;
		conn->srq = rec->srq;
		conn->responder_resources = rec->responder_resources;
		conn->initiator_depth = rec->initiator_depth;
		conn->flow_control = rec->flow_control;
		conn->retry_count = rec->retry_count;
		conn->rnr_retry_count = rec->rnr_retry_count;
		conn->private_data_len = rec->private_data_len;
		memcpy(conn->private_data, rec->private_data, conn->private_data_len);
	}
	if (rec->flags & RDMA_CM_ALT_EVENT_F_ECE) {
		resp->ece.vendor_id = rec->ece_vendor_id;
		resp->ece.attr_mod = rec->ece_attr_mod;
	}
}

/*
 * Copy the next event to user space, and remove it from the queue.
 *
 * Return: 1: done; 0: no event; -EFAULT: the event stays in the queue; -ERESTARTSYS: a signal
 * interrupted the wait for another reader.
 */
static int deliver(const struct rca_ucm_cmd *ucmd, u64 response)
{
	struct rca_delivery dlv __uninitialized;	/* rca_queue_peek() fills in what counts */
	struct rdma_ucm_event_resp resp __uninitialized;
	int ret = 0;

	if (mutex_lock_interruptible(&ucmd->queue->reading))
		return -ERESTARTSYS;
	/* An event that is dropped or moved meanwhile is not delivered; take the next one. */
	while (!ret && rca_queue_peek(ucmd->queue, &dlv)) {
		fill_event(&resp, &dlv.rec);
		ret = rca_ucm_respond(ucmd, response, &resp, sizeof(resp));
		if (ret)
			rca_queue_release(ucmd->queue);
		else
			ret = rca_queue_consume(ucmd->queue, &dlv);
	}
	mutex_unlock(&ucmd->queue->reading);
	return ret;
}

int rca_ucm_get_event(const struct rca_ucm_cmd *ucmd)
{
	const struct rdma_ucm_get_event *cmd = ucmd->in;
	int ret;

	for (;;) {
		ret = deliver(ucmd, cmd->response);
		if (ret)
			return ret < 0 ? ret : 0;
		if (ucmd->file->f_flags & O_NONBLOCK)
			return -EAGAIN;
		ret = rca_queue_wait(ucmd->queue);
		if (ret)
			return ret;
	}
}

int rca_ucm_write_cm_event(const struct rca_ucm_cmd *ucmd)
{
	const struct rdma_ucm_write_cm_event *cmd = ucmd->in;
	struct rca_id *id;
	int ret;

	if (cmd->event != RDMA_CM_ALT_EVENT_USER && cmd->event != EVENT_INTERNAL)
		return -EINVAL;
	id = rca_ucm_get_id(ucmd->queue, cmd->id);
	if (IS_ERR(id))
		return PTR_ERR(id);
	ret = rca_id_post_user(id, cmd->event, cmd->status, cmd->param.arg);
	rca_id_put(id);
	return ret;
}
