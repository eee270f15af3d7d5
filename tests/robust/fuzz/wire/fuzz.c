// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * Peers that send arbitrary messages, and a wire that changes messages. The listeners for
 * connections and datagrams are at adapter hca1 (LID 2) in the network namespace hca1, the
 * clients at hca0 (LID 1) in ours; see tests/harness/guest/hca.sh. The peers are simulated hosts
 * of the fabric, which continue each connection that is accepted; see fabric/peers.c. Every event
 * must be valid, nothing may be left, and valid clients must connect afterwards.
 *
 * Messages are new, or they are made of those of the corpus: messages that were the first with
 * some answer (an attribute and a reason), and those of captures (tests/replay).
 *
 * Environment: FUZZ_SECONDS, FUZZ_MESSAGES (minimum of the first test), FUZZ_SEED, FUZZ_CORPUS (a
 * file of messages in hex), FUZZ_NEW (a file to write the corpus to).
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
#include "inventory.h"
#include "lib/messages.h"
#include "rca_datagram.h"

#define SERVER_AT "10.8.0.2"
#define CLIENT_AT "10.8.0.1"
#define READ 64
#define PEERS 64
#define CLIENTS 32
#define HEALTHY 10
#define MARK "end of a batch"
#define OPT(name) RDMA_CM_ALT_OPTION_##name

/* Private data of messages without the header; see <rdma/ib_cm.h>. */
enum { REQ_USER = 56, SIDR_REQ_USER = 180, REP_USER = 196, REJ_USER = 148, SIDR_REP_USER = 136 };

/* The listeners and their events. */
struct server {
	int ctx;
	int queue;
	uint16_t tcp;		/* port for connections */
	uint16_t udp;		/* port for datagrams */
	uint32_t mark;		/* number of the last batch whose end arrived */
	bool stop;
	uint64_t state;		/* random numbers */
	unsigned long events[RDMA_CM_ALT_EVENT_USER + 1];	/* by type */
};

static uint64_t seed(void)
{
	return ktap_env("FUZZ_SEED", 1);
}

