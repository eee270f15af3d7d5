/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* Frames of trunks: their header and records, as kernel/trunk/proto.h describes them. */
#ifndef CAPTURE_FORMAT_TRUNK_H
#define CAPTURE_FORMAT_TRUNK_H

#include "capture/format/entry.h"

enum { TRUNK_FRAME_LEN = 24, TRUNK_RECORD_LEN = 8 };

/* Types of records. */
enum trunk_type {
	TRUNK_REQ = 1,
	TRUNK_REP,
	TRUNK_RTU,
	TRUNK_REJ,
	TRUNK_DREQ,
	TRUNK_DREP,
	TRUNK_HELD,
	TRUNK_PING,
	TRUNK_ASK,
};

struct trunk_frame {
	uint32_t number;
	uint32_t received;
	uint16_t credits;
	uint16_t len;
	uint8_t records;
};

/*
 * struct trunk_record - a record
 * @at: offset in the message
 * @len: with its header; may reach beyond the recorded bytes
 * @private_at: offset of private data in the message; 0: the type has none; in a record of an
 *		unknown type, all bytes behind its head may be private
 */
struct trunk_record {
	uint8_t type;
	uint32_t conn;
	unsigned int at;
	unsigned int len;
	unsigned int private_at;
};

/* trunk_frame() - the header of a frame; false: the message is no frame */
bool trunk_frame(const struct record_entry *entry, struct trunk_frame *frame);

/*
 * trunk_next() - the next record
 * @record: all zero before the first one
 *
 * Return: false: there is no further one, or it is damaged or was not recorded
 */
bool trunk_next(const struct record_entry *entry, struct trunk_record *record);

/*
 * trunk_is_cut() - whether more of a frame than private data at its end was not recorded
 *
 * The missing part is in its head, whole records, or bytes before the private data of a record.
 * A damaged frame gives the same result.
 */
bool trunk_is_cut(const struct record_entry *entry);

/* record_tie() - the tie of the records of a connection in a frame; NULL: it has none */
const struct record_tie *record_tie(const struct record_entry *entry, uint32_t conn);

/* trunk_name() - "REQ", or "?" */
const char *trunk_name(unsigned int type);

#endif /* CAPTURE_FORMAT_TRUNK_H */
