// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * Rings of work requests and completions in the layout of <rdma/rdma_user_rxe.h>.
 *
 * A ring has two sides, the adapter and its client, which is a program or code of the kernel. The
 * functions with _client_ in the name are the client's side and used for clients in the kernel.
 *
 * Locking: each side's user has a lock of its own; the sides meet in acquire and release of the
 * other's index. The list of rings to map: the adapter's map_lock.
 */
#include "queue.h"

#include <linux/log2.h>
#include <linux/mm.h>
#include <linux/slab.h>
#include <linux/vmalloc.h>
#include <rdma/uverbs_ioctl.h>

#include "hca.h"

static void *element(struct hca_queue *queue, u32 index)
{
	return queue->buf->data + ((size_t)(index & queue->mask) << queue->shift);
}

/**
 * hca_queue_new() - a ring
 * @entries: how many elements it must hold; it may hold more
 * @size: of an element in bytes
 *
 * Context: process, may sleep.
 * Return: the ring, NULL when there is no memory. Freed by hca_queue_free().
 */
struct hca_queue *hca_queue_new(u32 entries, size_t size)
{
	struct hca_queue *queue;

	queue = kzalloc(sizeof(*queue), GFP_KERNEL);
	if (!queue)
		return NULL;
	INIT_LIST_HEAD(&queue->entry);
	/* One place stays empty, and the provider expects elements of a cache line at least. */
	queue->mask = roundup_pow_of_two(entries + 1) - 1;
	queue->shift = order_base_2(max_t(size_t, size, 64));
	queue->bytes = PAGE_ALIGN(sizeof(*queue->buf) +
				  ((size_t)(queue->mask + 1) << queue->shift));
	queue->buf = vmalloc_user(queue->bytes);
	if (!queue->buf) {
		kfree(queue);
		return NULL;
	}
	queue->buf->log2_elem_size = queue->shift;
	queue->buf->index_mask = queue->mask;
	return queue;
}

/**
 * hca_queue_free() - the ring goes; a program that has it mapped keeps the pages
 * @dev: the adapter
 * @queue: the ring, or NULL
 *
 * Context: process, may sleep. Nobody else uses the ring any more.
 */
void hca_queue_free(struct hca_device *dev, struct hca_queue *queue)
{
	if (!queue)
		return;
	mutex_lock(&dev->map_lock);
	list_del(&queue->entry);
	mutex_unlock(&dev->map_lock);
	/* Pages in a mapping have a reference of their own. */
	vfree(queue->buf);
	kfree(queue);
}

/**
 * hca_queue_share() - lets a program map the ring
 * @dev: the adapter
 * @queue: the ring, not shared yet
 * @udata: the program's
 * @info: what the program must know for its mmap()
 *
 * Context: process, may sleep.
 */
void hca_queue_share(struct hca_device *dev, struct hca_queue *queue, struct ib_udata *udata,
		     struct mminfo *info)
{
	mutex_lock(&dev->map_lock);
	queue->context = rdma_udata_to_uverbs_attr_bundle(udata)->context;
	queue->offset = dev->map_next;
	dev->map_next += queue->bytes;
	list_add_tail(&queue->entry, &dev->maps);
	mutex_unlock(&dev->map_lock);
	memset(info, 0, sizeof(*info));
	info->offset = queue->offset;
	info->size = queue->bytes;
}

/**
 * hca_queue_mmap() - a program maps one of its rings
 * @context: the program's
 * @vma: where, and by its offset which ring
 *
 * Nothing is kept in @vma, so the mapping may outlive ring, adapter and module.
 *
 * Context: process, the mmap lock is held.
 * Return: 0; -EINVAL for an offset or a size that is none of the program's rings.
 */
int hca_queue_mmap(struct ib_ucontext *context, struct vm_area_struct *vma)
{
	struct hca_device *dev = to_hca(context->device);
	u64 offset = (u64)vma->vm_pgoff << PAGE_SHIFT;
	struct hca_queue *queue;
	int ret = -EINVAL;

	mutex_lock(&dev->map_lock);
	list_for_each_entry(queue, &dev->maps, entry) {
		if (queue->context == context && queue->offset == offset) {
			if (vma->vm_end - vma->vm_start <= queue->bytes)
				ret = remap_vmalloc_range(vma, queue->buf, 0);
			break;
		}
	}
	mutex_unlock(&dev->map_lock);
	return ret;
}

