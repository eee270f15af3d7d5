// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * Sockets and their connections: socket, bind, listen, accept, connect, shutdown, and the
 * addresses.
 *
 * Locking: none here.
 */
#include <netinet/in.h>
#include <rdma/rsocket.h>
#include <string.h>
#include <sys/socket.h>

#include "base/compiler.h"
#include "base/log.h"
#include "preload/config.h"
#include "preload/delayed.h"
#include "preload/epoll.h"
#include "preload/fallback.h"
#include "preload/lend.h"
#include "preload/libc.h"

#define TYPE_FLAGS (SOCK_NONBLOCK | SOCK_CLOEXEC)

static int release_socket(struct rcl_file *file)
{
	int kind = atomic_load(&file->kind);

	rcl_epoll_forget(file);
	if (kind >= RCL_FILE_LENT)
		rcl_lend_return(file);
	return kind == RCL_FILE_RSOCKET ? rclose(file->rs) : 0;
}

static bool is_wanted(int domain, int type, int protocol)
{
	if (rcl_in_library || rcl_file_inherited())
		return false;
	if (domain != AF_INET && domain != AF_INET6 && domain != AF_IB)
		return false;
	if (type == SOCK_STREAM ? protocol && protocol != IPPROTO_TCP :
				  type != SOCK_DGRAM || (protocol && protocol != IPPROTO_UDP))
		return false;
	return rcl_config_wants(domain, type, protocol);
}

/* Creates the kernel's socket whose descriptor the rsocket gets. */
static int kernel_socket(int domain, int type, int protocol)
{
	if (domain == AF_IB)
		return rcl_libc()->socket(AF_UNIX, type, 0);
	return rcl_libc()->socket(domain, type, protocol);
}

/* Lets @fd refer to a new file. On failure releases the file; then libc handles @fd. */
static bool add_file(int fd, struct rcl_file *file, int domain, int type)
{
	if (!file)
		return false;
	rcl_lend_start();
	file->domain = domain;
	file->datagram = type == SOCK_DGRAM;
	if (rcl_file_install(fd, file))
		return true;
	rcl_file_put(file);
	return false;
}

static bool add_tcp(int fd, enum rcl_file_kind kind, int domain)
{
	return add_file(fd, rcl_file_new(kind, -1, release_socket), domain, SOCK_STREAM);
}

static bool add_rsocket(int fd, int rs, int domain, int type, enum rcl_connect connect)
{
	struct rcl_file *file = rcl_file_new(RCL_FILE_RSOCKET, rs, release_socket);

	if (file) {
		atomic_store(&file->connect, connect);
		file->accepted = connect == RCL_CONNECT_DONE;
	} else {
		rclose(rs);
	}
	return add_file(fd, file, domain, type);
}

static int new_rsocket(int domain, int type, int protocol)
{
	int rs;

	rcl_in_library++;
	rs = rcl_rsocket(domain, type & ~TYPE_FLAGS, protocol);
	rcl_in_library--;
	if (rs < 0) {
		rcl_log("rsocket: %s; the socket is TCP's or UDP's", strerror(errno));
		return -1;
	}
	if (type & SOCK_NONBLOCK)
		rfcntl(rs, F_SETFL, O_NONBLOCK);
	return rs;
}

RCL_EXPORT int socket(int domain, int type, int protocol)
{
	int fd, rs, base = type & ~TYPE_FLAGS;

	if (!is_wanted(domain, base, protocol)) {
		fd = rcl_libc()->socket(domain, type, protocol);
		if (fd >= 0)
			rcl_file_install(fd, NULL);
		return fd;
	}
	fd = kernel_socket(domain, type, protocol);
	if (fd < 0)
		return fd;
	rcl_file_install(fd, NULL);
	if (rcl_config_settings()->fork_safe && base == SOCK_STREAM && domain != AF_IB) {
		add_tcp(fd, RCL_FILE_TCP_NEW, domain);
		return fd;
	}
	rs = new_rsocket(domain, type, protocol);
	if (rs >= 0 && add_rsocket(fd, rs, domain, base, RCL_CONNECT_NONE))
		return fd;
	if (domain != AF_IB)
		return fd;
	rcl_libc()->close(fd);
	errno = EAFNOSUPPORT;
	return -1;
}

RCL_EXPORT int bind(int fd, RCL_CONST_ADDR addr, socklen_t length)
{
	struct rcl_file *file = rcl_rsocket_of(fd);
	int ret;

	if (!file)
		return rcl_libc()->bind(fd, addr, length);
	rcl_in_library++;
	ret = rbind(file->rs, rcl_sockaddr(addr), length);
	rcl_in_library--;
	if (!ret && length <= sizeof(file->bound)) {
		pthread_mutex_lock(&file->lock);
		memcpy(&file->bound, rcl_sockaddr(addr), length);
		file->bound_len = length;
		pthread_mutex_unlock(&file->lock);
	}
	return rcl_file_done(file, ret);
}

static int listen_tcp(int fd, int backlog)
{
	struct rcl_file *file = rcl_file_get(fd);
	int expected = RCL_FILE_TCP_NEW, ret;

	ret = rcl_libc()->listen(fd, backlog);
	if (!file)
		return ret;
	if (!ret)
		atomic_compare_exchange_strong(&file->kind, &expected, RCL_FILE_TCP_LISTEN);
	return rcl_file_done(file, ret);
}

