// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/* Options that filter records. An impossible value is an error that lists the valid values. */
#include <infiniband/verbs.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "tool/core/host.h"
#include "tool/core/tool.h"

/* Length of a process name in the kernel without the NUL, and the maximal process ID. */
enum { NAME_KEPT = 15, MAX_PID = 4194304 };

/* The names of states in kernel/lib/fsm.c, in the same order. */
static const char * const states[] = {
	"idle", "bound", "addr-query", "addr-resolved", "route-query", "route-resolved",
	"req-sent", "req-wait", "rep-rcvd", "req-rcvd", "rep-sent", "connected", "dreq-sent",
	"disconnected", "closed", "failed", "sidr-sent", "sidr-rcvd", "sidr-done", "listen",
	"removed", "destroying",
};

/* Appends a word to a comma-separated list. */
static void append(char *list, size_t len, const char *word)
{
	size_t end = strlen(list);

	snprintf(list + end, len - end, "%s%s", end ? ", " : "", word);
}

/**
 * filter_program() - select the records of programs with a name
 * @filter: the filter
 * @arg: the name; it is truncated to the length that the kernel keeps
 * @state: for error messages
 */
void filter_program(struct filter *filter, const char *arg, struct argp_state *state)
{
	static char name[NAME_KEPT + 1];

	if (!*arg)
		argp_error(state, "the name of a program is missing, as show has it: rping");
	snprintf(name, sizeof(name), "%s", arg);
	text_clean(name);
	filter->program = name;
}

/**
 * filter_state() - select the ids in a state
 * @filter: the filter
 * @arg: the state
 * @state: for error messages
 */
void filter_state(struct filter *filter, const char *arg, struct argp_state *state)
{
	char list[512] = "";

	filter->state = NULL;
	for (size_t i = 0; i < COUNT(states); i++) {
		if (!strcasecmp(arg, states[i]))
			filter->state = states[i];
		append(list, sizeof(list), states[i]);
	}
	if (!filter->state)
		argp_error(state, "%s is no state: it is one of %s", *arg ? arg : "''", list);
}

static bool is_device(const char *name, char *known, size_t len)
{
	int count;
	struct ibv_device **list = host_devices(&count);
	bool found = false;

	for (int i = 0; i < count; i++) {
		found |= !strcmp(name, ibv_get_device_name(list[i]));
		append(known, len, ibv_get_device_name(list[i]));
	}
	text_clean(known);
	if (list)
		ibv_free_device_list(list);
	return found;
}

/**
 * filter_device() - select the records of a device, or of one of its ports
 * @filter: the filter
 * @arg: DEVICE or DEVICE/PORT
 * @state: for error messages
 */
void filter_device(struct filter *filter, const char *arg, struct argp_state *state)
{
	char known[512] = "", path[128], *slash, *end;

	snprintf(filter->device, sizeof(filter->device), "%s", arg);
	slash = strchr(filter->device, '/');
	if (slash)
		*slash = '\0';
	if (!is_device(filter->device, known, sizeof(known)))
		argp_error(state, "%s is no RDMA device here: %s%s",
			   *filter->device ? filter->device : "''",
			   *known ? "it is one of " : "there is none", known);
	filter->port = slash ? strtol(slash + 1, &end, 10) : 0;
	snprintf(path, sizeof(path), "/sys/class/infiniband/%s/ports/%d", filter->device,
		 filter->port);
	/* In records the device name is cleaned likewise. */
	text_clean(filter->device);
	if (!slash)
		return;
	if (*end || filter->port <= 0 || access(path, F_OK))
		argp_error(state, "%s is no port of %s: they count from 1, see rdma link",
			   slash[1] ? slash + 1 : "''", filter->device);
}

/**
 * filter_pid() - select the records of a process
 * @filter: the filter
 * @arg: the process ID
 * @state: for error messages
 */
void filter_pid(struct filter *filter, const char *arg, struct argp_state *state)
{
	char *end;

	filter->pid = strtol(arg, &end, 10);
	if (*end || filter->pid <= 0 || filter->pid > MAX_PID)
		argp_error(state, "%s is no process ID: it is 1 to %d", *arg ? arg : "''", MAX_PID);
}

static bool has(struct json_object *record, const char *key, const char *text)
{
	const char *value = record_string(record, key);

	return !text || !*text || (value && !strcmp(value, text));
}

/**
 * filter_matches() - whether a record matches the filter
 * @filter: the filter
 * @record: the record
 *
 * Return: true if it matches
 */
bool filter_matches(const struct filter *filter, struct json_object *record)
{
	if (filter->pid && record_number(record, "pid") != filter->pid)
		return false;
	if (filter->port && record_number(record, "port") != filter->port)
		return false;
	return has(record, "state", filter->state) && has(record, "device", filter->device) &&
	       has(record, "program", filter->program);
}
