// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * The module of trunks, if it is loaded: where it registers, and what the engine calls in it.
 *
 * A call runs under SRCU, so the module can be unloaded as soon as no call runs. Each lower cm_id
 * that has an owner, and each walk over the peers, holds a reference of the module.
 *
 * Locking: trunk_srcu; there is one registration at a time.
 */
#include "transport/transport.h"

#include <linux/module.h>
#include <linux/rcupdate.h>
#include <linux/srcu.h>
#include <linux/string.h>

#include "lib/compat.h"

/* Bit of a partition key (IBTA volume 1, 10.9.1). */
#define FULL_MEMBER	0x8000

/* What all transports call back. */
const struct rca_tp_upcalls *rca_tp_upcalls;

/* NULL: the module is not loaded. */
const struct rca_trunk_ops __rcu *rca_trunk_ops;

DEFINE_STATIC_SRCU(trunk_srcu);

/* What the transport over trunks calls back. Any context. */
const struct rca_tp_upcalls *rca_trunks_upcalls(void)
{
	return rca_tp_upcalls;
}
RCA_EXPORT(rca_trunks_upcalls);

/**
 * rca_trunks_register() - connections may use trunks from now on
 * @ops: what is called; must stay until rca_trunks_unregister() has returned
 *
 * Context: Process context. Init of the module of trunks.
 */
void rca_trunks_register(const struct rca_trunk_ops *ops)
{
	rcu_assign_pointer(rca_trunk_ops, ops);
}
RCA_EXPORT(rca_trunks_register);

/**
 * rca_trunks_unregister() - no function of rca_trunks_register() is called any more
 *
 * Context: Process context. Sleeps. Exit of the module of trunks, when no lower cm_id of an id is
 * over a trunk.
 */
void rca_trunks_unregister(void)
{
	RCU_INIT_POINTER(rca_trunk_ops, NULL);
	synchronize_srcu(&trunk_srcu);
}
RCA_EXPORT(rca_trunks_unregister);

/* Returns the functions of the module with a reference of it, or NULL. Any context. */
const struct rca_trunk_ops *rca_trunks_get(void)
{
	const struct rca_trunk_ops *ops;
	int idx = srcu_read_lock(&trunk_srcu);

	ops = srcu_dereference(rca_trunk_ops, &trunk_srcu);
	if (ops && !try_module_get(ops->tp->owner))
		ops = NULL;
	srcu_read_unlock(&trunk_srcu, idx);
	return ops;
}

void rca_trunks_put(const struct rca_trunk_ops *ops)
{
	module_put(ops->tp->owner);
}

/**
 * rca_peer_key() - make the key of the peer of a connection
 * @key: filled in, padding included
 * @device: number of the device
 * @port_num: its port
 * @sgid_attr: local GID
 * @dgid: GID of the peer, which may be unaligned
 * @pkey: partition key of the connection
 *
 * Context: Any context. Pure.
 */
void rca_peer_key(struct rca_peer_key *key, u32 device, u32 port_num,
		  const struct ib_gid_attr *sgid_attr, const void *dgid, u16 pkey)
{
	memset(key, 0, sizeof(*key));
	key->sgid = sgid_attr->gid;
	key->gid_index = sgid_attr->index;
	memcpy(&key->dgid, dgid, sizeof(key->dgid));
	key->device = device;
	key->port_num = port_num;
	key->pkey = pkey & ~FULL_MEMBER;
}
RCA_EXPORT(rca_peer_key);

/**
 * rca_trunks_create() - create a lower cm_id over a trunk
 * @key: the peer
 * @owner: argument of its callbacks
 * @tp: set to its transport
 *
 * Context: Process context. Sleeps.
 * Return: the lower cm_id, with a reference of the module, which is put after destroy(); NULL:
 * there is no open trunk, or no memory.
 */
void *rca_trunks_create(const struct rca_peer_key *key, void *owner, const struct rca_tp_ops **tp)
{
	const struct rca_trunk_ops *ops = rca_trunks_get();
	void *lower;

	if (!ops)
		return NULL;
	lower = ops->create(key, owner);
	if (lower)
		*tp = ops->tp;
	else
		rca_trunks_put(ops);
	return lower;
}

/* As &rca_trunk_ops.tell; 0 also without the module. */
u8 rca_trunks_tell(struct rca_device *dev, const struct rca_peer_key *key, u8 *data)
{
	const struct rca_trunk_ops *ops;
	int idx = srcu_read_lock(&trunk_srcu);
	u8 len;

	ops = srcu_dereference(rca_trunk_ops, &trunk_srcu);
	len = ops ? ops->tell(dev, key, data) : 0;
	srcu_read_unlock(&trunk_srcu, idx);
	return len;
}

/* As &rca_trunk_ops.heard; false also without the module. */
bool rca_trunks_heard(const struct rca_peer_key *key, const void *data, size_t len)
{
	const struct rca_trunk_ops *ops;
	int idx = srcu_read_lock(&trunk_srcu);
	bool heard;

	ops = srcu_dereference(rca_trunk_ops, &trunk_srcu);
	heard = ops && ops->heard(key, data, len);
	srcu_read_unlock(&trunk_srcu, idx);
	return heard;
}

/* As &rca_trunk_ops.requested. Does nothing without the module. */
void rca_trunks_requested(struct rca_device *dev, const struct rca_tp_request *req,
			  const struct ib_gid_attr *sgid_attr)
{
	const struct rca_trunk_ops *ops;
	int idx;

	if (!rca_trunks_used())
		return;
	idx = srcu_read_lock(&trunk_srcu);
	ops = srcu_dereference(rca_trunk_ops, &trunk_srcu);
	if (ops)
		ops->requested(dev, req, sgid_attr);
	srcu_read_unlock(&trunk_srcu, idx);
}

/* As &rca_trunk_ops.device_removed. Does nothing without the module. */
void rca_trunks_device_removed(struct rca_device *dev)
{
	const struct rca_trunk_ops *ops;
	int idx = srcu_read_lock(&trunk_srcu);

	ops = srcu_dereference(rca_trunk_ops, &trunk_srcu);
	if (ops)
		ops->device_removed(dev);
	srcu_read_unlock(&trunk_srcu, idx);
}

/* As &rca_trunk_ops.port_changed. Does nothing without the module. */
void rca_trunks_port_changed(struct rca_device *dev, u32 port, bool state)
{
	const struct rca_trunk_ops *ops;
	int idx = srcu_read_lock(&trunk_srcu);

	ops = srcu_dereference(rca_trunk_ops, &trunk_srcu);
	if (ops)
		ops->port_changed(dev, port, state);
	srcu_read_unlock(&trunk_srcu, idx);
}
