// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * connect() of rsockets. The descriptor of an rsocket is a TCP socket with the program's options.
 * If the rsocket cannot connect, the TCP socket is bound and connected instead.
 *
 * Locking: the lock of the file, for @connect, @bound, @peer and the change to TCP.
 */
#include "preload/fallback.h"

#include <errno.h>
#include <limits.h>
#include <poll.h>
#include <rdma/rsocket.h>
#include <string.h>

#include "base/log.h"
#include "preload/epoll.h"
#include "preload/libc.h"

/*
 * The UDP socket of the rsocket keeps the port until the last reference is dropped, so the
 * program's socket has to share it.
 */
static void share_port(int fd, const struct rcl_file *file)
{
	struct sockaddr_storage addr;
	int on = 1, before = 0;
	socklen_t len = sizeof(addr), size = sizeof(before);

	if (rgetsockname(file->rs, (struct sockaddr *)&addr, &len))
		return;
	rcl_libc()->getsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &before, &size);
	rsetsockopt(file->rs, SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on));
	rcl_libc()->setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on));
	if (rcl_libc()->bind(fd, (struct sockaddr *)&addr, len))
		rcl_log("connect: fd %d does not keep its port: errno %d", fd, errno);
	rcl_libc()->setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &before, sizeof(before));
}

/*
 * Connects the TCP socket; returns as connect(). The rsocket is closed with the last reference of
 * the file.
 */
static int connect_tcp(int fd, struct rcl_file *file)
{
	const struct sockaddr *peer = (const struct sockaddr *)&file->peer;
	const struct sockaddr *bound = (const struct sockaddr *)&file->bound;
	int ret;

	/* Fails harmlessly if the socket has this address already. */
	if (file->bound_len && file->datagram)
		share_port(fd, file);
	else if (file->bound_len)
		rcl_libc()->bind(fd, bound, file->bound_len);
	ret = rcl_libc()->connect(fd, peer, file->peer_len);
	if (ret && errno != EINPROGRESS)
		return -1;
	rcl_log("connect: fd %d goes on over TCP", fd);
	atomic_store(&file->connect, RCL_CONNECT_NONE);
	rcl_epoll_move(file, true);
	rcl_file_forget(file);
	return ret;
}

/* Whether an error means that the connect failed, and not that the call was invalid. */
static bool has_failed(int err)
{
	switch (err) {
	case EINTR:
	case EFAULT:
	case EBADF:
	case EALREADY:
	case EISCONN:
		return false;
	}
	return true;
}

static int first_connect(int fd, struct rcl_file *file, const struct sockaddr *addr,
			 socklen_t length)
{
	int err;

	if (length > sizeof(file->peer)) {
		errno = EINVAL;
		return -1;
	}
	memcpy(&file->peer, addr, length);
	file->peer_len = length;
	if (!rconnect(file->rs, addr, length)) {
		/* The peer of datagrams may be changed. */
		if (!file->datagram)
			atomic_store(&file->connect, RCL_CONNECT_DONE);
		return 0;
	}
	err = errno;
	if (err == EINPROGRESS) {
		atomic_store(&file->connect, RCL_CONNECT_WAITS);
	} else if (has_failed(err) && file->domain != AF_IB) {
		rcl_log("rconnect: fd %d: %s", fd, strerror(err));
		return connect_tcp(fd, file);
	}
	errno = err;
	return -1;
}

/*
 * Called with the lock. Returns the new state of the connect; RCL_CONNECT_NONE if @fd is a TCP
 * socket now (*tcp), or the connect has failed.
 */
static enum rcl_connect settle(int fd, struct rcl_file *file, bool *tcp)
{
	struct pollfd poll = { .fd = file->rs, .events = POLLOUT };
	int err = 0, now = atomic_load(&file->connect);
	socklen_t length = sizeof(err);

