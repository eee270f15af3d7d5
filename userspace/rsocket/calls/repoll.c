// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * repoll_create() and repoll_ctl(): epoll for rsockets and other descriptors.
 *
 * The descriptor is an epoll instance of the kernel. It contains the other descriptors, the
 * completion channels of the rsockets, and an eventfd. A list has the rsockets that may be ready:
 * an rsocket is put into it when it is added, when its channel is readable, and when another thread
 * has handled completions. repoll_wait() checks the rsockets in the list only.
 *
 * Locking: rcl_repoll.lock for the items and the list; it is taken under the lock of a socket.
 */
#include "rsocket/calls/repoll.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/compiler.h"
#include "base/err.h"
#include "base/fd.h"
#include "base/rdma_cma_new.h"
#include "rsocket/wait.h"

int rcl_repoll_control(const struct rcl_repoll *poll, int op, int fd, struct epoll_event *event)
{
	/* Not epoll_ctl(), which librspreload replaces. */
	return syscall(SYS_epoll_ctl, poll->sock.fd, op, fd, event) ? rcl_errno() : 0;
}

void rcl_repoll_list(struct rcl_item *item)
{
	struct rcl_repoll *poll = item->owner;

	if (item->listed || item->disabled || !item->sock)
		return;
	if (!poll->signaled)
		eventfd_write(poll->wakeup, 1);
	poll->signaled = true;
	poll->length++;
	item->listed = true;
	item->next = NULL;
	*poll->end = item;
	poll->end = &item->next;
}

void rcl_repoll_unlist(struct rcl_item *item)
{
	struct rcl_repoll *poll = item->owner;
	struct rcl_item **at = &poll->first;

	if (!item->listed)
		return;
	while (*at != item)
		at = &(*at)->next;
	*at = item->next;
	if (!*at)
		poll->end = at;
	poll->length--;
	item->listed = false;
}

static void wake(struct rcl_waiter *waiter)
{
	struct rcl_item *item = (struct rcl_item *)(void *)waiter;

	pthread_mutex_lock(&item->owner->lock);
	rcl_repoll_list(item);
	pthread_mutex_unlock(&item->owner->lock);
}

/* The rsocket was closed: the item reports nothing any more. */
static void gone(struct rcl_waiter *waiter)
{
	struct rcl_item *item = (struct rcl_item *)(void *)waiter;

	rcl_sock_unwatch(waiter);
	pthread_mutex_lock(&item->owner->lock);
	rcl_repoll_unlist(item);
	item->sock = NULL;
	/* The descriptor may stay open, for the next stream. */
	if (item->channel >= 0)
		rcl_repoll_control(item->owner, EPOLL_CTL_DEL, item->channel, NULL);
	item->channel = -1;
	pthread_mutex_unlock(&item->owner->lock);
}

struct rcl_repoll *rcl_repoll_get(int epfd, const char *call)
{
	struct rcl_sock *sock = rcl_sock_get(epfd);

	if (sock && sock->type == RCL_REPOLL)
		return (struct rcl_repoll *)(void *)sock;
	if (sock)
		rcl_sock_put(sock);
	rcl_fail(sock ? -EINVAL : -EBADF, call, "fd %d is not of repoll_create()", epfd);
	return NULL;
}

static void end_repoll(struct rcl_sock *sock)
{
	(void)sock;
}

/* Frees an item that this thread has removed from the table; called unlocked. */
static void drop(struct rcl_repoll *poll, struct rcl_item *item)
{
	struct rcl_sock *sock;

	pthread_mutex_lock(&poll->lock);
	sock = item->sock ? rcl_sock_hold(item->sock) : NULL;
	pthread_mutex_unlock(&poll->lock);
	if (sock) {
		pthread_mutex_lock(&sock->lock);
		/* The rsocket may have been closed meanwhile. */
		if (item->sock)
			rcl_sock_unwatch(&item->waiter);
		if (item->channel >= 0)
			rcl_repoll_control(poll, EPOLL_CTL_DEL, item->channel, NULL);
		pthread_mutex_unlock(&sock->lock);
		rcl_sock_put(sock);
	}
	pthread_mutex_lock(&poll->lock);
	rcl_repoll_unlist(item);
	pthread_mutex_unlock(&poll->lock);
	free(item);
}

