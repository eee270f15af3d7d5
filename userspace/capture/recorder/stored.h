/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* Messages in memory, without the unused part of a struct record_entry. */
#ifndef CAPTURE_RECORDER_STORED_H
#define CAPTURE_RECORDER_STORED_H

#include "capture/format/entry.h"

/*
 * stored_new() - store a message
 * @entry: its len and n_ties are within their arrays
 *
 * Return: for free(); NULL: there is no memory. Members before its bytes can be used directly.
 */
struct record_entry *stored_new(const struct record_entry *entry);

/* stored_get() - a stored message as it was; bytes beyond its length are zero */
void stored_get(const struct record_entry *stored, struct record_entry *entry);

#endif /* CAPTURE_RECORDER_STORED_H */
