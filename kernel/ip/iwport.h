/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* Ports of iWARP devices, and their network devices. */
#ifndef RCA_IWPORT_H
#define RCA_IWPORT_H

#include <linux/socket.h>

#include "lib/types.h"

struct ib_device;
struct ib_gid_attr;
struct net;

const struct ib_gid_attr *rca_iwport_find(struct ib_device *ibdev, u32 port, struct net *net,
					  int ifindex);
bool rca_iwport_ip(struct ib_device *ibdev, u32 port, struct net *net, sa_family_t family,
		   bool linklocal, union rca_addr *addr);

#endif /* RCA_IWPORT_H */
