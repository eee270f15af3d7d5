/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* Options of an id. */
#ifndef RCA_OPTIONS_H
#define RCA_OPTIONS_H

#include <rdma/ib_user_sa.h>

#include "id/id.h"

/** RCA_OPTION_MAX - largest value that can be set, in bytes */
#define RCA_OPTION_MAX 4096

/** RCA_OPTION_OUT_MAX - largest value that can be read, in bytes */
#define RCA_OPTION_OUT_MAX (2 * sizeof(struct ib_path_rec_data))

int rca_set_option(struct rca_id *id, u32 level, u32 name, const void *val, u32 len);
int rca_get_option(struct rca_id *id, u32 level, u32 name, void *val, u32 *len);

#endif /* RCA_OPTIONS_H */
