// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * Connections that begin as TCP connections. At its first I/O the server listens for an rsocket on
 * the port of the TCP connection and sends 4 zero bytes over TCP. The client waits for these at its
 * first I/O, then connects an rsocket to the same port. A semaphore shared by all processes lets
 * only one server listen at a time.
 *
 * If either side cannot continue, both stay with TCP: the client receives other bytes than zeros,
 * or the server receives data over TCP instead of an rsocket.
 *
 * Locking: the lock of the file, while it becomes an rsocket.
 */
#include "preload/delayed.h"

#include <fcntl.h>
#include <netinet/in.h>
#include <poll.h>
#include <rdma/rsocket.h>
#include <semaphore.h>
#include <string.h>
#include <time.h>

#include "base/compiler.h"
#include "base/fd.h"
#include "base/log.h"
#include "preload/config.h"
#include "preload/deadline.h"
#include "preload/epoll.h"
#include "preload/fallback.h"
#include "preload/libc.h"

#define FORK_SEMAPHORE "/rsocket_fork"

/* Seconds to wait for the semaphore: a server that holds it longer is considered dead. */
#define HOLDER_SECONDS 5

/* Seconds to wait for the rsocket of a client that has shut down TCP. */
#define PEER_SECONDS 5

__thread int rcl_in_library;

/* rcl_rsocket() has made an rsocket, and makes no more. */
static atomic_bool used, stopped;

static void tune_one(int rs, int option, int value)
{
	if (value)
		rsetsockopt(rs, SOL_RDMA, option, &value, sizeof(value));
}

bool rcl_rsocket_stop(void)
{
	return atomic_load(&used) && !atomic_exchange(&stopped, true);
}

int rcl_rsocket(int domain, int type, int protocol)
{
	const struct rcl_settings *set = rcl_config_settings();
	int rs;

	if (atomic_load(&stopped)) {
		errno = EACCES;
		return -1;
	}
	rs = rsocket(domain, type | RCL_INTERNAL, protocol);
	/* librdmacm does not know the flag. */
	if (rs < 0 && errno == ENOTSUP)
		rs = rsocket(domain, type, protocol);
	if (rs < 0)
		return rs;
	atomic_store(&used, true);
	tune_one(rs, RDMA_SQSIZE, set->sq_size);
	tune_one(rs, RDMA_RQSIZE, set->rq_size);
	tune_one(rs, RDMA_INLINE, set->inline_size);
	return rs;
}

/* Waits for the invitation of the server, and reads it. */
static bool was_invited(int fd)
{
	struct pollfd poll = { .fd = fd, .events = POLLIN };
	uint32_t message = 0;
	ssize_t ret;

	do {
		if (rcl_libc()->poll(&poll, 1, -1) < 0 && errno != EINTR)
			return false;
		ret = rcl_libc()->recv(fd, &message, sizeof(message), MSG_PEEK | MSG_DONTWAIT);
	} while (ret < 0 && (errno == EAGAIN || errno == EINTR));
	if (ret != sizeof(message) || message)
		return false;
	return rcl_libc()->recv(fd, &message, sizeof(message), MSG_DONTWAIT) == sizeof(message);
}

/* Returns the rsocket, or -1 if the connection stays with TCP. */
static int begin_active(int fd)
{
	struct sockaddr_storage peer;
	socklen_t length = sizeof(peer);
	int rs;

	if (rcl_libc()->getpeername(fd, (struct sockaddr *)&peer, &length))
		return -1;
	/* Before the wait for an invitation: a host without RDMA must not wait. */
	rs = rcl_rsocket(peer.ss_family, SOCK_STREAM, 0);
	if (rs < 0)
		return -1;
	if (was_invited(fd) && !rconnect(rs, (struct sockaddr *)&peer, length))
		return rs;
	rclose(rs);
	return -1;
}

/*
 * Sets @any to the port of the TCP connection and the wildcard address: the client may know this
 * host by another address.
 */
static socklen_t listen_address(int fd, struct sockaddr_storage *any)
{
	struct sockaddr_in6 *in6 = (struct sockaddr_in6 *)any;
	struct sockaddr_in *in = (struct sockaddr_in *)any;
	socklen_t length = sizeof(*any);

	if (rcl_libc()->getsockname(fd, (struct sockaddr *)any, &length))
		return 0;
	if (any->ss_family == AF_INET) {
		in->sin_addr.s_addr = INADDR_ANY;
		return sizeof(*in);
	}
	in6->sin6_flowinfo = 0;
	in6->sin6_scope_id = 0;
	in6->sin6_addr = in6addr_any;
	return sizeof(*in6);
}

static int listen_on(int fd)
{
	struct sockaddr_storage any;
	int one = 1, rs;
	socklen_t length = listen_address(fd, &any);

	if (!length)
		return -1;
	rs = rcl_rsocket(any.ss_family, SOCK_STREAM, 0);
	if (rs < 0)
		return -1;
	rsetsockopt(rs, SOL_SOCKET, SO_REUSEADDR, &one, sizeof(one));
	if (!rbind(rs, (struct sockaddr *)&any, length) && !rlisten(rs, 1))
		return rs;
	rclose(rs);
	return -1;
}

