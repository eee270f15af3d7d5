/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * Tracepoints: what happens to ids, with the field names of the stock rdma_cma events.
 *
 * Locking: none; all may be called with any lock held.
 */
#undef TRACE_SYSTEM
#define TRACE_SYSTEM rdma_cm_alt

#if !defined(RCA_TRACE_H) || defined(TRACE_HEADER_MULTI_READ)
#define RCA_TRACE_H

#include <linux/in6.h>
#include <linux/socket.h>
#include <linux/string.h>
#include <linux/tracepoint.h>
#include <rdma/rdma_cm_alt.h>

#include "lib/fsm.h"

/* Lists of (enumerator, name): for user space that decodes the events itself, and for printing. */
#define RCA_TRACE_STATES \
	RCA_TRACE_NAME(RCA_ST_IDLE, "idle") \
	RCA_TRACE_NAME(RCA_ST_BOUND, "bound") \
	RCA_TRACE_NAME(RCA_ST_ADDR_QUERY, "addr-query") \
	RCA_TRACE_NAME(RCA_ST_ADDR_RESOLVED, "addr-resolved") \
	RCA_TRACE_NAME(RCA_ST_ROUTE_QUERY, "route-query") \
	RCA_TRACE_NAME(RCA_ST_ROUTE_RESOLVED, "route-resolved") \
	RCA_TRACE_NAME(RCA_ST_REQ_SENT, "req-sent") \
	RCA_TRACE_NAME(RCA_ST_REQ_WAIT, "req-wait") \
	RCA_TRACE_NAME(RCA_ST_REP_RCVD, "rep-rcvd") \
	RCA_TRACE_NAME(RCA_ST_REQ_RCVD, "req-rcvd") \
	RCA_TRACE_NAME(RCA_ST_REP_SENT, "rep-sent") \
	RCA_TRACE_NAME(RCA_ST_CONNECTED, "connected") \
	RCA_TRACE_NAME(RCA_ST_DREQ_SENT, "dreq-sent") \
	RCA_TRACE_NAME(RCA_ST_DISCONNECTED, "disconnected") \
	RCA_TRACE_NAME(RCA_ST_CLOSED, "closed") \
	RCA_TRACE_NAME(RCA_ST_FAILED, "failed") \
	RCA_TRACE_NAME(RCA_ST_SIDR_SENT, "sidr-sent") \
	RCA_TRACE_NAME(RCA_ST_SIDR_RCVD, "sidr-rcvd") \
	RCA_TRACE_NAME(RCA_ST_SIDR_DONE, "sidr-done") \
	RCA_TRACE_NAME(RCA_ST_LISTEN, "listen") \
	RCA_TRACE_NAME(RCA_ST_REMOVED, "removed") \
	RCA_TRACE_LAST(RCA_ST_DESTROYING, "destroying")

