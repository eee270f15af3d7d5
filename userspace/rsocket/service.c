// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * The service thread.
 *
 * Tasks are in a table. The data of an epoll event is the slot and its generation, so an event of a
 * removed task finds no task. The first task starts the thread, which then runs until the
 * end of the process.
 *
 * Locking: service.lock for the table; it is not held while a task runs.
 */
#include "rsocket/service.h"

#include <errno.h>
#include <limits.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "base/err.h"
#include "base/fd.h"
#include "rsocket/wait.h"

#define NS_PER_MS 1000000LL
#define WAKE UINT64_MAX

struct slot {
	struct rcl_task *task;
	uint32_t generation;
	uint32_t next_free;
};

static struct {
	pthread_mutex_t lock;
	pthread_cond_t idle;
	bool started;
	pthread_t thread;
	int epoll;
	int wakeup;
	struct slot *slots;
	uint32_t count;
	uint32_t first_free;
	int64_t soonest;	/* no task is due before this time */
	struct rcl_task *running;
} service = {
	.lock = PTHREAD_MUTEX_INITIALIZER,
	.idle = PTHREAD_COND_INITIALIZER,
	.epoll = -1,
	.wakeup = -1,
	.soonest = RCL_FOREVER,
};

static void set_due(struct rcl_task *task, int64_t due)
{
	task->due = due;
	if (due >= service.soonest)
		return;
	service.soonest = due;
	eventfd_write(service.wakeup, 1);
}

/* Milliseconds until the first task is due, rounded up. */
static int timeout(void)
{
	int64_t left;

	if (service.soonest == RCL_FOREVER)
		return -1;
	left = service.soonest - rcl_now_ns();
	if (left <= 0)
		return 0;
	return left / NS_PER_MS >= INT_MAX ? INT_MAX : (int)(left / NS_PER_MS) + 1;
}

/* Runs a task; the lock is released meanwhile. */
static void run(struct rcl_task *task)
{
	service.running = task;
	pthread_mutex_unlock(&service.lock);
	task->run(task);
	pthread_mutex_lock(&service.lock);
	service.running = NULL;
	pthread_cond_broadcast(&service.idle);
}

/* Runs the tasks that are due; scans the table only if the earliest one is. */
static void run_due(void)
{
	int64_t now = rcl_now_ns();
	struct rcl_task *task;
	uint32_t i;

	if (service.soonest > now)
		return;
	service.soonest = RCL_FOREVER;
	for (i = 0; i < service.count; i++) {
		task = service.slots[i].task;
		if (task && task->due <= now) {
			task->due = RCL_FOREVER;
			run(task);
		} else if (task && task->due < service.soonest) {
			service.soonest = task->due;
		}
	}
}

static void run_event(uint64_t data)
{
	uint32_t slot = (uint32_t)data;
	eventfd_t value;

	if (data == WAKE)
		eventfd_read(service.wakeup, &value);
	else if (service.slots[slot].generation == data >> 32 && service.slots[slot].task)
		run(service.slots[slot].task);
}

static void *serve(void *arg)
{
	struct epoll_event events[16];
	int i, count;

	(void)arg;
	pthread_mutex_lock(&service.lock);
	for (;;) {
		int ms = timeout();

		pthread_mutex_unlock(&service.lock);
		count = epoll_wait(service.epoll, events, 16, ms);
		pthread_mutex_lock(&service.lock);
		for (i = 0; i < count; i++)
			run_event(events[i].data.u64);
		run_due();
	}
	return NULL;
}

/*
 * A child of fork() has no thread, and its descriptors are copies of the parent's. The table cannot
 * be used: a thread of the parent may have been replacing it.
 */
static void forked(void)
{
	if (service.started) {
		close(service.epoll);
		close(service.wakeup);
	}
	memset(&service, 0, sizeof(service));
	pthread_mutex_init(&service.lock, NULL);
	pthread_cond_init(&service.idle, NULL);
	service.epoll = -1;
	service.wakeup = -1;
	service.soonest = RCL_FOREVER;
}

