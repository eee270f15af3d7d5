// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/* Groups the CM messages of a capture by the communication IDs of both ends. */
#include "tool/decode/conversation.h"

#include <stdlib.h>
#include <string.h>

#include "tool/decode/names.h"
#include "tool/record/bytes.h"
#include "tool/record/cm.h"

enum { BUCKETS = 16384, TRANSACTION_AT = 8, REQUESTER = 0, RESPONDER = 1, COMPARED = 256 };

#define TYPE_BIT(type) (1u << ((type) - CM_REQ))

struct conversations {
	uint64_t until;
	size_t count, room;
	struct conversation **list;
	struct conversation *buckets[2][BUCKETS];
};

/* What a message says about its conversation. */
struct query {
	unsigned int type;
	bool sidr;
	struct end sender, receiver;
	uint64_t transaction;
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
			if (found->sidr != query->sidr || found->ends[end].id != by->id ||
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

static unsigned int about_of(const struct record_entry *entry, unsigned int type)
{
	static const uint8_t mraed[] = { CM_REQ, CM_REP, CM_LAP, 0 };
	static const uint8_t rejected[] = { CM_REQ, CM_REP, 0, 0 };

	if (type == CM_MRA)
		return mraed[cm_get(entry, "message_mraed")];
	return type == CM_REJ ? rejected[cm_get(entry, "message_rejected")] : 0;
}

static bool append(struct conversation *conversation, const struct capture_seen *seen, int from)
{
	const struct record_entry *entry = &seen->entry;
	unsigned int type = cm_type(entry);
	struct said said = {
		.number = seen->number, .time = entry->time, .way = entry->way, .type = type,
		.from = from, .about = about_of(entry, type),
		.reason = cm_get(entry, "reason") + cm_get(entry, "status") +
			  cm_get(entry, "ap_status"),
		.wait = 4096ull << cm_get(entry, "service_timeout"),
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
	conversation->types |= TYPE_BIT(type);
	return true;
}

/* Takes what the message tells of the conversation. */
static void learn(struct conversation *conversation, const struct capture_seen *seen, int from)
{
	const struct record_entry *entry = &seen->entry;
	unsigned int type = cm_type(entry);

	conversation->port = seen->port;
	if (type == CM_REQ || type == CM_REP || type == CM_SIDR_REQ || type == CM_SIDR_REP)
		conversation->requested = true;
	if (entry->way == RECORD_SENT || entry->way == RECORD_SENT_AGAIN)
		conversation->local = from;
	else if (entry->way == RECORD_RECEIVED && conversation->local < 0)
		conversation->local = !from;
	if (!conversation->service)
		conversation->service = cm_get(entry, "service_id");
	if (!conversation->cm_id)
		conversation->cm_id = entry->cm_id;
	if (!conversation->pid)
		conversation->pid = entry->pid;
	if (!*conversation->program)
		memcpy(conversation->program, entry->program, sizeof(conversation->program));
}

struct conversation *conversations_add(struct conversations *all, const struct capture_seen *seen)
{
	struct conversation *conversation;
	struct query query = {};
	int from = REQUESTER;

	if (seen->entry.time > all->until)
		all->until = seen->entry.time;
	if (!cm_message(cm_type(&seen->entry)))
		return NULL;
	ask(&query, &seen->entry);
	conversation = find_by(all, &query, &query.sender, &query.receiver, &from) ?:
		       find_by(all, &query, &query.receiver, &query.sender, &from);
	if (!conversation)
		conversation = begin(all, &query, &from);
	if (!conversation || !append(conversation, seen, from))
		return NULL;
	know_id(all, conversation, from, query.sender.id);
	know_id(all, conversation, !from, query.receiver.id);
	learn(conversation, seen, from);
	return conversation;
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
