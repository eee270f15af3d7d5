// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/* Tests of credits: what one end takes, the other one returns, for all kinds of messages. */
#include <sys/mman.h>

#include "rsocket/stream/stream.h"
#include "sockets.h"

#define MAPS 3
/* With the thread sanitizer they take long. */
#ifdef __SANITIZE_THREAD__
#define CYCLES 131072
#else
#define CYCLES 1048576
#endif

/* The stream of a socket, whose test is in one thread. */
static struct rcl_stream *stream_of(int fd)
{
	struct rcl_sock *sock = rcl_sock_get(fd);

	assert_non_null(sock);
	rcl_sock_put(sock);
	return rcl_stream_of(sock);
}

/* All messages have arrived and were handled: both ends have counted the same. */
static void expect_balance(int from, int to)
{
	struct rcl_stream *sender = stream_of(from), *receiver = stream_of(to);

	ready(to, POLLIN);
	ready(from, POLLIN);
	assert_int_equal(sender->tx.seq, receiver->rx.count);
	assert_int_equal(sender->tx.limit, (uint16_t)(receiver->rx.told + receiver->rx.most));
}

struct end {
	int fd;
	uint8_t memory[MAPS][8];
	bool mapped[MAPS];
};

static void change_map(struct end *end, unsigned int i)
{
	if (end->mapped[i])
		assert_int_equal(riounmap(end->fd, end->memory[i], 8), 0);
	else
		assert_int_equal(riomap(end->fd, end->memory[i], 8, PROT_WRITE, 0, i * 8), i * 8);
	end->mapped[i] = !end->mapped[i];
}

/* Some data, which announces the mappings before it, and some that was received. */
static void send_and_receive(struct end *from, struct end *to, size_t len, size_t most)
{
	char data[1500] = { 0 };

	if (rsend(from->fd, data, len, MSG_DONTWAIT) < 0)
		assert_int_equal(errno, EAGAIN);
	if (rrecv(to->fd, data, most, MSG_DONTWAIT) < 0)
		assert_int_equal(errno, EAGAIN);
}

static void drain(int fd)
{
	char data[4096];

	while (rrecv(fd, data, sizeof(data), MSG_DONTWAIT) > 0)
		;
	assert_int_equal(errno, EAGAIN);
}

static void expect_balance_of_any_messages(unsigned int seed)
{
	struct sockets s = connected_as(make_small);
	struct end ends[2] = { { .fd = s.client }, { .fd = s.server } };
	unsigned int i, j;

	srandom(seed);
	for (i = 0; i < 100; i++) {
		for (j = 0; j < 200; j++) {
			struct end *from = &ends[random() % 2], *to = &ends[from == ends];

			if (random() % 3)
				send_and_receive(from, to, 1 + (size_t)random() % 1500,
						 1 + (size_t)random() % 1500);
			else
				change_map(from, (unsigned int)random() % MAPS);
		}
		drain(s.client);
		drain(s.server);
		expect_balance(s.client, s.server);
		expect_balance(s.server, s.client);
	}
	close_all(&s);
	flush_service();
}

SOCKET_TEST(credits_of_any_messages_balance)
{
	unsigned int seed;

	for (seed = 1; seed <= 8; seed++)
		expect_balance_of_any_messages(seed);
}

SOCKET_TEST(credits_of_any_messages_balance_with_iwarp)
{
	unsigned int seed;

	pair_use_iwarp();
	for (seed = 1; seed <= 8; seed++)
		expect_balance_of_any_messages(seed);
}

/* Requests and responses, and a new mapping with each. */
SOCKET_TEST(mappings_take_no_credits_for_good)
{
	struct sockets s = connected_as(make_small);
	uint8_t memory[8];
	unsigned int i;
	char byte;

	for (i = 0; i < CYCLES; i++) {
		assert_int_equal(riomap(s.server, memory, 8, PROT_WRITE, 0, 0), 0);
		assert_int_equal(rsend(s.client, "c", 1, 0), 1);
		assert_int_equal(rrecv(s.server, &byte, 1, 0), 1);
		assert_int_equal(rsend(s.server, "s", 1, MSG_DONTWAIT), 1);
		assert_int_equal(rrecv(s.client, &byte, 1, 0), 1);
		assert_int_equal(riounmap(s.server, memory, 8), 0);
	}
	expect_balance(s.server, s.client);
	close_all(&s);
}

/* A peer that returns no credit for a mapping, as librdmacm, has got a message that takes none. */
SOCKET_TEST(mappings_take_no_credits_of_librdmacm)
{
	struct sockets s = connected_as(make_small);
	struct rcl_stream *sender = stream_of(s.server), *receiver = stream_of(s.client);
	uint8_t memory[8];
	unsigned int i;

	assert_false(sender->librdmacm);
	sender->librdmacm = true;
	for (i = 0; i < 100000; i++) {
		assert_int_equal(riomap(s.server, memory, 8, PROT_WRITE, 0, 0), 0);
		assert_int_equal(rsend(s.server, "s", 1, MSG_DONTWAIT), 1);
		ready(s.client, POLLIN);
		receiver->rx.count--;
		drain(s.client);
		assert_int_equal(riounmap(s.server, memory, 8), 0);
	}
	expect_balance(s.server, s.client);
	close_all(&s);
}

/* The two memory regions of librdmacm tell it from this library. */
PLAIN_TEST(hello_of_librdmacm_has_two_regions)
{
	struct rcl_hello hello = { .credits = 16, .sgl = { .len = 2, .key = 7 }, .data.key = 7 };
	uint8_t wire[RCL_HELLO_LEN];

	rcl_hello_pack(wire, &hello);
	assert_int_equal(rcl_hello_unpack(&hello, wire, sizeof(wire)), 0);
	assert_false(hello.librdmacm);
	hello.data.key = 8;
	rcl_hello_pack(wire, &hello);
	assert_int_equal(rcl_hello_unpack(&hello, wire, sizeof(wire)), 0);
	assert_true(hello.librdmacm);
}

RUN
