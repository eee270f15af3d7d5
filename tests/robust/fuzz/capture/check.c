// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/* Checks of messages that were read, with tables of their own. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "capture.h"

enum {
	MAD_HDR_LEN = 24,
	SERVICE_ID_AT = 32,
	IP_HEADER_LEN = 36,
	COOKIE_LEN = 8,
	TRUNK_HDR_LEN = 24,
	RECORD_HDR_LEN = 8,
	TRUNK_TYPES = 9,
	GSI_QPN = 1,
	CLASS_CM = 7,
	FIRST_TYPE = 0x10,
};

/* Where the private data of each type of CM message begin: IBTA volume 1, 12.6 and 12.11. */
static const uint8_t private_at[] = { 164, 34, 108, 60, 32, 36, 32, 40, 120, 88, 108 };

enum { TYPE_REQ = 0, TYPE_SIDR_REQ = 7, TYPES = sizeof(private_at) };

static bool ends(const char *text, size_t size)
{
	return strnlen(text, size) < size;
}

void check_entry(const struct record_entry *entry)
{
	MUST(entry->len <= (entry->kind == RECORD_TRUNK ? RECORD_FRAME_LEN : RECORD_MAD_LEN));
	MUST(entry->link <= RECORD_ROCE_V2 && entry->way <= RECORD_SEEN);
	MUST(entry->grh || entry->link == RECORD_INFINIBAND);
	MUST(entry->sl <= 15 && entry->dqpn < 1 << 24 && entry->psn < 1 << 24);
	MUST(ends(entry->program, sizeof(entry->program)));
	MUST(ends(entry->operation, sizeof(entry->operation)));
	MUST(ends(entry->event, sizeof(entry->event)));
	for (unsigned int i = entry->len; i < sizeof(entry->bytes); i++)
		MUST(!entry->bytes[i]);
	if (entry->kind == RECORD_TRUNK)
		return;
	MUST(entry->kind == RECORD_CM && entry->len >= MAD_HDR_LEN);
	MUST(entry->bytes[1] == CLASS_CM && entry->dqpn == GSI_QPN && entry->sqpn < 1 << 24);
}

static bool same_addresses(const struct record_entry *one, const struct record_entry *two)
{
	return one->link == two->link && one->grh == two->grh &&
	       !memcmp(one->sgid, two->sgid, sizeof(one->sgid)) &&
	       !memcmp(one->dgid, two->dgid, sizeof(one->dgid)) &&
	       !memcmp(one->smac, two->smac, sizeof(one->smac)) &&
	       !memcmp(one->dmac, two->dmac, sizeof(one->dmac)) &&
	       one->slid == two->slid && one->dlid == two->dlid && one->sl == two->sl &&
	       one->hop_limit == two->hop_limit && one->pkey == two->pkey &&
	       one->udp_sport == two->udp_sport && one->sqpn == two->sqpn &&
	       one->dqpn == two->dqpn && one->qkey == two->qkey && one->psn == two->psn;
}

static bool same_tie(const struct record_tie *one, const struct record_tie *two)
{
	return one->conn == two->conn && one->pid == two->pid &&
	       record_same_id(&one->id, &two->id) && !strcmp(one->program, two->program);
}

static bool same_records(const struct record_entry *one, const struct record_entry *two)
{
	if (one->session != two->session || one->n_ties != two->n_ties)
		return false;
	for (unsigned int i = 0; i < one->n_ties; i++)
		if (!same_tie(&one->ties[i], &two->ties[i]))
			return false;
	return true;
}

static bool same_ties(const struct record_entry *one, const struct record_entry *two)
{
	return record_same_id(&one->id, &two->id) && one->pid == two->pid &&
	       one->stock == two->stock &&
	       !strcmp(one->program, two->program) && !strcmp(one->operation, two->operation) &&
	       !strcmp(one->event, two->event) && same_records(one, two);
}

bool same_entry(const struct record_entry *one, const struct record_entry *two)
{
	return one->time == two->time && one->way == two->way && one->kind == two->kind &&
	       one->private_data == two->private_data && one->len == two->len &&
	       !memcmp(one->bytes, two->bytes, sizeof(one->bytes)) && same_addresses(one, two) &&
	       same_ties(one, two);
}

/* A unicast address of version 4 or 6, which has 128 bits here, too. */
static bool is_address(const uint8_t *at, unsigned int version)
{
	unsigned int begins = at[0] << 8 | at[1];

	if (version == 4)
		return !memcmp(at, "\0\0\0\0\0\0\0\0\0\0\0", 12) && at[12] >= 1 && at[12] <= 223;
	return (begins & 0xe000) == 0x2000 || (begins & 0xfe00) == 0xfc00 ||
	       (begins & 0xffc0) == 0xfe80 || !memcmp(at, "\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\1", 16);
}

