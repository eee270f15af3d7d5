/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* The comment of a packet that ties it to an id: id=1/7 program=rping pid=12 operation=connect. */
#ifndef CAPTURE_FORMAT_COMMENT_H
#define CAPTURE_FORMAT_COMMENT_H

#include "capture/format/entry.h"

/* Length of a comment that is written, with its end: each character of a text may need four. */
#define COMMENT_LEN (512 + RECORD_TIES * 140)

/*
 * Writes the members of an entry that the headers of the packet do not have, as words KEY=VALUE: at
 * most COMMENT_LEN bytes. A value with other characters than letters, digits and .-+ is quoted,
 * with \xNN for quotes, backslashes and all but printable ASCII. Returns the length of the text; 0:
 * none of these members is set.
 */
size_t comment_write(const struct record_entry *entry, char *text);

/*
 * Parses a comment of comment_write(); @text may be any bytes. Returns false for another comment,
 * of a person or another program; sets @entry only on success.
 */
bool comment_read(const char *text, size_t len, struct record_entry *entry);

#endif /* CAPTURE_FORMAT_COMMENT_H */
