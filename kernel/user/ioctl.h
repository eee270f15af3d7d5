/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* The ioctls of the device: a command that is being executed, and its handlers. */
#ifndef RCA_IOCTL_H
#define RCA_IOCTL_H

#include <linux/minmax.h>
#include <linux/uaccess.h>

#include "lib/types.h"

/**
 * struct rca_ucmd - a command that is being executed
 * @ctx: the context of the caller
 * @user: the caller's struct
 * @size: size of the caller's struct
 * @ksize: size of the struct in this kernel
 * @cmd: kernel copy of the struct, @ksize bytes; what the caller did not pass is zero
 */
struct rca_ucmd {
	struct rca_ctx *ctx;
	void __user *user;
	u32 size;
	u32 ksize;
	void *cmd;
};

/**
 * rca_ucmd_respond() - copy the struct of a command, with its outputs, back to the caller
 * @ucmd: the command
 *
 * A handler calls this before a step that cannot be undone.
 *
 * Context: Process context. May sleep.
 * Return: 0 or -EFAULT.
 */
static inline int rca_ucmd_respond(const struct rca_ucmd *ucmd)
{
	if (copy_to_user(ucmd->user, ucmd->cmd, min(ucmd->size, ucmd->ksize)))
		return -EFAULT;
	return 0;
}

long rca_ioctl(struct rca_ctx *ctx, unsigned int nr, void __user *user);

/*
 * Handlers: rca_cmd_NAME() executes RDMA_CM_ALT_NAME. They run in process context, may sleep,
 * and return 0 or a negative errno.
 */

/* ioctl_pipe.c */
int rca_cmd_resolve(struct rca_ucmd *ucmd);
int rca_cmd_connect(struct rca_ucmd *ucmd);

/* ioctl_id.c */
int rca_cmd_listen(struct rca_ucmd *ucmd);
int rca_cmd_accept(struct rca_ucmd *ucmd);
int rca_cmd_reject(struct rca_ucmd *ucmd);
int rca_cmd_establish(struct rca_ucmd *ucmd);
int rca_cmd_disconnect(struct rca_ucmd *ucmd);
int rca_cmd_notify(struct rca_ucmd *ucmd);
int rca_cmd_join(struct rca_ucmd *ucmd);
int rca_cmd_leave(struct rca_ucmd *ucmd);
int rca_cmd_destroy(struct rca_ucmd *ucmd);
int rca_cmd_resolve_service(struct rca_ucmd *ucmd);

/* ioctl_event.c */
int rca_cmd_queue_create(struct rca_ucmd *ucmd);
int rca_cmd_set_queue(struct rca_ucmd *ucmd);
int rca_cmd_get_event(struct rca_ucmd *ucmd);
int rca_cmd_post_event(struct rca_ucmd *ucmd);

/* ioctl_query.c */
int rca_cmd_usage(struct rca_ucmd *ucmd);
int rca_cmd_qp_attr(struct rca_ucmd *ucmd);
int rca_cmd_query(struct rca_ucmd *ucmd);
int rca_cmd_set_option(struct rca_ucmd *ucmd);
int rca_cmd_get_option(struct rca_ucmd *ucmd);
int rca_cmd_services(struct rca_ucmd *ucmd);

#endif /* RCA_IOCTL_H */
