// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * Queue pairs of local addresses.
 *
 * Sends and receives have separate completion queues; only those that a thread waits for are armed.
 * The channels are in the epoll instance that is the descriptor of the socket. The id does not have
 * the port of the UDP socket, because no peer looks it up.
 *
 * Locking: rcl_sock.lock.
 */
#include "rsocket/dgram/local.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/epoll.h>

#include "base/err.h"
#include "id/cmid.h"
#include "rsocket/channels.h"
#include "rsocket/dgram/way.h"

#define QKEY 0x01234567

/* Bytes that the adapter puts before a received datagram. */
#define GRH_LEN sizeof(struct ibv_grh)
#define RECV_LEN (GRH_LEN + RCL_SLOT_LEN)

#define BATCH 16
#define MTU_UNIT 128

static uint8_t *recv_buf(const struct rcl_local *local, uint32_t slot)
{
	return local->mem + slot * RECV_LEN;
}

static uint8_t *send_buf(const struct rcl_local *local, uint32_t slot)
{
	return local->mem + local->rq_size * RECV_LEN + (size_t)slot * RCL_SLOT_LEN;
}

static int set_sizes(struct rcl_local *local, const struct rcl_sock *sock)
{
	const struct rcl_device *device = rcl_id_of(local->id)->device;
	uint32_t most = device && device->max_qp_wr ? device->max_qp_wr : UINT32_MAX;

	local->rq_size = sock->rq_size < most ? sock->rq_size : most;
	local->sq_size = sock->sq_size < most ? sock->sq_size : most;
	local->inline_len = sock->inline_len;
	local->slots = calloc(local->rq_size, sizeof(*local->slots));
	local->ways = calloc(local->sq_size, sizeof(struct rcl_way *));
	local->free = calloc(local->sq_size, sizeof(*local->free));
	return local->slots && local->ways && local->free ? 0 : -ENOMEM;
}

static int bind_id(struct rcl_dgram *d, struct rcl_local *local)
{
	union rcl_inet addr = local->addr;
	struct ibv_port_attr port;
	int ret;

	if (rdma_create_id(d->channel, &local->id, NULL, RDMA_PS_UDP)) {
		local->id = NULL;
		return rcl_errno();
	}
	addr.sin.sin_port = 0;
	if (rdma_bind_addr(local->id, &addr.sa))
		return rcl_errno();
	if (!local->id->verbs)
		return -ENODEV;
	ret = ibv_query_port(local->id->verbs, local->id->port_num, &port);
	if (ret)
		return rcl_verbs_err(ret);
	local->mtu = MTU_UNIT << port.active_mtu;
	local->needs_grh = port.link_layer == IBV_LINK_LAYER_ETHERNET;
	return 0;
}

static int create_queues(struct rcl_dgram *d, struct rcl_local *local)
{
	struct epoll_event event = { .events = EPOLLIN, .data.ptr = local };
	struct ibv_context *verbs = local->id->verbs;
	int flags;

	local->comp = rcl_comp_channel(verbs);
	if (!local->comp)
		return rcl_errno();
	flags = fcntl(local->comp->fd, F_GETFL);
	fcntl(local->comp->fd, F_SETFL, flags | O_NONBLOCK);
	local->recv_cq.cq = ibv_create_cq(verbs, (int)local->rq_size, local, local->comp, 0);
	if (!local->recv_cq.cq)
		return rcl_errno();
	local->send_cq.cq = ibv_create_cq(verbs, (int)local->sq_size, local, local->comp, 0);
	if (!local->send_cq.cq)
		return rcl_errno();
	return epoll_ctl(d->sock.fd, EPOLL_CTL_ADD, local->comp->fd, &event) ? rcl_errno() : 0;
}

static int create_qp(struct rcl_local *local)
{
	struct ibv_qp_init_attr attr = {
		.qp_context = local,
		.send_cq = local->send_cq.cq,
		.recv_cq = local->recv_cq.cq,
		.qp_type = IBV_QPT_UD,
		.sq_sig_all = 1,
		.cap.max_send_wr = local->sq_size,
		.cap.max_recv_wr = local->rq_size,
		.cap.max_send_sge = 1,
		.cap.max_recv_sge = 1,
		.cap.max_inline_data = local->inline_len,
	};

	if (rdma_create_qp(local->id, NULL, &attr))
		return rcl_errno();
	local->inline_len = attr.cap.max_inline_data;
	return 0;
}

static int create_buffers(struct rcl_local *local)
{
	size_t len = local->rq_size * RECV_LEN + (size_t)local->sq_size * RCL_SLOT_LEN;
	uint32_t slot;
	int ret = rcl_pages_get(&local->pages, len);

	if (ret)
		return ret;
	local->mem = local->pages.start;
	local->mr = ibv_reg_mr(local->id->pd, local->mem, local->pages.len,
			       IBV_ACCESS_LOCAL_WRITE);
	if (!local->mr)
		return rcl_errno();
	for (slot = 0; slot < local->rq_size; slot++) {
		local->slots[slot].local = local;
		local->slots[slot].slot = slot;
		rcl_local_post_recv(local, slot);
	}
	for (slot = 0; slot < local->sq_size; slot++)
		local->free[slot] = (uint16_t)slot;
	local->free_count = local->sq_size;
	return local->dead ? -EIO : 0;
}

/* The ways are freed with their peers. */
static void destroy(struct rcl_local *local)
{
	uint32_t slot;

	if (local->id && local->id->qp)
		rdma_destroy_qp(local->id);
	for (slot = 0; local->ways && slot < local->sq_size; slot++)
		rcl_way_put(local->ways[slot]);
	if (local->mr)
		ibv_dereg_mr(local->mr);
	rcl_pages_put(&local->pages);
	rcl_cq_destroy(&local->send_cq);
	rcl_cq_destroy(&local->recv_cq);
	if (local->comp)
		ibv_destroy_comp_channel(local->comp);
	if (local->id)
		rdma_destroy_id(local->id);
	free(local->slots);
	free(local->ways);
	free(local->free);
	free(local);
}

