// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * rdma_alt_connect(): create, resolve and connect one id, or many, in one system call.
 *
 * Locking: none of its own. A reference keeps the id over the command, during which another
 * thread may get its event and destroy it.
 */
#include <rdma/rdma_cma_alt.h>
#include <stdlib.h>
#include <string.h>

#include "api/init.h"
#include "base/compiler.h"
#include "base/err.h"
#include "base/log.h"
#include "base/reason.h"
#include "base/sockaddr.h"
#include "core/batch.h"
#include "core/channel.h"
#include "core/context.h"
#include "core/process.h"
#include "core/ring.h"
#include "event/event.h"
#include "id/cmid.h"
#include "id/qp.h"
#include "id/report.h"
#include "id/stockconf.h"

#define MAX_RETRIES 7
#define STEPS_RESOLVE (RDMA_CM_ALT_STEP_ADDR | RDMA_CM_ALT_STEP_ROUTE)

/* Commands of one batch; each has some hundred bytes. */
#define CHUNK 256

/**
 * struct connect_entry - an id that is being connected
 * @id: the id, with a reference; NULL: it failed before the command
 * @cmd: its command
 */
struct connect_entry {
	struct rcl_id *id;
	struct rdma_cm_alt_connect cmd;
};

static int check_attr(const struct rdma_alt_connect_attr *attr)
{
	const struct rdma_conn_param *p = attr->conn_param;

	if (attr->comp_mask || (unsigned int)attr->ps > UINT16_MAX || attr->timeout_ms <= 0)
		return -EINVAL;
	if (!rcl_addr_len(attr->dst_addr) || (attr->src_addr && !rcl_addr_len(attr->src_addr)))
		return -EINVAL;
	if (p && (p->responder_resources == RDMA_MAX_RESP_RES ||
		  p->initiator_depth == RDMA_MAX_INIT_DEPTH))
		return -EINVAL;
	return attr->channel && attr->channel->fd < 0 ? -EBADF : 0;
}

static uint8_t clamp_retries(uint8_t wanted)
{
	return wanted < MAX_RETRIES ? wanted : MAX_RETRIES;
}

static void fill_param(struct rcl_id *id, const struct rdma_conn_param *p,
		       struct rdma_cm_alt_conn_param *out)
{
	static const struct rdma_conn_param none = {
		.retry_count = MAX_RETRIES, .rnr_retry_count = MAX_RETRIES,
	};

	p = p ? p : &none;
	id->responder_resources = p->responder_resources;
	id->initiator_depth = p->initiator_depth;
	*out = (struct rdma_cm_alt_conn_param) {
		.qp_num = id->id.qp ? id->id.qp->qp_num : p->qp_num,
		.srq = id->id.qp ? !!id->id.qp->srq : p->srq,
		.responder_resources = p->responder_resources,
		.initiator_depth = p->initiator_depth,
		.flow_control = p->flow_control,
		.retry_count = clamp_retries(p->retry_count),
		.rnr_retry_count = clamp_retries(p->rnr_retry_count),
		.private_data_uptr = p->private_data_len ? (uintptr_t)p->private_data : 0,
		.private_data_len = p->private_data ? p->private_data_len : 0,
		.ece_vendor_id = id->local_ece.vendor_id,
		.ece_attr_mod = id->local_ece.options,
	};
}

/* Stores the descriptor of the new queue of a synchronous id. */
static void set_queue_fd(struct rcl_id *id, int fd)
{
	rcl_ring_remove(fd);	/* a ring of a descriptor that the program has closed */
	rcl_process_made_fd(fd);
	id->id.channel->fd = fd;
}

