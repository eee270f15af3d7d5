// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * The duration of synchronous calls of the library when no peer answers: as
 * tests/fabric/loss/bounds.rst says. On the software InfiniBand adapters, see knobs.h.
 */
#include <arpa/inet.h>
#include <errno.h>
#include <pthread.h>
#include <rdma/rdma_cm_alt.h>
#include <rdma/rdma_cma.h>
#include <stdint.h>
#include <string.h>
#include <unistd.h>

#include "interrupt.h"
#include "knobs.h"
#include "ktap.h"

#define NOBODY_AT "10.8.0.99"

/* Slack: a guest is an emulated machine that shares its processors with others. */
#define SLOWER 5.0

/* Timeouts of calls that take one; the time limit of the administrator for a group. */
#define GIVEN_MS 2000
#define GIVEN (GIVEN_MS / 1000.0)
#define GROUP 3.0

/* A reply is sent 16 times, every 128 ms. */
#define REPLIES 2.0

static struct sockaddr_in address(const char *ip, uint16_t port)
{
	struct sockaddr_in in = { .sin_family = AF_INET, .sin_port = htons(port) };

	EXPECT_EQ(inet_pton(AF_INET, ip, &in.sin_addr), 1);
	return in;
}

/* The call that began at @start has failed with the expected error in the expected time. */
static void gave_up(const char *call, int ret, int error, double start, double after)
{
	double took = now() - start;

	ktap_note("%s: %.2f s", call, took);
	EXPECT_EQ(ret, -1);
	EXPECT_EQ(errno, error);
	EXPECT(took > after * 0.8);
	EXPECT(took < after + SLOWER);
}

#define GIVES_UP(call, error, after) do {					\
	double gives_start = now();						\
	int gives_ret = (call);							\
										\
	gave_up(#call, gives_ret, error, gives_start, after);			\
} while (0)

#define ENDS_WITHIN(call, seconds) do {						\
	double ends_start = now();						\
										\
	EXPECT_EQ(call, 0);							\
	EXPECT(now() - ends_start < (seconds) + SLOWER);			\
} while (0)

/* The end of a test: destroy each of the ids, and remove the rules. */
static void end_ids(struct rdma_cm_id *first, struct rdma_cm_id *second, struct rdma_cm_id *third)
{
	struct rdma_cm_id *ids[] = { first, second, third };

	for (int i = 0; i < 3; i++)
		if (ids[i])
			ENDS_WITHIN(rdma_destroy_id(ids[i]), 0);
	rule("clear");
}

/* A listener at that address; it is a synchronous id when there is no channel. */
static struct rdma_cm_id *get_listener(struct rdma_event_channel *channel)
{
	struct sockaddr_in at = address(SERVER_AT, 0);
	struct rdma_cm_id *id;

	rule("clear");
	go_there();
	EXPECT_EQ(rdma_create_id(channel, &id, NULL, RDMA_PS_TCP), 0);
	EXPECT_EQ(rdma_bind_addr(id, (struct sockaddr *)&at), 0);
	EXPECT_EQ(rdma_listen(id, 0), 0);
	go_here();
	return id;
}

static struct rdma_cm_id *get_client(struct rdma_event_channel *channel, const char *ip,
				     uint16_t port)
{
	struct sockaddr_in to = address(ip, port);
	struct rdma_cm_id *id;

	EXPECT_EQ(rdma_create_id(channel, &id, NULL, RDMA_PS_TCP), 0);
	EXPECT_EQ(rdma_resolve_addr(id, NULL, (struct sockaddr *)&to, GIVEN_MS), 0);
	return id;
}

static void set_deadline(struct rdma_cm_id *id)
{
	uint32_t ms = GIVEN_MS;

	EXPECT_EQ(rdma_set_option(id, RDMA_CM_ALT_OPTION, RDMA_CM_ALT_OPTION_DEADLINE, &ms,
				  sizeof(ms)), 0);
}

static struct rdma_conn_param conn_param(void)
{
	static uint32_t number;

	return (struct rdma_conn_param) {
		.qp_num = (((uint32_t)getpid() << 8) + ++number) & 0xffffff,
		.responder_resources = 1, .initiator_depth = 1, .retry_count = 7,
	};
}

TEST_LONG(neighbour_is_silent)
{
	struct sockaddr_in to = address(NOBODY_AT, 1);
	struct rdma_cm_id *id;

	rule("clear");
	EXPECT_EQ(rdma_create_id(NULL, &id, NULL, RDMA_PS_TCP), 0);
	GIVES_UP(rdma_resolve_addr(id, NULL, (struct sockaddr *)&to, GIVEN_MS), ETIMEDOUT, GIVEN);
	ENDS_WITHIN(rdma_destroy_id(id), 0);
}

