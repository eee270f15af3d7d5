// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/* Decodes what was read as `rdma-cm-alt record -r` does. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "capture.h"
#include "tool/decode/cause.h"
#include "tool/decode/line.h"

/* A line is one line of printable text: bytes of a file must not reach the terminal. */
static void check_text(const struct capture_seen *seen, uint64_t before)
{
	char *text = NULL;
	size_t len = 0;
	FILE *to = open_memstream(&text, &len);

	MUST(to);
	record_text(to, seen->number, &seen->port, &seen->entry, before);
	fclose(to);
	MUST(len && strlen(text) == len && text[len - 1] == '\n');
	for (size_t i = 0; i + 1 < len; i++)
		MUST((unsigned char)text[i] >= ' ' && text[i] != 0x7f);
	free(text);
}

static void check_json(const struct capture_seen *seen, uint64_t before, unsigned int conversation)
{
	struct json_object *line = line_json(seen, before, conversation), *number;

	MUST(line && json_object_object_get_ex(line, "number", &number));
	MUST(json_object_get_int64(number) == seen->number);
	MUST(json_object_to_json_string(line));
	json_object_put(line);
}

static void check_conversation(const struct conversation *conversation,
			       const struct capture_seen *seen)
{
	const struct said *last = &conversation->messages[conversation->count - 1];

	MUST(conversation->number && conversation->count);
	MUST(last->number == seen->number && last->time == seen->entry.time && last->from <= 1);
	MUST(conversation->local >= -1 && conversation->local <= 1);
	MUST(conversation_before(conversation) ==
	     (conversation->count > 1 ? last[-1].time : 0));
}

/* What happened is told in lines of printable text, of every conversation. */
static void check_cause(const struct conversation *conversation)
{
	char *text = NULL;
	size_t len = 0;
	FILE *to = open_memstream(&text, &len);

	MUST(to);
	cause_title(to, conversation);
	fputc('\n', to);
	cause_text(to, conversation, "  ");
	fclose(to);
	MUST(len && strlen(text) == len && text[len - 1] == '\n');
	for (size_t i = 0; i < len; i++)
		MUST(text[i] == '\n' || ((unsigned char)text[i] >= ' ' && text[i] != 0x7f));
	free(text);
}

void check_decoded(const struct reading *reading)
{
	struct conversations *all = conversations_new();
	size_t messages = 0, count = 0;

	MUST(all);
	for (unsigned int i = 0; i < reading->count && i < READ_MAX; i++) {
		const struct capture_seen *seen = &reading->seen[i];
		struct conversation *conversation = conversations_add(all, seen);
		uint64_t before = 0;

		if (conversation) {
			check_conversation(conversation, seen);
			before = conversation_before(conversation);
			count++;
		}
		check_text(seen, before);
		check_json(seen, before, conversation ? conversation->number : 0);
	}
	/* Each message is in one conversation. */
	for (size_t i = 0; conversations_get(all, i); i++) {
		MUST(conversations_get(all, i)->number == i + 1);
		messages += conversations_get(all, i)->count;
		check_cause(conversations_get(all, i));
	}
	MUST(messages == count);
	conversations_free(all);
}
