// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * Multicast groups: reference sections 1.3 and 4.
 *
 * Every GROUP joins multicast groups of its own: rxe loses a QP that is attached while the last
 * one of another process is detached (tests/robust/stock/group_race.c).
 */
#include "steps.h"

static struct rdma_cm_id *make_udp(struct rdma_event_channel *ch, bool qp)
{
	struct rdma_cm_id *id = make_id(ch, RDMA_PS_UDP);

	NEED(rdma_bind_addr(id, at(HERE, 0)));
	if (qp)
		make_qp(id);
	return id;
}

/* Whether a network device receives the Ethernet address of 239.1.1.x. */
static bool listens(int x)
{
	char command[128];

	snprintf(command, sizeof(command),
		 "ip maddr show dev d0 | grep -q '239.1.1.%d\\|01:00:5e:01:01:%02x'", x, x);
	return !system(command);
}

static void join_answer(const char *check, struct rdma_event_channel *ch, struct rdma_cm_id *id,
			void *context)
{
	struct rdma_cm_event *event = get_event(ch, SOON);

	if (!event) {
		answer(check, "no event");
		return;
	}
	answer(check, "%s status=%d own=%s context=%s len=%u qpn=%#x qkey=%#x global=%u hop=%u "
	       "sl=%u dlid=%u port=%u gid=%02x%02x..%02x%02x%02x%02x", event_name(event->event),
	       event->status, yes(event->id == id), yes(event->param.ud.private_data == context),
	       event->param.ud.private_data_len, event->param.ud.qp_num, event->param.ud.qkey,
	       event->param.ud.ah_attr.is_global, event->param.ud.ah_attr.grh.hop_limit,
	       event->param.ud.ah_attr.sl, event->param.ud.ah_attr.dlid,
	       event->param.ud.ah_attr.port_num, event->param.ud.ah_attr.grh.dgid.raw[0],
	       event->param.ud.ah_attr.grh.dgid.raw[1], event->param.ud.ah_attr.grh.dgid.raw[12],
	       event->param.ud.ah_attr.grh.dgid.raw[13], event->param.ud.ah_attr.grh.dgid.raw[14],
	       event->param.ud.ah_attr.grh.dgid.raw[15]);
	NEED(rdma_ack_cm_event(event));
}

GROUP(multicast, IN_DEBUG)
{
	struct rdma_event_channel *ch = channel();
	struct rdma_cm_id *id = make_udp(ch, true);

	RET("join", rdma_join_multicast(id, at("239.1.1.1", 0), &ch));
	join_answer("event", ch, id, &ch);
	answer("igmp", "%s", yes(listens(1)));
	RET("join_again", rdma_join_multicast(id, at("239.1.1.1", 0), &id));
	join_answer("event_again", ch, id, &id);
	RET("leave", rdma_leave_multicast(id, at("239.1.1.1", 0)));
	RET("leave_again", rdma_leave_multicast(id, at("239.1.1.1", 0)));
	RET("leave_third", rdma_leave_multicast(id, at("239.1.1.1", 0)));
	answer("igmp_left", "%s", yes(listens(1)));
	RET("join_second_group", rdma_join_multicast(id, at("239.1.1.2", 7), NULL));
	join_answer("second_group_event", ch, id, NULL);
	RET("leave_other_port", rdma_leave_multicast(id, at("239.1.1.2", 0)));
	RET("leave_never_joined", rdma_leave_multicast(id, at("239.1.1.3", 0)));
	rdma_destroy_qp(id);
	RET("destroy_joined", rdma_destroy_id(id));
	quiet_answer("after", ch);
}

GROUP(multicast_refused, 0)
{
	struct rdma_event_channel *ch = channel();
	struct rdma_cm_id *id = make_udp(ch, true);
	struct sockaddr odd = { .sa_family = AF_UNIX };

	RET("null_address", rdma_join_multicast(id, NULL, NULL));
	RET("family", rdma_join_multicast(id, &odd, NULL));
	RET("leave_family", rdma_leave_multicast(id, &odd));
	RET("any", rdma_join_multicast(id, at("0.0.0.0", 0), NULL));
	quiet_answer("any_event", ch);
	RET("unicast", rdma_join_multicast(id, at(THERE, 0), NULL));
	event_answer("unicast_event", ch, SOON);
	RET("ipv6", rdma_join_multicast(id, at("ff02::1234", 0), NULL));
	quiet_answer("ipv6_event", ch);
	RET("idle", rdma_join_multicast(make_id(ch, RDMA_PS_UDP), at("239.1.1.4", 0), NULL));
	RET("wildcard", ({ struct rdma_cm_id *wild = make_id(ch, RDMA_PS_UDP);
			   rdma_bind_addr(wild, at(NULL, 0)) ?:
			   rdma_join_multicast(wild, at("239.1.1.4", 0), NULL); }));
	RET("tcp", rdma_join_multicast(make_bound(ch, HERE, 0), at("239.1.1.4", 0), NULL));
	quiet_answer("tcp_event", ch);
	NEED(rdma_listen(id, 0));
	RET("listening", rdma_join_multicast(id, at("239.1.1.4", 0), NULL));
	quiet_answer("listening_event", ch);
}

