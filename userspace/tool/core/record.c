// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/* Converts netlink messages to JSON objects; rdma-cm-alt(8) documents the names of the members. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tool/core/tool.h"

/* Length of RDMA_CM_ALT_NL_A_BOOT_ID. */
#define BOOT_ID_LEN 16

static void add(struct json_object *record, const char *key, struct json_object *value)
{
	if (value)
		json_object_object_add(record, key, value);
}

static void add_u32(struct json_object *record, const char *key, const struct nlattr *attr)
{
	add(record, key, attr ? json_object_new_int64(nla_get_u32(attr)) : NULL);
}

static void add_u64(struct json_object *record, const char *key, const struct nlattr *attr)
{
	add(record, key, attr ? json_object_new_uint64(nla_get_u64(attr)) : NULL);
}

static void add_owner(struct json_object *record, struct nlattr **attrs)
{
	add_u32(record, "uid", attrs[RDMA_CM_ALT_NL_A_UID]);
	add_u32(record, "pid", attrs[RDMA_CM_ALT_NL_A_PID]);
	record_put(record, "program", client_string(attrs, RDMA_CM_ALT_NL_A_COMM, NULL));
}

static void add_place(struct json_object *record, struct nlattr **attrs)
{
	add(record, "local", text_addr(attrs[RDMA_CM_ALT_NL_A_LOCAL]));
	add(record, "peer", text_addr(attrs[RDMA_CM_ALT_NL_A_PEER]));
	record_put(record, "device", client_string(attrs, RDMA_CM_ALT_NL_A_DEV, NULL));
	add_u32(record, "port", attrs[RDMA_CM_ALT_NL_A_PORT]);
	add(record, "gid", text_gid(attrs[RDMA_CM_ALT_NL_A_SGID]));
}

/* The numbers by which messages name the connection. */
static void add_numbers(struct json_object *record, struct nlattr **attrs)
{
	add_u32(record, "comm_id", attrs[RDMA_CM_ALT_NL_A_COMM_ID]);
	add_u32(record, "remote_comm_id", attrs[RDMA_CM_ALT_NL_A_REMOTE_COMM_ID]);
	add_u32(record, "session", attrs[RDMA_CM_ALT_NL_A_SESSION]);
	add_u32(record, "number", attrs[RDMA_CM_ALT_NL_A_NUMBER]);
}

static void add_busy(struct json_object *record, struct nlattr **attrs)
{
	if (attrs[RDMA_CM_ALT_NL_A_BUSY])
		record_put_bool(record, "busy", true);
}

/* Adds the name of an object in tables and on the command line: CONTEXT/HANDLE. */
static void add_name(struct json_object *record, struct nlattr **attrs, int number)
{
	char name[48];

	if (!attrs[RDMA_CM_ALT_NL_A_CTX] || !attrs[number])
		return;
	snprintf(name, sizeof(name), "%" PRIu64 "/%" PRIu32,
		 nla_get_u64(attrs[RDMA_CM_ALT_NL_A_CTX]), nla_get_u32(attrs[number]));
	record_put(record, "name", name);
}

static struct json_object *begin(struct nlattr **attrs)
{
	struct json_object *record = json_object_new_object();

	if (!record)
		fail(TOOL_ERROR, "there is no memory");
	add_u64(record, "context", attrs[RDMA_CM_ALT_NL_A_CTX]);
	add_u32(record, "handle", attrs[RDMA_CM_ALT_NL_A_HANDLE]);
	add_name(record, attrs, RDMA_CM_ALT_NL_A_HANDLE);
	return record;
}

struct json_object *record_id(struct nlattr **attrs)
{
	struct json_object *record = begin(attrs);

