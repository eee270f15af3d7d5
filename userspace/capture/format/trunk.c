// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/* Frames of trunks. */
#include "capture/format/trunk.h"

#include "capture/format/bytes.h"

/* Names, and lengths up to the private data, 0 if the type has none. */
static const struct {
	const char *name;
	uint8_t private_at;
} types[] = {
	[TRUNK_REQ] = { "REQ", 64 },
	[TRUNK_REP] = { "REP", 40 },
	[TRUNK_RTU] = { "RTU", 0 },
	[TRUNK_REJ] = { "REJ", 16 },
	[TRUNK_DREQ] = { "DREQ", 0 },
	[TRUNK_DREP] = { "DREP", 0 },
	[TRUNK_HELD] = { "HELD", 0 },
	[TRUNK_PING] = { "PING", 0 },
	[TRUNK_ASK] = { "ASK", 0 },
};

static bool knows(unsigned int type)
{
	return type < sizeof(types) / sizeof(types[0]) && types[type].name;
}

const char *trunk_name(unsigned int type)
{
	return knows(type) ? types[type].name : "?";
}

bool trunk_frame(const struct record_entry *entry, struct trunk_frame *frame)
{
	if (entry->kind != RECORD_TRUNK || entry->len < TRUNK_FRAME_LEN)
		return false;
	*frame = (struct trunk_frame) {
		.number = get_be32(entry->bytes + 8),
		.received = get_be32(entry->bytes + 12),
		.credits = get_be16(entry->bytes + 16),
		.len = get_be16(entry->bytes + 18),
		.records = entry->bytes[20],
	};
	return true;
}

bool trunk_next(const struct record_entry *entry, struct trunk_record *record)
{
	unsigned int at = record->at ? record->at + record->len : TRUNK_FRAME_LEN;
	const uint8_t *bytes;

	if (entry->kind != RECORD_TRUNK || at + TRUNK_RECORD_LEN > entry->len)
		return false;
	bytes = entry->bytes + at;
	*record = (struct trunk_record) {
		.type = bytes[0],
		.len = get_be16(bytes + 2),
		.conn = get_be32(bytes + 4),
		.at = at,
	};
	if (record->len < TRUNK_RECORD_LEN || record->len % 4)
		return false;
	if (!knows(record->type))
		record->private_at = at + TRUNK_RECORD_LEN;
	else if (types[record->type].private_at)
		record->private_at = at + types[record->type].private_at;
	return true;
}

bool trunk_is_cut(const struct record_entry *entry)
{
	struct trunk_record record = {};
	struct trunk_frame frame;
	unsigned int records = 0;

	if (!trunk_frame(entry, &frame))
		return true;
	for (; trunk_next(entry, &record); records++)
		if (record.private_at > entry->len)
			return true;
	return records < frame.records;
}

const struct record_tie *record_tie(const struct record_entry *entry, uint32_t conn)
{
	for (unsigned int i = 0; i < entry->n_ties; i++)
		if (entry->ties[i].conn == conn)
			return &entry->ties[i];
	return NULL;
}
