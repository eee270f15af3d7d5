// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * Tests of ends of connections over a trunk without a message from the peer: timers, the loss of
 * the session, and destroy while a callback runs.
 *
 * Locking: rca_trunk.lock for timers.
 */
#include "trunk/conn_bench.h"

#include <linux/completion.h>
#include <linux/delay.h>
#include <linux/jiffies.h>
#include <rdma/ib_cm.h>

#include "fake/device_bench.h"

/* Lets the timer of a connection run out, and runs the work of the timers. */
static void run_out(struct rca_trunk_conn *conn)
{
	struct rca_trunk *trunk = conn_bench->trunk;

	spin_lock(&trunk->lock);
	timerqueue_del(&trunk->timers, &conn->timer);
	conn->timer.expires = get_jiffies_64() - 1;
	timerqueue_add(&trunk->timers, &conn->timer);
	spin_unlock(&trunk->lock);
	refcount_inc(&trunk->ref);	/* put by the work */
	rca_conn_timer_work(&trunk->timer.work);
}

static bool wait_for_event(void)
{
	int i;

	for (i = 0; i < DEVICE_PATIENCE_MS && !READ_ONCE(conn_bench->events); i++)
		usleep_range(500, 1000);
	return READ_ONCE(conn_bench->events);
}

static void expect_event(struct kunit *test, enum rca_input input, int status)
{
	KUNIT_EXPECT_EQ(test, conn_bench->events, 1u);
	KUNIT_EXPECT_EQ(test, (int)conn_bench->event.input, (int)input);
	KUNIT_EXPECT_EQ(test, conn_bench->event.status, status);
}

static void timers_run_out(struct kunit *test)
{
	static const struct {
		u8 state, next, input;
		int status;
		u8 sends;
	} rules[] = {
		{ RCA_CONN_REQ_SENT, RCA_CONN_CLOSED, RCA_IN_REQ_TIMEOUT, -ETIMEDOUT,
		  RCA_RECORD_REJ },
		{ RCA_CONN_REP_SENT, RCA_CONN_REP_SENT, RCA_IN_REP_TIMEOUT, -ETIMEDOUT },
		{ RCA_CONN_DREQ_SENT, RCA_CONN_TIMEWAIT, RCA_IN_DREQ_TIMEOUT, -ETIMEDOUT },
		{ RCA_CONN_TIMEWAIT, RCA_CONN_CLOSED, RCA_IN_TIMEWAIT_EXIT, 0 },
	};
	struct rca_trunk_conn *conn;
	int i;

	for (i = 0; i < ARRAY_SIZE(rules); i++) {
		conn = conn_in(test, rules[i].state);
		run_out(conn);
		expect_event(test, rules[i].input, rules[i].status);
		KUNIT_EXPECT_EQ(test, (int)conn->state, (int)rules[i].next);
		KUNIT_EXPECT_EQ(test, conn_bench_timer_runs(conn),
				rules[i].next == RCA_CONN_TIMEWAIT);
		KUNIT_EXPECT_EQ(test, conn_bench_take(), rules[i].sends ? 1u : 0u);
		if (rules[i].sends)
			KUNIT_EXPECT_EQ(test, (int)conn_bench->record.type, (int)rules[i].sends);
	}
}

/* The work that the trunk queues handles the timer. */
static void request_times_out(struct kunit *test)
{
	struct rca_trunk_conn *conn = conn_in(test, RCA_CONN_NEW);
	struct rca_tp_req req = conn_bench_request();
	u64 start = get_jiffies_64();

	req.wait_ms = 50;
	KUNIT_ASSERT_EQ(test, rca_tp_trunk.connect(conn, &req), 0);
	KUNIT_ASSERT_TRUE(test, wait_for_event());
	KUNIT_EXPECT_GE(test, get_jiffies_64() - start, (u64)msecs_to_jiffies(50));
	expect_event(test, RCA_IN_REQ_TIMEOUT, -ETIMEDOUT);
}

