// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * Tests of the places of a port in kernel/id/pacing.c, on a fake transport: who gets them, and when
 * a request gives its place back.
 *
 * Locking: none.
 */
#include <kunit/test.h>
#include <linux/cred.h>
#include <linux/delay.h>
#include <linux/jiffies.h>

#include "cm/cm.h"
#include "event/queue.h"
#include "fake/fake_suite.h"
#include "id/id.h"
#include "lib/testing.h"
#include "transport/transport.h"

#define PLACES		32
#define HALF		16	/* for the silent peers of a user */
#define FIRST		4	/* for the first requests to them */
#define SHARE		24	/* for one user */
#define SILENCE_MS	50
#define HOLD_MS		100
#define NEVER_MS	3600000
#define DEAD		0x0a090100	/* 10.9.1.0 and the addresses after it */
#define ALIVE		0x0a090200

/* Longer than a message counts, and than a request keeps its place. */
#define LONG_ENOUGH_MS	500

static int places_init(struct kunit *test)
{
	int ret = fake_suite_init(test);
	struct fake *fake = test->priv;

	if (ret)
		return ret;
	fake->dev.places = rca_places_create(1);
	KUNIT_ASSERT_NOT_NULL(test, fake->dev.places);
	rca_places = PLACES;
	rca_place_hold_ms = NEVER_MS;
	rca_window_timeout_ms = NEVER_MS;
	return 0;
}

static struct rca_gate *port_of(struct kunit *test)
{
	struct fake *fake = test->priv;

	return &fake->dev.places->ports[1].cm;
}

static int taken(struct kunit *test)
{
	return port_of(test)->taken;
}

static void places_exit(struct kunit *test)
{
	struct rca_gate *port = port_of(test);
	struct fake *fake = test->priv;

	fake_suite_exit(test);
	KUNIT_EXPECT_EQ(test, taken(test), 0);
	KUNIT_EXPECT_EQ(test, port->waiting, 0u);
	KUNIT_EXPECT_EQ(test, port->users.count, 0u);
	KUNIT_EXPECT_TRUE(test, RB_EMPTY_ROOT(&port->users.tree));
	kfree(fake->dev.places);
	rca_places = RCA_PORT_PLACES;
	rca_place_hold_ms = 500;
	rca_window_timeout_ms = SILENCE_MS;
}

/* A user beside the one of the fake. */
struct other {
	struct rca_ctx *ctx;
	struct rca_queue *queue;
};

static void make_other(struct kunit *test, struct other *other, unsigned int uid)
{
	struct cred *cred = prepare_creds();
	const struct cred *before;

	KUNIT_ASSERT_NOT_NULL(test, cred);
	cred->uid = KUIDT_INIT(uid);
	before = override_creds(cred);
	other->ctx = rca_ctx_create();
	revert_creds(before);
	put_cred(cred);
	KUNIT_ASSERT_NOT_ERR_OR_NULL(test, other->ctx);
	other->queue = rca_queue_create(other->ctx, sizeof(struct rdma_cm_alt_event), true);
	KUNIT_ASSERT_NOT_ERR_OR_NULL(test, other->queue);
}

static void end_other(struct other *other)
{
	rca_queue_shutdown(other->queue);
	rca_queue_put(other->queue);
	rca_ctx_shutdown(other->ctx);
	rca_ctx_put(other->ctx);
}

/* The other user is the one of the fake from here on, and the reverse. */
static void change_user(struct kunit *test, struct other *other)
{
	struct fake *fake = test->priv;

	swap(fake->ctx, other->ctx);
	swap(fake->queue, other->queue);
}

static struct rca_id *connecting_to(struct kunit *test, u32 ip)
{
	struct rca_id *id = fake_active_id(test, test->priv, FAKE_COOKIE);
	struct rca_tp_conn conn = { .qp_num = 42 };

	id->dst.in.sin_addr.s_addr = cpu_to_be32(ip);
	KUNIT_ASSERT_EQ(test, rca_connect(id, &conn), 0);
	return id;
}

