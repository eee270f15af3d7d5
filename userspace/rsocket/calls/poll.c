// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * rpoll() and rselect(): waiting for rsockets and other descriptors.
 *
 * A waiting thread is a waiter of each rsocket, so that another thread that handles a completion of
 * one wakes it. It also polls the completion channels, in case no other thread does. poll(),
 * select() and the epoll calls are not used here, because librspreload replaces them.
 *
 * Locking: rcl_sock.lock of one rsocket at a time.
 */
#include <errno.h>
#include <limits.h>
#include <poll.h>
#include <rdma/rsocket.h>
#include <stdlib.h>
#include <string.h>
#include <sys/select.h>

#include "base/compiler.h"
#include "base/err.h"
#include "rsocket/wait.h"

#define US_PER_MS 1000
#define US_PER_S 1000000

/* Up to this number of descriptors, no memory is allocated. */
#define FEW 8

/* A descriptor of a call. @closed: it is a copy of a socket of the parent process. */
struct entry {
	struct rcl_sock *sock;
	bool closed;
	struct rcl_sleeper sleeper;
};

struct call {
	struct pollfd *fds;
	nfds_t count;
	struct entry *entries;
	struct pollfd *kernel;
	bool has_sockets;
	bool has_others;
};

static short look_at(struct rcl_sock *sock, short events)
{
	short ready;

	pthread_mutex_lock(&sock->lock);
	ready = sock->ops->look(sock, events);
	pthread_mutex_unlock(&sock->lock);
	return ready;
}

/* Gets the events of all rsockets; returns the number of those that are ready. */
static int look_at_sockets(struct call *call)
{
	int ready = 0;
	nfds_t i;

	for (i = 0; i < call->count; i++) {
		struct rcl_sock *sock = call->entries[i].sock;

		if (!sock)
			continue;
		call->fds[i].revents = look_at(sock, call->fds[i].events);
		ready += call->fds[i].revents != 0;
	}
	return ready;
}

/* The entry for ppoll(); for a socket of the parent process invalid, so the result is POLLNVAL. */
static struct pollfd for_kernel(const struct call *call, nfds_t i)
{
	struct pollfd pfd = call->fds[i];

	if (call->entries[i].closed)
		pfd.fd = INT_MAX;
	return pfd;
}

/* Gets the events of the other descriptors from the kernel, without waiting. */
static int look_at_others(struct call *call)
{
	int ready = 0, ret;
	nfds_t i;

	if (!call->has_others)
		return 0;
	for (i = 0; i < call->count; i++) {
		call->kernel[i] = for_kernel(call, i);
		if (call->entries[i].sock)
			call->kernel[i].fd = -1;
	}
	ret = ppoll(call->kernel, call->count, &(struct timespec){ 0 }, NULL);
	if (ret < 0)
		return rcl_errno();
	for (i = 0; i < call->count; i++) {
		if (call->entries[i].sock)
			continue;
		call->fds[i].revents = call->kernel[i].revents;
		ready += call->fds[i].revents != 0;
	}
	return ready;
}

static int look_at_all(struct call *call)
{
	int sockets = look_at_sockets(call), others = look_at_others(call);

	return others < 0 ? others : sockets + others;
}

/* Polls for a short time without sleeping: the answer of a peer may arrive soon. */
static bool look_for_a_while(struct call *call, int64_t end)
{
	while (rcl_now_ns() < end) {
		if (look_at_sockets(call))
			return true;
	}
	return false;
}

/* Becomes a waiter of all rsockets; false: there is no eventfd. */
static int watch(struct call *call)
{
	nfds_t i;
	int ret;

	for (i = 0; i < call->count; i++) {
		struct entry *entry = &call->entries[i];

		if (!entry->sock)
			continue;
		ret = rcl_sleeper_init(&entry->sleeper);
		if (ret)
			return ret;
		pthread_mutex_lock(&entry->sock->lock);
		rcl_sock_watch(entry->sock, &entry->sleeper.waiter);
		pthread_mutex_unlock(&entry->sock->lock);
	}
	return 0;
}

static void unwatch(struct call *call)
{
	nfds_t i;

	for (i = 0; i < call->count; i++) {
		struct entry *entry = &call->entries[i];

		if (!entry->sock)
			continue;
		pthread_mutex_lock(&entry->sock->lock);
		if (entry->sleeper.waiter.prev)
			rcl_sock_unwatch(&entry->sleeper.waiter);
		pthread_mutex_unlock(&entry->sock->lock);
	}
}

/* Arms all rsockets and gets their events; returns the number of those that are ready. */
static int arm(struct call *call)
{
	int ready = 0;
	nfds_t i;

	for (i = 0; i < call->count; i++) {
		struct rcl_sock *sock = call->entries[i].sock;

		call->kernel[i] = for_kernel(call, i);
		if (!sock)
			continue;
		pthread_mutex_lock(&sock->lock);
		call->fds[i].revents = sock->ops->arm(sock, call->fds[i].events);
		call->kernel[i].fd = sock->ops->wait_fd(sock);
		call->kernel[i].events = POLLIN;
		pthread_mutex_unlock(&sock->lock);
		ready += call->fds[i].revents != 0;
	}
	return ready;
}