#define RCA_TRACE_INPUTS \
	RCA_TRACE_NAME(RCA_IN_BIND, "bind") \
	RCA_TRACE_NAME(RCA_IN_RESOLVE_ADDR, "resolve-addr") \
	RCA_TRACE_NAME(RCA_IN_ADDR_OK, "addr-ok") \
	RCA_TRACE_NAME(RCA_IN_ADDR_FAIL, "addr-fail") \
	RCA_TRACE_NAME(RCA_IN_RESOLVE_ROUTE, "resolve-route") \
	RCA_TRACE_NAME(RCA_IN_ROUTE_OK, "route-ok") \
	RCA_TRACE_NAME(RCA_IN_ROUTE_FAIL, "route-fail") \
	RCA_TRACE_NAME(RCA_IN_LISTEN, "listen") \
	RCA_TRACE_NAME(RCA_IN_LISTEN_FAIL, "listen-fail") \
	RCA_TRACE_NAME(RCA_IN_CONNECT, "connect") \
	RCA_TRACE_NAME(RCA_IN_SIDR, "sidr") \
	RCA_TRACE_NAME(RCA_IN_CONNECT_FAIL, "connect-fail") \
	RCA_TRACE_NAME(RCA_IN_REP, "rep") \
	RCA_TRACE_NAME(RCA_IN_BAD_QKEY, "bad-qkey") \
	RCA_TRACE_NAME(RCA_IN_REQ_TIMEOUT, "req-timeout") \
	RCA_TRACE_NAME(RCA_IN_STALE, "stale") \
	RCA_TRACE_NAME(RCA_IN_SILENCE, "silence") \
	RCA_TRACE_NAME(RCA_IN_HELD, "held") \
	RCA_TRACE_NAME(RCA_IN_RETRY, "retry") \
	RCA_TRACE_NAME(RCA_IN_ACCEPT, "accept") \
	RCA_TRACE_NAME(RCA_IN_ACCEPT_FAIL, "accept-fail") \
	RCA_TRACE_NAME(RCA_IN_REP_TIMEOUT, "rep-timeout") \
	RCA_TRACE_NAME(RCA_IN_ESTABLISH, "establish") \
	RCA_TRACE_NAME(RCA_IN_ESTABLISH_FAIL, "establish-fail") \
	RCA_TRACE_NAME(RCA_IN_RTU, "rtu") \
	RCA_TRACE_NAME(RCA_IN_UP, "up") \
	RCA_TRACE_NAME(RCA_IN_ERROR, "error") \
	RCA_TRACE_NAME(RCA_IN_DOWN, "down") \
	RCA_TRACE_NAME(RCA_IN_REJECT, "reject") \
	RCA_TRACE_NAME(RCA_IN_REJ, "rej") \
	RCA_TRACE_NAME(RCA_IN_DISCONNECT, "disconnect") \
	RCA_TRACE_NAME(RCA_IN_DISCONNECT_FAIL, "disconnect-fail") \
	RCA_TRACE_NAME(RCA_IN_DREQ, "dreq") \
	RCA_TRACE_NAME(RCA_IN_DREP, "drep") \
	RCA_TRACE_NAME(RCA_IN_DREQ_TIMEOUT, "dreq-timeout") \
	RCA_TRACE_NAME(RCA_IN_TIMEWAIT_EXIT, "timewait-exit") \
	RCA_TRACE_NAME(RCA_IN_REMOVE, "remove") \
	RCA_TRACE_LAST(RCA_IN_DESTROY, "destroy")

#define RCA_TRACE_EVENTS \
	RCA_TRACE_NAME(RDMA_CM_ALT_EVENT_ADDR_RESOLVED, "address resolved") \
	RCA_TRACE_NAME(RDMA_CM_ALT_EVENT_ADDR_ERROR, "address error") \
	RCA_TRACE_NAME(RDMA_CM_ALT_EVENT_ROUTE_RESOLVED, "route resolved") \
	RCA_TRACE_NAME(RDMA_CM_ALT_EVENT_ROUTE_ERROR, "route error") \
	RCA_TRACE_NAME(RDMA_CM_ALT_EVENT_CONNECT_REQUEST, "connect request") \
	RCA_TRACE_NAME(RDMA_CM_ALT_EVENT_CONNECT_RESPONSE, "connect response") \
	RCA_TRACE_NAME(RDMA_CM_ALT_EVENT_CONNECT_ERROR, "connect error") \
	RCA_TRACE_NAME(RDMA_CM_ALT_EVENT_UNREACHABLE, "unreachable") \
	RCA_TRACE_NAME(RDMA_CM_ALT_EVENT_REJECTED, "rejected") \
	RCA_TRACE_NAME(RDMA_CM_ALT_EVENT_ESTABLISHED, "established") \
	RCA_TRACE_NAME(RDMA_CM_ALT_EVENT_DISCONNECTED, "disconnected") \
	RCA_TRACE_NAME(RDMA_CM_ALT_EVENT_DEVICE_REMOVAL, "device removal") \
	RCA_TRACE_NAME(RDMA_CM_ALT_EVENT_MULTICAST_JOIN, "multicast join") \
	RCA_TRACE_NAME(RDMA_CM_ALT_EVENT_MULTICAST_ERROR, "multicast error") \
	RCA_TRACE_NAME(RDMA_CM_ALT_EVENT_ADDR_CHANGE, "address change") \
	RCA_TRACE_NAME(RDMA_CM_ALT_EVENT_TIMEWAIT_EXIT, "timewait exit") \
	RCA_TRACE_LAST(RDMA_CM_ALT_EVENT_USER, "user")

