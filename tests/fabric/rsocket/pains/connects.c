// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/* Connecting and accepting: without waiting, in vain, and beside a client that stalls. */
#include "pains.h"

/* No neighbour, so its address is never resolved; the route to it is over rxe1. */
#define NOBODY "10.7.0.9"

static int new_socket(void)
{
	struct sockaddr_storage addr = get_address(pain_address, 0);

	return MUST(rsocket(addr.ss_family, SOCK_STREAM, 0));
}

/* Begin to connect; the call must not wait. */
static void begin_connect(int fd, const char *address)
{
	long long began = now_ms();

	MUST(rfcntl(fd, F_SETFL, O_NONBLOCK));
	expect(connect_to(fd, address, pain_port) == -1 && errno == EINPROGRESS, "rconnect: %s",
	       error_name(errno));
	expect_time("rconnect", now_ms() - began, 0, 1000);
}

PAIN(refused, 15, IN_DEBUG)
{
	int ret = connect_to(new_socket(), pain_address, pain_port);

	expect(ret == -1 && errno == ECONNREFUSED, "rconnect: %d %s", ret, error_name(errno));
}

PAIN(refused_nonblocking, 15, STOCK_VARIES | IN_DEBUG)
{
	int fd = new_socket(), events, error;

	begin_connect(fd, pain_address);
	events = events_of(fd, POLLOUT, 10000);
	expect(events & POLLOUT, "rpoll: %#x", events);
	error = get_int(fd, SOL_SOCKET, SO_ERROR);
	expect(error == ECONNREFUSED, "SO_ERROR is %s", error_name(error));
	error = get_int(fd, SOL_SOCKET, SO_ERROR);
	expect(!error, "SO_ERROR is %s the second time", error_name(error));
}

static void unreachable_error(int error)
{
	expect(error == EHOSTUNREACH || error == ETIMEDOUT || error == ENETUNREACH,
	       "the error is %s", error_name(error));
}

PAIN(unreachable, 60, 0)
{
	long long began = now_ms();

	expect(connect_to(new_socket(), NOBODY, pain_port) == -1, "rconnect to nobody succeeds");
	unreachable_error(errno);
	expect_time("rconnect", now_ms() - began, 0, 30000);
}

PAIN(unreachable_nonblocking, 60, STOCK_VARIES)
{
	int fd = new_socket(), events;
	long long began = now_ms();

	begin_connect(fd, NOBODY);
	events = events_of(fd, POLLOUT, 40000);
	expect(events & POLLOUT, "rpoll: %#x", events);
	expect_time("the failure", now_ms() - began, 0, 30000);
	unreachable_error(get_int(fd, SOL_SOCKET, SO_ERROR));
}

/* Leaving a connection that is not made yet. */
PAIN(close_while_connecting, 15, IN_DEBUG)
{
	int fd = new_socket();
	long long began;

	begin_connect(fd, NOBODY);
	began = now_ms();
	MUST(rclose(fd));
	expect_time("rclose", now_ms() - began, 0, 3000);
}

PAIN(nonblocking, 30, IN_DEBUG)
{
	int fd, error, n;
	char byte = 0;

	start_peer(echo_all);
	fd = new_socket();
	begin_connect(fd, pain_address);
	expect(events_of(fd, POLLOUT, 10000) & POLLOUT, "rpoll without POLLOUT");
	error = get_int(fd, SOL_SOCKET, SO_ERROR);
	expect(!error, "SO_ERROR is %s", error_name(error));
	expect(rrecv(fd, &byte, 1, 0) == -1 && errno == EAGAIN, "rrecv: %s", error_name(errno));
	for (n = 0; n < 10; n++) {
		expect(rsend(fd, "x", 1, 0) == 1, "rsend: %s", error_name(errno));
		expect(events_of(fd, POLLIN, 5000) & POLLIN, "rpoll without POLLIN");
		expect(rrecv(fd, &byte, 1, 0) == 1 && byte == 'x', "rrecv: %s", error_name(errno));
	}
}

static void *connect_once(void *arg)
{
	(void)arg;
	MUST(rclose(connected()));
	return NULL;
}

PAIN(accept_nonblocking, 15, 0)
{
	int listener = listening(pain_address, pain_port, 1);
	pthread_t thread;

	MUST(rfcntl(listener, F_SETFL, O_NONBLOCK));
	expect(raccept(listener, NULL, NULL) == -1 && errno == EAGAIN, "raccept: %s",
	       error_name(errno));
	pthread_create(&thread, NULL, connect_once, NULL);
	expect(events_of(listener, POLLIN, 10000) & POLLIN, "rpoll without POLLIN");
	MUST(rclose(MUST(raccept(listener, NULL, NULL))));
	pthread_join(thread, NULL);
}

/*
 * A client of the connection manager that sends a request of rsockets, and never confirms the
 * answer.
 */
static void request_and_stall(void)
{
	/* Version, flags, credits, target SGL, and a buffer of 256 bytes. */
	static const uint8_t data[40] = {
		[0] = 1, [1] = 2, [3] = 64, [15] = 1, [23] = 2, [31] = 1, [38] = 1,
	};
	struct sockaddr_storage to = get_address(pain_address, pain_port);
	struct rdma_event_channel *channel = rdma_create_event_channel();
	struct rdma_conn_param param = conn_param(NULL);
	struct rdma_cm_event *event;
	struct rdma_cm_id *id;

	param.private_data = data;
	param.private_data_len = sizeof(data);
	if (!channel)
		fail("rdma_create_event_channel");
	MUST(rdma_create_id(channel, &id, NULL, RDMA_PS_TCP));
	MUST(rdma_resolve_addr(id, NULL, (struct sockaddr *)&to, 2000));
	MUST(rdma_get_cm_event(channel, &event));
	MUST(rdma_ack_cm_event(event));
	MUST(rdma_resolve_route(id, 2000));
	MUST(rdma_get_cm_event(channel, &event));
	MUST(rdma_ack_cm_event(event));
	MUST(rdma_connect(id, &param));
	/* The answer comes, and the connection manager waits for rdma_establish(). */
	MUST(rdma_get_cm_event(channel, &event));
	expect(event->event == RDMA_CM_EVENT_CONNECT_RESPONSE, "the stalling client got %s",
	       rdma_event_str(event->event));
}

PAIN(stalled_client, 30, STOCK_FAILS)
{
	long long began;

	start_peer(do_nothing);
	MUST(rclose(connected()));
	request_and_stall();
	/* The library of the peer accepts clients without raccept(). */
	began = now_ms();
	connected();
	expect_time("rconnect", now_ms() - began, 0, 5000);
}