/* Sends @count requests to one dead peer; returns the first. */
static struct rca_id *flood(struct kunit *test, u32 ip, int count)
{
	struct rca_id *first = connecting_to(test, ip);

	while (--count)
		connecting_to(test, ip);
	return first;
}

static struct rca_id *asking(struct kunit *test, u32 ip)
{
	struct rca_id *id = fake_active_datagram(test, test->priv, FAKE_COOKIE);
	struct rca_tp_conn conn = {};

	id->dst.in.sin_addr.s_addr = cpu_to_be32(ip);
	KUNIT_ASSERT_EQ(test, rca_connect(id, &conn), 0);
	fake_expect_state(test, id, RCA_ST_SIDR_SENT);
	return id;
}

static void dead_peer_leaves_half_of_the_places(struct kunit *test)
{
	struct fake *fake = test->priv;
	struct rca_id *id;

	flood(test, DEAD, 2 * PLACES);
	KUNIT_EXPECT_EQ(test, fake->connects, HALF);
	KUNIT_EXPECT_EQ(test, taken(test), HALF);
	/* Another peer may be alive. */
	id = connecting_to(test, ALIVE);
	fake_expect_state(test, id, RCA_ST_REQ_SENT);
	id = connecting_to(test, ALIVE);
	fake_expect_state(test, id, RCA_ST_REQ_WAIT);
}

/* Each may be alive; but there are requests to peers that are known to be. */
static void first_requests_take_an_eighth_more(struct kunit *test)
{
	struct fake *fake = test->priv;
	int i;

	for (i = 0; i < 2 * PLACES; i++)
		connecting_to(test, DEAD + i);
	KUNIT_EXPECT_EQ(test, fake->connects, HALF + FIRST);
	connecting_to(test, DEAD);
	KUNIT_EXPECT_EQ(test, fake->connects, HALF + FIRST);
}

static void peer_that_answers_does_not_wait_for_silent_ones(struct kunit *test)
{
	struct rca_id *id = connecting_to(test, ALIVE);
	struct fake *fake = test->priv;

	KUNIT_EXPECT_EQ(test, taken(test), 1);
	fake_message(id, RCA_IN_REJ, 8);
	KUNIT_EXPECT_EQ(test, taken(test), 0);
	flood(test, DEAD, 2 * PLACES);
	KUNIT_EXPECT_EQ(test, fake->connects, 1 + HALF);
	flood(test, ALIVE, 2 * PLACES);
	KUNIT_EXPECT_EQ(test, fake->connects, 1 + SHARE);
	KUNIT_EXPECT_EQ(test, taken(test), SHARE);
}

static void first_answer_lets_another_one_go(struct kunit *test)
{
	struct rca_id *first = flood(test, ALIVE, HALF), *next = connecting_to(test, ALIVE);
	struct fake *fake = test->priv;

	fake_expect_state(test, next, RCA_ST_REQ_WAIT);
	fake_message(first, RCA_IN_REJ, 8);
	rca_id_flush_work(next);
	fake_expect_state(test, next, RCA_ST_REQ_SENT);
	KUNIT_EXPECT_EQ(test, fake->connects, HALF + 1);
	KUNIT_EXPECT_EQ(test, taken(test), HALF);
}

static void peer_that_stops_answering_is_silent(struct kunit *test)
{
	struct rca_id *id = connecting_to(test, ALIVE);
	struct fake *fake = test->priv;

	fake_message(id, RCA_IN_REJ, 8);
	flood(test, ALIVE, FIRST);
	rca_window_timeout_ms = SILENCE_MS;
	msleep(LONG_ENOUGH_MS);
	flood(test, ALIVE, 2 * PLACES);
	KUNIT_EXPECT_EQ(test, fake->connects, 1 + FIRST + HALF);
}

static void time_out(struct rca_id *id)
{
	id->setup->retry->once = true;
	fake_message(id, RCA_IN_REQ_TIMEOUT, -ETIMEDOUT);
}