#undef RCA_TRACE_NAME
#undef RCA_TRACE_LAST
#define RCA_TRACE_NAME(value, name) TRACE_DEFINE_ENUM(value);
#define RCA_TRACE_LAST(value, name) TRACE_DEFINE_ENUM(value);
RCA_TRACE_STATES
RCA_TRACE_INPUTS
RCA_TRACE_EVENTS
#undef RCA_TRACE_NAME
#undef RCA_TRACE_LAST
#define RCA_TRACE_NAME(value, name) { value, name },
#define RCA_TRACE_LAST(value, name) { value, name }

#define rca_show_state(state) __print_symbolic(state, RCA_TRACE_STATES)
#define rca_show_input(input) __print_symbolic(input, RCA_TRACE_INPUTS)
#define rca_show_event(event) __print_symbolic(event, RCA_TRACE_EVENTS)

/* What is kept of an address: enough for IPv6. A caller's address is at least that large. */
#define RCA_TRACE_ADDR_LEN sizeof(struct sockaddr_in6)

TRACE_EVENT(rca_state,
	TP_PROTO(u32 cm_id, u16 ps, const struct sockaddr *src, const struct sockaddr *dst,
		 u8 old, u8 input, u8 new),
	TP_ARGS(cm_id, ps, src, dst, old, input, new),

	TP_STRUCT__entry(
		__field(u32, cm_id)
		__field(u16, ps)
		__field(u8, old)
		__field(u8, input)
		__field(u8, new)
		__array(unsigned char, srcaddr, RCA_TRACE_ADDR_LEN)
		__array(unsigned char, dstaddr, RCA_TRACE_ADDR_LEN)
	),

	TP_fast_assign(
		__entry->cm_id = cm_id;
		__entry->ps = ps;
		__entry->old = old;
		__entry->input = input;
		__entry->new = new;
		memcpy(__entry->srcaddr, src, RCA_TRACE_ADDR_LEN);
		memcpy(__entry->dstaddr, dst, RCA_TRACE_ADDR_LEN);
	),

	TP_printk("cm.id=%u ps=0x%04x src=%pISpc dst=%pISpc %s: %s -> %s",
		  __entry->cm_id, __entry->ps, __entry->srcaddr, __entry->dstaddr,
		  rca_show_input(__entry->input), rca_show_state(__entry->old),
		  rca_show_state(__entry->new))
);

TRACE_EVENT(rca_event,
	TP_PROTO(u32 cm_id, const struct sockaddr *src, const struct sockaddr *dst, u32 event,
		 int status),
	TP_ARGS(cm_id, src, dst, event, status),

	TP_STRUCT__entry(
		__field(u32, cm_id)
		__field(u32, event)
		__field(int, status)
		__array(unsigned char, srcaddr, RCA_TRACE_ADDR_LEN)
		__array(unsigned char, dstaddr, RCA_TRACE_ADDR_LEN)
	),

	TP_fast_assign(
		__entry->cm_id = cm_id;
		__entry->event = event;
		__entry->status = status;
		memcpy(__entry->srcaddr, src, RCA_TRACE_ADDR_LEN);
		memcpy(__entry->dstaddr, dst, RCA_TRACE_ADDR_LEN);
	),

	TP_printk("cm.id=%u src=%pISpc dst=%pISpc %s (%u/%d)",
		  __entry->cm_id, __entry->srcaddr, __entry->dstaddr,
		  rca_show_event(__entry->event), __entry->event, __entry->status)
);

