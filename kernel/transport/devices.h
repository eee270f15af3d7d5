/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* RDMA devices: references, and removal. */
#ifndef RCA_DEVICES_H
#define RCA_DEVICES_H

#include <linux/completion.h>
#include <linux/hashtable.h>
#include <linux/list.h>
#include <linux/mutex.h>
#include <linux/refcount.h>
#include <linux/spinlock.h>
#include <linux/workqueue.h>
#include <rdma/ib_verbs.h>

#include "lib/types.h"
#include "transport/port_sysfs.h"
#include "transport/stats.h"
#include "transport/transport.h"

struct ib_cm_id;
struct rca_device_places;

/**
 * struct rca_device - an RDMA device
 * @ibdev: the device of ib_core (immutable; valid while a reference is held)
 * @tp: its transport (immutable)
 * @conf: settings of its ports; NULL: they could not be allocated (immutable)
 * @node: in the list of devices (lock: devices_lock in devices.c)
 * @serial: number of the device, from 1, in the order of the list; never reused (immutable)
 * @ref: references; the removal waits until all are gone
 * @gone: completed by the last rca_device_put()
 * @lock: protects @ids
 * @ids: ids that are bound to the device (lock: @lock)
 * @removing: no id may be attached any more (lock: @lock)
 * @listenable: the fence has passed, service IDs may be taken (lock: @lock; also read without)
 * @fence: sets @listenable
 * @demux_mutex: serialises the first listen and the last close of a service ID; no
 *               callback takes it
 * @demuxes: service IDs that we hold, by number (lock: @demux_mutex)
 * @events: handler of events of the ports (immutable)
 * @path_epoch: number of events after which a path of the subnet administrator may be another
 *              (atomic)
 * @trunk_service: cm_id that listens for trunks, or NULL (atomic; owned)
 * @trunk_service_id: its service ID, or 0 (read and written without a lock)
 * @places: the places of the ports: see id/port_places.h; NULL: no limit, or they could not be
 *          allocated (immutable)
 * @stats: counters of each port, from 1; NULL, also for one port: they could not be
 *         allocated (immutable)
 */
struct rca_device {
	struct ib_device *ibdev;
	const struct rca_tp_ops *tp;
	struct rca_port_sysfs *conf;
	struct list_head node;
	u32 serial;
	refcount_t ref;
	struct completion gone;
	spinlock_t lock;
	struct list_head ids;
	bool removing;
	bool listenable;
	struct work_struct fence;
	struct mutex demux_mutex;
	DECLARE_HASHTABLE(demuxes, 8);
	struct ib_event_handler events;
	atomic_t path_epoch;
	struct ib_cm_id *trunk_service;
	__be64 trunk_service_id;
	struct rca_device_places *places;
	struct rca_stats __percpu **stats;
};

/**
 * struct rca_devices_ops - callbacks into the layers above
 * @removed: the device is being removed, and takes no new ids. No layer may use @dev
 *           after this returns. Process context.
 * @port_changed: the state (@state), the GIDs or the partitions of a port have changed, or the
 *                device has failed (@port is 0). Process context, not after @removed was called.
 * @changed: a device may be listened on from now on, or its GIDs have changed (@net is NULL),
 *           or a network device has appeared in a namespace or left it: so
 *           rca_device_serves_netns() may change. Called with locks of ib_core or RTNL held,
 *           possibly before rca_devices_init() returns; must not sleep.
 */
struct rca_devices_ops {
	void (*removed)(struct rca_device *dev);
	void (*port_changed)(struct rca_device *dev, u32 port, bool state);
	void (*changed)(struct net *net);
};

int rca_devices_init(const struct rca_devices_ops *ops);
void rca_devices_exit(void);
struct rca_device *rca_device_get(struct rca_device *dev);
void rca_device_put(struct rca_device *dev);
struct rca_device *rca_device_next(struct rca_device *prev);
bool rca_device_exists(u32 serial);
void rca_device_wait_listenable(struct rca_device *dev);

/**
 * rca_device_stats() - get the counters of a port
 * @dev: the device, or NULL
 * @port: port of the device
 *
 * Context: Any context. The caller has a reference, or prevents the removal.
 * Return: the counters of the port; without a port, or for a port that has none, the
 * counters of events without a port.
 */
static inline struct rca_stats __percpu *
rca_device_stats(const struct rca_device *dev, u32 port)
{
	struct rca_stats __percpu *stats = dev && dev->stats ? dev->stats[port] : NULL;

	return stats ?: &rca_stats_elsewhere;
}

#endif /* RCA_DEVICES_H */
