// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * Connection requests over InfiniBand. A request over IP is for the IPoIB device that has
 * the destination address. A request over GIDs names no network device, and has no mark by
 * which it could be recognized: a listener that is bound to an AF_IB address gets any
 * request for its service ID.
 *
 * Locking: RCU or a reference on the listener.
 */
#include "cm/req_ib.h"

#include <linux/netdevice.h>
#include <linux/string.h>
#include <rdma/ib_cache.h>

/* Offset of the GID in an IPoIB hardware address (RFC 4391). */
#define IPOIB_GID	4

/**
 * rca_req_ib_listens() - check if a listener gets a request over GIDs
 * @id: the listening id
 * @ibdev: the device on which the request arrived
 * @req: the request, for the service ID of @id
 *
 * Such a request belongs to the network namespace of its device; in the shared mode of
 * the RDMA subsystem that is the initial one.
 *
 * Context: Any context.
 * Return: true if the GID of the request is that of the listener.
 */
bool rca_req_ib_listens(const struct rca_id *id, const struct ib_device *ibdev,
			const struct rca_tp_request *req)
{
	if (id->local.sa.sa_family != AF_IB || !rdma_protocol_ib(ibdev, req->port_num) ||
	    !net_eq(id->net, read_pnet(&ibdev->coredev.rdma_net)))
		return false;
	if (rca_addr_is_any(&id->local) || rca_addr_is_loopback(&id->local))
		return true;
	if (id->port_num && id->port_num != req->port_num)
		return false;
	return !req->path || !memcmp(&id->local.ib.sib_addr, &req->path->sgid,
				     sizeof(req->path->sgid));
}

/**
 * rca_req_ib_addrs() - addresses of a request over GIDs
 * @listener: the listening id
 * @req: the request
 * @local: set to the destination: its GID and the complete service ID
 * @peer: set to the GID of the peer; its service ID is unknown, and its GID too if the
 *        request is for datagrams and has no path
 *
 * Context: Any context. Pure.
 */
void rca_req_ib_addrs(const struct rca_id *listener, const struct rca_tp_request *req,
		      union rca_addr *local, union rca_addr *peer)
{
	const struct sa_path_rec *path = req->path;

	rca_addr_set_any(peer, AF_IB);
	*local = listener->local;
	local->ib.sib_sid = req->service_id;
	local->ib.sib_sid_mask = cpu_to_be64(U64_MAX);
	if (!path) {
		if (req->sgid_attr)
			memcpy(&local->ib.sib_addr, req->sgid_attr->gid.raw,
			       sizeof(local->ib.sib_addr));
		return;
	}
	local->ib.sib_pkey = path->pkey;
	local->ib.sib_flowinfo = path->flow_label;
	local->ib.sib_scope_id = 0;
	memcpy(&local->ib.sib_addr, path->sgid.raw, sizeof(local->ib.sib_addr));
	peer->ib.sib_pkey = path->pkey;
	peer->ib.sib_flowinfo = path->flow_label;
	memcpy(&peer->ib.sib_addr, path->dgid.raw, sizeof(peer->ib.sib_addr));
}

static const struct ib_gid_attr *find_gid(struct ib_device *ibdev, u32 port, const void *gid)
{
	union ib_gid key;

	memcpy(key.raw, gid, sizeof(key.raw));
	return rdma_find_gid_by_port(ibdev, &key, IB_GID_TYPE_IB, port, NULL);
}

/**
 * rca_req_ib_gid() - the local GID of a request over InfiniBand
 * @listener: the listening id
 * @ibdev: the device on which the request arrived
 * @req: the request; without a path and GID, which datagrams allow, the GID is that of the
 *       listener, or the first of the port
 * @ndev: the destination network device; NULL: the request is over GIDs
 *
 * Context: Process context.
 * Return: the GID with a reference, or an ERR_PTR().
 */
const struct ib_gid_attr *rca_req_ib_gid(const struct rca_id *listener, struct ib_device *ibdev,
					 const struct rca_tp_request *req,
					 const struct net_device *ndev)
{
	if (ndev)
		return find_gid(ibdev, req->port_num, ndev->dev_addr + IPOIB_GID);
	if (req->path)
		return find_gid(ibdev, req->port_num, req->path->sgid.raw);
	if (req->sgid_attr) {
		rdma_hold_gid_attr(req->sgid_attr);
		return req->sgid_attr;
	}
	if (!rca_addr_is_any(&listener->local) && !rca_addr_is_loopback(&listener->local))
		return find_gid(ibdev, req->port_num, &listener->local.ib.sib_addr);
	return rdma_get_gid_attr(ibdev, req->port_num, 0);
}
