// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * Ids over InfiniBand, by IP addresses of IPoIB devices: device and port, path, connections,
 * datagrams, answers of the subnet administrator. tests/fabric/fabrics/ib.py sets the rig up.
 */
#include "ib.h"

static char data[256] = "hello";

/* Device and port of an id, and the path to its peer. */
static void place_answer(const char *check, struct rdma_cm_id *id)
{
	struct rdma_ib_addr *ib = &id->route.addr.addr.ibaddr;
	union ibv_gid here = ib_gid(0), there = ib_gid(1);

	answer(check, "device=%s port=%u pkey=%#x sgid=%s dgid=%s paths=%d",
	       id->verbs ? ibv_get_device_name(id->verbs->device) : "none", id->port_num,
	       ntohs(ib->pkey), ib_gid_name(&ib->sgid, &here, &there),
	       ib_gid_name(&ib->dgid, &here, &there), id->route.num_paths);
}

void ib_path_answer(const char *check, struct rdma_cm_id *id)
{
	struct ibv_sa_path_rec *path = id->route.path_rec;
	union ibv_gid here = ib_gid(0), there = ib_gid(1);

	if (!path || !id->route.num_paths) {
		answer(check, "none");
		return;
	}
	answer(check, "sgid=%s dgid=%s slid=%u dlid=%u pkey=%#x mtu=%u rate=%u sl=%u life=%u "
	       "tclass=%#x flow=%#x hop=%u rev=%d numb=%u pref=%u",
	       ib_gid_name(&path->sgid, &here, &there), ib_gid_name(&path->dgid, &here, &there),
	       ntohs(path->slid), ntohs(path->dlid), ntohs(path->pkey), path->mtu, path->rate,
	       path->sl, path->packet_life_time, path->traffic_class, ntohl(path->flow_label),
	       path->hop_limit, path->reversible, path->numb_path, path->preference);
}

static struct rdma_cm_id *make_ib_routed(struct rdma_event_channel *ch, enum rdma_port_space ps,
					 const char *ip, int port)
{
	struct rdma_cm_id *id = make_id(ch, ps);

	NEED(rdma_resolve_addr(id, NULL, at(ip, port), SOON));
	expect(ch, RDMA_CM_EVENT_ADDR_RESOLVED);
	NEED(rdma_resolve_route(id, SOON));
	expect(ch, RDMA_CM_EVENT_ROUTE_RESOLVED);
	return id;
}

GROUP(ib_bind, ON_IB)
{
	struct rdma_event_channel *ch = channel();
	struct rdma_cm_id *id = make_id(ch, RDMA_PS_TCP);

	RET("bind", rdma_bind_addr(id, at(IB_HERE, 0)));
	place_answer("place", id);
	id = make_id(ch, RDMA_PS_TCP);
	RET("bind6", rdma_bind_addr(id, at(IB_HERE6, 0)));
	place_answer("place6", id);
	id = make_id(ch, RDMA_PS_TCP);
	RET("bind_second", rdma_bind_addr(id, at(IB_THERE, 0)));
	answer("second", "%s", ibv_get_device_name(id->verbs->device));
	id = make_id(ch, RDMA_PS_UDP);
	RET("bind_udp", rdma_bind_addr(id, at(IB_HERE, 0)));
	id = make_id(ch, RDMA_PS_IPOIB);
	RET("bind_ipoib", rdma_bind_addr(id, at(IB_HERE, 0)));
	place_answer("place_ipoib", id);
	id = make_id(ch, RDMA_PS_IPOIB);
	RET("bind_ipoib_roce", rdma_bind_addr(id, at(HERE, 0)));
	/* A child interface in another partition. */
	id = make_id(ch, RDMA_PS_TCP);
	RET("bind_pkey", rdma_bind_addr(id, at(IB_PKEY_HERE, 0)));
	place_answer("place_pkey", id);
}

