// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * Description of the addresses, the device, the paths and the connection of an id for user space.
 *
 * Locking: rca_id.op, unless the id is unpublished; none for rca_id_numbers().
 */
#include <linux/build_bug.h>
#include <linux/stddef.h>
#include <linux/string.h>
#include <rdma/ib_addr.h>
#include <rdma/ib_sa.h>

#include "id/id.h"
#include "lib/wire.h"
#include "transport/devices.h"

/* rca_wire_put_path() writes words. */
static_assert(offsetof(struct rdma_cm_alt_route, path) % 8 == 0);
static_assert(offsetof(struct ib_path_rec_data, path_rec) % 8 == 0);
static_assert(sizeof_field(struct ib_path_rec_data, path_rec) == RCA_WIRE_PATH_LEN);

static void pack_path(struct ib_path_rec_data *out, struct sa_path_rec *rec, u32 which)
{
	struct sa_path_rec ib;

	/* User space expects InfiniBand records. */
	if (rec->rec_type == SA_PATH_REC_TYPE_OPA) {
		sa_convert_path_opa_to_ib(&ib, rec);
		rec = &ib;
	}
	out->flags = IB_PATH_GMP | IB_PATH_BIDIRECTIONAL | which;
	rca_wire_put_path(out->path_rec, rec);
}

/* Inline, as each answer to a RESOLVE has it: costs are bounded. */
static __always_inline bool get_dgid(const struct rca_id *id, void *dgid)
{
	if (id->link.ib) {
		memcpy(dgid, id->link.dgid, sizeof(id->link.dgid));
		return true;
	}
	if (!rca_addr_is_set(&id->dst) || rca_addr_is_any(&id->dst))
		return false;
	return !rdma_ip2gid((struct sockaddr *)&id->dst.sa, dgid);
}

/**
 * rca_id_dgid() - get the GID of the peer of an id
 * @id: the id, on a device that is not over TCP
 * @dgid: set, or not changed if there is no peer
 *
 * Context: Process context. Expects @id->op to be held by the caller, or @id to be unpublished.
 * Return: whether there is one.
 */
bool rca_id_dgid(const struct rca_id *id, union ib_gid *dgid)
{
	return get_dgid(id, dgid);
}

/**
 * rca_id_fill_route_locked() - describe addresses, device and paths of an id to user space
 * @id: the id
 * @route: filled in as far as known
 *
 * Context: Process context. Expects @id->op to be held by the caller, or @id to be unpublished.
 */
void rca_id_fill_route_locked(struct rca_id *id, struct rdma_cm_alt_route *route)
{
	memset(route, 0, sizeof(*route));
	rca_addr_to_user(&route->src, &id->local);
	rca_addr_to_user(&route->dst, &id->dst);
	if (!id->dev)
		return;
	route->node_guid = (__force u64)id->dev->ibdev->node_guid;
	route->ibdev_index = id->dev->ibdev->index;
	route->port_num = id->port_num;
	if (id->sgid_attr)
		memcpy(route->sgid, id->sgid_attr->gid.raw, sizeof(route->sgid));
	/* iWARP has no partitions; its GIDs are hardware addresses. */
	if (id->dev->tp->over_tcp) {
		memcpy(route->dgid, id->link.dmac, sizeof(id->link.dmac));
		return;
	}
	/* RoCE has only the default partition (IBTA annex A16.4.3). */
	route->pkey = cpu_to_be16(id->link.ib ? id->link.pkey : IB_DEFAULT_PKEY_FULL);
	get_dgid(id, route->dgid);
	if (!id->setup || !id->setup->has_path)
		return;
	pack_path(&route->path[0], &id->setup->path, IB_PATH_PRIMARY);
	route->num_paths = 1;
	if (id->setup->alt_path) {
		pack_path(&route->path[1], id->setup->alt_path, IB_PATH_ALTERNATE);
		route->num_paths = 2;
	}
}

/* rca_id_fill_route_locked() that takes rca_id.op. */
void rca_id_fill_route(struct rca_id *id, struct rdma_cm_alt_route *route)
{
	mutex_lock(&id->op);
	rca_id_fill_route_locked(id, route);
	mutex_unlock(&id->op);
}

/**
 * rca_id_numbers() - read the numbers by which messages name the connection of an id
 * @id: the id
 * @out: set; all are 0 without a connection
 *
 * The lower cm_id may be destroyed meanwhile. Its memory stays until the end of the grace period,
 * as rca_id_drop_lower() hides it before.
 *
 * Context: Any context.
 */
void rca_id_numbers(const struct rca_id *id, struct rca_tp_numbers *out)
{
	const struct rca_tp_ops *tp;
	const void *lower;

	*out = (struct rca_tp_numbers){};
	rcu_read_lock();
	/* Pairs with where it is created: its transport was set before. */
	lower = smp_load_acquire(&id->lower);
	tp = READ_ONCE(id->tp);
	/* Pairs with rca_id_drop_lower(): a transport is replaced while there is no lower cm_id. */
	smp_rmb();
	if (lower && READ_ONCE(id->lower) == lower && tp->numbers)
		tp->numbers(lower, out);
	rcu_read_unlock();
}
