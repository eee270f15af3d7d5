// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * Sends that arrive but are never acknowledged, because the receiver moves its QP to the error
 * state too early. rxe (6.1 and 6.12) posts the completion of a received message first and then
 * checks whether the QP is in the error state; if it is, rxe sends no acknowledgement
 * (do_complete() in rxe_resp.c). A thread on another processor, or one that runs before the
 * posting thread continues, sees the completion and may move the QP to the error state before
 * that check. The sender repeats the message, which a QP in that state does not answer; with 7
 * retries, which rxe takes for no limit, it does so for ever. Uses stock modules and libibverbs
 * only:
 *
 *	lost_ack [-a] [-b BUSY] [-r RETRIES] DEVICE [SECONDS]
 *
 * Two RC QPs of one process. A thread waits for the receiver's completion and moves its QP to
 * the error state; with -a it works as rdma_server: it sleeps until the completion, answers,
 * and waits for the completion of the answer. BUSY threads (0) only use processor time. The
 * exit status is 0 when each send was completed. Therefore no test may rely on the completion
 * of its last message to a peer that disconnects when it has received the message.
 */
#include <err.h>
#include <infiniband/verbs.h>
#include <pthread.h>
#include <sched.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#define PATIENCE	3	/* seconds; an acknowledgement is due after a millisecond at most */
#define TIMEOUT		12	/* 17 ms until a message is repeated */

struct side {
	struct ibv_comp_channel *channel;
	struct ibv_cq *sent;
	struct ibv_cq *received;
	struct ibv_qp *qp;
	struct ibv_mr *mr;
	char bytes[16];
};

static struct ibv_context *context;
static const char *device;
static union ibv_gid gid;
static int gid_index = -1;
static struct side sender, receiver;
static bool answers;
static int retries = 7;
static pthread_barrier_t barrier;

static double now(void)
{
	struct timespec time;

	clock_gettime(CLOCK_MONOTONIC, &time);
	return time.tv_sec + time.tv_nsec / 1e9;
}

/* Counters of rxe since the device came up. */
static unsigned long counter(const char *name)
{
	unsigned long value = 0;
	char path[256];
	FILE *file;

	snprintf(path, sizeof(path), "/sys/class/infiniband/%s/ports/1/hw_counters/%s", device,
		 name);
	file = fopen(path, "r");
	if (!file || fscanf(file, "%lu", &value) != 1)
		err(2, "%s", path);
	fclose(file);
	return value;
}

static void open_device(void)
{
	static const unsigned char ipv4[12] = { [10] = 0xff, [11] = 0xff };
	struct ibv_device **list = ibv_get_device_list(NULL);

	for (int i = 0; list && list[i]; i++)
		if (!strcmp(ibv_get_device_name(list[i]), device))
			context = ibv_open_device(list[i]);
	if (!context)
		errx(2, "no device %s", device);
	for (int i = 0; i < 16 && gid_index < 0; i++)
		if (!ibv_query_gid(context, 1, i, &gid) && !memcmp(gid.raw, ipv4, sizeof(ipv4)))
			gid_index = i;
	if (gid_index < 0)
		errx(2, "%s has no IPv4 address", device);
}

static void make_side(struct side *side, struct ibv_pd *pd)
{
	struct ibv_qp_init_attr attr = {
		.qp_type = IBV_QPT_RC, .sq_sig_all = 1,
		.cap = { .max_send_wr = 4, .max_recv_wr = 4, .max_send_sge = 1, .max_recv_sge = 1 },
	};

	side->channel = ibv_create_comp_channel(context);
	side->sent = ibv_create_cq(context, 8, NULL, side->channel, 0);
	side->received = ibv_create_cq(context, 8, NULL, side->channel, 0);
	attr.send_cq = side->sent;
	attr.recv_cq = side->received;
	side->mr = ibv_reg_mr(pd, side->bytes, sizeof(side->bytes), IBV_ACCESS_LOCAL_WRITE);
	if (side->sent && side->received)
		side->qp = ibv_create_qp(pd, &attr);
	if (!side->qp || !side->mr)
		err(2, "no QP on %s", device);
}

