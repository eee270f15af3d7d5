// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * The passive side of a connection.
 *
 * The service thread accepts requests without the program, as TCP does: up to the backlog, and more
 * whenever raccept() has taken a socket. A socket is on the list of the listener from its request
 * until raccept() takes it or it fails.
 *
 * Locking: rcl_events.lock for the list, under which no other lock is taken. The lock of a listener
 * is taken before that of one of its sockets.
 */
#include "rsocket/stream/listener.h"

#include <errno.h>
#include <stdlib.h>
#include <sys/eventfd.h>

#include "base/err.h"
#include "base/fd.h"
#include "rsocket/stream/connect.h"
#include "rsocket/stream/endpoint.h"
#include "rsocket/stream/events.h"
#include "rsocket/stream/progress.h"
#include "rsocket/wait.h"

/* Backlog if rlisten() specifies none. */
#define BACKLOG 128

/* Returns false if the listener is closed. */
static bool append(struct rcl_events *events, struct rcl_stream *s)
{
	struct rcl_stream **end = &events->children;

	if (!events->listener)
		return false;
	while (*end)
		end = &(*end)->next;
	s->next = NULL;
	*end = s;
	return true;
}

/* Returns false if the socket is not on the list any more. */
static bool take_off(struct rcl_events *events, struct rcl_stream *s)
{
	struct rcl_stream **at = &events->children;
	eventfd_t value;

	while (*at && *at != s)
		at = &(*at)->next;
	if (!*at)
		return false;
	*at = s->next;
	events->answered -= s->answered;
	events->ready -= s->ready;
	if (s->ready && !events->ready)
		eventfd_read(events->eventfd, &value);
	return true;
}

/* Notifies the waiters of the listener. */
static void wake_listener(struct rcl_events *events)
{
	struct rcl_stream *listener;

	pthread_mutex_lock(&events->lock);
	listener = events->listener;
	if (listener)
		rcl_sock_hold(&listener->sock);
	pthread_mutex_unlock(&events->lock);
	if (!listener)
		return;
	pthread_mutex_lock(&listener->sock.lock);
	rcl_sock_changed(&listener->sock);
	pthread_mutex_unlock(&listener->sock.lock);
	rcl_sock_put(&listener->sock);
}

static void set_ready(struct rcl_stream *s)
{
	struct rcl_events *events = s->events;

	pthread_mutex_lock(&events->lock);
	if (events->listener && !s->ready) {
		s->ready = true;
		if (!events->ready++)
			eventfd_write(events->eventfd, 1);
	}
	pthread_mutex_unlock(&events->lock);
	wake_listener(events);
}

/* Sends the reply. The socket is locked. */
static int answer(struct rcl_stream *s)
{
	uint8_t data[RCL_HELLO_IB + RCL_HELLO_LEN];
	struct rdma_conn_param param = s->param;
	int ret = rcl_endpoint_create(s);

	if (ret)
		return ret;
	rcl_endpoint_connected(s, &s->hello);
	/*
	 * With MPA (RFC 5044) the active end sends first: soft-iWARP treats data that arrives with
	 * the reply as an error. Each client of rsockets begins with a credit.
	 */
	s->tx.mute = s->iwarp;
	param.private_data = data;
	param.private_data_len = rcl_stream_put_hello(s, data, false);
	s->state = RCL_STREAM_ACCEPTING;
	return rdma_accept(s->id, &param) ? rcl_errno() : 0;
}

/* The next socket whose request was not accepted yet; @events is locked. */
static struct rcl_stream *next_waiting(struct rcl_events *events)
{
	struct rcl_stream *s = events->children;

	while (s && s->answered)
		s = s->next;
	if (!s || events->answered >= events->most)
		return NULL;
	s->answered = true;
	events->answered++;
	rcl_sock_hold(&s->sock);
	return s;
}

