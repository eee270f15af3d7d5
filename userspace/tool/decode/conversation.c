// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * Groups the CM messages of a capture by the communication IDs of both ends, and records of trunks
 * by session and number of the connection, which both ends have in common.
 */
#include "tool/decode/conversation.h"

#include <stdlib.h>
#include <string.h>

#include "tool/decode/names.h"
#include "tool/record/bytes.h"
#include "tool/record/cm.h"

enum { BUCKETS = 16384, TRANSACTION_AT = 8, REQUESTER = 0, RESPONDER = 1, COMPARED = 256 };

/* Offsets in records of trunks. */
enum { RECORD_REASON_AT = 8, RECORD_SERVICE_AT = 8 };

#define TYPE_BIT(type) (1u << ((type) - CM_REQ))

struct conversations {
	uint64_t until;
	size_t count, room;
	struct conversation **list;
	struct conversation *buckets[2][BUCKETS];
};

/*
 * struct query - what a message says about its conversation
 * @session: of a record; 0: a CM message
 * @tie: the id that it belongs to
 * @about, @reason, @wait: as in struct said
 */
struct query {
	unsigned int type;
	bool sidr;
	uint32_t session;
	struct end sender, receiver;
	uint64_t transaction;
	uint64_t service;
	struct record_tie tie;
	uint8_t about;
	uint16_t reason;
	uint64_t wait;
};

struct conversations *conversations_new(void)
{
	return calloc(1, sizeof(struct conversations));
}

void conversations_free(struct conversations *all)
{
	for (size_t i = 0; i < all->count; i++) {
		free(all->list[i]->messages);
		free(all->list[i]);
	}
	free(all->list);
	free(all);
}

static struct conversation **bucket_of(struct conversations *all, int end, uint32_t id)
{
	return &all->buckets[end][(id * 2654435761u) >> 18];
}

static void set_end(struct end *end, const struct record_entry *entry, bool sender, uint32_t id)
{
	end->id = id;
	end->grh = entry->grh;
	memcpy(end->gid, sender ? entry->sgid : entry->dgid, sizeof(end->gid));
	end->lid = sender ? entry->slid : entry->dlid;
	name_peer(entry, sender, end->address, sizeof(end->address));
}

static unsigned int about_of(const struct record_entry *entry, unsigned int type)
{
	static const uint8_t mraed[] = { CM_REQ, CM_REP, CM_LAP, 0 };
	static const uint8_t rejected[] = { CM_REQ, CM_REP, 0, 0 };

	if (type == CM_MRA)
		return mraed[cm_get(entry, "message_mraed")];
	return type == CM_REJ ? rejected[cm_get(entry, "message_rejected")] : 0;
}

static void ask(struct query *query, const struct record_entry *entry)
{
	uint32_t request = cm_get(entry, "request_id");

	query->type = cm_type(entry);
	query->sidr = query->type == CM_SIDR_REQ || query->type == CM_SIDR_REP;
	query->transaction = get_be64(entry->bytes + TRANSACTION_AT);
	set_end(&query->sender, entry, true,
		query->type == CM_SIDR_REQ ? request : cm_get(entry, "local_comm_id"));
	set_end(&query->receiver, entry, false,
		query->type == CM_SIDR_REP ? request : cm_get(entry, "remote_comm_id"));
	query->about = about_of(entry, query->type);
	query->reason = cm_get(entry, "reason") + cm_get(entry, "status") +
			cm_get(entry, "ap_status");
	query->wait = 4096ull << cm_get(entry, "service_timeout");
	query->service = cm_get(entry, "service_id");
	query->tie = (struct record_tie){ .id = entry->id, .pid = entry->pid };
	memcpy(query->tie.program, entry->program, sizeof(query->tie.program));
}

