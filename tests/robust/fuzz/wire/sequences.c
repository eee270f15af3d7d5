// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * Whole captures in another order. Each of several hosts plays the messages of the peer in one
 * capture, or in two at a time, while the program makes the calls of the recorded program; see
 * lib/sequences.h for what changes. Identifiers are those of the run, so the messages belong to
 * real connections. The listeners and the clients are at adapter hca0 (LID 1).
 *
 * These are errors: an event that an id cannot have after its earlier ones, or has twice; a
 * connection that is established although the peer has confirmed no reply; a disconnect request of
 * a connection that is not answered; an id or another object that is left; and, at the end, a
 * capture that does not do what was recorded when its order is not changed.
 *
 * Environment: FUZZ_SECONDS, FUZZ_SEED, FUZZ_SEQUENCES (see lib/sequences.h), FUZZ_TURN (only this
 * one; a turn depends on nothing but the seed and its number).
 */
#include <poll.h>
#include <unistd.h>

#include "inventory.h"
#include "lib/host.h"
#include "lib/ids.h"
#include "rca_datagram.h"

#define OUR_ADDRESS "10.8.0.1"
#define HOSTS 12
#define QUIET_MS 3	/* nothing more comes after a message */
#define ROUND_MS 10	/* longest time between two steps of a host */
#define AWAITED_MS 150	/* at most so long for what the next step needs */
#define FAREWELL_MS 5000	/* no disconnect request comes any more: it is sent every 4.3 s */
#define ANSWER_SECONDS 10	/* most that the answer to a disconnect request takes */
#define HEARD_SECONDS 1	/* most that the event of a state of ib_cm takes */
#define CONSUMER_DEFINED 28

/* Events of a connection that ib_cm does not know any more, or will not for long. */
#define OVER (BIT(TIMEWAIT_EXIT) | (ENDED & ~BIT(DISCONNECTED)))

/* A disconnect request of the peer, by the identifiers of both, and when it was sent. */
struct asked {
	uint32_t peer;
	uint32_t ours;
	struct known *known;
	double since;
};

/* What a host plays. */
struct play {
	struct host host;
	struct sequence sequence;
	uint64_t state;
	uint32_t turn;
	unsigned int at;	/* next step */
	double until;		/* what it needs is awaited */
	unsigned int confirmed;	/* RTUs that the peer has sent */
	unsigned int replied;	/* REPs */
	unsigned int requests;	/* requests that the peer has sent, without those that were taken */
	struct ids ids;
	unsigned int asking;
	struct asked asked[STEPS];
};

static struct play plays[HOSTS];
static struct sequences captures;
static int ctx, queue, own;
static unsigned long events[EVENT(USER) + 1];

/* A finding, with all that repeats it. */
static void wrong(const struct play *play, const char *what)
{
	char text[1024];

	sequence_text(&play->sequence, text, sizeof(text));
	ktap_fail(__FILE__, __LINE__, "FUZZ_SEED=%llu FUZZ_TURN=%u: %s\n# %s\n# step %u of %u",
		  ktap_env("FUZZ_SEED", 1), play->turn, what, text, play->at, play->sequence.count);
}

static struct known *add_id(struct play *play, uint32_t id, bool client, bool datagram)
{
	struct known *known = ids_add(&play->ids, id, client, datagram);

	if (!known)
		wrong(play, "more ids than messages can cause");
	return known;
}

static void take_request(const event_t *ev)
{
	for (struct play *play = plays; play < plays + HOSTS; play++) {
		if (ev->cookie != (uintptr_t)play)
			continue;
		add_id(play, ev->id, false, !(ev->flags & RDMA_CM_ALT_EVENT_F_CONN));
		if (play->requests)
			play->requests--;
	}
}

static void take_event(const event_t *ev)
{
	struct known *known = NULL;
	const char *what = NULL;

	EXPECT(ev->type <= EVENT(USER));
	events[ev->type]++;
	if (ev->type == EVENT(CONNECT_REQUEST)) {
		take_request(ev);
		return;
	}
	for (struct play *play = plays; play < plays + HOSTS && !known; play++) {
		known = ids_find(&play->ids, ev->id);
		if (known)
			what = ids_event(known, ev->type, play->confirmed);
		if (what)
			wrong(play, what);
	}
	if (known && OVER & 1u << ev->type && !known->over)
		known->over = ktap_now();
	if (!known)
		ktap_fail(__FILE__, __LINE__, "event %u of an id that was destroyed", ev->type);
}

static void take_events(void)
{
	event_t evs[16];
	ssize_t len = MUST(read(queue, evs, sizeof(evs)));

	EXPECT_EQ(len % sizeof(evs[0]), 0);
	for (size_t i = 0; i < len / sizeof(evs[0]); i++)
		take_event(&evs[i]);
}

