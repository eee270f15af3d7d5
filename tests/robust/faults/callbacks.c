// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * No memory outside of system calls: in callbacks of ib_cm and ib_sa, in works and in timers. The
 * ioctls of the test itself find memory. Each id gets exactly one event that ends its operation.
 */
#define _GNU_SOURCE
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "faults.h"
#include "groups.h"
#include "rca_datagram.h"

/* Ids at a time, rounds, and how many of 100 allocations fail. */
#define MANY	20
#define ROUNDS	3
#define PERCENT	25
#define TRIES	100

/* Seconds until a request without an answer is given up, in an emulated guest. */
#define LONGEST	240

enum fate { WAITS, CONNECTED, FAILED };

static struct pair p;
static uint32_t clients[MANY], servers[4 * MANY];
static enum fate fates[MANY];
static int num_servers;
static unsigned int faults;

/* The ids of requests inherit this option and need memory for it. */
static void set_listener_timing(void)
{
	const uint8_t mra = 24;

	EXPECT_EQ(rca_set_option(p.ctx, p.listener, RDMA_CM_ALT_OPTION,
				 RDMA_CM_ALT_OPTION_MRA_TIMEOUT, &mra, sizeof(mra)), 0);
}

static void set_clients(bool datagrams)
{
	for (int i = 0; i < MANY; i++) {
		clients[i] = datagrams ? get_asker(p.ctx, p.cq, RDMA_PS_UDP, there(), p.port) :
			     get_client(p.ctx, p.cq, there(), p.port, i);
		fates[i] = WAITS;
	}
}

static void connect_clients(void)
{
	for (int i = 0; i < MANY; i++)
		EXPECT_EQ(rca_connect(p.ctx, clients[i], NULL, 0), 0);
}

static void begin_faults(void)
{
	struct text ours = text_of_module("rdma_cm_alt"), calls = text_of_function("rca_ioctl");

	faults_within(&ours, &calls);
	faults_random(PERCENT);
}

static void end_faults(void)
{
	faults += faults_end();
}

static int index_of(uint32_t client)
{
	for (int i = 0; i < MANY; i++)
		if (clients[i] == client)
			return i;
	ktap_fail(__FILE__, __LINE__, "an event of id %u, which is none of ours", client);
}

static int count_fates(enum fate fate)
{
	int n = 0;

	for (int i = 0; i < MANY; i++)
		n += fates[i] == fate;
	return n;
}

static void set_fate(uint32_t client, enum fate fate)
{
	int i = index_of(client);

	EXPECT(fates[i] == WAITS);
	fates[i] = fate;
}

/* The accept fails when its client has given up; that is not an error. */
static void serve(bool datagrams)
{
	event_t ev;

	get_event(p.lq, &ev);
	if (ev.type != RDMA_CM_ALT_EVENT_CONNECT_REQUEST)
		return;
	EXPECT(num_servers < 4 * MANY);
	p.server = ev.id;
	servers[num_servers++] = ev.id;
	if (datagrams)
		datagram_accept(&p, 0);
	else
		rca_accept(p.ctx, ev.id, SERVER, NULL, 0);
}

static void hear_connection(void)
{
	event_t ev;

	get_event(p.cq, &ev);
	switch (ev.type) {
	case RDMA_CM_ALT_EVENT_CONNECT_RESPONSE:
		set_fate(ev.id, rca_establish(p.ctx, ev.id) ? FAILED : CONNECTED);
		break;
	case RDMA_CM_ALT_EVENT_ESTABLISHED:
		set_fate(ev.id, CONNECTED);
		break;
	case RDMA_CM_ALT_EVENT_REJECTED:
	case RDMA_CM_ALT_EVENT_UNREACHABLE:
		/* The id may be in FAILED already, because establish failed. */
		if (fates[index_of(ev.id)] != FAILED)
			set_fate(ev.id, FAILED);
		break;
	default:
		ktap_fail(__FILE__, __LINE__, "event %u/%d", ev.type, ev.status);
	}
}

