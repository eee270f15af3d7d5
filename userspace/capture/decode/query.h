/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* The data of a CM message or a record of a trunk that concern its conversation. */
#ifndef CAPTURE_DECODE_QUERY_H
#define CAPTURE_DECODE_QUERY_H

#include "capture/decode/conversation.h"

/*
 * struct query - the data of a message that concern its conversation
 * @type: enum cm_type
 * @session: of a record; 0: a CM message
 * @response: of a REQ: as in struct conversation; 0 otherwise, or if these bytes were not recorded
 * @tie: its id and program
 * @about, @reason, @wait: as in struct said
 */
struct query {
	unsigned int type;
	bool sidr;
	uint32_t session;
	struct end sender, receiver;
	uint64_t transaction;
	uint64_t service;
	uint64_t response[2];
	struct record_tie tie;
	uint8_t about;
	uint16_t reason;
	uint64_t wait;
};

/* Fills in a zeroed query from a message of a type that cm.h knows. */
void query_message(struct query *query, const struct record_entry *entry);

/*
 * Likewise, from a record of a frame. Returns whether it counts as a CM message, and its session is
 * known.
 */
bool query_record(struct query *query, const struct record_entry *entry,
		  const struct trunk_record *record);

#endif /* CAPTURE_DECODE_QUERY_H */
