// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * Every operation and every option in every state that a program can bring an id to. What an
 * operation returns is in the transition table of kernel/lib/fsm.c (states.h is made of it); the
 * results of options are those of stock.
 *
 * An operation that the state does not allow changes nothing: one that it allows succeeds
 * afterwards, or the peer goes on.
 */
#include "rca_datagram.h"
#include "states.h"

#define BIT(n) (1U << (n))
#define LENGTH(array) ((int)(sizeof(array) / sizeof((array)[0])))
#define USABLE (IB_PATH_GMP | IB_PATH_PRIMARY | IB_PATH_BIDIRECTIONAL)

/**
 * struct made - an id in a state
 * @state: the state
 * @datagram: it is an id of RDMA_PS_UDP
 * @ctx: its context
 * @queue: its queue
 * @id: the id
 * @peer: an address to resolve, of the family that the id is bound to
 * @pair: the pair that it belongs to, in states that need a peer
 */
struct made {
	int state;
	bool datagram;
	int ctx;
	int queue;
	uint32_t id;
	const char *peer;
	struct pair pair;
};

/* An operation; @answer is the input that follows without the peer's program, 0: none. */
struct operation {
	const char *name;
	int input;
	int answer;
};

/* NOTIFY is no input of its own: it is the RTU that the QP has replaced. */
static const struct operation operations[] = {
	{ "bind", INPUT_BIND, 0 },
	{ "resolve address", INPUT_RESOLVE_ADDR, INPUT_ADDR_OK },
	{ "resolve route", INPUT_RESOLVE_ROUTE, INPUT_ROUTE_OK },
	{ "listen", INPUT_LISTEN, 0 },
	{ "connect", INPUT_CONNECT, 0 },
	{ "accept", INPUT_ACCEPT, 0 },
	{ "reject", INPUT_REJECT, 0 },
	{ "establish", INPUT_ESTABLISH, 0 },
	{ "disconnect", INPUT_DISCONNECT, INPUT_DREP },
	{ "notify", INPUT_RTU, 0 },
};

static int call(const struct made *made, int input)
{
	struct pair server = { .ctx = made->ctx, .server = made->id };

	switch (input) {
	case INPUT_BIND:
		return rca_bind(made->ctx, made->id, HERE, 0);
	case INPUT_RESOLVE_ADDR:
		return rca_resolve_addr(made->ctx, made->id, NULL, made->peer, 1);
	case INPUT_RESOLVE_ROUTE:
		return rca_resolve_route(made->ctx, made->id);
	case INPUT_LISTEN:
		return rca_listen(made->ctx, made->id, 0);
	case INPUT_CONNECT:
		return rca_connect(made->ctx, made->id, NULL, 0);
	case INPUT_ACCEPT:
		return made->datagram ? datagram_accept(&server, 0) :
			rca_accept(made->ctx, made->id, 0, NULL, 0);
	case INPUT_REJECT:
		return rca_reject(made->ctx, made->id, 0, NULL, 0);
	case INPUT_ESTABLISH:
		return rca_establish(made->ctx, made->id);
	case INPUT_DISCONNECT:
		return rca_disconnect(made->ctx, made->id);
	default:
		return rca_notify(made->ctx, made->id, 4 /* IBV_EVENT_COMM_EST */);
	}
}

/* Where an operation begins and which input it is, for the table. */
static void find_step(int *state, int *input, bool datagram)
{
	/* These two bind an id that has no address yet. */
	if (*state == STATE_IDLE && (*input == INPUT_RESOLVE_ADDR || *input == INPUT_LISTEN))
		*state = STATE_BOUND;
	if (*input == INPUT_CONNECT && datagram)
		*input = INPUT_SIDR;
}

/* Does the table let the operation change the state? */
static bool is_taken(int state, int input, bool datagram)
{
	find_step(&state, &input, datagram);
	return steps[state][input].verdict == STEP_TAKE && input != INPUT_RTU;
}

/* What an operation returns that does not change the state, or that the table takes: 0. */
static int table_ret(int state, int input, bool datagram)
{
	find_step(&state, &input, datagram);
	if (input != INPUT_RTU)
		return steps[state][input].ret;
	return state == STATE_REP_SENT ? 0 : state == STATE_CONNECTED ? -EISCONN : -EINVAL;
}

