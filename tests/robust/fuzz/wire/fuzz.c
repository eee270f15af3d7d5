// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * A peer that sends arbitrary messages, and a wire that changes messages. The listeners for
 * connections and datagrams are at adapter hca1 (LID 2) in the network namespace hca1, the
 * clients at hca0 (LID 1) in ours; see tests/harness/guest/hca.sh. Every event must be valid, and
 * valid clients must connect afterwards.
 *
 * Environment: FUZZ_SECONDS, FUZZ_MESSAGES (minimum of the first test), FUZZ_SEED.
 */
#define _GNU_SOURCE
#include <fcntl.h>
#include <poll.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "cm_mad.h"
#include "rca_datagram.h"

#define KNOBS "/sys/kernel/debug/rca_hca/"
#define SERVER_AT "10.8.0.2"
#define CLIENT_AT "10.8.0.1"
#define BATCH 64
#define HEALTHY 10
#define MARK "end of a batch"
#define OPT(name) RDMA_CM_ALT_OPTION_##name

/* Private data of messages without the header; see <rdma/ib_cm.h>. */
enum { REQ_USER = 56, SIDR_REQ_USER = 180, REP_USER = 196, REJ_USER = 148, SIDR_REP_USER = 136 };

struct record {
	uint16_t slid;
	uint16_t dlid;
	uint8_t mad[MAD_BYTES];
} __attribute__((packed));

/* The listeners and their events. */
struct server {
	int ctx;
	int queue;
	uint16_t tcp;		/* port for connections */
	uint16_t udp;		/* port for datagrams */
	uint32_t mark;		/* number of the last batch whose end arrived */
	bool stop;
	uint64_t state;		/* random numbers */
	unsigned long requests;
	unsigned long established;
};

static unsigned long long number(const char *name, unsigned long long otherwise)
{
	const char *text = getenv(name);

	return text ? strtoull(text, NULL, 0) : otherwise;
}

static uint64_t seed(void)
{
	return number("FUZZ_SEED", 1);
}

static unsigned int seconds(void)
{
	return number("FUZZ_SECONDS", 20);
}

static void knob(const char *name, const void *data, size_t len)
{
	char path[128];
	int fd;

	snprintf(path, sizeof(path), KNOBS "%s", name);
	fd = MUST(open(path, O_WRONLY));
	EXPECT_EQ(write(fd, data, len), len);
	close(fd);
}

static void rule(const char *text)
{
	knob("rules", text, strlen(text));
}

/* The number of messages that the rules have changed. */
static unsigned long changed(void)
{
	FILE *file = fopen(KNOBS "rules", "r");
	unsigned long hits, sum = 0;
	char line[512], *where;

	EXPECT(file);
	while (fgets(line, sizeof(line), file)) {
		where = strstr(line, " hit ");
		if (where && sscanf(where, " hit %lu", &hits) == 1)
			sum += hits;
	}
	fclose(file);
	return sum;
}

static void enter(const char *path)
{
	int fd = MUST(open(path, O_RDONLY));

	MUST(setns(fd, CLONE_NEWNET));
	close(fd);
}

static bool is_address(const addr_t *addr)
{
	return !addr->family || addr->family == AF_INET || addr->family == AF_INET6;
}

static unsigned int most_private(const event_t *ev)
{
	switch (ev->type) {
	case RDMA_CM_ALT_EVENT_CONNECT_REQUEST:
		return ev->flags & RDMA_CM_ALT_EVENT_F_CONN ? REQ_USER : SIDR_REQ_USER;
	case RDMA_CM_ALT_EVENT_CONNECT_RESPONSE:
	case RDMA_CM_ALT_EVENT_ESTABLISHED:
		return REP_USER;
	case RDMA_CM_ALT_EVENT_REJECTED:
	case RDMA_CM_ALT_EVENT_DISCONNECTED:	/* by a reject after the connection */
		return REJ_USER;
	case RDMA_CM_ALT_EVENT_UNREACHABLE:
		return SIDR_REP_USER;
	default:
		return 0;
	}
}

