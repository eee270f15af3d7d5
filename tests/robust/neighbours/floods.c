// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * Connects of one user while another user repeats a call as fast as possible, compared with those
 * beside a process that only computes.
 *
 * The guest has one processor, whose clock counts instructions (tests/robust/neighbours/run): no
 * other load of the machine affects the times. The other user's process has the policy SCHED_IDLE,
 * so what remains are locks that it holds, the parts of its calls that cannot be preempted, and the
 * kernel's threads that work for it. These (ib_cm, ib_mad, soft-RoCE, RCU) have the priority of the
 * user who connects, and share the processor with him: such floods have a higher bound.
 */
#include "groups.h"
#include "limits.h"
#include "rca_ring.h"
#include "rca_test.h"
#include "tasks.h"

#define ANNA 70001
#define BERT 70002
#define CONNECTS 300
#define WARM_UP 20
/* Between two connects the flood has the processor. */
#define PAUSE_US 2000

/*
 * Bounds of the 99th percentile beside a flood, as a multiple of that beside a process that
 * computes: in general, where threads of the kernel handle messages of the flood, and where RCU
 * frees thousands of objects.
 */
#define RATIO 1.5
#define RATIO_MESSAGES 3.0
#define RATIO_FREED 5.0

/* Calls that the flood makes at least meanwhile. */
#define CALLS 100

#define MANY 2000

/* The calls of the flood, in memory that both processes share. */
static _Atomic unsigned int *calls;

/* The user of the flood. */
static void be_anna(void)
{
	struct sched_param zero = {};

	MUST(sched_setscheduler(0, SCHED_IDLE, &zero));
	MUST(setgid(ANNA));
	MUST(setuid(ANNA));
}

static void compute(int ready)
{
	be_anna();
	busy_begins(ready);
	for (;;)
		(*calls)++;
}

/* A listener of the flood's user, and a queue of its own. */
static uint16_t listen_here(int ctx, uint32_t backlog)
{
	uint32_t id = get_bound(ctx, get_queue(ctx), HERE, 0);

	EXPECT_EQ(rca_listen(ctx, id, backlog), 0);
	return get_port(ctx, id);
}

/* Requests that are withdrawn at once. */
static void connect_and_destroy(int ready)
{
	uint16_t port;
	int ctx;

	be_anna();
	ctx = get_ctx();
	port = listen_here(ctx, 1);
	busy_begins(ready);
	for (int queue = get_queue(ctx);;) {
		uint32_t id = get_client(ctx, queue, HERE, port, 0);

		EXPECT_EQ(rca_connect(ctx, id, NULL, 0), 0);
		EXPECT_EQ(rca_destroy(ctx, id), 0);
		(*calls)++;
	}
}

/* Wildcard listeners, so each is one on all devices. */
static void listen_and_destroy(int ready)
{
	int ctx;

	be_anna();
	ctx = get_ctx();
	for (int i = 0; i < MANY; i++)
		EXPECT_EQ(rca_listen(ctx, get_id(ctx, -1, 0), 0), 0);
	busy_begins(ready);
	for (;;) {
		uint32_t id = get_id(ctx, -1, 0);

		EXPECT_EQ(rca_listen(ctx, id, 0), 0);
		EXPECT_EQ(rca_destroy(ctx, id), 0);
		(*calls)++;
	}
}

/* The queue gets as many events as its user may have, and then is closed with them. */
static void leave_events(int ready)
{
	int ctx;

	be_anna();
	ctx = get_ctx();
	busy_begins(ready);
	for (;;) {
		int queue = get_queue(ctx);
		uint32_t id = get_id(ctx, queue, 0);

		for (int i = 0; i < MANY && !post_number(ctx, id, i); i++)
			(*calls)++;
		EXPECT_EQ(rca_destroy(ctx, id), 0);
		MUST(close(queue));
	}
}

/* Requests for which nobody reads the events of the listener. */
static void leave_requests(int ready)
{
	uint16_t port;
	int ctx;

	be_anna();
	ctx = get_ctx();
	busy_begins(ready);
	for (;;) {
		int server = get_ctx(), queue = get_queue(ctx);
		uint32_t ids[64];

		port = listen_here(server, 1024);
		for (int i = 0; i < 64; i++) {
			ids[i] = get_client(ctx, queue, HERE, port, 0);
			EXPECT_EQ(rca_connect(ctx, ids[i], NULL, 0), 0);
			(*calls)++;
		}
		MUST(close(server));
		for (int i = 0; i < 64; i++)
			EXPECT_EQ(rca_destroy(ctx, ids[i]), 0);
		MUST(close(queue));
	}
}

