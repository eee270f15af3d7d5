// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * Many commands of one type in one system call.
 *
 * Locking: none.
 */
#include "core/batch.h"

#include "base/err.h"
#include "core/context.h"

void rcl_batch(uint32_t cmd, void *entries, size_t stride, uint32_t count, int32_t *results)
{
	struct rdma_cm_alt_batch call = {
		.cmd = cmd,
		.count = count,
		.stride = (uint32_t)stride,
		.entries_uptr = (uintptr_t)entries,
		.results_uptr = (uintptr_t)results,
	};
	int ret = count ? RCL_CALL(BATCH, &call) : 0;
	uint32_t i, done = call.out_done <= count ? call.out_done : 0;

	for (i = 0; i < done; i++)
		results[i] = rcl_result(results[i]);
	/* Commands that the kernel did not execute failed with the error of the call. */
	for (; i < count; i++)
		results[i] = ret ? ret : -EIO;
	/*
	 * A signal ends a batch, and no command of it is restarted. Execute what was interrupted,
	 * and all behind it, one by one: then a signal interrupts only a command that waits.
	 */
	for (i = 0; i < count; i++) {
		if (results[i] == -EINTR)
			results[i] = rcl_context_call(_IO(RDMA_CM_ALT_IOC_TYPE, cmd),
						      (char *)entries + i * stride);
	}
}
