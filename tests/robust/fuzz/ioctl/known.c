// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * The objects that a program has created (ids, memberships, queues, mappings), and the checks of
 * events against them. The program is the only user of its contexts: an event of an id that does
 * not exist, a wrong cookie, and a number of events that differs from that of DESTROY are bugs.
 */
#include <string.h>

#include "fuzz.h"

struct ctx ctxs[CTXS];
struct ib_path_rec_data known_paths[2];
unsigned int known_path_count;
uint16_t known_listener;

struct id *known_id(struct ctx *ctx, uint32_t handle)
{
	for (uint32_t i = 0; i < ctx->ids; i++)
		if (ctx->id[i].handle == handle)
			return &ctx->id[i];
	return NULL;
}

void known_id_gone(struct ctx *ctx, uint32_t handle)
{
	struct id *id = known_id(ctx, handle);

	if (!id)
		return;
	memmove(id, id + 1, (uint8_t *)&ctx->id[ctx->ids] - (uint8_t *)(id + 1));
	ctx->ids--;
}

void known_id_add(struct ctx *ctx, uint32_t handle, uint64_t cookie, bool sure)
{
	/* The number may be that of an id that was destroyed with its queue. */
	known_id_gone(ctx, handle);
	if (ctx->ids == MAX_KNOWN) {
		ctx->vague = true;
		return;
	}
	ctx->id[ctx->ids++] = (struct id){ .handle = handle, .cookie = cookie, .sure = sure };
}

static struct membership *known_member(struct ctx *ctx, uint32_t handle)
{
	for (uint32_t i = 0; i < ctx->members; i++)
		if (ctx->member[i].handle == handle)
			return &ctx->member[i];
	return NULL;
}

void known_member_gone(struct ctx *ctx, uint32_t handle)
{
	struct membership *member = known_member(ctx, handle);

	if (member)
		*member = ctx->member[--ctx->members];
}

void known_member_add(struct ctx *ctx, uint32_t handle)
{
	known_member_gone(ctx, handle);
	if (ctx->members == MAX_KNOWN)
		ctx->vague = true;
	else
		ctx->member[ctx->members++] = (struct membership){ .handle = handle };
}

void known_queue_add(struct ctx *ctx, int fd, uint32_t record_size, uint32_t ring_bytes)
{
	if (ctx->queues == MAX_KNOWN)
		complain("a program has made more than %u queues", MAX_KNOWN);
	ctx->queue[ctx->queues++] = (struct queue){
		.fd = fd, .record_size = record_size, .ring_bytes = ring_bytes,
	};
}

static void check_id(struct ctx *ctx, const event_t *ev, struct id *id, uint32_t handle)
{
	if (!id && !ctx->vague)
		complain("event %u of id %u, which is not there", ev->type, handle);
	if (!id)
		return;
	id->seen++;
	/* Records in a ring keep their old cookies. */
	if (id->sure && !ctx->ringed && id->cookie != ev->cookie)
		complain("event %u of id %u has cookie %#llx, not %#llx", ev->type, handle,
			 (unsigned long long)ev->cookie, (unsigned long long)id->cookie);
}

static void check_member(struct ctx *ctx, const event_t *ev)
{
	struct membership *member = known_member(ctx, ev->member);

	if (!member && !ctx->vague)
		complain("event %u of membership %u, which is not there", ev->type, ev->member);
	if (member)
		member->seen++;
}

static void check_record(const event_t *ev)
{
	bool is_request = ev->type == RDMA_CM_ALT_EVENT_CONNECT_REQUEST;

	if (ev->type > RDMA_CM_ALT_EVENT_USER)
		complain("a record of type %u", ev->type);
	if (!ev->id || ev->id > INT32_MAX || ev->length > sizeof(*ev))
		complain("event %u: id %u, length %u", ev->type, ev->id, ev->length);
	if (ev->private_data_len > sizeof(ev->private_data))
		complain("event %u: %u bytes of private data", ev->type, ev->private_data_len);
	if (is_request != !!ev->listen_id)
		complain("event %u: of listener %u", ev->type, ev->listen_id);
}

/* An event was read from a queue of the context. */
void known_event(struct ctx *ctx, const uint8_t *record, size_t len)
{
	event_t ev = {};
	struct id *id;
	long hole;

	memcpy(&ev, record, len < sizeof(ev) ? len : sizeof(ev));
	hole = poison_left(record, len);
	if (hole >= 0)
		complain("byte %ld of the record of event %u was not written", hole, ev.type);
	check_record(&ev);
	if (ev.type == RDMA_CM_ALT_EVENT_CONNECT_REQUEST) {
		check_id(ctx, &ev, known_id(ctx, ev.listen_id), ev.listen_id);
		known_id_add(ctx, ev.id, 0, true);
	} else {
		check_id(ctx, &ev, known_id(ctx, ev.id), ev.id);
	}
	if (ev.member)
		check_member(ctx, &ev);
	id = known_id(ctx, ev.id);
	if (id)
		id->last = ev.type + 1;
	if (verbose)
		printf("#   event %u/%d of id %u\n", ev.type, ev.status, ev.id);
	if (ev.flags & RDMA_CM_ALT_EVENT_F_ROUTE && ev.route.num_paths && len >= sizeof(ev)) {
		known_path_count = ev.route.num_paths > 2 ? 2 : ev.route.num_paths;
		memcpy(known_paths, ev.route.path, sizeof(known_paths));
	}
	cover_state((uint64_t)(1 + ev.type) << 32 | (uint16_t)ev.status << 8 | ev.flags);
}

static void compare(struct ctx *ctx, const char *what, uint32_t handle, uint32_t is, uint32_t said)
{
	if (is != said && !ctx->ringed && !ctx->vague)
		complain("%s says that %u events of %u were delivered, but %u were", what, said,
			 handle, is);
}

/* @said: how many events of the id were delivered, by the answer of a call. */
void known_reported(struct ctx *ctx, const char *what, uint32_t handle, uint32_t said)
{
	const struct id *id = known_id(ctx, handle);

	if (id)
		compare(ctx, what, handle, id->seen, said);
}

void known_member_reported(struct ctx *ctx, const char *what, uint32_t handle, uint32_t said)
{
	const struct membership *member = known_member(ctx, handle);

	if (member)
		compare(ctx, what, handle, member->seen, said);
}