/* A forgotten message frees no place, as ib_mad still has it; one that has ended does. */
static void place_is_free_when_the_request_has_ended(struct kunit *test)
{
	struct rca_id *first = flood(test, DEAD, HALF), *id = connecting_to(test, DEAD);

	rca_window_timeout_ms = SILENCE_MS;
	msleep(LONG_ENOUGH_MS);
	fake_expect_state(test, id, RCA_ST_REQ_WAIT);
	KUNIT_EXPECT_EQ(test, taken(test), HALF);
	time_out(first);
	rca_id_flush_work(id);
	fake_expect_state(test, id, RCA_ST_REQ_SENT);
	KUNIT_EXPECT_EQ(test, taken(test), HALF);
}

/* It is sent again after a while: until then ib_mad does not have it. */
static void place_is_free_between_two_rounds(struct kunit *test)
{
	struct rca_id *id = connecting_to(test, DEAD);

	KUNIT_EXPECT_EQ(test, taken(test), 1);
	id->setup->retry->sent -= 2 * id->setup->retry->interval;
	fake_message(id, RCA_IN_REQ_TIMEOUT, -ETIMEDOUT);
	fake_expect_state(test, id, RCA_ST_REQ_WAIT);
	KUNIT_EXPECT_EQ(test, taken(test), 0);
	rca_id_flush_work(id);
	fake_expect_state(test, id, RCA_ST_REQ_SENT);
	KUNIT_EXPECT_EQ(test, taken(test), 1);
}

static void destroy(struct kunit *test, struct rca_id *id)
{
	u32 reported;

	KUNIT_EXPECT_EQ(test, rca_destroy(id->obj.ctx, id->obj.handle, &reported), 0);
}

static void place_is_free_when_the_id_is_destroyed(struct kunit *test)
{
	struct rca_id *first = flood(test, DEAD, HALF), *waits = connecting_to(test, DEAD);
	struct rca_id *next = connecting_to(test, DEAD);

	destroy(test, waits);
	KUNIT_EXPECT_EQ(test, port_of(test)->waiting, 1u);
	destroy(test, first);
	KUNIT_EXPECT_EQ(test, port_of(test)->waiting, 0u);
	/* A place was granted, and not taken yet. */
	destroy(test, next);
	KUNIT_EXPECT_EQ(test, taken(test), HALF - 1);
}

static void places_are_free_when_the_device_is_removed(struct kunit *test)
{
	struct rca_id *id = flood(test, DEAD, 2 * PLACES);
	struct fake *fake = test->priv;

	asking(test, DEAD);
	KUNIT_EXPECT_EQ(test, port_of(test)->waiting, 2u * PLACES - HALF);
	fake->dev.removing = true;
	rca_teardown_device(&fake->dev);
	fake_expect_state(test, id, RCA_ST_REMOVED);
	KUNIT_EXPECT_EQ(test, taken(test), 0);
	KUNIT_EXPECT_EQ(test, port_of(test)->waiting, 0u);
	fake->dev.removing = false;
}

/* Pretend that two minutes have passed while a request waits. Was it sent before? */
static struct rca_id *wait_for_minutes(struct kunit *test, bool sent)
{
	struct rca_id *first = flood(test, DEAD, HALF), *id = connecting_to(test, DEAD);

	if (sent) {
		id->setup->retry->sent = id->setup->retry->since;
		id->setup->retry->why = RCA_IN_SILENCE;
	}
	id->setup->retry->since -= 120 * HZ;
	id->setup->retry->deadline -= 120 * HZ;
	time_out(first);
	rca_id_flush_work(id);
	fake_expect_state(test, id, RCA_ST_REQ_SENT);
	return id;
}

/* Otherwise the requests to a dead peer would last for ever. */
static void wait_for_a_silent_peer_is_silence(struct kunit *test)
{
	struct rca_id *id = wait_for_minutes(test, true);

	KUNIT_EXPECT_TRUE(test, time_before(id->setup->retry->deadline, jiffies));
}

