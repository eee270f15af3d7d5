// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * The same connections with the calls of <rdma/rdma_cma_alt.h>, where the library has them:
 * connects and destroys of many ids in one call, all events in one call, an accept without an
 * event.
 *
 * The symbols are looked up on demand, so that the driver also runs with stock.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <err.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "perf.h"

/* Maximum number of ids in one call. */
#define MOST 64

struct fused_calls fused;

/**
 * struct batch - connects that start together
 * @attrs: attributes of the connects
 * @params: connection parameters
 * @ids: the ids
 * @errors: errno for each id
 */
struct batch {
	struct rdma_alt_connect_attr attrs[MOST];
	struct rdma_conn_param params[MOST];
	struct rdma_cm_id *ids[MOST];
	int errors[MOST];
};

static void *call(const char *name)
{
	void *found = dlsym(RTLD_DEFAULT, name);

	if (!found)
		errx(3, "this library has no %s", name);
	return found;
}

/* Look the symbols up, or end the process. */
void fused_init(void)
{
	fused.connect_many = call("rdma_alt_connect_many");
	fused.destroy_many = call("rdma_alt_destroy_many");
	fused.get_events = call("rdma_alt_get_cm_events");
	fused.accept = call("rdma_alt_accept");
}

/* A QP that is created before its id, on the device of an id with the same route. */
static struct ibv_qp *make_loose_qp(void)
{
	static struct ibv_pd *pd;
	struct rdma_cm_id *id;

	if (!pd) {
		if (rdma_create_id(NULL, &id, NULL, RDMA_PS_TCP) ||
		    rdma_resolve_addr(id, NULL, address_of(options.address, options.port), 2000))
			give_up("an id for a device");
		pd = ibv_alloc_pd(id->verbs);
		if (!pd)
			give_up("ibv_alloc_pd");
		rdma_destroy_id(id);
	}
	return make_qp_of(pd);
}

/* Start the next @count ids; returns how many have started. */
static int start_ids(struct client *client, int first, int count)
{
	static struct batch batch;
	struct sockaddr *to = address_of(options.address, options.port);
	double now = now_us();
	int i, started = 0;

	for (i = 0; i < count; i++) {
		struct conn *conn = &client->conns[first + i];

		batch.params[i] = conn_param();
		batch.attrs[i] = (struct rdma_alt_connect_attr) {
			.channel = client->channel, .context = conn, .dst_addr = to,
			.timeout_ms = 2000, .conn_param = &batch.params[i],
			.qp = options.qps ? make_loose_qp() : NULL,
		};
		conn->begun[STAGE_ADDRESS] = now;
		conn->begun[STAGE_CONNECTED] = now;
	}
	fused.connect_many(batch.attrs, count, batch.ids, batch.errors);
	for (i = 0; i < count; i++) {
		struct conn *conn = &client->conns[first + i];

		conn->id = batch.ids[i];
		if (batch.errors[i])
			note_failure(client, conn, strerror(batch.errors[i]));
		else
			started++;
	}
	return started;
}

/* Read the pending events; returns how many ids have their answer. */
static int take(struct client *client)
{
	const enum rdma_cm_event_type wanted = options.qps ? RDMA_CM_EVENT_ESTABLISHED :
							     RDMA_CM_EVENT_CONNECT_RESPONSE;
	struct rdma_cm_event *events[MOST];
	int i, answers = 0, count = fused.get_events(client->channel, events, MOST);

	if (count < 0)
		give_up("rdma_alt_get_cm_events");
	for (i = 0; i < count; i++) {
		struct conn *conn = events[i]->id->context;
		enum rdma_cm_event_type type = events[i]->event;
		int status = events[i]->status;
		char what[64];

		rdma_ack_cm_event(events[i]);
		if (type == RDMA_CM_EVENT_TIMEWAIT_EXIT || conn->failed ||
		    conn->stage != STAGE_NEW)
			continue;
		answers++;
		if (type == wanted && (options.qps || !rdma_establish(conn->id))) {
			conn->stage = STAGE_CONNECTED;
			conn->at[STAGE_CONNECTED] = now_us();
			continue;
		}
		snprintf(what, sizeof(what), "%s %d", rdma_event_str(type), status);
		note_failure(client, conn, what);
	}
	return answers;
}

/* Connect all ids of a client, at most @window at a time. */
void fused_connect(struct client *client, int window)
{
	int next = 0, under_way = 0;

	while (next < client->count || under_way) {
		int count = window - under_way;

		if (count > client->count - next)
			count = client->count - next;
		if (count > MOST)
			count = MOST;
		if (count)
			under_way += start_ids(client, next, count);
		next += count;
		if (under_way)
			under_way -= take(client);
	}
}

/* Destroy all ids, which disconnects them, @window in a call. */
void fused_destroy(struct client *client, int window)
{
	struct rdma_cm_id *ids[MOST];

	if (window > MOST)
		window = MOST;
	for (int next = 0, count; next < client->count; next += count) {
		for (count = 0; count < window && next + count < client->count; count++) {
			struct conn *conn = &client->conns[next + count];

			ids[count] = conn->id;
			conn->id = NULL;
			if (ids[count] && ids[count]->qp)
				rdma_destroy_qp(ids[count]);
		}
		if (fused.destroy_many(ids, count, NULL) < 0)
			give_up("rdma_alt_destroy_many");
	}
}
