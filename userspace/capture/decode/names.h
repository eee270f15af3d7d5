/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* Names of peers and of reasons. */
#ifndef CAPTURE_DECODE_NAMES_H
#define CAPTURE_DECODE_NAMES_H

#include "capture/format/entry.h"

/*
 * The end of a conversation that sent a message, or received it: an IP address, a GID or "LID 7".
 * @text: at least 64 bytes.
 */
void name_peer(const struct record_entry *entry, bool sender, char *text, size_t len);

/* The reason of a REJ as the standard names it: "stale connection". */
const char *name_reason(unsigned int reason);

/* The status of a SIDR_REP, likewise. */
const char *name_sidr_status(unsigned int status);

/* The message that an MRA or REJ is about: "REQ". */
const char *name_about(const struct record_entry *entry);

#endif /* CAPTURE_DECODE_NAMES_H */
