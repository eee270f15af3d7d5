// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/* The fake rsocket library: see fake_rsocket.h. */
#include "fake_rsocket.h"

#include "base/fd.h"
#include "base/rdma_cma_new.h"

#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <pthread.h>
#include <rdma/rsocket.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <sys/un.h>
#include <unistd.h>

#define MOST 1024

struct fake fake;

/* What a unix socket does not know. */
static struct {
	int domain, port, peer_port, held, watched, late;
} state[MOST];

/* Held over fork(): a child knows all that it has to close. */
static pthread_mutex_t open_lock = PTHREAD_MUTEX_INITIALIZER;
static bool is_open[MOST];

static void before_fork(void)
{
	pthread_mutex_lock(&open_lock);
}

static void in_parent(void)
{
	pthread_mutex_unlock(&open_lock);
}

/* Rsockets belong to the process that made them. */
static void in_child(void)
{
	int fd;

	for (fd = 0; fd < MOST; fd++) {
		if (is_open[fd])
			close(fd);
		is_open[fd] = false;
	}
	pthread_mutex_unlock(&open_lock);
}

static void follow_forks(void)
{
	pthread_atfork(before_fork, in_parent, in_child);
}

void fake_reset(void)
{
	memset(&fake, 0, sizeof(fake));
}

static int real(int number, const char *function)
{
	atomic_fetch_add(&fake.calls, 1);
	__atomic_store_n(&fake.last, function, __ATOMIC_RELAXED);
	if (number < FAKE_BASE || number >= FAKE_BASE + MOST) {
		fprintf(stderr, "%s(%d): no rsocket\n", function, number);
		abort();
	}
	return number - FAKE_BASE;
}

#define REAL(number) real(number, __func__)

static int port_of(const struct sockaddr *addr)
{
	return ntohs(((const struct sockaddr_in *)addr)->sin_port);
}

/*
 * The name of the unix socket that stands for a port, for all processes of a test. Two tests with
 * PID namespaces of their own may have the same process ID in one network namespace.
 */
static socklen_t name_of(int port, struct sockaddr_un *name)
{
	const char *test = getenv("FAKE_NAME");
	struct stat space = { 0 };
	int n;

	if (stat("/proc/self/ns/pid", &space))
		abort();
	memset(name, 0, sizeof(*name));
	name->sun_family = AF_UNIX;
	n = snprintf(name->sun_path + 1, sizeof(name->sun_path) - 1, "rcl-fake-%s-%d",
		     test ? test : "", port);
	if (!test)
		n += sprintf(name->sun_path + 1 + n, "-%d", getpid());
	n += sprintf(name->sun_path + 1 + n, "-%lu", (unsigned long)space.st_ino);
	return offsetof(struct sockaddr_un, sun_path) + 1 + n;
}

static int fail_with(int err)
{
	errno = err;
	return -1;
}

static void lock_open(void)
{
	static pthread_once_t once = PTHREAD_ONCE_INIT;

	pthread_once(&once, follow_forks);
	pthread_mutex_lock(&open_lock);
}

/* Called with open_lock, which it drops. */
static int made(int fd, int domain)
{
	if (fd >= MOST)
		abort();
	if (fd >= 0)
		is_open[fd] = true;
	pthread_mutex_unlock(&open_lock);
	if (fd < 0)
		return -1;
	memset(&state[fd], 0, sizeof(state[fd]));
	state[fd].domain = domain;
	atomic_fetch_add(&fake.made, 1);
	return fd + FAKE_BASE;
}

static int raised(int fd)
{
	int high = fcntl(fd, F_DUPFD_CLOEXEC, MOST / 2);

	close(fd);
	return high;
}