static void wait_before_the_first_request_is_no_silence(struct kunit *test)
{
	struct rca_id *id = wait_for_minutes(test, false);
	struct fake *fake = test->priv;

	KUNIT_EXPECT_TRUE(test, time_after(id->setup->retry->deadline, jiffies));
	/* As many as beside so many others without a wait. */
	KUNIT_EXPECT_EQ(test, (int)fake->last_timers.retries, 7);
}

static void disconnect_does_not_wait_for_places(struct kunit *test)
{
	struct rca_id *id = connecting_to(test, ALIVE);
	struct fake *fake = test->priv;

	fake_message(id, RCA_IN_REP, 0);
	KUNIT_ASSERT_EQ(test, rca_establish(id), 0);
	rca_window_timeout_ms = SILENCE_MS;
	msleep(LONG_ENOUGH_MS);
	/* The last of these wait for a place. */
	flood(test, ALIVE, HALF + 1);
	KUNIT_EXPECT_TRUE(test, rca_window_silent(id) || !id->setup);
	KUNIT_EXPECT_EQ(test, rca_disconnect(id), 0);
	KUNIT_EXPECT_EQ(test, fake->disconnects, 1);
}

/* A disconnect does. */
static void request_with_a_place_does_not_wait_for_a_slot(struct kunit *test)
{
	struct rca_id *id = connecting_to(test, ALIVE);
	struct fake *fake = test->priv;

	fake_message(id, RCA_IN_REP, 0);
	KUNIT_ASSERT_EQ(test, rca_establish(id), 0);
	rca_places = 4 * RCA_WINDOW_SIZE;
	fake->connects = 0;
	flood(test, ALIVE, RCA_WINDOW_SIZE + 1);
	KUNIT_EXPECT_EQ(test, fake->connects, RCA_WINDOW_SIZE + 1);
	KUNIT_EXPECT_EQ(test, rca_disconnect(id), 0);
	KUNIT_EXPECT_EQ(test, fake->disconnects, 0);
	fake_expect_state(test, id, RCA_ST_DREQ_SENT);
}

static void no_limit_without_counters(struct kunit *test)
{
	struct fake *fake = test->priv;

	rca_places = 0;
	flood(test, DEAD, 2 * PLACES);
	KUNIT_EXPECT_EQ(test, fake->connects, 2 * PLACES);
	KUNIT_EXPECT_EQ(test, (int)fake->last_timers.retries, 7);
	KUNIT_EXPECT_EQ(test, taken(test), 0);
}

/* Lets the peer ALIVE answer, so that requests to it are limited by the user's share alone. */
static void know_alive(struct kunit *test)
{
	fake_message(connecting_to(test, ALIVE), RCA_IN_REJ, 8);
}

/* A user takes three times as many places as are free. */
static void user_leaves_places_to_others(struct kunit *test)
{
	struct fake *fake = test->priv;
	struct other other;
	struct rca_id *id;

	make_other(test, &other, 4711);
	know_alive(test);
	fake->connects = 0;
	flood(test, ALIVE, 2 * PLACES);
	KUNIT_EXPECT_EQ(test, fake->connects, SHARE);
	change_user(test, &other);
	id = connecting_to(test, ALIVE);
	fake_expect_state(test, id, RCA_ST_REQ_SENT);
	flood(test, ALIVE, 2 * PLACES);
	KUNIT_EXPECT_EQ(test, taken(test), SHARE + 6);
	end_other(&other);
}

/* Silent peers of one user do not count for another one. */
static void silent_peers_are_those_of_the_user(struct kunit *test)
{
	struct rca_id *first, *second;
	struct other other;

	make_other(test, &other, 4711);
	flood(test, DEAD, 2 * PLACES);
	change_user(test, &other);
	first = connecting_to(test, DEAD);
	second = connecting_to(test, DEAD);
	fake_expect_state(test, first, RCA_ST_REQ_SENT);
	fake_expect_state(test, second, RCA_ST_REQ_SENT);
	end_other(&other);
}

