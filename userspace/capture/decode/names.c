// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/* Names of peers and of reasons. */
#include "capture/decode/names.h"

#include <arpa/inet.h>
#include <stdio.h>
#include <string.h>

#include "capture/format/cm.h"

/* IBTA volume 1, 12.6.7.2. */
static const char * const reasons[] = {
	[1] = "no QP available",
	[2] = "no EEC available",
	[3] = "no resources available",
	[4] = "timeout",
	[5] = "unsupported request",
	[6] = "invalid communication ID",
	[7] = "invalid communication instance",
	[8] = "invalid service ID",
	[9] = "invalid transport service type",
	[10] = "stale connection",
	[11] = "RDC does not exist",
	[12] = "primary remote port GID rejected",
	[13] = "primary remote port LID rejected",
	[14] = "invalid primary SL",
	[15] = "invalid primary traffic class",
	[16] = "invalid primary hop limit",
	[17] = "invalid primary packet rate",
	[18] = "alternate remote port GID rejected",
	[19] = "alternate remote port LID rejected",
	[20] = "invalid alternate SL",
	[21] = "invalid alternate traffic class",
	[22] = "invalid alternate hop limit",
	[23] = "invalid alternate packet rate",
	[24] = "port and CM redirection",
	[25] = "port redirection",
	[26] = "invalid path MTU",
	[27] = "insufficient responder resources",
	[28] = "consumer reject",
	[29] = "RNR retry count rejected",
	[30] = "duplicate local communication ID",
	[31] = "unsupported class version",
	[32] = "invalid primary flow label",
	[33] = "invalid alternate flow label",
	[35] = "vendor option not supported",
};

/* 12.11.2.2 */
static const char * const sidr_statuses[] = {
	[0] = "valid QPN",
	[1] = "service ID not supported",
	[2] = "rejected by service provider",
	[3] = "no QP available",
	[4] = "request should be redirected",
	[5] = "unsupported class version",
};

#define NAME_OF(names, number) \
	((number) < sizeof(names) / sizeof((names)[0]) ? (names)[number] : NULL)

const char *name_reason(unsigned int reason)
{
	return NAME_OF(reasons, reason) ?: "unknown reason";
}

const char *name_sidr_status(unsigned int status)
{
	return NAME_OF(sidr_statuses, status) ?: "unknown status";
}

const char *name_about(const struct record_entry *entry)
{
	static const char * const mraed[] = { "REQ", "REP", "LAP" };
	static const char * const rejected[] = { "REQ", "REP", "no message", "another message" };

	if (cm_type(entry) == CM_MRA)
		return NAME_OF(mraed, cm_get(entry, "message_mraed")) ?: "?";
	return NAME_OF(rejected, cm_get(entry, "message_rejected")) ?: "?";
}

void name_peer(const struct record_entry *entry, bool sender, char *text, size_t len)
{
	const uint8_t *gid = sender ? entry->sgid : entry->dgid;
	char address[INET6_ADDRSTRLEN];
	struct in6_addr aligned;

	/* The GIDs of an entry begin at any byte. */
	memcpy(&aligned, gid, sizeof(aligned));
	if (!entry->grh)
		snprintf(text, len, "LID %u", sender ? entry->slid : entry->dlid);
	else if (IN6_IS_ADDR_V4MAPPED(&aligned))
		snprintf(text, len, "%s", inet_ntop(AF_INET, gid + 12, address, sizeof(address)));
	else
		snprintf(text, len, "%s", inet_ntop(AF_INET6, gid, address, sizeof(address)));
}
