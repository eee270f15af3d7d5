// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * Captures as lines of text, for the scripts that play them and make them.
 *
 *	entries read FILE	prints a line for each message of a capture
 *	entries write FILE	makes a capture of such lines from its standard input
 *
 * Words of a line: number of the packet, nanoseconds since 1970, way (sent, again, received, or
 * seen between hosts), kind (cm, trunk), 1 if it has its private data, device, port, link
 * (infiniband, roce1, roce2), source and destination GID, source and destination LID, the id
 * (CONTEXT/HANDLE, 0/0: unknown), process, program, operation and event ("-": unknown; a space or
 * backslash in them is written as \ooo, in octal), the message in hex.
 */
#define _GNU_SOURCE
#include <arpa/inet.h>
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "capture/format/entry.h"
#include "capture/format/options.h"

#define WORDS 18
#define MAX_PORTS 16

static const char *const ways[] = { "sent", "again", "received", "seen" };
static const char *const kinds[] = { "cm", "trunk" };
static const char *const links[] = { "infiniband", "roce1", "roce2" };

#define INDEX_OF(names, word) index_of(names, sizeof(names) / sizeof(names[0]), word)

/* The index of a name; ends the program if there is none. */
static unsigned int index_of(const char *const *names, size_t count, const char *word)
{
	for (size_t i = 0; i < count; i++)
		if (!strcmp(names[i], word))
			return i;
	fprintf(stderr, "entries: '%s' is not '%s' nor any other word of that column\n", word,
		names[0]);
	exit(2);
}

static void print_gid(const uint8_t *gid)
{
	char text[INET6_ADDRSTRLEN];

	printf(" %s", inet_ntop(AF_INET6, gid, text, sizeof(text)));
}

/* A text as one word. */
static void print_word(const char *text)
{
	putchar(' ');
	if (!*text)
		putchar('-');
	for (; *text; text++)
		if ((unsigned char)*text > ' ' && *text != '\\')
			putchar(*text);
		else
			printf("\\%03o", (unsigned char)*text);
}

static int print_entry(const struct capture_seen *seen, void *unused)
{
	const struct record_entry *entry = &seen->entry;

	(void)unused;
	printf("%u %" PRIu64 " %s %s %d", seen->number, entry->time, ways[entry->way],
	       kinds[entry->kind], entry->private_data);
	print_word(seen->port.device);
	printf(" %" PRIu32 " %s", seen->port.port, links[entry->link]);
	print_gid(entry->sgid);
	print_gid(entry->dgid);
	printf(" %u %u %" PRIu64 "/%" PRIu32 " %" PRIu32, entry->slid, entry->dlid,
	       entry->id.context, entry->id.handle, entry->pid);
	print_word(entry->program);
	print_word(entry->operation);
	print_word(entry->event);
	putchar(' ');
	for (unsigned int i = 0; i < entry->len; i++)
		printf("%02x", entry->bytes[i]);
	putchar('\n');
	return 0;
}

/* The index of a port in the recording, a new one if it was not seen. */
static unsigned int port_of(struct record_port *ports, unsigned int *count, const char *device,
			    uint32_t number)
{
	unsigned int i;

	for (i = 0; i < *count; i++)
		if (ports[i].port == number && !strcmp(ports[i].device, device))
			return i;
	if (*count == MAX_PORTS) {
		fprintf(stderr, "entries: more than %d ports\n", MAX_PORTS);
		exit(2);
	}
	snprintf(ports[i].device, sizeof(ports[i].device), "%s", device);
	ports[i].port = number;
	return (*count)++;
}

static void take_hex(struct record_entry *entry, const char *hex)
{
	unsigned int byte;

	entry->len = 0;
	for (; entry->len < record_longest(entry->kind) && sscanf(hex, "%2x", &byte) == 1; hex += 2)
		entry->bytes[entry->len++] = byte;
}

