/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* Requests that come in over InfiniBand: for whom they are, and where their child is. */
#ifndef RCA_REQ_IB_H
#define RCA_REQ_IB_H

#include "id/id.h"

struct net_device;

struct net_device *rca_req_ib_ndev(struct ib_device *ibdev, const struct rca_tp_request *req,
				   const union rca_addr *local);
bool rca_req_ib_listens(const struct rca_id *id, const struct ib_device *ibdev,
			const struct rca_tp_request *req);
void rca_req_ib_addrs(const struct rca_id *listener, const struct rca_tp_request *req,
		      union rca_addr *local, union rca_addr *peer);
const struct ib_gid_attr *rca_req_ib_attach(struct rca_id *child, const struct rca_id *listener,
					    struct ib_device *ibdev,
					    const struct rca_tp_request *req,
					    const struct net_device *ndev);

#endif /* RCA_REQ_IB_H */
