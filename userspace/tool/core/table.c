// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/* Prints an array of JSON objects as JSON or as a table. */
#include <libsmartcols.h>
#include <stdio.h>

#include "tool/core/tool.h"

static void add_row(struct libscols_table *table, struct json_object *row,
		    const struct column *columns, int count)
{
	struct libscols_line *line = scols_table_new_line(table, NULL);

	if (!line)
		fail(TOOL_ERROR, "there is no memory for a table");
	for (int i = 0; i < count; i++) {
		struct json_object *value = json_object_object_get(row, columns[i].key);

		scols_line_set_data(line, i, value ? json_object_get_string(value) : "-");
	}
}

/**
 * table_print() - print rows as JSON or as a table, depending on the options
 * @rows: array of objects
 * @columns: the members that a table shows; JSON shows all members
 * @count: number of columns
 */
void table_print(struct json_object *rows, const struct column *columns, int count)
{
	struct libscols_table *table;

	if (options.json) {
		puts(json_object_to_json_string_ext(rows, JSON_C_TO_STRING_PRETTY |
						    JSON_C_TO_STRING_NOSLASHESCAPE));
		return;
	}
	scols_init_debug(0);
	table = scols_new_table();
	if (!table)
		fail(TOOL_ERROR, "there is no memory for a table");
	for (int i = 0; i < count; i++)
		scols_table_new_column(table, columns[i].head, 0,
				       columns[i].right ? SCOLS_FL_RIGHT : 0);
	for (size_t i = 0; i < json_object_array_length(rows); i++)
		add_row(table, json_object_array_get_idx(rows, i), columns, count);
	scols_print_table(table);
	scols_unref_table(table);
}
