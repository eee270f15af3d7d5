// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/* Explains captures, conversation by conversation. */
#include "capture/decode/explain_capture.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "capture/decode/cause.h"
#include "capture/decode/print.h"
#include "tool/core/tool.h"

/*
 * struct telling - a capture that is explained
 * @passed: for each conversation, whether a message of it passed the filters; @room: its length
 */
struct telling {
	const struct record_options *options;
	struct conversations *conversations;
	bool *passed;
	size_t room;
	unsigned int told;
};

/* Marks a conversation if the message passes the filters. */
static void pass(struct telling *telling, const struct conversation *conversation,
		 const struct record_port *port, const struct record_entry *entry)
{
	if (!conversation)
		return;
	if (conversation->number >= telling->room) {
		size_t room = 2 * (size_t)conversation->number + 64;

		telling->passed = reallocarray(telling->passed, room, sizeof(bool));
		if (!telling->passed)
			fail(TOOL_ERROR, "there is no memory for the conversations of the capture");
		memset(telling->passed + telling->room, 0, room - telling->room);
		telling->room = room;
	}
	telling->passed[conversation->number] |= record_matches(telling->options, port, entry);
}

/* The records of a frame, each with its own tie. */
static void take_records(struct telling *telling, const struct capture_seen *seen)
{
	struct record_entry alone = seen->entry;
	struct trunk_record record = {};
	const struct record_tie *tie;

	conversations_add_frame(telling->conversations, seen);
	while (trunk_next(&seen->entry, &record)) {
		tie = record_tie(&seen->entry, record.conn);
		alone.n_ties = !!tie;
		if (tie)
			alone.ties[0] = *tie;
		pass(telling, conversations_add_record(telling->conversations, seen, &record),
		     &seen->port, &alone);
	}
}

static int take_message(const struct capture_seen *seen, void *arg)
{
	struct telling *telling = arg;

	if (seen->entry.kind == RECORD_TRUNK)
		take_records(telling, seen);
	else
		pass(telling, conversations_add(telling->conversations, seen), &seen->port,
		     &seen->entry);
	return 0;
}

/* The explanation of a conversation, without control characters for the terminal. */
static char *clean_text(const struct conversation *conversation, bool title, bool *wrong)
{
	char *text = NULL;
	size_t len = 0;
	FILE *to = open_memstream(&text, &len);

	if (!to)
		fail(TOOL_ERROR, "there is no memory for an explanation");
	if (title)
		cause_title(to, conversation);
	else
		*wrong |= cause_text(to, conversation, "");
	fclose(to);
	for (char *line = text; *line; line += strcspn(line, "\n"), line += *line == '\n') {
		char *end = line + strcspn(line, "\n"), kept = *end;

		*end = '\0';
		text_clean(line);
		*end = kept;
	}
	return text;
}

static void tell_text(const struct conversation *conversation, const char *title, char *text)
{
	printf("Conversation %u: %s\n", conversation->number, title);
	if (!*text)
		printf("  The capture has only a part of it: packets %u to %u.\n",
		       conversation->messages[0].number,
		       conversation->messages[conversation->count - 1].number);
	for (char *line = strtok(text, "\n"); line; line = strtok(NULL, "\n"))
		printf("  %s\n", line);
}

static struct json_object *tell_json(const struct conversation *conversation, const char *title,
				     char *text, bool wrong)
{
	struct json_object *row = json_object_new_object(), *what = json_object_new_array();
	struct json_object *packets = json_object_new_array();

	record_put_number(row, "conversation", conversation->number);
	record_put(row, "title", title);
	record_put_bool(row, "wrong", wrong);
	for (char *line = strtok(text, "\n"); line; line = strtok(NULL, "\n"))
		json_object_array_add(what, json_object_new_string(line));
	for (size_t i = 0; i < conversation->count; i++)
		json_object_array_add(packets,
				      json_object_new_int64(conversation->messages[i].number));
	json_object_object_add(row, "what", what);
	json_object_object_add(row, "packets", packets);
	return row;
}

static bool tell_all(struct telling *telling)
{
	struct json_object *rows = json_object_new_array();
	const struct conversation *conversation = NULL;
	bool any = false;

	while ((conversation = conversations_next(telling->conversations, conversation))) {
		char *title, *text;
		bool wrong = false;

		if (!telling->passed[conversation->number])
			continue;
		title = clean_text(conversation, true, NULL);
		text = clean_text(conversation, false, &wrong);
		if (options.json)
			json_object_array_add(rows, tell_json(conversation, title, text, wrong));
		else
			tell_text(conversation, title, text);
		free(title);
		free(text);
		any |= wrong;
		telling->told++;
	}
	if (options.json)
		puts(json_object_to_json_string_ext(rows, JSON_C_TO_STRING_PRETTY |
						    JSON_C_TO_STRING_NOSLASHESCAPE));
	json_object_put(rows);
	return any;
}

bool explain_capture(const struct record_options *wanted)
{
	struct telling telling = { .options = wanted, .conversations = conversations_new() };
	FILE *from = fopen(wanted->read_from, "re");
	struct capture_total total;
	char why[256] = "";
	bool wrong;
	int ret;

	if (!from)
		fail(TOOL_ERROR, "%s cannot be opened: %m", wanted->read_from);
	if (!telling.conversations)
		fail(TOOL_ERROR, "there is no memory for the conversations of %s",
		     wanted->read_from);
	ret = capture_read_total(from, take_message, &telling, &total, why, sizeof(why));
	fclose(from);
	conversations_end(telling.conversations, &total);
	wrong = tell_all(&telling);
	conversations_free(telling.conversations);
	free(telling.passed);
	print_drops(&total);
	if (ret < 0)
		fail(TOOL_ERROR, "%s: %s", wanted->read_from, why);
	print_unread(wanted->read_from, &total);
	capture_total_free(&total);
	if (!telling.told && !options.json)
		tool_warn("%s has no CM message that passes the filters", wanted->read_from);
	return wrong;
}
