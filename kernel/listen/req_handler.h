/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* Connection requests that come in: which listener they are for, and their new id. */
#ifndef RCA_REQUEST_H
#define RCA_REQUEST_H

#include "transport/transport.h"

int rca_request(void *demux, void *lower, const struct rca_tp_request *req);

#endif /* RCA_REQUEST_H */
