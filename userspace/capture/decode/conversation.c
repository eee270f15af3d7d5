// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * Groups the CM messages of a capture by the communication IDs of both ends, and records of trunks
 * by session and number of the connection, which are the same for both ends.
 */
#include "capture/decode/conversation.h"

#include <search.h>
#include <stdlib.h>
#include <string.h>

#include "capture/decode/query.h"
#include "capture/format/cm.h"

enum { REQUESTER = 0, RESPONDER = 1, COMPARED = 256 };

/* Idle times after which conversations_forget() drops a conversation, ended or not. */
#define ENDED_NS	10000000000ll
#define SILENT_NS	300000000000ll

#define TYPE_BIT(type) (1u << ((type) - CM_REQ))

/*
 * struct known_id - an ID of one end, and the conversations that have it, the newest first
 * @key: end and kind of conversation, session, ID
 */
struct known_id {
	uint32_t key[3];
	LIST_HEAD(, conversation) conversations;
};

TAILQ_HEAD(conversation_list, conversation);

/*
 * struct conversations - the conversations of a capture
 * @begun: total number, with those that were dropped
 * @silent: two lists by time of the last message: not ended, ended
 * @spoken: the conversation of the last message; NULL: it was dropped
 * @now: time of the last message that was added
 * @ids: balanced tree of struct known_id, so that no file can make it slow
 * @sessions: tree of struct cut_session
 */
struct conversations {
	struct whole whole;
	uint64_t now;
	size_t count, begun;
	struct conversation_list order;
	struct conversation_list silent[2];
	struct conversation *spoken;
	void *ids;
	void *sessions;
};

struct conversations *conversations_new(void)
{
	struct conversations *all = calloc(1, sizeof(*all));

	if (!all)
		return NULL;
	TAILQ_INIT(&all->order);
	TAILQ_INIT(&all->silent[false]);
	TAILQ_INIT(&all->silent[true]);
	return all;
}

void conversations_free(struct conversations *all)
{
	struct conversation *conversation;

	while ((conversation = TAILQ_FIRST(&all->order))) {
		TAILQ_REMOVE(&all->order, conversation, order);
		free(conversation->messages);
		free(conversation);
	}
	tdestroy(all->ids, free);
	tdestroy(all->sessions, free);
	free(all);
}

static int compare_ids(const void *a, const void *b)
{
	return memcmp(((const struct known_id *)a)->key, ((const struct known_id *)b)->key,
		      sizeof(((const struct known_id *)a)->key));
}

static int compare_sessions(const void *a, const void *b)
{
	uint32_t first = ((const struct cut_session *)a)->session;
	uint32_t second = ((const struct cut_session *)b)->session;

	return first < second ? -1 : first > second;
}

/* Finds an element of a tree, or inserts a copy of @wanted; NULL: there is no memory. */
static void *find_or_put(void **tree, const void *wanted, size_t size,
			 int (*compare)(const void *a, const void *b))
{
	void **found = tfind(wanted, tree, compare), *copy;

	if (found)
		return *found;
	copy = malloc(size);
	if (!copy)
		return NULL;
	memcpy(copy, wanted, size);
	found = tsearch(copy, tree, compare);
	if (!found)
		free(copy);
	return found ? copy : NULL;
}

static struct cut_session *session_of(struct conversations *all, uint32_t session)
{
	const struct cut_session wanted = { .session = session };

	return find_or_put(&all->sessions, &wanted, sizeof(wanted), compare_sessions);
}

static struct known_id id_of(int end, bool sidr, uint32_t session, uint32_t id)
{
	return (struct known_id){ .key = { end | sidr << 1, session, id } };
}

/* Addresses of different forms cannot be compared: a recorder may know only the LID. */
static bool same_address(const struct end *a, const struct end *b)
{
	if (a->grh && b->grh)
		return !memcmp(a->gid, b->gid, sizeof(a->gid));
	return !a->lid || !b->lid || a->lid == b->lid;
}

/* Whether both may be the same end: an ID may be unknown in one of them. */
static bool may_be(const struct end *known, const struct end *end)
{
	return same_address(known, end) && (!known->id || !end->id || known->id == end->id);
}