/* A timer that is set later may expire first. */
static void timers_run_out_in_order(struct kunit *test)
{
	struct rca_trunk_conn *later = conn_in(test, RCA_CONN_REQ_SENT);
	struct rca_trunk_conn *sooner = conn_in(test, RCA_CONN_NEW);
	struct rca_tp_req req = conn_bench_request();

	req.wait_ms = 20;
	KUNIT_ASSERT_EQ(test, rca_tp_trunk.connect(sooner, &req), 0);
	KUNIT_ASSERT_TRUE(test, wait_for_event());
	msleep(50);
	KUNIT_EXPECT_EQ(test, conn_bench->events, 1u);
	KUNIT_EXPECT_FALSE(test, conn_bench_timer_runs(sooner));
	KUNIT_EXPECT_EQ(test, (int)sooner->state, (int)RCA_CONN_CLOSED);
	KUNIT_EXPECT_TRUE(test, conn_bench_timer_runs(later));
	spin_lock(&conn_bench->trunk->lock);
	KUNIT_EXPECT_EQ(test, conn_bench->trunk->timer_at, (u64)later->timer.expires);
	spin_unlock(&conn_bench->trunk->lock);
	run_out(later);
	KUNIT_EXPECT_EQ(test, conn_bench->events, 2u);
}

/* A session can be lost once, so the connections of all states are there at the same time. */
static void session_is_lost_in_each_state(struct kunit *test)
{
	struct rca_trunk_conn *conns[RCA_CONN_CLOSED + 1];
	static const u8 next[] = {
		[RCA_CONN_NEW] = RCA_CONN_NEW,
		[RCA_CONN_REQ_SENT] = RCA_CONN_CLOSED,
		[RCA_CONN_REP_RCVD] = RCA_CONN_CLOSED,
		[RCA_CONN_REQ_RCVD] = RCA_CONN_CLOSED,
		[RCA_CONN_REP_SENT] = RCA_CONN_CLOSED,
		[RCA_CONN_UP] = RCA_CONN_TIMEWAIT,
		[RCA_CONN_DREQ_SENT] = RCA_CONN_TIMEWAIT,
		[RCA_CONN_TIMEWAIT] = RCA_CONN_TIMEWAIT,
		[RCA_CONN_CLOSED] = RCA_CONN_CLOSED,
	};
	int state;

	for (state = RCA_CONN_NEW; state <= RCA_CONN_CLOSED; state++)
		conns[state] = conn_in(test, state);
	conn_bench_lose();
	for (state = RCA_CONN_NEW; state <= RCA_CONN_CLOSED; state++) {
		KUNIT_EXPECT_EQ_MSG(test, (int)conns[state]->state, (int)next[state], "%u", state);
		KUNIT_EXPECT_EQ_MSG(test, conn_bench_timer_runs(conns[state]),
				    next[state] == RCA_CONN_TIMEWAIT, "%u", state);
	}
	KUNIT_EXPECT_EQ(test, conn_bench->events, 6u);
	/* The end of a timewait is reported as usual. */
	conn_bench->events = 0;
	run_out(conns[RCA_CONN_UP]);
	expect_event(test, RCA_IN_TIMEWAIT_EXIT, 0);
}

static void lost_in_one_state(struct kunit *test, u8 state, enum rca_input input, int status)
{
	struct rca_trunk_conn *conn = conn_in(test, state);

	conn_bench_lose();
	expect_event(test, input, status);
	KUNIT_EXPECT_EQ(test, rca_tp_trunk.disconnect(conn), -EINVAL);
	KUNIT_EXPECT_EQ(test, rca_tp_trunk.send_rtu(conn, NULL, 0), -ECONNRESET);
}

static void request_is_lost(struct kunit *test)
{
	lost_in_one_state(test, RCA_CONN_REQ_SENT, RCA_IN_REJ, IB_CM_REJ_STALE_CONN);
}

static void connection_is_lost(struct kunit *test)
{
	lost_in_one_state(test, RCA_CONN_UP, RCA_IN_DREQ_TIMEOUT, -ETIMEDOUT);
}

static void disconnect_is_lost(struct kunit *test)
{
	lost_in_one_state(test, RCA_CONN_DREQ_SENT, RCA_IN_DREQ_TIMEOUT, -ETIMEDOUT);
}

static void session_is_ended_by_the_peer(struct kunit *test)
{
	conn_bench->trunk->peer_ended = true;
	lost_in_one_state(test, RCA_CONN_UP, RCA_IN_DREQ_TIMEOUT, 0);
}