TRACE_EVENT(rca_op,
	TP_PROTO(u32 cm_id, const struct sockaddr *src, const struct sockaddr *dst, const char *op,
		 int ret),
	TP_ARGS(cm_id, src, dst, op, ret),

	TP_STRUCT__entry(
		__field(u32, cm_id)
		__field(int, ret)
		__array(char, op, 16)
		__array(unsigned char, srcaddr, RCA_TRACE_ADDR_LEN)
		__array(unsigned char, dstaddr, RCA_TRACE_ADDR_LEN)
	),

	TP_fast_assign(
		__entry->cm_id = cm_id;
		__entry->ret = ret;
		strscpy_pad(__entry->op, op, sizeof(__entry->op));
		memcpy(__entry->srcaddr, src, RCA_TRACE_ADDR_LEN);
		memcpy(__entry->dstaddr, dst, RCA_TRACE_ADDR_LEN);
	),

	TP_printk("cm.id=%u src=%pISpc dst=%pISpc %s ret=%d",
		  __entry->cm_id, __entry->srcaddr, __entry->dstaddr, __entry->op, __entry->ret)
);

TRACE_EVENT(rca_member,
	TP_PROTO(u32 cm_id, u32 member, const struct sockaddr *group, const char *op, int ret),
	TP_ARGS(cm_id, member, group, op, ret),

	TP_STRUCT__entry(
		__field(u32, cm_id)
		__field(u32, member)
		__field(int, ret)
		__array(char, op, 16)
		__array(unsigned char, groupaddr, RCA_TRACE_ADDR_LEN)
	),

	TP_fast_assign(
		__entry->cm_id = cm_id;
		__entry->member = member;
		__entry->ret = ret;
		strscpy_pad(__entry->op, op, sizeof(__entry->op));
		memcpy(__entry->groupaddr, group, RCA_TRACE_ADDR_LEN);
	),

	TP_printk("cm.id=%u member=%u group=%pISc %s ret=%d", __entry->cm_id, __entry->member,
		  __entry->groupaddr, __entry->op, __entry->ret)
);

TRACE_EVENT(rca_request,
	TP_PROTO(const struct sockaddr *src, const struct sockaddr *dst, __be64 service_id,
		 int verdict),
	TP_ARGS(src, dst, service_id, verdict),

	TP_STRUCT__entry(
		__field(u64, service_id)
		__field(int, verdict)
		__array(unsigned char, srcaddr, RCA_TRACE_ADDR_LEN)
		__array(unsigned char, dstaddr, RCA_TRACE_ADDR_LEN)
	),

	TP_fast_assign(
		__entry->service_id = be64_to_cpu(service_id);
		__entry->verdict = verdict;
		memcpy(__entry->srcaddr, src, RCA_TRACE_ADDR_LEN);
		memcpy(__entry->dstaddr, dst, RCA_TRACE_ADDR_LEN);
	),

	TP_printk("ps=0x%04x service_id=0x%016llx src=%pISpc dst=%pISpc verdict=%d",
		  (u16)(__entry->service_id >> 16), __entry->service_id, __entry->srcaddr,
		  __entry->dstaddr, __entry->verdict)
);

TRACE_EVENT(rca_unexpected,
	TP_PROTO(u32 cm_id, u8 state, u8 input),
	TP_ARGS(cm_id, state, input),

	TP_STRUCT__entry(
		__field(u32, cm_id)
		__field(u8, state)
		__field(u8, input)
	),

	TP_fast_assign(
		__entry->cm_id = cm_id;
		__entry->state = state;
		__entry->input = input;
	),

	TP_printk("cm.id=%u %s in state %s", __entry->cm_id, rca_show_input(__entry->input),
		  rca_show_state(__entry->state))
);

#endif /* RCA_TRACE_H */

#undef TRACE_INCLUDE_PATH
#define TRACE_INCLUDE_PATH lib
#undef TRACE_INCLUDE_FILE
#define TRACE_INCLUDE_FILE trace
#include <trace/define_trace.h>