	if (now != RCL_CONNECT_WAITS || rpoll(&poll, 1, 0) <= 0)
		return now;
	if (!rgetsockopt(file->rs, SOL_SOCKET, SO_ERROR, &err, &length) && !err &&
	    poll.revents & (POLLERR | POLLNVAL))
		err = ECONNREFUSED;
	if (!err) {
		atomic_store(&file->connect, RCL_CONNECT_DONE);
		return RCL_CONNECT_DONE;
	}
	rcl_log("rconnect: fd %d: %s", fd, strerror(err));
	if (file->domain != AF_IB && (!connect_tcp(fd, file) || errno == EINPROGRESS)) {
		*tcp = true;
	} else {
		/* SO_ERROR of the rsocket was cleared above. */
		atomic_store(&file->error, err);
		atomic_store(&file->connect, RCL_CONNECT_NONE);
	}
	return RCL_CONNECT_NONE;
}

bool rcl_connect_settle(int fd, struct rcl_file *file)
{
	int saved = errno;
	bool tcp = false;

	if (atomic_load_explicit(&file->connect, memory_order_relaxed) != RCL_CONNECT_WAITS)
		return true;
	pthread_mutex_lock(&file->lock);
	settle(fd, file, &tcp);
	pthread_mutex_unlock(&file->lock);
	errno = saved;
	return !tcp;
}

int rcl_connect(int fd, struct rcl_file *file, const struct sockaddr *addr, socklen_t length)
{
	bool tcp = false;
	int ret = -1;

	pthread_mutex_lock(&file->lock);
	switch (atomic_load(&file->connect)) {
	case RCL_CONNECT_NONE:
		ret = first_connect(fd, file, addr, length);
		break;
	case RCL_CONNECT_WAITS:
		/* As with connect(2), the first call after the connect returns 0. */
		if (settle(fd, file, &tcp) == RCL_CONNECT_DONE)
			ret = 0;
		else if (tcp || !atomic_load(&file->error))
			errno = EALREADY;
		else
			errno = atomic_exchange(&file->error, 0);
		break;
	default:
		errno = EISCONN;
	}
	pthread_mutex_unlock(&file->lock);
	return ret;
}

/* The program has the port already, whatever is left of earlier connections of TCP. */
static bool bind_listener(int fd, const struct rcl_file *file)
{
	int on = 1;

	rcl_libc()->setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on));
	return !rcl_libc()->bind(fd, (const struct sockaddr *)&file->bound, file->bound_len);
}

void rcl_listen_reserve(int fd, struct rcl_file *file)
{
	socklen_t len = sizeof(file->bound);

	if (file->reserved || rgetsockname(file->rs, (struct sockaddr *)&file->bound, &len))
		return;
	file->bound_len = len;
	file->reserved = bind_listener(fd, file);
}

bool rcl_listen_kernel(int fd, struct rcl_file *file)
{
	if (!file->reserved)
		file->reserved = bind_listener(fd, file);
	if (file->reserved && !rcl_libc()->listen(fd, atomic_load(&file->backlog)))
		return true;
	rcl_log("listen: fd %d cannot go on over TCP: %s", fd, strerror(errno));
	return false;
}

void rcl_listen_tcp(int fd, struct rcl_file *file)
{
	struct rcl_file again = { 0 };
	bool done;

	if (atomic_load(&file->kind) != RCL_FILE_RSOCKET || !atomic_load(&file->listening) ||
	    file->domain == AF_IB) {
		rcl_file_done(file, 0);
		return;
	}
	pthread_mutex_lock(&file->lock);
	rcl_listen_reserve(fd, file);
	done = rcl_listen_kernel(fd, file);
	again.bound = file->bound;
	again.bound_len = file->bound_len;
	pthread_mutex_unlock(&file->lock);
	if (done)
		rcl_log("listen: fd %d goes on over TCP", fd);
	atomic_store(&again.backlog, atomic_load(&file->backlog));
	rcl_epoll_move(file, true);
	rcl_file_forget(file);
	/* Wakes threads that wait for the rsocket. */
	rshutdown(file->rs, SHUT_RDWR);
	rcl_file_done(file, 0);
	/* Over iWARP, the rsocket had the port of TCP. */
	if (!done)
		rcl_listen_kernel(fd, &again);
}

void rcl_listen_all_tcp(void)
{
	struct rcl_file *file;
	int fd = -1;

	while ((fd = rcl_file_next(fd + 1, INT_MAX)) >= 0) {
		file = rcl_file_get(fd);
		if (file)
			rcl_listen_tcp(fd, file);
	}
}
