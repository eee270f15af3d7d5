// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * The service of the fuzzer, in place of that of the library: its tasks run when the input says so,
 * in the only thread, so an input does the same each time.
 */
#include "rsocket/service.h"

#include <poll.h>
#include <stdlib.h>

#include "rsocket/stream/kept.h"
#include "rsocket/wait.h"
#include "world.h"

#define TASKS 64

/* Rounds after which something goes on for ever. */
#define ROUNDS 10000

static struct rcl_task *tasks[TASKS];

int rcl_service_add(struct rcl_task *task)
{
	uint32_t i;

	for (i = 0; i < TASKS && tasks[i]; i++)
		;
	if (i == TASKS)
		not_true("there are few tasks");
	tasks[i] = task;
	task->slot = i;
	task->added = true;
	return 0;
}

void rcl_service_remove(struct rcl_task *task)
{
	if (task->added)
		tasks[task->slot] = NULL;
	task->added = false;
}

void rcl_service_due(struct rcl_task *task, int64_t due)
{
	task->due = due;
}

static bool is_readable(const struct rcl_task *task)
{
	struct pollfd pfd = { .fd = task->fd, .events = POLLIN };

	return task->fd >= 0 && poll(&pfd, 1, 0) > 0;
}

/* Runs all tasks that have something to do; false: none has. */
static bool run_all(bool due)
{
	bool ran = false;
	uint32_t i;

	for (i = 0; i < TASKS; i++) {
		if (!tasks[i])
			continue;
		if (due && tasks[i]->due != RCL_FOREVER)
			tasks[i]->due = RCL_FOREVER;
		else if (!is_readable(tasks[i]))
			continue;
		else
			ran = true;
		tasks[i]->run(tasks[i]);
	}
	return ran;
}

void service_run(bool due)
{
	unsigned int rounds = 0;

	while (run_all(due && !rounds)) {
		if (++rounds == ROUNDS)
			not_true("events end");
	}
}

/* The time that a closed stream has is over. */
static void end_linger(struct rcl_task *task)
{
	struct rcl_stream *s = (void *)((char *)task - offsetof(struct rcl_stream, alive));

	if (task->fd < 0 && s->left)
		s->linger = 0;
}

void service_end(void)
{
	uint32_t i;

	for (i = 0; i < TASKS; i++) {
		if (tasks[i] && tasks[i] != &rcl_kept_task)
			end_linger(tasks[i]);
	}
	service_run(true);
	for (i = 0; i < TASKS; i++) {
		if (tasks[i] && tasks[i] != &rcl_kept_task)
			not_true("no task is left");
	}
}