static unsigned int seconds(void)
{
	return ktap_env("FUZZ_SECONDS", 20);
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
static void check_event(const event_t *ev)
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

static void serve_event(struct server *server, const event_t *ev)
{
	check_event(ev);
	server->events[ev->type]++;
	if (ev->type == RDMA_CM_ALT_EVENT_CONNECT_REQUEST) {
		answer(server, ev);
		look_for_mark(server, ev);
	} else if (ev->type != RDMA_CM_ALT_EVENT_ESTABLISHED || draw_below(&server->state, 2)) {
		/* The end of the connection; the id may be destroyed already. */
		rca_destroy(server->ctx, ev->id);
	}
}

static void *serve(void *arg)
{
	struct server *server = arg;
	struct pollfd fd = { .fd = server->queue, .events = POLLIN };
	event_t evs[READ];
	ssize_t len;

	while (!__atomic_load_n(&server->stop, __ATOMIC_RELAXED)) {
		if (poll(&fd, 1, 100) <= 0)
			continue;
		memset(evs, 0xaa, sizeof(evs));
		len = MUST(read(server->queue, evs, sizeof(evs)));
		EXPECT_EQ(len % sizeof(evs[0]), 0);
		for (size_t i = 0; i < len / sizeof(evs[0]); i++)
			serve_event(server, &evs[i]);
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

/* The sender becomes a simulated host: see fabric/peers.c. */
static void from_peer(struct cm_way *way, unsigned int number)
{
	static const uint8_t first[] = { 0xfe, 0x80, [8] = 0, 2, 0xc9, 3, 0, 1, 0, 0 };

	way->slid = 0x1000 + number;
	memcpy(way->sgid, first, sizeof(first));
	way->sgid[15] = number;
}

/* A message of the corpus, for a connection of its own to a listener of this run. */
static void make_again(uint8_t *mad, const struct messages *messages, const struct cm_way *way,
		       const struct server *server, uint64_t *state)
{
	unsigned int number = draw_below(state, messages->known);
	const uint8_t *known = messages->corpus[number];
	bool req = known[17] == CM_REQ;
	uint16_t ps = htons(req ? RDMA_PS_TCP : RDMA_PS_UDP);
	uint16_t port = htons(req ? server->tcp : server->udp);

	memcpy(mad, known, MAD_BYTES);
	if (messages->foreign[number])
		cm_mad_move(mad, way, state);
	draw_bytes(state, mad + 12, 4);
	if (draw_below(state, 8))
		draw_bytes(state, mad + 24, 4);
	if (!req && known[17] != CM_SIDR_REQ)
		return;
	if (req && draw_below(state, 8))
		draw_bytes(state, mad + 56, 3);
	if (draw_below(state, 4)) {
		memset(mad + 32, 0, 4);
		memcpy(mad + 36, &ps, sizeof(ps));
		memcpy(mad + 38, &port, sizeof(port));
	}
}

/* A message, mostly a request; the source LID may be unknown. */
static void make_record(struct record *record, const struct server *server,
			const struct messages *messages, struct cm_way *way, uint64_t *state)
{
	uint16_t attr = draw_below(state, 4) ? draw_below(state, 3) ? CM_REQ : CM_SIDR_REQ :
			CM_REQ + draw_below(state, CM_APR - CM_REQ + 1);
	uint64_t service_id = attr == CM_REQ ? (uint64_t)RDMA_PS_TCP << 16 | server->tcp :
			      (uint64_t)RDMA_PS_UDP << 16 | server->udp;
	unsigned int private = attr == CM_REQ ? CM_REQ_PRIVATE : CM_SIDR_REQ_PRIVATE;

	from_peer(way, draw_below(state, PEERS));
	if (!draw_below(state, 16))
		way->slid = 77;
	if (messages->known && !draw_below(state, 3))
		make_again(record->mad, messages, way, server, state);
	else
		cm_mad_make(record->mad, attr, way, service_id, state);
	if (draw_below(state, 4))
		cm_mad_mutate(record->mad, draw_below(state, 2) ? private : 24, state);
	record->slid = htons(way->slid);
	record->dlid = htons(way->dlid);
}

/* Waits for the end of the batch, so that no message is lost for lack of buffers. */
static void send_batch(struct messages *messages, const struct server *server, struct cm_way *way,
		       uint32_t mark, uint64_t *state)
{
	struct record *records = messages->batches[mark % 2];
	struct record *last = &records[BATCH - 1];
	uint8_t *user = last->mad + CM_SIDR_REQ_PRIVATE + 36;
	time_t end = time(NULL) + PATIENCE;

	for (int i = 0; i < BATCH - 1; i++)
		make_record(&records[i], server, messages, way, state);
	from_peer(way, mark % PEERS);
	cm_mad_make(last->mad, CM_SIDR_REQ, way, (uint64_t)RDMA_PS_UDP << 16 | server->udp, state);
	memcpy(user, MARK, sizeof(MARK));
	memcpy(user + sizeof(MARK), &mark, sizeof(mark));
	last->slid = htons(way->slid);
	last->dlid = htons(2);
	knob("inject", records, sizeof(messages->batches[0]));
	while (__atomic_load_n(&server->mark, __ATOMIC_ACQUIRE) != mark) {
		EXPECT(time(NULL) < end);
		usleep(200);
	}
}

static void note_events(const struct server *server)
{
	for (unsigned int type = 0; type <= RDMA_CM_ALT_EVENT_USER; type++)
		if (server->events[type])
			ktap_note("event %u: %lu", type, server->events[type]);
}

TEST(a_peer_sends_what_it_likes)
{
	static struct messages messages;
	struct cm_way way = { .dlid = 2 };
	unsigned long sent = 0, least = ktap_env("FUZZ_MESSAGES", 0);
	double begin = ktap_now();
	struct inventory before;
	struct server server = {};
	uint64_t state = seed();
	uint32_t batches = 0;
	pthread_t thread;

	ktap_timeout(seconds() + 600 + least / 100);
	inventory_take(&before);
	messages_read(&messages);
	knob("peers", "64", 2);
	knob("messages", "clear", 5);
	start_server(&server, &thread);
	rule("mutate CM percent=25 to=2");	/* how the peers continue */
	read_gid("hca1", way.dgid);
	inet_pton(AF_INET, CLIENT_AT, &way.src);
	inet_pton(AF_INET, SERVER_AT, &way.dst);
	while (ktap_now() - begin < seconds() || sent < least) {
		send_batch(&messages, &server, &way, ++batches, &state);
		messages_answered(&messages, false);
		sent += BATCH;
	}
	ktap_note("seed %llu: %lu messages, %.0f in a second", (unsigned long long)seed(), sent,
		  sent / (ktap_now() - begin));
	messages_answered(&messages, true);
	note_events(&server);
	stop_server(&server, thread);
	messages_write(&messages);
	EXPECT(server.events[RDMA_CM_ALT_EVENT_CONNECT_REQUEST]);
	EXPECT(server.events[RDMA_CM_ALT_EVENT_ESTABLISHED]);
	EXPECT(messages.known);
	inventory_await(&before);
	healthy();
}

/**
 * struct client - a client whose messages and answers are changed: any result is right, in time
 * @id: its id; 0: none
 * @leaves: it has disconnected
 * @since: when it has connected
 */
struct client {
	uint32_t id;
	bool leaves;
	double since;
};

/* A new id, which is resolved on a queue of its own. */
static void start_client(struct client *client, int ctx, int queue, int own,
			 const struct server *server, unsigned int number, uint64_t *state)
{
	uint8_t data[REQ_USER], once = 0, soon = 12;
	uint32_t deadline = 1500, id;

	id = get_client(ctx, own, SERVER_AT, server->tcp, number);
	draw_bytes(state, data, sizeof(data));
	EXPECT_EQ(rca_set_option(ctx, id, RDMA_CM_ALT_OPTION, OPT(MAX_RETRIES), &once, 1), 0);
	EXPECT_EQ(rca_set_option(ctx, id, RDMA_CM_ALT_OPTION, OPT(RESPONSE_TIMEOUT), &soon, 1), 0);
	EXPECT_EQ(rca_set_option(ctx, id, RDMA_CM_ALT_OPTION, OPT(DEADLINE), &deadline, 4), 0);
	EXPECT_EQ(rca_set_queue(ctx, id, queue), 0);
	EXPECT_EQ(rca_connect(ctx, id, data, draw_below(state, REQ_USER + 1)), 0);
	*client = (struct client) { .id = id, .since = ktap_now() };
}

static void end_client(struct client *client, int ctx)
{
	EXPECT_EQ(rca_destroy(ctx, client->id), 0);
	client->id = 0;
}

static void client_event(struct client *clients, int ctx, const event_t *ev, uint64_t *state)
{
	struct client *client = &clients[ev->cookie % CLIENTS];

	check_event(ev);
	EXPECT(ev->cookie < CLIENTS);
	/* A read may have an event of an id that an earlier event of the same read has ended. */
	if (ev->id != client->id)
		return;
	if (ev->type == RDMA_CM_ALT_EVENT_CONNECT_RESPONSE && !client->leaves &&
	    draw_below(state, 4) && !rca_establish(ctx, client->id) && draw_below(state, 2) &&
	    !rca_disconnect(ctx, client->id)) {
		client->leaves = true;
		return;
	}
	end_client(client, ctx);
}

static void client_events(struct client *clients, int ctx, int queue, uint64_t *state)
{
	event_t evs[READ];
	ssize_t len;

	EXPECT(event_comes(queue, PATIENCE));
	memset(evs, 0xaa, sizeof(evs));
	len = MUST(read(queue, evs, sizeof(evs)));
	for (size_t i = 0; i < len / sizeof(evs[0]); i++)
		client_event(clients, ctx, &evs[i], state);
	for (int i = 0; i < CLIENTS; i++)
		EXPECT(!clients[i].id || ktap_now() - clients[i].since < PATIENCE);
}

TEST(a_wire_changes_what_is_sent)
{
	int ctx = get_ctx(), queue = get_queue(ctx), own = get_queue(ctx);
	struct client clients[CLIENTS] = {};
	double begin = ktap_now();
	struct server server = {};
	uint64_t state = seed();
	unsigned long tries = 0, mutated;
	pthread_t thread;
	char text[64];

	ktap_timeout(seconds() + 240);
	start_server(&server, &thread);
	snprintf(text, sizeof(text), "seed %u", (uint32_t)seed());
	rule(text);
	rule("mutate CM percent=30");
	rule("duplicate CM percent=5 ms=20");
	rule("reorder CM percent=5");
	while (ktap_now() - begin < seconds()) {
		for (int i = 0; i < CLIENTS; i++) {
			if (clients[i].id)
				continue;
			start_client(&clients[i], ctx, queue, own, &server, i, &state);
			tries++;
		}
		client_events(clients, ctx, queue, &state);
	}
	mutated = changed();
	close(queue);
	stop_server(&server, thread);
	ktap_note("seed %llu: %lu connects, %.0f in a second, %lu messages changed",
		  (unsigned long long)seed(), tries, tries / (ktap_now() - begin), mutated);
	note_events(&server);
	EXPECT(mutated && server.events[RDMA_CM_ALT_EVENT_CONNECT_REQUEST] &&
	       server.events[RDMA_CM_ALT_EVENT_ESTABLISHED]);
	healthy();
}

KTAP_MAIN
