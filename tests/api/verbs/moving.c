// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * rdma_migrate_id() while events arrive: each event exactly once, and in order for each id.
 *
 * One thread reads each channel and records an event before it acknowledges it. The next event
 * of an id may arrive on the new channel while the thread of the old channel still handles the
 * one before: the order is that of one channel, or that of events that cause each other.
 *
 * QPs are numbers only.
 */
#include <arpa/inet.h>
#include <dlfcn.h>
#include <stdatomic.h>

#include "lib/ends.h"

#define IDS 24
#define ROUNDS 3
#define CHANNELS 3
#define MOVERS 2
#define MESSAGES 400	/* events of the program's own, for each id */
#define CONNECTED 3	/* so many events has an id seen that is connected */
#define EVENT_USER 18	/* newer than some <rdma/rdma_cma.h> */

static uint32_t fresh_qp_num(void)
{
	static uint32_t used;

	return ((getpid() & 0x7ff) << 12 | (used++ & 0xfff)) + 0x800000;
}

static struct rdma_conn_param fresh_param(void)
{
	return (struct rdma_conn_param) {
		.responder_resources = 1, .initiator_depth = 1, .retry_count = 7,
		.rnr_retry_count = 7, .qp_num = fresh_qp_num(),
	};
}

/**
 * struct moved - an id that is moved
 * @id: the id
 * @lock: held around calls on the id and moves; not around reading
 * @seen: number of recorded events
 * @last: the number of the latest user event on each channel, plus one
 * @got: how often each user event arrived
 */
struct moved {
	struct rdma_cm_id *id;
	pthread_mutex_t lock;
	atomic_uint seen;
	unsigned int last[CHANNELS];
	atomic_uint got[MESSAGES];
};

static struct moved moved[IDS];
static struct rdma_event_channel *channels[CHANNELS];
static atomic_uint done, moves;
static atomic_bool stop;
static bool only_connected;
static void (*on_event)(struct moved *m, struct rdma_cm_event *event, unsigned int channel);

static bool waits(struct rdma_event_channel *channel, int ms)
{
	struct pollfd fd = { .fd = channel->fd, .events = POLLIN };

	return MUST(poll(&fd, 1, ms)) == 1;
}

static void *read_events(void *arg)
{
	unsigned int channel = (uintptr_t)arg;
	struct rdma_cm_event *event;

	while (!stop) {
		if (!waits(channels[channel], 100))
			continue;
		/* The pending events may have moved to another channel. */
		if (!rdma_get_cm_event(channels[channel], &event))
			on_event(event->id->context, event, channel);
		else
			EXPECT(errno == EAGAIN);
	}
	return NULL;
}

static void *move_ids(void *arg)
{
	unsigned int seed = (uintptr_t)arg;

	while (!stop) {
		struct moved *m = &moved[rand_r(&seed) % IDS];

		if (only_connected && m->seen < CONNECTED)
			continue;
		pthread_mutex_lock(&m->lock);
		MUST(rdma_migrate_id(m->id, channels[rand_r(&seed) % CHANNELS]));
		pthread_mutex_unlock(&m->lock);
		moves++;
	}
	return NULL;
}

static void make_channels(void)
{
	int i;

	for (i = 0; i < CHANNELS; i++) {
		channels[i] = rdma_create_event_channel();
		EXPECT(channels[i]);
		MUST(fcntl(channels[i]->fd, F_SETFL, O_NONBLOCK));
	}
}

static void make_ids(void)
{
	int i;

	for (i = 0; i < IDS; i++) {
		struct moved *m = &moved[i];

		memset(m, 0, sizeof(*m));
		pthread_mutex_init(&m->lock, NULL);
		MUST(rdma_create_id(channels[i % CHANNELS], &m->id, m, RDMA_PS_TCP));
	}
	done = 0;
	moves = 0;
	stop = false;
}

static pthread_t start_thread(void *(*run)(void *), void *arg)
{
	pthread_t thread;

	EXPECT_EQ(pthread_create(&thread, NULL, run, arg), 0);
	return thread;
}

static void start_all(pthread_t *threads)
{
	int i;

	for (i = 0; i < CHANNELS; i++)
		*threads++ = start_thread(read_events, (void *)(uintptr_t)i);
	for (i = 0; i < MOVERS; i++)
		*threads++ = start_thread(move_ids, (void *)(uintptr_t)(i + 1));
}

static void stop_all(pthread_t *threads)
{
	int i;

	while (done < IDS)
		usleep(10000);
	stop = true;
	for (i = 0; i < CHANNELS + MOVERS; i++)
		pthread_join(threads[i], NULL);
	for (i = 0; i < IDS; i++)
		MUST(rdma_destroy_id(moved[i].id));
	for (i = 0; i < CHANNELS; i++)
		EXPECT(!waits(channels[i], 0));
	EXPECT(moves > 0);
	ktap_note("%u moves", moves);
}

