// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * Queries of several users to the subnet administrator over one port, which answers those of one
 * kind only. The adapters are those of ib.py, which runs this program.
 */
#include <endian.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "hca.h"
#include "limits.h"
#include "rca_test.h"

#define DEFAULT_PKEY 0xffff
#define OTHERS 4	/* users that together have all places */
#define MANY 300	/* queries of a user: more than there are places */
#define DAYS INT32_MAX	/* 24 of them, in milliseconds */
#define SHARE 96	/* of the places, for one user */
#define NEVER 20	/* seconds */
#define QUERIES 10

/* In seconds. Other users wait for half a second before one of several gives way. */
#define BOUND 0.5
#define BOUND_OF_SEVERAL 1.5

/* The first GID of an adapter with a service ID. */
static addr_t gid_of(const char *adapter, uint64_t sid)
{
	struct sib sib = {
		.family = AF_IB, .pkey = htobe16(DEFAULT_PKEY),
		.sid = htobe64(((uint64_t)RDMA_PS_IB << 16) + sid), .sid_mask = UINT64_MAX,
	};
	char text[GID_TEXT];
	addr_t addr;

	EXPECT_EQ(inet_pton(AF_INET6, hca_gid(adapter, 1, text), sib.addr), 1);
	memcpy(&addr, &sib, sizeof(addr));
	return addr;
}

static uint32_t bound(int ctx, int queue)
{
	uint32_t id;

	EXPECT_EQ(rca_create(ctx, queue, RDMA_PS_IB, IB_UVERBS_QPT_RC, 0, &id), 0);
	EXPECT_EQ(RCA_CALL(ctx, RESOLVE, rdma_cm_alt_resolve, .pipe = {
			.steps = RDMA_CM_ALT_STEP_BIND, .id = id, .queue_fd = -1,
			.src = gid_of("hca0", 0) }), 0);
	return id;
}

/* Ask for the path to a service of the other adapter. */
static uint32_t ask_path(int ctx, int queue, uint64_t sid, int timeout_ms)
{
	uint32_t id = bound(ctx, queue);

	EXPECT_EQ(RCA_CALL(ctx, RESOLVE, rdma_cm_alt_resolve, .pipe = {
			.steps = RDMA_CM_ALT_STEP_ADDR | RDMA_CM_ALT_STEP_ROUTE, .id = id,
			.queue_fd = -1, .events = RDMA_CM_ALT_STEP_ROUTE,
			.timeout_ms = timeout_ms, .dst = gid_of("hca1", sid) }), 0);
	return id;
}

static uint32_t ask_service(int ctx, int queue, uint64_t sid, int timeout_ms)
{
	uint32_t id = bound(ctx, queue);

	EXPECT_EQ(RCA_CALL(ctx, RESOLVE_SERVICE, rdma_cm_alt_resolve_service, .id = id,
			   .timeout_ms = timeout_ms, .flags = RDMA_CM_ALT_SERVICE_BY_ID,
			   .service_id = sid), 0);
	return id;
}

typedef uint32_t (*ask_t)(int ctx, int queue, uint64_t sid, int timeout_ms);

/* Each test has users of its own, so that they have no cached paths. */
static unsigned int user(unsigned int number)
{
	return 70001 + (OTHERS + 1) * getpid() + number;
}

/* No other query of the user has asked for this one. */
static uint64_t new_sid(void)
{
	static uint64_t last = 1000;

	return ++last;
}

/* The first query is that of two ids which ask the same, of which one gives up. */
static int ask_for_days(unsigned int uid, ask_t ask)
{
	int ctx = open_as(uid), queue = get_queue(ctx);
	uint64_t sid = new_sid();
	uint32_t first = ask(ctx, queue, sid, DAYS);

	ask(ctx, queue, sid, DAYS);
	for (int i = 1; i < MANY; i++)
		ask(ctx, queue, new_sid(), DAYS);
	EXPECT_EQ(rca_destroy(ctx, first), 0);
	sleep(1);
	return queue;
}

/* Since Linux 6.17 ib_mad has 128 places for the queries of a port, and ib_sa has services. */
static void need_limit(void)
{
	struct rdma_cm_alt_info info = { .size = sizeof(info) };

	EXPECT_EQ(rca_call(get_ctx(), RDMA_CM_ALT_INFO, &info), 0);
	if (!(info.out_commands >> (RDMA_CM_ALT_CMD_SERVICES - RDMA_CM_ALT_CMD_BASE) & 1))
		ktap_skip("this kernel sends any number of queries");
}

/* The longest of some queries that the administrator answers, whatever the answer is. */
static double time_queries(ask_t ask)
{
	int ctx = open_as(user(OTHERS)), queue = get_queue(ctx);
	double worst = 0, begin, took;
	event_t ev;

	for (int i = 0; i < QUERIES; i++) {
		begin = ktap_now();
		ask(ctx, queue, new_sid(), DAYS);
		if (!event_comes(queue, NEVER))
			ktap_fail(__FILE__, __LINE__, "no answer after %d s", NEVER);
		get_event(queue, &ev);
		EXPECT(ev.status != -ETIMEDOUT);
		took = ktap_now() - begin;
		worst = took > worst ? took : worst;
	}
	return worst;
}

