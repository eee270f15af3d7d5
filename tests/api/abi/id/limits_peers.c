// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/* Use of a user's limits by peers and other users: it is bounded, and given back. */
#include <sys/stat.h>

#include "limits.h"
#include "rca_ring.h"

#define PORT 7471
#define ANNA 70001
#define BERT 70002

/**
 * struct server - a listener of a user
 * @ctx: context of the user
 * @queue: queue of the requests
 * @id: the listening id
 */
struct server {
	int ctx;
	int queue;
	uint32_t id;
};

static struct server get_server(unsigned int uid, uint16_t port, uint32_t backlog)
{
	struct server server = { .ctx = open_as(uid) };

	server.queue = get_queue(server.ctx);
	server.id = get_bound(server.ctx, server.queue, HERE, port);
	EXPECT_EQ(rca_listen(server.ctx, server.id, backlog), 0);
	return server;
}

/* Requests of a client of root. */
static void flood(int ctx, int queue, uint16_t port, int count)
{
	for (int i = 0; i < count; i++)
		EXPECT_EQ(rca_connect(ctx, get_client(ctx, queue, HERE, port, 0), NULL, 0), 0);
}

static void await_refusals(unsigned int uid, int ctx, uint32_t what, bool users)
{
	for (int i = 0; i < PATIENCE * 100; i++) {
		usage_t usage = usage_as(uid, ctx, what);

		if (users ? usage.out_user_refused : usage.out_context_refused)
			return;
		usleep(10000);
	}
	ktap_fail(__FILE__, __LINE__, "nothing was refused");
}

/* Make one connection after the other, each with a client of its own. */
static void serve(struct server *server, int ctx, int queue, uint16_t port, int count)
{
	for (int i = 0; i < count; i++) {
		uint32_t client = get_client(ctx, queue, HERE, port, 0);
		event_t ev;

		EXPECT_EQ(rca_connect(ctx, client, NULL, 0), 0);
		EXPECT_EVENT_STATUS(server->queue, CONNECT_REQUEST, 0, 0, &ev);
		EXPECT_EQ(rca_accept(server->ctx, ev.id, 0, NULL, 0), 0);
		EXPECT_EVENT(queue, CONNECT_RESPONSE, client);
		EXPECT_EQ(rca_establish(ctx, client), 0);
		EXPECT_EVENT(server->queue, ESTABLISHED, ev.id);
	}
}

#define FLOOD 40
#define ROOM 8

TEST(flood_fills_one_users_backlog_and_not_anothers)
{
	struct server anna, annas, bert;
	int ctx, queue, others, other_queue;
	event_t ev;

	limits_reset();
	set_limit(USER, REQUESTS, ROOM);
	anna = get_server(ANNA, PORT, 0);
	annas = get_server(ANNA, PORT + 2, 0);
	bert = get_server(BERT, PORT + 1, 0);
	ctx = get_ctx();
	queue = get_queue(ctx);
	/* One of the requests waits in another context of the user. */
	flood(ctx, queue, PORT + 2, 1);
	await_usage(ANNA, annas.ctx, REQUESTS, 1, 1);
	flood(ctx, queue, PORT, FLOOD);
	await_refusals(ANNA, anna.ctx, REQUESTS, true);
	await_usage(ANNA, anna.ctx, REQUESTS, ROOM - 1, ROOM);
	expect_usage(ANNA, anna.ctx, IDS, ROOM, ROOM + 2);

	others = get_ctx();
	other_queue = get_queue(others);
	serve(&bert, others, other_queue, PORT + 1, 2 * ROOM);
	EXPECT_EQ(usage_as(BERT, bert.ctx, REQUESTS).out_user_refused, 0);
	expect_usage(BERT, bert.ctx, REQUESTS, 0, 0);
	expect_usage(ANNA, anna.ctx, REQUESTS, ROOM - 1, ROOM);

	/* Requests beyond the limit are sent again, and each arrives once. */
	for (int i = 0; i < FLOOD; i++) {
		EXPECT_EVENT_STATUS(anna.queue, CONNECT_REQUEST, 0, 0, &ev);
		EXPECT_EQ(rca_accept(anna.ctx, ev.id, 0, NULL, 0), 0);
		EXPECT_EVENT(queue, CONNECT_RESPONSE, 0);
	}
	EXPECT(!event_waits(anna.queue));
	expect_usage(ANNA, anna.ctx, REQUESTS, 0, 1);
	MUST(close(queue));
	MUST(close(other_queue));
}

