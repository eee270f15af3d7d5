/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* Close of a queue or a context: destroy its ids. */
#ifndef RCA_SHUTDOWN_H
#define RCA_SHUTDOWN_H

#include "lib/types.h"

void rca_queue_shutdown(struct rca_queue *queue);
void rca_ctx_shutdown(struct rca_ctx *ctx);
void rca_shutdown_exit(void);

#endif /* RCA_SHUTDOWN_H */
