// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * The table of ioctls and the frame around each: sizes, flags, reserved
 * members, and the copies from and to user space. No policy.
 *
 * Locking: none.
 */
#include "ioctl/ioctl.h"

#include <linux/bits.h>
#include <linux/build_bug.h>
#include <linux/kernel.h>
#include <linux/mm.h>
#include <linux/nospec.h>
#include <linux/sched/signal.h>
#include <linux/stddef.h>
#include <linux/string.h>
#include <linux/uaccess.h>
#include <rdma/rdma_cm_alt.h>

#include "lib/uerrno.h"

/* Largest struct that a caller may give; more would be a long search for a byte that is not 0. */
#define MAX_SIZE 4096
static_assert(MAX_SIZE <= PAGE_SIZE);

/* Members that must be 0. */
struct span {
	u16 offset;
	u16 len;
};

/**
 * struct row - an ioctl
 * @handler: executes it; NULL: not built in
 * @cmd: the ioctl number
 * @flags: the flags that are known
 * @size: size of the struct
 * @min_size: end of the last mandatory member; never moves
 * @outputs: the handler answers with rca_ucmd_respond()
 * @alone: it may wait for long, or makes what is not an id's: never part of a batch
 * @reserved: members that must be 0
 */
struct row {
	int (*handler)(struct rca_ucmd *ucmd);
	u32 cmd;
	u32 flags;
	u16 size;
	u16 min_size;
	bool outputs;
	bool alone;
	struct span reserved[3];
};

#define RESERVED(type, member) { offsetof(struct type, member), sizeof_field(struct type, member) }

#define IOCTL(name, func, type, last, ...)					\
	[RDMA_CM_ALT_CMD_##name - RDMA_CM_ALT_CMD_BASE] = {			\
		.handler = (func),						\
		.cmd = RDMA_CM_ALT_##name,					\
		.size = sizeof(struct type) + BUILD_BUG_ON_ZERO(sizeof(struct type) % 8),	\
		.min_size = offsetofend(struct type, last),			\
		__VA_ARGS__							\
	}

#define LAST_RESERVED(type) .reserved = { RESERVED(type, __reserved) }

