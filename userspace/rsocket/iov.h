/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* The buffers of a message: their length, and copies from and to them. */
#ifndef RCL_RSOCKET_IOV_H
#define RCL_RSOCKET_IOV_H

#include <stddef.h>
#include <sys/socket.h>

/** rcl_iov_len - bytes of all buffers of a message; SIZE_MAX: more than that */
size_t rcl_iov_len(const struct msghdr *msg);

/**
 * rcl_iov_gather - copy all buffers of a message
 * @to: rcl_iov_len() bytes
 * @msg: the message
 */
void rcl_iov_gather(void *to, const struct msghdr *msg);

/**
 * rcl_iov_scatter - fill the buffers of a message, one after the other
 * @msg: the message
 * @from: the bytes
 * @len: their number
 *
 * Return: number of bytes that were copied
 */
size_t rcl_iov_scatter(const struct msghdr *msg, const void *from, size_t len);

#endif /* RCL_RSOCKET_IOV_H */
