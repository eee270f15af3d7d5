/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* States and inputs of an id, and the lookup of transitions. */
#ifndef RCA_FSM_H
#define RCA_FSM_H

#include <linux/types.h>

/**
 * enum rca_state - states of an id
 * @RCA_ST_IDLE: created
 * @RCA_ST_BOUND: has a local address
 * @RCA_ST_ADDR_QUERY: address resolution in progress
 * @RCA_ST_ADDR_RESOLVED: has a device
 * @RCA_ST_ROUTE_QUERY: route resolution in progress
 * @RCA_ST_ROUTE_RESOLVED: may connect
 * @RCA_ST_REQ_SENT: active side: REQ sent, waits for the REP
 * @RCA_ST_REQ_WAIT: active side: waits before the REQ is sent (again): the send window is full, the
 *                   peer did not answer, or it has a stale connection with our QP
 * @RCA_ST_REP_RCVD: active side: REP received, user space prepares its QP
 * @RCA_ST_REQ_RCVD: passive side: user space has to accept or reject
 * @RCA_ST_REP_SENT: passive side: REP sent, waits for the RTU
 * @RCA_ST_CONNECTED: established
 * @RCA_ST_DREQ_SENT: DREQ sent, waits for the DREP
 * @RCA_ST_DISCONNECTED: disconnected; the cm_id of ib_cm is in timewait
 * @RCA_ST_CLOSED: timewait is over
 * @RCA_ST_FAILED: rejected, unreachable or failed; can only be destroyed
 * @RCA_ST_SIDR_SENT: datagrams, active side: SIDR_REQ sent, waits for the SIDR_REP
 * @RCA_ST_SIDR_RCVD: datagrams, passive side: user space has to accept or reject
 * @RCA_ST_SIDR_DONE: datagrams: SIDR_REP sent or received; no further messages
 * @RCA_ST_LISTEN: receives connection requests
 * @RCA_ST_REMOVED: the device was removed
 * @RCA_ST_DESTROYING: destroyed by user space; teardown may still be in progress
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

/* name(state, string) for each state but the last, last(state, string) for that. */
#define RCA_STATE_NAMES(name, last) \
	name(RCA_ST_IDLE, "idle") \
	name(RCA_ST_BOUND, "bound") \
	name(RCA_ST_ADDR_QUERY, "addr-query") \
	name(RCA_ST_ADDR_RESOLVED, "addr-resolved") \
	name(RCA_ST_ROUTE_QUERY, "route-query") \
	name(RCA_ST_ROUTE_RESOLVED, "route-resolved") \
	name(RCA_ST_REQ_SENT, "req-sent") \
	name(RCA_ST_REQ_WAIT, "req-wait") \
	name(RCA_ST_REP_RCVD, "rep-rcvd") \
	name(RCA_ST_REQ_RCVD, "req-rcvd") \
	name(RCA_ST_REP_SENT, "rep-sent") \
	name(RCA_ST_CONNECTED, "connected") \
	name(RCA_ST_DREQ_SENT, "dreq-sent") \
	name(RCA_ST_DISCONNECTED, "disconnected") \
	name(RCA_ST_CLOSED, "closed") \
	name(RCA_ST_FAILED, "failed") \
	name(RCA_ST_SIDR_SENT, "sidr-sent") \
	name(RCA_ST_SIDR_RCVD, "sidr-rcvd") \
	name(RCA_ST_SIDR_DONE, "sidr-done") \
	name(RCA_ST_LISTEN, "listen") \
	name(RCA_ST_REMOVED, "removed") \
	last(RCA_ST_DESTROYING, "destroying")

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
 * @RCA_IN_LISTEN_FAIL: listening failed
 * @RCA_IN_CONNECT: operation: REQ is sent
 * @RCA_IN_SIDR: operation: datagrams: SIDR_REQ is sent
 * @RCA_IN_CONNECT_FAIL: the REQ or SIDR_REQ could not be sent
 * @RCA_IN_REP: message: REP or SIDR_REP
 * @RCA_IN_BAD_QKEY: message: datagrams: SIDR_REP with a queue key that does not match ours
 * @RCA_IN_REQ_TIMEOUT: no answer to the REQ
 * @RCA_IN_STALE: message: REJ for a stale connection; there is time to send the REQ again
 * @RCA_IN_SILENCE: no answer to the REQ; there is time to send it again
 * @RCA_IN_HELD: the send window is full; the REQ has to wait
 * @RCA_IN_RETRY: the REQ is sent after waiting
 * @RCA_IN_ACCEPT: operation: REP is sent
 * @RCA_IN_ACCEPT_FAIL: the REP could not be sent
 * @RCA_IN_REP_TIMEOUT: no answer to the REP
 * @RCA_IN_ESTABLISH: operation: RTU is sent
 * @RCA_IN_ESTABLISH_FAIL: the RTU could not be sent
 * @RCA_IN_RTU: message: RTU, or the QP has received data
 * @RCA_IN_REJECT: operation: REJ is sent
 * @RCA_IN_REJ: message: REJ
 * @RCA_IN_DISCONNECT: operation: DREQ is sent
 * @RCA_IN_DISCONNECT_FAIL: the DREQ could not be sent
 * @RCA_IN_DREQ: message: DREQ
 * @RCA_IN_DREP: message: DREP
 * @RCA_IN_DREQ_TIMEOUT: no answer to the DREQ
 * @RCA_IN_TIMEWAIT_EXIT: timewait is over
 * @RCA_IN_UP: iWARP: the connection is established, on either side
 * @RCA_IN_ERROR: iWARP: the connection failed for a local reason
 * @RCA_IN_DOWN: iWARP: the connection was closed
 * @RCA_IN_REMOVE: the device is being removed
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

