/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* Service IDs that the module holds on devices, each shared by its listeners. */
#ifndef RCA_DEMUX_H
#define RCA_DEMUX_H

#include <linux/list.h>
#include <linux/rcupdate.h>
#include <linux/refcount.h>

#include "lib/types.h"

struct net;
struct rca_tp_listen;

/**
 * struct rca_demux - a service ID that the module holds on a device
 * @ref: references: the device, requests over trunks
 * @dev: the device (immutable; holds a reference as long as @dev has it)
 * @service_id: the service ID (immutable)
 * @handle: returned by listen() of the transport (immutable)
 * @node: in &rca_device.demuxes (rcu; lock: rca_device.demux_mutex)
 * @slots: the listeners (rcu; lock: rca_device.demux_mutex)
 * @rcu: frees it after the walks of requests
 *
 * The transport passes the demux to the upcall for a request.
 */
struct rca_demux {
	refcount_t ref;
	struct rca_device *dev;
	__be64 service_id;
	void *handle;
	struct hlist_node node;
	struct list_head slots;
	struct rcu_head rcu;
};

/**
 * struct rca_slot - a listener behind a service ID of a device
 * @id: the listening id (immutable; alive as long as the slot is in a demux)
 * @demux: the service ID (immutable)
 * @node: in &rca_demux.slots (rcu; lock: rca_device.demux_mutex)
 * @listener_node: in &rca_listener.slots (lock: rca_listen_net.mutex of the namespace)
 * @rcu: frees it after the walks of requests
 */
struct rca_slot {
	struct rca_id *id;
	struct rca_demux *demux;
	struct list_head node;
	struct list_head listener_node;
	struct rcu_head rcu;
};

struct rca_slot *rca_demux_join(struct rca_device *dev, const struct rca_tp_listen *req,
				struct rca_id *id, gfp_t gfp);
void rca_demux_leave(struct rca_slot *slot);
struct rca_demux *rca_demux_get(struct rca_device *dev, __be64 service_id);
void rca_demux_put(struct rca_demux *demux);
struct net *rca_demux_first_net(struct rca_device *dev);
struct rca_slot *rca_demux_first(struct rca_device *dev, const struct net *net);

#endif /* RCA_DEMUX_H */