/* Unsent records are dropped, also those of destroyed connections. */
static void records_are_lost(struct kunit *test)
{
	struct rca_trunk_conn *destroyed = conn_in(test, RCA_CONN_UP);
	struct rca_trunk_conn *conn = conn_in(test, RCA_CONN_REQ_RCVD);
	struct rca_tp_conn reply = conn_bench_reply();

	reply.private_data = "private";
	reply.private_data_len = 7;
	KUNIT_EXPECT_EQ(test, rca_tp_trunk.reply(conn, &reply), 0);
	rca_tp_trunk.destroy(destroyed);
	KUNIT_EXPECT_EQ(test, conn_bench->trunk->users, 2u);
	conn_bench_lose();
	KUNIT_EXPECT_EQ(test, conn_bench->trunk->users, 1u);
	KUNIT_EXPECT_TRUE(test, list_empty(&conn_bench->trunk->waiting));
	KUNIT_EXPECT_EQ(test, (int)conn->to_send, 0);
	KUNIT_EXPECT_NULL(test, conn->data);
}

/* A program that connects after the loss of the session gets an event, but not at once. */
static void connect_after_the_loss(struct kunit *test)
{
	struct rca_trunk_conn *conn = conn_in(test, RCA_CONN_NEW);
	struct rca_tp_req req = conn_bench_request();

	conn_bench_lose();
	KUNIT_EXPECT_EQ(test, conn_bench->events, 0u);
	KUNIT_EXPECT_EQ(test, rca_tp_trunk.connect(conn, &req), 0);
	KUNIT_ASSERT_TRUE(test, wait_for_event());
	expect_event(test, RCA_IN_REJ, IB_CM_REJ_STALE_CONN);
	KUNIT_EXPECT_EQ(test, (int)conn->state, (int)RCA_CONN_CLOSED);
	KUNIT_EXPECT_TRUE(test, list_empty(&conn_bench->trunk->waiting));
}

/* Only unsent requests use another transport; other records are kept for the next link. */
static void no_link_for_what_waits(struct kunit *test)
{
	struct rca_trunk_conn *other = conn_in(test, RCA_CONN_UP);
	struct rca_trunk_conn *conn = conn_in(test, RCA_CONN_NEW);
	struct rca_tp_req req = conn_bench_request();

	KUNIT_ASSERT_EQ(test, rca_tp_trunk.connect(conn, &req), 0);
	KUNIT_ASSERT_EQ(test, rca_tp_trunk.disconnect(other), 0);
	rca_conn_not_linked(conn_bench->trunk);
	expect_event(test, RCA_IN_REJ, IB_CM_REJ_STALE_CONN);
	KUNIT_EXPECT_EQ(test, (int)conn->state, (int)RCA_CONN_CLOSED);
	KUNIT_EXPECT_EQ(test, conn_bench_take(), 1u);
	KUNIT_EXPECT_EQ(test, (int)conn_bench->record.type, (int)RCA_RECORD_DREQ);
}

/* Requests that were sent wait for the answer until two links have failed. */
static void no_link_for_sent_requests(struct kunit *test)
{
	struct rca_trunk_conn *kept = conn_in(test, RCA_CONN_UP);
	struct rca_trunk_conn *conn = conn_in(test, RCA_CONN_REQ_SENT);
	struct rca_trunk *trunk = conn_bench->trunk;

	trunk->tries = 1;
	rca_conn_not_linked(trunk);
	KUNIT_EXPECT_EQ(test, conn_bench->events, 0u);
	trunk->tries = 2;
	rca_conn_not_linked(trunk);
	trunk->tries = 0;
	expect_event(test, RCA_IN_REJ, IB_CM_REJ_STALE_CONN);
	KUNIT_EXPECT_EQ(test, (int)conn->state, (int)RCA_CONN_CLOSED);
	KUNIT_EXPECT_FALSE(test, conn_bench_timer_runs(conn));
	KUNIT_EXPECT_EQ(test, (int)kept->state, (int)RCA_CONN_UP);
	KUNIT_EXPECT_EQ(test, conn_bench_take(), 0u);
}

static unsigned int passed_again;

/* Counts a visit of a record that stays, before the next request. */
static void look_at_first(struct conn_bench *bench)
{
	struct rca_trunk *trunk = bench->trunk;
	struct rca_trunk_conn *first;

	spin_lock(&trunk->lock);
	first = list_first_entry_or_null(&trunk->waiting, struct rca_trunk_conn, waiting);
	passed_again += first && !(first->to_send & BIT(RCA_RECORD_REQ));
	spin_unlock(&trunk->lock);
}

