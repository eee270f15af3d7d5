// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * rsockets, which are not implemented: their calls fail with ENOSYS. scripts/list-unsupported
 * makes the list for the documentation from this file.
 *
 * rpoll(), rselect() and the repoll calls serve descriptors that are no rsockets, as librdmacm
 * does: programs under librspreload wait for all their descriptors with these calls. librspreload
 * replaces poll(), select() and the epoll calls by ours, so none of them is used here.
 *
 * Locking: none.
 */
#include <poll.h>
#include <signal.h>
#include <sys/epoll.h>
#include <sys/select.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/compiler.h"
#include "base/err.h"
#include "base/rdma_cma_new.h"

RCL_EXPORT int rpoll(struct pollfd *fds, nfds_t nfds, int timeout)
{
	struct timespec limit = {
		.tv_sec = timeout / 1000, .tv_nsec = timeout % 1000 * 1000000L,
	};

	return ppoll(fds, nfds, timeout < 0 ? NULL : &limit, NULL);
}

/* As with librdmacm, and unlike select(2), the timeout stays as it is. */
RCL_EXPORT int rselect(int nfds, fd_set *readfds, fd_set *writefds, fd_set *exceptfds,
		       struct timeval *timeout)
{
	struct timespec limit = { 0 };

	if (timeout) {
		/* select(2) takes more than a second in tv_usec. */
		limit.tv_sec = timeout->tv_sec + timeout->tv_usec / 1000000;
		limit.tv_nsec = timeout->tv_usec % 1000000 * 1000;
	}
	return pselect(nfds, readfds, writefds, exceptfds, timeout ? &limit : NULL, NULL);
}

RCL_EXPORT int repoll_create(int flags)
{
	return (int)syscall(SYS_epoll_create1, flags);
}

RCL_EXPORT int repoll_ctl(int epfd, int op, int fd, struct epoll_event *event)
{
	return (int)syscall(SYS_epoll_ctl, epfd, op, fd, event);
}

RCL_EXPORT int repoll_wait(int epfd, struct epoll_event *events, int maxevents, int timeout)
{
	return epoll_pwait(epfd, events, maxevents, timeout, NULL);
}

/* The only descriptors of this family are those of repoll_create(). Others are EBADF. */
RCL_EXPORT int rclose(int socket)
{
	struct epoll_event event;

	if (epoll_pwait(socket, &event, 1, 0, NULL) < 0)
		return rcl_fail(-EBADF, __func__, "fd %d is no rsocket", socket);
	return (int)syscall(SYS_close, socket);
}

#pragma GCC diagnostic ignored "-Wunused-parameter"

/* UNSUPPORTED - a call that fails; the result is -1, as wide as its type */
#define UNSUPPORTED(type, name, ...)						\
	RCL_EXPORT type name(__VA_ARGS__)					\
	{									\
		return (type)rcl_fail(-ENOSYS, #name,				\
				      "not implemented in rdma_cm_alt");	\
	}

/* Sockets over RDMA */
UNSUPPORTED(int, rsocket, int domain, int type, int proto)
UNSUPPORTED(int, rbind, int socket, const struct sockaddr *addr, socklen_t addrlen)
UNSUPPORTED(int, rlisten, int socket, int backlog)
UNSUPPORTED(int, raccept, int socket, struct sockaddr *addr, socklen_t *addrlen)
UNSUPPORTED(int, rconnect, int socket, const struct sockaddr *addr,
	    socklen_t addrlen)
UNSUPPORTED(int, rshutdown, int socket, int how)
UNSUPPORTED(ssize_t, rrecv, int socket, void *buf, size_t len, int flags)
UNSUPPORTED(ssize_t, rrecvfrom, int socket, void *buf, size_t len, int flags,
	    struct sockaddr *src_addr, socklen_t *addrlen)
UNSUPPORTED(ssize_t, rrecvmsg, int socket, struct msghdr *msg, int flags)
UNSUPPORTED(ssize_t, rsend, int socket, const void *buf, size_t len, int flags)
UNSUPPORTED(ssize_t, rsendto, int socket, const void *buf, size_t len, int flags,
	    const struct sockaddr *dest_addr, socklen_t addrlen)
UNSUPPORTED(ssize_t, rsendmsg, int socket, const struct msghdr *msg, int flags)
UNSUPPORTED(ssize_t, rread, int socket, void *buf, size_t count)
UNSUPPORTED(ssize_t, rreadv, int socket, const struct iovec *iov, int iovcnt)
UNSUPPORTED(ssize_t, rwrite, int socket, const void *buf, size_t count)
UNSUPPORTED(ssize_t, rwritev, int socket, const struct iovec *iov, int iovcnt)
UNSUPPORTED(int, rgetpeername, int socket, struct sockaddr *addr,
	    socklen_t *addrlen)
UNSUPPORTED(int, rgetsockname, int socket, struct sockaddr *addr,
	    socklen_t *addrlen)
UNSUPPORTED(int, rsetsockopt, int socket, int level, int optname,
	    const void *optval, socklen_t optlen)
UNSUPPORTED(int, rgetsockopt, int socket, int level, int optname, void *optval,
	    socklen_t *optlen)
UNSUPPORTED(int, rfcntl, int socket, int cmd, ...)
UNSUPPORTED(off_t, riomap, int socket, void *buf, size_t len, int prot, int flags,
	    off_t offset)
UNSUPPORTED(int, riounmap, int socket, void *buf, size_t len)
UNSUPPORTED(size_t, riowrite, int socket, const void *buf, size_t count,
	    off_t offset, int flags)
