// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/* The kinds of calls: the ioctls of the header, and other calls on descriptors. */
#include <rdma/rdma_user_cm.h>
#include <string.h>
#include <sys/mman.h>

#include "fuzz.h"
#include "table.h"

static const uint64_t prots[] = { PROT_READ, PROT_READ | PROT_WRITE, PROT_READ | PROT_EXEC, 0 };
static const uint64_t maps[] = { MAP_SHARED, MAP_PRIVATE };
static const uint64_t parts[] = { 0, 1, 2, 3 };

static const struct member take[] = {
	{ "wait", .size = 4, .kind = K_NUMBER, .high = 3 },
};

static const struct member read_members[] = {
	{ "queue", .size = 4, .kind = K_QUEUE },
	{ "buf", .size = 8, .kind = K_OUT_POINTER },
	{ "len", .size = 8, .kind = K_LEN, .pointer = 1 },
};

static const struct member map_members[] = {
	{ "queue", .size = 4, .kind = K_QUEUE },
	{ "part", .size = 4, .kind = K_SET, .set = parts, .values = COUNT(parts) },
	{ "more", .size = 8, .kind = K_NUMBER, .high = 8192 },
	{ "prot", .size = 4, .kind = K_SET, .set = prots, .values = COUNT(prots) },
	{ "flags", .size = 4, .kind = K_SET, .set = maps, .values = COUNT(maps) },
};

static const struct member unmap[] = {
	{ "which", .size = 4, .kind = K_NUMBER, .high = 3 },
	{ "part", .size = 4, .kind = K_NUMBER, .high = 1 },
};

static const struct member head[] = {
	{ "which", .size = 4, .kind = K_NUMBER, .high = 3 },
	{ "add", .size = 4, .kind = K_NUMBER, .high = 4 },
};

static const struct member queue_alone[] = {
	{ "queue", .size = 4, .kind = K_QUEUE },
};

static const struct member raw[] = {
	{ "cmd", .size = 4, .kind = K_NUMBER, .low = 0xd980, .high = 0xd99f },
	{ "arg", .size = 8, .kind = K_INOUT },
	{ "queue", .size = 4, .kind = K_QUEUE },
};

static const struct member block[] = {
	{ "queue", .size = 4, .kind = K_QUEUE },
	{ "on", .size = 4, .kind = K_NUMBER, .high = 1 },
};

static const struct member user[] = {
	{ "root", .size = 4, .kind = K_NUMBER, .high = 1 },
};

static const struct row others[] = {
	{ "take", TAKE, 0, 0, take, COUNT(take) },
	{ "read", READ, 0, 0, read_members, COUNT(read_members) },
	{ "mmap", MMAP, 0, 0, map_members, COUNT(map_members) },
	{ "munmap", MUNMAP, 0, 0, unmap, COUNT(unmap) },
	{ "head", HEAD, 0, 0, head, COUNT(head) },
	{ "close", CLOSE, 0, 0, queue_alone, COUNT(queue_alone) },
	{ "dup", DUP, 0, 0, queue_alone, COUNT(queue_alone) },
	{ "hangup", HANGUP, 0, 0, NULL, 0 },
	{ "raw", RAW, 0, 0, raw, COUNT(raw) },
	{ "block", BLOCK, 0, 0, block, COUNT(block) },
	{ "user", USER, 0, 0, user, COUNT(user) },
};

const unsigned int row_count = COUNT(ioctls) + COUNT(others);

const struct row *row_get(unsigned int number)
{
	return number < COUNT(ioctls) ? &ioctls[number] : &others[number - COUNT(ioctls)];
}

bool row_is_ioctl(const struct row *row)
{
	return row->size;
}

int row_find(const char *name)
{
	for (unsigned int i = 0; i < row_count; i++)
		if (!strcmp(row_get(i)->name, name))
			return i;
	return -1;
}

int member_find(const struct row *row, const char *name)
{
	for (unsigned int i = 0; i < row->count; i++)
		if (!strcmp(row->members[i].name, name))
			return i;
	return -1;
}
