/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* Which CM messages of a capture belong together. */
#ifndef CAPTURE_DECODE_CONVERSATION_H
#define CAPTURE_DECODE_CONVERSATION_H

#include <sys/queue.h>

#include "capture/format/entry.h"
#include "capture/format/trunk.h"

/*
 * struct said - a message of a conversation
 * @number: of its packet
 * @type: enum cm_type
 * @from: index of the end that sent it; 0: the one that requested the connection
 * @again: it repeats an earlier message of that end
 * @about: of an MRA or REJ: enum cm_type that it answers, or 0
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
 * struct whole - what is known of the capture that conversations are in
 * @until: time of its last message
 * @total: of it; NULL: not known
 */
struct whole {
	uint64_t until;
	const struct capture_total *total;
};

/*
 * struct cut_session - what is missing of a session
 * @packet: the last frame that is cut in the capture, so that records are missing; 0: there is none
 */
struct cut_session {
	uint32_t session;
	unsigned int packet;
};

/* The bit of a port of the totals; those from the 64th on share one. */
static inline uint64_t conversation_port(unsigned int index)
{
	return 1ull << (index < 63 ? index : 63);
}

/*
 * struct conversation - a connection, from its REQ to its DREP, or a question of SIDR
 * @number: from 1, in the order of first messages
 * @requested: its REQ, REP or SIDR_REQ is in the capture, so that end 0 is the one that requested
 * @local: index of the end that is this host; -1: the capture does not say
 * @types: which types of messages there are: bit n is type CM_REQ + n
 * @session: of the trunk that it is made over; 0: of ib_cm. Its records count as the CM messages of
 *	their names.
 * @service: service ID of the request; 0: not in the capture
 * @id, @pid, @program: of a message that has them
 * @response: time in which a message of each end is to be answered, in nanoseconds: the remote and
 *	the local CM response timeout of the REQ; 0: not in the capture
 * @ports: which ports of the totals its messages passed, by conversation_port()
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
 * conversations_add_record() - the same of a record of a frame
 *
 * Return: likewise; NULL also for types of records that are no CM messages, and if the capture does
 * not say the session
 */
struct conversation *conversations_add_record(struct conversations *all,
					      const struct capture_seen *seen,
					      const struct trunk_record *record);

/*
 * conversations_add_frame() - note a frame, before its records are added
 *
 * A frame that is cut in the capture is noted for its session: messages of it may be missing.
 */
void conversations_add_frame(struct conversations *all, const struct capture_seen *seen);

/* conversations_end() - the capture was read; total is used until conversations_free() */
void conversations_end(struct conversations *all, const struct capture_total *total);

/* How many conversations, and messages of each, conversations_forget() leaves at most. */
enum { CONVERSATIONS_KEPT = 16384, MESSAGES_KEPT = 511 };

/*
 * conversations_forget() - bound the memory for messages that are followed while they pass
 *
 * Called after each message. Forgets conversations that ended 10 s ago, those without a message for
 * five minutes, and, if there are more than CONVERSATIONS_KEPT, first those that have ended, then
 * those that are silent the longest. Of the others it forgets all but the last MESSAGES_KEPT
 * messages. Pointers to conversations and messages are valid until then.
 */
void conversations_forget(struct conversations *all);

/* conversations_count() - how many there are */
size_t conversations_count(const struct conversations *all);

/* conversations_next() - the one after a conversation by number, or the first one after NULL */
const struct conversation *conversations_next(const struct conversations *all,
					      const struct conversation *after);

/* conversation_before() - time of the message before the last one, or 0 */
uint64_t conversation_before(const struct conversation *conversation);

#endif /* CAPTURE_DECODE_CONVERSATION_H */
