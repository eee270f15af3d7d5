// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * Rsockets after fork(): see lend.h.
 *
 * A fork() of a process with listeners or connections makes a pair of sockets. The child sends
 * requests to its end, a thread of the owner serves the other one until all children have closed
 * theirs: a loan. The loan has references of the connections, which a child may begin to use after
 * the owner's program has closed them.
 *
 * Who waits for whom: a child waits neither for the owner nor for its peers. It connects to itself,
 * and hands one end over; when the owner does not run, the connection stands still, and when the
 * owner has ended, it is reset. What can take time for other reasons has OWNER_MS. The owner has a
 * thread for each loan, and two for each connection that is carried, so no child waits for another,
 * and the owner's program waits for none, but for EXIT_SECONDS in exit().
 *
 * Locking: lend_lock for the list of the owner's descriptors, and for the connections that are
 * carried; it is held over fork(), so it is held, too, while a descriptor is open that no other
 * child may get. With it the table of files is read and, over fork(), locked. The lock of a file is
 * taken before it.
 */
#include "preload/lend.h"

#include <limits.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <pthread.h>
#include <rdma/rsocket.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/compiler.h"
#include "base/fd.h"
#include "base/log.h"
#include "preload/deadline.h"
#include "preload/fallback.h"
#include "preload/libc.h"

/* How long a child waits for an owner that is stopped, if it must, and for the kernel. */
#define OWNER_MS 5000

/* How long exit() of the owner waits until it has sent what children have written, in seconds. */
#define EXIT_SECONDS 10

#define COPY_SIZE 65536

/* Other processes of this host may connect to the listener of make_other_end(), too. */
#define STRANGERS 16

enum { ASK_LISTEN, ASK_CARRY, ASK_RETURN };

/* What a child sends, with a descriptor unless it returns the file. */
struct request {
	struct rcl_file *file;	/* the address is the same in owner and child */
	int what;
};

/* A descriptor that only the owner may have, as its end tells the child something; -1: none. */
struct kept {
	int fd;
	struct kept *next;
};

struct loan {
	struct kept sock, given;
	struct rcl_file **files;	/* with references */
	size_t count;
	bool busy;			/* a request is being served */
	struct loan *next;
};

/*
 * A connection that is carried. Each of its two threads copies in one direction.
 * @ended: the stream has ended: all processes have closed the descriptor, or one has shut it down
 * @gone: the children have ended or closed it. They may have executed a program that goes on
 */
struct carry {
	struct kept sock;
	struct rcl_file *file;
	struct loan *loan;
	unsigned int threads;
	bool ended, gone, broken;
	struct carry *next;
};

static pthread_mutex_t lend_lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t changed;
static struct kept *kept_list;
static struct loan *loans;
static struct carry *carries;

/* While fork() is in progress. */
static struct loan *forking;
static int child_end = -1;

/* This process has lent files, and children that may use them, too. */
static bool shared;

static void keep(struct kept *kept, int fd)
{
	kept->fd = fd;
	kept->next = kept_list;
	kept_list = kept;
}

/* Called with lend_lock. */
static void drop_kept(struct kept *kept)
{
	struct kept **at = &kept_list;

	while (*at && *at != kept)
		at = &(*at)->next;
	if (*at)
		*at = kept->next;
}

static void close_kept(struct kept *kept)
{
	pthread_mutex_lock(&lend_lock);
	drop_kept(kept);
	rcl_libc()->close(kept->fd);
	pthread_mutex_unlock(&lend_lock);
}

/* Starts a thread that gets no signals. */
static bool start_thread(void *(*function)(void *arg), void *arg)
{
	sigset_t all, before;
	pthread_t thread;
	int err;

	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &before);
	err = pthread_create(&thread, NULL, function, arg);
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	if (err)
		rcl_log("fork: no thread for the children: %s", strerror(err));
	else
		pthread_detach(thread);
	return !err;
}

