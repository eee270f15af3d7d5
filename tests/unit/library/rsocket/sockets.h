/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* Fixture: rsockets that are connected over the fakes. */
#ifndef SOCKETS_H
#define SOCKETS_H

#include <fcntl.h>
#include <netinet/tcp.h>
#include <pthread.h>
#include <rdma/rsocket.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <time.h>
#include <unistd.h>

#include "base/rdma_cma_new.h"
#include "fake/pair.h"
#include "rsocket/service.h"
#include "rsocket/sock.h"

#define PORT 7471
#define HERE "10.9.0.1"

/** struct sockets - a listener, and both ends of a connection */
struct sockets {
	int listener;
	int client;
	int server;
};

static inline long long now_ms(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return ts.tv_sec * 1000LL + ts.tv_nsec / 1000000;
}

/* The time that the process has used a processor. */
static inline long long cpu_ms(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &ts);
	return ts.tv_sec * 1000LL + ts.tv_nsec / 1000000;
}

struct flush {
	struct rcl_task task;
	int done;
};

static inline void flushed(struct rcl_task *task)
{
	eventfd_write(((struct flush *)(void *)task)->done, 1);
}

/* Waits until the service thread has left the sockets that it was told of before. */
static inline void flush_service(void)
{
	struct flush flush = {
		.task = { .run = flushed, .fd = -1, .due = 0 }, .done = eventfd(0, 0),
	};
	eventfd_t value;

	assert_true(flush.done >= 0);
	assert_int_equal(rcl_service_add(&flush.task), 0);
	eventfd_read(flush.done, &value);
	rcl_service_remove(&flush.task);
	close(flush.done);
}

/* The service thread ends closed sockets that had something to send. */
static inline int sockets_tear_down(void **state)
{
	int ms;

	for (ms = 0; ms < 5000 && fake_wire_qp(0); ms++)
		usleep(1000);
	flush_service();
	return pair_tear_down(state);
}

#define SOCKET_TEST(name) UNIT_TEST(name, pair_set_up, sockets_tear_down)

static inline void set_int(int fd, int level, int name, int value)
{
	assert_int_equal(rsetsockopt(fd, level, name, &value, sizeof(value)), 0);
}

static inline int get_int(int fd, int level, int name)
{
	int value = -1;
	socklen_t len = sizeof(value);

	assert_int_equal(rgetsockopt(fd, level, name, &value, &len), 0);
	assert_int_equal(len, sizeof(value));
	return value;
}

static inline int new_socket(void)
{
	int fd = rsocket(AF_INET, SOCK_STREAM, 0);

	assert_true(fd >= 0);
	return fd;
}

static inline int new_nonblocking(void)
{
	int fd = new_socket();

	assert_int_equal(rfcntl(fd, F_SETFL, O_NONBLOCK), 0);
	return fd;
}

/* Small sizes, so that all limits are reached. */
static inline void make_small(int fd)
{
	set_int(fd, SOL_SOCKET, SO_RCVBUF, 2048);
	set_int(fd, SOL_SOCKET, SO_SNDBUF, 2048);
	set_int(fd, SOL_RDMA, RDMA_SQSIZE, 16);
	set_int(fd, SOL_RDMA, RDMA_RQSIZE, 16);
	set_int(fd, SOL_RDMA, RDMA_IOMAPSIZE, 4);
}

static inline int new_listener(void (*prepare)(int fd))
{
	int fd = new_socket();

	if (prepare)
		prepare(fd);
	assert_int_equal(rbind(fd, addr4(HERE, PORT), sizeof(struct sockaddr_in)), 0);
	assert_int_equal(rlisten(fd, 4), 0);
	return fd;
}

static inline struct sockets connected_as(void (*prepare)(int fd))
{
	struct sockets s = { .listener = new_listener(prepare), .client = new_socket() };

	if (prepare)
		prepare(s.client);
	assert_int_equal(rconnect(s.client, addr4(HERE, PORT), sizeof(struct sockaddr_in)), 0);
	s.server = raccept(s.listener, NULL, NULL);
	assert_true(s.server >= 0);
	return s;
}

static inline struct sockets connected(void)
{
	return connected_as(NULL);
}

static inline void close_all(struct sockets *s)
{
	assert_int_equal(rclose(s->client), 0);
	assert_int_equal(rclose(s->server), 0);
	assert_int_equal(rclose(s->listener), 0);
}

/* A thread: returns the errno of rconnect(), or 0. */
static inline void *connect_one(void *arg)
{
	int fd = *(int *)arg, ret;

	ret = rconnect(fd, addr4(HERE, PORT), sizeof(struct sockaddr_in));
	return (void *)(intptr_t)(ret ? errno : 0);
}

/* Waits until a request was sent. */
static inline void wait_for_request(void)
{
	bool sent = false;

	while (!sent) {
		usleep(1000);
		fake_kernel_lock();
		sent = fake.calls[FAKE(CONNECT)];
		fake_kernel_unlock();
	}
}

static inline short ready(int fd, short events)
{
	struct pollfd pfd = { .fd = fd, .events = events };
	int ret = rpoll(&pfd, 1, 0);

	assert_int_equal(ret, pfd.revents != 0);
	return pfd.revents;
}

/* The byte of a stream at a position. */
static inline uint8_t pattern(size_t at)
{
	return (uint8_t)(at * 31 + (at >> 8) * 7 + (at >> 16));
}

static inline void fill_pattern(uint8_t *buf, size_t at, size_t len)
{
	size_t i;

	for (i = 0; i < len; i++)
		buf[i] = pattern(at + i);
}

static inline void expect_pattern(const uint8_t *buf, size_t at, size_t len)
{
	size_t i;

	for (i = 0; i < len; i++)
		assert_int_equal(buf[i], pattern(at + i));
}

/* A thread that receives a byte by the socket *@arg; returns the result of rrecv(). */
static inline void *receive_one(void *arg)
{
	char byte;

	return (void *)(intptr_t)rrecv(*(int *)arg, &byte, 1, 0);
}

/* A byte goes from the server to the client. */
static inline void pass_byte(const struct sockets *s)
{
	char byte;

	assert_int_equal(rsend(s->server, "x", 1, 0), 1);
	assert_int_equal(rrecv(s->client, &byte, 1, 0), 1);
}

#endif /* SOCKETS_H */