static void drain(struct call *call)
{
	nfds_t i;

	for (i = 0; i < call->count; i++) {
		struct rcl_sock *sock = call->entries[i].sock;

		if (!sock || !call->kernel[i].revents)
			continue;
		pthread_mutex_lock(&sock->lock);
		sock->ops->drain(sock);
		pthread_mutex_unlock(&sock->lock);
	}
}

static void forget_sockets(struct call *call)
{
	nfds_t i;

	for (i = 0; i < call->count; i++) {
		if (call->entries[i].sock)
			rcl_sock_put(call->entries[i].sock);
	}
}

static void free_room(struct call *call)
{
	if (call->count <= FEW)
		return;
	free(call->entries);
	free(call->kernel);
}

/* Called if the thread is cancelled while it sleeps. */
static void give_back(void *arg)
{
	struct call *call = arg;

	if (call->has_sockets) {
		unwatch(call);
		forget_sockets(call);
	}
	free_room(call);
}

static int wait_for_any(struct call *call, int64_t deadline)
{
	int ret = watch(call), ready;

	while (!ret) {
		ready = arm(call);
		if (!ready) {
			ret = rcl_sleep(call->kernel, call->count, deadline, give_back, call);
			if (ret <= 0)
				break;
			drain(call);
		}
		/* Another thread may have handled the event. */
		ret = look_at_all(call);
		/* What was reported may not concern the call. */
		if (!ret && deadline <= rcl_now_ns())
			break;
	}
	return ret;
}

static int poll_sockets(struct call *call, int timeout)
{
	/* Per thread, since a thread usually waits for the same peers. */
	static __thread struct rcl_spin spin;
	int64_t begin = rcl_now_ns(), deadline = rcl_deadline(timeout);
	int ret = look_at_all(call);

	if (ret || !timeout)
		return ret;
	if (look_for_a_while(call, begin + rcl_spin_ns(&spin)))
		ret = look_at_all(call);
	if (!ret) {
		ret = wait_for_any(call, deadline);
		unwatch(call);
	}
	rcl_spin_learn(&spin, rcl_now_ns() - begin);
	return ret;
}

static void find_sockets(struct call *call)
{
	nfds_t i;

	for (i = 0; i < call->count; i++) {
		struct rcl_sock *sock = rcl_sock_get(call->fds[i].fd);

		/* A repoll is an epoll instance, which the kernel can poll. */
		if (sock && sock->type == RCL_REPOLL) {
			rcl_sock_put(sock);
			sock = NULL;
		}
		call->entries[i] = (struct entry){
			.sock = sock, .closed = rcl_sock_is_inherited(call->fds[i].fd),
		};
		call->has_sockets = call->has_sockets || sock || call->entries[i].closed;
		call->has_others = call->has_others || (!sock && call->fds[i].fd >= 0);
		call->fds[i].revents = 0;
	}
}

static int poll_kernel(struct call *call, int timeout)
{
	struct timespec limit = {
		.tv_sec = timeout / 1000, .tv_nsec = timeout % 1000 * 1000000L,
	};
	int ret;

	pthread_cleanup_push(give_back, call);
	rcl_sleep_begin();
	ret = ppoll(call->fds, call->count, timeout < 0 ? NULL : &limit, NULL);
	rcl_sleep_end();
	pthread_cleanup_pop(0);
	return ret < 0 ? rcl_errno() : 0;
}

static int count_ready(const struct pollfd *fds, nfds_t count)
{
	int ready = 0;
	nfds_t i;

	for (i = 0; i < count; i++)
		ready += fds[i].revents != 0;
	return ready;
}

static int poll_all(struct call *call, int timeout)
{
	int ret;

	find_sockets(call);
	if (call->has_sockets) {
		ret = poll_sockets(call, timeout);
		forget_sockets(call);
		return ret;
	}
	ret = poll_kernel(call, timeout);
	return ret ? ret : count_ready(call->fds, call->count);
}

RCL_EXPORT int rpoll(struct pollfd *fds, nfds_t nfds, int timeout)
{
	struct entry few_entries[FEW];
	struct pollfd few_fds[FEW + 1];
	struct call call = {
		.fds = fds, .count = nfds, .entries = few_entries, .kernel = few_fds,
	};
	int ret = -ENOMEM;

	if (nfds > FEW) {
		call.entries = calloc(nfds, sizeof(*call.entries));
		call.kernel = calloc(nfds + 1, sizeof(*call.kernel));
	}
	rcl_cancel_in_sleeps();
	if (call.entries && call.kernel)
		ret = poll_all(&call, timeout);
	free_room(&call);
	rcl_cancel_as_before();
	return ret < 0 ? rcl_fail(ret, __func__, "%lu descriptors", nfds) : ret;
}
