// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/* Steps that lead to a question. */
#include "steps.h"

#include <ctype.h>
#include <dlfcn.h>

/* Events after which a channel is a busy one. */
#define BUSY 10

/* RDMA_CM_EVENT_USER, which Debian's header lacks. */
#define EVENT_USER 18

struct sockaddr *at(const char *ip, int port)
{
	static struct sockaddr_storage ring[16];
	static unsigned int next;
	struct sockaddr_storage *addr = &ring[next++ % 16];
	struct sockaddr_in *in = (struct sockaddr_in *)addr;
	struct sockaddr_in6 *in6 = (struct sockaddr_in6 *)addr;

	memset(addr, 0, sizeof(*addr));
	if (ip && strchr(ip, ':')) {
		in6->sin6_family = AF_INET6;
		in6->sin6_port = htons(port);
		if (inet_pton(AF_INET6, ip, &in6->sin6_addr) != 1)
			abort();
	} else {
		in->sin_family = AF_INET;
		in->sin_port = htons(port);
		if (ip && inet_pton(AF_INET, ip, &in->sin_addr) != 1)
			abort();
	}
	return (struct sockaddr *)addr;
}

/*
 * With CONFORMANCE_BUSY a channel has delivered events before, so that ours has its ring
 * mapped. They are user events, which have no other effect, and which only ours has.
 */
static void use_channel(struct rdma_event_channel *ch)
{
	int (*post)(struct rdma_cm_id *id, int event, int status, uint64_t arg) =
		dlsym(RTLD_DEFAULT, "rdma_write_cm_event");
	struct rdma_cm_event *event;
	struct rdma_cm_id *id;
	int n;

	if (!post || !getenv("CONFORMANCE_BUSY"))
		return;
	NEED(rdma_create_id(ch, &id, NULL, RDMA_PS_TCP));
	for (n = 0; n < BUSY; n++) {
		NEED(post(id, EVENT_USER, 0, 0));
		NEED(rdma_get_cm_event(ch, &event));
		NEED(rdma_ack_cm_event(event));
	}
	NEED(rdma_destroy_id(id));
}

struct rdma_event_channel *channel(void)
{
	struct rdma_event_channel *ch = NEED_PTR(rdma_create_event_channel());

	use_channel(ch);
	return ch;
}

struct rdma_cm_id *make_id(struct rdma_event_channel *ch, enum rdma_port_space ps)
{
	struct rdma_cm_id *id;

	NEED(rdma_create_id(ch, &id, NULL, ps));
	return id;
}

struct rdma_cm_id *make_bound(struct rdma_event_channel *ch, const char *ip, int port)
{
	struct rdma_cm_id *id = make_id(ch, RDMA_PS_TCP);

	NEED(rdma_bind_addr(id, at(ip, port)));
	return id;
}

struct rdma_cm_id *make_resolved(struct rdma_event_channel *ch, const char *ip, int port)
{
	struct rdma_cm_id *id = make_id(ch, RDMA_PS_TCP);

	NEED(rdma_resolve_addr(id, NULL, at(ip, port), SOON));
	expect(ch, RDMA_CM_EVENT_ADDR_RESOLVED);
	return id;
}

struct rdma_cm_id *make_routed(struct rdma_event_channel *ch, const char *ip, int port)
{
	struct rdma_cm_id *id = make_resolved(ch, ip, port);

	NEED(rdma_resolve_route(id, SOON));
	expect(ch, RDMA_CM_EVENT_ROUTE_RESOLVED);
	return id;
}

struct rdma_cm_id *make_listener(struct rdma_event_channel *ch, const char *ip, int *port)
{
	struct rdma_cm_id *id = make_bound(ch, ip, 0);

	NEED(rdma_listen(id, 0));
	*port = port_of(id);
	return id;
}

struct ibv_qp_init_attr qp_attr(void)
{
	return (struct ibv_qp_init_attr){
		.cap = { .max_send_wr = 4, .max_recv_wr = 4, .max_send_sge = 1, .max_recv_sge = 1 },
		.qp_type = IBV_QPT_RC,
	};
}

