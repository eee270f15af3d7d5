// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/* rdma_resolve_addr, rdma_resolve_route: reference sections 1.1, 4 and 5. */
#include "steps.h"

#include <infiniband/sa.h>

static void route_answer(const char *check, const struct rdma_cm_id *id)
{
	const struct ibv_sa_path_rec *path = id->route.path_rec;

	if (!path) {
		answer(check, "paths=%d none", id->route.num_paths);
		return;
	}
	answer(check, "paths=%d gids=%s mtu=%u rate=%u lifetime=%u tclass=%u hop=%u sl=%u "
	       "reversible=%d selectors=%u,%u,%u pkey=%#x numb=%u raw=%d flow=%s",
	       id->route.num_paths,
	       yes(!memcmp(&path->sgid, &id->route.addr.addr.ibaddr.sgid, 16) &&
		   !memcmp(&path->dgid, &id->route.addr.addr.ibaddr.dgid, 16)),
	       path->mtu, path->rate, path->packet_life_time, path->traffic_class, path->hop_limit,
	       path->sl, path->reversible, path->mtu_selector, path->rate_selector,
	       path->packet_life_time_selector, ntohs(path->pkey), path->numb_path,
	       path->raw_traffic, path->flow_label ? "set" : "0");
}

/* A call that is refused, with a new id; then a correct one: does the id still work? */
static void refused(const char *check, struct sockaddr *src, struct sockaddr *dst)
{
	struct rdma_event_channel *ch = channel();
	struct rdma_cm_id *id = make_id(ch, RDMA_PS_TCP);
	char after[64];

	RET(check, rdma_resolve_addr(id, src, dst, SOON));
	snprintf(after, sizeof(after), "%s_then", check);
	RET(after, rdma_resolve_addr(id, NULL, at(HERE, 7777), SOON));
	NEED(rdma_destroy_id(id));
	rdma_destroy_event_channel(ch);
}

GROUP(resolve_addr, IN_DEBUG)
{
	struct rdma_event_channel *ch = channel();
	struct rdma_cm_id *id = make_id(ch, RDMA_PS_TCP);
	struct sockaddr odd = { .sa_family = AF_UNIX };

	refused("null", NULL, NULL);
	refused("family", NULL, &odd);
	refused("source_family", &odd, at(HERE, 1));
	refused("families_differ", at(HERE6, 0), at(HERE, 1));
	refused("source_not_local", at(NOT_OURS, 0), at(HERE, 1));
	refused("no_route", NULL, at(NOT_OURS, 1));
	RET("address", rdma_resolve_addr(id, NULL, at(HERE, 7777), SOON));
	addr_answer("before_event", id, 7777);
	answer("verbs_before_event", "%s port_num=%u", yes(id->verbs), id->port_num);
	RET("while_resolving", rdma_resolve_addr(id, NULL, at(HERE, 7777), SOON));
	event_answer("event", ch, SOON);
	answer("verbs", "%s pd=%s port_num=%u", yes(id->verbs), yes(id->pd), id->port_num);
	answer("dst", "%d", ntohs(rdma_get_dst_port(id)));
	addr_answer("addresses", id, 7777);
	answer("source_port", "%s", yes(port_of(id)));
	RET("again", rdma_resolve_addr(id, NULL, at(HERE, 7777), SOON));
	quiet_answer("nothing_more", ch);
}

