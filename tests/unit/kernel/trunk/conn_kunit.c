// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * Tests of the connections over a trunk: each type of record in each state, each operation in each
 * state, private data, and the attributes of QPs.
 *
 * Locking: none.
 */
#include "trunk/conn_bench.h"

#include <linux/bits.h>
#include <linux/delay.h>
#include <linux/string.h>
#include <rdma/ib_cm.h>

#include "fake/device_bench.h"

/* A type of a later version. */
#define UNKNOWN_TYPE	200

#define NO_EVENT	RCA_IN_COUNT
#define REJ_REASON	IB_CM_REJ_CONSUMER_DEFINED

/* Effects of a record in a state. All other pairs change nothing. */
struct record_rule {
	u8 type;
	u8 state;
	u8 next;
	u8 input;
	int status;
	u8 sends;
};

#define REP	RCA_RECORD_REP
#define RTU	RCA_RECORD_RTU
#define REJ	RCA_RECORD_REJ
#define DREQ	RCA_RECORD_DREQ
#define DREP	RCA_RECORD_DREP
#define HELD	RCA_RECORD_HELD
#define ASK	RCA_RECORD_ASK

static const struct record_rule record_rules[] = {
	{ REP, RCA_CONN_REQ_SENT, RCA_CONN_REP_RCVD, RCA_IN_REP },
	/* Its RTU was lost with a link. */
	{ REP, RCA_CONN_UP, RCA_CONN_UP, NO_EVENT, 0, RTU },
	{ REP, RCA_CONN_TIMEWAIT, RCA_CONN_TIMEWAIT, NO_EVENT, 0, DREQ },
	{ REP, RCA_CONN_CLOSED, RCA_CONN_CLOSED, NO_EVENT, 0, DREQ },
	{ RTU, RCA_CONN_REP_SENT, RCA_CONN_UP, RCA_IN_RTU },
	{ REJ, RCA_CONN_REQ_SENT, RCA_CONN_CLOSED, RCA_IN_REJ, REJ_REASON },
	{ REJ, RCA_CONN_REP_RCVD, RCA_CONN_CLOSED, RCA_IN_REJ, REJ_REASON },
	{ REJ, RCA_CONN_REQ_RCVD, RCA_CONN_CLOSED, RCA_IN_REJ, REJ_REASON },
	{ REJ, RCA_CONN_REP_SENT, RCA_CONN_CLOSED, RCA_IN_REJ, REJ_REASON },
	{ REJ, RCA_CONN_UP, RCA_CONN_TIMEWAIT, RCA_IN_REJ, REJ_REASON },
	{ REJ, RCA_CONN_DREQ_SENT, RCA_CONN_TIMEWAIT, RCA_IN_REJ, REJ_REASON },
	{ DREQ, RCA_CONN_REP_RCVD, RCA_CONN_TIMEWAIT, RCA_IN_DREQ, 0, DREP },
	{ DREQ, RCA_CONN_REQ_RCVD, RCA_CONN_TIMEWAIT, RCA_IN_DREQ, 0, DREP },
	{ DREQ, RCA_CONN_REP_SENT, RCA_CONN_TIMEWAIT, RCA_IN_DREQ, 0, DREP },
	{ DREQ, RCA_CONN_UP, RCA_CONN_TIMEWAIT, RCA_IN_DREQ, 0, DREP },
	{ DREQ, RCA_CONN_DREQ_SENT, RCA_CONN_TIMEWAIT, RCA_IN_DREQ, 0, DREP },
	{ DREQ, RCA_CONN_TIMEWAIT, RCA_CONN_TIMEWAIT, NO_EVENT, 0, DREP },
	{ DREP, RCA_CONN_DREQ_SENT, RCA_CONN_TIMEWAIT, RCA_IN_DREP },
	{ HELD, RCA_CONN_REQ_SENT, RCA_CONN_REQ_SENT, RCA_IN_HELD },
	{ ASK, RCA_CONN_NEW, RCA_CONN_NEW, NO_EVENT, 0, DREQ },
	{ ASK, RCA_CONN_TIMEWAIT, RCA_CONN_TIMEWAIT, NO_EVENT, 0, DREQ },
	{ ASK, RCA_CONN_CLOSED, RCA_CONN_CLOSED, NO_EVENT, 0, DREQ },
};

static struct record_rule rule_of(u8 type, u8 state)
{
	struct record_rule none = { type, state, state, NO_EVENT };
	int i;

	for (i = 0; i < ARRAY_SIZE(record_rules); i++)
		if (record_rules[i].type == type && record_rules[i].state == state)
			return record_rules[i];
	return none;
}

static bool state_has_timer(u8 state)
{
	return state == RCA_CONN_REQ_SENT || state == RCA_CONN_REP_SENT ||
	       state == RCA_CONN_DREQ_SENT || state == RCA_CONN_TIMEWAIT;
}

