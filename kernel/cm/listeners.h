/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* The listeners of each network namespace, and the devices that they listen on. */
#ifndef RCA_LISTENERS_H
#define RCA_LISTENERS_H

#include <linux/list.h>
#include <linux/mutex.h>
#include <linux/workqueue.h>
#include <linux/xarray.h>
#include <net/net_namespace.h>
#include <net/netns/generic.h>

#include "id/id.h"

struct rca_slot;

/**
 * struct rca_listener - the listening state of an id
 * @id: the id (immutable)
 * @service_id: the service ID (immutable once the listener has started)
 * @wildcard: listens on all devices that serve its namespace (immutable)
 * @node: in the wildcard listeners of the namespace (lock: rca_listen_net.mutex)
 * @round: the update of the namespace that has handled the listener (lock: rca_listen_net.mutex)
 * @slots: one slot for each device that it listens on (lock: rca_listen_net.mutex)
 */
struct rca_listener {
	struct rca_id *id;
	__be64 service_id;
	bool wildcard;
	struct list_head node;
	u32 round;
	struct list_head slots;
};

/**
 * enum rca_listens - on a device, of the wildcard listeners of a namespace
 * @RCA_LISTENS_SOME: some may listen on the device
 * @RCA_LISTENS_ALL: all that can listen on the device do so
 */
enum rca_listens {
	RCA_LISTENS_SOME = BIT(0),
	RCA_LISTENS_ALL = BIT(1),
};

/**
 * struct rca_listen_net - the listeners of a network namespace
 * @net: the namespace (immutable)
 * @mutex: protects what follows, and the slots of all listeners of the namespace
 * @wildcards: the wildcard listeners; those that the present update has handled come last
 * @round: number of the present update (lock: @mutex)
 * @devices: enum rca_listens of devices, by &rca_device.serial (lock: @mutex)
 * @leaving: a device with listeners does not serve the namespace (only in @update)
 * @leave_at: time in jiffies at which listening ends on such devices (only in @update)
 * @update: starts and ends listening on devices, as they serve the namespace or not
 */
struct rca_listen_net {
	struct net *net;
	struct mutex mutex;
	struct list_head wildcards;
	u32 round;
	struct xarray devices;
	bool leaving;
	unsigned long leave_at;
	struct delayed_work update;
};

extern unsigned int rca_listen_net_id;

static inline struct rca_listen_net *rca_listen_net(const struct net *net)
{
	return net_generic(net, rca_listen_net_id);
}

int rca_listener_start(struct rca_listener *listener);
void rca_listener_stop(struct rca_listener *listener);
void rca_listeners_device_removed(struct rca_device *dev);

/* For listen_update.c, with rca_listen_net.mutex held. */
unsigned long rca_listens_on(struct rca_listen_net *ln, struct rca_device *dev);
int rca_set_listens_on(struct rca_listen_net *ln, struct rca_device *dev, unsigned long value);
struct rca_slot *rca_listener_slot(struct rca_listener *listener, struct rca_device *dev);
int rca_listener_join(struct rca_listener *listener, struct rca_device *dev, gfp_t gfp);
void rca_listener_leave(struct rca_slot *slot);
bool rca_listen_net_serves(struct rca_listen_net *ln, struct rca_device *dev);

#endif /* RCA_LISTENERS_H */
