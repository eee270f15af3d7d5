// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/* Calls other than ioctls: on descriptors, on mappings, and to change the user. */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/uio.h>
#include <unistd.h>

#include "fuzz.h"
#include "ktap.h"

#define NOBODY_UID 1000
#define DEVICE_NODE "/dev/rdma_cm_alt"

static const struct value none;

static const struct value *argument(const struct call *call, const char *name)
{
	int member = member_find(row_get(call->row), name);
	const struct value *value = value_find(call, member);

	return value ?: &none;
}

static struct queue *queue_of(struct ctx *ctx, const struct call *call)
{
	const struct value *value = argument(call, "queue");

	if (!ctx->queues)
		return NULL;
	return &ctx->queue[ctx->queues - 1 - value->number % ctx->queues];
}

static struct ring *ring_of(struct ctx *ctx, const struct call *call)
{
	return ctx->rings ? &ctx->ring[argument(call, "which")->number % ctx->rings] : NULL;
}

static unsigned int now_uid;

static void become(unsigned int uid)
{
	if (uid != now_uid)
		MUST(seteuid(uid));
	now_uid = uid;
}

/* The second context belongs to an unprivileged user. */
void ctx_open(struct ctx *ctx)
{
	unsigned int was = now_uid;

	become(0);
	if (ctx != ctxs)
		become(NOBODY_UID);
	cover_on();
	ctx->fd = open(DEVICE_NODE, O_RDWR | O_CLOEXEC);
	cover_off();
	ctx->used = true;
	become(0);
	become(was);
	if (ctx->fd < 0)
		complain("open() says %m");
}

static uint32_t word(const uint8_t *at)
{
	return __atomic_load_n((const uint32_t *)at, __ATOMIC_ACQUIRE);
}

/* Reads the records of a ring; the head is in another mapping of the queue. */
static void take_from_ring(struct ctx *ctx, int fd)
{
	struct rdma_cm_alt_ring *ring = NULL;
	const struct rdma_cm_alt_event *ev;
	uint8_t *head = NULL;
	uint32_t at;

	for (uint32_t i = 0; i < ctx->rings; i++) {
		if (ctx->ring[i].fd == fd && ctx->ring[i].what == 0)
			ring = (void *)ctx->ring[i].map;
		if (ctx->ring[i].fd == fd && ctx->ring[i].what == 1 && ctx->ring[i].writable)
			head = ctx->ring[i].map;
	}
	if (!ring || !head)
		return;
	if (word((uint8_t *)&ring->tail) - word(head) > ring->entries)
		return;		/* an invalid head */
	for (at = word(head); at != word((uint8_t *)&ring->tail); at++) {
		ev = (const void *)((uint8_t *)ring + ring->records_offset +
				    at % ring->entries * ring->record_size);
		if (ev->type != RDMA_CM_ALT_EVENT_SKIP)
			known_event(ctx, (const uint8_t *)ev, ring->record_size);
	}
	__atomic_store_n((uint32_t *)head, at, __ATOMIC_RELEASE);
}

static void take_from(struct ctx *ctx, int fd)
{
	uint32_t size = sizeof(event_t);
	struct area *area;
	ssize_t len;

	for (uint32_t i = 0; i < ctx->queues; i++)
		if (ctx->queue[i].fd == fd)
			size = ctx->queue[i].record_size;
	memory_begin();
	area = memory_place(GOOD, NULL, size);
	/* The event may have been read through another descriptor of the queue. */
	len = preadv2(fd, &(struct iovec){ area->bytes, area->len }, 1, -1, RWF_NOWAIT);
	if (len > 0)
		known_event(ctx, area->bytes, len);
	else if (!len)
		take_from_ring(ctx, fd);
}

