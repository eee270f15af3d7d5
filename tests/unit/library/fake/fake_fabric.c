// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * The lock and the complaints of the fake data path.
 *
 * Locking: fabric_lock also protects the number of complaints.
 */
#include "fake/fake_fabric.h"

#include <pthread.h>
#include <stdarg.h>
#include <stdio.h>

static pthread_mutex_t fabric_lock = PTHREAD_MUTEX_INITIALIZER;
static unsigned int complaints;

void fake_fabric_lock(void)
{
	pthread_mutex_lock(&fabric_lock);
}

void fake_fabric_unlock(void)
{
	pthread_mutex_unlock(&fabric_lock);
}

void fake_complain(const char *fmt, ...)
{
	va_list args;

	complaints++;
	va_start(args, fmt);
	fputs("fake fabric: ", stderr);
	vfprintf(stderr, fmt, args);
	fputc('\n', stderr);
	va_end(args);
}

unsigned int fake_complaints(void)
{
	unsigned int n;

	fake_fabric_lock();
	n = complaints;
	complaints = 0;
	fake_fabric_unlock();
	return n;
}
