/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * What closed streams leave for new ones: the protection domain, completion queues and registered
 * buffers of an endpoint, which cost half of a connection.
 */
#ifndef RCL_RSOCKET_KEPT_H
#define RCL_RSOCKET_KEPT_H

#include "rsocket/stream/stream.h"

/** rcl_kept_task - the task of the service thread that destroys what nobody has taken for 10 s */
extern struct rcl_task rcl_kept_task;

/**
 * rcl_kept_take - use what a stream of the same device and sizes has left
 * @s: the stream, whose sizes are set; gets everything but a queue pair, with cleared buffers
 *
 * Context: rcl_sock.lock.
 * Return: whether there was something
 */
bool rcl_kept_take(struct rcl_stream *s);

/**
 * rcl_kept_give - leave what a stream has
 * @s: the stream, whose queue pair is destroyed, but whose id is not; a stream that has not all of
 *     the rest is left alone
 *
 * Context: Any thread that alone uses @s.
 * Return: whether it was taken from @s; otherwise @s keeps it
 */
bool rcl_kept_give(struct rcl_stream *s);

/**
 * rcl_kept_end - destroy what nobody has taken until now
 * @now: nanoseconds of CLOCK_MONOTONIC; RCL_FOREVER: everything is destroyed
 *
 * Context: The caller may hold the lock of a socket. Waits while another thread destroys something.
 * Return: whether there was something, also if another thread has destroyed it
 */
bool rcl_kept_end(int64_t now);

#endif /* RCL_RSOCKET_KEPT_H */
