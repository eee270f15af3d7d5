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
 * tests/api/verbs/run starts both processes with every pairing of the stacks. What
 * an end tells has to be the same with each of them: it is compared with what
 * that end tells when both are stock's. EXPECT, EXPECT_EQ and MUST of ktap.h
 * end a test that fails, at both ends.
 *
 * The two ends have a socket between them (their standard input) to agree on
 * ports and times.
 */
#ifndef DUO_H
#define DUO_H

#include <stddef.h>
#include <stdint.h>

#include "ktap.h"

void duo_register(const char *name, const char *flags, void (*server)(void),
		  void (*client)(void));
int duo_run(int argc, char **argv);

/* The test that runs. */
const char *test_name(void);

/* Both ends are here. */
void meet(void);
/* Bytes for the other end, and from it; it takes what is given, as large as it is given. */
void give(const void *data, size_t len);
void take(void *data, size_t len);
void give_number(uint64_t number);
uint64_t take_number(void);

/* An observation, to be compared with that of stock. */
void tell(const char *format, ...) __attribute__((format(printf, 1, 2)));
/* The name of errno, for that. */
const char *errno_name(void);
/* This machine or stack cannot; both ends have to come to that. */
void skip_test(const char *why) __attribute__((noreturn));

#define DUO_FLAGS(name, flags)							\
	static void name##_server(void);					\
	static void name##_client(void);					\
	__attribute__((constructor)) static void register_##name(void)		\
	{									\
		duo_register(#name, flags, name##_server, name##_client);	\
	}

#define DUO(name) DUO_FLAGS(name, "")
/* Stock cannot do this: both ends are ours. */
#define DUO_OURS(name) DUO_FLAGS(name, "ours")
/* Likewise, but only of the client's end. */
#define DUO_OUR_CLIENT(name) DUO_FLAGS(name, "our-client")
#define SERVER(name) static void name##_server(void)
#define CLIENT(name) static void name##_client(void)

#define DUO_MAIN								\
	int main(int argc, char **argv)						\
	{									\
		return duo_run(argc, argv);					\
	}

#endif /* DUO_H */