/* Each record that stays is visited once, as there may be many, and keeps its order. */
static void no_link_for_many(struct kunit *test)
{
	struct rca_trunk_conn *first = conn_in(test, RCA_CONN_UP);
	struct rca_trunk_conn *second = conn_in(test, RCA_CONN_UP);
	struct rca_tp_req req = conn_bench_request();
	struct rca_trunk_conn *requests[3];
	u32 last = second->number;
	int i;

	for (i = 0; i < ARRAY_SIZE(requests); i++)
		requests[i] = conn_in(test, RCA_CONN_NEW);
	KUNIT_ASSERT_EQ(test, rca_tp_trunk.disconnect(first), 0);
	rca_tp_trunk.destroy(second);
	for (i = 0; i < ARRAY_SIZE(requests); i++)
		KUNIT_ASSERT_EQ(test, rca_tp_trunk.connect(requests[i], &req), 0);
	passed_again = 0;
	conn_bench->on_event = look_at_first;
	rca_conn_not_linked(conn_bench->trunk);
	conn_bench->on_event = NULL;
	KUNIT_EXPECT_EQ(test, conn_bench->events, 3u);
	KUNIT_EXPECT_EQ(test, passed_again, 0u);
	KUNIT_EXPECT_EQ(test, conn_bench_take(), 2u);
	KUNIT_EXPECT_EQ(test, conn_bench->record.conn, last);
}

/* More connections than are visited without letting others take the lock. */
#define MANY	600

/* A connection whose disconnect request waits, as all that are made before. */
static struct rca_trunk_conn *conn_in_queue(struct kunit *test)
{
	struct rca_trunk_record req = conn_bench_record(RCA_RECORD_REQ, conn_bench->next_number);
	struct rca_tp_conn reply = conn_bench_reply();

	conn_bench->next_number += 2;
	KUNIT_ASSERT_EQ(test, conn_bench_receive(&req), 0);
	KUNIT_ASSERT_EQ(test, rca_tp_trunk.reply(conn_bench->lower, &reply), 0);
	rca_tp_trunk.received(conn_bench->lower);
	KUNIT_ASSERT_EQ(test, rca_tp_trunk.disconnect(conn_bench->lower), 0);
	return conn_bench->lower;
}

/* A request at both ends of a long list is found, and what stays keeps its order. */
static void no_link_for_a_long_list(struct kunit *test)
{
	struct rca_tp_req req = conn_bench_request();
	struct rca_trunk_conn *requests[2];
	struct rca_trunk_conn *conn;
	u32 last = 0;
	int i;

	for (i = 0; i < ARRAY_SIZE(requests); i++)
		requests[i] = conn_in(test, RCA_CONN_NEW);
	KUNIT_ASSERT_EQ(test, rca_tp_trunk.connect(requests[0], &req), 0);
	for (i = 0; i < MANY; i++) {
		conn = conn_in_queue(test);
		last = conn->number;
	}
	KUNIT_ASSERT_EQ(test, rca_tp_trunk.connect(requests[1], &req), 0);
	rca_conn_not_linked(conn_bench->trunk);
	KUNIT_EXPECT_EQ(test, conn_bench->events, 2u);
	for (i = 0; i < ARRAY_SIZE(requests); i++)
		KUNIT_EXPECT_EQ(test, (int)requests[i]->state, (int)RCA_CONN_CLOSED);
	KUNIT_EXPECT_EQ(test, conn_bench_take(), (unsigned int)MANY);
	KUNIT_EXPECT_EQ(test, conn_bench->record.conn, last);
}

/* A callback and a destroy at the same time. */
static struct {
	struct work_struct receive, destroy;
	struct rca_trunk_conn *conn;
	u32 number;
	struct completion entered, leave;
	bool destroyed;
} meeting;

static void block(struct conn_bench *bench)
{
	complete(&meeting.entered);
	wait_for_completion(&meeting.leave);
}

static void receive_work(struct work_struct *work)
{
	const struct rca_trunk_record record = conn_bench_record(RCA_RECORD_RTU, meeting.number);

	conn_bench_receive(&record);
}

static void timer_work(struct work_struct *work)
{
	run_out(meeting.conn);
}

static void lost_work(struct work_struct *work)
{
	conn_bench_lose();
}

static void destroy_work(struct work_struct *work)
{
	conn_bench_destroy(meeting.conn);
	WRITE_ONCE(meeting.destroyed, true);
}

