// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/* A recorded message as a JSON object. */
#include "capture/decode/line.h"

#include <arpa/inet.h>
#include <inttypes.h>
#include <string.h>

#include "capture/format/bytes.h"
#include "capture/format/cm.h"
#include "capture/format/trunk.h"
#include "tool/core/tool.h"

static void put_text(struct json_object *object, const char *key, const char *text)
{
	char clean[RECORD_COMMENT_LEN];

	if (!*text)
		return;
	snprintf(clean, sizeof(clean), "%s", text);
	text_clean(clean);
	record_put(object, key, clean);
}

static void put_hex(struct json_object *object, const char *key, const uint8_t *bytes, size_t len)
{
	char text[2 * RECORD_MAD_LEN + 1] = "";

	for (size_t i = 0; i < len; i++)
		sprintf(text + 2 * i, "%02x", bytes[i]);
	record_put(object, key, text);
}

static void put_field(struct json_object *object, const struct record_entry *entry,
		      const struct cm_field *field)
{
	char text[INET6_ADDRSTRLEN];

	if (field->bits == 128)
		record_put(object, field->name,
			   inet_ntop(AF_INET6, entry->bytes + field->at, text, sizeof(text)));
	else
		json_object_object_add(object, field->name,
				       json_object_new_uint64(cm_number(entry, field)));
}

static void put_zero_or_more(struct json_object *object, const char *key, uint32_t value)
{
	json_object_object_add(object, key, json_object_new_uint64(value));
}

static void put_gid(struct json_object *object, const char *key, const uint8_t *gid)
{
	char text[INET6_ADDRSTRLEN];

	record_put(object, key, inet_ntop(AF_INET6, gid, text, sizeof(text)));
}

/* The headers below the message. */
static void put_link(struct json_object *object, const struct record_entry *entry)
{
	static const char * const links[] = { "InfiniBand", "RoCE v1", "RoCE v2" };

	record_put(object, "link", links[entry->link]);
	if (entry->link == RECORD_INFINIBAND) {
		put_zero_or_more(object, "source_lid", entry->slid);
		put_zero_or_more(object, "destination_lid", entry->dlid);
		put_zero_or_more(object, "sl", entry->sl);
	}
	if (entry->grh) {
		put_gid(object, "source_gid", entry->sgid);
		put_gid(object, "destination_gid", entry->dgid);
	}
	put_zero_or_more(object, "pkey", entry->pkey);
	put_zero_or_more(object, "source_qp", entry->sqpn);
	put_zero_or_more(object, "destination_qp", entry->dqpn);
}

static void put_cm(struct json_object *object, const struct record_entry *entry)
{
	unsigned int type = cm_type(entry);
	const struct cm_message *message = cm_message(type);

	record_put(object, "message", cm_name(type));
	record_put_number(object, "transaction", get_be64(entry->bytes + 8));
	if (!message)
		return;
	for (unsigned int i = 0; i < message->n_fields; i++)
		put_field(object, entry, &message->fields[i]);
	if (type == CM_REJ)
		record_put(object, "reason_name", name_reason(cm_get(entry, "reason")));
	if (type == CM_SIDR_REP)
		record_put(object, "status_name", name_sidr_status(cm_get(entry, "status")));
	if (entry->private_data && entry->len > message->private_at)
		put_hex(object, "private_data", entry->bytes + message->private_at,
			entry->len - message->private_at);
}

/* The members of an id as `rdma-cm-alt show` has them. */
static void put_id(struct json_object *object, const struct record_id *id)
{
	char name[48];

	if (!id->handle)
		return;
	snprintf(name, sizeof(name), "%" PRIu64 "/%" PRIu32, id->context, id->handle);
	record_put_number(object, "context", id->context);
	record_put_number(object, "handle", id->handle);
	record_put(object, "name", name);
}

static void put_tie(struct json_object *object, const struct record_id *id, uint32_t pid,
		    const char *program)
{
	put_id(object, id);
	if (pid)
		record_put_number(object, "pid", pid);
	put_text(object, "program", program);
}

static void put_trunk(struct json_object *object, const struct record_entry *entry)
{
	struct json_object *records = json_object_new_array();
	struct trunk_record record = {};
	struct trunk_frame frame;

	record_put(object, "message", "FRAME");
	if (entry->session)
		record_put_number(object, "session", entry->session);
	json_object_object_add(object, "records", records);
	if (!trunk_frame(entry, &frame))
		return;
	record_put_number(object, "frame", frame.number);
	record_put_number(object, "frame_bytes", frame.len);
	record_put_number(object, "received", frame.received);
	record_put_number(object, "credits", frame.credits);
	while (trunk_next(entry, &record)) {
		struct json_object *row = json_object_new_object();
		const struct record_tie *tie = record_tie(entry, record.conn);

		record_put(row, "type", trunk_name(record.type));
		json_object_object_add(row, "conn", json_object_new_uint64(record.conn));
		if (tie)
			put_tie(row, &tie->id, tie->pid, tie->program);
		json_object_array_add(records, row);
	}
}

struct json_object *line_json(const struct capture_seen *seen, uint64_t before,
			      unsigned int conversation)
{
	static const char * const ways[] = { "sent", "sent again", "received", "seen" };
	const struct record_entry *entry = &seen->entry;
	struct json_object *object = json_object_new_object();
	char text[64];

	record_put_number(object, "number", seen->number);
	if (conversation)
		record_put_number(object, "conversation", conversation);
	record_put_number(object, "time", entry->time);
	if (before)
		json_object_object_add(object, "since",
				       json_object_new_int64((int64_t)(entry->time - before)));
	put_text(object, "device", seen->port.device);
	if (seen->port.port)
		record_put_number(object, "port", seen->port.port);
	record_put(object, "way", ways[entry->way]);
	name_peer(entry, true, text, sizeof(text));
	record_put(object, "source", text);
	name_peer(entry, false, text, sizeof(text));
	record_put(object, "destination", text);
	put_link(object, entry);
	put_tie(object, &entry->id, entry->pid, entry->program);
	put_text(object, "operation", entry->operation);
	put_text(object, "event", entry->event);
	if (entry->stock)
		record_put_bool(object, "stock", true);
	record_put_number(object, "bytes", entry->len);
	if (entry->kind == RECORD_CM)
		put_cm(object, entry);
	else
		put_trunk(object, entry);
	put_text(object, "comment", seen->comment);
	return object;
}
