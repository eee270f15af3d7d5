// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/* The software InfiniBand adapters and their fault rules. */
#define _GNU_SOURCE
#include "knobs.h"

#include <fcntl.h>
#include <sched.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "ktap.h"

#define KNOBS "/sys/kernel/debug/rca_hca/"
#define RULES KNOBS "rules"

double now(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return ts.tv_sec + ts.tv_nsec / 1e9;
}

void knob(const char *path, const char *text)
{
	char name[128];
	int fd;

	snprintf(name, sizeof(name), KNOBS "%s", path);
	fd = MUST(open(name, O_WRONLY | O_CLOEXEC));
	MUST(write(fd, text, strlen(text)));
	close(fd);
}

void rule(const char *text)
{
	knob("rules", text);
}

void lose(const char *text)
{
	rule("clear");
	rule(text);
}

/* The sum of the numbers behind @word in the lines of the rules that begin with @text. */
static unsigned int sum_of(const char *text, const char *word)
{
	FILE *file = fopen(RULES, "r");
	unsigned int number, sum = 0;
	char line[512], *where;

	EXPECT(file);
	while (fgets(line, sizeof(line), file)) {
		where = strstr(line, word);
		if (where && !strncmp(line, text, strlen(text)) &&
		    sscanf(where + strlen(word), "%u", &number) == 1)
			sum += number;
	}
	fclose(file);
	return sum;
}

unsigned int seen_by(const char *text)
{
	return sum_of(text, ": matched ");
}

unsigned int rules_hit(void)
{
	return sum_of("", " hit ");
}

static void enter(const char *path)
{
	int fd = MUST(open(path, O_RDONLY | O_CLOEXEC));

	MUST(setns(fd, CLONE_NEWNET));
	close(fd);
}

void go_there(void)
{
	enter("/run/netns/hca1");
}

void go_here(void)
{
	enter("/proc/1/ns/net");
}