/*
 * Whether the client has sent data over TCP, so that no rsocket will come. The end of the stream is
 * no sign of that: the client shuts down TCP as soon as its rsocket is connected, and the server
 * may notice this first.
 */
static bool was_declined(int fd)
{
	char byte;

	return rcl_libc()->recv(fd, &byte, 1, MSG_PEEK | MSG_DONTWAIT) > 0;
}

/* Waits for the rsocket of the client; returns -1 if it stays with TCP. */
static int await_rsocket(int listener, int fd)
{
	struct pollfd polls[] = {
		{ .fd = listener, .events = POLLIN }, { .fd = fd, .events = POLLIN },
	};
	int64_t deadline = RCL_NO_END;
	int ret, left;

	do {
		left = rcl_time_left(deadline);
		ret = rpoll(polls, ARRAY_SIZE(polls), left);
		if (ret < 0 && errno != EINTR)
			return -1;
		if (ret > 0 && polls[0].revents)
			return raccept(listener, NULL, NULL);
		if (ret > 0 && polls[1].revents) {
			if (was_declined(fd))
				return -1;
			polls[1].fd = -1;
			deadline = rcl_deadline_ms(PEER_SECONDS * 1000);
		}
	} while (left);
	return -1;
}

/* Invites the client. Returns its rsocket, or -1 if it stays with TCP. */
static int accept_on(int listener, int fd)
{
	uint32_t invitation = 0;

	if (rcl_libc()->send(fd, &invitation, sizeof(invitation), MSG_NOSIGNAL) !=
	    sizeof(invitation))
		return -1;
	return await_rsocket(listener, fd);
}

static void wait_turn(sem_t *turn)
{
	struct timespec limit;

	clock_gettime(CLOCK_REALTIME, &limit);
	limit.tv_sec += HOLDER_SECONDS;
	while (sem_timedwait(turn, &limit) && errno == EINTR)
		;
}

static int begin_passive(int fd)
{
	sem_t *turn = sem_open(FORK_SEMAPHORE, O_CREAT | O_RDWR, 0770, 1);
	int listener, rs = -1;

	/* Without the semaphore, a server that finds the port in use stays with TCP. */
	if (turn == SEM_FAILED)
		rcl_log("semaphore %s: %s; it is done without", FORK_SEMAPHORE, strerror(errno));
	else
		wait_turn(turn);
	listener = listen_on(fd);
	if (listener >= 0) {
		rs = accept_on(listener, fd);
		rclose(listener);
	}
	if (turn != SEM_FAILED) {
		sem_post(turn);
		sem_close(turn);
	}
	return rs;
}

static bool is_due(struct rcl_file *file, bool server_only)
{
	int kind = atomic_load_explicit(&file->kind, memory_order_acquire);

	return kind == RCL_FILE_TCP_PASSIVE || (kind == RCL_FILE_TCP_ACTIVE && !server_only);
}

void rcl_delayed_begin(int fd, struct rcl_file *file, bool server_only)
{
	int saved = errno, rs;

	if (!is_due(file, server_only))
		return;
	pthread_mutex_lock(&file->lock);
	if (!is_due(file, server_only))
		goto out;
	rcl_in_library++;
	rs = atomic_load(&file->kind) == RCL_FILE_TCP_PASSIVE ? begin_passive(fd) :
								begin_active(fd);
	rcl_in_library--;
	if (rs < 0) {
		rcl_file_forget(file);
		/* For calls that found the file before it was removed from the table. */
		atomic_store(&file->kind, RCL_FILE_TCP_NEW);
		goto out;
	}
	if (rcl_libc()->fcntl(fd, F_GETFL) & O_NONBLOCK)
		rfcntl(rs, F_SETFL, O_NONBLOCK);
	file->rs = rs;
	atomic_store(&file->connect, RCL_CONNECT_DONE);
	atomic_store_explicit(&file->kind, RCL_FILE_RSOCKET, memory_order_release);
	rcl_epoll_move(file, false);
	rcl_libc()->shutdown(fd, SHUT_RDWR);
out:
	pthread_mutex_unlock(&file->lock);
	errno = saved;
}

struct rcl_file *rcl_rsocket_of(int fd)
{
	struct rcl_file *file = rcl_file_get(fd);

	if (!file || atomic_load_explicit(&file->kind, memory_order_acquire) == RCL_FILE_RSOCKET)
		return file;
	rcl_file_done(file, 0);
	return NULL;
}

struct rcl_file *rcl_ready(int fd)
{
	struct rcl_file *file = rcl_file_get(fd);

	if (!file)
		return NULL;
	rcl_delayed_begin(fd, file, false);
	if (atomic_load_explicit(&file->kind, memory_order_acquire) == RCL_FILE_RSOCKET &&
	    rcl_connect_settle(fd, file))
		return file;
	rcl_file_done(file, 0);
	return NULL;
}
