/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * A file that puts MADs on the wire which no port has sent.
 */
#ifndef HCA_INJECT_H
#define HCA_INJECT_H

#include <linux/fs.h>

extern const struct file_operations hca_inject_fops;

#endif /* HCA_INJECT_H */
