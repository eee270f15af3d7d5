/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * Unit tests of user space, with cmocka. A test registers itself; tests run in the order of the
 * file:
 *
 *	#include "fixture.h"
 *
 *	TEST(id_can_be_created)
 *	{
 *		...
 *	}
 *
 *	RUN
 */
#ifndef UNIT_H
#define UNIT_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <cmocka.h>

static struct CMUnitTest unit_tests[64];
static size_t unit_count;

static inline void unit_register(struct CMUnitTest test)
{
	if (unit_count == sizeof(unit_tests) / sizeof(unit_tests[0]))
		abort();
	unit_tests[unit_count++] = test;
}

/* The start of the definition of a test between calls of two functions, which may be NULL. */
#define UNIT_TEST(name, set_up, tear_down)						\
	static void name(void **state);							\
	__attribute__((constructor)) static void register_##name(void)			\
	{										\
		unit_register((struct CMUnitTest)					\
			cmocka_unit_test_setup_teardown(name, set_up, tear_down));	\
	}										\
	static void name(__attribute__((unused)) void **state)

/* One that needs nothing. */
#define PLAIN_TEST(name) UNIT_TEST(name, NULL, NULL)

static inline int unit_run(void)
{
	return _cmocka_run_group_tests("tests", unit_tests, unit_count, NULL, NULL);
}

#define RUN int main(void) { return unit_run(); }

#endif /* UNIT_H */
