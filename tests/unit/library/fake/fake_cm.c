// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * The CM of the fake kernel: what happens to the id at one end when the other end makes a call.
 *
 * Locking: that of the fake kernel, which calls all but the last functions with it held.
 */
#include "fake/fake_cm.h"

#include <errno.h>
#include <string.h>
#include <infiniband/verbs.h>
#include <rdma/rdma_cma.h>

#include "fake/fake_cm_id.h"
#include "fake/fake_kernel.h"
#include "fake/fake_post.h"

/* Sizes of the private data in the messages of ib_cm; iWARP carries what was sent. */
#define REQ_DATA 56
#define REP_DATA 196
#define REJ_DATA 148

#define REJ_INVALID_SERVICE_ID 8
#define REJ_CONSUMER 28

struct fake_cm fake_cm;

static void report_event(__u32 type, __u32 handle, int status)
{
	struct rdma_cm_alt_event event;

	if (!fake_cm_alive(handle))
		return;
	event = fake_event(type, handle);
	event.status = status;
	fake_post_locked(&event);
}

/* Private data have the size of their field, with zeros at the end. */
static void add_data(struct rdma_cm_alt_event *event, __u64 uptr, __u32 len, __u16 field)
{
	if (len)
		memcpy(event->private_data, (const void *)(uintptr_t)uptr, len);
	event->private_data_len = fake_cm_iwarp() ? (__u16)len : field;
	event->flags |= RDMA_CM_ALT_EVENT_F_CONN;
}

static void add_param(struct rdma_cm_alt_event *event,
		      const struct rdma_cm_alt_conn_param *param, __u16 field)
{
	event->qp_num = param->qp_num;
	/* From the view of who receives them. */
	event->responder_resources = param->initiator_depth;
	event->initiator_depth = param->responder_resources;
	event->flow_control = param->flow_control;
	event->retry_count = param->retry_count;
	event->rnr_retry_count = param->rnr_retry_count;
	event->srq = param->srq;
	add_data(event, param->private_data_uptr, param->private_data_len, field);
}

static void send_message(struct rdma_cm_alt_event *event)
{
	if (fake_cm.on_message)
		fake_cm.on_message(event);
	fake_post_locked(event);
}

static void take_param(struct fake_cm_id *id, const struct rdma_cm_alt_conn_param *param)
{
	id->qp_num = param->qp_num;
	id->rnr_retry = param->rnr_retry_count;
}

static int send_request(__u32 handle, __u32 listener, const struct rdma_cm_alt_connect *cmd)
{
	__u32 child = fake_child_locked(listener);
	struct rdma_cm_alt_event event;

	if (!child)
		return -ENOMEM;
	fake_cm_ids[child] = (struct fake_cm_id) {
		.state = CM_REQ_RCVD,
		.ps = fake_cm_ids[handle].ps,
		.qp_type = fake_cm_ids[handle].qp_type,
		.src = fake_cm_ids[handle].dst,
		.dst = fake_cm_ids[handle].src,
		.listener = listener,
		.peer = handle,
	};
	fake_cm_ids[handle].peer = child;
	event = fake_event(RDMA_CM_ALT_EVENT_CONNECT_REQUEST, child);
	event.cookie = fake.ids[listener].cookie;
	event.listen_id = listener;
	add_param(&event, &cmd->param, REQ_DATA);
	send_message(&event);
	return 0;
}

static int do_connect(struct rdma_cm_alt_connect *cmd)
{
	struct fake_cm_id *id = &fake_cm_ids[cmd->pipe.id % FAKE_MAX_IDS];
	__u32 listener;

	if (cmd->pipe.steps || id->qp_type == IBV_QPT_UD || fake.meanwhile)
		return FAKE_CANNED;
	if (!fake_cm_alive(cmd->pipe.id))
		return -ENOENT;
	if (id->state != CM_IDLE || !id->dst.family ||
	    (!fake_cm_iwarp() && cmd->param.private_data_len > REQ_DATA))
		return -EINVAL;
	take_param(id, &cmd->param);
	id->state = CM_REQ_SENT;
	cmd->out_id = cmd->pipe.id;
	cmd->out_queue_fd = -1;
	if (fake_cm.silent)
		return 0;
	listener = fake_cm_listener(id);
	if (listener)
		return send_request(cmd->pipe.id, listener, cmd);
	report_event(RDMA_CM_ALT_EVENT_REJECTED, cmd->pipe.id,
		     fake_cm_iwarp() ? -ECONNREFUSED : REJ_INVALID_SERVICE_ID);
	return 0;
}

