// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * Addresses of family AF_IB where ports have some: binding, resolving, connections and
 * datagrams by GID and service ID. tests/fabric/fabrics/ib.py sets the rig up.
 */
#include "ib.h"

#include <endian.h>

#define ALL UINT64_MAX
#define TCP_SID 0x1060000ULL
#define UDP_SID 0x1110000ULL
#define IB_SID 0x13f0000ULL

static char data[256];

static const char *gid_of(const struct sockaddr *addr)
{
	const struct sockaddr_ib *sib = (const void *)addr;
	union ibv_gid here = ib_gid(0), there = ib_gid(1), gid;

	memcpy(&gid, &sib->sib_addr, sizeof(gid));
	return ib_gid_name(&gid, &here, &there);
}

/* Both addresses; for a port that the kernel chose, only that there is one. */
static void gids_answer(const char *check, struct rdma_cm_id *id, bool chosen)
{
	const struct sockaddr_ib *src = (void *)rdma_get_local_addr(id);
	const struct sockaddr_ib *dst = (void *)rdma_get_peer_addr(id);
	uint64_t sid = be64toh(src->sib_sid);

	answer(check, "family=%d/%d gid=%s/%s pkey=%#x/%#x sid=%#llx mask=%#llx dst_sid=%#llx",
	       src->sib_family, dst->sib_family, gid_of((void *)src), gid_of((void *)dst),
	       ntohs(src->sib_pkey), ntohs(dst->sib_pkey),
	       (unsigned long long)(chosen ? sid >> 16 : sid),
	       (unsigned long long)be64toh(src->sib_sid_mask),
	       (unsigned long long)be64toh(dst->sib_sid));
}

GROUP(ib_gid_bind, ON_IB | ALONE)
{
	static const struct {
		const char *name;
		enum rdma_port_space ps;
		uint64_t sid;
		uint64_t mask;
	} cases[] = {
		{ "tcp", RDMA_PS_TCP, TCP_SID + 7001, ALL },
		{ "tcp_port", RDMA_PS_TCP, 7002, 0xffff },
		{ "tcp_any", RDMA_PS_TCP, 0, 0 },
		{ "tcp_udp", RDMA_PS_TCP, UDP_SID + 7003, ALL },
		{ "udp", RDMA_PS_UDP, UDP_SID + 7004, ALL },
		{ "udp_tcp", RDMA_PS_UDP, TCP_SID + 7005, ALL },
		{ "ib", RDMA_PS_IB, IB_SID + 7006, ALL },
		{ "ib_tcp", RDMA_PS_IB, TCP_SID + 7007, ALL },
		{ "ib_udp", RDMA_PS_IB, UDP_SID + 7008, ALL },
		{ "ib_any", RDMA_PS_IB, 0, 0 },
		{ "ib_other", RDMA_PS_IB, 0x1000000000000001ULL, ALL },
		{ "ipoib", RDMA_PS_IPOIB, 0x20000ULL + 7009, ALL },
	};
	struct rdma_event_channel *ch = channel();
	union ibv_gid here = ib_gid(0), other = here;
	struct rdma_cm_id *id;
	char check[64];

	for (unsigned int n = 0; n < sizeof(cases) / sizeof(*cases); n++) {
		id = make_id(ch, cases[n].ps);
		if (!RET(cases[n].name, rdma_bind_addr(id, ib_at(&here, cases[n].sid,
								 cases[n].mask)))) {
			snprintf(check, sizeof(check), "%s_address", cases[n].name);
			gids_answer(check, id, !(cases[n].sid & 0xffff));
			snprintf(check, sizeof(check), "%s_place", cases[n].name);
			answer(check, "device=%s port=%u pkey=%#x",
			       ibv_get_device_name(id->verbs->device), id->port_num,
			       ntohs(id->route.addr.addr.ibaddr.pkey));
			snprintf(check, sizeof(check), "%s_listen", cases[n].name);
			RET(check, rdma_listen(id, 5));
		}
		NEED(rdma_destroy_id(id));
	}
	other.raw[15] ^= 0xff;
	RET("other_gid", rdma_bind_addr(make_id(ch, RDMA_PS_TCP), ib_at(&other, TCP_SID, ALL)));
	id = make_id(ch, RDMA_PS_TCP);
	NEED(rdma_bind_addr(id, ib_at(&here, TCP_SID + 7020, ALL)));
	RET("same", rdma_bind_addr(make_id(ch, RDMA_PS_TCP), ib_at(&here, TCP_SID + 7020, ALL)));
	RET("same_ip", rdma_bind_addr(make_id(ch, RDMA_PS_TCP), at(IB_HERE, 7020)));
	RET("same_wildcard", rdma_bind_addr(make_id(ch, RDMA_PS_TCP),
					    ib_at(NULL, TCP_SID + 7020, ALL)));
}

