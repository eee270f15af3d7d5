// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/* Tests of what rsockets keep from one use to the next: pages, and the time to spin. */
#include <sys/mman.h>
#include <sys/wait.h>

#include "rsocket/conf.h"
#include "rsocket/pages.h"
#include "rsocket/wait.h"
#include "sockets.h"

#define LEN (128 << 10)

static bool is_mapped(const void *start)
{
	unsigned char resident;

	return !mincore((void *)(uintptr_t)start, 1, &resident);
}

static struct rcl_pages get(size_t len)
{
	struct rcl_pages pages;

	assert_int_equal(rcl_pages_get(&pages, len), 0);
	assert_non_null(pages.start);
	return pages;
}

static void *put_pages(struct rcl_pages *pages)
{
	void *start = pages->start;

	rcl_pages_put(pages);
	assert_null(pages->start);
	return start;
}

PLAIN_TEST(pages_are_used_again)
{
	struct rcl_pages pages = get(LEN);
	void *start = put_pages(&pages);

	assert_true(is_mapped(start));
	pages = get(LEN);
	assert_ptr_equal(pages.start, start);
	put_pages(&pages);
}

PLAIN_TEST(lengths_are_whole_pages)
{
	struct rcl_pages pages = get(1), more;

	assert_int_equal(pages.len, sysconf(_SC_PAGESIZE));
	more = get(pages.len + 1);
	assert_int_equal(more.len, 2 * pages.len);
	put_pages(&pages);
	put_pages(&more);
}

PLAIN_TEST(other_lengths_are_not_mixed)
{
	struct rcl_pages pages = get(LEN), more;
	void *start = put_pages(&pages);

	more = get(2 * LEN);
	assert_ptr_not_equal(more.start, start);
	assert_int_equal(more.len, 2 * LEN);
	put_pages(&more);
}

/* What is kept is bounded: 4 MiB in all, and no more than that for one. */
PLAIN_TEST(more_than_the_limit_is_freed)
{
	struct rcl_pages pages[64], large = get(8 << 20);
	unsigned int i, mapped = 0;
	void *starts[64];

	assert_false(is_mapped(put_pages(&large)));
	for (i = 0; i < 64; i++)
		pages[i] = get(LEN);
	for (i = 0; i < 64; i++)
		starts[i] = put_pages(&pages[i]);
	for (i = 0; i < 64; i++)
		mapped += is_mapped(starts[i]);
	assert_in_range(mapped, 16, 32);
}

PLAIN_TEST(child_does_not_use_pages_of_its_parent)
{
	struct rcl_pages kept = get(LEN), used = get(LEN), own;
	void *start = put_pages(&kept);
	int status;
	pid_t pid = fork();

	if (!pid) {
		bool bad = is_mapped(start) || is_mapped(used.start);

		own = get(LEN);
		memset(own.start, 'c', own.len);
		_exit(bad);
	}
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_int_equal(status, 0);
	/* They are only the parent's, as before. */
	assert_true(is_mapped(put_pages(&used)));
	own = get(LEN);
	assert_true(is_mapped(own.start));
	put_pages(&own);
}

PLAIN_TEST(no_memory_is_an_error)
{
	struct rcl_pages pages;

	assert_int_equal(rcl_pages_get(&pages, SIZE_MAX / 16 * 15), -ENOMEM);
	assert_null(pages.start);
	rcl_pages_put(&pages);
}

static void send_pieces(const struct sockets *s, unsigned int count, size_t len)
{
	char data[4096] = { 0 };
	unsigned int i;

	for (i = 0; i < count; i++) {
		assert_int_equal(rsend(s->client, data, len, 0), len);
		assert_int_equal(rrecv(s->server, data, len, MSG_WAITALL), len);
	}
}

/* Sends what goes without that the server reads. */
static void send_what_goes(const struct sockets *s)
{
	char data[4096] = { 0 };
	ssize_t done;

	do {
		done = rsend(s->client, data, sizeof(data), MSG_DONTWAIT);
	} while (done > 0);
	assert_int_equal(done, -1);
	assert_int_equal(errno, EAGAIN);
	assert_int_equal(ready(s->server, POLLIN | POLLHUP), POLLIN);
}

static void leave_dirty_pages(void)
{
	struct rcl_pages pages[8];
	unsigned int i;

	for (i = 0; i < 8; i++) {
		pages[i] = get(LEN + sysconf(_SC_PAGESIZE));
		memset(pages[i].start, 0xff, pages[i].len);
	}
	for (i = 0; i < 8; i++)
		put_pages(&pages[i]);
}

/*
 * A connection does not go by entries that the peer of a former one has written. On iWARP a message
 * of credits does not tell whether there is an entry.
 */
SOCKET_TEST(table_of_a_new_connection_is_empty)
{
	struct sockets s;

	pair_use_iwarp();
	leave_dirty_pages();
	s = connected();
	send_pieces(&s, 300, 1);
	send_what_goes(&s);
	close_all(&s);
}

PLAIN_TEST(long_waits_end_spinning)
{
	int64_t most = rcl_rsocket_conf()->polling_us * 1000LL;
	struct rcl_spin spin = { 0 };
	int i;

	assert_true(most > 0);
	assert_int_equal(rcl_spin_ns(&spin), most);
	rcl_spin_learn(&spin, most + 1);
	assert_int_equal(rcl_spin_ns(&spin), most / 2);
	for (i = 0; i < 1000; i++)
		rcl_spin_learn(&spin, INT64_MAX);
	assert_int_equal(rcl_spin_ns(&spin), 0);
	rcl_spin_learn(&spin, most);
	assert_int_equal(rcl_spin_ns(&spin), most);
}

RUN
