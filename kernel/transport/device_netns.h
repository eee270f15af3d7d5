/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* Which devices can receive requests for a network namespace. */
#ifndef RCA_DEVICE_NETNS_H
#define RCA_DEVICE_NETNS_H

#include <net/net_namespace.h>

#include "lib/types.h"

bool rca_device_in_netns(struct rca_device *dev, const struct net *net);
bool rca_device_serves_netns(struct rca_device *dev, struct net *net);

#endif /* RCA_DEVICE_NETNS_H */