/* Checks a record: it must be valid whatever the peer has sent. */
static void check(const event_t *ev)
{
	EXPECT(ev->length <= sizeof(*ev));
	EXPECT(ev->type <= RDMA_CM_ALT_EVENT_USER);
	EXPECT(ev->id);
	if (ev->private_data_len > most_private(ev))
		ktap_fail(__FILE__, __LINE__, "event %u has %u bytes of private data", ev->type,
			  ev->private_data_len);
	EXPECT(ev->qp_num <= 0xffffff);
	EXPECT(ev->route.num_paths <= 2);
	EXPECT(is_address(&ev->route.src));
	EXPECT(is_address(&ev->route.dst));
	EXPECT(ev->retry_count <= 7 && ev->rnr_retry_count <= 7 && ev->srq <= 1);
	for (unsigned int i = ev->private_data_len; i < sizeof(ev->private_data); i++)
		EXPECT(!ev->private_data[i]);
	if (ev->type == RDMA_CM_ALT_EVENT_CONNECT_REQUEST) {
		EXPECT(ev->listen_id);
		EXPECT_EQ(ev->cookie, LISTENER);
		EXPECT_EQ(ev->status, 0);
	}
}

static void answer(struct server *server, const event_t *ev)
{
	uint8_t data[REP_USER];
	uint16_t len = draw_below(&server->state, SIDR_REP_USER + 1);

	draw_bytes(&server->state, data, sizeof(data));
	switch (draw_below(&server->state, 8)) {
	case 0:
		rca_reject(server->ctx, ev->id, 0, data, len);
		break;
	case 1:
		break;
	default:
		/* The client may have given up. The cookie tells the id from the listener. */
		if (!rca_accept(server->ctx, ev->id, SERVER, data, len) &&
		    draw_below(&server->state, 4))
			return;
	}
	rca_destroy(server->ctx, ev->id);
}

/* The last request of a batch has a mark in its private data. */
static void look_for_mark(struct server *server, const event_t *ev)
{
	uint32_t mark;

	if (memcmp(ev->private_data, MARK, sizeof(MARK)))
		return;
	memcpy(&mark, ev->private_data + sizeof(MARK), sizeof(mark));
	__atomic_store_n(&server->mark, mark, __ATOMIC_RELEASE);
}

static void *serve(void *arg)
{
	struct server *server = arg;
	struct pollfd fd = { .fd = server->queue, .events = POLLIN };
	event_t ev;

	while (!__atomic_load_n(&server->stop, __ATOMIC_RELAXED)) {
		if (poll(&fd, 1, 100) <= 0)
			continue;
		get_event(server->queue, &ev);
		check(&ev);
		if (ev.type == RDMA_CM_ALT_EVENT_CONNECT_REQUEST) {
			server->requests++;
			look_for_mark(server, &ev);
			answer(server, &ev);
		} else if (ev.type == RDMA_CM_ALT_EVENT_ESTABLISHED) {
			server->established++;
		} else {
			/* The end of the connection; the id may be destroyed already. */
			rca_destroy(server->ctx, ev.id);
		}
	}
	return NULL;
}

/* Creates a listener and returns its port. */
static uint16_t listen_at(const struct server *server, uint16_t ps, uint8_t qp_type)
{
	uint32_t id;

	EXPECT_EQ(rca_create(server->ctx, server->queue, ps, qp_type, LISTENER, &id), 0);
	EXPECT_EQ(rca_bind(server->ctx, id, SERVER_AT, 0), 0);
	EXPECT_EQ(rca_listen(server->ctx, id, 0), 0);
	return get_port(server->ctx, id);
}

static void start_server(struct server *server, pthread_t *thread)
{
	rule("clear");
	enter("/run/netns/hca1");
	server->ctx = get_ctx();
	server->queue = get_queue(server->ctx);
	server->tcp = listen_at(server, RDMA_PS_TCP, IB_UVERBS_QPT_RC);
	server->udp = listen_at(server, RDMA_PS_UDP, IB_UVERBS_QPT_UD);
	enter("/proc/1/ns/net");
	server->state = seed() ^ 0x5e12e2;
	EXPECT_EQ(pthread_create(thread, NULL, serve, server), 0);
}

