/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* Groups the CM messages of a capture. */
#ifndef CAPTURE_DECODE_CONVERSATION_H
#define CAPTURE_DECODE_CONVERSATION_H

#include <sys/queue.h>

#include "capture/format/entry.h"
#include "capture/format/trunk.h"

/*
 * struct said - a message of a conversation
 * @number: of its packet
 * @type: enum cm_type
 * @from: index of the sending end; 0: the requester of the connection
 * @again: repeats an earlier message of that end
 * @about: of an MRA or REJ: enum cm_type of the message that it answers, or 0
 * @reason: of a REJ; status of a SIDR_REP or APR
 * @wait: of an MRA: service timeout; of a LAP: remote CM response timeout; in nanoseconds
 */
struct said {
	unsigned int number;
	uint64_t time;
	enum record_way way;
	uint8_t type;
	uint8_t from;
	bool again;
	uint8_t about;
	uint16_t reason;
	uint64_t wait;
};

/*
 * struct end - an end of a conversation
 * @id: communication ID, or request ID of SIDR; 0: not known yet
 * @address: as name_peer() names it
 */
struct end {
	uint32_t id;
	bool grh;
	uint8_t gid[16];
	uint16_t lid;
	char address[64];
};

/*
 * struct whole - the capture that the conversations belong to
 * @until: time of its last message
 * @total: its total; NULL: unknown
 */
struct whole {
	uint64_t until;
	const struct capture_total *total;
};

/*
 * struct cut_session - a session with missing records
 * @packet: the last frame that was not recorded completely; 0: none
 */
struct cut_session {
	uint32_t session;
	unsigned int packet;
};

/* The bit of a port in conversation.ports; ports from the 64th on share one. */
static inline uint64_t conversation_port(unsigned int index)
{
	return 1ull << (index < 63 ? index : 63);
}

/*
 * struct conversation - a connection, from its REQ to its DREP, or a SIDR request
 * @number: from 1, in the order of first messages
 * @requested: its REQ, REP or SIDR_REQ is in the capture, so that end 0 is the requester
 * @local: index of the end that is this host; -1: unknown
 * @types: types of its messages: bit n is type CM_REQ + n
 * @session: of its trunk; 0: a connection of ib_cm. Records count as the CM messages of the same
 *	name.
 * @service: service ID of the request; 0: not in the capture
 * @id, @pid, @program: of a message that has them
 * @response: response timeouts for messages of each end, in nanoseconds: the remote and the local
 *	CM response timeout of the REQ; 0: not in the capture
 * @ports: ports of its messages, bits of conversation_port()
 * @whole: the capture
 * @cut: of a session; NULL: of ib_cm
 */
struct conversation {
	unsigned int number;
	bool sidr;
	bool requested;
	int local;
	uint32_t types;
	uint32_t session;
	uint64_t service;
	uint64_t transaction;
	struct record_id id;
	uint32_t pid;
	char program[16];
	struct record_port port;
	struct end ends[2];
	size_t count;
	struct said *messages;
	uint64_t response[2];
	uint64_t ports;
	const struct whole *whole;
	const struct cut_session *cut;
	/* Of conversation.c. */
	bool ended;
	TAILQ_ENTRY(conversation) order;	/* by number */
	TAILQ_ENTRY(conversation) silence;	/* with the same @ended, the longest silent first */
	LIST_ENTRY(conversation) same_id[2];	/* with the ID of this end, the newest first */
	struct known_id *known[2];
};

struct conversations;

/* Returns NULL if there is no memory. */
struct conversations *conversations_new(void);
void conversations_free(struct conversations *all);

/*
 * conversations_add() - find the conversation of a message, or begin one
 * @seen: the next message of the capture
 *
 * Return: the conversation, whose last message this is; NULL: it is no CM message, or there is no
 * memory
 */
struct conversation *conversations_add(struct conversations *all, const struct capture_seen *seen);

/*
 * As conversations_add(), for a record of a frame. Also returns NULL for types of records that are
 * no CM messages, and if the session is unknown.
 */
struct conversation *conversations_add_record(struct conversations *all,
					      const struct capture_seen *seen,
					      const struct trunk_record *record);

/*
 * Adds a frame, before its records. If it was not recorded completely, its session is marked:
 * messages may be missing.
 */
void conversations_add_frame(struct conversations *all, const struct capture_seen *seen);

/* Sets the total of the capture, which is used until conversations_free(). */
void conversations_end(struct conversations *all, const struct capture_total *total);

/* Most conversations, and most messages of each, that conversations_forget() keeps. */
enum { CONVERSATIONS_KEPT = 16384, MESSAGES_KEPT = 511 };

/*
 * conversations_forget() - bound the memory during live recording
 *
 * Called after each message. Drops conversations that ended 10 s ago and those that are idle for
 * five minutes. If more than CONVERSATIONS_KEPT are left, drops ended ones first, then those that
 * are idle for the longest time. Keeps the last MESSAGES_KEPT messages of each. Invalidates
 * pointers to dropped conversations and messages.
 */
void conversations_forget(struct conversations *all);

size_t conversations_count(const struct conversations *all);

/* The next conversation by number; the first one after NULL. */
const struct conversation *conversations_next(const struct conversations *all,
					      const struct conversation *after);

/* Time of the message before the last one, or 0. */
uint64_t conversation_before(const struct conversation *conversation);

#endif /* CAPTURE_DECODE_CONVERSATION_H */