GROUP(ib_resolve, ON_IB | IN_DEBUG)
{
	struct rdma_event_channel *ch = channel();
	struct rdma_cm_id *id = make_id(ch, RDMA_PS_TCP);
	uint8_t tos = 0x20;

	RET("addr", rdma_resolve_addr(id, NULL, at(IB_HERE, 7471), SOON));
	event_answer("addr_event", ch, SOON);
	place_answer("place", id);
	ib_path_answer("no_path", id);
	RET("route", rdma_resolve_route(id, SOON));
	event_answer("route_event", ch, SOON);
	place_answer("place_routed", id);
	ib_path_answer("path", id);
	RET("route_again", rdma_resolve_route(id, SOON));

	id = make_id(ch, RDMA_PS_TCP);
	NEED(rdma_set_option(id, RDMA_OPTION_ID, RDMA_OPTION_ID_TOS, &tos, sizeof(tos)));
	RET("addr6", rdma_resolve_addr(id, NULL, at(IB_HERE6, 7471), SOON));
	event_answer("addr6_event", ch, SOON);
	RET("route6", rdma_resolve_route(id, SOON));
	event_answer("route6_event", ch, SOON);
	ib_path_answer("path6", id);

	id = make_ib_routed(ch, RDMA_PS_TCP, IB_PKEY_HERE, 7471);
	place_answer("place_pkey", id);
	ib_path_answer("path_pkey", id);
	id = make_id(ch, RDMA_PS_TCP);
	RET("bound_elsewhere", rdma_bind_addr(id, at(IB_THERE, 0)));
	RET("addr_elsewhere", rdma_resolve_addr(id, NULL, at(IB_HERE, 7471), SOON));
	event_answer("addr_elsewhere_event", ch, SOON);
}

GROUP(ib_nobody, ON_IB | WAITS)
{
	struct rdma_event_channel *ch = channel();
	struct rdma_cm_id *id = make_id(ch, RDMA_PS_TCP);

	RET("addr", rdma_resolve_addr(id, NULL, at(IB_NOBODY, 7471), 1000));
	event_answer("addr_event", ch, SOON);
	RET("again", rdma_resolve_addr(id, NULL, at(IB_HERE, 7471), SOON));
	event_answer("again_event", ch, SOON);
}

/* The administrator refuses, then does not answer, then works again. */
GROUP(ib_route_error, ON_IB | ALONE)
{
	struct rdma_event_channel *ch = channel();
	struct rdma_cm_id *id = make_id(ch, RDMA_PS_TCP);

	NEED(rdma_resolve_addr(id, NULL, at(IB_HERE, 7471), SOON));
	expect(ch, RDMA_CM_EVENT_ADDR_RESOLVED);
	ib_keep_paths(false);
	ib_knob("sa_status", "0x300");
	RET("refused", rdma_resolve_route(id, SOON));
	event_answer("refused_event", ch, SOON);
	ib_path_answer("refused_path", id);
	ib_knob("sa_status", "0");
	ib_knob("rules", "drop SA");
	RET("silence", rdma_resolve_route(id, 500));
	event_answer("silence_event", ch, SOON);
	RET("silence_0", rdma_resolve_route(id, 0));
	event_answer("silence_0_event", ch, SOON);
	RET("given_up", rdma_resolve_route(id, SOON));
	RET("twice", rdma_resolve_route(id, SOON));
	RET("destroy", rdma_destroy_id(id));
	ib_knob("rules", "clear");
	quiet_answer("nothing_follows", ch);
	ib_keep_paths(true);
	id = make_ib_routed(ch, RDMA_PS_TCP, IB_HERE, 7471);
	ib_path_answer("path", id);
}

GROUP(ib_path_option, ON_IB | IN_DEBUG)
{
	struct rdma_event_channel *ch = channel();
	struct rdma_cm_id *id = make_ib_routed(ch, RDMA_PS_TCP, IB_HERE, 7471);
	struct ibv_path_data path = ib_path_data(id);

	RET("routed", rdma_set_option(id, RDMA_OPTION_IB, RDMA_OPTION_IB_PATH, &path,
				      sizeof(path)));
	id = make_id(ch, RDMA_PS_TCP);
	RET("no_device", rdma_set_option(id, RDMA_OPTION_IB, RDMA_OPTION_IB_PATH, &path,
					 sizeof(path)));
	NEED(rdma_resolve_addr(id, NULL, at(IB_HERE, 7471), SOON));
	expect(ch, RDMA_CM_EVENT_ADDR_RESOLVED);
	path.flags = IBV_PATH_FLAG_GMP | IBV_PATH_FLAG_PRIMARY | IBV_PATH_FLAG_OUTBOUND;
	RET("one_way", rdma_set_option(id, RDMA_OPTION_IB, RDMA_OPTION_IB_PATH, &path,
				       sizeof(path)));
	path.flags |= IBV_PATH_FLAG_BIDIRECTIONAL;
	path.path.tclass = 7;
	path.path.packetlifetime = 0x80 | 15;
	RET("set", rdma_set_option(id, RDMA_OPTION_IB, RDMA_OPTION_IB_PATH, &path, sizeof(path)));
	event_answer("event", ch, SOON);
	ib_path_answer("path", id);
	RET("again", rdma_set_option(id, RDMA_OPTION_IB, RDMA_OPTION_IB_PATH, &path,
				     sizeof(path)));
}