	record_put(record, "state", client_string(attrs, RDMA_CM_ALT_NL_A_STATE, NULL));
	record_put(record, "ps", text_ps(client_u32(attrs, RDMA_CM_ALT_NL_A_PS, 0)));
	record_put(record, "qp_type", text_qp_type(client_u32(attrs, RDMA_CM_ALT_NL_A_QP_TYPE, 0)));
	add_place(record, attrs);
	add(record, "peer_gid", text_gid(attrs[RDMA_CM_ALT_NL_A_DGID]));
	record_put(record, "transport", client_string(attrs, RDMA_CM_ALT_NL_A_TRANSPORT, NULL));
	record_put(record, "no_trunk", client_string(attrs, RDMA_CM_ALT_NL_A_NO_TRUNK, NULL));
	add_numbers(record, attrs);
	add_u32(record, "qpn", attrs[RDMA_CM_ALT_NL_A_QPN]);
	add_u32(record, "queue", attrs[RDMA_CM_ALT_NL_A_QUEUE]);
	add_u32(record, "age", attrs[RDMA_CM_ALT_NL_A_AGE]);
	add_u64(record, "since", attrs[RDMA_CM_ALT_NL_A_SINCE]);
	add_owner(record, attrs);
	add_busy(record, attrs);
	return record;
}

struct json_object *record_member(struct nlattr **attrs)
{
	struct json_object *record = begin(attrs);

	add_u32(record, "id", attrs[RDMA_CM_ALT_NL_A_ID]);
	add_place(record, attrs);
	add_u32(record, "age", attrs[RDMA_CM_ALT_NL_A_AGE]);
	add_owner(record, attrs);
	add_busy(record, attrs);
	return record;
}

struct json_object *record_queue(struct nlattr **attrs)
{
	struct json_object *record = begin(attrs);

	add_u32(record, "queue", attrs[RDMA_CM_ALT_NL_A_QUEUE]);
	add_name(record, attrs, RDMA_CM_ALT_NL_A_QUEUE);
	add_u32(record, "ids", attrs[RDMA_CM_ALT_NL_A_IDS]);
	add_u32(record, "waiting", attrs[RDMA_CM_ALT_NL_A_WAITING]);
	add_u32(record, "ring", attrs[RDMA_CM_ALT_NL_A_RING]);
	add_u32(record, "readers", attrs[RDMA_CM_ALT_NL_A_READERS]);
	add_u32(record, "record_size", attrs[RDMA_CM_ALT_NL_A_RECORD]);
	add_owner(record, attrs);
	return record;
}

static void add_hex64(struct json_object *record, const char *key, const struct nlattr *attr)
{
	char text[24];

	if (!attr)
		return;
	snprintf(text, sizeof(text), "0x%016" PRIx64, nla_get_u64(attr));
	record_put(record, key, text);
}

static void add_pkey(struct json_object *record, struct nlattr **attrs)
{
	char text[24];

	if (!attrs[RDMA_CM_ALT_NL_A_PKEY])
		return;
	snprintf(text, sizeof(text), "0x%04" PRIx32, nla_get_u32(attrs[RDMA_CM_ALT_NL_A_PKEY]));
	record_put(record, "pkey", text);
}

struct json_object *record_path(struct nlattr **attrs)
{
	struct json_object *record = begin(attrs);

	add_place(record, attrs);
	add(record, "peer_gid", text_gid(attrs[RDMA_CM_ALT_NL_A_DGID]));
	add_hex64(record, "service", attrs[RDMA_CM_ALT_NL_A_SERVICE]);
	add_pkey(record, attrs);
	add_u32(record, "dlid", attrs[RDMA_CM_ALT_NL_A_DLID]);
	add_u32(record, "sl", attrs[RDMA_CM_ALT_NL_A_SL]);
	add_u32(record, "age", attrs[RDMA_CM_ALT_NL_A_AGE]);
	return record;
}

static void add_boot_id(struct json_object *record, const struct nlattr *attr)
{
	char text[2 * BOOT_ID_LEN + 1];
	const uint8_t *id;

	if (!attr || nla_len(attr) != BOOT_ID_LEN)
		return;
	id = nla_data(attr);
	for (int i = 0; i < BOOT_ID_LEN; i++)
		snprintf(text + 2 * i, 3, "%02x", id[i]);
	record_put(record, "boot_id", text);
}

struct json_object *record_peer(struct nlattr **attrs)
{
	struct json_object *record = begin(attrs);