/* The events of a connection that the peer disconnects. */
static const enum rdma_cm_event_type life[] = {
	RDMA_CM_EVENT_ADDR_RESOLVED, RDMA_CM_EVENT_ROUTE_RESOLVED, RDMA_CM_EVENT_CONNECT_RESPONSE,
	RDMA_CM_EVENT_DISCONNECTED, RDMA_CM_EVENT_TIMEWAIT_EXIT,
};

static void go_on(struct moved *m, enum rdma_cm_event_type type)
{
	struct rdma_conn_param param = fresh_param();

	switch (type) {
	case RDMA_CM_EVENT_ADDR_RESOLVED:
		MUST(rdma_resolve_route(m->id, 2000));
		break;
	case RDMA_CM_EVENT_ROUTE_RESOLVED:
		MUST(rdma_connect(m->id, &param));
		break;
	case RDMA_CM_EVENT_CONNECT_RESPONSE:
		MUST(rdma_establish(m->id));
		break;
	case RDMA_CM_EVENT_DISCONNECTED:
		rdma_disconnect(m->id);
		break;
	default:
		done++;
	}
}

static void on_life(struct moved *m, struct rdma_cm_event *event, unsigned int channel)
{
	enum rdma_cm_event_type type = event->event;
	unsigned int n = m->seen++;

	(void)channel;
	EXPECT(m->id == event->id);
	if (n >= sizeof(life) / sizeof(life[0]) || type != life[n] || event->status)
		ktap_fail(__FILE__, __LINE__, "event %u is %s, status %d", n,
			  rdma_event_str(type), event->status);
	MUST(rdma_ack_cm_event(event));
	pthread_mutex_lock(&m->lock);
	go_on(m, type);
	pthread_mutex_unlock(&m->lock);
}

/*
 * Ids move while they resolve, connect, and are disconnected by the peer. When stock's library
 * reads an event, it queries addresses from the kernel through the channel where the id was,
 * and gets ENOENT.
 */
DUO_OUR_CLIENT(whole_lives)

/* Accept connections, and disconnect each: at once, or when all of them exist. */
static void accept_and_end(unsigned int left, bool together)
{
	struct rdma_event_channel *channel = rdma_create_event_channel();
	struct rdma_cm_id *listener, *there[IDS];
	unsigned int n = 0;

	EXPECT(channel);
	listener = listen_async(channel);
	while (left) {
		struct rdma_conn_param param = fresh_param();
		enum rdma_cm_event_type type;
		struct rdma_cm_event *event;
		struct rdma_cm_id *id;

		MUST(rdma_get_cm_event(channel, &event));
		id = event->id;
		type = event->event;
		rdma_ack_cm_event(event);
		if (type == RDMA_CM_EVENT_CONNECT_REQUEST) {
			MUST(rdma_accept(id, &param));
		} else if (type == RDMA_CM_EVENT_ESTABLISHED) {
			there[n++] = id;
			if (together && n < left)
				continue;
			while (n)
				MUST(rdma_disconnect(there[--n]));
		} else if (type == RDMA_CM_EVENT_DISCONNECTED) {
			MUST(rdma_destroy_id(id));
			left--;
		} else {
			EXPECT_EQ(type, RDMA_CM_EVENT_TIMEWAIT_EXIT);
		}
	}
	MUST(rdma_destroy_id(listener));
	rdma_destroy_event_channel(channel);
}

static void live_and_move(unsigned int rounds)
{
	struct sockaddr_in addr = { .sin_family = AF_INET, .sin_port = htons(take_number()) };
	pthread_t threads[CHANNELS + MOVERS];
	unsigned int round, i;

	inet_pton(AF_INET, HERE, &addr.sin_addr);
	on_event = on_life;
	make_channels();
	for (round = 0; round < rounds; round++) {
		make_ids();
		start_all(threads);
		for (i = 0; i < IDS; i++) {
			pthread_mutex_lock(&moved[i].lock);
			MUST(rdma_resolve_addr(moved[i].id, NULL, (struct sockaddr *)&addr, 5000));
			pthread_mutex_unlock(&moved[i].lock);
		}
		stop_all(threads);
		for (i = 0; i < IDS; i++)
			EXPECT_EQ(moved[i].seen, sizeof(life) / sizeof(life[0]));
	}
	for (i = 0; i < CHANNELS; i++)
		rdma_destroy_event_channel(channels[i]);
}

SERVER(whole_lives)
{
	accept_and_end(IDS * ROUNDS, false);
}

CLIENT(whole_lives)
{
	live_and_move(ROUNDS);
}

/* Connected ids move while the peer disconnects all of them: that is safe with stock, too. */
DUO(ends)

SERVER(ends)
{
	accept_and_end(IDS, true);
}

CLIENT(ends)
{
	only_connected = true;
	live_and_move(1);
	only_connected = false;
}