static int create(struct rcl_dgram *d, struct rcl_local *local)
{
	int ret = bind_id(d, local);

	if (!ret)
		ret = set_sizes(local, &d->sock);
	if (!ret)
		ret = create_queues(d, local);
	if (!ret)
		ret = create_qp(local);
	if (!ret)
		ret = create_buffers(local);
	return ret;
}

static bool is_used(const struct rcl_dgram *d, const struct rcl_local *local)
{
	struct rcl_datagram *gram;

	STAILQ_FOREACH(gram, &d->queue, next) {
		if (gram->local == local)
			return true;
	}
	return local->waits;
}

struct rcl_local *rcl_local_dead(const struct rcl_dgram *d)
{
	struct rcl_local *local = d->locals;

	while (local && (!local->dead || is_used(d, local)))
		local = local->next;
	return local;
}

void rcl_local_free(struct rcl_dgram *d, struct rcl_local *local)
{
	struct rcl_local **at = &d->locals;

	while (*at != local)
		at = &(*at)->next;
	*at = local->next;
	d->local_count--;
	destroy(local);
}

int rcl_local_get(struct rcl_dgram *d, const union rcl_inet *addr, struct rcl_local **out)
{
	struct rcl_local *local;
	int ret;

	for (local = d->locals; local; local = local->next) {
		if (!local->dead && rcl_inet_same_host(&local->addr, addr)) {
			*out = local;
			return 0;
		}
	}
	if (d->local_count == RCL_LOCALS_MOST)
		return -ENOBUFS;
	local = calloc(1, sizeof(*local));
	if (!local)
		return -ENOMEM;
	local->addr = *addr;
	ret = create(d, local);
	if (ret) {
		destroy(local);
		return ret;
	}
	local->next = d->locals;
	d->locals = local;
	d->local_count++;
	*out = local;
	/* Threads that wait for datagrams have to arm its queue, too. */
	rcl_sock_changed(&d->sock);
	return 0;
}

void rcl_local_free_all(struct rcl_dgram *d)
{
	struct rcl_local *local;

	while ((local = d->locals)) {
		d->locals = local->next;
		destroy(local);
	}
}

void rcl_local_post_recv(struct rcl_local *local, uint32_t slot)
{
	struct ibv_sge sge = {
		.addr = (uintptr_t)recv_buf(local, slot),
		.length = RECV_LEN,
		.lkey = local->mr->lkey,
	};
	struct ibv_recv_wr wr = { .wr_id = slot, .sg_list = &sge, .num_sge = 1 }, *bad;

	if (!local->dead && ibv_post_recv(local->id->qp, &wr, &bad))
		local->dead = true;
}

const uint8_t *rcl_local_received(const struct rcl_local *local, uint32_t slot)
{
	return recv_buf(local, slot) + GRH_LEN;
}

uint8_t *rcl_local_send_buf(const struct rcl_local *local)
{
	return send_buf(local, local->free[local->free_count - 1]);
}

int rcl_local_send(struct rcl_local *local, struct rcl_way *way, size_t len)
{
	uint16_t slot = local->free[local->free_count - 1];
	struct ibv_sge sge = {
		.addr = (uintptr_t)send_buf(local, slot),
		.length = (uint32_t)len,
		.lkey = local->mr->lkey,
	};
	struct ibv_send_wr wr = {
		.wr_id = slot,
		.sg_list = &sge,
		.num_sge = 1,
		.opcode = IBV_WR_SEND,
		.send_flags = len <= local->inline_len ? IBV_SEND_INLINE : 0,
		.wr.ud.ah = way->ah,
		.wr.ud.remote_qpn = way->qpn,
		.wr.ud.remote_qkey = QKEY,
	};
	struct ibv_send_wr *bad;
	int ret = rcl_verbs_err(ibv_post_send(local->id->qp, &wr, &bad));

	if (ret)
		return ret;
	local->free_count--;
	local->ways[slot] = rcl_way_hold(way);
	return 0;
}

void rcl_local_kill(struct rcl_dgram *d, struct rcl_local *local)
{
	local->dead = true;
	epoll_ctl(d->sock.fd, EPOLL_CTL_DEL, local->comp->fd, NULL);
}

/* Restarts the sends of a queue pair after a failed one, which does not stop the receives. */
static void go_on(struct rcl_local *local, enum ibv_wc_status status)
{
	struct ibv_qp_attr attr = { .qp_state = IBV_QPS_RTS, .cur_qp_state = IBV_QPS_SQE };

	if (status != IBV_WC_WR_FLUSH_ERR &&
	    ibv_modify_qp(local->id->qp, &attr, IBV_QP_STATE | IBV_QP_CUR_STATE))
		local->dead = true;
}

void rcl_local_reap(struct rcl_local *local)
{
	struct ibv_wc wc[BATCH];
	int i, count;

	do {
		count = ibv_poll_cq(local->send_cq.cq, BATCH, wc);
		for (i = 0; i < count; i++) {
			struct rcl_way **way = &local->ways[wc[i].wr_id];

			if (wc[i].status != IBV_WC_SUCCESS) {
				(*way)->failed = true;
				go_on(local, wc[i].status);
			}
			rcl_way_put(*way);
			*way = NULL;
			local->free[local->free_count++] = (uint16_t)wc[i].wr_id;
		}
	} while (count == BATCH);
	if (count < 0)
		local->dead = true;
}
