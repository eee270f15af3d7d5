/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* Many commands of one type in one system call. */
#ifndef RCL_BATCH_H
#define RCL_BATCH_H

#include <stddef.h>
#include <stdint.h>

/**
 * rcl_batch - execute many commands of one type
 * @cmd: number of the command, &enum rdma_cm_alt_cmd
 * @entries: structs of the command, with their size members set; filled in
 * @stride: bytes from one to the next
 * @count: number of commands
 * @results: 0 or a negative errno for each, also when the system call fails
 */
void rcl_batch(uint32_t cmd, void *entries, size_t stride, uint32_t count, int32_t *results);

#endif /* RCL_BATCH_H */
