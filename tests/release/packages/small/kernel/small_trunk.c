// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/* Stands for the module of trunks, as small.c does for that of the connection manager. */
#include <linux/module.h>

MODULE_DESCRIPTION("Stands for rdma_cm_alt_trunk in tests of packages");
MODULE_LICENSE("Dual BSD/GPL");
