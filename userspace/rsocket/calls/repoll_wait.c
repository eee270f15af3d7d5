// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * repoll_wait(): checks the rsockets in the list, and waits in the kernel for the others.
 *
 * An rsocket that is not ready is armed and removed from the list. A ready one goes to the end of
 * the list, unless its events are reported once only (EPOLLET, EPOLLONESHOT). The list and the
 * kernel get half of the places each, and what the other one has left over.
 *
 * Locking: rcl_repoll.lock, which is not taken here while an rsocket is locked.
 */
#include <errno.h>
#include <limits.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>

#include "base/compiler.h"
#include "base/err.h"
#include "base/rdma_cma_new.h"
#include "rsocket/calls/repoll.h"
#include "rsocket/wait.h"

/* Most events that are read from the kernel with one call. */
#define BATCH 64

#define NS_PER_MS 1000000LL

/* Copy of an item, which may be removed while its rsocket is being checked. */
struct look {
	struct rcl_sock *sock;
	struct epoll_event event;
	int fd;
	uint32_t generation;
	int channel;
};

static struct rcl_item *same_item(const struct rcl_repoll *poll, int fd, uint32_t generation)
{
	struct rcl_item *item = rcl_repoll_find(poll, fd);

	return item && item->generation == generation ? item : NULL;
}

/* Takes the first item from the list; false: there is none. */
static bool take(struct rcl_repoll *poll, struct look *look)
{
	struct rcl_item *item;

	pthread_mutex_lock(&poll->lock);
	item = poll->first;
	if (item) {
		rcl_repoll_unlist(item);
		*look = (struct look){
			.sock = rcl_sock_hold(item->sock), .event = item->event, .fd = item->fd,
			.generation = item->generation, .channel = item->channel,
		};
	}
	pthread_mutex_unlock(&poll->lock);
	return item;
}

/* Adds the channel of an rsocket to the epoll instance; it exists only after the connect. */
static void follow_channel(struct rcl_repoll *poll, struct look *look)
{
	int channel = look->sock->ops->wait_fd(look->sock);
	struct epoll_event event = { .events = EPOLLIN };
	struct rcl_item *item;

	if (channel < 0 || channel == look->channel)
		return;
	pthread_mutex_lock(&poll->lock);
	item = same_item(poll, look->fd, look->generation);
	if (item && item->channel != channel) {
		event.data.u64 = rcl_repoll_data(item);
		if (!rcl_repoll_control(poll, EPOLL_CTL_ADD, channel, &event))
			item->channel = channel;
	}
	pthread_mutex_unlock(&poll->lock);
}

/* Removes an item that this thread itself has put into the list by handling completions. */
static void forget_own_wake(struct rcl_repoll *poll, const struct look *look)
{
	struct rcl_item *item;

	pthread_mutex_lock(&poll->lock);
	item = same_item(poll, look->fd, look->generation);
	if (item)
		rcl_repoll_unlist(item);
	pthread_mutex_unlock(&poll->lock);
}

/* Gets the events of an rsocket. Arms it if there are none, or they are reported once only. */
static uint32_t events_of(struct rcl_repoll *poll, struct look *look)
{
	struct rcl_sock *sock = look->sock;
	short wanted = (short)look->event.events, ready;

	pthread_mutex_lock(&sock->lock);
	follow_channel(poll, look);
	ready = sock->ops->look(sock, wanted);
	if (!ready || look->event.events & EPOLLET)
		ready = sock->ops->arm(sock, wanted);
	forget_own_wake(poll, look);
	pthread_mutex_unlock(&sock->lock);
	return (uint16_t)ready;
}

/* Updates an item after it was reported; false: it was removed or disabled meanwhile. */
static bool told(struct rcl_repoll *poll, const struct look *look)
{
	struct rcl_item *item;
	bool valid;

	pthread_mutex_lock(&poll->lock);
	item = same_item(poll, look->fd, look->generation);
	valid = item && item->sock && !item->disabled;
	if (valid && look->event.events & EPOLLONESHOT) {
		item->disabled = true;
		rcl_repoll_unlist(item);
	} else if (valid && !(look->event.events & EPOLLET)) {
		rcl_repoll_list(item);
	}
	pthread_mutex_unlock(&poll->lock);
	return valid;
}

static unsigned int list_length(struct rcl_repoll *poll)
{
	unsigned int length;

	pthread_mutex_lock(&poll->lock);
	length = poll->length;
	pthread_mutex_unlock(&poll->lock);
	return length;
}

/* Reports the ready ones of the next @length rsockets of the list; counts those that are left. */
static int collect(struct rcl_repoll *poll, struct epoll_event *events, int most,
		   unsigned int *length)
{
	struct look look;
	int count = 0;

	for (; *length && count < most && take(poll, &look); --*length) {
		uint32_t ready = events_of(poll, &look);

		rcl_sock_put(look.sock);
		if (ready && told(poll, &look)) {
			events[count].events = ready;
			events[count++].data = look.event.data;
		}
	}
	return count;
}

