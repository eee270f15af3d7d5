/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* Options of SOL_RDMA that are sizes of queues, for all types. */
#ifndef RCL_RSOCKET_SIZE_OPTION_H
#define RCL_RSOCKET_SIZE_OPTION_H

#include "rsocket/sock.h"

/**
 * rcl_size_set - set a size
 * @sock: the locked socket, whose queues do not exist yet
 * @name: RDMA_SQSIZE, RDMA_RQSIZE, RDMA_INLINE or RDMA_IOMAPSIZE
 * @value: the number, limited to the largest possible size
 * @len: its length
 *
 * Return: 0; -EINVAL: the value is too short; -ENOTSUP: another option
 */
int rcl_size_set(struct rcl_sock *sock, int name, const void *value, socklen_t len);

/**
 * rcl_size_get - return a size
 * @sock: the locked socket
 * @name: as of rcl_size_set()
 * @value: filled in
 * @len: its length
 *
 * Return: 0; -EINVAL: there is no room; -ENOTSUP: another option
 */
int rcl_size_get(const struct rcl_sock *sock, int name, void *value, socklen_t *len);

#endif /* RCL_RSOCKET_SIZE_OPTION_H */
