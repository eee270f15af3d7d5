// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * Correlation of the records in trunk frames with ids. With each operation and event, the module
 * reports session and number of a connection over a trunk. If both ends of the connection are on
 * this host they share these numbers; the sender of a record is then found by the type of the
 * record, or by port and QP number, which differ between the ends.
 */
#include "capture/recorder/correlate_trunk.h"

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
 * @ids: the ids of the ends; the handle is 0 if the end is on another host
 * @listener: the id of the ACCEPTER is still that of the listener: its own was not reported yet
 * @qps: the trunk's QP at each end
 */
struct conn {
	uint32_t session;
	uint32_t number;
	struct record_tie ids[ENDS];
	bool listener;
	struct qp qps[ENDS];
};

/* Indexed by conn_slot(); a newer connection with the same index replaces the older one. */
static struct conn conns[CONNS];

static struct conn *conn_slot(uint32_t session, uint32_t number)
{
	return &conns[(session * 2654435761u ^ number) % CONNS];
}

/* The end, if the operation or event is possible at one end only. */
static enum end end_by_cause(const struct correlate_notice *note)
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
	/* The id is new: it is the other end of the connection. */
	if (conn->ids[REQUESTER].id.handle)
		return ACCEPTER;
	return conn->ids[ACCEPTER].id.handle && !conn->listener ? REQUESTER : UNKNOWN;
}

void correlate_trunk_note(const struct correlate_notice *note)
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
	/* The connection is older than the recording, so either end is possible. */
	if (end == UNKNOWN)
		end = conn->listener ? ACCEPTER : REQUESTER;
	if (request && conn->ids[ACCEPTER].id.handle)
		return;
	if (end == ACCEPTER)
		conn->listener = request;
	conn->ids[end] = tie;
}

/* The end that sends records of this type; UNKNOWN: both do. */
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

/* The local end of a record in a frame; UNKNOWN if it cannot be determined. */
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
	/* The trunk has a new QP: the end is only known if just one of them is on this host. */
	if (!conn->ids[REQUESTER].id.handle)
		return ACCEPTER;
	return conn->ids[ACCEPTER].id.handle ? UNKNOWN : REQUESTER;
}

void correlate_trunk_apply(struct record_entry *entry)
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