static void expect_records(struct kunit *test, const struct rca_trunk_conn *conn, u8 type,
			   const char *what)
{
	u32 number = conn->number;

	KUNIT_EXPECT_EQ_MSG(test, conn_bench_take(), type ? 1u : 0u, "%s", what);
	if (!type)
		return;
	KUNIT_EXPECT_EQ_MSG(test, (int)conn_bench->record.type, (int)type, "%s", what);
	KUNIT_EXPECT_EQ_MSG(test, conn_bench->record.conn, number, "%s", what);
}

static void expect_event(struct kunit *test, const struct record_rule *rule, const char *what)
{
	const struct rca_tp_event *event = &conn_bench->event;

	KUNIT_EXPECT_EQ_MSG(test, conn_bench->events, rule->input != NO_EVENT, "%s", what);
	if (rule->input == NO_EVENT)
		return;
	KUNIT_EXPECT_EQ_MSG(test, (int)event->input, (int)rule->input, "%s", what);
	KUNIT_EXPECT_EQ_MSG(test, event->status, rule->status, "%s", what);
	KUNIT_EXPECT_EQ_MSG(test, event->delay_ms, rule->input == RCA_IN_HELD ? 33u : 0u, "%s",
			    what);
}

static void try_held(struct kunit *test, const struct rca_trunk_conn *conn)
{
	const struct rca_trunk_record held = conn_bench_record(HELD, conn->number);

	KUNIT_ASSERT_EQ(test, conn_bench_receive(&held), 0);
}

static void try_record(struct kunit *test, u8 type, u8 state)
{
	const struct record_rule rule = rule_of(type, state);
	struct rca_trunk_conn *conn = conn_in(test, state);
	const struct rca_trunk_record record = conn_bench_record(type, conn->number);
	char what[32];

	snprintf(what, sizeof(what), "type %u in state %u", type, state);
	KUNIT_EXPECT_EQ_MSG(test, conn_bench_receive(&record), 0, "%s", what);
	KUNIT_EXPECT_EQ_MSG(test, (int)conn->state, (int)rule.next, "%s", what);
	KUNIT_EXPECT_EQ_MSG(test, conn_bench_timer_runs(conn),
			    state_has_timer(rule.next) && type != HELD, "%s", what);
	expect_event(test, &rule, what);
	expect_records(test, conn, rule.sends, what);
	conn_destroy(conn);
}

static void each_record_in_each_state(struct kunit *test)
{
	static const u8 types[] = { REP, RTU, REJ, DREQ, DREP, ASK, RCA_RECORD_PING,
				    UNKNOWN_TYPE };
	u8 state;
	int i;

	for (state = RCA_CONN_NEW; state <= RCA_CONN_CLOSED; state++)
		for (i = 0; i < ARRAY_SIZE(types); i++)
			try_record(test, types[i], state);
	/* HELD stops the timer of the request, and no other timer. */
	try_record(test, HELD, RCA_CONN_NEW);
	try_record(test, HELD, RCA_CONN_REQ_SENT);
	try_record(test, HELD, RCA_CONN_REP_RCVD);
	try_record(test, HELD, RCA_CONN_UP);
	try_record(test, HELD, RCA_CONN_CLOSED);
}

/* The peer waits for the answer to a DREQ, and may have the connection of a REP or an ASK. */
static void records_of_unknown_connections(struct kunit *test)
{
	struct rca_trunk_record record;
	u8 type, answer;

	for (type = RCA_RECORD_REP; type < RCA_RECORD_TYPES; type++) {
		record = conn_bench_record(type, 0x12345);
		KUNIT_EXPECT_EQ(test, conn_bench_receive(&record), 0);
		answer = type == DREQ ? DREP : type == REP || type == ASK ? DREQ : 0;
		KUNIT_EXPECT_EQ_MSG(test, conn_bench_take(), !!answer, "type %u", type);
		if (!answer)
			continue;
		KUNIT_EXPECT_EQ(test, (int)conn_bench->record.type, (int)answer);
		KUNIT_EXPECT_EQ(test, conn_bench->record.conn, 0x12345u);
		KUNIT_EXPECT_EQ(test, conn_bench->record.remote_qpn,
				answer == DREQ ? (u32)CONN_PEER_QPN : 0);
	}
	KUNIT_EXPECT_EQ(test, conn_bench->trunk->users, 0u);
	KUNIT_EXPECT_EQ(test, conn_bench->events, 0u);
}

static void no_connection_has_the_number_0(struct kunit *test)
{
	struct rca_trunk_record record = conn_bench_record(DREQ, 0);

	KUNIT_EXPECT_EQ(test, conn_bench_receive(&record), -EPROTO);
	KUNIT_EXPECT_EQ(test, conn_bench_take(), 0u);
	KUNIT_EXPECT_EQ(test, conn_bench->trunk->next_number, 2u);
	/* Later versions may give the type any meaning. */
	record.type = UNKNOWN_TYPE;
	KUNIT_EXPECT_EQ(test, conn_bench_receive(&record), 0);
}

