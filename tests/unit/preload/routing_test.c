// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/* Tests that each call goes to the rsocket of a descriptor, and to libc without one. */
#include "fixture.h"

#include <stdio.h>
#include <sys/stat.h>
#include <sys/wait.h>

#include "preload/file.h"

/* The last function of the fake library; clears it. */
static const char *asked(void)
{
	const char *last = fake.last ?: "";

	fake.last = NULL;
	return last;
}

#define ASKED(function) assert_string_equal(asked(), function)

static char buf[64];
static struct iovec iov = { .iov_base = buf, .iov_len = 5 };

/* Sends 5 bytes in each way from one end, and receives them in each way at the other. */
static void use_each_call(int from, int to, bool rsocket)
{
	struct msghdr msg = { .msg_iov = &iov, .msg_iovlen = 1 };
	struct mmsghdr many[2] = { { .msg_hdr = msg }, { .msg_hdr = msg } };

#define EXPECT(call, result, function)						\
	do {									\
		fake.last = NULL;						\
		assert_int_equal(call, result);					\
		ASKED(rsocket ? (function) : "");				\
	} while (0)

	EXPECT(preload_write(from, "hello", 5), 5, "rwrite");
	EXPECT(preload_read(to, buf, 5), 5, "rread");
	EXPECT(preload_writev(from, &iov, 1), 5, "rwritev");
	EXPECT(preload_readv(to, &iov, 1), 5, "rreadv");
	EXPECT(preload_send(from, "hello", 5, 0), 5, "rsend");
	EXPECT(preload_recv(to, buf, 5, MSG_PEEK), 5, "rrecv");
	EXPECT(preload___recv_chk(to, buf, 5, 5, 0), 5, "rrecv");
	EXPECT(preload_sendto(from, "hello", 5, 0, NULL, 0), 5, "rsendto");
	EXPECT(preload_recvfrom(to, buf, 5, MSG_PEEK, NULL, NULL), 5, "rrecvfrom");
	EXPECT(preload___recvfrom_chk(to, buf, 5, 5, 0, NULL, NULL), 5, "rrecvfrom");
	EXPECT(preload_sendmsg(from, &msg, 0), 5, "rsendmsg");
	EXPECT(preload_recvmsg(to, &msg, 0), 5, "rrecvmsg");
	EXPECT(preload_sendmmsg(from, many, 2, 0), 2, "rsendmsg");
	assert_int_equal(many[1].msg_len, 5);
	EXPECT(preload___read_chk(to, buf, 10, 10), 10, "rread");
	EXPECT(preload_sendmmsg(from, many, 1, 0), 1, "rsendmsg");
	EXPECT(preload_recvmmsg(to, many, 2, MSG_WAITFORONE, NULL), 1, "rrecvmsg");
	assert_int_equal(many[0].msg_len, 5);
	EXPECT(preload_shutdown(from, SHUT_WR), 0, "rshutdown");
	EXPECT(preload_read(to, buf, 5), 0, "rread");
#undef EXPECT
	assert_memory_equal(buf, "hello", 5);
}

TEST(calls_of_rsockets)
{
	int pair[2];

	connect_pair(pair);
	assert_int_equal(fake.made, 3);
	use_each_call(pair[0], pair[1], true);
	close_pair(pair);
}

TEST(calls_of_other_descriptors)
{
	int pair[2], calls;

	assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM, 0, pair), 0);
	calls = fake.calls;
	use_each_call(pair[0], pair[1], false);
	assert_int_equal(fake.calls, calls);
	close_pair(pair);
}

TEST(sockets_of_other_kinds_are_libc_s)
{
	static const int kinds[][3] = {
		{ AF_UNIX, SOCK_STREAM, 0 }, { AF_NETLINK, SOCK_RAW, 0 },
		{ AF_INET, SOCK_STREAM, IPPROTO_MPTCP }, { AF_INET, SOCK_DGRAM, IPPROTO_ICMP },
	};
	size_t i;
	int fd;

	for (i = 0; i < sizeof(kinds) / sizeof(*kinds); i++) {
		fd = preload_socket(kinds[i][0], kinds[i][1], kinds[i][2]);
		if (fd >= 0)
			preload_close(fd);
	}
	assert_int_equal(fake.calls, 0);
}

TEST(flags_of_the_type_count)
{
	int fd = preload_socket(AF_INET6, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, IPPROTO_TCP);

	assert_int_equal(fake.made, 1);
	assert_true(preload_fcntl(fd, F_GETFL) & O_NONBLOCK);
	assert_int_equal(preload_fcntl(fd, F_GETFD), FD_CLOEXEC);
	assert_int_equal(preload_bind(fd, address(0), ADDRESS_SIZE), 0);
	assert_int_equal(preload_listen(fd, 1), 0);
	/* The rsocket itself does not block. */
	assert_int_equal(preload_accept(fd, NULL, NULL), -1);
	assert_int_equal(errno, EAGAIN);
	preload_close(fd);
}

static bool rsocket_blocks(int fd)
{
	struct rcl_file *file = rcl_file_get(fd);
	int flags = rfcntl(file->rs, F_GETFL);

	rcl_file_put(file);
	return !(flags & O_NONBLOCK);
}

