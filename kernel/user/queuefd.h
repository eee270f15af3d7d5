/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* The file of an event queue: create it, find the queue of a descriptor, read events. */
#ifndef RCA_QUEUEFD_H
#define RCA_QUEUEFD_H

#include <linux/types.h>

#include "lib/types.h"

struct file;
struct iov_iter;

/**
 * struct rca_queuefd - a queue and its file, created or looked up
 * @queue: the queue; @file has the reference
 * @file: its file, with a reference; NULL: none
 * @fd: a new descriptor, reserved but not installed yet; -1: none
 */
struct rca_queuefd {
	struct rca_queue *queue;
	struct file *file;
	int fd;
};

/** enum rca_delivered - positive results of rca_queue_deliver() */
enum rca_delivered {
	RCA_DELIVERED = 1,
	RCA_IN_RING,
};

int rca_queuefd_create(struct rca_queuefd *qfd, struct rca_ctx *ctx, u32 record_size,
		       u32 ring_entries, bool nonblock);
int rca_queuefd_find(struct rca_queuefd *qfd, struct rca_ctx *ctx, int fd);
void rca_queuefd_install(struct rca_queuefd *qfd);
void rca_queuefd_put(struct rca_queuefd *qfd);
int rca_queue_deliver(struct rca_queue *queue, struct iov_iter *to, size_t record_size,
		      bool nowait);

#endif /* RCA_QUEUEFD_H */