/* A DREQ that names another QP is about an older connection, which has ended. */
static void dreq_names_another_qp(struct kunit *test)
{
	struct rca_trunk_record record;
	struct rca_trunk_conn *conn;
	u8 state;

	for (state = RCA_CONN_REQ_SENT; state <= RCA_CONN_CLOSED; state++) {
		if (state == RCA_CONN_REQ_RCVD)
			continue;	/* has no QP yet */
		conn = conn_in(test, state);
		record = conn_bench_record(DREQ, conn->number);
		record.remote_qpn++;
		KUNIT_EXPECT_EQ_MSG(test, conn_bench_receive(&record), 0, "%u", state);
		KUNIT_EXPECT_EQ(test, (int)conn->state, (int)state);
		KUNIT_EXPECT_EQ(test, conn_bench->events, 0u);
		expect_records(test, conn, DREP, "another QP");
		conn_destroy(conn);
	}
}

/* The peer may only keep a connection with the same QPs. */
static void peer_asks_for_another_qp(struct kunit *test)
{
	struct rca_trunk_conn *conn = conn_in(test, RCA_CONN_UP);
	struct rca_trunk_record record = conn_bench_record(ASK, conn->number);

	KUNIT_EXPECT_EQ(test, conn_bench_receive(&record), 0);
	KUNIT_EXPECT_EQ(test, conn_bench_take(), 0u);
	record.remote_qpn++;
	KUNIT_EXPECT_EQ(test, conn_bench_receive(&record), 0);
	expect_records(test, conn, DREQ, "another QP of this host");
	record.remote_qpn--;
	record.qp.qp_num++;
	KUNIT_EXPECT_EQ(test, conn_bench_receive(&record), 0);
	expect_records(test, conn, DREQ, "another QP of the peer");
	KUNIT_EXPECT_EQ(test, conn_bench->record.remote_qpn, (u32)CONN_PEER_QPN + 1);
	KUNIT_EXPECT_EQ(test, (int)conn->state, (int)RCA_CONN_UP);
	KUNIT_EXPECT_EQ(test, conn_bench->events, 0u);
}

/* What is derived from each state when another link is connected. */
static void each_state_says_again(struct kunit *test)
{
	static const u8 words[] = {
		[RCA_CONN_REQ_SENT] = RCA_RECORD_REQ,
		[RCA_CONN_REP_RCVD] = ASK,
		[RCA_CONN_REQ_RCVD] = ASK,
		[RCA_CONN_REP_SENT] = REP,
		[RCA_CONN_UP] = ASK,
		[RCA_CONN_DREQ_SENT] = DREQ,
		[RCA_CONN_CLOSED] = 0,
	};
	struct rca_trunk_conn *conn;
	u8 state;

	for (state = RCA_CONN_NEW; state <= RCA_CONN_CLOSED; state++) {
		conn = conn_in(test, state);
		rca_conn_say_again(conn_bench->trunk);
		expect_records(test, conn, words[state], "again");
		conn_destroy(conn);
	}
	/* The program sends a held request again. */
	conn = conn_in(test, RCA_CONN_REQ_SENT);
	try_held(test, conn);
	rca_conn_say_again(conn_bench->trunk);
	KUNIT_EXPECT_EQ(test, conn_bench_take(), 0u);
}

/* Private data are kept until the answer. */
static void data_are_said_again(struct kunit *test)
{
	struct rca_trunk_conn *conn = conn_in(test, RCA_CONN_NEW);
	struct rca_tp_req req = conn_bench_request();
	struct rca_trunk_record rep;
	int i;

	req.conn.private_data = "again";
	req.conn.private_data_len = 5;
	KUNIT_ASSERT_EQ(test, rca_tp_trunk.connect(conn, &req), 0);
	for (i = 0; i < 2; i++) {
		expect_records(test, conn, RCA_RECORD_REQ, "data");
		KUNIT_ASSERT_EQ(test, (int)conn_bench->record.private_len, 5);
		KUNIT_EXPECT_EQ(test, memcmp(conn_bench->record.private_data, "again", 5), 0);
		rca_conn_say_again(conn_bench->trunk);
	}
	rep = conn_bench_record(REP, conn->number);
	KUNIT_EXPECT_EQ(test, conn_bench_receive(&rep), 0);
	KUNIT_EXPECT_NULL(test, conn->data);
	KUNIT_EXPECT_EQ(test, conn_bench_take(), 0u);
}

/* Result and effects of an operation in a state. In other states it fails, and changes nothing. */
struct op_rule {
	u8 state;
	u8 next;
	u8 sends;
};

struct op {
	const char *name;
	int (*call)(struct rca_trunk_conn *conn);
	int refusal;
	struct op_rule rules[7];
	unsigned int count;
};