static int (*write_event)(struct rdma_cm_id *id, enum rdma_cm_event_type type, int status,
			  uint64_t arg);

static void on_message(struct moved *m, struct rdma_cm_event *event, unsigned int channel)
{
	uint64_t n;

	EXPECT(m->id == event->id);
	EXPECT_EQ(event->event, EVENT_USER);
	memcpy(&n, &event->param, sizeof(n));
	EXPECT(n < MESSAGES);
	EXPECT_EQ(event->status, n % 7);
	EXPECT_EQ(m->got[n]++, 0);
	EXPECT(m->last[channel] <= n);
	m->last[channel] = n + 1;
	MUST(rdma_ack_cm_event(event));
	if (++m->seen == MESSAGES)
		done++;
}

static void *write_events(void *arg)
{
	unsigned int n, i;

	for (n = 0; n < MESSAGES; n++)
		for (i = (uintptr_t)arg; i < IDS; i += 2)
			MUST(write_event(moved[i].id, EVENT_USER, n % 7, n));
	return NULL;
}

/* Numbered user events: all of them arrive, once and in order. */
DUO_OURS(numbered_events)

SERVER(numbered_events)
{
}

CLIENT(numbered_events)
{
	pthread_t threads[CHANNELS + MOVERS], writers[2];
	int i;

	write_event = dlsym(RTLD_DEFAULT, "rdma_write_cm_event");
	EXPECT(write_event);
	on_event = on_message;
	make_channels();
	make_ids();
	start_all(threads);
	for (i = 0; i < 2; i++)
		writers[i] = start_thread(write_events, (void *)(uintptr_t)i);
	for (i = 0; i < 2; i++)
		pthread_join(writers[i], NULL);
	stop_all(threads);
	for (i = 0; i < CHANNELS; i++)
		rdma_destroy_event_channel(channels[i]);
}

/* From synchronous to a channel, with an unread event to another channel, and back. */
DUO(sync_and_back)

SERVER(sync_and_back)
{
	struct rdma_event_channel *channel = rdma_create_event_channel();
	struct rdma_conn_param param = fresh_param();
	struct rdma_cm_id *listener, *id;
	struct rdma_cm_event *event;

	EXPECT(channel);
	listener = listen_async(channel);
	event = next_event(channel, RDMA_CM_EVENT_CONNECT_REQUEST);
	id = event->id;
	rdma_ack_cm_event(event);
	MUST(rdma_accept(id, &param));
	expect_cm_event(channel, RDMA_CM_EVENT_ESTABLISHED);
	meet();
	MUST(rdma_disconnect(id));
	expect_cm_event(channel, RDMA_CM_EVENT_DISCONNECTED);
	MUST(rdma_destroy_id(id));
	MUST(rdma_destroy_id(listener));
	rdma_destroy_event_channel(channel);
}

static void await_event(struct rdma_event_channel *channel)
{
	EXPECT(waits(channel, 20000));
}

CLIENT(sync_and_back)
{
	struct sockaddr_in addr = { .sin_family = AF_INET, .sin_port = htons(take_number()) };
	struct rdma_conn_param param = fresh_param();
	struct rdma_event_channel *a, *b;
	struct rdma_cm_id *id;

	inet_pton(AF_INET, HERE, &addr.sin_addr);
	a = rdma_create_event_channel();
	b = rdma_create_event_channel();
	EXPECT(a && b);
	MUST(rdma_create_id(NULL, &id, NULL, RDMA_PS_TCP));
	MUST(rdma_resolve_addr(id, NULL, (struct sockaddr *)&addr, 2000));
	EXPECT_EQ(id->event->event, RDMA_CM_EVENT_ADDR_RESOLVED);
	MUST(rdma_migrate_id(id, a));
	EXPECT(id->channel == a && !id->event);
	MUST(rdma_resolve_route(id, 2000));
	await_event(a);
	MUST(rdma_migrate_id(id, b));
	EXPECT(!waits(a, 0));
	expect_cm_event(b, RDMA_CM_EVENT_ROUTE_RESOLVED);
	MUST(rdma_connect(id, &param));
	expect_cm_event(b, RDMA_CM_EVENT_CONNECT_RESPONSE);
	MUST(rdma_establish(id));
	meet();
	await_event(b);
	MUST(rdma_migrate_id(id, NULL));
	EXPECT(id->channel != a && id->channel != b && !waits(b, 0));
	expect_cm_event(id->channel, RDMA_CM_EVENT_DISCONNECTED);
	MUST(rdma_migrate_id(id, a));
	MUST(rdma_disconnect(id));
	expect_cm_event(a, RDMA_CM_EVENT_TIMEWAIT_EXIT);
	MUST(rdma_destroy_id(id));
	EXPECT(!waits(a, 0) && !waits(b, 0));
	rdma_destroy_event_channel(a);
	rdma_destroy_event_channel(b);
}

DUO_MAIN
