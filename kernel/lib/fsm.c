// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * The transition table of an id. Pure: no locks, no memory, no side effects.
 *
 * Locking: none.
 * May be called from: anywhere.
 */
#include "lib/fsm.h"

#include <kunit/visibility.h>
#include <linux/build_bug.h>
#include <linux/errno.h>
#include <linux/kernel.h>
#include <rdma/rdma_cm_alt.h>

/* A row of the table, packed; the default, all zero, is "illegal". */
struct row {
	u8 verdict;
	u8 next;
	u8 post;	/* event type + 1; 0: none */
	u8 action;
};

#define EV(type)	(RDMA_CM_ALT_EVENT_##type + 1)
#define GO(st)		{ RCA_TAKE, RCA_ST_##st, 0, 0 }
#define POST(st, type)	{ RCA_TAKE, RCA_ST_##st, EV(type), 0 }
#define POST_DREP(st, type) { RCA_TAKE, RCA_ST_##st, EV(type), RCA_ACT_DREP }
#define IGN		{ RCA_IGNORE, 0, 0, 0 }
#define IGN_DREP	{ RCA_IGNORE, 0, 0, RCA_ACT_DREP }
#define FIN		{ RCA_TAKE, RCA_ST_DESTROYING, 0, RCA_ACT_FINISH }
#define FIN_DREP	{ RCA_TAKE, RCA_ST_DESTROYING, 0, RCA_ACT_FINISH | RCA_ACT_DREP }

/* Every state can be destroyed; those with a device can lose it. */
#define DESTROY		[RCA_IN_DESTROY] = GO(DESTROYING)
#define REMOVE		[RCA_IN_REMOVE] = POST(REMOVED, DEVICE_REMOVAL)

/*
 * Once a request or reply was sent, its timeout and the peer's messages can
 * come at any time after a transition that another message caused.
 */
#define LATE_ACTIVE	[RCA_IN_REP] = IGN, [RCA_IN_REQ_TIMEOUT] = IGN
#define LATE_SIDR	[RCA_IN_REJ] = IGN, [RCA_IN_BAD_QKEY] = IGN
#define LATE_PASSIVE	[RCA_IN_RTU] = IGN, [RCA_IN_REP_TIMEOUT] = IGN
#define LATE_TCP	[RCA_IN_UP] = IGN, [RCA_IN_ERROR] = IGN, [RCA_IN_DOWN] = IGN
#define LATE_DISC	[RCA_IN_DREP] = IGN, [RCA_IN_DREQ_TIMEOUT] = IGN

/*
 * When the QP has received first, the ready-to-use is still to come. Without it the lower id
 * cannot hear of the peer's end, nor tell it of ours.
 */
#define SILENT		[RCA_IN_RTU] = IGN, [RCA_IN_REP_TIMEOUT] = POST(CLOSED, DISCONNECTED)

/*
 * rdma_disconnect() on an id that tried to connect succeeds whatever became of
 * the connection (librdmacm programs call it twice, and on failed ids), and on
 * a listener, where it does nothing.
 */
#define DISC_OK		[RCA_IN_DISCONNECT] = IGN

/*
 * Messages are those of IBTA volume 1, chapter 12.9 (communication
 * establishment and release state diagrams); lower ids deliver them in any
 * order that a peer, retransmission and other CPUs can make of them.
 */