static int reply(struct rca_trunk_conn *conn)
{
	const struct rca_tp_conn rep = conn_bench_reply();

	return rca_tp_trunk.reply(conn, &rep);
}

static int send_rtu(struct rca_trunk_conn *conn)
{
	return rca_tp_trunk.send_rtu(conn, NULL, 0);
}

static int reject(struct rca_trunk_conn *conn)
{
	return rca_tp_trunk.reject(conn, IB_CM_REJ_NO_RESOURCES, "no", 2);
}

static int received(struct rca_trunk_conn *conn)
{
	rca_tp_trunk.received(conn);
	return 0;
}

static int disconnect(struct rca_trunk_conn *conn)
{
	return rca_tp_trunk.disconnect(conn);
}

static int send_mra(struct rca_trunk_conn *conn)
{
	return rca_tp_trunk.send_mra(conn, 20);
}

static const struct op ops[] = {
	{ "reply", reply, -ECONNRESET,
	  { { RCA_CONN_REQ_RCVD, RCA_CONN_REP_SENT, REP } }, 1 },
	{ "send_rtu", send_rtu, -ECONNRESET,
	  { { RCA_CONN_REP_RCVD, RCA_CONN_UP, RTU } }, 1 },
	{ "reject", reject, -EINVAL,
	  { { RCA_CONN_REQ_SENT, RCA_CONN_CLOSED, REJ },
	    { RCA_CONN_REP_RCVD, RCA_CONN_CLOSED, REJ },
	    { RCA_CONN_REQ_RCVD, RCA_CONN_CLOSED, REJ },
	    { RCA_CONN_REP_SENT, RCA_CONN_CLOSED, REJ },
	    { RCA_CONN_UP, RCA_CONN_CLOSED, REJ } }, 5 },
	{ "received", received, 0,
	  { { RCA_CONN_REP_SENT, RCA_CONN_UP, 0 } }, 1 },
	{ "disconnect", disconnect, -EINVAL,
	  { { RCA_CONN_UP, RCA_CONN_DREQ_SENT, DREQ },
	    { RCA_CONN_REP_SENT, RCA_CONN_DREQ_SENT, DREQ } }, 2 },
	{ "send_mra", send_mra, 0 },
};

static void expect_contents(struct kunit *test)
{
	const struct rca_trunk_record *record = &conn_bench->record;

	switch (record->type) {
	case REP:
		KUNIT_EXPECT_EQ(test, record->qp.qp_num, (u32)CONN_LOCAL_QPN);
		KUNIT_EXPECT_EQ(test, record->qp.psn, 0x111u);
		KUNIT_EXPECT_EQ(test, (int)record->qp.rnr_retry_count, 6);
		break;
	case REJ:
		KUNIT_EXPECT_EQ(test, (int)record->reason, (int)IB_CM_REJ_NO_RESOURCES);
		KUNIT_ASSERT_EQ(test, (int)record->private_len, 2);
		KUNIT_EXPECT_EQ(test, memcmp(record->private_data, "no", 2), 0);
		break;
	}
}

static void try_op(struct kunit *test, const struct op *op, u8 state)
{
	struct op_rule rule = { state, state, 0 };
	struct rca_trunk_conn *conn = conn_in(test, state);
	int i, ret = op->refusal;
	char what[32];

	for (i = 0; i < op->count; i++) {
		if (op->rules[i].state != state)
			continue;
		rule = op->rules[i];
		ret = 0;
	}
	snprintf(what, sizeof(what), "%s in state %u", op->name, state);
	KUNIT_EXPECT_EQ_MSG(test, op->call(conn), ret, "%s", what);
	KUNIT_EXPECT_EQ_MSG(test, (int)conn->state, (int)rule.next, "%s", what);
	KUNIT_EXPECT_EQ_MSG(test, conn_bench_timer_runs(conn), state_has_timer(rule.next), "%s",
			    what);
	KUNIT_EXPECT_EQ_MSG(test, conn_bench->events, 0u, "%s", what);
	expect_records(test, conn, rule.sends, what);
	if (rule.sends)
		expect_contents(test);
	conn_destroy(conn);
}

static void each_operation_in_each_state(struct kunit *test)
{
	u8 state;
	int i;

	for (i = 0; i < ARRAY_SIZE(ops); i++)
		for (state = RCA_CONN_NEW; state <= RCA_CONN_CLOSED; state++)
			try_op(test, &ops[i], state);
}

/* Type of the record that the peer gets when a connection is destroyed, and its reason. */
static const struct {
	u8 type;
	u16 reason;
} last_words[] = {
	[RCA_CONN_REQ_SENT] = { REJ, IB_CM_REJ_TIMEOUT },
	[RCA_CONN_REP_RCVD] = { REJ, IB_CM_REJ_CONSUMER_DEFINED },
	[RCA_CONN_REQ_RCVD] = { REJ, IB_CM_REJ_CONSUMER_DEFINED },
	[RCA_CONN_REP_SENT] = { REJ, IB_CM_REJ_CONSUMER_DEFINED },
	[RCA_CONN_UP] = { DREQ },
	[RCA_CONN_CLOSED] = {},
};

