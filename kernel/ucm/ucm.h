/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* The device of rdma_ucm, /dev/infiniband/rdma_cm: its commands, written to a file of it. */
#ifndef RCA_UCM_UCM_H
#define RCA_UCM_UCM_H

#include <linux/err.h>
#include <linux/fs.h>
#include <linux/kernel.h>
#include <linux/types.h>
#include <linux/uaccess.h>
#include <rdma/rdma_user_cm.h>

#include "event/queue.h"
#include "id/id.h"

/**
 * struct rca_ucm_cmd - a command that is being executed
 * @file: the file that it was written to
 * @queue: the event queue of @file; the ids that post to it are those of the file
 * @in: kernel copy of the caller's struct; bytes that an older caller does not have are zero
 * @in_len: length of the caller's struct, as the caller states it
 * @out_len: room for the response, as the caller states it
 */
struct rca_ucm_cmd {
	struct file *file;
	struct rca_queue *queue;
	const void *in;
	u16 in_len;
	u16 out_len;
};

extern const struct file_operations rca_ucm_fops;
extern unsigned int rca_ucm_max_backlog;

/*
 * Copies the response of a command to @response, a user address, as far as the caller has room.
 * Returns 0 or -EFAULT.
 */
static inline int rca_ucm_respond(const struct rca_ucm_cmd *ucmd, u64 response, const void *data,
				  size_t len)
{
	len = min_t(size_t, len, ucmd->out_len);
	return copy_to_user(u64_to_user_ptr(response), data, len) ? -EFAULT : 0;
}

struct rca_id *rca_ucm_get_id(const struct rca_queue *queue, u32 number);

/*
 * Handlers: rca_ucm_NAME() executes RDMA_USER_CM_CMD_NAME. They run in process context, may sleep,
 * and return 0 or a negative errno. No lock is held while user memory is accessed, except
 * &rca_queue.reading by GET_EVENT.
 */

/* id.c */
int rca_ucm_create_id(const struct rca_ucm_cmd *ucmd);
int rca_ucm_destroy_id(const struct rca_ucm_cmd *ucmd);
int rca_ucm_bind_ip(const struct rca_ucm_cmd *ucmd);
int rca_ucm_bind(const struct rca_ucm_cmd *ucmd);
int rca_ucm_resolve_ip(const struct rca_ucm_cmd *ucmd);
int rca_ucm_resolve_addr(const struct rca_ucm_cmd *ucmd);
int rca_ucm_resolve_route(const struct rca_ucm_cmd *ucmd);
int rca_ucm_resolve_ib_service(const struct rca_ucm_cmd *ucmd);
int rca_ucm_set_option(const struct rca_ucm_cmd *ucmd);
int rca_ucm_join_ip_mcast(const struct rca_ucm_cmd *ucmd);
int rca_ucm_join_mcast(const struct rca_ucm_cmd *ucmd);
int rca_ucm_leave_mcast(const struct rca_ucm_cmd *ucmd);

/* connection.c */
int rca_ucm_connect(const struct rca_ucm_cmd *ucmd);
int rca_ucm_listen(const struct rca_ucm_cmd *ucmd);
int rca_ucm_accept(const struct rca_ucm_cmd *ucmd);
int rca_ucm_reject(const struct rca_ucm_cmd *ucmd);
int rca_ucm_disconnect(const struct rca_ucm_cmd *ucmd);
int rca_ucm_init_qp_attr(const struct rca_ucm_cmd *ucmd);
int rca_ucm_notify(const struct rca_ucm_cmd *ucmd);

/* query.c */
int rca_ucm_query_route(const struct rca_ucm_cmd *ucmd);
int rca_ucm_query(const struct rca_ucm_cmd *ucmd);

/* event.c */
int rca_ucm_get_event(const struct rca_ucm_cmd *ucmd);
int rca_ucm_write_cm_event(const struct rca_ucm_cmd *ucmd);

#endif