/* Inputs that no call of a program causes, but for the removal of the device. */
static bool comes_by_itself(int input)
{
	for (int i = 0; i < LENGTH(operations) - 1; i++)
		if (operations[i].input == input)
			return false;
	return input != INPUT_SIDR && input != INPUT_DESTROY && input != INPUT_REMOVE;
}

/* The states that an id may be in some time after it was in @state. */
static uint32_t states_after(int state)
{
	uint32_t states = 0, more = BIT(state);

	while (states != more) {
		states = more;
		for (int from = 0; from < STATES; from++)
			for (int input = 0; states & BIT(from) && input < INPUTS; input++)
				if (comes_by_itself(input) &&
				    steps[from][input].verdict == STEP_TAKE)
					more |= BIT(steps[from][input].next);
	}
	return states;
}

/* All operations that are taken in none of @states return what the table says for all of them. */
static void expect_refusals(const struct made *made, uint32_t states)
{
	for (int i = 0; i < LENGTH(operations); i++) {
		int input = operations[i].input, ret = 1, is;
		bool same = true;

		for (int state = 0; state < STATES; state++) {
			if (!(states & BIT(state)))
				continue;
			same &= (ret == 1 || table_ret(state, input, made->datagram) == ret) &&
				!is_taken(state, input, made->datagram);
			ret = table_ret(state, input, made->datagram);
		}
		/* That one may be a step; see connect.c. */
		if (!same || (input == INPUT_RTU && !ret))
			continue;
		is = call(made, input);
		if (is != ret)
			ktap_fail(__FILE__, __LINE__, "%s: %s: %d, wanted %d",
				  state_names[made->state], operations[i].name, is, ret);
	}
}

/* An operation that the table takes, and the state after it. */
static void expect_step(const struct made *made, const struct operation *operation)
{
	int state = made->state, input = operation->input, next;

	find_step(&state, &input, made->datagram);
	next = steps[state][input].next;
	EXPECT_EQ(call(made, operation->input), 0);
	expect_refusals(made, states_after(next));
	if (operation->answer)
		expect_event(__FILE__, __LINE__, made->queue,
			     steps[next][operation->answer].event, made->id, 0, NULL);
}

/* Options that can be set in every state. */
enum { TOS, ACK_TIMEOUT, REUSE, UNREUSE, AFONLY, PATH, OPTIONS };

static int set_option(const struct made *made, int option)
{
	struct ib_path_rec_data path = { .flags = USABLE };
	struct { int level, name; const void *val; uint32_t len; } set[] = {
		[TOS] = { RDMA_OPTION_ID, RDMA_OPTION_ID_TOS, "\x14", 1 },
		[ACK_TIMEOUT] = { RDMA_OPTION_ID, RDMA_OPTION_ID_ACK_TIMEOUT, "\x14", 1 },
		[REUSE] = { RDMA_OPTION_ID, RDMA_OPTION_ID_REUSEADDR, &(int){ 1 }, 4 },
		[UNREUSE] = { RDMA_OPTION_ID, RDMA_OPTION_ID_REUSEADDR, &(int){ 0 }, 4 },
		[AFONLY] = { RDMA_OPTION_ID, RDMA_OPTION_ID_AFONLY, &(int){ 1 }, 4 },
		[PATH] = { RDMA_OPTION_IB, RDMA_OPTION_IB_PATH, &path, sizeof(path) },
	};

	return rca_set_option(made->ctx, made->id, set[option].level, set[option].name,
			      set[option].val, set[option].len);
}

static bool option_allowed(const struct made *made, int option)
{
	switch (option) {
	case ACK_TIMEOUT:
		return !made->datagram;
	case REUSE:
		return made->state != STATE_LISTEN;
	case UNREUSE:
		return made->state == STATE_IDLE;
	case AFONLY:
		return made->state == STATE_IDLE || made->state == STATE_BOUND;
	case PATH:
		return made->state == STATE_ADDR_RESOLVED;
	default:
		return true;
	}
}

static void expect_options(const struct made *made)
{
	for (int option = 0; option < OPTIONS; option++) {
		int is = set_option(made, option), ret = option_allowed(made, option) ? 0 : -EINVAL;

		if (is != ret)
			ktap_fail(__FILE__, __LINE__, "%s: option %d: %d, wanted %d",
				  state_names[made->state], option, is, ret);
	}
}

