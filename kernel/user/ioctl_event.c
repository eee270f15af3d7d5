// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * Ioctls of event queues and events: create a queue, change the queue of an id, read an
 * event of an id with a private queue, post a user event.
 *
 * Locking: none of its own.
 */
#include "user/ioctl.h"

#include <linux/log2.h>
#include <linux/sched/signal.h>
#include <linux/uio.h>
#include <linux/wait.h>
#include <rdma/rdma_cm_alt.h>

#include "event/events.h"
#include "id/id.h"
#include "user/queuefd.h"
#include "user/ringmap.h"

/* Record sizes that a caller may choose. The smallest one contains all but the details. */
#define RECORD_MIN 64
#define RECORD_MAX 4096
static_assert(offsetof(struct rdma_cm_alt_event, qkey) <= RECORD_MIN);
static_assert(sizeof(struct rdma_cm_alt_event) <= RECORD_MAX);

int rca_cmd_queue_create(struct rca_ucmd *ucmd)
{
	struct rdma_cm_alt_queue_create *cmd = ucmd->cmd;
	u32 size = cmd->record_size;
	struct rca_queuefd qfd;
	int ret;

	if (cmd->ring_entries &&
	    (cmd->ring_entries > RCA_RING_MAX || !is_power_of_2(cmd->ring_entries)))
		return -EINVAL;
	if (size && (size < RECORD_MIN || size > RECORD_MAX || size % 8))
		return -EINVAL;
	ret = rca_queuefd_create(&qfd, ucmd->ctx, size, cmd->ring_entries,
				 cmd->flags & RDMA_CM_ALT_QUEUE_NONBLOCK);
	if (ret)
		return ret;
	cmd->out_fd = qfd.fd;
	cmd->out_record_size = qfd.queue->record_size;
	cmd->out_ring_offset = 0;
	cmd->out_ring_bytes = rca_ringmap_bytes(qfd.queue);
	cmd->out_head_offset = cmd->out_ring_bytes;
	ret = rca_ucmd_respond(ucmd);
	if (ret) {
		rca_queuefd_put(&qfd);
		return ret;
	}
	rca_queuefd_install(&qfd);
	return 0;
}

static int get_target_queue(struct rca_queuefd *qfd, struct rca_ctx *ctx,
			    const struct rdma_cm_alt_set_queue *cmd)
{
	if (cmd->flags & RDMA_CM_ALT_SET_QUEUE_NEW)
		return cmd->queue_fd == -1 ? rca_queuefd_create(qfd, ctx, 0, 0, false) : -EINVAL;
	if (cmd->queue_fd != -1)
		return rca_queuefd_find(qfd, ctx, cmd->queue_fd);
	qfd->queue = rca_queue_create(ctx, sizeof(struct rdma_cm_alt_event), false);
	return PTR_ERR_OR_ZERO(qfd->queue);
}

static void put_target_queue(struct rca_queuefd *qfd)
{
	if (qfd->file)
		rca_queuefd_put(qfd);
	else
		rca_queue_put(qfd->queue);	/* private queue: the id has its own reference */
}

static int set_queue(struct rca_ucmd *ucmd, struct rca_id *id, struct rca_queuefd *qfd)
{
	struct rdma_cm_alt_set_queue *cmd = ucmd->cmd;
	const u64 *cookie = cmd->flags & RDMA_CM_ALT_SET_QUEUE_COOKIE ? &cmd->cookie : NULL;
	u32 reported;
	int ret;

	/* Closing a new queue after a failed copy would destroy the id: copy before the move. */
	cmd->out_queue_fd = qfd->fd;
	ret = rca_ucmd_respond(ucmd);
	if (ret)
		return ret;

	ret = rca_source_move(&id->src, qfd->queue, cookie, &reported);
	if (ret)
		return ret;
	cmd->out_events_reported = reported;
	return 0;
}