/* Whether private data begin with the header of the IP CM service. */
static bool has_header(const uint8_t *at)
{
	return !at[0] && (at[1] == 0x40 || at[1] == 0x60) && is_address(at + 4, at[1] >> 4) &&
	       is_address(at + 20, at[1] >> 4);
}

/* Where the bytes begin that a message without private data does not have. */
static unsigned int removed_from(const struct record_entry *entry)
{
	unsigned int type = (entry->bytes[16] << 8 | entry->bytes[17]) - FIRST_TYPE, from;

	if (type >= TYPES)
		return MAD_HDR_LEN;
	from = private_at[type];
	/* Service IDs of the IP CM service: 0x0000000001PPNNNN, with protocol and port. */
	if ((type == TYPE_REQ || type == TYPE_SIDR_REQ) &&
	    entry->len >= from + IP_HEADER_LEN &&
	    !memcmp(entry->bytes + SERVICE_ID_AT, (uint8_t []) { 0, 0, 0, 0, 1 }, 5) &&
	    has_header(entry->bytes + from))
		from += IP_HEADER_LEN;
	return from;
}

static bool zero(const uint8_t *bytes, size_t len)
{
	for (size_t i = 0; i < len; i++)
		if (bytes[i])
			return false;
	return true;
}

/* What has no room for a record, and what the first record has if its type is not known. */
static void check_trunk(const struct record_entry *entry, const struct record_entry *removed)
{
	const uint8_t *record = entry->bytes + TRUNK_HDR_LEN;
	unsigned int len = record[2] << 8 | record[3];

	MUST(zero(removed->bytes, COOKIE_LEN));
	MUST(!memcmp(removed->bytes + COOKIE_LEN, entry->bytes + COOKIE_LEN,
		     TRUNK_HDR_LEN - COOKIE_LEN));
	if (entry->len < TRUNK_HDR_LEN + RECORD_HDR_LEN)
		MUST(zero(removed->bytes + TRUNK_HDR_LEN, RECORD_FRAME_LEN - TRUNK_HDR_LEN));
	else if ((!record[0] || record[0] > TRUNK_TYPES) && len >= RECORD_HDR_LEN)
		MUST(zero(removed->bytes + TRUNK_HDR_LEN + RECORD_HDR_LEN,
			  (len < RECORD_FRAME_LEN - TRUNK_HDR_LEN ? len :
			   RECORD_FRAME_LEN - TRUNK_HDR_LEN) - RECORD_HDR_LEN));
}

void check_private_data(const struct record_entry *entry)
{
	struct record_entry removed = *entry, again;
	unsigned int from;

	record_remove_private_data(&removed);
	MUST(!removed.private_data);
	again = removed;
	record_remove_private_data(&again);
	MUST(same_entry(&removed, &again));
	MUST(same_addresses(&removed, entry) && removed.len == entry->len);
	if (entry->kind == RECORD_CM) {
		from = removed_from(entry);
		MUST(!memcmp(removed.bytes, entry->bytes, from));
		MUST(zero(removed.bytes + from, RECORD_MAD_LEN - from));
	} else {
		check_trunk(entry, &removed);
	}
}

void check_written(const struct reading *reading)
{
	const struct record_port port = { .device = "fuzz0", .port = 1, .dropped = 3 };
	static struct reading again;
	struct capture_writer *writer;
	char *bytes = NULL, why[128];
	size_t len = 0;
	unsigned int n = reading->count < READ_MAX ? reading->count : READ_MAX;
	FILE *to = open_memstream(&bytes, &len);

	MUST(to);
	writer = capture_create(to, why, sizeof(why));
	MUST(writer);
	for (unsigned int i = 0; i < n; i++) {
		struct record_entry entry = reading->seen[i].entry;

		entry.port = 0;
		MUST(!capture_write(writer, &port, 1, &entry));
	}
	MUST(!capture_close(writer, &port, 1));
	fclose(to);
	read_file(&again, (const uint8_t *)bytes, len);
	free(bytes);
	MUST(!again.ret && again.count == n && again.total.packets == n);
	MUST(again.total.n_ports == 1 && again.total.ports[0].dropped == 3);
	MUST(!strncmp(again.total.recorder, "rdma-cm-alt", 11));
	for (unsigned int i = 0; i < n; i++) {
		MUST(again.seen[i].number == i + 1 && !again.seen[i].comment[0]);
		MUST(!strcmp(again.seen[i].port.device, "fuzz0") && again.seen[i].port.port == 1);
		MUST(same_entry(&again.seen[i].entry, &reading->seen[i].entry));
	}
}
