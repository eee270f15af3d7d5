// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * Connections over a fabric that loses messages, which the software InfiniBand adapters do on
 * demand: which messages are retransmitted, and what ends when no peer answers.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "fabric.h"

#define OPT(name) RDMA_CM_ALT_OPTION_##name

/* The time that stock takes for a message that was lost once. No row comes near it. */
#define STOCK_SECONDS 4.0

/* rca_connect() and all that follows, until the client has its response. */
static void ask_both(struct pair *p)
{
	event_t ev;

	EXPECT_EQ(rca_connect(p->ctx, p->client, NULL, 0), 0);
	EXPECT_EVENT_STATUS(p->lq, CONNECT_REQUEST, 0, 0, &ev);
	p->server = ev.id;
	EXPECT_EQ(rca_accept(p->ctx, p->server, SERVER, NULL, 0), 0);
	EXPECT_EVENT(p->cq, CONNECT_RESPONSE, p->client);
}

/* The same, until the client has sent its RTU. */
static void connect_client(struct pair *p)
{
	ask_both(p);
	EXPECT_EQ(rca_establish(p->ctx, p->client), 0);
}

static void connect_both(struct pair *p)
{
	connect_client(p);
	EXPECT_EVENT(p->lq, ESTABLISHED, p->server);
	EXPECT(!event_waits(p->lq));
	EXPECT(!event_waits(p->cq));
}

static void set_deadline(const struct pair *p, uint32_t ms)
{
	EXPECT_EQ(rca_set_option(p->ctx, p->client, RDMA_CM_ALT_OPTION, OPT(DEADLINE), &ms,
				 sizeof(ms)), 0);
}

static void set_byte(const struct pair *p, uint32_t name, uint8_t value)
{
	EXPECT_EQ(rca_set_option(p->ctx, p->client, RDMA_CM_ALT_OPTION, name, &value, 1), 0);
}

/* The duration of a connect when this message is lost. */
static double without(const char *message)
{
	char text[64];
	struct pair p;
	double took;

	pair_apart(&p);
	snprintf(text, sizeof(text), "drop %s count=1", message);
	lose(text);
	took = now();
	connect_both(&p);
	took = now() - took;
	snprintf(text, sizeof(text), "drop %s", message);
	EXPECT(seen_by(text) >= 2);
	EXPECT(took < STOCK_SECONDS);
	return took;
}

static int by_length(const void *a, const void *b)
{
	return *(const double *)a < *(const double *)b ? -1 : 1;
}

/* The median of five. The kernel's clock may lag behind once, and catch up in a wait. */
static double usually_without(const char *message)
{
	double took[5];

	for (int i = 0; i < 5; i++)
		took[i] = without(message);
	qsort(took, 5, sizeof(*took), by_length);
	return took[2];
}

/* 2 * 64 ms for the way, 32 ms for the peer. */
TEST(lost_request_is_sent_again)
{
	EXPECT(usually_without("REQ") > 0.15);
}

/* The peer resends it after the time that our request carries: 128 ms. */
TEST(lost_reply_is_sent_again)
{
	EXPECT(usually_without("REP") > 0.12);
}

TEST(lost_ready_to_use_is_sent_again)
{
	without("RTU");
}

/*
 * The peer repeats its REP for a second, and then waits for as long as the MRA says that it
 * received meanwhile, or the second MRA, which answers another REP.
 */
TEST(slow_program_keeps_its_peer)
{
	struct pair p;

	pair_apart(&p);
	set_byte(&p, OPT(MAX_RETRIES), 7);
	lose("drop MRA count=1");
	ask_both(&p);
	sleep(8);
	EXPECT(seen_by("drop MRA") >= 2);
	EXPECT(!event_waits(p.lq));
	EXPECT_EQ(rca_establish(p.ctx, p.client), 0);
	EXPECT_EVENT(p.lq, ESTABLISHED, p.server);
	EXPECT(!event_waits(p.lq));
	EXPECT(!event_waits(p.cq));
}

/* Three retry intervals of two messages each; the peer gets one request. */
TEST(rounds_follow_each_other)
{
	struct pair p;

	pair_apart(&p);
	set_byte(&p, OPT(MAX_RETRIES), 1);
	set_deadline(&p, 60000);
	lose("drop REQ count=5");
	connect_both(&p);
	EXPECT(seen_by("drop REQ") >= 6);
}