int rsocket(int domain, int type, int protocol)
{
	int fd;

	(void)protocol;
	atomic_fetch_add(&fake.calls, 1);
	if (fake.fail_socket)
		return fail_with(fake.fail_socket);
	if (type & (SOCK_NONBLOCK | SOCK_CLOEXEC) || (fake.stock && type & RCL_INTERNAL))
		return fail_with(ENOTSUP);
	lock_open();
	fd = socket(AF_UNIX, (type & ~RCL_INTERNAL) | SOCK_CLOEXEC, 0);
	return made(type & RCL_INTERNAL ? raised(fd) : fd, domain);
}

/* A port that TCP does not use: tests of other programs may run on this machine. */
static int free_port(void)
{
	struct sockaddr_in in = { .sin_family = AF_INET };
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	socklen_t size = sizeof(in);

	if (bind(fd, (struct sockaddr *)&in, size) ||
	    getsockname(fd, (struct sockaddr *)&in, &size))
		abort();
	close(fd);
	return ntohs(in.sin_port);
}

int rbind(int socket, const struct sockaddr *addr, socklen_t addrlen)
{
	int fd = REAL(socket), port = port_of(addr);
	struct sockaddr_un name;

	(void)addrlen;
	/* FAKE_LATE: clients do not bind, as those of other libraries. */
	if (getenv("FAKE_LATE") && ((const struct sockaddr_in *)addr)->sin_addr.s_addr)
		return fail_with(EADDRINUSE);
	if (!port)
		port = free_port();
	if (bind(fd, (struct sockaddr *)&name, name_of(port, &name)))
		return -1;
	state[fd].port = port;
	return 0;
}

int rlisten(int socket, int backlog)
{
	int fd = REAL(socket);

	/* FAKE_LATE: a listener sees a connection after its client does. */
	state[fd].late = getenv("FAKE_LATE") ? 5 : 0;
	return listen(fd, backlog);
}

static int tell_address(int domain, int port, struct sockaddr *addr, socklen_t *addrlen)
{
	struct sockaddr_in in = {
		.sin_family = AF_INET, .sin_port = htons(port),
		.sin_addr.s_addr = htonl(INADDR_LOOPBACK),
	};
	struct sockaddr_in6 in6 = {
		.sin6_family = AF_INET6, .sin6_port = htons(port), .sin6_addr = in6addr_loopback,
	};
	socklen_t size = domain == AF_INET6 ? sizeof(in6) : sizeof(in);

	if (!addr)
		return 0;
	memcpy(addr, domain == AF_INET6 ? (void *)&in6 : (void *)&in,
	       *addrlen < size ? *addrlen : size);
	*addrlen = size;
	return 0;
}

int raccept(int socket, struct sockaddr *addr, socklen_t *addrlen)
{
	struct sockaddr_un name = { 0 };
	socklen_t size = sizeof(name) - 1;
	int fd = REAL(socket), child = accept(fd, (struct sockaddr *)&name, &size);
	const char *test = getenv("FAKE_NAME");

	if (child < 0)
		return -1;
	lock_open();
	if (fd >= MOST / 2)
		child = raised(child);
	/* As the original: flags are the listener's. */
	fcntl(child, F_SETFL, fcntl(fd, F_GETFL));
	made(child, state[fd].domain);
	state[child].port = state[fd].port;
	/* Of a client that has bound it. */
	state[child].peer_port = atoi(name.sun_path + 1 + strlen("rcl-fake--") +
				      (test ? strlen(test) : 0));
	tell_address(state[fd].domain, 0, addr, addrlen);
	return child + FAKE_BASE;
}

int rconnect(int socket, const struct sockaddr *addr, socklen_t addrlen)
{
	int fd = REAL(socket);
	struct sockaddr_un name;

	(void)addrlen;
	atomic_fetch_add(&fake.connects, 1);
	if (fake.fail_connect)
		return fail_with(fake.fail_connect);
	state[fd].peer_port = port_of(addr);
	if (fake.hold_connect) {
		state[fd].held = 1;
		return fail_with(EINPROGRESS);
	}
	if (connect(fd, (struct sockaddr *)&name, name_of(port_of(addr), &name)))
		return fail_with(ECONNREFUSED);
	return 0;
}

