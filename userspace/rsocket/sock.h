/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * What all rsockets have in common: a descriptor, a lock, waiting threads, and the calls that their
 * type implements. Streams are in stream/, datagrams in dgram/.
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
 * struct rcl_waiter - a thread or a repoll that is told when the state of a socket changes
 * @next: in the list of the socket
 * @prev: the pointer that points here
 * @wake: tells it; called with the lock of the socket
 * @gone: tells that the socket is closed; ends the wait, or does nothing if the waiter has a
 *        reference; called with the lock of the socket
 */
struct rcl_waiter {
	struct rcl_waiter *next;
	struct rcl_waiter **prev;
	void (*wake)(struct rcl_waiter *waiter);
	void (*gone)(struct rcl_waiter *waiter);
};

/** RCL_REPOLL - the type of what repoll_create() makes, which has a descriptor, and is no socket */
#define RCL_REPOLL 0

/**
 * struct rcl_sock_ops - the calls of a type of socket; with the lock of the socket where there is
 *                       one
 * @create: makes a socket of an address family, with one reference; NULL with errno set
 * @bind: rbind()
 * @listen: rlisten()
 * @accept: raccept(): returns a socket with a descriptor and one reference
 * @connect: rconnect()
 * @shutdown: rshutdown()
 * @send: rsend() and its family; returns the number of bytes
 * @recv: rrecv() and its family; returns the number of bytes, and sets msg_namelen and msg_flags
 * @name: local or remote address
 * @setopt: rsetsockopt(); of SOL_SOCKET what sockopt.c has not only to store
 * @getopt: rgetsockopt(), of SOL_SOCKET what sockopt.c does not know
 * @look: handles completions and returns the events of poll(2) that are true, among those asked
 *        for, POLLERR and POLLHUP
 * @arm: lets the descriptor tell the next change, and looks again as @look does: what came before
 *       is not told
 * @wait_fd: what a thread has to poll for POLLIN to be told; -1: waiters are woken for all changes
 * @drain: takes what @wait_fd has told
 * @end: rclose(): the socket has no descriptor any more. Unlocks while it waits
 * @free: frees the memory, with rcl_sock_fini(); the last reference is gone, and nothing is locked
 *
 * They return 0, a negative errno or what is said above.
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
 * @other_fd: another one, which rclose() in a child of fork() closes, too; -1: none
 * @refs: references: of its descriptor, and of calls that are under way
 * @lock: protects all that follows, and what the type adds
 * @waiters: those who are told changes
 * @gone: rclose() was called: it gets no more waiters
 * @nonblock: O_NONBLOCK
 * @err: SO_ERROR, a positive errno
 * @so_flags: options of SOL_SOCKET that are only stored, a bit for each
 * @recv_ms: SO_RCVTIMEO; 0: none
 * @send_ms: SO_SNDTIMEO; 0: none
 * @linger_s: SO_LINGER in seconds; -1: off
 * @sized: the sizes below are those of buffers and queues that exist
 * @send_buf: bytes of the send buffer
 * @recv_buf: bytes of the receive buffer
 * @sq_size: work requests of the send queue
 * @rq_size: work requests of the receive queue
 * @inline_len: bytes up to which data is posted from the memory of the caller
 * @iomaps: mappings that the peer may make
 */
struct rcl_sock {
	const struct rcl_sock_ops *ops;
	int type;
	int family;
	int fd;
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

/** rcl_sock_fini - end of rcl_sock_init(), before the memory is freed */
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
 * Return: the socket, or NULL if the number is none of a socket
 */
struct rcl_sock *rcl_sock_get(int fd);

/**
 * rcl_sock_is_inherited - whether a number is that of a socket of the parent process
 * @fd: any number
 *
 * fork() leaves the sockets to the parent: rcl_sock_get() does not find them in the child, which
 * has copies of their descriptors.
 */
bool rcl_sock_is_inherited(int fd);

/**
 * rcl_sock_close_inherited - close the copy of the descriptor of a socket of the parent process
 * @fd: any number
 *
 * The socket itself is not touched.
 *
 * Return: false: the number is none of such a socket
 */
bool rcl_sock_close_inherited(int fd);

/** rcl_sock_hold - take another reference */
struct rcl_sock *rcl_sock_hold(struct rcl_sock *sock);

/**
 * rcl_sock_try_hold - take a reference of a socket that may be about to be freed
 * @sock: the socket, whose memory is there
 *
 * Return: false: the last reference is gone
 */
bool rcl_sock_try_hold(struct rcl_sock *sock);

/** rcl_sock_put - drop a reference; the last one frees the socket */
void rcl_sock_put(struct rcl_sock *sock);

/**
 * rcl_sock_remove - rcl_sock_get() does not find the socket any more
 * @fd: its descriptor, which stays open until rcl_sock_put() of the last reference
 *
 * Return: the socket, whose reference of the descriptor passes to the caller; NULL: there is none
 */
struct rcl_sock *rcl_sock_remove(int fd);

/**
 * rcl_sock_end - rclose(): end a socket
 * @sock: of rcl_sock_remove(), not locked; the reference of its descriptor is dropped
 */
void rcl_sock_end(struct rcl_sock *sock);

/**
 * rcl_sock_show - let poll(2) on the descriptor of a socket tell that another one is readable
 * @sock: the socket, with a descriptor
 * @fd: the other one, until it is closed
 *
 * Return: 0 or a negative errno
 */
int rcl_sock_show(const struct rcl_sock *sock, int fd);

/**
 * rcl_sock_watch - let a waiter be told of changes
 * @sock: the locked socket
 * @waiter: the waiter
 */
void rcl_sock_watch(struct rcl_sock *sock, struct rcl_waiter *waiter);

/**
 * rcl_sock_unwatch - end of rcl_sock_watch()
 * @waiter: the waiter; the socket is locked
 */
void rcl_sock_unwatch(struct rcl_waiter *waiter);

/**
 * rcl_sock_changed - tell all waiters that the state of a socket has changed
 * @sock: the locked socket
 */
void rcl_sock_changed(struct rcl_sock *sock);

/**
 * rcl_sock_gone - tell all waiters that a socket is closed
 * @sock: the locked socket
 */
void rcl_sock_gone(struct rcl_sock *sock);

#endif /* RCL_RSOCKET_SOCK_H */
