/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * The base of all rsockets: descriptor, lock, waiting threads, and the operations of the type.
 * Streams are in stream/, datagrams in dgram/.
 */
#ifndef RCL_RSOCKET_SOCK_H
#define RCL_RSOCKET_SOCK_H

#include <poll.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/socket.h>

struct rcl_sock;

/**
 * struct rcl_waiter - a thread or repoll that is notified when the state of a socket changes
 * @next: in the list of the socket
 * @prev: the pointer to this waiter in that list
 * @wake: notifies the waiter; called with the lock of the socket
 * @gone: notifies the waiter that the socket is closed; ends the wait, or does nothing if the
 *        waiter has a reference; called with the lock of the socket
 */
struct rcl_waiter {
	struct rcl_waiter *next;
	struct rcl_waiter **prev;
	void (*wake)(struct rcl_waiter *waiter);
	void (*gone)(struct rcl_waiter *waiter);
};

/** RCL_REPOLL - the type of repoll instances, which have a descriptor but are no sockets */
#define RCL_REPOLL 0

/**
 * struct rcl_sock_ops - operations of a type of socket; called with the lock of the socket
 * @create: creates a socket of an address family, with one reference; NULL with errno set. Has no
 *          lock, as there is no socket yet
 * @bind: rbind()
 * @listen: rlisten()
 * @accept: raccept(): returns a socket with a descriptor and one reference
 * @connect: rconnect()
 * @shutdown: rshutdown()
 * @send: rsend() and its family; returns the number of bytes
 * @recv: rrecv() and its family; returns the number of bytes, and sets msg_namelen and msg_flags
 * @name: local or remote address
 * @setopt: rsetsockopt(), but for the options of SOL_SOCKET that sockopt.c only stores
 * @getopt: rgetsockopt(), but for the options of SOL_SOCKET that sockopt.c knows
 * @look: handles completions and returns the current events of poll(2), limited to @events, POLLERR
 *        and POLLHUP
 * @arm: requests that the descriptor reports the next change, then does the same as @look, since
 *       earlier changes are not reported
 * @wait_fd: descriptor that a thread polls for POLLIN until a change; -1: waiters are woken for
 *           all changes
 * @drain: clears the readiness of @wait_fd
 * @end: rclose(): the socket has lost its descriptor. Unlocks the socket while it waits
 * @free: frees the memory, with rcl_sock_fini(); called unlocked, after the last reference
 *
 * The operations return 0 or a negative errno unless their description says otherwise.
 */
struct rcl_sock_ops {
	struct rcl_sock *(*create)(int family);
	int (*bind)(struct rcl_sock *sock, const struct sockaddr *addr, socklen_t len);
	int (*listen)(struct rcl_sock *sock, int backlog);
	int (*accept)(struct rcl_sock *sock, struct rcl_sock **out);
	int (*connect)(struct rcl_sock *sock, const struct sockaddr *addr, socklen_t len);
	int (*shutdown)(struct rcl_sock *sock, int how);
	ssize_t (*send)(struct rcl_sock *sock, const struct msghdr *msg, int flags);
	ssize_t (*recv)(struct rcl_sock *sock, struct msghdr *msg, int flags);
	int (*name)(struct rcl_sock *sock, bool peer, struct sockaddr_storage *addr);
	int (*setopt)(struct rcl_sock *sock, int level, int name, const void *value, socklen_t len);
	int (*getopt)(struct rcl_sock *sock, int level, int name, void *value, socklen_t *len);
	short (*look)(struct rcl_sock *sock, short events);
	short (*arm)(struct rcl_sock *sock, short events);
	int (*wait_fd)(struct rcl_sock *sock);
	void (*drain)(struct rcl_sock *sock);
	void (*end)(struct rcl_sock *sock);
	void (*free)(struct rcl_sock *sock);
};

/**
 * struct rcl_sock - a socket
 * @ops: its type
 * @type: SOCK_STREAM, SOCK_DGRAM or RCL_REPOLL
 * @family: AF_INET, AF_INET6 or AF_IB
 * @fd: its descriptor, an epoll instance; -1: none
 * @internal: the program does not know @fd; see RCL_INTERNAL
 * @other_fd: a second descriptor that rclose() in a child of fork() closes, too; -1: none
 * @refs: references of the descriptor and of calls in progress
 * @lock: protects the members below, and those of the type
 * @waiters: list of waiters to notify
 * @gone: rclose() was called: no waiter may be added
 * @nonblock: O_NONBLOCK
 * @err: SO_ERROR, a positive errno
 * @so_flags: options of SOL_SOCKET that are only stored, one bit each
 * @recv_ms: SO_RCVTIMEO; 0: none
 * @send_ms: SO_SNDTIMEO; 0: none
 * @linger_s: SO_LINGER in seconds; -1: off
 * @sized: buffers and queues of the sizes below exist
 * @send_buf: bytes of the send buffer
 * @recv_buf: bytes of the receive buffer
 * @sq_size: work requests of the send queue
 * @rq_size: work requests of the receive queue
 * @inline_len: largest number of bytes that are posted inline
 * @iomaps: number of mappings that the peer may create
 */
