// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * Files of the device: each has a context and an event queue of its own. A command is a write() of
 * a header and a struct, which holds the user address of the response.
 *
 * Locking: none.
 */
#undef pr_fmt
#define pr_fmt(fmt) KBUILD_MODNAME ": " fmt

#include "ucm/ucm.h"

#include <linux/build_bug.h>
#include <linux/file.h>
#include <linux/module.h>
#include <linux/nospec.h>
#include <linux/poll.h>
#include <linux/sched.h>
#include <linux/sched/signal.h>
#include <rdma/ib.h>

#include "cm/cm.h"
#include "ctx/ctx.h"
#include "lib/compat.h"
#include "lib/uerrno.h"

static int migrate(const struct rca_ucm_cmd *ucmd, const struct file *from, u32 *reported)
{
	const struct rdma_ucm_migrate_id *cmd = ucmd->in;
	struct rca_id *id;
	int ret;

	if (from->f_op != &rca_ucm_fops)
		return -EINVAL;
	id = rca_ucm_get_id(from->private_data, cmd->id);
	if (IS_ERR(id))
		return PTR_ERR(id);
	ret = rca_source_move(&id->src, ucmd->queue, NULL, reported);
	rca_id_put(id);
	return ret;
}

/*
 * Move an id with its events from another file to this one. It stays in the context that has
 * created it, and is charged to the user of that.
 */
static int rca_ucm_migrate_id(const struct rca_ucm_cmd *ucmd)
{
	const struct rdma_ucm_migrate_id *cmd = ucmd->in;
	struct rdma_ucm_migrate_resp resp = {};
	struct file *from = fget(cmd->fd);
	int ret;

	if (!from)
		return -ENOENT;
	ret = migrate(ucmd, from, &resp.events_reported);
	fput(from);
	return ret ?: rca_ucm_respond(ucmd, cmd->response, &resp, sizeof(resp));
}

/* The kernel copy of the caller's struct. */
union any_cmd {
	struct rdma_ucm_connect connect;
	struct rdma_ucm_accept accept;
	struct rdma_ucm_resolve_addr resolve_addr;
	struct rdma_ucm_join_mcast join_mcast;
	struct rdma_ucm_reject reject;
	struct rdma_ucm_write_cm_event write_cm_event;
};

/**
 * struct row - a command
 * @handler: executes it; NULL: not implemented, as in rdma_ucm
 * @size: size of its struct, which is read from the caller's memory whatever length the caller
 *        states, as rdma_ucm does; but see @min_size
 * @min_size: not 0: the caller states the length, which is at least this; the rest is zero
 * @out_size: least room for the response
 */
struct row {
	int (*handler)(const struct rca_ucm_cmd *ucmd);
	u16 size;
	u16 min_size;
	u16 out_size;
};

/* 0, or a failure of the build if &union any_cmd is too small for a struct. */
#define FITS(type) BUILD_BUG_ON_ZERO(sizeof(type) > sizeof(union any_cmd))

