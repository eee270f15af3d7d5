// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * Faults that connections survive, or that end them: nothing hangs, each event comes once, and
 * all objects are freed. On the software InfiniBand adapters, see knobs.h.
 * tests/fabric/loss/faults.rst lists all faults and their tests.
 */
#define _GNU_SOURCE
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "crowd.h"
#include "inventory.h"

#define OPT(name) RDMA_CM_ALT_OPTION_##name

/* The events of an end whose connection is over. */
#define OVER (TOLD(DISCONNECTED) | TOLD(REJECTED) | TOLD(UNREACHABLE) | TOLD(CONNECT_ERROR))
#define ANSWERED TOLD(CONNECT_RESPONSE)
#define ESTABLISHED (TOLD(CONNECT_REQUEST) | TOLD(ESTABLISHED))
#define ENDED (TOLD(DISCONNECTED) | TOLD(TIMEWAIT_EXIT))

/* How long the removal of a device may take, as for the stress program. */
#define REMOVAL_SECONDS 30

/* Two connections: one exists when a fault comes, one begins then. */
static struct crowd crowd, meanwhile;
static struct inventory before;

/* As many as the guest can do in a few seconds. */
static unsigned int many(unsigned int count)
{
	const char *guest = getenv("GUEST");

	return guest && !strcmp(guest, "debug") ? count / 4 : count;
}

static void shell(const char *command)
{
	char line[256];

	snprintf(line, sizeof(line), "bash -c '. tests/harness/guest/hca.sh; %s'", command);
	if (system(line))
		ktap_fail(__FILE__, __LINE__, "%s: failed", command);
}

static void begin_loss(void)
{
	rule("clear");
	rule("seed 1");
	inventory_take(&before);
}

/* All ends are freed, with their objects. */
static void end_crowd(void)
{
	rule("clear");
	crowd_end(&crowd);
	inventory_await(&before);
}

static void set_deadline(uint32_t ms)
{
	crowd_option(&crowd, OPT(DEADLINE), &ms, sizeof(ms));
}

static void set_byte(uint32_t name, uint8_t value)
{
	crowd_option(&crowd, name, &value, sizeof(value));
}

/* From the request to the disconnect, while the rules are in force. */
static void live_with(const char *fault, unsigned int count, const char *what)
{
	double made, ended;
	unsigned int hits;

	begin_loss();
	crowd_make(&crowd, count);
	crowd.doubled = !strncmp(fault, "duplicate ", strlen("duplicate "));
	rule(fault);
	crowd_ask(&crowd);
	made = crowd_await(&crowd, SERVERS, TOLD(ESTABLISHED));
	crowd_expect(&crowd, CLIENTS, ANSWERED);
	crowd_expect(&crowd, SERVERS, ESTABLISHED);
	crowd_disconnect(&crowd);
	ended = crowd_await(&crowd, CLIENTS, TOLD(TIMEWAIT_EXIT));
	ended += crowd_await(&crowd, SERVERS, TOLD(TIMEWAIT_EXIT));
	hits = rules_hit();
	crowd_expect(&crowd, CLIENTS, ANSWERED | ENDED);
	crowd_expect(&crowd, SERVERS, ESTABLISHED | ENDED);
	end_crowd();
	EXPECT(hits > 0);
	ktap_note("%u connections, made in %.1f s, ended in %.1f s", count, made, ended);
	ktap_note("faults tried: %u %s", hits, what);
}

TEST_LONG(one_message_of_a_hundred_is_lost)
{
	live_with("drop CM percent=1", 200, "messages lost, of 1 %");
}

TEST_LONG(one_message_of_twenty_is_lost)
{
	live_with("drop CM percent=5", 100, "messages lost, of 5 %");
}

TEST(one_message_of_five_is_lost)
{
	live_with("drop CM percent=20", many(60), "messages lost, of 20 %");
}

TEST_LONG(every_message_comes_twice)
{
	live_with("duplicate CM ms=5", many(100), "messages doubled");
}

TEST_LONG(messages_overtake_each_other)
{
	live_with("reorder CM percent=30", many(100), "messages out of order");
}

/* Messages that were sent before, again, and a second time long after. */
TEST_LONG(messages_come_again_late)
{
	live_with("duplicate CM ms=700 percent=50", 60, "messages that came again late");
}

/* Connections whose peer is killed. */
enum { ENDS = 8 };

