/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* Address and route resolution: from an address to a device, a GID and a path. */
#ifndef RCA_RESOLVE_H
#define RCA_RESOLVE_H

#include "cm/resolve_wait.h"
#include "id/id.h"

int rca_resolve(struct rca_id *id, const struct rca_pipeline *pipe, u32 *done);
int rca_resolve_locked(struct rca_id *id, const struct rca_pipeline *pipe, u32 *done);
int rca_resolve_set_path_locked(struct rca_id *id, const struct sa_path_rec *path);

#endif /* RCA_RESOLVE_H */
