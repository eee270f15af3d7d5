/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* The end of ids: destroy, close of a queue or context, removal of a device. */
#ifndef RCA_TEARDOWN_H
#define RCA_TEARDOWN_H

#include "cmid.h"

int rca_destroy(struct rca_ctx *ctx, u32 handle, u32 *reported);
void rca_queue_shutdown(struct rca_queue *queue);
void rca_ctx_shutdown(struct rca_ctx *ctx);
void rca_teardown_requests(struct list_head *requests);
void rca_teardown_finish(struct rca_id *id);
void rca_teardown_device(struct rca_device *dev);
int rca_teardown_init(void);
void rca_teardown_exit(void);

#endif /* RCA_TEARDOWN_H */
