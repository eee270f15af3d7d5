// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * The file of an event queue: read, poll, mmap, close; creating it, and looking up the
 * queue of a descriptor.
 *
 * Locking: &rca_queue.reading while an event is copied to user space: the event is
 * removed from the queue only after the copy has succeeded.
 */
#include "user/queuefd.h"

#include <linux/anon_inodes.h>
#include <linux/file.h>
#include <linux/fs.h>
#include <linux/module.h>
#include <linux/poll.h>
#include <linux/sched/signal.h>
#include <linux/uio.h>

#include "cm/shutdown.h"
#include "event/events.h"
#include "user/ringmap.h"

static int copy_record(struct iov_iter *to, const struct rca_delivery *dlv, size_t size)
{
	size_t len = min_t(size_t, dlv->len, size);
	size_t copied = copy_to_iter(&dlv->rec, len, to);

	if (copied == len)
		copied += iov_iter_zero(size - len, to);
	if (copied == size)
		return 0;
	iov_iter_revert(to, copied);
	return -EFAULT;
}

/* Return: RCA_DELIVERED; 0: the event was dropped or moved meanwhile; or a negative errno. */
static int deliver_one(struct rca_queue *queue, struct rca_delivery *dlv, struct iov_iter *to,
		       size_t record_size)
{
	int ret;

	lockdep_assert_held(&queue->reading);
	/* A private queue serves one id, so the new id of a request gets a private queue, too. */
	if (!queue->has_file && dlv->has_child) {
		dlv->child_queue = rca_queue_create(queue->ctx, queue->record_size, false);
		if (IS_ERR(dlv->child_queue)) {
			rca_queue_release(queue);
			return PTR_ERR(dlv->child_queue);
		}
	}
	ret = copy_record(to, dlv, record_size);
	if (ret)
		rca_queue_release(queue);
	else if (rca_queue_consume(queue, dlv))
		ret = RCA_DELIVERED;
	else
		iov_iter_revert(to, record_size);
	rca_queue_put(dlv->child_queue);	/* the child has its own reference */
	return ret;
}

static int deliver_next(struct rca_queue *queue, struct iov_iter *to, size_t record_size)
{
	struct rca_delivery dlv __uninitialized;	/* rca_queue_peek() fills in what counts */
	int ret;

	do {
		if (!rca_queue_peek(queue, &dlv))
			return dlv.in_ring ? RCA_IN_RING : 0;
		ret = deliver_one(queue, &dlv, to, record_size);
	} while (!ret);
	return ret;
}

/**
 * rca_queue_deliver() - copy the next event to user space and remove it from the queue
 * @queue: the queue; the caller has a reference
 * @to: destination, with space for @record_size bytes
 * @record_size: bytes to write; zeroes follow the event
 * @nowait: do not wait for another reader
 *
 * Context: Process context. Sleeps. Takes and releases @queue->reading.
 * Return: RCA_DELIVERED; RCA_IN_RING: the next event is in the ring; 0: no event;
 *         -EFAULT: the copy failed, the event stays in the queue; -ENOMEM: no memory for
 *         the queue of a new id, the event stays; -EAGAIN: @nowait, and another reader is
 *         active; -ERESTARTSYS: a signal interrupted the wait for another reader.
 */
int rca_queue_deliver(struct rca_queue *queue, struct iov_iter *to, size_t record_size,
		      bool nowait)
{
	int ret;

	if (nowait) {
		if (!mutex_trylock(&queue->reading))
			return -EAGAIN;
	} else if (mutex_lock_interruptible(&queue->reading)) {
		return -ERESTARTSYS;
	}
	ret = deliver_next(queue, to, record_size);
	mutex_unlock(&queue->reading);
	return ret;
}

static ssize_t queue_read_iter(struct kiocb *iocb, struct iov_iter *to)
{
	struct rca_queue *queue = iocb->ki_filp->private_data;
	bool nonblock = iocb->ki_filp->f_flags & O_NONBLOCK;
	bool nowait = iocb->ki_flags & IOCB_NOWAIT;
	size_t size = queue->record_size;
	ssize_t done = 0;
	int ret;

	if (iov_iter_count(to) < size)
		return -EINVAL;
	for (;;) {
		if (rca_queue_ring_foreign(queue, current->mm))
			return -EBUSY;
		/* Deliver what is queued, and wait only if nothing was. */
		do {
			ret = rca_queue_deliver(queue, to, size, nowait);
			if (ret == RCA_DELIVERED)
				done += size;
		} while (ret == RCA_DELIVERED && iov_iter_count(to) >= size);
		if (done || ret == RCA_IN_RING) {
			rca_queue_fill(queue);
			return done;
		}
		if (ret < 0)
			return ret;
		if (nonblock || nowait)
			return -EAGAIN;
		ret = rca_queue_wait(queue);
		if (ret)
			return ret;
	}
}