/* Waits until a descriptor can be read, at most until the deadline. */
static bool await(int fd, int64_t deadline)
{
	struct pollfd poll = { .fd = fd, .events = POLLIN };
	int ret;

	do {
		ret = rcl_libc()->poll(&poll, 1, rcl_time_left(deadline));
	} while (ret < 0 && errno == EINTR);
	return ret > 0;
}

/* The owner. */

static bool send_all(int fd, const void *buf, size_t len)
{
	const char *at = buf;
	ssize_t n;

	for (; len; at += n, len -= (size_t)n) {
		n = rcl_libc()->send(fd, at, len, MSG_NOSIGNAL);
		if (n < 0)
			return false;
	}
	return true;
}

/* Whether a call of the rsocket can be repeated: waits until then. */
static bool can_repeat(int rs, short events)
{
	struct pollfd poll = { .fd = rs, .events = events };

	return (errno == EAGAIN || errno == EWOULDBLOCK) && rpoll(&poll, 1, -1) >= 0;
}

static bool rsend_all(int rs, const void *buf, size_t len)
{
	const char *at = buf;
	ssize_t n;

	while (len) {
		n = rsend(rs, at, len, 0);
		if (n < 0 && !can_repeat(rs, POLLOUT))
			return false;
		if (n > 0) {
			at += n;
			len -= (size_t)n;
		}
	}
	return true;
}

/* Nobody has the connection any more: what the peer may send need not be carried. */
static void stop_if_gone(struct carry *carry)
{
	if (carry->ended && carry->gone)
		rcl_libc()->shutdown(carry->sock.fd, SHUT_RDWR);
}

/* The children of a loan have a connection no more; NULL: any of them. Called with lend_lock. */
static void mark_gone(const struct loan *loan, const struct rcl_file *file)
{
	struct carry *carry;

	for (carry = carries; carry; carry = carry->next) {
		if (carry->loan != loan || (file && carry->file != file))
			continue;
		carry->gone = true;
		carry->loan = NULL;
		stop_if_gone(carry);
	}
	pthread_cond_broadcast(&changed);
}

/* One of the two directions has ended. A child whose connection broke gets ECONNRESET. */
static void end_direction(struct carry *carry, bool broken)
{
	struct linger off = { 0 };
	struct carry **at = &carries;

	pthread_mutex_lock(&lend_lock);
	if (broken) {
		carry->broken = true;
		/* Ends recv() of the other thread. */
		rcl_libc()->shutdown(carry->sock.fd, SHUT_RD);
	}
	if (--carry->threads) {
		pthread_mutex_unlock(&lend_lock);
		return;
	}
	while (*at != carry)
		at = &(*at)->next;
	*at = carry->next;
	if (!carry->broken)
		rcl_libc()->setsockopt(carry->sock.fd, SOL_SOCKET, SO_LINGER, &off, sizeof(off));
	drop_kept(&carry->sock);
	rcl_libc()->close(carry->sock.fd);
	pthread_mutex_unlock(&lend_lock);
	rcl_file_put(carry->file);
	free(carry);
}

/*
 * Waits for data of the rsocket. Returns 0 when nobody will read it, or when the children have gone
 * and the owner's program may read it; -1 on failure.
 */
static int await_data(const struct carry *carry)
{
	struct pollfd polls[] = {
		{ .fd = carry->file->rs, .events = POLLIN }, { .fd = carry->sock.fd },
	};
	bool gone;
	int ret;

	do {
		ret = rpoll(polls, ARRAY_SIZE(polls), -1);
	} while (!ret || (ret < 0 && errno == EINTR));
	pthread_mutex_lock(&lend_lock);
	gone = carry->gone && rcl_file_descriptor(carry->file) >= 0;
	pthread_mutex_unlock(&lend_lock);
	return ret < 0 ? -1 : !polls[1].revents && !gone;
}

