/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* What repoll_create() makes: an epoll instance, and the rsockets in it. */
#ifndef RCL_RSOCKET_REPOLL_H
#define RCL_RSOCKET_REPOLL_H

#include <sys/epoll.h>

#include "rsocket/sock.h"

/** RCL_REPOLL_WAKE - data of the eventfd in the epoll instance */
#define RCL_REPOLL_WAKE UINT64_MAX

/**
 * struct rcl_item - a descriptor in a repoll
 * @waiter: of @sock
 * @owner: the repoll
 * @is_socket: it was an rsocket when it was added
 * @sock: the rsocket; NULL: another descriptor, or the rsocket was closed
 * @fd: the descriptor
 * @generation: tells an event of the kernel for this item from one for an earlier @fd
 * @event: as of repoll_ctl()
 * @channel: descriptor in the epoll instance that tells changes of @sock; -1: none
 * @disabled: EPOLLONESHOT was told
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
 * struct rcl_repoll - what repoll_create() has made
 * @sock: for its descriptor, the epoll instance; the first member
 * @lock: protects what follows; taken under the lock of a socket
 * @wakeup: eventfd that wakes those who wait, also for the repoll itself with poll(2)
 * @signaled: @wakeup is readable; it is while there are items in the list
 * @items: by descriptor
 * @count: length of @items
 * @generation: of the item that was added last
 * @first: first of the items that may be ready
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
	struct rcl_item *first;
	struct rcl_item **end;
};

/**
 * rcl_repoll_get - find a repoll by its descriptor, and take a reference
 * @epfd: the number that the program has passed
 * @call: name of the call
 *
 * Return: the repoll, or NULL with errno set
 */
struct rcl_repoll *rcl_repoll_get(int epfd, const char *call);

/** rcl_repoll_find - the item of a descriptor, or NULL; the repoll is locked */
struct rcl_item *rcl_repoll_find(const struct rcl_repoll *poll, int fd);

/**
 * rcl_repoll_list - an item may be ready
 * @item: the item; its repoll is locked. Nothing happens if the item tells nothing more
 */
void rcl_repoll_list(struct rcl_item *item);

/** rcl_repoll_unlist - an item is not ready; its repoll is locked */
void rcl_repoll_unlist(struct rcl_item *item);

/** rcl_repoll_control - epoll_ctl(2) on the epoll instance; 0 or a negative errno */
int rcl_repoll_control(const struct rcl_repoll *poll, int op, int fd, struct epoll_event *event);

/** rcl_repoll_data - the data of an item in the epoll instance */
static inline uint64_t rcl_repoll_data(const struct rcl_item *item)
{
	return (uint64_t)item->generation << 32 | (uint32_t)item->fd;
}

#endif /* RCL_RSOCKET_REPOLL_H */
