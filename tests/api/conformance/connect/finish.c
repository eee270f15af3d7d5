// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/* rdma_reject, rdma_disconnect, the end of a connection: reference sections 1.1 and 4. */
#include "steps.h"

static char data[256] = "reason";

GROUP(reject, IN_DEBUG)
{
	struct pair pair = make_requested();
	struct rdma_conn_param param = conn_param();
	struct ibv_qp_init_attr attr = qp_attr();

	RET("data_149", rdma_reject(pair.child, data, 149));
	RET("reject", rdma_reject(pair.child, data, 148));
	conn_answer("client", pair.active);
	answer("client_qp", "%s", qp_state(pair.client->qp));
	RET("again", rdma_reject(pair.child, NULL, 0));
	RET("accept_after", rdma_accept(pair.child, &param));
	quiet_answer("passive", pair.passive);
	RET("connect_again", rdma_connect(pair.client, &param));
	RET("route_again", rdma_resolve_route(pair.client, SOON));
	rdma_destroy_qp(pair.client);
	RET("qp_after_reject", rdma_create_qp(pair.client, NULL, &attr));
	RET("disconnect_rejected", rdma_disconnect(pair.client));
	RET("disconnect_child", rdma_disconnect(pair.child));
	RET("client_id", rdma_reject(pair.client, NULL, 0));
	RET("listener", rdma_reject(pair.listener, NULL, 0));
	quiet_answer("active_end", pair.active);
	end_pair(&pair);
}

GROUP(reject_null, 0)
{
	struct pair pair = make_requested();

	RET("length_without_data", rdma_reject(pair.child, NULL, 5));
	conn_answer("client", pair.active);
	end_pair(&pair);
	pair = make_requested();
	RET("empty", rdma_reject(pair.child, NULL, 0));
	conn_answer("empty_client", pair.active);
	end_pair(&pair);
	pair = make_pair();
	RET("established", rdma_reject(pair.child, NULL, 0));
	RET("established_client", rdma_reject(pair.client, NULL, 0));
	end_pair(&pair);
}

GROUP(reject_ece, 0)
{
	struct pair pair = make_requested();

	RET("reject", rdma_reject_ece(pair.child, data, 8));
	conn_answer("client", pair.active);
}

GROUP(disconnect, IN_DEBUG)
{
	struct pair pair = make_pair();

	RET("client", rdma_disconnect(pair.client));
	answer("client_qp", "%s", qp_state(pair.client->qp));
	conn_answer("passive", pair.passive);
	answer("child_qp", "%s", qp_state(pair.child->qp));
	RET("child", rdma_disconnect(pair.child));
	answer("child_qp_after", "%s", qp_state(pair.child->qp));
	conn_answer("active", pair.active);
	RET("client_again", rdma_disconnect(pair.client));
	RET("child_again", rdma_disconnect(pair.child));
	RET("listener", rdma_disconnect(pair.listener));
	end_pair(&pair);
}

GROUP(disconnect_passive_first, 0)
{
	struct pair pair = make_pair();

	RET("child", rdma_disconnect(pair.child));
	event_answer("active", pair.active, SOON);
	RET("client", rdma_disconnect(pair.client));
	event_answer("passive", pair.passive, SOON);
	end_pair(&pair);
}

GROUP(disconnect_both, 0)
{
	struct pair pair = make_pair();

	RET("client", rdma_disconnect(pair.client));
	RET("child", rdma_disconnect(pair.child));
	event_answer("active", pair.active, SOON);
	event_answer("passive", pair.passive, SOON);
	end_pair(&pair);
}

GROUP(disconnect_unanswered, WAITS)
{
	struct pair pair = make_pair();

	RET("client", rdma_disconnect(pair.client));
	event_answer("passive", pair.passive, SOON);
	/* The peer's program has not called anything yet. */
	quiet_answer("active", pair.active);
	NEED(rdma_disconnect(pair.child));
	event_answer("active_after", pair.active, SOON);
	end_pair(&pair);
}