	add_place(record, attrs);
	add(record, "peer_gid", text_gid(attrs[RDMA_CM_ALT_NL_A_DGID]));
	add_pkey(record, attrs);
	add_u32(record, "hellos", attrs[RDMA_CM_ALT_NL_A_HELLOS]);
	add_u32(record, "protocol", attrs[RDMA_CM_ALT_NL_A_PROTOCOL]);
	add_u32(record, "common", attrs[RDMA_CM_ALT_NL_A_COMMON]);
	add_u32(record, "features", attrs[RDMA_CM_ALT_NL_A_FEATURES]);
	add_boot_id(record, attrs[RDMA_CM_ALT_NL_A_BOOT_ID]);
	add_hex64(record, "guid", attrs[RDMA_CM_ALT_NL_A_GUID]);
	add_u32(record, "failures", attrs[RDMA_CM_ALT_NL_A_FAILURES]);
	add_u32(record, "bad_frames", attrs[RDMA_CM_ALT_NL_A_BAD_FRAMES]);
	add_u32(record, "retry_ms", attrs[RDMA_CM_ALT_NL_A_RETRY]);
	record_put(record, "trunk", client_string(attrs, RDMA_CM_ALT_NL_A_TRUNK, NULL));
	add_u32(record, "frames_sent", attrs[RDMA_CM_ALT_NL_A_FRAMES_SENT]);
	add_u32(record, "frames_received", attrs[RDMA_CM_ALT_NL_A_FRAMES_RECEIVED]);
	add_u32(record, "age", attrs[RDMA_CM_ALT_NL_A_AGE]);
	return record;
}

struct json_object *record_notification(struct nlattr **attrs)
{
	struct json_object *record = begin(attrs);

	add_u64(record, "time", attrs[RDMA_CM_ALT_NL_A_TIME]);
	add_u64(record, "serial", attrs[RDMA_CM_ALT_NL_A_SERIAL]);
	record_put(record, "operation", client_string(attrs, RDMA_CM_ALT_NL_A_OP, NULL));
	if (attrs[RDMA_CM_ALT_NL_A_EVENT])
		record_put(record, "event", text_event(nla_get_u32(attrs[RDMA_CM_ALT_NL_A_EVENT])));
	if (attrs[RDMA_CM_ALT_NL_A_STATUS])
		add(record, "status",
		    json_object_new_int((int)nla_get_u32(attrs[RDMA_CM_ALT_NL_A_STATUS])));
	record_put(record, "state", client_string(attrs, RDMA_CM_ALT_NL_A_STATE, NULL));
	record_put(record, "before", client_string(attrs, RDMA_CM_ALT_NL_A_BEFORE, NULL));
	record_put(record, "ps", text_ps(client_u32(attrs, RDMA_CM_ALT_NL_A_PS, 0)));
	add_place(record, attrs);
	add_numbers(record, attrs);
	add_owner(record, attrs);
	return record;
}

/* Adds no member if @text is NULL. */
void record_put(struct json_object *record, const char *key, const char *text)
{
	char *clean;

	if (!text)
		return;
	clean = strdup(text);
	if (!clean)
		fail(TOOL_ERROR, "there is no memory");
	text_clean(clean);
	json_object_object_add(record, key, json_object_new_string(clean));
	free(clean);
}

void record_put_number(struct json_object *record, const char *key, uint64_t number)
{
	json_object_object_add(record, key, json_object_new_uint64(number));
}

void record_put_bool(struct json_object *record, const char *key, bool value)
{
	json_object_object_add(record, key, json_object_new_boolean(value));
}

/**
 * record_failed() - whether a notification is a failure
 * @record: the notification
 *
 * The kernel gives failures a serial number. The status does not decide: user events have a status,
 * and so do calls that a signal interrupted.
 *
 * Return: true if it is a failure
 */
bool record_failed(struct json_object *record)
{
	return json_object_object_get(record, "serial");
}

/* Returns NULL if there is no such member. */
const char *record_string(struct json_object *record, const char *key)
{
	struct json_object *value = json_object_object_get(record, key);

	return value ? json_object_get_string(value) : NULL;
}

/* Returns 0 if there is no such member. */
int64_t record_number(struct json_object *record, const char *key)
{
	return json_object_get_int64(json_object_object_get(record, key));
}