#define COMMAND(name, func, type, ...)				\
	[RDMA_USER_CM_CMD_##name] = {				\
		.handler = rca_ucm_##func,			\
		.size = sizeof(struct rdma_ucm_##type) +	\
			FITS(struct rdma_ucm_##type),		\
		__VA_ARGS__					\
	}

static const struct row rows[] = {
	COMMAND(CREATE_ID, create_id, create_id,
		.out_size = sizeof(struct rdma_ucm_create_id_resp)),
	COMMAND(DESTROY_ID, destroy_id, destroy_id,
		.out_size = sizeof(struct rdma_ucm_destroy_id_resp)),
	COMMAND(BIND_IP, bind_ip, bind_ip),
	COMMAND(RESOLVE_IP, resolve_ip, resolve_ip),
	COMMAND(RESOLVE_ROUTE, resolve_route, resolve_route),
	COMMAND(QUERY_ROUTE, query_route, query,
		.out_size = offsetof(struct rdma_ucm_query_route_resp, ibdev_index)),
	COMMAND(CONNECT, connect, connect,
		.min_size = offsetofend(struct rdma_ucm_connect, reserved)),
	COMMAND(LISTEN, listen, listen),
	COMMAND(ACCEPT, accept, accept,
		.min_size = offsetofend(struct rdma_ucm_accept, reserved)),
	COMMAND(REJECT, reject, reject),
	COMMAND(DISCONNECT, disconnect, disconnect),
	COMMAND(INIT_QP_ATTR, init_qp_attr, init_qp_attr,
		.out_size = sizeof(struct ib_uverbs_qp_attr)),
	/* 32-bit libraries before ECE have no padding at the end either. */
	COMMAND(GET_EVENT, get_event, get_event,
		.out_size = offsetof(struct rdma_ucm_event_resp, reserved)),
	[RDMA_USER_CM_CMD_GET_OPTION] = {},
	COMMAND(SET_OPTION, set_option, set_option),
	COMMAND(NOTIFY, notify, notify),
	COMMAND(JOIN_IP_MCAST, join_ip_mcast, join_ip_mcast),
	COMMAND(LEAVE_MCAST, leave_mcast, destroy_id,
		.out_size = sizeof(struct rdma_ucm_destroy_id_resp)),
	COMMAND(MIGRATE_ID, migrate_id, migrate_id),
	COMMAND(QUERY, query, query),
	COMMAND(BIND, bind, bind),
	COMMAND(RESOLVE_ADDR, resolve_addr, resolve_addr),
	COMMAND(JOIN_MCAST, join_mcast, join_mcast),
	COMMAND(RESOLVE_IB_SERVICE, resolve_ib_service, resolve_ib_service),
	COMMAND(WRITE_CM_EVENT, write_cm_event, write_cm_event),
};

/* Commands that the rdma_ucm of this kernel has. */
#define NUM_COMMANDS \
	(RCA_UCM_SERVICES ? ARRAY_SIZE(rows) : RDMA_USER_CM_CMD_RESOLVE_IB_SERVICE)

static int execute(struct file *file, const struct rdma_ucm_cmd_hdr *hdr, const char __user *buf)
{
	struct rca_ucm_cmd ucmd = {
		.file = file,
		.queue = file->private_data,
		.in_len = hdr->in,
		.out_len = hdr->out,
	};
	const struct row *row = &rows[array_index_nospec(hdr->cmd, ARRAY_SIZE(rows))];
	union any_cmd cmd __uninitialized;
	size_t len = row->size;

	if (!row->handler)
		return -ENOSYS;
	if (hdr->out < row->out_size)
		return -ENOSPC;
	if (row->min_size) {
		if (hdr->in < row->min_size)
			return -EINVAL;
		len = min_t(size_t, len, hdr->in);
	}
	if (copy_from_user(&cmd, buf, len))
		return -EFAULT;
	memset((void *)&cmd + len, 0, row->size - len);
	ucmd.in = &cmd;
	return row->handler(&ucmd);
}

static ssize_t ucm_write(struct file *file, const char __user *buf, size_t len, loff_t *pos)
{
	struct rdma_ucm_cmd_hdr hdr;
	int ret;

	/* A program with other rights may have been made to write to a file that it was given. */
	if (!ib_safe_file_access(file)) {
		pr_err_once("%s[%d] writes to a file that was opened with other credentials\n",
			    current->comm, task_tgid_nr(current));
		return -EACCES;
	}
	if (len < sizeof(hdr))
		return -EINVAL;
	if (copy_from_user(&hdr, buf, sizeof(hdr)))
		return -EFAULT;
	if (hdr.cmd >= NUM_COMMANDS || hdr.in + sizeof(hdr) > len)
		return -EINVAL;
	ret = execute(file, &hdr, buf + sizeof(hdr));
	if (!ret)
		return len;
	/* -ERESTARTSYS is kept for the signal code, which restarts the call or returns EINTR. */
	return ret == -ERESTARTSYS && signal_pending(current) ? ret : rca_user_errno(ret);
}

static __poll_t ucm_poll(struct file *file, poll_table *wait)
{
	return rca_queue_poll(file->private_data, file, wait);
}

static int ucm_open(struct inode *inode, struct file *file)
{
	struct rca_ctx *ctx = rca_ctx_create();
	struct rca_queue *queue;

	if (IS_ERR(ctx))
		return PTR_ERR(ctx);
	/* Ids are moved to files of other contexts, and keep their numbers. */
	ctx->shared = true;
	queue = rca_queue_create(ctx, sizeof(struct rdma_ucm_event_resp), true);
	rca_ctx_put(ctx);	/* the queue has a reference */
	if (IS_ERR(queue))
		return PTR_ERR(queue);
	/* As rdma_ucm, which knows no id for a program before accept. */
	queue->needs_cookie = true;
	file->private_data = queue;	/* put in ucm_release() */
	return stream_open(inode, file);
}

static int ucm_release(struct inode *inode, struct file *file)
{
	struct rca_queue *queue = file->private_data;

	rca_queue_mark_closed(queue);
	rca_close_queue_ids(queue->ctx, queue);
	rca_queue_put(queue);	/* got in ucm_open() */
	return 0;
}

const struct file_operations rca_ucm_fops = {
	.owner = THIS_MODULE,
	.open = ucm_open,
	.release = ucm_release,
	.write = ucm_write,
	.poll = ucm_poll,
};
