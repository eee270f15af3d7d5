// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/* Tests of dprintf(), and of SIGPIPE. */
#include "fixture.h"

#include <signal.h>
#include <stdio.h>
#include <sys/wait.h>
#include <unistd.h>

static volatile sig_atomic_t pipes;

static void count(int number)
{
	(void)number;
	pipes++;
}

TEST(formatted_text_goes_to_the_rsocket)
{
	int pair[2], plain[2];
	char buf[64] = "";

	signal(SIGPIPE, count);
	connect_pair(pair);
	assert_int_equal(preload_dprintf(pair[0], "%d of %s,", 1, "us"), 8);
	assert_int_equal(preload___dprintf_chk(pair[0], 1, "%s", "two"), 3);
	assert_int_equal(preload_read(pair[1], buf, sizeof(buf)), 11);
	assert_string_equal(buf, "1 of us,two");
	assert_int_equal(pipe(plain), 0);
	assert_int_equal(preload_dprintf(plain[1], "%c", 'x'), 1);
	assert_int_equal(preload___dprintf_chk(plain[1], 1, "%c", 'y'), 1);
	assert_int_equal(read(plain[0], buf, sizeof(buf)), 2);
	assert_int_equal(pipes, 0);
	close(plain[0]);
	close(plain[1]);
	close_pair(pair);
}

#ifdef __GLIBC__
/* As by libc's __dprintf_chk(): %n in memory that can be written ends the program. */
TEST(hardened_formats_are_checked)
{
	int pair[2], status = 0, number;
	char format[] = "x%n";
	pid_t child = fork();

	if (!child) {
		close(STDERR_FILENO);
		signal(SIGABRT, SIG_DFL);
		connect_pair(pair);
		if (preload_dprintf(pair[0], format, &number) == 1)
			preload___dprintf_chk(pair[0], 1, format, &number);
		_exit(0);
	}
	assert_int_equal(waitpid(child, &status, 0), child);
	assert_true(WIFSIGNALED(status) && WTERMSIG(status) == SIGABRT);
}
#endif

TEST(broken_pipe_is_a_signal)
{
	struct iovec iov = { .iov_base = "x", .iov_len = 1 };
	struct msghdr msg = { .msg_iov = &iov, .msg_iovlen = 1 };
	int pair[2];

	signal(SIGPIPE, count);
	pipes = 0;
	connect_pair(pair);
	assert_int_equal(preload_shutdown(pair[0], SHUT_WR), 0);
	assert_int_equal(preload_send(pair[0], "x", 1, MSG_NOSIGNAL), -1);
	assert_int_equal(pipes, 0);
	assert_int_equal(preload_send(pair[0], "x", 1, 0), -1);
	assert_int_equal(pipes, 1);
	assert_int_equal(preload_write(pair[0], "x", 1), -1);
	assert_int_equal(errno, EPIPE);
	assert_int_equal(preload_sendmsg(pair[0], &msg, 0), -1);
	assert_int_equal(preload_dprintf(pair[0], "x"), -1);
	assert_int_equal(pipes, 4);
	close_pair(pair);
}

/* The first send after the end of the peer fails; the next ones end a program that goes on. */
TEST(reset_is_told_once)
{
	int pair[2];

	signal(SIGPIPE, count);
	pipes = 0;
	connect_pair(pair);
	fake.fail_send = ECONNRESET;
	assert_int_equal(preload_write(pair[0], "x", 1), -1);
	assert_int_equal(errno, ECONNRESET);
	assert_int_equal(pipes, 0);
	assert_int_equal(preload_write(pair[0], "x", 1), -1);
	assert_int_equal(errno, EPIPE);
	assert_int_equal(pipes, 1);
	close_pair(pair);
}

RUN
