// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/* Tests of rpoll(), rselect() and the repoll calls with descriptors that are no rsockets. */
#include <fcntl.h>
#include <poll.h>
#include <rdma/rsocket.h>
#include <sys/epoll.h>
#include <sys/select.h>
#include <unistd.h>

#include "base/rdma_cma_new.h"
#include "fake/fixture.h"

/* Two pipes: the first one is empty, the second one has a byte. */
static void make_pipes(int empty[2], int full[2])
{
	assert_int_equal(pipe(empty), 0);
	assert_int_equal(pipe(full), 0);
	assert_int_equal(write(full[1], "x", 1), 1);
}

static void close_pipes(const int empty[2], const int full[2])
{
	close(empty[0]);
	close(empty[1]);
	close(full[0]);
	close(full[1]);
}

TEST(poll_serves_plain_descriptors)
{
	struct pollfd fds[2];
	int empty[2], full[2];

	make_pipes(empty, full);
	fds[0] = (struct pollfd){ .fd = empty[0], .events = POLLIN };
	fds[1] = (struct pollfd){ .fd = full[0], .events = POLLIN };
	assert_int_equal(rpoll(fds, 2, -1), 1);
	assert_int_equal(fds[0].revents, 0);
	assert_int_equal(fds[1].revents, POLLIN);
	assert_int_equal(rpoll(fds, 1, 1), 0);
	assert_int_equal(rpoll(fds, 1, 0), 0);
	close_pipes(empty, full);
}

TEST(select_serves_plain_descriptors)
{
	struct timeval timeout = { .tv_sec = 1, .tv_usec = 7 };
	int empty[2], full[2];
	fd_set reads;

	make_pipes(empty, full);
	FD_ZERO(&reads);
	FD_SET(empty[0], &reads);
	FD_SET(full[0], &reads);
	assert_int_equal(rselect(full[0] + 1, &reads, NULL, NULL, NULL), 1);
	assert_false(FD_ISSET(empty[0], &reads));
	assert_true(FD_ISSET(full[0], &reads));
	assert_int_equal(rselect(full[0] + 1, &reads, NULL, NULL, &timeout), 1);
	assert_int_equal(timeout.tv_sec, 1);
	assert_int_equal(timeout.tv_usec, 7);
	FD_ZERO(&reads);
	FD_SET(empty[0], &reads);
	timeout = (struct timeval){ .tv_usec = 1000 };
	assert_int_equal(rselect(empty[0] + 1, &reads, NULL, NULL, &timeout), 0);
	FD_SET(full[0], &reads);
	timeout = (struct timeval){ .tv_usec = 2000000 };
	assert_int_equal(rselect(full[0] + 1, &reads, NULL, NULL, &timeout), 1);
	close_pipes(empty, full);
}

TEST(epoll_serves_plain_descriptors)
{
	struct epoll_event event = { .events = EPOLLIN, .data.u32 = 77 }, got;
	int empty[2], full[2], epfd = repoll_create(EPOLL_CLOEXEC);

	make_pipes(empty, full);
	assert_true(epfd >= 0);
	assert_int_equal(fcntl(epfd, F_GETFD), FD_CLOEXEC);
	assert_int_equal(repoll_ctl(epfd, EPOLL_CTL_ADD, empty[0], &event), 0);
	assert_int_equal(repoll_wait(epfd, &got, 1, 1), 0);
	assert_int_equal(repoll_ctl(epfd, EPOLL_CTL_ADD, full[0], &event), 0);
	assert_int_equal(repoll_wait(epfd, &got, 1, -1), 1);
	assert_int_equal(got.data.u32, 77);
	assert_fails(EEXIST, repoll_ctl(epfd, EPOLL_CTL_ADD, full[0], &event));
	assert_int_equal(repoll_ctl(epfd, EPOLL_CTL_DEL, full[0], NULL), 0);
	assert_int_equal(repoll_wait(epfd, &got, 1, 0), 0);
	assert_fails(EBADF, rclose(full[0]));
	assert_int_equal(rclose(epfd), 0);
	assert_fails(EBADF, repoll_wait(epfd, &got, 1, 0));
	assert_fails(EBADF, rclose(epfd));
	close_pipes(empty, full);
}

RUN
