// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * Ties of records in frames to ids. The module tells the session and number of a connection over a
 * trunk with each operation and event. Both of its ends may be on this host, and have these numbers
 * in common: which one has sent a record is known by the type of the record, or by the port and QP,
 * which each end has its own of.
 */
#include "capture/recorder/ties_trunk.h"

#include <rdma/rdma_cm_alt.h>
#include <stdio.h>
#include <string.h>

#include "capture/format/trunk.h"

enum { CONNS = 8192 };

enum end { REQUESTER, ACCEPTER, ENDS, UNKNOWN = ENDS };

/* struct qp - a QP; number 0: unknown */
struct qp {
	uint32_t port;
	uint32_t number;
};

/*
 * struct conn - a connection
 * @ids: of the ends that are on this host; the handle is 0 otherwise
 * @listener: the id of the ACCEPTER is that of the listener, as its own was not told yet
 * @qps: of the trunk at this end
 */
struct conn {
	uint32_t session;
	uint32_t number;
	struct record_tie ids[ENDS];
	bool listener;
	struct qp qps[ENDS];
};

/* A connection that has the place of another one replaces it. */
static struct conn conns[CONNS];

static struct conn *conn_slot(uint32_t session, uint32_t number)
{
	return &conns[(session * 2654435761u ^ number) % CONNS];
}

/* The end that only can do this, or that this only can happen to. */
static enum end end_by_cause(const struct ties_note *note)
{
	const char *operation = note->operation;

	if (!strcmp(operation, "connect"))
		return REQUESTER;
	if (!strcmp(operation, "accept") || !strcmp(operation, "reject"))
		return ACCEPTER;
	switch (note->event) {
	case RDMA_CM_ALT_EVENT_CONNECT_RESPONSE:
	case RDMA_CM_ALT_EVENT_UNREACHABLE:
		return REQUESTER;
	case RDMA_CM_ALT_EVENT_CONNECT_REQUEST:
		return ACCEPTER;
	default:
		return UNKNOWN;
	}
}

static enum end end_by_id(const struct conn *conn, const struct record_id *id)
{
	for (enum end end = REQUESTER; end < ENDS; end++)
		if (record_same_id(&conn->ids[end].id, id))
			return end;
	/* A connection has two ends: this is the one that was not told yet. */
	if (conn->ids[REQUESTER].id.handle)
		return ACCEPTER;
	return conn->ids[ACCEPTER].id.handle && !conn->listener ? REQUESTER : UNKNOWN;
}

void ties_trunk_note(const struct ties_note *note)
{
	struct conn *conn = conn_slot(note->session, note->number);
	bool request = note->event == RDMA_CM_ALT_EVENT_CONNECT_REQUEST;
	struct record_tie tie = { .conn = note->number, .id = note->id, .pid = note->pid };
	enum end end = end_by_cause(note);

	if (!note->session || !note->id.handle)
		return;
	snprintf(tie.program, sizeof(tie.program), "%s", note->program);
	if (conn->session != note->session || conn->number != note->number)
		*conn = (struct conn){ .session = note->session, .number = note->number };
	if (end == UNKNOWN)
		end = end_by_id(conn, &note->id);
	/* Told by a program that began before the recorder: one end of both. */
	if (end == UNKNOWN)
		end = conn->listener ? ACCEPTER : REQUESTER;
	if (request && conn->ids[ACCEPTER].id.handle)
		return;
	if (end == ACCEPTER)
		conn->listener = request;
	conn->ids[end] = tie;
}

/* The end that sends records of this type; UNKNOWN: either may. */
static enum end end_by_type(unsigned int type)
{
	switch (type) {
	case TRUNK_REQ:
	case TRUNK_RTU:
		return REQUESTER;
	case TRUNK_REP:
	case TRUNK_HELD:
		return ACCEPTER;
	default:
		return UNKNOWN;
	}
}

/* The end of this host in a record of a frame; UNKNOWN: it cannot be told. */
static enum end own_end(struct conn *conn, const struct record_entry *entry, unsigned int type)
{
	bool received = entry->way == RECORD_RECEIVED;
	struct qp qp = { entry->port, received ? entry->dqpn : entry->sqpn };
	enum end end = end_by_type(type);

	if (end != UNKNOWN) {
		end = received ? !end : end;
		conn->qps[end] = qp;
		return end;
	}
	for (end = REQUESTER; end < ENDS; end++)
		if (conn->qps[end].number == qp.number && conn->qps[end].port == qp.port)
			return end;
	/* The trunk has a new QP. Only one end is here: it has sent or received the record. */
	if (!conn->ids[REQUESTER].id.handle)
		return ACCEPTER;
	return conn->ids[ACCEPTER].id.handle ? UNKNOWN : REQUESTER;
}

void ties_trunk_apply(struct record_entry *entry)
{
	struct trunk_record record = {};

	while (entry->n_ties < RECORD_TIES && trunk_next(entry, &record)) {
		struct conn *conn = conn_slot(entry->session, record.conn);
		enum end end;

		if (conn->session != entry->session || conn->number != record.conn ||
		    record_tie(entry, record.conn))
			continue;
		end = own_end(conn, entry, record.type);
		if (end != UNKNOWN && conn->ids[end].id.handle)
			entry->ties[entry->n_ties++] = conn->ids[end];
	}
}
