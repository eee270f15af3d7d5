// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/* A batch: its entries are the marked calls after it, each with its own result. */
#include <errno.h>
#include <string.h>

#include "image.h"

#define ROOM 8192		/* for all entries */
#define STRIDE 512		/* the default */
#define MAX_ENTRIES 8
#define NOT_TRIED 77		/* no result */

struct batch {
	struct image entry[MAX_ENTRIES];
	unsigned int entries;
	uint8_t bytes[ROOM];
	int32_t results[MAX_ENTRIES];
	struct area *at, *results_at;
};

static bool says(const struct call *call, const char *name)
{
	return value_find(call, member_find(row_get(call->row), name));
}

static enum where where_of(const struct call *call, const char *name)
{
	const struct value *value = value_find(call, member_find(row_get(call->row), name));

	return value && value->way == MEMORY ? value->other : GOOD;
}

static void collect(struct batch *batch, struct ctx *ctx, const struct call *call,
		    const struct call *end, uint32_t stride)
{
	memset(batch->bytes, 0, sizeof(batch->bytes));
	for (batch->entries = 0; call < end && call->entry; call++) {
		struct image *entry = &batch->entry[batch->entries];
		size_t at = (uint64_t)stride * batch->entries;

		if (batch->entries == MAX_ENTRIES || at > ROOM || !row_is_ioctl(row_get(call->row)))
			break;
		image_build(entry, ctx, call);
		batch->results[batch->entries++] = NOT_TRIED;
		memcpy(batch->bytes + at, entry->bytes,
		       entry->size < ROOM - at ? entry->size : ROOM - at);
	}
}

/* Whether the entries and results are mapped, complete and do not overlap. */
static bool is_plain(const struct batch *batch, const struct rdma_cm_alt_batch *cmd)
{
	if (!batch->at->whole || !batch->results_at->whole || cmd->count != batch->entries)
		return false;
	for (unsigned int i = 0; i < batch->entries; i++)
		if (batch->entry[i].size > cmd->stride ||
		    (batch->entry[i].row->cmd & 0xff) != cmd->cmd)
			return false;
	return (uint64_t)cmd->stride * cmd->count <= ROOM;
}

static void judge(struct batch *batch, struct ctx *ctx, const struct rdma_cm_alt_batch *cmd)
{
	uint8_t may[ROOM] = {};
	int32_t result;

	memcpy(batch->results, batch->results_at->bytes, sizeof(result) * batch->entries);
	for (unsigned int i = 0; i < batch->entries; i++)
		image_answer(may + i * cmd->stride, batch->entry[i].row, batch->entry[i].size,
			     batch->results[i]);
	if (memory_changed(batch->at, may) != NOTHING_CHANGED)
		complain("a batch has changed byte %ld of its entries",
			 memory_changed(batch->at, may));
	for (unsigned int i = 0; i < batch->entries; i++)
		image_judge(ctx, &batch->entry[i], batch->at->bytes + i * cmd->stride,
			    batch->entry[i].size, batch->results[i]);
}

int batch_call(struct ctx *ctx, const struct call *call, const struct call *end)
{
	struct rdma_cm_alt_batch cmd;
	static struct batch batch;
	struct image image;
	size_t len;
	int ret;

	image_build(&image, ctx, call);
	memcpy(&cmd, image.bytes, sizeof(cmd));
	if (!says(call, "stride"))
		cmd.stride = STRIDE;
	collect(&batch, ctx, call + 1, end, cmd.stride);
	if (!says(call, "cmd") && batch.entries)
		cmd.cmd = batch.entry[0].row->cmd & 0xff;
	if (!says(call, "count"))
		cmd.count = batch.entries;
	len = (uint64_t)cmd.stride * cmd.count < ROOM ? cmd.stride * cmd.count : ROOM;
	batch.at = memory_place(where_of(call, "entries_uptr"), batch.bytes, len);
	batch.results_at = memory_place(where_of(call, "results_uptr"), batch.results,
					sizeof(batch.results[0]) * batch.entries);
	cmd.entries_uptr = batch.at->user;
	cmd.results_uptr = batch.results_at->user;
	memcpy(image.bytes, &cmd, sizeof(cmd));
	image.pointers = 0;
	/* Entries that overlap or are unmapped cannot be checked one by one. */
	if (!is_plain(&batch, &cmd))
		ctx->vague = true;
	ret = image_call(ctx, call, &image);
	if (!ret && is_plain(&batch, &cmd))
		judge(&batch, ctx, &cmd);
	return ret;
}
