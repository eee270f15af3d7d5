// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/* Tests of the messages that are kept in memory. */
#include "fixture.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "capture/recorder/kept.h"
#include "capture/recorder/stored.h"

enum { ROOM = 4 };

static const struct record_port ports[] = {
	{ .device = "rocep1s0", .port = 1 },
	{ .device = "rocep1s0", .port = 2 },
	{ .device = "ibp2s0", .port = 1 },
};

/* struct place - a directory of the test, and the file in it */
struct place {
	char directory[64];
	char name[96];
	char why[256];
};

static int set_up(void **state)
{
	struct place *place = calloc(1, sizeof(*place));

	strcpy(place->directory, "/tmp/kept-test-XXXXXX");
	assert_non_null(mkdtemp(place->directory));
	snprintf(place->name, sizeof(place->name), "%s/new/kept", place->directory);
	*state = place;
	return 0;
}

static int tear_down(void **state)
{
	struct place *place = *state;

	char old[KEPT_NAME];

	unlink(place->name);
	assert_true(kept_old_name(old, place->name));
	unlink(old);
	*strrchr(place->name, '/') = '\0';
	rmdir(place->name);
	rmdir(place->directory);
	free(place);
	return 0;
}

static struct kept *create(struct place *place, uint32_t room)
{
	struct kept *kept = kept_create(place->name, room, false, place->why, sizeof(place->why));

	assert_non_null(kept);
	return kept;
}

/* Adds messages of a port; handles tell them apart. */
static void add(struct kept *kept, unsigned int port, uint32_t from, uint32_t to)
{
	struct record_entry entry = fixture_message(CM_REQ, true, RECORD_ROCE_V2);

	entry.port = port;
	for (uint32_t i = from; i <= to; i++) {
		entry.id.handle = i;
		assert_int_equal(kept_add(kept, ports, 3, &entry), 0);
	}
}

static struct kept_copy read_back(struct place *place)
{
	struct kept_copy copy;

	assert_int_equal(kept_read(place->name, &copy, place->why, sizeof(place->why)), 0);
	return copy;
}

static void keeps_the_last_of_each_port(void **state)
{
	static const struct { uint32_t handle; const char *device; uint32_t port; } expected[] = {
		{ 3, "ibp2s0", 1 }, { 4, "ibp2s0", 1 }, { 5, "ibp2s0", 1 }, { 6, "ibp2s0", 1 },
		{ 101, "rocep1s0", 2 }, { 102, "rocep1s0", 2 },
	};
	struct place *place = *state;
	struct kept *kept = create(place, ROOM);
	struct record_port dropped[3];
	struct kept_copy copy;

	copy = read_back(place);
	assert_int_equal(copy.count, 0);
	kept_free(&copy);
	add(kept, 2, 1, 6);
	add(kept, 1, 101, 102);
	memcpy(dropped, ports, sizeof(ports));
	dropped[2].dropped = 9;
	kept_drops(kept, dropped, 3);
	copy = read_back(place);
	assert_int_equal(copy.room, ROOM);
	assert_int_equal(copy.pid, getpid());
	assert_int_equal(copy.n_ports, 2);
	assert_int_equal(copy.ports[0].dropped, 9);
	assert_int_equal(copy.count, 6);
	for (size_t i = 0; i < copy.count; i++) {
		const struct record_entry *entry = copy.entries[i];

		assert_int_equal(entry->id.handle, expected[i].handle);
		assert_string_equal(copy.ports[entry->port].device, expected[i].device);
		assert_int_equal(copy.ports[entry->port].port, expected[i].port);
	}
	kept_free(&copy);
	kept_close(kept, true);
}

/* The order of messages is that of all ports, not that of a port after the other. */
static void keeps_the_order(void **state)
{
	struct place *place = *state;
	struct kept *kept = create(place, ROOM);
	struct kept_copy copy;

	for (uint32_t i = 1; i <= ROOM; i++)
		add(kept, i % 2, i, i);
	copy = read_back(place);
	assert_int_equal(copy.count, ROOM);
	for (uint32_t i = 0; i < ROOM; i++)
		assert_int_equal(copy.entries[i]->id.handle, i + 1);
	kept_free(&copy);
	kept_close(kept, true);
}

static void takes_no_more_memory_than_told(void **state)
{
	struct place *place = *state;
	struct kept *kept = create(place, 1000);
	struct stat before, after;

	assert_int_equal(stat(place->name, &before), 0);
	assert_int_equal(before.st_mode & 0777, 0600);
	add(kept, 0, 1, 5000);
	add(kept, 1, 1, 5000);
	assert_int_equal(stat(place->name, &after), 0);
	assert_int_equal(after.st_size - before.st_size, 2 * kept_bytes(1000, false));
	kept_close(kept, true);
}