/* A request that reuses an ID begins a new conversation. */
static bool is_new_request(const struct conversation *conversation, const struct query *query)
{
	return (query->type == CM_REQ || query->type == CM_SIDR_REQ) &&
	       conversation->types & TYPE_BIT(query->type) &&
	       conversation->transaction != query->transaction;
}

/*
 * Searches the conversations in which one end has the ID of this end of the message. Only the
 * newest are compared, so that files that reuse one ID many times are not slow.
 */
static struct conversation *find_by(struct conversations *all, const struct query *query,
				    const struct end *by, const struct end *other, int *from)
{
	for (int end = REQUESTER; by->id && end <= RESPONDER; end++) {
		const struct known_id wanted = id_of(end, query->sidr, query->session, by->id);
		struct known_id **known = tfind(&wanted, &all->ids, compare_ids);
		struct conversation *found = known ? LIST_FIRST(&(*known)->conversations) : NULL;

		for (int i = 0; found && i < COMPARED; i++) {
			if (same_address(&found->ends[end], by) &&
			    may_be(&found->ends[!end], other) && !is_new_request(found, query)) {
				*from = by == &query->sender ? end : !end;
				return found;
			}
			found = LIST_NEXT(found, same_id[end]);
		}
	}
	return NULL;
}

/* Returns false if there is no memory. */
static bool know_id(struct conversations *all, struct conversation *conversation, int end,
		    uint32_t id)
{
	const struct known_id wanted = id_of(end, conversation->sidr, conversation->session, id);
	struct known_id *known;

	if (conversation->ends[end].id || !id)
		return true;
	known = find_or_put(&all->ids, &wanted, sizeof(wanted), compare_ids);
	if (!known)
		return false;
	conversation->ends[end].id = id;
	conversation->known[end] = known;
	LIST_INSERT_HEAD(&known->conversations, conversation, same_id[end]);
	return true;
}

static struct conversation *begin(struct conversations *all, const struct query *query, int *from)
{
	struct conversation *new = calloc(1, sizeof(*new));
	bool answer = query->type == CM_REP || query->type == CM_SIDR_REP ||
		      query->type == CM_APR;

	if (new && query->session)
		new->cut = session_of(all, query->session);
	if (!new || (query->session && !new->cut)) {
		free(new);
		return NULL;
	}
	*from = answer ? RESPONDER : REQUESTER;
	new->sidr = query->sidr;
	new->session = query->session;
	new->transaction = query->transaction;
	new->local = -1;
	new->whole = &all->whole;
	new->ends[*from] = query->sender;
	new->ends[!*from] = query->receiver;
	new->ends[REQUESTER].id = 0;
	new->ends[RESPONDER].id = 0;
	new->number = ++all->begun;
	all->count++;
	TAILQ_INSERT_TAIL(&all->order, new, order);
	TAILQ_INSERT_TAIL(&all->silent[false], new, silence);
	return new;
}

static void forget(struct conversations *all, struct conversation *conversation)
{
	for (int end = REQUESTER; end <= RESPONDER; end++) {
		struct known_id *known = conversation->known[end];

		if (!known)
			continue;
		LIST_REMOVE(conversation, same_id[end]);
		if (!LIST_EMPTY(&known->conversations))
			continue;
		tdelete(known, &all->ids, compare_ids);
		free(known);
	}
	TAILQ_REMOVE(&all->order, conversation, order);
	TAILQ_REMOVE(&all->silent[conversation->ended], conversation, silence);
	all->count--;
	free(conversation->messages);
	free(conversation);
}

