// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>

#include "limits.h"
#include "tasks.h"

#define CGROUPS "/sys/fs/cgroup"
#define STARVED CGROUPS "/rca_starved"
#define PREEMPT "/sys/kernel/debug/sched/preempt"

/* need_starving() has changed PREEMPT. */
static bool preempted;

void start_threads(pthread_t *threads, int count, void *(*run)(void *arg), void *arg)
{
	for (int i = 0; i < count; i++)
		EXPECT_EQ(pthread_create(&threads[i], NULL, run, arg), 0);
}

void join_threads(const pthread_t *threads, int count)
{
	for (int i = 0; i < count; i++)
		EXPECT_EQ(pthread_join(threads[i], NULL), 0);
}

struct sleeper {
	void *(*run)(void *arg);
	void *arg;
	pid_t tid;
};

static void *run_sleeper(void *arg)
{
	struct sleeper *shared = arg, own = *shared;

	/* start_sleeper() may return from now on. */
	__atomic_store_n(&shared->tid, gettid(), __ATOMIC_SEQ_CST);
	return own.run(own.arg);
}

pthread_t start_sleeper(void *(*run)(void *arg), void *arg)
{
	struct sleeper sleeper = { .run = run, .arg = arg };
	pthread_t thread;

	EXPECT_EQ(pthread_create(&thread, NULL, run_sleeper, &sleeper), 0);
	while (!__atomic_load_n(&sleeper.tid, __ATOMIC_SEQ_CST))
		usleep(1000);
	await_sleep(sleeper.tid);
	return thread;
}

pid_t start_child(void (*work)(void))
{
	int pipes[2];
	pid_t pid;
	char byte;

	MUST(pipe(pipes));
	pid = MUST(fork());
	if (!pid) {
		work();
		MUST(write(pipes[1], "", 1));
		for (;;)
			pause();
	}
	MUST(close(pipes[1]));
	EXPECT_EQ(MUST(read(pipes[0], &byte, 1)), 1);
	MUST(close(pipes[0]));
	return pid;
}

void kill_child(pid_t pid)
{
	MUST(kill(pid, SIGKILL));
	EXPECT_EQ(wait_exit(pid), -SIGKILL);
}

int wait_exit(pid_t pid)
{
	int status;

	MUST(waitpid(pid, &status, 0));
	return WIFEXITED(status) ? WEXITSTATUS(status) : -WTERMSIG(status);
}

pid_t start_busy(void (*work)(int ready))
{
	int ready[2];
	char byte;
	pid_t pid;

	MUST(pipe(ready));
	pid = MUST(fork());
	if (!pid) {
		MUST(setpgid(0, 0));
		work(ready[1]);
		_exit(0);
	}
	MUST(close(ready[1]));
	EXPECT_EQ(MUST(read(ready[0], &byte, 1)), 1);
	MUST(close(ready[0]));
	return pid;
}

void busy_begins(int ready)
{
	MUST(prctl(PR_SET_PDEATHSIG, SIGKILL));
	MUST(write(ready, "", 1));
}

void need_starving(bool anywhere)
{
	write_or_skip(CGROUPS "/cgroup.subtree_control", "+cpu");
	if (mkdir(STARVED, 0755) && errno != EEXIST)
		ktap_skip("%s: %m", STARVED);
	write_or_skip(STARVED "/cpu.max", "1000 1000000");
	preempted = anywhere && !access(PREEMPT, W_OK);
	if (preempted)
		write_or_skip(PREEMPT, "full");
}

void starve_busy(pid_t pid)
{
	char text[16];

	snprintf(text, sizeof(text), "%d", pid);
	write_or_skip(STARVED "/cgroup.procs", text);
}

void kill_busy(pid_t pid)
{
	int status;
	bool starved = !access(STARVED, F_OK);

	if (starved)
		write_or_skip(STARVED "/cpu.max", "max");
	MUST(kill(-pid, SIGKILL));
	EXPECT_EQ(waitpid(pid, &status, 0), pid);
	/* It was busy to the end: its own failures are printed already. */
	EXPECT(WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL);
	rmdir(STARVED);
	/* Not while they run: the kernel patches its code for it. */
	if (preempted)
		write_or_skip(PREEMPT, "voluntary");
}
