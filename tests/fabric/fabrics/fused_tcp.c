// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * Fused connects over iWARP to dead peers: these ids wait for TCP, and no others do. The
 * devices are those of tests/harness/guest/siw.sh; iwarp.py runs this program.
 */
#include <infiniband/verbs.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <unistd.h>

#include "rca_test.h"

#define DEAD "10.11.0.99"	/* its neighbour is known, and answers nothing */
#define LATER "10.11.0.97"	/* likewise, once meet() was called */

/* More than the workers that are not reserved for TCP connects. */
#define MANY 280

enum {
	CREATE = RDMA_CM_ALT_STEP_CREATE,
	ADDR = RDMA_CM_ALT_STEP_ADDR,
	ROUTE = RDMA_CM_ALT_STEP_ROUTE,
};

/* A QP on siw0 for all ids, as none of them gets far enough to need a QP of its own. */
static uint32_t get_qp(void)
{
	static struct ibv_qp *qp;
	struct ibv_context *verbs = NULL;
	struct ibv_qp_init_attr init = {
		.qp_type = IBV_QPT_RC,
		.cap = { .max_send_wr = 1, .max_recv_wr = 1, .max_send_sge = 1, .max_recv_sge = 1 },
	};
	struct ibv_device **list;
	struct ibv_pd *pd;
	struct ibv_cq *cq;

	if (qp)
		return qp->qp_num;
	list = ibv_get_device_list(NULL);
	for (int i = 0; list && list[i]; i++)
		if (!strcmp(ibv_get_device_name(list[i]), "siw0"))
			verbs = ibv_open_device(list[i]);
	if (!verbs)
		ktap_skip("no siw0");
	pd = ibv_alloc_pd(verbs);
	cq = ibv_create_cq(verbs, 1, NULL, NULL, 0);
	init.send_cq = cq;
	init.recv_cq = cq;
	qp = pd && cq ? ibv_create_qp(pd, &init) : NULL;
	if (!qp)
		ktap_fail(__FILE__, __LINE__, "no QP: %m");
	return qp->qp_num;
}

static struct rdma_cm_alt_connect fused(int queue, const char *ip)
{
	return (struct rdma_cm_alt_connect) {
		.size = sizeof(struct rdma_cm_alt_connect),
		.pipe = {
			.steps = CREATE | ADDR | ROUTE,
			.queue_fd = queue,
			.timeout_ms = 30000,
			.ps = RDMA_PS_TCP,
			.qp_type = IB_UVERBS_QPT_RC,
			.dst = make_addr(ip, 7471),
		},
		.param.qp_num = get_qp(),
	};
}

static void meet(bool known)
{
	if (!known)
		EXPECT(!system("ip neigh del " LATER " dev s0 2>/dev/null; true"));
	else
		EXPECT(!system("ip neigh replace " LATER
			       " lladdr 02:00:00:00:00:97 dev s0 nud permanent"));
}

/*
 * Ids that wait for a neighbour all connect when the neighbour is resolved, on a work queue
 * that others need, too.
 */
TEST(dead_peers_hold_nobody_up)
{
	int ctx = get_ctx(), queue = get_queue(ctx), other = get_queue(ctx);
	struct rdma_cm_alt_connect cmd;
	double began, took;

	meet(false);
	for (int i = 0; i < MANY; i++) {
		cmd = fused(queue, LATER);
		EXPECT_EQ(rca_call(ctx, RDMA_CM_ALT_CONNECT, &cmd), 0);
	}
	meet(true);
	sleep(3);
	EXPECT(!event_waits(queue));
	/* Closing a queue with many ids uses workers. */
	for (int i = 0; i < 40; i++)
		get_id(ctx, other, i);
	began = ktap_now();
	MUST(close(other));
	took = ktap_now() - began;
	ktap_note("closed in %.3f s", took);
	EXPECT(took < 10);
	began = ktap_now();
	MUST(close(queue));
	took = ktap_now() - began;
	ktap_note("%d ids in TCP closed in %.3f s", MANY, took);
	EXPECT(took < 20);
}

/* The peer's host appears when its neighbour has been solicited for a while, without a listener. */
TEST(refusal_is_told_by_an_event)
{
	int ctx = get_ctx(), queue = get_queue(ctx);
	struct rdma_cm_alt_connect cmd;
	event_t ev;

	meet(false);
	cmd = fused(queue, LATER);
	EXPECT_EQ(rca_call(ctx, RDMA_CM_ALT_CONNECT, &cmd), 0);
	EXPECT(!system("ip -n peer addr add " LATER "/32 dev s1"));
	EXPECT(event_comes(queue, PATIENCE));
	MUST(system("ip -n peer addr del " LATER "/32 dev s1"));
	get_event(queue, &ev);
	EXPECT_EQ(ev.type, RDMA_CM_ALT_EVENT_CONNECT_ERROR);
	EXPECT_EQ(ev.status, -ECONNREFUSED);
	EXPECT_EQ(ev.id, cmd.out_id);
	EXPECT(!event_waits(queue));
}

static void nothing(int sig)
{
	(void)sig;
}

/* From now on a child sends this process a signal twice a second; its handler restarts calls. */
static void be_disturbed(void)
{
	struct sigaction action = { .sa_handler = nothing, .sa_flags = SA_RESTART };
	pid_t parent = getpid();

	MUST(sigaction(SIGUSR1, &action, NULL));
	if (MUST(fork()))
		return;
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	while (getppid() == parent) {
		usleep(500000);
		kill(parent, SIGUSR1);
	}
	_exit(0);
}

TEST(signal_does_not_begin_the_steps_anew)
{
	int ctx = get_ctx(), queue = get_queue(ctx);
	struct rdma_cm_alt_connect cmd = fused(queue, DEAD);
	uint32_t id = get_id(ctx, queue, 1);

	cmd.pipe.steps = ADDR | ROUTE;
	cmd.pipe.id = id;
	cmd.pipe.queue_fd = -1;
	cmd.pipe.ps = 0;
	cmd.pipe.qp_type = 0;
	be_disturbed();
	EXPECT_EQ(rca_call(ctx, RDMA_CM_ALT_CONNECT, &cmd), -EINTR);
	/* The steps before the connect have finished. */
	cmd.pipe.steps = ROUTE;
	EXPECT_EQ(rca_call(ctx, RDMA_CM_ALT_CONNECT, &cmd), -EINVAL);
	EXPECT_EQ(rca_destroy(ctx, id), 0);
}

KTAP_MAIN