TEST(limit_of_a_context_is_for_all_its_listeners)
{
	struct server one, two;
	int ctx, queue;
	event_t ev;

	limits_reset();
	set_limit(CONTEXT, REQUESTS, 2);
	one = get_server(ANNA, PORT, 0);
	two = one;
	two.queue = get_queue(two.ctx);
	two.id = get_bound(two.ctx, two.queue, HERE, PORT + 1);
	EXPECT_EQ(rca_listen(two.ctx, two.id, 0), 0);
	ctx = get_ctx();
	queue = get_queue(ctx);
	flood(ctx, queue, PORT, 2);
	await_usage(ANNA, one.ctx, REQUESTS, 2, 2);
	flood(ctx, queue, PORT + 1, 1);
	await_refusals(ANNA, two.ctx, REQUESTS, false);
	EXPECT(!event_waits(two.queue));
	EXPECT_EVENT_STATUS(one.queue, CONNECT_REQUEST, 0, 0, &ev);
	EXPECT_EQ(ev.listen_id, one.id);
	EXPECT_EVENT_STATUS(two.queue, CONNECT_REQUEST, 0, 0, &ev);
	EXPECT_EQ(ev.listen_id, two.id);
}

TEST(full_backlog_is_counted)
{
	struct server anna;
	int ctx, queue;

	limits_reset();
	anna = get_server(ANNA, PORT, 1);
	ctx = get_ctx();
	queue = get_queue(ctx);
	flood(ctx, queue, PORT, 2);
	await_refusals(ANNA, anna.ctx, REQUESTS, false);
	expect_usage(ANNA, anna.ctx, REQUESTS, 1, 1);
	EXPECT_EVENT(anna.queue, CONNECT_REQUEST, 0);
	EXPECT_EVENT(anna.queue, CONNECT_REQUEST, 0);
}

/* A request whose id or record is beyond a limit arrives when there is room. */
static void check_room(uint32_t what)
{
	struct server anna;
	int ctx, queue, own;
	uint32_t ids[2];
	event_t ev;

	limits_reset();
	anna = get_server(ANNA, PORT, 0);
	own = get_queue(anna.ctx);
	for (int i = 0; i < 2; i++)
		ids[i] = get_id(anna.ctx, own, 0);
	post_numbers(anna.ctx, ids[0], 1, 2);
	set_limit(CONTEXT, what, what == IDS ? 3 : 2);
	ctx = get_ctx();
	queue = get_queue(ctx);
	flood(ctx, queue, PORT, 1);
	await_refusals(ANNA, anna.ctx, what, false);
	EXPECT(!event_waits(anna.queue));
	await_usage(ANNA, anna.ctx, REQUESTS, 0, 0);
	expect_usage(ANNA, anna.ctx, IDS, 3, 3);
	expect_usage(ANNA, anna.ctx, EVENTS, 2, 2);
	if (what == IDS)
		EXPECT_EQ(rca_destroy(anna.ctx, ids[1]), 0);
	else
		expect_read(own, ids[0], 1);
	EXPECT_EVENT_STATUS(anna.queue, CONNECT_REQUEST, 0, 0, &ev);
	set_limit(CONTEXT, what, 100);
	EXPECT_EQ(rca_accept(anna.ctx, ev.id, 0, NULL, 0), 0);
	EXPECT_EVENT(queue, CONNECT_RESPONSE, 0);
}

TEST(request_whose_id_does_not_fit_comes_later)
{
	check_room(IDS);
}

TEST(request_whose_record_does_not_fit_comes_later)
{
	check_room(EVENTS);
}

TEST(requests_taken_from_the_ring_make_room)
{
	struct server anna = {};
	struct ring ring;
	int ctx, queue;
	event_t ev;

	limits_reset();
	set_limit(CONTEXT, REQUESTS, 1);
	anna.ctx = open_as(ANNA);
	ring = get_ring(anna.ctx, 8);
	anna.id = get_bound(anna.ctx, ring.queue, HERE, PORT);
	EXPECT_EQ(rca_listen(anna.ctx, anna.id, 0), 0);
	ctx = get_ctx();
	queue = get_queue(ctx);
	for (int i = 0; i < 4; i++) {
		flood(ctx, queue, PORT, 1);
		ring_event(&ring, &ev);
		EXPECT_EQ(ev.type, RDMA_CM_ALT_EVENT_CONNECT_REQUEST);
	}
	EXPECT_EQ(usage_as(ANNA, anna.ctx, REQUESTS).out_context_refused, 0);
}

TEST(request_that_nobody_read_is_given_back_with_its_listener)
{
	struct server anna;
	int watch, ctx, queue;

	limits_reset();
	watch = open_as(ANNA);
	anna = get_server(ANNA, PORT, 0);
	ctx = get_ctx();
	queue = get_queue(ctx);
	flood(ctx, queue, PORT, 3);
	await_usage(ANNA, anna.ctx, REQUESTS, 3, 3);
	MUST(close(anna.queue));
	await_usage(ANNA, anna.ctx, IDS, 0, 0);
	for (int i = 0; i < 3; i++)
		EXPECT_EVENT_STATUS(queue, REJECTED, 0, 28, NULL);
	MUST(close(anna.ctx));
	await_usage(ANNA, watch, CONTEXTS, 1, 1);
	for (uint32_t what = QUEUES; what <= RING_PAGES; what++)
		expect_usage(ANNA, watch, what, 0, 0);
}

