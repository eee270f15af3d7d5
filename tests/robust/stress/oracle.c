// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * What is allowed: the errnos that the header documents, the events that the states of an id
 * allow, and for ids of processes that were not killed the number of events.
 */
#include <string.h>

#include "states.h"
#include "stress.h"
#include "tables.h"

#define BIT(n) (1U << (n))

/* By state: the states that are reached without an event, and by each event. */
static uint32_t silent[STATES];
static uint32_t after[STATES][32];

bool errno_documented(unsigned long cmd, int err)
{
	const short *known = documented[_IOC_NR(cmd) - RDMA_CM_ALT_CMD_BASE];

	for (int i = 0; i < MAX_ERRNOS && known[i]; i++)
		if (known[i] == err)
			return true;
	return false;
}

static uint32_t closure(uint32_t states)
{
	uint32_t more = states;

	do {
		states = more;
		for (int s = 0; s < STATES; s++)
			if (states & BIT(s))
				more |= silent[s];
	} while (more != states);
	return states;
}

/* Events of success that the program did not request are not delivered. */
static bool may_be_unwanted(int event)
{
	return event == RDMA_CM_ALT_EVENT_ADDR_RESOLVED ||
	       event == RDMA_CM_ALT_EVENT_ROUTE_RESOLVED ||
	       event == RDMA_CM_ALT_EVENT_ESTABLISHED;
}

void oracle_init(void)
{
	for (unsigned int i = 0; i < STATES * INPUTS; i++) {
		int from = i / INPUTS, event = steps[from][i % INPUTS].event;
		int to = steps[from][i % INPUTS].next;

		if (steps[from][i % INPUTS].verdict != STEP_TAKE)
			continue;
		if (event >= 0)
			after[from][event] |= BIT(to);
		if (event < 0 || may_be_unwanted(event))
			silent[from] |= BIT(to);
	}
	/* RDMA_OPTION_IB_PATH replaces the resolution of the route. */
	after[STATE_ADDR_RESOLVED][RDMA_CM_ALT_EVENT_ROUTE_RESOLVED] |= BIT(STATE_ROUTE_RESOLVED);
	/* When the request of a fused connect cannot be sent, the id may connect again. */
	after[STATE_ROUTE_RESOLVED][RDMA_CM_ALT_EVENT_CONNECT_ERROR] |= BIT(STATE_ROUTE_RESOLVED);
}

static struct entry *find_entry(uint64_t key, bool make)
{
	uint64_t hash = key * 0x9e3779b97f4a7c15ULL, none;

	for (unsigned int i = 0; i < 64; i++) {
		struct entry *entry = &world->entry[((hash >> 40) + i) % ENTRIES];
		uint64_t is = __atomic_load_n(&entry->key, __ATOMIC_ACQUIRE);

		if (is == key)
			return entry;
		if (is)
			continue;
		if (!make)
			return NULL;
		none = 0;
		if (__atomic_compare_exchange_n(&entry->key, &none, key, false, __ATOMIC_ACQ_REL,
						__ATOMIC_ACQUIRE) || none == key)
			return entry;
	}
	__atomic_add_fetch(&world->untracked, 1, __ATOMIC_RELAXED);
	return NULL;
}

/* Events that do not depend on the state. */
static bool beside_states(const event_t *ev)
{
	switch (ev->type) {
	case RDMA_CM_ALT_EVENT_MULTICAST_JOIN:
	case RDMA_CM_ALT_EVENT_MULTICAST_ERROR:
	case RDMA_CM_ALT_EVENT_ADDR_CHANGE:
	case RDMA_CM_ALT_EVENT_ADDRINFO_RESOLVED:
	case RDMA_CM_ALT_EVENT_ADDRINFO_ERROR:
	case RDMA_CM_ALT_EVENT_USER:
	case RDMA_CM_ALT_EVENT_CONNECT_REQUEST:
		return true;
	default:
		return false;
	}
}

