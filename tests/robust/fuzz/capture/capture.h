/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* What the files of the fuzzer of captures share. */
#ifndef FUZZ_CAPTURE_H
#define FUZZ_CAPTURE_H

#include "capture/format/entry.h"

/* No input has more messages that are checked; the others are read only. */
enum { READ_MAX = 16 };

/*
 * struct reading - what one reading of a file gave
 * @ret: of capture_read_total()
 * @why: its message; full of '?' before the call
 * @count: messages, also beyond READ_MAX
 */
struct reading {
	int ret;
	char why[192];
	struct capture_total total;
	unsigned int count;
	struct capture_seen seen[READ_MAX];
};

/* Ends the program with a message that the suite knows, unless the condition is true. */
void must(bool condition, const char *text, const char *file, int line);
#define MUST(condition) must(condition, #condition, __FILE__, __LINE__)

/* read_file() - read a capture in memory, and check what every reading has to keep to */
void read_file(struct reading *to, const uint8_t *bytes, size_t len);

/* same_entry() - whether two messages are equal but for the index of their port */
bool same_entry(const struct record_entry *one, const struct record_entry *two);

/* check_entry() - numbers are in the ranges of their fields, and texts end */
void check_entry(const struct record_entry *entry);

/* check_private_data() - private data are removed, and nothing else */
void check_private_data(const struct record_entry *entry);

/* check_written() - messages that are written and read again are the same */
void check_written(const struct reading *reading);

/* check_decoded() - messages are printed as text, as JSON, and in conversations */
void check_decoded(const struct reading *reading);

#endif /* FUZZ_CAPTURE_H */
