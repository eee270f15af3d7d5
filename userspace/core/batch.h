/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* Many commands of one kind in one system call. */
#ifndef RCL_BATCH_H
#define RCL_BATCH_H

#include <stddef.h>
#include <stdint.h>

/**
 * rcl_batch - execute many commands of one kind
 * @cmd: number of the command, &enum rdma_cm_alt_cmd
 * @entries: structs of the command, with their sizes; filled in
 * @stride: bytes from one to the next
 * @count: how many
 * @results: 0 or a negative errno each, also when the call as a whole fails
 */
void rcl_batch(uint32_t cmd, void *entries, size_t stride, uint32_t count, int32_t *results);

#endif /* RCL_BATCH_H */
