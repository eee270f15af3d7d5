// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/* Stands for the module with the device of rdma_ucm, as small.c for the connection manager. */
#include <linux/module.h>

MODULE_DESCRIPTION("Stands for rdma_cm_alt_ucm in tests of packages");
MODULE_LICENSE("Dual BSD/GPL");