static void join_and_leave(int ready)
{
	uint32_t id, member, reported;
	int ctx, queue;

	be_anna();
	ctx = get_ctx();
	queue = get_queue(ctx);
	id = get_ud_bound(ctx, queue, HERE);
	busy_begins(ready);
	for (;;) {
		EXPECT_EQ(rca_join(ctx, id, GROUP, RDMA_MC_JOIN_FLAG_FULLMEMBER, 0,
				   &member), 0);
		EXPECT_EQ(rca_leave(ctx, member, &reported), 0);
		(*calls)++;
	}
}

/* Events for a ring whose positions have random values. */
static void mistreat_ring(int ready)
{
	struct pollfd fd = { .events = POLLIN };
	struct ring ring;
	uint32_t id;
	event_t ev;
	int ctx;

	be_anna();
	ctx = get_ctx();
	ring = get_ring(ctx, 256);
	MUST(fcntl(ring.queue, F_SETFL, O_NONBLOCK));
	id = get_id(ctx, ring.queue, 0);
	fd.fd = ring.queue;
	busy_begins(ready);
	for (unsigned int i = 1;; i = i * 1103515245 + 12345) {
		post_number(ctx, id, i);
		__atomic_store_n(ring.head, i, __ATOMIC_RELEASE);
		MUST(poll(&fd, 1, 0));
		(*calls)++;
		if (i & 1)
			EXPECT(read(ring.queue, &ev, sizeof(ev)) > 0 || errno == EAGAIN ||
			       errno == EBUSY);
	}
}

/* Dumps of many ids, by the tool; each of the ids counts. */
static void dump(int ready)
{
	int ctx;

	be_anna();
	ctx = get_ctx();
	for (int i = 0; i < MANY; i++)
		get_id(ctx, -1, 0);
	busy_begins(ready);
	for (;;) {
		EXPECT_EQ(system("build/rdma-cm-alt show >/dev/null"), 0);
		*calls += MANY;
	}
}

static int compare(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return x < y ? -1 : x > y;
}

/* The time that 99 of 100 connects to a listener that accepts do not exceed. */
static double time_connects(struct pair *p)
{
	static double took[CONNECTS];
	event_t ev;

	for (int i = -WARM_UP; i < CONNECTS; i++) {
		double begin = ktap_now();

		p->client = get_client(p->ctx, p->cq, HERE, p->port, CLIENT);
		pair_send_req(p, &ev);
		pair_send_rep(p);
		pair_send_rtu(p);
		if (i >= 0)
			took[i] = ktap_now() - begin;
		pair_disconnect(p);
		EXPECT_EQ(rca_destroy(p->ctx, p->client), 0);
		EXPECT_EQ(rca_destroy(p->ctx, p->server), 0);
		usleep(PAUSE_US);
	}
	qsort(took, CONNECTS, sizeof(took[0]), compare);
	ktap_note("median %.2f ms, 99 of 100 within %.2f ms, all within %.2f ms",
		  took[CONNECTS / 2] * 1e3, took[CONNECTS * 99 / 100] * 1e3,
		  took[CONNECTS - 1] * 1e3);
	return took[CONNECTS * 99 / 100];
}

static double time_beside(struct pair *p, void (*work)(int ready))
{
	pid_t busy;
	double took;

	*calls = 0;
	busy = start_busy(work);
	took = time_connects(p);
	kill_busy(busy);
	return took;
}

/* Connects of BERT beside @work of ANNA. */
static void connect_beside(void (*work)(int ready), double bound)
{
	double own, beside;
	struct pair p;

	calls = mmap(NULL, sizeof(*calls), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1,
		     0);
	EXPECT(calls != MAP_FAILED);
	become(BERT);
	p = get_listening(HERE);
	become(0);
	own = time_beside(&p, compute);
	beside = time_beside(&p, work);
	ktap_note("%.2f times as long, beside %u calls", beside / own, *calls);
	EXPECT(*calls >= CALLS);
	EXPECT(beside <= bound * own);
}

TEST(beside_connects) { connect_beside(connect_and_destroy, RATIO_MESSAGES); }
TEST(beside_listens) { connect_beside(listen_and_destroy, RATIO_FREED); }
TEST(beside_events_that_nobody_reads) { connect_beside(leave_events, RATIO); }
TEST(beside_requests_that_nobody_reads) { connect_beside(leave_requests, RATIO_MESSAGES); }
TEST(beside_memberships) { connect_beside(join_and_leave, RATIO_MESSAGES); }
TEST(beside_a_ring_with_any_position) { connect_beside(mistreat_ring, RATIO); }
TEST(beside_dumps) { connect_beside(dump, RATIO); }

KTAP_MAIN