static void *carry_to_child(void *arg)
{
	char *buf = malloc(COPY_SIZE);
	struct carry *carry = arg;
	int more = buf ? 1 : -1;
	ssize_t n = 1;

	rcl_in_library = 1;
	while (n && more > 0 && (more = await_data(carry)) > 0) {
		n = rrecv(carry->file->rs, buf, COPY_SIZE, MSG_DONTWAIT);
		if (n > 0)
			more = send_all(carry->sock.fd, buf, (size_t)n);
		else if (n < 0 && errno != EAGAIN && errno != EWOULDBLOCK && errno != EINTR)
			more = -1;
	}
	free(buf);
	if (!n)
		rcl_libc()->shutdown(carry->sock.fd, SHUT_WR);
	end_direction(carry, more < 0);
	return NULL;
}

static void *carry_from_child(void *arg)
{
	char *buf = malloc(COPY_SIZE);
	struct carry *carry = arg;
	bool good = buf;
	ssize_t n = 0;

	rcl_in_library = 1;
	while (good) {
		n = rcl_libc()->recv(carry->sock.fd, buf, COPY_SIZE, 0);
		if (n <= 0)
			break;
		good = rsend_all(carry->file->rs, buf, (size_t)n);
	}
	free(buf);
	pthread_mutex_lock(&lend_lock);
	carry->ended = true;
	carry->gone |= n < 0;
	stop_if_gone(carry);
	pthread_cond_broadcast(&changed);
	pthread_mutex_unlock(&lend_lock);
	if (good)
		rshutdown(carry->file->rs, SHUT_WR);
	end_direction(carry, !good);
	return NULL;
}

/*
 * Whether what children have written is still carried. Of those that have gone, the owner has the
 * descriptor: its end follows what they have written. Called with lend_lock.
 */
static bool children_write(void)
{
	const struct carry *carry;
	bool found = false;
	int fd;

	for (carry = carries; carry; carry = carry->next) {
		fd = carry->gone && !carry->ended ? rcl_file_descriptor(carry->file) : -1;
		if (fd >= 0)
			rcl_libc()->shutdown(fd, SHUT_WR);
		found |= !carry->ended;
	}
	return found;
}

/* Whether children have asked for what is not carried yet. Called with lend_lock. */
static bool children_ask(void)
{
	const struct loan *loan = loans;

	while (loan && !loan->busy && !await(loan->sock.fd, 0))
		loan = loan->next;
	return loan;
}

static void at_exit(void)
{
	struct timespec end;

	clock_gettime(CLOCK_MONOTONIC, &end);
	end.tv_sec += EXIT_SECONDS;
	pthread_mutex_lock(&lend_lock);
	while ((children_ask() || children_write()) &&
	       !pthread_cond_timedwait(&changed, &lend_lock, &end))
		;
	pthread_mutex_unlock(&lend_lock);
}

static void register_exit(void)
{
	atexit(at_exit);
}

/* Takes the reference of the file. The given descriptor is connected to the child. */
static void carry_file(struct loan *loan, struct rcl_file *file)
{
	struct carry *carry = loan->given.fd < 0 ? NULL : calloc(1, sizeof(*carry));

	if (!carry) {
		close_kept(&loan->given);
		rcl_file_put(file);
		return;
	}
	carry->file = file;
	carry->loan = loan;
	carry->threads = 2;
	pthread_mutex_lock(&lend_lock);
	drop_kept(&loan->given);
	keep(&carry->sock, loan->given.fd);
	carry->next = carries;
	carries = carry;
	pthread_mutex_unlock(&lend_lock);
	if (!start_thread(carry_from_child, carry)) {
		pthread_mutex_lock(&lend_lock);
		carry->ended = true;
		pthread_mutex_unlock(&lend_lock);
		end_direction(carry, true);
	}
	if (!start_thread(carry_to_child, carry))
		end_direction(carry, true);
}

/*
 * Takes a file out of the loan, with one reference, for each descriptor that the child has of it.
 * Returns NULL if it is not in it any more.
 */
static struct rcl_file *take_back(struct loan *loan, struct rcl_file *file)
{
	struct rcl_file *found = NULL;
	size_t i;

