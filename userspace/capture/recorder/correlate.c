// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * Correlation of messages with ids. With each operation and event, the module reports the
 * communication IDs of the connection, or session and number of a connection over a trunk. The last
 * TOLD notifications are kept, and the latest owner of each connection, for up to OWNERS
 * connections.
 */
#include "capture/recorder/correlate.h"

#include <endian.h>
#include <rdma/rdma_cm_alt.h>
#include <stdio.h>
#include <string.h>

#include "capture/format/cm.h"
#include "capture/recorder/correlate_trunk.h"
#include "tool/core/tool.h"

enum { TOLD = 4096, OWNERS = 65536 };

/* Offsets of communication IDs in MADs; SIDR has its request ID at the first one. */
enum { LOCAL_ID_AT = 24, REMOTE_ID_AT = 28 };

/* struct owner - a connection, and the id that it belongs to */
struct owner {
	uint32_t comm_id;
	uint32_t remote_comm_id;
	struct record_id id;
	uint32_t pid;
	char program[16];
	unsigned long told;	/* number of its last notification; 0: none */
	unsigned long packet;	/* the last one recorded; 0: none */
};

/*
 * struct told - a notification of a connection
 * @before: number of the previous notification of the connection; 0: none
 * @packet: the first packet that belongs to it; 0: none
 */
struct told {
	uint64_t time;
	uint32_t comm_id;
	unsigned long before;
	unsigned long packet;
	char operation[24];
	char event[24];
};

static struct told tolds[TOLD];
static unsigned long n_told;	/* number of the last notification, counted from 1 */

/* Indexed by place(comm_id); a newer connection with the same index replaces the older one. */
static struct owner owners[OWNERS];

/* Indexed by place(remote_comm_id): comm_id of the connection that was reported last. */
static uint32_t by_peers[OWNERS];

static void copy(char *to, size_t len, const char *from)
{
	snprintf(to, len, "%s", from);
}

static uint32_t place(uint32_t comm_id)
{
	return (comm_id ^ comm_id >> 16) % OWNERS;
}

/* Returns NULL if the module has not reported this connection. */
static struct owner *find(uint32_t comm_id)
{
	struct owner *owner = &owners[place(comm_id)];

	return comm_id && owner->comm_id == comm_id ? owner : NULL;
}

static struct correlate_notice read_note(struct nlattr **attrs)
{
	return (struct correlate_notice){
		.session = client_u32(attrs, RDMA_CM_ALT_NL_A_SESSION, 0),
		.number = client_u32(attrs, RDMA_CM_ALT_NL_A_NUMBER, 0),
		.id.context = client_u64(attrs, RDMA_CM_ALT_NL_A_CTX, 0),
		.id.handle = client_u32(attrs, RDMA_CM_ALT_NL_A_HANDLE, 0),
		.pid = client_u32(attrs, RDMA_CM_ALT_NL_A_PID, 0),
		.program = client_string(attrs, RDMA_CM_ALT_NL_A_COMM, ""),
		.operation = client_string(attrs, RDMA_CM_ALT_NL_A_OP, ""),
		.event = client_u32(attrs, RDMA_CM_ALT_NL_A_EVENT, CORRELATE_NO_EVENT),
	};
}

/* A connect request is first reported for the listener, and later for its new id, which is kept. */
static void take_owner(struct nlattr **attrs, const struct correlate_notice *note)
{
	uint32_t comm_id = client_u32(attrs, RDMA_CM_ALT_NL_A_COMM_ID, 0);
	struct owner *owner = find(comm_id);

	correlate_trunk_note(note);
	if (!comm_id || (owner && note->event == RDMA_CM_ALT_EVENT_CONNECT_REQUEST))
		return;
	if (!owner) {
		owner = &owners[place(comm_id)];
		*owner = (struct owner){ .comm_id = comm_id };
	}
	owner->remote_comm_id = client_u32(attrs, RDMA_CM_ALT_NL_A_REMOTE_COMM_ID, 0);
	if (owner->remote_comm_id)
		by_peers[place(owner->remote_comm_id)] = comm_id;
	owner->id = note->id;
	owner->pid = note->pid;
	copy(owner->program, sizeof(owner->program), note->program);
}

