/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* Destroying ids, and removal of a device. */
#ifndef RCA_TEARDOWN_H
#define RCA_TEARDOWN_H

#include "lib/types.h"

struct list_head;

int rca_destroy(struct rca_ctx *ctx, u32 handle, u32 *reported);
bool rca_teardown_published(struct rca_id *id);
void rca_teardown_requests(struct list_head *requests);
void rca_id_abort(struct rca_id *id);
void rca_teardown_device(struct rca_device *dev);

#endif /* RCA_TEARDOWN_H */