/* Reads events from all queues until there are none. */
static void take_events(int wait)
{
	struct pollfd fds[CTXS * MAX_KNOWN];
	unsigned int of[CTXS * MAX_KNOWN], count = 0, rounds;

	for (unsigned int c = 0; c < CTXS; c++) {
		for (uint32_t i = 0; i < ctxs[c].queues; i++) {
			of[count] = c;
			fds[count++] = (struct pollfd){ ctxs[c].queue[i].fd, POLLIN, 0 };
		}
	}
	if (!count)
		return;
	/* A ring whose head does not move is always readable. */
	for (rounds = 0; rounds < 64; rounds++) {
		if (poll(fds, count, wait) <= 0)
			break;
		for (unsigned int i = 0; i < count; i++)
			if (fds[i].revents & POLLIN)
				take_from(&ctxs[of[i]], fds[i].fd);
		wait = 0;
	}
}

static int read_call(struct ctx *ctx, const struct call *call)
{
	const struct value *buf = argument(call, "buf"), *len = argument(call, "len");
	struct queue *queue = queue_of(ctx, call);
	struct area *area;
	uint8_t may[8192];
	ssize_t ret;
	size_t size;

	if (!queue)
		return 0;
	area = memory_place(buf->other, NULL, buf->len);
	size = len == &none ? buf->len : len->number;
	alarm_on();
	ret = read(queue->fd, (void *)area->user, size);
	alarm_off();
	if (ret < 0)
		ret = -errno;
	if (ret > 0 && (ret % queue->record_size || (size_t)ret > size))
		complain("read() of %zu bytes says %zd", size, ret);
	memset(may, 0, sizeof(may));
	memset(may, 1, ret < 0 ? area->len : (size_t)ret);
	if (size <= area->len && memory_changed(area, may) != NOTHING_CHANGED)
		complain("read() says %zd and has written byte %ld", ret,
			 memory_changed(area, may));
	for (ssize_t at = 0; at < ret; at += queue->record_size)
		known_event(ctx, area->bytes + at, queue->record_size);
	return ret < 0 ? ret : 0;
}

static int map_call(struct ctx *ctx, const struct call *call)
{
	uint64_t part = argument(call, "part")->number, more = argument(call, "more")->number;
	uint64_t prot = argument(call, "prot")->number, flags = argument(call, "flags")->number;
	struct queue *queue = queue_of(ctx, call);
	size_t bytes;
	void *map;

	if (!queue || ctx->rings == COUNT(ctx->ring))
		return 0;
	bytes = (part ? 4096 : queue->ring_bytes) + more;
	if (argument(call, "prot") == &none)
		prot = part ? PROT_READ | PROT_WRITE : PROT_READ;
	flags = flags & (MAP_SHARED | MAP_PRIVATE) ?: MAP_SHARED;
	map = mmap(NULL, bytes, prot & (PROT_READ | PROT_WRITE | PROT_EXEC), flags, queue->fd,
		   part * queue->ring_bytes);
	if (map == MAP_FAILED)
		return -errno;
	ctx->ringed = true;
	ctx->ring[ctx->rings++] = (struct ring){
		.map = map, .bytes = bytes, .fd = queue->fd,
		.what = prot & PROT_READ ? part : 2, .writable = prot & PROT_WRITE,
	};
	return 0;
}

static int unmap_call(struct ctx *ctx, const struct call *call)
{
	struct ring *ring = ring_of(ctx, call);

	if (!ring)
		return 0;
	if (argument(call, "part")->number && ring->bytes > 4096)
		return munmap(ring->map, 4096) ? -errno : 0;
	munmap(ring->map, ring->bytes);
	*ring = ctx->ring[--ctx->rings];
	return 0;
}

static int head_call(struct ctx *ctx, const struct call *call)
{
	struct ring *ring = ring_of(ctx, call);

	if (ring && ring->what == 1 && ring->writable)
		__atomic_add_fetch((uint32_t *)ring->map, argument(call, "add")->number,
				   __ATOMIC_RELEASE);
	return 0;
}

static int close_call(struct ctx *ctx, const struct call *call)
{
	struct queue *queue = queue_of(ctx, call);

	if (!queue)
		return 0;
	close(queue->fd);
	*queue = ctx->queue[--ctx->queues];
	return 0;
}