static void follow_forks(void)
{
	pthread_atfork(NULL, NULL, forked);
}

/* Signals of the program are blocked in the thread. */
static int create_thread(void)
{
	static pthread_once_t once = PTHREAD_ONCE_INIT;
	sigset_t all, before;
	int ret;

	pthread_once(&once, follow_forks);
	sigfillset(&all);
	pthread_sigmask(SIG_BLOCK, &all, &before);
	ret = -pthread_create(&service.thread, NULL, serve, NULL);
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	return ret;
}

static int start(void)
{
	struct epoll_event event = { .events = EPOLLIN, .data.u64 = WAKE };
	int ret;

	if (service.started)
		return 0;
	service.epoll = rcl_fd_raise(epoll_create1(EPOLL_CLOEXEC));
	service.wakeup = rcl_fd_raise(eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK));
	if (service.epoll < 0 || service.wakeup < 0 ||
	    epoll_ctl(service.epoll, EPOLL_CTL_ADD, service.wakeup, &event))
		ret = rcl_errno();
	else
		ret = create_thread();
	service.started = !ret;
	if (!ret)
		return 0;
	if (service.wakeup >= 0)
		close(service.wakeup);
	if (service.epoll >= 0)
		close(service.epoll);
	return ret;
}

/* Slot numbers are those of free slots plus one, and 0 is the end of the list. */
static int grow(void)
{
	uint32_t i, count = service.count ? service.count * 2 : 64;
	struct slot *slots = reallocarray(service.slots, count, sizeof(*slots));

	if (!slots)
		return -ENOMEM;
	for (i = service.count; i < count; i++)
		slots[i] = (struct slot){ .next_free = i + 1 < count ? i + 2 : 0 };
	service.first_free = service.count + 1;
	service.slots = slots;
	service.count = count;
	return 0;
}

/* In the child of fork() the tasks of the parent are in no table. */
static bool has_slot(const struct rcl_task *task)
{
	return task->added && task->slot < service.count &&
	       service.slots[task->slot].task == task;
}

static void release_slot(struct rcl_task *task)
{
	struct slot *slot = &service.slots[task->slot];

	slot->task = NULL;
	slot->generation++;
	slot->next_free = service.first_free;
	service.first_free = task->slot + 1;
	task->added = false;
}

static int take_slot(struct rcl_task *task)
{
	int ret = service.first_free ? 0 : grow();
	struct slot *slot;

	if (ret)
		return ret;
	task->slot = service.first_free - 1;
	slot = &service.slots[task->slot];
	service.first_free = slot->next_free;
	slot->task = task;
	task->added = true;
	return 0;
}

static int add(struct rcl_task *task)
{
	struct epoll_event event = { .events = EPOLLIN };
	int ret = start();

	if (!ret)
		ret = take_slot(task);
	if (ret)
		return ret;
	event.data.u64 = (uint64_t)service.slots[task->slot].generation << 32 | task->slot;
	if (task->fd >= 0 && epoll_ctl(service.epoll, EPOLL_CTL_ADD, task->fd, &event)) {
		ret = rcl_errno();
		release_slot(task);
	} else {
		set_due(task, task->due);
	}
	return ret;
}

int rcl_service_add(struct rcl_task *task)
{
	int ret;

	pthread_mutex_lock(&service.lock);
	ret = add(task);
	pthread_mutex_unlock(&service.lock);
	return ret;
}

void rcl_service_remove(struct rcl_task *task)
{
	pthread_mutex_lock(&service.lock);
	if (has_slot(task)) {
		release_slot(task);
		if (task->fd >= 0)
			epoll_ctl(service.epoll, EPOLL_CTL_DEL, task->fd, NULL);
	}
	while (service.running == task && !pthread_equal(pthread_self(), service.thread))
		pthread_cond_wait(&service.idle, &service.lock);
	pthread_mutex_unlock(&service.lock);
}

void rcl_service_due(struct rcl_task *task, int64_t due)
{
	pthread_mutex_lock(&service.lock);
	if (has_slot(task))
		set_due(task, due);
	pthread_mutex_unlock(&service.lock);
}
