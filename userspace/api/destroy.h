/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* Destroying ids. */
#ifndef RCL_DESTROY_H
#define RCL_DESTROY_H

#include "id/cmid.h"

/**
 * rcl_id_drop_request - destroy the id of the request that rdma_get_request() could not complete
 * @listener: the listener; nothing happens when there is no such id, or when the program has
 *            destroyed or accepted it
 */
void rcl_id_drop_request(struct rcl_id *listener);

#endif /* RCL_DESTROY_H */
