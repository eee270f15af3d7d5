// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/* Single calls: timed, the errno checked, the result published; and the reactions to events. */
#define _GNU_SOURCE
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "stress.h"

#define REF_CTX(ref) ((uint32_t)((ref) >> 32))
#define REF_FD(ref) CTX_FD(REF_CTX(ref))
#define REF_ID(ref) ((uint32_t)(ref))
#define RECORDS 3

void call_begin(struct hand *hand, bool waits)
{
	hand->lane->waits = waits;
	__atomic_store_n(&hand->lane->since, now_ns(), __ATOMIC_RELEASE);
}

/* @ret: 0 or a negative errno. */
void call_end(struct hand *hand, int ret)
{
	struct lane *lane = hand->lane;
	struct tally *tally = &world->tally[lane->op];
	uint64_t took = now_ns() - lane->since, longest = tally->longest;

	__atomic_store_n(&lane->since, 0, __ATOMIC_RELEASE);
	__atomic_add_fetch(&tally->calls, 1, __ATOMIC_RELAXED);
	if (ret < 0 && ret > -MAX_ERRNO)
		__atomic_add_fetch(&tally->errors[-ret], 1, __ATOMIC_RELAXED);
	while (!lane->waits && took > longest &&
	       !__atomic_compare_exchange_n(&tally->longest, &longest, took, false,
					    __ATOMIC_RELAXED, __ATOMIC_RELAXED))
		;
}

static int call_waiting(struct hand *hand, int fd, unsigned long cmd, void *arg, bool waits)
{
	int ret;

	call_begin(hand, waits);
	ret = rca_call(fd, cmd, arg);
	call_end(hand, ret);
	/* EBADF: the context is not in this process, or not any more. */
	if (ret < 0 && ret != -EBADF && !errno_documented(cmd, -ret))
		complain("%s: ioctl %#lx says %s, which is not documented",
			 op_name(hand->lane->op), cmd, strerrorname_np(-ret));
	return ret;
}

int call_ioctl(struct hand *hand, int fd, unsigned long cmd, void *arg)
{
	return call_waiting(hand, fd, cmd, arg, false);
}

/* Gives @fd the number of its serial. */
static int settle(int fd, int number)
{
	int ret = dup3(fd, number, O_CLOEXEC);

	close(fd);
	return ret;
}

/* A context for the processes of @group; -1: there are no serials left. */
int ctx_open(enum group group, bool ordered)
{
	uint32_t serial = __atomic_fetch_add(&world->ctxs, 1, __ATOMIC_RELAXED);
	int fd;

	if (serial >= MAX_CTX)
		return -1;
	world->ctx[serial].group = group;
	world->ctx[serial].ordered = ordered;
	fd = open(DEVICE, O_RDWR | O_CLOEXEC);
	if (fd < 0 || settle(fd, CTX_FD(serial)) < 0)
		return -1;
	return serial;
}

/* Publishes the new queue @fd and returns its serial. 0: there are no serials left. */
static uint32_t queue_keep(uint32_t ctx, int fd, bool blocks)
{
	uint32_t serial = __atomic_add_fetch(&world->queues, 1, __ATOMIC_RELAXED);

	if (serial >= MAX_QUEUES) {
		close(fd);
		return 0;
	}
	world->queue_ctx[serial] = ctx;
	world->queue_blocks[serial] = blocks;
	return settle(fd, QUEUE_FD(serial)) < 0 ? 0 : serial;
}

int queue_make(struct hand *hand, uint32_t ctx, uint32_t flags, uint32_t ring)
{
	struct rdma_cm_alt_queue_create cmd = {
		.size = sizeof(cmd), .flags = flags, .ring_entries = ring,
	};

	if (call_ioctl(hand, CTX_FD(ctx), RDMA_CM_ALT_QUEUE_CREATE, &cmd))
		return 0;
	return queue_keep(ctx, cmd.out_fd, !(flags & RDMA_CM_ALT_QUEUE_NONBLOCK));
}

/* Publishes @ref in a slot; the id that was there is destroyed. */
void id_keep(struct hand *hand, uint32_t where, uint64_t ref)
{
	uint32_t slot = where % 8 ? where % SLOTS : where / 8 % CROWDED;
	uint64_t old = __atomic_exchange_n(&world->slots[hand->group][slot], ref,
					   __ATOMIC_ACQ_REL);

	if (old && old != ref)
		id_destroy(hand, old);
}

void id_destroy(struct hand *hand, uint64_t ref)
{
	struct rdma_cm_alt_destroy cmd = { .size = sizeof(cmd), .id = REF_ID(ref) };

	if (!call_ioctl(hand, REF_FD(ref), RDMA_CM_ALT_DESTROY, &cmd))
		oracle_gone(ref, cmd.out_events_reported);
}

