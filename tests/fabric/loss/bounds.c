// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * The duration of each call when every peer and device is at its worst: no call takes longer
 * than the comments of the uAPI header say, from which the table documented[] is generated. On
 * the software InfiniBand adapters, see knobs.h, and on soft-RoCE.
 */
#define _GNU_SOURCE
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "fabric.h"
#include "interrupt.h"
#include "inventory.h"

#include "documented.h"

#define NR(name) (RDMA_CM_ALT_CMD_##name - RDMA_CM_ALT_CMD_BASE)
#define CALLS (sizeof(documented) / sizeof(documented[0]))

/* Slack: a guest is an emulated machine that shares its processors with others. */
#define SLOWER 5

/* Delay of the device, and how long its removal may take. */
#define LATE_SECONDS 7
#define REMOVAL_SECONDS 30

/* Far longer than any bound. */
#define FOR_LONG 60000

/**
 * struct world - objects that the calls work on
 * @ctx: a context
 * @queue: a queue of it
 * @id: an id
 * @member: a membership, or 0
 */
struct world {
	int ctx;
	int queue;
	uint32_t id;
	uint32_t member;
};

static double longest[CALLS];

/* Objects in use before a test. */
static struct inventory before;

static void report_bounds(void)
{
	int worst = 0;

	for (unsigned int i = 0; i < CALLS; i++)
		if (longest[i] > longest[worst])
			worst = i;
	ktap_note("the longest: %s, %.3f s", documented[worst].name, longest[worst]);
}

/* The call @nr took this long, of which it may have waited @more for a documented reason. */
static void judge(unsigned int nr, double took, double more)
{
	double bound = documented[nr].seconds * SLOWER;

	if (!strcmp(documented[nr].waits, "device") || !strcmp(documented[nr].waits, "event"))
		bound += more;
	if (took > longest[nr])
		longest[nr] = took;
	if (took > bound)
		ktap_fail(__FILE__, __LINE__, "%s took %.3f s, its bound is %.0f s",
			  documented[nr].name, took, bound);
}

#define TIMED(name, more, call) ({						\
	double timed_start = now();						\
	__typeof__(call) timed_ret = (call);					\
										\
	judge(NR(name), now() - timed_start, more);				\
	timed_ret;								\
})

static void call_info(const struct world *w)
{
	struct rdma_cm_alt_info cmd = { .size = sizeof(cmd) };

	EXPECT_EQ(rca_call(w->ctx, RDMA_CM_ALT_INFO, &cmd), 0);
}

static void call_queue_create(const struct world *w)
{
	MUST(close(get_queue(w->ctx)));
}

static void call_resolve(const struct world *w)
{
	rca_resolve_addr(w->ctx, w->id, NULL, SERVER_AT, 1);
	rca_resolve_route(w->ctx, w->id);
}

static void call_connect(const struct world *w)
{
	rca_connect(w->ctx, w->id, NULL, 0);
}

static void call_listen(const struct world *w)
{
	rca_listen(w->ctx, w->id, 0);
}

static void call_accept(const struct world *w)
{
	rca_accept(w->ctx, w->id, SERVER, NULL, 0);
}

static void call_reject(const struct world *w)
{
	/*
	 * A reason that does not exist: with another one the call would be the last that has an
	 * effect.
	 */
	EXPECT_EQ(rca_reject(w->ctx, w->id, 1, NULL, 0), -EINVAL);
}

static void call_establish(const struct world *w)
{
	rca_establish(w->ctx, w->id);
}

static void call_disconnect(const struct world *w)
{
	rca_disconnect(w->ctx, w->id);
}

static void call_notify(const struct world *w)
{
	rca_notify(w->ctx, w->id, 7);
}

static void call_qp_attr(const struct world *w)
{
	struct ib_uverbs_qp_attr attr;

	rca_qp_attr(w->ctx, w->id, 1, &attr);
}

static void call_query(const struct world *w)
{
	struct rdma_cm_alt_route route;

	rca_query(w->ctx, w->id, &route);
}

