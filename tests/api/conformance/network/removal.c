// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/* A device is removed while ids use it: reference sections 0 and 4. */
#include "steps.h"

/* Add a network device of the group's own, with an RDMA device. */
static void add_device(const char *netdev, const char *ip)
{
	char command[256];

	/* Remove the devices that an earlier run may have left. */
	snprintf(command, sizeof(command),
		 "rdma link del r%s 2>/dev/null; ip link del %s 2>/dev/null", netdev, netdev);
	NEED(system(command) == -1);
	snprintf(command, sizeof(command),
		 "ip link add %s type dummy && ip link set %s up && ip addr add %s/24 dev %s && "
		 "rdma link add r%s type rxe netdev %s", netdev, netdev, ip, netdev, netdev,
		 netdev);
	NEED(system(command));
}

/*
 * The verbs context of this process holds the RDMA device: the command continues in the
 * background.
 */
static void remove_device(const char *netdev)
{
	char command[128];

	snprintf(command, sizeof(command), "(rdma link del r%s; ip link del %s) >/dev/null 2>&1 &",
		 netdev, netdev);
	NEED(system(command));
}

GROUP(removal, ALONE | SLOW)
{
	struct rdma_event_channel *ch = channel(), *wild = channel();
	struct rdma_cm_id *bound, *resolved, *listener, *wildcard;
	struct ibv_qp_attr attr = { .qp_state = IBV_QPS_INIT };
	int port, mask;

	add_device("gone0", "10.4.0.1");
	bound = make_bound(ch, "10.4.0.1", 0);
	resolved = make_resolved(ch, "10.4.0.1", 7777);
	listener = make_listener(ch, "10.4.0.1", &port);
	wildcard = make_bound(wild, NULL, 0);
	NEED(rdma_listen(wildcard, 0));
	remove_device("gone0");
	event_answer("first", ch, SOON);
	event_answer("second", ch, SOON);
	event_answer("third", ch, SOON);
	quiet_answer("fourth", ch);
	quiet_answer("wildcard", wild);
	RET("listen", rdma_listen(bound, 0));
	RET("route", rdma_resolve_route(resolved, SOON));
	RET("attr", rdma_init_qp_attr(bound, &attr, &mask));
	RET("disconnect", rdma_disconnect(resolved));
	RET("option", rdma_set_option(bound, RDMA_OPTION_ID, RDMA_OPTION_ID_TOS, &(char){ 1 }, 1));
	RET("migrate", rdma_migrate_id(bound, wild));
	RET("destroy", rdma_destroy_id(bound));
	RET("destroy_resolved", rdma_destroy_id(resolved));
	RET("destroy_listener", rdma_destroy_id(listener));
	RET("destroy_wildcard", rdma_destroy_id(wildcard));
}

GROUP(removal_connected, ALONE | SLOW)
{
	struct rdma_event_channel *ch = channel();
	struct rdma_conn_param param = conn_param();
	struct rdma_cm_id *listener, *client, *child;
	struct rdma_cm_event *event;
	int port, removals = 0;

	add_device("gone1", "10.3.0.1");
	listener = make_listener(ch, NULL, &port);
	client = make_routed(ch, "10.3.0.1", port);
	make_qp(client);
	NEED(rdma_connect(client, &param));
	child = get_child(ch);
	make_qp(child);
	NEED(rdma_accept(child, &param));
	expect(ch, RDMA_CM_EVENT_ESTABLISHED);
	expect(ch, RDMA_CM_EVENT_ESTABLISHED);
	remove_device("gone1");
	/* The disconnect by the peer's id may be the first event. */
	while ((event = get_event(ch, removals < 2 ? SOON : QUIET))) {
		removals += event->event == RDMA_CM_EVENT_DEVICE_REMOVAL;
		NEED(rdma_ack_cm_event(event));
	}
	answer("removals", "%d", removals);
	RET("disconnect", rdma_disconnect(client));
	rdma_destroy_qp(client);
	rdma_destroy_qp(child);
	RET("destroy", rdma_destroy_id(client));
	RET("destroy_child", rdma_destroy_id(child));
	/* The wildcard listener still serves the other devices. */
	client = make_routed(ch, HERE, port);
	make_qp(client);
	RET("connect", rdma_connect(client, &param));
	event_answer("request", ch, SOON);
	RET("destroy_listener", rdma_destroy_id(listener));
}