void make_qp(struct rdma_cm_id *id)
{
	struct ibv_qp_init_attr attr = qp_attr();

	attr.qp_type = id->qp_type;
	NEED(rdma_create_qp(id, NULL, &attr));
}

int port_of(struct rdma_cm_id *id)
{
	return ntohs(rdma_get_src_port(id));
}

struct rdma_cm_event *get_event(struct rdma_event_channel *ch, int ms)
{
	struct pollfd poll_fd = { .fd = ch->fd, .events = POLLIN };
	struct rdma_cm_event *event;

	if (poll(&poll_fd, 1, patience(ms)) != 1)
		return NULL;
	NEED(rdma_get_cm_event(ch, &event));
	return event;
}

void expect(struct rdma_event_channel *ch, enum rdma_cm_event_type wanted)
{
	struct rdma_cm_event *event = get_event(ch, SOON);

	if (!event || event->event != wanted) {
		answer("step", "%s status %d instead of %s", event ? event_name(event->event) :
		       "nothing", event ? event->status : 0, event_name(wanted));
		_exit(1);
	}
	NEED(rdma_ack_cm_event(event));
}

struct rdma_cm_id *get_child(struct rdma_event_channel *ch)
{
	struct rdma_cm_event *event = NEED_PTR(get_event(ch, SOON));
	struct rdma_cm_id *id = event->id;

	NEED(event->event != RDMA_CM_EVENT_CONNECT_REQUEST);
	NEED(rdma_ack_cm_event(event));
	return id;
}

/* Data as text: its length, its first bytes, and whether the rest is zero. */
static const char *shown_data(const void *data, size_t len)
{
	static char text[320];
	const unsigned char *bytes = data;
	size_t used = len, n;
	int at_end = snprintf(text, sizeof(text), "%zu", len);

	if (!len)
		return data ? "0 pointer" : "0";
	if (!data)
		return "without pointer";
	while (used && !bytes[used - 1])
		used--;
	at_end += snprintf(text + at_end, sizeof(text) - at_end, "\"");
	for (n = 0; n < used && n < 8; n++)
		at_end += snprintf(text + at_end, sizeof(text) - at_end,
				   isalnum(bytes[n]) ? "%c" : "\\%02x", bytes[n]);
	snprintf(text + at_end, sizeof(text) - at_end, "\"%zu", used);
	return text;
}

void show_conn(const char *check, const struct rdma_cm_event *event)
{
	const struct rdma_conn_param *conn = &event->param.conn;

	answer(check, "%s status=%d data=%s rr=%u id=%u fc=%u retry=%u rnr=%u srq=%u qpn=%s",
	       event_name(event->event), event->status,
	       shown_data(conn->private_data, conn->private_data_len), conn->responder_resources,
	       conn->initiator_depth, conn->flow_control, conn->retry_count, conn->rnr_retry_count,
	       conn->srq, conn->qp_num ? "set" : "0");
}

void show_ud(const char *check, const struct rdma_cm_event *event)
{
	const struct rdma_ud_param *ud = &event->param.ud;

	answer(check,
	       "%s status=%d data=%s qpn=%s qkey=%#x ah: dlid=%u sl=%u global=%u port=%u hop=%u",
	       event_name(event->event), event->status,
	       shown_data(ud->private_data, ud->private_data_len),
	       ud->qp_num == 0xffffff ? "multicast" : ud->qp_num ? "set" : "0", ud->qkey,
	       ud->ah_attr.dlid, ud->ah_attr.sl, ud->ah_attr.is_global, ud->ah_attr.port_num,
	       ud->ah_attr.grh.hop_limit);
}

void conn_answer(const char *check, struct rdma_event_channel *ch)
{
	struct rdma_cm_event *event = get_event(ch, SOON);

	if (!event) {
		answer(check, "no event");
		return;
	}
	show_conn(check, event);
	NEED(rdma_ack_cm_event(event));
}

void event_answer(const char *check, struct rdma_event_channel *ch, int ms)
{
	struct rdma_cm_event *event = get_event(ch, ms);

	if (!event) {
		answer(check, "no event");
		return;
	}
	answer(check, "%s status=%d", event_name(event->event), event->status);
	NEED(rdma_ack_cm_event(event));
}

