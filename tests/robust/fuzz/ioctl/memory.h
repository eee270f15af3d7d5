/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* The memory and the addresses of calls, for the fuzzers of ioctls and of rdma_ucm's commands. */
#ifndef MEMORY_H
#define MEMORY_H

#include <rdma/rdma_cm_alt.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

#define POISON 0xa5

typedef struct rdma_cm_alt_sockaddr addr_t;

/* Where the memory of a call is. */
enum where {
	GOOD,		/* inside a mapping */
	EDGE,		/* it ends at an unmapped page */
	SHORT,		/* its last byte is unmapped */
	HALF,		/* its second half is unmapped */
	ODD,		/* unaligned */
	ACROSS,		/* on two pages */
	FIXED,		/* read-only */
	NOWHERE,	/* unmapped */
	NIL, KERNEL, WRAP, GAP,
	WHERES,
};

extern const char * const where_names[WHERES];

/* addresses.c: the addresses of programs */
#define PORT_OF_LISTENER 4
extern const unsigned int address_count, port_count;
const char *address_name(unsigned int number);
int address_find(const char *name);
addr_t address_make(unsigned int number, unsigned int port, uint16_t listener);

/* memory.c: the memory of calls, of each thread its own */
#define AREAS 12

/* Memory that a call gets a pointer to. */
struct area {
	uint64_t user;		/* the pointer; may be invalid */
	uint8_t *bytes;		/* the same memory for the fuzzer; NULL: there is none */
	size_t len;		/* the part that is mapped */
	bool whole;		/* all of it is mapped and writable */
};

void memory_init(void);
/* Before each call. */
void memory_begin(void);
struct area *memory_place(enum where where, const void *data, size_t len);
#define NOTHING_CHANGED INT64_MAX

long memory_changed(const struct area *area, const uint8_t *may);
/* Index of the first byte that was not written; -1: all were. */
long poison_left(const uint8_t *bytes, size_t len);

#endif /* MEMORY_H */
