/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * RDMAV_FORK_SAFE: connections begin as TCP connections, so that fork() can pass them to a child.
 * They become rsockets when the server first reads, writes or waits.
 */
#ifndef RCL_PRELOAD_DELAYED_H
#define RCL_PRELOAD_DELAYED_H

#include <stdbool.h>

#include "preload/file.h"

/** rcl_in_library - not 0 while this thread is in the rsocket library, whose calls go to libc */
extern __thread int rcl_in_library;

/**
 * rcl_tune - set the queue sizes of a new rsocket to those of the environment, ignoring failures
 * @rs: the rsocket
 */
void rcl_tune(int rs);

/**
 * rcl_delayed_begin - replace a delayed TCP connection by an rsocket
 * @fd: a descriptor of the file
 * @file: the file, with a reference
 * @server_only: the caller waits for events. Do nothing at the client, whose program may be waiting
 *               for the end of connect()
 *
 * Waits for the peer, also with O_NONBLOCK. On failure the descriptor stays a TCP socket.
 */
void rcl_delayed_begin(int fd, struct rcl_file *file, bool server_only);

/**
 * rcl_ready - find the rsocket of a descriptor, for reading or writing
 * @fd: any number
 *
 * Makes a delayed connection an rsocket, and checks whether a connect() in progress has failed.
 *
 * Return: the file of the rsocket, with a reference; NULL: call libc
 */
struct rcl_file *rcl_ready(int fd);

/**
 * rcl_rsocket_of - find the rsocket of a descriptor, without changing its state
 * @fd: any number
 *
 * Return: as rcl_ready()
 */
struct rcl_file *rcl_rsocket_of(int fd);

#endif /* RCL_PRELOAD_DELAYED_H */
