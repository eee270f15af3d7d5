/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* What one user does, and how long the calls of another user take meanwhile. */
#ifndef ATTACKS_H
#define ATTACKS_H

#include "ktap.h"

#define ANNA 70001
#define BERT 70002

/**
 * struct meter - what the user's process and the one that watches it share
 * @began: when the operation that is running began, or 0
 * @worst: the longest one, in seconds
 * @count: those that are done
 * @error: errno of one that has failed, which ends the process
 * @paused: no operation begins
 * @descriptors: a pair of sockets over which ANNA sends descriptors to BERT
 * @port: a service of ANNA
 */
struct meter {
	_Atomic double began;
	_Atomic double worst;
	_Atomic unsigned int count;
	_Atomic int error;
	_Atomic bool paused;
	int descriptors[2];
	_Atomic uint16_t port;
};

extern struct meter *meter;
/* Which module serves the librdmacm of this process. */
extern bool stack_is_stock;

/* The time between these two counts. */
void meter_begin(void);
void meter_end(void);
/* End this process; in the user's one the error is the result. */
void meter_error(int error) __attribute__((noreturn));

/* Attacks: start_busy() of tasks.h. */
void attack_listens(int ready);
void attack_listens_of_many(int ready);
void attack_joins(int ready);
void attack_reader(int ready);
void attack_readers(int ready);
void attack_requests(int ready);
void attack_many_requests(int ready);
void attack_withdrawn(int ready);
void attack_resolutions(int ready);
void attack_neighbours(int ready);
void attack_ports(int ready);
void attack_links(int ready);
void attack_descriptors(int ready);

/* Operations, again and again. */
void victim_connects(void);
void victim_resolves(void);
void victim_listens(void);
void victim_joins(void);
void victim_same_service(void);
void victim_closes(void);

struct rdma_event_channel;

/* A datagram id with an address. */
struct rdma_cm_id *get_ud_cm_id(struct rdma_event_channel *channel);

#endif /* ATTACKS_H */
