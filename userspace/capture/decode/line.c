// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/* A line of text for a recorded message. */
#include "capture/decode/line.h"

#include <arpa/inet.h>
#include <inttypes.h>
#include <string.h>
#include <time.h>

#include "capture/format/bytes.h"
#include "capture/format/cm.h"
#include "capture/format/trunk.h"
#include "tool/core/tool.h"

#define NANOSECONDS 1000000000u

enum { PROTOCOL_TCP = 6, PROTOCOL_UDP = 17, TRUNK_REJ_REASON_AT = 8 };

/* The time since the previous message of the conversation; the time of day of the first one. */
static void print_time(FILE *to, uint64_t time, uint64_t before)
{
	time_t seconds = time / NANOSECONDS;
	unsigned int micros = time % NANOSECONDS / 1000;
	int64_t since = time - before;
	struct tm tm = {};
	char text[16];

	if (before) {
		fprintf(to, "%c%8" PRId64 ".%06" PRId64, since < 0 ? '-' : '+',
			(since < 0 ? -since : since) / NANOSECONDS,
			(since < 0 ? -since : since) % NANOSECONDS / 1000);
		return;
	}
	localtime_r(&seconds, &tm);
	strftime(text, sizeof(text), "%H:%M:%S", &tm);
	fprintf(to, " %s.%06u", text, micros);
}

/* The addresses of the IP CM header of a request, unless they are those of the packet. */
static void print_ip(FILE *to, const struct record_entry *entry)
{
	char sender[64], receiver[64];
	const uint8_t *header = cm_ip_header(entry);
	char source[INET6_ADDRSTRLEN], destination[INET6_ADDRSTRLEN];
	int family = header && header[1] >> 4 == 4 ? AF_INET : AF_INET6;
	int skip = family == AF_INET ? 12 : 0;

	if (!header)
		return;
	inet_ntop(family, header + 4 + skip, source, sizeof(source));
	inet_ntop(family, header + 20 + skip, destination, sizeof(destination));
	name_peer(entry, true, sender, sizeof(sender));
	name_peer(entry, false, receiver, sizeof(receiver));
	if (strcmp(sender, source) || strcmp(receiver, destination))
		fprintf(to, " of %s, from %s", destination, source);
	else
		fputs(" from", to);
	fprintf(to, " port %u", get_be16(header + 2));
}

static void print_service(FILE *to, uint64_t service)
{
	unsigned int protocol = service >> 16 & 0xff, port = service & 0xffff;

	if (service >> 24 != 1)
		fprintf(to, " service 0x%016" PRIx64, service);
	else if (protocol == PROTOCOL_TCP)
		fprintf(to, " TCP port %u", port);
	else if (protocol == PROTOCOL_UDP)
		fprintf(to, " UDP port %u", port);
	else
		fprintf(to, " protocol %u port %u", protocol, port);
}

/* 4.096 us * 2^value */
static void print_timeout(FILE *to, unsigned int value)
{
	double seconds = 4096 / 1e9 * (double)(1ull << value);

	if (seconds < 0.001)
		fprintf(to, "%.3f ms", seconds * 1000);
	else if (seconds < 1)
		fprintf(to, "%.0f ms", seconds * 1000);
	else
		fprintf(to, "%.1f s", seconds);
}

/* The most important fields of a message. */
static void print_detail(FILE *to, const struct record_entry *entry)
{
	unsigned int number;

	switch (cm_type(entry)) {
	case CM_REQ:
		print_service(to, cm_get(entry, "service_id"));
		print_ip(to, entry);
		fprintf(to, ", QP 0x%06" PRIx64, cm_get(entry, "local_qpn"));
		break;
	case CM_SIDR_REQ:
		print_service(to, cm_get(entry, "service_id"));
		print_ip(to, entry);
		break;
	case CM_REP:
		fprintf(to, " QP 0x%06" PRIx64, cm_get(entry, "local_qpn"));
		break;
	case CM_DREQ:
		fprintf(to, " QP 0x%06" PRIx64, cm_get(entry, "remote_qpn"));
		break;
	case CM_MRA:
		fprintf(to, " of %s: wait ", name_about(entry));
		print_timeout(to, cm_get(entry, "service_timeout"));
		break;
	case CM_REJ:
		number = cm_get(entry, "reason");
		fprintf(to, " of %s: %s (%u)", name_about(entry), name_reason(number), number);
		break;
	case CM_SIDR_REP:
		number = cm_get(entry, "status");
		fprintf(to, " %s (%u)", name_sidr_status(number), number);
		break;
	case CM_APR:
		fprintf(to, " status %" PRIu64, cm_get(entry, "ap_status"));
		break;
	}
}

