// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/* Comments that tie packets to ids, programs, operations and events. */
#include "capture/format/comment.h"

#include <inttypes.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include "capture/format/options.h"

static const char plain[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789.-+_";

/* The members of an entry that are words of a comment. Numbers are written if they are not 0. */
static const struct {
	const char *key;
	size_t at;
	size_t size;
	bool number;
} members[] = {
#define MEMBER(name, number) \
	{ #name, offsetof(struct record_entry, name), \
	  sizeof(((struct record_entry *)NULL)->name), number }
	MEMBER(pid, true),
	MEMBER(program, false),
	MEMBER(operation, false),
	MEMBER(event, false),
	MEMBER(session, true),
#undef MEMBER
};

/* A tie as text, which is CONN:CONTEXT/HANDLE:PID:PROGRAM. */
enum { TIE_LEN = 80 };

/* The value of a word, with its end: no member or tie is longer. */
enum { VALUE_LEN = TIE_LEN };

_Static_assert(COMMENT_LEN >= 4 * (16 + 24 + 24) + 250 + RECORD_TIES * (75 + 4 * 16),
	       "comments fit");

static void write_text(FILE *to, const char *key, const char *text, size_t size)
{
	size_t len = strnlen(text, size);

	if (!len)
		return;
	fprintf(to, " %s=", key);
	if (len < size && strspn(text, plain) == len) {
		fwrite(text, 1, len, to);
		return;
	}
	fputc('"', to);
	for (size_t i = 0; i < len; i++) {
		uint8_t c = text[i];

		if (c < ' ' || c > '~' || c == '"' || c == '\\')
			fprintf(to, "\\x%02x", c);
		else
			fputc(c, to);
	}
	fputc('"', to);
}

static void write_ties(FILE *to, const struct record_entry *entry)
{
	for (unsigned int i = 0; i < entry->n_ties; i++) {
		const struct record_tie *tie = &entry->ties[i];
		char text[TIE_LEN];

		snprintf(text, sizeof(text), "%" PRIu32 ":%" PRIu64 "/%" PRIu32 ":%" PRIu32 ":%.*s",
			 tie->conn, tie->id.context, tie->id.handle, tie->pid,
			 (int)sizeof(tie->program) - 1, tie->program);
		write_text(to, "record", text, sizeof(text));
	}
}

size_t comment_write(const struct record_entry *entry, char *text)
{
	FILE *to = fmemopen(text, COMMENT_LEN, "w");
	size_t len;

	*text = '\0';
	if (!to)
		return 0;
	if (entry->id.handle)
		fprintf(to, " id=%" PRIu64 "/%" PRIu32, entry->id.context, entry->id.handle);
	for (size_t i = 0; i < sizeof(members) / sizeof(members[0]); i++) {
		const char *member = (const char *)entry + members[i].at;
		uint32_t number;

		if (!members[i].number) {
			write_text(to, members[i].key, member, members[i].size);
			continue;
		}
		memcpy(&number, member, sizeof(number));
		if (number)
			fprintf(to, " %s=%" PRIu32, members[i].key, number);
	}
	if (entry->stock)
		fputs(" stock=yes", to);
	if (entry->way == RECORD_SENT_AGAIN)
		fputs(" sent=again", to);
	if (entry->kind == RECORD_TRUNK)
		fprintf(to, " kind=trunk sqpn=%" PRIu32, entry->sqpn);
	write_ties(to, entry);
	if (!entry->private_data)
		fputs(" private_data=removed", to);
	len = ftell(to);
	fclose(to);
	if (len)
		memmove(text, text + 1, len);	/* the space in front, with the end */
	return len ? len - 1 : 0;
}

/*
 * Takes the next word, KEY=VALUE, with the value unquoted. Both are terminated; value has a length,
 * because it may contain a zero. Returns the rest of the text, or NULL.
 */
static const char *take_word(const char *text, const char *end, char *key, char *value, size_t *len)
{
	bool quoted;

	for (; text < end && *text != '='; text++) {
		if (*len == 15 || !memchr(plain, *text, sizeof(plain) - 1))
			return NULL;
		key[(*len)++] = *text;
	}
	key[*len] = '\0';
	*len = 0;
	if (text++ >= end)
		return NULL;
	quoted = text < end && *text == '"';
	for (text += quoted; text < end && *text != (quoted ? '"' : ' '); text++) {
		char digits[3] = "", c = *text;

		if (c == '\\') {
			if (!quoted || end - text < 4 || text[1] != 'x')
				return NULL;
			memcpy(digits, text + 2, 2);
			if (strspn(digits, "0123456789abcdef") != 2)
				return NULL;
			c = strtoul(digits, NULL, 16);
			text += 3;
		}
		if (*len == VALUE_LEN - 1)
			return NULL;
		value[(*len)++] = c;
	}
	value[*len] = '\0';
	if (quoted && text++ >= end)
		return NULL;
	if (text < end && *text++ != ' ')
		return NULL;
	return text;
}

static bool take_number(const char *value, uint32_t *number)
{
	char *end;
	unsigned long long parsed = strtoull(value, &end, 10);

	*number = parsed;
	return *value >= '0' && *value <= '9' && !*end && parsed <= UINT32_MAX;
}

static bool take_member(struct record_entry *entry, const char *key, const char *value, size_t len)
{
	for (size_t i = 0; i < sizeof(members) / sizeof(members[0]); i++) {
		char *member = (char *)entry + members[i].at;
		uint32_t number;

		if (strcmp(key, members[i].key))
			continue;
		if (members[i].number) {
			if (!take_number(value, &number))
				return false;
			memcpy(member, &number, sizeof(number));
			return true;
		}
		/* A text ends with a zero, which is no part of it. */
		if (!len || len >= members[i].size || strlen(value) != len)
			return false;
		memset(member, 0, members[i].size);
		memcpy(member, value, len);
		return true;
	}
	return false;
}

/* Terminates the part before a colon, and returns the part after it; NULL: no colon. */
static char *cut_part(char *value)
{
	char *colon = strchr(value, ':');

	if (!colon)
		return NULL;
	*colon = '\0';
	return colon + 1;
}

static bool take_tie(struct record_entry *entry, char *value, size_t len)
{
	struct record_tie tie = {};
	char *id, *pid, *program;

	if (entry->n_ties == RECORD_TIES || strlen(value) != len)
		return false;
	id = cut_part(value);
	pid = id ? cut_part(id) : NULL;
	program = pid ? cut_part(pid) : NULL;
	if (!program || !take_number(value, &tie.conn) || !options_id(id, &tie.id) ||
	    !take_number(pid, &tie.pid) || strlen(program) >= sizeof(tie.program))
		return false;
	strcpy(tie.program, program);
	entry->ties[entry->n_ties++] = tie;
	return true;
}

/* Returns false for an unknown word, and for a value that is no flag or number. */
static bool take_flag(struct record_entry *entry, const char *key, const char *value)
{
	if (!strcmp(key, "id"))
		return options_id(value, &entry->id);
	if (!strcmp(key, "stock") && !strcmp(value, "yes"))
		entry->stock = true;
	else if (!strcmp(key, "sent") && !strcmp(value, "again"))
		entry->way = RECORD_SENT_AGAIN;
	else if (!strcmp(key, "kind") && !strcmp(value, "trunk"))
		entry->kind = RECORD_TRUNK;
	else if (!strcmp(key, "private_data") && !strcmp(value, "removed"))
		entry->private_data = false;
	else
		return !strcmp(key, "sqpn") && take_number(value, &entry->sqpn);
	return true;
}

bool comment_read(const char *text, size_t len, struct record_entry *entry)
{
	struct record_entry read = *entry;
	const char *end = text + len;
	char key[16], value[VALUE_LEN];

	if (!len)
		return false;
	while (text < end) {
		size_t value_len = 0;

		text = take_word(text, end, key, value, &value_len);
		if (!text)
			return false;
		if (!strcmp(key, "record")) {
			if (!take_tie(&read, value, value_len))
				return false;
		} else if (!take_flag(&read, key, value) &&
			   !take_member(&read, key, value, value_len)) {
			return false;
		}
	}
	*entry = read;
	return true;
}
