/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * What the fuzzer of rsockets operates on: a listener and both ends of a connection over the fake
 * fabric, in one thread.
 */
#ifndef FUZZ_WORLD_H
#define FUZZ_WORLD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "input.h"
#include "rsocket/stream/stream.h"

/** ENDS - the ends of a connection: that of the client, and that of the server */
#define ENDS 2

/** STEPS - how many operations of an input are executed */
#define STEPS 64

/**
 * struct world - the state of an input
 * @listener: descriptor of the listener; -1: closed
 * @fd: descriptors of the two ends; -1: there is none
 * @repoll: descriptor of a repoll with both in it
 */
struct world {
	int listener;
	int fd[ENDS];
	int repoll;
};

extern struct world world;

/** in_u32 - a number: small, at an edge, or any */
uint32_t in_u32(void);

/** not_true - an invariant does not hold: the input is reported */
void not_true(const char *what);

/** config_input - the input is a configuration file, of rsockets or of librspreload */
void config_input(void);

/** two_ends_input - calls of both programs of a connection, whose ends are honest */
void two_ends_input(void);

/** datagram_input - the input is about datagram sockets, of IPv4 or IPv6 */
void datagram_input(bool ipv6);

/** service_run - do what the service thread would do now: for all that is readable, or due */
void service_run(bool due);

/** service_end - the same, until no closed stream is left */
void service_end(void);

/** peer_begin - from now on hellos are what the input says */
void peer_begin(void);

/** operation - something that one end does, or its peer */
typedef void (*operation)(void);

extern const operation peer_operations[];
extern const unsigned int peer_operations_count;
extern const operation program_operations[];
extern const unsigned int program_operations_count;

/** pick_stream - one of the ends, locked; or NULL */
struct rcl_stream *pick_stream(void);

/** drop_stream - end of pick_stream() */
void drop_stream(struct rcl_stream *s);

/** check_stream - the numbers of a locked stream agree with each other */
void check_stream(const struct rcl_stream *s);

#endif /* FUZZ_WORLD_H */
