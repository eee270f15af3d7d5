// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * Tests of every state of an id with: destroy, device removal, both at once, a message
 * concurrent with either, an operation concurrent with a message.
 *
 * Locking: the wire lock, which a message holds for reading and the destruction of a cm_id for
 * writing: a transport calls no callback after that.
 */
#include <kunit/test.h>
#include <linux/delay.h>
#include <linux/rwsem.h>
#include <rdma/ib_cm.h>
#include <rdma/rdma_user_cm.h>

#include "cm/cm.h"
#include "fake/addresses.h"
#include "fake/fake_transport.h"
#include "fake/race.h"
#include "lib/fsm.h"
#include "lib/testing.h"

#define COOKIE	0x57a7e
#define ROUNDS	3

/**
 * struct bench - a fake transport with a wire lock
 * @fake: the fake transport
 * @ops: its operations, with those of this test
 * @wire: the wire lock
 * @cut: the cm_id was destroyed
 * @id: the id under test (holds a reference)
 * @first: an operation on the id
 * @second: a message for the id
 */
struct bench {
	struct fake *fake;
	struct rca_tp_ops ops;
	struct rw_semaphore wire;
	bool cut;
	struct rca_id *id;
	unsigned int first;
	enum rca_input second;
};

static struct bench *the_bench;

static void wire_destroy(void *lower)
{
	down_write(&the_bench->wire);
	the_bench->cut = true;
	up_write(&the_bench->wire);
	atomic_dec(&the_bench->fake->lowers);
	kfree(lower);
}

static int states_init(struct kunit *test)
{
	struct bench *bench = kunit_kzalloc(test, sizeof(*bench), GFP_KERNEL);

	KUNIT_ASSERT_NOT_NULL(test, bench);
	init_rwsem(&bench->wire);
	bench->fake = fake_create(test);
	bench->ops = *bench->fake->dev.tp;
	bench->ops.destroy = wire_destroy;
	fake_set_tp(bench->fake, &bench->ops);
	the_bench = bench;
	test->priv = bench;
	return 0;
}

static void states_exit(struct kunit *test)
{
	fake_destroy(the_bench->fake);
	KUNIT_EXPECT_EQ(test, refcount_read(&the_bench->fake->dev.ref), 1);
	the_bench = NULL;
}

static struct rca_tp_conn params(void)
{
	return (struct rca_tp_conn){ .qp_num = 42 };
}

/* An id that never had a cm_id. */
static struct rca_id *without_lower(struct kunit *test, enum rca_state state)
{
	static const enum rca_input way[] = {
		RCA_IN_BIND, RCA_IN_RESOLVE_ADDR, RCA_IN_ADDR_OK, RCA_IN_RESOLVE_ROUTE,
		RCA_IN_ROUTE_OK,
	};
	struct fake *fake = the_bench->fake;
	struct rca_id *id = rca_id_create(fake->ctx, fake->queue, RDMA_PS_TCP, IB_QPT_RC, COOKIE);
	int i;

	KUNIT_ASSERT_FALSE(test, IS_ERR(id));
	id->local = *rca_test_addr(test, "10.9.0.1", 0);
	rca_id_publish(id);
	if (state == RCA_ST_IDLE)
		return id;
	KUNIT_ASSERT_EQ(test, rca_id_attach(id, &fake->dev, 1, NULL), 0);
	for (i = 0; i < ARRAY_SIZE(way) && rca_id_state(id) != state; i++) {
		rca_id_step(id, way[i]);
		if (state == RCA_ST_LISTEN) {
			KUNIT_ASSERT_EQ(test, rca_listen(id, 0), 0);
			break;
		}
	}
	return id;
}

static struct rca_id *active(struct kunit *test, enum rca_state state)
{
	struct rca_id *id = state == RCA_ST_SIDR_SENT ?
		fake_active_datagram(test, the_bench->fake, COOKIE) :
		fake_active_id(test, the_bench->fake, COOKIE);
	struct rca_tp_conn conn = params();

