// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * The transition table of an id. Pure: no locks, no allocations, no side effects; for any context.
 */
#include "lib/fsm.h"

#include <linux/build_bug.h>
#include <linux/compiler.h>
#include <linux/errno.h>
#include <linux/kernel.h>
#include <rdma/rdma_cm_alt.h>

/*
 * A step that is taken, as it is returned. Of one that is ignored only the verdict and the action
 * are set; the default, all zero, is "illegal".
 */
#define STEP(st, type, act) { \
	.verdict = RCA_TAKE, .next = RCA_ST_##st, .post = (type), .action = (act) }
#define GO(st)		STEP(st, RCA_NO_EVENT, 0)
#define GO_DREP(st)	STEP(st, RCA_NO_EVENT, RCA_ACT_DREP)
#define POST(st, type)	STEP(st, RDMA_CM_ALT_EVENT_##type, 0)
#define POST_DREP(st, type) STEP(st, RDMA_CM_ALT_EVENT_##type, RCA_ACT_DREP)
#define IGN		{ .verdict = RCA_IGNORE }
#define IGN_DREP	{ .verdict = RCA_IGNORE, .action = RCA_ACT_DREP }
#define FIN		STEP(DESTROYING, RCA_NO_EVENT, RCA_ACT_FINISH)
#define FIN_DREP	STEP(DESTROYING, RCA_NO_EVENT, RCA_ACT_FINISH | RCA_ACT_DREP)

/* Every id can be destroyed; one with a device can lose it. */
#define DESTROY		[RCA_IN_DESTROY] = GO(DESTROYING)
#define REMOVE		[RCA_IN_REMOVE] = POST(REMOVED, DEVICE_REMOVAL)

/*
 * After a REQ or REP was sent, its timeout and messages of the peer can arrive at any time, also
 * after another message has caused a transition.
 */
#define LATE_ACTIVE	[RCA_IN_REP] = IGN, [RCA_IN_REQ_TIMEOUT] = IGN
#define LATE_SIDR	[RCA_IN_REJ] = IGN, [RCA_IN_BAD_QKEY] = IGN
#define LATE_PASSIVE	[RCA_IN_RTU] = IGN, [RCA_IN_REP_TIMEOUT] = IGN
#define LATE_TCP	[RCA_IN_UP] = IGN, [RCA_IN_ERROR] = IGN, [RCA_IN_DOWN] = IGN
#define LATE_DISC	[RCA_IN_DREP] = IGN, [RCA_IN_DREQ_TIMEOUT] = IGN

/*
 * If the QP has received data first, the RTU is still to come. Without it ib_cm neither reports
 * that the peer disconnects, nor can it send a DREQ.
 */
#define RTU_PENDING	[RCA_IN_RTU] = IGN, [RCA_IN_REP_TIMEOUT] = POST(CLOSED, DISCONNECTED)

/*
 * rdma_disconnect() succeeds on any id that has tried to connect (librdmacm programs call it twice,
 * and on failed ids), and on a listener, where it has no effect.
 */
#define DISC_OK		[RCA_IN_DISCONNECT] = IGN

/*
 * Messages are those of IBTA volume 1, chapter 12.9 (communication establishment and release state
 * diagrams). ib_cm delivers them in any order that the peer, retransmission and other CPUs cause.
 */
