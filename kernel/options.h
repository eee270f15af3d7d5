/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* Options of an id. */
#ifndef RCA_OPTIONS_H
#define RCA_OPTIONS_H

#include "cmid.h"

/** RCA_OPTION_MAX - largest value of an option, in bytes */
#define RCA_OPTION_MAX 256

int rca_set_option(struct rca_id *id, u32 level, u32 name, const void *val, u32 len);
int rca_get_option(struct rca_id *id, u32 level, u32 name, void *val, u32 *len);

#endif /* RCA_OPTIONS_H */
