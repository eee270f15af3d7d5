// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * Information about the module of trunks, and whether it is ready. Separate from main.c so that its
 * lower layers link into a module without the upper ones.
 *
 * Locking: none.
 */
#include "trunk/trunk.h"

#include <linux/module.h>

#include "lib/compat.h"

MODULE_DESCRIPTION("Trunks of rdma_cm_alt: connection managers exchange messages over a QP of their own");
MODULE_AUTHOR("The rdma_cm_alt authors");
MODULE_LICENSE("Dual BSD/GPL");
RCA_IMPORT();

/* See rca_trunks_enabled(). Written by init and exit of the module, and by unit tests. */
bool rca_trunks;
