// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/* Receives as in rdma_post_recv(3): a full queue, request contexts, sizes, absence, the flush. */
#include "lib/ends.h"

static char buffer[4096];

static struct ibv_mr *msgs(struct rdma_cm_id *id)
{
	struct ibv_mr *mr = rdma_reg_msgs(id, buffer, sizeof(buffer));

	EXPECT(mr);
	return mr;
}

static unsigned int post_until_full(struct rdma_cm_id *id, struct ibv_mr *mr)
{
	uintptr_t n = 0;

	while (!rdma_post_recv(id, (void *)(100 + n), buffer, 10, mr))
		n++;
	EXPECT_EQ(errno, ENOMEM);
	return n;
}

/*
 * Receives beyond the depth of the queue are refused; posted ones are flushed in order, each
 * with its context.
 */
DUO(overfill_and_flush)

SERVER(overfill_and_flush)
{
	struct rdma_cm_id *id = serve_rc(4, 4);
	struct ibv_mr *mr = msgs(id);
	unsigned int n, i;

	n = post_until_full(id, mr);
	tell("%u receives fit", n);
	EXPECT(n >= 4);
	meet();
	for (i = 0; i < 2; i++)
		expect_recv(id, 100 + i, IBV_WC_SUCCESS, NULL);
	/* If a QP is destroyed before it has acknowledged, the sender repeats for ever. */
	meet();
	MUST(rdma_disconnect(id));
	for (; i < n; i++)
		expect_recv(id, 100 + i, IBV_WC_WR_FLUSH_ERR, NULL);
	rdma_dereg_mr(mr);
	end_disconnected(id);
}

CLIENT(overfill_and_flush)
{
	struct rdma_cm_id *id = connect_rc(4, 4);
	struct ibv_mr *mr = msgs(id);
	unsigned int n, i;

	meet();
	MUST(rdma_post_send(id, (void *)1, buffer, 10, mr, 0));
	MUST(rdma_post_send(id, (void *)2, buffer, 10, mr, 0));
	expect_send(id, 1, IBV_WC_SUCCESS);
	expect_send(id, 2, IBV_WC_SUCCESS);
	meet();
	n = post_until_full(id, mr);
	MUST(rdma_disconnect(id));
	for (i = 0; i < n; i++)
		expect_recv(id, 100 + i, IBV_WC_WR_FLUSH_ERR, NULL);
	rdma_dereg_mr(mr);
	end_disconnected(id);
}

/* Receives may be posted as soon as there is a QP, long before the connection. */
DUO(posted_before_connect)

SERVER(posted_before_connect)
{
	struct ibv_qp_init_attr attr = qp_attr(4, 4);
	struct rdma_cm_id *listener = listen_ep(RDMA_PS_TCP, IBV_QPT_RC, NULL, &attr);
	struct rdma_cm_id *id = get_request(listener);
	struct ibv_mr *mr = msgs(id);

	MUST(rdma_post_recv(id, (void *)0x99, buffer, 100, mr));
	MUST(rdma_accept(id, NULL));
	expect_recv(id, 0x99, IBV_WC_SUCCESS, NULL);
	EXPECT(!strcmp(buffer, "early"));
	meet();
	rdma_dereg_mr(mr);
	end_rc(id);
	rdma_destroy_ep(listener);
}

CLIENT(posted_before_connect)
{
	struct ibv_qp_init_attr attr = qp_attr(4, 4);
	struct rdma_cm_id *id = active_ep(RDMA_PS_TCP, IBV_QPT_RC, NULL, &attr);
	struct ibv_mr *mr = msgs(id);

	MUST(rdma_post_recv(id, (void *)5, buffer + 100, 100, mr));
	MUST(rdma_connect(id, NULL));
	MUST(rdma_post_send(id, (void *)6, "early", 6, NULL, IBV_SEND_INLINE));
	expect_send(id, 6, IBV_WC_SUCCESS);
	meet();
	MUST(rdma_disconnect(id));
	expect_recv(id, 5, IBV_WC_WR_FLUSH_ERR, NULL);
	rdma_dereg_mr(mr);
	end_disconnected(id);
}

