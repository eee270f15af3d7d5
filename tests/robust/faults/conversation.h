/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * Whole conversations, which are repeated: each time the next allocation fails, or the next message
 * is lost, wherever that happens: in a call, a callback, a work or a timer, at either end. A call
 * that fails works when it is made again, or is one that ends the conversation; then both ends are
 * told. Nothing is left, and the same conversation works afterwards without a fault.
 *
 * FAULTS_VERBOSE in the environment: print in which phase each fault was.
 */
#ifndef CONVERSATION_H
#define CONVERSATION_H

#include <stdlib.h>
#include <string.h>

#include "faults.h"
#include "limits.h"

#define MAX_PHASES 8

/* More than any conversation has places. */
#define MAX_FAULTS 1000

/* The sweep ends when so many conversations in a row did not get as far as their fault. */
#define MISSES 3

/* Seconds of a sweep in an emulated guest. */
#define LONG_TIME 3000

/**
 * struct phase - a part of a conversation; the last one destroys all ids
 * @name: what it does; NULL behind the last one
 * @run: does it; false: the conversation has failed, and both ends know
 */
struct phase {
	const char *name;
	bool (*run)(void);
};

/**
 * struct kind - a kind of fault
 * @name: in the plural
 * @begin: let the nth place fail, from 1
 * @hit: whether this has happened
 * @end: let nothing fail any more
 */
struct kind {
	const char *name;
	void (*begin)(unsigned int nth);
	bool (*hit)(void);
	void (*end)(void);
};

static struct pair p;
static const struct kind *kind;		/* of the fault in this conversation, or NULL */
static unsigned int refused;		/* calls that failed */

static bool over_tcp(void)
{
	return getenv("FAULTS_TCP");
}

static bool was_hit(void)
{
	return kind && kind->hit();
}

/* A failure takes a fault. */
static void excuse(const char *what, int status)
{
	if (!was_hit())
		ktap_fail(__FILE__, __LINE__, "%s: %d without a fault", what, status);
}

static bool call_fails(const char *what, int ret)
{
	if (!ret)
		return false;
	if (ret != -ENOMEM)
		ktap_fail(__FILE__, __LINE__, "%s: %s", what, strerrorname_np(-ret) ?: "?");
	excuse(what, ret);
	refused++;
	return true;
}

#define FAILS(call) call_fails(#call, call)

/* A call that fails works when it is made again. */
#define AGAIN(call) do {							\
	if (FAILS(call))							\
		EXPECT_EQ(call, 0);						\
} while (0)

/* The next event of an id. The end of the timewait may come at any time after a disconnect. */
static void hear(int queue, uint32_t id, event_t *ev)
{
	do {
		get_event(queue, ev);
	} while (ev->type == RDMA_CM_ALT_EVENT_TIMEWAIT_EXIT);
	EXPECT_EQ(ev->id, id);
}

static void create(uint32_t *id, int queue, bool datagram)
{
	uint16_t ps = datagram ? RDMA_PS_UDP : RDMA_PS_TCP;
	uint8_t type = datagram ? IB_UVERBS_QPT_UD : IB_UVERBS_QPT_RC;

	AGAIN(rca_create(p.ctx, queue, ps, type, CLIENT, id));
}

static void destroy(uint32_t *id)
{
	if (*id)
		EXPECT_EQ(rca_destroy(p.ctx, *id), 0);
	*id = 0;
}

/* siw survives no fault that makes it close a connection early: robust/stock/siw_early_close.c */
static void fail_ours(unsigned int nth)
{
	static struct text ours, siw;

	if (!ours.start)
		ours = text_of_module("rdma_cm_alt");
	if (over_tcp() && !siw.start)
		siw = text_of_module("siw");
	faults_at(&ours, over_tcp() ? &siw : NULL, nth);
}

static void fail_no_more(void)
{
	faults_end();
}

/* Allocations of the module, and those that others make for it: its code is on the stack. */
static const struct kind allocations = {
	"allocations that fail in a conversation", fail_ours, faults_hit, fail_no_more,
};

/* All phases, or those up to one that fails, and the last. Counts in which of them a fault was. */
static void converse(const struct phase *phases, unsigned int *hits)
{
	bool works = true, hit = false;

	for (int i = 0; phases[i].name; i++) {
		if (works || !phases[i + 1].name)
			works = phases[i].run();
		if (hit || !was_hit())
			continue;
		hit = true;
		hits[i]++;
		if (getenv("FAULTS_VERBOSE"))
			ktap_note("in %s", phases[i].name);
	}
}

static void await_use(const usage_t *wanted)
{
	for (uint32_t what = 0; what <= RING_PAGES; what++)
		await_usage(0, p.ctx, what, wanted[what].out_context_used,
			    wanted[what].out_user_used);
}

/* Each phase in the bit mask @busy must have had a fault. */
static void expect_hits(const struct phase *phases, const unsigned int *hits, unsigned int busy)
{
	unsigned int sum = 0;
	char text[256] = "";
	int len = 0;

	for (int i = 0; phases[i].name; i++) {
		sum += hits[i];
		len += snprintf(text + len, sizeof(text) - len, " %s %u", phases[i].name, hits[i]);
	}
	ktap_note("faults by phase:%s; %u calls failed", text, refused);
	for (int i = 0; phases[i].name; i++)
		EXPECT(hits[i] || !(busy & 1U << i));
	EXPECT(sum);
}

/* Repeat a conversation until it does not get as far as its fault. */
static void sweep_conversation(const struct phase *phases, const struct kind *faults,
			       unsigned int busy)
{
	unsigned int hits[MAX_PHASES] = {}, total = 0, misses = 0, nth;
	double began, longest = 0;
	usage_t use[RING_PAGES + 1];
	bool hit;

	ktap_timeout(LONG_TIME);
	p.ctx = get_ctx();
	p.lq = get_queue(p.ctx);
	p.cq = get_queue(p.ctx);
	converse(phases, hits);
	for (uint32_t what = 0; what <= RING_PAGES; what++)
		use[what] = usage_as(0, p.ctx, what);
	for (nth = 1; misses < MISSES; nth++) {
		EXPECT(nth < MAX_FAULTS);
		if (getenv("FAULTS_VERBOSE"))
			ktap_note("fault %u", nth);
		faults->begin(nth);
		kind = faults;
		began = ktap_now();
		converse(phases, hits);
		longest = ktap_now() - began > longest ? ktap_now() - began : longest;
		hit = was_hit();
		misses = hit ? 0 : misses + 1;
		total += hit;
		kind = NULL;
		faults->end();
		await_use(use);
		converse(phases, hits);
		await_use(use);
	}
	ktap_note("faults tried: %u %s", total, faults->name);
	ktap_note("the longest conversation took %.1f s", longest);
	expect_hits(phases, hits, busy);
}

#endif /* CONVERSATION_H */
