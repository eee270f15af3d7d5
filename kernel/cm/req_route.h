/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* The destination of a connection request, and the listener there. */
#ifndef RCA_REQ_ROUTE_H
#define RCA_REQ_ROUTE_H

#include "id/id.h"

/**
 * struct rca_req_dest - destination of a connection request
 * @local: the address that the request is for
 * @peer: the address of the peer
 * @ndev: the network device (holds a reference); NULL: over TCP or over GIDs
 * @port_num: port of the RDMA device
 * @sgid_attr: local GID (holds a reference)
 */
struct rca_req_dest {
	union rca_addr local;
	union rca_addr peer;
	struct net_device *ndev;
	u32 port_num;
	const struct ib_gid_attr *sgid_attr;
};

struct rca_id *rca_req_route(struct rca_demux *demux, const struct rca_tp_request *req,
			     struct rca_req_dest *dest);
void rca_req_dest_put(struct rca_req_dest *dest);

#endif /* RCA_REQ_ROUTE_H */