TEST(deadline_ends_a_connect)
{
	struct pair p;
	unsigned int sent;
	double took;

	pair_apart(&p);
	set_deadline(&p, 1000);
	lose("drop REQ");
	took = now();
	EXPECT_EQ(rca_connect(p.ctx, p.client, NULL, 0), 0);
	EXPECT_EVENT_STATUS(p.cq, UNREACHABLE, p.client, -ETIMEDOUT, NULL);
	took = now() - took;
	EXPECT(took > 0.99);
	sent = seen_by("drop REQ");
	EXPECT(sent >= 2);
	/* No further message is sent. */
	sleep(1);
	EXPECT_EQ(seen_by("drop REQ"), sent);
	EXPECT(!event_waits(p.cq));
	rule("clear");
}

/* The server has not answered yet: the deadline withdraws the request. */
TEST(peer_is_told_of_the_deadline)
{
	struct pair p;
	event_t ev;

	pair_apart(&p);
	set_deadline(&p, 500);
	EXPECT_EQ(rca_connect(p.ctx, p.client, NULL, 0), 0);
	EXPECT_EVENT_STATUS(p.lq, CONNECT_REQUEST, 0, 0, &ev);
	EXPECT_EVENT_STATUS(p.cq, UNREACHABLE, p.client, -ETIMEDOUT, NULL);
	sleep(2);	/* for the message */
	EXPECT_EQ(rca_accept(p.ctx, ev.id, SERVER, NULL, 0), -ECONNRESET);
}

/* The peer gets no DREQ: the client's deadline of 700 ms ends the disconnect. */
static void disconnect_until_the_deadline(const struct pair *p)
{
	double took;

	lose("drop DREQ");
	took = now();
	EXPECT_EQ(rca_disconnect(p->ctx, p->client), 0);
	EXPECT_EVENT(p->cq, DISCONNECTED, p->client);
	EXPECT(now() - took > 0.69);
	EXPECT_EVENT(p->cq, TIMEWAIT_EXIT, p->client);
}

TEST(disconnect_from_a_dead_peer_ends_at_the_deadline)
{
	struct pair p;

	pair_apart(&p);
	connect_both(&p);
	set_deadline(&p, 700);
	disconnect_until_the_deadline(&p);
	EXPECT(seen_by("drop DREQ") >= 2);
	EXPECT(!event_waits(p.cq));
	EXPECT(!event_waits(p.lq));
	EXPECT_EQ(rca_disconnect(p.ctx, p.client), 0);
	EXPECT_EQ(rca_destroy(p.ctx, p.client), 0);
	rule("clear");
}

static void set_deadline_of_the_namespace(const char *ms)
{
	FILE *file = fopen("/proc/sys/net/rdma_cm_alt/deadline_ms", "w");

	EXPECT(file);
	EXPECT(fputs(ms, file) >= 0);
	EXPECT_EQ(fclose(file), 0);
}

TEST(deadline_of_the_namespace_ends_connect_and_disconnect)
{
	struct pair p;
	double took;

	pair_apart(&p);
	connect_both(&p);
	set_deadline_of_the_namespace("700");
	disconnect_until_the_deadline(&p);
	EXPECT_EQ(rca_destroy(p.ctx, p.client), 0);
	lose("drop REQ");
	p.client = get_client(p.ctx, p.cq, SERVER_AT, p.port, CLIENT);
	took = now();
	EXPECT_EQ(rca_connect(p.ctx, p.client, NULL, 0), 0);
	EXPECT_EVENT_STATUS(p.cq, UNREACHABLE, p.client, -ETIMEDOUT, NULL);
	took = now() - took;
	EXPECT(took > 0.69);
	EXPECT(took < STOCK_SECONDS);
	set_deadline_of_the_namespace("0");
	rule("clear");
}

TEST(lost_disconnect_request_is_sent_again)
{
	struct pair p;

	pair_apart(&p);
	connect_both(&p);
	lose("drop DREQ count=1");
	EXPECT_EQ(rca_disconnect(p.ctx, p.server), 0);
	EXPECT_EVENT(p.cq, DISCONNECTED, p.client);
	EXPECT_EVENT(p.lq, DISCONNECTED, p.server);
	EXPECT(seen_by("drop DREQ") >= 2);
}

