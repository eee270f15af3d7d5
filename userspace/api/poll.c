// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * rpoll(), rselect() and the repoll calls for descriptors that are no rsockets, as librdmacm
 * accepts them. Programs under librspreload wait for all their descriptors with these calls, also
 * when they use no rsocket.
 *
 * librspreload replaces poll(), select() and the epoll calls by ours, so none of them is used here.
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
#include "base/sys.h"

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
		limit.tv_sec = timeout->tv_sec;
		limit.tv_nsec = timeout->tv_usec * 1000;
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
