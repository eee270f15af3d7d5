/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* The input of a fuzzer over the library, read byte by byte; after its end there are zeros. */
#ifndef FUZZ_INPUT_H
#define FUZZ_INPUT_H

#include <stddef.h>
#include <stdint.h>
#include <string.h>

/**
 * struct input - what is left of an input
 * @at: its next byte
 * @left: the number of its bytes
 */
struct input {
	const uint8_t *at;
	size_t left;
};

/** input - the input that is executed */
extern struct input input;

/** in_bytes - the next bytes */
static inline void in_bytes(void *out, size_t len)
{
	size_t n = len < input.left ? len : input.left;

	memset(out, 0, len);
	if (n)
		memcpy(out, input.at, n);
	input.at += n;
	input.left -= n;
}

/** in_u8 - the next byte */
static inline uint8_t in_u8(void)
{
	uint8_t byte;

	in_bytes(&byte, sizeof(byte));
	return byte;
}

#endif /* FUZZ_INPUT_H */
