// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * Tests of programs that change their user. From the first change on, this process has no rsockets:
 * the order of the tests counts.
 */
#include "fixture.h"

#include <sys/epoll.h>
#include <sys/wait.h>
#include <unistd.h>

#include "preload/file.h"

static int change(void)
{
	return preload_setgid(getgid()) || preload_setuid(getuid());
}

TEST(change_before_the_first_rsocket_is_none)
{
	int fd;

	assert_int_equal(change(), 0);
	fd = new_socket();
	assert_true(rcl_file_known(fd));
	preload_close(fd);
}

/* Those of fork() and vfork() have no rsockets, and leave those of their parent alone. */
TEST(change_in_a_child_is_its_own)
{
	int listener = new_listener(), fd, status;
	pid_t child = vfork();

	if (!child)
		_exit(change());
	assert_int_equal(waitpid(child, &status, 0), child);
	assert_int_equal(status, 0);
	fd = new_socket();
	assert_true(rcl_file_known(listener) && rcl_file_known(fd));
	preload_close(fd);
	preload_close(listener);
}

TEST(listener_goes_on_over_tcp)
{
	struct epoll_event event = { .events = EPOLLIN, .data.u64 = 7 };
	int listener = new_listener(), port = port_of(listener), other = new_socket(), epfd, fd;
	int pair[2], plain = socket(AF_INET, SOCK_STREAM, 0), peer;
	char byte;

	connect_pair(pair);
	epfd = preload_epoll_create1(0);
	assert_int_equal(preload_epoll_ctl(epfd, EPOLL_CTL_ADD, listener, &event), 0);
	assert_int_equal(change(), 0);
	assert_false(rcl_file_known(listener));
	assert_int_equal(port_of(listener), port);
	assert_int_equal(connect(plain, address(port), ADDRESS_SIZE), 0);
	assert_int_equal(preload_epoll_wait(epfd, &event, 1, 1000), 1);
	assert_int_equal(event.data.u64, 7);
	peer = preload_accept(listener, NULL, NULL);
	assert_int_equal(write(plain, "x", 1), 1);
	assert_int_equal(preload_read(peer, &byte, 1), 1);
	fd = new_socket();
	assert_false(rcl_file_known(peer) || rcl_file_known(fd));
	/* What is connected stays as it is. */
	assert_true(rcl_file_known(other) && rcl_file_known(pair[0]));
	close_pair(pair);
	close(plain);
	preload_close(peer);
	preload_close(fd);
	preload_close(other);
	preload_close(listener);
	preload_close(epfd);
}

RUN