/* Each place that is given back goes to the user who has less. */
static void user_who_has_less_is_next(struct kunit *test)
{
	struct rca_id *ids[SHARE], *waits, *other_waits;
	struct fake *fake = test->priv;
	struct other other;
	int i;

	make_other(test, &other, 4711);
	know_alive(test);
	for (i = 0; i < SHARE; i++)
		ids[i] = connecting_to(test, ALIVE);
	waits = connecting_to(test, ALIVE);
	change_user(test, &other);
	flood(test, ALIVE, 6);
	other_waits = connecting_to(test, ALIVE);
	fake_expect_state(test, waits, RCA_ST_REQ_WAIT);
	fake_expect_state(test, other_waits, RCA_ST_REQ_WAIT);
	fake->connects = 0;
	for (i = 0; i < 3; i++)
		fake_message(ids[i], RCA_IN_REJ, 8);
	rca_id_flush_work(waits);
	rca_id_flush_work(other_waits);
	fake_expect_state(test, other_waits, RCA_ST_REQ_SENT);
	fake_expect_state(test, waits, RCA_ST_REQ_WAIT);
	KUNIT_EXPECT_EQ(test, fake->connects, 1);
	end_other(&other);
}

/* ib_mad queues it, and those of others give their places up. */
static void user_without_a_place_does_not_wait(struct kunit *test)
{
	struct rca_id *id, *next;
	struct other other;

	make_other(test, &other, 4711);
	know_alive(test);
	rca_places = 1;
	connecting_to(test, ALIVE);
	change_user(test, &other);
	id = connecting_to(test, ALIVE);
	next = connecting_to(test, ALIVE);
	fake_expect_state(test, id, RCA_ST_REQ_SENT);
	fake_expect_state(test, next, RCA_ST_REQ_WAIT);
	KUNIT_EXPECT_EQ(test, taken(test), 2);
	end_other(&other);
}

/* Waits until a request is sent. */
static void await_sent(struct kunit *test, struct rca_id *id)
{
	unsigned long end = jiffies + 10 * HZ;

	while (rca_id_state(id) != RCA_ST_REQ_SENT && time_before(jiffies, end))
		msleep(20);
	fake_expect_state(test, id, RCA_ST_REQ_SENT);
}

/* The place of a request whose peer answers nothing is for others of the user; nobody is told. */
static void silent_request_gives_its_place_back(struct kunit *test)
{
	struct rca_id *ids[HALF], *waits;
	struct fake *fake = test->priv;
	int i, lowers = 0;
	void *lower[HALF];

	rca_place_hold_ms = HOLD_MS;
	for (i = 0; i < HALF; i++) {
		ids[i] = connecting_to(test, DEAD);
		lower[i] = ids[i]->lower;
	}
	waits = connecting_to(test, DEAD);
	fake_expect_state(test, waits, RCA_ST_REQ_WAIT);
	await_sent(test, waits);
	KUNIT_EXPECT_GT(test, fake->connects, HALF);
	/* If all were withdrawn, the next one is the first to its peer. */
	KUNIT_EXPECT_LE(test, taken(test), HALF + FIRST);
	for (i = 0; i < HALF; i++)
		lowers += ids[i]->lower != lower[i];
	/* ib_cm stops only when its cm_id is destroyed. */
	KUNIT_EXPECT_GT(test, lowers, 0);
	fake_expect_no_event(test);
}

static void place_is_kept_if_nobody_wants_it(struct kunit *test)
{
	struct fake *fake = test->priv;

	rca_place_hold_ms = HOLD_MS;
	flood(test, DEAD, HALF);
	msleep(LONG_ENOUGH_MS);
	KUNIT_EXPECT_EQ(test, fake->connects, HALF);
	KUNIT_EXPECT_EQ(test, taken(test), HALF);
}