/* If there are defaults for ports, creates the id first: they are set before it has an address. */
static int create_id_first(struct rcl_id *id, struct rdma_cm_alt_pipeline *pipe)
{
	struct rdma_cm_alt_resolve cmd = { .pipe = *pipe, .out_queue_fd = -1 };
	int ret;

	cmd.pipe.steps = RDMA_CM_ALT_STEP_CREATE;
	cmd.pipe.timeout_ms = 0;
	ret = RCL_CALL_WITHOUT(RESOLVE, &cmd, out_route);
	if (!ret)
		ret = rcl_id_check_created(id, cmd.out_id, id->sync, cmd.out_queue_fd);
	if (ret)
		return ret;
	rcl_stockconf_apply(cmd.out_id);
	if (id->sync)
		set_queue_fd(id, cmd.out_queue_fd);
	*pipe = (struct rdma_cm_alt_pipeline) {
		.steps = STEPS_RESOLVE, .id = cmd.out_id, .queue_fd = -1,
		.timeout_ms = pipe->timeout_ms, .src = pipe->src, .dst = pipe->dst,
	};
	return 0;
}

/* Undoes prepare_connect(). */
static void undo_prepare(struct rcl_id *id)
{
	struct rdma_cm_alt_destroy cmd = { .id = id->handle };

	if (id->handle) {
		rcl_id_begin_revoke(id);
		RCL_CALL(DESTROY, &cmd);
		rcl_id_end_revoke(id);
	}
	id->id.qp = NULL;
	rcl_id_free(id);
}

static int fill_cmd(struct rcl_id *id, const struct rdma_alt_connect_attr *attr,
		    struct rdma_cm_alt_connect *cmd)
{
	struct rdma_cm_alt_pipeline *pipe = &cmd->pipe;
	int ret;

	if (attr->qp) {
		id->id.qp = attr->qp;
		ret = rcl_ece_start(id, attr->qp);
		if (ret)
			return ret;
	}
	*cmd = (struct rdma_cm_alt_connect) { .size = sizeof(*cmd), .out_queue_fd = -1 };
	pipe->steps = RDMA_CM_ALT_STEP_CREATE | STEPS_RESOLVE;
	pipe->flags = attr->channel ? 0 : RDMA_CM_ALT_PIPE_NEW_QUEUE;
	pipe->queue_fd = attr->channel ? attr->channel->fd : -1;
	pipe->timeout_ms = (uint32_t)attr->timeout_ms;
	pipe->cookie = id->cookie;
	pipe->ps = (uint16_t)id->id.ps;
	pipe->qp_type = rcl_id_connected_type(id->id.ps, id->id.qp_type);
	rcl_addr_to_kernel(&pipe->src, attr->src_addr);
	rcl_addr_to_kernel(&pipe->dst, attr->dst_addr);
	fill_param(id, attr->conn_param, &cmd->param);
	if (!attr->channel) {
		id->id.channel = rcl_channel_wrap(-1);
		if (!id->id.channel)
			return -ENOMEM;
	}
	return rcl_stockconf_present() ? create_id_first(id, pipe) : 0;
}

/* Everything before the command. */
static int prepare_connect(struct connect_entry *entry, const struct rdma_alt_connect_attr *attr)
{
	enum rdma_port_space ps = attr->ps ? attr->ps : RDMA_PS_TCP;
	enum ibv_qp_type type = IBV_QPT_RC;
	struct rcl_id *id;
	int ret;

	entry->id = NULL;
	ret = check_attr(attr);
	if (ret)
		return ret;
	if (rcl_refuse_channel(attr->channel, "rdma_alt_connect"))
		return -EACCES;
	if (ps == RDMA_PS_UDP || ps == RDMA_PS_IPOIB)
		type = IBV_QPT_UD;
	if (attr->qp)
		type = attr->qp->qp_type;
	rcl_ring_check_channel(attr->channel);
	id = rcl_id_new(attr->channel, attr->context, ps, type);
	if (!id)
		return -ENOMEM;
	ret = fill_cmd(id, attr, &entry->cmd);
	if (ret) {
		entry->cmd.size = 0;	/* the kernel skips it in a batch */
		undo_prepare(id);
		return ret;
	}
	entry->id = rcl_id_get(id->cookie);
	return 0;
}