static const struct row table[RCA_ST_COUNT][RCA_IN_COUNT] = {
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
		/* It cannot be sent again: the peer's answer stands, or its silence. */
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
		/* What becomes of the connection is of no interest until it is accepted. */
		[RCA_IN_ACCEPT] = GO(REP_SENT),
		[RCA_IN_REJECT] = GO(FAILED),
		[RCA_IN_REJ] = GO(FAILED),
		[RCA_IN_DREQ] = { RCA_TAKE, RCA_ST_FAILED, 0, RCA_ACT_DREP },
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
		/* ib_cm has asked by itself, as the peer started anew: a stale connection. */
		[RCA_IN_DREP] = POST(DISCONNECTED, DISCONNECTED),
		[RCA_IN_DREQ_TIMEOUT] = POST(DISCONNECTED, DISCONNECTED),
		/* The lower id saw the end of a connection that never told us. */
		[RCA_IN_TIMEWAIT_EXIT] = POST(CLOSED, DISCONNECTED),
		[RCA_IN_DOWN] = POST(CLOSED, DISCONNECTED),
		SILENT, LATE_ACTIVE, DESTROY, REMOVE,
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
		SILENT, LATE_ACTIVE, DISC_OK, DESTROY, REMOVE,
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
		/* The peer tells us nothing more. */
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
		/* Callbacks that ran while the device was taken away. */
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
		/* The way out is the last reference, not a state. */
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

static const char * const state_names[] = {
	[RCA_ST_IDLE] = "idle",
	[RCA_ST_BOUND] = "bound",
	[RCA_ST_ADDR_QUERY] = "addr-query",
	[RCA_ST_ADDR_RESOLVED] = "addr-resolved",
	[RCA_ST_ROUTE_QUERY] = "route-query",
	[RCA_ST_ROUTE_RESOLVED] = "route-resolved",
	[RCA_ST_REQ_SENT] = "req-sent",
	[RCA_ST_REQ_WAIT] = "req-wait",
	[RCA_ST_REP_RCVD] = "rep-rcvd",
	[RCA_ST_REQ_RCVD] = "req-rcvd",
	[RCA_ST_REP_SENT] = "rep-sent",
	[RCA_ST_CONNECTED] = "connected",
	[RCA_ST_DREQ_SENT] = "dreq-sent",
	[RCA_ST_DISCONNECTED] = "disconnected",
	[RCA_ST_CLOSED] = "closed",
	[RCA_ST_FAILED] = "failed",
	[RCA_ST_SIDR_SENT] = "sidr-sent",
	[RCA_ST_SIDR_RCVD] = "sidr-rcvd",
	[RCA_ST_SIDR_DONE] = "sidr-done",
	[RCA_ST_LISTEN] = "listen",
	[RCA_ST_REMOVED] = "removed",
	[RCA_ST_DESTROYING] = "destroying",
};
static_assert(ARRAY_SIZE(state_names) == RCA_ST_COUNT);

static const char * const input_names[] = {
	[RCA_IN_BIND] = "bind",
	[RCA_IN_RESOLVE_ADDR] = "resolve-addr",
	[RCA_IN_ADDR_OK] = "addr-ok",
	[RCA_IN_ADDR_FAIL] = "addr-fail",
	[RCA_IN_RESOLVE_ROUTE] = "resolve-route",
	[RCA_IN_ROUTE_OK] = "route-ok",
	[RCA_IN_ROUTE_FAIL] = "route-fail",
	[RCA_IN_LISTEN] = "listen",
	[RCA_IN_LISTEN_FAIL] = "listen-fail",
	[RCA_IN_CONNECT] = "connect",
	[RCA_IN_SIDR] = "sidr",
	[RCA_IN_CONNECT_FAIL] = "connect-fail",
	[RCA_IN_REP] = "rep",
	[RCA_IN_BAD_QKEY] = "bad-qkey",
	[RCA_IN_REQ_TIMEOUT] = "req-timeout",
	[RCA_IN_STALE] = "stale",
	[RCA_IN_SILENCE] = "silence",
	[RCA_IN_HELD] = "held",
	[RCA_IN_RETRY] = "retry",
	[RCA_IN_ACCEPT] = "accept",
	[RCA_IN_ACCEPT_FAIL] = "accept-fail",
	[RCA_IN_REP_TIMEOUT] = "rep-timeout",
	[RCA_IN_ESTABLISH] = "establish",
	[RCA_IN_ESTABLISH_FAIL] = "establish-fail",
	[RCA_IN_RTU] = "rtu",
	[RCA_IN_REJECT] = "reject",
	[RCA_IN_REJ] = "rej",
	[RCA_IN_DISCONNECT] = "disconnect",
	[RCA_IN_DISCONNECT_FAIL] = "disconnect-fail",
	[RCA_IN_DREQ] = "dreq",
	[RCA_IN_DREP] = "drep",
	[RCA_IN_DREQ_TIMEOUT] = "dreq-timeout",
	[RCA_IN_TIMEWAIT_EXIT] = "timewait-exit",
	[RCA_IN_UP] = "up",
	[RCA_IN_ERROR] = "error",
	[RCA_IN_DOWN] = "down",
	[RCA_IN_REMOVE] = "remove",
	[RCA_IN_DESTROY] = "destroy",
};
static_assert(ARRAY_SIZE(input_names) == RCA_IN_COUNT);

/* The errno of an operation that is not taken in @state. */
static int refusal(enum rca_state state, const struct row *row)
{
	if (row->verdict == RCA_IGNORE)
		return 0;
	return state == RCA_ST_REMOVED ? -ENXIO : -EINVAL;
}

/**
 * rca_fsm_next() - look up what follows from an input in a state
 * @state: the present state
 * @input: what happens
 *
 * Context: Any context. Pure.
 * Return: the step. Not listed pairs have the verdict RCA_ILLEGAL and keep the state.
 */
struct rca_step rca_fsm_next(enum rca_state state, enum rca_input input)
{
	struct rca_step step = { RCA_ILLEGAL, state, RCA_NO_EVENT, 0, -EINVAL };
	const struct row *row;

	if (state >= RCA_ST_COUNT || input >= RCA_IN_COUNT)
		return step;
	row = &table[state][input];
	step.verdict = row->verdict;
	step.action = row->action;
	if (row->verdict == RCA_TAKE) {
		step.next = row->next;
		step.post = row->post ? row->post - 1 : RCA_NO_EVENT;
		step.err = 0;
	} else {
		step.err = refusal(state, row);
	}
	return step;
}
EXPORT_SYMBOL_IF_KUNIT(rca_fsm_next);

/**
 * rca_state_name() - name of a state for people
 * @state: the state
 *
 * Context: Any context.
 * Return: a static string.
 */
const char *rca_state_name(enum rca_state state)
{
	return state < RCA_ST_COUNT ? state_names[state] : "?";
}
EXPORT_SYMBOL_IF_KUNIT(rca_state_name);

/**
 * rca_input_name() - name of an input for people
 * @input: the input
 *
 * Context: Any context.
 * Return: a static string.
 */
const char *rca_input_name(enum rca_input input)
{
	return input < RCA_IN_COUNT ? input_names[input] : "?";
}
EXPORT_SYMBOL_IF_KUNIT(rca_input_name);
