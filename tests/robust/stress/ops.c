// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/* The operations and their weights. */
#define _GNU_SOURCE
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <unistd.h>

#include "pass.h"
#include "stress.h"

#define REF_FD(ref) CTX_FD((ref) >> 32)
#define REF_ID(ref) ((uint32_t)(ref))
#define OPT(name) RDMA_CM_ALT_OPTION_##name

/*
 * The id of a slot, which may be destroyed already; a fourth of them are crowded ones. Mostly one
 * whose context is open in this process.
 */
static uint64_t pick(struct hand *hand, uint32_t how)
{
	unsigned int slots = how % 32 < 8 ? CROWDED : SLOTS;
	uint64_t ref = 0;

	for (int i = 0; i < 4; i++) {
		ref = __atomic_load_n(&world->slots[hand->group][(how / 32 + i) % slots],
				      __ATOMIC_ACQUIRE);
		if (how % 32 == 0 || passed_here(ref >> 32))
			break;
	}
	return ref;
}

static uint32_t pick_queue(struct hand *hand, uint32_t how)
{
	uint32_t queue = 0;

	for (int i = 0; i < QUEUE_SLOTS; i++) {
		queue = __atomic_load_n(&world->queue_slots[hand->group][(how + i) % QUEUE_SLOTS],
					__ATOMIC_ACQUIRE);
		if (queue && fcntl(QUEUE_FD(queue), F_GETFD) >= 0)
			break;
	}
	return queue;
}

/* A context of the group; it may be that of another process. */
static uint32_t pick_ctx(struct hand *hand, uint32_t how)
{
	uint32_t count = __atomic_load_n(&world->ctxs, __ATOMIC_ACQUIRE), ctx;

	count = count < MAX_CTX ? count : MAX_CTX;
	for (uint32_t i = 0; i < count; i++) {
		ctx = (how + i) % count;
		if (world->ctx[ctx].group == hand->group && passed_here(ctx))
			return ctx;
	}
	return how % count;
}

/* Mostly the first one, so that clients meet listeners. */
static const struct place *pick_place(uint32_t how)
{
	return &world->place[how % 4 ? 0 : how / 4 % world->places];
}

/* The context and the queue of a new id; the queue may be -1. */
static uint32_t home(struct hand *hand, uint32_t how, int *queue_fd)
{
	uint32_t queue = how % 16 ? pick_queue(hand, how / 16) : 0;

	*queue_fd = queue ? QUEUE_FD(queue) : -1;
	return queue ? world->queue_ctx[queue] : pick_ctx(hand, how / 16);
}

static void fill_pipe(struct rdma_cm_alt_pipeline *pipe, uint32_t steps, uint32_t how)
{
	bool datagrams = how % 4 == 0;

	pipe->steps = steps;
	pipe->events = how / 4 % 8 ? steps & (RDMA_CM_ALT_STEP_ADDR | RDMA_CM_ALT_STEP_ROUTE) : 0;
	pipe->timeout_ms = 500 + how / 32 % 2000;
	pipe->ps = datagrams ? RDMA_PS_UDP : RDMA_PS_TCP;
	pipe->qp_type = datagrams ? IB_UVERBS_QPT_UD : IB_UVERBS_QPT_RC;
	pipe->cookie = how;
}

static uint64_t keep_created(struct hand *hand, uint32_t ctx, uint32_t id, uint32_t where)
{
	uint64_t ref = (uint64_t)ctx << 32 | id;

	id_keep(hand, where, ref);
	return ref;
}

static uint64_t resolve_new(struct hand *hand, struct draw *draw, uint32_t steps, const char *src,
			    const char *dst, uint16_t port)
{
	struct rdma_cm_alt_resolve cmd = { .size = sizeof(cmd) };
	uint32_t ctx = home(hand, draw->b, &cmd.pipe.queue_fd);

	fill_pipe(&cmd.pipe, steps | RDMA_CM_ALT_STEP_CREATE, draw->c);
	cmd.pipe.src = make_addr(src, dst ? 0 : port);
	cmd.pipe.dst = make_addr(dst, port);
	if (call_ioctl(hand, CTX_FD(ctx), RDMA_CM_ALT_RESOLVE, &cmd))
		return 0;
	return keep_created(hand, ctx, cmd.out_id, draw->d);
}