int rca_cmd_set_queue(struct rca_ucmd *ucmd)
{
	struct rdma_cm_alt_set_queue *cmd = ucmd->cmd;
	struct rca_queuefd qfd = { .fd = -1 };
	struct rca_id *id;
	int ret;

	id = rca_id_lookup(ucmd->ctx, cmd->id);
	if (IS_ERR(id))
		return PTR_ERR(id);
	ret = get_target_queue(&qfd, ucmd->ctx, cmd);
	if (ret)
		goto out_put_id;
	ret = set_queue(ucmd, id, &qfd);
	if (ret || qfd.fd < 0)
		put_target_queue(&qfd);
	else
		rca_queuefd_install(&qfd);
	/* The id has moved. If this copy fails, the caller only misses the event count. */
	if (!ret)
		ret = rca_ucmd_respond(ucmd);
out_put_id:
	rca_id_put(id);
	return ret;
}

/* The private queue of an id, with a reference. */
static struct rca_queue *get_private_queue(struct rca_ctx *ctx, u32 handle)
{
	struct rca_id *id = rca_id_lookup(ctx, handle);
	struct rca_queue *queue;

	if (IS_ERR(id))
		return ERR_CAST(id);
	queue = rca_source_queue(&id->src);
	rca_id_put(id);
	if (!queue)
		return ERR_PTR(-ENOENT);	/* the id is being destroyed */
	if (queue->has_file) {
		rca_queue_put(queue);
		return ERR_PTR(-EINVAL);
	}
	return queue;
}

/* Return: 1: delivered; 0: the id has another queue by now; or a negative errno. */
static int get_event(struct rca_queue *queue, struct iov_iter *to, bool nonblock)
{
	int ret;

	for (;;) {
		ret = rca_queue_deliver(queue, to, iov_iter_count(to), false);
		if (ret)
			return ret;
		/* The queue is closed when its id leaves it; pairs with rca_queue_mark_closed(). */
		if (READ_ONCE(queue->closed))
			return 0;
		if (nonblock)
			return -EAGAIN;
		ret = wait_event_interruptible(queue->wait, rca_queue_ready(queue) ||
					       READ_ONCE(queue->closed));
		if (ret)
			return ret;
	}
}

/*
 * While waiting, the caller has a reference on the queue and none on the id. If the id is
 * destroyed or moved to another queue meanwhile, the private queue is closed.
 */
int rca_cmd_get_event(struct rca_ucmd *ucmd)
{
	struct rdma_cm_alt_get_event *cmd = ucmd->cmd;
	bool nonblock = cmd->flags & RDMA_CM_ALT_GET_EVENT_NONBLOCK;
	struct rca_queue *queue;
	struct iov_iter to;
	int ret;

	if (cmd->record_len < RECORD_MIN)
		return -EINVAL;
	iov_iter_ubuf(&to, ITER_DEST, u64_to_user_ptr(cmd->record_uptr),
		      min_t(u32, cmd->record_len, RECORD_MAX));
	do {
		queue = get_private_queue(ucmd->ctx, cmd->id);
		if (IS_ERR(queue))
			return PTR_ERR(queue);
		ret = get_event(queue, &to, nonblock);
		rca_queue_put(queue);
	} while (!ret);
	return ret < 0 ? ret : 0;
}

/* Event types that only user space posts. */
static bool is_user_event(u32 type)
{
	switch (type) {
	case RDMA_CM_ALT_EVENT_ADDRINFO_RESOLVED:
	case RDMA_CM_ALT_EVENT_ADDRINFO_ERROR:
	case RDMA_CM_ALT_EVENT_USER:
		return true;
	default:
		return false;
	}
}

int rca_cmd_post_event(struct rca_ucmd *ucmd)
{
	struct rdma_cm_alt_post_event *cmd = ucmd->cmd;
	struct rca_id *id;
	int ret;

	if (!is_user_event(cmd->type))
		return -EINVAL;
	id = rca_id_lookup(ucmd->ctx, cmd->id);
	if (IS_ERR(id))
		return PTR_ERR(id);
	ret = rca_id_post_user(id, cmd->type, cmd->status, cmd->arg);
	rca_id_put(id);
	return ret;
}
