// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/* Extracts the data by which messages and records are grouped. */
#include "capture/decode/query.h"

#include <string.h>

#include "capture/decode/names.h"
#include "capture/format/bytes.h"
#include "capture/format/cm.h"

/* Offsets in MADs: the transaction ID, and the last byte of a REQ that is used here. */
enum { TRANSACTION_AT = 8, REQ_LOCAL_TIMEOUT_AT = 71 };

/* Offsets in records of trunks. */
enum { RECORD_REASON_AT = 8, RECORD_SERVICE_AT = 8 };

/* Times of CM messages are 4.096 us * 2^value. */
#define TIME_UNIT_NS 4096ull

static void set_end(struct end *end, const struct record_entry *entry, bool sender, uint32_t id)
{
	end->id = id;
	end->grh = entry->grh;
	memcpy(end->gid, sender ? entry->sgid : entry->dgid, sizeof(end->gid));
	end->lid = sender ? entry->slid : entry->dlid;
	name_peer(entry, sender, end->address, sizeof(end->address));
}

static unsigned int about_of(const struct record_entry *entry, unsigned int type)
{
	static const uint8_t mraed[] = { CM_REQ, CM_REP, CM_LAP, 0 };
	static const uint8_t rejected[] = { CM_REQ, CM_REP, 0, 0 };

	if (type == CM_MRA)
		return mraed[cm_get(entry, "message_mraed")];
	return type == CM_REJ ? rejected[cm_get(entry, "message_rejected")] : 0;
}

static uint64_t time_of(const struct record_entry *entry, const char *name)
{
	return TIME_UNIT_NS << cm_get(entry, name);
}

void query_message(struct query *query, const struct record_entry *entry)
{
	uint32_t request = cm_get(entry, "request_id");

	query->type = cm_type(entry);
	query->sidr = query->type == CM_SIDR_REQ || query->type == CM_SIDR_REP;
	query->transaction = get_be64(entry->bytes + TRANSACTION_AT);
	set_end(&query->sender, entry, true,
		query->type == CM_SIDR_REQ ? request : cm_get(entry, "local_comm_id"));
	set_end(&query->receiver, entry, false,
		query->type == CM_SIDR_REP ? request : cm_get(entry, "remote_comm_id"));
	query->about = about_of(entry, query->type);
	query->reason = cm_get(entry, "reason") + cm_get(entry, "status") +
			cm_get(entry, "ap_status");
	if (query->type == CM_MRA)
		query->wait = time_of(entry, "service_timeout");
	else if (query->type == CM_LAP)
		query->wait = time_of(entry, "remote_cm_response_timeout");
	if (query->type == CM_REQ && entry->len > REQ_LOCAL_TIMEOUT_AT) {
		query->response[0] = time_of(entry, "remote_cm_response_timeout");
		query->response[1] = time_of(entry, "local_cm_response_timeout");
	}
	query->service = cm_get(entry, "service_id");
	query->tie = (struct record_tie){ .id = entry->id, .pid = entry->pid };
	memcpy(query->tie.program, entry->program, sizeof(query->tie.program));
}

bool query_record(struct query *query, const struct record_entry *entry,
		  const struct trunk_record *record)
{
	static const unsigned int types[] = {
		[TRUNK_REQ] = CM_REQ, [TRUNK_REP] = CM_REP, [TRUNK_RTU] = CM_RTU,
		[TRUNK_REJ] = CM_REJ, [TRUNK_DREQ] = CM_DREQ, [TRUNK_DREP] = CM_DREP,
	};
	const struct record_tie *tie = record_tie(entry, record->conn);
	const uint8_t *bytes = entry->bytes + record->at;
	unsigned int recorded = entry->len - record->at;

	if (record->type >= sizeof(types) / sizeof(types[0]) || !types[record->type] ||
	    !entry->session)
		return false;
	query->type = types[record->type];
	query->session = entry->session;
	set_end(&query->sender, entry, true, record->conn);
	set_end(&query->receiver, entry, false, record->conn);
	if (query->type == CM_REJ && recorded >= RECORD_REASON_AT + 2)
		query->reason = get_be16(bytes + RECORD_REASON_AT);
	if (query->type == CM_REQ && recorded >= RECORD_SERVICE_AT + 8)
		query->service = get_be64(bytes + RECORD_SERVICE_AT);
	if (tie)
		query->tie = *tie;
	return true;
}