GROUP(ib_gid_resolve, ON_IB | IN_DEBUG)
{
	struct rdma_event_channel *ch = channel();
	struct rdma_cm_id *id = make_id(ch, RDMA_PS_TCP);
	union ibv_gid here = ib_gid(0), there = ib_gid(1), other = here;
	struct sockaddr_ib *addr;

	RET("there", rdma_resolve_addr(id, NULL, ib_at(&there, TCP_SID + 7471, ALL), SOON));
	event_answer("there_event", ch, SOON);
	gids_answer("there_address", id, true);
	RET("route", rdma_resolve_route(id, SOON));

	ch = channel();
	id = make_id(ch, RDMA_PS_TCP);
	RET("from", rdma_resolve_addr(id, ib_at(&here, 0, 0), ib_at(&there, TCP_SID + 7471, ALL),
				      SOON));
	event_answer("from_event", ch, SOON);
	gids_answer("from_address", id, true);
	RET("from_route", rdma_resolve_route(id, SOON));
	event_answer("from_route_event", ch, SOON);
	ib_path_answer("from_path", id);

	/* A GID of the subnet that no port has: the administrator reports that. */
	other.raw[15] ^= 0x55;
	id = make_id(ch, RDMA_PS_TCP);
	RET("unknown", rdma_resolve_addr(id, ib_at(&here, 0, 0), ib_at(&other, TCP_SID + 7471, ALL),
					 SOON));
	event_answer("unknown_event", ch, SOON);
	RET("unknown_route", rdma_resolve_route(id, SOON));
	event_answer("unknown_route_event", ch, SOON);

	other.raw[0] = 0x20;
	id = make_id(ch, RDMA_PS_TCP);
	RET("other_subnet", rdma_resolve_addr(id, NULL, ib_at(&other, TCP_SID + 7471, ALL), SOON));
	quiet_answer("other_subnet_event", ch);
	addr = (void *)ib_at(&there, TCP_SID + 7471, ALL);
	addr->sib_pkey = htons(0x8123);
	id = make_id(ch, RDMA_PS_TCP);
	RET("other_pkey", rdma_resolve_addr(id, NULL, (void *)addr, SOON));
	id = make_id(ch, RDMA_PS_TCP);
	NEED(rdma_bind_addr(id, at(IB_HERE, 0)));
	RET("bound_to_ip", rdma_resolve_addr(id, NULL, ib_at(&there, TCP_SID + 7471, ALL), SOON));
	id = make_id(ch, RDMA_PS_IB);
	RET("any_sid", rdma_resolve_addr(id, NULL, ib_at(&there, 0x1000000000000001ULL, ALL),
					 SOON));
	event_answer("any_sid_event", ch, SOON);
}

struct ends {
	struct rdma_event_channel *active, *passive;
	struct rdma_cm_id *listener, *client, *child;
};

/* A listener on @gid, NULL the wildcard, and a client with its route. */
static struct ends make_ends(enum rdma_port_space ps, const union ibv_gid *gid, uint64_t sid)
{
	struct ends ends = { .active = channel(), .passive = channel() };
	union ibv_gid here = ib_gid(0);

	ends.listener = make_id(ends.passive, ps);
	NEED(rdma_bind_addr(ends.listener, ib_at(gid, sid, ALL)));
	NEED(rdma_listen(ends.listener, 0));
	ends.client = make_id(ends.active, ps);
	NEED(rdma_resolve_addr(ends.client, ib_at(&here, 0, 0),
			       ib_at(gid ? gid : &here, sid, ALL), SOON));
	expect(ends.active, RDMA_CM_EVENT_ADDR_RESOLVED);
	NEED(rdma_resolve_route(ends.client, SOON));
	expect(ends.active, RDMA_CM_EVENT_ROUTE_RESOLVED);
	make_qp(ends.client);
	return ends;
}