/* A message that is longer than the buffer: both ends get an error that the device chooses. */
DUO(receive_too_small)

SERVER(receive_too_small)
{
	struct rdma_cm_id *id = serve_rc(4, 4);
	struct ibv_mr *mr = msgs(id);
	struct ibv_wc wc;

	memset(buffer, 0, sizeof(buffer));
	MUST(rdma_post_recv(id, (void *)1, buffer, 10, mr));
	MUST(rdma_post_recv(id, (void *)2, buffer, 10, mr));
	meet();
	EXPECT_EQ(rdma_get_recv_comp(id, &wc), 1);
	tell("request %d: %s", (int)wc.wr_id, ibv_wc_status_str(wc.status));
	EXPECT(wc.status == IBV_WC_LOC_LEN_ERR || wc.status == IBV_WC_LOC_QP_OP_ERR);
	expect_recv(id, 2, IBV_WC_WR_FLUSH_ERR, NULL);
	EXPECT_EQ(buffer[10], 0);
	meet();
	rdma_dereg_mr(mr);
	end_rc(id);
}

CLIENT(receive_too_small)
{
	struct rdma_cm_id *id = connect_rc(4, 4);
	struct ibv_mr *mr = msgs(id);
	struct ibv_wc wc;

	memset(buffer, 'x', 20);
	meet();
	MUST(rdma_post_send(id, (void *)3, buffer, 11, mr, 0));
	EXPECT_EQ(rdma_get_send_comp(id, &wc), 1);
	tell("request %d: %s", (int)wc.wr_id, ibv_wc_status_str(wc.status));
	EXPECT(wc.status == IBV_WC_REM_INV_REQ_ERR || wc.status == IBV_WC_REM_OP_ERR);
	meet();
	rdma_dereg_mr(mr);
	end_rc(id);
}

static double now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec + t.tv_nsec / 1e9;
}

/* No receive is posted: the sender retries as often as the receiver's parameters allow. */
DUO(receive_too_late)

SERVER(receive_too_late)
{
	struct timespec late = { .tv_nsec = 300000000 };
	struct rdma_cm_id *id = serve_rc(4, 4);
	struct ibv_mr *mr = msgs(id);

	meet();
	nanosleep(&late, NULL);
	MUST(rdma_post_recv(id, (void *)1, buffer, 10, mr));
	expect_recv(id, 1, IBV_WC_SUCCESS, NULL);
	meet();
	rdma_dereg_mr(mr);
	end_rc(id);
}

CLIENT(receive_too_late)
{
	struct rdma_cm_id *id = connect_rc(4, 4);
	double start;

	meet();
	start = now();
	MUST(rdma_post_send(id, (void *)3, "x", 1, NULL, IBV_SEND_INLINE));
	expect_send(id, 3, IBV_WC_SUCCESS);
	EXPECT(now() - start > 0.25);
	meet();
	end_rc(id);
}

/* rnr_retry_count 0: an error at once, and the connection must still be disconnected. */
DUO(receive_never)

SERVER(receive_never)
{
	struct rdma_conn_param param = { .retry_count = 7, .rnr_retry_count = 0 };
	struct ibv_qp_init_attr attr = qp_attr(4, 4);
	struct rdma_cm_id *listener = listen_ep(RDMA_PS_TCP, IBV_QPT_RC, NULL, &attr);
	struct rdma_cm_id *id = accept_one(listener, &param);

	meet();
	meet();
	end_rc(id);
	rdma_destroy_ep(listener);
}

CLIENT(receive_never)
{
	struct rdma_cm_id *id = connect_rc(4, 4);

	meet();
	MUST(rdma_post_send(id, (void *)3, "x", 1, NULL, IBV_SEND_INLINE));
	expect_send(id, 3, IBV_WC_RNR_RETRY_EXC_ERR);
	meet();
	end_rc(id);
}

DUO_MAIN
