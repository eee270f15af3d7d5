// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/* The program of the fuzzer: all calls of rsockets, none of which waits. */
#include <fcntl.h>
#include <netinet/in.h>
#include <poll.h>
#include <rdma/rsocket.h>
#include <sys/epoll.h>
#include <sys/mman.h>
#include <sys/uio.h>

#include "base/compiler.h"
#include "base/rdma_cma_new.h"
#include "world.h"

#define MOST 6000
#define MAPPED 512

static uint8_t data[MOST];
static uint8_t mapped[MAPPED];

static int pick_fd(void)
{
	return world.fd[in_u8() % ENDS];
}

static void send_data(void)
{
	int fd = pick_fd();

	rsend(fd, data, in_u32() % MOST, MSG_DONTWAIT);
}

static void send_vectors(void)
{
	struct iovec iov[3] = {
		{ data, in_u8() }, { data, in_u8() & 0x3f }, { data, in_u32() % MOST },
	};
	struct msghdr msg = { .msg_iov = iov, .msg_iovlen = 1 + in_u8() % 3 };

	rsendmsg(pick_fd(), &msg, MSG_DONTWAIT);
}

static void receive(void)
{
	int fd = pick_fd();

	rrecv(fd, data, in_u32() % MOST, MSG_DONTWAIT | (in_u8() & 1 ? MSG_PEEK : 0));
}

static void receive_vectors(void)
{
	struct iovec iov[2] = { { data, in_u8() }, { data, in_u32() % MOST } };
	struct sockaddr_storage from;
	struct msghdr msg = {
		.msg_name = &from, .msg_namelen = sizeof(from), .msg_iov = iov, .msg_iovlen = 2,
	};

	rrecvmsg(pick_fd(), &msg, MSG_DONTWAIT);
}

static void map_memory(void)
{
	int fd = pick_fd();
	size_t at = in_u8();

	if (in_u8() & 1)
		riounmap(fd, mapped + at, 64);
	else
		riomap(fd, mapped + at, 64, in_u8() & 1 ? PROT_WRITE : PROT_NONE, 0, in_u32());
}

static void write_mapped(void)
{
	int fd = pick_fd();
	size_t len = in_u32() % MOST;

	riowrite(fd, data, len, in_u32(), MSG_DONTWAIT);
}

static void poll_all(void)
{
	struct pollfd fds[ENDS + 1] = {
		{ .fd = world.fd[0], .events = in_u8() },
		{ .fd = world.fd[1], .events = POLLIN | POLLOUT },
		{ .fd = world.listener, .events = POLLIN },
	};
	struct epoll_event events[4];

	if (in_u8() & 1)
		rpoll(fds, ENDS + 1, 0);
	else
		repoll_wait(world.repoll, events, 4, 0);
}

static void watch(void)
{
	struct epoll_event event = { .events = in_u32() };

	repoll_ctl(world.repoll, 1 + in_u8() % 3, pick_fd(), &event);
}

static void look_at(void)
{
	int fd = pick_fd(), value;
	socklen_t len = sizeof(value);
	struct sockaddr_storage name;
	socklen_t name_len = sizeof(name);

	rgetsockopt(fd, SOL_SOCKET, SO_ERROR, &value, &len);
	rgetpeername(fd, (struct sockaddr *)&name, &name_len);
}

static void shut(void)
{
	int fd = pick_fd();

	rshutdown(fd, in_u8() % 3);
}

static void close_one(void)
{
	unsigned int end = in_u8() % ENDS;
	struct linger linger = { in_u8() & 1, 0 };

	if (in_u8() >= 64)
		return;
	rsetsockopt(world.fd[end], SOL_SOCKET, SO_LINGER, &linger, sizeof(linger));
	rclose(world.fd[end]);
	world.fd[end] = -1;
}

const operation program_operations[] = {
	send_data, send_vectors, receive, receive, receive_vectors, map_memory, write_mapped,
	poll_all, watch, look_at, shut, close_one,
};
const unsigned int program_operations_count = ARRAY_SIZE(program_operations);