GROUP(multicast_ex, 0)
{
	struct rdma_event_channel *ch = channel();
	struct rdma_cm_id *id = make_udp(ch, true);
	struct rdma_cm_join_mc_attr_ex attr = {
		.comp_mask = RDMA_CM_JOIN_MC_ATTR_ADDRESS | RDMA_CM_JOIN_MC_ATTR_JOIN_FLAGS,
		.join_flags = RDMA_MC_JOIN_FLAG_SENDONLY_FULLMEMBER, .addr = at("239.1.1.5", 0),
	};

	RET("sendonly", rdma_join_multicast_ex(id, &attr, &ch));
	join_answer("sendonly_event", ch, id, &ch);
	answer("sendonly_igmp", "%s", yes(listens(5)));
	RET("sendonly_leave", rdma_leave_multicast(id, at("239.1.1.5", 0)));
	attr.join_flags = RDMA_MC_JOIN_FLAG_FULLMEMBER;
	attr.addr = at("239.1.1.6", 0);
	RET("full", rdma_join_multicast_ex(id, &attr, NULL));
	join_answer("full_event", ch, id, NULL);
	attr.join_flags = RDMA_MC_JOIN_FLAG_RESERVED;
	RET("flag", rdma_join_multicast_ex(id, &attr, NULL));
	attr.join_flags = 0;
	attr.comp_mask = RDMA_CM_JOIN_MC_ATTR_ADDRESS;
	RET("without_flags", rdma_join_multicast_ex(id, &attr, NULL));
	attr.comp_mask = RDMA_CM_JOIN_MC_ATTR_JOIN_FLAGS;
	RET("without_address", rdma_join_multicast_ex(id, &attr, NULL));
	attr.comp_mask = 7;
	RET("mask_unknown", rdma_join_multicast_ex(id, &attr, NULL));
}

GROUP(multicast_without_qp, 0)
{
	struct rdma_event_channel *ch = channel();
	struct rdma_cm_id *id = make_udp(ch, false);

	RET("join", rdma_join_multicast(id, at("239.1.1.7", 0), NULL));
	join_answer("event", ch, id, NULL);
	RET("leave", rdma_leave_multicast(id, at("239.1.1.7", 0)));
}

GROUP(multicast_resolved, 0)
{
	struct rdma_event_channel *ch = channel();
	struct rdma_cm_id *id = make_id(ch, RDMA_PS_UDP);

	/* As mckey does: the group is the destination. */
	RET("resolve", rdma_resolve_addr(id, at(HERE, 0), at("239.1.1.8", 0), SOON));
	event_answer("resolve_event", ch, SOON);
	addr_answer("addresses", id, 0);
	make_qp(id);
	RET("join", rdma_join_multicast(id, at("239.1.1.8", 0), NULL));
	join_answer("event", ch, id, NULL);
	RET("leave", rdma_leave_multicast(id, at("239.1.1.8", 0)));
}

/* An id that leaves a group, in a thread. */
struct leaver {
	struct rdma_cm_id *id;
	const char *group;
};

static int leave(void *arg)
{
	const struct leaver *leaver = arg;

	return rdma_leave_multicast(leaver->id, at(leaver->group, 0));
}

GROUP(multicast_sync, WAITS)
{
	static struct leaver leaver = { .group = "239.1.1.10" };
	struct rdma_cm_id *id = make_udp(NULL, true);

	RET("join", rdma_join_multicast(id, at(leaver.group, 0), &id));
	sync_event_answer("event", id);
	leaver.id = id;
	thread_answer("leave", thread_begin(leave, &leaver), 4000);
}

GROUP(multicast_unacked, WAITS)
{
	static struct leaver leaver = { .group = "239.1.1.11" };
	struct rdma_event_channel *ch = channel();
	struct rdma_cm_event *event;
	struct thread *thread;

	leaver.id = make_udp(ch, true);
	NEED(rdma_join_multicast(leaver.id, at(leaver.group, 0), NULL));
	event = NEED_PTR(get_event(ch, SOON));
	thread = thread_begin(leave, &leaver);
	thread_answer("unacked", thread, QUIET);
	RET("ack", rdma_ack_cm_event(event));
	thread_answer("acked", thread, patience(SOON));
}
