// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/* Tests of descriptors that share an rsocket, of closing them, and of child processes. */
#include "fixture.h"

#include <pthread.h>
#include <sched.h>
#include <stdio.h>
#include <sys/wait.h>

#include "preload/file.h"

/* The connection goes on: what one end writes arrives at the other. */
static void assert_talks(int from, int to)
{
	char c = 0;

	assert_int_equal(preload_write(from, "x", 1), 1);
	assert_int_equal(preload_read(to, &c, 1), 1);
	assert_int_equal(c, 'x');
}

TEST(last_close_closes)
{
	int pair[2], copies[5], i;

	connect_pair(pair);
	copies[0] = preload_dup(pair[0]);
	copies[1] = preload_dup2(pair[0], 300);
	copies[2] = preload_dup3(pair[0], 301, O_CLOEXEC);
	copies[3] = preload_fcntl(pair[0], F_DUPFD, 310);
	copies[4] = preload_fcntl64(copies[0], F_DUPFD_CLOEXEC, 320);
	assert_int_equal(copies[1], 300);
	assert_int_equal(copies[2], 301);
	assert_int_equal(copies[3], 310);
	assert_int_equal(copies[4], 320);
	assert_int_equal(preload_fcntl(301, F_GETFD), FD_CLOEXEC);
	assert_int_equal(preload_fcntl(320, F_GETFD), FD_CLOEXEC);
	fake.closed = 0;
	assert_int_equal(preload_close(pair[0]), 0);
	for (i = 0; i < 5; i++) {
		assert_talks(copies[i], pair[1]);
		assert_talks(pair[1], copies[i]);
		assert_int_equal(fake.closed, 0);
		assert_int_equal(preload_close(copies[i]), 0);
	}
	assert_int_equal(fake.closed, 1);
	assert_int_equal(preload_close(pair[1]), 0);
	fake.closed = fake.made;
}

static int count_low(void)
{
	int fd, count = 0;

	for (fd = 0; fd < 512; fd++)
		count += fcntl(fd, F_GETFD) >= 0;
	return count;
}

/* Programs have tables, and select(2) a limit: each socket takes one number. */
TEST(each_socket_takes_one_number)
{
	enum { COUNT = 20 };
	struct epoll_event event = { .events = EPOLLIN };
	int before = count_low(), epfd = preload_epoll_create1(0), pairs[COUNT][2], i;

	for (i = 0; i < COUNT; i++) {
		connect_pair(pairs[i]);
		assert_int_equal(preload_epoll_ctl(epfd, EPOLL_CTL_ADD, pairs[i][0], &event), 0);
	}
	assert_int_equal(count_low(), before + 2 * COUNT + 1);
	for (i = 0; i < COUNT; i++)
		close_pair(pairs[i]);
	preload_close(epfd);
	assert_int_equal(count_low(), before);
}

TEST(librdmacm_has_no_internal_numbers)
{
	int pair[2];

	fake.stock = 1;
	connect_pair(pair);
	assert_int_equal(fake.made, 3);
	close_pair(pair);
}

TEST(dup2_replaces)
{
	int pair[2], other[2];

	connect_pair(pair);
	connect_pair(other);
	fake.closed = 0;
	/* An rsocket by another one, by a descriptor of libc, and that by an rsocket. */
	assert_int_equal(preload_dup2(pair[0], other[0]), other[0]);
	assert_int_equal(fake.closed, 1);
	assert_talks(other[0], pair[1]);
	assert_int_equal(preload_dup2(STDERR_FILENO, other[1]), other[1]);
	assert_int_equal(fake.closed, 2);
	assert_false(rcl_file_known(other[1]));
	assert_int_equal(preload_dup2(pair[1], other[1]), other[1]);
	assert_talks(other[0], other[1]);
	/* The same number changes nothing. */
	assert_int_equal(preload_dup2(pair[0], pair[0]), pair[0]);
	assert_int_equal(preload_dup3(pair[0], pair[0], 0), -1);
	assert_int_equal(preload_dup2(pair[0], -1), -1);
	assert_int_equal(errno, EBADF);
	assert_int_equal(preload_dup(-1), -1);
	assert_talks(pair[0], pair[1]);
	close_pair(pair);
	assert_int_equal(fake.closed, 2);
	close_pair(other);
	assert_int_equal(fake.closed, 4);
	fake.closed = fake.made;
}

