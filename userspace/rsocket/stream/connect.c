// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * The active side of a connection.
 *
 * Each step is a call of the connection manager; its event starts the next step. A blocking
 * rconnect() reads the events itself. The service thread reads the events of a nonblocking
 * rconnect(), and of a blocking one after a signal has interrupted it.
 *
 * Locking: rcl_sock.lock; it is released while a thread waits.
 */
#include "rsocket/stream/connect.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/err.h"
#include "base/sockaddr.h"
#include "rsocket/inet_addr.h"
#include "rsocket/stream/alive.h"
#include "rsocket/stream/endpoint.h"
#include "rsocket/stream/events.h"
#include "rsocket/stream/progress.h"
#include "rsocket/wait.h"

/*
 * Address and route are resolved up to TRIES times, for 4 s and 8 s: the kernel needs 3 s to find
 * out that a neighbour does not answer.
 */
#define TRIES 2
#define FIRST_MS 4000

static int last_error(int ret)
{
	return ret ? rcl_errno() : 0;
}

void rcl_stream_fail(struct rcl_stream *s, int err)
{
	s->state = RCL_STREAM_FAILED;
	s->sock.err = -err;
	rcl_sock_changed(&s->sock);
}

uint8_t rcl_stream_put_hello(struct rcl_stream *s, uint8_t *data, bool request)
{
	size_t offset = request ? rcl_hello_offset(rdma_get_local_addr(s->id)->sa_family) : 0;
	struct rcl_hello hello;

	memset(data, 0, offset);
	rcl_endpoint_hello(s, &hello);
	rcl_hello_pack(data + offset, &hello);
	return (uint8_t)(offset + RCL_HELLO_LEN);
}

static int resolve_address(struct rcl_stream *s)
{
	s->state = RCL_STREAM_ADDRESS;
	return last_error(rdma_resolve_addr(s->id, NULL, (struct sockaddr *)&s->dst,
					    FIRST_MS << s->tries++));
}

/* A route that was set by RDMA_ROUTE needs no query, but also has an event. */
static int resolve_route(struct rcl_stream *s)
{
	int ret;

	s->state = RCL_STREAM_ROUTE;
	if (!s->route)
		return last_error(rdma_resolve_route(s->id, FIRST_MS << s->tries++));
	ret = last_error(rdma_set_option(s->id, RDMA_OPTION_IB, RDMA_OPTION_IB_PATH, s->route,
					 s->route_len));
	free(s->route);
	s->route = NULL;
	return ret;
}

static int request(struct rcl_stream *s)
{
	uint8_t data[RCL_HELLO_IB + RCL_HELLO_LEN];
	struct rdma_conn_param param = {
		.private_data = data,
		.flow_control = 1,
		/* Control messages take no credit: the peer may briefly have no receive. */
		.retry_count = 7,
		.rnr_retry_count = 7,
	};
	int ret = rcl_endpoint_create(s);

	if (ret)
		return ret;
	/* iWARP adapters begin with a read from the peer. */
	param.initiator_depth = s->iwarp ? 1 : 0;
	param.private_data_len = rcl_stream_put_hello(s, data, true);
	s->state = RCL_STREAM_CONNECTING;
	return last_error(rdma_connect(s->id, &param));
}

static void is_up(struct rcl_stream *s)
{
	s->state = RCL_STREAM_UP;
	rcl_stream_give(s);
	rcl_stream_keepalive(s);
	rcl_sock_changed(&s->sock);
}

static int connected(struct rcl_stream *s, const struct rdma_conn_param *param)
{
	struct rcl_hello hello;
	int ret = rcl_hello_unpack(&hello, param->private_data, param->private_data_len);

	if (ret)
		return ret;
	rcl_endpoint_connected(s, &hello);
	is_up(s);
	return 0;
}

/* The errno of an event that ends a connect. */
static int error_of(const struct rdma_cm_event *event)
{
	if (event->event == RDMA_CM_EVENT_REJECTED)
		return -ECONNREFUSED;
	if (event->event == RDMA_CM_EVENT_DEVICE_REMOVAL)
		return -ENODEV;
	return event->status < 0 ? event->status : -ECONNREFUSED;
}

static int connect_event(struct rcl_stream *s, const struct rdma_cm_event *event)
{
	bool again = event->status == -ETIMEDOUT && s->tries < TRIES;

	switch (event->event) {
	case RDMA_CM_EVENT_ADDR_RESOLVED:
		s->tries = 0;
		return resolve_route(s);
	case RDMA_CM_EVENT_ROUTE_RESOLVED:
		return request(s);
	case RDMA_CM_EVENT_ESTABLISHED:
		return connected(s, &event->param.conn);
	case RDMA_CM_EVENT_ADDR_ERROR:
		return again ? resolve_address(s) : error_of(event);
	case RDMA_CM_EVENT_ROUTE_ERROR:
		return again ? resolve_route(s) : error_of(event);
	default:
		return error_of(event);
	}
}

static bool is_connecting(const struct rcl_stream *s)
{
	return s->state >= RCL_STREAM_ADDRESS && s->state <= RCL_STREAM_CONNECTING;
}

static void up_event(struct rcl_stream *s, const struct rdma_cm_event *event)
{
	switch (event->event) {
	case RDMA_CM_EVENT_ESTABLISHED:
		if (s->state == RCL_STREAM_ACCEPTING)
			is_up(s);
		break;
	case RDMA_CM_EVENT_TIMEWAIT_EXIT:
		break;
	case RDMA_CM_EVENT_DISCONNECTED:
		/*
		 * What arrived before is handled first: DISCONNECT, unless the peer has crashed,
		 * was killed, or has closed with unread data.
		 */
		rcl_stream_progress(s);
		if (event->status == -ETIMEDOUT)
			rcl_stream_broken(s, -ETIMEDOUT);
		else
			rcl_stream_lost(s);
		break;
	default:
		rcl_stream_broken(s, error_of(event));
	}
}

