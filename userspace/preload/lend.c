// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * Rsockets after fork(): see lend.h.
 *
 * A fork() of a process with listeners or connections makes a pair of sockets. The child sends
 * requests to its end, a thread of the owner serves the other one until all children have closed
 * theirs: a loan. The loan has references of the connections, which a child may begin to use after
 * the owner's program has closed them.
 *
 * Locking: lend_lock for the list of the owner's descriptors and the number of connections that are
 * carried; it is held over fork(). No other lock is taken with it but that of the table of files,
 * over fork().
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

/* How long a child waits for the owner, which may be stopped. */
#define OWNER_MS 5000

/* How long exit() of the owner waits until it has sent what children have written, in seconds. */
#define EXIT_SECONDS 10

#define COPY_SIZE 65536

enum { ASK_LISTEN, ASK_CARRY, ASK_RETURN };

/* What a child sends, with a descriptor unless it returns the file. */
struct request {
	struct rcl_file *file;	/* the address is the same in owner and child */
	int what;
};

/* What the owner sends first over a connection that it carries. */
struct names {
	struct sockaddr_storage own, peer;
	socklen_t own_len, peer_len;
};

/* A descriptor that only the owner may have, as its end tells the child something. */
struct kept {
	int fd;
	struct kept *next;
};

struct loan {
	struct kept sock;
	struct rcl_file **files;	/* with references */
	size_t count;
};

/* A connection that is carried. Each of its two threads copies in one direction. */
struct carry {
	struct kept sock;
	struct rcl_file *file;
	atomic_uint threads;
	atomic_bool broken;
};

static pthread_mutex_t lend_lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t changed = PTHREAD_COND_INITIALIZER;
static struct kept *kept_list;
static unsigned int sending;	/* connections whose child may still write */

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

static void close_kept(struct kept *kept)
{
	struct kept **at = &kept_list;

	pthread_mutex_lock(&lend_lock);
	while (*at != kept)
		at = &(*at)->next;
	*at = kept->next;
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

static void wake_all(void)
{
	pthread_mutex_lock(&lend_lock);
	pthread_cond_broadcast(&changed);
	pthread_mutex_unlock(&lend_lock);
}

static const struct rcl_removed wake_senders = { wake_all };

/* One of the two directions has ended. A child whose connection broke gets ECONNRESET. */
static void end_direction(struct carry *carry, bool broken)
{
	struct linger off = { 0 };

	if (broken) {
		atomic_store(&carry->broken, true);
		/* Ends recv() of the other thread. */
		rcl_libc()->shutdown(carry->sock.fd, SHUT_RD);
		wake_all();
	}
	if (atomic_fetch_sub(&carry->threads, 1) != 1)
		return;
	if (!atomic_load(&carry->broken))
		rcl_libc()->setsockopt(carry->sock.fd, SOL_SOCKET, SO_LINGER, &off, sizeof(off));
	close_kept(&carry->sock);
	rcl_file_put(carry->file);
	free(carry);
}

static void *carry_to_child(void *arg)
{
	char *buf = malloc(COPY_SIZE);
	struct carry *carry = arg;
	ssize_t n;

	rcl_in_library = 1;
	do {
		n = buf ? rrecv(carry->file->rs, buf, COPY_SIZE, 0) : -1;
	} while (n > 0 ? send_all(carry->sock.fd, buf, (size_t)n) :
			 n < 0 && buf && can_repeat(carry->file->rs, POLLIN));
	free(buf);
	if (!n)
		rcl_libc()->shutdown(carry->sock.fd, SHUT_WR);
	end_direction(carry, n);
	return NULL;
}

/* The stream ends when the child and the program of the owner have ended it. */
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
	sending--;
	pthread_cond_broadcast(&changed);
	while (good && !atomic_load(&carry->broken) && rcl_file_descriptor(carry->file) >= 0)
		pthread_cond_wait(&changed, &lend_lock);
	pthread_mutex_unlock(&lend_lock);
	if (good)
		rshutdown(carry->file->rs, SHUT_WR);
	end_direction(carry, !good);
	return NULL;
}

