/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* Notifiers for changes of the network that affect ids. */
#ifndef RCA_NETWATCH_H
#define RCA_NETWATCH_H

int rca_netwatch_init(void);
void rca_netwatch_exit(void);

#endif /* RCA_NETWATCH_H */