static void destroy_in_each_state(struct kunit *test)
{
	struct rca_trunk_conn *conn;
	u8 state;
	u32 number;

	for (state = RCA_CONN_NEW; state <= RCA_CONN_CLOSED; state++) {
		conn = conn_in(test, state);
		number = conn->number;
		rca_tp_trunk.destroy(conn);
		KUNIT_EXPECT_NULL(test, xa_load(&conn_bench->trunk->conns, number));
		KUNIT_EXPECT_EQ_MSG(test, conn_bench_take(), !!last_words[state].type, "%u",
				    state);
		KUNIT_EXPECT_EQ(test, conn_bench->trunk->users, 0u);
		if (!last_words[state].type)
			continue;
		KUNIT_EXPECT_EQ(test, conn_bench->record.conn, number);
		KUNIT_EXPECT_EQ_MSG(test, (int)conn_bench->record.type,
				    (int)last_words[state].type, "%u", state);
		KUNIT_EXPECT_EQ_MSG(test, (int)conn_bench->record.reason,
				    (int)last_words[state].reason, "%u", state);
	}
}

/* The peer is not notified of a request that is destroyed before it is in a frame. */
static void request_is_withdrawn(struct kunit *test)
{
	struct rca_trunk_conn *conn = conn_in(test, RCA_CONN_NEW);
	struct rca_tp_req req = conn_bench_request();

	KUNIT_ASSERT_EQ(test, rca_tp_trunk.connect(conn, &req), 0);
	rca_tp_trunk.destroy(conn);
	KUNIT_EXPECT_EQ(test, conn_bench_take(), 0u);
	KUNIT_EXPECT_EQ(test, conn_bench->trunk->users, 0u);
}

/* A program connects and disconnects while there is no room: both records are sent, in order. */
static void rtu_is_sent_before_dreq(struct kunit *test)
{
	struct rca_trunk_conn *conn = conn_in(test, RCA_CONN_REP_RCVD);

	KUNIT_EXPECT_EQ(test, rca_tp_trunk.send_rtu(conn, NULL, 0), 0);
	KUNIT_EXPECT_EQ(test, rca_tp_trunk.disconnect(conn), 0);
	KUNIT_EXPECT_EQ(test, conn_bench_take(), 2u);
	KUNIT_EXPECT_EQ(test, (int)conn_bench->record.type, (int)DREQ);
	KUNIT_EXPECT_EQ(test, conn_bench->record.remote_qpn, (u32)CONN_PEER_QPN);
}

/* The link works: the end is in a frame at once. The answer of an older peer is ignored. */
static void disconnect_waits_for_nothing(struct kunit *test)
{
	static const u8 states[] = { RCA_CONN_REP_SENT, RCA_CONN_UP };
	struct rca_trunk_record record;
	struct rca_trunk_conn *conn;
	u8 type;
	int i;

	for (i = 0; i < ARRAY_SIZE(states); i++) {
		conn = conn_in(test, states[i]);
		conn_bench->trunk->link->ready = true;
		KUNIT_EXPECT_EQ(test, rca_tp_trunk.disconnect(conn), 1);
		conn_bench->trunk->link->ready = false;
		KUNIT_EXPECT_EQ(test, (int)conn->state, (int)RCA_CONN_TIMEWAIT);
		KUNIT_EXPECT_TRUE(test, conn_bench_timer_runs(conn));
		KUNIT_EXPECT_TRUE(test, conn_bench->trunk->link->says);
		KUNIT_EXPECT_TRUE(test, list_empty(&conn->waiting));
		expect_records(test, conn, DREQ, "at once");
		record = conn_bench_record(DREP, conn->number);
		KUNIT_EXPECT_EQ(test, conn_bench_receive(&record), 0);
		KUNIT_EXPECT_EQ(test, conn_bench->events, 0u);
		KUNIT_EXPECT_EQ(test, (int)conn->state, (int)RCA_CONN_TIMEWAIT);
		KUNIT_EXPECT_EQ(test, rca_tp_trunk.disconnect(conn), -EINVAL);
		/* The frame is lost with its link: the peer asks, or sends its reply again. */
		for (type = REP; type <= ASK; type += ASK - REP) {
			record = conn_bench_record(type, conn->number);
			KUNIT_EXPECT_EQ(test, conn_bench_receive(&record), 0);
			expect_records(test, conn, DREQ, "lost");
		}
		conn_destroy(conn);
	}
}

