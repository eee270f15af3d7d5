// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/* Rows that take minutes, because no peer answers: reference section 4. */
#include "steps.h"

/* A neighbour entry for a host that does not exist. */
static struct rdma_cm_id *make_unanswered(struct rdma_event_channel *ch, enum rdma_port_space ps,
					  const char *ip)
{
	struct rdma_cm_id *id = make_id(ch, ps);
	char command[128];

	snprintf(command, sizeof(command),
		 "ip neigh replace %s lladdr 02:00:00:00:00:77 dev v0", ip);
	NEED(system(command));
	NEED(rdma_resolve_addr(id, NULL, at(ip, 7777), SOON));
	expect(ch, RDMA_CM_EVENT_ADDR_RESOLVED);
	NEED(rdma_resolve_route(id, SOON));
	expect(ch, RDMA_CM_EVENT_ROUTE_RESOLVED);
	make_qp(id);
	return id;
}

GROUP(unreachable, WAITS | SLOW)
{
	struct rdma_event_channel *ch = channel();
	struct rdma_cm_id *id = make_unanswered(ch, RDMA_PS_TCP, "10.7.0.91");
	struct rdma_conn_param param = conn_param();

	RET("connect", rdma_connect(id, &param));
	event_answer("before", ch, 60000);
	conn_answer("event", ch);
	event_answer("event_late", ch, 100000);
	answer("qp", "%s", qp_state(id->qp));
	RET("connect_again", rdma_connect(id, &param));
	RET("disconnect", rdma_disconnect(id));
}

GROUP(unreachable_udp, WAITS | SLOW)
{
	struct rdma_event_channel *ch = channel();
	struct rdma_cm_id *id = make_unanswered(ch, RDMA_PS_UDP, "10.7.0.92");
	struct rdma_conn_param param = { 0 };

	RET("connect", rdma_connect(id, &param));
	event_answer("before", ch, 50000);
	event_answer("event", ch, 100000);
}