static void op_create(struct hand *hand, struct draw *draw)
{
	resolve_new(hand, draw, 0, NULL, NULL, 0);
}

static void op_new_resolve(struct hand *hand, struct draw *draw)
{
	resolve_new(hand, draw, RDMA_CM_ALT_STEP_ADDR |
		    (draw->a % 4 ? RDMA_CM_ALT_STEP_ROUTE : 0), NULL, pick_place(draw->a / 4)->ip,
		    FIRST_PORT + draw->d / SLOTS % PORTS);
}

static void op_new_listener(struct hand *hand, struct draw *draw)
{
	bool everywhere = draw->a % 8 == 0;
	uint64_t ref = resolve_new(hand, draw, RDMA_CM_ALT_STEP_BIND,
				   everywhere ? "::" : pick_place(draw->a / 8)->ip, NULL,
				   FIRST_PORT + draw->d / SLOTS % PORTS);
	struct rdma_cm_alt_listen cmd = {
		.size = sizeof(cmd), .id = REF_ID(ref), .backlog = draw->a / 8 % 5,
	};

	if (ref)
		call_ioctl(hand, REF_FD(ref), RDMA_CM_ALT_LISTEN, &cmd);
}

static void op_new_connect(struct hand *hand, struct draw *draw)
{
	const struct place *place = pick_place(draw->a);
	struct rdma_cm_alt_connect cmd = { .size = sizeof(cmd) };
	uint32_t ctx = home(hand, draw->b, &cmd.pipe.queue_fd);

	fill_pipe(&cmd.pipe, RDMA_CM_ALT_STEP_CREATE | RDMA_CM_ALT_STEP_ADDR |
		  RDMA_CM_ALT_STEP_ROUTE, draw->c);
	cmd.pipe.dst = make_addr(place->ip, FIRST_PORT + draw->d / SLOTS % PORTS);
	cmd.param = make_param(place->iwarp, draw->c / 32, NULL);
	if (!call_ioctl(hand, CTX_FD(ctx), RDMA_CM_ALT_CONNECT, &cmd))
		keep_created(hand, ctx, cmd.out_id, draw->d);
}

static void resolve_old(struct hand *hand, struct draw *draw, uint32_t steps, const char *src,
			const char *dst)
{
	uint64_t ref = pick(hand, draw->a);
	struct rdma_cm_alt_resolve cmd = { .size = sizeof(cmd) };

	fill_pipe(&cmd.pipe, steps, draw->c);
	cmd.pipe.id = REF_ID(ref);
	cmd.pipe.queue_fd = -1;
	cmd.pipe.src = make_addr(src, FIRST_PORT + draw->d % PORTS);
	cmd.pipe.dst = make_addr(dst, FIRST_PORT + draw->d % PORTS);
	call_ioctl(hand, REF_FD(ref), RDMA_CM_ALT_RESOLVE, &cmd);
}

static void op_bind(struct hand *hand, struct draw *draw)
{
	resolve_old(hand, draw, RDMA_CM_ALT_STEP_BIND, pick_place(draw->b)->ip, NULL);
}

static void op_resolve_addr(struct hand *hand, struct draw *draw)
{
	resolve_old(hand, draw, RDMA_CM_ALT_STEP_ADDR, NULL, pick_place(draw->b)->ip);
}

static void op_resolve_route(struct hand *hand, struct draw *draw)
{
	id_resolve_route(hand, pick(hand, draw->a));
}

static void op_listen(struct hand *hand, struct draw *draw)
{
	uint64_t ref = pick(hand, draw->a);
	struct rdma_cm_alt_listen cmd = { .size = sizeof(cmd), .id = REF_ID(ref), .backlog = 3 };

	call_ioctl(hand, REF_FD(ref), RDMA_CM_ALT_LISTEN, &cmd);
}

static void op_connect(struct hand *hand, struct draw *draw)
{
	id_connect(hand, pick(hand, draw->a), false, draw->b);
}