static void at_exit(void)
{
	struct timespec end;

	clock_gettime(CLOCK_REALTIME, &end);
	end.tv_sec += EXIT_SECONDS;
	pthread_mutex_lock(&lend_lock);
	while (sending && !pthread_cond_timedwait(&changed, &lend_lock, &end))
		;
	pthread_mutex_unlock(&lend_lock);
}

static void register_exit(void)
{
	atexit(at_exit);
}

/* Takes the reference of the file. @fd is connected to the child; it is closed on failure. */
static void carry_file(struct rcl_file *file, int fd)
{
	static pthread_once_t once = PTHREAD_ONCE_INIT;
	struct carry *carry = calloc(1, sizeof(*carry));
	struct names names = {
		.own_len = sizeof(names.own), .peer_len = sizeof(names.peer),
	};

	if (!carry || rgetsockname(file->rs, (struct sockaddr *)&names.own, &names.own_len) ||
	    rgetpeername(file->rs, (struct sockaddr *)&names.peer, &names.peer_len) ||
	    !send_all(fd, &names, sizeof(names))) {
		rcl_libc()->close(fd);
		rcl_file_put(file);
		free(carry);
		return;
	}
	pthread_once(&once, register_exit);
	carry->file = file;
	atomic_store(&carry->threads, 2);
	atomic_store(&file->removed, &wake_senders);
	pthread_mutex_lock(&lend_lock);
	keep(&carry->sock, fd);
	sending++;
	pthread_mutex_unlock(&lend_lock);
	if (!start_thread(carry_from_child, carry)) {
		pthread_mutex_lock(&lend_lock);
		sending--;
		pthread_mutex_unlock(&lend_lock);
		end_direction(carry, true);
	}
	if (!start_thread(carry_to_child, carry))
		end_direction(carry, true);
}

/* Takes a file, with the reference, out of the loan. Returns NULL if it is not in it any more. */
static struct rcl_file *take_back(struct loan *loan, struct rcl_file *file)
{
	size_t i;

	for (i = 0; i < loan->count; i++) {
		if (loan->files[i] == file) {
			loan->files[i] = NULL;
			return file;
		}
	}
	return NULL;
}

/* Reads a request, and its descriptor or -1. Returns false when there are no children any more. */
static bool read_request(int sock, struct request *request, int *fd)
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

	if (rcl_libc()->recvmsg(sock, &msg, MSG_CMSG_CLOEXEC) != sizeof(*request))
		return false;
	header = CMSG_FIRSTHDR(&msg);
	*fd = -1;
	if (header)
		memcpy(fd, CMSG_DATA(header), sizeof(*fd));
	*fd = rcl_fd_raise(*fd);
	return true;
}

static void end_loan(struct loan *loan)
{
	size_t i;

	close_kept(&loan->sock);
	for (i = 0; i < loan->count; i++) {
		if (loan->files[i])
			rcl_file_put(loan->files[i]);
	}
	free(loan->files);
	free(loan);
}

static void serve(struct loan *loan, const struct request *request, int fd)
{
	struct rcl_file *file;
	bool accepted;
	int own;

	if (request->what == ASK_LISTEN) {
		own = rcl_file_descriptor(request->file);
		file = own >= 0 ? rcl_file_get(own) : NULL;
		if (file)
			rcl_listen_tcp(own, file);
		rcl_libc()->close(fd);	/* tells the child that it is done */
		return;
	}
	file = take_back(loan, request->file);
	if (!file) {
		rcl_libc()->close(fd);
	} else if (request->what == ASK_CARRY) {
		accepted = !file->peer_len;
		carry_file(file, fd);
		if (accepted)
			rcl_listen_all_tcp();
	} else {
		rcl_file_put(file);
	}
}

