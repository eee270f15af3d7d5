// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/* rdma_set_option: every option in every state: reference section 3. */
#include "steps.h"

#include <infiniband/sa.h>

static int set_id_option(struct rdma_cm_id *id, int option, void *value, size_t len)
{
	return rdma_set_option(id, RDMA_OPTION_ID, option, value, len);
}

static int set_byte(struct rdma_cm_id *id, int option, uint8_t value)
{
	return set_id_option(id, option, &value, sizeof(value));
}

static int set_int(struct rdma_cm_id *id, int option, int value)
{
	return set_id_option(id, option, &value, sizeof(value));
}

GROUP(option_arguments, IN_DEBUG)
{
	struct rdma_cm_id *id = make_id(channel(), RDMA_PS_TCP);
	long zero = 0;

	RET("tos", set_byte(id, RDMA_OPTION_ID_TOS, 104));
	RET("tos_length_2", set_id_option(id, RDMA_OPTION_ID_TOS, &zero, 2));
	RET("tos_length_4", set_id_option(id, RDMA_OPTION_ID_TOS, &zero, 4));
	RET("tos_length_0", set_id_option(id, RDMA_OPTION_ID_TOS, &zero, 0));
	RET("tos_null", set_id_option(id, RDMA_OPTION_ID_TOS, NULL, 1));
	RET("tos_bad_pointer", set_id_option(id, RDMA_OPTION_ID_TOS, (void *)8, 1));
	RET("reuse", set_int(id, RDMA_OPTION_ID_REUSEADDR, 1));
	RET("reuse_clear", set_int(id, RDMA_OPTION_ID_REUSEADDR, 0));
	RET("reuse_seven", set_int(id, RDMA_OPTION_ID_REUSEADDR, 7));
	RET("reuse_length_1", set_id_option(id, RDMA_OPTION_ID_REUSEADDR, &zero, 1));
	RET("reuse_length_8", set_id_option(id, RDMA_OPTION_ID_REUSEADDR, &zero, 8));
	RET("reuse_null", set_id_option(id, RDMA_OPTION_ID_REUSEADDR, NULL, 4));
	RET("afonly", set_int(id, RDMA_OPTION_ID_AFONLY, 1));
	RET("afonly_clear", set_int(id, RDMA_OPTION_ID_AFONLY, 0));
	RET("afonly_length_1", set_id_option(id, RDMA_OPTION_ID_AFONLY, &zero, 1));
	RET("ack_timeout", set_byte(id, RDMA_OPTION_ID_ACK_TIMEOUT, 14));
	RET("ack_timeout_31", set_byte(id, RDMA_OPTION_ID_ACK_TIMEOUT, 31));
	RET("ack_timeout_32", set_byte(id, RDMA_OPTION_ID_ACK_TIMEOUT, 32));
	RET("ack_timeout_255", set_byte(id, RDMA_OPTION_ID_ACK_TIMEOUT, 255));
	RET("ack_timeout_length_4", set_id_option(id, RDMA_OPTION_ID_ACK_TIMEOUT, &zero, 4));
	RET("unknown", set_id_option(id, 4, &zero, 1));
	RET("unknown_99", set_id_option(id, 99, &zero, 4));
	RET("unknown_level", rdma_set_option(id, 2, 0, &zero, 1));
	RET("unknown_level_99", rdma_set_option(id, 99, 0, &zero, 4));
	RET("ib_unknown", rdma_set_option(id, RDMA_OPTION_IB, 0, &zero, 1));
	RET("ib_path_length_1", rdma_set_option(id, RDMA_OPTION_IB, RDMA_OPTION_IB_PATH, &zero, 1));
	RET("ib_path_length_0", rdma_set_option(id, RDMA_OPTION_IB, RDMA_OPTION_IB_PATH, &zero, 0));
}

