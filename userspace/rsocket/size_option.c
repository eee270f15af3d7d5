// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * Sizes of queues.
 *
 * Locking: rcl_sock.lock.
 */
#include "rsocket/size_option.h"

#include <rdma/rsocket.h>

#include "rsocket/value.h"
#include "rsocket/wire.h"

#define SIZE_MOST 65534

static uint32_t at_most(int number, uint32_t most)
{
	return (uint32_t)number < most ? (uint32_t)number : most;
}

int rcl_size_set(struct rcl_sock *sock, int name, const void *value, socklen_t len)
{
	int number = 0, ret = rcl_value_get(value, len, &number);

	if (ret)
		return ret;
	switch (name) {
	case RDMA_SQSIZE:
		sock->sq_size = at_most(number, SIZE_MOST);
		return 0;
	case RDMA_RQSIZE:
		sock->rq_size = at_most(number, SIZE_MOST);
		return 0;
	case RDMA_INLINE:
		sock->inline_len = at_most(number, SIZE_MOST);
		return 0;
	case RDMA_IOMAPSIZE:
		sock->iomaps = rcl_iomaps_round((uint32_t)number);
		return 0;
	default:
		return -ENOTSUP;
	}
}

int rcl_size_get(const struct rcl_sock *sock, int name, void *value, socklen_t *len)
{
	switch (name) {
	case RDMA_SQSIZE:
		return rcl_value_put(value, len, (int)sock->sq_size);
	case RDMA_RQSIZE:
		return rcl_value_put(value, len, (int)sock->rq_size);
	case RDMA_INLINE:
		return rcl_value_put(value, len, (int)sock->inline_len);
	case RDMA_IOMAPSIZE:
		return rcl_value_put(value, len, (int)sock->iomaps);
	default:
		return -ENOTSUP;
	}
}
