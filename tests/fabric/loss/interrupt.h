/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* A signal that interrupts a blocking call. */
#ifndef INTERRUPT_H
#define INTERRUPT_H

#include <signal.h>
#include <string.h>
#include <time.h>

#include "ktap.h"

static inline void interrupt_handler(int number)
{
	(void)number;
}

/* Without SA_RESTART. The alarm of a test is another timer, ITIMER_REAL. */
static inline void interrupt_in_a_second(void)
{
	struct sigaction action = { .sa_handler = interrupt_handler };
	struct sigevent event = { .sigev_notify = SIGEV_SIGNAL, .sigev_signo = SIGUSR1 };
	struct itimerspec second = { .it_value.tv_sec = 1 };
	timer_t timer;

	MUST(sigaction(SIGUSR1, &action, NULL));
	MUST(timer_create(CLOCK_MONOTONIC, &event, &timer));
	MUST(timer_settime(timer, 0, &second, NULL));
}

#endif /* INTERRUPT_H */