	for (i = 0; i < loan->count; i++) {
		if (loan->files[i] != file)
			continue;
		loan->files[i] = NULL;
		if (found)
			rcl_file_put(file);
		found = file;
	}
	return found;
}

/*
 * Reads a request, and its descriptor or -1, which no child that is made meanwhile gets. Returns
 * false when there are no children any more.
 */
static bool read_request(struct loan *loan, struct request *request)
{
	union {
		struct cmsghdr header;
		char room[CMSG_SPACE(sizeof(int))];
	} control;
	struct iovec iov = { .iov_base = request, .iov_len = sizeof(*request) };
	struct msghdr msg = {
		.msg_iov = &iov, .msg_iovlen = 1,
		.msg_control = &control, .msg_controllen = sizeof(control),
	};
	struct cmsghdr *header;
	ssize_t n;
	int fd;

	await(loan->sock.fd, RCL_NO_END);
	pthread_mutex_lock(&lend_lock);
	n = rcl_libc()->recvmsg(loan->sock.fd, &msg, MSG_CMSG_CLOEXEC | MSG_DONTWAIT);
	header = n == sizeof(*request) ? CMSG_FIRSTHDR(&msg) : NULL;
	loan->given.fd = -1;
	if (header) {
		memcpy(&fd, CMSG_DATA(header), sizeof(fd));
		keep(&loan->given, rcl_fd_raise(fd));
	}
	loan->busy = true;
	pthread_mutex_unlock(&lend_lock);
	return n == sizeof(*request);
}

static void end_loan(struct loan *loan)
{
	struct loan **at = &loans;
	size_t i;

	pthread_mutex_lock(&lend_lock);
	while (*at != loan)
		at = &(*at)->next;
	*at = loan->next;
	mark_gone(loan, NULL);
	pthread_mutex_unlock(&lend_lock);
	close_kept(&loan->sock);
	for (i = 0; i < loan->count; i++) {
		if (loan->files[i])
			rcl_file_put(loan->files[i]);
	}
	free(loan->files);
	free(loan);
}

static void stop_listening(struct rcl_file *file)
{
	int own = rcl_file_descriptor(file);
	struct rcl_file *now = own >= 0 ? rcl_file_get(own) : NULL;

	if (now == file)
		rcl_listen_tcp(own, file);
	else if (now)
		rcl_file_put(now);
}

static void serve(struct loan *loan, const struct request *request)
{
	struct rcl_file *file;
	bool accepted;

	if (request->what == ASK_LISTEN) {
		stop_listening(request->file);
		close_kept(&loan->given);	/* tells the child that it is done */
		return;
	}
	file = take_back(loan, request->file);
	if (request->what == ASK_RETURN) {
		pthread_mutex_lock(&lend_lock);
		mark_gone(loan, request->file);
		pthread_mutex_unlock(&lend_lock);
		if (file)
			rcl_file_put(file);
	} else if (file) {
		accepted = file->accepted;
		carry_file(loan, file);
		if (accepted)
			rcl_listen_all_tcp();
	} else {
		close_kept(&loan->given);
	}
}

static void *serve_children(void *arg)
{
	struct loan *loan = arg;
	struct request request;

	rcl_in_library = 1;
	while (read_request(loan, &request)) {
		serve(loan, &request);
		pthread_mutex_lock(&lend_lock);
		loan->busy = false;
		pthread_cond_broadcast(&changed);
		pthread_mutex_unlock(&lend_lock);
	}
	end_loan(loan);
	return NULL;
}

/* Adds a file to the loan, which may be NULL, with its reference. Returns false without memory. */
static bool lend(struct loan **loan, struct rcl_file *file)
{
	struct rcl_file **files;

	if (!*loan)
		*loan = calloc(1, sizeof(**loan));
	if (!*loan)
		return false;
	if (atomic_load(&file->listening))
		return false;
	if (!((*loan)->count & ((*loan)->count - 1))) {
		files = realloc((*loan)->files, ((*loan)->count * 2 + 1) * sizeof(*files));
		if (!files)
			return false;
		(*loan)->files = files;
	}
	(*loan)->files[(*loan)->count++] = file;
	return true;
}

