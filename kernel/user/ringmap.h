/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* mmap() of the event ring of a queue. */
#ifndef RCA_RINGMAP_H
#define RCA_RINGMAP_H

#include <linux/types.h>

#include "lib/types.h"

struct vm_area_struct;

u32 rca_ringmap_bytes(const struct rca_queue *queue);
int rca_ringmap(struct rca_queue *queue, struct vm_area_struct *vma);

#endif /* RCA_RINGMAP_H */
