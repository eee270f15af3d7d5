// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/* Every option in every state that a program can bring an id to; results as those of stock. */
#include "rca_test.h"

#define USABLE (IB_PATH_GMP | IB_PATH_PRIMARY | IB_PATH_BIDIRECTIONAL)

enum {
	TOS = 1 << 0,
	REUSE = 1 << 1,
	UNREUSE = 1 << 2,
	AFONLY = 1 << 3,
	ACK_TIMEOUT = 1 << 4,
	PATH = 1 << 5,
	ALL = (1 << 6) - 1,

	/* Options that can be set in every state. */
	ALWAYS = TOS | ACK_TIMEOUT,
};

static int set(int ctx, uint32_t id, int option)
{
	struct ib_path_rec_data path = { .flags = USABLE };
	uint8_t byte = 20;
	int on = 1, off = 0;

	switch (option) {
	case TOS:
		return rca_set_option(ctx, id, RDMA_OPTION_ID, RDMA_OPTION_ID_TOS, &byte, 1);
	case REUSE:
		return rca_set_option(ctx, id, RDMA_OPTION_ID, RDMA_OPTION_ID_REUSEADDR, &on,
				      sizeof(on));
	case UNREUSE:
		return rca_set_option(ctx, id, RDMA_OPTION_ID, RDMA_OPTION_ID_REUSEADDR, &off,
				      sizeof(off));
	case AFONLY:
		return rca_set_option(ctx, id, RDMA_OPTION_ID, RDMA_OPTION_ID_AFONLY, &on,
				      sizeof(on));
	case ACK_TIMEOUT:
		return rca_set_option(ctx, id, RDMA_OPTION_ID, RDMA_OPTION_ID_ACK_TIMEOUT,
				      &byte, 1);
	case PATH:
		return rca_set_option(ctx, id, RDMA_OPTION_IB, RDMA_OPTION_IB_PATH, &path,
				      sizeof(path));
	default:
		return -ENOSYS;
	}
}

/* The options in @allowed can be set, the others are EINVAL. */
static void check(int ctx, uint32_t id, int allowed)
{
	static const char * const names[] = {
		"TOS", "REUSEADDR on", "REUSEADDR off", "AFONLY", "ACK_TIMEOUT", "IB_PATH",
	};

	for (int i = 0; 1 << i <= ALL; i++) {
		int wanted = allowed & 1 << i ? 0 : -EINVAL;
		int ret = set(ctx, id, 1 << i);

		if (ret != wanted)
			ktap_fail(__FILE__, __LINE__, "%s: %d, wanted %d", names[i], ret, wanted);
	}
}

TEST(idle)
{
	int ctx = get_ctx();

	check(ctx, get_id(ctx, -1, 0), ALWAYS | REUSE | UNREUSE | AFONLY);
}

TEST(bound)
{
	int ctx = get_ctx();

	check(ctx, get_bound(ctx, -1, HERE, 0), ALWAYS | REUSE | AFONLY);
	check(ctx, get_bound(ctx, -1, "::", 0), ALWAYS | REUSE | AFONLY);
}

TEST(resolving_the_address)
{
	int ctx = get_ctx(), queue = get_queue(ctx);
	uint32_t id = get_id(ctx, queue, 0);

	EXPECT_EQ(rca_resolve_addr(ctx, id, NULL, NOBODY, 1), 0);
	check(ctx, id, ALWAYS | REUSE);
	EXPECT_EVENT_STATUS(queue, ADDR_ERROR, id, -ETIMEDOUT, NULL);
	/* The id is in the state bound again. */
	check(ctx, id, ALWAYS | REUSE | AFONLY);
}

TEST(address_resolved)
{
	int ctx = get_ctx(), queue = get_queue(ctx);
	uint32_t id = get_loaded(ctx, queue, 0);

	check(ctx, id, ALWAYS | REUSE | PATH);
	EXPECT_EVENT(queue, ROUTE_RESOLVED, id);
}

TEST(route_resolved)
{
	struct pair p = get_routed(HERE);

	check(p.ctx, p.client, ALWAYS | REUSE);
	EXPECT(!event_waits(p.cq));
}

TEST(request_sent_and_received)
{
	struct pair p = get_requested(NULL);

	check(p.ctx, p.client, ALWAYS | REUSE);
	check(p.ctx, p.server, ALWAYS | REUSE);
}

TEST(reply_sent_and_received)
{
	struct pair p = get_accepted(NULL);

	check(p.ctx, p.client, ALWAYS | REUSE);
	check(p.ctx, p.server, ALWAYS | REUSE);
}

TEST(connected_and_disconnected)
{
	struct pair p = get_connected();

	check(p.ctx, p.client, ALWAYS | REUSE);
	check(p.ctx, p.server, ALWAYS | REUSE);
	EXPECT_EQ(rca_disconnect(p.ctx, p.client), 0);
	EXPECT_EVENT(p.cq, DISCONNECTED, p.client);
	check(p.ctx, p.client, ALWAYS | REUSE);
	check(p.ctx, p.server, ALWAYS | REUSE);
}

TEST(rejected)
{
	struct pair p = get_requested(NULL);

	EXPECT_EQ(rca_reject(p.ctx, p.server, 0, NULL, 0), 0);
	EXPECT_EVENT_STATUS(p.cq, REJECTED, p.client, 28, NULL);
	check(p.ctx, p.client, ALWAYS | REUSE);
	check(p.ctx, p.server, ALWAYS | REUSE);
}

TEST(listening)
{
	struct pair p = get_listening(HERE);

	check(p.ctx, p.listener, ALWAYS);
}

KTAP_MAIN
