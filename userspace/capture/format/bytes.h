/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* Numbers in unaligned bytes of packets and files. */
#ifndef CAPTURE_FORMAT_BYTES_H
#define CAPTURE_FORMAT_BYTES_H

#include <endian.h>
#include <stdint.h>
#include <string.h>

/* get_NAME(): reads a number of the byte order in the name; put_NAME(): writes one. */
#define BYTES_OF(bits, order)								\
static inline uint##bits##_t get_##order##bits(const void *from)			\
{											\
	uint##bits##_t value;								\
											\
	memcpy(&value, from, sizeof(value));						\
	return order##bits##toh(value);							\
}											\
											\
static inline void put_##order##bits(void *to, uint##bits##_t number)			\
{											\
	uint##bits##_t value = hto##order##bits(number);				\
											\
	memcpy(to, &value, sizeof(value));						\
}

BYTES_OF(16, be)
BYTES_OF(32, be)
BYTES_OF(64, be)
BYTES_OF(16, le)
BYTES_OF(32, le)
BYTES_OF(64, le)

#undef BYTES_OF

/* The 24 bits of QP numbers and packet sequence numbers. */
static inline uint32_t get_be24(const uint8_t *from)
{
	return (uint32_t)from[0] << 16 | get_be16(from + 1);
}

static inline void put_be24(uint8_t *to, uint32_t number)
{
	to[0] = number >> 16;
	put_be16(to + 1, number);
}

#endif /* CAPTURE_FORMAT_BYTES_H */
