/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* The device and its ioctls. */
#ifndef RCA_USER_USER_H
#define RCA_USER_USER_H

#include <linux/limits.h>
#include <linux/minmax.h>
#include <linux/types.h>
#include <linux/uaccess.h>
#include <rdma/rdma_cm_alt.h>

#include "lib/types.h"
#include "transport/transport.h"

struct file;

/* The character device. */

int rca_chardev_init(void);
void rca_chardev_exit(void);

/* The ioctls of the device: a command that is being executed, and its handlers. */

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

/*
 * Handlers: rca_cmd_NAME() executes RDMA_CM_ALT_NAME. They run in process context, may sleep,
 * and return 0 or a negative errno.
 */

/* ioctl_id.c */
int rca_cmd_resolve(struct rca_ucmd *ucmd);
int rca_cmd_connect(struct rca_ucmd *ucmd);
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

/* queuefd.c */
int rca_cmd_queue_create(struct rca_ucmd *ucmd);
int rca_cmd_set_queue(struct rca_ucmd *ucmd);
int rca_cmd_get_event(struct rca_ucmd *ucmd);
int rca_cmd_post_event(struct rca_ucmd *ucmd);

/* ioctl_id.c */
int rca_cmd_usage(struct rca_ucmd *ucmd);
int rca_cmd_qp_attr(struct rca_ucmd *ucmd);
int rca_cmd_query(struct rca_ucmd *ucmd);
int rca_cmd_set_option(struct rca_ucmd *ucmd);
int rca_cmd_get_option(struct rca_ucmd *ucmd);
int rca_cmd_services(struct rca_ucmd *ucmd);

/* Connection parameters from user space. */

/** RCA_PRIVATE_DATA_MAX - limit of all messages; each operation checks that of its message */
#define RCA_PRIVATE_DATA_MAX U8_MAX

/* The file of an event queue: create it, find the queue of a descriptor, read events. */

/**
 * struct rca_queuefd - a queue and its file, created or looked up
 * @queue: the queue; @file has the reference
 * @file: its file, with a reference; NULL: none
 * @fd: a new descriptor, reserved but not installed yet; -1: none
 */
struct rca_queuefd {
	struct rca_queue *queue;
	struct file *file;
	int fd;
};

/** enum rca_delivered - positive results of rca_queue_deliver() */
enum rca_delivered {
	RCA_DELIVERED = 1,
	RCA_IN_RING,
};

int rca_queuefd_create(struct rca_queuefd *qfd, struct rca_ctx *ctx, u32 record_size,
		       u32 ring_entries, bool nonblock);
int rca_queuefd_find(struct rca_queuefd *qfd, struct rca_ctx *ctx, int fd);
void rca_queuefd_install(struct rca_queuefd *qfd);
void rca_queuefd_put(struct rca_queuefd *qfd);

#endif
