// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * Connections that begin as TCP connections. At its first I/O the server listens for an rsocket on
 * the port of the TCP connection and sends 4 zero bytes over TCP: the invitation. The client waits
 * for it at its first I/O, then connects an rsocket to the same port. Both end TCP then.
 *
 * If either side cannot continue, both stay with TCP: the client receives other bytes than zeros,
 * or the server receives data over TCP instead of an rsocket.
 *
 * All processes of a server have one port, and a client may come late, when another one listens.
 * So the rsocket of this project's client has the port of its TCP connection, too, and the client
 * keeps TCP until the server has ended it: an rsocket that is closed instead was not the one that
 * the server had waited for, and the connection stays with TCP.
 *
 * Locking: the lock of the file, while it becomes an rsocket.
 */
#include "preload/delayed.h"

#include <fcntl.h>
#include <netinet/in.h>
#include <poll.h>
#include <rdma/rsocket.h>
#include <stdio.h>
#include <string.h>
#include <sys/un.h>

#include "base/compiler.h"
#include "base/fd.h"
#include "base/log.h"
#include "preload/config.h"
#include "preload/deadline.h"
#include "preload/epoll.h"
#include "preload/fallback.h"
#include "preload/lend.h"
#include "preload/libc.h"

/*
 * How long a server waits for a client that it has invited, and which may have nothing to say yet,
 * or know nothing of invitations. Meanwhile the other processes that have the port wait for it; a
 * server that does not block, or waits for events, keeps its own clients waiting, too. A client
 * waits as long for the server to end TCP.
 */
#define CLIENT_MS 5000
#define CLIENT_NONBLOCK_MS 200

/* How long a server waits for the second of the two signs: an rsocket has come, TCP has ended. */
#define SECOND_MS 1000

/* How long a server waits for the port, which another process of it uses, and how often. */
#define PORT_MS (2 * CLIENT_MS)
#define PORT_LOOK_US 10000

/* rcl_rsocket() has made an rsocket, and makes no more. */
static atomic_bool used, stopped;

/* The rsocket library is librdmacm. */
static atomic_bool foreign;

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
	if (rs < 0 && errno == ENOTSUP) {
		rs = rsocket(domain, type, protocol);
		if (rs < 0)
			return rs;
		atomic_store(&foreign, true);
		rcl_file_close_in_children();
	}
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

/* Whether the server has taken the rsocket: it ends TCP, or closes the rsocket. */
static bool was_taken(int rs, int fd)
{
	struct pollfd polls[] = {
		{ .fd = rs, .events = POLLIN }, { .fd = fd, .events = POLLIN },
	};
	int64_t deadline = rcl_deadline_ms(CLIENT_MS);
	int ret = 0;
	char byte;

	while (ret <= 0 && rcl_time_left(deadline)) {
		ret = rpoll(polls, ARRAY_SIZE(polls), rcl_time_left(deadline));
		if (ret < 0 && errno != EINTR)
			break;
	}
	if (ret > 0 && polls[1].revents)
		return rcl_libc()->recv(fd, &byte, 1, MSG_PEEK | MSG_DONTWAIT) <= 0;
	return ret <= 0 || rrecv(rs, &byte, 1, MSG_PEEK | MSG_DONTWAIT) > 0;
}