static const struct row rows[] = {
	IOCTL(INFO, rca_cmd_info, rdma_cm_alt_info, out_commands, .outputs = true, .alone = true),
	IOCTL(QUEUE_CREATE, rca_cmd_queue_create, rdma_cm_alt_queue_create, out_fd,
	      .outputs = true, .alone = true, .flags = RDMA_CM_ALT_QUEUE_NONBLOCK,
	      LAST_RESERVED(rdma_cm_alt_queue_create)),
	IOCTL(RESOLVE, rca_cmd_resolve, rdma_cm_alt_resolve, out_queue_fd, .outputs = true,
	      .reserved = {
			RESERVED(rdma_cm_alt_resolve, pipe.__reserved),
			RESERVED(rdma_cm_alt_resolve, __reserved),
	      }),
	IOCTL(CONNECT, rca_cmd_connect, rdma_cm_alt_connect, out_queue_fd, .outputs = true,
	      .reserved = {
			RESERVED(rdma_cm_alt_connect, pipe.__reserved),
			RESERVED(rdma_cm_alt_connect, param.__reserved),
			RESERVED(rdma_cm_alt_connect, param.__reserved2),
	      }),
	IOCTL(LISTEN, rca_cmd_listen, rdma_cm_alt_listen, backlog, .outputs = true),
	IOCTL(ACCEPT, rca_cmd_accept, rdma_cm_alt_accept, param,
	      .flags = RDMA_CM_ALT_ACCEPT_QUIET,
	      .reserved = {
			RESERVED(rdma_cm_alt_accept, __reserved),
			RESERVED(rdma_cm_alt_accept, param.__reserved),
			RESERVED(rdma_cm_alt_accept, param.__reserved2),
	      }),
	IOCTL(REJECT, rca_cmd_reject, rdma_cm_alt_reject, private_data_len,
	      LAST_RESERVED(rdma_cm_alt_reject)),
	IOCTL(ESTABLISH, rca_cmd_establish, rdma_cm_alt_establish, id,
	      LAST_RESERVED(rdma_cm_alt_establish)),
	IOCTL(DISCONNECT, rca_cmd_disconnect, rdma_cm_alt_disconnect, id,
	      LAST_RESERVED(rdma_cm_alt_disconnect)),
	IOCTL(NOTIFY, rca_cmd_notify, rdma_cm_alt_notify, event),
	IOCTL(QP_ATTR, rca_cmd_qp_attr, rdma_cm_alt_qp_attr_get, out_attr, .outputs = true),
	IOCTL(QUERY, rca_cmd_query, rdma_cm_alt_query, out_route, .outputs = true,
	      LAST_RESERVED(rdma_cm_alt_query)),
	IOCTL(SET_OPTION, rca_cmd_set_option, rdma_cm_alt_option, optval_uptr),
	IOCTL(GET_OPTION, rca_cmd_get_option, rdma_cm_alt_option, optval_uptr, .outputs = true),
	IOCTL(SET_QUEUE, rca_cmd_set_queue, rdma_cm_alt_set_queue, out_queue_fd, .outputs = true,
	      .flags = RDMA_CM_ALT_SET_QUEUE_NEW | RDMA_CM_ALT_SET_QUEUE_COOKIE),
	IOCTL(GET_EVENT, rca_cmd_get_event, rdma_cm_alt_get_event, record_uptr, .alone = true,
	      .flags = RDMA_CM_ALT_GET_EVENT_NONBLOCK),
	IOCTL(POST_EVENT, rca_cmd_post_event, rdma_cm_alt_post_event, arg,
	      LAST_RESERVED(rdma_cm_alt_post_event)),
	IOCTL(JOIN, rca_cmd_join, rdma_cm_alt_join, out_member, .outputs = true,
	      LAST_RESERVED(rdma_cm_alt_join)),
	IOCTL(LEAVE, rca_cmd_leave, rdma_cm_alt_leave, member, .outputs = true),
	IOCTL(DESTROY, rca_cmd_destroy, rdma_cm_alt_destroy, id, .outputs = true),
	IOCTL(BATCH, rca_cmd_batch, rdma_cm_alt_batch, results_uptr, .outputs = true,
	      .alone = true),
	IOCTL(USAGE, rca_cmd_usage, rdma_cm_alt_usage, out_user_refused, .outputs = true,
	      .alone = true, LAST_RESERVED(rdma_cm_alt_usage)),
};

static_assert(ARRAY_SIZE(rows) == RDMA_CM_ALT_CMD_END - RDMA_CM_ALT_CMD_BASE);
static_assert(ARRAY_SIZE(rows) <= BITS_PER_TYPE(u64));

/* The caller's struct lives on the stack while it is executed. */
union any_cmd {
	u32 size;
	struct {
		u32 size;
		u32 flags;
	} head;
	struct rdma_cm_alt_info info;
	struct rdma_cm_alt_queue_create queue_create;
	struct rdma_cm_alt_resolve resolve;
	struct rdma_cm_alt_connect connect;
	struct rdma_cm_alt_listen listen;
	struct rdma_cm_alt_accept accept;
	struct rdma_cm_alt_reject reject;
	struct rdma_cm_alt_establish establish;
	struct rdma_cm_alt_disconnect disconnect;
	struct rdma_cm_alt_notify notify;
	struct rdma_cm_alt_qp_attr_get qp_attr;
	struct rdma_cm_alt_query query;
	struct rdma_cm_alt_option option;
	struct rdma_cm_alt_set_queue set_queue;
	struct rdma_cm_alt_get_event get_event;
	struct rdma_cm_alt_post_event post_event;
	struct rdma_cm_alt_join join;
	struct rdma_cm_alt_leave leave;
	struct rdma_cm_alt_destroy destroy;
	struct rdma_cm_alt_batch batch;
	struct rdma_cm_alt_usage usage;
};

static_assert(sizeof(union any_cmd) <= 512);
static_assert(sizeof(union any_cmd) <= MAX_SIZE);

static const struct row *find_row(unsigned int cmd)
{
	unsigned int nr = _IOC_NR(cmd);
	const struct row *row;

	if (nr < RDMA_CM_ALT_CMD_BASE || nr >= RDMA_CM_ALT_CMD_END)
		return NULL;
	row = &rows[array_index_nospec(nr - RDMA_CM_ALT_CMD_BASE, ARRAY_SIZE(rows))];
	return row->cmd == cmd ? row : NULL;
}

