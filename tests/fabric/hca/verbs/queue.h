/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * Rings of work requests and completions in the layout of <rdma/rdma_user_rxe.h>, so that the rxe
 * provider of libibverbs can map and use those of programs.
 */
#ifndef HCA_QUEUE_H
#define HCA_QUEUE_H

#include <linux/list.h>
#include <linux/types.h>
#include <rdma/rdma_user_rxe.h>

struct hca_device;
struct ib_ucontext;
struct ib_udata;
struct vm_area_struct;

/**
 * struct hca_queue - a ring, one side of which may be a program
 * @buf: what the program maps; nothing in it but elements and the other side's index is believed
 * @bytes: size of @buf, whole pages (immutable)
 * @shift: logarithm of the size of an element (immutable)
 * @mask: number of elements less one (immutable)
 * @ours: the index that is ours, producer or consumer (lock: its user's)
 * @context: who may map it, NULL when it is not shared (lock: the adapter's map_lock)
 * @entry: in the list of queues that can be mapped (lock: the adapter's map_lock)
 * @offset: for mmap() (immutable once shared)
 */
struct hca_queue {
	struct rxe_queue_buf *buf;
	size_t bytes;
	u32 shift;
	u32 mask;
	u32 ours;
	struct ib_ucontext *context;
	struct list_head entry;
	u64 offset;
};

struct hca_queue *hca_queue_new(u32 entries, size_t size);
void hca_queue_free(struct hca_device *dev, struct hca_queue *queue);
void hca_queue_share(struct hca_device *dev, struct hca_queue *queue, struct ib_udata *udata,
		     struct mminfo *info);
int hca_queue_give(struct hca_device *dev, struct hca_queue *queue, struct ib_udata *udata,
		   void *resp, size_t size, struct mminfo *info);
int hca_queue_mmap(struct ib_ucontext *context, struct vm_area_struct *vma);
void *hca_queue_next_free(struct hca_queue *queue);
void hca_queue_produced(struct hca_queue *queue);
void *hca_queue_next_used(struct hca_queue *queue);
void hca_queue_consumed(struct hca_queue *queue);
void *hca_queue_client_free(struct hca_queue *queue);
void hca_queue_client_produced(struct hca_queue *queue);
void *hca_queue_client_used(struct hca_queue *queue);
void hca_queue_client_consumed(struct hca_queue *queue);

#endif /* HCA_QUEUE_H */
