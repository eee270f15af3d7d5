// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/* Ids: creating, fields, moving, devices: reference sections 1.1 and 2. */
#include "steps.h"

/*
 * Both libraries fill in the structures of the installed header; their layout is part of the
 * ABI.
 */
_Static_assert(sizeof(struct rdma_cm_id) == 416, "rdma_cm_id");
_Static_assert(offsetof(struct rdma_cm_id, channel) == 8, "rdma_cm_id.channel");
_Static_assert(offsetof(struct rdma_cm_id, context) == 16, "rdma_cm_id.context");
_Static_assert(offsetof(struct rdma_cm_id, qp) == 24, "rdma_cm_id.qp");
_Static_assert(offsetof(struct rdma_cm_id, route) == 32, "rdma_cm_id.route");
_Static_assert(offsetof(struct rdma_cm_id, ps) == 344, "rdma_cm_id.ps");
_Static_assert(offsetof(struct rdma_cm_id, port_num) == 348, "rdma_cm_id.port_num");
_Static_assert(offsetof(struct rdma_cm_id, event) == 352, "rdma_cm_id.event");
_Static_assert(offsetof(struct rdma_cm_id, send_cq_channel) == 360, "rdma_cm_id.send_cq_channel");
_Static_assert(offsetof(struct rdma_cm_id, send_cq) == 368, "rdma_cm_id.send_cq");
_Static_assert(offsetof(struct rdma_cm_id, recv_cq_channel) == 376, "rdma_cm_id.recv_cq_channel");
_Static_assert(offsetof(struct rdma_cm_id, recv_cq) == 384, "rdma_cm_id.recv_cq");
_Static_assert(offsetof(struct rdma_cm_id, srq) == 392, "rdma_cm_id.srq");
_Static_assert(offsetof(struct rdma_cm_id, pd) == 400, "rdma_cm_id.pd");
_Static_assert(offsetof(struct rdma_cm_id, qp_type) == 408, "rdma_cm_id.qp_type");
_Static_assert(sizeof(struct rdma_event_channel) == 4, "rdma_event_channel");
_Static_assert(sizeof(struct rdma_cm_event) == 80, "rdma_cm_event");
_Static_assert(offsetof(struct rdma_cm_event, param) == 24, "rdma_cm_event.param");
_Static_assert(sizeof(struct rdma_conn_param) == 24, "rdma_conn_param");
_Static_assert(sizeof(struct rdma_ud_param) == 56, "rdma_ud_param");
_Static_assert(sizeof(struct rdma_addrinfo) == 96, "rdma_addrinfo");
_Static_assert(sizeof(struct rdma_route) == 312, "rdma_route");
_Static_assert(sizeof(struct rdma_addr) == 296, "rdma_addr");
_Static_assert(sizeof(struct rdma_ib_addr) == 40, "rdma_ib_addr");
_Static_assert(sizeof(struct rdma_cm_join_mc_attr_ex) == 16, "rdma_cm_join_mc_attr_ex");
_Static_assert(sizeof(struct ibv_sa_path_rec) == 64, "ibv_sa_path_rec");

static const char *type_name(int type)
{
	return type == IBV_QPT_RC ? "RC" : type == IBV_QPT_UD ? "UD" : "other";
}

