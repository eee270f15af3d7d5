// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * mmap() of the event ring of a queue.
 *
 * A mapping has a file of its own. With the queue's file, the mapping would keep the
 * queue open, and closing an event channel would not destroy its ids.
 *
 * Locking: the caller's mmap lock; &rca_queue.lock to set &rca_queue.ring.
 */
#include "user/ringmap.h"

#include <linux/anon_inodes.h>
#include <linux/err.h>
#include <linux/file.h>
#include <linux/fs.h>
#include <linux/mm.h>
#include <linux/module.h>

#include "event/events.h"
#include "lib/compat.h"

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

static int map_head(struct rca_queue *queue, struct rca_ring *ring, struct vm_area_struct *vma)
{
	int ret = vm_insert_page(vma, vma->vm_start, virt_to_page(ring->head_word));

	if (!ret)
		vma->vm_ops = &head_ops;
	return ret;
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
u32 rca_ringmap_bytes(const struct rca_queue *queue)
{
	return queue->ring_entries ? rca_ring_bytes(queue->ring_entries, queue->record_size) : 0;
}

/**
 * rca_ringmap() - map the records of a queue's ring, or its head word
 * @queue: the queue
 * @vma: the mapping; its offset selects the records or the head word
 *
 * Context: Process context, with the mmap lock. May sleep.
 * Return: 0; -ENODEV: the queue has no ring; -EINVAL: wrong size or offset, or a
 *         private mapping; -EACCES: a writable mapping of the records, or an executable
 *         one; -EBUSY: the records are already mapped; -EDQUOT: too many pages of rings;
 *         -ENOMEM.
 */
int rca_ringmap(struct rca_queue *queue, struct vm_area_struct *vma)
{
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
	return records ? map_records(queue, ring, vma) : map_head(queue, ring, vma);
}
