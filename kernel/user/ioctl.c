// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * The table of ioctls, the checks and copies that all of them share (sizes, flags,
 * reserved members), and the two ioctls that refer to the table: INFO and BATCH.
 *
 * Locking: none.
 */
#include "user/user.h"

#include <linux/bits.h>
#include <linux/build_bug.h>
#include <linux/err.h>
#include <linux/fs.h>
#include <linux/kernel.h>
#include <linux/miscdevice.h>
#include <linux/mm.h>
#include <linux/module.h>
#include <linux/nospec.h>
#include <linux/sched.h>
#include <linux/sched/signal.h>
#include <linux/stddef.h>
#include <linux/string.h>
#include <rdma/rdma_cm_alt.h>

#include "cm/cm.h"
#include "ctx/ctx.h"
#include "lib/compat.h"
#include "lib/uerrno.h"

/* Largest struct that a caller may pass. It bounds the search for bytes that are not 0. */
#define MAX_SIZE 4096
static_assert(MAX_SIZE <= PAGE_SIZE);

/* A member that must be 0: the aligned word of the struct that it lies in, and its bits there. */
struct zeros {
	u64 mask;
	u32 word;
};

/**
 * struct row - an ioctl
 * @handler: executes the command
 * @cmd: the ioctl number
 * @flags: flags that the command accepts
 * @size: size of the struct
 * @min_size: end of the last mandatory member; never changes
 * @outputs: the handler calls rca_ucmd_respond()
 * @alone: not allowed in a batch: it may wait for long, or does not act on an id
 * @services: built in only if ib_sa can ask for service records
 * @reserved: members that must be 0; unused entries come last, and have no bits
 */
struct row {
	int (*handler)(struct rca_ucmd *ucmd);
	u32 cmd;
	u32 flags;
	u16 size;
	u16 min_size;
	bool outputs;
	bool alone;
	bool services;
	struct zeros reserved[3];
};

/* The bytes @first to @end - 1 of a word in memory. */
#define WORD_BYTES(first, end) \
	((__force u64)cpu_to_le64(GENMASK_ULL((end) * 8 - 1, (first) * 8)))

#define MEMBER_RESERVED(type, member) {						\
		.mask = WORD_BYTES(offsetof(struct type, member) % 8,		\
				   offsetof(struct type, member) % 8 +		\
				   sizeof_field(struct type, member)),		\
		.word = offsetof(struct type, member) / 8,			\
	}

#define IOCTL(name, func, type, last, ...)					\
	[RDMA_CM_ALT_CMD_##name - RDMA_CM_ALT_CMD_BASE] = {			\
		.handler = (func),						\
		.cmd = RDMA_CM_ALT_##name,					\
		.size = sizeof(struct type) + BUILD_BUG_ON_ZERO(sizeof(struct type) % 8),	\
		.min_size = offsetofend(struct type, last),			\
		__VA_ARGS__							\
	}

#define LAST_RESERVED(type) .reserved = { MEMBER_RESERVED(type, __reserved) }

static int cmd_info(struct rca_ucmd *ucmd);
static int cmd_batch(struct rca_ucmd *ucmd);