int rshutdown(int socket, int how)
{
	return shutdown(REAL(socket), how);
}

int rclose(int socket)
{
	int fd = REAL(socket), ret;

	atomic_fetch_add(&fake.closed, 1);
	if (state[fd].watched)
		atomic_fetch_add(&fake.closed_watched, 1);
	lock_open();
	is_open[fd] = false;
	ret = close(fd);
	pthread_mutex_unlock(&open_lock);
	return ret;
}

ssize_t rrecv(int socket, void *buf, size_t len, int flags)
{
	return recv(REAL(socket), buf, len, flags);
}

ssize_t rrecvfrom(int socket, void *buf, size_t len, int flags, struct sockaddr *src_addr,
		  socklen_t *addrlen)
{
	int fd = REAL(socket);

	tell_address(state[fd].domain, state[fd].peer_port, src_addr, addrlen);
	return recv(fd, buf, len, flags);
}

ssize_t rrecvmsg(int socket, struct msghdr *msg, int flags)
{
	return recvmsg(REAL(socket), msg, flags);
}

ssize_t rsend(int socket, const void *buf, size_t len, int flags)
{
	return send(REAL(socket), buf, len, flags | MSG_NOSIGNAL);
}

ssize_t rsendto(int socket, const void *buf, size_t len, int flags,
		const struct sockaddr *dest_addr, socklen_t addrlen)
{
	(void)dest_addr;
	(void)addrlen;
	return send(REAL(socket), buf, len, flags | MSG_NOSIGNAL);
}

ssize_t rsendmsg(int socket, const struct msghdr *msg, int flags)
{
	return sendmsg(REAL(socket), msg, flags | MSG_NOSIGNAL);
}

ssize_t rread(int socket, void *buf, size_t count)
{
	return read(REAL(socket), buf, count);
}

ssize_t rreadv(int socket, const struct iovec *iov, int iovcnt)
{
	return readv(REAL(socket), iov, iovcnt);
}

ssize_t rwrite(int socket, const void *buf, size_t count)
{
	if (fake.fail_send)
		return fail_with(fake.fail_send);
	return send(REAL(socket), buf, count, MSG_NOSIGNAL);
}

ssize_t rwritev(int socket, const struct iovec *iov, int iovcnt)
{
	return writev(REAL(socket), iov, iovcnt);
}

static int is_ours(int fd)
{
	return fd >= FAKE_BASE && fd < FAKE_BASE + MOST;
}

/* A connect that is held shows nothing; one that is done can be written, or has failed. */
static int poll_held(struct pollfd *fd)
{
	if (!is_ours(fd->fd) || !state[fd->fd - FAKE_BASE].held)
		return 0;
	fd->revents = 0;
	if (!fake.hold_connect)
		fd->revents = fake.late_error ? POLLERR | POLLHUP : fd->events & POLLOUT;
	return !!fd->revents;
}

/* Whether a listener is to show nothing this time. */
static int is_late(struct pollfd *fd)
{
	if (!is_ours(fd->fd) || !state[fd->fd - FAKE_BASE].late)
		return 0;
	state[fd->fd - FAKE_BASE].late--;
	usleep(50000);
	return 1;
}

int rpoll(struct pollfd *fds, nfds_t nfds, int timeout)
{
	struct pollfd polls[64];
	int ready = 0, n;
	nfds_t i;

	atomic_fetch_add(&fake.calls, 1);
	atomic_fetch_add(&fake.polls, 1);
	if (nfds > 64)
		abort();
	for (i = 0; i < nfds; i++) {
		polls[i] = fds[i];
		if (is_ours(fds[i].fd))
			polls[i].fd -= FAKE_BASE;
		if (poll_held(&fds[i]))
			ready++;
		if (is_ours(fds[i].fd) && state[polls[i].fd].held)
			polls[i].fd = -1;
		if (is_late(&fds[i])) {
			fds[i].revents = 0;
			polls[i].fd = -1;
			timeout = timeout < 0 || timeout > 50 ? 50 : timeout;
		}
	}
	/* Early, as the original is. */
	n = poll(polls, nfds, ready ? 0 : timeout > 20 ? timeout / 2 : timeout);
	if (n < 0)
		return n;
	for (i = 0; i < nfds; i++) {
		if (polls[i].fd >= 0)
			fds[i].revents = polls[i].revents;
	}
	return n + ready;
}

