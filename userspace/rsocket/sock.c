// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * Sockets and their descriptors.
 *
 * rcl_sock_get() takes no lock: it counts itself in the slot of the descriptor (rcl_fdslot.users)
 * while it takes its reference, and rcl_sock_remove() waits until that count is zero. The value of
 * a slot with an inherited socket is the other descriptor of that socket.
 *
 * A child of fork() cannot use the sockets of its parent: their queue pairs and service threads
 * belong to the parent. The child only knows their descriptors, so that it can close its copies.
 *
 * Locking: atomic operations for the table and the references; rcl_sock.lock for the waiters.
 */
#include "rsocket/sock.h"

#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/err.h"
#include "base/fd.h"
#include "base/fdtable.h"
#include "rsocket/conf.h"

static struct rcl_fdtable socks;

/* In the slots of a child, in place of each socket of the parent. */
static struct rcl_sock inherited;

void rcl_sock_init(struct rcl_sock *sock, const struct rcl_sock_ops *ops, int type, int family)
{
	const struct rcl_rsocket_conf *conf = rcl_rsocket_conf();

	sock->ops = ops;
	sock->type = type;
	sock->family = family;
	sock->fd = -1;
	sock->other_fd = -1;
	sock->linger_s = -1;
	sock->send_buf = conf->send_buf;
	sock->recv_buf = conf->recv_buf;
	sock->sq_size = conf->sq_size;
	sock->rq_size = conf->rq_size;
	sock->inline_len = conf->inline_len;
	sock->iomaps = conf->iomaps;
	atomic_init(&sock->refs, 1);
	pthread_mutex_init(&sock->lock, NULL);
}

void rcl_sock_fini(struct rcl_sock *sock)
{
	pthread_mutex_destroy(&sock->lock);
}

void rcl_sock_inherit(struct rcl_sock *sock, const struct rcl_sock *listener)
{
	sock->internal = listener->internal;
	sock->so_flags = listener->so_flags;
	sock->recv_ms = listener->recv_ms;
	sock->send_ms = listener->send_ms;
	sock->linger_s = listener->linger_s;
	sock->send_buf = listener->send_buf;
	sock->recv_buf = listener->recv_buf;
	sock->sq_size = listener->sq_size;
	sock->rq_size = listener->rq_size;
	sock->inline_len = listener->inline_len;
	sock->iomaps = listener->iomaps;
}

static void forked(void)
{
	struct rcl_sock *sock;
	struct rcl_fdslot *slot;
	int fd = -1;

	while ((fd = rcl_fdtable_next(&socks, fd + 1)) >= 0) {
		slot = rcl_fdtable_find(&socks, fd);
		/* Threads of the parent, which the child does not have, may be counted. */
		atomic_store(&slot->users, 0);
		sock = atomic_load(&slot->object);
		if (!sock)
			continue;
		if (sock != &inherited)
			slot->value = sock->other_fd;
		atomic_store(&slot->object, &inherited);
	}
}

static void follow_forks(void)
{
	pthread_atfork(NULL, NULL, forked);
}

void rcl_sock_end(struct rcl_sock *sock)
{
	pthread_mutex_lock(&sock->lock);
	sock->ops->end(sock);
	rcl_sock_gone(sock);
	pthread_mutex_unlock(&sock->lock);
	rcl_sock_put(sock);
}

/* The program closed the descriptor of @sock by close(2), and a new socket has got its number. */
static void end_lost(struct rcl_sock *sock)
{
	if (!sock)
		return;
	pthread_mutex_lock(&sock->lock);
	sock->fd = -1;
	sock->nonblock = true;
	pthread_mutex_unlock(&sock->lock);
	rcl_sock_end(sock);
}

int rcl_sock_install(struct rcl_sock *sock, bool cloexec)
{
	static pthread_once_t once = PTHREAD_ONCE_INIT;
	int fd = epoll_create1(cloexec ? EPOLL_CLOEXEC : 0);
	struct rcl_fdslot *slot;

	pthread_once(&once, follow_forks);
	if (fd < 0)
		return rcl_errno();
	if (sock->internal)
		fd = rcl_fd_raise(fd);
	slot = rcl_fdtable_make(&socks, fd);
	if (!slot) {
		close(fd);
		return -ENOMEM;
	}
	sock->fd = fd;
	end_lost(rcl_sock_remove(fd));
	atomic_store(&slot->object, sock);
	return fd;
}

