/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* Wildcard listeners when devices change. */
#ifndef RCA_LISTEN_UPDATE_H
#define RCA_LISTEN_UPDATE_H

struct net;

int rca_listen_update_init(void);
void rca_listen_update_exit(void);
void rca_listen_devices_changed(struct net *net);

#endif /* RCA_LISTEN_UPDATE_H */
