// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/* Ids with events in a mapped ring: destroyed, moved, listening, and all of these at random. */
#include "rca_ring.h"

/* A listener whose events go to a ring; the client's queue is an ordinary one. */
static void ring_listen(struct pair *p, struct ring *ring, uint32_t entries, uint32_t backlog)
{
	*p = (struct pair) { .ctx = get_ctx() };
	*ring = get_ring(p->ctx, entries);
	p->lq = ring->queue;
	p->cq = get_queue(p->ctx);
	p->listener = get_bound(p->ctx, p->lq, HERE, 0);
	p->port = get_port(p->ctx, p->listener);
	EXPECT_EQ(rca_listen(p->ctx, p->listener, backlog), 0);
}

static uint32_t ask_listener(struct pair *p)
{
	uint32_t client = get_client(p->ctx, p->cq, HERE, p->port, CLIENT);

	EXPECT_EQ(rca_connect(p->ctx, client, NULL, 0), 0);
	return client;
}

TEST(poll_does_not_see_records_to_pass_over)
{
	int ctx = get_ctx();
	struct ring ring = get_ring(ctx, 2);
	uint32_t id = get_id(ctx, ring.queue, 0);
	event_t ev;

	for (int i = 0; i < 5; i++)
		EXPECT_EQ(post_number(ctx, id, i), 0);
	EXPECT_EQ(rca_destroy(ctx, id), 0);
	EXPECT(!event_waits(ring.queue));
	/* Their records still occupy the ring, so other events wait. */
	id = get_id(ctx, ring.queue, 1);
	EXPECT_EQ(post_number(ctx, id, 7), 0);
	EXPECT(event_waits(ring.queue));
	EXPECT_EQ(MUST(read(ring.queue, &ev, sizeof(ev))), sizeof(ev));
	EXPECT_EQ(ev.user_arg, 7);
	EXPECT(!ring_take(&ring, &ev));
	EXPECT_EQ(post_number(ctx, id, 8), 0);
	EXPECT(ring_take(&ring, &ev));
	EXPECT_EQ(ev.user_arg, 8);
}

TEST(id_that_moves_to_no_queue_keeps_its_events)
{
	int ctx = get_ctx();
	struct ring ring = get_ring(ctx, 4);
	uint32_t id = get_id(ctx, ring.queue, 0);
	event_t ev;

	post_numbers(ctx, id, 0, 2);
	EXPECT_EQ(rca_set_queue(ctx, id, -1), 0);
	for (int i = 0; i < 2; i++) {
		EXPECT_EQ(rca_get_event(ctx, id, RDMA_CM_ALT_GET_EVENT_NONBLOCK, &ev), 0);
		EXPECT_EQ(ev.user_arg, i);
	}
	expect_empty(&ring);
}

TEST(head_gives_places_in_the_backlog_back)
{
	struct ring ring;
	struct pair p;
	event_t ev;

	ring_listen(&p, &ring, 8, 1);
	for (int i = 0; i < 6; i++) {
		ask_listener(&p);
		ring_event(&ring, &ev);
		EXPECT_EQ(ev.type, RDMA_CM_ALT_EVENT_CONNECT_REQUEST);
		EXPECT_EQ(ev.listen_id, p.listener);
		/* The id exists as soon as its request is in the ring. */
		EXPECT_EQ(rca_reject(p.ctx, ev.id, 0, NULL, 0), 0);
		EXPECT_EVENT_STATUS(p.cq, REJECTED, 0, 28, NULL);
	}
}

