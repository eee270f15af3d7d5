// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * Processor time of the client, its server and everything else; the part in which instructions
 * are counted; and how to detect an idle system.
 */
#include <err.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#include "mark.h"
#include "perf.h"

/* The kernel has freed what it frees later, after this time. */
#define SETTLED_US 500000

/* Jiffies for which a processor was not idle. */
static unsigned long busy(void)
{
	unsigned long user, nice, system, idle, wait, hard, soft;
	FILE *file = fopen("/proc/stat", "r");

	if (!file || fscanf(file, "cpu %lu %lu %lu %lu %lu %lu %lu", &user, &nice, &system, &idle,
			    &wait, &hard, &soft) != 7)
		give_up("/proc/stat");
	fclose(file);
	return user + nice + system + hard + soft;
}

static void spent(int who, double *us)
{
	struct rusage usage;

	getrusage(who, &usage);
	us[0] = usage.ru_utime.tv_sec * 1e6 + usage.ru_utime.tv_usec;
	us[1] = usage.ru_stime.tv_sec * 1e6 + usage.ru_stime.tv_usec;
}

void use_begin(struct use *use)
{
	spent(RUSAGE_SELF, use->client);
	/* The server has used little processor time before: it has set up a listener. */
	spent(RUSAGE_CHILDREN, use->server);
	use->busy = busy() * 1e6 / sysconf(_SC_CLK_TCK);
}

/* Processor time since use_begin(); the server has ended. */
void say_use(const struct use *use)
{
	struct use now;

	use_begin(&now);
	printf(", \"client_user_us\": %.0f, \"client_system_us\": %.0f",
	       now.client[0] - use->client[0], now.client[1] - use->client[1]);
	printf(", \"server_user_us\": %.0f, \"server_system_us\": %.0f",
	       now.server[0] - use->server[0], now.server[1] - use->server[1]);
	printf(", \"busy_us\": %.0f", now.busy - use->busy);
}

/* Wait until the system is nearly idle for a quarter of a second; returns how long it took. */
double quiet_us(void)
{
	const double step = 250e3, limit = 60e6;
	double began = now_us(), since = began;

	do {
		unsigned long before = busy();

		since = now_us();
		usleep(step);
		if (busy() - before <= 4)
			break;
	} while (since - began < limit);
	return since - began;
}

/* Write the memory map of this process, which the server has, too. */
static void write_maps(void)
{
	char line[512];
	FILE *from = fopen("/proc/self/maps", "r"), *to = fopen(options.maps, "w");

	if (!from || !to)
		give_up(options.maps);
	while (fgets(line, sizeof(line), from))
		fputs(line, to);
	fclose(from);
	if (fclose(to))
		give_up(options.maps);
}

/* Begin to count instructions, if the command line says so. */
void count_begin(void)
{
	if (options.maps)
		mark_begin();
}

/* Count what the kernel does later, then end. */
void count_end(void)
{
	if (!options.maps)
		return;
	usleep(SETTLED_US);
	mark_end();
	write_maps();
}

/* The floor is a module; this process only starts it. */
void measure_floor(void)
{
	const char *text = getenv("PERF_FLOOR");
	int file = open("/sys/module/rca_floor/parameters/run", O_WRONLY);

	if (!text || file < 0)
		errx(2, "the module rca_floor and $PERF_FLOOR are needed");
	count_begin();
	if (write(file, text, strlen(text)) < 0)
		give_up("a run of the floor");
	count_end();
	close(file);
	printf(", \"failures\": 0");
}
