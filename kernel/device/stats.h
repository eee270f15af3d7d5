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

/** RCA_BUCKETS - bucket n counts durations below 2^n us; the last one also all longer ones */
#define RCA_BUCKETS 28

/**
 * struct rca_stats - counters of a port on one CPU
 * @inputs: number of each input that a state machine accepted
 * @took: histogram of each span
 * @us: total duration of each span, in us
 * @refused: requests of peers for which no id was created
 * @cached_paths: routes of InfiniBand that needed no query
 */
struct rca_stats {
	unsigned long inputs[RCA_IN_COUNT];
	unsigned long took[RCA_SPANS][RCA_BUCKETS];
	u64 us[RCA_SPANS];
	unsigned long refused;
	unsigned long cached_paths;
};

/* Events without a port, or of a port whose counters could not be allocated. */
DECLARE_PER_CPU(struct rca_stats, rca_stats_elsewhere);

enum rca_span rca_stats_span(enum rca_state state);
const char *rca_stats_span_name(enum rca_span span);
void rca_stats_step(struct rca_stats __percpu *stats, enum rca_state old, enum rca_input input,
		    enum rca_state now, ktime_t *since);
void rca_stats_refused(struct rca_stats __percpu *stats);
void rca_stats_cached_path(struct rca_stats __percpu *stats);
void rca_stats_sum(const struct rca_stats __percpu *stats, struct rca_stats *sum);

#endif /* RCA_STATS_H */
