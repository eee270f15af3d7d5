/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* The states of an id, what can happen to it, and the one table that says what follows. */
#ifndef RCA_FSM_H
#define RCA_FSM_H

#include <linux/types.h>

/**
 * enum rca_state - states of an id
 * @RCA_ST_IDLE: created
 * @RCA_ST_BOUND: has a local address
 * @RCA_ST_ADDR_QUERY: its address is being resolved
 * @RCA_ST_ADDR_RESOLVED: has a device
 * @RCA_ST_ROUTE_QUERY: its route is being resolved
 * @RCA_ST_ROUTE_RESOLVED: may connect
 * @RCA_ST_REQ_SENT: active side: waits for the reply
 * @RCA_ST_REQ_WAIT: active side: the peer has an old connection with our QP; waits to ask again
 * @RCA_ST_REP_RCVD: active side: user space prepares its QP
 * @RCA_ST_REQ_RCVD: passive side: user space has to accept or reject
 * @RCA_ST_REP_SENT: passive side: waits for the ready-to-use
 * @RCA_ST_CONNECTED: established
 * @RCA_ST_DREQ_SENT: waits for the answer to our disconnect request
 * @RCA_ST_DISCONNECTED: was connected; the lower id is in timewait
 * @RCA_ST_CLOSED: timewait is over
 * @RCA_ST_FAILED: rejected, unreachable or failed; only destroy is left
 * @RCA_ST_SIDR_SENT: datagrams, active side: waits for the peer's QP
 * @RCA_ST_SIDR_RCVD: datagrams, passive side: user space has to accept or reject
 * @RCA_ST_SIDR_DONE: datagrams: one side has told the other its QP; nothing follows
 * @RCA_ST_LISTEN: takes connection requests
 * @RCA_ST_REMOVED: its device is gone
 * @RCA_ST_DESTROYING: no longer user space's
 * @RCA_ST_COUNT: number of states
 */
enum rca_state {
	RCA_ST_IDLE,
	RCA_ST_BOUND,
	RCA_ST_ADDR_QUERY,
	RCA_ST_ADDR_RESOLVED,
	RCA_ST_ROUTE_QUERY,
	RCA_ST_ROUTE_RESOLVED,
	RCA_ST_REQ_SENT,
	RCA_ST_REQ_WAIT,
	RCA_ST_REP_RCVD,
	RCA_ST_REQ_RCVD,
	RCA_ST_REP_SENT,
	RCA_ST_CONNECTED,
	RCA_ST_DREQ_SENT,
	RCA_ST_DISCONNECTED,
	RCA_ST_CLOSED,
	RCA_ST_FAILED,
	RCA_ST_SIDR_SENT,
	RCA_ST_SIDR_RCVD,
	RCA_ST_SIDR_DONE,
	RCA_ST_LISTEN,
	RCA_ST_REMOVED,
	RCA_ST_DESTROYING,
	RCA_ST_COUNT,
};

/**
 * enum rca_input - what can happen to an id
 * @RCA_IN_BIND: operation: bind done
 * @RCA_IN_RESOLVE_ADDR: operation: address resolution starts
 * @RCA_IN_ADDR_OK: address resolved
 * @RCA_IN_ADDR_FAIL: address not resolved
 * @RCA_IN_RESOLVE_ROUTE: operation: route resolution starts
 * @RCA_IN_ROUTE_OK: route known
 * @RCA_IN_ROUTE_FAIL: route not found
 * @RCA_IN_LISTEN: operation: listening starts
 * @RCA_IN_LISTEN_FAIL: it could not
 * @RCA_IN_CONNECT: operation: request is sent
 * @RCA_IN_SIDR: operation: datagrams: request for the peer's QP is sent
 * @RCA_IN_CONNECT_FAIL: it could not be sent
 * @RCA_IN_REP: message: reply
 * @RCA_IN_BAD_QKEY: message: datagrams: reply with a queue key that does not fit ours
 * @RCA_IN_REQ_TIMEOUT: no answer to our request
 * @RCA_IN_STALE: message: reject of our request for an old connection; there is time to ask again
 * @RCA_IN_SILENCE: no answer to our request; there is time to ask again
 * @RCA_IN_HELD: our request has to wait until it is its turn
 * @RCA_IN_RETRY: the request is sent again
 * @RCA_IN_ACCEPT: operation: reply is sent
 * @RCA_IN_ACCEPT_FAIL: it could not be sent
 * @RCA_IN_REP_TIMEOUT: no answer to our reply
 * @RCA_IN_ESTABLISH: operation: ready-to-use is sent
 * @RCA_IN_ESTABLISH_FAIL: it could not be sent
 * @RCA_IN_RTU: message: ready-to-use, or the QP saw traffic
 * @RCA_IN_REJECT: operation: reject is sent
 * @RCA_IN_REJ: message: reject
 * @RCA_IN_DISCONNECT: operation: disconnect request is sent
 * @RCA_IN_DISCONNECT_FAIL: it could not be sent
 * @RCA_IN_DREQ: message: disconnect request
 * @RCA_IN_DREP: message: disconnect reply
 * @RCA_IN_DREQ_TIMEOUT: no answer to our disconnect request
 * @RCA_IN_TIMEWAIT_EXIT: timewait is over
 * @RCA_IN_UP: over TCP: the connection is there, on either side
 * @RCA_IN_ERROR: over TCP: it will not come, for another reason than the peer's
 * @RCA_IN_DOWN: over TCP: it is gone
 * @RCA_IN_REMOVE: the device goes away
 * @RCA_IN_DESTROY: operation: destroy, or the queue or context is closed
 * @RCA_IN_COUNT: number of inputs
 */