TEST(flags_are_those_of_all_copies)
{
	int pair[2], copy;
	char c;

	connect_pair(pair);
	copy = preload_dup(pair[0]);
	assert_int_equal(preload_fcntl(copy, F_SETFL, O_NONBLOCK), 0);
	assert_true(preload_fcntl(pair[0], F_GETFL) & O_NONBLOCK);
	assert_int_equal(preload_read(pair[0], &c, 1), -1);
	assert_int_equal(errno, EAGAIN);
	preload_close(copy);
	close_pair(pair);
}

TEST(ranges_are_closed)
{
	int pair[2];

	connect_pair(pair);
	preload_dup2(pair[0], 1500);
	preload_dup2(pair[1], 3000);
	close_pair(pair);
	assert_int_equal(preload_close_range(1400, 1499, 0), 0);
	assert_int_equal(preload_close_range(1501, 2999, 0), 0);
	assert_talks(1500, 3000);
	assert_int_equal(preload_close_range(1500, 1500, 4), 0);
	assert_int_equal(preload_fcntl(1500, F_GETFD), FD_CLOEXEC);
	assert_talks(1500, 3000);
	fake.closed = 0;
	assert_int_equal(preload_close_range(1500, 1500, 0), 0);
	assert_int_equal(fake.closed, 1);
	preload_closefrom(2000);
	assert_int_equal(fake.closed, 2);
	assert_int_equal(preload_write(3000, "x", 1), -1);
	assert_int_equal(errno, EBADF);
	fake.closed = fake.made;
}

TEST(fclose_closes)
{
	int pair[2];

	connect_pair(pair);
	fake.closed = 0;
	assert_int_equal(preload_fclose(fdopen(pair[0], "r")), 0);
	assert_int_equal(fake.closed, 1);
	assert_false(rcl_file_known(pair[0]));
	preload_close(pair[1]);
	fake.closed = fake.made;
}

/* close() of a program that makes the system call itself cannot be seen. */
TEST(numbers_that_are_used_again_are_not_taken_for_rsockets)
{
	int fd = new_socket(), again;

	close(fd);
	assert_true(rcl_file_known(fd));
	again = preload_socket(AF_UNIX, SOCK_STREAM, 0);
	assert_int_equal(again, fd);
	assert_false(rcl_file_known(fd));
	assert_int_equal(fake.closed, 1);
	preload_close(again);
}

/* Threads use one number, which others close and make again. */
#define ROUNDS 3000

static int contested;
static atomic_bool over;
static atomic_int released;

static void *look_up(void *arg)
{
	struct rcl_file *file;

	(void)arg;
	while (!atomic_load(&over)) {
		file = rcl_file_get(contested);
		if (!file)
			continue;
		/* A file that was found is not a free one, and not another one. */
		if (file->domain != contested || file->rs < 0)
			abort();
		rcl_file_put(file);
	}
	return NULL;
}

static int count_release(struct rcl_file *file)
{
	file->rs = -1;
	atomic_fetch_add(&released, 1);
	return 0;
}

static void run_beside(void *(*function)(void *arg), void (*change)(int round), int rounds)
{
	pthread_t threads[2];
	int i;

	atomic_store(&over, false);
	for (i = 0; i < 2; i++)
		assert_int_equal(pthread_create(&threads[i], NULL, function, NULL), 0);
	for (i = 0; i < rounds; i++)
		change(i);
	atomic_store(&over, true);
	for (i = 0; i < 2; i++)
		pthread_join(threads[i], NULL);
}

static void replace_file(int round)
{
	struct rcl_file *file = rcl_file_new(RCL_FILE_RSOCKET, round, count_release);
	int fd = contested + round % 2;

	file->domain = fd;
	assert_true(rcl_file_install(fd, file));
	if (round % 3)
		rcl_file_put(rcl_file_take(fd));
}

