// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/* Resources that the module and all RDMA devices have in use. */
#include "inventory.h"


static int read_references(void)
{
	FILE *file = fopen("/sys/module/rdma_cm_alt/refcnt", "r");
	int count;

	EXPECT(file);
	EXPECT_EQ(fscanf(file, "%d", &count), 1);
	fclose(file);
	return count;
}

/* Without the index of the device, which differs when the device was added again. */
static void read_resources(char *text, size_t size)
{
	FILE *file = popen("rdma resource show | cut -d: -f2-", "r");
	size_t len;

	EXPECT(file);
	len = fread(text, 1, size - 1, file);
	text[len] = 0;
	EXPECT_EQ(pclose(file), 0);
	EXPECT(len > 0 && len < size - 1);
}

void inventory_take(struct inventory *inventory)
{
	int ctx = get_ctx();

	for (uint32_t what = 0; what <= RING_PAGES; what++)
		inventory->used[what] = usage_as(0, ctx, what).out_user_used;
	MUST(close(ctx));
	inventory->references = read_references();
	read_resources(inventory->resources, sizeof(inventory->resources));
}

static bool same(const struct inventory *a, const struct inventory *b)
{
	return !memcmp(a->used, b->used, sizeof(a->used)) && a->references == b->references &&
	       !strcmp(a->resources, b->resources);
}

static void tell_difference(const struct inventory *now, const struct inventory *before)
{
	static const char * const names[] = {
		[CONTEXTS] = "contexts", [QUEUES] = "queues", [IDS] = "ids",
		[REQUESTS] = "requests", [MEMBERSHIPS] = "memberships", [EVENTS] = "events",
		[RING_PAGES] = "ring pages",
	};

	for (uint32_t what = 0; what <= RING_PAGES; what++)
		if (now->used[what] != before->used[what])
			ktap_note("%s: %u, before: %u", names[what], now->used[what],
				  before->used[what]);
	if (now->references != before->references)
		ktap_note("references of the module: %d, before: %d", now->references,
			  before->references);
	if (strcmp(now->resources, before->resources))
		ktap_note("resources:\n%s\nbefore:\n%s", now->resources, before->resources);
}

void inventory_await(const struct inventory *before)
{
	struct inventory now;

	for (int i = 0; i < PATIENCE * 10; i++) {
		inventory_take(&now);
		if (same(&now, before))
			return;
		usleep(100000);
	}
	tell_difference(&now, before);
	ktap_fail(__FILE__, __LINE__, "something is left");
}
