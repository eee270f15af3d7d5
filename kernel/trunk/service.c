// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * The service ID of each device by which peers open trunks.
 *
 * A request is accepted if it has the token that this host has told the peer in a hello. If both
 * hosts ask at the same time, the request of the host with the greater boot identifier counts; two
 * ports of one host compare their GIDs. open.c decides on a request for a trunk that is open.
 *
 * Locking: none of its own.
 */
#include "trunk/open.h"

#include <linux/err.h>
#include <linux/string.h>
#include <rdma/ib_cache.h>
#include <rdma/ib_cm.h>
#include <rdma/ib_sa.h>

#include "device/devices.h"
#include "trunk/peers.h"
#include "trunk/trunk.h"

/* Which of two requests that cross counts? */
static bool peer_wins(const struct rca_peer_key *key, const struct rca_hello *hello)
{
	int order = memcmp(hello->boot_id, rca_peers_boot_id(), RCA_BOOT_ID_LEN) ?:
		    memcmp(&key->dgid, &key->sgid, sizeof(key->dgid));

	return order > 0;
}

/* The two ends of a trunk from a port to itself are two trunks. */
static bool is_same_port(const struct rca_peer_key *key, const struct rca_hello *hello)
{
	return rca_hello_is_of(hello, rca_peers_boot_id()) &&
	       !memcmp(&key->dgid, &key->sgid, sizeof(key->dgid));
}

/*
 * The local GID of a request, with a reference, or NULL. On InfiniBand ib_cm reports none if the
 * request came without a GRH.
 */
static const struct ib_gid_attr *local_gid(struct ib_device *ibdev,
					   const struct ib_cm_req_event_param *req)
{
	const struct ib_gid_attr *attr = req->ppath_sgid_attr;

	if (attr) {
		rdma_hold_gid_attr(attr);
		return attr;
	}
	if (!rdma_protocol_ib(ibdev, req->port))
		return NULL;
	attr = rdma_find_gid_by_port(ibdev, &req->primary_path->sgid, IB_GID_TYPE_IB, req->port,
				     NULL);
	return IS_ERR(attr) ? NULL : attr;
}

/*
 * ib_cm callback of the service: a peer asks for a trunk. A non-zero return makes ib_cm reject the
 * request and destroy @cm_id.
 */
static int ib_trunk_handler(struct ib_cm_id *cm_id, const struct ib_cm_event *event)
{
	const struct ib_cm_req_event_param *req = &event->param.req_rcvd;
	struct rca_device *dev = cm_id->context;
	const struct ib_gid_attr *sgid_attr;
	struct rca_trunk_key key = {};
	struct rca_trunk_open open;
	int ret = -EACCES;

	if (event->event != IB_CM_REQ_RECEIVED ||
	    rca_trunk_req_unpack(event->private_data, RCA_TRUNK_REQ_LEN, &open))
		return -EINVAL;
	sgid_attr = local_gid(dev->ibdev, req);
	if (!sgid_attr)
		return -EINVAL;
	rca_peer_key(&key.peer, dev->serial, req->port, sgid_attr, &req->primary_path->dgid,
		     be16_to_cpu(req->primary_path->pkey));
	if (rca_peers_accept(&key.peer, &open)) {
		const struct rca_open_req asked = {
			.open = &open,
			.path = req->primary_path,
			.yields = peer_wins(&key.peer, &open.hello),
		};

		key.passive = is_same_port(&key.peer, &open.hello);
		ret = rca_open_accept(dev, &key, sgid_attr, &asked, cm_id);
	} else {
		rca_stats_trunk(rca_device_stats(dev, req->port), RCA_STAT_NO_TOKEN);
	}
	rdma_put_gid_attr(sgid_attr);	/* got in local_gid() */
	return ret;
}

/**
 * rca_trunk_listen() - accept trunks on a device
 * @dev: the device
 *
 * Does nothing if it does already, or if ib_cm refuses a service ID: then peers are not told one.
 *
 * Context: Process context. Sleeps. The caller has a reference of @dev.
 */
void rca_trunk_listen(struct rca_device *dev)
{
	struct ib_cm_id *cm_id;
	__be64 service_id;

	if (READ_ONCE(dev->trunk_service))
		return;
	cm_id = ib_create_cm_id(dev->ibdev, ib_trunk_handler, dev);
	if (IS_ERR(cm_id))
		return;
	if (ib_cm_listen(cm_id, IB_CM_ASSIGN_SERVICE_ID)) {
		ib_destroy_cm_id(cm_id);
		return;
	}
	service_id = cm_id->service_id;
	if (cmpxchg(&dev->trunk_service, NULL, cm_id))
		ib_destroy_cm_id(cm_id);
	else
		WRITE_ONCE(dev->trunk_service_id, service_id);
	/* rca_trunk_unlisten() may have run before; both have full barriers. */
	if (READ_ONCE(dev->removing))
		rca_trunk_unlisten(dev);
}

/* No peer can open a trunk any more. Called when no id can use @dev. Sleeps. */
void rca_trunk_unlisten(struct rca_device *dev)
{
	struct ib_cm_id *cm_id = xchg(&dev->trunk_service, NULL);

	if (cm_id)
		ib_destroy_cm_id(cm_id);	/* waits for ib_trunk_handler() */
}
