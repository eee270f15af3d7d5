// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * ECE, and functions that newer libraries than Debian's have: reference section 1.3. A missing
 * symbol is an answer as well.
 */
#include "steps.h"

#include <dlfcn.h>

GROUP(ece, 0)
{
	struct pair pair = make_halves(RDMA_PS_TCP, false);
	struct rdma_conn_param param = conn_param();
	struct ibv_ece ece = { 0x1234, 5, 0 }, got = { 0 };

	RET("get_before", rdma_get_remote_ece(pair.client, &got));
	answer("get_before_values", "vendor=%#x options=%u mask=%u", got.vendor_id, got.options,
	       got.comp_mask);
	ece.vendor_id = 0;
	RET("set_without_vendor", rdma_set_local_ece(pair.client, &ece));
	ece.vendor_id = 0x1234;
	ece.comp_mask = 1;
	RET("set_mask", rdma_set_local_ece(pair.client, &ece));
	ece.comp_mask = 0;
	RET("set", rdma_set_local_ece(pair.client, &ece));
	param.qp_num = 0x111;
	NEED(rdma_connect(pair.client, &param));
	pair.child = get_child(pair.passive);
	RET("get", rdma_get_remote_ece(pair.child, &got));
	answer("get_values", "vendor=%#x options=%u mask=%u", got.vendor_id, got.options,
	       got.comp_mask);
	ece.vendor_id = 0x4321;
	ece.options = 9;
	RET("set_child", rdma_set_local_ece(pair.child, &ece));
	param.qp_num = 0x222;
	RET("accept", rdma_accept(pair.child, &param));
	expect(pair.active, RDMA_CM_EVENT_CONNECT_RESPONSE);
	memset(&got, 0, sizeof(got));
	RET("get_reply", rdma_get_remote_ece(pair.client, &got));
	answer("get_reply_values", "vendor=%#x options=%u mask=%u", got.vendor_id, got.options,
	       got.comp_mask);
}

GROUP(ece_with_qp, 0)
{
	struct pair pair = make_requested();
	struct ibv_ece ece = { 0x1234, 5, 0 };

	RET("set", rdma_set_local_ece(pair.client, &ece));
	RET("get", rdma_get_remote_ece(pair.child, &ece));
}

GROUP(user_event, 0)
{
	struct rdma_event_channel *ch = channel();
	struct rdma_cm_id *id = make_id(ch, RDMA_PS_TCP);
	int (*write_event)(struct rdma_cm_id *id, int event, int status, uint64_t arg) =
		dlsym(RTLD_DEFAULT, "rdma_write_cm_event");
	struct rdma_cm_event *event;

	answer("symbol", "%s", yes(write_event));
	if (!write_event)
		return;
	RET("write", write_event(id, 18, 7, 0x123456789abcULL));
	event = get_event(ch, SOON);
	if (event) {
		answer("event", "%s status=%d arg=%#llx own=%s", event_name(event->event),
		       event->status, *(unsigned long long *)&event->param, yes(event->id == id));
		NEED(rdma_ack_cm_event(event));
	}
	RET("internal", write_event(id, 19, 0, 0));
	RET("other_event", write_event(id, RDMA_CM_EVENT_ESTABLISHED, 0, 0));
	quiet_answer("nothing", ch);
}

GROUP(resolve_addrinfo, 0)
{
	struct rdma_event_channel *ch = channel();
	struct rdma_cm_id *id = make_id(ch, RDMA_PS_TCP);
	struct rdma_addrinfo hints = { .ai_port_space = RDMA_PS_TCP }, *res = NULL;
	int (*resolve)(struct rdma_cm_id *id, const char *node, const char *service,
		       const struct rdma_addrinfo *hints) =
		dlsym(RTLD_DEFAULT, "rdma_resolve_addrinfo");
	int (*query)(struct rdma_cm_id *id, struct rdma_addrinfo **res) =
		dlsym(RTLD_DEFAULT, "rdma_query_addrinfo");

	answer("symbols", "%s %s", yes(resolve), yes(query));
	if (!resolve || !query)
		return;
	RET("query_before", query(id, &res));
	RET("null", resolve(NULL, HERE, "1", &hints));
	RET("resolve", resolve(id, HERE, "7471", &hints));
	event_answer("event", ch, SOON);
	if (!RET("query", query(id, &res)) && res) {
		answer("result", "family=%d dst=%s", res->ai_family, yes(res->ai_dst_addr));
		rdma_freeaddrinfo(res);
	}
	RET("query_again", query(id, &res));
	RET("resolve_name", resolve(id, "no-such-host.invalid", "7471", &hints));
	event_answer("name_event", ch, SOON);
}

static const char *const families[] = {
	"rdma_accept", "rdma_ack_cm_event", "rdma_bind_addr", "rdma_connect", "rdma_create_ep",
	"rdma_create_event_channel", "rdma_create_id", "rdma_create_qp", "rdma_create_qp_ex",
	"rdma_create_srq", "rdma_create_srq_ex", "rdma_destroy_ep", "rdma_destroy_event_channel",
	"rdma_destroy_id", "rdma_destroy_qp", "rdma_destroy_srq", "rdma_disconnect",
	"rdma_establish", "rdma_event_str", "rdma_free_devices", "rdma_freeaddrinfo",
	"rdma_get_cm_event", "rdma_get_devices", "rdma_get_dst_port", "rdma_get_remote_ece",
	"rdma_get_request", "rdma_get_src_port", "rdma_getaddrinfo", "rdma_init_qp_attr",
	"rdma_join_multicast", "rdma_join_multicast_ex", "rdma_leave_multicast", "rdma_listen",
	"rdma_migrate_id", "rdma_notify", "rdma_query_addrinfo", "rdma_reject", "rdma_reject_ece",
	"rdma_resolve_addr", "rdma_resolve_addrinfo", "rdma_resolve_route", "rdma_set_local_ece",
	"rdma_set_option", "rdma_write_cm_event",
	"rsocket", "rbind", "rlisten", "raccept", "rconnect", "rshutdown", "rclose", "rrecv",
	"rrecvfrom", "rrecvmsg", "rsend", "rsendto", "rsendmsg", "rread", "rreadv", "rwrite",
	"rwritev", "rpoll", "rselect", "rgetpeername", "rgetsockname", "rsetsockopt", "rgetsockopt",
	"rfcntl", "riomap", "riounmap", "riowrite", "repoll_create", "repoll_ctl", "repoll_wait",
};

/* Each symbol under each version node that could contain it. */
GROUP(symbols, IN_DEBUG)
{
	static const char *const nodes[] = {
		"RDMACM_1.0", "RDMACM_1.1", "RDMACM_1.2", "RDMACM_1.3", "RDMACM_1.4", "RDMACM_1.5",
	};
	unsigned int n, node;

	for (n = 0; n < sizeof(families) / sizeof(*families); n++) {
		for (node = 0; node < 6; node++)
			if (dlvsym(RTLD_DEFAULT, families[n], nodes[node]))
				break;
		answer(families[n], "%s", node < 6 ? nodes[node] : "missing");
	}
}
