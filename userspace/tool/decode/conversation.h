/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* Which CM messages of a capture belong together. */
#ifndef TOOL_DECODE_CONVERSATION_H
#define TOOL_DECODE_CONVERSATION_H

#include "tool/record/entry.h"
#include "tool/record/trunk.h"

/*
 * struct said - a message of a conversation
 * @number: of its packet
 * @type: enum cm_type
 * @from: index of the end that sent it; 0: the one that requested the connection
 * @again: it repeats an earlier message of that end
 * @about: of an MRA or REJ: enum cm_type that it answers, or 0
 * @reason: of a REJ; status of a SIDR_REP or APR
 * @wait: of an MRA: service timeout, in nanoseconds
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
 * struct conversation - a connection, from its REQ to its DREP, or a question of SIDR
 * @number: from 1, in the order of first messages
 * @requested: its REQ, REP or SIDR_REQ is in the capture, so that end 0 is the one that requested
 * @local: index of the end that is this host; -1: the capture does not say
 * @types: which types of messages there are: bit n is type CM_REQ + n
 * @session: of the trunk that it is made over; 0: of ib_cm. Its records count as the CM messages of
 *	their names.
 * @service: service ID of the request; 0: not in the capture
 * @id, @pid, @program: of a message that has them
 * @until: time of the last message of all conversations
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
	const uint64_t *until;
	struct conversation *next[2];	/* with the same hash of the ID of this end */
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

/* conversations_get() - number index of them, from 0; NULL: there are not so many */
const struct conversation *conversations_get(const struct conversations *all, size_t index);

/* conversation_before() - time of the message before the last one, or 0 */
uint64_t conversation_before(const struct conversation *conversation);

#endif /* TOOL_DECODE_CONVERSATION_H */