static const struct rca_step table[RCA_ST_COUNT][RCA_IN_COUNT] = {
	[RCA_ST_IDLE] = {
		[RCA_IN_BIND] = GO(BOUND),
		DESTROY,
	},
	[RCA_ST_BOUND] = {
		[RCA_IN_RESOLVE_ADDR] = GO(ADDR_QUERY),
		[RCA_IN_LISTEN] = GO(LISTEN),
		DESTROY, REMOVE,
	},
	[RCA_ST_ADDR_QUERY] = {
		[RCA_IN_ADDR_OK] = POST(ADDR_RESOLVED, ADDR_RESOLVED),
		[RCA_IN_ADDR_FAIL] = POST(BOUND, ADDR_ERROR),
		DESTROY, REMOVE,
	},
	[RCA_ST_ADDR_RESOLVED] = {
		[RCA_IN_RESOLVE_ROUTE] = GO(ROUTE_QUERY),
		DESTROY, REMOVE,
	},
	[RCA_ST_ROUTE_QUERY] = {
		[RCA_IN_ROUTE_OK] = POST(ROUTE_RESOLVED, ROUTE_RESOLVED),
		[RCA_IN_ROUTE_FAIL] = POST(ADDR_RESOLVED, ROUTE_ERROR),
		DESTROY, REMOVE,
	},
	[RCA_ST_ROUTE_RESOLVED] = {
		[RCA_IN_CONNECT] = GO(REQ_SENT),
		[RCA_IN_SIDR] = GO(SIDR_SENT),
		DESTROY, REMOVE,
	},
	[RCA_ST_REQ_SENT] = {
		[RCA_IN_CONNECT_FAIL] = GO(ROUTE_RESOLVED),
		[RCA_IN_REP] = POST(REP_RCVD, CONNECT_RESPONSE),
		[RCA_IN_REJ] = POST(FAILED, REJECTED),
		[RCA_IN_REQ_TIMEOUT] = POST(FAILED, UNREACHABLE),
		[RCA_IN_STALE] = GO(REQ_WAIT),
		[RCA_IN_SILENCE] = GO(REQ_WAIT),
		[RCA_IN_HELD] = GO(REQ_WAIT),
		[RCA_IN_UP] = POST(CONNECTED, ESTABLISHED),
		[RCA_IN_ERROR] = POST(FAILED, CONNECT_ERROR),
		[RCA_IN_TIMEWAIT_EXIT] = IGN,
		DISC_OK, DESTROY, REMOVE,
	},
	[RCA_ST_REQ_WAIT] = {
		[RCA_IN_RETRY] = GO(REQ_SENT),
		/* The REQ cannot be sent again: report the REJ, or the timeout. */
		[RCA_IN_REJ] = POST(FAILED, REJECTED),
		[RCA_IN_REQ_TIMEOUT] = POST(FAILED, UNREACHABLE),
		[RCA_IN_CONNECT_FAIL] = GO(ROUTE_RESOLVED),
		[RCA_IN_TIMEWAIT_EXIT] = IGN,
		[RCA_IN_REP] = IGN,
		DISC_OK, DESTROY, REMOVE,
	},
	[RCA_ST_REP_RCVD] = {
		[RCA_IN_ESTABLISH] = GO(CONNECTED),
		[RCA_IN_REJECT] = GO(FAILED),
		[RCA_IN_REJ] = POST(FAILED, REJECTED),
		[RCA_IN_DREQ] = POST_DREP(DISCONNECTED, DISCONNECTED),
		[RCA_IN_CONNECT_FAIL] = IGN,
		[RCA_IN_TIMEWAIT_EXIT] = IGN,
		LATE_ACTIVE, DISC_OK, DESTROY, REMOVE,
	},
	[RCA_ST_REQ_RCVD] = {
		/* The end of the connection is not reported before it was accepted. */
		[RCA_IN_ACCEPT] = GO(REP_SENT),
		[RCA_IN_REJECT] = GO(FAILED),
		[RCA_IN_REJ] = GO(FAILED),
		[RCA_IN_DREQ] = GO_DREP(FAILED),
		[RCA_IN_TIMEWAIT_EXIT] = IGN,
		DISC_OK, DESTROY, REMOVE,
	},
	[RCA_ST_REP_SENT] = {
		[RCA_IN_ACCEPT_FAIL] = GO(FAILED),
		[RCA_IN_RTU] = POST(CONNECTED, ESTABLISHED),
		[RCA_IN_REJ] = POST(FAILED, REJECTED),
		[RCA_IN_REP_TIMEOUT] = POST(FAILED, UNREACHABLE),
		[RCA_IN_UP] = POST(CONNECTED, ESTABLISHED),
		[RCA_IN_ERROR] = POST(FAILED, CONNECT_ERROR),
		[RCA_IN_DREQ] = POST_DREP(DISCONNECTED, DISCONNECTED),
		[RCA_IN_TIMEWAIT_EXIT] = IGN,
		DISC_OK, DESTROY, REMOVE,
	},
	[RCA_ST_CONNECTED] = {
		[RCA_IN_DISCONNECT] = GO(DREQ_SENT),
		[RCA_IN_DREQ] = POST_DREP(DISCONNECTED, DISCONNECTED),
		[RCA_IN_REJ] = POST(FAILED, REJECTED),
		[RCA_IN_ESTABLISH_FAIL] = GO(FAILED),
		[RCA_IN_ACCEPT_FAIL] = IGN,
		/* ib_cm has sent a DREQ by itself because the connection is stale. */
		[RCA_IN_DREP] = POST(DISCONNECTED, DISCONNECTED),
		[RCA_IN_DREQ_TIMEOUT] = POST(DISCONNECTED, DISCONNECTED),
		/* ib_cm has not reported the end of the connection before. */
		[RCA_IN_TIMEWAIT_EXIT] = POST(CLOSED, DISCONNECTED),
		[RCA_IN_DOWN] = POST(CLOSED, DISCONNECTED),
		RTU_PENDING, LATE_ACTIVE, DESTROY, REMOVE,
	},
	[RCA_ST_DREQ_SENT] = {
		[RCA_IN_DISCONNECT_FAIL] = POST(DISCONNECTED, DISCONNECTED),
		[RCA_IN_DREP] = POST(DISCONNECTED, DISCONNECTED),
		[RCA_IN_DREQ] = POST_DREP(DISCONNECTED, DISCONNECTED),
		[RCA_IN_DREQ_TIMEOUT] = POST(DISCONNECTED, DISCONNECTED),
		[RCA_IN_REJ] = POST(DISCONNECTED, DISCONNECTED),
		[RCA_IN_TIMEWAIT_EXIT] = POST(CLOSED, DISCONNECTED),
		[RCA_IN_DOWN] = POST(CLOSED, DISCONNECTED),
		[RCA_IN_ESTABLISH_FAIL] = IGN,
		[RCA_IN_ACCEPT_FAIL] = IGN,
		RTU_PENDING, LATE_ACTIVE, DISC_OK, DESTROY, REMOVE,
	},
	[RCA_ST_DISCONNECTED] = {
		[RCA_IN_TIMEWAIT_EXIT] = POST(CLOSED, TIMEWAIT_EXIT),
		[RCA_IN_DOWN] = GO(CLOSED),
		[RCA_IN_DREQ] = IGN_DREP,
		[RCA_IN_REJ] = IGN,
		[RCA_IN_ESTABLISH_FAIL] = IGN,
		[RCA_IN_ACCEPT_FAIL] = IGN,
		[RCA_IN_DISCONNECT_FAIL] = IGN,
		LATE_ACTIVE, LATE_PASSIVE, LATE_DISC, DISC_OK, DESTROY, REMOVE,
	},
	[RCA_ST_CLOSED] = {
		[RCA_IN_DREQ] = IGN_DREP,
		[RCA_IN_REJ] = IGN,
		[RCA_IN_TIMEWAIT_EXIT] = IGN,
		[RCA_IN_ESTABLISH_FAIL] = IGN,
		[RCA_IN_ACCEPT_FAIL] = IGN,
		[RCA_IN_DISCONNECT_FAIL] = IGN,
		LATE_ACTIVE, LATE_PASSIVE, LATE_DISC, DISC_OK, DESTROY, REMOVE,
	},
	[RCA_ST_FAILED] = {
		[RCA_IN_DREQ] = IGN_DREP,
		[RCA_IN_TIMEWAIT_EXIT] = IGN,
		[RCA_IN_CONNECT_FAIL] = IGN,
		[RCA_IN_ESTABLISH_FAIL] = IGN,
		[RCA_IN_ACCEPT_FAIL] = IGN,
		LATE_SIDR, LATE_ACTIVE, LATE_PASSIVE, LATE_DISC, DISC_OK, DESTROY, REMOVE,
	},
	[RCA_ST_SIDR_SENT] = {
		[RCA_IN_CONNECT_FAIL] = GO(ROUTE_RESOLVED),
		[RCA_IN_REP] = POST(SIDR_DONE, ESTABLISHED),
		[RCA_IN_BAD_QKEY] = POST(FAILED, ADDR_ERROR),
		[RCA_IN_REJ] = POST(FAILED, UNREACHABLE),
		[RCA_IN_REQ_TIMEOUT] = POST(FAILED, UNREACHABLE),
		DISC_OK, DESTROY, REMOVE,
	},
	[RCA_ST_SIDR_RCVD] = {
		/* No further messages from the peer. */
		[RCA_IN_ACCEPT] = GO(SIDR_DONE),
		[RCA_IN_REJECT] = GO(FAILED),
		DISC_OK, DESTROY, REMOVE,
	},
	[RCA_ST_SIDR_DONE] = {
		[RCA_IN_ACCEPT_FAIL] = GO(FAILED),
		[RCA_IN_CONNECT_FAIL] = IGN,
		LATE_SIDR, LATE_ACTIVE, DISC_OK, DESTROY, REMOVE,
	},
	[RCA_ST_LISTEN] = {
		[RCA_IN_LISTEN_FAIL] = GO(BOUND),
		DISC_OK, DESTROY, REMOVE,
	},
	[RCA_ST_REMOVED] = {
		/* Callbacks that ran during the removal of the device. */
		[RCA_IN_ADDR_OK] = IGN, [RCA_IN_ADDR_FAIL] = IGN,
		[RCA_IN_ROUTE_OK] = IGN, [RCA_IN_ROUTE_FAIL] = IGN,
		[RCA_IN_CONNECT_FAIL] = IGN, [RCA_IN_LISTEN_FAIL] = IGN,
		[RCA_IN_ACCEPT_FAIL] = IGN, [RCA_IN_ESTABLISH_FAIL] = IGN,
		[RCA_IN_DISCONNECT_FAIL] = IGN, [RCA_IN_RETRY] = IGN,
		[RCA_IN_DREQ] = IGN_DREP, [RCA_IN_TIMEWAIT_EXIT] = IGN,
		[RCA_IN_REMOVE] = IGN,
		LATE_TCP,
		LATE_SIDR, LATE_ACTIVE, LATE_PASSIVE, LATE_DISC, DESTROY,
	},
	[RCA_ST_DESTROYING] = {
		/* The id is freed by the last put, not by a transition. */
		[RCA_IN_ADDR_OK] = IGN, [RCA_IN_ADDR_FAIL] = IGN,
		[RCA_IN_ROUTE_OK] = IGN, [RCA_IN_ROUTE_FAIL] = IGN,
		[RCA_IN_CONNECT_FAIL] = IGN, [RCA_IN_LISTEN_FAIL] = IGN,
		[RCA_IN_ACCEPT_FAIL] = IGN, [RCA_IN_ESTABLISH_FAIL] = IGN,
		[RCA_IN_DISCONNECT_FAIL] = IGN, [RCA_IN_RETRY] = IGN,
		[RCA_IN_REP] = IGN, [RCA_IN_BAD_QKEY] = IGN, [RCA_IN_RTU] = IGN,
		[RCA_IN_REQ_TIMEOUT] = FIN, [RCA_IN_REP_TIMEOUT] = FIN,
		[RCA_IN_REJ] = FIN, [RCA_IN_DREP] = FIN,
		[RCA_IN_DREQ] = FIN_DREP, [RCA_IN_DREQ_TIMEOUT] = FIN,
		[RCA_IN_TIMEWAIT_EXIT] = FIN, [RCA_IN_REMOVE] = FIN,
		LATE_TCP,
		[RCA_IN_DESTROY] = IGN,
	},
};

