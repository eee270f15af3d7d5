/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* Explanation of a conversation, in sentences that refer to packets. */
#ifndef CAPTURE_DECODE_CAUSE_H
#define CAPTURE_DECODE_CAUSE_H

#include "capture/decode/conversation.h"

/*
 * Writes the title, without a newline: "192.0.2.1 to 192.0.2.2, TCP port 7471, id 7 of rping (12)".
 */
void cause_title(FILE *to, const struct conversation *conversation);

/*
 * Explains a conversation, one sentence per line after @indent. Returns whether something went
 * wrong: a message was lost, refused, late or not answered.
 */
bool cause_text(FILE *to, const struct conversation *conversation, const char *indent);

#endif /* CAPTURE_DECODE_CAUSE_H */