static void each_option(const char *state, struct rdma_cm_id *id)
{
	char check[64];

	snprintf(check, sizeof(check), "%s_tos", state);
	RET(check, set_byte(id, RDMA_OPTION_ID_TOS, 32));
	snprintf(check, sizeof(check), "%s_reuse", state);
	RET(check, set_int(id, RDMA_OPTION_ID_REUSEADDR, 1));
	snprintf(check, sizeof(check), "%s_reuse_clear", state);
	RET(check, set_int(id, RDMA_OPTION_ID_REUSEADDR, 0));
	snprintf(check, sizeof(check), "%s_afonly", state);
	RET(check, set_int(id, RDMA_OPTION_ID_AFONLY, 1));
	snprintf(check, sizeof(check), "%s_ack_timeout", state);
	RET(check, set_byte(id, RDMA_OPTION_ID_ACK_TIMEOUT, 15));
}

GROUP(option_states, IN_DEBUG)
{
	struct rdma_event_channel *ch = channel();
	struct pair pair = make_requested();
	struct rdma_conn_param param = conn_param();
	struct rdma_cm_id *id = make_id(ch, RDMA_PS_TCP);

	each_option("idle", make_id(ch, RDMA_PS_TCP));
	each_option("bound", make_bound(ch, HERE, 0));
	each_option("wildcard", make_bound(ch, NULL, 0));
	NEED(rdma_resolve_addr(id, NULL, at(NOBODY, 1), SOON));
	each_option("resolving", id);
	NEED(rdma_destroy_id(id));
	each_option("resolved", make_resolved(ch, HERE, 1));
	each_option("routed", make_routed(ch, HERE, 1));
	each_option("listener", pair.listener);
	each_option("connecting", pair.client);
	each_option("requested", pair.child);
	NEED(rdma_accept(pair.child, &param));
	expect(pair.active, RDMA_CM_EVENT_ESTABLISHED);
	expect(pair.passive, RDMA_CM_EVENT_ESTABLISHED);
	each_option("established", pair.client);
	each_option("established_child", pair.child);
}

GROUP(option_effects, 0)
{
	struct rdma_event_channel *active = channel();
	struct pair pair = make_halves(RDMA_PS_TCP, false);
	struct rdma_conn_param param = conn_param();
	struct ibv_qp_init_attr init;
	struct ibv_qp_attr attr;
	struct rdma_cm_id *id = make_id(active, RDMA_PS_TCP);

	NEED(set_byte(id, RDMA_OPTION_ID_TOS, 104));
	NEED(set_byte(id, RDMA_OPTION_ID_ACK_TIMEOUT, 14));
	NEED(rdma_resolve_addr(id, NULL, at(HERE, pair.port), SOON));
	expect(active, RDMA_CM_EVENT_ADDR_RESOLVED);
	NEED(rdma_resolve_route(id, SOON));
	expect(active, RDMA_CM_EVENT_ROUTE_RESOLVED);
	answer("path", "tclass=%u lifetime=%u sl=%u", id->route.path_rec->traffic_class,
	       id->route.path_rec->packet_life_time, id->route.path_rec->sl);
	make_qp(id);
	NEED(rdma_connect(id, &param));
	pair.child = get_child(pair.passive);
	answer("child_path", "tclass=%u lifetime=%u", pair.child->route.path_rec->traffic_class,
	       pair.child->route.path_rec->packet_life_time);
	make_qp(pair.child);
	RET("child_ack_timeout", set_byte(pair.child, RDMA_OPTION_ID_ACK_TIMEOUT, 13));
	NEED(rdma_accept(pair.child, &param));
	expect(active, RDMA_CM_EVENT_ESTABLISHED);
	expect(pair.passive, RDMA_CM_EVENT_ESTABLISHED);
	NEED(ibv_query_qp(id->qp, &attr, IBV_QP_TIMEOUT | IBV_QP_AV, &init));
	answer("qp", "timeout=%u tclass=%u sl=%u", attr.timeout, attr.ah_attr.grh.traffic_class,
	       attr.ah_attr.sl);
	NEED(ibv_query_qp(pair.child->qp, &attr, IBV_QP_TIMEOUT | IBV_QP_AV, &init));
	answer("child_qp", "timeout=%u tclass=%u sl=%u", attr.timeout,
	       attr.ah_attr.grh.traffic_class, attr.ah_attr.sl);
	/* After route resolution the options affect the QP only. */
	RET("late_tos", set_byte(pair.client, RDMA_OPTION_ID_TOS, 40));
	RET("late_ack_timeout", set_byte(pair.client, RDMA_OPTION_ID_ACK_TIMEOUT, 16));
	answer("late_path", "tclass=%u lifetime=%u", pair.client->route.path_rec->traffic_class,
	       pair.client->route.path_rec->packet_life_time);
	make_qp(pair.client);
	NEED(rdma_connect(pair.client, &param));
	pair.child = get_child(pair.passive);
	make_qp(pair.child);
	NEED(rdma_accept(pair.child, &param));
	expect(pair.active, RDMA_CM_EVENT_ESTABLISHED);
	NEED(ibv_query_qp(pair.client->qp, &attr, IBV_QP_TIMEOUT | IBV_QP_AV, &init));
	answer("late_qp", "timeout=%u tclass=%u", attr.timeout, attr.ah_attr.grh.traffic_class);
}

