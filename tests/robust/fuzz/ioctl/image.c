// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * The struct of a call: built from the program, checked after the call. The errno must be
 * documented in the header, and exactly the answer may have been written.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <string.h>

#include "image.h"

static uint32_t fresh = 0x1000;

const struct value *value_find(const struct call *call, unsigned int member)
{
	for (unsigned int i = 0; i < call->values; i++)
		if (call->value[i].member == member)
			return &call->value[i];
	return NULL;
}

static uint64_t the_last(uint32_t count, uint64_t back, const void *first, size_t step)
{
	uint32_t handle;

	if (!count)
		return -1;
	memcpy(&handle, (const uint8_t *)first + (count - 1 - back % count) * step, sizeof(handle));
	return handle;
}

/* The number of a value. */
static uint64_t number_of(struct ctx *ctx, const struct value *value)
{
	if (value->other)
		ctx = &ctxs[ctx == ctxs];
	switch (value->way) {
	case FRESH:
		fresh = (fresh + 1) & 0xffffff;
		return fresh;
	case THE_ID:
		return the_last(ctx->ids, value->number, ctx->id, sizeof(ctx->id[0]));
	case THE_MEMBER:
		return the_last(ctx->members, value->number, ctx->member, sizeof(ctx->member[0]));
	case THE_QUEUE:
		return the_last(ctx->queues, value->number, ctx->queue, sizeof(ctx->queue[0]));
	default:
		return value->number;
	}
}

/* The content of the memory at a pointer. */
static void fill_value(uint8_t *data, const struct value *value, size_t len)
{
	struct rdma_cm_alt_port_default port = { .ibdev_index = value->number & 3, .port_num = 1,
						 .gid_type = 1 + (value->number >> 2 & 1) };
	uint8_t paths[3 * sizeof(known_paths[0])];

	memset(data, 0, len);
	switch (value->fill) {
	case NUMBER:
		memcpy(data, &value->number, len < 8 ? len : 8);
		break;
	case PATHS:
		memcpy(paths, known_paths, sizeof(known_paths));
		memcpy(paths + sizeof(known_paths), known_paths, sizeof(known_paths[0]));
		/* The value may change one byte. */
		paths[(value->number >> 8) % sizeof(paths)] ^= value->number;
		memcpy(data, paths, len < sizeof(paths) ? len : sizeof(paths));
		break;
	case DEFAULTS:
		for (size_t at = 0; at + sizeof(port) <= len; at += sizeof(port))
			memcpy(data + at, &port, sizeof(port));
		if (len)
			data[(value->number >> 16) % len] ^= value->number >> 8;
		break;
	default:
		for (size_t i = 0; i < len; i++)
			data[i] = value->number ? value->number + i : 0;
	}
}

static uint64_t place_memory(struct image *image, unsigned int member, const struct value *value)
{
	bool out = image->row->members[member].kind == K_OUT_POINTER;
	size_t len = value->len > 8192 ? 8192 : value->len;
	uint8_t data[8192];
	struct area *area;

	if (!out)
		fill_value(data, value, len);
	area = memory_place(value->other, out ? NULL : data, len);
	if (image->pointers < COUNT(image->pointer)) {
		image->member[image->pointers] = member;
		image->pointer[image->pointers++] = area;
	}
	return area->user;
}

static void put_number(struct image *image, const struct member *member, uint64_t value)
{
	memcpy(image->bytes + member->offset, &value, member->size < 8 ? member->size : 8);
}

/* The value of a member that the program does not name. */
static uint64_t by_default(const struct image *image, const struct call *call,
			   const struct member *member)
{
	const struct value *pointer;

	switch (member->kind) {
	case K_SIZE:
		return image->row->size;
	case K_QUEUE:
		return -1;
	case K_LEN:
		pointer = value_find(call, member->pointer);
		return pointer ? pointer->len : 0;
	default:
		return 0;
	}
}

static void put_member(struct image *image, struct ctx *ctx, const struct call *call,
		       unsigned int number)
{
	const struct member *member = &image->row->members[number];
	const struct value *value = value_find(call, number);
	addr_t addr;

	if (member->kind == K_OUT) {
		memset(image->bytes + member->offset, POISON, member->size);
	} else if (!value) {
		put_number(image, member, by_default(image, call, member));
	} else if (value->way == ADDRESS) {
		addr = address_make(value->number, value->other, known_listener);
		memcpy(image->bytes + member->offset, &addr,
		       member->size < sizeof(addr) ? member->size : sizeof(addr));
	} else if (value->way == MEMORY) {
		put_number(image, member, place_memory(image, number, value));
	} else {
		put_number(image, member, number_of(ctx, value));
	}
}

void image_build(struct image *image, struct ctx *ctx, const struct call *call)
{
	uint32_t size;

	image->row = row_get(call->row);
	image->pointers = 0;
	memset(image->bytes, 0, sizeof(image->bytes));
	for (unsigned int i = 0; i < image->row->count; i++)
		put_member(image, ctx, call, i);
	memcpy(&size, image->bytes, sizeof(size));
	image->size = size < 8 ? 8 : size > BIGGEST ? BIGGEST : size;
}