void quiet_answer(const char *check, struct rdma_event_channel *ch)
{
	event_answer(check, ch, QUIET);
}

void sync_event_answer(const char *check, const struct rdma_cm_id *id)
{
	if (!id->event)
		answer(check, "none");
	else
		answer(check, "%s status=%d own=%s", event_name(id->event->event),
		       id->event->status, yes(id->event->id == id));
}

static const char *shown_addr(const struct sockaddr *addr, int port, char *text, size_t size)
{
	const struct sockaddr_in *in = (const void *)addr;
	const struct sockaddr_in6 *in6 = (const void *)addr;
	char ip[INET6_ADDRSTRLEN] = "?";
	int has = 0;

	switch (addr->sa_family) {
	case AF_INET:
		inet_ntop(AF_INET, &in->sin_addr, ip, sizeof(ip));
		has = ntohs(in->sin_port);
		break;
	case AF_INET6:
		inet_ntop(AF_INET6, &in6->sin6_addr, ip, sizeof(ip));
		has = ntohs(in6->sin6_port);
		break;
	default:
		snprintf(ip, sizeof(ip), "family%d", addr->sa_family);
	}
	snprintf(text, size, "[%s]:%s", ip, !has ? "0" : has == port ? "port" : "other");
	return text;
}

void addr_answer(const char *check, struct rdma_cm_id *id, int port)
{
	char src[80], dst[80];

	answer(check, "src=%s dst=%s",
	       shown_addr(rdma_get_local_addr(id), port, src, sizeof(src)),
	       shown_addr(rdma_get_peer_addr(id), port, dst, sizeof(dst)));
}

struct rdma_conn_param conn_param(void)
{
	return (struct rdma_conn_param){
		.responder_resources = 1, .initiator_depth = 1, .retry_count = 7,
		.rnr_retry_count = 7,
	};
}

struct pair make_halves(enum rdma_port_space ps, bool qp)
{
	struct pair pair = { .active = channel(), .passive = channel() };

	pair.listener = make_id(pair.passive, ps);
	NEED(rdma_bind_addr(pair.listener, at(HERE, 0)));
	NEED(rdma_listen(pair.listener, 0));
	pair.port = port_of(pair.listener);
	pair.client = make_id(pair.active, ps);
	NEED(rdma_resolve_addr(pair.client, NULL, at(HERE, pair.port), SOON));
	expect(pair.active, RDMA_CM_EVENT_ADDR_RESOLVED);
	NEED(rdma_resolve_route(pair.client, SOON));
	expect(pair.active, RDMA_CM_EVENT_ROUTE_RESOLVED);
	if (qp)
		make_qp(pair.client);
	return pair;
}

struct pair make_requested(void)
{
	struct pair pair = make_halves(RDMA_PS_TCP, true);
	struct rdma_conn_param param = conn_param();

	NEED(rdma_connect(pair.client, &param));
	pair.child = get_child(pair.passive);
	make_qp(pair.child);
	return pair;
}

struct pair make_pair(void)
{
	struct pair pair = make_requested();
	struct rdma_conn_param param = conn_param();

	NEED(rdma_accept(pair.child, &param));
	expect(pair.active, RDMA_CM_EVENT_ESTABLISHED);
	expect(pair.passive, RDMA_CM_EVENT_ESTABLISHED);
	return pair;
}

static void end_id(struct rdma_cm_id *id)
{
	if (!id)
		return;
	if (id->qp)
		rdma_destroy_qp(id);
	NEED(rdma_destroy_id(id));
}

void end_pair(struct pair *pair)
{
	end_id(pair->child);
	end_id(pair->client);
	end_id(pair->listener);
	rdma_destroy_event_channel(pair->active);
	rdma_destroy_event_channel(pair->passive);
}

const char *qp_state(struct ibv_qp *qp)
{
	static const char *const names[] = { "RESET", "INIT", "RTR", "RTS", "SQD", "SQE", "ERR" };
	struct ibv_qp_init_attr init;
	struct ibv_qp_attr attr;

	if (!qp)
		return "no QP";
	if (ibv_query_qp(qp, &attr, IBV_QP_STATE, &init))
		return "unknown";
	return attr.qp_state < 7 ? names[attr.qp_state] : "unknown";
}