TEST(connection_whose_events_all_lie_in_rings)
{
	struct ring server, client;
	uint32_t id, sid;
	struct pair p;
	event_t ev;

	ring_listen(&p, &server, 8, 0);
	client = get_ring(p.ctx, 8);
	id = get_id(p.ctx, client.queue, CLIENT);
	EXPECT_EQ(rca_resolve_addr(p.ctx, id, NULL, HERE, p.port), 0);
	ring_event(&client, &ev);
	EXPECT_EQ(ev.type, RDMA_CM_ALT_EVENT_ADDR_RESOLVED);
	EXPECT_EQ(rca_resolve_route(p.ctx, id), 0);
	ring_event(&client, &ev);
	EXPECT_EQ(ev.type, RDMA_CM_ALT_EVENT_ROUTE_RESOLVED);
	EXPECT_EQ(rca_connect(p.ctx, id, "hello", 5), 0);
	ring_event(&server, &ev);
	EXPECT_EQ(ev.type, RDMA_CM_ALT_EVENT_CONNECT_REQUEST);
	EXPECT(!memcmp(ev.private_data, "hello", 5));
	sid = ev.id;
	EXPECT_EQ(rca_accept(p.ctx, sid, SERVER, "world", 5), 0);
	ring_event(&client, &ev);
	EXPECT_EQ(ev.type, RDMA_CM_ALT_EVENT_CONNECT_RESPONSE);
	EXPECT(!memcmp(ev.private_data, "world", 5));
	EXPECT(ev.flags & RDMA_CM_ALT_EVENT_F_QP);
	EXPECT_EQ(rca_establish(p.ctx, id), 0);
	ring_event(&server, &ev);
	EXPECT_EQ(ev.type, RDMA_CM_ALT_EVENT_ESTABLISHED);
	EXPECT_EQ(ev.cookie, SERVER);
	EXPECT_EQ(rca_disconnect(p.ctx, id), 0);
	ring_event(&server, &ev);
	EXPECT_EQ(ev.type, RDMA_CM_ALT_EVENT_DISCONNECTED);
	EXPECT_EQ(ev.id, sid);
	ring_event(&client, &ev);
	EXPECT_EQ(ev.type, RDMA_CM_ALT_EVENT_DISCONNECTED);
	EXPECT_EQ(ev.id, id);
}

/* Wait until three requests are in the ring, which publishes their ids. */
static void load_requests(struct pair *p, struct ring *ring, uint32_t *children)
{
	event_t ev;
	int i;

	for (i = 0; i < 3; i++) {
		ask_listener(p);
		while (__atomic_load_n(&ring->map->tail, __ATOMIC_ACQUIRE) != (uint32_t)i + 1) {
			EXPECT(event_comes(ring->queue, PATIENCE));
			usleep(1000);
		}
	}
	for (i = 0; i < 3; i++) {
		EXPECT(ring_look(ring, &ev));
		children[i] = ev.id;
		ring->pos++;
	}
	ring->pos = 0;
}

TEST(undelivered_requests_move_with_their_listener)
{
	uint32_t children[3], reported;
	struct ring ring;
	struct pair p;
	event_t ev;
	int to;

	ring_listen(&p, &ring, 8, 0);
	load_requests(&p, &ring, children);
	EXPECT(ring_take(&ring, &ev));
	to = get_queue(p.ctx);
	EXPECT_EQ(rca_set_queue(p.ctx, p.listener, to), 0);
	EXPECT(!ring_take(&ring, &ev));
	EXPECT(!event_waits(ring.queue));
	/* The ids of undelivered requests cannot be used. */
	EXPECT_EQ(rca_reject(p.ctx, children[1], 0, NULL, 0), -ENOENT);
	for (int i = 1; i < 3; i++) {
		EXPECT_EVENT_STATUS(to, CONNECT_REQUEST, children[i], 0, &ev);
		EXPECT_EQ(ev.cookie, 0);
	}
	/* The new ids have the queue that delivered their requests. */
	EXPECT_EQ(rca_accept(p.ctx, children[2], SERVER, NULL, 0), 0);
	EXPECT_EVENT_STATUS(p.cq, CONNECT_RESPONSE, 0, 0, &ev);
	EXPECT_EQ(rca_establish(p.ctx, ev.id), 0);
	EXPECT_EVENT(to, ESTABLISHED, children[2]);
	/* The id that was delivered before keeps its queue. */
	EXPECT_EQ(rca_accept(p.ctx, children[0], SERVER, NULL, 0), 0);
	EXPECT_EVENT_STATUS(p.cq, CONNECT_RESPONSE, 0, 0, &ev);
	EXPECT_EQ(rca_establish(p.ctx, ev.id), 0);
	ring_event(&ring, &ev);
	EXPECT_EQ(ev.type, RDMA_CM_ALT_EVENT_ESTABLISHED);
	EXPECT_EQ(ev.id, children[0]);
	EXPECT_EQ(rca_destroy_count(p.ctx, p.listener, &reported), 0);
	EXPECT_EQ(reported, 3);
}

TEST(undelivered_requests_end_with_their_listener)
{
	uint32_t children[3], reported;
	struct ring ring;
	struct pair p;
	event_t ev;

	ring_listen(&p, &ring, 8, 0);
	load_requests(&p, &ring, children);
	EXPECT(ring_take(&ring, &ev));
	EXPECT_EQ(rca_destroy_count(p.ctx, p.listener, &reported), 0);
	EXPECT_EQ(reported, 1);
	EXPECT(!ring_take(&ring, &ev));
	for (int i = 0; i < 2; i++)
		EXPECT_EVENT_STATUS(p.cq, REJECTED, 0, 28, NULL);
	EXPECT_EQ(rca_destroy(p.ctx, children[1]), -ENOENT);
	EXPECT_EQ(rca_destroy(p.ctx, children[0]), 0);
	EXPECT_EVENT_STATUS(p.cq, REJECTED, 0, 28, NULL);
}