static void beside_others(int users, const char *silence, ask_t others, ask_t ask, double limit)
{
	double idle, worst;

	need_limit();
	knob("clear", "services");
	knob("clear", "rules");
	idle = time_queries(ask);
	knob(silence, "rules");
	for (int i = 0; i < users; i++)
		ask_for_days(user(i), others);
	worst = time_queries(ask);
	knob("clear", "rules");
	ktap_note("%.1f ms, alone %.1f ms", worst * 1e3, idle * 1e3);
	EXPECT(worst < limit);
}

TEST(path_beside_services_of_another_user)
{
	beside_others(1, "drop SERVICE", ask_service, ask_path, BOUND);
}

TEST(service_beside_paths_of_another_user)
{
	beside_others(1, "drop PATH", ask_path, ask_service, BOUND);
}

TEST(path_beside_services_of_several_users)
{
	beside_others(OTHERS, "drop SERVICE", ask_service, ask_path, BOUND_OF_SEVERAL);
}

TEST(service_beside_paths_of_several_users)
{
	beside_others(OTHERS, "drop PATH", ask_path, ask_service, BOUND_OF_SEVERAL);
}

/* The timeout of a query counts from the call, not from when the query is sent. */
static void ends_in_time(ask_t ask, uint32_t error)
{
	int ctx, queue;
	double took;
	event_t ev;

	need_limit();
	knob("drop SA", "rules");
	ask_for_days(user(0), ask);
	ctx = open_as(user(0));
	queue = get_queue(ctx);
	took = ktap_now();
	ask(ctx, queue, new_sid(), 1000);
	if (!event_comes(queue, NEVER))
		ktap_fail(__FILE__, __LINE__, "no end after %d s", NEVER);
	get_event(queue, &ev);
	took = ktap_now() - took;
	knob("clear", "rules");
	EXPECT_EQ(ev.type, error);
	EXPECT_EQ(ev.status, -ETIMEDOUT);
	EXPECT(took > 0.9 && took < 1 + BOUND);
}

TEST(path_query_that_waits_ends_in_time)
{
	ends_in_time(ask_path, RDMA_CM_ALT_EVENT_ROUTE_ERROR);
}

TEST(service_query_that_waits_ends_in_time)
{
	ends_in_time(ask_service, RDMA_CM_ALT_EVENT_ADDRINFO_ERROR);
}

/* Those without an answer give way to those that wait, until the administrator answers. */
TEST(queries_of_a_user_take_turns)
{
	int queue;

	need_limit();
	knob("drop PATH", "rules");
	queue = ask_for_days(user(0), ask_path);
	knob("clear", "rules");
	for (int i = 0; i < MANY - SHARE; i++) {
		event_t ev;

		if (!event_comes(queue, NEVER))
			ktap_fail(__FILE__, __LINE__, "no answer to the query after %d", i);
		get_event(queue, &ev);
		EXPECT_EQ(ev.type, RDMA_CM_ALT_EVENT_ROUTE_RESOLVED);
	}
}

/* Ids that wait for a place, and one that has one, are destroyed; then a context that has both. */
TEST(ids_that_wait_for_a_place_go)
{
	uint32_t ids[MANY];
	int ctx, queue;

	need_limit();
	knob("drop SA", "rules");
	ctx = open_as(user(0));
	queue = get_queue(ctx);
	for (int i = 0; i < MANY; i++)
		ids[i] = (i & 1 ? ask_path : ask_service)(ctx, queue, new_sid(), DAYS);
	for (int i = 0; i < MANY; i += 3)
		EXPECT_EQ(rca_destroy(ctx, ids[i]), 0);
	MUST(close(queue));
	MUST(close(ctx));
	knob("clear", "rules");
	EXPECT(time_queries(ask_path) < BOUND);
}

/* Events that come at the device's end find queries with and without a place. */
TEST(device_goes_while_queries_wait)
{
	int ctx, queue;
	event_t ev;

	need_limit();
	knob("1", "add");
	knob("drop SA", "rules");
	ctx = open_as(user(0));
	queue = get_queue(ctx);
	for (int i = 0; i < MANY; i++) {
		uint32_t id;

		EXPECT_EQ(rca_create(ctx, queue, RDMA_PS_IB, IB_UVERBS_QPT_RC, 0, &id), 0);
		EXPECT_EQ(RCA_CALL(ctx, RESOLVE, rdma_cm_alt_resolve, .pipe = {
				.steps = RDMA_CM_ALT_STEP_BIND, .id = id, .queue_fd = -1,
				.src = gid_of("hca2", 0) }), 0);
		EXPECT_EQ(RCA_CALL(ctx, RESOLVE, rdma_cm_alt_resolve, .pipe = {
				.steps = RDMA_CM_ALT_STEP_ADDR | RDMA_CM_ALT_STEP_ROUTE, .id = id,
				.queue_fd = -1, .timeout_ms = DAYS,
				.dst = gid_of("hca1", new_sid()) }), 0);
	}
	knob("hca2", "remove");
	for (int i = 0; i < MANY; i++) {
		get_event(queue, &ev);
		EXPECT_EQ(ev.type, RDMA_CM_ALT_EVENT_DEVICE_REMOVAL);
	}
	knob("clear", "rules");
}

KTAP_MAIN
