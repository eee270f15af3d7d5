// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/* Tests of kernel/lib/fsm.c: the transition table against an independent list. */
#include <kunit/test.h>
#include <rdma/rdma_cm_alt.h>

#include "lib/fsm.h"

/*
 * The transitions of each state as "input>next[:event][!]"; "=" means ignored, "!" answer with a
 * DREP, "$" continue the teardown. Transitions that are not listed must be illegal.
 */
struct expectation {
	enum rca_state state;
	const char *rows;
};

#define DISC_TAIL " rep= req-timeout= rtu= rep-timeout= drep= dreq-timeout= disconnect="

static const struct expectation expected[] = {
	{ RCA_ST_IDLE, "bind>bound destroy>destroying" },
	{ RCA_ST_BOUND,
	  "resolve-addr>addr-query listen>listen destroy>destroying remove>removed:11" },
	{ RCA_ST_ADDR_QUERY,
	  "addr-ok>addr-resolved:0 addr-fail>bound:1 destroy>destroying remove>removed:11" },
	{ RCA_ST_ADDR_RESOLVED, "resolve-route>route-query destroy>destroying remove>removed:11" },
	{ RCA_ST_ROUTE_QUERY,
	  "route-ok>route-resolved:2 route-fail>addr-resolved:3 destroy>destroying"
	  " remove>removed:11" },
	{ RCA_ST_ROUTE_RESOLVED,
	  "connect>req-sent sidr>sidr-sent destroy>destroying remove>removed:11" },
	{ RCA_ST_REQ_SENT,
	  "connect-fail>route-resolved rep>rep-rcvd:5 rej>failed:8 req-timeout>failed:7"
	  " up>connected:9 error>failed:6"
	  " stale>req-wait silence>req-wait held>req-wait timewait-exit= disconnect="
	  " destroy>destroying remove>removed:11" },
	{ RCA_ST_REQ_WAIT,
	  "retry>req-sent rej>failed:8 connect-fail>route-resolved timewait-exit= rep="
	  " req-timeout>failed:7 disconnect= destroy>destroying remove>removed:11" },
	{ RCA_ST_REP_RCVD,
	  "establish>connected reject>failed rej>failed:8 dreq>disconnected:10! connect-fail="
	  " timewait-exit= rep= req-timeout= disconnect= destroy>destroying remove>removed:11" },
	{ RCA_ST_REQ_RCVD,
	  "accept>rep-sent reject>failed rej>failed dreq>failed! timewait-exit= disconnect="
	  " destroy>destroying remove>removed:11" },
	{ RCA_ST_REP_SENT,
	  "accept-fail>failed rtu>connected:9 rej>failed:8 rep-timeout>failed:7"
	  " up>connected:9 error>failed:6"
	  " dreq>disconnected:10! timewait-exit="
	  " disconnect= destroy>destroying remove>removed:11" },
	{ RCA_ST_CONNECTED,
	  "disconnect>dreq-sent dreq>disconnected:10! rej>failed:8 establish-fail>failed"
	  " accept-fail= timewait-exit>closed:10 down>closed:10 rep= req-timeout= rtu="
	  " rep-timeout>closed:10 drep>disconnected:10 dreq-timeout>disconnected:10"
	  " destroy>destroying remove>removed:11" },
	{ RCA_ST_DREQ_SENT,
	  "disconnect-fail>disconnected:10 drep>disconnected:10 dreq>disconnected:10!"
	  " dreq-timeout>disconnected:10 rej>disconnected:10 timewait-exit>closed:10"
	  " down>closed:10 rep-timeout>closed:10"
	  " establish-fail= accept-fail= rep= req-timeout= rtu= disconnect="
	  " destroy>destroying remove>removed:11" },
	{ RCA_ST_DISCONNECTED,
	  "timewait-exit>closed:15 down>closed dreq=! rej= establish-fail= accept-fail= "
	  "disconnect-fail="
	  " destroy>destroying remove>removed:11" DISC_TAIL },
	{ RCA_ST_CLOSED,
	  "dreq=! rej= timewait-exit= establish-fail= accept-fail= disconnect-fail="
	  " destroy>destroying remove>removed:11" DISC_TAIL },
	{ RCA_ST_FAILED,
	  "dreq=! rej= timewait-exit= connect-fail= establish-fail= accept-fail= bad-qkey="
	  " destroy>destroying remove>removed:11" DISC_TAIL },
	{ RCA_ST_SIDR_SENT,
	  "connect-fail>route-resolved rep>sidr-done:9 bad-qkey>failed:1 rej>failed:7"
	  " req-timeout>failed:7 disconnect= destroy>destroying remove>removed:11" },
	{ RCA_ST_SIDR_RCVD,
	  "accept>sidr-done reject>failed disconnect= destroy>destroying remove>removed:11" },
	{ RCA_ST_SIDR_DONE,
	  "accept-fail>failed connect-fail= rep= bad-qkey= rej= req-timeout= disconnect="
	  " destroy>destroying remove>removed:11" },
	{ RCA_ST_LISTEN, "listen-fail>bound disconnect= destroy>destroying remove>removed:11" },
	{ RCA_ST_REMOVED,
	  "addr-ok= addr-fail= route-ok= route-fail= connect-fail= listen-fail= accept-fail="
	  " establish-fail= disconnect-fail= rej= dreq=! timewait-exit= remove= rep= req-timeout="
	  " bad-qkey= rtu= rep-timeout= drep= dreq-timeout= retry= up= error= down="
	  " destroy>destroying" },
	{ RCA_ST_DESTROYING,
	  "addr-ok= addr-fail= route-ok= route-fail= connect-fail= listen-fail= accept-fail="
	  " establish-fail= disconnect-fail= rep= bad-qkey= rtu= destroy= req-timeout>destroying$"
	  " retry="
	  " rep-timeout>destroying$ rej>destroying$ drep>destroying$ dreq>destroying!$"
	  " dreq-timeout>destroying$ timewait-exit>destroying$ remove>destroying$"
	  " up= error= down=" },
};

