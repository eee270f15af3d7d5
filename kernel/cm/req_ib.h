/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* Requests over InfiniBand: requests over GIDs, and the local GID. */
#ifndef RCA_REQ_IB_H
#define RCA_REQ_IB_H

#include "id/id.h"

struct net_device;

bool rca_req_ib_listens(const struct rca_id *id, const struct ib_device *ibdev,
			const struct rca_tp_request *req);
void rca_req_ib_addrs(const struct rca_id *listener, const struct rca_tp_request *req,
		      union rca_addr *local, union rca_addr *peer);
const struct ib_gid_attr *rca_req_ib_gid(const struct rca_id *listener, struct ib_device *ibdev,
					 const struct rca_tp_request *req,
					 const struct net_device *ndev);

#endif /* RCA_REQ_IB_H */
