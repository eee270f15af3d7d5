// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * A libFuzzer program for the decoding of the library. An input is a list of operations of the
 * program and of the kernel. Sanitizers must find nothing, and no object may be left.
 */
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "id/cmid.h"
#include "base/compiler.h"
#include "world.h"

/* Operations of one input: the fake kernel has handles for no more. */
#define STEPS 48

struct world world;
struct input input;

unsigned int in_below(unsigned int end)
{
	return in_u8() % end;
}

uint32_t in_u32(void)
{
	static const uint32_t edges[] = {
		UINT32_MAX, INT_MAX, (uint32_t)INT_MIN, UINT16_MAX, UINT16_MAX + 1, 4096, 1024, 64,
	};
	uint32_t number;
	uint8_t byte = in_u8();

	if (byte < 200)
		return byte;
	if (byte < 248)
		return edges[byte % ARRAY_SIZE(edges)];
	in_bytes(&number, sizeof(number));
	return number;
}

int in_errno(void)
{
	static const int common[] = {
		ENOENT, EINVAL, ENOMEM, EBADF, ENOTTY, EAGAIN, EINTR, ECONNABORTED, EMFILE, ENXIO,
	};
	uint8_t byte = in_u8();

	return byte < 128 ? common[byte % ARRAY_SIZE(common)] : byte;
}

struct rdma_cm_id *pick_id(void)
{
	return world.id[in_below(IDS)];
}

struct rdma_event_channel *pick_channel(void)
{
	unsigned int n = in_below(CHANNELS + IDS);
	struct rdma_cm_id *id;

	if (n < CHANNELS)
		return world.channel[n];
	id = world.id[n - CHANNELS];
	/* The channel of a synchronous id exists as long as the id. */
	return id && rcl_id_of(id)->sync ? id->channel : NULL;
}

void keep_id(struct rdma_cm_id *id)
{
	unsigned int i;

	for (i = 0; i < IDS && world.id[i]; i++)
		;
	if (i < IDS) {
		world.id[i] = id;
		return;
	}
	rdma_destroy_qp(id);
	rdma_destroy_id(id);
}

void note_handle(uint32_t handle)
{
	if (world.handles < HANDLES)
		world.handle[world.handles++] = handle;
}

static void step(void)
{
	uint8_t byte = in_u8();

	if (byte & 1)
		kernel_operations[byte / 2 % kernel_operations_count]();
	else
		program_operations[byte / 2 % program_operations_count]();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	const char *left;
	int i;

	memset(&world, 0, sizeof(world));
	input.at = data;
	input.left = size;
	kernel_begin();
	for (i = 0; i < STEPS && input.left; i++)
		step();
	kernel_behave();
	program_end();
	left = kernel_end();
	if (left) {
		fprintf(stderr, "left behind: %s\n", left);
		abort();
	}
	return 0;
}