static void take_answer(struct play *play, const uint8_t *mad)
{
	if (mad[17] != CM_DREP)
		return;
	for (unsigned int i = 0; i < play->asking; i++)
		if (play->asked[i].ours == mad_number(mad, 24, 4) &&
		    play->asked[i].peer == mad_number(mad, 28, 4))
			play->asked[i--] = play->asked[--play->asking];
}

/* Takes what comes within a time; returns whether there was something. */
static bool take_all(int ms)
{
	struct pollfd fds[HOSTS + 1] = { { .fd = queue, .events = POLLIN } };
	uint8_t mad[MAD_BYTES];

	for (int i = 0; i < HOSTS; i++)
		fds[i + 1] = (struct pollfd) { .fd = plays[i].host.fd, .events = POLLIN };
	if (MUST(poll(fds, HOSTS + 1, ms)) == 0)
		return false;
	if (fds[0].revents)
		take_events();
	for (int i = 0; i < HOSTS; i++)
		while (fds[i + 1].revents && host_receive(&plays[i].host, mad))
			take_answer(&plays[i], mad);
	return true;
}

/* Whether what a step needs may still come. */
static bool waits(struct play *play)
{
	const struct step *step = &play->sequence.steps[play->at];
	uint32_t remote = mad_number(step->mad, 28, 4);
	const struct known *known;

	if (play->at == play->sequence.count)
		return false;
	if (!step->of_peer && step->mad[17] == CM_RTU) {
		known = ids_local(&play->ids, step->part, mad_number(step->mad, 24, 4));
		return known && play->replied && !(known->events & (REPORTED | ENDED));
	}
	if (!step->of_peer)
		return play->requests && !ids_request(&play->ids, step->mad[17] == CM_SIDR_REP);
	if (step->mad[17] == CM_REQ || step->mad[17] == CM_SIDR_REQ)
		return false;
	/* ib_cm may handle a DREQ before the RTU that came first, on another processor. */
	if (step->mad[17] == CM_DREQ && play->host.exact && play->confirmed) {
		known = ids_local(&play->ids, step->part, remote);
		if (known && !(known->events & BIT(ESTABLISHED)))
			return true;
	}
	for (unsigned int i = 0; i < play->at; i++) {
		const struct step *before = &play->sequence.steps[i];

		if (!before->of_peer && before->part == step->part &&
		    mad_number(before->mad, 24, 4) == remote)
			return !host_knows(&play->host, step->part, remote);
	}
	return false;
}

static void connect_out(struct play *play, const struct step *step)
{
	bool datagram = step->mad[17] == CM_SIDR_REQ;
	char address[32];
	struct known *known;
	uint32_t id;

	snprintf(address, sizeof(address), "10.8.0.%u", 100 + play->host.number);
	id = datagram ? get_asker(ctx, own, RDMA_PS_UDP, address, 7000) :
			get_client(ctx, own, address, 7000, CLIENT);
	EXPECT_EQ(rca_set_queue(ctx, id, queue), 0);
	known = add_id(play, id, true, datagram);
	known->part = step->part;
	known->local = mad_number(step->mad, 24, 4);
	EXPECT_EQ(rca_connect(ctx, id, "sequence", 8), 0);
}

/* The call of the program behind a message of our stack; any result is right. */
static void call(struct play *play, const struct step *step)
{
	uint32_t local = mad_number(step->mad, 24, 4);
	bool datagram = step->mad[17] == CM_SIDR_REP;
	struct known *known = datagram ? NULL : ids_local(&play->ids, step->part, local);
	uint8_t attr = step->mad[17];

	if (attr == CM_REQ || attr == CM_SIDR_REQ) {
		connect_out(play, step);
		return;
	}
	if (attr == CM_REJ && mad_number(step->mad, 34, 2) != CONSUMER_DEFINED)
		return;
	if (!known && (attr == CM_REP || attr == CM_REJ || datagram)) {
		known = ids_request(&play->ids, datagram);
		if (known && !datagram) {
			known->part = step->part;
			known->local = local;
		}
	}
	if (!known)
		return;
	if (attr == CM_REP || (datagram && !step->mad[28]))
		rca_accept(ctx, known->id, SERVER, "accepted", 8);
	else if (attr == CM_REJ || datagram)
		rca_reject(ctx, known->id, 0, "refused", 7);
	else if (attr == CM_RTU)
		known->established |= !rca_establish(ctx, known->id);
	else if (attr == CM_DREQ || attr == CM_DREP)
		rca_disconnect(ctx, known->id);
	known->answered = true;
}

