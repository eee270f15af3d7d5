/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* Where a connection request has come to, and who listens there. */
#ifndef RCA_REQ_ROUTE_H
#define RCA_REQ_ROUTE_H

#include "id/id.h"

/**
 * struct rca_req_dest - where a request has come to
 * @local: the address that it asks for
 * @peer: the address of the peer
 * @ndev: the network device (holds a reference); NULL: it names none
 */
struct rca_req_dest {
	union rca_addr local;
	union rca_addr peer;
	struct net_device *ndev;
};

struct rca_id *rca_req_route(struct rca_demux *demux, const struct rca_tp_request *req,
			     struct rca_req_dest *at);

#endif /* RCA_REQ_ROUTE_H */