TEST(undelivered_requests_come_by_read_when_the_ring_goes)
{
	uint32_t children[3];
	struct ring ring;
	struct pair p;
	event_t ev;

	ring_listen(&p, &ring, 8, 0);
	load_requests(&p, &ring, children);
	ring_unmap(&ring);
	for (int i = 0; i < 3; i++)
		EXPECT_EVENT_STATUS(ring.queue, CONNECT_REQUEST, children[i], 0, &ev);
	for (int i = 0; i < 3; i++) {
		EXPECT_EQ(rca_reject(p.ctx, children[i], 0, NULL, 0), 0);
		EXPECT_EVENT_STATUS(p.cq, REJECTED, 0, 28, NULL);
	}
}

TEST(head_gives_room_for_user_events)
{
	int ctx = get_ctx();
	struct ring ring = get_ring(ctx, 1024);
	uint32_t id = get_id(ctx, ring.queue, 0);
	event_t ev;

	for (int i = 0; i < 1024; i++)
		EXPECT_EQ(post_number(ctx, id, i), 0);
	EXPECT_EQ(post_number(ctx, id, 1024), -ENOBUFS);
	for (int i = 0; i < 1024; i++) {
		EXPECT(ring_take(&ring, &ev));
		EXPECT_EQ(ev.user_arg, i);
	}
	EXPECT_EQ(post_number(ctx, id, 1024), 0);
}

TEST(membership_that_ends_takes_its_record_back)
{
	int ctx = get_ctx();
	struct ring ring = get_ring(ctx, 8);
	uint32_t id, member, reported;
	event_t ev;

	EXPECT_EQ(rca_create(ctx, ring.queue, RDMA_PS_UDP, IB_UVERBS_QPT_UD, 0, &id), 0);
	EXPECT_EQ(rca_bind(ctx, id, HERE, 0), 0);
	EXPECT_EQ(rca_join(ctx, id, "239.1.17.1", RDMA_MC_JOIN_FLAG_FULLMEMBER, 9, &member), 0);
	EXPECT(event_comes(ring.queue, PATIENCE));
	EXPECT(ring_look(&ring, &ev));
	EXPECT_EQ(ev.type, RDMA_CM_ALT_EVENT_MULTICAST_JOIN);
	EXPECT_EQ(rca_leave(ctx, member, &reported), 0);
	EXPECT_EQ(reported, 0);
	EXPECT(!ring_take(&ring, &ev));
	EXPECT_EQ(rca_join(ctx, id, "239.1.17.1", RDMA_MC_JOIN_FLAG_FULLMEMBER, 9, &member), 0);
	ring_event(&ring, &ev);
	EXPECT_EQ(rca_leave(ctx, member, &reported), 0);
	EXPECT_EQ(reported, 1);
}

/*
 * At random: threads post to ids, move them between two rings and destroy them, others take events,
 * each ring under its lock as the uAPI requires. Every event that was not dropped with its id
 * arrives once and in order.
 */
#define IDS 6
#define TAKERS 3
#define ROUNDS 400
#define MOST (3 * 8 * ROUNDS)		/* events of one id */

struct chaos_id {
	pthread_mutex_t lock;		/* of threads that post, move or destroy */
	uint32_t handle;
	uint64_t posted;
	int place;
	uint64_t last;			/* event that was taken from a ring */
	uint32_t taken;
	uint8_t seen[MOST + 1];
};

static struct {
	int ctx;
	struct ring rings[2];
	pthread_mutex_t locks[2];
	struct chaos_id ids[IDS];
	bool stop;
} chaos;

/* The cookie modulo IDS is the slot of the id. */
static void count_event(const event_t *ev, bool from_ring)
{
	struct chaos_id *id = &chaos.ids[ev->cookie % IDS];

	EXPECT_EQ(ev->type, RDMA_CM_ALT_EVENT_USER);
	EXPECT_EQ(ev->id, __atomic_load_n(&id->handle, __ATOMIC_SEQ_CST));
	EXPECT(ev->user_arg <= MOST);
	EXPECT_EQ(__atomic_fetch_add(&id->seen[ev->user_arg], 1, __ATOMIC_SEQ_CST), 0);
	/* An event that was read by read() may be counted late. */
	if (from_ring)
		EXPECT(__atomic_exchange_n(&id->last, ev->user_arg, __ATOMIC_SEQ_CST) <
		       ev->user_arg);
	__atomic_add_fetch(&id->taken, 1, __ATOMIC_SEQ_CST);
}