/* The RTU of a busy link waits: it is in the frame before the end, and neither waits any more. */
static void disconnect_takes_what_waits_along(struct kunit *test)
{
	struct rca_trunk_conn *conn = conn_in(test, RCA_CONN_REP_RCVD);

	KUNIT_EXPECT_EQ(test, rca_tp_trunk.send_rtu(conn, NULL, 0), 0);
	conn_bench->trunk->link->ready = true;
	KUNIT_EXPECT_EQ(test, rca_tp_trunk.disconnect(conn), 1);
	conn_bench->trunk->link->ready = false;
	KUNIT_EXPECT_EQ(test, (int)conn_bench->trunk->link->filled, 2);
	rca_tp_trunk.destroy(conn);
	KUNIT_EXPECT_EQ(test, conn_bench->trunk->users, 0u);
	KUNIT_EXPECT_EQ(test, conn_bench_take(), 2u);
	KUNIT_EXPECT_EQ(test, (int)conn_bench->record.type, (int)DREQ);
}

/* Without a link the end waits for one, and the owner until it is in a frame. */
static void disconnect_waits_for_a_frame(struct kunit *test)
{
	struct rca_trunk_conn *conn = conn_in(test, RCA_CONN_UP);
	int i;

	KUNIT_EXPECT_EQ(test, rca_tp_trunk.disconnect(conn), 0);
	KUNIT_EXPECT_EQ(test, (int)conn->state, (int)RCA_CONN_DREQ_SENT);
	KUNIT_EXPECT_EQ(test, conn_bench->events, 0u);
	conn_bench->trunk->link->ready = true;
	expect_records(test, conn, DREQ, "with a link");
	for (i = 0; i < DEVICE_PATIENCE_MS && !READ_ONCE(conn_bench->events); i++)
		usleep_range(500, 1000);
	conn_bench->trunk->link->ready = false;
	KUNIT_EXPECT_EQ(test, conn_bench->events, 1u);
	KUNIT_EXPECT_EQ(test, (int)conn_bench->event.input, (int)RCA_IN_DREP);
	KUNIT_EXPECT_EQ(test, conn_bench->event.status, 0);
	KUNIT_EXPECT_EQ(test, (int)conn->state, (int)RCA_CONN_TIMEWAIT);
}

/* A peer that waits for no answer gets none. That of each_record_in_each_state() waits. */
static void end_is_not_answered(struct kunit *test)
{
	struct rca_trunk_record record;
	struct rca_trunk_conn *conn;
	u8 state;

	conn_bench->trunk->no_drep = true;
	for (state = RCA_CONN_REP_RCVD; state <= RCA_CONN_CLOSED; state++) {
		conn = conn_in(test, state);
		record = conn_bench_record(DREQ, conn->number);
		KUNIT_EXPECT_EQ(test, conn_bench_receive(&record), 0);
		KUNIT_EXPECT_EQ(test, conn_bench->events, state <= RCA_CONN_DREQ_SENT ? 1u : 0u);
		record.remote_qpn++;
		KUNIT_EXPECT_EQ(test, conn_bench_receive(&record), 0);
		expect_records(test, conn, 0, "an end");
		conn_destroy(conn);
	}
	record = conn_bench_record(DREQ, 0x12345);
	KUNIT_EXPECT_EQ(test, conn_bench_receive(&record), 0);
	KUNIT_EXPECT_EQ(test, conn_bench_take(), 0u);
}

/* 0 is no number. */
static void numbers_wrap_around(struct kunit *test)
{
	conn_bench->trunk->next_number = U32_MAX - 1;
	KUNIT_EXPECT_EQ(test, conn_in(test, RCA_CONN_NEW)->number, U32_MAX - 1);
	KUNIT_EXPECT_EQ(test, conn_in(test, RCA_CONN_NEW)->number, 2u);
	KUNIT_EXPECT_EQ(test, conn_in(test, RCA_CONN_NEW)->number, 4u);
	conn_bench->trunk->next_number = U32_MAX;
	KUNIT_EXPECT_EQ(test, conn_in(test, RCA_CONN_NEW)->number, U32_MAX);
	KUNIT_EXPECT_EQ(test, conn_in(test, RCA_CONN_NEW)->number, 1u);
}

/* A peer without room requests a repetition of the request. */
static void request_is_repeated(struct kunit *test)
{
	struct rca_trunk_conn *conn = conn_in(test, RCA_CONN_REQ_SENT);
	const struct rca_trunk_record held = conn_bench_record(HELD, conn->number);
	struct rca_tp_req req = conn_bench_request();
	u8 data[RCA_RECORD_PRIVATE_MAX];

	memset(data, 0x5a, sizeof(data));
	req.conn.private_data = data;
	req.conn.private_data_len = sizeof(data);
	KUNIT_ASSERT_EQ(test, conn_bench_receive(&held), 0);
	KUNIT_EXPECT_EQ(test, rca_tp_trunk.connect(conn, &req), 0);
	KUNIT_EXPECT_TRUE(test, conn_bench_timer_runs(conn));
	expect_records(test, conn, RCA_RECORD_REQ, "repeated");
	KUNIT_EXPECT_EQ(test, be64_to_cpu(conn_bench->record.service_id), 0x77ULL);
	KUNIT_EXPECT_EQ(test, conn_bench->record.qp.qp_num, (u32)CONN_LOCAL_QPN);
	KUNIT_EXPECT_EQ(test, (int)conn_bench->record.path.mtu, (int)IB_MTU_1024);
	KUNIT_ASSERT_EQ(test, (int)conn_bench->record.private_len, (int)sizeof(data));
	KUNIT_EXPECT_EQ(test, memcmp(conn_bench->record.private_data, data, sizeof(data)), 0);
}