static void op_accept(struct hand *hand, struct draw *draw)
{
	id_accept(hand, pick(hand, draw->a), false, draw->b);
}

static void op_reject(struct hand *hand, struct draw *draw)
{
	uint64_t ref = pick(hand, draw->a);
	struct rdma_cm_alt_reject cmd = {
		.size = sizeof(cmd), .id = REF_ID(ref), .reason = draw->b % 2 ? 0 : 28,
	};

	call_ioctl(hand, REF_FD(ref), RDMA_CM_ALT_REJECT, &cmd);
}

static void op_establish(struct hand *hand, struct draw *draw)
{
	id_simple(hand, pick(hand, draw->a), RDMA_CM_ALT_ESTABLISH);
}

static void op_disconnect(struct hand *hand, struct draw *draw)
{
	id_simple(hand, pick(hand, draw->a), RDMA_CM_ALT_DISCONNECT);
}

static void op_notify(struct hand *hand, struct draw *draw)
{
	uint64_t ref = pick(hand, draw->a);
	struct rdma_cm_alt_notify cmd = { .size = sizeof(cmd), .id = REF_ID(ref), .event = 4 };

	call_ioctl(hand, REF_FD(ref), RDMA_CM_ALT_NOTIFY, &cmd);
}

static void op_qp_attr(struct hand *hand, struct draw *draw)
{
	uint64_t ref = pick(hand, draw->a);
	struct rdma_cm_alt_qp_attr_get cmd = {
		.size = sizeof(cmd), .id = REF_ID(ref), .qp_state = draw->b % 5,
	};

	call_ioctl(hand, REF_FD(ref), RDMA_CM_ALT_QP_ATTR, &cmd);
}

static void op_query(struct hand *hand, struct draw *draw)
{
	uint64_t ref = pick(hand, draw->a);
	struct rdma_cm_alt_query cmd = { .size = sizeof(cmd), .id = REF_ID(ref) };

	call_ioctl(hand, REF_FD(ref), RDMA_CM_ALT_QUERY, &cmd);
}

/*
 * Values of timeouts are small, because destroying an id may wait until ib_cm has stopped to
 * repeat a message (tests/robust/stock/notified_id.c).
 */
static const struct {
	uint32_t level, name, len, values;
} options[] = {
	{ RDMA_OPTION_ID, RDMA_OPTION_ID_TOS, 1, 24 },
	{ RDMA_OPTION_ID, RDMA_OPTION_ID_REUSEADDR, 4, 3 },
	{ RDMA_OPTION_ID, RDMA_OPTION_ID_AFONLY, 4, 3 },
	{ RDMA_OPTION_ID, RDMA_OPTION_ID_ACK_TIMEOUT, 1, 24 },
	{ RDMA_OPTION_IB, RDMA_OPTION_IB_PATH, 512, 24 },
	{ RDMA_CM_ALT_OPTION, OPT(GID_TYPE), 1, 4 },
	{ RDMA_CM_ALT_OPTION, OPT(RESPONSE_TIMEOUT), 1, 19 },
	{ RDMA_CM_ALT_OPTION, OPT(MAX_RETRIES), 1, 5 },
	{ RDMA_CM_ALT_OPTION, OPT(MRA_TIMEOUT), 1, 22 },
	{ RDMA_CM_ALT_OPTION, OPT(DEADLINE), 4, 3000 },
};

static void op_option(struct hand *hand, struct draw *draw)
{
	unsigned int n = draw->b % (sizeof(options) / sizeof(options[0]));
	uint64_t ref = pick(hand, draw->a), value[64] = { draw->d % options[n].values };
	struct rdma_cm_alt_option cmd = {
		.size = sizeof(cmd), .id = REF_ID(ref), .level = options[n].level,
		.optname = options[n].name, .optlen = options[n].len,
		.optval_uptr = (uintptr_t)value,
	};

	/* A path is set to what GET_OPTION returns. */
	if (options[n].name == RDMA_OPTION_IB_PATH && options[n].level == RDMA_OPTION_IB &&
	    call_ioctl(hand, REF_FD(ref), RDMA_CM_ALT_GET_OPTION, &cmd))
		return;
	call_ioctl(hand, REF_FD(ref), draw->c % 3 ? RDMA_CM_ALT_SET_OPTION :
		   RDMA_CM_ALT_GET_OPTION, &cmd);
}