GROUP(option_ack_timeout_zero, 0)
{
	struct pair pair = make_halves(RDMA_PS_TCP, true);
	struct rdma_conn_param param = conn_param();
	struct ibv_qp_init_attr init;
	struct ibv_qp_attr attr;

	RET("set", set_byte(pair.client, RDMA_OPTION_ID_ACK_TIMEOUT, 0));
	NEED(rdma_connect(pair.client, &param));
	pair.child = get_child(pair.passive);
	make_qp(pair.child);
	NEED(rdma_accept(pair.child, &param));
	expect(pair.active, RDMA_CM_EVENT_ESTABLISHED);
	NEED(ibv_query_qp(pair.client->qp, &attr, IBV_QP_TIMEOUT, &init));
	answer("timeout", "%u", attr.timeout);
}

/* Datagrams have no acknowledgement. */
GROUP(option_udp, 0)
{
	struct rdma_cm_id *id = make_id(channel(), RDMA_PS_UDP);

	RET("ack_timeout", set_byte(id, RDMA_OPTION_ID_ACK_TIMEOUT, 14));
	RET("tos", set_byte(id, RDMA_OPTION_ID_TOS, 14));
	RET("reuse", set_int(id, RDMA_OPTION_ID_REUSEADDR, 1));
	RET("afonly", set_int(id, RDMA_OPTION_ID_AFONLY, 1));
}

GROUP(option_ib_path, 0)
{
	struct rdma_event_channel *ch = channel();
	struct rdma_cm_id *routed = make_routed(ch, HERE, 1), *id = make_resolved(ch, HERE, 1);
	struct ibv_path_data path = { .flags = IBV_PATH_FLAG_GMP | IBV_PATH_FLAG_PRIMARY |
					       IBV_PATH_FLAG_BIDIRECTIONAL };

	memcpy(&path.path.dgid, &routed->route.addr.addr.ibaddr.dgid, 16);
	memcpy(&path.path.sgid, &routed->route.addr.addr.ibaddr.sgid, 16);
	path.path.pkey = 0xffff;
	RET("idle", rdma_set_option(make_id(ch, RDMA_PS_TCP), RDMA_OPTION_IB, RDMA_OPTION_IB_PATH,
				    &path, sizeof(path)));
	RET("routed", rdma_set_option(routed, RDMA_OPTION_IB, RDMA_OPTION_IB_PATH, &path,
				      sizeof(path)));
	path.flags = 0;
	RET("flags", rdma_set_option(id, RDMA_OPTION_IB, RDMA_OPTION_IB_PATH, &path, sizeof(path)));
	path.flags = IBV_PATH_FLAG_GMP | IBV_PATH_FLAG_PRIMARY | IBV_PATH_FLAG_BIDIRECTIONAL;
	RET("length", rdma_set_option(id, RDMA_OPTION_IB, RDMA_OPTION_IB_PATH, &path,
				      sizeof(path) - 1));
	RET("set", rdma_set_option(id, RDMA_OPTION_IB, RDMA_OPTION_IB_PATH, &path, sizeof(path)));
	event_answer("event", ch, SOON);
}
