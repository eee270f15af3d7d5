/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* A repoll instance of repoll_create(): an epoll instance, and the rsockets in it. */
#ifndef RCL_RSOCKET_REPOLL_H
#define RCL_RSOCKET_REPOLL_H

#include <sys/epoll.h>

#include "rsocket/sock.h"

/* Data of the eventfd in the epoll instance. */
#define RCL_REPOLL_WAKE UINT64_MAX

/**
 * struct rcl_item - a descriptor in a repoll
 * @waiter: of @sock
 * @owner: the repoll
 * @is_socket: the descriptor was an rsocket when it was added
 * @sock: the rsocket; NULL: another descriptor, or the rsocket was closed
 * @fd: the descriptor
 * @generation: distinguishes events of the kernel for this item from those for an earlier @fd
 * @event: as of repoll_ctl()
 * @channel: descriptor in the epoll instance that reports changes of @sock; -1: none
 * @disabled: an event was reported with EPOLLONESHOT
 * @listed: it is in the list
 * @next: in the list
 */
struct rcl_item {
	struct rcl_waiter waiter;
	struct rcl_repoll *owner;
	bool is_socket;
	struct rcl_sock *sock;
	int fd;
	uint32_t generation;
	struct epoll_event event;
	int channel;
	bool disabled;
	bool listed;
	struct rcl_item *next;
};

/**
 * struct rcl_repoll - a repoll instance
 * @sock: for its descriptor, the epoll instance; the first member
 * @lock: protects the members below; taken under the lock of a socket
 * @wakeup: eventfd that wakes waiting threads, also those that wait for the repoll by poll(2)
 * @signaled: @wakeup is readable, which it is while the list has items
 * @items: by descriptor
 * @count: length of @items
 * @generation: of the item that was added last
 * @waits: counts calls that wait
 * @length: number of the items that may be ready
 * @first: first of them
 * @end: where the next one is appended
 */
struct rcl_repoll {
	struct rcl_sock sock;
	pthread_mutex_t lock;
	int wakeup;
	bool signaled;
	struct rcl_item **items;
	int count;
	uint32_t generation;
	atomic_uint waits;
	unsigned int length;
	struct rcl_item *first;
	struct rcl_item **end;
};

/*
 * Finds a repoll by its descriptor, and takes a reference. Returns NULL with errno set. @call: name
 * of the call.
 */
struct rcl_repoll *rcl_repoll_get(int epfd, const char *call);

/* The item of a descriptor, or NULL; the repoll is locked. */
struct rcl_item *rcl_repoll_find(const struct rcl_repoll *poll, int fd);

/*
 * Puts an item that may be ready into the list, unless it is disabled or its rsocket was closed.
 * Its repoll is locked.
 */
void rcl_repoll_list(struct rcl_item *item);

/* Removes an item from the list; its repoll is locked. */
void rcl_repoll_unlist(struct rcl_item *item);

/* epoll_ctl(2) on the epoll instance; 0 or a negative errno. */
int rcl_repoll_control(const struct rcl_repoll *poll, int op, int fd, struct epoll_event *event);

/* The data of an item in the epoll instance. */
static inline uint64_t rcl_repoll_data(const struct rcl_item *item)
{
	return (uint64_t)item->generation << 32 | (uint32_t)item->fd;
}

#endif /* RCL_RSOCKET_REPOLL_H */