void rcl_stream_event(struct rcl_stream *s, const struct rdma_cm_event *event)
{
	int ret;

	if (!is_connecting(s))
		return up_event(s, event);
	ret = connect_event(s, event);
	if (ret)
		rcl_stream_fail(s, ret);
}

static void handle(struct rdma_cm_event *event)
{
	struct rcl_stream *s = event->id->context;

	pthread_mutex_lock(&s->sock.lock);
	rcl_stream_event(s, event);
	pthread_mutex_unlock(&s->sock.lock);
}

int rcl_stream_id(struct rcl_stream *s)
{
	if (s->id)
		return 0;
	if (!s->events)
		s->events = rcl_events_create(handle, NULL);
	if (!s->events)
		return rcl_errno();
	if (!rdma_create_id(s->events->channel, &s->id, s, RDMA_PS_TCP))
		return 0;
	s->id = NULL;
	return rcl_errno();
}

/* Called if the waiting thread is cancelled: the connect continues as a nonblocking one. */
static void leave_to_service(struct rcl_sock *sock)
{
	rcl_events_serve(rcl_stream_of(sock)->events);
}

/* Reads the events until the connect has ended. */
static int wait_for_connect(struct rcl_stream *s, int64_t deadline)
{
	struct pollfd fds[2] = { { .fd = s->events->channel->fd, .events = POLLIN } };
	int ret = 0;

	while (ret >= 0 && is_connecting(s)) {
		pthread_mutex_unlock(&s->sock.lock);
		rcl_events_read(s->events);
		pthread_mutex_lock(&s->sock.lock);
		if (!is_connecting(s))
			break;
		ret = rcl_sleep_on(&s->sock, fds, 1, deadline, leave_to_service);
		if (!ret)
			ret = -EINPROGRESS;
	}
	return ret < 0 ? ret : 0;
}

int rcl_stream_address(struct sockaddr_storage *to, const struct sockaddr *from, socklen_t len)
{
	if (!rcl_addr_len(from) || len < rcl_addr_len(from))
		return -EINVAL;
	if (from->sa_family != AF_IB)
		return rcl_inet_take((union rcl_inet *)(void *)to, from, len);
	memcpy(to, from, rcl_addr_len(from));
	return 0;
}

/* Sets the options of the program for a new id, which another one had before. */
static int set_options(struct rcl_stream *s)
{
	if ((s->tos && rdma_set_option(s->id, RDMA_OPTION_ID, RDMA_OPTION_ID_TOS, &s->tos,
				       sizeof(s->tos))) ||
	    (s->reuseaddr && rdma_set_option(s->id, RDMA_OPTION_ID, RDMA_OPTION_ID_REUSEADDR,
					     &s->reuseaddr, sizeof(s->reuseaddr))))
		return rcl_errno();
	return 0;
}

/* A socket that is bound to :: may connect over IPv4, but an id has the family of its address. */
static int bind_to_family(struct rcl_stream *s, sa_family_t family)
{
	struct sockaddr_in any = { .sin_family = AF_INET };
	union rcl_inet own;
	int ret;

	if (!s->id || family != AF_INET ||
	    rcl_inet_take(&own, rdma_get_local_addr(s->id), sizeof(own)) ||
	    own.sa.sa_family != AF_INET6 || !rcl_inet_is_any(&own))
		return rcl_stream_id(s);
	any.sin_port = rdma_get_src_port(s->id);
	rdma_destroy_id(s->id);
	s->id = NULL;
	ret = rcl_stream_id(s);
	if (!ret)
		ret = set_options(s);
	return ret ? ret : last_error(rdma_bind_addr(s->id, (struct sockaddr *)&any));
}

static int start_connect(struct rcl_stream *s, const struct sockaddr *addr, socklen_t len)
{
	int ret = rcl_stream_address(&s->dst, addr, len);

	if (ret)
		return ret;
	if (s->v6only && s->dst.ss_family == AF_INET)
		return -ENETUNREACH;
	ret = bind_to_family(s, s->dst.ss_family);
	if (!ret)
		ret = resolve_address(s);
	if (ret)
		rcl_stream_fail(s, ret);
	return ret;
}

int rcl_stream_connect(struct rcl_sock *sock, const struct sockaddr *addr, socklen_t len)
{
	struct rcl_stream *s = rcl_stream_of(sock);
	bool connecting;
	int ret = 0;

	if (s->state == RCL_STREAM_NEW || s->state == RCL_STREAM_BOUND)
		ret = start_connect(s, addr, len);
	connecting = is_connecting(s);
	if (!ret && connecting && !sock->nonblock)
		ret = wait_for_connect(s, sock->send_ms ? rcl_deadline(sock->send_ms) :
							  RCL_FOREVER);
	if (s->state == RCL_STREAM_FAILED)
		return ret ? ret : sock->err ? -sock->err : -ENOTCONN;
	/* The peer may have ended the connection already, which later calls report. */
	if (s->state == RCL_STREAM_DOWN || rcl_stream_is_over(s))
		return connecting ? 0 : -ENOTCONN;
	if (s->state == RCL_STREAM_LISTENING)
		return -EINVAL;
	/* From now on an event may arrive while no thread is in a call. */
	if (s->events && (is_connecting(s) || s->state == RCL_STREAM_UP)) {
		int served = rcl_events_serve(s->events);

		if (served)
			return served;
	}
	return ret ? ret : is_connecting(s) ? -EINPROGRESS : 0;
}
