// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * One end answers while the other end is destroyed: the answer fails, or an event reports the end.
 */
#include "rca_test.h"

enum { TRIES = 100, LONGEST_SPIN = 20000 };

/**
 * struct quitter - a thread that destroys an id
 * @ctx: context of the id
 * @id: the id
 * @gate: barrier at which both threads start
 */
struct quitter {
	int ctx;
	uint32_t id;
	pthread_barrier_t gate;
};

/* A delay that differs from try to try. */
static void spin(void)
{
	for (int left = random() % LONGEST_SPIN; left > 0; left--)
		__atomic_signal_fence(__ATOMIC_SEQ_CST);	/* keep the empty loop */
}

static void *quit(void *arg)
{
	struct quitter *quitter = arg;

	pthread_barrier_wait(&quitter->gate);
	spin();
	EXPECT_EQ(rca_destroy(quitter->ctx, quitter->id), 0);
	return NULL;
}

/* The result of @call, made while the id is destroyed. */
#define WHILE_IT_ENDS(ctx_fd, handle, call) ({					\
	struct quitter quitter = { .ctx = ctx_fd, .id = handle };		\
	pthread_t thread;							\
	int call_ret;								\
										\
	EXPECT_EQ(pthread_barrier_init(&quitter.gate, NULL, 2), 0);		\
	EXPECT_EQ(pthread_create(&thread, NULL, quit, &quitter), 0);		\
	pthread_barrier_wait(&quitter.gate);					\
	spin();									\
	call_ret = call;							\
	EXPECT_EQ(pthread_join(thread, NULL), 0);				\
	call_ret;								\
})

/* One REJECTED or DISCONNECTED, followed by at most TIMEWAIT_EXIT. */
static void expect_end(int queue, uint32_t id)
{
	event_t ev;

	get_event(queue, &ev);
	EXPECT_EQ(ev.id, id);
	if (ev.type != RDMA_CM_ALT_EVENT_REJECTED)
		EXPECT_EQ(ev.type, RDMA_CM_ALT_EVENT_DISCONNECTED);
	while (event_waits(queue)) {
		get_event(queue, &ev);
		EXPECT_EQ(ev.type, RDMA_CM_ALT_EVENT_TIMEWAIT_EXIT);
	}
}

TEST(accept_and_the_end_of_the_client)
{
	unsigned int late = 0;
	struct pair p = get_listening(HERE);
	event_t ev;
	int ret;

	for (int i = 0; i < TRIES; i++) {
		p.client = get_client(p.ctx, p.cq, HERE, p.port, CLIENT);
		pair_send_req(&p, &ev);
		ret = WHILE_IT_ENDS(p.ctx, p.client, rca_accept(p.ctx, ev.id, SERVER, NULL, 0));
		if (ret) {
			EXPECT_EQ(ret, -ECONNRESET);
			EXPECT(!event_waits(p.lq));
			late++;
		} else {
			expect_end(p.lq, ev.id);
		}
		EXPECT_EQ(rca_destroy(p.ctx, ev.id), 0);
	}
	ktap_note("%u of %u accepts came too late", late, TRIES);
}

TEST(establish_and_the_end_of_the_server)
{
	unsigned int late = 0;
	struct pair p = get_listening(HERE);
	event_t ev;
	int ret;

	for (int i = 0; i < TRIES; i++) {
		p.client = get_client(p.ctx, p.cq, HERE, p.port, CLIENT);
		pair_send_req(&p, &ev);
		pair_send_rep(&p);
		ret = WHILE_IT_ENDS(p.ctx, ev.id, rca_establish(p.ctx, p.client));
		if (ret) {
			EXPECT_EQ(ret, -EINVAL);
			late++;
		}
		expect_end(p.cq, p.client);
		EXPECT_EQ(rca_destroy(p.ctx, p.client), 0);
	}
	ktap_note("%u of %u came too late", late, TRIES);
}

KTAP_MAIN
