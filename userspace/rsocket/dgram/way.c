// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * Ways to queue pairs. An adapter may use an address handle until the send has completed, so each
 * send has a reference.
 *
 * Locking: rcl_sock.lock.
 */
#include "rsocket/dgram/way.h"

#include <endian.h>
#include <errno.h>
#include <infiniband/sa.h>
#include <stdlib.h>
#include <string.h>

#include "base/err.h"

/* An MTU of a path is a power of 2 of this number of bytes. */
#define MTU_UNIT 128

/*
 * Returns the last index with this GID: of the RoCE versions, the routable one comes last.
 */
static int gid_index(const struct rcl_local *local, const union ibv_gid *gid, int count)
{
	union ibv_gid entry;
	int i, found = -ENOENT;

	for (i = 0; i < count && i <= UINT8_MAX; i++) {
		if (!ibv_query_gid(local->id->verbs, local->id->port_num, i, &entry) &&
		    !memcmp(&entry, gid, sizeof(entry)))
			found = i;
	}
	return found;
}

static int fill(struct ibv_ah_attr *attr, const struct rcl_local *local,
		const struct ibv_sa_path_rec *path)
{
	struct ibv_port_attr port;
	int index, ret = ibv_query_port(local->id->verbs, local->id->port_num, &port);

	if (ret)
		return rcl_verbs_err(ret);
	*attr = (struct ibv_ah_attr){
		.dlid = be16toh(path->dlid),
		.sl = path->sl,
		.src_path_bits = (uint8_t)(be16toh(path->slid) & ((1U << port.lmc) - 1)),
		.static_rate = path->rate,
		.port_num = local->id->port_num,
	};
	if (!local->needs_grh && path->hop_limit <= 1)
		return 0;
	index = gid_index(local, &path->sgid, port.gid_tbl_len);
	if (index < 0)
		return index;
	attr->is_global = 1;
	attr->grh = (struct ibv_global_route){
		.dgid = path->dgid,
		.flow_label = be32toh(path->flow_label),
		.sgid_index = (uint8_t)index,
		.hop_limit = path->hop_limit,
		.traffic_class = path->traffic_class,
	};
	return 0;
}

static uint32_t least_mtu(const struct rcl_local *local, uint8_t path_mtu)
{
	uint32_t mtu = MTU_UNIT << path_mtu;

	if (path_mtu < IBV_MTU_256 || path_mtu > IBV_MTU_4096 || mtu > local->mtu)
		return local->mtu;
	return mtu;
}

int rcl_way_create(struct rcl_way **out, const struct rcl_local *local, const struct rdma_cm_id *id,
		   uint32_t qpn)
{
	struct ibv_ah_attr attr;
	struct rcl_way *way;
	int ret;

	if (!id->route.num_paths)
		return -EHOSTUNREACH;
	ret = fill(&attr, local, id->route.path_rec);
	if (ret)
		return ret;
	way = calloc(1, sizeof(*way));
	if (!way)
		return -ENOMEM;
	way->qpn = qpn;
	way->mtu = least_mtu(local, id->route.path_rec->mtu);
	way->refs = 1;
	way->ah = ibv_create_ah(local->id->pd, &attr);
	if (!way->ah) {
		ret = rcl_errno();
		free(way);
		return ret;
	}
	*out = way;
	return 0;
}

struct rcl_way *rcl_way_hold(struct rcl_way *way)
{
	way->refs++;
	return way;
}

void rcl_way_put(struct rcl_way *way)
{
	if (!way || --way->refs)
		return;
	ibv_destroy_ah(way->ah);
	free(way);
}
