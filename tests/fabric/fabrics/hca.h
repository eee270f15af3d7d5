/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* The software InfiniBand adapters of ib.py: what tests write to their files, and their GIDs. */
#ifndef HCA_H
#define HCA_H

#include <stdio.h>
#include <stdlib.h>

#include "rca_test.h"

#define KNOBS "/sys/kernel/debug/rca_hca"
#define GID_TEXT 64	/* bytes of a GID as text */

static inline void knob(const char *text, const char *name)
{
	char command[256];

	snprintf(command, sizeof(command), "echo %s >" KNOBS "/%s", text, name);
	EXPECT_EQ(system(command), 0);
}

/* The first GID of a port, as text of at most GID_TEXT bytes. */
static inline const char *hca_gid(const char *adapter, int port, char *text)
{
	char name[128];
	FILE *file;

	snprintf(name, sizeof(name), "/sys/class/infiniband/%s/ports/%d/gids/0", adapter, port);
	file = fopen(name, "r");
	MUST(file ? 0 : -1);
	EXPECT_EQ(fscanf(file, "%63s", text), 1);
	fclose(file);
	return text;
}

#endif /* HCA_H */
