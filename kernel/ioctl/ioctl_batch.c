// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * The ioctl that executes many commands of one kind, each as if it had been
 * called by itself, with a result of its own.
 *
 * Locking: none of its own.
 */
#include "ioctl/ioctl.h"

#include <linux/kernel.h>
#include <linux/sched.h>
#include <linux/sched/signal.h>
#include <linux/uaccess.h>
#include <rdma/rdma_cm_alt.h>

/* A result is for a program to read: nobody calls an entry again by itself. */
static int as_result(int ret)
{
	return ret == -ERESTARTSYS ? -EINTR : ret;
}

/* Execute entry @i. Nothing is tried when its result cannot be told. */
static int execute(struct rca_ucmd *ucmd, u32 i)
{
	const struct rdma_cm_alt_batch *cmd = ucmd->cmd;
	s32 __user *result = u64_to_user_ptr(cmd->results_uptr + (u64)i * sizeof(*result));
	void __user *entry = u64_to_user_ptr(cmd->entries_uptr + (u64)i * cmd->stride);

	if (put_user(0, result))
		return -EFAULT;
	return put_user(as_result(rca_ioctl(ucmd->ctx, _IO(RDMA_CM_ALT_IOC_TYPE, cmd->cmd), entry)),
			result);
}

/**
 * rca_cmd_batch() - execute RDMA_CM_ALT_BATCH
 * @ucmd: the command
 *
 * Context: Process context. Sleeps.
 * Return: 0 or a negative errno.
 */
int rca_cmd_batch(struct rca_ucmd *ucmd)
{
	struct rdma_cm_alt_batch *cmd = ucmd->cmd;
	u32 smallest = rca_ioctl_batched_size(cmd->cmd);
	int ret = 0;
	u32 i;

	if (!smallest || cmd->stride < smallest)
		return -EINVAL;
	for (i = 0; i < cmd->count && !ret && !fatal_signal_pending(current); i++) {
		ret = execute(ucmd, i);
		cond_resched();
	}
	cmd->out_done = ret ? i - 1 : i;
	return rca_ucmd_respond(ucmd) ?: ret;
}
