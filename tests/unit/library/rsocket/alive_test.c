// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/* Tests of keep-alive: by messages of the socket, and by the connection manager. */
#include <stdio.h>

#include "rsocket/stream/stream.h"
#include "rsocket/wait.h"
#include "sockets.h"

#define GONE (POLLIN | POLLOUT | POLLERR | POLLHUP)

static struct ibv_qp *client_qp(void)
{
	return fake_wire_qp(0);
}

/* Lets the service thread look at a socket as if the time of its next message had come. */
static void let_time_pass(int fd)
{
	struct rcl_sock *sock = rcl_sock_get(fd);
	struct rcl_stream *s = rcl_stream_of(sock);

	pthread_mutex_lock(&sock->lock);
	assert_true(s->alive.added);
	s->probe_at = 0;
	pthread_mutex_unlock(&sock->lock);
	s->alive.run(&s->alive);
	rcl_sock_put(sock);
}

static struct sockets connected_with_keepalive(void)
{
	struct sockets s = connected();

	set_int(s.client, SOL_SOCKET, SO_KEEPALIVE, 1);
	return s;
}

static int idle_of_the_system(void)
{
	FILE *file = fopen("/proc/sys/net/ipv4/tcp_keepalive_time", "r");
	int seconds = 7200;

	if (!file)
		return seconds;
	assert_int_equal(fscanf(file, "%d", &seconds), 1);
	fclose(file);
	return seconds;
}

SOCKET_TEST(idle_time_is_that_of_the_system_or_the_program)
{
	int fd = new_socket();

	assert_int_equal(get_int(fd, IPPROTO_TCP, TCP_KEEPIDLE), 0);
	set_int(fd, SOL_SOCKET, SO_KEEPALIVE, 1);
	assert_int_equal(get_int(fd, IPPROTO_TCP, TCP_KEEPIDLE), idle_of_the_system());
	set_int(fd, IPPROTO_TCP, TCP_KEEPIDLE, 33);
	assert_int_equal(get_int(fd, IPPROTO_TCP, TCP_KEEPIDLE), 33);
	set_int(fd, SOL_SOCKET, SO_KEEPALIVE, 0);
	assert_int_equal(get_int(fd, SOL_SOCKET, SO_KEEPALIVE), 0);
	assert_int_equal(get_int(fd, IPPROTO_TCP, TCP_KEEPIDLE), 33);
	assert_fails(EINVAL, rsetsockopt(fd, IPPROTO_TCP, TCP_KEEPIDLE, &(int){ -1 }, sizeof(int)));
	assert_int_equal(rclose(fd), 0);
}

static void keep_alive(int fd)
{
	set_int(fd, SOL_SOCKET, SO_KEEPALIVE, 1);
	set_int(fd, IPPROTO_TCP, TCP_KEEPIDLE, 1);
}

static void expect_message(struct ibv_qp *qp)
{
	long long end = now_ms() + 10000;

	while (!fake_wire_waiting(qp) && now_ms() < end)
		usleep(10000);
	assert_int_equal(fake_wire_waiting(qp), 1);
}

/* Both ends have it: the accepted socket that of its listener. */
SOCKET_TEST(idle_connection_is_probed)
{
	struct sockets s = connected_as(keep_alive);
	struct pollfd pfd = { .fd = s.server, .events = POLLIN };

	fake_wire_hold(client_qp());
	fake_wire_hold(fake_wire_qp(1));
	expect_message(client_qp());
	expect_message(fake_wire_qp(1));
	/* The peer sees nothing of it. */
	fake_wire_release(client_qp());
	fake_wire_release(fake_wire_qp(1));
	assert_int_equal(rpoll(&pfd, 1, 50), 0);
	assert_int_equal(get_int(s.server, IPPROTO_TCP, TCP_KEEPIDLE), 1);
	close_all(&s);
}

/* Also if the program has not asked for it, as no other traffic shows that the host has died. */
SOCKET_TEST(idle_connection_is_probed_by_default)
{
	struct sockets s = connected();

	assert_int_equal(get_int(s.client, SOL_SOCKET, SO_KEEPALIVE), 0);
	fake_wire_hold(client_qp());
	let_time_pass(s.client);
	assert_int_equal(fake_wire_waiting(client_qp()), 1);
	fake_wire_release(client_qp());
	set_int(s.client, SOL_SOCKET, SO_KEEPALIVE, 0);
	fake_wire_hold(client_qp());
	let_time_pass(s.client);
	assert_int_equal(fake_wire_waiting(client_qp()), 0);
	fake_wire_release(client_qp());
	close_all(&s);
}

SOCKET_TEST(keepalive_ends_when_it_is_switched_off)
{
	struct sockets s = connected_as(keep_alive);

	set_int(s.client, SOL_SOCKET, SO_KEEPALIVE, 0);
	fake_wire_hold(client_qp());
	usleep(1200000);
	assert_int_equal(fake_wire_waiting(client_qp()), 0);
	fake_wire_release(client_qp());
	close_all(&s);
}

/* What is under way already shows whether the peer is there. */
SOCKET_TEST(peer_that_has_stopped_is_probed_once)
{
	struct sockets s = connected_with_keepalive();
	int i;

	fake_wire_hold(client_qp());
	for (i = 0; i < 6; i++)
		let_time_pass(s.client);
	assert_int_equal(fake_wire_waiting(client_qp()), 1);
	/* It is there after all. */
	fake_wire_release(client_qp());
	fake_wire_hold(client_qp());
	let_time_pass(s.client);
	assert_int_equal(fake_wire_waiting(client_qp()), 1);
	assert_int_equal(ready(s.client, POLLIN), 0);
	fake_wire_release(client_qp());
	close_all(&s);
}

