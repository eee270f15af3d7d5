// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * Tests of kernel/lib/fsm.c: what must be true of any transition table. The table itself is the
 * specification; a change of it shows in Documentation/states.rst, and tests/api/abi/id/states.c
 * compares what the ioctls do.
 */
#include <kunit/test.h>
#include <rdma/rdma_cm_alt.h>

#include "lib/fsm.h"

/* Operations, and the input that follows when the message cannot be sent. */
static const struct {
	enum rca_input op;
	enum rca_input fail;
} ops[] = {
	{ RCA_IN_BIND, RCA_IN_COUNT },
	{ RCA_IN_RESOLVE_ADDR, RCA_IN_ADDR_FAIL },
	{ RCA_IN_RESOLVE_ROUTE, RCA_IN_ROUTE_FAIL },
	{ RCA_IN_LISTEN, RCA_IN_LISTEN_FAIL },
	{ RCA_IN_CONNECT, RCA_IN_CONNECT_FAIL },
	{ RCA_IN_SIDR, RCA_IN_CONNECT_FAIL },
	{ RCA_IN_ACCEPT, RCA_IN_ACCEPT_FAIL },
	{ RCA_IN_ESTABLISH, RCA_IN_ESTABLISH_FAIL },
	{ RCA_IN_REJECT, RCA_IN_COUNT },
	{ RCA_IN_DISCONNECT, RCA_IN_DISCONNECT_FAIL },
	{ RCA_IN_DESTROY, RCA_IN_COUNT },
};

static bool is_op(int input)
{
	int i;

	for (i = 0; i < ARRAY_SIZE(ops); i++)
		if (ops[i].op == input)
			return true;
	return false;
}

#define for_each_pair(s, input)						\
	for (s = 0, input = 0; s < RCA_ST_COUNT;			\
	     input = (input + 1) % RCA_IN_COUNT, s += !input)

#define EV(type) BIT(RDMA_CM_ALT_EVENT_##type)

/* The events that an input may cause. */
static const u32 events[RCA_IN_COUNT] = {
	[RCA_IN_ADDR_OK] = EV(ADDR_RESOLVED),
	[RCA_IN_ADDR_FAIL] = EV(ADDR_ERROR),
	[RCA_IN_ROUTE_OK] = EV(ROUTE_RESOLVED),
	[RCA_IN_ROUTE_FAIL] = EV(ROUTE_ERROR),
	[RCA_IN_REP] = EV(CONNECT_RESPONSE) | EV(ESTABLISHED),
	[RCA_IN_BAD_QKEY] = EV(ADDR_ERROR),
	[RCA_IN_REQ_TIMEOUT] = EV(UNREACHABLE),
	[RCA_IN_REP_TIMEOUT] = EV(UNREACHABLE) | EV(DISCONNECTED),
	[RCA_IN_RTU] = EV(ESTABLISHED),
	[RCA_IN_REJ] = EV(REJECTED) | EV(UNREACHABLE) | EV(DISCONNECTED),
	[RCA_IN_DISCONNECT_FAIL] = EV(DISCONNECTED),
	[RCA_IN_DREQ] = EV(DISCONNECTED),
	[RCA_IN_DREP] = EV(DISCONNECTED),
	[RCA_IN_DREQ_TIMEOUT] = EV(DISCONNECTED),
	[RCA_IN_TIMEWAIT_EXIT] = EV(DISCONNECTED) | EV(TIMEWAIT_EXIT),
	[RCA_IN_UP] = EV(ESTABLISHED),
	[RCA_IN_ERROR] = EV(CONNECT_ERROR),
	[RCA_IN_DOWN] = EV(DISCONNECTED),
	[RCA_IN_REMOVE] = EV(DEVICE_REMOVAL),
};

/* The events of a connection, each at most once: from CONNECT_RESPONSE to TIMEWAIT_EXIT. */
#define FIRST RDMA_CM_ALT_EVENT_CONNECT_RESPONSE
#define PATHS BIT(RDMA_CM_ALT_EVENT_TIMEWAIT_EXIT + 1 - FIRST)
#define FAILED (EV(REJECTED) | EV(UNREACHABLE) | EV(CONNECT_ERROR))

/* May @event come after the events of @path? */
static bool may_follow(u32 path, u32 event)
{
	u32 ended = path & (FAILED | EV(DISCONNECTED) | EV(DEVICE_REMOVAL));

	if (path & (BIT(event) | EV(DEVICE_REMOVAL)))
		return false;
	if (event == RDMA_CM_ALT_EVENT_DEVICE_REMOVAL)
		return true;
	if (event == RDMA_CM_ALT_EVENT_TIMEWAIT_EXIT)
		return path & EV(DISCONNECTED);
	if (BIT(event) & (EV(REJECTED) | EV(DISCONNECTED)))
		return !ended;
	return !ended && !(path & EV(ESTABLISHED));
}

