// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * The listeners of each network namespace, and the devices that they listen on. A listener
 * that is bound to an address listens on the device of that address. A wildcard listener
 * listens on all devices that serve its namespace, including devices that are added later
 * (listen_update.c).
 *
 * Locking: rca_id.op, then rca_listen_net.mutex, then rca_device.demux_mutex. Callbacks take none
 * of them. Other users wait for the last two, so no cgroup may delay their holder: a worker takes
 * them (rca_account_call()). Memory is allocated without reclaim, and the caller's cgroup makes
 * room for it before another try. The socket of a listen over iWARP is allocated by the driver, for
 * which this does not hold.
 */
#include "cm/listeners.h"

#include <linux/cred.h>
#include <linux/err.h>
#include <linux/memcontrol.h>
#include <linux/mm.h>
#include <linux/sched/mm.h>
#include <linux/slab.h>

#include "cm/demux.h"
#include "ip/ports.h"
#include "transport/device_netns.h"
#include "transport/devices.h"

/* Tries after the first one; other tasks of the memory cgroup may take the room. */
#define ROOM_TRIES	4

/* Set by rca_listen_update_init(). */
unsigned int rca_listen_net_id;

/* The value of a device in &rca_listen_net.devices. */
unsigned long rca_listens_on(struct rca_listen_net *ln, struct rca_device *dev)
{
	void *entry;

	lockdep_assert_held(&ln->mutex);
	entry = xa_load(&ln->devices, dev->serial);
	return entry ? xa_to_value(entry) : 0;
}

/* Returns 0 or -ENOMEM: not if the device has a value already, or the value is 0. */
int rca_set_listens_on(struct rca_listen_net *ln, struct rca_device *dev, unsigned long value)
{
	lockdep_assert_held(&ln->mutex);
	return xa_err(xa_store(&ln->devices, dev->serial, value ? xa_mk_value(value) : NULL,
			       GFP_KERNEL));
}

/* The slot of a listener on a device, or NULL. */
struct rca_slot *rca_listener_slot(struct rca_listener *listener, struct rca_device *dev)
{
	struct rca_slot *slot;

	list_for_each_entry(slot, &listener->slots, listener_node)
		if (slot->demux->dev == dev)
			return slot;
	return NULL;
}

/*
 * iWARP has no datagrams and no AF_IB addresses. The port of a listener is one of its namespace
 * there; else it is one of the device, for all namespaces.
 */
static int may_listen_on(struct rca_listener *listener, struct rca_device *dev)
{
	struct rca_id *id = listener->id;

	if (dev->tp->over_tcp) {
		return id->qp_type == IB_QPT_UD || id->local.sa.sa_family == AF_IB ?
		       -EOPNOTSUPP : 0;
	}
	return rca_ports_confined(id->opts->bind) && !rca_device_in_netns(dev, id->net) ?
	       -EACCES : 0;
}

/* Returns 0, also if a wildcard listener cannot listen on the device, or a negative errno. */
int rca_listener_join(struct rca_listener *listener, struct rca_device *dev, gfp_t gfp)
{
	struct rca_id *id = listener->id;
	const struct rca_opts *opts = rca_id_opts(id);
	struct rca_tp_listen req = {
		.service_id = listener->service_id,
		.net = id->net,
		.local = &id->local,
		.backlog = opts->backlog,
		.tos = opts->tos,
		.afonly = id->afonly,
	};
	struct rca_slot *slot;
	int ret;

	ret = may_listen_on(listener, dev);
	if (ret)
		return ret == -EOPNOTSUPP && listener->wildcard ? 0 : ret;
	slot = rca_demux_join(dev, &req, id, gfp);
	if (IS_ERR(slot)) {
		/* A wildcard listener goes on without a device that is being removed. */
		return listener->wildcard && READ_ONCE(dev->removing) ? 0 : PTR_ERR(slot);
	}
	list_add_tail(&slot->listener_node, &listener->slots);
	return 0;
}

/* End listening on the device of a slot, which is freed. */
void rca_listener_leave(struct rca_slot *slot)
{
	list_del(&slot->listener_node);
	rca_demux_leave(slot);
}

static void stop_locked(struct rca_listen_net *ln, struct rca_listener *listener)
{
	struct rca_slot *slot, *tmp;

	lockdep_assert_held(&ln->mutex);
	list_del_init(&listener->node);
	list_for_each_entry_safe(slot, tmp, &listener->slots, listener_node)
		rca_listener_leave(slot);
	if (list_empty(&ln->wildcards))
		xa_destroy(&ln->devices);
}

/* Can a device receive requests for the namespace, and may service IDs be taken on it? */
bool rca_listen_net_serves(struct rca_listen_net *ln, struct rca_device *dev)
{
	return READ_ONCE(dev->listenable) && rca_device_serves_netns(dev, ln->net);
}

/* Start a new listener on a device, if the device serves its namespace. */
static int start_on(struct rca_listen_net *ln, struct rca_listener *listener,
		    struct rca_device *dev)
{
	unsigned long listens = rca_listens_on(ln, dev);
	int ret;

