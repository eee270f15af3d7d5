/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * RDMAV_FORK_SAFE: connections that begin as TCP's, so that fork() can hand them to a child, and
 * become rsockets when the server first reads, writes or waits.
 */
#ifndef RCL_PRELOAD_DELAYED_H
#define RCL_PRELOAD_DELAYED_H

#include <stdbool.h>

#include "preload/file.h"

/** rcl_in_library - not 0 while this thread is in the rsocket library, whose sockets are libc's */
extern __thread int rcl_in_library;

/**
 * rcl_tune - give a new rsocket the sizes of the environment; failures are ignored
 * @rs: the rsocket
 */
void rcl_tune(int rs);

/**
 * rcl_delayed_begin - make a TCP connection an rsocket, if it is to become one
 * @fd: a descriptor of the file
 * @file: the file, with a reference
 * @server_only: the caller waits for events: leave the client's side alone, whose program may wait
 *               for connect() to end
 *
 * Waits for the peer, whatever O_NONBLOCK says. When this fails, the descriptor stays a TCP socket.
 */
void rcl_delayed_begin(int fd, struct rcl_file *file, bool server_only);

/**
 * rcl_ready - find the rsocket of a descriptor that is to be read or written
 * @fd: any number
 *
 * Makes a delayed connection an rsocket, and looks whether a connect() under way has failed.
 *
 * Return: the file, with a reference, whose rsocket is to be used; NULL when it is libc's turn
 */
struct rcl_file *rcl_ready(int fd);

/**
 * rcl_rsocket_of - find the rsocket of a descriptor, as it is
 * @fd: any number
 *
 * Return: as rcl_ready()
 */
struct rcl_file *rcl_rsocket_of(int fd);

#endif /* RCL_PRELOAD_DELAYED_H */
