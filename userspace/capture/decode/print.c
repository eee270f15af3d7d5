// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/* Prints captures: one line per message, one message with all fields, or JSON. */
#include "capture/decode/print.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "capture/decode/line.h"
#include "tool/core/tool.h"

struct printing {
	const struct record_options *options;
	struct conversations *conversations;
	struct json_object *rows;	/* NULL: text */
	uint32_t printed;
};

enum { ENOUGH = 1 };

static void print_fields(struct json_object *row)
{
	json_object_object_foreach(row, key, value)
		printf("     %-28s %s\n", key, json_object_get_string(value));
}

static int print_read(const struct capture_seen *seen, void *arg)
{
	struct printing *printing = arg;
	const struct record_options *wanted = printing->options;
	const struct conversation *conversation;
	struct capture_seen shown = *seen;
	struct json_object *row = NULL;
	uint64_t before;

	conversation = conversations_add(printing->conversations, seen);
	before = conversation ? conversation_before(conversation) : 0;
	if (wanted->packet && seen->number != wanted->packet)
		return 0;
	if (!record_matches(wanted, &seen->port, &seen->entry))
		return 0;
	if (conversation && seen->entry.way == RECORD_SENT &&
	    conversation->messages[conversation->count - 1].again)
		shown.entry.way = RECORD_SENT_AGAIN;
	if (!wanted->private_data)
		record_remove_private_data(&shown.entry);
	if (printing->rows || wanted->packet)
		row = line_json(&shown, before, conversation ? conversation->number : 0);
	if (!printing->rows) {
		record_text(stdout, seen->number, &seen->port, &shown.entry, before);
		if (wanted->packet)
			print_fields(row);
		json_object_put(row);
	} else {
		json_object_array_add(printing->rows, row);
	}
	printing->printed++;
	return printing->printed == wanted->count || wanted->packet ? ENOUGH : 0;
}

void print_message(const struct capture_seen *seen, const struct conversation *conversation)
{
	uint64_t before = conversation ? conversation_before(conversation) : 0;
	struct json_object *row;

	if (!options.json) {
		record_text(stdout, seen->number, &seen->port, &seen->entry, before);
		return;
	}
	row = line_json(seen, before, conversation ? conversation->number : 0);
	puts(json_object_to_json_string_ext(row, JSON_C_TO_STRING_NOSLASHESCAPE));
	json_object_put(row);
}

void print_drops(const struct capture_total *total)
{
	for (unsigned int i = 0; i < total->n_ports; i++) {
		struct record_port port = total->ports[i];
		char number[16] = "";

		text_clean(port.device);
		if (port.port)
			snprintf(number, sizeof(number), "/%" PRIu32, port.port);
		if (port.dropped)
			tool_warn("%s%s: %" PRIu64 " messages were not recorded", port.device,
				  number, port.dropped);
	}
	if (total->dropped_elsewhere)
		tool_warn("%" PRIu64 " messages were not recorded at other ports than the first %d "
			  "of the capture", total->dropped_elsewhere, CAPTURE_PORTS);
}

void print_unread(const char *name, const struct capture_total *total)
{
	static const char known[] = "what is read: Ethernet (1), Linux cooked (113, 276), ERF "
				    "(197) and InfiniBand (247)";

	if (total->unread && total->unread == total->packets)
		fail(TOOL_ERROR, "%s: packets of link type %d are not read, and it has no others; "
		     "%s", name, total->unread_link, known);
	if (total->unread)
		tool_warn("%s: %u of %u packets are not read, the first of link type %d; %s", name,
			  total->unread, total->packets, total->unread_link, known);
}

void print_capture(const struct record_options *wanted)
{
	struct printing printing = {
		.options = wanted, .conversations = conversations_new(),
		.rows = options.json ? json_object_new_array() : NULL,
	};
	FILE *from = fopen(wanted->read_from, "re");
	struct capture_total total;
	char why[256] = "";
	int ret;

	if (!from)
		fail(TOOL_ERROR, "%s cannot be opened: %m", wanted->read_from);
	if (!printing.conversations)
		fail(TOOL_ERROR, "there is no memory for the conversations of %s",
		     wanted->read_from);
	ret = capture_read_total(from, print_read, &printing, &total, why, sizeof(why));
	fclose(from);
	conversations_free(printing.conversations);
	if (options.json)
		puts(json_object_to_json_string_ext(printing.rows, JSON_C_TO_STRING_PRETTY |
						    JSON_C_TO_STRING_NOSLASHESCAPE));
	json_object_put(printing.rows);
	if (ret < 0)
		fail(TOOL_ERROR, "%s: %s", wanted->read_from, why);
	print_drops(&total);
	print_unread(wanted->read_from, &total);
	if (wanted->packet && !printing.printed)
		fail(TOOL_ERROR, "%s has no CM message that is packet %u and passes the filters; "
		     "it has %u packets", wanted->read_from, wanted->packet, total.packets);
	capture_total_free(&total);
	if (!printing.printed && !options.json)
		tool_warn("%s has no CM message%s", wanted->read_from,
			  total.messages ? " that passes the filters" : "");
}
