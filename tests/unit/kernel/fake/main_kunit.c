// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * The test module. Each <file>_kunit.c registers its own suite, so a new file needs one
 * line in Kbuild and nothing here.
 *
 * Locking: none.
 */
#include <linux/module.h>

#include "lib/compat.h"

MODULE_DESCRIPTION("KUnit tests of rdma_cm_alt");
MODULE_LICENSE("Dual BSD/GPL");
RCA_IMPORT_NS(EXPORTED_FOR_KUNIT_TESTING);