static void take_text(char *to, size_t size, const char *word)
{
	char *end = to + size - 1;
	unsigned int byte;

	if (!strcmp(word, "-"))
		word = "";
	while (*word && to < end) {
		if (sscanf(word, "\\%3o", &byte) == 1 && strlen(word) >= 4) {
			*to++ = (char)byte;
			word += 4;
		} else {
			*to++ = *word++;
		}
	}
	*to = 0;
}

/* The words of a line as an entry; ends the program if they are none. */
static void take_words(struct record_entry *entry, char **word)
{
	*entry = (struct record_entry) {
		.time = strtoull(word[1], NULL, 10), .way = INDEX_OF(ways, word[2]),
		.kind = INDEX_OF(kinds, word[3]), .private_data = atoi(word[4]),
		.link = INDEX_OF(links, word[7]), .grh = true,
		.slid = atoi(word[10]), .dlid = atoi(word[11]), .hop_limit = 64, .pkey = 0xffff,
		.sqpn = 1, .dqpn = 1, .qkey = 0x80010000,
		.pid = strtoul(word[13], NULL, 10),
	};
	if (inet_pton(AF_INET6, word[8], entry->sgid) != 1 ||
	    inet_pton(AF_INET6, word[9], entry->dgid) != 1) {
		fprintf(stderr, "entries: packet %s: '%s' or '%s' is no GID\n", word[0], word[8],
			word[9]);
		exit(2);
	}
	if (!options_id(word[12], &entry->id) && strcmp(word[12], "0/0")) {
		fprintf(stderr, "entries: packet %s: '%s' is no CONTEXT/HANDLE\n", word[0],
			word[12]);
		exit(2);
	}
	take_text(entry->program, sizeof(entry->program), word[14]);
	take_text(entry->operation, sizeof(entry->operation), word[15]);
	take_text(entry->event, sizeof(entry->event), word[16]);
	take_hex(entry, word[17]);
}

static int write_lines(struct capture_writer *to)
{
	struct record_port ports[MAX_PORTS] = {};
	struct record_entry entry;
	unsigned int count = 0;
	static const char spaces[] = "\n ";
	char line[4096];
	int ret = 0;

	while (!ret && fgets(line, sizeof(line), stdin)) {
		char *word[WORDS], *at = NULL;
		int words = 0;

		for (char *next = strtok_r(line, spaces, &at); next && words < WORDS;
		     next = strtok_r(NULL, spaces, &at))
			word[words++] = next;
		if (words != WORDS) {
			fprintf(stderr, "entries: a line of %d words, %d are needed\n", words,
				WORDS);
			exit(2);
		}
		take_words(&entry, word);
		entry.port = port_of(ports, &count, word[5], strtoul(word[6], NULL, 10));
		ret = capture_write(to, ports, count, &entry);
	}
	if (ret)
		capture_close(to, ports, count);
	return ret ?: capture_close(to, ports, count);
}

static int write_file(FILE *file, const char *name)
{
	struct capture_writer *to;
	char why[256] = "";
	int ret;

	to = capture_create(file, why, sizeof(why));
	if (!to) {
		fprintf(stderr, "entries: %s: %s\n", name, why);
		return 1;
	}
	ret = write_lines(to);
	if (ret)
		fprintf(stderr, "entries: %s: cannot write it: %s\n", name, strerror(-ret));
	return !!ret;
}

int main(int argc, char **argv)
{
	bool reads = argc == 3 && !strcmp(argv[1], "read");
	char why[256] = "";
	FILE *file;
	int ret;

	if (argc != 3 || (!reads && strcmp(argv[1], "write"))) {
		fprintf(stderr, "usage: entries read|write FILE\n");
		return 2;
	}
	file = fopen(argv[2], reads ? "re" : "we");
	if (!file) {
		fprintf(stderr, "entries: %s: %m\n", argv[2]);
		return 1;
	}
	if (reads) {
		ret = capture_read(file, print_entry, NULL, why, sizeof(why)) != 0;
		if (ret)
			fprintf(stderr, "entries: %s: %s\n", argv[2], why);
	} else {
		ret = write_file(file, argv[2]);
	}
	return fclose(file) ? 1 : ret;
}
