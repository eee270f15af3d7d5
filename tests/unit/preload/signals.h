/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* Signals for the tests of calls that wait with a mask of signals. */
#ifndef SIGNALS_H
#define SIGNALS_H

#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <unistd.h>

/** handled - how many signals this thread has handled since block_usr1() */
static atomic_int handled;

static void handle(int signal)
{
	(void)signal;
	atomic_fetch_add(&handled, 1);
}

/* Blocks SIGUSR1, which is counted when it is not; returns the set with it alone. */
static sigset_t block_usr1(void)
{
	sigset_t usr1;

	signal(SIGUSR1, handle);
	sigemptyset(&usr1);
	sigaddset(&usr1, SIGUSR1);
	pthread_sigmask(SIG_BLOCK, &usr1, NULL);
	handled = 0;
	return usr1;
}

/* A thread that sends SIGUSR1 to the one that @arg points to, when that waits. */
static void *send_signal(void *arg)
{
	usleep(100000);
	pthread_kill(*(pthread_t *)arg, SIGUSR1);
	return NULL;
}

#endif /* SIGNALS_H */
