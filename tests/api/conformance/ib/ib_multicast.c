// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/* Multicast groups of the subnet administrator. tests/fabric/fabrics/ib.py sets the rig up. */
#include "ib.h"

static struct rdma_cm_id *make_bound_to(struct rdma_event_channel *ch, enum rdma_port_space ps,
					const char *ip)
{
	struct rdma_cm_id *id = make_id(ch, ps);

	NEED(rdma_bind_addr(id, at(ip, 0)));
	make_qp(id);
	return id;
}

static void joined_answer(const char *check, struct rdma_event_channel *ch, bool chosen)
{
	struct rdma_cm_event *event = get_event(ch, SOON);
	char mgid[INET6_ADDRSTRLEN] = "chosen";
	const struct ibv_ah_attr *ah;

	if (!event) {
		answer(check, "no event");
		return;
	}
	ah = &event->param.ud.ah_attr;
	if (!chosen)
		inet_ntop(AF_INET6, &ah->grh.dgid, mgid, sizeof(mgid));
	answer(check, "%s status=%d mgid=%s mlid=%s qpn=%#x qkey=%#x sl=%u rate=%u global=%u "
	       "port=%u hop=%u tclass=%u flow=%u", event_name(event->event), event->status, mgid,
	       ah->dlid >= 0xc000 ? "set" : "none", event->param.ud.qp_num,
	       event->param.ud.qkey, ah->sl, ah->static_rate, ah->is_global, ah->port_num,
	       ah->grh.hop_limit, ah->grh.traffic_class, ah->grh.flow_label);
	NEED(rdma_ack_cm_event(event));
}

GROUP(ib_multicast, ON_IB | IN_DEBUG)
{
	struct rdma_event_channel *ch = channel();
	struct rdma_cm_id *id = make_bound_to(ch, RDMA_PS_UDP, IB_HERE);
	union ibv_gid mgid;

	RET("join", rdma_join_multicast(id, at("239.8.1.1", 0), &ch));
	joined_answer("event", ch, false);
	RET("join6", rdma_join_multicast(id, at("ff0e::8:1", 0), &ch));
	joined_answer("event6", ch, false);
	NEED(inet_pton(AF_INET6, "ff12:a01b:fe80::1234", &mgid) != 1);
	RET("join_assigned", rdma_join_multicast(id, at("ff12:a01b:fe80::1234", 0), &ch));
	joined_answer("event_assigned", ch, false);
	mgid.raw[15] ^= 1;
	RET("join_gid", rdma_join_multicast(id, ib_at(&mgid, 0, 0), &ch));
	joined_answer("event_gid", ch, false);
	RET("leave", rdma_leave_multicast(id, at("239.8.1.1", 0)));
	RET("leave_gid", rdma_leave_multicast(id, ib_at(&mgid, 0, 0)));
	RET("join_again", rdma_join_multicast(id, at("239.8.1.1", 0), &ch));
	joined_answer("event_again", ch, false);
	RET("no_group", rdma_join_multicast(id, at("10.8.0.9", 0), &ch));
}

GROUP(ib_multicast_any, ON_IB)
{
	struct rdma_event_channel *ch = channel();
	struct rdma_cm_id *id = make_bound_to(ch, RDMA_PS_UDP, IB_HERE);

	RET("join", rdma_join_multicast(id, at(NULL, 0), &ch));
	joined_answer("event", ch, true);
}

GROUP(ib_multicast_flags, ON_IB)
{
	struct rdma_event_channel *ch = channel();
	struct rdma_cm_id *id = make_bound_to(ch, RDMA_PS_UDP, IB_HERE);
	struct rdma_cm_id *member = make_bound_to(ch, RDMA_PS_UDP, IB_HERE);
	struct rdma_cm_join_mc_attr_ex attr = {
		.comp_mask = RDMA_CM_JOIN_MC_ATTR_ADDRESS | RDMA_CM_JOIN_MC_ATTR_JOIN_FLAGS,
		.join_flags = RDMA_MC_JOIN_FLAG_SENDONLY_FULLMEMBER,
		.addr = at("239.8.2.1", 0),
	};

	NEED(rdma_join_multicast(member, at("239.8.2.1", 0), NULL));
	joined_answer("member", ch, false);
	RET("join", rdma_join_multicast_ex(id, &attr, &ch));
	joined_answer("event", ch, false);
	RET("leave", rdma_leave_multicast(id, at("239.8.2.1", 0)));
}

/* Groups of IPoIB itself: the same MGID, and the Q_Key of the whole subnet. */
GROUP(ib_multicast_ipoib, ON_IB)
{
	struct rdma_event_channel *ch = channel();
	struct rdma_cm_id *id = make_bound_to(ch, RDMA_PS_IPOIB, IB_HERE);

	RET("join", rdma_join_multicast(id, at("239.8.3.1", 0), &ch));
	joined_answer("event", ch, false);
}

GROUP(ib_multicast_pkey, ON_IB)
{
	struct rdma_event_channel *ch = channel();
	struct rdma_cm_id *id = make_bound_to(ch, RDMA_PS_UDP, IB_PKEY_HERE);

	RET("join", rdma_join_multicast(id, at("239.8.4.1", 0), &ch));
	joined_answer("event", ch, false);
}

GROUP(ib_multicast_gid_id, ON_IB)
{
	struct rdma_event_channel *ch = channel();
	struct rdma_cm_id *id = make_id(ch, RDMA_PS_UDP);
	union ibv_gid here = ib_gid(0);

	NEED(rdma_bind_addr(id, ib_at(&here, 0, 0)));
	make_qp(id);
	RET("join", rdma_join_multicast(id, at("239.8.5.1", 0), &ch));
}

/* No group can be joined until IPoIB has (re)joined the broadcast group of its subnet. */
static int join_when_ready(struct rdma_cm_id *id, const char *group, void *context)
{
	int tries;

	for (tries = 0; tries < 100 && rdma_join_multicast(id, at(group, 0), context); tries++)
		usleep(100000);
	return tries < 100 ? 0 : -1;
}

/* The subnet manager changes: memberships are lost, and the members get an event. */
GROUP(ib_multicast_lost, ON_IB | ALONE)
{
	struct rdma_event_channel *ch = channel();
	struct rdma_cm_id *id = make_bound_to(ch, RDMA_PS_UDP, IB_THERE);

	NEED(join_when_ready(id, "239.8.6.1", &ch));
	joined_answer("joined", ch, false);
	ib_knob("hca1/1/event", "reregister");
	joined_answer("lost", ch, false);
	quiet_answer("once", ch);
	RET("leave", rdma_leave_multicast(id, at("239.8.6.1", 0)));
	NEED(join_when_ready(id, "239.8.6.1", &ch));
	joined_answer("joined_again", ch, false);
}

/* The administrator does not answer. */
GROUP(ib_multicast_silence, ON_IB | ALONE)
{
	struct rdma_event_channel *ch = channel();
	struct rdma_cm_id *id = make_bound_to(ch, RDMA_PS_UDP, IB_HERE);

	ib_knob("rules", "drop SA");
	RET("join", rdma_join_multicast(id, at("239.8.7.1", 0), &ch));
	quiet_answer("nothing_yet", ch);
	RET("leave", rdma_leave_multicast(id, at("239.8.7.1", 0)));
	RET("destroy", ({ rdma_destroy_qp(id); rdma_destroy_id(id); }));
	ib_knob("rules", "clear");
	quiet_answer("nothing", ch);
}