GROUP(resolve_source, 0)
{
	struct rdma_event_channel *ch = channel();
	struct rdma_cm_id *id = make_id(ch, RDMA_PS_TCP);
	int port;

	RET("source", rdma_resolve_addr(id, at(THERE, 0), at(HERE, 7777), SOON));
	event_answer("source_event", ch, SOON);
	addr_answer("source_addresses", id, 7777);

	id = make_bound(ch, HERE, 0);
	port = port_of(id);
	RET("bound", rdma_resolve_addr(id, at(THERE, 0), at(HERE, 7777), SOON));
	event_answer("bound_event", ch, SOON);
	addr_answer("bound_addresses", id, port);

	id = make_id(ch, RDMA_PS_TCP);
	RET("source_port", rdma_resolve_addr(id, at(HERE, port), at(HERE, 7777), SOON));

	id = make_id(ch, RDMA_PS_TCP);
	RET("source_family_zero", rdma_resolve_addr(id, &(struct sockaddr){ 0 }, at(HERE, 1),
						    SOON));

	id = make_id(ch, RDMA_PS_TCP);
	RET("source_wildcard", rdma_resolve_addr(id, at(NULL, 0), at(HERE, 7777), SOON));
	event_answer("source_wildcard_event", ch, SOON);
	addr_answer("source_wildcard_addresses", id, 7777);

	id = make_bound(ch, NULL, 0);
	port = port_of(id);
	RET("bound_wildcard", rdma_resolve_addr(id, NULL, at(HERE, 7777), SOON));
	event_answer("bound_wildcard_event", ch, SOON);
	addr_answer("bound_wildcard_addresses", id, port);

	id = make_bound(ch, HERE6, 0);
	RET("bound_other_family", rdma_resolve_addr(id, NULL, at(HERE, 7777), SOON));
}

/* A destination that may or may not resolve, and the fields of the id then. */
static void resolved(const char *check, const char *src, const char *dst, int timeout)
{
	struct rdma_event_channel *ch = channel();
	struct rdma_cm_id *id = make_id(ch, RDMA_PS_TCP);
	char name[64];

	if (!RET(check, rdma_resolve_addr(id, src ? at(src, 0) : NULL, at(dst, 7777), timeout))) {
		snprintf(name, sizeof(name), "%s_event", check);
		event_answer(name, ch, 6000);
		snprintf(name, sizeof(name), "%s_addresses", check);
		addr_answer(name, id, 7777);
		snprintf(name, sizeof(name), "%s_route", check);
		if (!id->verbs) {
			answer(name, "no device");
		} else if (!RET(name, rdma_resolve_route(id, SOON))) {
			snprintf(name, sizeof(name), "%s_path", check);
			event_answer(name, ch, 2000);
		}
	}
	NEED(rdma_destroy_id(id));
	rdma_destroy_event_channel(ch);
}

GROUP(resolve_ipv6, 0)
{
	struct rdma_event_channel *ch = channel();
	struct rdma_cm_id *id = make_id(ch, RDMA_PS_TCP);

	RET("address", rdma_resolve_addr(id, NULL, at(HERE6, 7777), SOON));
	event_answer("event", ch, SOON);
	addr_answer("addresses", id, 7777);
	RET("route", rdma_resolve_route(id, SOON));
	event_answer("route_event", ch, SOON);
	route_answer("path", id);
	resolved("no_route", NULL, "2001:db8::1", 500);
	resolved("mapped", NULL, "::ffff:" HERE, 500);
	resolved("source", THERE6, HERE6, SOON);
}

GROUP(resolve_link_local, WAITS)
{
	struct rdma_event_channel *ch = channel();
	struct rdma_cm_id *id = make_id(ch, RDMA_PS_TCP);

	/* The source is an address of some device, which differs from boot to boot. */
	RET("without_scope", rdma_resolve_addr(id, NULL, at("fe80::77", 7777), 500));
	event_answer("without_scope_event", ch, 6000);
	answer("without_scope_verbs", "%s", yes(id->verbs));
}

GROUP(resolve_loopback, 0)
{
	resolved("ipv4", NULL, "127.0.0.1", SOON);
	resolved("wildcard", NULL, "0.0.0.0", SOON);
	resolved("ipv6", NULL, "::1", SOON);
	resolved("wildcard6", NULL, "::", SOON);
	resolved("source", HERE, "127.0.0.1", SOON);
	resolved("source_loopback", "127.0.0.1", HERE, SOON);
	resolved("multicast", NULL, "239.1.1.1", SOON);
	resolved("broadcast", NULL, "10.9.0.255", 500);
}