/**
 * hca_queue_next_free() - where the adapter may write the next element
 * @queue: the ring, of which the adapter is the producer
 *
 * Context: any, under the lock of the adapter's side.
 * Return: the element, NULL when the ring is full.
 */
void *hca_queue_next_free(struct hca_queue *queue)
{
	/* Pairs with the release in the provider or hca_queue_client_consumed(). */
	u32 consumer = smp_load_acquire(&queue->buf->consumer_index);

	if (((queue->ours + 1) & queue->mask) == (consumer & queue->mask))
		return NULL;
	return element(queue, queue->ours);
}

/**
 * hca_queue_produced() - the adapter wrote the element it got last
 * @queue: the ring, of which the adapter is the producer
 *
 * Context: any, under the lock of the adapter's side.
 */
void hca_queue_produced(struct hca_queue *queue)
{
	queue->ours = (queue->ours + 1) & queue->mask;
	/* Pairs with the acquire in the provider or hca_queue_client_used(). */
	smp_store_release(&queue->buf->producer_index, queue->ours);
}

/**
 * hca_queue_next_used() - the next element that the adapter has to take
 * @queue: the ring, of which the adapter is the consumer
 *
 * Context: any, under the lock of the adapter's side.
 * Return: the element, which a program may change while it is read; NULL when there is none.
 */
void *hca_queue_next_used(struct hca_queue *queue)
{
	/* Pairs with the release in the provider or hca_queue_client_produced(). */
	u32 producer = smp_load_acquire(&queue->buf->producer_index);

	if (queue->ours == (producer & queue->mask))
		return NULL;
	return element(queue, queue->ours);
}

/**
 * hca_queue_consumed() - the adapter has taken the element it got last
 * @queue: the ring, of which the adapter is the consumer
 *
 * Context: any, under the lock of the adapter's side.
 */
void hca_queue_consumed(struct hca_queue *queue)
{
	queue->ours = (queue->ours + 1) & queue->mask;
	/* Pairs with the acquire in the provider or hca_queue_client_free(). */
	smp_store_release(&queue->buf->consumer_index, queue->ours);
}

/**
 * hca_queue_client_free() - where a client in the kernel may write the next element
 * @queue: the ring, of which the client is the producer
 *
 * Context: any, under the lock of the client's side.
 * Return: the element, NULL when the ring is full.
 */
void *hca_queue_client_free(struct hca_queue *queue)
{
	/* Pairs with the release in hca_queue_consumed(). */
	u32 consumer = smp_load_acquire(&queue->buf->consumer_index);
	u32 producer = queue->buf->producer_index;

	if (((producer + 1) & queue->mask) == consumer)
		return NULL;
	return element(queue, producer);
}

/**
 * hca_queue_client_produced() - a client in the kernel wrote the element it got last
 * @queue: the ring, of which the client is the producer
 *
 * Context: any, under the lock of the client's side.
 */
void hca_queue_client_produced(struct hca_queue *queue)
{
	/* Pairs with the acquire in hca_queue_next_used(). */
	smp_store_release(&queue->buf->producer_index,
			  (queue->buf->producer_index + 1) & queue->mask);
}

/**
 * hca_queue_client_used() - the next element that a client in the kernel has to take
 * @queue: the ring, of which the client is the consumer
 *
 * Context: any, under the lock of the client's side.
 * Return: the element, NULL when there is none.
 */
void *hca_queue_client_used(struct hca_queue *queue)
{
	/* Pairs with the release in hca_queue_produced(). */
	u32 producer = smp_load_acquire(&queue->buf->producer_index);
	u32 consumer = queue->buf->consumer_index;

	return producer == consumer ? NULL : element(queue, consumer);
}

/**
 * hca_queue_client_consumed() - a client in the kernel has taken the element it got last
 * @queue: the ring, of which the client is the consumer
 *
 * Context: any, under the lock of the client's side.
 */
void hca_queue_client_consumed(struct hca_queue *queue)
{
	/* Pairs with the acquire in hca_queue_next_free(). */
	smp_store_release(&queue->buf->consumer_index,
			  (queue->buf->consumer_index + 1) & queue->mask);
}
