// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/* Tests of sendfile() to an rsocket: what it copies, and how it waits. */
#include "fixture.h"

#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <time.h>
#include <unistd.h>

#define LENGTH 3000000
#define PART 100000

TEST(sendfile_copies)
{
	FILE *file = tmpfile();
	int pair[2], i, in = fileno(file);
	off_t at = 2;
	char *all = malloc(200000);

	for (i = 0; i < 20000; i++)
		fprintf(file, "%05d", i);
	fflush(file);
	lseek(in, 5, SEEK_SET);
	connect_pair(pair);
	assert_int_equal(preload_sendfile(pair[0], in, &at, 8), 8);
	assert_int_equal(at, 10);
	assert_int_equal(lseek(in, 0, SEEK_CUR), 5);
	assert_int_equal(preload_recv(pair[1], all, 8, MSG_WAITALL), 8);
	assert_memory_equal(all, "00000001", 8);
	assert_int_equal(preload_sendfile64(pair[0], in, NULL, 200000), 99995);
	assert_int_equal(lseek(in, 0, SEEK_CUR), 100000);
	assert_int_equal(preload_recv(pair[1], all, 99995, MSG_WAITALL), 99995);
	assert_memory_equal(all + 99985, "1999819999", 10);
	assert_int_equal(preload_sendfile(pair[0], in, NULL, 10), 0);
	/* One that takes no more says how far it went, and then EAGAIN. */
	assert_int_equal(preload_fcntl(pair[0], F_SETFL, O_NONBLOCK), 0);
	for (at = 0; preload_sendfile(pair[0], in, &at, 100000) > 0; at = 0)
		;
	assert_int_equal(errno, EAGAIN);
	assert_int_equal(preload_sendfile(pair[0], pair[1], NULL, 10), -1);
	assert_int_equal(errno, EINVAL);
	close_pair(pair);
	fclose(file);
	free(all);
}

/* An off_t of 32 bits ends at 2 GB: sendfile() stops there, sendfile64() goes on. */
TEST(offsets_end_where_off_t_does)
{
	const off64_t start = INT32_MAX - 10LL;
	bool is_short = sizeof(off_t) == sizeof(int32_t);
	FILE *file = tmpfile64();
	off_t at = start;
	off64_t large = start;
	int pair[2];
	char buf[100];

	assert_int_equal(ftruncate64(fileno(file), start + 200), 0);
	connect_pair(pair);
	assert_int_equal(preload_sendfile(pair[0], fileno(file), &at, 100), is_short ? 10 : 100);
	assert_true(at == start + (is_short ? 10 : 100));
	assert_int_equal(preload_recv(pair[1], buf, is_short ? 10 : 100, MSG_WAITALL),
			 is_short ? 10 : 100);
	if (is_short) {
		assert_int_equal(preload_sendfile(pair[0], fileno(file), &at, 1), -1);
		assert_int_equal(errno, EOVERFLOW);
	}
	assert_int_equal(preload_sendfile64(pair[0], fileno(file), &large, 100), 100);
	assert_true(large == start + 100);
	close_pair(pair);
	fclose(file);
}

/* A file in which each byte depends on its place. */
static FILE *numbered_file(void)
{
	FILE *file = tmpfile();
	int i;

	for (i = 0; i < LENGTH / 10; i++)
		fprintf(file, "%010d", i);
	fflush(file);
	return file;
}

struct copy {
	int out, in;
	int calls;
	bool by_position;	/* no offset is passed: that of the descriptor counts */
	pthread_t thread;
};

/* As programs do: again after an interrupt or a wait, and from where it has come to. */
static void *copy_all(void *arg)
{
	struct copy *copy = arg;
	struct pollfd pfd = { .fd = copy->out, .events = POLLOUT };
	off_t at = 0;
	ssize_t ret;

	do {
		ret = preload_sendfile(copy->out, copy->in, copy->by_position ? NULL : &at,
				       LENGTH);
		copy->calls++;
		if (ret < 0 && errno == EAGAIN)
			preload_poll(&pfd, 1, -1);
	} while (ret > 0 || (ret < 0 && (errno == EINTR || errno == EAGAIN)));
	return (void *)(intptr_t)ret;
}

/* Without SA_RESTART. */
static void nothing(int signal)
{
	(void)signal;
}

static long long cpu_ms(pthread_t thread)
{
	struct timespec ts;
	clockid_t clock;

	assert_int_equal(pthread_getcpuclockid(thread, &clock), 0);
	assert_int_equal(clock_gettime(clock, &ts), 0);
	return ts.tv_sec * 1000LL + ts.tv_nsec / 1000000;
}

static void receive_numbers(int fd, pthread_t sender)
{
	static char buf[PART + 1], number[11];
	int at, i;

	for (at = 0; at < LENGTH; at += PART) {
		pthread_kill(sender, SIGUSR1);
		usleep(2000);
		assert_int_equal(preload_recv(fd, buf, PART, MSG_WAITALL), PART);
		for (i = 0; i < PART; i += 10) {
			snprintf(number, sizeof(number), "%010d", (at + i) / 10);
			assert_memory_equal(buf + i, number, 10);
		}
	}
}

static void start_copy(struct copy *copy, const int pair[2], FILE *file)
{
	copy->out = pair[0];
	copy->in = fileno(file);
	rewind(file);
	assert_int_equal(pthread_create(&copy->thread, NULL, copy_all, copy), 0);
}

static void expect_end(const struct copy *copy)
{
	void *result;

	pthread_join(copy->thread, &result);
	assert_null(result);
}

/* Each byte arrives once, though calls end anywhere. */
static void parts_lose_nothing(bool nonblock, bool by_position)
{
	struct copy copy = { .by_position = by_position };
	FILE *file = numbered_file();
	int pair[2];

	connect_pair(pair);
	if (nonblock)
		assert_int_equal(preload_fcntl(pair[0], F_SETFL, O_NONBLOCK), 0);
	start_copy(&copy, pair, file);
	receive_numbers(pair[1], copy.thread);
	expect_end(&copy);
	assert_true(!nonblock || copy.calls > 2);
	close_pair(pair);
	fclose(file);
}

TEST(interrupts_lose_nothing)
{
	parts_lose_nothing(false, false);
	parts_lose_nothing(false, true);
}

TEST(full_rsockets_lose_nothing)
{
	parts_lose_nothing(true, false);
	parts_lose_nothing(true, true);
}

/* A receiver that has stopped costs no processor time. */
TEST(waiting_sender_sleeps)
{
	FILE *file = numbered_file();
	struct copy copy = { 0 };
	long long before;
	int pair[2];

	connect_pair(pair);
	start_copy(&copy, pair, file);
	usleep(100000);
	before = cpu_ms(copy.thread);
	usleep(300000);
	assert_true(cpu_ms(copy.thread) - before < 100);
	receive_numbers(pair[1], copy.thread);
	expect_end(&copy);
	close_pair(pair);
	fclose(file);
}

int main(void)
{
	struct sigaction action = { .sa_handler = nothing };

	sigaction(SIGUSR1, &action, NULL);
	return unit_run();
}