TEST_LONG(administrator_is_silent)
{
	struct sockaddr_in here = address(CLIENT_AT, 0), group = address("239.9.9.1", 0);
	struct rdma_cm_id *id, *ud;

	rule("clear");
	id = get_client(NULL, SERVER_AT, 1);
	EXPECT_EQ(rdma_create_id(NULL, &ud, NULL, RDMA_PS_UDP), 0);
	EXPECT_EQ(rdma_bind_addr(ud, (struct sockaddr *)&here), 0);
	lose("drop SA");
	GIVES_UP(rdma_resolve_route(id, GIVEN_MS), ETIMEDOUT, GIVEN);
	GIVES_UP(rdma_join_multicast(ud, (struct sockaddr *)&group, NULL), ETIMEDOUT, GROUP);
	ENDS_WITHIN(rdma_leave_multicast(ud, (struct sockaddr *)&group), 0);
	end_ids(ud, id, NULL);
}

TEST(peer_is_silent)
{
	struct rdma_cm_id *listener = get_listener(NULL);
	struct rdma_conn_param param = conn_param();
	struct rdma_cm_id *id = get_client(NULL, SERVER_AT, ntohs(rdma_get_src_port(listener)));

	EXPECT_EQ(rdma_resolve_route(id, GIVEN_MS), 0);
	set_deadline(id);
	lose("drop CM");
	GIVES_UP(rdma_connect(id, &param), ETIMEDOUT, GIVEN);
	end_ids(id, listener, NULL);
}

static void *accept_one(void *arg)
{
	struct rdma_conn_param param = conn_param();
	struct rdma_cm_id *listener = arg, *id;

	EXPECT_EQ(rdma_get_request(listener, &id), 0);
	EXPECT_EQ(rdma_accept(id, &param), 0);
	return id;
}

TEST_LONG(peer_is_silent_when_it_is_to_disconnect)
{
	struct rdma_cm_id *listener = get_listener(NULL), *id, *server;
	struct rdma_conn_param param = conn_param();
	pthread_t thread;

	EXPECT_EQ(pthread_create(&thread, NULL, accept_one, listener), 0);
	id = get_client(NULL, SERVER_AT, ntohs(rdma_get_src_port(listener)));
	EXPECT_EQ(rdma_resolve_route(id, GIVEN_MS), 0);
	EXPECT_EQ(rdma_connect(id, &param), 0);
	EXPECT_EQ(rdma_establish(id), 0);
	EXPECT_EQ(pthread_join(thread, (void **)&server), 0);
	set_deadline(id);
	lose("drop CM");
	ENDS_WITHIN(rdma_disconnect(id), GIVEN);
	end_ids(id, server, listener);
}

static void take_event(struct rdma_event_channel *channel)
{
	struct rdma_cm_event *event;

	EXPECT_EQ(rdma_get_cm_event(channel, &event), 0);
	EXPECT_EQ(rdma_ack_cm_event(event), 0);
}

TEST_LONG(client_is_silent_when_it_is_accepted)
{
	struct rdma_event_channel *channel = rdma_create_event_channel();
	struct rdma_cm_id *listener = get_listener(NULL), *id, *server;
	struct rdma_conn_param param = conn_param();

	id = get_client(channel, SERVER_AT, ntohs(rdma_get_src_port(listener)));
	take_event(channel);
	EXPECT_EQ(rdma_resolve_route(id, GIVEN_MS), 0);
	take_event(channel);
	EXPECT_EQ(rdma_connect(id, &param), 0);
	EXPECT_EQ(rdma_get_request(listener, &server), 0);
	lose("drop CM");
	GIVES_UP(rdma_accept(server, &param), ETIMEDOUT, REPLIES);
	end_ids(server, id, listener);
	rdma_destroy_event_channel(channel);
}

TEST_LONG(signal_ends_waiting)
{
	struct rdma_event_channel *channel = rdma_create_event_channel();
	struct rdma_conn_param param = conn_param();
	struct rdma_cm_event *event;
	struct rdma_cm_id *id;

	rule("clear");
	interrupt_in_a_second();
	GIVES_UP(rdma_get_cm_event(channel, &event), EINTR, 1);
	rdma_destroy_event_channel(channel);
	id = get_client(NULL, SERVER_AT, 1);
	EXPECT_EQ(rdma_resolve_route(id, GIVEN_MS), 0);
	lose("drop CM");
	interrupt_in_a_second();
	GIVES_UP(rdma_connect(id, &param), EINTR, 1);
	end_ids(id, NULL, NULL);
}

KTAP_MAIN