/* Collects what a child may use, with the table locked. Returns the child's socket, or -1. */
static int collect(void)
{
	struct timeval limit = { .tv_sec = OWNER_MS / 1000 };
	struct loan *loan = NULL;
	struct rcl_file *file;
	int pair[2], fd = -1;

	while ((fd = rcl_file_next((unsigned int)fd + 1, INT_MAX)) >= 0) {
		file = rcl_file_get(fd);
		shared |= atomic_load(&file->kind) >= RCL_FILE_LENT;
		if (!rcl_file_may_lend(file) || !lend(&loan, file))
			rcl_file_put(file);
	}
	if (!loan)
		return -1;
	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair)) {
		pair[0] = -1;
		pair[1] = -1;
	}
	child_end = rcl_fd_raise(pair[1]);
	keep(&loan->sock, rcl_fd_raise(pair[0]));
	rcl_libc()->setsockopt(child_end, SOL_SOCKET, SO_SNDTIMEO, &limit, sizeof(limit));
	loan->next = loans;
	loans = loan;
	forking = loan;
	return child_end;
}

/* The addresses of a connection, for children. Called with the lock of the file. */
static void note_names(struct rcl_file *file)
{
	if (file->named)
		return;
	file->named = true;
	file->bound_len = sizeof(file->bound);
	if (rgetsockname(file->rs, (struct sockaddr *)&file->bound, &file->bound_len))
		file->bound_len = 0;
	file->peer_len = sizeof(file->peer);
	if (rgetpeername(file->rs, (struct sockaddr *)&file->peer, &file->peer_len))
		file->peer_len = 0;
}

/* Binds the kernel's sockets of listeners, which children may have no right to do. */
static void before_fork(void)
{
	static pthread_once_t once = PTHREAD_ONCE_INIT;
	struct rcl_file *file;
	int fd = -1;

	while ((fd = rcl_file_next((unsigned int)fd + 1, INT_MAX)) >= 0) {
		file = rcl_file_get(fd);
		if (!file)
			continue;
		if (rcl_file_may_lend(file)) {
			pthread_mutex_lock(&file->lock);
			if (atomic_load(&file->listening))
				rcl_listen_reserve(fd, file);
			else
				note_names(file);
			pthread_mutex_unlock(&file->lock);
			/* Before the rsocket library ends its connections. */
			pthread_once(&once, register_exit);
		}
		rcl_file_put(file);
	}
	pthread_mutex_lock(&lend_lock);
}

static void in_parent(void)
{
	struct loan *loan = forking;

	forking = NULL;
	pthread_mutex_unlock(&lend_lock);
	if (!loan)
		return;
	rcl_libc()->close(child_end);
	child_end = -1;
	if (loan->sock.fd < 0 || !start_thread(serve_children, loan))
		end_loan(loan);
}

static void init_changed(void)
{
	pthread_condattr_t attributes;

	pthread_condattr_init(&attributes);
	pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC);
	pthread_cond_init(&changed, &attributes);
	pthread_condattr_destroy(&attributes);
}

static void in_child(void)
{
	child_end = -1;
	forking = NULL;
	loans = NULL;
	carries = NULL;
	for (; kept_list; kept_list = kept_list->next)
		rcl_libc()->close(kept_list->fd);
	init_changed();
	pthread_mutex_unlock(&lend_lock);
}

static void follow_forks(void)
{
	init_changed();
	rcl_file_on_fork(collect);
	pthread_atfork(before_fork, in_parent, in_child);
}

void rcl_lend_start(void)
{
	static pthread_once_t once = PTHREAD_ONCE_INIT;

	pthread_once(&once, follow_forks);
}

/* The child. */