/*
 * As from ib_cm, private data have the length of the message's field, with zeros at the end; longer
 * data are reported as they were sent.
 */
static void try_data(struct kunit *test, struct rca_trunk_record *record, u8 len, u8 field)
{
	unsigned int size = max(len, field);

	static u8 sent[U8_MAX];

	memset(sent, 0xa5, sizeof(sent));
	record->private_data = len ? sent : NULL;
	record->private_len = len;
	KUNIT_EXPECT_EQ(test, conn_bench_receive(record), 0);
	KUNIT_EXPECT_EQ(test, memcmp(conn_bench->data, sent, len), 0);
	KUNIT_EXPECT_EQ(test, (unsigned int)conn_bench->event.conn.private_data_len, size);
	if (size > len)
		KUNIT_EXPECT_NULL_MSG(test, memchr_inv(conn_bench->data + len, 0, size - len),
				      "type %u, %u bytes", record->type, len);
}

static void private_data_is_padded(struct kunit *test)
{
	static const u8 reps[] = { 0, 1, IB_CM_REP_PRIVATE_DATA_SIZE,
				   IB_CM_REP_PRIVATE_DATA_SIZE + 1, RCA_RECORD_USER_MAX };
	static const u8 rejs[] = { 0, 1, IB_CM_REJ_PRIVATE_DATA_SIZE,
				   IB_CM_REJ_PRIVATE_DATA_SIZE + 1, RCA_RECORD_USER_MAX };
	struct rca_trunk_record record;
	struct rca_trunk_conn *conn;
	int i;

	for (i = 0; i < ARRAY_SIZE(reps); i++) {
		conn = conn_in(test, RCA_CONN_REQ_SENT);
		record = conn_bench_record(REP, conn->number);
		try_data(test, &record, reps[i], IB_CM_REP_PRIVATE_DATA_SIZE);
		conn_destroy(conn);
	}
	for (i = 0; i < ARRAY_SIZE(rejs); i++) {
		conn = conn_in(test, RCA_CONN_REP_SENT);
		record = conn_bench_record(REJ, conn->number);
		try_data(test, &record, rejs[i], IB_CM_REJ_PRIVATE_DATA_SIZE);
		conn_destroy(conn);
	}
}

/* Another user of ib_cm at the peer may have the service ID, but not that of a known connection. */
static void listener_may_be_elsewhere(struct kunit *test)
{
	struct rca_trunk_conn *conn = conn_in(test, RCA_CONN_REQ_SENT);
	struct rca_trunk_record record = conn_bench_record(REJ, conn->number);

	record.reason = IB_CM_REJ_INVALID_SERVICE_ID;
	KUNIT_EXPECT_EQ(test, conn_bench_receive(&record), 0);
	KUNIT_EXPECT_TRUE(test, conn_bench->event.elsewhere);
	conn = conn_in(test, RCA_CONN_UP);
	record.conn = conn->number;
	KUNIT_EXPECT_EQ(test, conn_bench_receive(&record), 0);
	KUNIT_EXPECT_FALSE(test, conn_bench->event.elsewhere);
}

/* States in which attributes for INIT, and for RTR and RTS, are known. */
#define INIT_STATES	GENMASK(RCA_CONN_UP, RCA_CONN_REQ_SENT)
#define RTR_STATES	GENMASK(RCA_CONN_UP, RCA_CONN_REP_RCVD)

static void qp_attributes_in_each_state(struct kunit *test)
{
	struct ib_qp_attr *attr = kunit_kzalloc(test, sizeof(*attr), GFP_KERNEL);
	struct rca_trunk_conn *conn;
	int mask, state, qp_state;
	bool known;

	KUNIT_ASSERT_NOT_NULL(test, attr);
	for (state = RCA_CONN_NEW; state <= RCA_CONN_CLOSED; state++) {
		conn = conn_in(test, state);
		for (qp_state = IB_QPS_RESET; qp_state <= IB_QPS_ERR; qp_state++) {
			attr->qp_state = qp_state;
			known = (qp_state == IB_QPS_INIT && BIT(state) & INIT_STATES) ||
				((qp_state == IB_QPS_RTR || qp_state == IB_QPS_RTS) &&
				 BIT(state) & RTR_STATES);
			KUNIT_EXPECT_EQ_MSG(test, rca_tp_trunk.qp_attr(conn, attr, &mask),
					    known ? 0 : -EINVAL, "%u for %u", state, qp_state);
		}
		conn_destroy(conn);
	}
}

