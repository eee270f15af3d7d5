/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* The struct of a call. */
#ifndef IMAGE_H
#define IMAGE_H

#include "fuzz.h"

#define BIGGEST 4160		/* more than a page, which the kernel refuses */

/**
 * struct image - a struct as it is passed
 * @row: of which call
 * @size: its bytes
 * @bytes: its content
 * @pointer: memory that it points to
 * @member: by which members
 * @pointers: how many
 */
struct image {
	const struct row *row;
	size_t size;
	uint8_t bytes[BIGGEST];
	struct area *pointer[2];
	unsigned int member[2];
	unsigned int pointers;
};

void image_build(struct image *image, struct ctx *ctx, const struct call *call);
void image_answer(uint8_t *may, const struct row *row, size_t size, int ret);
void image_judge(struct ctx *ctx, const struct image *image, const uint8_t *bytes, size_t len,
		 int ret);

/* batch.c: the entries of a batch are the calls behind it that are marked so */
int batch_call(struct ctx *ctx, const struct call *call, const struct call *end);

int image_call(struct ctx *ctx, const struct call *call, const struct image *image);

#endif /* IMAGE_H */
