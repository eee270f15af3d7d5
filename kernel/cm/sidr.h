/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* Datagram ids: service ID resolution (SIDR). */
#ifndef RCA_SIDR_H
#define RCA_SIDR_H

#include "id/id.h"

int rca_sidr_connect_locked(struct rca_id *id, const struct rca_tp_conn *conn);
int rca_sidr_accept(struct rca_id *id, u64 cookie, const struct rca_tp_conn *conn);
int rca_sidr_reject(struct rca_id *id, const void *data, u32 len);
void rca_sidr_event(struct rca_id *id, const struct rca_tp_event *event);

#endif /* RCA_SIDR_H */