static void call_set_option(const struct world *w)
{
	uint8_t tos = 4;

	rca_set_option(w->ctx, w->id, RDMA_OPTION_ID, RDMA_OPTION_ID_TOS, &tos, 1);
}

static void call_get_option(const struct world *w)
{
	uint32_t len = 1;
	uint8_t retries;

	rca_get_option(w->ctx, w->id, RDMA_CM_ALT_OPTION, RDMA_CM_ALT_OPTION_MAX_RETRIES,
		       &retries, &len);
}

static void call_set_queue(const struct world *w)
{
	rca_set_queue(w->ctx, w->id, w->queue);
}

static void call_get_event(const struct world *w)
{
	event_t ev;

	rca_get_event(w->ctx, w->id, RDMA_CM_ALT_GET_EVENT_NONBLOCK, &ev);
}

static void call_post_event(const struct world *w)
{
	struct rdma_cm_alt_post_event cmd = {
		.size = sizeof(cmd), .id = w->id, .type = RDMA_CM_ALT_EVENT_USER,
	};

	EXPECT_EQ(rca_call(w->ctx, RDMA_CM_ALT_POST_EVENT, &cmd), 0);
}

static void call_join(const struct world *w)
{
	uint32_t member;

	rca_join(w->ctx, w->id, "239.9.8.1", 0, 0, &member);
}

static void call_leave(const struct world *w)
{
	uint32_t reported;

	rca_leave(w->ctx, w->member, &reported);
}

static void call_batch(const struct world *w)
{
	struct rdma_cm_alt_query entry = { .size = sizeof(entry), .id = w->id };
	int32_t result;
	struct rdma_cm_alt_batch cmd = {
		.size = sizeof(cmd), .cmd = RDMA_CM_ALT_CMD_QUERY, .count = 1,
		.stride = sizeof(entry), .entries_uptr = (uintptr_t)&entry,
		.results_uptr = (uintptr_t)&result,
	};

	EXPECT_EQ(rca_call(w->ctx, RDMA_CM_ALT_BATCH, &cmd), 0);
}

static void call_usage(const struct world *w)
{
	usage_as(0, w->ctx, IDS);
}

static void call_resolve_service(const struct world *w)
{
	struct rdma_cm_alt_resolve_service cmd = {
		.size = sizeof(cmd), .id = w->id, .timeout_ms = FOR_LONG,
		.name_uptr = (uintptr_t)"name", .name_len = 4,
	};

	rca_call(w->ctx, RDMA_CM_ALT_RESOLVE_SERVICE, &cmd);
}

static void call_services(const struct world *w)
{
	struct rdma_cm_alt_services cmd = { .size = sizeof(cmd), .id = w->id };

	rca_call(w->ctx, RDMA_CM_ALT_SERVICES, &cmd);
}

static void call_destroy(const struct world *w)
{
	EXPECT_EQ(rca_destroy(w->ctx, w->id), 0);
}

/* The order matters: calls that end something come last. */
static const struct {
	unsigned int nr;
	void (*call)(const struct world *w);
} calls[] = {
	{ NR(INFO), call_info }, { NR(USAGE), call_usage }, { NR(QUEUE_CREATE), call_queue_create },
	{ NR(QUERY), call_query }, { NR(GET_OPTION), call_get_option },
	{ NR(SET_OPTION), call_set_option }, { NR(QP_ATTR), call_qp_attr },
	{ NR(BATCH), call_batch }, { NR(GET_EVENT), call_get_event },
	{ NR(POST_EVENT), call_post_event }, { NR(SET_QUEUE), call_set_queue },
	{ NR(NOTIFY), call_notify }, { NR(JOIN), call_join }, { NR(LEAVE), call_leave },
	{ NR(SERVICES), call_services },
	{ NR(RESOLVE), call_resolve }, { NR(RESOLVE_SERVICE), call_resolve_service },
	{ NR(CONNECT), call_connect }, { NR(LISTEN), call_listen },
	{ NR(ACCEPT), call_accept }, { NR(REJECT), call_reject },
	{ NR(ESTABLISH), call_establish }, { NR(DISCONNECT), call_disconnect },
	{ NR(DESTROY), call_destroy },
};

