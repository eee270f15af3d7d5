/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * The table of descriptors that are more than the kernel knows, and the files they refer to. As
 * with the kernel's own table, several descriptors may refer to one file, which ends with the
 * last of them and the last call under way.
 *
 * The program's descriptor of an rsocket is a socket of the kernel that is not connected. fstat(),
 * O_NONBLOCK, dup() and FD_CLOEXEC are the kernel's business thus, and to go on over TCP, the
 * descriptor only has to be taken out of the table.
 */
#ifndef RCL_PRELOAD_FILE_H
#define RCL_PRELOAD_FILE_H

#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <sys/socket.h>
#include <sys/types.h>

/**
 * enum rcl_file_kind - what a file is
 * @RCL_FILE_RSOCKET: an rsocket
 * @RCL_FILE_EPOLL: an epoll instance with an rsocket in it
 * @RCL_FILE_TCP_NEW: RDMAV_FORK_SAFE: a TCP socket that is to become an rsocket
 * @RCL_FILE_TCP_LISTEN: a listening one
 * @RCL_FILE_TCP_ACTIVE: one that has connected
 * @RCL_FILE_TCP_PASSIVE: one that was accepted
 */
enum rcl_file_kind {
	RCL_FILE_RSOCKET,
	RCL_FILE_EPOLL,
	RCL_FILE_TCP_NEW,
	RCL_FILE_TCP_LISTEN,
	RCL_FILE_TCP_ACTIVE,
	RCL_FILE_TCP_PASSIVE,
};

/**
 * enum rcl_connect - how far the connect() of an rsocket is
 * @RCL_CONNECT_NONE: not called, or failed
 * @RCL_CONNECT_WAITS: under way, O_NONBLOCK
 * @RCL_CONNECT_DONE: connected
 */
enum rcl_connect {
	RCL_CONNECT_NONE,
	RCL_CONNECT_WAITS,
	RCL_CONNECT_DONE,
};

struct rcl_epoll;

/**
 * struct rcl_file - what one or more descriptors refer to
 * @refs: descriptors and calls under way; 0: the struct is free
 * @kind: enum rcl_file_kind
 * @connect: enum rcl_connect
 * @listening: listen() has succeeded
 * @error: positive errno that SO_ERROR is to report, or 0
 * @watches: places in epoll instances
 * @rs: number of the rsocket or of the repoll instance; constant while @kind is
 * @domain: of the socket
 * @datagram: a socket of type SOCK_DGRAM
 * @lock: changes of @kind and @connect; may be held while messages are waited for
 * @bound: what bind() was called with; @bound_len is 0 before
 * @peer: what connect() was called with; @peer_len is 0 before
 * @epoll: the instance, of RCL_FILE_EPOLL
 * @release: called when the last reference is dropped; returns as close() does
 *
 * Structs are used again, but never returned to the heap, so that a lookup may look at one that has
 * just ended.
 */
struct rcl_file {
	atomic_uint refs;
	atomic_int kind;
	atomic_int connect;
	atomic_bool listening;
	atomic_int error;
	atomic_uint watches;
	int rs;
	int domain;
	bool datagram;
	pthread_mutex_t lock;
	struct sockaddr_storage bound, peer;
	socklen_t bound_len, peer_len;
	struct rcl_epoll *epoll;
	int (*release)(struct rcl_file *file);
	struct rcl_file *next;
};

/**
 * rcl_file_new - make a file, with a reference for the caller
 * @kind: what it is
 * @rs: number of the rsocket or repoll instance, or -1
 * @release: ends it
 *
 * Return: the file; NULL without memory
 */
struct rcl_file *rcl_file_new(enum rcl_file_kind kind, int rs,
			      int (*release)(struct rcl_file *file));

/**
 * rcl_file_known - whether a descriptor is in the table, without a lock or a reference
 * @fd: any number
 */
bool rcl_file_known(int fd);

/**
 * rcl_file_waits - how many threads wait for an epoll instance in libc
 * @fd: descriptor of the instance
 *
 * A thread counts itself before it looks whether the descriptor is known; the one that adds the
 * first rsocket makes it known before it looks at the count.
 *
 * Return: the count; NULL without memory, or when the number is too large for the table
 */
atomic_uint *rcl_file_waits(int fd);

/**
 * rcl_file_get - find the file of a descriptor and take a reference, without a lock
 * @fd: any number
 *
 * Return: the file; NULL when the descriptor is libc's alone
 */
struct rcl_file *rcl_file_get(int fd);

/**
 * rcl_file_hold - take a reference of a file that may have ended
 * @file: the file
 *
 * Return: false when it has
 */
bool rcl_file_hold(struct rcl_file *file);

/**
 * rcl_file_put - drop a reference
 * @file: the file
 *
 * Return: what @release returned, or 0 if the file goes on
 */
int rcl_file_put(struct rcl_file *file);

/**
 * rcl_file_done - drop the reference of a call
 * @file: the file
 * @ret: result of the call
 *
 * Return: @ret, with errno as it was
 */
static inline ssize_t rcl_file_done(struct rcl_file *file, ssize_t ret)
{
	int saved = errno;

	rcl_file_put(file);
	errno = saved;
	return ret;
}

/**
 * rcl_file_install - let a descriptor refer to a file
 * @fd: the descriptor, which is open
 * @file: the file, with a reference that the table takes over; NULL: none
 *
 * An older file of that number, whose close() passed us by, is dropped.
 *
 * Return: false when the number is too large for the table, or without memory
 */
bool rcl_file_install(int fd, struct rcl_file *file);

/**
 * rcl_file_take - let a descriptor no longer refer to its file
 * @fd: any number
 *
 * Return: the file, with the reference of the descriptor; NULL if there is none, or if the caller
 * is a child of vfork(), which must not change the table of its parent
 */
struct rcl_file *rcl_file_take(int fd);

/**
 * rcl_file_next - find a descriptor in the table
 * @first: where to begin
 * @last: where to end
 *
 * Return: the lowest number from @first to @last that is in the table; -1 if there is none
 */
int rcl_file_next(unsigned int first, unsigned int last);

/**
 * rcl_file_forget - leave all descriptors of a file to libc
 * @file: the file; the caller has a reference
 */
void rcl_file_forget(struct rcl_file *file);

/**
 * rcl_file_inherited - whether this process is a child whose parent had rsockets when it forked
 *
 * Its copies of them are gone from its table, and the state of the rsocket library is a copy of the
 * parent's, with no threads.
 */
bool rcl_file_inherited(void);

#endif /* RCL_PRELOAD_FILE_H */