/* The channel of an rsocket is readable: all of its waiters have to check it. */
static void channel_told(struct rcl_sock *sock)
{
	pthread_mutex_lock(&sock->lock);
	sock->ops->drain(sock);
	rcl_sock_changed(sock);
	pthread_mutex_unlock(&sock->lock);
	rcl_sock_put(sock);
}

/*
 * Clears the eventfd if the list is empty. Otherwise the descriptor of the repoll stays readable,
 * for threads that poll it.
 */
static void quiet(struct rcl_repoll *poll)
{
	eventfd_t value;

	pthread_mutex_lock(&poll->lock);
	if (!poll->first && poll->signaled) {
		eventfd_read(poll->wakeup, &value);
		poll->signaled = false;
	}
	pthread_mutex_unlock(&poll->lock);
}

/* Handles an event of the kernel; returns the number of events to report. */
static int handle(struct rcl_repoll *poll, const struct epoll_event *event, struct epoll_event *out)
{
	struct rcl_sock *sock = NULL;
	struct rcl_item *item;
	int count = 0;

	if (event->data.u64 == RCL_REPOLL_WAKE) {
		quiet(poll);
		return 0;
	}
	pthread_mutex_lock(&poll->lock);
	item = same_item(poll, (int)(uint32_t)event->data.u64, (uint32_t)(event->data.u64 >> 32));
	if (item && item->sock) {
		sock = rcl_sock_hold(item->sock);
	} else if (item && !item->is_socket) {
		out->events = event->events;
		out->data = item->event.data;
		count = 1;
	}
	pthread_mutex_unlock(&poll->lock);
	if (sock)
		channel_told(sock);
	return count;
}

/* Called if the thread is cancelled while it sleeps: no event is lost. */
static void give_back(void *arg)
{
	rcl_sock_put(arg);
}

static int sleep_in_kernel(struct rcl_repoll *poll, struct epoll_event *events, int most,
			   int timeout)
{
	int count;

	pthread_cleanup_push(give_back, &poll->sock);
	rcl_sleep_begin();
	count = epoll_pwait(poll->sock.fd, events, most, timeout, NULL);
	rcl_sleep_end();
	pthread_cleanup_pop(0);
	return count < 0 ? rcl_errno() : count;
}

/* Waits in the kernel; returns the number of events to report, or a negative errno. */
static int ask_kernel(struct rcl_repoll *poll, struct epoll_event *events, int most, int timeout)
{
	struct epoll_event told[BATCH];
	int i, count, filled = 0;

	count = sleep_in_kernel(poll, told, most < BATCH ? most : BATCH, timeout);
	if (count < 0)
		return count;
	for (i = 0; i < count; i++)
		filled += handle(poll, &told[i], events + filled);
	return filled;
}

static int ms_until(int64_t deadline)
{
	int64_t left;

	if (deadline == RCL_FOREVER)
		return -1;
	left = deadline - rcl_now_ns();
	if (left <= 0)
		return 0;
	left = (left + NS_PER_MS - 1) / NS_PER_MS;
	return left > INT_MAX ? INT_MAX : (int)left;
}

/* The places for rsockets; the others are the kernel's, and a single one is so every other time. */
static int places_of_sockets(struct rcl_repoll *poll, int most)
{
	return (most + (int)(atomic_fetch_add(&poll->waits, 1) & 1)) / 2;
}

static int wait_for_events(struct rcl_repoll *poll, struct epoll_event *events, int most,
			   int64_t deadline)
{
	unsigned int length;
	int count, ret, ms;
	bool all;

	for (;;) {
		length = list_length(poll);
		count = collect(poll, events, places_of_sockets(poll, most), &length);
		all = !length;
		ms = all && !count ? ms_until(deadline) : 0;
		ret = count < most ? ask_kernel(poll, events + count, most - count, ms) : 0;
		if (ret < 0)
			return count ? count : ret;
		count += ret;
		if (!count)
			length = list_length(poll);
		count += collect(poll, events + count, most - count, &length);
		if (count || (all && !ms))
			return count;
	}
}

RCL_EXPORT int repoll_wait(int epfd, struct epoll_event *events, int maxevents, int timeout)
{
	struct rcl_repoll *poll = rcl_repoll_get(epfd, __func__);
	int ret = -EINVAL;

	if (!poll)
		return -1;
	rcl_cancel_in_sleeps();
	if (events && maxevents > 0)
		ret = wait_for_events(poll, events, maxevents, rcl_deadline(timeout));
	rcl_sock_put(&poll->sock);
	rcl_cancel_as_before();
	return ret < 0 ? rcl_fail(ret, __func__, "%d events", maxevents) : ret;
}