static void stop_server(struct server *server, pthread_t thread)
{
	__atomic_store_n(&server->stop, true, __ATOMIC_RELAXED);
	EXPECT_EQ(pthread_join(thread, NULL), 0);
	rule("clear");
	close(server->queue);
	close(server->ctx);
}

/* Valid clients can connect. */
static void healthy(void)
{
	struct pair p;

	enter("/run/netns/hca1");
	pair_listen(&p, SERVER_AT);
	enter("/proc/1/ns/net");
	p.cq = get_queue(p.ctx);
	for (int i = 0; i < HEALTHY; i++) {
		event_t ev;

		p.client = get_client(p.ctx, p.cq, SERVER_AT, p.port, CLIENT);
		EXPECT_EQ(rca_connect(p.ctx, p.client, "well", 4), 0);
		EXPECT_EVENT_STATUS(p.lq, CONNECT_REQUEST, 0, 0, &ev);
		EXPECT(!memcmp(ev.private_data, "well", 4));
		EXPECT_EQ(rca_accept(p.ctx, ev.id, SERVER, NULL, 0), 0);
		EXPECT_EVENT(p.cq, CONNECT_RESPONSE, p.client);
		EXPECT_EQ(rca_establish(p.ctx, p.client), 0);
		EXPECT_EVENT(p.lq, ESTABLISHED, ev.id);
		EXPECT_EQ(rca_destroy(p.ctx, p.client), 0);
		EXPECT_EVENT(p.lq, DISCONNECTED, ev.id);
		EXPECT_EQ(rca_destroy(p.ctx, ev.id), 0);
	}
}

static void read_gid(const char *device, uint8_t *gid)
{
	char path[128], text[64];
	FILE *file;

	snprintf(path, sizeof(path), "/sys/class/infiniband/%s/ports/1/gids/0", device);
	file = fopen(path, "r");
	EXPECT(file && fgets(text, sizeof(text), file));
	fclose(file);
	text[strcspn(text, "\n")] = 0;
	EXPECT_EQ(inet_pton(AF_INET6, text, gid), 1);
}

/* A message, mostly a request; the source LID may be unknown. */
static void make(struct record *record, const struct server *server, struct cm_way *way,
		 uint64_t *state)
{
	uint16_t attr = draw_below(state, 4) ? draw_below(state, 3) ? CM_REQ : CM_SIDR_REQ :
			CM_REQ + draw_below(state, CM_APR - CM_REQ + 1);
	uint64_t service_id = attr == CM_REQ ? (uint64_t)RDMA_PS_TCP << 16 | server->tcp :
			      (uint64_t)RDMA_PS_UDP << 16 | server->udp;
	unsigned int private = attr == CM_REQ ? CM_REQ_PRIVATE : CM_SIDR_REQ_PRIVATE;

	way->slid = draw_below(state, 16) ? 1 : 77;
	cm_mad_make(record->mad, attr, way, service_id, state);
	if (draw_below(state, 4))
		cm_mad_mutate(record->mad, draw_below(state, 2) ? private : 24, state);
	record->slid = htons(way->slid);
	record->dlid = htons(way->dlid);
}

/* Waits for the end of the batch, so that no message is lost for lack of buffers. */
static void send_batch(struct record *records, const struct server *server, struct cm_way *way,
		       uint32_t mark, uint64_t *state)
{
	struct record *last = &records[BATCH - 1];
	uint8_t *user = last->mad + CM_SIDR_REQ_PRIVATE + 36;
	time_t end = time(NULL) + PATIENCE;

	for (int i = 0; i < BATCH - 1; i++)
		make(&records[i], server, way, state);
	way->slid = 1;
	cm_mad_make(last->mad, CM_SIDR_REQ, way, (uint64_t)RDMA_PS_UDP << 16 | server->udp, state);
	memcpy(user, MARK, sizeof(MARK));
	memcpy(user + sizeof(MARK), &mark, sizeof(mark));
	last->slid = htons(1);
	last->dlid = htons(2);
	knob("inject", records, BATCH * sizeof(*records));
	while (__atomic_load_n(&server->mark, __ATOMIC_ACQUIRE) != mark) {
		EXPECT(time(NULL) < end);
		usleep(200);
	}
}

