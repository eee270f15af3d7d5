/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* Connections of an id: from connect or accept to disconnect, and what their messages mean. */
#ifndef RCA_CONNECT_H
#define RCA_CONNECT_H

#include "cmid.h"

int rca_connect(struct rca_id *id, const struct rca_tp_conn *conn);
int rca_accept(struct rca_id *id, u64 cookie, const struct rca_tp_conn *conn);
int rca_reject(struct rca_id *id, u32 reason, const void *data, u32 len);
int rca_establish(struct rca_id *id);
int rca_disconnect(struct rca_id *id);
int rca_notify(struct rca_id *id, u32 event);
u8 rca_connect_event(void *owner, void *lower, const struct rca_tp_event *event);

#endif /* RCA_CONNECT_H */