/* Everything after the command with the result @ret. */
static int finish_connect(struct connect_entry *entry, int ret, struct rdma_cm_id **out)
{
	struct rcl_id *id = entry->id;
	bool queue = id->sync && id->id.channel->fd < 0;

	if (!ret)
		ret = rcl_id_check_created(id, entry->cmd.out_id, queue,
					   entry->cmd.out_queue_fd);
	if (!ret) {
		if (queue)
			set_queue_fd(id, entry->cmd.out_queue_fd);
		*out = &id->id;
	} else {
		undo_prepare(id);
	}
	rcl_id_put(id);
	return ret;
}

static struct rcl_addr_text peer_of(const struct rdma_alt_connect_attr *attr)
{
	static const struct sockaddr none;

	return rcl_addr_text(attr->dst_addr ? attr->dst_addr : &none);
}

static const char *connect_advice(int err)
{
	return err == -EINVAL ? "; are address, timeout, depths and private data right?" :
				rcl_errno_advice(err);
}

RCL_EXPORT int rdma_alt_connect(const struct rdma_alt_connect_attr *attr, struct rdma_cm_id **id)
{
	struct connect_entry entry;
	int ret;

	if (!attr || !id)
		return rcl_fail(-EINVAL, __func__, "no attributes, or no pointer for the id");
	ret = rcl_init();
	if (!ret)
		ret = prepare_connect(&entry, attr);
	if (!ret)
		ret = finish_connect(&entry, RCL_CALL(CONNECT, &entry.cmd), id);
	if (ret)
		return rcl_fail(ret, __func__, "peer %s: not started%s", peer_of(attr).s,
				connect_advice(ret));
	if (attr->channel)
		return 0;
	ret = rcl_complete(rcl_id_of(*id));
	if (!ret)
		return 0;
	rcl_fail_id(rcl_id_of(*id), ret, __func__, "no connection");
	(*id)->qp = NULL;
	rdma_destroy_id(*id);
	*id = NULL;
	errno = -ret;
	return -1;
}

/* Connects one batch of ids; returns how many were started. */
static int connect_chunk(const struct rdma_alt_connect_attr *attrs, int count,
			 struct rdma_cm_id **ids, int *errors, int *first)
{
	struct connect_entry *entries = calloc((size_t)count, sizeof(*entries));
	int32_t results[CHUNK] = { 0 };
	int i, ret, done = 0;

	for (i = 0; i < count; i++) {
		ids[i] = NULL;
		ret = entries ? -EINVAL : -ENOMEM;
		if (entries && attrs[i].channel)
			ret = prepare_connect(&entries[i], &attrs[i]);
		errors[i] = -ret;
	}
	if (entries)
		rcl_batch(RDMA_CM_ALT_CMD_CONNECT, &entries[0].cmd, sizeof(entries[0]),
			  (uint32_t)count, results);
	for (i = 0; i < count; i++) {
		if (!errors[i])
			errors[i] = -finish_connect(&entries[i], results[i], &ids[i]);
		if (errors[i])
			rcl_log("rdma_alt_connect_many: peer %s: not started%s: %s",
				peer_of(&attrs[i]).s,
				attrs[i].channel ? connect_advice(-errors[i]) :
				"; it needs a channel", strerror(errors[i]));
		done += !errors[i];
		*first = *first ? *first : errors[i];
	}
	free(entries);
	return done;
}

RCL_EXPORT int rdma_alt_connect_many(const struct rdma_alt_connect_attr *attrs, int count,
				     struct rdma_cm_id **ids, int *errors)
{
	int i, n, ret, first = 0, done = 0, own[CHUNK];

	if (count < 0 || (count && (!attrs || !ids)))
		return rcl_fail(-EINVAL, __func__, "no attributes or ids, or %d of them", count);
	ret = rcl_init();
	if (ret)
		return rcl_fail(ret, __func__, "no RDMA device");
	for (i = 0; i < count; i += n) {
		n = count - i < CHUNK ? count - i : CHUNK;
		done += connect_chunk(attrs + i, n, ids + i, errors ? errors + i : own, &first);
	}
	if (first && !done)
		return rcl_fail(-first, __func__, "none of %d was started", count);
	if (first)
		errno = first;
	return done;
}