static void free_repoll(struct rcl_sock *sock)
{
	struct rcl_repoll *poll = (struct rcl_repoll *)(void *)sock;
	int fd;

	for (fd = 0; fd < poll->count; fd++) {
		struct rcl_item *item = poll->items[fd];

		poll->items[fd] = NULL;
		if (item)
			drop(poll, item);
	}
	if (poll->wakeup >= 0)
		close(poll->wakeup);
	pthread_mutex_destroy(&poll->lock);
	free(poll->items);
	rcl_sock_fini(sock);
	free(poll);
}

static const struct rcl_sock_ops repoll_ops = { .end = end_repoll, .free = free_repoll };

static int install(struct rcl_repoll *poll, int flags)
{
	struct epoll_event event = { .events = EPOLLIN, .data.u64 = RCL_REPOLL_WAKE };
	int fd = rcl_sock_install(&poll->sock, flags & EPOLL_CLOEXEC), ret = 0;

	if (fd < 0)
		return fd;
	poll->wakeup = rcl_fd_raise(eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK));
	if (poll->wakeup < 0 || rcl_repoll_control(poll, EPOLL_CTL_ADD, poll->wakeup, &event))
		ret = rcl_errno();
	if (!ret)
		return fd;
	rcl_sock_remove(fd);
	return ret;
}

RCL_EXPORT int repoll_create(int flags)
{
	struct rcl_repoll *poll = NULL;
	int ret = -EINVAL;

	if (!(flags & ~(EPOLL_CLOEXEC | RCL_INTERNAL))) {
		poll = calloc(1, sizeof(*poll));
		ret = -ENOMEM;
	}
	if (!poll)
		return rcl_fail(ret, __func__, "flags 0x%x", flags);
	rcl_sock_init(&poll->sock, &repoll_ops, RCL_REPOLL, 0);
	poll->sock.internal = flags & RCL_INTERNAL;
	pthread_mutex_init(&poll->lock, NULL);
	poll->end = &poll->first;
	poll->wakeup = -1;
	ret = install(poll, flags);
	if (ret >= 0)
		return ret;
	rcl_sock_put(&poll->sock);
	return rcl_fail(ret, __func__, "no descriptor");
}

static int grow(struct rcl_repoll *poll, int fd)
{
	int count = poll->count ? poll->count : 64;
	struct rcl_item **items;

	if (fd < poll->count)
		return 0;
	while (count <= fd)
		count *= 2;
	items = reallocarray(poll->items, (size_t)count, sizeof(*items));
	if (!items)
		return -ENOMEM;
	memset(items + poll->count, 0, sizeof(*items) * (size_t)(count - poll->count));
	poll->items = items;
	poll->count = count;
	return 0;
}

struct rcl_item *rcl_repoll_find(const struct rcl_repoll *poll, int fd)
{
	return fd >= 0 && fd < poll->count ? poll->items[fd] : NULL;
}

static int add_kernel(struct rcl_repoll *poll, struct rcl_item *item)
{
	struct epoll_event event = {
		.events = item->event.events, .data.u64 = rcl_repoll_data(item),
	};

	return rcl_repoll_control(poll, EPOLL_CTL_ADD, item->fd, &event);
}

/*
 * Puts an item into the table. An old item with the same number is left from a descriptor that was
 * closed, unless its rsocket still exists or the epoll instance still has the descriptor.
 */
static int place(struct rcl_repoll *poll, struct rcl_item *item)
{
	struct rcl_item *old;
	int ret = grow(poll, item->fd);

	if (ret)
		return ret;
	old = poll->items[item->fd];
	if (old && old->sock)
		return -EEXIST;
	if (!item->sock)
		ret = add_kernel(poll, item);
	if (ret)
		return ret;
	free(old);
	poll->items[item->fd] = item;
	rcl_repoll_list(item);
	return 0;
}

