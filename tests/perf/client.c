// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/* The active end: moves ids from one stage to the next, a window of them at a time. */
#include <arpa/inet.h>
#include <err.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "perf.h"

/* Timeout of address and route resolution in ms: longer than any measurement whose peers answer. */
#define PATIENCE 30000
/* A prime, so that all peers have their turn. */
#define STRIDE 7919

/* Keep the reason of the first failure only. */
void note_failure(struct client *client, struct conn *conn, const char *what)
{
	if (!client->failures++)
		snprintf(client->why, sizeof(client->why), "%s", what);
	conn->failed = true;
}

/* The peer of the next id. Neighbours in time are not neighbours in number. */
static struct sockaddr *next_peer(void)
{
	struct sockaddr *first = address_of(options.address, options.port);
	static struct sockaddr_in peer;
	static unsigned int used;

	if (options.peers == 1)
		return first;
	if (first->sa_family != AF_INET)
		errx(2, "several peers need an IPv4 address");
	memcpy(&peer, first, sizeof(peer));
	peer.sin_addr.s_addr =
		htonl(ntohl(peer.sin_addr.s_addr) + used++ * STRIDE % options.peers);
	return (struct sockaddr *)&peer;
}

/* Start the step to the stage after the current one of an id; false: the call failed. */
static bool ask(struct client *client, struct conn *conn)
{
	struct sockaddr_storage source;
	struct sockaddr *from = NULL;
	struct rdma_conn_param param;
	const char *what = "";
	int ret = 0;

	conn->begun[conn->stage + 1] = now_us();
	switch (conn->stage) {
	case STAGE_NEW:
		if (!conn->id && rdma_create_id(client->channel, &conn->id, conn, RDMA_PS_TCP))
			give_up("rdma_create_id");
		if (options.source) {
			/* address_of() returns a static buffer. */
			memcpy(&source, address_of(options.source, 0),
			       sizeof(struct sockaddr_in6));
			from = (struct sockaddr *)&source;
		}
		ret = rdma_resolve_addr(conn->id, from, next_peer(), PATIENCE);
		what = "rdma_resolve_addr";
		break;
	case STAGE_ADDRESS:
		ret = rdma_resolve_route(conn->id, PATIENCE);
		what = "rdma_resolve_route";
		break;
	case STAGE_ROUTE:
		if (options.qps && make_qp(conn->id))
			give_up("rdma_create_qp");
		param = conn_param();
		ret = rdma_connect(conn->id, &param);
		what = "rdma_connect";
		break;
	case STAGE_CONNECTED:
		if (options.messages && !conn->asked) {
			conn->asked = true;
			ret = send_message(conn->id);
			what = "rdma_post_send";
			break;
		}
		ret = rdma_disconnect(conn->id);
		what = "rdma_disconnect";
		break;
	default:
		break;
	}
	if (ret)
		note_failure(client, conn, what);
	return !ret;
}

/* The id of the next event that counts; *came: it completes the next stage, or is an answer. */
static struct conn *next_event(struct client *client, bool *came)
{
	const enum rdma_cm_event_type wanted[] = {
		[STAGE_NEW] = RDMA_CM_EVENT_ADDR_RESOLVED,
		[STAGE_ADDRESS] = RDMA_CM_EVENT_ROUTE_RESOLVED,
		/* An id without a QP: the program confirms the response itself. */
		[STAGE_ROUTE] = options.qps ? RDMA_CM_EVENT_ESTABLISHED :
					      RDMA_CM_EVENT_CONNECT_RESPONSE,
		[STAGE_CONNECTED] = RDMA_CM_EVENT_DISCONNECTED,
	};
	struct rdma_cm_event *event;
	enum rdma_cm_event_type type;
	struct rdma_cm_id *id;
	struct conn *conn;
	int status;

	do {
		id = next_message(client->channel);
		if (id) {
			*came = true;
			return id->context;
		}
		if (rdma_get_cm_event(client->channel, &event))
			give_up("rdma_get_cm_event");
		type = event->event;
		status = event->status;
		conn = event->id->context;
		rdma_ack_cm_event(event);
	} while (type == RDMA_CM_EVENT_TIMEWAIT_EXIT || conn->failed || conn->stage == STAGE_GONE);
	*came = !status && type == wanted[conn->stage];
	if (*came && type == RDMA_CM_EVENT_CONNECT_RESPONSE && rdma_establish(conn->id))
		*came = false;
	if (*came) {
		conn->at[++conn->stage] = now_us();
	} else {
		char what[64];

		snprintf(what, sizeof(what), "%s %d", rdma_event_str(type), status);
		note_failure(client, conn, what);
	}
	return conn;
}

void client_init(struct client *client, int count)
{
	memset(client, 0, sizeof(*client));
	client->channel = rdma_create_event_channel();
	client->conns = calloc(count, sizeof(*client->conns));
	client->count = count;
	if (!client->channel || !client->conns)
		give_up("a channel and memory");
}

void client_end(struct client *client)
{
	rdma_destroy_event_channel(client->channel);
	free(client->conns);
}

/* Move all ids from one stage to another, at most @window at a time (0: all of them). */
void client_run(struct client *client, enum stage from, enum stage to, int window)
{
	int next = 0, under_way = 0;

	if (!window)
		window = client->count;
	for (;;) {
		struct conn *conn;
		bool came;

		for (; next < client->count && under_way < window; next++) {
			conn = &client->conns[next];
			if (!conn->failed && conn->stage == from)
				under_way += ask(client, conn);
		}
		if (!under_way)
			return;
		conn = next_event(client, &came);
		if (!came || conn->stage == to) {
			under_way--;
			/* Destroy an id as soon as it is disconnected, as a program does. */
			if (conn->stage == STAGE_GONE) {
				destroy_id(conn->id);
				conn->id = NULL;
			}
		} else if (!ask(client, conn)) {
			under_way--;
		}
	}
}

void client_destroy(struct client *client)
{
	for (int i = 0; i < client->count; i++) {
		if (client->conns[i].id)
			destroy_id(client->conns[i].id);
		client->conns[i].id = NULL;
	}
}

/* Times from the call that leaves stage @from to the event of @to, of all ids that got there. */
void say_times(const char *name, const struct client *client, enum stage from, enum stage to)
{
	const char *between = "";

	printf(", \"%s\": [", name);
	for (int i = 0; i < client->count; i++) {
		const struct conn *conn = &client->conns[i];

		if (conn->stage < to || !conn->begun[from + 1])
			continue;
		printf("%s%.1f", between, conn->at[to] - conn->begun[from + 1]);
		between = ", ";
	}
	printf("]");
}

void say_failures(const struct client *client)
{
	printf(", \"failures\": %d, \"why\": \"%s\"", client->failures, client->why);
}