/* Without frames, a message takes the memory that the documents tell. */
static void takes_less_memory_without_frames(void **state)
{
	(void)state;
	assert_in_range(kept_bytes(1000, false), 1, 1000 * 500);
	assert_in_range(kept_bytes(1000, true), 1000 * RECORD_FRAME_LEN, 1000 * 6300);
}

/* A frame with so many ties, of which each byte and number is the same. */
static struct record_entry frame_of(uint8_t value, unsigned int len, unsigned int n_ties)
{
	struct record_entry entry = fixture_message(CM_RTU, true, RECORD_ROCE_V2);

	entry.kind = RECORD_TRUNK;
	entry.len = len;
	memset(entry.bytes, 0, sizeof(entry.bytes));
	memset(entry.bytes, value, len);
	entry.n_ties = n_ties;
	for (unsigned int i = 0; i < n_ties; i++)
		entry.ties[i] = (struct record_tie){ i, value, { value, i + 1 }, "crowd" };
	return entry;
}

/* A frame is whole, and has nothing of those that were in its slot before. */
static void keeps_frames(void **state)
{
	const struct record_entry frames[] = {
		frame_of(1, RECORD_FRAME_LEN, RECORD_TIES), frame_of(2, 33, 1), frame_of(3, 24, 0),
		frame_of(4, 700, 80),
	};
	struct place *place = *state;
	struct kept *kept = kept_create(place->name, 1, true, place->why, sizeof(place->why));
	struct record_entry got;

	assert_non_null(kept);
	for (unsigned int i = 0; i < sizeof(frames) / sizeof(frames[0]); i++) {
		struct kept_copy copy;

		assert_int_equal(kept_add(kept, ports, 3, &frames[i]), 0);
		copy = read_back(place);
		assert_int_equal(copy.count, 1);
		stored_get(copy.entries[0], &got);
		assert_int_equal(got.len, frames[i].len);
		assert_memory_equal(got.bytes, frames[i].bytes, sizeof(got.bytes));
		assert_int_equal(got.n_ties, frames[i].n_ties);
		for (unsigned int j = 0; j < got.n_ties; j++) {
			assert_int_equal(got.ties[j].conn, j);
			assert_true(record_same_id(&got.ties[j].id, &frames[i].ties[j].id));
			assert_string_equal(got.ties[j].program, "crowd");
		}
		kept_free(&copy);
	}
	kept_close(kept, true);
	kept = create(place, ROOM);
	assert_int_equal(kept_add(kept, ports, 3, &frames[0]), -EINVAL);
	kept_close(kept, true);
}

static void refuses_a_second_process(void **state)
{
	struct place *place = *state;
	struct kept *kept = create(place, ROOM);
	char expected[64];

	add(kept, 0, 1, 1);
	assert_null(kept_create(place->name, ROOM, false, place->why, sizeof(place->why)));
	snprintf(expected, sizeof(expected), "process %d keeps messages already", getpid());
	assert_non_null(strstr(place->why, expected));
	/* Those of the first process are still there. */
	add(kept, 0, 2, 2);
	kept_close(kept, false);
}

static int read_old(struct place *place, struct kept_copy *copy)
{
	char old[KEPT_NAME];

	assert_true(kept_old_name(old, place->name));
	return kept_read(old, copy, place->why, sizeof(place->why));
}

/* Messages 1 to 3 of port 0 of a process that has ended, and later ones of this process. */
static void both_are_read(struct place *place)
{
	static const uint32_t expected[][2] = {	/* handle, port */
		{ 1, 0 }, { 2, 0 }, { 3, 0 }, { 4, 1 }, { 5, 0 }, { 6, 0 },
	};
	struct kept_copy copy, later = read_back(place);

	assert_int_equal(later.pid, getpid());
	assert_int_equal(later.count, 3);
	assert_int_equal(read_old(place, &copy), 0);
	assert_int_equal(copy.pid, 0);
	assert_int_equal(copy.count, 3);
	assert_int_equal(kept_join(&copy, &later), 0);
	kept_free(&later);
	assert_int_equal(copy.pid, getpid());
	assert_int_equal(copy.n_ports, 2);
	assert_int_equal(copy.count, 6);
	for (size_t i = 0; i < copy.count; i++) {
		assert_int_equal(copy.entries[i]->id.handle, expected[i][0]);
		assert_int_equal(copy.ports[copy.entries[i]->port].port,
				 ports[expected[i][1]].port);
	}
	kept_free(&copy);
}

