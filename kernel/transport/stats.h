/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* Counters and durations of a port. */
#ifndef RCA_STATS_H
#define RCA_STATS_H

#include <linux/ktime.h>
#include <linux/percpu.h>
#include <linux/types.h>

#include "lib/fsm.h"

/**
 * enum rca_span - measured durations: from one state to the answer that ends it
 * @RCA_SPAN_ADDR: address resolution
 * @RCA_SPAN_ROUTE: route resolution
 * @RCA_SPAN_CONNECT: from the first REQ to the REP, or until TCP is connected
 * @RCA_SPAN_ACCEPT: from the REP to the RTU
 * @RCA_SPAN_LOOKUP: datagrams: from the SIDR_REQ to the SIDR_REP
 * @RCA_SPAN_DISCONNECT: from the DREQ to its answer
 * @RCA_SPANS: number of spans
 * @RCA_SPAN_NONE: nothing is measured
 */
enum rca_span {
	RCA_SPAN_ADDR,
	RCA_SPAN_ROUTE,
	RCA_SPAN_CONNECT,
	RCA_SPAN_ACCEPT,
	RCA_SPAN_LOOKUP,
	RCA_SPAN_DISCONNECT,
	RCA_SPANS,
	RCA_SPAN_NONE = RCA_SPANS,
};

/**
 * enum rca_trunk_stat - what is counted of trunks
 * @RCA_STAT_CONNECT: requests for connections that this host has sent over a trunk
 * @RCA_STAT_REQUEST: those that peers have sent
 * @RCA_STAT_OPENED: links that were opened, those that replaced another one included
 * @RCA_STAT_FAILED: links that could not be opened
 * @RCA_STAT_REPLACED: links that continue the session of the one before
 * @RCA_STAT_LOST: sessions that were lost while they had connections
 * @RCA_STAT_NO_TOKEN: requests of peers for a trunk, refused because of the token or the version
 * @RCA_STAT_HELLO_SENT: hellos that were sent with an RTU
 * @RCA_STAT_HELLO_RECEIVED: hellos that were received with one
 * @RCA_TRUNK_STATS: their number
 */
enum rca_trunk_stat {
	RCA_STAT_CONNECT,
	RCA_STAT_REQUEST,
	RCA_STAT_OPENED,
	RCA_STAT_FAILED,
	RCA_STAT_REPLACED,
	RCA_STAT_LOST,
	RCA_STAT_NO_TOKEN,
	RCA_STAT_HELLO_SENT,
	RCA_STAT_HELLO_RECEIVED,
	RCA_TRUNK_STATS,
};

/** RCA_BUCKETS - bucket n counts durations below 2^n us; the last one also all longer ones */
#define RCA_BUCKETS 28

/**
 * struct rca_stats - counters of a port on one CPU
 * @inputs: number of each input that a state machine accepted
 * @took: histogram of each span
 * @us: total duration of each span, in us
 * @refused: requests of peers for which no id was created
 * @cached_paths: routes of InfiniBand that needed no query
 * @trunks: number of each enum rca_trunk_stat
 */
struct rca_stats {
	unsigned long inputs[RCA_IN_COUNT];
	unsigned long took[RCA_SPANS][RCA_BUCKETS];
	u64 us[RCA_SPANS];
	unsigned long refused;
	unsigned long cached_paths;
	unsigned long trunks[RCA_TRUNK_STATS];
};

/* Events without a port, or of a port whose counters could not be allocated. */
DECLARE_PER_CPU(struct rca_stats, rca_stats_elsewhere);

enum rca_span rca_stats_span(enum rca_state state);
const char *rca_stats_span_name(enum rca_span span);
void rca_stats_step(struct rca_stats __percpu *stats, enum rca_state old, enum rca_input input,
		    enum rca_state now, ktime_t *since);
void rca_stats_refused(struct rca_stats __percpu *stats);
void rca_stats_cached_path(struct rca_stats __percpu *stats);
void rca_stats_trunk(struct rca_stats __percpu *stats, enum rca_trunk_stat stat);
const char *rca_stats_trunk_name(enum rca_trunk_stat stat);
void rca_stats_sum(const struct rca_stats __percpu *stats, struct rca_stats *sum);

#endif /* RCA_STATS_H */
