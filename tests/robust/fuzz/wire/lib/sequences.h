/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* Captures as sequences of messages, and sequences that are made of them. */
#ifndef WIRE_SEQUENCES_H
#define WIRE_SEQUENCES_H

#include "cm_mad.h"
#include "rca_test.h"

#define STEPS 64	/* most messages of a sequence */
#define SEQUENCES 64	/* most captures */

/* A message of a sequence. */
struct step {
	bool of_peer;		/* the peer sends it; otherwise it is one of our stack's */
	uint8_t part;		/* 0 or 1: of which of the two captures */
	uint8_t mad[MAD_BYTES];
};

/**
 * struct sequence - messages in their order
 * @name: of the captures
 * @count: number of messages
 * @steps: the messages
 */
struct sequence {
	char name[80];
	unsigned int count;
	struct step steps[STEPS];
};

/* Captures in the order in which they were read. */
struct sequences {
	unsigned int count;
	struct sequence all[SEQUENCES];
};

/*
 * The captures of the file that the environment names in FUZZ_SEQUENCES. A line is the name of a
 * capture, "peer" or "own", and a message in hex. A bad line fails the test.
 */
void sequences_read(struct sequences *sequences);

/* The capture of this name; without one the test fails. */
const struct sequence *sequences_find(const struct sequences *sequences, const char *name);

/*
 * Make a sequence of one capture, or of two whose messages come by turns, and change its order:
 * messages move, come twice or are left out. The state of the random numbers decides.
 */
void sequence_make(struct sequence *made, const struct sequences *sequences, uint64_t *state);

/*
 * Write a sequence as one line: "server: REQ, (REP), RTU". Messages of our stack are in brackets,
 * those of the second capture have a stroke behind them.
 */
void sequence_text(const struct sequence *sequence, char *text, size_t size);

#endif /* WIRE_SEQUENCES_H */