/* A slow peer is not asked again and again. */
static void request_to_a_peer_that_answers_keeps_its_place(struct kunit *test)
{
	struct rca_id *first, *waits;
	struct fake *fake = test->priv;

	know_alive(test);
	rca_place_hold_ms = LONG_ENOUGH_MS;
	fake->connects = 0;
	first = flood(test, ALIVE, SHARE);
	waits = connecting_to(test, ALIVE);
	fake_message(first, RCA_IN_REJ, 8);
	rca_id_flush_work(waits);
	fake_expect_state(test, waits, RCA_ST_REQ_SENT);
	/* Another answer: a tick may lie between the last one and the request that it let go. */
	WRITE_ONCE(waits->setup->slot.gate->answered, jiffies);
	waits = connecting_to(test, ALIVE);
	msleep(LONG_ENOUGH_MS + 2 * HOLD_MS);
	fake_expect_state(test, waits, RCA_ST_REQ_WAIT);
	KUNIT_EXPECT_EQ(test, fake->connects, SHARE + 1);
}

/* Unless another user waits, who has less. */
static void request_of_who_has_most_gives_its_place_back(struct kunit *test)
{
	struct rca_id *first, *waits;
	struct other other;

	make_other(test, &other, 4711);
	know_alive(test);
	first = flood(test, ALIVE, SHARE);
	change_user(test, &other);
	flood(test, ALIVE, 6);
	waits = connecting_to(test, ALIVE);
	fake_expect_state(test, waits, RCA_ST_REQ_WAIT);
	rca_place_hold_ms = HOLD_MS;
	msleep(2 * HOLD_MS);
	rca_id_flush_work(first);
	await_sent(test, waits);
	end_other(&other);
}

/* Each time it keeps its place for twice as long: a peer that is slow is found. */
static void place_is_kept_for_longer_each_time(struct kunit *test)
{
	struct rca_id *id = flood(test, DEAD, HALF + 1);
	struct rca_ticket *place = &id->setup->place;
	long left;

	mutex_lock(&id->op);
	left = rca_gate_hold(place);
	KUNIT_EXPECT_FALSE(test, rca_gate_yield(place, NULL));
	place->since -= msecs_to_jiffies(NEVER_MS);
	KUNIT_EXPECT_TRUE(test, rca_gate_yield(place, NULL));
	KUNIT_EXPECT_EQ(test, rca_gate_hold(place), LONG_MAX);
	KUNIT_EXPECT_FALSE(test, rca_gate_yield(place, NULL));
	KUNIT_EXPECT_TRUE(test, rca_place_begin(id, RCA_TICKET_SILENT | RCA_TICKET_FIRST));
	KUNIT_EXPECT_GT(test, rca_gate_hold(place), left + left / 2);
	mutex_unlock(&id->op);
}

static void request_that_is_withdrawn_ends_in_time(struct kunit *test)
{
	struct rca_id *id = connecting_to(test, DEAD);
	struct fake *fake = test->priv;

	flood(test, DEAD, HALF);
	rca_place_hold_ms = HOLD_MS;
	msleep(2 * HOLD_MS);
	id->setup->retry->deadline = jiffies;
	rca_id_flush_work(id);
	msleep(LONG_ENOUGH_MS);
	fake_expect_event(test, RDMA_CM_ALT_EVENT_UNREACHABLE, -ETIMEDOUT);
	fake_expect_state(test, id, RCA_ST_FAILED);
	KUNIT_EXPECT_GE(test, fake->connects, HALF + 1);
}

static void datagram_request_waits_for_a_place(struct kunit *test)
{
	struct fake *fake = test->priv;
	struct rca_id *first = asking(test, DEAD), *id = NULL;
	int i;

	for (i = 1; i <= HALF + FIRST; i++)
		id = asking(test, DEAD + i);
	KUNIT_EXPECT_EQ(test, fake->sidr_requests, HALF + FIRST);
	KUNIT_EXPECT_EQ(test, port_of(test)->waiting, 1u);
	fake_message(first, RCA_IN_REQ_TIMEOUT, -ETIMEDOUT);
	fake_expect_event(test, RDMA_CM_ALT_EVENT_UNREACHABLE, -ETIMEDOUT);
	rca_id_flush_work(id);
	KUNIT_EXPECT_EQ(test, fake->sidr_requests, HALF + FIRST + 1);
	fake_message(id, RCA_IN_REP, 0);
	fake_expect_event(test, RDMA_CM_ALT_EVENT_ESTABLISHED, 0);
	KUNIT_EXPECT_EQ(test, taken(test), HALF + FIRST - 1);
}