static void op_set_queue(struct hand *hand, struct draw *draw)
{
	uint64_t ref = pick(hand, draw->a);
	uint32_t queue = draw->b % 16 ? pick_queue(hand, draw->b / 16) : 0;
	struct rdma_cm_alt_set_queue cmd = {
		.size = sizeof(cmd), .id = REF_ID(ref), .queue_fd = queue ? QUEUE_FD(queue) : -1,
		.flags = draw->c % 4 ? 0 : RDMA_CM_ALT_SET_QUEUE_COOKIE, .cookie = draw->d,
	};

	call_ioctl(hand, REF_FD(ref), RDMA_CM_ALT_SET_QUEUE, &cmd);
}

static void op_get_event(struct hand *hand, struct draw *draw)
{
	id_get_event(hand, pick(hand, draw->a), draw);
}

static void op_post(struct hand *hand, struct draw *draw)
{
	uint64_t ref = pick(hand, draw->a);
	struct rdma_cm_alt_post_event cmd = {
		.size = sizeof(cmd), .id = REF_ID(ref), .type = RDMA_CM_ALT_EVENT_USER,
		.arg = draw->b,
	};

	call_ioctl(hand, REF_FD(ref), RDMA_CM_ALT_POST_EVENT, &cmd);
}

static void op_join(struct hand *hand, struct draw *draw)
{
	uint64_t ref = pick(hand, draw->a);
	struct rdma_cm_alt_join cmd = {
		.size = sizeof(cmd), .id = REF_ID(ref),
		.join_state = draw->b % 2 ? RDMA_MC_JOIN_FLAG_FULLMEMBER :
			      RDMA_MC_JOIN_FLAG_SENDONLY_FULLMEMBER,
		.group = make_addr(draw->b / 2 % 2 ? "239.1.2.3" : "239.1.2.4", 0),
	};

	if (!call_ioctl(hand, REF_FD(ref), RDMA_CM_ALT_JOIN, &cmd))
		__atomic_store_n(&world->members[hand->group][draw->c % MEMBER_SLOTS],
				 ref >> 32 << 32 | cmd.out_member, __ATOMIC_RELEASE);
}

static void op_leave(struct hand *hand, struct draw *draw)
{
	uint64_t ref = __atomic_load_n(&world->members[hand->group][draw->a % MEMBER_SLOTS],
				       __ATOMIC_ACQUIRE);
	struct rdma_cm_alt_leave cmd = { .size = sizeof(cmd), .member = REF_ID(ref) };

	if (!call_ioctl(hand, REF_FD(ref), RDMA_CM_ALT_LEAVE, &cmd))
		oracle_gone(ref, cmd.out_events_reported);
}

static void op_destroy(struct hand *hand, struct draw *draw)
{
	id_destroy(hand, pick(hand, draw->a));
}

/* Destroys ids of one context in one call. */
static void op_batch(struct hand *hand, struct draw *draw)
{
	struct rdma_cm_alt_destroy cmds[4] = {};
	int32_t results[4] = {};
	struct rdma_cm_alt_batch cmd = {
		.size = sizeof(cmd), .cmd = RDMA_CM_ALT_CMD_DESTROY, .count = 4,
		.stride = sizeof(cmds[0]), .entries_uptr = (uintptr_t)cmds,
		.results_uptr = (uintptr_t)results,
	};
	uint64_t first = pick(hand, draw->a), ref;

	for (int i = 0; i < 4; i++) {
		ref = pick(hand, draw->b + 32 * i);
		cmds[i].size = sizeof(cmds[i]);
		cmds[i].id = ref >> 32 == first >> 32 ? REF_ID(ref) : REF_ID(first);
	}
	if (call_ioctl(hand, REF_FD(first), RDMA_CM_ALT_BATCH, &cmd))
		return;
	for (uint32_t i = 0; i < cmd.out_done; i++)
		if (!results[i])
			oracle_gone(first >> 32 << 32 | cmds[i].id, cmds[i].out_events_reported);
}