struct rcl_sock {
	const struct rcl_sock_ops *ops;
	int type;
	int family;
	int fd;
	bool internal;
	int other_fd;
	atomic_uint refs;
	pthread_mutex_t lock;
	struct rcl_waiter *waiters;
	bool gone;
	bool nonblock;
	int err;
	uint32_t so_flags;
	uint32_t recv_ms;
	uint32_t send_ms;
	int linger_s;
	bool sized;
	uint32_t send_buf;
	uint32_t recv_buf;
	uint32_t sq_size;
	uint32_t rq_size;
	uint32_t inline_len;
	uint32_t iomaps;
};

/**
 * rcl_sock_init - initialise a socket with the default sizes, and one reference
 * @sock: zeroed memory
 * @ops: its type
 * @type: SOCK_STREAM or SOCK_DGRAM
 * @family: its address family
 */
void rcl_sock_init(struct rcl_sock *sock, const struct rcl_sock_ops *ops, int type, int family);

/** rcl_sock_fini - undo rcl_sock_init(), before the memory is freed */
void rcl_sock_fini(struct rcl_sock *sock);

/**
 * rcl_sock_inherit - take over the options and sizes of a listener, but not O_NONBLOCK
 * @sock: the accepted socket
 * @listener: the listener, locked
 */
void rcl_sock_inherit(struct rcl_sock *sock, const struct rcl_sock *listener);

/**
 * rcl_sock_install - give a socket a descriptor, by which rcl_sock_get() finds it
 * @sock: the socket; the descriptor takes over the reference of the caller
 * @cloexec: close it on exec
 *
 * Return: the descriptor, or a negative errno
 */
int rcl_sock_install(struct rcl_sock *sock, bool cloexec);

/**
 * rcl_sock_get - find a socket by its descriptor, and take a reference
 * @fd: any number
 *
 * Context: Takes no lock.
 * Return: the socket, or NULL if @fd is not a socket of this process
 */
struct rcl_sock *rcl_sock_get(int fd);

/**
 * rcl_sock_is_inherited - whether a descriptor is a copy of a socket of the parent process
 * @fd: any number
 *
 * fork() leaves the sockets to the parent: rcl_sock_get() does not find them in the child, which
 * has copies of their descriptors.
 *
 * Return: true if it is
 */
bool rcl_sock_is_inherited(int fd);

/**
 * rcl_sock_close_inherited - close the copy of the descriptor of a socket of the parent process
 * @fd: any number
 *
 * The socket itself is not touched.
 *
 * Return: false if @fd is no such copy
 */
bool rcl_sock_close_inherited(int fd);

/** rcl_sock_take_error - clear SO_ERROR of a locked socket; returns it as a negative errno, or 0 */
static inline int rcl_sock_take_error(struct rcl_sock *sock)
{
	int err = sock->err;

	sock->err = 0;
	return -err;
}

/** rcl_sock_hold - take another reference */
struct rcl_sock *rcl_sock_hold(struct rcl_sock *sock);

/**
 * rcl_sock_try_hold - take a reference of a socket that may be about to be freed
 * @sock: the socket, whose memory still exists
 *
 * Return: false: the last reference is gone
 */
bool rcl_sock_try_hold(struct rcl_sock *sock);

/**
 * rcl_sock_next - find the next socket of this process, and take a reference
 * @fd: the descriptor after which to begin, -1 at first; set to that of the socket
 *
 * Context: Takes no lock.
 * Return: the socket; NULL: there is no other
 */
struct rcl_sock *rcl_sock_next(int *fd);

/** rcl_sock_put - drop a reference; the last one frees the socket */
void rcl_sock_put(struct rcl_sock *sock);

/**
 * rcl_sock_remove - remove a socket from the table of descriptors
 * @fd: its descriptor, which stays open until rcl_sock_put() of the last reference
 *
 * Return: the socket, with the descriptor's reference, which passes to the caller; NULL: none
 */
struct rcl_sock *rcl_sock_remove(int fd);

/**
 * rcl_sock_end - rclose(): end a socket
 * @sock: of rcl_sock_remove(), not locked; the reference of its descriptor is dropped
 */
void rcl_sock_end(struct rcl_sock *sock);

/**
 * rcl_sock_show - make the descriptor of a socket readable while another one is readable
 * @sock: the socket, with a descriptor
 * @fd: the other one, until it is closed
 *
 * Return: 0 or a negative errno
 */
int rcl_sock_show(const struct rcl_sock *sock, int fd);

/**
 * rcl_sock_watch - add a waiter, which is notified of changes
 * @sock: the locked socket
 * @waiter: the waiter
 */
void rcl_sock_watch(struct rcl_sock *sock, struct rcl_waiter *waiter);

/**
 * rcl_sock_unwatch - remove a waiter
 * @waiter: the waiter; the socket is locked
 */
void rcl_sock_unwatch(struct rcl_waiter *waiter);

/**
 * rcl_sock_changed - notify all waiters that the state of a socket has changed
 * @sock: the locked socket
 */
void rcl_sock_changed(struct rcl_sock *sock);

/* Notifies all waiters of a locked socket that it is closed. */
void rcl_sock_gone(struct rcl_sock *sock);

#endif /* RCL_RSOCKET_SOCK_H */
