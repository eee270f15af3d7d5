// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * Many commands of one type in one system call.
 *
 * Locking: none.
 */
#include "core/batch.h"

#include "base/err.h"
#include "core/context.h"

/* Execute commands until one call fails. Returns its error, or 0; @done: those that were tried. */
static int try_all(uint32_t cmd, void *entries, size_t stride, uint32_t count, int32_t *results,
		   uint32_t *done)
{
	struct rdma_cm_alt_batch call = { .cmd = cmd, .stride = (uint32_t)stride };
	int ret = 0;

	*done = 0;
	/* A signal ends a call early, but each call tries a command. */
	do {
		call.count = count - *done;
		call.out_done = 0;
		call.entries_uptr = (uintptr_t)entries + *done * stride;
		call.results_uptr = (uintptr_t)(results + *done);
		ret = RCL_CALL(BATCH, &call);
		if (call.out_done > count - *done)
			return ret;
		*done += call.out_done;
	} while (!ret && call.out_done && *done < count);
	return ret;
}

void rcl_batch(uint32_t cmd, void *entries, size_t stride, uint32_t count, int32_t *results)
{
	uint32_t i, done = 0;
	int ret = count ? try_all(cmd, entries, stride, count, results, &done) : 0;

	for (i = 0; i < done; i++)
		results[i] = rcl_result(results[i]);
	/* Commands that the kernel did not execute failed with the error of the call. */
	for (; i < count; i++)
		results[i] = ret ? ret : -EIO;
	/*
	 * No command of a batch is restarted after a signal. Execute those that were interrupted
	 * one by one: then a signal interrupts only a command that waits.
	 */
	for (i = 0; i < count; i++) {
		if (results[i] == -EINTR)
			results[i] = rcl_context_call(_IO(RDMA_CM_ALT_IOC_TYPE, cmd),
						      (char *)entries + i * stride);
	}
}
