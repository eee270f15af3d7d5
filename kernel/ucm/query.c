// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * Queries: addresses, GIDs, paths and service records of an id.
 *
 * Locking: rca_id.op, to describe an id.
 */
#include "ucm/ucm.h"

#include <linux/in.h>
#include <linux/slab.h>
#include <linux/string.h>
#include <rdma/ib.h>
#include <rdma/ib_addr.h>
#include <rdma/ib_marshall.h>
#include <rdma/ib_sa.h>

#include "cm/cm.h"
#include "lib/compat.h"

/*
 * Describe an id. Returns its partition key as rdma_cm has it, in network byte order: 0 unless the
 * port is InfiniBand.
 */
static __be16 get_route(struct rca_id *id, struct rdma_cm_alt_route *route)
{
	bool ib;

	mutex_lock(&id->op);
	rca_id_fill_route_locked(id, route);
	ib = id->link.ib;
	mutex_unlock(&id->op);
	return ib ? route->pkey : 0;
}

static void put_path(struct ib_user_path_rec *out, const struct ib_path_rec_data *data)
{
	struct sa_path_rec path = { .rec_type = SA_PATH_REC_TYPE_IB };

	ib_sa_unpack_path((void *)data->path_rec, &path);
	ib_copy_path_rec_to_user(out, &path);
}

/* The command of libraries without AF_IB, whose addresses are at most those of IPv6. */
int rca_ucm_query_route(const struct rca_ucm_cmd *ucmd)
{
	struct rdma_cm_alt_route route __uninitialized;
	struct rdma_ucm_query_route_resp resp = {};
	const struct rdma_ucm_query *cmd = ucmd->in;
	struct rca_id *id;
	unsigned int i;

	id = rca_ucm_get_id(ucmd->queue, cmd->id);
	if (IS_ERR(id))
		return PTR_ERR(id);
	get_route(id, &route);
	rca_id_put(id);
	memcpy(&resp.src_addr, &route.src, sizeof(resp.src_addr));
	memcpy(&resp.dst_addr, &route.dst, sizeof(resp.dst_addr));
	resp.node_guid = route.node_guid;
	resp.ibdev_index = route.ibdev_index;
	resp.port_num = route.port_num;
	resp.num_paths = route.num_paths;
	for (i = 0; i < route.num_paths; i++)
		put_path(&resp.ib_route[i], &route.path[i]);
	if (route.port_num && !route.num_paths) {
		memcpy(resp.ib_route[0].sgid, route.sgid, sizeof(route.sgid));
		memcpy(resp.ib_route[0].dgid, route.dgid, sizeof(route.dgid));
		resp.ib_route[0].pkey = route.pkey;
	}
	return rca_ucm_respond(ucmd, cmd->response, &resp, sizeof(resp));
}

/* An address as GID, and the service ID that its port stands for. */
static void put_gid(struct __kernel_sockaddr_storage *out, const struct rdma_cm_alt_sockaddr *addr,
		    const u8 *gid, __be16 pkey, u16 ps)
{
	struct sockaddr_ib *sib = (struct sockaddr_ib *)out;
	/* The port of IPv6 is at the same place. */
	const struct sockaddr_in *sin = (const struct sockaddr_in *)addr;

	if (addr->family == AF_IB) {
		memcpy(sib, addr, sizeof(*sib));
		return;
	}
	sib->sib_family = AF_IB;
	sib->sib_pkey = pkey;
	memcpy(&sib->sib_addr, gid, sizeof(sib->sib_addr));
	sib->sib_sid = cpu_to_be64(((u64)ps << 16) + be16_to_cpu(sin->sin_port));
}

static int query_addr(const struct rca_ucm_cmd *ucmd, struct rca_id *id, bool gids)
{
	struct rdma_cm_alt_route route __uninitialized;
	const struct rdma_ucm_query *cmd = ucmd->in;
	struct rdma_ucm_query_addr_resp resp = {};
	__be16 pkey;

	if (ucmd->out_len < offsetof(struct rdma_ucm_query_addr_resp, ibdev_index))
		return -ENOSPC;
	pkey = get_route(id, &route);
	resp.node_guid = route.node_guid;
	resp.ibdev_index = route.ibdev_index;
	resp.port_num = route.port_num;
	resp.pkey = (__force u16)pkey;
	if (gids) {
		resp.src_size = sizeof(struct sockaddr_ib);
		resp.dst_size = sizeof(struct sockaddr_ib);
		put_gid(&resp.src_addr, &route.src, route.sgid, pkey, id->ps);
		put_gid(&resp.dst_addr, &route.dst, route.dgid, pkey, id->ps);
	} else {
		resp.src_size = rdma_addr_size((struct sockaddr *)&route.src);
		resp.dst_size = rdma_addr_size((struct sockaddr *)&route.dst);
		memcpy(&resp.src_addr, &route.src, sizeof(route.src));
		memcpy(&resp.dst_addr, &route.dst, sizeof(route.dst));
	}
	return rca_ucm_respond(ucmd, cmd->response, &resp, sizeof(resp));
}

