/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* The character device. */
#ifndef RCA_CHARDEV_H
#define RCA_CHARDEV_H

int rca_chardev_init(void);
void rca_chardev_exit(void);

#endif /* RCA_CHARDEV_H */
