/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* Connect together with the resolution steps before it. */
#ifndef RCA_CONNECT_PIPELINE_H
#define RCA_CONNECT_PIPELINE_H

#include "cm/resolve.h"

int rca_pipeline_connect(struct rca_id *id, const struct rca_pipeline *pipe,
			 const struct rca_tp_conn *conn, u32 *done);

#endif /* RCA_CONNECT_PIPELINE_H */