struct rcl_sock *rcl_sock_hold(struct rcl_sock *sock)
{
	atomic_fetch_add_explicit(&sock->refs, 1, memory_order_relaxed);
	return sock;
}

bool rcl_sock_try_hold(struct rcl_sock *sock)
{
	unsigned int refs = atomic_load(&sock->refs);

	while (refs && !atomic_compare_exchange_weak(&sock->refs, &refs, refs + 1))
		;
	return refs;
}

struct rcl_sock *rcl_sock_get(int fd)
{
	struct rcl_fdslot *slot = rcl_fdtable_find(&socks, fd);
	struct rcl_sock *sock;

	if (!slot)
		return NULL;
	atomic_fetch_add(&slot->users, 1);
	sock = atomic_load(&slot->object);
	if (sock == &inherited)
		sock = NULL;
	if (sock)
		rcl_sock_hold(sock);
	atomic_fetch_sub(&slot->users, 1);
	return sock;
}

struct rcl_sock *rcl_sock_next(int *fd)
{
	struct rcl_sock *sock;

	while ((*fd = rcl_fdtable_next(&socks, (unsigned int)(*fd + 1))) >= 0) {
		sock = rcl_sock_get(*fd);
		if (sock)
			return sock;
	}
	return NULL;
}

/* Whether @fd is an epoll instance still: the child may have closed it by close(2). */
static bool is_instance(int fd)
{
	int other = eventfd(0, EFD_CLOEXEC), saved = errno, err;

	if (other < 0)
		return true;
	err = syscall(SYS_epoll_ctl, fd, EPOLL_CTL_DEL, other, NULL) ? errno : 0;
	close(other);
	errno = saved;
	return err == ENOENT;
}

bool rcl_sock_is_inherited(int fd)
{
	struct rcl_fdslot *slot = rcl_fdtable_find(&socks, fd);
	void *sock = &inherited;

	if (!slot || atomic_load(&slot->object) != &inherited)
		return false;
	if (is_instance(fd))
		return true;
	atomic_compare_exchange_strong(&slot->object, &sock, NULL);
	return false;
}

bool rcl_sock_close_inherited(int fd)
{
	struct rcl_fdslot *slot = rcl_fdtable_find(&socks, fd);
	void *sock = &inherited;

	/* After close(2), the number of the other descriptor may have been reused as well. */
	if (!rcl_sock_is_inherited(fd) ||
	    !atomic_compare_exchange_strong(&slot->object, &sock, NULL))
		return false;
	close(fd);
	/* The UDP socket would keep its port. */
	if (slot->value >= 0)
		close(slot->value);
	return true;
}

void rcl_sock_put(struct rcl_sock *sock)
{
	int fd;

	if (atomic_fetch_sub(&sock->refs, 1) != 1)
		return;
	fd = sock->fd;
	sock->ops->free(sock);
	if (fd >= 0)
		close(fd);
}

struct rcl_sock *rcl_sock_remove(int fd)
{
	struct rcl_fdslot *slot = rcl_fdtable_find(&socks, fd);
	struct rcl_sock *sock;

	if (!slot)
		return NULL;
	sock = atomic_exchange(&slot->object, NULL);
	while (atomic_load(&slot->users))
		sched_yield();
	return sock == &inherited ? NULL : sock;
}

int rcl_sock_show(const struct rcl_sock *sock, int fd)
{
	struct epoll_event event = { .events = EPOLLIN };

	/* Not epoll_ctl(), which librspreload replaces. */
	return syscall(SYS_epoll_ctl, sock->fd, EPOLL_CTL_ADD, fd, &event) ? rcl_errno() : 0;
}

void rcl_sock_watch(struct rcl_sock *sock, struct rcl_waiter *waiter)
{
	waiter->next = sock->waiters;
	waiter->prev = &sock->waiters;
	if (waiter->next)
		waiter->next->prev = &waiter->next;
	sock->waiters = waiter;
}

void rcl_sock_unwatch(struct rcl_waiter *waiter)
{
	*waiter->prev = waiter->next;
	if (waiter->next)
		waiter->next->prev = waiter->prev;
}

void rcl_sock_changed(struct rcl_sock *sock)
{
	struct rcl_waiter *waiter;

	for (waiter = sock->waiters; waiter; waiter = waiter->next)
		waiter->wake(waiter);
}

void rcl_sock_gone(struct rcl_sock *sock)
{
	struct rcl_waiter *waiter, *next;

	sock->gone = true;
	for (waiter = sock->waiters; waiter; waiter = next) {
		next = waiter->next;
		waiter->gone(waiter);
	}
}