/* Each side's depth is limited by the resources of the other one. */
static void qp_attributes_of_the_active_side(struct kunit *test)
{
	struct ib_qp_attr *attr = kunit_kzalloc(test, sizeof(*attr), GFP_KERNEL);
	struct rca_trunk_conn *conn = conn_in(test, RCA_CONN_REP_RCVD);
	int mask = 0;

	KUNIT_ASSERT_NOT_NULL(test, attr);
	attr->qp_state = IB_QPS_RTR;
	KUNIT_ASSERT_EQ(test, rca_tp_trunk.qp_attr(conn, attr, &mask), 0);
	KUNIT_EXPECT_EQ(test, attr->dest_qp_num, (u32)CONN_PEER_QPN);
	KUNIT_EXPECT_EQ(test, (int)attr->max_dest_rd_atomic, 5);
	KUNIT_EXPECT_EQ(test, (int)attr->path_mtu, (int)IB_MTU_1024);
	attr->qp_state = IB_QPS_RTS;
	KUNIT_ASSERT_EQ(test, rca_tp_trunk.qp_attr(conn, attr, &mask), 0);
	KUNIT_EXPECT_EQ(test, attr->sq_psn, 0x222u);
	KUNIT_EXPECT_EQ(test, (int)attr->max_rd_atomic, 4);
	KUNIT_EXPECT_EQ(test, (int)attr->retry_cnt, 7);
	KUNIT_EXPECT_EQ(test, (int)attr->rnr_retry, 2);
	/* Lifetime 14 both ways, and 10. */
	KUNIT_EXPECT_EQ(test, (int)attr->timeout, 15);
}

/* The time that a packet and its acknowledgement take is at most a quarter longer. */
static void ack_timeout_is_as_ibta_says(struct kunit *test)
{
	u64 needed;
	u8 delay, lifetime, n;

	for (delay = 0; delay < 32; delay++) {
		for (lifetime = 0; lifetime < 32; lifetime++) {
			needed = BIT_ULL(delay) + 2 * BIT_ULL(lifetime);
			for (n = 0; n < 31 && 5 * BIT_ULL(n) < 4 * needed; n++)
				;
			KUNIT_EXPECT_EQ_MSG(test, (int)rca_conn_ack_timeout(delay, lifetime),
					    (int)n, "delay %u, lifetime %u", delay, lifetime);
		}
	}
}

static void messages_name_its_number(struct kunit *test)
{
	struct rca_trunk_conn *conn = kunit_kzalloc(test, sizeof(*conn), GFP_KERNEL);
	struct rca_tp_numbers numbers = {};

	KUNIT_ASSERT_NOT_NULL(test, conn);
	conn->session = 7;
	conn->number = 9;
	rca_tp_trunk.numbers(conn, &numbers);
	KUNIT_EXPECT_EQ(test, numbers.session, 7);
	KUNIT_EXPECT_EQ(test, numbers.number, 9);
	KUNIT_EXPECT_EQ(test, numbers.comm_id, 0);
}

static struct kunit_case conn_cases[] = {
	KUNIT_CASE(each_record_in_each_state),
	KUNIT_CASE(records_of_unknown_connections),
	KUNIT_CASE(no_connection_has_the_number_0),
	KUNIT_CASE(dreq_names_another_qp),
	KUNIT_CASE(peer_asks_for_another_qp),
	KUNIT_CASE(each_state_says_again),
	KUNIT_CASE(data_are_said_again),
	KUNIT_CASE(each_operation_in_each_state),
	KUNIT_CASE(destroy_in_each_state),
	KUNIT_CASE(request_is_withdrawn),
	KUNIT_CASE(rtu_is_sent_before_dreq),
	KUNIT_CASE(disconnect_waits_for_nothing),
	KUNIT_CASE(disconnect_takes_what_waits_along),
	KUNIT_CASE(disconnect_waits_for_a_frame),
	KUNIT_CASE(end_is_not_answered),
	KUNIT_CASE(numbers_wrap_around),
	KUNIT_CASE(request_is_repeated),
	KUNIT_CASE(private_data_is_padded),
	KUNIT_CASE(listener_may_be_elsewhere),
	KUNIT_CASE(qp_attributes_in_each_state),
	KUNIT_CASE(qp_attributes_of_the_active_side),
	KUNIT_CASE(ack_timeout_is_as_ibta_says),
	KUNIT_CASE(messages_name_its_number),
	{}
};

CONN_SUITE(conn_suite, "conn", conn_cases);

kunit_test_suite(conn_suite);