TEST(accept4_has_flags_of_its_own)
{
	int listener, fd, client;
	char c;

	listener = new_listener();
	assert_int_equal(preload_fcntl(listener, F_SETFL, O_NONBLOCK), 0);
	client = new_socket();
	assert_int_equal(preload_connect(client, address(port_of(listener)), ADDRESS_SIZE), 0);
	assert_int_equal(preload_accept4(listener, NULL, NULL, 1), -1);
	assert_int_equal(errno, EINVAL);
	fd = preload_accept4(listener, NULL, NULL, SOCK_CLOEXEC);
	assert_int_equal(preload_fcntl(fd, F_GETFD), FD_CLOEXEC);
	assert_false(preload_fcntl64(fd, F_GETFL) & O_NONBLOCK);
	assert_true(rsocket_blocks(fd));
	assert_int_equal(preload_write(client, "x", 1), 1);
	assert_int_equal(preload_read(fd, &c, 1), 1);
	preload_close(client);
	client = new_socket();
	assert_int_equal(preload_connect(client, address(port_of(listener)), ADDRESS_SIZE), 0);
	preload_close(fd);
	fd = preload_accept4(listener, NULL, NULL, SOCK_NONBLOCK);
	assert_true(preload_fcntl(fd, F_GETFL) & O_NONBLOCK);
	assert_false(rsocket_blocks(fd));
	assert_int_equal(preload_read(fd, &c, 1), -1);
	assert_int_equal(errno, EAGAIN);
	preload_close(client);
	preload_close(fd);
	preload_close(listener);
}

TEST(names_are_the_rsocket_s)
{
	struct sockaddr_in in;
	socklen_t size = sizeof(in);
	int pair[2];

	connect_pair(pair);
	assert_int_equal(preload_getpeername(pair[0], (struct sockaddr *)&in, &size), 0);
	assert_int_equal(ntohs(in.sin_port), port_of(pair[1]));
	ASKED("rgetsockname");
	close_pair(pair);
}

static int option_of(int fd, int level, int option)
{
	int value = -1;
	socklen_t size = sizeof(value);

	return preload_getsockopt(fd, level, option, &value, &size) ? -errno : value;
}

TEST(options_of_rsockets)
{
	struct timeval time = { .tv_sec = 1 };
	int one = 1, fd = new_listener();

	assert_int_equal(option_of(fd, SOL_SOCKET, SO_TYPE), SOCK_STREAM);
	assert_int_equal(option_of(fd, SOL_SOCKET, SO_DOMAIN), AF_INET);
	assert_int_equal(option_of(fd, SOL_SOCKET, SO_ACCEPTCONN), 1);
	assert_int_equal(preload_setsockopt(fd, SOL_SOCKET, SO_KEEPALIVE, &one, sizeof(one)), 0);
	assert_int_equal(option_of(fd, SOL_SOCKET, SO_KEEPALIVE), 1);
	/* What the rsocket does not know is TCP's, and counts if TCP is fallen back to. */
	assert_int_equal(preload_setsockopt(fd, IPPROTO_TCP, TCP_DEFER_ACCEPT, &one, sizeof(one)),
			 0);
	/* A timeout that does not come would hang the program. */
	assert_int_equal(preload_setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &time, sizeof(time)), -1);
	assert_int_equal(errno, ENOTSUP);
	assert_int_equal(option_of(fd, SOL_RDMA, RDMA_IOMAPSIZE), -ENOTSUP);
	preload_close(fd);
}

TEST(ioctls_of_rsockets)
{
	int pair[2], n = -1, one = 1;
	char c;

	connect_pair(pair);
	assert_int_equal(preload_ioctl(pair[1], FIONREAD, &n), 0);
	assert_int_equal(n, 0);
	preload_write(pair[0], "hello", 5);
	assert_int_equal(preload_ioctl(pair[1], FIONREAD, &n), 0);
	assert_int_equal(n, 5);
	assert_int_equal(preload_read(pair[1], buf, sizeof(buf)), 5);
	assert_int_equal(preload_ioctl(pair[1], FIONBIO, &one), 0);
	assert_int_equal(preload_read(pair[1], &c, 1), -1);
	assert_int_equal(errno, EAGAIN);
	assert_true(preload_fcntl(pair[1], F_GETFL) & O_NONBLOCK);
	close_pair(pair);
}

TEST(stat_says_socket)
{
	struct stat st;
	int fd = new_socket();

	assert_int_equal(fstat(fd, &st), 0);
	assert_true(S_ISSOCK(st.st_mode));
	preload_close(fd);
}

TEST(splice_is_refused)
{
	int pair[2], pipes[2];

	connect_pair(pair);
	assert_int_equal(pipe(pipes), 0);
	assert_int_equal(preload_splice(pipes[0], NULL, pair[0], NULL, 1, 0), -1);
	assert_int_equal(errno, EINVAL);
	assert_int_equal(preload_splice(pair[1], NULL, pipes[1], NULL, 1, 0), -1);
	assert_int_equal(errno, EINVAL);
	close(pipes[0]);
	close(pipes[1]);
	close_pair(pair);
}

/* A child must end in __chk_fail(). */
TEST(overflows_end_the_program)
{
	int which, status;

	for (which = 0; which < 4; which++) {
		struct pollfd none = { .fd = -1 };
		pid_t child = fork();

		if (!child) {
			close(STDERR_FILENO);
			signal(SIGABRT, SIG_DFL);
			if (which == 0)
				preload___read_chk(0, buf, 2, 1);
			else if (which == 1)
				preload___recv_chk(0, buf, 2, 1, 0);
			else if (which == 2)
				preload___recvfrom_chk(0, buf, 2, 1, 0, NULL, NULL);
			else
				preload___poll_chk(&none, 2, 0, sizeof(none));
			_exit(0);
		}
		assert_int_equal(waitpid(child, &status, 0), child);
		assert_true(WIFSIGNALED(status) && WTERMSIG(status) == SIGABRT);
	}
}

RUN
