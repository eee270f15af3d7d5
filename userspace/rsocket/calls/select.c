// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * rselect(): select(2) by rpoll().
 *
 * Locking: none.
 */
#include <errno.h>
#include <limits.h>
#include <poll.h>
#include <pthread.h>
#include <rdma/rsocket.h>
#include <stdbool.h>
#include <stdlib.h>
#include <sys/select.h>
#include <sys/time.h>

#include "base/compiler.h"
#include "base/err.h"

static short events_of(int fd, fd_set *readfds, fd_set *writefds, fd_set *exceptfds)
{
	short events = 0;

	if (readfds && FD_ISSET(fd, readfds))
		events |= POLLIN | POLLRDHUP;
	if (writefds && FD_ISSET(fd, writefds))
		events |= POLLOUT;
	if (exceptfds && FD_ISSET(fd, exceptfds))
		events |= POLLPRI;
	return events;
}

/* Fills in the descriptors that are in a set; returns their number. */
static nfds_t from_sets(struct pollfd *fds, int most, fd_set *readfds, fd_set *writefds,
			fd_set *exceptfds)
{
	nfds_t count = 0;
	short events;
	int fd;

	for (fd = 0; fd < most; fd++) {
		events = events_of(fd, readfds, writefds, exceptfds);
		if (events)
			fds[count++] = (struct pollfd){ .fd = fd, .events = events };
	}
	return count;
}

/* Leaves a descriptor in a set, or removes it; returns 1 if it stays. */
static int leave(int fd, fd_set *set, bool ready)
{
	if (!set || !FD_ISSET(fd, set))
		return 0;
	if (ready)
		return 1;
	FD_CLR(fd, set);
	return 0;
}

/* Converts events of poll(2) to those of select(2); returns the number of bits that are set. */
static int to_sets(const struct pollfd *fds, nfds_t count, fd_set *readfds, fd_set *writefds,
		   fd_set *exceptfds)
{
	int ready = 0;
	nfds_t i;

	for (i = 0; i < count; i++) {
		short is = fds[i].revents;

		ready += leave(fds[i].fd, readfds, is & (POLLIN | POLLRDHUP | POLLHUP | POLLERR));
		ready += leave(fds[i].fd, writefds, is & (POLLOUT | POLLERR | POLLHUP));
		ready += leave(fds[i].fd, exceptfds, is & POLLPRI);
	}
	return ready;
}

static bool has_invalid(const struct pollfd *fds, nfds_t count)
{
	nfds_t i;

	for (i = 0; i < count; i++) {
		if (fds[i].revents & POLLNVAL)
			return true;
	}
	return false;
}

/* Milliseconds, rounded up; -1: no timeout. */
static int timeout_ms(const struct timeval *timeout)
{
	long long ms;

	if (!timeout)
		return -1;
	ms = timeout->tv_sec * 1000LL + (timeout->tv_usec + 999) / 1000;
	return ms > INT_MAX ? INT_MAX : (int)ms;
}

/* As with librdmacm, and unlike select(2), the timeout is not changed. */
RCL_EXPORT int rselect(int nfds, fd_set *readfds, fd_set *writefds, fd_set *exceptfds,
		       struct timeval *timeout)
{
	struct pollfd *fds;
	nfds_t count;
	int ret;

	if (nfds < 0 || nfds > FD_SETSIZE ||
	    (timeout && (timeout->tv_sec < 0 || timeout->tv_usec < 0)))
		return rcl_fail(-EINVAL, __func__, "%d descriptors, or a negative timeout", nfds);
	fds = calloc((size_t)nfds + 1, sizeof(*fds));
	if (!fds)
		return rcl_fail(-ENOMEM, __func__, "no memory");
	count = from_sets(fds, nfds, readfds, writefds, exceptfds);
	pthread_cleanup_push(free, fds);
	ret = rpoll(fds, count, timeout_ms(timeout));
	pthread_cleanup_pop(0);
	if (ret >= 0 && has_invalid(fds, count))
		ret = rcl_fail(-EBADF, __func__, "a descriptor of the sets is not open");
	else if (ret >= 0)
		ret = to_sets(fds, count, readfds, writefds, exceptfds);
	free(fds);
	return ret;
}
