/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* Messages in memory, without the unused part of a struct record_entry. */
#ifndef CAPTURE_RECORDER_STORED_H
#define CAPTURE_RECORDER_STORED_H

#include "capture/format/entry.h"

/*
 * Stores a message, whose len and n_ties are within their arrays. Returns NULL without memory;
 * otherwise members before its bytes can be used directly, and free() frees it.
 */
struct record_entry *stored_new(const struct record_entry *entry);

/* A stored message as it was; bytes beyond its length are zero. */
void stored_get(const struct record_entry *stored, struct record_entry *entry);

#endif /* CAPTURE_RECORDER_STORED_H */