static void *serve_children(void *arg)
{
	struct loan *loan = arg;
	struct request request;
	int fd;

	rcl_in_library = 1;
	while (read_request(loan->sock.fd, &request, &fd))
		serve(loan, &request, fd);
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

/* Collects what a child may use. Returns NULL if there is nothing. */
static struct loan *collect(void)
{
	struct loan *loan = NULL;
	struct rcl_file *file;
	int fd = -1;

	while ((fd = rcl_file_next((unsigned int)fd + 1, INT_MAX)) >= 0) {
		file = rcl_file_get(fd);
		if (!file)
			continue;
		shared |= atomic_load(&file->kind) == RCL_FILE_LENT;
		if (rcl_file_may_lend(file) && atomic_load(&file->listening))
			rcl_listen_reserve(fd, file);
		if (!rcl_file_may_lend(file) || !lend(&loan, file))
			rcl_file_put(file);
	}
	return loan;
}

static void before_fork(void)
{
	struct timeval limit = { .tv_sec = OWNER_MS / 1000 };
	struct loan *loan;
	int pair[2];

	loan = collect();
	pthread_mutex_lock(&lend_lock);
	rcl_file_lend(-1);
	if (!loan)
		return;
	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair)) {
		pair[0] = -1;
		pair[1] = -1;
	}
	child_end = rcl_fd_raise(pair[1]);
	keep(&loan->sock, rcl_fd_raise(pair[0]));
	rcl_libc()->setsockopt(child_end, SOL_SOCKET, SO_SNDTIMEO, &limit, sizeof(limit));
	rcl_file_lend(child_end);
	forking = loan;
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

static void in_child(void)
{
	child_end = -1;
	forking = NULL;
	sending = 0;
	for (; kept_list; kept_list = kept_list->next)
		rcl_libc()->close(kept_list->fd);
	pthread_cond_init(&changed, NULL);
	pthread_mutex_unlock(&lend_lock);
}

static void follow_forks(void)
{
	pthread_atfork(before_fork, in_parent, in_child);
}

void rcl_lend_start(void)
{
	static pthread_once_t once = PTHREAD_ONCE_INIT;

	pthread_once(&once, follow_forks);
}

/* The child. */

static bool ask(struct rcl_file *file, int what, int fd)
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

	if (fd >= 0) {
		memcpy(CMSG_DATA(&control.header), &fd, sizeof(fd));
		msg.msg_control = &control;
		msg.msg_controllen = sizeof(control);
	}
	/* The program may have closed the descriptor, as one of a range. */
	return !rcl_libc()->getsockopt(file->lender, SOL_SOCKET, SO_TYPE, &type, &size) &&
	       type == SOCK_SEQPACKET &&
	       rcl_libc()->sendmsg(file->lender, &msg, MSG_NOSIGNAL) == sizeof(request);
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

static void begin_listener(int fd, struct rcl_file *file)
{
	int pair[2], listens = 0;
	socklen_t size = sizeof(listens);
	bool asked;

	if (!socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair)) {
		asked = ask(file, ASK_LISTEN, pair[1]);
		rcl_libc()->close(pair[1]);
		if (asked)
			await(pair[0], rcl_deadline_ms(OWNER_MS));
		rcl_libc()->close(pair[0]);
	}
	/* The owner has ended, or has closed the listener. */
	rcl_libc()->getsockopt(fd, SOL_SOCKET, SO_ACCEPTCONN, &listens, &size);
	if (!listens)
		rcl_listen_kernel(fd, file);
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

/* Connects the kernel's socket to a listener of this process. */
static bool connect_local(int fd, int domain, const struct sockaddr_in *in)
{
	struct sockaddr_in6 in6 = { .sin6_family = AF_INET6, .sin6_port = in->sin_port };
	int off = 0, ret;

	if (domain == AF_INET6) {
		rcl_libc()->setsockopt(fd, IPPROTO_IPV6, IPV6_V6ONLY, &off, sizeof(off));
		memset(&in6.sin6_addr.s6_addr[10], 0xff, 2);
		memcpy(&in6.sin6_addr.s6_addr[12], &in->sin_addr, sizeof(in->sin_addr));
		ret = rcl_libc()->connect(fd, (struct sockaddr *)&in6, sizeof(in6));
	} else {
		ret = rcl_libc()->connect(fd, (const struct sockaddr *)in, sizeof(*in));
	}
	return !ret || errno == EINPROGRESS;
}

