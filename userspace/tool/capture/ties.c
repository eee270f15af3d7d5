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
	unsigned long packet;	/* the last one; 0: none was recorded */
};

/* struct told - a notification of a connection; @packet: the first one that it belongs to, or 0 */
struct told {
	uint64_t time;
	uint32_t comm_id;
	unsigned long packet;
	char operation[24];
	char event[24];
};

static struct told tolds[TOLD];
static unsigned long n_told;	/* number of the last one; the first is number 1 */

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
	if (owner->comm_id != comm_id)
		owner->packet = 0;
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

/* Returns NULL if the notification is no longer kept. */
static struct told *told_number(unsigned long number)
{
	return number && n_told - number < TOLD ? &tolds[number % TOLD] : NULL;
}

unsigned long ties_note(struct nlattr **attrs)
{
	const struct nlattr *event = attrs[RDMA_CM_ALT_NL_A_EVENT];
	uint32_t comm_id = client_u32(attrs, RDMA_CM_ALT_NL_A_COMM_ID, 0);
	struct told *told;

	take_owner(attrs, event && nla_get_u32(event) == RDMA_CM_ALT_EVENT_CONNECT_REQUEST);
	if (!comm_id)
		return 0;
	told = &tolds[++n_told % TOLD];
	*told = (struct told){
		.time = client_u64(attrs, RDMA_CM_ALT_NL_A_TIME, 0),
		.comm_id = comm_id,
	};
	copy(told->operation, sizeof(told->operation),
	     client_string(attrs, RDMA_CM_ALT_NL_A_OP, NULL));
	if (event)
		copy(told->event, sizeof(told->event), text_event(nla_get_u32(event)));
	return n_told;
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
static struct owner *owner_by_peer(uint32_t remote)
{
	const struct told *told;

	for (unsigned long i = n_told; (told = told_number(i)); i--) {
		struct owner *owner = owner_slot(told->comm_id);

		if (owner->comm_id && owner->remote_comm_id == remote)
			return owner;
	}
	return NULL;
}

/* The operation that sent the message, or the event that it caused: the next one in time. */
static unsigned long take_cause(struct record_entry *entry, uint32_t comm_id, uint64_t within)
{
	bool sent = entry->way != RECORD_RECEIVED;
	const struct told *told;
	unsigned long cause = 0;

	/* They come almost in order of their times. */
	for (unsigned long i = n_told; (told = told_number(i)); i--) {
		const char *what = sent ? told->operation : told->event;

		if (told->time + within < entry->time)
			break;
		if (told->comm_id != comm_id || !*what || told->time < entry->time ||
		    told->time - entry->time > within)
			continue;
		copy(sent ? entry->operation : entry->event, sizeof(entry->event), what);
		cause = i;
	}
	return cause;
}

/* The connection of a message, if the module has told of it. */
static struct owner *find_owner(const struct record_entry *entry)
{
	uint32_t comm_id = own_id(entry);
	struct owner *owner;

	if (!comm_id)
		return owner_by_peer(id_at(entry, LOCAL_ID_AT));
	owner = owner_slot(comm_id);
	return owner->comm_id == comm_id ? owner : NULL;
}

unsigned long ties_apply(struct record_entry *entry, uint64_t within)
{
	const struct owner *owner;

	/* Frames have messages of many connections; all of them are ours. */
	if (entry->kind == RECORD_TRUNK)
		return 0;
	owner = find_owner(entry);
	if (!owner) {
		entry->stock = true;
		return 0;
	}
	entry->cm_id = owner->cm_id;
	entry->pid = owner->pid;
	copy(entry->program, sizeof(entry->program), owner->program);
	return take_cause(entry, owner->comm_id, within);
}

void ties_recorded(const struct record_entry *entry, unsigned long told_at, unsigned long packet)
{
	struct told *told = told_number(told_at);
	struct owner *owner = entry->kind == RECORD_TRUNK ? NULL : find_owner(entry);

	if (told && !told->packet)
		told->packet = packet;
	if (owner)
		owner->packet = packet;
}

void ties_packets(unsigned long told_at, unsigned long *packet, unsigned long *last)
{
	const struct told *told = told_number(told_at);
	const struct owner *owner = told ? owner_slot(told->comm_id) : NULL;

	*packet = told ? told->packet : 0;
	*last = owner && owner->comm_id == told->comm_id ? owner->packet : 0;
}