/* Returns whether a record counts as a CM message. */
static bool ask_record(struct query *query, const struct record_entry *entry,
		       const struct trunk_record *record)
{
	static const unsigned int types[] = {
		[TRUNK_REQ] = CM_REQ, [TRUNK_REP] = CM_REP, [TRUNK_RTU] = CM_RTU,
		[TRUNK_REJ] = CM_REJ, [TRUNK_DREQ] = CM_DREQ, [TRUNK_DREP] = CM_DREP,
	};
	const struct record_tie *tie = record_tie(entry, record->conn);
	const uint8_t *bytes = entry->bytes + record->at;
	unsigned int recorded = entry->len - record->at;

	if (record->type >= sizeof(types) / sizeof(types[0]) || !types[record->type] ||
	    !entry->session)
		return false;
	query->type = types[record->type];
	query->session = entry->session;
	set_end(&query->sender, entry, true, record->conn);
	set_end(&query->receiver, entry, false, record->conn);
	if (query->type == CM_REJ && recorded >= RECORD_REASON_AT + 2)
		query->reason = get_be16(bytes + RECORD_REASON_AT);
	if (query->type == CM_REQ && recorded >= RECORD_SERVICE_AT + 8)
		query->service = get_be64(bytes + RECORD_SERVICE_AT);
	if (tie)
		query->tie = *tie;
	return true;
}

/* Addresses differ only if both are known in the same form: a recorder may know the LID alone. */
static bool same_address(const struct end *a, const struct end *b)
{
	if (a->grh && b->grh)
		return !memcmp(a->gid, b->gid, sizeof(a->gid));
	return !a->lid || !b->lid || a->lid == b->lid;
}

/* An ID may be known to one of both only. */
static bool may_be(const struct end *known, const struct end *end)
{
	return same_address(known, end) && (!known->id || !end->id || known->id == end->id);
}

/* A request that uses an ID again begins a new conversation. */
static bool is_new_request(const struct conversation *conversation, const struct query *query)
{
	return (query->type == CM_REQ || query->type == CM_SIDR_REQ) &&
	       conversation->types & TYPE_BIT(query->type) &&
	       conversation->transaction != query->transaction;
}

/* Searches the conversations in which one end has the ID of this end of the message. */
static struct conversation *find_by(struct conversations *all, const struct query *query,
				    const struct end *by, const struct end *other, int *from)
{
	for (int end = REQUESTER; by->id && end <= RESPONDER; end++) {
		struct conversation *found = *bucket_of(all, end, by->id);

		for (; found; found = found->next[end]) {
			if (found->sidr != query->sidr || found->session != query->session ||
			    found->ends[end].id != by->id ||
			    !same_address(&found->ends[end], by) ||
			    !may_be(&found->ends[!end], other) || is_new_request(found, query))
				continue;
			*from = by == &query->sender ? end : !end;
			return found;
		}
	}
	return NULL;
}

static void know_id(struct conversations *all, struct conversation *conversation, int end,
		    uint32_t id)
{
	struct conversation **bucket = bucket_of(all, end, id);

	if (conversation->ends[end].id || !id)
		return;
	conversation->ends[end].id = id;
	conversation->next[end] = *bucket;
	*bucket = conversation;
}

static struct conversation *begin(struct conversations *all, const struct query *query, int *from)
{
	struct conversation *new = calloc(1, sizeof(*new));
	bool answer = query->type == CM_REP || query->type == CM_SIDR_REP ||
		      query->type == CM_APR;

	if (all->count == all->room) {
		size_t room = all->room ? 2 * all->room : 64;
		struct conversation **list = reallocarray(all->list, room, sizeof(*list));

		if (!list) {
			free(new);
			return NULL;
		}
		all->list = list;
		all->room = room;
	}
	if (!new)
		return NULL;
	*from = answer ? RESPONDER : REQUESTER;
	new->sidr = query->sidr;
	new->session = query->session;
	new->transaction = query->transaction;
	new->local = -1;
	new->until = &all->until;
	new->ends[*from] = query->sender;
	new->ends[!*from] = query->receiver;
	new->ends[REQUESTER].id = 0;
	new->ends[RESPONDER].id = 0;
	all->list[all->count++] = new;
	new->number = all->count;
	return new;
}

/*
 * Whether the end has sent the same message before: not the same one, recorded at both ends. Only
 * the last messages are compared, for the sake of files that repeat one message without end.
 */
