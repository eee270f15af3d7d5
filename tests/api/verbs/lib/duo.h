/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * Tests with two ends, each in a process of its own, on either stack:
 *
 *	DUO(hello)
 *	SERVER(hello)
 *	{
 *		struct rdma_cm_id *id = accept_one(listen_rc(), NULL);
 *		...
 *		tell("%d", wc.status);
 *	}
 *	CLIENT(hello)
 *	{
 *		...
 *	}
 *	DUO_MAIN
 *
 * tests/api/verbs/run starts both processes with every pairing of the stacks. The output of an
 * end must be the same with each of them: it is compared with the output of that end when both
 * are stock's. EXPECT, EXPECT_EQ and MUST of ktap.h end a test that fails, at both ends.
 *
 * The two ends share a socket (their standard input) to exchange ports and to synchronise.
 */
#ifndef DUO_H
#define DUO_H

#include <stddef.h>
#include <stdint.h>

#include "ktap.h"

void duo_register(const char *name, const char *flags, void (*server)(void),
		  void (*client)(void));
int duo_run(int argc, char **argv);

/* The test that is running. */
const char *test_name(void);

/* Wait until both ends are here. */
void meet(void);
/* Send bytes to the other end, and receive them; both ends use the same size. */
void give(const void *data, size_t len);
void take(void *data, size_t len);
void give_number(uint64_t number);
uint64_t take_number(void);

/* Print an observation, to be compared with that of stock. */
void tell(const char *format, ...) __attribute__((format(printf, 1, 2)));
/* The name of errno, for observations. */
const char *errno_name(void);
/* This machine or stack does not support the test; both ends must detect that. */
void skip_test(const char *why) __attribute__((noreturn));

#define DUO_FLAGS(name, flags)							\
	static void name##_server(void);					\
	static void name##_client(void);					\
	__attribute__((constructor)) static void register_##name(void)		\
	{									\
		duo_register(#name, flags, name##_server, name##_client);	\
	}

#define DUO(name) DUO_FLAGS(name, "")
/* Stock does not support the test: both ends are ours. */
#define DUO_OURS(name) DUO_FLAGS(name, "ours")
/* The same for the client's end only. */
#define DUO_OUR_CLIENT(name) DUO_FLAGS(name, "our-client")
#define SERVER(name) static void name##_server(void)
#define CLIENT(name) static void name##_client(void)

#define DUO_MAIN								\
	int main(int argc, char **argv)						\
	{									\
		return duo_run(argc, argv);					\
	}

#endif /* DUO_H */