/* Clients in a process that lives until it is killed. */
static void be_clients(uint16_t port)
{
	int ctx = get_ctx(), queue = get_queue(ctx);
	uint32_t ids[ENDS];
	event_t ev;

	for (int i = 0; i < ENDS; i++)
		ids[i] = get_client(ctx, queue, SERVER_AT, port, i);
	for (uint32_t i = 0; i < ENDS; i++)
		EXPECT_EQ(rca_connect(ctx, ids[i], &i, sizeof(i)), 0);
	for (;;) {
		get_event(queue, &ev);
		if (ev.type == RDMA_CM_ALT_EVENT_CONNECT_RESPONSE)
			rca_establish(ctx, ev.id);
	}
}

/* The same for the server. */
static void be_server(int tell_port)
{
	struct pair p;
	event_t ev;

	pair_listen_apart(&p);
	MUST(write(tell_port, &p.port, sizeof(p.port)));
	for (;;) {
		get_event(p.lq, &ev);
		if (ev.type == RDMA_CM_ALT_EVENT_CONNECT_REQUEST)
			rca_accept(p.ctx, ev.id, SERVER, NULL, 0);
	}
}

static void kill_it(pid_t pid)
{
	int status;

	MUST(kill(pid, SIGKILL));
	MUST(waitpid(pid, &status, 0));
	EXPECT(WIFSIGNALED(status));
}

static void pump_for(double seconds)
{
	double start = now();

	while (now() - start < seconds) {
		crowd_pump(&crowd);
		usleep(500);
	}
}

/* Servers that were accepted get one event of the end. */
static void await_ends(void)
{
	double start = now();
	unsigned int i;

	do {
		crowd_pump(&crowd);
		for (i = 0; i < ENDS; i++)
			if (crowd.accepted[i] && !crowd_told(&crowd, SERVERS, i, OVER))
				break;
		usleep(1000);
	} while (i < ENDS && now() - start < PATIENCE);
	pump_for(0.05);
	for (i = 0; i < ENDS; i++) {
		EXPECT(crowd_told(&crowd, SERVERS, i, TOLD(CONNECT_REQUEST)) <= 1);
		EXPECT_EQ(crowd_told(&crowd, SERVERS, i, OVER), crowd.accepted[i]);
	}
}

TEST(clients_are_killed)
{
	unsigned int rounds = many(16);
	pid_t pid;

	begin_loss();
	for (unsigned int round = 0; round < rounds; round++) {
		crowd_make(&crowd, 0);
		crowd.count = ENDS;
		pid = MUST(fork());
		if (!pid)
			be_clients(crowd.p.port);
		pump_for(0.08 * round / rounds);
		kill_it(pid);
		await_ends();
		MUST(close(crowd.p.lq));
		MUST(close(crowd.p.cq));
		MUST(close(crowd.p.ctx));
	}
	inventory_await(&before);
	ktap_note("faults tried: %u peers killed", rounds);
}

TEST_LONG(servers_are_killed)
{
	unsigned int rounds = many(16);
	int pipes[2];
	pid_t pid;

	begin_loss();
	MUST(pipe(pipes));
	for (unsigned int round = 0; round < rounds; round++) {
		pid = MUST(fork());
		if (!pid)
			be_server(pipes[1]);
		crowd_make(&crowd, 0);
		EXPECT_EQ(read(pipes[0], &crowd.p.port, sizeof(crowd.p.port)),
			  sizeof(crowd.p.port));
		for (crowd.count = 0; crowd.count < ENDS; crowd.count++)
			crowd.id[CLIENTS][crowd.count] = get_client(crowd.p.ctx, crowd.p.cq,
								    SERVER_AT, crowd.p.port,
								    crowd.count);
		crowd_ask(&crowd);
		pump_for(0.04 * round / rounds);
		kill_it(pid);
		crowd_await(&crowd, CLIENTS, OVER);
		pump_for(0.05);
		for (unsigned int i = 0; i < ENDS; i++)
			EXPECT_EQ(crowd_told(&crowd, CLIENTS, i, OVER), 1);
		crowd_end(&crowd);
	}
	inventory_await(&before);
	ktap_note("faults tried: %u peers killed", rounds);
}

