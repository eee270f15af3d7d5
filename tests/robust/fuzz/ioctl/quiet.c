// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/* Objects that are left in the kernel, and a file of programs that survives its crash. */
#define _GNU_SOURCE
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "fuzz.h"
#include "ktap.h"

#define PATIENCE_MS 60000
#define KEPT 16			/* programs in the file */
#define MAGIC 0x7a7a7566

#define RESOURCES 7

static const unsigned int uids[CTXS] = { 0, 1000 };
static int control[CTXS] = { -1, -1 };
static uint32_t base[CTXS][RESOURCES];
static int last_fd = -1;

unsigned long longest_quiet_ms;

static const char * const resources[RESOURCES] = {
	"contexts", "queues", "ids", "requests", "memberships", "events", "ring pages",
};

/* Header of a program in the file. */
struct head {
	uint32_t magic;
	uint32_t bytes;
	uint64_t number;
};

struct kept {
	struct head head;
	struct program program;
};

static int open_as(unsigned int uid)
{
	int fd;

	MUST(seteuid(uid));
	fd = MUST(open("/dev/rdma_cm_alt", O_RDWR | O_CLOEXEC));
	MUST(seteuid(0));
	return fd;
}

/* FUZZ_LAST in the environment is a file for the last programs. */
void quiet_init(void)
{
	const char *path = getenv("FUZZ_LAST");

	for (unsigned int i = 0; i < CTXS; i++)
		control[i] = open_as(uids[i]);
	quiet_base();
	if (path)
		last_fd = MUST(open(path, O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0600));
}

static uint32_t now(unsigned int user, uint32_t resource)
{
	struct rdma_cm_alt_usage cmd = { .size = sizeof(cmd), .resource = resource };

	MUST(seteuid(uids[user]));
	MUST(ioctl(control[user], RDMA_CM_ALT_USAGE, &cmd));
	MUST(seteuid(0));
	return cmd.out_user_used;
}

static uint32_t used(unsigned int user, uint32_t resource)
{
	uint32_t is = now(user, resource), was = base[user][resource];

	return is > was ? is - was : 0;
}

/* Makes the present usage the reference of later checks. */
void quiet_base(void)
{
	for (unsigned int user = 0; user < CTXS; user++)
		for (uint32_t i = 0; i < COUNT(resources); i++)
			base[user][i] = now(user, i);
}

/* Prints what is used beyond the reference; empty: nothing. */
static void list_left(char *text, size_t len)
{
	*text = 0;
	for (unsigned int user = 0; user < CTXS; user++) {
		for (uint32_t i = 0; i < COUNT(resources); i++) {
			uint32_t left = used(user, i);
			size_t at = strlen(text);

			if (left)
				snprintf(text + at, len - at, "%s%u %s of user %u", at ? ", " : "",
					 left, resources[i], uids[user]);
		}
	}
}

/* Waits until nothing is left of the programs. Returns NULL or a description of what is left. */
const char *quiet_wait(unsigned int patience_ms)
{
	unsigned long start = now_ms(), took;
	static char text[256];

	patience_begin();
	do {
		list_left(text, sizeof(text));
		took = now_ms() - start;
		if (!*text) {
			if (took > longest_quiet_ms)
				longest_quiet_ms = took;
			return NULL;
		}
		usleep(1000);
	} while (took < patience_ms);
	return text;
}

/* Records a program for the case that it crashes the kernel. */
void last_program(const struct program *program)
{
	size_t len = offsetof(struct program, call) + program->calls * sizeof(program->call[0]);
	struct kept kept = { { MAGIC, len, executions }, {} };

	if (last_fd < 0)
		return;
	/* Without buffering, because the kernel may crash next. */
	memcpy(&kept.program, program, len);
	if (pwrite(last_fd, &kept, offsetof(struct kept, program) + len,
		   executions % KEPT * sizeof(kept)) < 0)
		complain("FUZZ_LAST: %m");
}

static int by_number(const void *a, const void *b)
{
	const struct kept *one = a, *other = b;

	return one->head.number < other->head.number ? -1 : one->head.number > other->head.number;
}

/* Calls @take for each program of the file, in order. False: it is no such file. */
bool last_programs(FILE *file, void (*take)(const struct program *program))
{
	static struct kept kept[KEPT];
	size_t count = fread(kept, 1, sizeof(kept), file) / sizeof(kept[0]) + 1;

	if (count > KEPT)
		count = KEPT;
	qsort(kept, count, sizeof(kept[0]), by_number);
	for (size_t i = 0; i < count; i++) {
		if (!kept[i].head.bytes)
			continue;
		if (kept[i].head.magic != MAGIC || kept[i].program.calls > MAX_CALLS)
			return false;
		take(&kept[i].program);
	}
	return true;
}
