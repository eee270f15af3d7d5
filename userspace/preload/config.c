// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * Reads the configuration file of librdmacm's preload library, and its environment.
 *
 * A line is "program domain type protocol"; text behind that is ignored. '#' begins a comment line.
 *
 * Locking: config_lock while reading. The result is constant.
 */
#include "preload/config.h"

#include <errno.h>
#include <limits.h>
#include <netinet/in.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/socket.h>

#include "base/compiler.h"
#include "preload/libc.h"

#define BLANKS " \t\r\n"

struct row {
	char *program;		/* NULL: each */
	int domain, type, protocol;	/* 0: each */
	struct row *next;
};

struct word {
	const char *text;
	int value;
};

const char *rcl_config_path = "/etc/rdma/rsocket/preload_config";

static pthread_mutex_t config_lock = PTHREAD_MUTEX_INITIALIZER;
static atomic_bool was_read;
static struct row *rows;
static struct rcl_settings settings;

static const struct word domains[] = {
	{ "*", 0 }, { "INET", AF_INET }, { "AF_INET", AF_INET }, { "PF_INET", AF_INET },
	{ "INET6", AF_INET6 }, { "AF_INET6", AF_INET6 }, { "PF_INET6", AF_INET6 },
	{ "IB", AF_IB }, { "AF_IB", AF_IB }, { "PF_IB", AF_IB }, { NULL, 0 },
};

static const struct word types[] = {
	{ "*", 0 }, { "STREAM", SOCK_STREAM }, { "SOCK_STREAM", SOCK_STREAM },
	{ "DGRAM", SOCK_DGRAM }, { "SOCK_DGRAM", SOCK_DGRAM }, { NULL, 0 },
};

static const struct word protocols[] = {
	{ "*", 0 }, { "TCP", IPPROTO_TCP }, { "IPPROTO_TCP", IPPROTO_TCP },
	{ "UDP", IPPROTO_UDP }, { "IPPROTO_UDP", IPPROTO_UDP }, { NULL, 0 },
};

/* Words of a column; NULL for the program, which is any text. */
static const struct {
	const char *name, *values;
	const struct word *words;
} columns[] = {
	{ "program", "", NULL },
	{ "domain", "*, INET, INET6 or IB", domains },
	{ "type", "*, STREAM or DGRAM", types },
	{ "protocol", "*, TCP or UDP", protocols },
};

static void complain(unsigned int line, const char *column, const char *text, const char *values)
{
	fprintf(stderr, "librspreload: %s:%u: line ignored: ", rcl_config_path, line);
	if (text)
		fprintf(stderr, "%s '%.40s' is not %s\n", column, text, values);
	else
		fprintf(stderr, "no %s; a line is 'program domain type protocol'\n", column);
}

static const struct word *find_word(const struct word *words, const char *text)
{
	for (; words->text; words++) {
		if (!strcasecmp(words->text, text))
			return words;
	}
	return NULL;
}

/* Returns false if the line is invalid. The caller frees @row->program in any case. */
static bool parse_line(char *line, unsigned int number, struct row *row)
{
	int *values[] = { NULL, &row->domain, &row->type, &row->protocol };
	const struct word *word;
	char *text, *rest = NULL;
	size_t i;

	for (i = 0; i < ARRAY_SIZE(columns); i++) {
		text = strtok_r(i ? NULL : line, BLANKS, &rest);
		if (!text || *text == '#') {
			complain(number, columns[i].name, NULL, NULL);
			return false;
		}
		if (!i) {
			row->program = strcmp(text, "*") ? strdup(text) : NULL;
			if (!row->program && strcmp(text, "*"))
				return false;
			continue;
		}
		word = find_word(columns[i].words, text);
		if (!word) {
			complain(number, columns[i].name, text, columns[i].values);
			return false;
		}
		*values[i] = word->value;
	}
	return true;
}

static void add_line(char *line, size_t length, unsigned int number, struct row ***tail)
{
	struct row *row;

	if (strlen(line) != length) {
		fprintf(stderr, "librspreload: %s:%u: line ignored: a byte is 0\n",
			rcl_config_path, number);
		return;
	}
	line += strspn(line, BLANKS);
	if (!*line || *line == '#')
		return;
	row = calloc(1, sizeof(*row));
	if (row && parse_line(line, number, row)) {
		**tail = row;
		*tail = &row->next;
		return;
	}
	if (row)
		free(row->program);
	free(row);
}

static void read_file(void)
{
	struct row **tail = &rows;
	unsigned int number = 0;
	char *line = NULL;
	size_t size = 0;
	ssize_t length;
	FILE *file;

	file = fopen(rcl_config_path, "re");
	if (!file) {
		if (errno != ENOENT)
			fprintf(stderr, "librspreload: %s: %s; it is ignored\n", rcl_config_path,
				strerror(errno));
		return;
	}
	while ((length = getline(&line, &size, file)) >= 0)
		add_line(line, length, ++number, &tail);
	free(line);
	fclose(file);
}

static int number_of(const char *name)
{
	const char *text = getenv(name);
	char *end;
	long value;

	if (!text || !*text)
		return 0;
	errno = 0;
	value = strtol(text, &end, 10);
	if (*end || errno || value < 0 || value > INT_MAX) {
		fprintf(stderr, "librspreload: %s=%.40s is no number; it is ignored\n", name, text);
		return 0;
	}
	return value;
}

static void read_all(void)
{
	if (atomic_load_explicit(&was_read, memory_order_acquire))
		return;
	pthread_mutex_lock(&config_lock);
	if (!atomic_load(&was_read)) {
		settings.sq_size = number_of("RS_SQ_SIZE");
		settings.rq_size = number_of("RS_RQ_SIZE");
		settings.inline_size = number_of("RS_INLINE");
		settings.fork_safe = number_of("RDMAV_FORK_SAFE");
		read_file();
		atomic_store_explicit(&was_read, true, memory_order_release);
	}
	pthread_mutex_unlock(&config_lock);
}

const struct rcl_settings *rcl_config_settings(void)
{
	read_all();
	return &settings;
}

static bool fits_program(const char *program)
{
	return !program || !strncasecmp(program, program_invocation_short_name, strlen(program));
}

bool rcl_config_wants(int domain, int type, int protocol)
{
	struct row *row;

	read_all();
	if (!protocol)
		protocol = type == SOCK_STREAM ? IPPROTO_TCP : IPPROTO_UDP;
	for (row = rows; row; row = row->next) {
		if (fits_program(row->program) && (!row->domain || row->domain == domain) &&
		    (!row->type || row->type == type) &&
		    (!row->protocol || row->protocol == protocol))
			return true;
	}
	return !rows;
}

void rcl_config_reset(void)
{
	struct row *row;

	while ((row = rows)) {
		rows = row->next;
		free(row->program);
		free(row);
	}
	settings = (struct rcl_settings){ 0 };
	atomic_store(&was_read, false);
}