static int do_listen(struct rdma_cm_alt_listen *cmd)
{
	struct rdma_cm_alt_sockaddr any = { .family = AF_INET };
	struct fake_cm_id *id = &fake_cm_ids[cmd->id % FAKE_MAX_IDS];
	int ret = 0;

	if (!fake_cm_alive(cmd->id))
		return -ENOENT;
	if (!id->src.family)
		ret = fake_cm_bind(cmd->id, &any);
	if (ret)
		return ret;
	id->state = CM_LISTEN;
	fake_cm_route(cmd->id, &cmd->out_route);
	return 0;
}

static int do_accept(const struct rdma_cm_alt_accept *cmd)
{
	struct fake_cm_id *id = &fake_cm_ids[cmd->id % FAKE_MAX_IDS];
	struct rdma_cm_alt_event event;
	struct fake_cm_id *peer = &fake_cm_ids[id->peer];

	if (!fake_cm_alive(cmd->id))
		return -ENOENT;
	if (id->qp_type == IBV_QPT_UD)
		return FAKE_CANNED;
	if (id->state != CM_REQ_RCVD)
		return -EINVAL;
	take_param(id, &cmd->param);
	fake.ids[cmd->id].cookie = cmd->cookie;
	id->state = CM_REP_SENT;
	if (!fake_cm_alive(id->peer))
		return 0;
	peer->state = CM_REP_RCVD;
	event = fake_event(RDMA_CM_ALT_EVENT_CONNECT_RESPONSE, id->peer);
	add_param(&event, &cmd->param, REP_DATA);
	if (fake_cm_iwarp()) {
		/* There is no third message: both are connected now. */
		id->state = CM_UP;
		peer->state = CM_UP;
		event.type = RDMA_CM_ALT_EVENT_ESTABLISHED;
		fake_qp_connect(id->qp_num, peer->qp_num);
		report_event(RDMA_CM_ALT_EVENT_ESTABLISHED, cmd->id, 0);
	}
	send_message(&event);
	return 0;
}

static int do_establish(const struct rdma_cm_alt_establish *cmd)
{
	struct fake_cm_id *id = &fake_cm_ids[cmd->id % FAKE_MAX_IDS];

	if (!fake_cm_alive(cmd->id))
		return -ENOENT;
	if (id->state != CM_REP_RCVD)
		return -EINVAL;
	id->state = CM_UP;
	if (fake_cm_alive(id->peer)) {
		fake_cm_ids[id->peer].state = CM_UP;
		report_event(RDMA_CM_ALT_EVENT_ESTABLISHED, id->peer, 0);
	}
	return 0;
}

/* The answer to a request is no. */
static void refuse(struct fake_cm_id *id, int reason, __u64 data_uptr, __u32 data_len)
{
	struct rdma_cm_alt_event event;

	id->state = CM_DOWN;
	if (!fake_cm_alive(id->peer) || fake_cm_ids[id->peer].state != CM_REQ_SENT)
		return;
	fake_cm_ids[id->peer].state = CM_IDLE;
	event = fake_event(RDMA_CM_ALT_EVENT_REJECTED, id->peer);
	event.status = fake_cm_iwarp() ? -ECONNREFUSED : reason;
	add_data(&event, data_uptr, data_len, REJ_DATA);
	send_message(&event);
}

static int do_reject(const struct rdma_cm_alt_reject *cmd)
{
	struct fake_cm_id *id = &fake_cm_ids[cmd->id % FAKE_MAX_IDS];

	if (!fake_cm_alive(cmd->id))
		return -ENOENT;
	if (id->state != CM_REQ_RCVD || cmd->private_data_len > REJ_DATA)
		return -EINVAL;
	refuse(id, cmd->reason ? (int)cmd->reason : REJ_CONSUMER, cmd->private_data_uptr,
	       cmd->private_data_len);
	return 0;
}

/* The peer of an id gets the DREQ, which the module answers. */
static void disconnect_peer(struct fake_cm_id *id)
{
	id->state = CM_DOWN;
	if (fake_cm_alive(id->peer) && fake_cm_ids[id->peer].state != CM_DOWN) {
		fake_cm_ids[id->peer].state = CM_DOWN;
		report_event(RDMA_CM_ALT_EVENT_DISCONNECTED, id->peer, 0);
	}
}

