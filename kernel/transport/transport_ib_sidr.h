/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* The messages of datagrams for the transport over ib_cm. */
#ifndef RCA_TRANSPORT_IB_SIDR_H
#define RCA_TRANSPORT_IB_SIDR_H

#include "transport/transport.h"

struct ib_cm_event;

void rca_tp_ib_sidr_requested(struct rca_tp_request *out, const struct ib_cm_event *event);
void rca_tp_ib_sidr_answered(struct rca_tp_event *out, const struct ib_cm_event *event);
int rca_tp_ib_sidr_request(void *lower, const struct rca_tp_req *req);
int rca_tp_ib_sidr_reply(void *lower, int status, const struct rca_tp_conn *conn);
int rca_tp_ib_ah_attr(struct ib_device *dev, u32 port_num, struct sa_path_rec *path,
		      const struct ib_gid_attr *sgid_attr, struct ib_uverbs_ah_attr *out);

#endif /* RCA_TRANSPORT_IB_SIDR_H */