/*
 * Whether a DREQ must be answered: our stack has replied or confirmed, and nobody has rejected. An
 * MRA tells the identifier of a connection, but not its QP, and ib_cm takes no DREQ of another one.
 */
static bool is_connected(struct play *play, const struct step *dreq)
{
	uint32_t peer = mad_number(dreq->mad, 24, 4), ours = mad_number(dreq->mad, 28, 4);
	struct known *known = ids_local(&play->ids, dreq->part, ours);

	if (!known || known->events & (ENDED & ~BIT(DISCONNECTED)) ||
	    !host_knows(&play->host, dreq->part, ours) || !host_knows_qp(&play->host, dreq))
		return false;
	for (unsigned int i = 0; i < play->sequence.count; i++) {
		const struct step *step = &play->sequence.steps[i];

		if (step->mad[17] == CM_REJ && step->part == dreq->part)
			return false;
		if (i < play->at && step->of_peer && step->part == dreq->part &&
		    step->mad[17] == (known->client ? CM_REP : CM_REQ) &&
		    mad_number(step->mad, 24, 4) == peer)
			return !known->client || known->established;
	}
	return false;
}

static void send_step(struct play *play, const struct step *step)
{
	bool connected = step->mad[17] == CM_DREQ && is_connected(play, step);

	if (step->mad[17] == CM_RTU)
		play->confirmed++;
	else if (step->mad[17] == CM_REP)
		play->replied++;
	else if (step->mad[17] == CM_REQ || step->mad[17] == CM_SIDR_REQ)
		play->requests++;
	if (connected)
		play->asked[play->asking++] = (struct asked) {
			host_peer(&play->host, step), host_ours(&play->host, step),
			ids_local(&play->ids, step->part, mad_number(step->mad, 28, 4)),
			ktap_now(),
		};
	host_send(&play->host, step, &play->state);
}

/* A changed sequence may lack what its next step needs; a capture in its order has all. */
static void await_next(struct play *play)
{
	play->until = ktap_now() + (play->host.exact ? ANSWER_SECONDS : AWAITED_MS / 1000.0);
}

static void take_step(struct play *play)
{
	const struct step *step = &play->sequence.steps[play->at++];

	if (step->of_peer)
		send_step(play, step);
	else
		call(play, step);
	await_next(play);
}

/*
 * Whether a disconnect request needs no answer: ib_cm gives none from the end of TIMEWAIT, or of a
 * connection that was not established in time, until the id is destroyed.
 */
static bool is_late(const struct asked *asked)
{
	return asked->known->over && asked->known->over < asked->since + HEARD_SECONDS;
}

static bool is_answered(struct play *play)
{
	for (unsigned int i = 0; i < play->asking; i++)
		if (is_late(&play->asked[i]))
			play->asked[i--] = play->asked[--play->asking];
	return !play->asking;
}

/* Goes on with a play if what it needs is there, or does not come; false: it is over. */
static bool advance(struct play *play)
{
	if (play->at < play->sequence.count) {
		if (!waits(play) || ktap_now() > play->until)
			take_step(play);
		return true;
	}
	if (is_answered(play))
		return false;
	if (ktap_now() <= play->until + ANSWER_SECONDS)
		return true;
	for (unsigned int i = 0; i < play->asking; i++) {
		const struct asked *asked = &play->asked[i];

		ktap_note("%#x of %#x asked %.3f s ago, %s; events %#x, over for %.3f s",
			  asked->peer, asked->ours, ktap_now() - asked->since,
			  asked->known->client ? "client" : "server", asked->known->events,
			  asked->known->over ? ktap_now() - asked->known->over : 0);
	}
	wrong(play, "a DREQ of a connection was not answered");
	return true;
}

/* Takes what comes, until nothing more does or others want to go on. */
static void look_around(void)
{
	double end = ktap_now() + ROUND_MS / 1000.0;

	while (take_all(QUIET_MS) && ktap_now() < end)
		;
}

static void destroy_ids(struct play *play)
{
	while (play->ids.count)
		EXPECT_EQ(rca_destroy(ctx, play->ids.all[--play->ids.count].id), 0);
}

/* The end of all plays: ids of requests that still come are destroyed, too. */
static void leave(void)
{
	for (struct play *play = plays; play < plays + HOSTS; play++)
		play->host.peers.count = 0;	/* the host lets all connections go */
	do {
		for (struct play *play = plays; play < plays + HOSTS; play++)
			destroy_ids(play);
	} while (take_all(QUIET_MS));
}

static void begin_play(struct play *play, uint32_t turn)
{
	play->turn = turn;
	play->at = 0;
	await_next(play);
	play->confirmed = 0;
	play->replied = 0;
	play->requests = 0;
	play->ids.count = 0;
	play->asking = 0;
	host_begin(&play->host, &play->sequence, turn);
}