static void hear_disconnect(void)
{
	event_t ev;

	get_event(p.cq, &ev);
	if (ev.type == RDMA_CM_ALT_EVENT_TIMEWAIT_EXIT)
		return;
	EXPECT_EQ(ev.type, RDMA_CM_ALT_EVENT_DISCONNECTED);
	EXPECT(fates[index_of(ev.id)] == CONNECTED);
	fates[index_of(ev.id)] = WAITS;
}

/* Handles events until no client has this fate. */
static void pump(enum fate fate, void (*hear)(void), bool datagrams)
{
	struct pollfd fds[] = {
		{ .fd = p.lq, .events = POLLIN }, { .fd = p.cq, .events = POLLIN },
	};
	time_t end = time(NULL) + LONGEST;

	while (count_fates(fate)) {
		if (time(NULL) > end)
			ktap_fail(__FILE__, __LINE__, "%d heard nothing", count_fates(fate));
		MUST(poll(fds, 2, 1000));
		if (fds[0].revents & POLLIN)
			serve(datagrams);
		if (fds[1].revents & POLLIN)
			hear();
	}
}

static void destroy_all(void)
{
	event_t ev;
	int i;

	for (i = 0; i < MANY; i++)
		EXPECT_EQ(rca_destroy(p.ctx, clients[i]), 0);
	for (i = 0; i < num_servers; i++)
		EXPECT_EQ(rca_destroy(p.ctx, servers[i]), 0);
	num_servers = 0;
	while (event_waits(p.lq)) {
		get_event(p.lq, &ev);
		if (ev.type == RDMA_CM_ALT_EVENT_CONNECT_REQUEST)
			EXPECT_EQ(rca_destroy(p.ctx, ev.id), 0);
	}
	EXPECT(!event_waits(p.cq));
}

TEST(connections)
{
	int good = 0;

	ktap_timeout(ROUNDS * 4 * LONGEST);
	pair_listen(&p, there());
	set_listener_timing();
	for (int round = 0; round < ROUNDS; round++) {
		set_clients(false);
		begin_faults();
		connect_clients();
		pump(WAITS, hear_connection, false);
		good += count_fates(CONNECTED);
		for (int i = 0; i < MANY; i++)
			if (fates[i] == CONNECTED)
				EXPECT_EQ(rca_disconnect(p.ctx, clients[i]), 0);
		pump(CONNECTED, hear_disconnect, false);
		end_faults();
		destroy_all();
	}
	ktap_note("%u faults, %d of %d were connected", faults, good, ROUNDS * MANY);
	EXPECT(faults > 0);
	EXPECT(good > 0);
	/* Without faults a request arrives as before. */
	clients[0] = get_client(p.ctx, p.cq, there(), p.port, 1);
	EXPECT_EQ(rca_connect(p.ctx, clients[0], NULL, 0), 0);
	EXPECT_EVENT(p.lq, CONNECT_REQUEST, 0);
}

TEST(connections_that_are_destroyed)
{
	ktap_timeout(ROUNDS * 2 * LONGEST);
	pair_listen(&p, there());
	for (int round = 0; round < ROUNDS; round++) {
		set_clients(false);
		connect_clients();
		pump(WAITS, hear_connection, false);
		begin_faults();
		destroy_all();
		end_faults();
	}
	ktap_note("%u faults", faults);
}

TEST(datagrams)
{
	int good = 0;

	ktap_timeout(ROUNDS * 2 * LONGEST);
	datagram_listen(&p, RDMA_PS_UDP, there(), 0);
	for (int round = 0; round < ROUNDS; round++) {
		set_clients(true);
		begin_faults();
		connect_clients();
		pump(WAITS, hear_connection, true);
		end_faults();
		good += count_fates(CONNECTED);
		destroy_all();
	}
	ktap_note("%u faults, %d of %d were answered", faults, good, ROUNDS * MANY);
	EXPECT(faults > 0);
	EXPECT(good > 0);
}

