// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * Programs as text: a call a line, an empty line after each program, # for notes.
 *
 *	RESOLVE pipe.steps=1 pipe.queue_fd=queue:0 pipe.dst=addr:there,4
 *	LISTEN@1/edge id=id:0 backlog=5
 *	SET_OPTION optname=1 optval_uptr=good:number,4,1
 *	+LISTEN id=id:0			of the batch before
 */
#define _GNU_SOURCE
#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "fuzz.h"

#define LINE 4096

const char * const fill_names[FILLS] = { "bytes", "number", "paths", "defaults" };

static const char * const way_names[] = {
	[THE_ID] = "id", [THE_MEMBER] = "member", [THE_QUEUE] = "queue",
};

static void print_value(FILE *file, const struct value *value)
{
	switch (value->way) {
	case FRESH:
		fprintf(file, "fresh");
		break;
	case THE_ID:
	case THE_MEMBER:
	case THE_QUEUE:
		fprintf(file, "%s%s:%llu", value->other ? "other-" : "", way_names[value->way],
			(unsigned long long)value->number);
		break;
	case ADDRESS:
		fprintf(file, "addr:%s,%u", address_name(value->number), value->other);
		break;
	case MEMORY:
		fprintf(file, "%s:%s,%u,%#llx", where_names[value->other % WHERES],
			fill_names[value->fill % FILLS], value->len,
			(unsigned long long)value->number);
		break;
	default:
		fprintf(file, "%#llx", (unsigned long long)value->number);
	}
}

void program_print(FILE *file, const struct program *program)
{
	for (unsigned int i = 0; i < program->calls; i++) {
		const struct call *call = &program->call[i];
		const struct row *row = row_get(call->row);

		fprintf(file, "%s%s", call->entry ? "+" : "", row->name);
		if (call->ctx)
			fprintf(file, "@%u", call->ctx);
		if (call->where)
			fprintf(file, "/%s", where_names[call->where]);
		for (unsigned int v = 0; v < call->values; v++) {
			fprintf(file, " %s=", row->members[call->value[v].member].name);
			print_value(file, &call->value[v]);
		}
		fprintf(file, "\n");
	}
	fprintf(file, "\n");
}

static int name_find(const char * const *names, unsigned int count, const char *name)
{
	for (unsigned int i = 0; i < count; i++)
		if (names[i] && !strcmp(names[i], name))
			return i;
	return -1;
}

/* @head: the text before the colon; @rest: after it. */
static bool read_composed(struct value *value, const char *head, char *rest)
{
	char *second = strchr(rest, ','), *third;
	int found;

	if (!strncmp(head, "other-", 6)) {
		value->other = 1;
		head += 6;
	}
	found = name_find(way_names, COUNT(way_names), head);
	if (found > 0) {
		value->way = found;
		value->number = strtoull(rest, NULL, 0);
		return true;
	}
	if (!second)
		return false;
	*second++ = 0;
	if (!strcmp(head, "addr")) {
		found = address_find(rest);
		value->way = ADDRESS;
		value->number = found;
		value->other = strtoul(second, NULL, 0);
		return found >= 0 && value->other < port_count;
	}
	third = strchr(second, ',');
	found = name_find(where_names, WHERES, head);
	if (found < 0 || !third)
		return false;
	value->way = MEMORY;
	value->other = found;
	found = name_find(fill_names, FILLS, rest);
	value->fill = found;
	value->len = strtoul(second, NULL, 0);
	value->number = strtoull(third + 1, NULL, 0);
	return found >= 0;
}

static bool read_value(struct call *call, const struct row *row, char *word)
{
	struct value *value = &call->value[call->values];
	char *is = strchr(word, '='), *colon;
	int member;

	if (!is || call->values == MAX_VALUES)
		return false;
	*is++ = 0;
	member = member_find(row, word);
	if (member < 0)
		return false;
	*value = (struct value){ .member = member };
	call->values++;
	colon = strchr(is, ':');
	if (colon) {
		*colon = 0;
		return read_composed(value, is, colon + 1);
	}
	if (!strcmp(is, "fresh")) {
		value->way = FRESH;
		return true;
	}
	value->number = strtoull(is, &is, 0);
	return !*is;
}

static bool read_call(struct program *program, char *line)
{
	struct call *call = &program->call[program->calls];
	char *word = strtok_r(line, " \t\n", &line), *where, *ctx;
	int row;

	if (program->calls == MAX_CALLS)
		return false;
	*call = (struct call){ .entry = *word == '+' };
	word += call->entry;
	where = strchr(word, '/');
	if (where) {
		*where++ = 0;
		row = name_find(where_names, WHERES, where);
		if (row < 0)
			return false;
		call->where = row;
	}
	ctx = strchr(word, '@');
	if (ctx) {
		*ctx++ = 0;
		call->ctx = strtoul(ctx, NULL, 0) % CTXS;
	}
	row = row_find(word);
	if (row < 0)
		return false;
	call->row = row;
	program->calls++;
	while ((word = strtok_r(NULL, " \t\n", &line)))
		if (!read_value(call, row_get(call->row), word))
			return false;
	return true;
}

static bool is_empty(const char *line)
{
	while (isspace(*line))
		line++;
	return !*line;
}

/* Calls @take for each program of the file. Returns 0 or the number of an invalid line. */
int programs_read(FILE *file, void (*take)(const struct program *program))
{
	struct program program = {};
	char line[LINE], copy[LINE];
	int number = 0;

	while (fgets(line, sizeof(line), file)) {
		number++;
		if (*line == '#')
			continue;
		if (!is_empty(line)) {
			memcpy(copy, line, sizeof(copy));
			if (!read_call(&program, copy))
				return number;
		} else if (program.calls) {
			take(&program);
			program.calls = 0;
		}
	}
	if (program.calls)
		take(&program);
	return 0;
}
