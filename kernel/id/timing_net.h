/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* Timer settings of a network namespace. */
#ifndef RCA_TIMING_NET_H
#define RCA_TIMING_NET_H

#include "lib/timing.h"

struct net;

int rca_timing_net_init(void);
void rca_timing_net_exit(void);
int rca_timing_net_path_cache_s(struct net *net);
void rca_timing_net_fill(struct rca_timing *timing, struct net *net);

#endif /* RCA_TIMING_NET_H */