TEST(looking_up_races_with_ending)
{
	contested = 2000;
	run_beside(look_up, replace_file, 50 * ROUNDS);
	rcl_file_install(contested, NULL);
	rcl_file_install(contested + 1, NULL);
	assert_int_equal(released, 50 * ROUNDS);
}

/* TSan takes a descriptor that is closed and used at the same time for a race: that is the test. */
#ifndef __SANITIZE_THREAD__
static void *use_contested(void *arg)
{
	struct pollfd polls = { .fd = contested, .events = POLLIN };
	char c;

	(void)arg;
	while (!atomic_load(&over)) {
		preload_recv(contested, &c, 1, MSG_DONTWAIT);
		preload_poll(&polls, 1, 0);
		preload_close(preload_dup(contested));
	}
	return NULL;
}

static void replace_socket(int round)
{
	int fd = new_socket();

	assert_int_equal(preload_dup2(fd, contested), contested);
	preload_close(fd);
	if (round % 3)
		preload_close(contested);
}

TEST(closing_races_with_using)
{
	contested = 400;
	run_beside(use_contested, replace_socket, ROUNDS);
	preload_close(contested);
	assert_int_equal(fake.made, ROUNDS);
	assert_int_equal(fake.closed, ROUNDS);
}
#endif

static void *read_one(void *arg)
{
	char c = 0;

	assert_int_equal(preload_read(*(int *)arg, &c, 1), 1);
	return NULL;
}

/* As with the kernel: a file ends when the last call is over. */
TEST(close_during_a_call_waits_for_its_end)
{
	struct rcl_file *file;
	pthread_t thread;
	int pair[2];

	connect_pair(pair);
	fake.closed = 0;
	file = rcl_file_get(pair[0]);
	rcl_file_put(file);
	assert_int_equal(pthread_create(&thread, NULL, read_one, &pair[0]), 0);
	while (atomic_load(&file->refs) < 2)
		sched_yield();
	assert_int_equal(preload_close(pair[0]), 0);
	assert_int_equal(fake.closed, 0);
	assert_int_equal(preload_write(pair[1], "x", 1), 1);
	pthread_join(thread, NULL);
	assert_int_equal(fake.closed, 1);
	preload_close(pair[1]);
	fake.closed = fake.made;
}

/*
 * Tests of children come last: ThreadSanitizer does not follow a clone() with shared memory, and
 * may report races of threads after it.
 */

static int close_in_child(void *arg)
{
	int *pair = arg;

	/* What programs do between vfork() and exec. */
	preload_dup2(STDERR_FILENO, pair[0]);
	preload_close(pair[1]);
	preload_close_range(3, ~0U, 0);
	return 0;
}

TEST(children_of_vfork_do_not_disturb)
{
	static char stack[256 * 1024] __attribute__((aligned(16)));
	int pair[2], status;
	pid_t child;

#ifdef __SANITIZE_THREAD__
	/*
	 * A child with our memory leaves what ThreadSanitizer knows of this thread as it was in the
	 * child: from then on, locks of this thread are not seen.
	 */
	skip();
#endif
	connect_pair(pair);
	fake.closed = 0;
	/* As vfork(): the parent's memory, but a table of descriptors of its own. */
	child = clone(close_in_child, stack + sizeof(stack), CLONE_VM | CLONE_VFORK | SIGCHLD,
		      pair);
	assert_true(child > 0);
	assert_int_equal(waitpid(child, &status, 0), child);
	assert_int_equal(status, 0);
	assert_int_equal(fake.closed, 0);
	assert_talks(pair[0], pair[1]);
	close_pair(pair);
	fake.closed = fake.made;
}

TEST(children_do_not_disturb)
{
	int pair[2], status, closed;
	pid_t child;

	connect_pair(pair);
	closed = fake.closed;
	child = fork();
	if (!child) {
		int bad;

		close_pair(pair);
		bad = (fake.closed - closed) << 1;
		/* A new socket is TCP's: the rsocket library is the parent's. */
		fake.made = 0;
		preload_close(new_socket());
		_exit(bad | fake.made << 2);
	}
	assert_int_equal(waitpid(child, &status, 0), child);
	assert_int_equal(status, 0);
	assert_talks(pair[0], pair[1]);
	close_pair(pair);
	assert_all_closed();
}

RUN
