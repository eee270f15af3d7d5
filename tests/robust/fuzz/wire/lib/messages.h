/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* The messages that were sent last, and a corpus of those that had a new kind of answer. */
#ifndef WIRE_MESSAGES_H
#define WIRE_MESSAGES_H

#include "cm_mad.h"
#include "rca_test.h"

#define KNOBS "/sys/kernel/debug/rca_hca/"
#define BATCH 256	/* most of a write to the file "inject" */
#define CORPUS 256

/* A message, as the file "inject" takes it. */
struct record {
	uint16_t slid;
	uint16_t dlid;
	uint8_t mad[MAD_BYTES];
} __attribute__((packed));

/* The messages of the last two batches, and the corpus that grows from them. */
struct messages {
	struct record batches[2][BATCH];
	uint8_t corpus[CORPUS][MAD_BYTES];
	bool foreign[CORPUS];	/* recorded on another fabric */
	unsigned int known;	/* messages in the corpus */
	unsigned int kinds;	/* kinds of answers so far */
};

/* Keep the messages that were the first with some answer. Print all answers if @print. */
void messages_answered(struct messages *messages, bool print);

/*
 * The corpus from the file FUZZ_CORPUS, and to the file FUZZ_NEW. A line is a message in hex; one
 * of a capture has the word "capture" before it.
 */
void messages_read(struct messages *messages);
void messages_write(const struct messages *messages);

#endif /* WIRE_MESSAGES_H */