#define NAME(value, string) [value] = string,
#define COUNT(value, string) + 1

static const char * const state_names[] = { RCA_STATE_NAMES(NAME, NAME) };
static_assert(RCA_STATE_NAMES(COUNT, COUNT) == RCA_ST_COUNT);

static const char * const input_names[] = { RCA_INPUT_NAMES(NAME, NAME) };
static_assert(RCA_INPUT_NAMES(COUNT, COUNT) == RCA_IN_COUNT);

/*
 * The step for an input that is not taken in a state, or for no state or input at all. Not inline,
 * so that the other steps are returned as they are in the table.
 */
static noinline struct rca_step refusal(enum rca_state state, enum rca_input input)
{
	struct rca_step step = { RCA_ILLEGAL, state, RCA_NO_EVENT, 0, -EINVAL };

	if (state >= RCA_ST_COUNT || input >= RCA_IN_COUNT)
		return step;
	step.verdict = table[state][input].verdict;
	step.action = table[state][input].action;
	if (step.verdict == RCA_IGNORE)
		step.err = 0;
	else if (state == RCA_ST_REMOVED)
		step.err = -ENXIO;
	return step;
}

/**
 * rca_fsm_next() - look up the transition for an input in a state
 * @state: the current state
 * @input: the input
 *
 * Context: Any context. Pure.
 * Return: the step; for a pair that is not in the table RCA_ILLEGAL, with the same state.
 */
struct rca_step rca_fsm_next(enum rca_state state, enum rca_input input)
{
	if (state < RCA_ST_COUNT && input < RCA_IN_COUNT &&
	    table[state][input].verdict == RCA_TAKE)
		return table[state][input];
	return refusal(state, input);
}

/* Name of a state, for output. */
const char *rca_state_name(enum rca_state state)
{
	return state < RCA_ST_COUNT ? state_names[state] : "?";
}

/* Name of an input, for output. */
const char *rca_input_name(enum rca_input input)
{
	return input < RCA_IN_COUNT ? input_names[input] : "?";
}
