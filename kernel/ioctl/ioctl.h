/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* What the ioctl files share: a command that is being executed, and the handlers. */
#ifndef RCA_IOCTL_H
#define RCA_IOCTL_H

#include <linux/compiler.h>
#include <linux/types.h>

#include "lib/types.h"

/**
 * struct rca_ucmd - a command that is being executed
 * @ctx: the context of the caller
 * @user: the caller's struct
 * @size: its size, as the caller said
 * @ksize: its size, as we know it
 * @cmd: our copy, @ksize bytes; what the caller did not give is zero
 */
struct rca_ucmd {
	struct rca_ctx *ctx;
	void __user *user;
	u32 size;
	u32 ksize;
	void *cmd;
};

long rca_ioctl(struct rca_ctx *ctx, unsigned int nr, void __user *user);
int rca_ucmd_respond(const struct rca_ucmd *ucmd);
u64 rca_ioctl_commands(void);
u32 rca_ioctl_batched_size(u32 nr);

/* ioctl_batch.c */
int rca_cmd_batch(struct rca_ucmd *ucmd);

/* ioctl_pipe.c */
int rca_cmd_resolve(struct rca_ucmd *ucmd);
int rca_cmd_connect(struct rca_ucmd *ucmd);

/* ioctl_id.c */
int rca_cmd_listen(struct rca_ucmd *ucmd);
int rca_cmd_destroy(struct rca_ucmd *ucmd);

/* ioctl_conn.c */
int rca_cmd_accept(struct rca_ucmd *ucmd);
int rca_cmd_reject(struct rca_ucmd *ucmd);
int rca_cmd_establish(struct rca_ucmd *ucmd);
int rca_cmd_disconnect(struct rca_ucmd *ucmd);
int rca_cmd_notify(struct rca_ucmd *ucmd);

/* ioctl_event.c */
int rca_cmd_queue_create(struct rca_ucmd *ucmd);
int rca_cmd_set_queue(struct rca_ucmd *ucmd);
int rca_cmd_get_event(struct rca_ucmd *ucmd);
int rca_cmd_post_event(struct rca_ucmd *ucmd);

/* ioctl_mcast.c */
int rca_cmd_join(struct rca_ucmd *ucmd);
int rca_cmd_leave(struct rca_ucmd *ucmd);

/* ioctl_query.c */
int rca_cmd_info(struct rca_ucmd *ucmd);
int rca_cmd_usage(struct rca_ucmd *ucmd);
int rca_cmd_qp_attr(struct rca_ucmd *ucmd);
int rca_cmd_query(struct rca_ucmd *ucmd);
int rca_cmd_set_option(struct rca_ucmd *ucmd);
int rca_cmd_get_option(struct rca_ucmd *ucmd);

#endif /* RCA_IOCTL_H */