static int check_values(const struct row *row, const union any_cmd *cmd)
{
	unsigned int i;

	if (cmd->head.flags & ~row->flags)
		return -EOPNOTSUPP;
	for (i = 0; i < ARRAY_SIZE(row->reserved); i++) {
		const struct span *span = &row->reserved[i];

		if (memchr_inv((const u8 *)cmd + span->offset, 0, span->len))
			return -EOPNOTSUPP;
	}
	return row->handler ? 0 : -EOPNOTSUPP;
}

/*
 * Find out before anything changes whether the answer can be written: it spans
 * two pages at most, and bytes of both are written as they are. It can still
 * fail later when another thread unmaps the memory meanwhile.
 */
static int check_writable(const struct row *row, const union any_cmd *cmd, u8 __user *user)
{
	u32 last = min_t(u32, cmd->size, row->size) - 1;

	if (put_user(*(const u8 *)cmd, user) || put_user(((const u8 *)cmd)[last], user + last))
		return -EFAULT;
	return 0;
}

/**
 * rca_ucmd_respond() - copy a command's struct with its answer back to the caller
 * @ucmd: the command
 *
 * To be called before what cannot be undone, where there is such a thing.
 *
 * Context: Process context. May sleep; no spinlock held.
 * Return: 0 or -EFAULT.
 */
int rca_ucmd_respond(const struct rca_ucmd *ucmd)
{
	if (copy_to_user(ucmd->user, ucmd->cmd, min(ucmd->size, ucmd->ksize)))
		return -EFAULT;
	return 0;
}

/**
 * rca_ioctl_commands() - the commands that are built in
 *
 * Context: Any context.
 * Return: bit n: command RDMA_CM_ALT_CMD_BASE + n.
 */
u64 rca_ioctl_commands(void)
{
	u64 commands = 0;
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(rows); i++)
		if (rows[i].handler)
			commands |= BIT_ULL(i);
	return commands;
}

/**
 * rca_ioctl_batched_size() - may a batch have this command?
 * @nr: number of the command, &enum rdma_cm_alt_cmd
 *
 * Context: Any context.
 * Return: size of the part of its struct that is mandatory; 0: it may not.
 */
u32 rca_ioctl_batched_size(u32 nr)
{
	const struct row *row = nr <= U8_MAX ? find_row(_IO(RDMA_CM_ALT_IOC_TYPE, nr)) : NULL;

	return row && row->handler && !row->alone ? row->min_size : 0;
}

/* A call that a signal interrupts: the signal code makes EINTR of it, or the same call again. */
static int for_user(int ret)
{
	return ret == -ERESTARTSYS && signal_pending(current) ? ret : rca_user_errno(ret);
}

/**
 * rca_ioctl() - check a command and execute it
 * @ctx: the context of the caller
 * @nr: the ioctl number
 * @user: the caller's struct
 *
 * Context: Process context. May sleep.
 * Return: 0 or a negative errno, see "DOC: General rules" of the uAPI header.
 */
long rca_ioctl(struct rca_ctx *ctx, unsigned int nr, void __user *user)
{
	struct rca_ucmd ucmd = { .ctx = ctx, .user = user };
	const struct row *row = find_row(nr);
	union any_cmd cmd;
	int ret;

	if (!row)
		return -ENOTTY;
	if (get_user(ucmd.size, (u32 __user *)user))
		return -EFAULT;
	if (ucmd.size < row->min_size)
		return -EINVAL;
	if (ucmd.size > MAX_SIZE)
		return -E2BIG;
	ret = copy_struct_from_user(&cmd, row->size, user, ucmd.size);
	if (ret)
		return ret;
	cmd.size = ucmd.size;	/* it was read twice */

	ret = check_values(row, &cmd);
	if (ret)
		return ret;
	if (row->outputs) {
		ret = check_writable(row, &cmd, user);
		if (ret)
			return ret;
	}
	ucmd.ksize = row->size;
	ucmd.cmd = &cmd;
	return for_user(row->handler(&ucmd));
}
