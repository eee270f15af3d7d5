/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* Listening ids, the devices that they listen on, and the requests that come in. */
#ifndef RCA_LISTEN_H
#define RCA_LISTEN_H

#include "cmid.h"

/** RCA_MAX_BACKLOG - requests of a listener that may wait to be read */
#define RCA_MAX_BACKLOG 1024

int rca_listen(struct rca_id *id, u32 backlog);
void rca_listen_stop(struct rca_id *id);
void rca_listen_device_added(struct rca_device *dev);
void rca_listen_device_removed(struct rca_device *dev);
int rca_listen_request(void *demux, void *lower, const struct rca_tp_request *req);

#endif /* RCA_LISTEN_H */
