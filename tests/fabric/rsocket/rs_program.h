/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* Common code of programs of rsockets. They run with either stack, so they use nothing of ours. */
#ifndef RS_PROGRAM_H
#define RS_PROGRAM_H

#include <fcntl.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <pthread.h>
#include <rdma/rsocket.h>
#include <signal.h>
#include <stdbool.h>
#include <sys/mman.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <time.h>

#include "../cm_program.h"

/* A call that must succeed; returns its value. */
#define MUST(expression) ({						\
	__typeof__(expression) must_value = (expression);		\
									\
	if (must_value < 0) {						\
		printf("%s:%d: ", __FILE_NAME__, __LINE__);		\
		fail(#expression);					\
	}								\
	must_value;							\
})

static inline long long now_ms(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return now.tv_sec * 1000LL + now.tv_nsec / 1000000;
}

/* Events of one socket; 0 when none came within @ms. */
static inline int events_of(int fd, int events, int ms)
{
	struct pollfd pollfd = { .fd = fd, .events = events };

	return MUST(rpoll(&pollfd, 1, ms)) ? pollfd.revents : 0;
}

static inline void set_int(int fd, int level, int option, int value)
{
	MUST(rsetsockopt(fd, level, option, &value, sizeof(value)));
}

static inline int get_int(int fd, int level, int option)
{
	int value = -1;
	socklen_t len = sizeof(value);

	MUST(rgetsockopt(fd, level, option, &value, &len));
	return value;
}

static inline socklen_t address_len(const struct sockaddr_storage *addr)
{
	return addr->ss_family == AF_INET ? sizeof(struct sockaddr_in)
					  : sizeof(struct sockaddr_in6);
}

/* A stream socket that is bound. */
static inline int bound(const char *address, int port)
{
	struct sockaddr_storage addr = get_address(address, port);
	int fd = MUST(rsocket(addr.ss_family, SOCK_STREAM, 0));

	set_int(fd, SOL_SOCKET, SO_REUSEADDR, 1);
	MUST(rbind(fd, (struct sockaddr *)&addr, address_len(&addr)));
	return fd;
}

/* One that listens. */
static inline int listening(const char *address, int port, int backlog)
{
	int fd = bound(address, port);

	MUST(rlisten(fd, backlog));
	return fd;
}

/* rconnect() to an address. */
static inline int connect_to(int fd, const char *address, int port)
{
	struct sockaddr_storage addr = get_address(address, port);

	return rconnect(fd, (struct sockaddr *)&addr, address_len(&addr));
}

#endif /* RS_PROGRAM_H */
