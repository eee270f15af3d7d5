/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* Messages that wait, or that were kept: of each only what it uses of the longest one. */
#ifndef CAPTURE_RECORDER_STORED_H
#define CAPTURE_RECORDER_STORED_H

#include "capture/format/entry.h"

/*
 * stored_new() - store a message
 * @entry: its len and n_ties are within their arrays
 *
 * Return: for free(); NULL: there is no memory. What precedes its bytes may be used as it is.
 */
struct record_entry *stored_new(const struct record_entry *entry);

/* stored_get() - a stored message as it was; bytes beyond its length are zero */
void stored_get(const struct record_entry *stored, struct record_entry *entry);

#endif /* CAPTURE_RECORDER_STORED_H */
