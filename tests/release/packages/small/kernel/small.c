// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * Stands for the module where a test is about its way into the system: it compiles in seconds, and
 * depends on ib_cm as the module does. Nothing loads it.
 */
#include <linux/module.h>
#include <rdma/ib_cm.h>

static int __init small_init(void)
{
	return ibcm_reject_msg(0) ? 0 : -ENODEV;
}
module_init(small_init);

MODULE_DESCRIPTION("Stands for rdma_cm_alt in tests of packages");
MODULE_LICENSE("Dual BSD/GPL");