/* Drops a socket that has failed, unless raccept() may take it; called unlocked. */
static void drop(struct rcl_stream *s)
{
	struct rcl_events *events = s->events;
	bool listed;

	pthread_mutex_lock(&events->lock);
	listed = !s->ready && take_off(events, s);
	pthread_mutex_unlock(&events->lock);
	if (listed)
		rcl_sock_put(&s->sock);
}

static void answer_waiting(struct rcl_events *events)
{
	struct rcl_stream *s;
	int ret;

	for (;;) {
		pthread_mutex_lock(&events->lock);
		s = next_waiting(events);
		pthread_mutex_unlock(&events->lock);
		if (!s)
			return;
		pthread_mutex_lock(&s->sock.lock);
		ret = answer(s);
		pthread_mutex_unlock(&s->sock.lock);
		if (ret) {
			rdma_reject(s->id, NULL, 0);
			drop(s);
		}
		rcl_sock_put(&s->sock);
	}
}

static struct rcl_stream *child_of(struct rcl_stream *listener, struct rdma_cm_event *event)
{
	struct rcl_sock *sock = listener->sock.ops->create(listener->sock.family);
	struct rcl_stream *s = rcl_stream_of(sock);

	if (!sock)
		return NULL;
	rcl_sock_inherit(&s->sock, &listener->sock);
	s->keepalive = listener->keepalive;
	s->keepalive_s = listener->keepalive_s;
	s->keepidle_s = listener->keepidle_s;
	s->v6only = listener->v6only;
	s->rx.least = listener->rx.least;
	s->id = event->id;
	s->id->context = s;
	s->events = rcl_events_hold(listener->events);
	s->param = event->param.conn;
	return s;
}

/* Handles a connect request. It is rejected if its private data are not those of rsockets. */
static void take_request(struct rcl_stream *listener, struct rdma_cm_event *event)
{
	const struct rdma_conn_param *param = &event->param.conn;
	size_t offset = rcl_hello_offset(rdma_get_local_addr(event->id)->sa_family);
	struct rcl_events *events = listener->events;
	struct rcl_hello hello;
	struct rcl_stream *s = NULL;
	bool listed;

	if (param->private_data && param->private_data_len >= offset &&
	    !rcl_hello_unpack(&hello, (const uint8_t *)param->private_data + offset,
			      param->private_data_len - offset)) {
		pthread_mutex_lock(&listener->sock.lock);
		s = child_of(listener, event);
		pthread_mutex_unlock(&listener->sock.lock);
	}
	if (!s) {
		rdma_reject(event->id, NULL, 0);
		event->id->context = NULL;
		rdma_destroy_id(event->id);
		return;
	}
	s->hello = hello;
	pthread_mutex_lock(&events->lock);
	listed = append(events, s);
	pthread_mutex_unlock(&events->lock);
	/* Destroying the id rejects the request. */
	if (!listed)
		rcl_sock_put(&s->sock);
	answer_waiting(events);
}

static bool is_listener(struct rcl_stream *s)
{
	bool is;

	pthread_mutex_lock(&s->events->lock);
	is = s->events->listener == s;
	pthread_mutex_unlock(&s->events->lock);
	return is;
}

static void handle(struct rdma_cm_event *event)
{
	struct rcl_stream *s = event->id->context;

	if (event->event == RDMA_CM_EVENT_CONNECT_REQUEST) {
		take_request(event->listen_id->context, event);
		return;
	}
	if (is_listener(s))
		return;
	pthread_mutex_lock(&s->sock.lock);
	rcl_stream_event(s, event);
	pthread_mutex_unlock(&s->sock.lock);
	if (event->event == RDMA_CM_EVENT_ESTABLISHED)
		set_ready(s);
}

/* Drops a socket that has failed before raccept() could take it. */
static void settle(struct rcl_stream *s)
{
	bool down;

	if (is_listener(s))
		return;
	pthread_mutex_lock(&s->sock.lock);
	down = s->state == RCL_STREAM_DOWN;
	pthread_mutex_unlock(&s->sock.lock);
	if (down)
		drop(s);
}