static void datagram_request_gives_its_place_back(struct kunit *test)
{
	struct fake *fake = test->priv;
	struct rca_id *first = asking(test, DEAD);
	void *lower = first->lower;
	int i;

	for (i = 1; i <= HALF + FIRST; i++)
		asking(test, DEAD + i);
	rca_place_hold_ms = HOLD_MS;
	msleep(2 * HOLD_MS);
	rca_id_flush_work(first);
	KUNIT_EXPECT_PTR_NE(test, first->lower, lower);
	msleep(HOLD_MS);
	/* It may have got a place again meanwhile. */
	KUNIT_EXPECT_GE(test, fake->sidr_requests, HALF + FIRST + 1);
	KUNIT_EXPECT_EQ(test, taken(test), HALF + FIRST);
	fake_expect_no_event(test);
	fake_expect_state(test, first, RCA_ST_SIDR_SENT);
}

static void datagram_request_that_is_withdrawn_ends_in_time(struct kunit *test)
{
	struct rca_id *first = asking(test, DEAD);
	int i;

	for (i = 1; i <= HALF + FIRST; i++)
		asking(test, DEAD + i);
	rca_place_hold_ms = HOLD_MS;
	msleep(2 * HOLD_MS);
	first->setup->retry->deadline = jiffies;
	rca_id_flush_work(first);
	fake_expect_event(test, RDMA_CM_ALT_EVENT_UNREACHABLE, -ETIMEDOUT);
	fake_expect_state(test, first, RCA_ST_FAILED);
}

static struct kunit_case places_cases[] = {
	KUNIT_CASE(dead_peer_leaves_half_of_the_places),
	KUNIT_CASE(first_requests_take_an_eighth_more),
	KUNIT_CASE(peer_that_answers_does_not_wait_for_silent_ones),
	KUNIT_CASE(first_answer_lets_another_one_go),
	KUNIT_CASE(peer_that_stops_answering_is_silent),
	KUNIT_CASE(place_is_free_when_the_request_has_ended),
	KUNIT_CASE(place_is_free_between_two_rounds),
	KUNIT_CASE(place_is_free_when_the_id_is_destroyed),
	KUNIT_CASE(places_are_free_when_the_device_is_removed),
	KUNIT_CASE(wait_for_a_silent_peer_is_silence),
	KUNIT_CASE(wait_before_the_first_request_is_no_silence),
	KUNIT_CASE(disconnect_does_not_wait_for_places),
	KUNIT_CASE(request_with_a_place_does_not_wait_for_a_slot),
	KUNIT_CASE(no_limit_without_counters),
	KUNIT_CASE(user_leaves_places_to_others),
	KUNIT_CASE(silent_peers_are_those_of_the_user),
	KUNIT_CASE(user_who_has_less_is_next),
	KUNIT_CASE(user_without_a_place_does_not_wait),
	KUNIT_CASE(silent_request_gives_its_place_back),
	KUNIT_CASE(place_is_kept_if_nobody_wants_it),
	KUNIT_CASE(request_to_a_peer_that_answers_keeps_its_place),
	KUNIT_CASE(request_of_who_has_most_gives_its_place_back),
	KUNIT_CASE(place_is_kept_for_longer_each_time),
	KUNIT_CASE(request_that_is_withdrawn_ends_in_time),
	KUNIT_CASE(datagram_request_waits_for_a_place),
	KUNIT_CASE(datagram_request_gives_its_place_back),
	KUNIT_CASE(datagram_request_that_is_withdrawn_ends_in_time),
	{}
};

static struct kunit_suite places_suite = {
	.name = "rdma_cm_alt_places",
	.init = places_init,
	.exit = places_exit,
	.test_cases = places_cases,
};
kunit_test_suite(places_suite);