static void connect_gid(const union ibv_gid *gid, uint64_t sid)
{
	struct ends ends = make_ends(RDMA_PS_TCP, gid, sid);
	struct rdma_conn_param param = conn_param();
	struct rdma_cm_event *event;

	param.private_data = data;
	param.private_data_len = 93;
	RET("data_93", rdma_connect(ends.client, &param));
	param.private_data_len = 92;
	RET("connect", rdma_connect(ends.client, &param));
	event = get_event(ends.passive, 4000);
	if (!event) {
		answer("request", "no event");
		conn_answer("refused", ends.active);
		return;
	}
	show_conn("request", event);
	ends.child = event->id;
	NEED(rdma_ack_cm_event(event));
	gids_answer("child_address", ends.child, false);
	ib_path_answer("child_path", ends.child);
	make_qp(ends.child);
	param.private_data_len = 196;
	RET("accept", rdma_accept(ends.child, &param));
	conn_answer("established", ends.active);
	event_answer("child_established", ends.passive, SOON);
	RET("disconnect", rdma_disconnect(ends.client));
	event_answer("child_disconnected", ends.passive, SOON);
	RET("disconnect_child", rdma_disconnect(ends.child));
	event_answer("disconnected", ends.active, SOON);
}

GROUP(ib_gid_connect, ON_IB | IN_DEBUG)
{
	union ibv_gid there = ib_gid(1);

	strcpy(data + 2, "gid");
	connect_gid(&there, TCP_SID + 7101);
}

GROUP(ib_gid_connect_wildcard, ON_IB)
{
	strcpy(data + 2, "wild");
	connect_gid(NULL, TCP_SID + 7102);
}

/* Private data that stock's passive side parses as a header of an unknown version. */
GROUP(ib_gid_trap_version, ON_IB | IN_DEBUG)
{
	union ibv_gid there = ib_gid(1);

	strcpy(data, "hello");
	connect_gid(&there, TCP_SID + 7103);
}

/* Private data that stock's passive side parses as IPv4 addresses. */
GROUP(ib_gid_trap_ip, ON_IB)
{
	union ibv_gid there = ib_gid(1);

	data[1] = 0x45;
	strcpy(data + 2, "trap");
	connect_gid(&there, TCP_SID + 7104);
}

static void ask_gid(const union ibv_gid *gid, uint64_t sid)
{
	struct ends ends = make_ends(RDMA_PS_UDP, gid, sid);
	struct rdma_conn_param param = { .private_data = data, .private_data_len = 217 };
	struct rdma_cm_event *event;

	RET("data_217", rdma_connect(ends.client, &param));
	param.private_data_len = 216;
	RET("connect", rdma_connect(ends.client, &param));
	event = get_event(ends.passive, 4000);
	if (!event) {
		answer("request", "no event");
		event_answer("refused", ends.active, SOON);
		return;
	}
	show_ud("request", event);
	ends.child = event->id;
	NEED(rdma_ack_cm_event(event));
	gids_answer("child_address", ends.child, false);
	make_qp(ends.child);
	param.private_data_len = 136;
	RET("accept", rdma_accept(ends.child, &param));
	event = NEED_PTR(get_event(ends.active, SOON));
	show_ud("answer", event);
	NEED(rdma_ack_cm_event(event));
}

GROUP(ib_gid_udp, ON_IB | IN_DEBUG)
{
	union ibv_gid there = ib_gid(1);

	strcpy(data + 2, "udp");
	ask_gid(&there, UDP_SID + 7201);
}

GROUP(ib_gid_udp_wildcard, ON_IB)
{
	strcpy(data + 2, "wild");
	ask_gid(NULL, UDP_SID + 7202);
}

/* rdma_getaddrinfo and an endpoint, as programs use them. */
GROUP(ib_gid_endpoint, ON_IB)
{
	struct rdma_addrinfo hints = {
		.ai_flags = RAI_NUMERICHOST | RAI_FAMILY, .ai_family = AF_IB,
		.ai_port_space = RDMA_PS_TCP, .ai_qp_type = IBV_QPT_RC,
	}, *info;
	struct ibv_qp_init_attr attr = qp_attr();
	union ibv_gid here = ib_gid(0), there = ib_gid(1);
	struct rdma_cm_id *id;
	char text[64];

	NEED_PTR(inet_ntop(AF_INET6, &there, text, sizeof(text)));
	hints.ai_src_addr = ib_at(&here, 0, 0);
	hints.ai_src_len = sizeof(struct sockaddr_ib);
	RET("getaddrinfo", rdma_getaddrinfo(text, "7301", &hints, &info));
	answer("info", "family=%d len=%u gid=%s sid=%#llx", info->ai_family, info->ai_dst_len,
	       gid_of(info->ai_dst_addr), (unsigned long long)
	       be64toh(((struct sockaddr_ib *)info->ai_dst_addr)->sib_sid));
	RET("create_ep", rdma_create_ep(&id, info, NULL, &attr));
	gids_answer("address", id, true);
	ib_path_answer("path", id);
	rdma_destroy_ep(id);
	rdma_freeaddrinfo(info);
}