static void pull_the_cable(unsigned int seconds, unsigned int count)
{
	double took;

	begin_loss();
	crowd_make(&crowd, count);
	crowd_make(&meanwhile, count);
	crowd_ask(&crowd);
	crowd_await(&crowd, SERVERS, TOLD(ESTABLISHED));
	knob("hca1/1/state", "down");
	crowd_ask(&meanwhile);
	sleep(seconds);
	EXPECT_EQ(crowd_sum(&meanwhile, SERVERS, ESTABLISHED), 0);
	knob("hca1/1/state", "up");
	took = crowd_await(&meanwhile, SERVERS, TOLD(ESTABLISHED));
	crowd_expect(&meanwhile, CLIENTS, ANSWERED);
	crowd_expect(&meanwhile, SERVERS, ESTABLISHED);
	/* The connections that existed before are not affected. */
	crowd_pump(&crowd);
	crowd_expect(&crowd, CLIENTS, ANSWERED);
	crowd_expect(&crowd, SERVERS, ESTABLISHED);
	crowd_disconnect(&crowd);
	crowd_await(&crowd, CLIENTS, TOLD(DISCONNECTED));
	crowd_await(&crowd, SERVERS, TOLD(DISCONNECTED));
	crowd_end(&meanwhile);
	/* For the tests that follow, and for the resources of IPoIB. */
	shell("hca_wait 60 hca_running -n hca1 ib1");
	end_crowd();
	ktap_note("%u connections made %.1f s after it was back", count, took);
	ktap_note("faults tried: 1 cables pulled for %u s, under %u connections", seconds,
		  2 * count);
}

TEST_LONG(cable_is_pulled_for_a_second)
{
	pull_the_cable(1, many(100));
}

/* Without a deadline a request is repeated for 67 seconds here. */
TEST_SOAK(cable_is_pulled_for_a_minute)
{
	pull_the_cable(60, many(100));
}

static void expect_status(int queue, uint32_t type, int status)
{
	expect_event(__FILE__, __LINE__, queue, type, 0, status, NULL);
}

/* A path query waits for as long as the caller says, a join for 3 s. */
TEST_LONG(administrator_is_silent)
{
	enum { ASKERS = 20, PATH_SECONDS = 2, GROUP_SECONDS = 3 };
	int ctx, queue, group_queue;
	uint32_t ids[ASKERS], ud, member, reported;
	double start;

	begin_loss();
	ctx = get_ctx();
	queue = get_queue(ctx);
	group_queue = get_queue(ctx);
	for (int i = 0; i < ASKERS; i++) {
		ids[i] = get_id(ctx, queue, i);
		EXPECT_EQ(rca_resolve_addr(ctx, ids[i], NULL, SERVER_AT, 1), 0);
		EXPECT_EVENT(queue, ADDR_RESOLVED, ids[i]);
	}
	EXPECT_EQ(rca_create(ctx, group_queue, RDMA_PS_UDP, IB_UVERBS_QPT_UD, 0, &ud), 0);
	EXPECT_EQ(rca_bind(ctx, ud, CLIENT_AT, 0), 0);
	lose("drop SA");
	start = now();
	for (int i = 0; i < ASKERS; i++)
		EXPECT_EQ(rca_resolve_route(ctx, ids[i]), 0);
	EXPECT_EQ(rca_join(ctx, ud, "239.9.7.1", 0, 0, &member), 0);
	for (int i = 0; i < ASKERS; i++)
		expect_status(queue, RDMA_CM_ALT_EVENT_ROUTE_ERROR, -ETIMEDOUT);
	EXPECT(now() - start > PATH_SECONDS * 0.8);
	expect_status(group_queue, RDMA_CM_ALT_EVENT_MULTICAST_ERROR, -ETIMEDOUT);
	EXPECT(now() - start > GROUP_SECONDS * 0.8);
	ktap_note("all were told after %.1f s", now() - start);
	sleep(1);
	EXPECT(!event_waits(queue) && !event_waits(group_queue));
	EXPECT_EQ(rca_leave(ctx, member, &reported), 0);
	EXPECT_EQ(reported, 1);
	/* The administrator is asked again, and answers. */
	rule("clear");
	EXPECT_EQ(rca_resolve_route(ctx, ids[0]), 0);
	EXPECT_EVENT(queue, ROUTE_RESOLVED, ids[0]);
	MUST(close(queue));
	MUST(close(group_queue));
	MUST(close(ctx));
	inventory_await(&before);
	ktap_note("faults tried: %u administrators that do not answer", ASKERS + 1);
}