/* The eventfd also makes the descriptor of the listener readable for poll(2). */
static int make_eventfd(struct rcl_stream *s)
{
	int fd;

	if (s->events->eventfd >= 0)
		return 0;
	fd = rcl_fd_raise(eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK));
	if (fd < 0)
		return rcl_errno();
	s->events->eventfd = fd;
	return rcl_sock_show(&s->sock, fd);
}

static int start_listening(struct rcl_stream *s, int backlog)
{
	int ret = make_eventfd(s);

	if (ret)
		return ret;
	s->events->most = backlog > 0 ? (unsigned int)backlog : BACKLOG;
	s->events->listener = s;
	s->events->handle = handle;
	s->events->settle = settle;
	s->state = RCL_STREAM_LISTENING;
	if (rdma_listen(s->id, backlog))
		return rcl_errno();
	return rcl_events_serve(s->events);
}

int rcl_stream_listen(struct rcl_sock *sock, int backlog)
{
	struct rcl_stream *s = rcl_stream_of(sock);
	int ret;

	if (s->state == RCL_STREAM_LISTENING)
		return 0;
	if (s->state != RCL_STREAM_NEW && s->state != RCL_STREAM_BOUND)
		return -EINVAL;
	ret = rcl_stream_id(s);
	if (!ret)
		ret = start_listening(s, backlog);
	if (ret && s->state == RCL_STREAM_LISTENING) {
		/* The socket may still connect, and then gets the events of a connection. */
		pthread_mutex_lock(&s->events->lock);
		s->events->listener = NULL;
		pthread_mutex_unlock(&s->events->lock);
		s->state = RCL_STREAM_BOUND;
	}
	return ret;
}

bool rcl_listener_ready(struct rcl_stream *listener)
{
	bool ready;

	pthread_mutex_lock(&listener->events->lock);
	ready = listener->events->ready;
	pthread_mutex_unlock(&listener->events->lock);
	return ready;
}

static struct rcl_stream *take_ready(struct rcl_events *events)
{
	struct rcl_stream *s;

	pthread_mutex_lock(&events->lock);
	for (s = events->children; s && !s->ready; s = s->next)
		;
	if (s)
		take_off(events, s);
	pthread_mutex_unlock(&events->lock);
	return s;
}

static int wait_for_ready(struct rcl_stream *listener)
{
	struct rcl_sock *sock = &listener->sock;
	struct pollfd fds[2] = { { .fd = listener->events->eventfd, .events = POLLIN } };
	int64_t deadline = sock->recv_ms ? rcl_deadline(sock->recv_ms) : RCL_FOREVER;
	int ret = rcl_sleep_on(sock, fds, 1, deadline, NULL);

	return ret > 0 ? 0 : ret ? ret : -EAGAIN;
}

int rcl_stream_accept(struct rcl_sock *sock, struct rcl_sock **out)
{
	struct rcl_stream *listener = rcl_stream_of(sock), *s;
	int ret;

	if (listener->state != RCL_STREAM_LISTENING)
		return -EINVAL;
	while (!(s = take_ready(listener->events))) {
		if (listener->closed)
			return -EBADF;
		/* rshutdown() was called meanwhile. */
		if (listener->state != RCL_STREAM_LISTENING)
			return -EINVAL;
		if (sock->nonblock)
			return -EAGAIN;
		ret = wait_for_ready(listener);
		if (ret)
			return ret;
	}
	/* Another request may be accepted now. */
	answer_waiting(listener->events);
	*out = &s->sock;
	return 0;
}

void rcl_listener_end(struct rcl_stream *listener)
{
	struct rcl_events *events = listener->events;
	struct rcl_stream *s;

	pthread_mutex_lock(&events->lock);
	events->listener = NULL;
	s = events->children;
	while (s) {
		take_off(events, s);
		pthread_mutex_unlock(&events->lock);
		rcl_sock_put(&s->sock);
		pthread_mutex_lock(&events->lock);
		s = events->children;
	}
	pthread_mutex_unlock(&events->lock);
}
