// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * The file of an event queue: read, poll, mmap, close; creating it, and looking up the
 * queue of a descriptor.
 *
 * Locking: &rca_queue.reading while an event is copied to user space: the event is
 * removed from the queue only after the copy has succeeded.
 */
#include "user/user.h"

#include <linux/anon_inodes.h>
#include <linux/err.h>
#include <linux/file.h>
#include <linux/fs.h>
#include <linux/log2.h>
#include <linux/mm.h>
#include <linux/module.h>
#include <linux/poll.h>
#include <linux/sched/signal.h>
#include <linux/uio.h>
#include <linux/wait.h>
#include <rdma/rdma_cm_alt.h>

#include "cm/cm.h"
#include "event/queue.h"
#include "id/id.h"
#include "lib/compat.h"
#include "lib/testing.h"

/*
 * mmap() of the event ring of a queue.
 *
 * A mapping has a file of its own. With the queue's file, the mapping would keep the
 * queue open, and closing an event channel would not destroy its ids.
 *
 * Locking: the caller's mmap lock; &rca_queue.lock to set &rca_queue.ring.
 */

static int map_release(struct inode *inode, struct file *file)
{
	rca_queue_put(file->private_data);	/* got in set_mapping_file() */
	return 0;
}

static const struct file_operations map_fops = {
	.owner = THIS_MODULE,
	.release = map_release,
};

static void records_open(struct vm_area_struct *vma)
{
	rca_queue_ring_open(vma->vm_file->private_data);
}

static void records_close(struct vm_area_struct *vma)
{
	rca_queue_ring_close(vma->vm_file->private_data);
}

static int no_split(struct vm_area_struct *vma, unsigned long addr)
{
	return -EINVAL;
}

static const struct vm_operations_struct records_ops = {
	.open = records_open,
	.close = records_close,
	.may_split = no_split,
};

static const struct vm_operations_struct head_ops = {
	.may_split = no_split,
};

static int set_mapping_file(struct rca_queue *queue, struct vm_area_struct *vma)
{
	struct file *file;

	file = anon_inode_getfile("[rdma_cm_alt]", &map_fops, rca_queue_get(queue), O_RDWR);
	if (IS_ERR(file)) {
		rca_queue_put(queue);
		return PTR_ERR(file);
	}
	vma_set_file(vma, file);
	fput(file);		/* the mapping has its own reference */
	return 0;
}

/* The ring of the queue; the first caller allocates it. */
static struct rca_ring *get_ring(struct rca_queue *queue)
{
	struct rca_ring *ring, *new;

	spin_lock_irq(&queue->lock);
	ring = queue->ring;
	spin_unlock_irq(&queue->lock);
	if (ring)
		return ring;
	new = rca_ring_alloc(&queue->ctx->account, queue->ring_entries, queue->record_size);
	if (IS_ERR(new))
		return new;
	spin_lock_irq(&queue->lock);
	if (!queue->ring) {
		smp_store_release(&queue->ring, new);	/* pairs with readers without the lock */
		new = NULL;
	}
	ring = queue->ring;
	spin_unlock_irq(&queue->lock);
	rca_ring_free(new);
	return ring;
}

static int map_records(struct rca_queue *queue, struct rca_ring *ring, struct vm_area_struct *vma)
{
	int ret;

	/* The ring has one mapping at a time, and is empty at first. */
	ret = rca_queue_ring_start(queue, ring, vma->vm_mm);
	if (ret)
		return ret;
	ret = vm_map_pages(vma, ring->pages, ring->num_pages);
	if (ret)
		rca_queue_ring_close(queue);
	else
		vma->vm_ops = &records_ops;
	return ret;
}

/* Size of the mapping of the records, in whole pages; 0: the queue has no ring. */
static u32 rca_ringmap_bytes(const struct rca_queue *queue)
{
	return queue->ring_entries ? rca_ring_bytes(queue->ring_entries, queue->record_size) : 0;
}

/*
 * Map the records of the ring, or its head word; the offset of the mapping selects one.
 *
 * Return: 0; -ENODEV: the queue has no ring; -EINVAL: wrong size or offset, or a private mapping;
 * -EACCES: a writable mapping of the records, or an executable one; -EBUSY: the records are already
 * mapped; -EDQUOT: too many pages of rings; -ENOMEM.
 */
static int queue_mmap(struct file *file, struct vm_area_struct *vma)
{
	struct rca_queue *queue = file->private_data;
	size_t bytes = rca_ringmap_bytes(queue), len = vma->vm_end - vma->vm_start;
	bool records = !vma->vm_pgoff;
	struct rca_ring *ring;
	int ret;

	if (!bytes)
		return -ENODEV;
	if (!(vma->vm_flags & VM_SHARED))
		return -EINVAL;
	if (records ? len != bytes : vma->vm_pgoff != bytes >> PAGE_SHIFT || len != PAGE_SIZE)
		return -EINVAL;
	if (vma->vm_flags & VM_EXEC || (records && vma->vm_flags & VM_WRITE))
		return -EACCES;
	ring = get_ring(queue);
	if (IS_ERR(ring))
		return PTR_ERR(ring);
	/* VM_IO prevents MADV_DOFORK, by which a child would inherit the mapping. */
	vm_flags_mod(vma, VM_IO | VM_DONTCOPY | VM_DONTEXPAND,
		     VM_MAYEXEC | (records ? VM_MAYWRITE : 0));
	ret = set_mapping_file(queue, vma);
	if (ret)
		return ret;
	if (records)
		return map_records(queue, ring, vma);
	ret = vm_insert_page(vma, vma->vm_start, virt_to_page(ring->head_word));
	if (!ret)
		vma->vm_ops = &head_ops;
	return ret;
}