enum rca_input {
	RCA_IN_BIND,
	RCA_IN_RESOLVE_ADDR,
	RCA_IN_ADDR_OK,
	RCA_IN_ADDR_FAIL,
	RCA_IN_RESOLVE_ROUTE,
	RCA_IN_ROUTE_OK,
	RCA_IN_ROUTE_FAIL,
	RCA_IN_LISTEN,
	RCA_IN_LISTEN_FAIL,
	RCA_IN_CONNECT,
	RCA_IN_SIDR,
	RCA_IN_CONNECT_FAIL,
	RCA_IN_REP,
	RCA_IN_BAD_QKEY,
	RCA_IN_REQ_TIMEOUT,
	RCA_IN_STALE,
	RCA_IN_SILENCE,
	RCA_IN_HELD,
	RCA_IN_RETRY,
	RCA_IN_ACCEPT,
	RCA_IN_ACCEPT_FAIL,
	RCA_IN_REP_TIMEOUT,
	RCA_IN_ESTABLISH,
	RCA_IN_ESTABLISH_FAIL,
	RCA_IN_RTU,
	RCA_IN_REJECT,
	RCA_IN_REJ,
	RCA_IN_DISCONNECT,
	RCA_IN_DISCONNECT_FAIL,
	RCA_IN_DREQ,
	RCA_IN_DREP,
	RCA_IN_DREQ_TIMEOUT,
	RCA_IN_TIMEWAIT_EXIT,
	RCA_IN_UP,
	RCA_IN_ERROR,
	RCA_IN_DOWN,
	RCA_IN_REMOVE,
	RCA_IN_DESTROY,
	RCA_IN_COUNT,
};

/**
 * enum rca_verdict - what a state says to an input
 * @RCA_ILLEGAL: never listed: an operation gets the errno, a message is ignored
 * @RCA_TAKE: the state changes to the next one
 * @RCA_IGNORE: late or duplicate, which a peer or a race can cause; nothing
 *              changes; an operation returns the step's errno, usually 0
 */
enum rca_verdict {
	RCA_ILLEGAL,
	RCA_TAKE,
	RCA_IGNORE,
};

/** RCA_NO_EVENT - value of &rca_step.post when the step posts nothing */
#define RCA_NO_EVENT 0xff

/**
 * enum rca_action - what must be done outside of the lock
 * @RCA_ACT_DREP: answer the peer's disconnect request
 * @RCA_ACT_FINISH: the teardown of the id can go on
 */
enum rca_action {
	RCA_ACT_DREP = 1 << 0,
	RCA_ACT_FINISH = 1 << 1,
};

/**
 * struct rca_step - what follows from an input in a state
 * @verdict: &enum rca_verdict
 * @next: the state after it
 * @post: event that user space gets (enum rdma_cm_alt_event_type), or RCA_NO_EVENT
 * @action: &enum rca_action
 * @err: errno of an operation that is illegal or ignored here
 */
struct rca_step {
	u8 verdict;
	u8 next;
	u8 post;
	u8 action;
	int err;
};

struct rca_step rca_fsm_next(enum rca_state state, enum rca_input input);
const char *rca_state_name(enum rca_state state);
const char *rca_input_name(enum rca_input input);

#endif /* RCA_FSM_H */