GROUP(disconnect_early, 0)
{
	struct rdma_event_channel *ch = channel();
	struct pair pair = make_requested();

	RET("idle", rdma_disconnect(make_id(ch, RDMA_PS_TCP)));
	RET("bound", rdma_disconnect(make_bound(ch, HERE, 0)));
	RET("wildcard", rdma_disconnect(make_bound(ch, NULL, 0)));
	RET("resolved", rdma_disconnect(make_resolved(ch, HERE, 1)));
	RET("routed", rdma_disconnect(make_routed(ch, HERE, 1)));
	RET("connecting", rdma_disconnect(pair.client));
	quiet_answer("connecting_passive", pair.passive);
	RET("requested", rdma_disconnect(pair.child));
	quiet_answer("requested_active", pair.active);
	quiet_answer("others", ch);
}

GROUP(destroy_established, IN_DEBUG)
{
	struct pair pair = make_pair();

	rdma_destroy_qp(pair.client);
	RET("client", rdma_destroy_id(pair.client));
	pair.client = NULL;
	event_answer("passive", pair.passive, SOON);
	RET("child_disconnect", rdma_disconnect(pair.child));
	quiet_answer("passive_after", pair.passive);
	end_pair(&pair);
	pair = make_pair();
	rdma_destroy_qp(pair.child);
	RET("child", rdma_destroy_id(pair.child));
	pair.child = NULL;
	event_answer("active", pair.active, SOON);
	end_pair(&pair);
}

GROUP(destroy_requested, 0)
{
	struct pair pair = make_requested();

	rdma_destroy_qp(pair.child);
	RET("child", rdma_destroy_id(pair.child));
	pair.child = NULL;
	conn_answer("active", pair.active);
	end_pair(&pair);
}

GROUP(timewait, WAITS)
{
	struct pair pair = make_pair();

	NEED(rdma_disconnect(pair.client));
	expect(pair.passive, RDMA_CM_EVENT_DISCONNECTED);
	NEED(rdma_disconnect(pair.child));
	expect(pair.active, RDMA_CM_EVENT_DISCONNECTED);
	event_answer("active", pair.active, 10000);
	event_answer("passive", pair.passive, 10000);
	RET("disconnect_after", rdma_disconnect(pair.client));
	quiet_answer("nothing_more", pair.active);
	end_pair(&pair);
}

/* The peer's process is killed. */
GROUP(peer_killed, WAITS)
{
	int port, ends[2];
	pid_t pid;
	struct rdma_event_channel *ch;
	struct rdma_conn_param param = conn_param();
	struct rdma_cm_id *client;

	NEED(pipe(ends));
	pid = fork();
	if (!pid) {
		struct rdma_event_channel *passive = channel();
		struct rdma_cm_id *listener = make_listener(passive, HERE, &port), *child;

		NEED(!listener || write(ends[1], &port, sizeof(port)) != sizeof(port));
		child = get_child(passive);
		make_qp(child);
		NEED(rdma_accept(child, &param));
		/* Before that, the call would be a reject. */
		expect(passive, RDMA_CM_EVENT_ESTABLISHED);
		NEED(write(ends[1], &port, sizeof(port)) != sizeof(port));
		pause();
	}
	NEED(read(ends[0], &port, sizeof(port)) != sizeof(port));
	ch = channel();
	client = make_routed(ch, HERE, port);
	make_qp(client);
	NEED(rdma_connect(client, &param));
	event_answer("established", ch, SOON);
	NEED(read(ends[0], &port, sizeof(port)) != sizeof(port));
	NEED(kill(pid, SIGKILL));
	event_answer("killed", ch, SOON);
	RET("disconnect", rdma_disconnect(client));
	waitpid(pid, NULL, 0);
}

GROUP(closed_channel, 0)
{
	struct pair pair = make_pair();

	/* The kernel destroys the ids when the descriptor is closed. */
	close(pair.passive->fd);
	event_answer("active", pair.active, SOON);
}