GROUP(create_id, IN_DEBUG)
{
	static const struct {
		const char *name;
		int ps;
	} spaces[] = {
		{ "tcp", RDMA_PS_TCP }, { "udp", RDMA_PS_UDP }, { "ib", RDMA_PS_IB },
		{ "ipoib", RDMA_PS_IPOIB }, { "none", 0 }, { "unknown", 0x9999 },
	};
	struct rdma_event_channel *ch = channel();
	struct rdma_cm_id *id;
	char check[32];
	unsigned int n;

	for (n = 0; n < sizeof(spaces) / sizeof(*spaces); n++) {
		id = NULL;
		if (RET(spaces[n].name, rdma_create_id(ch, &id, ch, spaces[n].ps))) {
			snprintf(check, sizeof(check), "%s_id", spaces[n].name);
			answer(check, "%s", yes(id));
			continue;
		}
		snprintf(check, sizeof(check), "%s_fields", spaces[n].name);
		answer(check, "type=%s ps=%#x context=%s channel=%s verbs=%s qp=%s pd=%s event=%s "
		       "port=%u paths=%d", type_name(id->qp_type), id->ps, yes(id->context == ch),
		       yes(id->channel == ch), yes(id->verbs), yes(id->qp), yes(id->pd),
		       yes(id->event), id->port_num, id->route.num_paths);
		snprintf(check, sizeof(check), "%s_destroy", spaces[n].name);
		RET(check, rdma_destroy_id(id));
	}
	RET("sync", rdma_create_id(NULL, &id, NULL, RDMA_PS_TCP));
	answer("sync_channel", "%s", yes(id->channel));
	RET("sync_destroy", rdma_destroy_id(id));
	RET("sync_udp", rdma_create_id(NULL, &id, NULL, RDMA_PS_UDP));
	RET("sync_udp_destroy", rdma_destroy_id(id));
	RET("context_null", rdma_create_id(ch, &id, NULL, RDMA_PS_TCP));
	answer("context_null_field", "%s", yes(id->context));
}

GROUP(devices, IN_DEBUG)
{
	struct rdma_event_channel *ch = channel();
	struct rdma_cm_id *id = make_bound(ch, HERE, 0), *other = make_bound(ch, ELSEWHERE, 0);
	struct ibv_context **list;
	int number = -1, n, mine = 0;

	list = PTR("get", rdma_get_devices(&number));
	answer("number", "%d", number);
	for (n = 0; n < number; n++)
		mine += (list[n] == id->verbs) + (list[n] == other->verbs);
	answer("same_contexts", "%d", mine);
	answer("ends_with_null", "%s", yes(!list[number]));
	VOID("free", rdma_free_devices(list));
	list = PTR("get_without_number", rdma_get_devices(NULL));
	VOID("free_again", rdma_free_devices(list));
	answer("pd_per_device", "%s %s", yes(id->pd != other->pd),
	       yes(make_bound(ch, THERE, 0)->pd == id->pd));
}

struct move {
	struct rdma_cm_id *id;
	struct rdma_event_channel *channel;
};

static int migrate(void *arg)
{
	struct move *move = arg;

	return rdma_migrate_id(move->id, move->channel);
}

GROUP(migrate, IN_DEBUG)
{
	struct rdma_event_channel *first = channel(), *second = channel();
	struct rdma_cm_id *id = make_id(first, RDMA_PS_TCP);
	struct rdma_event_channel closed = { -1 };

	RET("idle", rdma_migrate_id(id, second));
	answer("channel", "%s", yes(id->channel == second));
	RET("same", rdma_migrate_id(id, second));
	NEED(rdma_resolve_addr(id, NULL, at(HERE, 1), SOON));
	usleep(300000);
	RET("with_event", rdma_migrate_id(id, first));
	quiet_answer("event_old", second);
	event_answer("event_new", first, SOON);
	answer("verbs", "%s", yes(id->verbs));
	RET("bad_descriptor", rdma_migrate_id(id, &closed));
	answer("channel_after_failure", "%s", yes(id->channel == first));
	RET("to_sync", rdma_migrate_id(id, NULL));
	answer("sync_channel", "%s", yes(id->channel && id->channel != first));
	RET("sync_to_sync", rdma_migrate_id(id, NULL));
	RET("sync_route", rdma_resolve_route(id, SOON));
	sync_event_answer("sync_route_event", id);
	RET("from_sync", rdma_migrate_id(id, first));
	answer("event_field", "%s", yes(id->event));
	RET("destroy", rdma_destroy_id(id));
}

GROUP(migrate_unacked, WAITS)
{
	struct rdma_event_channel *first = channel(), *second = channel();
	struct rdma_cm_id *id = make_id(first, RDMA_PS_TCP);
	struct move move = { id, second };
	struct rdma_cm_event *event;
	struct thread *thread;

	NEED(rdma_resolve_addr(id, NULL, at(HERE, 1), SOON));
	event = NEED_PTR(get_event(first, SOON));
	thread = thread_begin(migrate, &move);
	thread_answer("unacked", thread, QUIET);
	RET("ack", rdma_ack_cm_event(event));
	thread_answer("acked", thread, patience(SOON));
	answer("channel", "%s", yes(id->channel == second));
}
