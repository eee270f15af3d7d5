// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/* Prints a failure, an event or an operation on one line, for monitor and explain. */
#include <stdio.h>
#include <time.h>

#include "tool/core/tool.h"
#include "tool/explain/advice.h"

/**
 * record_time() - format a time of day
 * @record: the record
 * @key: member with the time, in ns since 1970
 * @text: returns the text
 * @len: size of @text
 *
 * Return: @text
 */
const char *record_time(struct json_object *record, const char *key, char *text, size_t len)
{
	uint64_t ns = json_object_get_uint64(json_object_object_get(record, key));
	time_t seconds = ns / 1000000000;
	size_t end = strftime(text, len, "%H:%M:%S", localtime(&seconds));

	snprintf(text + end, len - end, ".%06u", (unsigned int)(ns % 1000000000 / 1000));
	return text;
}

/**
 * record_print() - print a failure, an event or an operation on one line
 * @record: the record
 */
void record_print(struct json_object *record)
{
	const char *device = record_string(record, "device");
	const char *event = record_string(record, "event");
	int status = record_number(record, "status");
	const char *on = "", *off = "";
	char when[32];

	if (options.color && record_failed(record)) {
		on = "\033[31m";
		off = "\033[0m";
	}
	printf("%s %s %s %s -> %s", record_time(record, "time", when, sizeof(when)),
	       record_string(record, "program") ?: "-", record_string(record, "name") ?: "-",
	       record_string(record, "local") ?: "-", record_string(record, "peer") ?: "-");
	if (device)
		printf(" %s/%d", device, (int)record_number(record, "port"));
	printf(" %s%s", on, event ?: record_string(record, "operation") ?: "?");
	if (status)
		printf(": %s", advice_what(record));
	printf("%s", off);
	if (record_number(record, "packet"))
		printf(" (packet %lld)", (long long)record_number(record, "packet"));
	if (record_number(record, "after_packet"))
		printf(" (after packet %lld)", (long long)record_number(record, "after_packet"));
	puts("");
}
