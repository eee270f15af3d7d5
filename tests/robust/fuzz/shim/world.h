/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* The program of the fuzzer: a few channels, ids and events, on which an input operates. */
#ifndef FUZZ_WORLD_H
#define FUZZ_WORLD_H

#include <stddef.h>
#include <stdint.h>
#include <rdma/rdma_cma.h>

#include "input.h"

#define CHANNELS 3
#define IDS 8
#define HELD 8
#define HANDLES 256

/* The state of the program. */
struct world {
	struct rdma_event_channel *channel[CHANNELS];
	struct rdma_cm_id *id[IDS];
	struct rdma_cm_event *held[HELD];	/* events that are not acknowledged */
	uint32_t handle[HANDLES];	/* of ids that the library may have created */
	unsigned int handles;
};

extern struct world world;

/* A number from 0 to @end - 1. */
unsigned int in_below(unsigned int end);

/* A number: small, at an edge of its type, or any. */
uint32_t in_u32(void);

/* An errno that the library distinguishes, or any. */
int in_errno(void);

/* An id of the program, or NULL. */
struct rdma_cm_id *pick_id(void);

/* A channel of the program, that of a synchronous id, or NULL. */
struct rdma_event_channel *pick_channel(void);

/* Adds an id to those of the program. */
void keep_id(struct rdma_cm_id *id);

/* The library may have created an id with this handle. */
void note_handle(uint32_t handle);

/* Installs a new fake kernel whose answers can be falsified. */
void kernel_begin(void);

/* From now on calls succeed and answers are valid. */
void kernel_behave(void);

/* Removes the kernel. Returns a description of what is left, or NULL. */
const char *kernel_end(void);

typedef void (*operation)(void);

/* Operations of the kernel. */
extern const operation kernel_operations[];
extern const unsigned int kernel_operations_count;

/* Operations of the program. */
extern const operation program_operations[];
extern const unsigned int program_operations_count;

/* Acknowledges, destroys and closes everything. */
void program_end(void);

#endif /* FUZZ_WORLD_H */
