/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* Threads and child processes of a test. */
#ifndef TASKS_H
#define TASKS_H

#include "ktap.h"

/* Start @count threads of @run, each with the argument @arg. */
void start_threads(pthread_t *threads, int count, void *(*run)(void *arg), void *arg);
void join_threads(const pthread_t *threads, int count);
/* Start a thread, and return when it sleeps in the kernel. */
pthread_t start_sleeper(void *(*run)(void *arg), void *arg);

/* Start a child process that calls @work and then sleeps. Returns when @work has returned. */
pid_t start_child(void (*work)(void));
void kill_child(pid_t pid);
/*
 * Start a process that keeps the module busy until kill_busy(), with the processes that it starts.
 * Returns when @work has called busy_begins(), which ends the process with the test.
 */
pid_t start_busy(void (*work)(int ready));
void busy_begins(int ready);
/*
 * Leave all threads of a busy process together a thousandth of a processor, until kill_busy(): each
 * of them may stand still at any place in the kernel.
 */
void starve_busy(pid_t pid);
/*
 * The test is skipped if there are no cgroups for starve_busy(). @anywhere: with full preemption a
 * thread stands still anywhere, and not only where it may sleep.
 */
void need_starving(bool anywhere);
void kill_busy(pid_t pid);
/* The exit status of a child process, or the negative number of the signal that ended it. */
int wait_exit(pid_t pid);

#endif /* TASKS_H */