/* Each id that waits for a neighbour without an answer gets an error event. */
TEST(addresses_that_wait)
{
	uint32_t seen = 0;
	event_t ev;
	int i;

	skip_unless_roce();
	p.ctx = get_ctx();
	p.cq = get_queue(p.ctx);
	p.lq = p.cq;
	for (i = 0; i < MANY; i++)
		clients[i] = get_id(p.ctx, p.cq, i);
	begin_faults();
	for (i = 0; i < MANY; i++)
		EXPECT_EQ(rca_resolve_addr(p.ctx, clients[i], NULL, NOBODY, 1), 0);
	for (i = 0; i < MANY; i++) {
		EXPECT_EVENT_STATUS(p.cq, ADDR_ERROR, 0, -ETIMEDOUT, &ev);
		EXPECT(!(seen & 1U << index_of(ev.id)));
		seen |= 1U << index_of(ev.id);
	}
	end_faults();
	ktap_note("%u faults", faults);
	destroy_all();
}

/* A worker takes the locks of a listener, and of a join over RoCE, and may have no memory. */
static uint32_t join_again(uint32_t id, const char *group)
{
	uint32_t member;
	int ret;

	for (int i = 0; i < TRIES; i++) {
		ret = rca_join(p.ctx, id, group, RDMA_MC_JOIN_FLAG_FULLMEMBER, 42, &member);
		if (ret != -ENOMEM)
			break;
	}
	EXPECT_EQ(ret, 0);
	return member;
}

TEST(listeners)
{
	int i, ret, tries, failed = 0;

	p.ctx = get_ctx();
	p.cq = get_queue(p.ctx);
	p.lq = p.cq;
	begin_faults();
	for (i = 0; i < MANY; i++) {
		clients[i] = get_id(p.ctx, p.cq, i);
		for (tries = 0; tries < TRIES; tries++) {
			ret = rca_listen(p.ctx, clients[i], 0);
			if (ret != -ENOMEM)
				break;
		}
		EXPECT_EQ(ret, 0);
		failed += tries;
	}
	destroy_all();
	end_faults();
	ktap_note("%u faults, %d listens without memory", faults, failed);
	EXPECT(faults > 0);
}

/* Over InfiniBand the subnet administrator answers asynchronously. */
TEST(routes_and_groups)
{
	uint32_t id, member, reported;
	int i, good = 0;
	char group[32];
	event_t ev;

	p.ctx = get_ctx();
	p.cq = get_queue(p.ctx);
	p.lq = p.cq;
	for (i = 0; i < MANY; i++) {
		clients[i] = get_id(p.ctx, p.cq, i);
		EXPECT_EQ(rca_resolve_addr(p.ctx, clients[i], NULL, there(), 1), 0);
		EXPECT_EVENT(p.cq, ADDR_RESOLVED, clients[i]);
	}
	id = get_ud_bound(p.ctx, p.cq, here());
	begin_faults();
	for (i = 0; i < MANY; i++)
		EXPECT_EQ(rca_resolve_route(p.ctx, clients[i]), 0);
	for (i = 0; i < MANY; i++) {
		get_event(p.cq, &ev);
		good += ev.type == RDMA_CM_ALT_EVENT_ROUTE_RESOLVED;
		EXPECT(ev.type == RDMA_CM_ALT_EVENT_ROUTE_RESOLVED ||
		       ev.type == RDMA_CM_ALT_EVENT_ROUTE_ERROR);
	}
	for (i = 0; i < MANY; i++) {
		snprintf(group, sizeof(group), "239.9.2.%d", i + 1);
		member = join_again(id, group);
		get_event(p.cq, &ev);
		EXPECT_EQ(ev.member, member);
		EXPECT_EQ(rca_leave(p.ctx, member, &reported), 0);
		EXPECT_EQ(reported, 1);
	}
	end_faults();
	ktap_note("%u faults, %d of %d routes", faults, good, MANY);
	destroy_all();
}

KTAP_MAIN