/*
 * Copy the event of @dlv to user space and remove it from the queue.
 *
 * Return: RCA_DELIVERED; 0: the event was dropped or moved meanwhile; or a negative errno.
 */
static int deliver_one(struct rca_queue *queue, struct rca_delivery *dlv, struct iov_iter *to,
		       size_t record_size)
{
	size_t len = min_t(size_t, dlv->len, record_size), copied;
	int ret = 0;

	lockdep_assert_held(&queue->reading);
	/* A private queue serves one id, so the new id of a request gets a private queue, too. */
	if (!queue->has_file && dlv->has_child) {
		dlv->child_queue = rca_queue_create(queue->ctx, queue->record_size, false);
		if (IS_ERR(dlv->child_queue)) {
			rca_queue_release(queue);
			return PTR_ERR(dlv->child_queue);
		}
	}
	copied = copy_to_iter(&dlv->rec, len, to);
	if (copied == len)
		copied += iov_iter_zero(record_size - len, to);
	if (copied != record_size) {
		rca_queue_release(queue);
		ret = -EFAULT;
	} else if (rca_queue_consume(queue, dlv)) {
		ret = RCA_DELIVERED;
	}
	if (ret != RCA_DELIVERED)
		iov_iter_revert(to, copied);
	rca_queue_put(dlv->child_queue);	/* the child has its own reference */
	return ret;
}

/*
 * Copy the next event to user space, in @record_size bytes that zeros fill up, and remove it from
 * the queue. @nowait: do not wait for another reader.
 *
 * Return: RCA_DELIVERED; RCA_IN_RING: the next event is in the ring; 0: no event;
 * -EFAULT: the copy failed, the event stays in the queue; -ENOMEM: no memory for the queue of a new
 * id, the event stays; -EAGAIN: @nowait, and another reader is active; -ERESTARTSYS: a signal
 * interrupted the wait for another reader.
 */
static int rca_queue_deliver(struct rca_queue *queue, struct iov_iter *to, size_t record_size,
			     bool nowait)
{
	struct rca_delivery dlv __uninitialized;	/* rca_queue_peek() fills in what counts */
	int ret;

	if (nowait) {
		if (!mutex_trylock(&queue->reading))
			return -EAGAIN;
	} else if (mutex_lock_interruptible(&queue->reading)) {
		return -ERESTARTSYS;
	}
	do {
		if (rca_queue_peek(queue, &dlv))
			ret = deliver_one(queue, &dlv, to, record_size);
		else
			ret = dlv.in_ring ? RCA_IN_RING : 0;
	} while (!ret && dlv.item);
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
	return rca_queue_poll(file->private_data, file, wait);
}

/*
 * Destroy the ids of a queue whose last descriptor was closed. For a caller who is another user
 * than that of the queue, this may be done later, by work. Sleeps; not from work.
 */
RCA_VISIBLE_IF_KUNIT void rca_queue_shutdown(struct rca_queue *queue)
{
	rca_queue_mark_closed(queue);
	/* No other source is attached any more. */
	if (READ_ONCE(queue->num_sources))
		rca_close_queue_ids(queue->ctx, queue);
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

/*
 * Create a queue with a file and reserve a descriptor for it; end with rca_queuefd_install() or
 * rca_queuefd_put(). @record_size 0: that of struct rdma_cm_alt_event; @ring_entries 0: no ring.
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

/*
 * Look up the queue of a descriptor; end with rca_queuefd_put(). The reference on the file keeps
 * the queue from being shut down.
 *
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

/*
 * Install the descriptor of a new queue; put a queue that was found. Does nothing without a file.
 * Another thread may close the descriptor from now on, so the queue must not be used any more.
 */
void rca_queuefd_install(struct rca_queuefd *qfd)
{
	if (qfd->file && qfd->fd >= 0)
		fd_install(qfd->fd, qfd->file);
	else
		rca_queuefd_put(qfd);
}

/* Release a queue that was found, or drop a new one. Does nothing without a file. */
void rca_queuefd_put(struct rca_queuefd *qfd)
{
	if (!qfd->file)
		return;
	if (qfd->fd >= 0)
		put_unused_fd(qfd->fd);
	fput(qfd->file);
}

/*
 * Ioctls of event queues and events: create a queue, change the queue of an id, read an
 * event of an id with a private queue, post a user event.
 *
 * Locking: none of its own.
 */

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
	if (!qfd.file)
		rca_queue_put(qfd.queue);	/* private queue: the id has its own reference */
	else if (ret)
		rca_queuefd_put(&qfd);
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

int rca_cmd_post_event(struct rca_ucmd *ucmd)
{
	struct rdma_cm_alt_post_event *cmd = ucmd->cmd;
	struct rca_id *id;
	int ret;

	/* Event types that only user space posts. */
	if (cmd->type != RDMA_CM_ALT_EVENT_ADDRINFO_RESOLVED &&
	    cmd->type != RDMA_CM_ALT_EVENT_ADDRINFO_ERROR &&
	    cmd->type != RDMA_CM_ALT_EVENT_USER)
		return -EINVAL;
	id = rca_id_lookup(ucmd->ctx, cmd->id);
	if (IS_ERR(id))
		return PTR_ERR(id);
	ret = rca_id_post_user(id, cmd->type, cmd->status, cmd->arg);
	rca_id_put(id);
	return ret;
}