static void survives_its_process(void **state)
{
	struct place *place = *state;
	struct kept_copy copy;
	struct kept *kept;
	pid_t pid = fork();
	int status;

	if (!pid) {
		add(create(place, ROOM), 0, 1, 3);
		_exit(0);
	}
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_int_equal(status, 0);
	copy = read_back(place);
	assert_int_equal(copy.pid, 0);
	assert_int_equal(copy.count, 3);
	kept_free(&copy);
	/* The next process begins anew; one that ends without a message changes nothing. */
	kept_close(create(place, ROOM), false);
	kept = create(place, ROOM);
	add(kept, 1, 4, 4);
	add(kept, 0, 5, 6);
	both_are_read(place);
	kept_close(kept, true);
	assert_int_equal(kept_read(place->name, &copy, place->why, sizeof(place->why)), -ENOENT);
	assert_non_null(strstr(place->why, "record --keep"));
	assert_int_equal(read_old(place, &copy), -ENOENT);
}

/* A file that another process has put there meanwhile stays. */
static void leaves_the_file_of_another(void **state)
{
	struct place *place = *state;
	struct kept *kept = create(place, ROOM);

	assert_int_equal(unlink(place->name), 0);
	close(open(place->name, O_WRONLY | O_CREAT | O_EXCL, 0600));
	kept_close(kept, true);
	assert_int_equal(access(place->name, F_OK), 0);
}

static void refuses_other_files(void **state)
{
	static const uint32_t wrong[][3] = {	/* offset, value, -errno */
		{ 0, 1, EBADMSG }, { 8, 1, EBADMSG }, { 12, 0, EBADMSG },
		{ 12, KEPT_MAX + 1, EBADMSG }, { 12, KEPT_MAX, EBADMSG },
		{ 20, KEPT_PORTS + 1, EBADMSG }, { 20, 2, EBADMSG }, { 24, 1, EBADMSG },
		{ 24, 2, EBADMSG },
	};
	struct place *place = *state;

	for (size_t i = 0; i < sizeof(wrong) / sizeof(*wrong); i++) {
		struct kept *kept = create(place, ROOM);
		struct kept_copy copy;
		int fd;

		add(kept, 0, 1, 1);
		kept_close(kept, false);
		fd = open(place->name, O_RDWR);
		assert_int_equal(pwrite(fd, &wrong[i][1], 4, wrong[i][0]), 4);
		close(fd);
		assert_int_equal(kept_read(place->name, &copy, place->why, sizeof(place->why)),
				 -(int)wrong[i][2]);
		assert_non_null(strstr(place->why, place->name));
		assert_null(copy.entries);
	}
}

/* struct writing - a thread that adds messages until it is stopped */
struct writing {
	struct kept *kept;
	atomic_bool stop;
};

static void *write_on(void *arg)
{
	struct record_entry entry = fixture_message(CM_REQ, true, RECORD_ROCE_V2);
	struct writing *writing = arg;

	for (uint32_t i = 1; !writing->stop; i++) {
		entry.id.handle = i;
		memset(entry.bytes, (int)i, sizeof(entry.bytes));
		kept_add(writing->kept, ports, 3, &entry);
	}
	return NULL;
}

/* What is read while messages are added is whole, and in order. */
static void reads_whole_messages(void **state)
{
	struct place *place = *state;
	struct writing writing = { .kept = create(place, ROOM) };
	pthread_t thread;
	size_t seen = 0;

	assert_int_equal(pthread_create(&thread, NULL, write_on, &writing), 0);
	for (unsigned int i = 0; i < 20000 || !seen; i++) {
		struct kept_copy copy = read_back(place);

		for (size_t j = 0; j < copy.count; j++) {
			const struct record_entry *entry = copy.entries[j];

			for (size_t k = 0; k < entry->len; k++)
				if (entry->bytes[k] != (uint8_t)entry->id.handle)
					fail_msg("a part of another message was read");
			assert_true(!j || entry->id.handle > copy.entries[j - 1]->id.handle);
		}
		seen += copy.count;
		kept_free(&copy);
	}
	writing.stop = true;
	pthread_join(thread, NULL);
	kept_close(writing.kept, true);
}

static void tells_where_it_cannot_be(void **state)
{
	struct place *place = *state;

	assert_null(kept_create("/dev/null/kept", ROOM, false, place->why, sizeof(place->why)));
	assert_non_null(strstr(place->why, "/dev/null/kept"));
}

#define TEST(function) cmocka_unit_test_setup_teardown(function, set_up, tear_down)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(keeps_the_last_of_each_port),
		TEST(keeps_the_order),
		TEST(takes_no_more_memory_than_told),
		TEST(takes_less_memory_without_frames),
		TEST(keeps_frames),
		TEST(refuses_a_second_process),
		TEST(survives_its_process),
		TEST(leaves_the_file_of_another),
		TEST(refuses_other_files),
		TEST(reads_whole_messages),
		TEST(tells_where_it_cannot_be),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