static int query_path(const struct rca_ucm_cmd *ucmd, struct rca_id *id)
{
	struct {
		struct rdma_ucm_query_path_resp resp;
		struct ib_path_rec_data path[2];
	} out = {};
	struct rdma_cm_alt_route route __uninitialized;
	const struct rdma_ucm_query *cmd = ucmd->in;
	size_t len = sizeof(out.resp);
	unsigned int i;

	if (ucmd->out_len < len)
		return -ENOSPC;
	get_route(id, &route);
	out.resp.num_paths = route.num_paths;
	for (i = 0; i < route.num_paths && ucmd->out_len - len >= sizeof(out.path[i]); i++) {
		out.path[i] = route.path[i];
		out.path[i].flags = IB_PATH_GMP | IB_PATH_PRIMARY | IB_PATH_BIDIRECTIONAL;
		len += sizeof(out.path[i]);
	}
	return rca_ucm_respond(ucmd, cmd->response, &out, len);
}

static int query_services(const struct rca_ucm_cmd *ucmd, struct rca_id *id)
{
	const struct rdma_ucm_query *cmd = ucmd->in;
	struct rdma_ucm_query_ib_service_resp *resp;
	struct rca_services *services;
	u32 i, room;
	int ret = 0;

	if (ucmd->out_len < sizeof(*resp))
		return -ENOSPC;
	services = rca_services_copy(id);
	if (IS_ERR(services))
		return PTR_ERR(services);
	resp = kzalloc(ucmd->out_len, GFP_KERNEL_ACCOUNT);
	if (!resp) {
		ret = -ENOMEM;
		goto out_free;
	}
	resp->num_service_recs = services->count;
	room = min_t(u32, (ucmd->out_len - sizeof(*resp)) / sizeof(resp->recs[0]), services->count);
	for (i = 0; i < room; i++) {
		const struct rdma_cm_alt_service *from = &services->list[i];
		struct ib_user_service_rec *rec = &resp->recs[i];

		rec->id = cpu_to_be64(from->service_id);
		memcpy(rec->gid, from->gid, sizeof(rec->gid));
		rec->pkey = from->pkey;
		rec->lease = cpu_to_be32(from->lease_s);
		memcpy(rec->name, from->name, sizeof(rec->name));
		static_assert(sizeof(from->data) == sizeof(rec->data_8) + sizeof(rec->data_16) +
			      sizeof(rec->data_32) + sizeof(rec->data_64));
		memcpy((void *)rec + offsetof(struct ib_user_service_rec, data_8), from->data,
		       sizeof(from->data));
	}
	/* Without room for a record rdma_ucm writes nothing. */
	if (room)
		ret = rca_ucm_respond(ucmd, cmd->response, resp,
				      sizeof(*resp) + room * sizeof(resp->recs[0]));
	kfree(resp);
out_free:
	kfree(services);
	return ret;
}

int rca_ucm_query(const struct rca_ucm_cmd *ucmd)
{
	const struct rdma_ucm_query *cmd = ucmd->in;
	struct rca_id *id;
	int ret;

	id = rca_ucm_get_id(ucmd->queue, cmd->id);
	if (IS_ERR(id))
		return PTR_ERR(id);
	switch (cmd->option) {
	case RDMA_USER_CM_QUERY_ADDR:
	case RDMA_USER_CM_QUERY_GID:
		ret = query_addr(ucmd, id, cmd->option == RDMA_USER_CM_QUERY_GID);
		break;
	case RDMA_USER_CM_QUERY_PATH:
		ret = query_path(ucmd, id);
		break;
	case RDMA_USER_CM_QUERY_IB_SERVICE:
		ret = RCA_UCM_SERVICES ? query_services(ucmd, id) : -ENOSYS;
		break;
	default:
		ret = -ENOSYS;
	}
	rca_id_put(id);
	return ret;
}