/* The caller is the only reader of the events of this context. */
static void follow(struct entry *entry, const event_t *ev)
{
	uint32_t next = 0, states = closure(entry->states ?: BIT(STATE_IDLE));

	__atomic_add_fetch(&world->ordered_events, 1, __ATOMIC_RELAXED);
	if (beside_states(ev))
		return;
	for (int s = 0; s < STATES; s++)
		if (states & BIT(s))
			next |= after[s][ev->type];
	if (!next && ev->type == RDMA_CM_ALT_EVENT_UNREACHABLE)
		return;		/* the address of the neighbour has changed */
	if (!next)
		complain("id %u of context %u: event %u/%d cannot come in any of the states %#x",
			 ev->id, (uint32_t)(entry->key >> 32), ev->type, ev->status, states);
	else
		entry->states = next;
}

static void count_event(uint64_t key, const event_t *ev, uint32_t clock, bool exact)
{
	struct entry *entry = find_entry(key, true);
	uint32_t gone;

	if (!entry)
		return;
	__atomic_add_fetch(&entry->seen, 1, __ATOMIC_RELAXED);
	gone = __atomic_load_n(&entry->gone, __ATOMIC_ACQUIRE);
	if (exact && gone && gone <= clock)
		complain("id or membership %u of context %u: event %u/%d came after its end",
			 (uint32_t)key, (uint32_t)(key >> 32), ev->type, ev->status);
}

/*
 * An event was read. @clock: &world.clock before that; @exact: by read() or GET_EVENT, not from a
 * ring, where records may change.
 */
void oracle_seen(uint32_t ctx, const event_t *ev, uint32_t clock, bool exact)
{
	uint64_t context = (uint64_t)ctx << 32;
	struct entry *child;

	if (ev->type < 32)
		__atomic_add_fetch(&world->events[ev->type], 1, __ATOMIC_RELAXED);
	if (ev->type > RDMA_CM_ALT_EVENT_USER || ev->length > sizeof(*ev) || !ev->id) {
		complain("context %u: a record of type %u, id %u, length %u", ctx, ev->type, ev->id,
			 ev->length);
		return;
	}
	if (ev->type == RDMA_CM_ALT_EVENT_CONNECT_REQUEST) {
		count_event(context | ev->listen_id, ev, clock, exact);
		child = find_entry(context | ev->id, true);
		if (child && world->ctx[ctx].ordered)
			child->states = BIT(STATE_REQ_RCVD) | BIT(STATE_SIDR_RCVD);
		return;
	}
	count_event(context | ev->id, ev, clock, exact);
	if (ev->member)
		count_event(context | ev->member, ev, clock, exact);
	child = find_entry(context | ev->id, true);
	if (child && world->ctx[ctx].ordered)
		follow(child, ev);
}

/* DESTROY or LEAVE of @ref has returned. */
void oracle_gone(uint64_t ref, uint32_t reported)
{
	struct entry *entry = find_entry(ref, true);

	if (!entry)
		return;
	if (entry->reported)
		complain("handle %u of context %u was destroyed twice", (uint32_t)ref,
			 (uint32_t)(ref >> 32));
	entry->reported = reported + 1;
	__atomic_store_n(&entry->gone, __atomic_add_fetch(&world->clock, 1, __ATOMIC_SEQ_CST),
			 __ATOMIC_RELEASE);
}

/* After all processes have ended: as many events were read as were reported. */
void oracle_account(void)
{
	for (int i = 0; i < ENTRIES; i++) {
		struct entry *entry = &world->entry[i];
		uint32_t ctx = entry->key >> 32;

		if (!entry->reported || world->ctx[ctx].group != CLEAN)
			continue;
		if (entry->reported - 1 != entry->seen)
			complain("handle %u of context %u: %u events were reported, %u were read",
				 (uint32_t)entry->key, ctx, entry->reported - 1, entry->seen);
	}
}
