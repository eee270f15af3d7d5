// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * connect() of rsockets. The descriptor of an rsocket is a TCP socket with the program's options;
 * when the rsocket does not connect, it only has to be bound and connected instead.
 *
 * Locking: the file's lock for @connect, @peer and the way back to TCP.
 */
#include "preload/fallback.h"

#include <errno.h>
#include <poll.h>
#include <rdma/rsocket.h>
#include <string.h>

#include "base/log.h"
#include "preload/epoll.h"
#include "preload/libc.h"

/*
 * The UDP socket of the rsocket has the port, and keeps it until the last reference is gone. So the
 * program's own socket shares it.
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
 * The TCP socket connects; returns as connect(). What is left behind is closed with the last
 * reference.
 */
static int connect_tcp(int fd, struct rcl_file *file)
{
	const struct sockaddr *peer = (const struct sockaddr *)&file->peer;
	const struct sockaddr *bound = (const struct sockaddr *)&file->bound;
	int ret;

	/* Twice the same address is an error of no matter. */
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

/* Whether an error says that there is no connection, and not that the call was a wrong one. */
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
 * With the lock. Returns the state that the connect has then; NONE if @fd is TCP's or has an
 * error.
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
		/* SO_ERROR of the rsocket was taken. */
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
		/* As connect(2): 0 to the first call after the end. */
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
