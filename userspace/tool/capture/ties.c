// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * Ties of messages to ids: the module tells the communication IDs of a connection, or the session
 * and number of one over a trunk, with each operation and event. The last TOLD notifications are
 * kept, and the last owner of each connection, up to OWNERS of them.
 */
#include "tool/capture/ties.h"

#include <endian.h>
#include <rdma/rdma_cm_alt.h>
#include <stdio.h>
#include <string.h>

#include "tool/core/tool.h"
#include "tool/record/cm.h"

enum { TOLD = 4096, OWNERS = 65536 };

/* Offsets of communication IDs in MADs; a request ID of SIDR is where the first one is. */
enum { LOCAL_ID_AT = 24, REMOTE_ID_AT = 28 };

/* struct owner - a connection, and the id that it belongs to */
struct owner {
	uint32_t comm_id;
	uint32_t remote_comm_id;
	uint32_t cm_id;
	uint32_t pid;
	char program[16];
};

/* struct told - a notification of a connection */
struct told {
	uint64_t time;
	uint32_t comm_id;
	char operation[24];
	char event[24];
};

static struct told tolds[TOLD];
static unsigned long n_told;

/* By the low bits of comm_id; a connection that has the same ones replaces the older one. */
static struct owner owners[OWNERS];

static void copy(char *to, size_t len, const char *from)
{
	snprintf(to, len, "%s", from ? from : "");
}

static struct owner *owner_slot(uint32_t comm_id)
{
	return &owners[(comm_id ^ comm_id >> 16) % OWNERS];
}

/* Of a request, the listener is told; its new id is told later, and is kept then. */
static void take_owner(struct nlattr **attrs, bool request)
{
	uint32_t comm_id = client_u32(attrs, RDMA_CM_ALT_NL_A_COMM_ID, 0);
	struct owner *owner = owner_slot(comm_id);

	if (!comm_id || (request && owner->comm_id == comm_id))
		return;
	owner->comm_id = comm_id;
	owner->remote_comm_id = client_u32(attrs, RDMA_CM_ALT_NL_A_REMOTE_COMM_ID, 0);
	owner->cm_id = client_u32(attrs, RDMA_CM_ALT_NL_A_HANDLE, 0);
	owner->pid = client_u32(attrs, RDMA_CM_ALT_NL_A_PID, 0);
	copy(owner->program, sizeof(owner->program),
	     client_string(attrs, RDMA_CM_ALT_NL_A_COMM, NULL));
}

static void take_id(struct nlmsghdr *nlh, struct nlattr **attrs, void *arg)
{
	(void)nlh;
	(void)arg;
	take_owner(attrs, false);
}

void ties_dump(void)
{
	client_dump(RDMA_CM_ALT_NL_ID, take_id, NULL);
}

void ties_note(struct nlmsghdr *nlh, struct nlattr **attrs, void *arg)
{
	struct told *told = &tolds[n_told % TOLD];
	const struct nlattr *event = attrs[RDMA_CM_ALT_NL_A_EVENT];

	(void)nlh;
	(void)arg;
	take_owner(attrs, event && nla_get_u32(event) == RDMA_CM_ALT_EVENT_CONNECT_REQUEST);
	*told = (struct told){
		.time = client_u64(attrs, RDMA_CM_ALT_NL_A_TIME, 0),
		.comm_id = client_u32(attrs, RDMA_CM_ALT_NL_A_COMM_ID, 0),
	};
	if (!told->comm_id)
		return;
	copy(told->operation, sizeof(told->operation),
	     client_string(attrs, RDMA_CM_ALT_NL_A_OP, NULL));
	if (event)
		copy(told->event, sizeof(told->event), text_event(nla_get_u32(event)));
	n_told++;
}

static uint32_t id_at(const struct record_entry *entry, unsigned int at)
{
	uint32_t value;

	memcpy(&value, entry->bytes + at, sizeof(value));
	return be32toh(value);
}

/* The communication ID of this host in a message, or 0: it has only that of the peer. */
static uint32_t own_id(const struct record_entry *entry)
{
	bool sent = entry->way != RECORD_RECEIVED;

	switch (cm_type(entry)) {
	case CM_REQ:
	case CM_SIDR_REQ:
		return sent ? id_at(entry, LOCAL_ID_AT) : 0;
	case CM_SIDR_REP:
		return sent ? 0 : id_at(entry, LOCAL_ID_AT);
	default:
		return id_at(entry, sent ? LOCAL_ID_AT : REMOTE_ID_AT);
	}
}

/* Hosts may choose the same numbers: the newest connection is meant, which was told last. */
static const struct owner *owner_by_peer(uint32_t remote)
{
	for (unsigned long i = n_told; i && n_told - i < TOLD; i--) {
		const struct owner *owner = owner_slot(tolds[(i - 1) % TOLD].comm_id);

		if (owner->comm_id && owner->remote_comm_id == remote)
			return owner;
	}
	return NULL;
}

/* The operation that sent the message, or the event that it caused: the next one in time. */
static void take_cause(struct record_entry *entry, uint32_t comm_id, uint64_t within)
{
	bool sent = entry->way != RECORD_RECEIVED;
	unsigned long first = n_told > TOLD ? n_told - TOLD : 0;

	for (unsigned long i = first; i < n_told; i++) {
		const struct told *told = &tolds[i % TOLD];
		const char *what = sent ? told->operation : told->event;

		if (told->comm_id != comm_id || !*what || told->time < entry->time ||
		    told->time - entry->time > within)
			continue;
		copy(sent ? entry->operation : entry->event, sizeof(entry->event), what);
		return;
	}
}

void ties_apply(struct record_entry *entry, uint64_t within)
{
	const struct owner *owner;
	uint32_t comm_id;

	/* Frames have messages of many connections; all of them are ours. */
	if (entry->kind == RECORD_TRUNK)
		return;
	comm_id = own_id(entry);
	if (comm_id) {
		owner = owner_slot(comm_id);
		if (owner->comm_id != comm_id)
			owner = NULL;
	} else {
		owner = owner_by_peer(id_at(entry, LOCAL_ID_AT));
	}
	if (!owner) {
		entry->stock = true;
		return;
	}
	entry->cm_id = owner->cm_id;
	entry->pid = owner->pid;
	copy(entry->program, sizeof(entry->program), owner->program);
	take_cause(entry, owner->comm_id, within);
}
