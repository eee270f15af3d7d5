// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/* Removes private data, which programs exchange, from messages. */
#include <string.h>

#include "capture/format/bytes.h"
#include "capture/format/cm.h"
#include "capture/format/trunk.h"

enum { MAD_HDR_LEN = 24, COOKIE_LEN = 8, TRUNK_SERVICE_ID_AT = 8 };

/* Zeroes bytes of the message, as far as they were recorded. */
static void clear(struct record_entry *entry, unsigned int from, unsigned int to)
{
	if (to > sizeof(entry->bytes))
		to = sizeof(entry->bytes);
	if (from < to)
		memset(entry->bytes + from, 0, to - from);
}

static void clear_cm(struct record_entry *entry)
{
	const struct cm_message *message = cm_message(cm_type(entry));
	unsigned int from = message ? message->private_at : MAD_HDR_LEN;

	if (cm_ip_header(entry))
		from += CM_IP_HEADER_LEN;
	clear(entry, from, RECORD_MAD_LEN);
}

/* Offset of the private data of a record: behind the header of the IP CM service, if any. */
static unsigned int private_from(const struct record_entry *entry,
				 const struct trunk_record *record)
{
	unsigned int from = record->private_at, end = record->at + record->len;

	if (record->type == TRUNK_REQ && from + CM_IP_HEADER_LEN <= end &&
	    from + CM_IP_HEADER_LEN <= entry->len &&
	    cm_is_ip_header(get_be64(entry->bytes + record->at + TRUNK_SERVICE_ID_AT),
			    entry->bytes + from))
		from += CM_IP_HEADER_LEN;
	return from;
}

/* Also clears the cookie, which frames must contain to be accepted, and bytes of no record. */
static void clear_trunk(struct record_entry *entry)
{
	struct trunk_record record = {};
	unsigned int end = TRUNK_FRAME_LEN;

	clear(entry, 0, COOKIE_LEN);
	while (trunk_next(entry, &record)) {
		end = record.at + record.len;
		if (record.private_at)
			clear(entry, private_from(entry, &record), end);
	}
	clear(entry, end, sizeof(entry->bytes));
}

void record_remove_private_data(struct record_entry *entry)
{
	if (entry->kind == RECORD_CM)
		clear_cm(entry);
	else
		clear_trunk(entry);
	entry->private_data = false;
}