static const struct row rows[] = {
	IOCTL(INFO, cmd_info, rdma_cm_alt_info, out_commands, .outputs = true, .alone = true),
	IOCTL(QUEUE_CREATE, rca_cmd_queue_create, rdma_cm_alt_queue_create, out_fd,
	      .outputs = true, .alone = true, .flags = RDMA_CM_ALT_QUEUE_NONBLOCK,
	      LAST_RESERVED(rdma_cm_alt_queue_create)),
	IOCTL(RESOLVE, rca_cmd_resolve, rdma_cm_alt_resolve, out_queue_fd, .outputs = true,
	      .reserved = {
			MEMBER_RESERVED(rdma_cm_alt_resolve, pipe.__reserved),
			MEMBER_RESERVED(rdma_cm_alt_resolve, __reserved),
	      }),
	IOCTL(CONNECT, rca_cmd_connect, rdma_cm_alt_connect, out_queue_fd, .outputs = true,
	      .reserved = {
			MEMBER_RESERVED(rdma_cm_alt_connect, pipe.__reserved),
			MEMBER_RESERVED(rdma_cm_alt_connect, param.__reserved),
			MEMBER_RESERVED(rdma_cm_alt_connect, param.__reserved2),
	      }),
	IOCTL(LISTEN, rca_cmd_listen, rdma_cm_alt_listen, backlog, .outputs = true),
	IOCTL(ACCEPT, rca_cmd_accept, rdma_cm_alt_accept, param,
	      .flags = RDMA_CM_ALT_ACCEPT_QUIET,
	      .reserved = {
			MEMBER_RESERVED(rdma_cm_alt_accept, __reserved),
			MEMBER_RESERVED(rdma_cm_alt_accept, param.__reserved),
			MEMBER_RESERVED(rdma_cm_alt_accept, param.__reserved2),
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
	IOCTL(BATCH, cmd_batch, rdma_cm_alt_batch, results_uptr, .outputs = true,
	      .alone = true),
	IOCTL(USAGE, rca_cmd_usage, rdma_cm_alt_usage, out_user_refused, .outputs = true,
	      .alone = true, LAST_RESERVED(rdma_cm_alt_usage)),
	IOCTL(RESOLVE_SERVICE, rca_cmd_resolve_service, rdma_cm_alt_resolve_service, name_len,
	      .flags = RDMA_CM_ALT_SERVICE_BY_ID, .services = true,
	      LAST_RESERVED(rdma_cm_alt_resolve_service)),
	IOCTL(SERVICES, rca_cmd_services, rdma_cm_alt_services, out_count, .outputs = true,
	      .services = true, LAST_RESERVED(rdma_cm_alt_services)),
};

static_assert(ARRAY_SIZE(rows) == RDMA_CM_ALT_CMD_END - RDMA_CM_ALT_CMD_BASE);
static_assert(ARRAY_SIZE(rows) <= BITS_PER_TYPE(u64));

/* The kernel copy of the caller's struct; rca_ioctl() has it on its stack. */
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
	struct rdma_cm_alt_resolve_service resolve_service;
	struct rdma_cm_alt_services services;
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

static bool is_built_in(const struct row *row)
{
	return !row->services || RCA_KNOWS_SERVICES;
}

/*
 * Check before the command changes anything that its outputs can be written: the struct
 * spans at most two pages, and writing its first and last byte back unchanged touches
 * both. The later copy still fails if another thread unmaps the memory in between.
 */
static int check_writable(const struct row *row, const union any_cmd *cmd, u8 __user *user)
{
	u32 last = min_t(u32, cmd->size, row->size) - 1;

	if (put_user(*(const u8 *)cmd, user) || put_user(((const u8 *)cmd)[last], user + last))
		return -EFAULT;
	return 0;
}

/*
 * Check a command and execute it, in process context. See "DOC: General rules" in the uAPI header
 * for its errnos.
 */
static long rca_ioctl(struct rca_ctx *ctx, unsigned int nr, void __user *user)
{
	struct rca_ucmd ucmd = { .ctx = ctx, .user = user };
	const struct row *row = find_row(nr);
	/* The struct of the command is filled below, and nothing reads behind it. */
	union any_cmd cmd __uninitialized;
	const u64 *words = (const u64 *)&cmd;
	unsigned int i;
	u64 bad;
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
	cmd.size = ucmd.size;	/* the caller may have changed it between the two reads */

	bad = cmd.head.flags & ~row->flags;
	for (i = 0; i < ARRAY_SIZE(row->reserved) && row->reserved[i].mask; i++)
		bad |= words[row->reserved[i].word] & row->reserved[i].mask;
	if (bad)
		return -EOPNOTSUPP;
	if (row->outputs) {
		ret = check_writable(row, &cmd, user);
		if (ret)
			return ret;
	}
	if (!is_built_in(row))
		return -EOPNOTSUPP;
	ucmd.ksize = row->size;
	ucmd.cmd = &cmd;
	ret = row->handler(&ucmd);
	/* -ERESTARTSYS is kept for the signal code, which restarts the call or returns EINTR. */
	return ret == -ERESTARTSYS && signal_pending(current) ? ret : rca_user_errno(ret);
}

static int cmd_info(struct rca_ucmd *ucmd)
{
	struct rdma_cm_alt_info *cmd = ucmd->cmd;
	unsigned int i;

	cmd->out_commands = 0;
	for (i = 0; i < ARRAY_SIZE(rows); i++)
		cmd->out_commands |= is_built_in(&rows[i]) ? BIT_ULL(i) : 0;
	cmd->out_features = RDMA_CM_ALT_FEATURE_UD | RDMA_CM_ALT_FEATURE_AF_IB |
			    RDMA_CM_ALT_FEATURE_IB | RDMA_CM_ALT_FEATURE_IWARP |
			    RDMA_CM_ALT_FEATURE_RING;
	cmd->out_resolve_steps = RDMA_CM_ALT_STEP_CREATE | RDMA_CM_ALT_STEP_BIND |
				 RDMA_CM_ALT_STEP_ADDR | RDMA_CM_ALT_STEP_ROUTE;
	cmd->out_connect_steps = cmd->out_resolve_steps;
	cmd->out_record_size = sizeof(struct rdma_cm_alt_event);
	cmd->out_max_backlog = RCA_MAX_BACKLOG;
	return rca_ucmd_respond(ucmd);
}

/* Execute entry @i of a batch, unless its result could not be written. */
static int execute_entry(struct rca_ucmd *ucmd, u32 i)
{
	const struct rdma_cm_alt_batch *cmd = ucmd->cmd;
	s32 __user *result = u64_to_user_ptr(cmd->results_uptr + (u64)i * sizeof(*result));
	void __user *entry = u64_to_user_ptr(cmd->entries_uptr + (u64)i * cmd->stride);
	int ret;

	if (put_user(0, result))
		return -EFAULT;
	ret = rca_ioctl(ucmd->ctx, _IO(RDMA_CM_ALT_IOC_TYPE, cmd->cmd), entry);
	/* An entry is not restarted after a signal. */
	if (ret == -ERESTARTSYS)
		ret = -EINTR;
	return put_user(ret, result);
}

static int cmd_batch(struct rca_ucmd *ucmd)
{
	struct rdma_cm_alt_batch *cmd = ucmd->cmd;
	const struct row *row = NULL;
	int ret = 0;
	u32 i;

	if (cmd->cmd <= U8_MAX)
		row = find_row(_IO(RDMA_CM_ALT_IOC_TYPE, cmd->cmd));
	if (!row || row->alone || cmd->stride < row->min_size)
		return -EINVAL;
	for (i = 0; i < cmd->count && !ret; i++) {
		/* A task that is stopped or frozen has a signal, too. One entry is always tried. */
		if (i && signal_pending(current))
			break;
		ret = execute_entry(ucmd, i);
		cond_resched();
	}
	cmd->out_done = ret ? i - 1 : i;
	return rca_ucmd_respond(ucmd) ?: ret;
}

/*
 * The character device /dev/rdma_cm_alt: an open of it is a context.
 *
 * Locking: none.
 */

static int chardev_open(struct inode *inode, struct file *file)
{
	struct rca_ctx *ctx = rca_ctx_create();

	if (IS_ERR(ctx))
		return PTR_ERR(ctx);
	file->private_data = ctx;	/* put in chardev_release() */
	return nonseekable_open(inode, file);
}

static int chardev_release(struct inode *inode, struct file *file)
{
	struct rca_ctx *ctx = file->private_data;

	rca_ctx_shutdown(ctx);
	rca_ctx_put(ctx);
	return 0;
}

static long chardev_ioctl(struct file *file, unsigned int cmd, unsigned long arg)
{
	return rca_ioctl(file->private_data, cmd, (void __user *)arg);
}

static const struct file_operations chardev_fops = {
	.owner = THIS_MODULE,
	.open = chardev_open,
	.release = chardev_release,
	.unlocked_ioctl = chardev_ioctl,
	.compat_ioctl = compat_ptr_ioctl,
};

/* Usable by everyone, as the stock device; ports below 1024 need CAP_NET_BIND_SERVICE. */
static struct miscdevice chardev = {
	.minor = MISC_DYNAMIC_MINOR,
	.name = "rdma_cm_alt",
	.nodename = "rdma_cm_alt",
	.fops = &chardev_fops,
	.mode = 0666,
};

/* Module init, after everything else. Returns 0 or a negative errno. */
int rca_chardev_init(void)
{
	return rca_misc_register(&chardev);
}

/* Module exit; no file is open. */
void rca_chardev_exit(void)
{
	misc_deregister(&chardev);
}
