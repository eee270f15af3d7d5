/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * Tracepoints of ids and trunks; the fields of ids are named as in the rdma_cma events of the stock
 * rdma_cm.
 *
 * Locking: none; may be called with any lock held.
 */
#undef TRACE_SYSTEM
#define TRACE_SYSTEM rdma_cm_alt

#if !defined(RCA_TRACE_H) || defined(TRACE_HEADER_MULTI_READ)
#define RCA_TRACE_H

#include <linux/in6.h>
#include <linux/socket.h>
#include <linux/string.h>
#include <linux/tracepoint.h>
#include <rdma/ib_verbs.h>
#include <rdma/rdma_cm_alt.h>

#include "lib/fsm.h"

/* As RCA_STATE_NAMES() of fsm.h. */
#define RCA_EVENT_NAMES(name, last) \
	name(RDMA_CM_ALT_EVENT_ADDR_RESOLVED, "address resolved") \
	name(RDMA_CM_ALT_EVENT_ADDR_ERROR, "address error") \
	name(RDMA_CM_ALT_EVENT_ROUTE_RESOLVED, "route resolved") \
	name(RDMA_CM_ALT_EVENT_ROUTE_ERROR, "route error") \
	name(RDMA_CM_ALT_EVENT_CONNECT_REQUEST, "connect request") \
	name(RDMA_CM_ALT_EVENT_CONNECT_RESPONSE, "connect response") \
	name(RDMA_CM_ALT_EVENT_CONNECT_ERROR, "connect error") \
	name(RDMA_CM_ALT_EVENT_UNREACHABLE, "unreachable") \
	name(RDMA_CM_ALT_EVENT_REJECTED, "rejected") \
	name(RDMA_CM_ALT_EVENT_ESTABLISHED, "established") \
	name(RDMA_CM_ALT_EVENT_DISCONNECTED, "disconnected") \
	name(RDMA_CM_ALT_EVENT_DEVICE_REMOVAL, "device removal") \
	name(RDMA_CM_ALT_EVENT_MULTICAST_JOIN, "multicast join") \
	name(RDMA_CM_ALT_EVENT_MULTICAST_ERROR, "multicast error") \
	name(RDMA_CM_ALT_EVENT_ADDR_CHANGE, "address change") \
	name(RDMA_CM_ALT_EVENT_TIMEWAIT_EXIT, "timewait exit") \
	last(RDMA_CM_ALT_EVENT_USER, "user")

/* For user space that decodes the events itself. */
#define RCA_TRACE_ENUM(value, string) TRACE_DEFINE_ENUM(value);
RCA_STATE_NAMES(RCA_TRACE_ENUM, RCA_TRACE_ENUM)
RCA_INPUT_NAMES(RCA_TRACE_ENUM, RCA_TRACE_ENUM)
RCA_EVENT_NAMES(RCA_TRACE_ENUM, RCA_TRACE_ENUM)

/* For printing: a list without a comma at its end. */
#define RCA_TRACE_NAME(value, string) { value, string },
#define RCA_TRACE_LAST(value, string) { value, string }
#define rca_show_state(state) \
	__print_symbolic(state, RCA_STATE_NAMES(RCA_TRACE_NAME, RCA_TRACE_LAST))
#define rca_show_input(input) \
	__print_symbolic(input, RCA_INPUT_NAMES(RCA_TRACE_NAME, RCA_TRACE_LAST))
#define rca_show_event(event) \
	__print_symbolic(event, RCA_EVENT_NAMES(RCA_TRACE_NAME, RCA_TRACE_LAST))

/* Recorded bytes of an address: enough for IPv6. The addresses of callers are not shorter. */
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

TRACE_EVENT(rca_trunk,
	TP_PROTO(const u8 *sgid, const u8 *dgid, u16 pkey, u32 session, const char *what,
		 const char *why),
	TP_ARGS(sgid, dgid, pkey, session, what, why),

	TP_STRUCT__entry(
		__field(u32, session)
		__field(u16, pkey)
		__array(unsigned char, sgid, sizeof(struct in6_addr))
		__array(unsigned char, dgid, sizeof(struct in6_addr))
		__array(char, what, 16)
		__array(char, why, 48)
	),

	TP_fast_assign(
		__entry->session = session;
		__entry->pkey = pkey;
		memcpy(__entry->sgid, sgid, sizeof(struct in6_addr));
		memcpy(__entry->dgid, dgid, sizeof(struct in6_addr));
		strscpy_pad(__entry->what, what, sizeof(__entry->what));
		strscpy_pad(__entry->why, why, sizeof(__entry->why));
	),

	TP_printk("sgid=%pI6c dgid=%pI6c pkey=0x%04x session=%08x %s: %s", __entry->sgid,
		  __entry->dgid, __entry->pkey, __entry->session, __entry->what, __entry->why)
);

/* Recorded bytes of a frame, which may be longer. */
#define RCA_TRACE_FRAME_LEN 256

/*
 * A frame of a trunk is posted, or was received; @data has @len bytes. @gid_type is that of @sgid
 * (enum ib_gid_type), and tells the version of RoCE. There cannot be more arguments.
 */
TRACE_EVENT(rca_frame,
	TP_PROTO(const char *device, u32 port, const u8 *sgid, const u8 *dgid, u16 pkey, u32 qpn,
		 u32 peer_qpn, bool sent, const void *data, u32 len, u8 gid_type, u32 session),
	TP_ARGS(device, port, sgid, dgid, pkey, qpn, peer_qpn, sent, data, len, gid_type, session),

	TP_STRUCT__entry(
		__array(char, device, IB_DEVICE_NAME_MAX)
		__array(unsigned char, sgid, sizeof(struct in6_addr))
		__array(unsigned char, dgid, sizeof(struct in6_addr))
		__field(u32, port)
		__field(u32, qpn)
		__field(u32, peer_qpn)
		__field(u32, len)
		__field(u32, session)
		__field(u16, pkey)
		__field(u8, gid_type)
		__field(bool, sent)
		__dynamic_array(u8, data, min_t(u32, len, RCA_TRACE_FRAME_LEN))
	),

	TP_fast_assign(
		strscpy_pad(__entry->device, device, sizeof(__entry->device));
		memcpy(__entry->sgid, sgid, sizeof(struct in6_addr));
		memcpy(__entry->dgid, dgid, sizeof(struct in6_addr));
		__entry->port = port;
		__entry->qpn = qpn;
		__entry->peer_qpn = peer_qpn;
		__entry->len = len;
		__entry->session = session;
		__entry->pkey = pkey;
		__entry->gid_type = gid_type;
		__entry->sent = sent;
		memcpy(__get_dynamic_array(data), data, min_t(u32, len, RCA_TRACE_FRAME_LEN));
	),

	TP_printk("%s/%u sgid=%pI6c gid_type=%u dgid=%pI6c pkey=0x%04x session=%u qp=%u peer_qp=%u %s %u bytes: %s",
		  __entry->device, __entry->port, __entry->sgid, __entry->gid_type, __entry->dgid,
		  __entry->pkey, __entry->session, __entry->qpn, __entry->peer_qpn,
		  __entry->sent ? "sent" : "received", __entry->len,
		  __print_hex_str(__get_dynamic_array(data),
				  min_t(u32, __entry->len, RCA_TRACE_FRAME_LEN)))
);

#endif /* RCA_TRACE_H */

#undef TRACE_INCLUDE_PATH
#define TRACE_INCLUDE_PATH lib
#undef TRACE_INCLUDE_FILE
#define TRACE_INCLUDE_FILE trace
#include <trace/define_trace.h>
