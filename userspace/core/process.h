/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * Which process has made an object. A child of fork() inherits the objects of its parent. While the
 * parent lives they are the parent's alone, as with librdmacm: what a child does when it ends, such
 * as handlers of exit() and a language's collector, must not end the connections of its parent.
 */
#ifndef RCL_PROCESS_H
#define RCL_PROCESS_H

#include <stdbool.h>

/** rcl_process_number - the number of this process: of fork() calls since the library was loaded */
unsigned int rcl_process_number(void);

/** rcl_process_forking - before fork() */
void rcl_process_forking(void);

/** rcl_process_in_child - after fork(), in the child, which gets the next number */
void rcl_process_in_child(void);

/**
 * rcl_process_owns - may this process change an object?
 * @number: of the process that has made it
 *
 * Once for a process, the call waits up to 100 ms for the end of another one: daemon(3) returns in
 * the child when its parent is about to end.
 *
 * Return: true: this process has made it, or the one that has is not there any more
 */
bool rcl_process_owns(unsigned int number);

/** rcl_process_made_fd - this process has made a channel with a descriptor, or -1 */
void rcl_process_made_fd(int fd);

/** rcl_process_owns_fd - rcl_process_owns() for a channel; true for an unknown descriptor */
bool rcl_process_owns_fd(int fd);

#endif /* RCL_PROCESS_H */
