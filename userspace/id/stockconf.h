/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* Defaults for RoCE ports that an administrator has set for the stock rdma_cm. */
#ifndef RCL_STOCKCONF_H
#define RCL_STOCKCONF_H

#include <stdbool.h>
#include <stdint.h>

/** rcl_stockconf_present - are there any? */
bool rcl_stockconf_present(void);

/**
 * rcl_stockconf_apply - set the defaults of all ports as an option of a new id
 * @handle: the id; it has no device yet
 *
 * Without defaults, or when they cannot be read, the id keeps those of the kernel.
 */
void rcl_stockconf_apply(uint32_t handle);

/** rcl_stockconf_forget - search again at once; only for tests */
void rcl_stockconf_forget(void);

#endif /* RCL_STOCKCONF_H */