static void modify(struct side *side, struct ibv_qp_attr attr, int mask)
{
	int ret = ibv_modify_qp(side->qp, &attr, mask | IBV_QP_STATE);

	if (ret)
		errx(2, "QP to state %d: %s", attr.qp_state, strerror(ret));
}

static void leave(struct side *side)
{
	modify(side, (struct ibv_qp_attr){ .qp_state = IBV_QPS_ERR }, 0);
}

/* From any state; the next message is number psn in both directions. */
static void connect_to(struct side *side, struct side *peer, uint32_t psn)
{
	struct ibv_wc wc;

	modify(side, (struct ibv_qp_attr){ .qp_state = IBV_QPS_RESET }, 0);
	while (ibv_poll_cq(side->sent, 1, &wc) > 0 || ibv_poll_cq(side->received, 1, &wc) > 0)
		;
	modify(side, (struct ibv_qp_attr){ .qp_state = IBV_QPS_INIT, .port_num = 1 },
	       IBV_QP_PKEY_INDEX | IBV_QP_PORT | IBV_QP_ACCESS_FLAGS);
	modify(side, (struct ibv_qp_attr){
		.qp_state = IBV_QPS_RTR, .path_mtu = IBV_MTU_1024, .dest_qp_num = peer->qp->qp_num,
		.rq_psn = psn, .max_dest_rd_atomic = 1, .min_rnr_timer = 12,
		.ah_attr = { .is_global = 1, .port_num = 1,
			     .grh = { .dgid = gid, .sgid_index = gid_index, .hop_limit = 1 } },
	       }, IBV_QP_AV | IBV_QP_PATH_MTU | IBV_QP_DEST_QPN | IBV_QP_RQ_PSN |
	       IBV_QP_MAX_DEST_RD_ATOMIC | IBV_QP_MIN_RNR_TIMER);
	modify(side, (struct ibv_qp_attr){
		.qp_state = IBV_QPS_RTS, .sq_psn = psn, .timeout = TIMEOUT, .retry_cnt = retries,
		.rnr_retry = 7, .max_rd_atomic = 1,
	       }, IBV_QP_SQ_PSN | IBV_QP_TIMEOUT | IBV_QP_RETRY_CNT | IBV_QP_RNR_RETRY |
	       IBV_QP_MAX_QP_RD_ATOMIC);
}

static void post_receive(struct side *side)
{
	struct ibv_sge sge = { (uintptr_t)side->bytes, sizeof(side->bytes), side->mr->lkey };
	struct ibv_recv_wr *bad, wr = { .sg_list = &sge, .num_sge = 1 };

	if (ibv_post_recv(side->qp, &wr, &bad))
		errx(2, "ibv_post_recv");
}

static void post_send(struct side *side)
{
	struct ibv_sge sge = { (uintptr_t)side->bytes, sizeof(side->bytes), side->mr->lkey };
	struct ibv_send_wr *bad, wr = { .sg_list = &sge, .num_sge = 1, .opcode = IBV_WR_SEND };

	if (ibv_post_send(side->qp, &wr, &bad))
		errx(2, "ibv_post_send");
}

/* Sleep until the completion arrives, as rdma_get_recv_comp() does. */
static void sleep_for(struct side *side, struct ibv_cq *cq)
{
	struct ibv_cq *came;
	struct ibv_wc wc;
	void *data;

	while (!ibv_poll_cq(cq, 1, &wc)) {
		if (ibv_req_notify_cq(cq, 0))
			errx(2, "ibv_req_notify_cq");
		if (ibv_poll_cq(cq, 1, &wc))
			break;
		if (ibv_get_cq_event(side->channel, &came, &data))
			err(2, "ibv_get_cq_event");
		ibv_ack_cq_events(came, 1);
	}
	if (wc.status != IBV_WC_SUCCESS)
		errx(2, "the receiver's completion: %s", ibv_wc_status_str(wc.status));
}