/* @may: the bytes of a struct that the answer may change. */
void image_answer(uint8_t *may, const struct row *row, size_t size, int ret)
{
	memset(may, 0, size);
	for (unsigned int i = 0; i < row->count; i++) {
		const struct member *member = &row->members[i];
		bool answer = member->kind == K_OUT;

		/* These two have answers although the call failed. */
		if (ret && row->cmd != RDMA_CM_ALT_SET_QUEUE && row->cmd != RDMA_CM_ALT_BATCH)
			continue;
		if (row->cmd == RDMA_CM_ALT_GET_OPTION && member->kind == K_LEN)
			answer = true;
		if (!answer || member->offset >= size)
			continue;
		memset(may + member->offset, 1,
		       member->size < size - member->offset ? member->size : size - member->offset);
	}
}

static void check_answer(const struct row *row, const uint8_t *bytes, size_t size, int ret)
{
	for (unsigned int i = 0; !ret && i < row->count; i++) {
		const struct member *member = &row->members[i];

		if (member->kind == K_OUT && (size_t)member->offset + member->size <= size &&
		    poison_left(bytes + member->offset, member->size) >= 0)
			complain("%s: byte %ld of %s was not written", row->name,
				 poison_left(bytes + member->offset, member->size), member->name);
	}
}

/* How many bytes the call may have written at a pointer. */
static size_t written(const struct image *image, const uint8_t *bytes, const struct area *area,
		      unsigned int member, int ret)
{
	struct rdma_cm_alt_option option;

	if (image->row->members[member].kind == K_OUT_POINTER)
		return ret && area->whole && image->row->cmd != RDMA_CM_ALT_BATCH &&
		       ret != -EFAULT ? 0 : area->len;
	if (image->row->cmd != RDMA_CM_ALT_GET_OPTION)
		return 0;
	if (ret)
		return area->whole ? 0 : area->len;
	memcpy(&option, bytes, sizeof(option));
	return option.optlen;
}

/* The length of the call exceeds the memory: any result is right. */
static bool is_lied_to(const struct image *image, unsigned int pointer, const struct area *area)
{
	for (unsigned int i = 0; i < image->row->count; i++) {
		const struct member *member = &image->row->members[i];
		uint64_t len = 0;

		if (member->kind != K_LEN || member->pointer != pointer)
			continue;
		memcpy(&len, image->bytes + member->offset, member->size);
		return len > area->len;
	}
	return false;
}

static void check_pointers(const struct image *image, const uint8_t *bytes, int ret)
{
	uint8_t may[8192 + 1];

	for (unsigned int i = 0; i < image->pointers; i++) {
		const struct area *area = image->pointer[i];
		size_t len = written(image, bytes, area, image->member[i], ret);

		if (!area->bytes || is_lied_to(image, image->member[i], area))
			continue;
		if (len > area->len)
			complain("%s: there is room for %zu bytes, and the answer has %zu",
				 image->row->name, area->len, len);
		memset(may, 0, sizeof(may));
		memset(may, 1, len);
		if (memory_changed(area, may) != NOTHING_CHANGED)
			complain("%s has written byte %ld of %s", image->row->name,
				 memory_changed(area, may),
				 image->row->members[image->member[i]].name);
	}
}

/* Counts the errno of a call in this state of its id. */
static void note_state(struct ctx *ctx, const struct image *image, int ret)
{
	const struct id *id = NULL;
	uint64_t state = 0;
	uint32_t handle;

	for (unsigned int i = 0; i < image->row->count; i++) {
		if (image->row->members[i].kind != K_ID)
			continue;
		memcpy(&handle, image->bytes + image->row->members[i].offset, sizeof(handle));
		id = known_id(ctx, handle);
	}
	if (id)
		state = 1 + id->last + ((uint64_t)id->done << 8);
	cover_state(image->row->cmd | (uint64_t)-ret << 16 | state << 32);
}

static void done_with(struct ctx *ctx, const struct image *image, uint32_t handle)
{
	struct id *id = known_id(ctx, handle);

	if (id)
		id->done = 1 + (image->row->cmd & 0x7f);
}

static void check_errno(const struct row *row, int ret)
{
	if (ret > 0 || (ret && !errno_documented(row->cmd, -ret)))
		complain("%s says %s, which is not documented", row->name,
			 strerrorname_np(ret < 0 ? -ret : ret) ?: "a number");
}

/* Checks a call. @image: its struct before the call; @bytes: after it, as far as it is mapped. */
void image_judge(struct ctx *ctx, const struct image *image, const uint8_t *bytes, size_t len,
		 int ret)
{
	uint32_t handle;

	check_errno(image->row, ret);
	note_state(ctx, image, ret);
	check_answer(image->row, bytes, len, ret);
	check_pointers(image, bytes, ret);
	answer_judge(ctx, image->row, bytes, len, ret);
	for (unsigned int i = 0; !ret && i < image->row->count; i++) {
		if (image->row->members[i].kind != K_ID)
			continue;
		memcpy(&handle, image->bytes + image->row->members[i].offset, sizeof(handle));
		done_with(ctx, image, handle);
	}
}
