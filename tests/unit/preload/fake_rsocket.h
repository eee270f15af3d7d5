/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * A fake rsocket library over unix sockets. The number of an rsocket is that of its unix socket
 * plus FAKE_BASE, so that a number that goes to the wrong library is noticed.
 */
#ifndef FAKE_RSOCKET_H
#define FAKE_RSOCKET_H

#include <stdatomic.h>

#define FAKE_BASE 100000

/* Everything that a test looks at or sets; fake_reset() clears it. */
struct fake {
	atomic_int calls;		/* of any function */
	atomic_int made, closed;	/* rsockets and repoll instances */
	atomic_int closed_watched;	/* closed while in a repoll instance */
	atomic_int polls, repoll_waits, connects;
	int fail_socket, fail_connect;	/* positive errno */
	atomic_int hold_connect;	/* rconnect() says EINPROGRESS, and is not done yet */
	int fail_send;			/* positive errno, of rwrite() */
	int stock;			/* rsocket() does not know RCL_INTERNAL */
	int late_error;			/* how a held connect ends */
	int sq_size, rq_size, inline_size;
	const char *last;		/* name of the last function */
};

extern struct fake fake;

void fake_reset(void);

#endif /* FAKE_RSOCKET_H */