/* @sock is locked, or NULL. */
static int add(struct rcl_repoll *poll, int fd, struct rcl_sock *sock,
	       const struct epoll_event *event)
{
	struct rcl_item *item;
	int ret;

	/* An item has no reference of its rsocket: it must be a waiter before rclose(). */
	if (sock && sock->gone)
		return -EBADF;
	/* The table grows up to the highest number, so invalid ones are refused first. */
	if (!sock && fcntl(fd, F_GETFD) < 0)
		return -EBADF;
	item = calloc(1, sizeof(*item));
	if (!item)
		return -ENOMEM;
	*item = (struct rcl_item){
		.waiter = { .wake = wake, .gone = gone }, .owner = poll, .is_socket = sock,
		.sock = sock, .fd = fd, .event = *event, .channel = -1,
	};
	pthread_mutex_lock(&poll->lock);
	item->generation = ++poll->generation & INT32_MAX;
	ret = place(poll, item);
	pthread_mutex_unlock(&poll->lock);
	if (ret)
		free(item);
	else if (sock)
		rcl_sock_watch(sock, &item->waiter);
	return ret;
}

static int change(struct rcl_repoll *poll, int fd, const struct epoll_event *event)
{
	struct rcl_item *item;
	int ret = -ENOENT;

	pthread_mutex_lock(&poll->lock);
	item = rcl_repoll_find(poll, fd);
	if (item) {
		struct epoll_event changed = {
			.events = event->events, .data.u64 = rcl_repoll_data(item),
		};

		item->event = *event;
		item->disabled = false;
		ret = item->is_socket ? 0 : rcl_repoll_control(poll, EPOLL_CTL_MOD, fd, &changed);
		rcl_repoll_list(item);
	}
	pthread_mutex_unlock(&poll->lock);
	return ret;
}

static int remove_fd(struct rcl_repoll *poll, int fd)
{
	struct rcl_item *item;
	int ret = 0;

	pthread_mutex_lock(&poll->lock);
	item = rcl_repoll_find(poll, fd);
	if (item && !item->is_socket)
		ret = rcl_repoll_control(poll, EPOLL_CTL_DEL, fd, NULL);
	/* NULL if another thread has removed the item first. */
	if (item)
		poll->items[fd] = NULL;
	pthread_mutex_unlock(&poll->lock);
	if (!item)
		return -ENOENT;
	drop(poll, item);
	return ret == -EBADF || ret == -ENOENT ? 0 : ret;
}

static int control(struct rcl_repoll *poll, int op, int fd, struct rcl_sock *sock,
		   const struct epoll_event *event)
{
	if (op != EPOLL_CTL_DEL && !event)
		return -EFAULT;
	if (fd == poll->sock.fd)
		return -EINVAL;
	if (rcl_sock_is_inherited(fd))
		return -EBADF;
	switch (op) {
	case EPOLL_CTL_ADD:
		return add(poll, fd, sock, event);
	case EPOLL_CTL_MOD:
		return change(poll, fd, event);
	case EPOLL_CTL_DEL:
		return remove_fd(poll, fd);
	default:
		return -EINVAL;
	}
}

RCL_EXPORT int repoll_ctl(int epfd, int op, int fd, struct epoll_event *event)
{
	struct rcl_repoll *poll = rcl_repoll_get(epfd, __func__);
	struct rcl_sock *sock;
	int ret;

	if (!poll)
		return -1;
	rcl_cancel_in_sleeps();
	sock = rcl_sock_get(fd);
	if (sock && sock->type == RCL_REPOLL) {
		rcl_sock_put(sock);
		sock = NULL;
	}
	if (sock && op == EPOLL_CTL_ADD)
		pthread_mutex_lock(&sock->lock);
	ret = control(poll, op, fd, sock, event);
	if (sock && op == EPOLL_CTL_ADD)
		pthread_mutex_unlock(&sock->lock);
	if (sock)
		rcl_sock_put(sock);
	rcl_sock_put(&poll->sock);
	rcl_cancel_as_before();
	return ret ? rcl_fail(ret, __func__, "operation %d on fd %d", op, fd) : 0;
}
