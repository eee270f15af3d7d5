/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* Which devices may bring requests to a network namespace. */
#ifndef RCA_REACH_H
#define RCA_REACH_H

#include <net/net_namespace.h>

#include "lib/types.h"

int rca_reach_init(void (*changed)(void));
void rca_reach_exit(void);
bool rca_device_reaches(struct rca_device *dev, struct net *net);

#endif /* RCA_REACH_H */