static uint32_t iwarp_qp(uint32_t how)
{
	return __atomic_exchange_n(&world->iwarp_qps[how % IWARP_QPS], 0, __ATOMIC_ACQ_REL);
}

/* Sometimes a number that was just used, so that peers have an old connection with it. */
static uint32_t qp_num(uint32_t how)
{
	if (how % 16 == 0)
		return 0x100 + how / 16 % 8;
	return (0x1000 + __atomic_add_fetch(&world->qp_nums, 1, __ATOMIC_RELAXED)) & 0xffffff;
}

struct rdma_cm_alt_conn_param make_param(bool iwarp, uint32_t how, const char *data)
{
	return (struct rdma_cm_alt_conn_param) {
		.qp_num = iwarp ? iwarp_qp(how) : qp_num(how),
		.private_data_uptr = (uintptr_t)data,
		.private_data_len = data ? how % 57 : 0,
		.responder_resources = 1,
		.initiator_depth = 1,
		.retry_count = how % 8,
		.rnr_retry_count = 7,
	};
}

static const char private_data[256] = "stress";

int id_accept(struct hand *hand, uint64_t ref, bool iwarp, uint32_t how)
{
	struct rdma_cm_alt_accept cmd = {
		.size = sizeof(cmd), .flags = how % 16 == 1 ? RDMA_CM_ALT_ACCEPT_QUIET : 0,
		.id = REF_ID(ref), .cookie = how, .param = make_param(iwarp, how, private_data),
	};

	return call_ioctl(hand, REF_FD(ref), RDMA_CM_ALT_ACCEPT, &cmd);
}

int id_connect(struct hand *hand, uint64_t ref, bool iwarp, uint32_t how)
{
	struct rdma_cm_alt_connect cmd = {
		.size = sizeof(cmd), .pipe.id = REF_ID(ref), .pipe.queue_fd = -1,
		.param = make_param(iwarp, how, private_data),
	};

	return call_ioctl(hand, REF_FD(ref), RDMA_CM_ALT_CONNECT, &cmd);
}

/* An ioctl whose struct is size, flags, id and a reserved member. */
int id_simple(struct hand *hand, uint64_t ref, unsigned long cmd)
{
	struct rdma_cm_alt_disconnect arg = { .size = sizeof(arg), .id = REF_ID(ref) };

	return call_ioctl(hand, REF_FD(ref), cmd, &arg);
}

int id_resolve_route(struct hand *hand, uint64_t ref)
{
	struct rdma_cm_alt_resolve cmd = {
		.size = sizeof(cmd),
		.pipe = {
			.steps = RDMA_CM_ALT_STEP_ROUTE, .events = RDMA_CM_ALT_STEP_ROUTE,
			.id = REF_ID(ref), .queue_fd = -1, .timeout_ms = 2000,
		},
	};

	return call_ioctl(hand, REF_FD(ref), RDMA_CM_ALT_RESOLVE, &cmd);
}

static int id_reject(struct hand *hand, uint64_t ref)
{
	struct rdma_cm_alt_reject cmd = { .size = sizeof(cmd), .id = REF_ID(ref) };

	return call_ioctl(hand, REF_FD(ref), RDMA_CM_ALT_REJECT, &cmd);
}

static bool at_iwarp(const addr_t *addr)
{
	for (int i = 0; i < world->places; i++)
		if (world->place[i].iwarp && addr_is(addr, world->place[i].ip))
			return true;
	return false;
}

static void take_request(struct hand *hand, uint64_t ref, const event_t *ev, uint32_t how)
{
	bool iwarp = ev->flags & RDMA_CM_ALT_EVENT_F_ROUTE && at_iwarp(&ev->route.src);

	id_keep(hand, how >> 8, ref);
	if (how % 16 < 11) {
		op_answer(hand, ANSWER_ACCEPT);
		id_accept(hand, ref, iwarp, how >> 8);
	} else if (how % 16 < 13) {
		op_answer(hand, ANSWER_REJECT);
		id_reject(hand, ref);
	}
}

static void answer_simply(struct hand *hand, enum answer answer, uint64_t ref, unsigned long cmd)
{
	op_answer(hand, answer);
	id_simple(hand, ref, cmd);
}

static void answer_response(struct hand *hand, uint64_t ref, uint32_t how)
{
	if (how % 8)
		return answer_simply(hand, ANSWER_ESTABLISH, ref, RDMA_CM_ALT_ESTABLISH);
	op_answer(hand, ANSWER_REJECT);
	if (how % 16)
		id_reject(hand, ref);
}

