// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/* A process: its threads, the signals that interrupt them, its end. */
#define _GNU_SOURCE
#include <errno.h>
#include <signal.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <unistd.h>

#include "pass.h"
#include "stress.h"

#define CONTEXTS 2

static void nothing(int sig)
{
	(void)sig;
}

/* The initial state of a stream. */
uint64_t stream_begin(int number)
{
	uint64_t random = world->seed;

	return random_next(&random) ^ (uint64_t)number * 0x632be59bd9b4e019ULL;
}

/* The stream of a thread of a worker; the stream before them is the worker's own. */
int stream_of(int worker, int thread)
{
	return worker * 16 + 1 + thread;
}

void hand_begin(struct hand *hand, int number, enum group group, int worker)
{
	*hand = (struct hand) {
		.random = stream_begin(number), .number = number, .group = group,
		.worker = worker, .lane = lane_take(),
	};
}

static void *run_thread(void *arg)
{
	struct hand *hand = arg;

	hand->lane = lane_take();
	while (!__atomic_load_n(&world->stop, __ATOMIC_RELAXED))
		op_random(hand);
	__atomic_store_n(&hand->lane->pid, 0, __ATOMIC_RELEASE);
	return NULL;
}

/* The first contexts and queues; half of the clean contexts are ordered. */
static void open_some(struct hand *hand)
{
	uint32_t queue;
	int ctx;

	for (int i = 0; i < CONTEXTS; i++) {
		ctx = ctx_open(hand->group, hand->group == CLEAN && i == 0);
		if (ctx < 0)
			return;
		pass_send(hand, CTX_FD(ctx), hand->worker + 1);
		for (int n = 0; n < QUEUE_SLOTS / CONTEXTS / 2; n++) {
			queue = queue_make(hand, ctx, RDMA_CM_ALT_QUEUE_NONBLOCK, 0);
			if (!queue)
				continue;
			world->queue_slots[hand->group][queue % QUEUE_SLOTS] = queue;
			pass_send(hand, QUEUE_FD(queue), hand->worker + 1);
		}
	}
}

/* A process of the run from its fork to its end. @number: of its streams; unique by generation. */
void worker_run(int number, enum group group)
{
	struct sigaction action = { .sa_handler = nothing };
	struct rlimit files = { 16384, 16384 };
	struct hand hands[THREADS], own;
	pthread_t threads[THREADS];
	int left = THREADS;

	prctl(PR_SET_PDEATHSIG, SIGKILL);
	signal(SIGCHLD, SIG_IGN);
	sigaction(SIGUSR1, &action, NULL);
	if (setrlimit(RLIMIT_NOFILE, &files))
		complain("setrlimit: %m");
	hand_begin(&own, number * 16, group, number % WORKERS);
	open_some(&own);
	for (int i = 0; i < THREADS; i++) {
		hand_begin(&hands[i], stream_of(number, i), group, number % WORKERS);
		if (number < CLEAN_WORKERS)
			hands[i].trail = &world->trail[number * THREADS + i];
		hands[i].lane->pid = 0;
		pthread_create(&threads[i], NULL, run_thread, &hands[i]);
	}
	while (left) {
		int i = random_next(&own.random) % THREADS;

		usleep(random_next(&own.random) % 20000);
		if (!threads[i])
			continue;
		pthread_kill(threads[i], SIGUSR1);
		if (world->stop && !pthread_tryjoin_np(threads[i], NULL)) {
			threads[i] = 0;
			left--;
		}
	}
	_exit(0);
}