static void op_queue_create(struct hand *hand, struct draw *draw)
{
	uint32_t ctx = pick_ctx(hand, draw->a), queue;
	bool blocks = !world->ctx[ctx].ordered && draw->b % 4 == 0;

	queue = queue_make(hand, ctx, blocks ? 0 : RDMA_CM_ALT_QUEUE_NONBLOCK, 0);
	/* The old queue of the slot stays open in the processes that have it. */
	if (queue)
		__atomic_store_n(&world->queue_slots[hand->group][draw->c % QUEUE_SLOTS], queue,
				 __ATOMIC_RELEASE);
}

/* The last close destroys the ids of the queue; the number may not be open here. */
static void op_queue_close(struct hand *hand, struct draw *draw)
{
	uint32_t queue = pick_queue(hand, draw->a);

	if (!queue)
		return;
	call_begin(hand, false);
	call_end(hand, close(QUEUE_FD(queue)) ? -errno : 0);
}

static void op_read(struct hand *hand, struct draw *draw)
{
	uint32_t queue = pick_queue(hand, draw->a);

	if (queue)
		queue_read(hand, queue, draw);
}

static void op_poll(struct hand *hand, struct draw *draw)
{
	struct pollfd fds[3] = {};

	for (int i = 0; i < 3; i++) {
		fds[i].fd = QUEUE_FD(pick_queue(hand, draw->a + i));
		fds[i].events = POLLIN;
	}
	call_begin(hand, true);
	call_end(hand, poll(fds, 3, draw->b % 20) < 0 ? -errno : 0);
}

static void op_ring(struct hand *hand, struct draw *draw)
{
	if (hand->group == DIRTY)
		ring_random(hand, pick_ctx(hand, draw->a), draw);
}

/* Random bytes, which the ioctl must refuse: the place of the id has no valid handle. */
static void op_garbage(struct hand *hand, struct draw *draw)
{
	uint32_t bytes[128];
	uint64_t state = hand->random;

	for (int i = 0; i < 128; i++)
		bytes[i] = random_next(&state);
	bytes[0] = draw->b % 600;
	bytes[1] = 0;
	call_ioctl(hand, CTX_FD(pick_ctx(hand, draw->a)),
		   _IO(RDMA_CM_ALT_IOC_TYPE, RDMA_CM_ALT_CMD_BASE +
		       draw->c % (RDMA_CM_ALT_CMD_END - RDMA_CM_ALT_CMD_BASE)),
		   draw->d % 16 ? (void *)bytes : NULL);
}

static void op_ctx_open(struct hand *hand, struct draw *draw)
{
	int ctx = ctx_open(hand->group, draw->a % 2 && hand->group == CLEAN);

	if (ctx >= 0)
		pass_send(hand, CTX_FD(ctx), draw->b);
}

static void op_ctx_close(struct hand *hand, struct draw *draw)
{
	call_begin(hand, false);
	call_end(hand, close(CTX_FD(pick_ctx(hand, draw->a))) ? -errno : 0);
}

static void op_pass(struct hand *hand, struct draw *draw)
{
	uint32_t queue = pick_queue(hand, draw->a);

	pass_send(hand, draw->b % 2 ? QUEUE_FD(queue) : CTX_FD(pick_ctx(hand, draw->a)), draw->c);
}

static void op_take(struct hand *hand, struct draw *draw)
{
	(void)draw;
	pass_receive(hand);
}

static void op_nap(struct hand *hand, struct draw *draw)
{
	(void)hand;
	usleep(draw->a % 20000);
}

/* A child with all descriptors of this process, which is killed at a random moment. */
static void op_fork(struct hand *hand, struct draw *draw)
{
	struct itimerval timer = { .it_value.tv_usec = 1000 + draw->a % 300000 };
	struct hand child;

	if (hand->group != DIRTY || fork())
		return;
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	signal(SIGALRM, SIG_DFL);
	setitimer(ITIMER_REAL, &timer, NULL);
	__atomic_add_fetch(&world->forks, 1, __ATOMIC_RELAXED);
	hand_begin(&child, draw->b, DIRTY, hand->worker);
	while (!__atomic_load_n(&world->stop, __ATOMIC_RELAXED))
		op_random(&child);
	_exit(0);
}

