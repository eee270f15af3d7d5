// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * A program that lies about its event rings. Between calls, and on another thread during them, it
 * writes any positions into the head words of its queues, while it posts, reads, polls, maps,
 * unmaps, moves, forks and closes. What it loses is its own affair, but:
 *
 * - each call returns a documented errno;
 * - read() delivers no event twice, none out of order, and none that was not posted;
 * - the kernel's part of a ring remains valid;
 * - when the program is honest for a moment, the ring works;
 * - the ring of another context does not change.
 *
 * Environment: FUZZ_OPERATIONS (100,000), FUZZ_SEED (1).
 */
#define _GNU_SOURCE
#include <sys/uio.h>

#include "cm_mad.h"
#include "inventory.h"
#include "rca_ring.h"
#include "tables.h"
#include "tasks.h"

#define SLOTS 4		/* queues */
#define IDS 4		/* of each queue */
#define AUDIT 16	/* operations between two honest moments */
#define SLOW_S 5

/**
 * struct owner - an id, and what is known of its events
 * @id: its handle; 0: none
 * @posted: number of its last event; they are numbered from 1 on
 * @seen: number of the last one that read() has delivered
 */
struct owner {
	uint32_t id;
	uint64_t posted;
	uint64_t seen;
};

struct slot {
	struct ring ring;
	struct owner owners[IDS];
	uint32_t tail;		/* position of the kernel, when it was last looked at */
};

struct world {
	int ctx;
	struct slot slots[SLOTS];
	uint64_t state;
	uint64_t numbers;	/* of events: unique */
	pthread_mutex_t lock;	/* the thread writes positions with it held */
	bool stop;
	unsigned long calls, reads, events, maps, forks, closes, lies;
};

static bool is_documented(uint32_t cmd, int err)
{
	const short *known = documented[_IOC_NR(cmd) - RDMA_CM_ALT_CMD_BASE];

	for (int i = 0; i < MAX_ERRNOS; i++)
		if (known[i] == err)
			return true;
	return !err;
}

