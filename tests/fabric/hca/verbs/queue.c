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
#include "verbs/queue.h"

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

/* A ring that holds at least @entries elements of @size bytes; NULL without memory. */
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

/* Frees a ring, or nothing for NULL. A program that has mapped it keeps the pages. */
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

/* Lets a program map a ring; @info is the offset and the size for its mmap(). */
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

/*
 * Shares a ring and writes the response to the program, of which @info is a part. The ring is freed
 * when that fails.
 */
int hca_queue_give(struct hca_device *dev, struct hca_queue *queue, struct ib_udata *udata,
		   void *resp, size_t size, struct mminfo *info)
{
	int ret;

	hca_queue_share(dev, queue, udata, info);
	ret = ib_copy_to_udata(udata, resp, min(size, udata->outlen));
	if (ret)
		hca_queue_free(dev, queue);
	return ret;
}

/*
 * Maps the ring of the offset. @vma keeps no pointer to it, so the mapping may outlive ring,
 * adapter and module.
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

/* The element that the adapter may write next, NULL when the ring is full. */
void *hca_queue_next_free(struct hca_queue *queue)
{
	/* Pairs with the release in the provider or hca_queue_client_consumed(). */
	u32 consumer = smp_load_acquire(&queue->buf->consumer_index);

	if (((queue->ours + 1) & queue->mask) == (consumer & queue->mask))
		return NULL;
	return element(queue, queue->ours);
}

/* Publishes the element of hca_queue_next_free(). */
void hca_queue_produced(struct hca_queue *queue)
{
	queue->ours = (queue->ours + 1) & queue->mask;
	/* Pairs with the acquire in the provider or hca_queue_client_used(). */
	smp_store_release(&queue->buf->producer_index, queue->ours);
}

/*
 * The element that the adapter has to read next, NULL when the ring is empty. A program may
 * change it while it is read.
 */
void *hca_queue_next_used(struct hca_queue *queue)
{
	/* Pairs with the release in the provider or hca_queue_client_produced(). */
	u32 producer = smp_load_acquire(&queue->buf->producer_index);

	if (queue->ours == (producer & queue->mask))
		return NULL;
	return element(queue, queue->ours);
}

/* Gives back the element of hca_queue_next_used(). */
void hca_queue_consumed(struct hca_queue *queue)
{
	queue->ours = (queue->ours + 1) & queue->mask;
	/* Pairs with the acquire in the provider or hca_queue_client_free(). */
	smp_store_release(&queue->buf->consumer_index, queue->ours);
}

/* The same four for the side of a client in the kernel. */
void *hca_queue_client_free(struct hca_queue *queue)
{
	/* Pairs with the release in hca_queue_consumed(). */
	u32 consumer = smp_load_acquire(&queue->buf->consumer_index);
	u32 producer = queue->buf->producer_index;

	if (((producer + 1) & queue->mask) == consumer)
		return NULL;
	return element(queue, producer);
}

void hca_queue_client_produced(struct hca_queue *queue)
{
	/* Pairs with the acquire in hca_queue_next_used(). */
	smp_store_release(&queue->buf->producer_index,
			  (queue->buf->producer_index + 1) & queue->mask);
}

void *hca_queue_client_used(struct hca_queue *queue)
{
	/* Pairs with the release in hca_queue_produced(). */
	u32 producer = smp_load_acquire(&queue->buf->producer_index);
	u32 consumer = queue->buf->consumer_index;

	return producer == consumer ? NULL : element(queue, consumer);
}

void hca_queue_client_consumed(struct hca_queue *queue)
{
	/* Pairs with the acquire in hca_queue_next_free(). */
	smp_store_release(&queue->buf->consumer_index,
			  (queue->buf->consumer_index + 1) & queue->mask);
}
