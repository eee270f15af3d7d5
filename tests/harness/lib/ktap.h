/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * Tests as C functions, reported as KTAP: one line each.
 *
 *	#include "ktap.h"
 *
 *	TEST(an_id_can_be_created)
 *	{
 *		EXPECT_EQ(rca_destroy(ctx, id), 0);
 *	}
 *
 *	KTAP_MAIN
 *
 * Each test runs in a process of its own, in the order of the file, under an
 * alarm. The first expectation that fails ends it. Descriptors that a test leaves
 * open are closed when its process ends.
 *
 * TEST_LONG() is for a test that is one of several of its kind and takes long:
 * the debug guest runs it only with KTAP_ALL in the environment (make soak), or
 * when it is named. TEST_SOAK() is for one that takes too long for any guest.
 */
#ifndef KTAP_H
#define KTAP_H

/* Headers of the C library that most tests need. */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

/* Seconds that a test may take, unless it says otherwise with ktap_timeout(). */
#define KTAP_TIMEOUT 300

/* Where a test runs without KTAP_ALL: everywhere, not in the debug guest, nowhere. */
enum ktap_where { KTAP_EVERYWHERE, KTAP_STOCK, KTAP_SOAK };

void ktap_register(const char *name, void (*run)(void), enum ktap_where where);
int ktap_run(int argc, char **argv);
void ktap_timeout(unsigned int seconds);
void ktap_fail(const char *file, int line, const char *format, ...)
	__attribute__((format(printf, 3, 4), noreturn));
void ktap_skip(const char *format, ...) __attribute__((format(printf, 1, 2), noreturn));
void ktap_note(const char *format, ...) __attribute__((format(printf, 1, 2)));
/* A number from the environment. */
unsigned long long ktap_env(const char *name, unsigned long long otherwise);
/* Monotonic time in seconds. */
double ktap_now(void);
/* Is the running kernel of this release, as 6.17, or a later one? */
bool ktap_kernel_since(unsigned int major, unsigned int minor);
void ktap_expect_eq(const char *file, int line, const char *what, long long is, long long wanted);

#define KTAP_TEST(name, where)							\
	static void name(void);							\
	__attribute__((constructor)) static void register_##name(void)		\
	{									\
		ktap_register(#name, name, where);				\
	}									\
	static void name(void)

#define TEST(name) KTAP_TEST(name, KTAP_EVERYWHERE)
#define TEST_LONG(name) KTAP_TEST(name, KTAP_STOCK)
#define TEST_SOAK(name) KTAP_TEST(name, KTAP_SOAK)

#define KTAP_MAIN								\
	int main(int argc, char **argv)						\
	{									\
		return ktap_run(argc, argv);					\
	}

#define EXPECT(condition) do {							\
	if (!(condition))							\
		ktap_fail(__FILE__, __LINE__, "not true: %s", #condition);	\
} while (0)

/* Compares numbers; negative errnos are printed by name. */
#define EXPECT_EQ(is, wanted) ktap_expect_eq(__FILE__, __LINE__, #is, is, wanted)

/* For calls of the C library; the test fails when they fail. */
#define MUST(call) ({								\
	__typeof__(call) must_ret = (call);					\
										\
	if ((long)must_ret == -1)						\
		ktap_fail(__FILE__, __LINE__, "%s: %m", #call);			\
	must_ret;								\
})

#endif /* KTAP_H */