static __poll_t queue_poll(struct file *file, poll_table *wait)
{
	struct rca_queue *queue = file->private_data;

	poll_wait(file, &queue->wait, wait);
	smp_mb();	/* pairs with wq_has_sleeper() in rca_queue_wake() */
	rca_queue_fill(queue);
	return rca_queue_ready(queue) ? EPOLLIN | EPOLLRDNORM : 0;
}

static int queue_mmap(struct file *file, struct vm_area_struct *vma)
{
	return rca_ringmap(file->private_data, vma);
}

static int queue_release(struct inode *inode, struct file *file)
{
	struct rca_queue *queue = file->private_data;

	rca_queue_shutdown(queue);
	rca_queue_put(queue);	/* got in rca_queuefd_create() */
	return 0;
}

static const struct file_operations queue_fops = {
	.owner = THIS_MODULE,
	.read_iter = queue_read_iter,
	.poll = queue_poll,
	.mmap = queue_mmap,
	.release = queue_release,
};

/**
 * rca_queuefd_create() - create a queue with a file and reserve a descriptor for it
 * @qfd: filled in; the caller ends with rca_queuefd_install() or rca_queuefd_put()
 * @ctx: the context
 * @record_size: size of a record; 0: that of struct rdma_cm_alt_event
 * @ring_entries: records in the ring; 0: no ring
 * @nonblock: set O_NONBLOCK
 *
 * Context: Process context. May sleep.
 * Return: 0 or a negative errno.
 */
int rca_queuefd_create(struct rca_queuefd *qfd, struct rca_ctx *ctx, u32 record_size,
		       u32 ring_entries, bool nonblock)
{
	struct rca_queue *queue;
	struct file *file;
	int ret;

	queue = rca_queue_create(ctx, record_size ?: sizeof(struct rdma_cm_alt_event), true);
	if (IS_ERR(queue))
		return PTR_ERR(queue);
	queue->ring_entries = ring_entries;
	ret = get_unused_fd_flags(O_CLOEXEC);
	if (ret < 0)
		goto err_put_queue;
	qfd->fd = ret;
	file = anon_inode_getfile("[rdma_cm_alt]", &queue_fops, queue,
				  (ring_entries ? O_RDWR : O_RDONLY) |
				  (nonblock ? O_NONBLOCK : 0));
	if (IS_ERR(file)) {
		ret = PTR_ERR(file);
		goto err_put_fd;
	}
	stream_open(file_inode(file), file);
	file->f_mode |= FMODE_NOWAIT;	/* queue_read_iter() supports IOCB_NOWAIT */
	qfd->file = file;
	qfd->queue = queue;
	return 0;

err_put_fd:
	put_unused_fd(qfd->fd);
	qfd->fd = -1;
err_put_queue:
	rca_queue_put(queue);
	return ret;
}

/**
 * rca_queuefd_find() - look up the queue of a descriptor
 * @qfd: filled in; the caller ends with rca_queuefd_put()
 * @ctx: the context that the queue must belong to
 * @fd: the descriptor
 *
 * The reference on the file keeps the queue from being shut down.
 *
 * Context: Process context.
 * Return: 0; -EBADF: not open; -EINVAL: not a queue, or a queue of another context.
 */
int rca_queuefd_find(struct rca_queuefd *qfd, struct rca_ctx *ctx, int fd)
{
	struct file *file = fget(fd);
	struct rca_queue *queue;

	if (!file)
		return -EBADF;
	queue = file->private_data;
	if (file->f_op != &queue_fops || queue->ctx != ctx) {
		fput(file);
		return -EINVAL;
	}
	qfd->queue = queue;
	qfd->file = file;
	qfd->fd = -1;
	return 0;
}

/**
 * rca_queuefd_install() - install the descriptor of a new queue; puts a queue that was found
 * @qfd: the queue, or a struct without a file; not valid afterwards
 *
 * Another thread may close the descriptor from now on, so the queue must not be used
 * any more.
 *
 * Context: Process context. Cannot fail.
 */
void rca_queuefd_install(struct rca_queuefd *qfd)
{
	if (qfd->file && qfd->fd >= 0)
		fd_install(qfd->fd, qfd->file);
	else
		rca_queuefd_put(qfd);
}

/**
 * rca_queuefd_put() - release a queue that was found, or drop a new one
 * @qfd: the queue, or a struct without a file
 *
 * Context: Process context.
 */
void rca_queuefd_put(struct rca_queuefd *qfd)
{
	if (!qfd->file)
		return;
	if (qfd->fd >= 0)
		put_unused_fd(qfd->fd);
	fput(qfd->file);
}
