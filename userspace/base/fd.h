/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * Descriptors that programs do not know. The kernel gives out the lowest free number, and programs
 * depend on it: select(2) has FD_SETSIZE, others have tables. So those of the library are moved
 * above the numbers that programs usually have.
 */
#ifndef RCL_FD_H
#define RCL_FD_H

/**
 * RCL_INTERNAL - flag of the type of rsocket(), and of repoll_create(): librspreload creates the
 * socket, and the program sees another descriptor in its place. Accepted sockets are as their
 * listener. librdmacm refuses the flag
 */
#define RCL_INTERNAL 0x10000000

/**
 * rcl_fd_raise - move a descriptor above those of programs
 * @fd: the descriptor, which nothing refers to; negative: nothing happens
 *
 * Return: its number from now on, with FD_CLOEXEC; @fd if there is no free number above
 */
int rcl_fd_raise(int fd);

#endif /* RCL_FD_H */
