/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* The first use of the library in a process. */
#ifndef RCL_INIT_H
#define RCL_INIT_H

/**
 * rcl_fork_init - from now on a child process finds all locks of the library free
 *
 * May be called any number of times, by any thread.
 */
void rcl_fork_init(void);

/**
 * rcl_init - rcl_fork_init(), and look for RDMA devices
 *
 * Called by each public function that can be the first one of a process.
 *
 * Return: 0, or -ENODEV until there is an RDMA device
 */
int rcl_init(void);

#endif /* RCL_INIT_H */