int rselect(int nfds, fd_set *readfds, fd_set *writefds, fd_set *exceptfds,
	    struct timeval *timeout)
{
	return select(nfds, readfds, writefds, exceptfds, timeout);
}

int repoll_create(int flags)
{
	int fd;

	lock_open();
	fd = epoll_create1(flags & ~RCL_INTERNAL);
	return made(flags & RCL_INTERNAL ? raised(fd) : fd, 0);
}

int repoll_ctl(int epfd, int op, int fd, struct epoll_event *event)
{
	int ret = epoll_ctl(REAL(epfd), op, is_ours(fd) ? fd - FAKE_BASE : fd, event);

	if (!ret && is_ours(fd))
		state[fd - FAKE_BASE].watched += (op == EPOLL_CTL_ADD) - (op == EPOLL_CTL_DEL);
	return ret;
}

int repoll_wait(int epfd, struct epoll_event *events, int maxevents, int timeout)
{
	int fd = REAL(epfd);

	atomic_fetch_add(&fake.repoll_waits, 1);
	return epoll_wait(fd, events, maxevents, timeout > 20 ? timeout / 2 : timeout);
}

int rgetpeername(int socket, struct sockaddr *addr, socklen_t *addrlen)
{
	int fd = REAL(socket);

	return tell_address(state[fd].domain, state[fd].peer_port, addr, addrlen);
}

int rgetsockname(int socket, struct sockaddr *addr, socklen_t *addrlen)
{
	int fd = REAL(socket);

	return tell_address(state[fd].domain, state[fd].port, addr, addrlen);
}

static int set_rdma(int option, int value)
{
	int *where[] = {
		[RDMA_SQSIZE] = &fake.sq_size, [RDMA_RQSIZE] = &fake.rq_size,
		[RDMA_INLINE] = &fake.inline_size,
	};

	if (option < 0 || option > RDMA_INLINE)
		return fail_with(ENOTSUP);
	*where[option] = value;
	return 0;
}

int rsetsockopt(int socket, int level, int optname, const void *optval, socklen_t optlen)
{
	int fd = REAL(socket);

	if (level == SOL_RDMA)
		return set_rdma(optname, *(const int *)optval);
	if (level == SOL_SOCKET && optname == SO_KEEPALIVE)
		return setsockopt(fd, level, optname, optval, optlen);
	if (level == SOL_SOCKET && optname == SO_REUSEADDR)
		return 0;
	return fail_with(ENOTSUP);
}

int rgetsockopt(int socket, int level, int optname, void *optval, socklen_t *optlen)
{
	int fd = REAL(socket);

	if (level == SOL_SOCKET && optname == SO_ERROR && state[fd].held) {
		*(int *)optval = fake.hold_connect ? 0 : fake.late_error;
		return 0;
	}
	if (level == SOL_SOCKET && (optname == SO_ERROR || optname == SO_KEEPALIVE))
		return getsockopt(fd, level, optname, optval, optlen);
	return fail_with(ENOTSUP);
}

int rfcntl(int socket, int cmd, ...)
{
	int fd = REAL(socket);
	va_list args;
	int arg;

	va_start(args, cmd);
	arg = va_arg(args, int);
	va_end(args);
	return cmd == F_GETFL ? fcntl(fd, F_GETFL) : fcntl(fd, cmd, arg);
}
