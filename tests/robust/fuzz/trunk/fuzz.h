/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* The parts of the fuzzer of the trunk protocol. */
#ifndef FUZZ_TRUNK_H
#define FUZZ_TRUNK_H

#include "kernel.h"

/* The input, which is read byte by byte; after its end it has zeros. */
struct input {
	const u8 *at;
	size_t left;
};

u8 in_u8(struct input *in);

/* Ends the program with an error unless @condition is true. */
#define MUST(condition) must(condition, #condition, __FILE__, __LINE__)
void must(bool condition, const char *text, const char *file, int line);

/* Two ends of a link that is replaced now and then. */
void fuzz_pair(struct input *in);

/* An end of a link whose peer lies. */
void fuzz_liar(struct input *in);

#endif /* FUZZ_TRUNK_H */