static bool is_again(const struct conversation *conversation, const struct said *said)
{
	if (said->way == RECORD_SENT_AGAIN)
		return true;
	for (size_t i = conversation->count; i && conversation->count - i < COMPARED; i--) {
		const struct said *old = &conversation->messages[i - 1];
		bool same_way = (old->way == RECORD_SENT_AGAIN ? RECORD_SENT : old->way) ==
				said->way;

		if (old->type == said->type && old->from == said->from && same_way &&
		    old->about == said->about && old->reason == said->reason)
			return true;
	}
	return false;
}

static bool append(struct conversation *conversation, const struct capture_seen *seen,
		   const struct query *query, int from)
{
	const struct record_entry *entry = &seen->entry;
	struct said said = {
		.number = seen->number, .time = entry->time, .way = entry->way,
		.type = query->type, .from = from, .about = query->about,
		.reason = query->reason, .wait = query->wait,
	};
	struct said *messages;

	said.again = is_again(conversation, &said);
	/* Room grows by powers of two. */
	if (!(conversation->count & (conversation->count - 1))) {
		size_t room = conversation->count ? 2 * conversation->count : 1;

		messages = reallocarray(conversation->messages, room, sizeof(*messages));
		if (!messages)
			return false;
		conversation->messages = messages;
	}
	conversation->messages[conversation->count++] = said;
	conversation->types |= TYPE_BIT(query->type);
	return true;
}

/* Takes what the message tells of the conversation. */
static void learn(struct conversation *conversation, const struct capture_seen *seen,
		  const struct query *query, int from)
{
	const struct record_entry *entry = &seen->entry;
	unsigned int type = query->type;

	conversation->port = seen->port;
	if (type == CM_REQ || type == CM_REP || type == CM_SIDR_REQ || type == CM_SIDR_REP)
		conversation->requested = true;
	if (entry->way == RECORD_SENT || entry->way == RECORD_SENT_AGAIN)
		conversation->local = from;
	else if (entry->way == RECORD_RECEIVED && conversation->local < 0)
		conversation->local = !from;
	if (!conversation->service)
		conversation->service = query->service;
	if (!conversation->id.handle)
		conversation->id = query->tie.id;
	if (!conversation->pid)
		conversation->pid = query->tie.pid;
	if (!*conversation->program)
		memcpy(conversation->program, query->tie.program, sizeof(conversation->program));
}

static struct conversation *add(struct conversations *all, const struct capture_seen *seen,
				struct query *query)
{
	struct conversation *conversation;
	int from = REQUESTER;

	conversation = find_by(all, query, &query->sender, &query->receiver, &from) ?:
		       find_by(all, query, &query->receiver, &query->sender, &from);
	if (!conversation)
		conversation = begin(all, query, &from);
	if (!conversation)
		return NULL;
	/* Both ends of a trunk may have the same GID, and a REJ does not say what it rejects. */
	if (query->session && (query->type == CM_REQ || query->type == CM_RTU))
		from = REQUESTER;
	else if (query->session && query->type == CM_REP)
		from = RESPONDER;
	else if (query->session && query->type == CM_REJ)
		query->about = from == REQUESTER && conversation->types & TYPE_BIT(CM_REP) ?
			       CM_REP : CM_REQ;
	if (!append(conversation, seen, query, from))
		return NULL;
	know_id(all, conversation, from, query->sender.id);
	know_id(all, conversation, !from, query->receiver.id);
	learn(conversation, seen, query, from);
	return conversation;
}

struct conversation *conversations_add(struct conversations *all, const struct capture_seen *seen)
{
	struct query query = {};

	if (seen->entry.time > all->until)
		all->until = seen->entry.time;
	if (!cm_message(cm_type(&seen->entry)))
		return NULL;
	ask(&query, &seen->entry);
	return add(all, seen, &query);
}

struct conversation *conversations_add_record(struct conversations *all,
					      const struct capture_seen *seen,
					      const struct trunk_record *record)
{
	struct query query = {};

	return ask_record(&query, &seen->entry, record) ? add(all, seen, &query) : NULL;
}

const struct conversation *conversations_get(const struct conversations *all, size_t index)
{
	return index < all->count ? all->list[index] : NULL;
}

uint64_t conversation_before(const struct conversation *conversation)
{
	size_t count = conversation->count;

	return count > 1 ? conversation->messages[count - 2].time : 0;
}
