// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * What modinfo tells about the module. It is apart from main.c so that the lower layers link into a
 * module without the upper ones.
 *
 * Locking: none.
 */
#include <linux/module.h>

MODULE_DESCRIPTION("RDMA connection manager beside the stock one");
MODULE_AUTHOR("The rdma_cm_alt authors");
MODULE_LICENSE("Dual BSD/GPL");
MODULE_VERSION("0.1.0");
/* Its add() must run before ours on a new device: see devices.c. */
MODULE_SOFTDEP("pre: rdma_cm");