	KUNIT_ASSERT_EQ(test, rca_connect(id, &conn), 0);
	switch (state) {
	case RCA_ST_REQ_SENT:
	case RCA_ST_SIDR_SENT:
		return id;
	case RCA_ST_REQ_WAIT:
		fake_message(id, RCA_IN_REJ, IB_CM_REJ_STALE_CONN);
		return id;
	case RCA_ST_FAILED:
		fake_message(id, RCA_IN_REJ, 28);
		return id;
	default:
		break;
	}
	fake_message(id, RCA_IN_REP, 0);
	if (state != RCA_ST_REP_RCVD)
		KUNIT_ASSERT_EQ(test, rca_establish(id), 0);
	if (state == RCA_ST_DREQ_SENT)
		KUNIT_ASSERT_EQ(test, rca_disconnect(id), 0);
	if (state == RCA_ST_DISCONNECTED || state == RCA_ST_CLOSED)
		fake_message(id, RCA_IN_DREQ, 0);
	if (state == RCA_ST_CLOSED)
		fake_message(id, RCA_IN_TIMEWAIT_EXIT, 0);
	return id;
}

static struct rca_id *passive(struct kunit *test, enum rca_state state)
{
	struct fake *fake = the_bench->fake;
	bool ud = state == RCA_ST_SIDR_RCVD || state == RCA_ST_SIDR_DONE;
	struct rca_id *id = ud ? fake_datagram_child(test, fake) : fake_child(test, fake);
	struct rca_tp_conn conn = params();

	if (state == RCA_ST_REP_SENT || state == RCA_ST_SIDR_DONE)
		KUNIT_ASSERT_EQ(test, rca_accept(id, COOKIE, &conn), 0);
	return id;
}

static void drain(void)
{
	struct rdma_cm_alt_event rec;

	while (fake_take_event(the_bench->fake, &rec))
		;
}

/* Create an id in a state, and read all events posted on the way. */
static struct rca_id *id_in(struct kunit *test, enum rca_state state)
{
	struct rca_id *id;

	the_bench->cut = false;
	the_bench->fake->dev.removing = false;
	switch (state) {
	case RCA_ST_IDLE ... RCA_ST_ROUTE_RESOLVED:
	case RCA_ST_LISTEN:
		id = without_lower(test, state);
		break;
	case RCA_ST_REQ_RCVD:
	case RCA_ST_REP_SENT:
	case RCA_ST_SIDR_RCVD:
	case RCA_ST_SIDR_DONE:
		id = passive(test, state);
		break;
	default:
		id = active(test, state);
		break;
	}
	KUNIT_ASSERT_STREQ(test, rca_state_name(rca_id_state(id)), rca_state_name(state));
	drain();
	the_bench->id = rca_id_get(id);
	return id;
}

static void unplug(void)
{
	the_bench->fake->dev.removing = true;
	rca_teardown_device(&the_bench->fake->dev);
}

static int destroy(void)
{
	struct rca_id *id = the_bench->id;
	u32 reported;

	return rca_destroy(id->obj.ctx, id->obj.handle, &reported);
}

/* Only the test has a reference of the id, and no part of the device is in use. */
static void expect_gone(struct kunit *test, enum rca_state was)
{
	struct fake *fake = the_bench->fake;
	struct rca_id *id = the_bench->id;
	int i;

	rca_id_flush_work(id);
	for (i = 0; i < 5000 && refcount_read(&id->obj.ref) > 1; i++)
		usleep_range(500, 1000);
	KUNIT_EXPECT_EQ_MSG(test, refcount_read(&id->obj.ref), 1, "in state %s",
			    rca_state_name(was));
	KUNIT_EXPECT_EQ_MSG(test, atomic_read(&fake->lowers), 0, "in state %s",
			    rca_state_name(was));
	KUNIT_EXPECT_TRUE_MSG(test, list_empty(&fake->dev.ids), "in state %s",
			      rca_state_name(was));
	KUNIT_EXPECT_EQ_MSG(test, fake->listens, 0, "in state %s", rca_state_name(was));
	rca_id_put(id);
	the_bench->id = NULL;
}

static void expect_no_event(struct kunit *test, enum rca_state was)
{
	struct rdma_cm_alt_event rec;

	KUNIT_EXPECT_FALSE_MSG(test, fake_take_event(the_bench->fake, &rec),
			       "event %u in state %s", rec.type, rca_state_name(was));
}

static void destroy_in_every_state_leaves_nothing(struct kunit *test)
{
	enum rca_state state;

	for (state = 0; state < RCA_ST_REMOVED; state++) {
		id_in(test, state);
		KUNIT_EXPECT_EQ(test, destroy(), 0);
		KUNIT_EXPECT_EQ(test, destroy(), -ENOENT);
		expect_no_event(test, state);
		/* An id that waits for the answer of its peer does not outlive the device. */
		unplug();
		expect_no_event(test, state);
		expect_gone(test, state);
	}
}