/* A call's result, 0 or a negative errno, must be documented. */
#define DOCUMENTED(name, ret) do {						\
	int is_ret = (ret);							\
										\
	if (!is_documented(RDMA_CM_ALT_##name, -is_ret))			\
		ktap_fail(__FILE__, __LINE__, #name " says %s", strerror(-is_ret)); \
} while (0)

/* A position that an honest program would not store, most of them near to that of the kernel. */
static uint32_t any_position(const struct slot *slot, uint64_t *state)
{
	uint32_t tail = __atomic_load_n(&slot->tail, __ATOMIC_RELAXED);
	uint32_t size = slot->ring.geometry.ring_entries;

	switch (draw_below(state, 6)) {
	case 0:
		return draw(state);
	case 1:
		return tail + draw_below(state, 2 * size + 1);
	case 2:
		return tail - draw_below(state, 2 * size + 1);
	case 3:
		return tail + 0x7ffffffe + draw_below(state, 4);
	case 4:
		return tail + (draw_below(state, 0x100) << 24) + draw_below(state, 8);
	default:
		return draw_below(state, 2) ? 0 : UINT32_MAX;
	}
}

static void lie(const struct slot *slot, uint64_t *state)
{
	__atomic_store_n(slot->ring.head, any_position(slot, state), __ATOMIC_RELEASE);
}

/* The second thread. */
static void *lies(void *arg)
{
	uint64_t state = ktap_env("FUZZ_SEED", 1) ^ 0x11e5;
	struct world *world = arg;

	while (!__atomic_load_n(&world->stop, __ATOMIC_RELAXED)) {
		pthread_mutex_lock(&world->lock);
		for (int i = 0; i < 64; i++)
			lie(&world->slots[draw_below(&state, SLOTS)], &state);
		pthread_mutex_unlock(&world->lock);
		usleep(draw_below(&state, 2000));
	}
	return NULL;
}

/* A queue in place of one that is closed; its head word stays mapped, so the thread may write. */
static void open_slot(struct world *world, struct slot *slot)
{
	struct ring ring;

	ring_create(world->ctx, &ring, 1 << draw_below(&world->state, 6));
	MUST(fcntl(ring.queue, F_SETFL, MUST(fcntl(ring.queue, F_GETFL)) | O_NONBLOCK));
	ring_map(&ring);
	*slot = (struct slot) { .ring = ring };
}

static void close_slot(struct world *world, struct slot *slot)
{
	if (slot->ring.map && draw_below(&world->state, 2))
		ring_unmap(&slot->ring);
	MUST(close(slot->ring.queue));
	/* The mappings outlive the queue. */
	if (slot->ring.map)
		ring_unmap(&slot->ring);
	MUST(munmap(slot->ring.head, sizeof(__u32)));
	world->closes++;
}

static struct owner *find_owner(struct world *world, uint32_t id)
{
	for (int i = 0; i < SLOTS; i++)
		for (int j = 0; j < IDS; j++)
			if (world->slots[i].owners[j].id == id)
				return &world->slots[i].owners[j];
	return NULL;
}

/* An event that read() has delivered. */
static void check_event(struct world *world, const event_t *ev)
{
	struct owner *owner = find_owner(world, ev->id);

	EXPECT_EQ(ev->type, RDMA_CM_ALT_EVENT_USER);
	if (!owner)
		ktap_fail(__FILE__, __LINE__, "an event of id %u, which is gone", ev->id);
	if (ev->user_arg <= owner->seen || ev->user_arg > owner->posted)
		ktap_fail(__FILE__, __LINE__, "event %llu of id %u after %llu, %llu were posted",
			  (unsigned long long)ev->user_arg, ev->id,
			  (unsigned long long)owner->seen, (unsigned long long)owner->posted);
	owner->seen = ev->user_arg;
	world->events++;
}

/* The kernel's part of a mapped ring. */
static void check_ring(struct slot *slot)
{
	const struct rdma_cm_alt_ring *map = slot->ring.map;
	uint32_t tail;

	if (!map)
		return;
	tail = __atomic_load_n(&map->tail, __ATOMIC_ACQUIRE);
	EXPECT_EQ(map->entries, slot->ring.geometry.ring_entries);
	EXPECT_EQ(map->record_size, slot->ring.geometry.out_record_size);
	EXPECT_EQ(map->records_offset, sizeof(*map));
	EXPECT((int32_t)(tail - slot->tail) >= 0);
	__atomic_store_n(&slot->tail, tail, __ATOMIC_RELAXED);
}

static ssize_t read_some(struct world *world, struct slot *slot, size_t room)
{
	static event_t evs[8];
	ssize_t len = read(slot->ring.queue, evs, room);

	world->reads++;
	if (len < 0)
		return -errno;
	EXPECT_EQ(len % sizeof(evs[0]), 0);
	for (size_t i = 0; i < len / sizeof(evs[0]); i++)
		check_event(world, &evs[i]);
	return len;
}

static void do_read(struct world *world, struct slot *slot)
{
	size_t room = draw_below(&world->state, 8 * sizeof(event_t) + 1);
	ssize_t len = read_some(world, slot, room);

	if (room < sizeof(event_t))
		EXPECT_EQ(len, -EINVAL);
	else
		EXPECT(len >= 0 || len == -EAGAIN);
}

static void do_post(struct world *world, struct slot *slot)
{
	struct owner *owner = &slot->owners[draw_below(&world->state, IDS)];
	int ret;

	if (!owner->id) {
		ret = rca_create(world->ctx, slot->ring.queue, RDMA_PS_TCP, IB_UVERBS_QPT_RC, 7,
				 &owner->id);
		EXPECT_EQ(ret, 0);
	}
	ret = post_number(world->ctx, owner->id, world->numbers + 1);
	DOCUMENTED(POST_EVENT, ret);
	if (!ret)
		owner->posted = ++world->numbers;
}

static void do_poll(struct slot *slot)
{
	struct pollfd fd = { .fd = slot->ring.queue, .events = POLLIN };

	EXPECT(MUST(poll(&fd, 1, 0)) == 0 || fd.revents == POLLIN);
}

static void do_destroy(struct world *world, struct slot *slot)
{
	struct owner *owner = &slot->owners[draw_below(&world->state, IDS)];
	uint32_t reported;

	if (!owner->id) {
		DOCUMENTED(DESTROY, rca_destroy(world->ctx, draw_below(&world->state, 2) ?
						draw(&world->state) : 0));
		return;
	}
	EXPECT_EQ(rca_destroy_count(world->ctx, owner->id, &reported), 0);
	EXPECT(reported <= owner->posted);
	*owner = (struct owner) {};
}

/* To another queue, or to none of this context. Events that wait move with their id. */
static void do_move(struct world *world, struct slot *slot)
{
	struct owner *owner = &slot->owners[draw_below(&world->state, IDS)];
	struct slot *to = &world->slots[draw_below(&world->state, SLOTS)];
	int ret;

	for (int i = 0; i < IDS; i++) {
		if (to->owners[i].id || !owner->id)
			continue;
		ret = rca_set_queue(world->ctx, owner->id, to->ring.queue);
		DOCUMENTED(SET_QUEUE, ret);
		if (!ret) {
			to->owners[i] = *owner;
			*owner = (struct owner) {};
		}
		return;
	}
	DOCUMENTED(SET_QUEUE, rca_set_queue(world->ctx, draw(&world->state), to->ring.queue));
}

/* Maps, unmaps and moves the records; mappings that are not allowed. */
static void do_map(struct world *world, struct slot *slot)
{
	const struct rdma_cm_alt_queue_create *geo = &slot->ring.geometry;
	size_t len = geo->out_ring_bytes;
	void *map = (void *)slot->ring.map, *to;

	world->maps++;
	switch (draw_below(&world->state, 5)) {
	case 0:
		if (map)
			ring_unmap(&slot->ring);
		break;
	case 1:
		map = mmap(NULL, len, PROT_READ, MAP_SHARED, geo->out_fd, geo->out_ring_offset);
		EXPECT(slot->ring.map ? map == MAP_FAILED && errno == EBUSY : map != MAP_FAILED);
		if (!slot->ring.map) {
			slot->ring.map = map;
			slot->tail = 0;
		}
		break;
	case 2:
		if (map)
			EXPECT(mprotect(map, len, PROT_READ | PROT_WRITE) == -1 && errno == EACCES);
		break;
	case 3:
		if (map) {
			to = MUST(mmap(NULL, len, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
			slot->ring.map = MUST(mremap(map, len, len, MREMAP_MAYMOVE | MREMAP_FIXED,
						     to));
		}
		break;
	default:
		map = mmap(NULL, draw_below(&world->state, 4) << 12, draw_below(&world->state, 8),
			   draw_below(&world->state, 2) ? MAP_PRIVATE : MAP_SHARED, geo->out_fd,
			   (off_t)(2 + draw_below(&world->state, 1000)) << 24);
		EXPECT(map == MAP_FAILED && (errno == EINVAL || errno == EACCES));
	}
}

/* A child has no mapping; it cannot read what its parent may have in the ring. */
static void do_fork(struct world *world, struct slot *slot)
{
	pid_t pid = MUST(fork());
	event_t ev;

	if (!pid) {
		ssize_t len = slot->ring.map ? read(slot->ring.queue, &ev, sizeof(ev)) : -1;

		_exit(!slot->ring.map || (len == -1 && errno == EBUSY) ? 0 : 1);
	}
	EXPECT_EQ(wait_exit(pid), 0);
	world->forks++;
}

static void do_call(struct world *world)
{
	struct slot *slot = &world->slots[draw_below(&world->state, SLOTS)];
	uint32_t what = draw_below(&world->state, 2000);
	bool lied = draw_below(&world->state, 2);
	double begin = ktap_now();

	if (lied)
		lie(slot, &world->state);
	world->lies += lied;
	if (what < 900) {
		do_post(world, slot);
	} else if (what < 1400) {
		do_read(world, slot);
	} else if (what < 1700) {
		do_poll(slot);
	} else if (what < 1800) {
		do_map(world, slot);
	} else if (what < 1900) {
		do_destroy(world, slot);
	} else if (what < 1980) {
		do_move(world, slot);
	} else if (what < 1981) {
		do_fork(world, slot);
	} else if (what < 1990) {
		pthread_mutex_lock(&world->lock);
		close_slot(world, slot);
		open_slot(world, slot);
		pthread_mutex_unlock(&world->lock);
	} else {
		MUST(close(MUST(dup(slot->ring.queue))));
	}
	world->calls++;
	check_ring(slot);
	if (ktap_now() - begin > SLOW_S)
		ktap_fail(__FILE__, __LINE__, "operation %u took %.1f s", what, ktap_now() - begin);
}

/* For a moment the program follows the rules: an event that is posted is in the ring. */
static void be_honest(struct world *world, struct slot *slot)
{
	struct ring *ring = &slot->ring;
	struct owner *owner = &slot->owners[0];
	event_t ev;
	ssize_t len;

	if (!ring->map)
		return;
	pthread_mutex_lock(&world->lock);
	do {
		ring->pos = __atomic_load_n(&ring->map->tail, __ATOMIC_ACQUIRE);
		__atomic_store_n(ring->head, ring->pos, __ATOMIC_RELEASE);
		len = read_some(world, slot, 8 * sizeof(event_t));
		EXPECT(len >= 0 || len == -EAGAIN);
	} while (len >= 0);
	if (!owner->id)
		EXPECT_EQ(rca_create(world->ctx, ring->queue, RDMA_PS_TCP, IB_UVERBS_QPT_RC, 7,
				     &owner->id), 0);
	EXPECT_EQ(post_number(world->ctx, owner->id, ++world->numbers), 0);
	owner->posted = world->numbers;
	do_poll(slot);
	if (!ring_take(ring, &ev))
		ktap_fail(__FILE__, __LINE__, "the ring does not have the event that was posted");
	check_event(world, &ev);
	EXPECT_EQ(ev.user_arg, world->numbers);
	do_poll(slot);	/* the kernel sees that the event was taken */
	check_ring(slot);
	pthread_mutex_unlock(&world->lock);
}

/* The ring of a context that behaves has what it should, and does not change. */
static void check_other(int ctx, struct ring *other, uint32_t id, int count)
{
	size_t len = other->geometry.out_ring_bytes;
	uint8_t *copy = malloc(len);

	EXPECT(copy);
	post_numbers(ctx, id, count, 1);
	memcpy(copy, other->map, len);
	usleep(1);
	EXPECT(!memcmp(copy, other->map, len));
	expect_number(other, id, count);
	expect_empty(other);
	EXPECT(!event_waits(other->queue));	/* the kernel sees that the event was taken */
	free(copy);
}

TEST(a_program_lies_about_its_rings)
{
	unsigned long operations = ktap_env("FUZZ_OPERATIONS", 100000);
	struct world world = {
		.state = ktap_env("FUZZ_SEED", 1), .lock = PTHREAD_MUTEX_INITIALIZER,
	};
	int ctx = get_ctx(), count = 0;
	struct ring other = get_ring(ctx, 8);
	uint32_t id = get_id(ctx, other.queue, 1);
	double begin = ktap_now(), took;
	struct inventory before;
	pthread_t thread;

	ktap_timeout(120 + operations / 200);
	inventory_take(&before);
	world.ctx = get_ctx();
	for (int i = 0; i < SLOTS; i++)
		open_slot(&world, &world.slots[i]);
	EXPECT_EQ(pthread_create(&thread, NULL, lies, &world), 0);
	while (world.calls < operations) {
		do_call(&world);
		if (!(world.calls % AUDIT))
			be_honest(&world, &world.slots[world.calls / AUDIT % SLOTS]);
		if (!(world.calls % (SLOTS * AUDIT)))
			check_other(ctx, &other, id, ++count);
	}
	took = ktap_now() - begin;
	__atomic_store_n(&world.stop, true, __ATOMIC_RELAXED);
	EXPECT_EQ(pthread_join(thread, NULL), 0);
	for (int i = 0; i < SLOTS; i++)
		close_slot(&world, &world.slots[i]);
	close(world.ctx);
	ktap_note("seed %llu: %lu operations, %.0f in a second, %lu lies between them",
		  ktap_env("FUZZ_SEED", 1), world.calls, world.calls / took, world.lies);
	ktap_note("%lu reads of %lu events, %lu mappings, %lu closes, %lu forks",
		  world.reads, world.events, world.maps, world.closes, world.forks);
	EXPECT(world.events > world.calls / 100);
	inventory_await(&before);
}

KTAP_MAIN