static void connect_all_the_way(const char *ip)
{
	struct rdma_event_channel *active = channel(), *passive = channel();
	struct rdma_cm_id *listener = make_id(passive, RDMA_PS_TCP), *client, *child;
	struct rdma_conn_param param = conn_param();
	struct rdma_cm_event *event;
	struct ibv_qp_attr attr;
	int mask, port;

	NEED(rdma_bind_addr(listener, at(ip, 0)));
	NEED(rdma_listen(listener, 0));
	port = port_of(listener);
	client = make_ib_routed(active, RDMA_PS_TCP, ip, port);
	make_qp(client);
	param.private_data = data;
	param.private_data_len = 57;
	RET("data_57", rdma_connect(client, &param));
	param.private_data_len = 56;
	RET("connect", rdma_connect(client, &param));
	event = NEED_PTR(get_event(passive, SOON));
	show_conn("request", event);
	child = event->id;
	NEED(rdma_ack_cm_event(event));
	addr_answer("child_addresses", child, port);
	place_answer("child_place", child);
	ib_path_answer("child_path", child);
	attr.qp_state = IBV_QPS_INIT;
	RET("child_init_attr", rdma_init_qp_attr(child, &attr, &mask));
	answer("child_init", "mask=%#x pkey_index=%u port=%u", mask, attr.pkey_index,
	       attr.port_num);
	make_qp(child);
	param.private_data_len = 196;
	RET("accept", rdma_accept(child, &param));
	conn_answer("established", active);
	conn_answer("child_established", passive);
	attr.qp_state = IBV_QPS_RTR;
	RET("rtr_attr", rdma_init_qp_attr(client, &attr, &mask));
	answer("rtr", "mask=%#x mtu=%u dlid=%u sl=%u rate=%u global=%u", mask, attr.path_mtu,
	       attr.ah_attr.dlid, attr.ah_attr.sl, attr.ah_attr.static_rate,
	       attr.ah_attr.is_global);
	attr.qp_state = IBV_QPS_RTS;
	RET("rts_attr", rdma_init_qp_attr(client, &attr, &mask));
	answer("rts", "mask=%#x timeout=%u", mask, attr.timeout);
	RET("disconnect", rdma_disconnect(client));
	event_answer("child_disconnected", passive, SOON);
	RET("disconnect_child", rdma_disconnect(child));
	event_answer("disconnected", active, SOON);
	event_answer("timewait", active, SOON);
	event_answer("child_timewait", passive, SOON);
}

GROUP(ib_connect, ON_IB | IN_DEBUG)
{
	connect_all_the_way(IB_HERE);
}

GROUP(ib_connect6, ON_IB)
{
	connect_all_the_way(IB_HERE6);
}

GROUP(ib_connect_pkey, ON_IB)
{
	connect_all_the_way(IB_PKEY_HERE);
}

GROUP(ib_wildcard, ON_IB)
{
	struct rdma_event_channel *active = channel(), *passive = channel();
	struct rdma_cm_id *listener = make_id(passive, RDMA_PS_TCP), *client, *child;
	struct rdma_conn_param param = conn_param();

	NEED(rdma_bind_addr(listener, at(NULL, 0)));
	RET("listen", rdma_listen(listener, 0));
	client = make_ib_routed(active, RDMA_PS_TCP, IB_THERE, port_of(listener));
	make_qp(client);
	RET("connect", rdma_connect(client, &param));
	child = get_child(passive);
	place_answer("child_place", child);
	RET("reject", rdma_reject(child, data, 148));
	conn_answer("rejected", active);
	/* There is no listener on another one. */
	client = make_ib_routed(active, RDMA_PS_TCP, IB_THERE, port_of(listener) + 1);
	make_qp(client);
	RET("connect_nobody", rdma_connect(client, &param));
	event_answer("nobody", active, SOON);
}

