// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * Every call in every state: reference section 4.3. Each state has a group; each call is made
 * with a new id in that state.
 */
#include "steps.h"

static struct rdma_event_channel *spare;

static int ask_bind(struct rdma_cm_id *id)
{
	return rdma_bind_addr(id, at(THERE, 0));
}

static int ask_resolve_addr(struct rdma_cm_id *id)
{
	return rdma_resolve_addr(id, NULL, at(HERE, 7777), SOON);
}

static int ask_resolve_route(struct rdma_cm_id *id)
{
	return rdma_resolve_route(id, SOON);
}

static int ask_listen(struct rdma_cm_id *id)
{
	return rdma_listen(id, 1);
}

static int ask_connect(struct rdma_cm_id *id)
{
	struct rdma_conn_param param = conn_param();

	return rdma_connect(id, &param);
}

static int ask_accept(struct rdma_cm_id *id)
{
	struct rdma_conn_param param = conn_param();

	return rdma_accept(id, &param);
}

static int ask_reject(struct rdma_cm_id *id)
{
	return rdma_reject(id, NULL, 0);
}

static int ask_disconnect(struct rdma_cm_id *id)
{
	return rdma_disconnect(id);
}

static int ask_establish(struct rdma_cm_id *id)
{
	return rdma_establish(id);
}

static int ask_notify(struct rdma_cm_id *id)
{
	return rdma_notify(id, IBV_EVENT_COMM_EST);
}

static int ask_attr(struct rdma_cm_id *id, int state)
{
	struct ibv_qp_attr attr = { .qp_state = state };
	int mask;

	return rdma_init_qp_attr(id, &attr, &mask);
}

static int ask_attr_init(struct rdma_cm_id *id)
{
	return ask_attr(id, IBV_QPS_INIT);
}

static int ask_attr_rtr(struct rdma_cm_id *id)
{
	return ask_attr(id, IBV_QPS_RTR);
}

static int ask_attr_rts(struct rdma_cm_id *id)
{
	return ask_attr(id, IBV_QPS_RTS);
}

static int ask_migrate(struct rdma_cm_id *id)
{
	return rdma_migrate_id(id, spare);
}

static int ask_join(struct rdma_cm_id *id)
{
	return rdma_join_multicast(id, at("239.1.1.1", 0), NULL);
}

static int ask_leave(struct rdma_cm_id *id)
{
	return rdma_leave_multicast(id, at("239.1.1.1", 0));
}

static int ask_destroy(struct rdma_cm_id *id)
{
	return rdma_destroy_id(id);
}

static const struct {
	const char *name;
	int (*call)(struct rdma_cm_id *id);
	bool needs_device;	/* stock crashes without: asked in groups of their own */
} calls[] = {
	{ "bind", ask_bind, false }, { "resolve_addr", ask_resolve_addr, false },
	{ "resolve_route", ask_resolve_route, true }, { "listen", ask_listen, false },
	{ "connect", ask_connect, true }, { "accept", ask_accept, true },
	{ "reject", ask_reject, false }, { "disconnect", ask_disconnect, true },
	{ "establish", ask_establish, false }, { "notify", ask_notify, false },
	{ "attr_init", ask_attr_init, false }, { "attr_rtr", ask_attr_rtr, false },
	{ "attr_rts", ask_attr_rts, false }, { "migrate", ask_migrate, false },
	{ "join", ask_join, false }, { "leave", ask_leave, false },
	{ "destroy", ask_destroy, false },
};

/* The id to call; the other objects that its state needs belong to the pair. */
typedef struct rdma_cm_id *(*maker)(struct pair *pair);

static void matrix(maker make, bool device)
{
	unsigned int n;

	for (n = 0; n < sizeof(calls) / sizeof(*calls); n++) {
		struct pair pair = { 0 };
		struct rdma_cm_id *id;

		if (calls[n].needs_device && !device)
			continue;
		spare = channel();
		id = make(&pair);
		RET(calls[n].name, calls[n].call(id));
		/*
		 * The remaining objects are destroyed with the process; a listener would accept the
		 * next request.
		 */
		if (pair.listener)
			rdma_destroy_id(pair.listener);
	}
}

static struct rdma_cm_id *in_idle(struct pair *pair)
{
	(void)pair;
	return make_id(channel(), RDMA_PS_TCP);
}

static struct rdma_cm_id *in_bound(struct pair *pair)
{
	(void)pair;
	return make_bound(channel(), HERE, 0);
}

static struct rdma_cm_id *in_wildcard(struct pair *pair)
{
	(void)pair;
	return make_bound(channel(), NULL, 0);
}

static struct rdma_cm_id *in_resolving(struct pair *pair)
{
	struct rdma_cm_id *id = make_bound(channel(), ELSEWHERE, 0);

	(void)pair;
	NEED(rdma_resolve_addr(id, NULL, at(NOBODY, 1), SOON));
	return id;
}

static struct rdma_cm_id *in_resolved(struct pair *pair)
{
	(void)pair;
	return make_resolved(channel(), HERE, 7777);
}

static struct rdma_cm_id *in_routed(struct pair *pair)
{
	(void)pair;
	return make_routed(channel(), HERE, 7777);
}

static struct rdma_cm_id *in_listen(struct pair *pair)
{
	int port;

	(void)pair;
	return make_listener(channel(), HERE, &port);
}

static struct rdma_cm_id *in_connecting(struct pair *pair)
{
	*pair = make_requested();
	return pair->client;
}

static struct rdma_cm_id *in_requested(struct pair *pair)
{
	*pair = make_requested();
	return pair->child;
}

static struct rdma_cm_id *in_established(struct pair *pair)
{
	*pair = make_pair();
	return pair->client;
}

static struct rdma_cm_id *in_established_child(struct pair *pair)
{
	*pair = make_pair();
	return pair->child;
}

static struct rdma_cm_id *in_rejected(struct pair *pair)
{
	*pair = make_requested();
	NEED(rdma_reject(pair->child, NULL, 0));
	expect(pair->active, RDMA_CM_EVENT_REJECTED);
	return pair->client;
}

static struct rdma_cm_id *in_rejecting(struct pair *pair)
{
	*pair = make_requested();
	NEED(rdma_reject(pair->child, NULL, 0));
	return pair->child;
}

static struct rdma_cm_id *in_disconnected(struct pair *pair)
{
	*pair = make_pair();
	NEED(rdma_disconnect(pair->client));
	expect(pair->passive, RDMA_CM_EVENT_DISCONNECTED);
	NEED(rdma_disconnect(pair->child));
	expect(pair->active, RDMA_CM_EVENT_DISCONNECTED);
	return pair->client;
}

static struct rdma_cm_id *in_disconnected_child(struct pair *pair)
{
	in_disconnected(pair);
	return pair->child;
}

#define STATE(name, device, kind)						\
	GROUP(state_##name, kind)						\
	{									\
		matrix(in_##name, device);					\
	}

STATE(idle, false, 0)
STATE(bound, true, IN_DEBUG)
STATE(wildcard, false, 0)
STATE(resolving, true, 0)
STATE(resolved, true, 0)
STATE(routed, true, 0)
STATE(listen, true, 0)
STATE(connecting, true, 0)
STATE(requested, true, 0)
STATE(established, true, IN_DEBUG)
STATE(established_child, true, 0)
STATE(rejected, true, 0)
STATE(rejecting, true, 0)
STATE(disconnected, true, 0)
STATE(disconnected_child, true, 0)
