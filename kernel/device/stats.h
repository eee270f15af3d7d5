/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* What happened on a port, counted, and how long it took. */
#ifndef RCA_STATS_H
#define RCA_STATS_H

#include <linux/ktime.h>
#include <linux/percpu.h>
#include <linux/types.h>

#include "lib/fsm.h"

/**
 * enum rca_span - what is measured: from one state to the answer that ends it
 * @RCA_SPAN_ADDR: resolution of an address
 * @RCA_SPAN_ROUTE: resolution of a route
 * @RCA_SPAN_CONNECT: from the first request to the reply, or until TCP has answered
 * @RCA_SPAN_ACCEPT: from the reply to the ready-to-use
 * @RCA_SPAN_LOOKUP: datagrams: from the request to the peer's QP
 * @RCA_SPAN_DISCONNECT: from the disconnect request to its answer
 * @RCA_SPANS: number of spans
 * @RCA_SPAN_NONE: a state that nothing is measured in
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

/** RCA_BUCKETS - bucket n of a span has what took less than 2^n us; the last one all above, too */
#define RCA_BUCKETS 28

/**
 * struct rca_stats - the counts of a port, on one processor
 * @inputs: how often each input was taken
 * @took: how many spans took how long
 * @us: how long they took together, in us
 * @refused: requests of peers that no id was made for
 */
struct rca_stats {
	unsigned long inputs[RCA_IN_COUNT];
	unsigned long took[RCA_SPANS][RCA_BUCKETS];
	u64 us[RCA_SPANS];
	unsigned long refused;
};

/* What has no port, or one without memory for counts. */
DECLARE_PER_CPU(struct rca_stats, rca_stats_elsewhere);

enum rca_span rca_stats_span(enum rca_state state);
const char *rca_stats_span_name(enum rca_span span);
void rca_stats_step(struct rca_stats __percpu *stats, enum rca_state old, enum rca_input input,
		    enum rca_state now, ktime_t *since);
void rca_stats_refused(struct rca_stats __percpu *stats);
void rca_stats_sum(const struct rca_stats __percpu *stats, struct rca_stats *sum);

#endif /* RCA_STATS_H */
