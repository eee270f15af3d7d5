// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/* rdma_listen, the listener of a request, the backlog: reference sections 1.1 and 5. */
#include "steps.h"

GROUP(listen, IN_DEBUG)
{
	struct rdma_event_channel *ch = channel();
	struct rdma_cm_id *id = make_id(ch, RDMA_PS_TCP), *other;
	int port;

	RET("unbound", rdma_listen(id, 4));
	answer("unbound_port", "%s verbs=%s", yes(port_of(id)), yes(id->verbs));
	addr_answer("unbound_address", id, port_of(id));
	id = make_bound(ch, HERE, 0);
	port = port_of(id);
	RET("bound", rdma_listen(id, 4));
	answer("same_port", "%s", yes(port_of(id) == port));
	RET("again", rdma_listen(id, 4));
	other = make_id(ch, RDMA_PS_TCP);
	RET("port_taken", rdma_bind_addr(other, at(HERE, port)));
	id = make_bound(ch, HERE, 0);
	RET("backlog_zero", rdma_listen(id, 0));
	id = make_bound(ch, HERE, 0);
	RET("backlog_negative", rdma_listen(id, -1));
	id = make_bound(ch, HERE, 0);
	RET("backlog_huge", rdma_listen(id, 1000000));
	id = make_resolved(ch, HERE, 7777);
	RET("resolved", rdma_listen(id, 4));
	quiet_answer("events", ch);
	id = make_bound(ch, NULL, 0);
	RET("wildcard", rdma_listen(id, 0));
	other = make_id(ch, RDMA_PS_TCP);
	RET("address_beside_wildcard", rdma_bind_addr(other, at(HERE, port_of(id))));
	RET("destroy", rdma_destroy_id(id));
	RET("address_after_wildcard", rdma_bind_addr(other, at(HERE, port)));
}

/* A client connects; prints the child of a listener on `where`. */
static void child_of(const char *name, const char *where, const char *dst)
{
	struct rdma_event_channel *passive = channel(), *active = channel();
	struct rdma_cm_id *listener, *client, *child;
	struct rdma_conn_param param = conn_param();
	struct rdma_cm_event *event;
	char check[64];
	int port;

	listener = make_bound(passive, where, 0);
	listener->context = name ? (void *)name : NULL;
	NEED(rdma_listen(listener, 0));
	port = port_of(listener);
	client = make_routed(active, dst, port);
	make_qp(client);
	NEED(rdma_connect(client, &param));
	event = get_event(passive, SOON);
	if (!event) {
		answer(name, "no request");
		return;
	}
	child = event->id;
	answer(name, "%s listener=%s context=%s channel=%s verbs=%s pd=%s qp=%s port_num=%u ps=%#x "
	       "type=%s paths=%d", event_name(event->event), yes(event->listen_id == listener),
	       yes(child->context == listener->context), yes(child->channel == passive),
	       yes(child->verbs == client->verbs), yes(child->pd == client->pd), yes(child->qp),
	       child->port_num, child->ps, child->qp_type == IBV_QPT_RC ? "RC" : "other",
	       child->route.num_paths);
	snprintf(check, sizeof(check), "%s_addresses", name);
	addr_answer(check, child, port);
	snprintf(check, sizeof(check), "%s_peer_port", name);
	answer(check, "%s", yes(rdma_get_dst_port(child) == rdma_get_src_port(client)));
	NEED(rdma_ack_cm_event(event));
	NEED(rdma_destroy_id(child));
	snprintf(check, sizeof(check), "%s_destroyed", name);
	event_answer(check, active, SOON);
	rdma_destroy_qp(client);
	NEED(rdma_destroy_id(client));
	NEED(rdma_destroy_id(listener));
	rdma_destroy_event_channel(active);
	rdma_destroy_event_channel(passive);
}