static void print_ids(FILE *to, const struct record_entry *entry)
{
	if (cm_has(entry, "request_id")) {
		fprintf(to, " request 0x%08" PRIx64, cm_get(entry, "request_id"));
		return;
	}
	if (cm_has(entry, "local_comm_id"))
		fprintf(to, " ID 0x%08" PRIx64, cm_get(entry, "local_comm_id"));
	if (cm_get(entry, "remote_comm_id"))
		fprintf(to, " to 0x%08" PRIx64, cm_get(entry, "remote_comm_id"));
}

static void print_program(FILE *to, const char *name)
{
	char text[32];

	snprintf(text, sizeof(text), "%s", name);
	text_clean(text);
	if (*text)
		fprintf(to, ", %s", text);
}

/* The id of a record, if the recorder knew it. */
static void print_record_tie(FILE *to, const struct record_entry *entry, uint32_t conn)
{
	const struct record_tie *tie = record_tie(entry, conn);

	if (!tie)
		return;
	fprintf(to, " [id %" PRIu64 "/%" PRIu32, tie->id.context, tie->id.handle);
	print_program(to, tie->program);
	if (tie->pid)
		fprintf(to, " (%" PRIu32 ")", tie->pid);
	fputc(']', to);
}

static void print_frame(FILE *to, const struct record_entry *entry)
{
	struct trunk_record record = {};
	struct trunk_frame frame;

	if (!trunk_frame(entry, &frame)) {
		fputs("FRAME    damaged", to);
		return;
	}
	fprintf(to, "FRAME    %" PRIu32, frame.number);
	while (trunk_next(entry, &record)) {
		fprintf(to, ", %s of %" PRIu32, trunk_name(record.type), record.conn);
		if (record.type == TRUNK_REJ && record.at + 10 <= entry->len) {
			unsigned int reason = get_be16(entry->bytes + record.at +
						       TRUNK_REJ_REASON_AT);

			fprintf(to, ": %s (%u)", name_reason(reason), reason);
		}
		print_record_tie(to, entry, record.conn);
	}
	if (frame.len > entry->len)
		fprintf(to, ", %u of %u bytes recorded", entry->len, frame.len);
}

static void print_content(FILE *to, const struct record_entry *entry)
{
	char name[16];

	if (entry->kind == RECORD_TRUNK) {
		print_frame(to, entry);
		return;
	}
	snprintf(name, sizeof(name), "%s", cm_name(cm_type(entry)));
	if (!cm_message(cm_type(entry)))
		snprintf(name, sizeof(name), "0x%04x", cm_type(entry));
	fprintf(to, "%-8s", name);
	print_ids(to, entry);
	print_detail(to, entry);
	if (entry->len < RECORD_MAD_LEN)
		fprintf(to, ", %u of %u bytes recorded", entry->len, RECORD_MAD_LEN);
}

/* Id, program and operation of a message. Names are not trusted: a file may contain any bytes. */
static void print_tie(FILE *to, const struct record_entry *entry)
{
	char text[32];

	if (entry->way == RECORD_SENT_AGAIN)
		fputs(", again", to);
	if (entry->id.handle)
		fprintf(to, ", id %" PRIu64 "/%" PRIu32, entry->id.context, entry->id.handle);
	print_program(to, entry->program);
	if (entry->pid)
		fprintf(to, " (%" PRIu32 ")", entry->pid);
	snprintf(text, sizeof(text), "%s", entry->operation);
	text_clean(text);
	if (*text)
		fprintf(to, ": %s", text);
	snprintf(text, sizeof(text), "%s", entry->event);
	text_clean(text);
	if (*text)
		fprintf(to, " -> %s", text);
	if (entry->stock)
		fputs(", stock", to);
}

static const char *way_sign(enum record_way way)
{
	switch (way) {
	case RECORD_SENT:
	case RECORD_SENT_AGAIN:
		return "sent";
	case RECORD_RECEIVED:
		return "rcvd";
	default:
		return "seen";
	}
}

void record_text(FILE *to, unsigned int number, const struct record_port *port,
		 const struct record_entry *entry, uint64_t before)
{
	char source[64], destination[64], name[sizeof(port->device) + 16];

	name_peer(entry, true, source, sizeof(source));
	name_peer(entry, false, destination, sizeof(destination));
	snprintf(name, sizeof(name), "%s", port->device);
	text_clean(name);
	if (port->port)
		snprintf(name + strlen(name), 16, "/%" PRIu32, port->port);
	fprintf(to, "%4u ", number);
	print_time(to, entry->time, before);
	fprintf(to, " %s %s %s > %s ", name, way_sign(entry->way), source, destination);
	print_content(to, entry);
	print_tie(to, entry);
	fputc('\n', to);
}