/* Sends a request. Waits without MSG_DONTWAIT in @flags, if an owner that is stopped has many. */
static bool ask(struct rcl_file *file, int what, int fd, int flags)
{
	union {
		struct cmsghdr header;
		char room[CMSG_SPACE(sizeof(int))];
	} control = {
		.header = {
			.cmsg_len = CMSG_LEN(sizeof(int)), .cmsg_level = SOL_SOCKET,
			.cmsg_type = SCM_RIGHTS,
		},
	};
	struct request request = { .file = file, .what = what };
	struct iovec iov = { .iov_base = &request, .iov_len = sizeof(request) };
	struct msghdr msg = { .msg_iov = &iov, .msg_iovlen = 1 };
	socklen_t size = sizeof(int);
	int type = 0;
	ssize_t n;

	if (fd >= 0) {
		memcpy(CMSG_DATA(&control.header), &fd, sizeof(fd));
		msg.msg_control = &control;
		msg.msg_controllen = sizeof(control);
	}
	/* The program may have closed the descriptor, as one of a range. */
	if (rcl_libc()->getsockopt(file->lender, SOL_SOCKET, SO_TYPE, &type, &size) ||
	    type != SOCK_SEQPACKET)
		return false;
	do {
		n = rcl_libc()->sendmsg(file->lender, &msg, MSG_NOSIGNAL | flags);
	} while (n < 0 && errno == EINTR);
	return n == sizeof(request);
}

/*
 * The child listens with the kernel's socket, whatever the owner does. Over iWARP it can do so only
 * when the owner has stopped, as the rsocket has the port of TCP.
 */
static void begin_listener(int fd, struct rcl_file *file)
{
	bool listens = rcl_listen_kernel(fd, file), asked;
	int pair[2];

	pthread_mutex_lock(&lend_lock);
	if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair)) {
		pair[0] = -1;
		pair[1] = -1;
	}
	asked = ask(file, ASK_LISTEN, pair[1], 0);
	rcl_libc()->close(pair[1]);
	pthread_mutex_unlock(&lend_lock);
	if (!listens) {
		if (asked)
			await(pair[0], rcl_deadline_ms(OWNER_MS));
		rcl_listen_kernel(fd, file);
	}
	rcl_libc()->close(pair[0]);
}

/* The IPv4 address and port of an end of a connection of this host. */
static bool local_end(typeof(getsockname) *call, int fd, struct sockaddr_in *in)
{
	struct sockaddr_in6 in6;
	socklen_t size = sizeof(in6);

	memset(&in6, 0, sizeof(in6));
	if (call(fd, (struct sockaddr *)&in6, &size))
		return false;
	memcpy(in, &in6, sizeof(*in));
	if (in6.sin6_family == AF_INET6)
		memcpy(&in->sin_addr, &in6.sin6_addr.s6_addr[12], sizeof(in->sin_addr));
	return true;
}

/* Connects the kernel's socket to a listener of this process. It has the options of the program. */
static bool connect_local(int fd, int domain, const struct sockaddr_in *in)
{
	struct sockaddr_in6 in6 = { .sin6_family = AF_INET6, .sin6_port = in->sin_port };
	struct timeval limit = { .tv_sec = OWNER_MS / 1000 }, before = { 0 };
	socklen_t size = sizeof(before);
	int off = 0, ret;

	rcl_libc()->getsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &before, &size);
	rcl_libc()->setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &limit, sizeof(limit));
	if (domain == AF_INET6) {
		rcl_libc()->setsockopt(fd, IPPROTO_IPV6, IPV6_V6ONLY, &off, sizeof(off));
		memset(&in6.sin6_addr.s6_addr[10], 0xff, 2);
		memcpy(&in6.sin6_addr.s6_addr[12], &in->sin_addr, sizeof(in->sin_addr));
		ret = rcl_libc()->connect(fd, (struct sockaddr *)&in6, sizeof(in6));
	} else {
		ret = rcl_libc()->connect(fd, (const struct sockaddr *)in, sizeof(*in));
	}
	/* A signal does not end a connect. */
	ret = ret && errno != EINPROGRESS && errno != EINTR;
	rcl_libc()->setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &before, sizeof(before));
	return !ret;
}

