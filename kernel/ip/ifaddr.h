/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* IP addresses of network devices. */
#ifndef RCA_IFADDR_H
#define RCA_IFADDR_H

#include <linux/socket.h>

#include "lib/types.h"

struct net_device;

bool rca_ifaddr_first(struct net_device *ndev, sa_family_t family, bool linklocal,
		      union rca_addr *addr);

#endif /* RCA_IFADDR_H */
