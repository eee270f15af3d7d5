// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/* The effect of an ioctl on ids, queues and memberships, and the errnos that it may return. */
#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <rdma/rdma_user_cm.h>
#include <string.h>
#include <sys/ioctl.h>

#include "fuzz.h"
#include "tables.h"

bool errno_documented(uint32_t cmd, int err)
{
	const short *known = documented[_IOC_NR(cmd) - RDMA_CM_ALT_CMD_BASE];

	for (int i = 0; i < MAX_ERRNOS && known[i]; i++)
		if (known[i] == err)
			return true;
	return false;
}

static void new_queue(struct ctx *ctx, int fd)
{
	if (fd >= 0)
		known_queue_add(ctx, fd, sizeof(event_t), 0);
}

static void pipeline(struct ctx *ctx, const struct rdma_cm_alt_pipeline *pipe, uint32_t id, int fd)
{
	if (pipe->steps & RDMA_CM_ALT_STEP_CREATE)
		known_id_add(ctx, id, pipe->cookie, true);
	else if (id != pipe->id)
		complain("the answer names id %u, not %u", id, pipe->id);
	new_queue(ctx, fd);
}

static void new_cookie(struct ctx *ctx, uint32_t handle, uint64_t cookie)
{
	struct id *id = known_id(ctx, handle);

	if (!id)
		return;
	id->cookie = cookie;
	id->sure = true;
}

static void listening(const struct rdma_cm_alt_listen *cmd, size_t size)
{
	struct sockaddr_in in;

	if (size < sizeof(*cmd))
		return;
	memcpy(&in, &cmd->out_route.src, sizeof(in));
	if (in.sin_family == AF_INET || in.sin_family == AF_INET6)
		known_listener = ntohs(in.sin_port);
}

static void got_option(const struct rdma_cm_alt_option *cmd)
{
	if (cmd->level != RDMA_OPTION_IB || cmd->optname != RDMA_OPTION_IB_PATH)
		return;
	known_path_count = cmd->optlen / sizeof(known_paths[0]);
	if (known_path_count > 2)
		complain("%u paths", known_path_count);
	memcpy(known_paths, (const void *)(uintptr_t)cmd->optval_uptr, cmd->optlen);
}

static void moved(struct ctx *ctx, const struct rdma_cm_alt_set_queue *cmd)
{
	known_reported(ctx, "SET_QUEUE", cmd->id, cmd->out_events_reported);
	new_queue(ctx, cmd->out_queue_fd);
	if (cmd->flags & RDMA_CM_ALT_SET_QUEUE_COOKIE)
		new_cookie(ctx, cmd->id, cmd->cookie);
}

static void destroyed(struct ctx *ctx, const struct rdma_cm_alt_destroy *cmd, size_t size)
{
	if (size >= sizeof(*cmd))
		known_reported(ctx, "DESTROY", cmd->id, cmd->out_events_reported);
	known_id_gone(ctx, cmd->id);
}

static void left(struct ctx *ctx, const struct rdma_cm_alt_leave *cmd, size_t size)
{
	if (size >= sizeof(*cmd))
		known_member_reported(ctx, "LEAVE", cmd->member, cmd->out_events_reported);
	known_member_gone(ctx, cmd->member);
}

static void got_event(struct ctx *ctx, const struct rdma_cm_alt_get_event *cmd)
{
	known_event(ctx, (const void *)(uintptr_t)cmd->record_uptr,
		    cmd->record_len < 4096 ? cmd->record_len : 4096);
}

/* Updates the objects after an ioctl. @data: its struct with the answer. */
void answer_judge(struct ctx *ctx, const struct row *row, const uint8_t *data, size_t size, int ret)
{
	union {
		uint8_t bytes[4096];
		struct rdma_cm_alt_queue_create queue;
		struct rdma_cm_alt_resolve resolve;
		struct rdma_cm_alt_connect connect;
		struct rdma_cm_alt_listen listen;
		struct rdma_cm_alt_accept accept;
		struct rdma_cm_alt_option option;
		struct rdma_cm_alt_set_queue move;
		struct rdma_cm_alt_get_event event;
		struct rdma_cm_alt_join join;
		struct rdma_cm_alt_leave leave;
		struct rdma_cm_alt_destroy destroy;
	} cmd = {};
	struct id *id;

	memcpy(&cmd, data, size < sizeof(cmd) ? size : sizeof(cmd));
	if (ret) {
		/* An ACCEPT that failed may have set the cookie of a request. */
		id = known_id(ctx, cmd.accept.id);
		if (row->cmd == RDMA_CM_ALT_ACCEPT && id && !id->accepted)
			id->sure = false;
		return;
	}
	switch (row->cmd) {
	case RDMA_CM_ALT_QUEUE_CREATE:
		known_queue_add(ctx, cmd.queue.out_fd, cmd.queue.record_size ?: sizeof(event_t),
				size >= sizeof(cmd.queue) ? cmd.queue.out_ring_bytes : 0);
		break;
	case RDMA_CM_ALT_RESOLVE:
		pipeline(ctx, &cmd.resolve.pipe, cmd.resolve.out_id, cmd.resolve.out_queue_fd);
		break;
	case RDMA_CM_ALT_CONNECT:
		pipeline(ctx, &cmd.connect.pipe, cmd.connect.out_id, cmd.connect.out_queue_fd);
		break;
	case RDMA_CM_ALT_LISTEN:
		listening(&cmd.listen, size);
		break;
	case RDMA_CM_ALT_ACCEPT:
		new_cookie(ctx, cmd.accept.id, cmd.accept.cookie);
		id = known_id(ctx, cmd.accept.id);
		if (id)
			id->accepted = true;
		break;
	case RDMA_CM_ALT_GET_OPTION:
		got_option(&cmd.option);
		break;
	case RDMA_CM_ALT_SET_QUEUE:
		moved(ctx, &cmd.move);
		break;
	case RDMA_CM_ALT_GET_EVENT:
		got_event(ctx, &cmd.event);
		break;
	case RDMA_CM_ALT_JOIN:
		known_member_add(ctx, cmd.join.out_member);
		break;
	case RDMA_CM_ALT_LEAVE:
		left(ctx, &cmd.leave, size);
		break;
	case RDMA_CM_ALT_DESTROY:
		destroyed(ctx, &cmd.destroy, size);
		break;
	default:
		break;
	}
}