GROUP(children, IN_DEBUG)
{
	child_of("address", HERE, HERE);
	child_of("wildcard", NULL, HERE);
	child_of("wildcard_second_address", NULL, THERE);
	child_of("wildcard_other_device", NULL, ELSEWHERE);
	child_of("loopback", "127.0.0.1", HERE);
	child_of("ipv6", HERE6, HERE6);
	child_of("wildcard6", "::", HERE6);
	child_of("wildcard6_ipv4", "::", HERE);
}

/* Result of a client without a listener, or with the wrong one. */
static void turned_away(const char *check, const char *where, const char *dst, int afonly)
{
	struct rdma_event_channel *passive = channel(), *active = channel();
	struct rdma_conn_param param = conn_param();
	struct rdma_cm_id *listener = NULL, *client;
	char name[64];
	int port = 6999;

	if (where) {
		listener = make_id(passive, RDMA_PS_TCP);
		if (afonly)
			NEED(rdma_set_option(listener, RDMA_OPTION_ID, RDMA_OPTION_ID_AFONLY,
					     &afonly, sizeof(afonly)));
		NEED(rdma_bind_addr(listener, at(where, 0)));
		NEED(rdma_listen(listener, 0));
		port = port_of(listener);
	}
	client = make_routed(active, dst, port);
	make_qp(client);
	NEED(rdma_connect(client, &param));
	conn_answer(check, active);
	snprintf(name, sizeof(name), "%s_qp", check);
	answer(name, "%s", qp_state(client->qp));
	snprintf(name, sizeof(name), "%s_passive", check);
	quiet_answer(name, passive);
}

GROUP(turned_away, 0)
{
	turned_away("no_listener", NULL, HERE, 0);
	turned_away("other_address", THERE, HERE, 0);
	turned_away("other_device", ELSEWHERE, HERE, 0);
	turned_away("afonly", "::", HERE, 1);
	turned_away("other_family", HERE6, HERE, 0);
}

GROUP(listener_destroyed, 0)
{
	struct pair first = make_halves(RDMA_PS_TCP, true);
	struct rdma_event_channel *active = channel();
	struct rdma_cm_id *second = make_routed(active, HERE, first.port);
	struct rdma_conn_param param = conn_param();

	/* One request read, one not. */
	NEED(rdma_connect(first.client, &param));
	first.child = get_child(first.passive);
	make_qp(second);
	NEED(rdma_connect(second, &param));
	usleep(300000);
	RET("destroy", rdma_destroy_id(first.listener));
	event_answer("unfetched", active, SOON);
	quiet_answer("fetched", first.active);
	make_qp(first.child);
	RET("accept", rdma_accept(first.child, &param));
	event_answer("fetched_event", first.active, SOON);
	event_answer("child_event", first.passive, SOON);
}

/* Milliseconds without a retransmission, apart from exceptions. */
#define AT_ONCE 5

GROUP(backlog, WAITS | SLOW)
{
	struct rdma_event_channel *passive = channel(), *active = channel();
	struct rdma_cm_id *listener = make_bound(passive, HERE, 0), *client;
	struct rdma_conn_param param = conn_param();
	struct rdma_cm_event *event;
	int n, port = port_of(listener), fetched = 0;

	NEED(rdma_listen(listener, 2));
	for (n = 0; n < 4; n++) {
		client = make_routed(active, HERE, port);
		make_qp(client);
		NEED(rdma_connect(client, &param));
	}
	usleep(1000000);
	/*
	 * Requests beyond the backlog are delivered when the client retransmits them, soon or late.
	 */
	while (fetched < 4 && (event = get_event(passive, fetched < 2 ? 1000 : AT_ONCE))) {
		fetched++;
		NEED(rdma_ack_cm_event(event));
	}
	answer("waited", "%d", fetched);
	while (fetched < 4 && (event = get_event(passive, 15000))) {
		fetched++;
		NEED(rdma_ack_cm_event(event));
	}
	answer("all", "%d", fetched);
}
