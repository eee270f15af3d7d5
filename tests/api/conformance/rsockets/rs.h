/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* Steps for questions about rsockets. Functions make_* end the group when they fail. */
#ifndef RS_H
#define RS_H

#include "steps.h"

#include <netinet/tcp.h>
#include <rdma/rsocket.h>
#include <sys/uio.h>

/* More than any call takes that does not wait for a peer, in ms. */
#define CALL_TIME 5000

/*
 * As RET(), without the change of the number of descriptors: how many a socket needs is the
 * library's own business. A call that does not return in time is left: "blocks".
 */
#define RSRET(check, expression) ({						\
	volatile long rs_value = -2;						\
	struct call rs_call = call_begin(check);				\
										\
	rs_call.fds = -1;							\
	rs_watch(CALL_TIME);							\
	if (!sigsetjmp(call_escape, 1)) {					\
		rs_value = (expression);					\
		rs_watch(0);						\
		call_end(&rs_call, rs_value);					\
	} else if (rs_watch(0)) {						\
		answer(check, "blocks");					\
	} else {								\
		call_crashed(&rs_call);						\
	}									\
	rs_value;								\
})

/* Begin the time of a call, in ms, or end it (0); returns whether it was over before. */
bool rs_watch(int ms);

/* A group of questions about rsockets, which runs with --rsockets only. */
#define RS_GROUP(name, kind) GROUP(name, RSOCKETS | (kind))

/* The listener of the group's connections, and its port; made by the first call. */
int rs_listener(void);
int rs_port(void);
/* The other end of the last connection; -1: none. */
extern int rs_peer;

/* A stream or datagram socket; with O_NONBLOCK. */
int make_rs(int type);
int make_rs_bound(int type);
/* A connection over rxe0: the client's socket, and the server's through @peer and rs_peer. */
int make_rs_pair(int *peer);

/* Events of a socket; 0 when none of those that are asked for comes within @ms. */
int rs_events(int fd, int events, int ms);

/* Print events by name. */
void rs_events_answer(const char *check, int ret, int revents);

/* Print an address: family, length, and what it is. */
void rs_name_answer(const char *check, int ret, const struct sockaddr_storage *addr, socklen_t len);

/*
 * Every call, on sockets in a state that @make leads to. Calls that change the state get a socket
 * of their own.
 */
void ask_state(int (*make)(void), int how);

enum {
	/* Calls crash in librdmacm, so each gets a socket of its own. */
	ALL_ALONE = 1,
	/* No calls about mapped memory: the process hangs after they have crashed. */
	NO_MAPS = 2,
	/* No calls that change the state. */
	NO_CHANGES = 4,
};

#endif /* RS_H */