/* A transition of the table in the notation of the list; empty: illegal. */
static void describe(char *buf, size_t len, const struct rca_step *step, enum rca_input input)
{
	int n = 0;

	buf[0] = 0;
	if (step->verdict == RCA_ILLEGAL)
		return;
	n += scnprintf(buf + n, len - n, "%s", rca_input_name(input));
	if (step->verdict == RCA_TAKE)
		n += scnprintf(buf + n, len - n, ">%s", rca_state_name(step->next));
	else
		n += scnprintf(buf + n, len - n, "=");
	if (step->post != RCA_NO_EVENT)
		n += scnprintf(buf + n, len - n, ":%d", step->post);
	if (step->action & RCA_ACT_DREP)
		n += scnprintf(buf + n, len - n, "!");
	if (step->action & RCA_ACT_FINISH)
		scnprintf(buf + n, len - n, "$");
}

/* The transition for @input in @rows; empty: not listed. */
static void look_up(char *buf, size_t len, const char *rows, enum rca_input input)
{
	const char *name = rca_input_name(input), *p = rows;
	size_t name_len = strlen(name), word;

	buf[0] = 0;
	for (; *p; p += word) {
		p += strspn(p, " ");
		word = strcspn(p, " ");
		if (word > name_len && !strncmp(p, name, name_len) &&
		    (p[name_len] == '>' || p[name_len] == '=')) {
			strscpy(buf, p, min(len, word + 1));
			return;
		}
	}
}

static void next_all_pairs_match_list(struct kunit *test)
{
	char is[64], should[64];
	int s, input;

	KUNIT_ASSERT_EQ(test, (int)ARRAY_SIZE(expected), (int)RCA_ST_COUNT);
	for (s = 0; s < RCA_ST_COUNT; s++) {
		KUNIT_ASSERT_EQ(test, (int)expected[s].state, s);
		for (input = 0; input < RCA_IN_COUNT; input++) {
			struct rca_step step = rca_fsm_next(s, input);

			describe(is, sizeof(is), &step, input);
			look_up(should, sizeof(should), expected[s].rows, input);
			KUNIT_EXPECT_STREQ_MSG(test, is, should, "state %s, input %s",
					       rca_state_name(s), rca_input_name(input));
		}
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
	KUNIT_CASE(next_all_pairs_match_list),
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
