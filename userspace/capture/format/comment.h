/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* The comment of a packet that ties it to an id: id=1/7 program=rping pid=12 operation=connect. */
#ifndef CAPTURE_FORMAT_COMMENT_H
#define CAPTURE_FORMAT_COMMENT_H

#include "capture/format/entry.h"

/* Length of a comment that is written, with its end: each character of a text may need four. */
#define COMMENT_LEN (512 + RECORD_TIES * 140)

/*
 * comment_write() - write the members of an entry that the headers of the packet do not have
 * @entry: the message
 * @text: COMMENT_LEN bytes; words KEY=VALUE; a value that is not of letters, digits and .-+
 *	  is quoted, with \xNN for quotes, backslashes and what is not printable ASCII
 *
 * Return: length of the text; 0: there is nothing to say
 */
size_t comment_write(const struct record_entry *entry, char *text);

/*
 * comment_read() - parse a comment of comment_write()
 * @text: any bytes
 * @len: of them
 * @entry: set on success
 *
 * Return: false if it is not such a comment, but one of a person or another program
 */
bool comment_read(const char *text, size_t len, struct record_entry *entry);

#endif /* CAPTURE_FORMAT_COMMENT_H */
