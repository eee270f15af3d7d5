// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/* Filters of recorded messages, and the options that set them. */
#include "capture/format/options.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

bool options_number(const char *arg, uint32_t *number)
{
	char *end;
	unsigned long long value = strtoull(arg, &end, 10);

	if (*arg < '0' || *arg > '9' || *end || !value || value > UINT32_MAX)
		return false;
	*number = value;
	return true;
}

bool options_id(const char *arg, struct record_id *id)
{
	const char *slash = strchr(arg, '/');
	struct record_id taken;
	char *end;

	if (*arg < '0' || *arg > '9' || !slash || !options_number(slash + 1, &taken.handle))
		return false;
	errno = 0;
	taken.context = strtoull(arg, &end, 10);
	if (end != slash || errno)
		return false;
	*id = taken;
	return true;
}

bool options_device(struct record_options *options, const char *arg)
{
	const char *slash = strchr(arg, '/');
	size_t len = slash ? (size_t)(slash - arg) : strlen(arg);
	uint32_t port = 0;

	if (!len || len >= sizeof(options->device) || (slash && !options_number(slash + 1, &port)))
		return false;
	memset(options->device, 0, sizeof(options->device));
	memcpy(options->device, arg, len);
	options->port = port;
	return true;
}

/* Length of the name of a process in the kernel. */
enum { PROGRAM_LEN = 15 };

static bool tie_matches(const struct record_options *options, const struct record_id *id,
			uint32_t pid, const char *program)
{
	if (options->id.handle && !record_same_id(&options->id, id))
		return false;
	if (options->pid && options->pid != pid)
		return false;
	return !options->program || !strncmp(options->program, program, PROGRAM_LEN);
}

bool record_matches(const struct record_options *options, const struct record_port *port,
		    const struct record_entry *entry)
{
	if (*options->device && strcmp(options->device, port->device))
		return false;
	if (options->port && options->port != port->port)
		return false;
	for (unsigned int i = 0; i < entry->n_ties; i++)
		if (tie_matches(options, &entry->ties[i].id, entry->ties[i].pid,
				entry->ties[i].program))
			return true;
	return tie_matches(options, &entry->id, entry->pid, entry->program);
}
