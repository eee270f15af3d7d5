/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * The table of the descriptors that librspreload handles, and the files they refer to. As in the
 * kernel, several descriptors may refer to one file. The file ends when the last of them is closed
 * and no call uses it.
 *
 * The descriptor of an rsocket is an unconnected socket of the kernel. So the kernel handles
 * fstat(), O_NONBLOCK, dup() and FD_CLOEXEC, and to continue over TCP the descriptor only has to be
 * removed from the table.
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
 * enum rcl_file_kind - kinds of files
 * @RCL_FILE_RSOCKET: an rsocket
 * @RCL_FILE_EPOLL: an epoll instance with an rsocket in it
 * @RCL_FILE_TCP_NEW: with RDMAV_FORK_SAFE, a TCP socket that will become an rsocket
 * @RCL_FILE_TCP_LISTEN: likewise, listening
 * @RCL_FILE_TCP_ACTIVE: likewise, connected by connect()
 * @RCL_FILE_TCP_PASSIVE: likewise, returned by accept()
 * @RCL_FILE_LENT: in a child, an rsocket of its parent that the child has not used
 * @RCL_FILE_CARRIED: in a child, a TCP connection over which the parent carries its rsocket's data
 */
enum rcl_file_kind {
	RCL_FILE_RSOCKET,
	RCL_FILE_EPOLL,
	RCL_FILE_TCP_NEW,
	RCL_FILE_TCP_LISTEN,
	RCL_FILE_TCP_ACTIVE,
	RCL_FILE_TCP_PASSIVE,
	RCL_FILE_LENT,
	RCL_FILE_CARRIED,
};

/**
 * enum rcl_connect - progress of the connect() of an rsocket
 * @RCL_CONNECT_NONE: not called, or failed
 * @RCL_CONNECT_WAITS: in progress (O_NONBLOCK)
 * @RCL_CONNECT_DONE: connected
 */
enum rcl_connect {
	RCL_CONNECT_NONE,
	RCL_CONNECT_WAITS,
	RCL_CONNECT_DONE,
};

struct rcl_epoll;

/**
 * struct rcl_file - a file, to which one or more descriptors refer
 * @refs: references of descriptors and of calls in progress; 0: the struct is free
 * @kind: enum rcl_file_kind
 * @connect: enum rcl_connect
 * @listening: listen() has succeeded
 * @backlog: its argument
 * @error: positive errno for SO_ERROR, or 0
 * @reset: a send has failed with ECONNRESET
 * @lender: in a child, the socket to the owner, of RCL_FILE_LENT and RCL_FILE_CARRIED
 * @watches: number of epoll entries for the file
 * @rs: number of the rsocket or of the repoll instance; constant while @kind is
 * @domain: of the socket
 * @datagram: a socket of type SOCK_DGRAM
 * @lock: protects changes of @kind and @connect; may be held while waiting for the peer
 * @bound: address of bind(), or that of the end of RCL_FILE_CARRIED
 * @bound_len: its length; 0 if bind() was not called
 * @reserved: a listener whose kernel's socket is bound to @bound
 * @accepted: returned by accept()
 * @named: @bound and @peer are the addresses of a connection, for children
 * @peer: address of connect(), or that of the peer of RCL_FILE_CARRIED
 * @peer_len: its length; 0 if connect() was not called
 * @epoll: the instance, of RCL_FILE_EPOLL
 * @release: called when the last reference is dropped; returns as close() does
 * @next: in the list of free structs
 *
 * Structs are reused but never freed, so that a lookup may read one whose file has just ended.
 */
struct rcl_file {
	atomic_uint refs;
	atomic_int kind;
	atomic_int connect;
	atomic_bool listening;
	atomic_int backlog;
	atomic_int error;
	atomic_bool reset;
	atomic_uint watches;
	int rs;
	int lender;
	int domain;
	bool datagram;
	bool reserved;
	bool accepted;
	bool named;
	pthread_mutex_t lock;
	struct sockaddr_storage bound;
	socklen_t bound_len;
	struct sockaddr_storage peer;
	socklen_t peer_len;
	struct rcl_epoll *epoll;
	int (*release)(struct rcl_file *file);
	struct rcl_file *next;
};

/*
 * Makes a file, with a reference for the caller. @rs: number of the rsocket or repoll instance, or
 * -1. Returns NULL without memory.
 */
struct rcl_file *rcl_file_new(enum rcl_file_kind kind, int rs,
			      int (*release)(struct rcl_file *file));

/* Is the descriptor in the table? Takes no lock and no reference. */
bool rcl_file_known(int fd);

/*
 * Number of threads that wait for an epoll instance in libc. A waiting thread increments it before
 * it checks whether the descriptor is in the table. The thread that adds the first rsocket puts the
 * descriptor into the table before it reads the number. Returns NULL without memory, or if the
 * descriptor is too large for the table.
 */
atomic_uint *rcl_file_waits(int fd);

/*
 * Finds the file of a descriptor and takes a reference, without a lock. Returns NULL if the
 * descriptor is not in the table: libc handles it.
 */
struct rcl_file *rcl_file_get(int fd);

/* Takes a reference of a file that may have ended; returns false if it has. */
bool rcl_file_hold(struct rcl_file *file);

/* Drops a reference. Returns 0, or after the last reference the result of @release. */
int rcl_file_put(struct rcl_file *file);

/* Drops the reference of a call, without changing errno. Returns @ret, the result of the call. */
static inline ssize_t rcl_file_done(struct rcl_file *file, ssize_t ret)
{
	int saved = errno;

	rcl_file_put(file);
	errno = saved;
	return ret;
}

/*
 * Lets an open descriptor refer to a file, whose reference the table takes over; NULL: to none. An
 * older file with that number, whose close() librspreload did not see, is dropped. Returns false
 * without memory, or if the number is too large for the table.
 */
bool rcl_file_install(int fd, struct rcl_file *file);

/*
 * Removes a descriptor from the table. Returns its file with the reference of the descriptor; NULL
 * if there is none, or if the caller is a child of vfork(), which must not change the table of its
 * parent.
 */
struct rcl_file *rcl_file_take(int fd);

/* Returns a descriptor that refers to the file; -1 if none does. */
int rcl_file_descriptor(const struct rcl_file *file);

/* False without a table, and in a child of vfork(), which must not change that of its parent. */
bool rcl_file_is_owner(void);

/* Returns the lowest number from @first to @last that is in the table; -1 if there is none. */
int rcl_file_next(unsigned int first, unsigned int last);

/*
 * Removes all descriptors of a file from the table: libc handles them from now on. The caller has a
 * reference.
 */
void rcl_file_forget(struct rcl_file *file);

/* Can a child of fork() use this file? See lend.h. */
bool rcl_file_may_lend(struct rcl_file *file);

/*
 * Sets what is called before each fork() with the table locked: such files become RCL_FILE_LENT in
 * the child. It returns the child's socket to the owner, or -1: there will be none.
 */
void rcl_file_on_fork(int (*lend)(void));

/*
 * The number of an rsocket is that of its event channel, which would keep it alive in children
 * after the end of the parent: they close it.
 */
void rcl_file_close_in_children(void);

/*
 * Is this process a child whose parent had rsockets when it forked? The rsocket library's state is
 * a copy of the parent's, without its threads.
 */
bool rcl_file_inherited(void);

#endif /* RCL_PRELOAD_FILE_H */