static void take_id(struct nlmsghdr *nlh, struct nlattr **attrs, void *arg)
{
	const struct correlate_notice note = read_note(attrs);

	(void)nlh;
	(void)arg;
	take_owner(attrs, &note);
}

void correlate_dump(void)
{
	client_dump(RDMA_CM_ALT_NL_ID, take_id, NULL);
}

/* Returns NULL if the notification is no longer kept. */
static struct told *told_number(unsigned long number)
{
	return number && n_told - number < TOLD ? &tolds[number % TOLD] : NULL;
}

unsigned long correlate_note(struct nlattr **attrs)
{
	uint32_t comm_id = client_u32(attrs, RDMA_CM_ALT_NL_A_COMM_ID, 0);
	const struct correlate_notice note = read_note(attrs);
	struct owner *owner;
	struct told *told;

	take_owner(attrs, &note);
	owner = find(comm_id);
	if (!owner)
		return 0;
	told = &tolds[++n_told % TOLD];
	*told = (struct told){
		.time = client_u64(attrs, RDMA_CM_ALT_NL_A_TIME, 0),
		.comm_id = comm_id,
		.before = owner->told,
	};
	owner->told = n_told;
	copy(told->operation, sizeof(told->operation), note.operation);
	if (note.event != CORRELATE_NO_EVENT)
		copy(told->event, sizeof(told->event), text_event(note.event));
	return n_told;
}

static uint32_t id_at(const struct record_entry *entry, unsigned int at)
{
	uint32_t value;

	memcpy(&value, entry->bytes + at, sizeof(value));
	return be32toh(value);
}

/* This host's communication ID in a message, or 0 if the message only has that of the peer. */
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

/* Two peers may use the same ID; the connection that was reported last is taken. */
static struct owner *find_by_peer(uint32_t remote)
{
	struct owner *owner = find(by_peers[place(remote)]);

	return owner && owner->remote_comm_id == remote ? owner : NULL;
}

/* The connection of a message, or NULL if the module has not reported it. */
static struct owner *find_owner(const struct record_entry *entry)
{
	uint32_t comm_id = own_id(entry);

	return comm_id ? find(comm_id) : find_by_peer(id_at(entry, LOCAL_ID_AT));
}

/* The operation that sent the message, or the event it caused: the first one reported after it. */
static unsigned long take_cause(struct record_entry *entry, const struct owner *owner,
				uint64_t within)
{
	bool sent = entry->way != RECORD_RECEIVED;
	const struct told *told;
	unsigned long cause = 0;

	for (unsigned long i = owner->told; (told = told_number(i)); i = told->before) {
		const char *what = sent ? told->operation : told->event;

		/* Notification of an older connection with the same index. */
		if (told->comm_id != owner->comm_id)
			break;
		if (!*what || told->time < entry->time || told->time - entry->time > within)
			continue;
		copy(sent ? entry->operation : entry->event, sizeof(entry->event), what);
		cause = i;
	}
	return cause;
}

unsigned long correlate_apply(struct record_entry *entry, uint64_t within)
{
	const struct owner *owner;

	/* A frame has messages of many connections, none of them of stock. */
	if (entry->kind == RECORD_TRUNK) {
		correlate_trunk_apply(entry);
		return 0;
	}
	owner = find_owner(entry);
	if (!owner) {
		entry->stock = true;
		return 0;
	}
	entry->id = owner->id;
	entry->pid = owner->pid;
	copy(entry->program, sizeof(entry->program), owner->program);
	return take_cause(entry, owner, within);
}

void correlate_recorded(const struct record_entry *entry, unsigned long told_at,
			unsigned long packet)
{
	struct told *told = told_number(told_at);
	struct owner *owner = entry->kind == RECORD_TRUNK ? NULL : find_owner(entry);

	if (told && !told->packet)
		told->packet = packet;
	if (owner)
		owner->packet = packet;
}

void correlate_packets(unsigned long told_at, unsigned long *packet, unsigned long *last)
{
	const struct told *told = told_number(told_at);
	const struct owner *owner = told ? find(told->comm_id) : NULL;

	*packet = told ? told->packet : 0;
	*last = owner ? owner->packet : 0;
}