static bool take_event(int which)
{
	struct ring *ring = &chaos.rings[which];
	event_t ev;
	bool found;

	pthread_mutex_lock(&chaos.locks[which]);
	found = ring_look(ring, &ev);
	if (found) {
		count_event(&ev, true);
		ring->pos++;
	}
	__atomic_store_n(ring->head, ring->pos, __ATOMIC_RELEASE);
	pthread_mutex_unlock(&chaos.locks[which]);
	return found;
}

static void *take_events(void *arg)
{
	int which = (long)arg % 2;
	int queue = chaos.rings[which].queue;
	event_t ev;

	while (!__atomic_load_n(&chaos.stop, __ATOMIC_SEQ_CST)) {
		while (take_event(which))
			;
		/* Some threads sleep in read(), the others in poll(). */
		if ((long)arg < 2)
			event_comes(queue, 1);
		else if (read(queue, &ev, sizeof(ev)) > 0)
			count_event(&ev, false);
	}
	return NULL;
}

/* Wait for threads that have read an event and not counted it yet. */
static void expect_taken(struct chaos_id *id, uint32_t reported)
{
	for (int i = 0; i < PATIENCE * 1000; i++) {
		if (__atomic_load_n(&id->taken, __ATOMIC_SEQ_CST) == reported)
			return;
		usleep(1000);
	}
	EXPECT_EQ(id->taken, reported);
}

static void renew_id(struct chaos_id *id, uint64_t slot)
{
	uint32_t reported;

	pthread_mutex_lock(&chaos.locks[id->place]);
	EXPECT_EQ(rca_destroy_count(chaos.ctx, id->handle, &reported), 0);
	pthread_mutex_unlock(&chaos.locks[id->place]);
	expect_taken(id, reported);
	EXPECT(reported <= id->posted);
	id->posted = 0;
	id->last = 0;
	memset(id->seen, 0, sizeof(id->seen));
	id->taken = 0;
	id->place = 0;
	__atomic_store_n(&id->handle, get_id(chaos.ctx, chaos.rings[0].queue, slot),
			 __ATOMIC_SEQ_CST);
}

static void move_id(struct chaos_id *id)
{
	pthread_mutex_lock(&chaos.locks[id->place]);
	EXPECT_EQ(rca_set_queue(chaos.ctx, id->handle, chaos.rings[!id->place].queue), 0);
	pthread_mutex_unlock(&chaos.locks[id->place]);
	id->place = !id->place;
}

static void *disturb_ids(void *arg)
{
	unsigned int seed = (long)arg;

	for (int i = 0; i < ROUNDS; i++) {
		uint64_t slot = rand_r(&seed) % IDS;
		struct chaos_id *id = &chaos.ids[slot];
		int posts = rand_r(&seed) % 8;

		pthread_mutex_lock(&id->lock);
		for (int j = 0; j < posts; j++)
			EXPECT_EQ(post_number(chaos.ctx, id->handle, ++id->posted), 0);
		if (rand_r(&seed) % 4 == 0)
			move_id(id);
		if (rand_r(&seed) % 8 == 0)
			renew_id(id, slot);
		pthread_mutex_unlock(&id->lock);
	}
	return NULL;
}

TEST(no_event_is_lost_or_doubled_at_random)
{
	pthread_t takers[2 * TAKERS], posters[3];
	long i;

	ktap_timeout(240);
	chaos.ctx = get_ctx();
	for (i = 0; i < 2; i++) {
		chaos.rings[i] = get_ring(chaos.ctx, 8);
		pthread_mutex_init(&chaos.locks[i], NULL);
	}
	for (i = 0; i < IDS; i++) {
		pthread_mutex_init(&chaos.ids[i].lock, NULL);
		chaos.ids[i].handle = get_id(chaos.ctx, chaos.rings[0].queue, i);
	}
	for (i = 0; i < 2 * TAKERS; i++)
		EXPECT_EQ(pthread_create(&takers[i], NULL, take_events, (void *)i), 0);
	for (i = 0; i < 3; i++)
		EXPECT_EQ(pthread_create(&posters[i], NULL, disturb_ids, (void *)(i + 1)), 0);
	for (i = 0; i < 3; i++)
		EXPECT_EQ(pthread_join(posters[i], NULL), 0);
	/* All other events arrive. */
	for (i = 0; i < IDS; i++)
		expect_taken(&chaos.ids[i], chaos.ids[i].posted);
	__atomic_store_n(&chaos.stop, true, __ATOMIC_SEQ_CST);
}

KTAP_MAIN