/*
 * A client of stock makes its peer repeat messages every 4.1 s, and so does this one. It gets
 * the disconnect although the first three DREQs are lost.
 */
TEST(client_with_long_timers_is_asked_often_enough)
{
	struct pair p;

	pair_apart(&p);
	set_byte(&p, OPT(RESPONSE_TIMEOUT), 20);
	connect_both(&p);
	lose("drop DREQ count=3");
	EXPECT_EQ(rca_destroy(p.ctx, p.server), 0);
	EXPECT_EVENT(p.cq, DISCONNECTED, p.client);
	EXPECT(seen_by("drop DREQ") >= 4);
}

/* The server's QP has received, and the client's RTU was lost: the disconnect comes after it. */
static void ends_before_it_is_ready(int (*end)(int ctx, uint32_t id))
{
	struct pair p;
	double took;

	pair_apart(&p);
	lose("drop RTU count=2");
	connect_client(&p);
	EXPECT_EQ(rca_notify(p.ctx, p.server, 4 /* IBV_EVENT_COMM_EST */), 0);
	EXPECT_EVENT(p.lq, ESTABLISHED, p.server);
	took = now();
	EXPECT_EQ(end(p.ctx, p.server), 0);
	took = now() - took;
	EXPECT(took < 2);
	EXPECT_EVENT(p.cq, DISCONNECTED, p.client);
	EXPECT(seen_by("drop RTU") >= 3);
}

TEST(disconnect_waits_for_ready_to_use)
{
	ends_before_it_is_ready(rca_disconnect);
}

TEST(destroyed_id_waits_for_ready_to_use)
{
	ends_before_it_is_ready(rca_destroy);
}

/* In the background: the call does not wait. */
TEST(destroyed_connection_asks_again)
{
	struct pair p;

	pair_apart(&p);
	connect_both(&p);
	lose("drop DREQ count=2");
	EXPECT_EQ(rca_destroy(p.ctx, p.client), 0);
	EXPECT_EVENT(p.lq, DISCONNECTED, p.server);
	EXPECT(seen_by("drop DREQ") >= 3);
}

/*
 * More requests than the window: all of them are sent, one after the other, and none is forgotten.
 * The subnet administrator reports a long packet lifetime, because a message of so many may take a
 * second in the debug guest.
 */
TEST(crowd_beyond_the_window)
{
	enum { CROWD = 600 };
	int seen = 0, connected = 0;
	uint32_t ids[CROWD];
	struct pair p;
	event_t ev;

	knob("sa_lifetime", "18");
	pair_apart(&p);
	for (int i = 0; i < CROWD; i++)
		ids[i] = get_client(p.ctx, p.cq, SERVER_AT, p.port, i);
	lose("drop REQ percent=1");
	for (int i = 0; i < CROWD; i++)
		EXPECT_EQ(rca_connect(p.ctx, ids[i], NULL, 0), 0);
	while (seen < CROWD || connected < CROWD) {
		while (seen < CROWD && event_waits(p.lq)) {
			get_event(p.lq, &ev);
			if (ev.type != RDMA_CM_ALT_EVENT_CONNECT_REQUEST)
				continue;
			EXPECT_EQ(rca_accept(p.ctx, ev.id, SERVER, NULL, 0), 0);
			seen++;
		}
		while (connected < CROWD && event_waits(p.cq)) {
			get_event(p.cq, &ev);
			EXPECT_EQ(ev.type, RDMA_CM_ALT_EVENT_CONNECT_RESPONSE);
			EXPECT_EQ(rca_establish(p.ctx, ev.id), 0);
			connected++;
		}
		usleep(1000);
	}
	rule("clear");
	/* All disconnect at once: each peer gets its event. */
	EXPECT_EQ(close(p.cq), 0);
	for (seen = 0; seen < CROWD;) {
		get_event(p.lq, &ev);
		if (ev.type == RDMA_CM_ALT_EVENT_ESTABLISHED ||
		    ev.type == RDMA_CM_ALT_EVENT_TIMEWAIT_EXIT)
			continue;
		EXPECT_EQ(ev.type, RDMA_CM_ALT_EVENT_DISCONNECTED);
		seen++;
	}
	knob("sa_lifetime", "14");
}

KTAP_MAIN