_Static_assert(sizeof(calls) / sizeof(calls[0]) == CALLS, "each ioctl is called");

/* All calls, one after the other; the last one destroys the id. */
static void all_calls(const struct world *w, double more)
{
	for (unsigned int i = 0; i < CALLS; i++) {
		double start = now();

		calls[i].call(w);
		judge(calls[i].nr, now() - start, more);
	}
}

TEST(each_ioctl_is_called_once)
{
	bool called[CALLS] = {};

	for (unsigned int i = 0; i < CALLS; i++) {
		EXPECT(!called[calls[i].nr]);
		called[calls[i].nr] = true;
		EXPECT(documented[i].seconds > 0);
	}
}

/* A client that has sent a request, an unanswered request, and a connected id. */
static void asked(struct pair *p)
{
	pair_apart(p);
	lose("drop CM");
	EXPECT_EQ(TIMED(CONNECT, 0, rca_connect(p->ctx, p->client, NULL, 0)), 0);
}

static void requested(struct pair *p)
{
	event_t ev;

	pair_apart(p);
	EXPECT_EQ(rca_connect(p->ctx, p->client, NULL, 0), 0);
	EXPECT_EVENT_STATUS(p->lq, CONNECT_REQUEST, 0, 0, &ev);
	p->server = ev.id;
}

static void connected(struct pair *p)
{
	requested(p);
	EXPECT_EQ(rca_accept(p->ctx, p->server, SERVER, NULL, 0), 0);
	EXPECT_EVENT(p->cq, CONNECT_RESPONSE, p->client);
	EXPECT_EQ(rca_establish(p->ctx, p->client), 0);
	EXPECT_EVENT(p->lq, ESTABLISHED, p->server);
}

static void on_client(const struct pair *p, double more)
{
	all_calls(&(struct world){ .ctx = p->ctx, .queue = p->cq, .id = p->client }, more);
}

static void on_server(const struct pair *p, double more)
{
	all_calls(&(struct world){ .ctx = p->ctx, .queue = p->lq, .id = p->server }, more);
}

/* Each test closes its context within the bound of a DESTROY of each id, and no object is left. */
static void expect_end(const struct pair *p, double more)
{
	double start = now();

	MUST(close(p->cq));
	MUST(close(p->lq));
	MUST(close(p->ctx));
	judge(NR(DESTROY), now() - start, more);
	rule("clear");
	inventory_await(&before);
	report_bounds();
}

TEST(peer_is_silent)
{
	struct pair p;

	inventory_take(&before);
	asked(&p);
	on_client(&p, 0);
	expect_end(&p, 0);
	requested(&p);
	lose("drop CM");
	on_server(&p, 0);
	expect_end(&p, 0);
	connected(&p);
	lose("drop CM");
	on_client(&p, 0);
	on_server(&p, 0);
	expect_end(&p, 0);
}

TEST_LONG(peer_is_silent_when_asked_to_disconnect)
{
	struct pair p;

	inventory_take(&before);
	connected(&p);
	lose("drop CM");
	EXPECT_EQ(TIMED(DISCONNECT, 0, rca_disconnect(p.ctx, p.client)), 0);
	on_client(&p, 0);
	expect_end(&p, 0);
}

static int resolve_for_long(const struct world *w, uint32_t step, const char *dst)
{
	struct rdma_cm_alt_resolve cmd = {
		.size = sizeof(cmd),
		.pipe = {
			.steps = step, .events = step, .id = w->id, .queue_fd = -1,
			.timeout_ms = FOR_LONG, .dst = make_addr(dst, dst ? 1 : 0),
		},
	};

	return TIMED(RESOLVE, 0, rca_call(w->ctx, RDMA_CM_ALT_RESOLVE, &cmd));
}