TEST(a_peer_sends_what_it_likes)
{
	struct cm_way way = { .dlid = 2 };
	struct record records[BATCH];
	time_t end = time(NULL) + seconds();
	struct server server = {};
	uint64_t state = seed();
	unsigned long sent = 0, least = number("FUZZ_MESSAGES", 0);
	uint32_t batches = 0;
	pthread_t thread;

	ktap_timeout(seconds() + 600);
	start_server(&server, &thread);
	read_gid("hca0", way.sgid);
	read_gid("hca1", way.dgid);
	inet_pton(AF_INET, CLIENT_AT, &way.src);
	inet_pton(AF_INET, SERVER_AT, &way.dst);
	while (time(NULL) < end || sent < least) {
		send_batch(records, &server, &way, ++batches, &state);
		sent += BATCH;
	}
	stop_server(&server, thread);
	ktap_note("seed %llu: %lu messages, %lu requests came out",
		  (unsigned long long)seed(), sent, server.requests);
	EXPECT(server.requests);
	healthy();
}

/* A client whose messages and answers are changed: any result is right, in time. */
static void try_connection(int ctx, int queue, const struct server *server, uint64_t *state)
{
	uint8_t data[REQ_USER], once = 0, soon = 12;
	uint32_t deadline = 1500, id;
	event_t ev;

	id = get_client(ctx, queue, SERVER_AT, server->tcp, CLIENT);
	draw_bytes(state, data, sizeof(data));
	EXPECT_EQ(rca_set_option(ctx, id, RDMA_CM_ALT_OPTION, OPT(MAX_RETRIES), &once, 1), 0);
	EXPECT_EQ(rca_set_option(ctx, id, RDMA_CM_ALT_OPTION, OPT(RESPONSE_TIMEOUT), &soon, 1), 0);
	EXPECT_EQ(rca_set_option(ctx, id, RDMA_CM_ALT_OPTION, OPT(DEADLINE), &deadline, 4), 0);
	EXPECT_EQ(rca_connect(ctx, id, data, draw_below(state, REQ_USER + 1)), 0);
	EXPECT(event_comes(queue, PATIENCE));
	get_event(queue, &ev);
	check(&ev);
	EXPECT_EQ(ev.id, id);
	if (ev.type == RDMA_CM_ALT_EVENT_CONNECT_RESPONSE && draw_below(state, 4) &&
	    !rca_establish(ctx, id) && draw_below(state, 2) && !rca_disconnect(ctx, id)) {
		EXPECT(event_comes(queue, PATIENCE));
		get_event(queue, &ev);
		check(&ev);
	}
	EXPECT_EQ(rca_destroy(ctx, id), 0);
	while (event_waits(queue))
		get_event(queue, &ev);
}

TEST(a_wire_changes_what_is_sent)
{
	time_t end = time(NULL) + seconds();
	struct server server = {};
	uint64_t state = seed();
	unsigned long tries = 0, mutated;
	int ctx = get_ctx(), queue = get_queue(ctx);
	pthread_t thread;
	char text[64];

	ktap_timeout(seconds() + 240);
	start_server(&server, &thread);
	snprintf(text, sizeof(text), "seed %u", (uint32_t)seed());
	rule(text);
	rule("mutate CM percent=30");
	rule("duplicate CM percent=5 ms=20");
	rule("reorder CM percent=5");
	while (time(NULL) < end) {
		try_connection(ctx, queue, &server, &state);
		tries++;
	}
	mutated = changed();
	stop_server(&server, thread);
	ktap_note("seed %llu: %lu connects, %lu requests came out, %lu established",
		  (unsigned long long)seed(), tries, server.requests, server.established);
	ktap_note("%lu messages changed", mutated);
	EXPECT(mutated && server.requests && server.established);
	healthy();
}

KTAP_MAIN
