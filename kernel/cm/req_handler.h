/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* Connection requests. */
#ifndef RCA_REQ_HANDLER_H
#define RCA_REQ_HANDLER_H

#include "transport/transport.h"

int rca_req_handler(void *demux, void *lower, const struct rca_tp_request *req);
int rca_req_handler_for(struct rca_device *dev, void *lower, const struct rca_tp_request *req);

#endif /* RCA_REQ_HANDLER_H */