static uint32_t datagram_id(const struct world *w, const char *ip)
{
	uint32_t id;

	EXPECT_EQ(rca_create(w->ctx, w->queue, RDMA_PS_UDP, IB_UVERBS_QPT_UD, 0, &id), 0);
	EXPECT_EQ(rca_bind(w->ctx, id, ip, 0), 0);
	return id;
}

TEST(administrator_is_silent)
{
	struct world w = {};
	struct pair p;

	inventory_take(&before);
	pair_apart(&p);
	w.ctx = p.ctx;
	w.queue = p.cq;
	w.id = get_id(w.ctx, w.queue, 0);
	EXPECT_EQ(rca_resolve_addr(w.ctx, w.id, NULL, SERVER_AT, 1), 0);
	EXPECT_EVENT(w.queue, ADDR_RESOLVED, w.id);
	lose("drop SA");
	EXPECT_EQ(resolve_for_long(&w, RDMA_CM_ALT_STEP_ROUTE, NULL), 0);
	all_calls(&w, 0);
	/* One membership is left by a call, the other ends with its id. */
	w.id = datagram_id(&w, CLIENT_AT);
	for (int i = 0; i < 2; i++)
		EXPECT_EQ(TIMED(JOIN, 0, rca_join(w.ctx, w.id, "239.9.8.2", 0, 0, &w.member)), 0);
	all_calls(&w, 0);
	expect_end(&p, 0);
}

/* Sends do not complete for a while: only calls that end their id wait. */
TEST(device_is_slow)
{
	struct world w = {};
	char late[16];
	struct pair p;
	double took;

	snprintf(late, sizeof(late), "%d", LATE_SECONDS * 1000);
	inventory_take(&before);
	pair_apart(&p);
	w = (struct world){ .ctx = p.ctx, .queue = p.cq, .id = p.client };
	knob("hca0/slow", late);
	EXPECT_EQ(TIMED(CONNECT, 0, rca_connect(p.ctx, p.client, NULL, 0)), 0);
	took = now();
	all_calls(&w, LATE_SECONDS);
	took = now() - took;
	/* If this call no longer waits, the test of waiting needs another one. */
	EXPECT(took > LATE_SECONDS - 2);
	knob("hca0/slow", "0");
	ktap_note("a device that is %d s late: all calls took %.1f s", LATE_SECONDS, took);
	expect_end(&p, LATE_SECONDS);
}

static pid_t start_shell(const char *command)
{
	char line[256];
	pid_t pid = MUST(fork());

	if (pid)
		return pid;
	snprintf(line, sizeof(line), "bash -c '. tests/harness/guest/hca.sh; %s'", command);
	_exit(system(line) ? 1 : 0);
}

static bool still_runs(pid_t pid)
{
	int status;

	if (!MUST(waitpid(pid, &status, WNOHANG)))
		return true;
	EXPECT_EQ(status, 0);
	return false;
}

/* Ids of all kinds on the device that is removed; and a listener while the device comes back. */
TEST(device_goes_and_comes)
{
	enum { PAIRS = 16 };
	struct world wild = {};
	struct pair p[PAIRS];
	unsigned int done_with = 0, listened = 0;
	double start;
	pid_t pid;

	inventory_take(&before);
	for (int i = 0; i < PAIRS; i++)
		(i % 2 ? connected : requested)(&p[i]);
	pid = start_shell("echo hca1 >$HCA_KNOBS/remove");
	start = now();
	while (still_runs(pid)) {
		EXPECT(now() - start < REMOVAL_SECONDS);
		if (done_with < PAIRS)
			on_server(&p[done_with++], 0);
		usleep(20000);
	}
	ktap_note("the device went in %.1f s, under the calls for %u ids", now() - start,
		  done_with);
	while (done_with < PAIRS)
		on_server(&p[done_with++], 0);
	pid = start_shell("hca_return");
	wild.ctx = p[0].ctx;
	wild.queue = p[0].cq;
	do {
		wild.id = get_id(wild.ctx, wild.queue, 0);
		EXPECT_EQ(TIMED(LISTEN, 0, rca_listen(wild.ctx, wild.id, 0)), 0);
		EXPECT_EQ(TIMED(DESTROY, 0, rca_destroy(wild.ctx, wild.id)), 0);
		listened++;
		usleep(1000);
	} while (still_runs(pid));
	ktap_note("%u listeners while it came", listened);
	for (int i = 1; i < PAIRS; i++) {
		MUST(close(p[i].cq));
		MUST(close(p[i].lq));
		MUST(close(p[i].ctx));
	}
	expect_end(&p[0], 0);
}