/* Connections in every state. */
TEST(nothing_stays_charged_when_all_has_ended)
{
	struct server anna;
	uint32_t client;
	int ctx, queue;
	event_t ev;

	limits_reset();
	anna = get_server(ANNA, PORT, 0);
	ctx = open_as(BERT);
	queue = get_queue(ctx);
	serve(&anna, ctx, queue, PORT, 3);
	flood(ctx, queue, PORT, 2);
	EXPECT_EVENT_STATUS(anna.queue, CONNECT_REQUEST, 0, 0, &ev);
	EXPECT_EQ(rca_reject(anna.ctx, ev.id, 28, "no", 2), 0);
	EXPECT_EVENT_STATUS(queue, REJECTED, 0, 28, NULL);
	EXPECT_EQ(rca_destroy(anna.ctx, ev.id), 0);
	EXPECT_EVENT_STATUS(anna.queue, CONNECT_REQUEST, 0, 0, &ev);
	EXPECT_EQ(rca_accept(anna.ctx, ev.id, 0, NULL, 0), 0);
	EXPECT_EVENT(queue, CONNECT_RESPONSE, 0);	/* is never established */
	client = get_client(ctx, queue, HERE, 7999, 0);
	EXPECT_EQ(rca_connect(ctx, client, NULL, 0), 0);
	/* An unanswered request and an address resolution are pending while the queue is closed. */
	EXPECT_EQ(rca_resolve_addr(ctx, get_id(ctx, queue, 0), NULL, NOBODY, PORT), 0);
	MUST(close(queue));
	for (uint32_t what = QUEUES; what <= RING_PAGES; what++)
		await_usage(BERT, ctx, what, 0, 0);
	EXPECT_EQ(rca_destroy(anna.ctx, anna.id), 0);
	MUST(close(anna.queue));
	for (uint32_t what = QUEUES; what <= RING_PAGES; what++)
		await_usage(ANNA, anna.ctx, what, 0, 0);
}

#define CGROUPS "/sys/fs/cgroup"
/* A group for each test: what another test has left is freed later. */
#define OWN_OF_IDS CGROUPS "/rca_ids"
#define OWN_OF_REQUESTS CGROUPS "/rca_requests"
#define OWN_IDS 4000
#define PEERS 400

static void move_to(const char *group)
{
	char path[96];

	snprintf(path, sizeof(path), "%s/cgroup.procs", group);
	write_or_skip(path, "0");
}

static long group_memory(const char *group)
{
	char path[96];
	FILE *file;
	long bytes;

	snprintf(path, sizeof(path), "%s/memory.current", group);
	file = fopen(path, "re");

	EXPECT(file && fscanf(file, "%ld", &bytes) == 1);
	fclose(file);
	return bytes;
}

/* Opens the device in a control group, which becomes its owner. */
static struct server get_own_server(const char *group)
{
	limits_reset();
	write_or_skip(CGROUPS "/cgroup.subtree_control", "+memory");
	if (mkdir(group, 0755) && errno != EEXIST)
		ktap_skip("%s: %m", group);
	move_to(group);
	return get_server(0, PORT, 0);
}

TEST(ids_are_charged_to_the_cgroup_of_who_opened)
{
	struct server server = get_own_server(OWN_OF_IDS);
	long before = group_memory(OWN_OF_IDS);

	for (int i = 0; i < OWN_IDS; i++)
		get_id(server.ctx, server.queue, 0);
	ktap_note("%ld bytes for an id", (group_memory(OWN_OF_IDS) - before) / OWN_IDS);
	EXPECT(group_memory(OWN_OF_IDS) - before > OWN_IDS * 480L);
	move_to(CGROUPS);
}

/* Kernel threads allocate the objects of requests. */
TEST(requests_are_charged_to_the_cgroup_of_the_listener)
{
	struct server server;
	int ctx, queue;
	long before;

	/* Fewer would fit into memory that the kernel charges ahead. */
	if (ktap_kernel_since(6, 17))
		ktap_skip("since 6.17, a server that does not answer gets at most 64");
	server = get_own_server(OWN_OF_REQUESTS);
	move_to(CGROUPS);
	ctx = get_ctx();
	queue = get_queue(ctx);
	/* The worker of the listen has charged some pages ahead: give them back. */
	write_or_skip(OWN_OF_REQUESTS "/memory.high", "0");
	usleep(100000);
	write_or_skip(OWN_OF_REQUESTS "/memory.high", "max");
	before = group_memory(OWN_OF_REQUESTS);
	flood(ctx, queue, PORT, PEERS);
	await_usage(0, server.ctx, REQUESTS, PEERS, PEERS);
	ktap_note("%ld bytes for a request", (group_memory(OWN_OF_REQUESTS) - before) / PEERS);
	EXPECT(group_memory(OWN_OF_REQUESTS) - before > PEERS * (480L + (long)sizeof(event_t)));
}

TEST(limits_are_given_back)
{
	limits_reset();
	rmdir(OWN_OF_IDS);
	rmdir(OWN_OF_REQUESTS);
}

KTAP_MAIN