/* @then: how the peer goes on with an id that has no operation which does; NULL: not at all. */
static void check_state(struct made made, void (*make)(struct made *made),
			void (*then)(struct made *made))
{
	struct made fresh = made;

	make(&made);
	expect_refusals(&made, BIT(made.state));
	/* These two states end by themselves, with an event. */
	if (made.state != STATE_ADDR_QUERY && made.state != STATE_DISCONNECTED)
		EXPECT(!event_waits(made.queue));
	if (then)
		then(&made);
	else
		EXPECT_EQ(rca_destroy(made.ctx, made.id), 0);
	for (int i = 0; i < LENGTH(operations); i++) {
		if (!is_taken(fresh.state, operations[i].input, fresh.datagram))
			continue;
		made = fresh;
		make(&made);
		expect_refusals(&made, BIT(made.state));
		expect_step(&made, &operations[i]);
	}
	made = fresh;
	make(&made);
	expect_options(&made);
}

static uint32_t tested;

#define STATE_TEST(name, of, is_datagram, then)					\
	static void make_##name(struct made *made);				\
	__attribute__((constructor)) static void count_##name(void)		\
	{									\
		tested |= BIT(STATE_##of);					\
	}									\
	TEST(name)								\
	{									\
		check_state((struct made){ .state = STATE_##of,			\
			    .datagram = is_datagram, .peer = THERE },		\
			    make_##name, then);					\
	}									\
	static void make_##name(struct made *made)

/* An end of a pair is the id. */
static void take_client(struct made *made, struct pair p)
{
	made->pair = p;
	made->ctx = p.ctx;
	made->queue = p.cq;
	made->id = p.client;
}

static void take_server(struct made *made, struct pair p)
{
	take_client(made, p);
	made->queue = p.lq;
	made->id = p.server;
}

static void take_new(struct made *made)
{
	made->ctx = get_ctx();
	made->queue = get_queue(made->ctx);
	made->id = get_id(made->ctx, made->queue, 0);
}

STATE_TEST(idle, IDLE, false, NULL)
{
	take_new(made);
}

STATE_TEST(bound, BOUND, false, NULL)
{
	take_new(made);
	EXPECT_EQ(rca_bind(made->ctx, made->id, HERE, 0), 0);
}

STATE_TEST(bound_to_the_wildcard, BOUND, false, NULL)
{
	take_new(made);
	made->peer = THERE6;
	EXPECT_EQ(rca_bind(made->ctx, made->id, "::", 0), 0);
}

static void address_fails(struct made *made)
{
	EXPECT_EVENT_STATUS(made->queue, ADDR_ERROR, made->id, -ETIMEDOUT, NULL);
}

STATE_TEST(resolving_the_address, ADDR_QUERY, false, address_fails)
{
	take_new(made);
	EXPECT_EQ(rca_resolve_addr(made->ctx, made->id, NULL, NOBODY, 1), 0);
}

STATE_TEST(address_failed, BOUND, false, NULL)
{
	make_resolving_the_address(made);
	address_fails(made);
}

STATE_TEST(address_resolved, ADDR_RESOLVED, false, NULL)
{
	take_new(made);
	await_addr(made->ctx, made->queue, made->id, HERE, 1);
}

STATE_TEST(route_resolved, ROUTE_RESOLVED, false, NULL)
{
	take_client(made, get_routed(HERE));
}

static void client_asks(struct made *made)
{
	struct pair *p = &made->pair;

	p->client = made->datagram ? get_asker(p->ctx, p->cq, RDMA_PS_UDP, THERE, p->port) :
		get_client(p->ctx, p->cq, HERE, p->port, 0);
	pair_send_req(p, NULL);
}

STATE_TEST(listening, LISTEN, false, client_asks)
{
	take_server(made, get_listening(HERE));
	made->id = made->pair.listener;
}

static void server_accepts(struct made *made)
{
	struct pair *p = &made->pair;

	if (made->datagram) {
		EXPECT_EQ(datagram_accept(p, 0), 0);
		EXPECT_EVENT(p->cq, ESTABLISHED, p->client);
	} else {
		pair_send_rep(p);
	}
}

STATE_TEST(request_sent, REQ_SENT, false, server_accepts)
{
	take_client(made, get_requested(NULL));
}

STATE_TEST(request_received, REQ_RCVD, false, server_accepts)
{
	take_server(made, get_requested(NULL));
}

static void client_confirms(struct made *made)
{
	pair_send_rtu(&made->pair);
}

STATE_TEST(reply_received, REP_RCVD, false, client_confirms)
{
	take_client(made, get_accepted(NULL));
}

STATE_TEST(reply_sent, REP_SENT, false, client_confirms)
{
	take_server(made, get_accepted(NULL));
}

static void both_disconnect(struct made *made)
{
	pair_disconnect(&made->pair);
}

STATE_TEST(connected_client, CONNECTED, false, both_disconnect)
{
	take_client(made, get_connected());
}

STATE_TEST(connected_server, CONNECTED, false, both_disconnect)
{
	take_server(made, get_connected());
}

static void timewait_ends(struct made *made)
{
	EXPECT_EVENT(made->queue, TIMEWAIT_EXIT, made->id);
}

STATE_TEST(disconnected_client, DISCONNECTED, false, timewait_ends)
{
	take_client(made, get_connected());
	pair_disconnect(&made->pair);
}

STATE_TEST(disconnected_server, DISCONNECTED, false, timewait_ends)
{
	take_server(made, get_connected());
	pair_disconnect(&made->pair);
}

STATE_TEST(after_timewait, CLOSED, false, NULL)
{
	make_disconnected_client(made);
	timewait_ends(made);
}

static struct pair get_refused(bool datagram)
{
	struct pair p = datagram ? get_datagram_requested(NULL) : get_requested(NULL);

	EXPECT_EQ(rca_reject(p.ctx, p.server, 0, NULL, 0), 0);
	if (datagram)
		EXPECT_EVENT_STATUS(p.cq, UNREACHABLE, p.client, SIDR_REJECT, NULL);
	else
		EXPECT_EVENT_STATUS(p.cq, REJECTED, p.client, 28, NULL);
	return p;
}

STATE_TEST(rejected_client, FAILED, false, NULL)
{
	take_client(made, get_refused(false));
}

STATE_TEST(rejecting_server, FAILED, false, NULL)
{
	take_server(made, get_refused(false));
}

STATE_TEST(datagram_route_resolved, ROUTE_RESOLVED, true, NULL)
{
	take_client(made, get_datagram_routed(THERE));
}

STATE_TEST(datagram_listening, LISTEN, true, client_asks)
{
	take_server(made, get_datagram_listening(RDMA_PS_UDP, THERE, 0));
	made->id = made->pair.listener;
}

STATE_TEST(datagram_request_sent, SIDR_SENT, true, server_accepts)
{
	take_client(made, get_datagram_requested(NULL));
}

STATE_TEST(datagram_request_received, SIDR_RCVD, true, server_accepts)
{
	take_server(made, get_datagram_requested(NULL));
}

STATE_TEST(datagram_accepted_client, SIDR_DONE, true, NULL)
{
	take_client(made, get_datagram_connected(NULL));
}

STATE_TEST(datagram_accepting_server, SIDR_DONE, true, NULL)
{
	take_server(made, get_datagram_connected(NULL));
}

STATE_TEST(datagram_refused_client, FAILED, true, NULL)
{
	take_client(made, get_refused(true));
}

STATE_TEST(datagram_refusing_server, FAILED, true, NULL)
{
	take_server(made, get_refused(true));
}

/* A new state of the table gets a test here, or one elsewhere. */
TEST(every_state_has_a_test)
{
	/* Too short for a program: stale.c and disconnect.c are about the last two. */
	uint32_t elsewhere = BIT(STATE_ROUTE_QUERY) | BIT(STATE_REQ_WAIT) | BIT(STATE_DREQ_SENT);

	/* removal.c, lifetime.c */
	elsewhere |= BIT(STATE_REMOVED) | BIT(STATE_DESTROYING);
	EXPECT_EQ(tested & elsewhere, 0);
	EXPECT_EQ(tested | elsewhere, BIT(STATES) - 1);
}

KTAP_MAIN