static const struct op {
	const char *name;
	int weight;
	void (*run)(struct hand *hand, struct draw *draw);
} ops[] = {
	[ANSWER_ROUTE] = { .name = "answer: route" },
	[ANSWER_CONNECT] = { .name = "answer: connect" },
	[ANSWER_ACCEPT] = { .name = "answer: accept" },
	[ANSWER_REJECT] = { .name = "answer: reject" },
	[ANSWER_ESTABLISH] = { .name = "answer: establish" },
	[ANSWER_DISCONNECT] = { .name = "answer: disconnect" },
	[ANSWER_DESTROY] = { .name = "answer: destroy" },
	{ "create", 10, op_create },
	{ "create and resolve", 20, op_new_resolve },
	{ "create and listen", 40, op_new_listener },
	{ "create and connect", 45, op_new_connect },
	{ "bind", 20, op_bind },
	{ "resolve address", 30, op_resolve_addr },
	{ "resolve route", 30, op_resolve_route },
	{ "listen", 10, op_listen },
	{ "connect", 30, op_connect },
	{ "accept", 30, op_accept },
	{ "reject", 10, op_reject },
	{ "establish", 30, op_establish },
	{ "disconnect", 30, op_disconnect },
	{ "notify", 20, op_notify },
	{ "QP attributes", 20, op_qp_attr },
	{ "query", 40, op_query },
	{ "options", 40, op_option },
	{ "set queue", 80, op_set_queue },
	{ "get event", 80, op_get_event },
	{ "post event", 60, op_post },
	{ "join", 40, op_join },
	{ "leave", 30, op_leave },
	{ "destroy", 25, op_destroy },
	{ "batch of destroy", 6, op_batch },
	{ "queue create", 4, op_queue_create },
	{ "queue close", 2, op_queue_close },
	{ "read", 600, op_read },
	{ "poll", 30, op_poll },
	{ "ring", 40, op_ring },
	{ "garbage", 20, op_garbage },
	{ "context open", 2, op_ctx_open },
	{ "context close", 1, op_ctx_close },
	{ "pass a descriptor", 30, op_pass },
	{ "take a descriptor", 40, op_take },
	{ "nap", 150, op_nap },
	{ "fork", 4, op_fork },
};

int op_count(void)
{
	return sizeof(ops) / sizeof(ops[0]);
}

const char *op_name(int op)
{
	return ops[op].name;
}

void op_answer(struct hand *hand, enum answer answer)
{
	hand->lane->op = answer;
}

/* Draws an operation and its random numbers, independent of earlier results. */
static int draw_op(uint64_t *random, struct draw *draw)
{
	uint64_t first = random_next(random), second = random_next(random);
	int left, op = 0, sum = 0;

	*draw = (struct draw) { .a = first >> 32, .b = first, .c = second >> 32, .d = second };
	for (int i = 0; i < op_count(); i++)
		sum += ops[i].weight;
	left = random_next(random) % sum;
	while (left >= ops[op].weight)
		left -= ops[op++].weight;
	return op;
}

static uint64_t trail_on(uint64_t trail, int op, const struct draw *draw)
{
	uint64_t mix = trail ^ op ^ (uint64_t)draw->a << 32 ^ draw->b ^ (uint64_t)draw->c << 16 ^
		       (uint64_t)draw->d << 48;

	return random_next(&mix);
}

uint64_t op_trail(uint64_t random)
{
	uint64_t trail = 0;
	struct draw draw;
	int op;

	for (int i = 0; i < TRAIL; i++) {
		op = draw_op(&random, &draw);
		trail = trail_on(trail, op, &draw);
	}
	return trail;
}

void op_random(struct hand *hand)
{
	struct draw draw;
	int op = draw_op(&hand->random, &draw);

	hand->lane->op = op;
	if (hand->trail && hand->drawn++ < TRAIL) {
		hand->passed = trail_on(hand->passed, op, &draw);
		if (hand->drawn == TRAIL)
			*hand->trail = hand->passed;
	}
	ops[op].run(hand, &draw);
}
