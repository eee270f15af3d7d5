// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/* Tests of riomap(), riounmap() and riowrite(). */
#include <sys/mman.h>

#include "sockets.h"

SOCKET_TEST(mapped_memory_is_written_to)
{
	struct sockets s = connected_as(make_small);
	uint8_t memory[3000] = { 0 }, data[3000];

	fill_pattern(data, 0, sizeof(data));
	assert_int_equal(riomap(s.server, memory, sizeof(memory), PROT_WRITE, 0, 1000), 1000);
	/* The client is not told yet. */
	assert_int_equal(riowrite(s.client, data, 10, 1000, 0), 0);
	pass_byte(&s);
	assert_int_equal(riowrite(s.client, data, sizeof(data), 1000, 0), sizeof(data));
	expect_pattern(memory, 0, sizeof(memory));
	assert_int_equal(riowrite(s.client, data, 100, 1000 + 2990, 0), 10);
	assert_int_equal(riowrite(s.client, data, 1, 4000, 0), 0);
	assert_int_equal(riowrite(s.client, data, 1, 999, 0), 0);
	assert_int_equal(riounmap(s.server, memory, sizeof(memory)), 0);
	assert_fails(EINVAL, riounmap(s.server, memory, sizeof(memory)));
	close_all(&s);
}

SOCKET_TEST(offset_may_be_the_address)
{
	struct sockets s = connected_as(make_small);
	uint8_t memory[100] = { 0 };
	off_t offset;

	offset = riomap(s.server, memory, sizeof(memory), PROT_WRITE, 0, -1);
	assert_true(offset == (off_t)(uintptr_t)memory);
	pass_byte(&s);
	assert_int_equal(riowrite(s.client, "abc", 3, offset + 97, 0), 3);
	assert_memory_equal(memory + 97, "abc", 3);
	close_all(&s);
}

/* A write over the border of two mappings goes on in the second one. */
SOCKET_TEST(mappings_may_be_neighbours)
{
	struct sockets s = connected_as(make_small);
	uint8_t memory[2][50] = { { 0 } }, data[100];

	fill_pattern(data, 0, sizeof(data));
	assert_int_equal(riomap(s.server, memory[0], 50, PROT_WRITE, 0, 0), 0);
	assert_int_equal(riomap(s.server, memory[1], 50, PROT_WRITE, 0, 50), 50);
	pass_byte(&s);
	assert_int_equal(riowrite(s.client, data, 100, 0, 0), 100);
	expect_pattern(memory[0], 0, 50);
	expect_pattern(memory[1], 50, 50);
	close_all(&s);
}

SOCKET_TEST(table_of_the_peer_is_a_limit)
{
	struct sockets s = connected_as(make_small);
	uint8_t memory[5][8];
	int i;

	for (i = 0; i < 4; i++)
		assert_int_equal(riomap(s.server, memory[i], 8, PROT_WRITE, 0, i * 8), i * 8);
	assert_fails(ENOMEM, riomap(s.server, memory[4], 8, PROT_WRITE, 0, 32));
	/* One that the peer is not told needs no entry. */
	assert_int_equal(riomap(s.server, memory[4], 8, PROT_NONE, 0, 32), 32);
	assert_int_equal(riounmap(s.server, memory[1], 8), 0);
	assert_int_equal(riounmap(s.server, memory[4], 8), 0);
	assert_int_equal(riomap(s.server, memory[4], 8, PROT_WRITE, 0, 32), 32);
	pass_byte(&s);
	assert_int_equal(riowrite(s.client, "12345678", 8, 32, 0), 8);
	assert_memory_equal(memory[4], "12345678", 8);
	close_all(&s);
}

/* Many mappings, one after the other: they take no credits for good. */
SOCKET_TEST(mappings_do_not_use_up_the_connection)
{
	struct sockets s = connected_as(make_small);
	uint8_t memory[8];
	int i;

	for (i = 0; i < 100; i++) {
		assert_int_equal(riomap(s.server, memory, 8, PROT_WRITE, 0, 0), 0);
		pass_byte(&s);
		assert_int_equal(riounmap(s.server, memory, 8), 0);
	}
	close_all(&s);
}

SOCKET_TEST(wrong_arguments_are_einval)
{
	struct sockets s = connected_as(make_small);
	int fd = new_socket();
	uint8_t memory[8];

	assert_fails(EINVAL, riomap(s.server, memory, 8, PROT_EXEC, 0, 0));
	assert_fails(EINVAL, riomap(s.server, memory, 0, PROT_WRITE, 0, 0));
	assert_fails(EINVAL, riomap(fd, memory, 8, PROT_WRITE, 0, 0));
	assert_fails(EINVAL, riounmap(fd, memory, 8));
	assert_int_equal(rclose(fd), 0);
	close_all(&s);
}

RUN