#define RCA_INPUT_NAMES(name, last) \
	name(RCA_IN_BIND, "bind") \
	name(RCA_IN_RESOLVE_ADDR, "resolve-addr") \
	name(RCA_IN_ADDR_OK, "addr-ok") \
	name(RCA_IN_ADDR_FAIL, "addr-fail") \
	name(RCA_IN_RESOLVE_ROUTE, "resolve-route") \
	name(RCA_IN_ROUTE_OK, "route-ok") \
	name(RCA_IN_ROUTE_FAIL, "route-fail") \
	name(RCA_IN_LISTEN, "listen") \
	name(RCA_IN_LISTEN_FAIL, "listen-fail") \
	name(RCA_IN_CONNECT, "connect") \
	name(RCA_IN_SIDR, "sidr") \
	name(RCA_IN_CONNECT_FAIL, "connect-fail") \
	name(RCA_IN_REP, "rep") \
	name(RCA_IN_BAD_QKEY, "bad-qkey") \
	name(RCA_IN_REQ_TIMEOUT, "req-timeout") \
	name(RCA_IN_STALE, "stale") \
	name(RCA_IN_SILENCE, "silence") \
	name(RCA_IN_HELD, "held") \
	name(RCA_IN_RETRY, "retry") \
	name(RCA_IN_ACCEPT, "accept") \
	name(RCA_IN_ACCEPT_FAIL, "accept-fail") \
	name(RCA_IN_REP_TIMEOUT, "rep-timeout") \
	name(RCA_IN_ESTABLISH, "establish") \
	name(RCA_IN_ESTABLISH_FAIL, "establish-fail") \
	name(RCA_IN_RTU, "rtu") \
	name(RCA_IN_UP, "up") \
	name(RCA_IN_ERROR, "error") \
	name(RCA_IN_DOWN, "down") \
	name(RCA_IN_REJECT, "reject") \
	name(RCA_IN_REJ, "rej") \
	name(RCA_IN_DISCONNECT, "disconnect") \
	name(RCA_IN_DISCONNECT_FAIL, "disconnect-fail") \
	name(RCA_IN_DREQ, "dreq") \
	name(RCA_IN_DREP, "drep") \
	name(RCA_IN_DREQ_TIMEOUT, "dreq-timeout") \
	name(RCA_IN_TIMEWAIT_EXIT, "timewait-exit") \
	name(RCA_IN_REMOVE, "remove") \
	last(RCA_IN_DESTROY, "destroy")

/**
 * enum rca_verdict - whether an input is valid in a state
 * @RCA_ILLEGAL: not in the table: an operation returns the errno, a message is ignored
 * @RCA_TAKE: the state changes to the next one
 * @RCA_IGNORE: late or duplicate, which a peer or a race can cause; nothing changes; an operation
 *              returns the errno of the step, usually 0
 */
enum rca_verdict {
	RCA_ILLEGAL,
	RCA_TAKE,
	RCA_IGNORE,
};

/** RCA_NO_EVENT - value of &rca_step.post when the step posts nothing */
#define RCA_NO_EVENT 0xff

/**
 * enum rca_action - to be done after the lock was released
 * @RCA_ACT_DREP: answer the DREQ of the peer
 * @RCA_ACT_FINISH: continue the teardown of the id
 */
enum rca_action {
	RCA_ACT_DREP = 1 << 0,
	RCA_ACT_FINISH = 1 << 1,
};

/**
 * struct rca_step - the result of an input in a state
 * @verdict: &enum rca_verdict
 * @next: the next state
 * @post: event to post (enum rdma_cm_alt_event_type), or RCA_NO_EVENT
 * @action: &enum rca_action
 * @err: errno of an operation that is illegal or ignored
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