static int dup_call(struct ctx *ctx, const struct call *call)
{
	struct queue *queue = queue_of(ctx, call);
	int fd;

	if (!queue || ctx->queues == MAX_KNOWN)
		return 0;
	fd = MUST(fcntl(queue->fd, F_DUPFD_CLOEXEC, 3));
	known_queue_add(ctx, fd, queue->record_size, queue->ring_bytes);
	return 0;
}

static int hangup_call(struct ctx *ctx)
{
	close(ctx->fd);
	ctx->fd = -1;
	return 0;
}

/* An ioctl with any number. */
static int raw_call(struct ctx *ctx, const struct call *call)
{
	const struct value *queue = value_find(call, 2), *arg = argument(call, "arg");
	uint32_t cmd = argument(call, "cmd")->number;
	uint8_t data[64] = { arg->number, arg->number >> 8 };
	struct area *area;
	int fd = queue && ctx->queues ? queue_of(ctx, call)->fd : ctx->fd, ret;

	/* The ioctls of the table are calls of their own. */
	for (unsigned int i = 0; i < row_count; i++)
		if (row_is_ioctl(row_get(i)) && row_get(i)->cmd == cmd && fd == ctx->fd)
			return 0;
	/* FIONBIO and others are handled by the VFS. */
	if (fd < 0 || (cmd & 0xff00) != 0xd900)
		return 0;
	area = memory_place(arg->other, data, sizeof(data));
	ret = ioctl(fd, cmd, area->user) ? errno : 0;
	if (ret != ENOTTY)
		complain("ioctl %#x says %s", cmd, strerrorname_np(ret));
	if (memory_changed(area, NULL) != NOTHING_CHANGED)
		complain("ioctl %#x has written byte %ld", cmd, memory_changed(area, NULL));
	return -ret;
}

static int block_call(struct ctx *ctx, const struct call *call)
{
	struct queue *queue = queue_of(ctx, call);

	if (queue)
		fcntl(queue->fd, F_SETFL, argument(call, "on")->number ? 0 : O_NONBLOCK);
	return 0;
}

int other_call(struct ctx *ctx, const struct call *call)
{
	switch (row_get(call->row)->cmd) {
	case TAKE:
		take_events(argument(call, "wait")->number % 32);
		return 0;
	case READ:
		return read_call(ctx, call);
	case MMAP:
		return map_call(ctx, call);
	case MUNMAP:
		return unmap_call(ctx, call);
	case HEAD:
		return head_call(ctx, call);
	case CLOSE:
		return close_call(ctx, call);
	case DUP:
		return dup_call(ctx, call);
	case HANGUP:
		return hangup_call(ctx);
	case RAW:
		return raw_call(ctx, call);
	case BLOCK:
		return block_call(ctx, call);
	default:
		become(argument(call, "root")->number ? 0 : NOBODY_UID);
		return 0;
	}
}

static int first_fd;

/* Before the first program: descriptors from first_fd on belong to programs. */
void others_begin(void)
{
	if (first_fd)
		return;
	first_fd = MUST(open("/dev/null", O_RDONLY | O_CLOEXEC));
	close(first_fd);
}

/* Closes everything that the program has opened. */
void others_reset(void)
{
	become(0);
	for (struct ctx *ctx = ctxs; ctx < ctxs + CTXS; ctx++) {
		for (uint32_t i = 0; i < ctx->rings; i++)
			munmap(ctx->ring[i].map, ctx->ring[i].bytes);
		for (uint32_t i = 0; i < ctx->queues; i++)
			close(ctx->queue[i].fd);
		if (ctx->fd >= 0)
			close(ctx->fd);
		/* Some queues may not be known here. */
		if (ctx->vague)
			close_range(first_fd, ~0U, 0);
		memset(ctx, 0, offsetof(struct ctx, id));
		ctx->fd = -1;
	}
}