/* Accepts the connection whose other end is @fd. Returns -1 if it does not come in time. */
static int accept_local(int listener, int fd)
{
	int64_t deadline = rcl_deadline_ms(OWNER_MS);
	struct sockaddr_in here, there;
	int end;

	while (await(listener, deadline)) {
		end = rcl_libc()->accept4(listener, NULL, NULL, SOCK_CLOEXEC);
		if (end < 0 && errno != EINTR && errno != ECONNABORTED)
			return -1;
		if (end >= 0 && local_end(rcl_libc()->getsockname, fd, &here) &&
		    local_end(rcl_libc()->getpeername, end, &there) &&
		    here.sin_port == there.sin_port &&
		    here.sin_addr.s_addr == there.sin_addr.s_addr)
			return end;
		if (end >= 0)
			rcl_libc()->close(end);
	}
	return -1;
}

/*
 * Makes a TCP connection of this host whose one end is @fd. Returns the other end, which resets the
 * connection when it is closed without more; -1 on failure.
 */
static int make_other_end(int fd, int domain)
{
	struct sockaddr_in in = { .sin_family = AF_INET };
	struct linger reset = { .l_onoff = 1 };
	int listener = rcl_libc()->socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	int end = -1, one = 1;

	in.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
	if (!rcl_libc()->bind(listener, (struct sockaddr *)&in, sizeof(in)) &&
	    !rcl_libc()->listen(listener, STRANGERS) &&
	    local_end(rcl_libc()->getsockname, listener, &in) && connect_local(fd, domain, &in))
		end = accept_local(listener, fd);
	if (listener >= 0)
		rcl_libc()->close(listener);
	if (end < 0)
		return -1;
	rcl_libc()->setsockopt(end, SOL_SOCKET, SO_LINGER, &reset, sizeof(reset));
	rcl_libc()->setsockopt(end, IPPROTO_TCP, TCP_NODELAY, &one, sizeof(one));
	rcl_libc()->setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof(one));
	return end;
}

/*
 * Returns false if the connection is lost, or if a process that has the descriptor, too, has begun
 * it: the kernel's socket is connected then.
 */
static bool begin_connection(int fd, struct rcl_file *file)
{
	bool good = false;
	int end;

	pthread_mutex_lock(&lend_lock);
	end = make_other_end(fd, file->domain);
	if (end >= 0) {
		good = ask(file, ASK_CARRY, end, 0);
		rcl_libc()->close(end);
	}
	pthread_mutex_unlock(&lend_lock);
	return good;
}

void rcl_lend_begin(int fd, struct rcl_file *file)
{
	int saved = errno;

	if (atomic_load_explicit(&file->kind, memory_order_acquire) != RCL_FILE_LENT)
		return;
	pthread_mutex_lock(&file->lock);
	if (atomic_load(&file->kind) != RCL_FILE_LENT)
		goto out;
	if (!atomic_load(&file->listening) && begin_connection(fd, file)) {
		atomic_store_explicit(&file->kind, RCL_FILE_CARRIED, memory_order_release);
		goto out;
	}
	if (atomic_load(&file->listening))
		begin_listener(fd, file);
	rcl_file_forget(file);
	atomic_store(&file->kind, RCL_FILE_TCP_NEW);
out:
	pthread_mutex_unlock(&file->lock);
	errno = saved;
}

void rcl_lend_return(struct rcl_file *file)
{
	if (!shared && !atomic_load(&file->listening))
		ask(file, ASK_RETURN, -1, MSG_DONTWAIT);
}

bool rcl_lend_name(int fd, bool peer, struct sockaddr *addr, socklen_t *length)
{
	struct rcl_file *file = rcl_file_get(fd);
	socklen_t size = !file ? 0 : peer ? file->peer_len : file->bound_len;
	bool carried = size && atomic_load(&file->kind) == RCL_FILE_CARRIED;

	if (carried) {
		if (*length > size)
			*length = size;
		memcpy(addr, peer ? &file->peer : &file->bound, *length);
		*length = size;
	}
	if (file)
		rcl_file_done(file, 0);
	return carried;
}
