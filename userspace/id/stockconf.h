/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* What the administrator told the stock rdma_cm of RoCE ports, for our ids. */
#ifndef RCL_STOCKCONF_H
#define RCL_STOCKCONF_H

#include <stdbool.h>
#include <stdint.h>

/** RCL_STOCKCONF - where stock has them: DEVICE/ports/PORT/ below */
#define RCL_STOCKCONF "/sys/kernel/config/rdma_cm"

/** rcl_stockconf_present - does stock have any for ports? */
bool rcl_stockconf_present(void);

/**
 * rcl_stockconf_apply - give a new id the defaults that stock has for ports
 * @handle: the id; it has no device yet
 *
 * Where there are none, or they cannot be read, the id has the kernel's.
 */
void rcl_stockconf_apply(uint32_t handle);

/** rcl_stockconf_forget - look again at once; only for tests */
void rcl_stockconf_forget(void);

#endif /* RCL_STOCKCONF_H */
