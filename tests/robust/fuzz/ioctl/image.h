/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* The struct of a call. */
#ifndef IMAGE_H
#define IMAGE_H

#include "fuzz.h"

#define BIGGEST 4160		/* more than a page, the most that the kernel accepts */

/* A struct as it is passed to the kernel. */
struct image {
	const struct row *row;
	size_t size;
	uint8_t bytes[BIGGEST];
	struct area *pointer[2];	/* the memory of its pointers */
	unsigned int member[2];		/* the numbers of these members */
	unsigned int pointers;
};

void image_build(struct image *image, struct ctx *ctx, const struct call *call);
void image_answer(uint8_t *may, const struct row *row, size_t size, int ret);
void image_judge(struct ctx *ctx, const struct image *image, const uint8_t *bytes, size_t len,
		 int ret);

/* batch.c: the entries of a batch are the calls after it that are marked */
int batch_call(struct ctx *ctx, const struct call *call, const struct call *end);

int image_call(struct ctx *ctx, const struct call *call, const struct image *image);

#endif /* IMAGE_H */
