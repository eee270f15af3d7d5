/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* The generic netlink family: what tools can see of ids, ports and failures. */
#ifndef RCA_NETLINK_H
#define RCA_NETLINK_H

int rca_netlink_init(void);
void rca_netlink_exit(void);

#endif /* RCA_NETLINK_H */
