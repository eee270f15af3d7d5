/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* Runs one function in several threads at the same time, for tests of races. */
#ifndef RCA_RACE_H
#define RCA_RACE_H

#include <kunit/test.h>
#include <linux/atomic.h>
#include <linux/completion.h>
#include <linux/err.h>
#include <linux/kthread.h>
#include <linux/sched/task.h>

/** RCA_RACE_MAX - threads that a race may have */
#define RCA_RACE_MAX 8

/**
 * struct rca_race - a race
 * @run: function of each thread; @n counts threads from 0
 * @arg: passed to @run
 * @ready: threads that have not started yet
 * @next: number of the next thread
 * @start: completed by the last thread that starts
 * @left: threads that are not done
 * @done: completed by the last thread that is done
 */
struct rca_race {
	void (*run)(void *arg, unsigned int n);
	void *arg;
	atomic_t ready;
	atomic_t next;
	struct completion start;
	atomic_t left;
	struct completion done;
};

static inline int rca_race_thread(void *data)
{
	struct rca_race *race = data;
	unsigned int n = atomic_inc_return(&race->next) - 1;

	if (atomic_dec_and_test(&race->ready))
		complete_all(&race->start);
	wait_for_completion(&race->start);
	race->run(race->arg, n);
	if (atomic_dec_and_test(&race->left))
		complete(&race->done);
	return 0;
}

/**
 * rca_race() - run a function in several threads that start together
 * @test: the test; fails when a thread cannot be created
 * @threads: number of threads, up to RCA_RACE_MAX
 * @run: function of each thread; must not end the test, so it has no expectations
 * @arg: passed to @run
 */
static inline void rca_race(struct kunit *test, unsigned int threads,
			    void (*run)(void *arg, unsigned int n), void *arg)
{
	struct task_struct *tasks[RCA_RACE_MAX];
	struct rca_race race = {
		.run = run,
		.arg = arg,
		.ready = ATOMIC_INIT(threads),
		.left = ATOMIC_INIT(threads),
		.start = COMPLETION_INITIALIZER_ONSTACK(race.start),
		.done = COMPLETION_INITIALIZER_ONSTACK(race.done),
	};
	unsigned int i, made = 0;

	for (i = 0; i < threads; i++) {
		tasks[i] = kthread_create(rca_race_thread, &race, "rca_race/%u", i);
		if (IS_ERR(tasks[i]))
			break;
		made++;
	}
	if (made < threads) {
		while (made--)
			kthread_stop(tasks[made]);
		KUNIT_FAIL(test, "no thread");
		return;
	}
	for (i = 0; i < threads; i++) {
		get_task_struct(tasks[i]);
		wake_up_process(tasks[i]);
	}
	wait_for_completion(&race.done);
	for (i = 0; i < threads; i++) {
		/* Wait until the thread has left our stack and this module. */
		kthread_stop(tasks[i]);
		put_task_struct(tasks[i]);
	}
}

#endif /* RCA_RACE_H */
