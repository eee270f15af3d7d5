/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* What makes the library usable in a child process: its locks over fork(). */
#ifndef RCL_FORK_H
#define RCL_FORK_H

/**
 * rcl_fork_init - from now on fork() finds the locks in order
 *
 * May be called any number of times, by any thread.
 */
void rcl_fork_init(void);

#endif /* RCL_FORK_H */
