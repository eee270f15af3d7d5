// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/* The network changes under ids: a bond that fails over, a neighbour with another address. */
#include "steps.h"

static void command(const char *line)
{
	NEED(system(line));
}

/* A bond of two devices with an RDMA device on it, on the first of the two. */
static void add_bond(void)
{
	/* This process will have the RDMA device open, so it cannot remove the device. */
	at_group_end("rdma link del rbond; ip link del bond7; ip link del s0; ip link del s1");
	command("modprobe -a bonding dummy");
	command("ip link add s0 type dummy && ip link add s1 type dummy && "
		"ip link add bond7 type bond mode active-backup fail_over_mac active miimon 50");
	command("ip link set s0 master bond7 && ip link set s1 master bond7 && "
		"ip link set bond7 up && ip link set bond7 type bond active_slave s0");
	command("ip addr add 10.5.0.1/24 dev bond7 && ip addr add 10.5.0.2/24 dev bond7 && "
		"rdma link add rbond type rxe netdev bond7");
}

GROUP(addr_change, ALONE)
{
	struct rdma_event_channel *ch = channel(), *waiting = channel(), *passive = channel();
	struct rdma_event_channel *other = channel();
	struct rdma_cm_id *listener, *client, *child, *second, *request, *bound, *wildcard;
	struct rdma_conn_param param = conn_param();
	int port;

	add_bond();
	listener = make_listener(passive, "10.5.0.1", &port);
	client = make_routed(ch, "10.5.0.1", port);
	make_qp(client);
	NEED(rdma_connect(client, &param));
	child = get_child(passive);
	make_qp(child);
	NEED(rdma_accept(child, &param));
	expect(ch, RDMA_CM_EVENT_ESTABLISHED);
	expect(passive, RDMA_CM_EVENT_ESTABLISHED);
	second = make_routed(waiting, "10.5.0.1", port);
	make_qp(second);
	NEED(rdma_connect(second, &param));
	request = get_child(passive);
	bound = make_bound(other, "10.5.0.2", 0);
	wildcard = make_bound(other, NULL, 0);
	NEED(rdma_listen(wildcard, 0));
	command("ip link set bond7 type bond active_slave s1");
	event_answer("connected", ch, SOON);
	event_answer("connecting", waiting, SOON);
	event_answer("listener", passive, SOON);
	event_answer("child", passive, SOON);
	/* The request has not been accepted: its id gets no event. */
	quiet_answer("request", passive);
	event_answer("bound", other, SOON);
	quiet_answer("wildcard", other);
	command("ip link set bond7 type bond active_slave s0");
	quiet_answer("back", ch);
	/* The bond has new GIDs: no message of the connections arrives. */
	rdma_destroy_qp(client);
	rdma_destroy_qp(child);
	rdma_destroy_qp(second);
	RET("destroy", rdma_destroy_id(client));
	RET("destroy_child", rdma_destroy_id(child));
	RET("destroy_second", rdma_destroy_id(second));
	RET("destroy_request", rdma_destroy_id(request));
	RET("destroy_bound", rdma_destroy_id(bound));
	RET("destroy_listener", rdma_destroy_id(listener));
}

#define NEIGHBOUR "10.7.0.77"

static void set_neighbour(const char *mac)
{
	char line[128];

	snprintf(line, sizeof(line),
		 "ip neigh replace " NEIGHBOUR " lladdr %s dev v0 nud permanent", mac);
	command(line);
}

GROUP(neighbour_change, ALONE)
{
	struct rdma_event_channel *ch = channel(), *early = channel(), *far = channel();
	struct rdma_cm_id *routed, *resolved, *elsewhere;

	set_neighbour("02:00:00:00:77:01");
	resolved = make_resolved(early, NEIGHBOUR, 7777);
	routed = make_routed(ch, NEIGHBOUR, 7777);
	elsewhere = make_routed(far, HERE, 7777);
	set_neighbour("02:00:00:00:77:01");
	quiet_answer("same", ch);
	set_neighbour("02:00:00:00:77:02");
	event_answer("routed", ch, SOON);
	quiet_answer("once", ch);
	quiet_answer("resolved", early);
	quiet_answer("elsewhere", far);
	set_neighbour("02:00:00:00:77:03");
	event_answer("again", ch, SOON);
	/* The id is not on the bond. */
	RET("route", rdma_resolve_route(resolved, SOON));
	event_answer("route_event", early, SOON);
	RET("destroy", rdma_destroy_id(routed));
	RET("destroy_resolved", rdma_destroy_id(resolved));
	RET("destroy_elsewhere", rdma_destroy_id(elsewhere));
	command("ip neigh del " NEIGHBOUR " dev v0");
}
