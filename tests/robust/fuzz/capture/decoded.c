// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/* Decodes what was read as `rdma-cm-alt record -r` does. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "capture.h"
#include "capture/decode/cause.h"
#include "capture/decode/line.h"

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

/* What takes the messages of a capture: one explains them, the other follows them. */
struct taking {
	struct conversations *all, *followed;
	size_t taken;
};

static struct conversation *take(struct taking *taking, const struct capture_seen *seen,
				 const struct trunk_record *record)
{
	struct conversation *conversation, *followed;

	conversation = record ? conversations_add_record(taking->all, seen, record) :
				conversations_add(taking->all, seen);
	followed = record ? conversations_add_record(taking->followed, seen, record) :
			    conversations_add(taking->followed, seen);
	MUST(!conversation == !followed);
	if (!conversation)
		return NULL;
	check_conversation(conversation, seen);
	check_conversation(followed, seen);
	taking->taken++;
	conversations_forget(taking->followed);
	MUST(conversations_count(taking->followed) <= conversations_count(taking->all));
	return conversation;
}

static void take_records(struct taking *taking, const struct capture_seen *seen)
{
	struct trunk_record record = {};

	conversations_add_frame(taking->all, seen);
	while (trunk_next(&seen->entry, &record))
		take(taking, seen, &record);
}

void check_decoded(const struct reading *reading)
{
	struct taking taking = { .all = conversations_new(), .followed = conversations_new() };
	const struct conversation *each = NULL;
	size_t messages = 0, count = 0;

	MUST(taking.all && taking.followed);
	for (unsigned int i = 0; i < reading->count && i < READ_MAX; i++) {
		const struct capture_seen *seen = &reading->seen[i];
		const struct conversation *conversation = take(&taking, seen, NULL);
		uint64_t before = conversation ? conversation_before(conversation) : 0;

		check_text(seen, before);
		check_json(seen, before, conversation ? conversation->number : 0);
		take_records(&taking, seen);
	}
	conversations_end(taking.all, &reading->total);
	/* Each message is in one conversation. */
	while ((each = conversations_next(taking.all, each))) {
		MUST(each->number == ++count);
		messages += each->count;
		check_cause(each);
	}
	MUST(messages == taking.taken && count == conversations_count(taking.all));
	conversations_free(taking.all);
	conversations_free(taking.followed);
}
