// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * Queue pairs of the connections. All share one completion queue: the adapter is not measured. A
 * connection carries at most one message in each direction, of which only receives complete.
 */
#include <err.h>
#include <poll.h>
#include <rdma/rdma_verbs.h>

#include "perf.h"

#define MESSAGE 64
/* Completions that nobody has polled yet, at most one for each connection under way. */
#define ENTRIES 256

static char memory[2 * MESSAGE];
static struct ibv_pd *pd;
static struct ibv_mr *mr;
static struct ibv_comp_channel *completions;
static struct ibv_cq *cq;

static void make_cq(struct ibv_context *verbs)
{
	if (options.messages) {
		completions = ibv_create_comp_channel(verbs);
		if (!completions)
			give_up("ibv_create_comp_channel");
	}
	cq = ibv_create_cq(verbs, ENTRIES, NULL, completions, 0);
	if (!cq || (completions && ibv_req_notify_cq(cq, 0)))
		give_up("ibv_create_cq");
}

static struct ibv_qp_init_attr qp_attr(struct ibv_context *verbs)
{
	if (!cq)
		make_cq(verbs);
	return (struct ibv_qp_init_attr) {
		.qp_type = IBV_QPT_RC, .send_cq = cq, .recv_cq = cq,
		.cap = { .max_send_wr = 1, .max_recv_wr = 1, .max_send_sge = 1, .max_recv_sge = 1 },
	};
}

/* Makes the QP of an id; if it will carry messages, its receive is posted. */
int make_qp(struct rdma_cm_id *id)
{
	struct ibv_qp_init_attr attr = qp_attr(id->verbs);

	if (options.messages && !mr) {
		/* That of librdmacm is another one when there was no id in between. */
		pd = ibv_alloc_pd(id->verbs);
		mr = pd ? ibv_reg_mr(pd, memory, sizeof(memory), IBV_ACCESS_LOCAL_WRITE) : NULL;
		if (!mr)
			give_up("ibv_reg_mr");
	}
	if (rdma_create_qp(id, pd, &attr))
		return -1;
	if (!options.messages)
		return 0;
	return rdma_post_recv(id, id, memory + MESSAGE, MESSAGE, mr);
}

int send_message(struct rdma_cm_id *id)
{
	return rdma_post_send(id, NULL, memory, MESSAGE, mr, 0);
}

/*
 * Waits for an event of @channel or for a message. Returns the id that has received one, or NULL
 * when there is an event.
 */
void *next_message(struct rdma_event_channel *channel)
{
	struct pollfd fds[2] = { { .fd = channel->fd, .events = POLLIN }, { .events = POLLIN } };
	struct ibv_wc wc;
	void *context;

	if (!options.messages)
		return NULL;
	for (;;) {
		while (cq && ibv_poll_cq(cq, 1, &wc)) {
			/* A send is flushed if the connection ends before it is acknowledged. */
			if (!wc.wr_id && wc.status == IBV_WC_WR_FLUSH_ERR)
				continue;
			if (wc.status != IBV_WC_SUCCESS)
				errx(1, "a message fails: %s", ibv_wc_status_str(wc.status));
			return (void *)(uintptr_t)wc.wr_id;
		}
		fds[1].fd = completions ? completions->fd : -1;
		if (poll(fds, 2, -1) < 0)
			give_up("poll");
		if (!(fds[1].revents & POLLIN))
			return NULL;
		if (ibv_get_cq_event(completions, &cq, &context))
			give_up("ibv_get_cq_event");
		ibv_ack_cq_events(cq, 1);
		if (ibv_req_notify_cq(cq, 0))
			give_up("ibv_req_notify_cq");
	}
}

/* A value that no id has yet. */
struct ibv_qp *make_qp_of(struct ibv_pd *pd)
{
	struct ibv_qp_init_attr attr = qp_attr(pd->context);
	struct ibv_qp *qp = ibv_create_qp(pd, &attr);

	if (!qp)
		give_up("ibv_create_qp");
	return qp;
}

void destroy_id(struct rdma_cm_id *id)
{
	if (id->qp)
		rdma_destroy_qp(id);
	rdma_destroy_id(id);
}