static void answer_end(struct hand *hand, uint64_t ref, uint32_t how)
{
	if (how % 4 == 0)
		answer_simply(hand, ANSWER_DISCONNECT, ref, RDMA_CM_ALT_DISCONNECT);
	op_answer(hand, ANSWER_DESTROY);
	if (how % 2)
		id_destroy(hand, ref);
}

/* What a program usually does next. Derived from the event, not from the stream. */
static void react(struct hand *hand, uint32_t ctx, const event_t *ev)
{
	uint64_t ref = (uint64_t)ctx << 32 | ev->id;
	uint64_t state = world->seed ^ ref ^ (uint64_t)ev->type << 56;
	uint32_t how = random_next(&state);

	switch (ev->type) {
	case RDMA_CM_ALT_EVENT_CONNECT_REQUEST:
		take_request(hand, ref, ev, how);
		break;
	case RDMA_CM_ALT_EVENT_ADDR_RESOLVED:
		op_answer(hand, ANSWER_ROUTE);
		if (how % 4)
			id_resolve_route(hand, ref);
		break;
	case RDMA_CM_ALT_EVENT_ROUTE_RESOLVED:
		op_answer(hand, ANSWER_CONNECT);
		if (how % 4)
			id_connect(hand, ref, at_iwarp(&ev->route.src), how >> 8);
		break;
	case RDMA_CM_ALT_EVENT_CONNECT_RESPONSE:
		answer_response(hand, ref, how);
		break;
	case RDMA_CM_ALT_EVENT_ESTABLISHED:
		if (how % 2)
			answer_simply(hand, ANSWER_DISCONNECT, ref, RDMA_CM_ALT_DISCONNECT);
		break;
	case RDMA_CM_ALT_EVENT_DISCONNECTED:
	case RDMA_CM_ALT_EVENT_DEVICE_REMOVAL:
		answer_end(hand, ref, how);
		break;
	}
}

/* A reader of an ordered context holds its lock until the oracle has seen the events. */
static bool lock_order(uint32_t ctx)
{
	if (!world->ctx[ctx].ordered)
		return true;
	return !pthread_mutex_trylock(&world->ctx[ctx].lock);
}

static void unlock_order(uint32_t ctx)
{
	if (world->ctx[ctx].ordered)
		pthread_mutex_unlock(&world->ctx[ctx].lock);
}

void queue_read(struct hand *hand, uint32_t queue, struct draw *draw)
{
	uint32_t ctx = world->queue_ctx[queue], clock;
	event_t recs[RECORDS];
	size_t wanted = sizeof(recs[0]) * (1 + draw->b % RECORDS);
	bool fault = draw->c % 64 == 0;
	ssize_t len;
	int got;

	if (!lock_order(ctx))
		return;
	clock = __atomic_load_n(&world->clock, __ATOMIC_SEQ_CST);
	call_begin(hand, world->queue_blocks[queue]);
	len = read(QUEUE_FD(queue), fault ? NULL : recs, wanted);
	if (len < 0)
		len = -errno;
	call_end(hand, len);
	got = len > 0 ? len / sizeof(recs[0]) : 0;
	for (int i = 0; i < got; i++)
		oracle_seen(ctx, &recs[i], clock, true);
	unlock_order(ctx);
	if (len < 0 && len != -EAGAIN && len != -EINTR && len != -EBADF &&
	    !(len == -EFAULT && fault) && !(len == -EBUSY && hand->group == DIRTY))
		complain("read says %s", strerrorname_np(-len));
	if (len > 0 && len % sizeof(recs[0]))
		complain("read gave %zd bytes, which are not whole records", len);
	for (int i = 0; i < got; i++)
		react(hand, ctx, &recs[i]);
}

void id_get_event(struct hand *hand, uint64_t ref, struct draw *draw)
{
	uint32_t ctx = REF_CTX(ref), clock;
	bool waits = !world->ctx[ctx].ordered && draw->b % 16 == 0;
	event_t rec;
	struct rdma_cm_alt_get_event cmd = {
		.size = sizeof(cmd), .id = REF_ID(ref), .record_len = sizeof(rec),
		.flags = waits ? 0 : RDMA_CM_ALT_GET_EVENT_NONBLOCK,
		.record_uptr = draw->c % 64 ? (uintptr_t)&rec : 0,
	};
	int ret;

	if (!lock_order(ctx))
		return;
	clock = __atomic_load_n(&world->clock, __ATOMIC_SEQ_CST);
	ret = call_waiting(hand, REF_FD(ref), RDMA_CM_ALT_GET_EVENT, &cmd, waits);
	if (!ret)
		oracle_seen(ctx, &rec, clock, true);
	unlock_order(ctx);
	if (!ret)
		react(hand, ctx, &rec);
}