static void meet(struct kunit *test, work_func_t callback)
{
	meeting.conn = conn_in(test, RCA_CONN_REP_SENT);
	meeting.number = meeting.conn->number;
	meeting.destroyed = false;
	init_completion(&meeting.entered);
	init_completion(&meeting.leave);
	INIT_WORK(&meeting.receive, callback);
	INIT_WORK(&meeting.destroy, destroy_work);
	conn_bench->on_event = block;
	schedule_work(&meeting.receive);
	wait_for_completion(&meeting.entered);
	schedule_work(&meeting.destroy);
	msleep(50);
	KUNIT_EXPECT_FALSE(test, READ_ONCE(meeting.destroyed));
	conn_bench->on_event = NULL;
	complete(&meeting.leave);
	flush_work(&meeting.receive);
	flush_work(&meeting.destroy);
	KUNIT_EXPECT_TRUE(test, meeting.destroyed);
	conn_bench_take();
	KUNIT_EXPECT_EQ(test, conn_bench->events, 1u);
	KUNIT_EXPECT_EQ(test, conn_bench->trunk->users, 0u);
}

static void destroy_waits_for_a_callback(struct kunit *test)
{
	meet(test, receive_work);
	meet(test, timer_work);
	meet(test, lost_work);
}

static void run_work(struct rca_trunk *trunk)
{
	rca_trunk_run(trunk);
	flush_delayed_work(&trunk->work);
}

/*
 * A copy of this machine opens no link with what it was copied with, and its connections stay. They
 * end when the peer has told the copy a hello, and another link begins.
 */
static void machine_is_copied(struct kunit *test)
{
	const struct rca_hello hello = {
		.version = RCA_TRUNK_VERSION,
		.oldest = RCA_TRUNK_OLDEST,
		.service_id = cpu_to_be64(0x1234),
	};
	struct rca_trunk_conn *sent = conn_in(test, RCA_CONN_REQ_SENT);
	struct rca_trunk_conn *kept = conn_in(test, RCA_CONN_UP);
	struct rca_trunk *trunk = conn_bench->trunk;
	struct rca_trunk_link *link = trunk->link;
	u8 data[RCA_HELLO_LEN];

	trunk->hello = hello;
	trunk->link = NULL;
	trunk->unclear = true;		/* the last link has failed */
	rca_open_separate_all();
	run_work(trunk);
	KUNIT_ASSERT_NULL(test, trunk->link);
	KUNIT_EXPECT_TRUE(test, trunk->unusable);
	KUNIT_EXPECT_NULL(test, rca_trunk_find_open(&trunk->key.peer));
	expect_event(test, RCA_IN_REJ, IB_CM_REJ_STALE_CONN);
	KUNIT_EXPECT_EQ(test, (int)sent->state, (int)RCA_CONN_CLOSED);
	KUNIT_EXPECT_EQ(test, (int)kept->state, (int)RCA_CONN_UP);
	conn_bench->events = 0;
	trunk->unclear = false;
	rca_hello_pack(data, &hello);
	rca_open_heard(&trunk->key.peer, data, sizeof(data));
	run_work(trunk);
	KUNIT_EXPECT_FALSE(test, trunk->unusable);
	KUNIT_EXPECT_EQ(test, be64_to_cpu(trunk->hello.service_id), 0x1234ULL);
	KUNIT_EXPECT_NULL(test, rca_trunk_find_open(&trunk->key.peer));
	KUNIT_EXPECT_EQ(test, conn_bench->events, 0u);
	link->peer.hello = hello;
	rca_trunk_join_session(trunk, link);
	expect_event(test, RCA_IN_DREQ_TIMEOUT, -ETIMEDOUT);
	KUNIT_EXPECT_FALSE(test, trunk->former);
	KUNIT_EXPECT_NE(test, trunk->session, 1u);
	trunk->link = link;
	trunk->wanted = true;
	conn_destroy(kept);
	conn_destroy(sent);
}

static struct kunit_case conn_end_cases[] = {
	KUNIT_CASE(timers_run_out),
	KUNIT_CASE(request_times_out),
	KUNIT_CASE(timers_run_out_in_order),
	KUNIT_CASE(session_is_lost_in_each_state),
	KUNIT_CASE(request_is_lost),
	KUNIT_CASE(connection_is_lost),
	KUNIT_CASE(session_is_ended_by_the_peer),
	KUNIT_CASE(disconnect_is_lost),
	KUNIT_CASE(records_are_lost),
	KUNIT_CASE(connect_after_the_loss),
	KUNIT_CASE(no_link_for_what_waits),
	KUNIT_CASE(no_link_for_sent_requests),
	KUNIT_CASE(no_link_for_many),
	KUNIT_CASE(no_link_for_a_long_list),
	KUNIT_CASE(destroy_waits_for_a_callback),
	KUNIT_CASE(machine_is_copied),
	{}
};

CONN_SUITE(conn_end_suite, "conn_end", conn_end_cases);

kunit_test_suite(conn_end_suite);