/* Returns the rsocket, or -1 if the connection stays with TCP. */
static int begin_active(int fd)
{
	struct sockaddr_storage own, peer;
	socklen_t length = sizeof(peer), own_length = sizeof(own);
	bool bound, invited, connected;
	int rs;

	if (rcl_libc()->getpeername(fd, (struct sockaddr *)&peer, &length))
		return -1;
	/* Before the wait for an invitation: a host without RDMA must not wait. */
	rs = rcl_rsocket(peer.ss_family, SOCK_STREAM, 0);
	if (rs < 0)
		return -1;
	bound = !atomic_load(&foreign) &&
		!rcl_libc()->getsockname(fd, (struct sockaddr *)&own, &own_length) &&
		!rbind(rs, (struct sockaddr *)&own, own_length);
	invited = was_invited(fd);
	connected = invited && !rconnect(rs, (struct sockaddr *)&peer, length);
	/* Over iWARP, the connection has the port of TCP. */
	if (invited && !connected && bound &&
	    (errno == EADDRINUSE || errno == EADDRNOTAVAIL)) {
		rclose(rs);
		bound = false;
		rs = rcl_rsocket(peer.ss_family, SOCK_STREAM, 0);
		if (rs < 0)
			return -1;
		connected = !rconnect(rs, (struct sockaddr *)&peer, length);
	}
	if (connected && (!bound || was_taken(rs, fd)))
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

/* Returns -1 with errno on failure; *@made: at least, an rsocket can be made. */
static int listen_on(int fd, bool *made)
{
	struct sockaddr_storage any;
	int one = 1, rs, saved;
	socklen_t length = listen_address(fd, &any);

	if (!length)
		return -1;
	rs = rcl_rsocket(any.ss_family, SOCK_STREAM, 0);
	*made = rs >= 0;
	if (rs < 0)
		return -1;
	rsetsockopt(rs, SOL_SOCKET, SO_REUSEADDR, &one, sizeof(one));
	if (!rbind(rs, (struct sockaddr *)&any, length) && !rlisten(rs, 1))
		return rs;
	saved = errno;
	rclose(rs);
	errno = saved;
	return -1;
}

/*
 * Takes the turn of the processes that have the port of a connection: the name of a unix socket,
 * which is free again when the process ends. Returns the socket, or -1.
 */
static int wait_turn(int fd, int64_t deadline)
{
	int turn = rcl_libc()->socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
	struct sockaddr_un name = { .sun_family = AF_UNIX };
	struct sockaddr_in6 in6 = { 0 };
	socklen_t length = sizeof(in6);

	rcl_libc()->getsockname(fd, (struct sockaddr *)&in6, &length);
	snprintf(name.sun_path + 1, sizeof(name.sun_path) - 1, "rdma_cm_alt-fork-%u",
		 ntohs(in6.sin6_port));
	while (turn >= 0 && rcl_libc()->bind(turn, (struct sockaddr *)&name, sizeof(name)) &&
	       errno == EADDRINUSE && rcl_time_left(deadline))
		usleep(PORT_LOOK_US);
	return turn;
}

/* Servers of another library may have the port, and one that is closed may be late. */
static int listen_when_free(int fd, int64_t deadline, bool *made)
{
	int rs;

	while ((rs = listen_on(fd, made)) < 0 && errno == EADDRINUSE && rcl_time_left(deadline))
		usleep(PORT_LOOK_US);
	return rs;
}

/* Whether the client has sent data over TCP, so that no rsocket will come. */
static bool was_declined(int fd)
{
	char byte;

	return rcl_libc()->recv(fd, &byte, 1, MSG_PEEK | MSG_DONTWAIT) > 0;
}

/* Whether an rsocket has the port of the peer of a TCP connection. */
static bool is_of_peer(int rs, int fd)
{
	struct sockaddr_in6 one = { 0 }, two = { 0 };
	socklen_t one_length = sizeof(one), two_length = sizeof(two);

	return !rgetpeername(rs, (struct sockaddr *)&one, &one_length) &&
	       !rcl_libc()->getpeername(fd, (struct sockaddr *)&two, &two_length) &&
	       one.sin6_port == two.sin6_port;
}

/*
 * Accepts what has come to the listener, and closes it but for the last one. Returns true for that
 * of the client, and counts others.
 */
static bool accept_all(int listener, int fd, int *rs, int *others)
{
	struct pollfd poll = { .fd = listener, .events = POLLIN };
	int next;

	while (rpoll(&poll, 1, 0) > 0 && (next = raccept(listener, NULL, NULL)) >= 0) {
		if (*rs >= 0)
			rclose(*rs);
		*rs = next;
		if (is_of_peer(next, fd))
			return true;
		++*others;
	}
	return false;
}

/*
 * Waits for the rsocket of the client; returns -1 if the connection stays with TCP. That of another
 * library has any port, but its client ends TCP as soon as it is connected, which the server may
 * notice first: it is the client's if no other has come, and TCP has ended.
 */
static int await_rsocket(int listener, int fd, int limit_ms)
{
	struct pollfd polls[] = {
		{ .fd = listener, .events = POLLIN }, { .fd = fd, .events = POLLIN },
	};
	int64_t deadline = rcl_deadline_ms(limit_ms);
	int rs = -1, others = 0;
	bool ended = false, one_of_two = false;

	while ((!ended || rs < 0) && rcl_time_left(deadline)) {
		if (rpoll(polls, ARRAY_SIZE(polls), rcl_time_left(deadline)) < 0 && errno != EINTR)
			break;
		if (accept_all(listener, fd, &rs, &others))
			return rs;
		if (polls[1].revents && was_declined(fd))
			break;
		if (polls[1].revents) {
			ended = true;
			polls[1].fd = -1;
			polls[1].revents = 0;
		}
		if (!one_of_two && (ended || others)) {
			deadline = rcl_deadline_ms(SECOND_MS);
			one_of_two = true;
		}
	}
	if (accept_all(listener, fd, &rs, &others) || (rs >= 0 && ended && others == 1))
		return rs;
	if (rs >= 0)
		rclose(rs);
	return -1;
}

/*
 * Invites the client. Returns its rsocket, or -1 if the connection stays with TCP. Without a
 * listener the client is invited, too: it waits for that, and finds out that nobody listens.
 */
static int begin_passive(int fd, int limit_ms)
{
	uint32_t invitation = 0;
	int64_t deadline = rcl_deadline_ms(PORT_MS);
	int turn, listener, rs = -1;
	bool made = false, invited;

	if (was_declined(fd))
		return -1;
	turn = wait_turn(fd, deadline);
	listener = listen_when_free(fd, deadline, &made);
	invited = made && !was_declined(fd) &&
		  rcl_libc()->send(fd, &invitation, sizeof(invitation), MSG_NOSIGNAL) > 0;
	if (invited && listener >= 0)
		rs = await_rsocket(listener, fd, limit_ms);
	if (listener >= 0)
		rclose(listener);
	if (turn >= 0)
		rcl_libc()->close(turn);
	return rs;
}

static bool is_due(struct rcl_file *file, bool server_only)
{
	int kind = atomic_load_explicit(&file->kind, memory_order_acquire);

	return kind == RCL_FILE_TCP_PASSIVE || (kind == RCL_FILE_TCP_ACTIVE && !server_only);
}

void rcl_delayed_begin(int fd, struct rcl_file *file, bool server_only)
{
	int saved = errno, rs, limit;

	rcl_lend_begin(fd, file);
	if (!is_due(file, server_only))
		return;
	pthread_mutex_lock(&file->lock);
	if (!is_due(file, server_only))
		goto out;
	limit = server_only || rcl_libc()->fcntl(fd, F_GETFL) & O_NONBLOCK ? CLIENT_NONBLOCK_MS :
									     CLIENT_MS;
	rcl_in_library++;
	rs = atomic_load(&file->kind) == RCL_FILE_TCP_PASSIVE ? begin_passive(fd, limit) :
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

	if (file)
		rcl_lend_begin(fd, file);
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
