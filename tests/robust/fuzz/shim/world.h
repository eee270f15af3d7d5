/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * The fuzzer's program over the library: a few channels, ids and events, which an input
 * uses and a kernel that lies tells of. An input is read byte by byte; at its end it is zeros.
 */
#ifndef FUZZ_WORLD_H
#define FUZZ_WORLD_H

#include <stddef.h>
#include <stdint.h>
#include <rdma/rdma_cma.h>

#define CHANNELS 3
#define IDS 8
#define HELD 8
#define HANDLES 256

/**
 * struct world - what the program has
 * @in: what is left of the input
 * @left: its bytes
 * @channel: channels, or NULL
 * @id: ids, or NULL
 * @held: events that are not acknowledged, or NULL
 * @handle: of ids that the library was told of, to find those that got lost
 * @handles: how many
 */
struct world {
	const uint8_t *in;
	size_t left;
	struct rdma_event_channel *channel[CHANNELS];
	struct rdma_cm_id *id[IDS];
	struct rdma_cm_event *held[HELD];
	uint32_t handle[HANDLES];
	unsigned int handles;
};

extern struct world world;

/** in_bytes - the next bytes of the input */
void in_bytes(void *out, size_t len);

/** in_u8 - the next byte */
uint8_t in_u8(void);

/** in_below - a number from 0 to @end - 1 */
unsigned int in_below(unsigned int end);

/** in_u32 - a number: small, at an edge of its type, or any */
uint32_t in_u32(void);

/** in_errno - an errno that calls look at, or any */
int in_errno(void);

/** pick_id - an id of the program, or NULL */
struct rdma_cm_id *pick_id(void);

/** pick_channel - a channel of the program, the own one of an id, or NULL */
struct rdma_event_channel *pick_channel(void);

/** keep_id - an id is the program's from now on */
void keep_id(struct rdma_cm_id *id);

/** note_handle - the library may have made an id with this handle */
void note_handle(uint32_t handle);

/** kernel_begin - a fresh kernel, with ours in front of it */
void kernel_begin(void);

/** kernel_behave - it fails and lies no more */
void kernel_behave(void);

/** kernel_end - it goes; says what is left that must not be */
const char *kernel_end(void);

typedef void (*operation)(void);

/** kernel_operations - what the kernel does by itself, or with the next call */
extern const operation kernel_operations[];
extern const unsigned int kernel_operations_count;

/** program_operations - what the program does */
extern const operation program_operations[];
extern const unsigned int program_operations_count;

/** program_end - everything is acknowledged, destroyed and closed */
void program_end(void);

#endif /* FUZZ_WORLD_H */