	lockdep_assert_held(&ln->mutex);
	/* If the device is about to serve the namespace, the next update starts the listener. */
	if (!rca_listen_net_serves(ln, dev))
		return rca_set_listens_on(ln, dev, listens & ~RCA_LISTENS_ALL);
	ret = rca_listener_join(listener, dev, RCA_GFP_CALLBACK);
	if (ret || !rca_listener_slot(listener, dev))
		return ret;
	return rca_set_listens_on(ln, dev, listens | RCA_LISTENS_SOME);
}

/* On all devices or none: a listener that misses a device would lose requests silently. */
static int start_on_all_devices(struct rca_listen_net *ln, struct rca_listener *listener)
{
	struct rca_device *dev = NULL;
	int ret;

	lockdep_assert_held(&ln->mutex);
	listener->round = ln->round;
	list_add_tail(&listener->node, &ln->wildcards);
	/* Pairs with update_net(): a change is seen below, or it queues an update. */
	smp_mb();
	while ((dev = rca_device_next(dev))) {
		ret = start_on(ln, listener, dev);
		if (ret) {
			rca_device_put(dev);
			stop_locked(ln, listener);
			return ret;
		}
	}
	return 0;
}

/**
 * struct start - a try to start a listener
 * @listener: the listener
 * @cred: the credentials of the caller, for the socket of a listener over iWARP
 * @ret: the result
 */
struct start {
	struct rca_listener *listener;
	const struct cred *cred;
	int ret;
};

/* Work of the user, while the caller of rca_listener_start() waits. */
static void start_once(void *arg)
{
	struct start *start = arg;
	struct rca_listener *listener = start->listener;
	struct rca_id *id = listener->id;
	struct rca_listen_net *ln = rca_listen_net(id->net);
	struct mem_cgroup *old_memcg = set_active_memcg(id->obj.ctx->memcg);
	const struct cred *old_cred = override_creds(start->cred);

	mutex_lock(&ln->mutex);
	if (listener->wildcard)
		start->ret = start_on_all_devices(ln, listener);
	else
		start->ret = rca_listener_join(listener, id->dev, RCA_GFP_CALLBACK);
	mutex_unlock(&ln->mutex);
	revert_creds(old_cred);
	set_active_memcg(old_memcg);
}

/*
 * Let the memory cgroup that start_once() charges reclaim what a listener on all devices needs.
 * Sleeps. False: -ENOMEM.
 */
static bool make_room(struct mem_cgroup *memcg)
{
	struct mem_cgroup *old_memcg;
	struct rca_device *dev = NULL;
	unsigned int devices = 0;
	void *room;

	while ((dev = rca_device_next(dev)))
		devices++;
	old_memcg = set_active_memcg(memcg);
	room = kvmalloc_array(devices, sizeof(struct rca_slot) + sizeof(struct rca_demux),
			      GFP_KERNEL_ACCOUNT);
	set_active_memcg(old_memcg);
	kvfree(room);
	return room;
}

/**
 * rca_listener_start() - listen on the device of the id, or on all that serve its namespace
 * @listener: the listener, with @id, @service_id and @wildcard; the lists are empty
 *
 * Context: Process context. Sleeps. Expects rca_id.op to be held by the caller.
 * Return: 0; -EBUSY: another user of a device has the service ID; -EACCES: a low port on a device
 * that all namespaces share; -EOPNOTSUPP; -ENXIO; -ENOMEM.
 */
int rca_listener_start(struct rca_listener *listener)
{
	const struct rca_account *account = &listener->id->obj.ctx->account;
	struct start start = { .listener = listener, .cred = current_cred() };
	int tries = 0;

	lockdep_assert_held(&listener->id->op);
	do {
		rca_account_call(account, RCA_LANE_LISTEN, start_once, &start);
	} while (start.ret == -ENOMEM && tries++ < ROOM_TRIES &&
		 make_room(listener->id->obj.ctx->memcg));
	return start.ret;
}

/* Work of the user, while the caller of rca_listener_stop() waits. */
static void stop_now(void *arg)
{
	struct rca_listener *listener = arg;
	struct rca_listen_net *ln = rca_listen_net(listener->id->net);

	mutex_lock(&ln->mutex);
	stop_locked(ln, listener);
	mutex_unlock(&ln->mutex);
}

/* The caller holds rca_id.op, and frees the listener. Sleeps. */
void rca_listener_stop(struct rca_listener *listener)
{
	lockdep_assert_held(&listener->id->op);
	rca_account_call(&listener->id->obj.ctx->account, RCA_LANE_LISTEN, stop_now, listener);
}

/**
 * rca_listeners_device_removed() - end all listening on a device that is being removed
 * @dev: the device, marked as being removed
 *
 * When this returns, no request of the device is being handled any more, and none will be.
 *
 * Context: Process context. Sleeps. Takes and releases rca_listen_net.mutex.
 */
void rca_listeners_device_removed(struct rca_device *dev)
{
	struct rca_slot *slot;
	struct rca_listen_net *ln;
	struct net *net;

	while ((net = rca_demux_first_net(dev))) {
		ln = rca_listen_net(net);
		mutex_lock(&ln->mutex);
		slot = rca_demux_first(dev, net);
		if (slot)
			rca_listener_leave(slot);
		mutex_unlock(&ln->mutex);
		put_net(net);
	}
}