/* Lets the time be over that a probe has to complete. */
static void let_probe_end(int fd)
{
	struct rcl_sock *sock = rcl_sock_get(fd);
	struct rcl_stream *s = rcl_stream_of(sock);

	pthread_mutex_lock(&sock->lock);
	if (s->probe_end != RCL_FOREVER)
		s->probe_end = 0;
	pthread_mutex_unlock(&sock->lock);
	s->alive.run(&s->alive);
	rcl_sock_put(sock);
}

static void expect_death(int fd)
{
	char byte;

	assert_int_equal(ready(fd, POLLIN | POLLOUT), GONE);
	assert_fails(ETIMEDOUT, rrecv(fd, &byte, 1, 0));
	assert_int_equal(rrecv(fd, &byte, 1, 0), 0);
	assert_fails(ECONNRESET, rsend(fd, "x", 1, 0));
}

/* soft-RoCE tries for ever with seven retries. */
SOCKET_TEST(peer_that_does_not_acknowledge_is_dead)
{
	struct sockets s = connected();
	char byte;

	assert_int_equal(rsend(s.client, "x", 1, 0), 1);
	assert_int_equal(rrecv(s.server, &byte, 1, 0), 1);
	/* The first one frees what has completed without a completion. */
	let_time_pass(s.client);
	let_probe_end(s.client);
	fake_wire_hold(client_qp());
	let_time_pass(s.client);
	assert_int_equal(fake_wire_waiting(client_qp()), 1);
	assert_int_equal(ready(s.client, POLLIN), 0);
	let_probe_end(s.client);
	expect_death(s.client);
	close_all(&s);
}

/* It does not acknowledge its receives, but it is there. */
SOCKET_TEST(peer_that_has_stopped_is_not_dead)
{
	struct sockets s = connected();
	char byte;

	let_time_pass(s.client);
	fake_wire_hold(client_qp());
	assert_int_equal(rsend(s.client, "x", 1, 0), 1);
	let_time_pass(s.client);
	assert_int_equal(fake_wire_waiting(client_qp()), 2);
	let_probe_end(s.client);
	assert_int_equal(ready(s.client, POLLIN), 0);
	fake_wire_release(client_qp());
	assert_int_equal(rrecv(s.server, &byte, 1, 0), 1);
	close_all(&s);
}

static void *let_it_pass_later(void *arg)
{
	usleep(20000);
	let_time_pass(*(int *)arg);
	return NULL;
}

SOCKET_TEST(dead_peer_wakes_a_poller)
{
	struct sockets s = connected_with_keepalive();
	struct pollfd pfd = { .fd = s.client, .events = POLLIN };
	pthread_t thread;

	fake_wire_break(client_qp());
	assert_int_equal(pthread_create(&thread, NULL, let_it_pass_later, &s.client), 0);
	assert_int_equal(rpoll(&pfd, 1, -1), 1);
	assert_int_equal(pfd.revents, POLLIN | POLLERR | POLLHUP);
	pthread_join(thread, NULL);
	expect_death(s.client);
	close_all(&s);
}

SOCKET_TEST(dead_peer_wakes_a_repoll)
{
	struct epoll_event event = { .events = EPOLLIN };
	struct sockets s = connected_with_keepalive();
	int epfd = repoll_create(0);
	pthread_t thread;

	assert_int_equal(repoll_ctl(epfd, EPOLL_CTL_ADD, s.client, &event), 0);
	fake_wire_break(client_qp());
	assert_int_equal(pthread_create(&thread, NULL, let_it_pass_later, &s.client), 0);
	assert_int_equal(repoll_wait(epfd, &event, 1, -1), 1);
	assert_int_equal(event.events, EPOLLIN | EPOLLERR | EPOLLHUP);
	pthread_join(thread, NULL);
	assert_int_equal(rclose(epfd), 0);
	close_all(&s);
}

SOCKET_TEST(dead_peer_wakes_a_receiver)
{
	struct sockets s = connected_with_keepalive();
	pthread_t thread;
	char byte;

	fake_wire_break(client_qp());
	assert_int_equal(pthread_create(&thread, NULL, let_it_pass_later, &s.client), 0);
	assert_fails(ETIMEDOUT, rrecv(s.client, &byte, 1, 0));
	pthread_join(thread, NULL);
	close_all(&s);
}

/* A peer that took nothing for a while, and then died. */
SOCKET_TEST(dead_peer_wakes_a_sender)
{
	struct sockets s = connected_as(make_small);
	char buf[8192] = "";
	pthread_t thread;

	set_int(s.client, SOL_SOCKET, SO_KEEPALIVE, 1);
	while (rsend(s.client, buf, sizeof(buf), MSG_DONTWAIT) > 0)
		;
	fake_wire_break(client_qp());
	assert_int_equal(pthread_create(&thread, NULL, let_it_pass_later, &s.client), 0);
	assert_fails(ECONNRESET, rsend(s.client, buf, sizeof(buf), 0));
	pthread_join(thread, NULL);
	assert_int_equal(get_int(s.client, SOL_SOCKET, SO_ERROR), ETIMEDOUT);
	close_all(&s);
}

/* The module has found that the host of the peer is gone: no message of the socket has to. */
SOCKET_TEST(dead_host_is_told_by_the_connection_manager)
{
	struct sockets s = connected();
	struct pollfd pfd = { .fd = s.client, .events = POLLIN };
	struct rcl_sock *sock = rcl_sock_get(s.client);

	fake_post_type(RDMA_CM_ALT_EVENT_DISCONNECTED, handle_of(rcl_stream_of(sock)->id),
		       -ETIMEDOUT);
	rcl_sock_put(sock);
	assert_int_equal(rpoll(&pfd, 1, -1), 1);
	expect_death(s.client);
	close_all(&s);
}

RUN