GROUP(resolve_failure, WAITS)
{
	struct rdma_event_channel *ch = channel();
	struct rdma_cm_id *id = make_id(ch, RDMA_PS_TCP);

	RET("nobody", rdma_resolve_addr(id, NULL, at(NOBODY, 7777), 500));
	event_answer("nobody_event", ch, SOON);
	answer("verbs", "%s", yes(id->verbs));
	addr_answer("addresses", id, 7777);
	RET("retry_same_netdev", rdma_resolve_addr(id, NULL, at(NOBODY, 7777), 500));
	event_answer("retry_event", ch, SOON);
	RET("retry_other_netdev", rdma_resolve_addr(id, NULL, at(HERE, 7777), 500));
	event_answer("retry_other_event", ch, SOON);
	NEED(rdma_destroy_id(id));
	id = make_id(ch, RDMA_PS_TCP);
	RET("cancelled", rdma_resolve_addr(id, NULL, at(NOBODY, 7777), 60000));
	RET("destroy", rdma_destroy_id(id));
	quiet_answer("after_destroy", ch);
	resolved("timeout_zero", NULL, NOBODY, 0);
	resolved("timeout_zero_here", NULL, HERE, 0);
	resolved("timeout_negative", NULL, HERE, -1);
	/* The duration is about the timeout. */
	resolved("timeout_1000", NULL, "10.7.0.98", 1000);
}

GROUP(resolve_plain_netdev, 0)
{
	struct rdma_event_channel *ch = channel();
	struct rdma_cm_id *id = make_id(ch, RDMA_PS_TCP);

	NEED(system("ip link add plain1 type dummy; ip link set plain1 up; "
		    "ip addr add 10.6.0.1/24 dev plain1; "
		    "ip neigh add 10.6.0.2 lladdr 02:00:00:00:00:01 dev plain1") == -1);
	RET("neighbour", rdma_resolve_addr(id, NULL, at("10.6.0.2", 1), 2000));
	event_answer("neighbour_event", ch, 5000);
	id = make_id(ch, RDMA_PS_TCP);
	RET("own_address", rdma_resolve_addr(id, NULL, at("10.6.0.1", 1), 2000));
	event_answer("own_address_event", ch, 5000);
	NEED(system("ip link del plain1") == -1);
}

GROUP(resolve_route, IN_DEBUG)
{
	struct rdma_event_channel *ch = channel();
	struct rdma_cm_id *id = make_id(ch, RDMA_PS_TCP);

	RET("unbound", rdma_resolve_route(id, SOON));
	id = make_bound(ch, HERE, 0);
	RET("bound", rdma_resolve_route(id, SOON));
	id = make_resolved(ch, HERE, 7777);
	RET("timeout_zero", rdma_resolve_route(id, 0));
	route_answer("path_before", id);
	RET("route", rdma_resolve_route(id, SOON));
	RET("while_resolving", rdma_resolve_route(id, SOON));
	event_answer("event", ch, SOON);
	route_answer("path", id);
	RET("again", rdma_resolve_route(id, SOON));
	RET("address_again", rdma_resolve_addr(id, NULL, at(HERE, 7777), SOON));
	quiet_answer("nothing_more", ch);
	id = make_resolved(ch, ELSEWHERE, 7777);
	RET("timeout_negative", rdma_resolve_route(id, -1));
	event_answer("timeout_negative_event", ch, SOON);
	route_answer("path_elsewhere", id);
}

GROUP(resolve_af_ib, 0)
{
	struct rdma_event_channel *ch = channel();
	struct rdma_cm_id *id = make_id(ch, RDMA_PS_IB);
	struct {
		unsigned short family;
		unsigned short pkey;
		unsigned int flowinfo;
		unsigned char addr[16];
		unsigned long long sid, mask, scope;
	} ib = { .family = AF_IB, .pkey = 0xffff, .addr = { 0xfe, 0x80, [15] = 1 } };

	_Static_assert(sizeof(ib) == 48, "sockaddr_ib");
	RET("resolve", rdma_resolve_addr(id, NULL, (struct sockaddr *)&ib, SOON));
	quiet_answer("event", ch);
	id = make_id(ch, RDMA_PS_TCP);
	ib.sid = 0xbadULL << 20;
	RET("bind_wrong_service", rdma_bind_addr(id, (struct sockaddr *)&ib));
}