static void unplug_in_every_state_is_told_once(struct kunit *test)
{
	struct rca_tp_conn conn = params();
	struct rdma_cm_alt_event rec;
	enum rca_state state;

	/* An idle id has no device. */
	for (state = RCA_ST_BOUND; state < RCA_ST_REMOVED; state++) {
		struct rca_id *id = id_in(test, state);

		unplug();
		KUNIT_ASSERT_TRUE_MSG(test, fake_take_event(the_bench->fake, &rec),
				      "nothing in state %s", rca_state_name(state));
		KUNIT_EXPECT_EQ(test, rec.type, (u32)RDMA_CM_ALT_EVENT_DEVICE_REMOVAL);
		KUNIT_EXPECT_EQ(test, rec.status, 0);
		KUNIT_EXPECT_EQ(test, (int)rca_id_state(id), (int)RCA_ST_REMOVED);
		KUNIT_EXPECT_EQ(test, rca_connect(id, &conn), -ENXIO);
		KUNIT_EXPECT_EQ(test, rca_accept(id, COOKIE, &conn), -ENXIO);
		KUNIT_EXPECT_EQ(test, rca_reject(id, 28, NULL, 0), -ENXIO);
		KUNIT_EXPECT_EQ(test, rca_disconnect(id), -ENXIO);
		KUNIT_EXPECT_EQ(test, rca_notify(id, IB_EVENT_COMM_EST), -ENXIO);
		KUNIT_EXPECT_EQ(test, rca_listen(id, 0), -ENXIO);
		KUNIT_EXPECT_EQ(test, destroy(), 0);
		expect_no_event(test, state);
		expect_gone(test, state);
	}
}

static void destroy_or_unplug(void *arg, unsigned int n)
{
	if (n)
		unplug();
	else
		destroy();
}

static void destroy_and_unplug_at_once(struct kunit *test)
{
	enum rca_state state;
	int i;

	for (state = 0; state < RCA_ST_REMOVED; state++) {
		for (i = 0; i < ROUNDS; i++) {
			id_in(test, state);
			rca_race(test, 2, destroy_or_unplug, NULL);
			expect_gone(test, state);
			expect_no_event(test, state);
		}
	}
}

static const enum rca_input messages[] = {
	RCA_IN_REP, RCA_IN_REQ_TIMEOUT, RCA_IN_RTU, RCA_IN_REP_TIMEOUT, RCA_IN_REJ, RCA_IN_DREQ,
	RCA_IN_DREP, RCA_IN_DREQ_TIMEOUT, RCA_IN_TIMEWAIT_EXIT,
};

static bool hears(enum rca_state state)
{
	return state >= RCA_ST_REQ_SENT && state <= RCA_ST_DISCONNECTED;
}

/* Deliver the message, unless the cm_id was destroyed before. */
static void deliver(void)
{
	enum rca_input input = the_bench->second;

	down_read(&the_bench->wire);
	if (!the_bench->cut)
		fake_message(the_bench->id, input, input == RCA_IN_REJ ? 28 : 0);
	up_read(&the_bench->wire);
}

static void destroy_or_deliver(void *arg, unsigned int n)
{
	if (n)
		deliver();
	else
		destroy();
}

static void requests_find_the_listener_at_once(struct kunit *test)
{
	id_in(test, RCA_ST_LISTEN);
	KUNIT_EXPECT_TRUE(test, the_bench->fake->reachable);
	KUNIT_EXPECT_EQ(test, destroy(), 0);
	expect_gone(test, RCA_ST_LISTEN);
}

static void message_and_destroy_at_once(struct kunit *test)
{
	enum rca_state state;
	int i;

	for (state = 0; state < RCA_ST_REMOVED; state++) {
		for (i = 0; i < ARRAY_SIZE(messages) && hears(state); i++) {
			id_in(test, state);
			the_bench->second = messages[i];
			rca_race(test, 2, destroy_or_deliver, NULL);
			expect_no_event(test, state);
			unplug();
			expect_gone(test, state);
			expect_no_event(test, state);
		}
	}
}

static void unplug_or_deliver(void *arg, unsigned int n)
{
	if (n)
		deliver();
	else
		unplug();
}