/* Every way through the table reports a connection as a program expects it. */
static void next_events_come_once_and_in_order(struct kunit *test)
{
	bool (*seen)[PATHS] = kunit_kcalloc(test, RCA_ST_COUNT, sizeof(*seen), GFP_KERNEL);
	bool more = true;
	int s, input;
	u32 path;

	KUNIT_ASSERT_NOT_NULL(test, seen);
	seen[RCA_ST_IDLE][0] = true;
	seen[RCA_ST_REQ_RCVD][0] = true;
	seen[RCA_ST_SIDR_RCVD][0] = true;
	while (more) {
		more = false;
		for_each_pair(s, input) {
			struct rca_step step = rca_fsm_next(s, input);
			bool reports = step.post != RCA_NO_EVENT && step.post >= FIRST;

			for (path = 0; step.verdict == RCA_TAKE && path < PATHS; path++) {
				u32 next = path | (reports ? BIT(step.post - FIRST) : 0);

				if (!seen[s][path])
					continue;
				if (reports)
					KUNIT_EXPECT_TRUE_MSG(test, may_follow(path << FIRST,
									       step.post),
							      "event %d in state %s after %#x",
							      step.post, rca_state_name(s),
							      path << FIRST);
				more |= !seen[step.next][next];
				seen[step.next][next] = true;
			}
		}
	}
}

static void next_each_input_has_its_events(struct kunit *test)
{
	int s, input;

	for_each_pair(s, input) {
		struct rca_step step = rca_fsm_next(s, input);

		if (step.post == RCA_NO_EVENT)
			continue;
		KUNIT_EXPECT_EQ(test, (int)step.verdict, (int)RCA_TAKE);
		KUNIT_EXPECT_TRUE_MSG(test, events[input] & BIT(step.post),
				      "event %d in state %s by %s", step.post,
				      rca_state_name(s), rca_input_name(input));
	}
}

static void next_operation_that_starts_may_fail(struct kunit *test)
{
	int s, i;

	for (s = 0; s < RCA_ST_COUNT; s++)
		for (i = 0; i < ARRAY_SIZE(ops); i++) {
			struct rca_step step = rca_fsm_next(s, ops[i].op);

			KUNIT_EXPECT_EQ(test, step.post, RCA_NO_EVENT);
			if (step.verdict != RCA_TAKE || ops[i].fail == RCA_IN_COUNT)
				continue;
			step = rca_fsm_next(step.next, ops[i].fail);
			KUNIT_EXPECT_EQ_MSG(test, (int)step.verdict, (int)RCA_TAKE,
					    "%s in state %s", rca_input_name(ops[i].op),
					    rca_state_name(s));
		}
}

/* What was sent before the end can be answered, or not, after it. */
static void next_late_inputs_are_known_at_the_end(struct kunit *test)
{
	int input;

	for (input = 0; input < RCA_IN_COUNT; input++) {
		/* These are decided in the state req-sent, under the same lock. */
		if (is_op(input) || input == RCA_IN_STALE || input == RCA_IN_SILENCE ||
		    input == RCA_IN_HELD)
			continue;
		KUNIT_EXPECT_NE_MSG(test, (int)rca_fsm_next(RCA_ST_REMOVED, input).verdict,
				    (int)RCA_ILLEGAL, "%s", rca_input_name(input));
		KUNIT_EXPECT_NE_MSG(test, (int)rca_fsm_next(RCA_ST_DESTROYING, input).verdict,
				    (int)RCA_ILLEGAL, "%s", rca_input_name(input));
	}
}

static void next_every_disconnect_of_the_peer_is_answered(struct kunit *test)
{
	int s, input;

	for_each_pair(s, input) {
		struct rca_step step = rca_fsm_next(s, input);

		KUNIT_EXPECT_EQ_MSG(test, !!(step.action & RCA_ACT_DREP),
				    input == RCA_IN_DREQ && step.verdict != RCA_ILLEGAL,
				    "%s in state %s", rca_input_name(input),
				    rca_state_name(s));
		KUNIT_EXPECT_EQ_MSG(test, !!(step.action & RCA_ACT_FINISH),
				    s == RCA_ST_DESTROYING && step.verdict == RCA_TAKE,
				    "%s in state %s", rca_input_name(input),
				    rca_state_name(s));
	}
}