/* Half of the ids one by one and in a batch, the others with their queue. */
TEST_LONG(thousand_ids_end_at_once)
{
	enum { IDS_AT_ONCE = 1000, SINGLE = 250, BATCHED = 250 };
	struct rdma_cm_alt_destroy entries[BATCHED];
	int32_t results[BATCHED];
	struct rdma_cm_alt_batch batch = {
		.size = sizeof(batch), .cmd = RDMA_CM_ALT_CMD_DESTROY, .count = BATCHED,
		.stride = sizeof(entries[0]), .entries_uptr = (uintptr_t)entries,
		.results_uptr = (uintptr_t)results,
	};
	static uint32_t ids[IDS_AT_ONCE];
	struct pair p;

	inventory_take(&before);
	pair_apart(&p);
	for (int i = 0; i < IDS_AT_ONCE; i++)
		ids[i] = get_client(p.ctx, p.cq, SERVER_AT, p.port, i);
	lose("drop CM");
	for (int i = 0; i < IDS_AT_ONCE; i++)
		EXPECT_EQ(TIMED(CONNECT, 0, rca_connect(p.ctx, ids[i], NULL, 0)), 0);
	for (int i = 0; i < SINGLE; i++)
		EXPECT_EQ(TIMED(DESTROY, 0, rca_destroy(p.ctx, ids[i])), 0);
	for (int i = 0; i < BATCHED; i++)
		entries[i] = (struct rdma_cm_alt_destroy){ .size = sizeof(entries[0]),
							   .id = ids[SINGLE + i] };
	EXPECT_EQ(TIMED(BATCH, 0, rca_call(p.ctx, RDMA_CM_ALT_BATCH, &batch)), 0);
	EXPECT_EQ(batch.out_done, BATCHED);
	expect_end(&p, 0);
}

TEST(signal_ends_waiting_for_an_event)
{
	int ctx = get_ctx(), queue = get_queue(ctx);
	uint32_t id = get_id(ctx, -1, 0);
	event_t ev;

	interrupt_in_a_second();
	EXPECT_EQ(TIMED(GET_EVENT, 1, rca_get_event(ctx, id, 0, &ev)), -EINTR);
	interrupt_in_a_second();
	EXPECT_EQ(TIMED(GET_EVENT, 1, read(queue, &ev, sizeof(ev))), -1);
	EXPECT_EQ(errno, EINTR);
}

/* On soft-RoCE: a neighbour that does not answer, and groups of its network device. */
TEST_LONG(neighbour_is_silent)
{
	struct world w = {};
	uint32_t reported;

	inventory_take(&before);
	w.ctx = get_ctx();
	w.queue = get_queue(w.ctx);
	w.id = get_id(w.ctx, w.queue, 0);
	EXPECT_EQ(resolve_for_long(&w, RDMA_CM_ALT_STEP_ADDR, NOBODY), 0);
	all_calls(&w, 0);
	w.id = datagram_id(&w, HERE);
	EXPECT_EQ(TIMED(JOIN, 0, rca_join(w.ctx, w.id, "239.9.8.3", 0, 0, &w.member)), 0);
	EXPECT_EQ(TIMED(LEAVE, 0, rca_leave(w.ctx, w.member, &reported)), 0);
	EXPECT_EQ(TIMED(JOIN, 0, rca_join(w.ctx, w.id, "239.9.8.3", 0, 0, &w.member)), 0);
	all_calls(&w, 0);
	MUST(close(w.queue));
	MUST(close(w.ctx));
	inventory_await(&before);
	report_bounds();
}

KTAP_MAIN