/*
 * Whether the end has sent the same message before, other than one transmission that was recorded
 * at both ends. Only the last messages are compared, so that files that repeat one message many
 * times are not slow.
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

/* Adds the information of a message to its conversation. */
static void learn(struct conversation *conversation, const struct capture_seen *seen,
		  const struct query *query, int from)
{
	const struct record_entry *entry = &seen->entry;
	unsigned int type = query->type;

	conversation->port = seen->port;
	conversation->ports |= conversation_port(entry->port);
	if (!conversation->response[REQUESTER])
		memcpy(conversation->response, query->response, sizeof(query->response));
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

/* Moves the conversation to the end of its list, and notes whether it has ended. */
static void speak(struct conversations *all, struct conversation *conversation, unsigned int type)
{
	TAILQ_REMOVE(&all->silent[conversation->ended], conversation, silence);
	conversation->ended = type == CM_DREP || type == CM_REJ || type == CM_SIDR_REP;
	TAILQ_INSERT_TAIL(&all->silent[conversation->ended], conversation, silence);
	all->spoken = conversation;
}

static void pass_time(struct conversations *all, uint64_t time)
{
	all->now = time;
	if (time > all->whole.until)
		all->whole.until = time;
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
	/* Both ends of a trunk may have the same GID; a REJ does not name the rejected message. */
	if (query->session && (query->type == CM_REQ || query->type == CM_RTU))
		from = REQUESTER;
	else if (query->session && query->type == CM_REP)
		from = RESPONDER;
	else if (query->session && query->type == CM_REJ)
		query->about = from == REQUESTER && conversation->types & TYPE_BIT(CM_REP) ?
			       CM_REP : CM_REQ;
	if (!append(conversation, seen, query, from)) {
		if (!conversation->count)
			forget(all, conversation);
		return NULL;
	}
	if (!know_id(all, conversation, from, query->sender.id) ||
	    !know_id(all, conversation, !from, query->receiver.id))
		return NULL;
	learn(conversation, seen, query, from);
	speak(all, conversation, query->type);
	return conversation;
}

struct conversation *conversations_add(struct conversations *all, const struct capture_seen *seen)
{
	struct query query = {};

	pass_time(all, seen->entry.time);
	if (!cm_message(cm_type(&seen->entry)))
		return NULL;
	query_message(&query, &seen->entry);
	return add(all, seen, &query);
}

struct conversation *conversations_add_record(struct conversations *all,
					      const struct capture_seen *seen,
					      const struct trunk_record *record)
{
	struct query query = {};

	pass_time(all, seen->entry.time);
	return query_record(&query, &seen->entry, record) ? add(all, seen, &query) : NULL;
}

void conversations_add_frame(struct conversations *all, const struct capture_seen *seen)
{
	struct cut_session *session;

	pass_time(all, seen->entry.time);
	if (!seen->entry.session || !trunk_is_cut(&seen->entry))
		return;
	session = session_of(all, seen->entry.session);
	if (session)
		session->packet = seen->number;
}

void conversations_end(struct conversations *all, const struct capture_total *total)
{
	all->whole.total = total;
}

static bool is_silent(const struct conversations *all, const struct conversation *conversation)
{
	uint64_t last = conversation->messages[conversation->count - 1].time;

	return (int64_t)(all->now - last) > (conversation->ended ? ENDED_NS : SILENT_NS);
}

static void forget_silent(struct conversations *all, struct conversation_list *silent)
{
	struct conversation *longest;

	while ((longest = TAILQ_FIRST(silent)) &&
	       (all->count > CONVERSATIONS_KEPT || is_silent(all, longest)))
		forget(all, longest);
}

void conversations_forget(struct conversations *all)
{
	struct conversation *spoken = all->spoken;

	/* Keeps the messages that append() compares. */
	if (spoken && spoken->count > MESSAGES_KEPT) {
		memmove(spoken->messages, spoken->messages + spoken->count - COMPARED,
			COMPARED * sizeof(*spoken->messages));
		spoken->count = COMPARED;
	}
	all->spoken = NULL;
	forget_silent(all, &all->silent[true]);
	forget_silent(all, &all->silent[false]);
}

size_t conversations_count(const struct conversations *all)
{
	return all->count;
}

const struct conversation *conversations_next(const struct conversations *all,
					      const struct conversation *after)
{
	return after ? TAILQ_NEXT(after, order) : TAILQ_FIRST(&all->order);
}

uint64_t conversation_before(const struct conversation *conversation)
{
	size_t count = conversation->count;

	return count > 1 ? conversation->messages[count - 2].time : 0;
}
