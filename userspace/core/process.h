/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * Which process has made an object. A child of fork() inherits the objects of its parent. While the
 * parent lives they are the parent's alone, as with librdmacm: what a child does when it ends, such
 * as handlers of exit() and a language's collector, must not end the connections of its parent.
 */
#ifndef RCL_PROCESS_H
#define RCL_PROCESS_H

#include <stdbool.h>

/* The number of this process: of fork() calls since the library was loaded. */
extern unsigned int rcl_process;

/** rcl_process_forking - before fork() */
void rcl_process_forking(void);

/** rcl_process_in_child - after fork(), in the child, which gets the next number */
void rcl_process_in_child(void);

/**
 * rcl_process_has_ended - has the process ended that has made an object?
 * @maker: its number, smaller than that of this one
 *
 * Once for a process, the call waits up to a second for that: daemon(3) returns in the child when
 * its parent is about to end.
 *
 * Return: true if it has
 */
bool rcl_process_has_ended(unsigned int maker);

/**
 * rcl_process_owns - may this process change an object?
 * @maker: the number of the process that has made it
 *
 * Return: true: it is this one, or has ended
 */
static inline bool rcl_process_owns(unsigned int maker)
{
	return maker >= rcl_process || rcl_process_has_ended(maker);
}

/** rcl_process_made_fd - this process has made a channel with a descriptor, or -1 */
void rcl_process_made_fd(int fd);

/** rcl_process_owns_fd - rcl_process_owns() for a channel; true for an unknown descriptor */
bool rcl_process_owns_fd(int fd);

#endif /* RCL_PROCESS_H */