/* The peer's kernel sends an MRA; the deadline still ends the connect. */
TEST_LONG(server_never_accepts)
{
	/* With the limit of ib_mad since 6.17, unanswered requests may take 64 places of a port. */
	unsigned int count = many(ktap_kernel_since(6, 17) ? 64 : 100);
	double took;

	begin_loss();
	crowd_make(&crowd, count);
	crowd.deaf[SERVERS] = true;
	set_deadline(2000);
	crowd_ask(&crowd);
	took = crowd_await(&crowd, CLIENTS, TOLD(UNREACHABLE));
	EXPECT(took > 1.6);
	pump_for(1);
	crowd_expect(&crowd, CLIENTS, TOLD(UNREACHABLE));
	crowd_expect(&crowd, SERVERS, TOLD(CONNECT_REQUEST));
	end_crowd();
	ktap_note("the last was told after %.1f s", took);
	ktap_note("faults tried: %u requests that are never accepted", count);
}

/* The client's kernel answers each of the remaining REPs with an MRA of half a second. */
TEST_LONG(client_never_reads)
{
	unsigned int count = many(100);
	double took;

	if (ktap_kernel_since(6, 16))
		ktap_skip("since 6.16 ib_cm itself chooses the time of an MRA: 68 seconds");
	begin_loss();
	crowd_make(&crowd, count);
	crowd.deaf[CLIENTS] = true;
	set_byte(OPT(MAX_RETRIES), 7);
	set_byte(OPT(MRA_TIMEOUT), 17);
	crowd_ask(&crowd);
	took = crowd_await(&crowd, SERVERS, TOLD(UNREACHABLE));
	crowd_expect(&crowd, SERVERS, TOLD(CONNECT_REQUEST) | TOLD(UNREACHABLE));
	/* The process reads the reply at last, and the peer does not exist any more. */
	crowd.deaf[CLIENTS] = false;
	crowd_await(&crowd, CLIENTS, ANSWERED);
	crowd_disconnect(&crowd);
	crowd_await(&crowd, CLIENTS, TOLD(TIMEWAIT_EXIT));
	crowd_expect(&crowd, CLIENTS, ANSWERED | ENDED);
	crowd_expect(&crowd, SERVERS, TOLD(CONNECT_REQUEST) | TOLD(UNREACHABLE));
	end_crowd();
	ktap_note("the servers gave up after %.1f s", took);
	ktap_note("faults tried: %u clients that do not read", count);
}

/* In a process of its own: it waits until no process uses the device. */
static pid_t start_removal(unsigned int after_us)
{
	pid_t pid = MUST(fork());

	if (!pid) {
		usleep(after_us);
		knob("hca1/fatal", "1");
		knob("remove", "hca1");
		_exit(0);
	}
	return pid;
}

static void await_removal(pid_t pid)
{
	double start = now();
	int status;

	while (!waitpid(pid, &status, WNOHANG)) {
		crowd_pump(&crowd);
		EXPECT(now() - start < REMOVAL_SECONDS);
		usleep(1000);
	}
	EXPECT_EQ(status, 0);
}

TEST_SOAK(device_is_reset_in_a_storm)
{
	unsigned int count = many(200), removed = 0, rounds = 2;

	for (unsigned int round = 0; round < rounds; round++) {
		begin_loss();
		crowd_make(&crowd, count);
		set_deadline(3000);
		/* No second retry interval, whose REQ would be a new one for the server. */
		set_byte(OPT(RESPONSE_TIMEOUT), 22);
		crowd_ask(&crowd);
		await_removal(start_removal(round * 40000));
		crowd_await(&crowd, CLIENTS, OVER);
		pump_for(0.2);
		for (unsigned int i = 0; i < count; i++) {
			EXPECT_EQ(crowd_told(&crowd, CLIENTS, i, OVER), 1);
			EXPECT(crowd_told(&crowd, CLIENTS, i, ANSWERED) <= 1);
			EXPECT(crowd_told(&crowd, SERVERS, i, TOLD(CONNECT_REQUEST)) <= 1);
			EXPECT(crowd_told(&crowd, SERVERS, i, OVER) <= 1);
			EXPECT(crowd_told(&crowd, SERVERS, i, TOLD(DEVICE_REMOVAL)) <=
			       crowd_told(&crowd, SERVERS, i, TOLD(CONNECT_REQUEST)));
			if (crowd_told(&crowd, SERVERS, i, TOLD(ESTABLISHED)))
				EXPECT_EQ(crowd_told(&crowd, SERVERS, i, TOLD(DEVICE_REMOVAL)), 1);
		}
		removed += crowd_sum(&crowd, SERVERS, TOLD(DEVICE_REMOVAL));
		shell("hca_return");
		end_crowd();
	}
	EXPECT(removed > 0);
	/* The device works as a new one. */
	live_with("duplicate CM ms=1", 10, "messages doubled");
	ktap_note("faults tried: %u devices reset, under %u connections each", rounds, count);
}

KTAP_MAIN
