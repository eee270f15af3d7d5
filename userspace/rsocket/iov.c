// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * The buffers of a message.
 *
 * Locking: none.
 */
#include "rsocket/iov.h"

#include <stdint.h>
#include <string.h>

size_t rcl_iov_len(const struct msghdr *msg)
{
	size_t i, sum = 0;

	for (i = 0; i < (size_t)msg->msg_iovlen; i++) {
		if (__builtin_add_overflow(sum, msg->msg_iov[i].iov_len, &sum))
			return SIZE_MAX;
	}
	return sum;
}

void rcl_iov_gather(void *to, const struct msghdr *msg)
{
	uint8_t *at = to;
	size_t i;

	for (i = 0; i < (size_t)msg->msg_iovlen; i++) {
		const struct iovec *iov = &msg->msg_iov[i];

		/* The address of an empty buffer may be NULL. */
		if (iov->iov_len)
			memcpy(at, iov->iov_base, iov->iov_len);
		at += iov->iov_len;
	}
}

size_t rcl_iov_scatter(const struct msghdr *msg, const void *from, size_t len)
{
	const uint8_t *at = from;
	size_t i, part, left = len;

	for (i = 0; i < (size_t)msg->msg_iovlen && left; i++) {
		const struct iovec *iov = &msg->msg_iov[i];

		part = iov->iov_len < left ? iov->iov_len : left;
		if (part)
			memcpy(iov->iov_base, at, part);
		at += part;
		left -= part;
	}
	return len - left;
}
