// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/* Many sockets in one repoll, which Debian's librdmacm does not have: the calls are looked up. */
#include "pains.h"

#include <dlfcn.h>
#include <sys/epoll.h>
#include <sys/resource.h>

#define MANY 1000
#define SOME 100

static int (*create)(int flags);
static int (*control)(int epfd, int op, int fd, struct epoll_event *event);
static int (*await)(int epfd, struct epoll_event *events, int most, int timeout);

static void find_calls(void)
{
	create = dlsym(RTLD_DEFAULT, "repoll_create");
	control = dlsym(RTLD_DEFAULT, "repoll_ctl");
	await = dlsym(RTLD_DEFAULT, "repoll_wait");
	expect(create && control && await, "this librdmacm has no repoll");
}

static void add_to_repoll(int epfd, int fd, int number)
{
	struct epoll_event event = { .events = EPOLLIN, .data.u32 = number };

	expect(!control(epfd, EPOLL_CTL_ADD, fd, &event), "repoll_ctl: %s", error_name(errno));
}

PAIN(repoll_close_with_sockets, 20, STOCK_FAILS | IN_DEBUG)
{
	long long began;
	int epfd, fd;

	find_calls();
	start_peer(do_nothing);
	fd = connected();
	epfd = MUST(create(0));
	add_to_repoll(epfd, fd, 0);
	began = now_ms();
	expect(!rclose(epfd), "rclose: %s", error_name(errno));
	expect_time("rclose", now_ms() - began, 0, 2000);
	expect(rsend(fd, "x", 1, 0) == 1, "rsend afterwards: %s", error_name(errno));
}

PAIN(repoll_lasts, 15, STOCK_FAILS)
{
	struct epoll_event event;
	long long began;
	int epfd, fd;

	find_calls();
	start_peer(do_nothing);
	fd = connected();
	epfd = MUST(create(0));
	add_to_repoll(epfd, fd, 0);
	began = now_ms();
	expect(!await(epfd, &event, 1, 3000), "an event without a reason");
	expect_time("repoll_wait of 3,000 ms", now_ms() - began, 2990, 4000);
}

static void few_buffers(int fd)
{
	set_int(fd, SOL_SOCKET, SO_SNDBUF, 4096);
	set_int(fd, SOL_SOCKET, SO_RCVBUF, 4096);
	set_int(fd, SOL_RDMA, RDMA_SQSIZE, 16);
	set_int(fd, SOL_RDMA, RDMA_RQSIZE, 16);
}

static int peer_count;

/* Accept connections, and send a byte over each of them in another order. */
static void send_to_each(int fd)
{
	int *fds = calloc(peer_count, sizeof(*fds)), n;

	fds[0] = fd;
	for (n = 1; n < peer_count; n++)
		fds[n] = MUST(raccept(pain_listener, NULL, NULL));
	for (n = 0; n < peer_count; n++)
		expect(rsend(fds[(n * 7 + 3) % peer_count], "x", 1, 0) == 1, "rsend: %s",
		       error_name(errno));
}

static void many_sockets(int count)
{
	struct rlimit limit = { 16384, 16384 };
	struct epoll_event events[16];
	int *fds = calloc(count, sizeof(*fds));
	int epfd, n, got, heard = 0;
	char byte;

	MUST(setrlimit(RLIMIT_NOFILE, &limit));
	find_calls();
	peer_count = count;
	start_peer_with(few_buffers, send_to_each);
	epfd = MUST(create(0));
	for (n = 0; n < count; n++) {
		fds[n] = connected_with(few_buffers);
		add_to_repoll(epfd, fds[n], n);
	}
	while (heard < count) {
		got = await(epfd, events, 16, 20000);
		expect(got > 0, "repoll_wait: %d after %d of %d", got, heard, count);
		heard += got;
		while (got-- > 0)
			expect(rrecv(fds[events[got].data.u32], &byte, 1, MSG_DONTWAIT) == 1,
			       "rrecv: %s", error_name(errno));
	}
	expect(!await(epfd, events, 16, 0), "more events than data");
}

PAIN(repoll_some_sockets, 120, STOCK_FAILS)
{
	many_sockets(SOME);
}

PAIN(repoll_many_sockets, 400, STOCK_FAILS | SLOW)
{
	many_sockets(MANY);
}