RCL_EXPORT int listen(int fd, int backlog)
{
	struct rcl_file *file = rcl_rsocket_of(fd);
	int ret;

	if (!file)
		return listen_tcp(fd, backlog);
	rcl_in_library++;
	ret = rlisten(file->rs, backlog);
	rcl_in_library--;
	atomic_store(&file->backlog, backlog);
	if (!ret)
		atomic_store(&file->listening, true);
	return rcl_file_done(file, ret);
}

static int accept_tcp(int fd, RCL_ADDR addr, socklen_t *length, int flags)
{
	struct rcl_file *file = rcl_file_get(fd);
	int new_fd = rcl_libc()->accept4(fd, addr, length, flags);

	if (new_fd >= 0)
		rcl_file_install(new_fd, NULL);
	if (!file)
		return new_fd;
	if (new_fd >= 0 && atomic_load(&file->kind) == RCL_FILE_TCP_LISTEN)
		add_tcp(new_fd, RCL_FILE_TCP_PASSIVE, file->domain);
	return rcl_file_done(file, new_fd);
}

/* The descriptor is created first: without one, the connection stays in the queue. */
static int accept_rsocket(struct rcl_file *file, struct sockaddr *addr, socklen_t *length,
			  int flags)
{
	int fd, rs, saved;

	fd = kernel_socket(file->domain, SOCK_STREAM | flags, 0);
	if (fd < 0)
		return -1;
	rcl_in_library++;
	rs = raccept(file->rs, addr, length);
	rcl_in_library--;
	if (rs >= 0) {
		/* As with accept(2), and unlike raccept(), no flags are inherited. */
		rfcntl(rs, F_SETFL, flags & SOCK_NONBLOCK ? O_NONBLOCK : 0);
		if (add_rsocket(fd, rs, file->domain, SOCK_STREAM, RCL_CONNECT_DONE))
			return fd;
		errno = ENOMEM;
	}
	saved = errno;
	rcl_libc()->close(fd);
	errno = saved;
	return -1;
}

static int accept_any(int fd, RCL_ADDR addr, socklen_t *length, int flags)
{
	struct rcl_file *file = rcl_rsocket_of(fd);
	int ret;

	if (!file)
		return accept_tcp(fd, addr, length, flags);
	if (flags & ~TYPE_FLAGS) {
		errno = EINVAL;
		return rcl_file_done(file, -1);
	}
	ret = rcl_file_done(file, accept_rsocket(file, rcl_sockaddr(addr), length, flags));
	/* The listener has gone over to TCP meanwhile. */
	if (ret < 0 && errno == EINVAL && !rcl_file_known(fd))
		return accept_tcp(fd, addr, length, flags);
	return ret;
}

RCL_EXPORT int accept4(int fd, RCL_ADDR addr, socklen_t *length, int flags)
{
	return accept_any(fd, addr, length, flags);
}

RCL_EXPORT int accept(int fd, RCL_ADDR addr, socklen_t *length)
{
	return accept_any(fd, addr, length, 0);
}

static int connect_libc(int fd, RCL_CONST_ADDR addr, socklen_t length)
{
	struct rcl_file *file = rcl_file_get(fd);
	int expected = RCL_FILE_TCP_NEW, ret;

	ret = rcl_libc()->connect(fd, addr, length);
	if (!file)
		return ret;
	if (!ret || errno == EINPROGRESS)
		atomic_compare_exchange_strong(&file->kind, &expected, RCL_FILE_TCP_ACTIVE);
	return rcl_file_done(file, ret);
}

RCL_EXPORT int connect(int fd, RCL_CONST_ADDR addr, socklen_t length)
{
	struct rcl_file *file = rcl_rsocket_of(fd);
	int ret;

	if (!file)
		return connect_libc(fd, addr, length);
	rcl_in_library++;
	ret = rcl_connect(fd, file, rcl_sockaddr(addr), length);
	rcl_in_library--;
	return rcl_file_done(file, ret);
}

RCL_EXPORT int shutdown(int fd, int how)
{
	struct rcl_file *file = rcl_rsocket_of(fd);

	if (!file)
		return rcl_libc()->shutdown(fd, how);
	return rcl_file_done(file, rshutdown(file->rs, how));
}

RCL_EXPORT int getpeername(int fd, RCL_ADDR addr, socklen_t *length)
{
	struct rcl_file *file = rcl_rsocket_of(fd);

	if (!file && rcl_lend_name(fd, true, rcl_sockaddr(addr), length))
		return 0;
	if (!file)
		return rcl_libc()->getpeername(fd, addr, length);
	return rcl_file_done(file, rgetpeername(file->rs, rcl_sockaddr(addr), length));
}

RCL_EXPORT int getsockname(int fd, RCL_ADDR addr, socklen_t *length)
{
	struct rcl_file *file = rcl_rsocket_of(fd);

	if (!file && rcl_lend_name(fd, false, rcl_sockaddr(addr), length))
		return 0;
	if (!file)
		return rcl_libc()->getsockname(fd, addr, length);
	return rcl_file_done(file, rgetsockname(file->rs, rcl_sockaddr(addr), length));
}