/* The message is handled before the device is removed, or not at all. */
static void message_and_unplug_at_once(struct kunit *test)
{
	struct rdma_cm_alt_event rec;
	enum rca_state state;
	int i, removals;

	for (state = 0; state < RCA_ST_REMOVED; state++) {
		for (i = 0; i < ARRAY_SIZE(messages) && hears(state); i++) {
			id_in(test, state);
			the_bench->second = messages[i];
			rca_race(test, 2, unplug_or_deliver, NULL);
			for (removals = 0; fake_take_event(the_bench->fake, &rec);) {
				KUNIT_EXPECT_EQ_MSG(test, removals, 0, "event %u after the end",
						    rec.type);
				removals += rec.type == RDMA_CM_ALT_EVENT_DEVICE_REMOVAL;
			}
			KUNIT_EXPECT_EQ(test, removals, 1);
			KUNIT_EXPECT_EQ(test, destroy(), 0);
			expect_gone(test, state);
		}
	}
}

static void op_connect(struct rca_id *id)
{
	struct rca_tp_conn conn = params();

	rca_connect(id, &conn);
}

static void op_accept(struct rca_id *id)
{
	struct rca_tp_conn conn = params();

	rca_accept(id, COOKIE, &conn);
}

static void op_reject(struct rca_id *id)
{
	rca_reject(id, 28, NULL, 0);
}

static void op_establish(struct rca_id *id)
{
	rca_establish(id);
}

static void op_disconnect(struct rca_id *id)
{
	rca_disconnect(id);
}

static void (*const ops[])(struct rca_id *id) = {
	op_connect, op_accept, op_reject, op_establish, op_disconnect,
};

static void operate_or_deliver(void *arg, unsigned int n)
{
	if (n)
		deliver();
	else
		ops[the_bench->first](the_bench->id);
}

/* The state of the id after both events; a request that waited may have been retransmitted. */
static enum rca_state both(struct kunit *test, enum rca_state state,
			   void (*how)(struct kunit *test))
{
	enum rca_state end;

	id_in(test, state);
	how(test);
	end = rca_id_state(the_bench->id);
	destroy();
	unplug();
	drain();
	expect_gone(test, state);
	return end == RCA_ST_REQ_WAIT ? RCA_ST_REQ_SENT : end;
}

static void operation_first(struct kunit *test)
{
	operate_or_deliver(NULL, 0);
	operate_or_deliver(NULL, 1);
}

static void message_first(struct kunit *test)
{
	operate_or_deliver(NULL, 1);
	operate_or_deliver(NULL, 0);
}

static void at_once(struct kunit *test)
{
	rca_race(test, 2, operate_or_deliver, NULL);
}

/* Two concurrent events end as if one had come after the other. */
static void message_and_operation_at_once(struct kunit *test)
{
	enum rca_state state, one, other, now;
	unsigned int i, k;

	for (state = 0; state < RCA_ST_REMOVED; state++) {
		/* In this state, the timer of the request is a third event. */
		if (!hears(state) || state == RCA_ST_REQ_WAIT)
			continue;
		for (i = 0; i < ARRAY_SIZE(messages); i++) {
			/* In this state, the result of a timeout depends on the clock. */
			if (state == RCA_ST_REQ_SENT && messages[i] == RCA_IN_REQ_TIMEOUT)
				continue;
			for (k = 0; k < ARRAY_SIZE(ops); k++) {
				the_bench->first = k;
				the_bench->second = messages[i];
				one = both(test, state, operation_first);
				other = both(test, state, message_first);
				now = both(test, state, at_once);
				KUNIT_EXPECT_TRUE_MSG(test, now == one || now == other,
						      "%s, message %s, operation %u: %s",
						      rca_state_name(state),
						      rca_input_name(messages[i]), k,
						      rca_state_name(now));
			}
		}
	}
}

static struct kunit_case states_cases[] = {
	KUNIT_CASE(destroy_in_every_state_leaves_nothing),
	KUNIT_CASE(unplug_in_every_state_is_told_once),
	KUNIT_CASE(destroy_and_unplug_at_once),
	KUNIT_CASE(requests_find_the_listener_at_once),
	KUNIT_CASE(message_and_destroy_at_once),
	KUNIT_CASE(message_and_unplug_at_once),
	KUNIT_CASE(message_and_operation_at_once),
	{}
};

static struct kunit_suite states_suite = {
	.name = "rdma_cm_alt_states",
	.init = states_init,
	.exit = states_exit,
	.test_cases = states_cases,
};
kunit_test_suite(states_suite);
