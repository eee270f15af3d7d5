/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * Rows about what programs suffer from with rsockets of librdmacm: calls that last too long, or for
 * ever. Each row runs in a process of its own; it must succeed within its time limit:
 *
 *	PAIN(poll_lasts, 15, STOCK_FAILS)
 *	{
 *		...
 *	}
 *
 * A row fails by ending its process, as MUST(), fail() and expect() do.
 */
#ifndef PAINS_H
#define PAINS_H

#include "../rs_program.h"

/* Marks of a row. */
enum {
	/* Rsockets of librdmacm fail. */
	STOCK_FAILS = 1,
	/* They succeed or fail: the row depends on time, or on their version. */
	STOCK_VARIES = 2,
	/* For make soak only. */
	SLOW = 4,
	/* The debug guest runs it in make check, too. */
	IN_DEBUG = 8,
};

struct pain {
	const char *name;
	void (*run)(void);
	int limit;		/* seconds */
	int marks;
};

void pain_register(const char *name, void (*run)(void), int limit, int marks);

#define PAIN(name, limit, marks)						\
	static void pain_##name(void);						\
	__attribute__((constructor)) static void register_##name(void)		\
	{									\
		pain_register(#name, pain_##name, limit, marks);		\
	}									\
	static void pain_##name(void)

/* Where the peer of a row listens. */
extern const char *pain_address;
extern int pain_port;
/* In a peer: the socket that listens. */
extern int pain_listener;

/* A check; the text tells what is wrong. */
void expect(bool condition, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* A time must be between two bounds, in milliseconds. Guests are slow: the upper one is scaled. */
void expect_time(const char *what, long long took, long long least, long long most);

/*
 * Start a process that listens, accepts a connection, and calls a function with it; afterwards it
 * waits to be killed. Call it before any call of librdmacm: rsockets do not survive a fork. It is
 * killed when the row ends.
 */
pid_t start_peer(void (*with)(int fd));
/* The same, with options set before rlisten(), which the connections take over. */
pid_t start_peer_with(void (*prepare)(int fd), void (*with)(int fd));

/* A new socket that is connected to the peer. */
int connected(void);
/* The same, with options set before rconnect(). */
int connected_with(void (*prepare)(int fd));

/* Send bytes one by one until this would block. The socket becomes non-blocking. */
void send_until_full(int fd);

/* The peer's part: nothing; read for ever; send back for ever. */
void do_nothing(int fd);
void read_all(int fd);
void echo_all(int fd);

#endif /* PAINS_H */