/*
 * Makes a TCP connection of this host whose one end is @fd. Returns the other end, which resets the
 * connection when it is closed without more; -1 on failure.
 */
static int make_other_end(int fd, int domain)
{
	struct sockaddr_in in = { .sin_family = AF_INET }, here, there;
	struct timeval limit = { .tv_sec = OWNER_MS / 1000 };
	struct linger reset = { .l_onoff = 1 };
	int listener = rcl_libc()->socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	int end = -1, one = 1;

	in.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
	rcl_libc()->setsockopt(listener, SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof(limit));
	if (rcl_libc()->bind(listener, (struct sockaddr *)&in, sizeof(in)) ||
	    rcl_libc()->listen(listener, 1) ||
	    !local_end(rcl_libc()->getsockname, listener, &in) || !connect_local(fd, domain, &in))
		goto out;
	end = rcl_libc()->accept4(listener, NULL, NULL, SOCK_CLOEXEC);
	/* Any process of this host can connect to the listener. */
	while (end >= 0 && (!local_end(rcl_libc()->getsockname, fd, &here) ||
			    !local_end(rcl_libc()->getpeername, end, &there) ||
			    here.sin_port != there.sin_port ||
			    here.sin_addr.s_addr != there.sin_addr.s_addr)) {
		rcl_libc()->close(end);
		end = rcl_libc()->accept4(listener, NULL, NULL, SOCK_CLOEXEC);
	}
	rcl_libc()->setsockopt(end, SOL_SOCKET, SO_LINGER, &reset, sizeof(reset));
	rcl_libc()->setsockopt(end, IPPROTO_TCP, TCP_NODELAY, &one, sizeof(one));
	rcl_libc()->setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof(one));
out:
	if (listener >= 0)
		rcl_libc()->close(listener);
	return end;
}

static bool read_names(int fd, struct names *names)
{
	int64_t deadline = rcl_deadline_ms(OWNER_MS);
	size_t got = 0;
	ssize_t n;

	while (got < sizeof(*names)) {
		if (!await(fd, deadline))
			return false;
		n = rcl_libc()->recv(fd, (char *)names + got, sizeof(*names) - got, MSG_DONTWAIT);
		if (!n || (n < 0 && errno != EAGAIN && errno != EINTR))
			return false;
		got += n > 0 ? (size_t)n : 0;
	}
	return true;
}

/* Returns false if the connection is lost. */
static bool begin_connection(int fd, struct rcl_file *file)
{
	int end = make_other_end(fd, file->domain);
	struct names names;
	bool good;

	if (end < 0)
		return false;
	good = ask(file, ASK_CARRY, end);
	rcl_libc()->close(end);
	if (!good || !read_names(fd, &names))
		return false;
	file->bound = names.own;
	file->bound_len = names.own_len;
	file->peer = names.peer;
	file->peer_len = names.peer_len;
	return true;
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
		ask(file, ASK_RETURN, -1);
}

bool rcl_lend_name(int fd, bool peer, struct sockaddr *addr, socklen_t *length)
{
	struct rcl_file *file = rcl_file_get(fd);
	bool carried = file && atomic_load(&file->kind) == RCL_FILE_CARRIED;
	socklen_t size;

	if (carried) {
		size = peer ? file->peer_len : file->bound_len;
		if (*length > size)
			*length = size;
		memcpy(addr, peer ? &file->peer : &file->bound, *length);
		*length = size;
	}
	if (file)
		rcl_file_done(file, 0);
	return carried;
}
