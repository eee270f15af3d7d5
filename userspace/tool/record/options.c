// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/* Filters of recorded messages. */
#include "tool/record/options.h"

#include <string.h>

bool record_matches(const struct record_options *options, const struct record_port *port,
		    const struct record_entry *entry)
{
	if (*options->device && strcmp(options->device, port->device))
		return false;
	if (options->port && options->port != port->port)
		return false;
	if (options->cm_id && options->cm_id != entry->cm_id)
		return false;
	if (options->pid && options->pid != entry->pid)
		return false;
	return !options->program ||
	       !strncmp(options->program, entry->program, sizeof(entry->program) - 1);
}
