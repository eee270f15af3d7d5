/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* rdma_resolve_addrinfo(), as far as events are concerned. */
#ifndef RCL_ADDRINFO_ASYNC_H
#define RCL_ADDRINFO_ASYNC_H

#include "id/cmid.h"

/**
 * rcl_addrinfo_failed - the event says that there is no result to wait for
 * @id: the id, which may resolve again
 */
void rcl_addrinfo_failed(struct rcl_id *id);

#endif /* RCL_ADDRINFO_ASYNC_H */