static void next_every_id_with_a_device_loses_it(struct kunit *test)
{
	int s;

	for (s = RCA_ST_BOUND; s < RCA_ST_REMOVED; s++) {
		struct rca_step step = rca_fsm_next(s, RCA_IN_REMOVE);

		KUNIT_EXPECT_EQ(test, (int)step.next, (int)RCA_ST_REMOVED);
		KUNIT_EXPECT_EQ(test, step.post, (int)RDMA_CM_ALT_EVENT_DEVICE_REMOVAL);
	}
}

static void next_every_state_is_reachable(struct kunit *test)
{
	bool reached[RCA_ST_COUNT] = {
		[RCA_ST_IDLE] = true, [RCA_ST_REQ_RCVD] = true, [RCA_ST_SIDR_RCVD] = true,
	};
	int s, input, round;

	for (round = 0; round < RCA_ST_COUNT; round++)
		for (s = 0; s < RCA_ST_COUNT; s++)
			for (input = 0; reached[s] && input < RCA_IN_COUNT; input++) {
				struct rca_step step = rca_fsm_next(s, input);

				if (step.verdict == RCA_TAKE)
					reached[step.next] = true;
			}
	for (s = 0; s < RCA_ST_COUNT; s++)
		KUNIT_EXPECT_TRUE_MSG(test, reached[s], "%s", rca_state_name(s));
}

static void next_destroying_has_no_way_out(struct kunit *test)
{
	int input;

	for (input = 0; input < RCA_IN_COUNT; input++) {
		struct rca_step step = rca_fsm_next(RCA_ST_DESTROYING, input);

		KUNIT_EXPECT_EQ(test, (int)step.next, (int)RCA_ST_DESTROYING);
		KUNIT_EXPECT_EQ(test, (int)step.post, RCA_NO_EVENT);
	}
}

static void next_every_state_can_be_destroyed(struct kunit *test)
{
	int s;

	for (s = 0; s < RCA_ST_DESTROYING; s++)
		KUNIT_EXPECT_EQ(test, (int)rca_fsm_next(s, RCA_IN_DESTROY).next,
				(int)RCA_ST_DESTROYING);
}

static void next_refusals_have_the_errno_of_stock(struct kunit *test)
{
	KUNIT_EXPECT_EQ(test, rca_fsm_next(RCA_ST_IDLE, RCA_IN_CONNECT).err, -EINVAL);
	KUNIT_EXPECT_EQ(test, rca_fsm_next(RCA_ST_BOUND, RCA_IN_DISCONNECT).err, -EINVAL);
	KUNIT_EXPECT_EQ(test, rca_fsm_next(RCA_ST_FAILED, RCA_IN_DISCONNECT).err, 0);
	KUNIT_EXPECT_EQ(test, rca_fsm_next(RCA_ST_REMOVED, RCA_IN_CONNECT).err, -ENXIO);
	KUNIT_EXPECT_EQ(test, rca_fsm_next(RCA_ST_CONNECTED, RCA_IN_DISCONNECT).err, 0);
}

static void next_out_of_range_is_illegal(struct kunit *test)
{
	KUNIT_EXPECT_EQ(test, (int)rca_fsm_next(RCA_ST_COUNT, RCA_IN_BIND).verdict,
			(int)RCA_ILLEGAL);
	KUNIT_EXPECT_EQ(test, (int)rca_fsm_next(RCA_ST_IDLE, RCA_IN_COUNT).verdict,
			(int)RCA_ILLEGAL);
	KUNIT_EXPECT_STREQ(test, rca_state_name(RCA_ST_COUNT), "?");
	KUNIT_EXPECT_STREQ(test, rca_input_name(RCA_IN_COUNT), "?");
}

static struct kunit_case fsm_cases[] = {
	KUNIT_CASE(next_events_come_once_and_in_order),
	KUNIT_CASE(next_each_input_has_its_events),
	KUNIT_CASE(next_operation_that_starts_may_fail),
	KUNIT_CASE(next_late_inputs_are_known_at_the_end),
	KUNIT_CASE(next_every_disconnect_of_the_peer_is_answered),
	KUNIT_CASE(next_every_id_with_a_device_loses_it),
	KUNIT_CASE(next_every_state_is_reachable),
	KUNIT_CASE(next_destroying_has_no_way_out),
	KUNIT_CASE(next_every_state_can_be_destroyed),
	KUNIT_CASE(next_refusals_have_the_errno_of_stock),
	KUNIT_CASE(next_out_of_range_is_illegal),
	{}
};

static struct kunit_suite fsm_suite = {
	.name = "rdma_cm_alt_fsm",
	.test_cases = fsm_cases,
};
kunit_test_suite(fsm_suite);