static uint16_t listen_for(struct play *play, uint16_t ps)
{
	uint8_t type = ps == RDMA_PS_TCP ? IB_UVERBS_QPT_RC : IB_UVERBS_QPT_UD;
	uint32_t id;

	EXPECT_EQ(rca_create(ctx, queue, ps, type, (uintptr_t)play, &id), 0);
	EXPECT_EQ(rca_bind(ctx, id, OUR_ADDRESS, 0), 0);
	EXPECT_EQ(rca_listen(ctx, id, 0), 0);
	return get_port(ctx, id);
}

static void hosts_up(void)
{
	ctx = get_ctx();
	queue = get_queue(ctx);
	own = get_queue(ctx);
	for (unsigned int i = 0; i < HOSTS; i++) {
		host_open(&plays[i].host, i);
		plays[i].host.tcp = listen_for(&plays[i], RDMA_PS_TCP);
		plays[i].host.udp = listen_for(&plays[i], RDMA_PS_UDP);
	}
}

/* Whether the only id of a play has had some events, and the host some messages. */
static bool has_done(const struct play *play, unsigned int wanted, unsigned int sent)
{
	return play->ids.count == 1 && (play->ids.all[0].events & wanted) == wanted &&
	       (play->host.received & sent) == sent;
}

/* Each host plays a capture in its order, and the same must happen again. */
static void as_recorded(const char *name, uint32_t turn, unsigned int wanted, unsigned int sent)
{
	double end = ktap_now() + ANSWER_SECONDS;
	bool more;

	for (unsigned int i = 0; i < HOSTS; i++) {
		plays[i].sequence = *sequences_find(&captures, name);
		plays[i].host.exact = true;
		begin_play(&plays[i], turn + i);
	}
	do {
		more = false;
		for (struct play *play = plays; play < plays + HOSTS; play++)
			more |= advance(play);
		look_around();
	} while (more);
	for (struct play *play = plays; play < plays + HOSTS; play++) {
		while (!has_done(play, wanted, sent) && ktap_now() < end)
			take_all(20);
		if (has_done(play, wanted, sent))
			continue;
		ktap_note("%u ids, events %#lx of %#x, messages %#x of %#x", play->ids.count,
			  (unsigned long)play->ids.all[0].events, wanted, play->host.received,
			  sent);
		wrong(play, "the capture in its order does not do what was recorded");
	}
	leave();
}

#define SENT(name) (1u << (CM_##name - CM_REQ))

/* The next sequence of a host. */
static void start_play(struct play *play, uint32_t turn)
{
	uint32_t drawn = ktap_env("FUZZ_TURN", turn);

	play->state = ktap_env("FUZZ_SEED", 1) << 32 ^ drawn;
	sequence_make(&play->sequence, &captures, &play->state);
	begin_play(play, turn);
	play->turn = drawn;
}

/* Hosts play one sequence after the other for a time; returns the number of sequences. */
static uint32_t play_for(unsigned int seconds)
{
	double end = ktap_now() + seconds;
	uint32_t turn = 0;
	bool more = true;

	while (more) {
		more = false;
		for (struct play *play = plays; play < plays + HOSTS; play++) {
			if (!advance(play)) {
				destroy_ids(play);
				play->at = 0;
				play->sequence.count = 0;
				if (ktap_now() > end)
					continue;
				start_play(play, ++turn);
			}
			more = true;
		}
		look_around();
	}
	leave();
	return turn;
}

TEST(a_peer_changes_the_order_of_captures)
{
	unsigned int seconds = ktap_env("FUZZ_SECONDS", 20);
	struct inventory before;
	double began;
	uint32_t turn;

	ktap_timeout(seconds + 300);
	sequences_read(&captures);
	inventory_take(&before);
	hosts_up();
	began = ktap_now();
	turn = play_for(seconds);
	ktap_note("seed %llu: %u sequences, %.0f in a second", ktap_env("FUZZ_SEED", 1), turn,
		  turn / (ktap_now() - began));
	for (unsigned int type = 0; type <= EVENT(USER); type++)
		if (events[type])
			ktap_note("event %u: %lu", type, events[type]);
	as_recorded("server", turn + 1, BIT(ESTABLISHED) | BIT(DISCONNECTED),
		    SENT(REP) | SENT(DREP));
	as_recorded("client", turn + 1 + HOSTS, BIT(CONNECT_RESPONSE) | BIT(DISCONNECTED),
		    SENT(REQ) | SENT(RTU) | SENT(DREQ));
	while (take_all(FAREWELL_MS))
		;
	close(queue);
	close(own);
	close(ctx);
	inventory_await(&before);
}

KTAP_MAIN