static void *receive(void *unused)
{
	struct ibv_wc wc;
	int got;

	for (;;) {
		pthread_barrier_wait(&barrier);
		if (answers) {
			sleep_for(&receiver, receiver.received);
			post_send(&receiver);
			sleep_for(&receiver, receiver.sent);
		} else {
			do {
				got = ibv_poll_cq(receiver.received, 1, &wc);
			} while (!got);
			if (got < 0 || wc.status != IBV_WC_SUCCESS)
				errx(2, "the receiver's completion: %s",
				     ibv_wc_status_str(wc.status));
		}
		leave(&receiver);
		pthread_barrier_wait(&barrier);
	}
	return unused;
}

static void *keep_busy(void *unused)
{
	for (;;)
		;
	return unused;
}

/* Returns whether the completion of the send arrives in time. */
static bool completed(struct ibv_wc *wc)
{
	double end = now() + PATIENCE;

	while (!ibv_poll_cq(sender.sent, 1, wc)) {
		if (now() > end)
			return false;
		sched_yield();
	}
	return true;
}

/* Returns how many sends were not completed. */
static unsigned long run_rounds(double end)
{
	unsigned long repeated = counter("completer_retry_err");
	unsigned long lost = 0, failed = 0, rounds;
	bool fresh = true;
	struct ibv_wc wc;

	for (rounds = 0; now() < end; rounds++) {
		/* Reset the sender first: it may still repeat the message of the round before. */
		if (fresh)
			connect_to(&sender, &receiver, rounds & 0xffffff);
		connect_to(&receiver, &sender, rounds & 0xffffff);
		post_receive(&receiver);
		if (answers)
			post_receive(&sender);
		pthread_barrier_wait(&barrier);
		post_send(&sender);
		fresh = true;
		if (!completed(&wc)) {
			lost++;
			printf("round %lu: received, and no completion of the send within %d s\n",
			       rounds, PATIENCE);
		} else if (wc.status != IBV_WC_SUCCESS) {
			failed++;
			printf("round %lu: received, and the send ends with: %s\n", rounds,
			       ibv_wc_status_str(wc.status));
		} else {
			fresh = false;
		}
		fflush(stdout);
		pthread_barrier_wait(&barrier);
		while (ibv_poll_cq(sender.received, 1, &wc) > 0)
			;
	}
	printf("%lu rounds: %lu without a completion, %lu failed; rxe repeated %lu times\n", rounds,
	       lost, failed, counter("completer_retry_err") - repeated);
	return lost + failed;
}

int main(int argc, char **argv)
{
	struct ibv_pd *pd;
	pthread_t thread;
	int busy = 0;
	int option;

	while ((option = getopt(argc, argv, "ab:r:")) != -1) {
		if (option == 'a')
			answers = true;
		else if (option == 'b')
			busy = atoi(optarg);
		else if (option == 'r')
			retries = atoi(optarg);
		else
			optind = argc;
	}
	if (optind < argc)
		device = argv[optind++];
	if (!device)
		errx(2, "usage: %s [-a] [-b BUSY] [-r RETRIES] DEVICE [SECONDS]", argv[0]);
	open_device();
	pd = ibv_alloc_pd(context);
	if (!pd)
		err(2, "ibv_alloc_pd");
	make_side(&sender, pd);
	make_side(&receiver, pd);
	pthread_barrier_init(&barrier, NULL, 2);
	for (int i = 0; i < busy; i++)
		pthread_create(&thread, NULL, keep_busy, NULL);
	if (pthread_create(&thread, NULL, receive, NULL))
		err(2, "pthread_create");
	return run_rounds(now() + (optind < argc ? atoi(argv[optind]) : 30)) ? 1 : 0;
}