static int do_disconnect(const struct rdma_cm_alt_disconnect *cmd)
{
	struct fake_cm_id *id = &fake_cm_ids[cmd->id % FAKE_MAX_IDS];

	if (!fake_cm_alive(cmd->id))
		return -ENOENT;
	if (id->state == CM_REP_SENT || id->state == CM_REP_RCVD || id->state == CM_UP)
		disconnect_peer(id);
	else
		return id->state == CM_DOWN ? 0 : -EINVAL;
	report_event(RDMA_CM_ALT_EVENT_DISCONNECTED, cmd->id, 0);
	return 0;
}

/* What the peer of an id learns when it is destroyed. */
static void leave(__u32 handle)
{
	struct fake_cm_id *id = &fake_cm_ids[handle];

	if (id->state == CM_REQ_RCVD)
		refuse(id, REJ_CONSUMER, 0, 0);
	else if (id->state == CM_REP_SENT || id->state == CM_REP_RCVD || id->state == CM_UP)
		disconnect_peer(id);
	id->state = CM_IDLE;
}

static void closed(int fd)
{
	__u32 h;

	for (h = 1; h < FAKE_MAX_IDS; h++) {
		if (!fake_cm_alive(h) || fake.ids[h].fd != fd)
			continue;
		fake.ids[h].alive = false;
		leave(h);
	}
}

static int do_qp_attr(struct rdma_cm_alt_qp_attr_get *cmd)
{
	struct rdma_cm_alt_qp_attr qp;

	if (!fake_cm_alive(cmd->id))
		return -ENOENT;
	fake_cm_qp_attr(cmd->id, &qp);
	cmd->out_attr = qp.attr;
	cmd->out_attr.qp_attr_mask = cmd->qp_state == IBV_QPS_INIT ? qp.init_mask :
				     cmd->qp_state == IBV_QPS_RTR ? qp.rtr_mask : qp.rts_mask;
	return 0;
}

static int do_option(const struct rdma_cm_alt_option *cmd)
{
	if (fake_cm_alive(cmd->id) && cmd->level == RDMA_OPTION_ID &&
	    cmd->optname == RDMA_OPTION_ID_REUSEADDR)
		fake_cm_ids[cmd->id].reuse = *(const int *)(uintptr_t)cmd->optval_uptr;
	return FAKE_CANNED;
}

static int command(unsigned int cmd, void *arg)
{
	switch (cmd) {
	case RDMA_CM_ALT_CMD_CONNECT:
		return do_connect(arg);
	case RDMA_CM_ALT_CMD_LISTEN:
		return do_listen(arg);
	case RDMA_CM_ALT_CMD_ACCEPT:
		return do_accept(arg);
	case RDMA_CM_ALT_CMD_REJECT:
		return do_reject(arg);
	case RDMA_CM_ALT_CMD_ESTABLISH:
		return do_establish(arg);
	case RDMA_CM_ALT_CMD_DISCONNECT:
		return do_disconnect(arg);
	case RDMA_CM_ALT_CMD_QP_ATTR:
		return do_qp_attr(arg);
	case RDMA_CM_ALT_CMD_QUERY:
		fake_cm_route(((struct rdma_cm_alt_query *)arg)->id,
			      &((struct rdma_cm_alt_query *)arg)->out_route);
		return 0;
	case RDMA_CM_ALT_CMD_SET_OPTION:
		return do_option(arg);
	case RDMA_CM_ALT_CMD_DESTROY:
		if (fake_cm_alive(((struct rdma_cm_alt_destroy *)arg)->id))
			leave(((struct rdma_cm_alt_destroy *)arg)->id);
		return FAKE_CANNED;
	default:
		return FAKE_CANNED;
	}
}

static const struct fake_cm_ops cm_ops = {
	.place = fake_cm_place,
	.fill = fake_cm_fill,
	.command = command,
	.closed = closed,
};

void fake_cm_install(void)
{
	fake_cm_ids_reset();
	memset(&fake_cm, 0, sizeof(fake_cm));
	fake.cm = &cm_ops;
}

void fake_cm_time_out(__u32 handle)
{
	fake_kernel_lock();
	fake_cm_ids[handle].state = CM_IDLE;
	report_event(RDMA_CM_ALT_EVENT_UNREACHABLE, handle, -ETIMEDOUT);
	fake_kernel_unlock();
}
