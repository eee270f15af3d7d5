// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/* Limits: users, the module's parameters, and the use of resources. */
#include "limits.h"


#define RESOURCES (RING_PAGES + 1)

static const char * const names[RESOURCES] = {
	[CONTEXTS] = "contexts", [QUEUES] = "queues", [IDS] = "ids", [REQUESTS] = "requests",
	[MEMBERSHIPS] = "memberships", [EVENTS] = "events", [RING_PAGES] = "ring_pages",
};

#define PERCENT RESOURCES	/* the part of a context, in percent */

static char first[RESOURCES + 1][16];	/* the parameters when the program began */

static int open_limit(uint32_t what, int flags)
{
	char path[96];

	snprintf(path, sizeof(path), "/sys/module/rdma_cm_alt/parameters/max_%s_%s",
		 what == PERCENT ? "context" : "user", what == PERCENT ? "percent" : names[what]);
	return open(path, flags | O_CLOEXEC);
}

__attribute__((constructor)) static void remember_limits(void)
{
	for (uint32_t what = 0; what <= PERCENT; what++) {
		int fd = open_limit(what, O_RDONLY);

		/* The module is not loaded. */
		if (fd < 0)
			continue;
		if (read(fd, first[what], sizeof(first[0]) - 1) < 0)
			first[what][0] = 0;
		close(fd);
	}
}

void become(unsigned int uid)
{
	/* Root stays the saved user ID. */
	MUST(setresuid(uid, uid, 0));
}

int open_as(unsigned int uid)
{
	int ctx;

	become(uid);
	ctx = get_ctx();
	become(0);
	return ctx;
}

int write_limit(uint32_t what, const char *value)
{
	int fd = open_limit(what, O_WRONLY), ret;

	if (fd < 0)
		return -errno;
	/* sysfs does not pass on an empty write. */
	ret = *value ? write(fd, value, strlen(value)) : write(fd, "\n", 1);
	ret = ret < 0 ? -errno : 0;
	close(fd);
	return ret;
}

int write_percent(const char *value)
{
	return write_limit(PERCENT, value);
}

void set_limit(enum scope scope, uint32_t what, uint32_t value)
{
	char text[16];

	become(0);
	snprintf(text, sizeof(text), "%u", scope == USER ? value : 2 * value);
	EXPECT_EQ(write_limit(what, text), 0);
	EXPECT_EQ(write_percent(scope == USER ? "100" : "50"), 0);
}

static uint32_t read_limit(uint32_t what)
{
	char text[16] = "";
	int fd = MUST(open_limit(what, O_RDONLY));

	EXPECT(read(fd, text, sizeof(text) - 1) > 0);
	MUST(close(fd));
	return strtoul(text, NULL, 10);
}

uint32_t get_limit(enum scope scope, uint32_t what)
{
	uint64_t limit = read_limit(what);

	return scope == USER ? limit : (limit * read_limit(PERCENT) + 99) / 100;
}

void limits_reset(void)
{
	for (uint32_t what = 0; what <= PERCENT; what++)
		if (first[what][0])
			EXPECT_EQ(write_limit(what, first[what]), 0);
}

usage_t usage_as(unsigned int uid, int ctx, uint32_t what)
{
	usage_t usage = { .size = sizeof(usage), .resource = what };

	become(uid);
	EXPECT_EQ(rca_call(ctx, RDMA_CM_ALT_USAGE, &usage), 0);
	become(0);
	return usage;
}

static void differ(usage_t usage, uint32_t context, uint32_t user)
{
	ktap_fail(__FILE__, __LINE__, "%s: context %u, user %u; wanted %u, %u",
		  names[usage.resource], usage.out_context_used, usage.out_user_used, context,
		  user);
}

static bool same(const usage_t *usage, uint32_t context, uint32_t user)
{
	return usage->out_context_used == context && usage->out_user_used == user;
}

void expect_usage(unsigned int uid, int ctx, uint32_t what, uint32_t context, uint32_t user)
{
	usage_t usage = usage_as(uid, ctx, what);

	if (!same(&usage, context, user))
		differ(usage, context, user);
}

void await_usage(unsigned int uid, int ctx, uint32_t what, uint32_t context, uint32_t user)
{
	usage_t usage;

	for (int i = 0; i < PATIENCE * 100; i++) {
		usage = usage_as(uid, ctx, what);
		if (same(&usage, context, user))
			return;
		usleep(10000);
	}
	differ(usage, context, user);
}

void write_or_skip(const char *path, const char *text)
{
	int fd = open(path, O_WRONLY | O_CLOEXEC);

	if (fd < 0 || write(fd, text, strlen(text)) < 0)
		ktap_skip("%s: %m", path);
	close(fd);
}
