// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * Requests that come in over InfiniBand. One over IP is for the IPoIB device
 * that has the address; which one that is, IPoIB says. One over GIDs names no
 * network device, and nothing in it tells that it is one: a listener that is
 * bound to an AF_IB address gets what comes for its service ID.
 *
 * Locking: RCU or a reference of the listener; the child is known to nobody else.
 */
#include "listen/req_ib.h"

#include <kunit/visibility.h>
#include <linux/netdevice.h>
#include <linux/string.h>
#include <rdma/ib_cache.h>

#include "resolve/addr_ib.h"

/* Where an IPoIB hardware address has its GID (RFC 4391). */
#define IPOIB_GID	4

/**
 * rca_req_ib_ndev() - the network device that a request is for
 * @ibdev: the device that it came in by
 * @req: the request
 * @local: the address that it asks for
 *
 * Context: Process context. Takes and releases locks of ib_core and IPoIB that are read locks.
 * Return: the network device with a reference; NULL: none in the partition has the address.
 */
struct net_device *rca_req_ib_ndev(struct ib_device *ibdev, const struct rca_tp_request *req,
				   const union rca_addr *local)
{
	const union ib_gid *gid = req->path ? &req->path->sgid : NULL;

	return ib_get_net_dev_by_params(ibdev, req->port_num, req->pkey, gid, &local->sa);
}

/**
 * rca_req_ib_listens() - is a request for a listener, by its GID and service ID?
 * @id: the listening id
 * @ibdev: the device that the request came in by
 * @req: the request, for the service ID of @id
 *
 * Such a request belongs to the namespace of its device: in the shared mode of
 * the RDMA subsystem that is the initial one.
 *
 * Context: Any context.
 * Return: true when it is.
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
 * @listener: whom it is for
 * @req: the request
 * @local: our address: with the GID that was asked for, all of the service ID
 * @peer: the peer's address: its service ID is not known, nor anything else
 *        when a request for datagrams does not tell it
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
EXPORT_SYMBOL_IF_KUNIT(rca_req_ib_addrs);

static const struct ib_gid_attr *find_gid(struct ib_device *ibdev, u32 port, const void *gid)
{
	union ib_gid key;

	memcpy(key.raw, gid, sizeof(key.raw));
	return rdma_find_gid_by_port(ibdev, &key, IB_GID_TYPE_IB, port, NULL);
}

/* Our GID of a request; one for datagrams may come without, and then it is the port's first. */
static const struct ib_gid_attr *local_gid(const struct rca_id *listener, struct ib_device *ibdev,
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

/**
 * rca_req_ib_attach() - where the child of a request is
 * @child: the id of the request
 * @listener: whom it is for
 * @ibdev: the device that it came in by
 * @req: the request
 * @ndev: the network device that it is for; NULL: it is over GIDs
 *
 * Context: Process context. Nobody else knows @child.
 * Return: our GID with a reference, or an ERR_PTR().
 */
const struct ib_gid_attr *rca_req_ib_attach(struct rca_id *child, const struct rca_id *listener,
					    struct ib_device *ibdev,
					    const struct rca_tp_request *req,
					    const struct net_device *ndev)
{
	const struct ib_gid_attr *attr = local_gid(listener, ibdev, req, ndev);

	child->link.ib = true;
	child->link.pkey = req->pkey;
	if (ndev)
		rca_addr_ib_keep_ndev(&child->link, ndev);
	else if (!IS_ERR(attr))
		memcpy(&child->local.ib.sib_addr, attr->gid.raw, sizeof(child->local.ib.sib_addr));
	if (req->path)
		memcpy(child->link.dgid, req->path->dgid.raw, sizeof(child->link.dgid));
	return attr;
}
