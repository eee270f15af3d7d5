// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/* Tests of RDMAV_FORK_SAFE: whose rsocket is taken, and by whom. */
#include "fixture.h"

#include <pthread.h>
#include <unistd.h>

#include "base/fd.h"

#define SOME_MS 50

/* Longer than a server that does not block waits for a client that it has invited. */
#define LONG_MS 400

static void delay_rsockets(void)
{
	setenv("RDMAV_FORK_SAFE", "1", 1);
	rcl_config_reset();
}

static void *read_x(void *arg)
{
	char c = 0;

	assert_int_equal(preload_read(*(int *)arg, &c, 1), 1);
	assert_int_equal(c, 'x');
	return NULL;
}

static void *write_x(void *arg)
{
	assert_int_equal(preload_write(*(int *)arg, "x", 1), 1);
	return NULL;
}

/* The client of another server, which no longer waits for it, comes to the port that both have. */
TEST(rsocket_of_another_client_is_not_taken)
{
	int listener, client, server, stranger, port;
	uint32_t invitation = 1;
	pthread_t thread;
	char c;

	delay_rsockets();
	listener = new_listener();
	port = port_of(listener);
	client = socket(AF_INET, SOCK_STREAM, 0);
	assert_int_equal(connect(client, address(port), ADDRESS_SIZE), 0);
	server = preload_accept(listener, NULL, NULL);
	assert_int_equal(pthread_create(&thread, NULL, read_x, &server), 0);
	assert_int_equal(recv(client, &invitation, sizeof(invitation), MSG_WAITALL), 4);
	assert_int_equal(invitation, 0);
	stranger = rsocket(AF_INET, SOCK_STREAM | RCL_INTERNAL, 0);
	assert_int_equal(rconnect(stranger, address(port), ADDRESS_SIZE), 0);
	usleep(SOME_MS * 1000);
	assert_int_equal(write(client, "x", 1), 1);
	pthread_join(thread, NULL);
	assert_int_equal(rrecv(stranger, &c, 1, 0), 0);
	rclose(stranger);
	close(client);
	preload_close(server);
	preload_close(listener);
}

static void *look_for_data(void *arg)
{
	char c;

	preload_read(*(int *)arg, &c, 1);
	return NULL;
}

/* The client of another library has any port, and ends TCP some time after it is connected. */
TEST(rsocket_of_another_library_is_taken_when_tcp_ends)
{
	int listener, client, server, stranger, port;
	uint32_t invitation = 1;
	pthread_t thread;
	char c = 0;

	delay_rsockets();
	listener = new_listener();
	port = port_of(listener);
	client = socket(AF_INET, SOCK_STREAM, 0);
	assert_int_equal(connect(client, address(port), ADDRESS_SIZE), 0);
	server = preload_accept(listener, NULL, NULL);
	assert_int_equal(preload_fcntl(server, F_SETFL, O_NONBLOCK), 0);
	assert_int_equal(pthread_create(&thread, NULL, look_for_data, &server), 0);
	assert_int_equal(recv(client, &invitation, sizeof(invitation), MSG_WAITALL), 4);
	stranger = rsocket(AF_INET, SOCK_STREAM | RCL_INTERNAL, 0);
	assert_int_equal(rconnect(stranger, address(port), ADDRESS_SIZE), 0);
	usleep(LONG_MS * 1000);
	assert_int_equal(shutdown(client, SHUT_RDWR), 0);
	pthread_join(thread, NULL);
	assert_int_equal(preload_fcntl(server, F_SETFL, 0), 0);
	assert_int_equal(rsend(stranger, "x", 1, 0), 1);
	assert_int_equal(preload_read(server, &c, 1), 1);
	assert_int_equal(c, 'x');
	rclose(stranger);
	close(client);
	preload_close(server);
	preload_close(listener);
}

/* It was invited by a server that has given up, and comes to another one. */
TEST(client_that_another_server_refuses_stays_with_tcp)
{
	int tcp = socket(AF_INET, SOCK_STREAM, 0), client, server, listener, rs;
	struct sockaddr_in in;
	socklen_t size = sizeof(in);
	uint32_t invitation = 0;
	pthread_t thread;
	char c = 0;

	delay_rsockets();
	assert_int_equal(bind(tcp, address(0), ADDRESS_SIZE), 0);
	assert_int_equal(listen(tcp, 1), 0);
	assert_int_equal(getsockname(tcp, (struct sockaddr *)&in, &size), 0);
	listener = rsocket(AF_INET, SOCK_STREAM | RCL_INTERNAL, 0);
	assert_int_equal(rbind(listener, (struct sockaddr *)&in, size), 0);
	assert_int_equal(rlisten(listener, 1), 0);
	client = new_socket();
	assert_int_equal(preload_connect(client, (struct sockaddr *)&in, size), 0);
	server = accept(tcp, NULL, NULL);
	assert_int_equal(write(server, &invitation, sizeof(invitation)), 4);
	assert_int_equal(pthread_create(&thread, NULL, write_x, &client), 0);
	rs = raccept(listener, NULL, NULL);
	assert_true(rs >= 0);
	usleep(SOME_MS * 1000);
	rclose(rs);
	pthread_join(thread, NULL);
	assert_int_equal(read(server, &c, 1), 1);
	assert_int_equal(c, 'x');
	rclose(listener);
	close(server);
	close(tcp);
	preload_close(client);
}

RUN