static void ask_for_qp(enum rdma_port_space ps)
{
	struct rdma_event_channel *active = channel(), *passive = channel();
	struct rdma_cm_id *listener = make_id(passive, ps), *client, *child;
	struct rdma_conn_param param = { .private_data = data, .private_data_len = 180 };
	struct rdma_cm_event *event;
	struct ibv_qp_attr attr;
	int mask;

	NEED(rdma_bind_addr(listener, at(IB_HERE, 0)));
	NEED(rdma_listen(listener, 0));
	client = make_ib_routed(active, ps, IB_HERE, port_of(listener));
	attr.qp_state = IBV_QPS_INIT;
	RET("init_attr", rdma_init_qp_attr(client, &attr, &mask));
	answer("init", "mask=%#x qkey=%#x", mask, attr.qkey);
	make_qp(client);
	RET("connect", rdma_connect(client, &param));
	event = NEED_PTR(get_event(passive, SOON));
	show_ud("request", event);
	child = event->id;
	NEED(rdma_ack_cm_event(event));
	place_answer("child_place", child);
	make_qp(child);
	param.private_data_len = 136;
	RET("accept", rdma_accept(child, &param));
	event = NEED_PTR(get_event(active, SOON));
	show_ud("answer", event);
	NEED(rdma_ack_cm_event(event));
}

GROUP(ib_udp, ON_IB | IN_DEBUG)
{
	ask_for_qp(RDMA_PS_UDP);
}

GROUP(ib_ipoib, ON_IB | IN_DEBUG)
{
	ask_for_qp(RDMA_PS_IPOIB);
}

static void resolve_again(const char *check, struct rdma_event_channel *ch)
{
	struct rdma_cm_id *id = make_ib_routed(ch, RDMA_PS_TCP, IB_THERE, 7471);

	ib_path_answer(check, id);
	NEED(rdma_destroy_id(id));
}

/* Not bound automatically: RoCE devices come first where there are some. */
GROUP(ib_loopback, ON_IB)
{
	struct rdma_event_channel *ch = channel();
	struct rdma_cm_id *id = make_id(ch, RDMA_PS_TCP);

	NEED(rdma_bind_addr(id, at(IB_HERE, 0)));
	RET("loopback", rdma_resolve_addr(id, NULL, at("127.0.0.1", 7471), SOON));
	event_answer("event", ch, SOON);
	RET("route", rdma_resolve_route(id, SOON));
	event_answer("route_event", ch, SOON);
}

/* Ports and the administrator change: existing ids stay as they are. */
GROUP(ib_changes, ON_IB | ALONE)
{
	struct rdma_event_channel *ch = channel();
	struct rdma_cm_id *id = make_ib_routed(ch, RDMA_PS_TCP, IB_THERE, 7471);

	ib_path_answer("before", id);
	ib_knob("hca1/1/lid", "9");
	quiet_answer("lid_event", ch);
	resolve_again("lid", ch);
	ib_path_answer("existing", id);
	ib_knob("hca1/1/lid", "2");
	ib_knob("sm_lid", "0x600");
	quiet_answer("sm_event", ch);
	resolve_again("sm", ch);
	ib_knob("sm_lid", "0x7ff");
	ib_knob("hca1/1/event", "gid_change");
	ib_knob("hca1/1/event", "pkey_change");
	quiet_answer("other_events", ch);
	resolve_again("after", ch);
}

/* Paths to other subnets have a global route header. */
GROUP(ib_global, ON_IB | ALONE)
{
	ib_keep_paths(false);
	ib_knob("sa_hop_limit", "64");
	ib_knob("sa_sl", "3");
	connect_all_the_way(IB_HERE);
	ib_knob("sa_hop_limit", "1");
	ib_knob("sa_sl", "0");
	ib_keep_paths(true);
}
