/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* Names of peers and of reasons. */
#ifndef CAPTURE_DECODE_NAMES_H
#define CAPTURE_DECODE_NAMES_H

#include "capture/format/entry.h"

/*
 * name_peer() - the end of a conversation that sent a message, or received it
 * @text: at least 64 bytes; an IP address, a GID or "LID 7"
 */
void name_peer(const struct record_entry *entry, bool sender, char *text, size_t len);

/* name_reason() - the reason of a REJ as the standard names it: "stale connection" */
const char *name_reason(unsigned int reason);

/* name_sidr_status() - the status of a SIDR_REP, likewise */
const char *name_sidr_status(unsigned int status);

/* name_about() - the message that an MRA or REJ is about: "REQ" */
const char *name_about(const struct record_entry *entry);

#endif /* CAPTURE_DECODE_NAMES_H */
