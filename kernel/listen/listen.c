// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * Listening ids. One that is bound to an address listens on the device of that
 * address; one that is not listens on all devices that reach its namespace, also
 * on those that come later.
 *
 * Locking: rca_id.op, then listeners_mutex, which protects the slots of all
 * listeners. No callback takes either.
 */
#define pr_fmt(fmt) KBUILD_MODNAME ": " fmt

#include "listen/listen.h"

#include <kunit/visibility.h>
#include <linux/err.h>
#include <linux/slab.h>

#include "listen/demux.h"
#include "device/devices.h"
#include "resolve/bind.h"
#include "device/device_netns.h"
#include "lib/wire.h"

/* Ports to try when we may choose one and others hold its service ID. */
#define PORT_TRIES	32

/* How often a listener asks again for a service ID that another user of a new device holds. */
#define BLOCKED_RETRY	(5 * HZ)

/* How long a device is kept that reaches a listener no more: it may be for a moment only. */
#define UNREACHED_GRACE	(5 * HZ)

/**
 * struct rca_listener - what makes an id a listener
 * @id: the id (immutable)
 * @service_id: what it listens for (immutable once it is in @node)
 * @wildcard: listens on all devices that reach its namespace (immutable)
 * @node: in the list of wildcard listeners (lock: listeners_mutex)
 * @slots: its places on devices (lock: listeners_mutex)
 */
struct rca_listener {
	struct rca_id *id;
	__be64 service_id;
	bool wildcard;
	struct list_head node;
	struct list_head slots;
};

static DEFINE_MUTEX(listeners_mutex);
static LIST_HEAD(wildcards);

static void join_work(struct work_struct *work);
static void leave_work(struct work_struct *work);
static DECLARE_DELAYED_WORK(join_again, join_work);
static DECLARE_DELAYED_WORK(leave_later, leave_work);

static bool on_device(struct rca_listener *listener, struct rca_device *dev)
{
	struct rca_slot *slot;

	lockdep_assert_held(&listeners_mutex);
	list_for_each_entry(slot, &listener->slots, listener_node)
		if (slot->demux->dev == dev)
			return true;
	return false;
}

/* Over TCP there are no datagrams and no AF_IB addresses. */
static bool may_start_on(struct rca_listener *listener, struct rca_device *dev)
{
	struct rca_id *id = listener->id;

	return !dev->tp->over_tcp ||
	       (id->qp_type != IB_QPT_UD && id->local.sa.sa_family != AF_IB);
}

static int start_on(struct rca_listener *listener, struct rca_device *dev)
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

	lockdep_assert_held(&listeners_mutex);
	if (!may_start_on(listener, dev))
		return listener->wildcard ? 0 : -EOPNOTSUPP;
	slot = rca_demux_join(dev, &req, id);
	if (IS_ERR(slot))
		return PTR_ERR(slot);
	list_add_tail(&slot->listener_node, &listener->slots);
	return 0;
}

static void stop_slots(struct rca_listener *listener)
{
	struct rca_slot *slot, *tmp;

	lockdep_assert_held(&listeners_mutex);
	list_for_each_entry_safe(slot, tmp, &listener->slots, listener_node) {
		list_del(&slot->listener_node);
		rca_demux_leave(slot);
	}
}

/* All or nothing: a listener that misses a device would lose requests silently. */
static int start_everywhere(struct rca_listener *listener)
{
	struct rca_device *dev = NULL;
	int ret;

	lockdep_assert_held(&listeners_mutex);
	while ((dev = rca_device_next(dev))) {
		/* It comes by rca_listen_device_added(), or by rca_listen_devices_changed(). */
		if (!READ_ONCE(dev->listenable) || !rca_device_serves_netns(dev, listener->id->net))
			continue;
		ret = start_on(listener, dev);
		if (ret) {
			rca_device_put(dev);
			stop_slots(listener);
			return ret;
		}
	}
	list_add_tail(&listener->node, &wildcards);
	return 0;
}

static int start(struct rca_listener *listener)
{
	struct rca_id *id = listener->id;
	int ret;

	lockdep_assert_held(&id->op);
	/* An AF_IB address may have chosen the port space. */
	listener->service_id = rca_wire_service_id(id->opts->bind->ps, rca_addr_port(&id->local));
	mutex_lock(&listeners_mutex);
	ret = listener->wildcard ? start_everywhere(listener) : start_on(listener, id->dev);
	mutex_unlock(&listeners_mutex);
	return ret;
}

/* Another port, when the choice was ours and somebody else holds the service ID. */
static int start_with_free_port(struct rca_listener *listener)
{
	struct rca_id *id = listener->id;
	struct rca_bind *bind = id->opts->bind;
	int ret, tries;

	for (tries = 0; tries < PORT_TRIES; tries++) {
		ret = start(listener);
		if (ret != -EBUSY || !bind->chosen)
			break;
		if (rca_ports_repick(bind))
			break;
		rca_addr_set_port(&id->local, rca_addr_port(&bind->addr));
	}
	return ret == -EBUSY ? -EADDRINUSE : ret;
}

static int bind_wildcard(struct rca_id *id)
{
	union rca_addr any = {};

	if (rca_id_state(id) != RCA_ST_IDLE)
		return 0;
	rca_addr_set_any(&any, AF_INET);
	return rca_local_set(id, &any, true);
}

/* An id that wanted to be active took no port of its own; as a listener it needs one. */
static int take_port(struct rca_id *id)
{
	union rca_addr addr = id->local;
	int ret;

	if (rca_id_bound(id))
		return 0;
	rca_addr_set_port(&addr, 0);
	ret = rca_id_bind(id, &addr);
	if (!ret)
		rca_addr_set_port(&id->local, rca_addr_port(&id->opts->bind->addr));
	return ret;
}

/* Wait for the fences of new devices, which take the lock of the listeners. */
static void wait_for_devices(void)
{
	struct rca_device *dev = NULL;

	while ((dev = rca_device_next(dev)))
		rca_device_wait_listenable(dev);
}

static int listen_locked(struct rca_id *id, u32 backlog)
{
	struct rca_listener *listener;
	struct rca_opts *opts;
	struct rca_step step;
	int ret;

	lockdep_assert_held(&id->op);
	ret = bind_wildcard(id) ?: rca_id_may(id, RCA_IN_LISTEN);
	if (ret)
		return ret;
	ret = take_port(id);
	if (ret)
		return ret;
	if (id->dev)
		rca_device_wait_listenable(id->dev);
	listener = kzalloc(sizeof(*listener), GFP_KERNEL_ACCOUNT);
	if (!listener)
		return -ENOMEM;
	listener->id = id;
	listener->wildcard = !id->dev;
	INIT_LIST_HEAD(&listener->slots);
	INIT_LIST_HEAD(&listener->node);
	opts = id->opts;	/* it has a port */
	ret = rca_ports_listen(opts->bind);
	if (ret)
		goto err_free;
	opts->backlog = backlog && backlog < RCA_MAX_BACKLOG ? backlog : RCA_MAX_BACKLOG;
	/* Requests are taken in this state alone, and may come before start() returns. */
	step = rca_id_step(id, RCA_IN_LISTEN);
	ret = step.err;
	if (step.verdict != RCA_TAKE)
		goto err_unlisten;
	ret = start_with_free_port(listener);
	if (ret) {
		rca_id_step(id, RCA_IN_LISTEN_FAIL);
		goto err_unlisten;
	}
	opts->listener = listener;
	return 0;

err_unlisten:
	rca_ports_unlisten(opts->bind);
err_free:
	kfree(listener);
	return ret;
}

/**
 * rca_listen() - take connection requests on an id
 * @id: the id; bound, or it is bound to the wildcard address and a free port
 * @backlog: requests that may wait to be read; 0 or more than RCA_MAX_BACKLOG: that
 *
 * Context: Process context. Sleeps. Takes and releases @id->op.
 * Return: 0; -EINVAL wrong state; -EADDRINUSE the port is another listener's,
 * or its service ID is another user's of the device; -EOPNOTSUPP: datagrams on
 * an iWARP device; -ENXIO; -ENOMEM.
 */
int rca_listen(struct rca_id *id, u32 backlog)
{
	int ret;

	wait_for_devices();
	mutex_lock(&id->op);
	ret = listen_locked(id, backlog);
	rca_id_report_op(id, "listen", ret);
	mutex_unlock(&id->op);
	return ret;
}
EXPORT_SYMBOL_IF_KUNIT(rca_listen);

/**
 * rca_listen_stop() - stop listening, if the id does; its service IDs are free then
 * @id: the id
 *
 * Context: Process context. Sleeps. Expects @id->op to be held by the caller.
 */
void rca_listen_stop(struct rca_id *id)
{
	struct rca_listener *listener = rca_id_opts(id)->listener;

	lockdep_assert_held(&id->op);
	if (!listener)
		return;
	id->opts->listener = NULL;
	mutex_lock(&listeners_mutex);
	list_del_init(&listener->node);
	stop_slots(listener);
	mutex_unlock(&listeners_mutex);
	rca_ports_unlisten(id->opts->bind);
	kfree(listener);
}

/* Wildcard listeners that @dev reaches and that are not on it start there. False: some cannot. */
static bool start_wildcards_on(struct rca_device *dev)
{
	struct rca_listener *listener;
	bool all = true;
	int ret;

	lockdep_assert_held(&listeners_mutex);
	list_for_each_entry(listener, &wildcards, node) {
		if (on_device(listener, dev) || !rca_device_serves_netns(dev, listener->id->net))
			continue;
		ret = start_on(listener, dev);
		if (!ret)
			continue;
		all = false;
		pr_notice_ratelimited("%s: %pISpc cannot listen there yet: %s (%pe), trying again\n",
				      dev_name(&dev->ibdev->dev), &listener->id->local.sa,
				      ret == -EBUSY ? "another user has the service ID" : "error",
				      ERR_PTR(ret));
	}
	return all;
}

static void join_work(struct work_struct *work)
{
	struct rca_device *dev = NULL;
	bool all = true;

	mutex_lock(&listeners_mutex);
	while ((dev = rca_device_next(dev)))
		if (READ_ONCE(dev->listenable) && !READ_ONCE(dev->removing))
			all &= start_wildcards_on(dev);
	mutex_unlock(&listeners_mutex);
	if (!all)
		queue_delayed_work(rca_wq, &join_again, BLOCKED_RETRY);
}

/* Others may want the service IDs of devices that have left the listeners' namespaces. */
static void leave_work(struct work_struct *work)
{
	struct rca_listener *listener;
	struct rca_slot *slot, *tmp;

	mutex_lock(&listeners_mutex);
	list_for_each_entry(listener, &wildcards, node) {
		list_for_each_entry_safe(slot, tmp, &listener->slots, listener_node) {
			if (rca_device_serves_netns(slot->demux->dev, listener->id->net))
				continue;
			list_del(&slot->listener_node);
			rca_demux_leave(slot);
		}
	}
	mutex_unlock(&listeners_mutex);
}

/**
 * rca_listen_device_added() - a device may be listened on from now on
 * @dev: the device
 *
 * Never fails: a service ID that another user holds is asked for again later.
 *
 * Context: Process context. Sleeps. Takes and releases listeners_mutex.
 */
void rca_listen_device_added(struct rca_device *dev)
{
	bool all;

	mutex_lock(&listeners_mutex);
	all = start_wildcards_on(dev);
	mutex_unlock(&listeners_mutex);
	if (!all)
		queue_delayed_work(rca_wq, &join_again, BLOCKED_RETRY);
}

/**
 * rca_listen_devices_changed() - devices may reach other namespaces than before
 *
 * Context: Any context.
 */
void rca_listen_devices_changed(void)
{
	mod_delayed_work(rca_wq, &join_again, 0);
	/* From the first change on: changes that do not end must not put it off for ever. */
	queue_delayed_work(rca_wq, &leave_later, UNREACHED_GRACE);
}

/**
 * rca_listen_device_removed() - a device goes away: nobody listens there when this returns
 * @dev: the device, marked as being removed
 *
 * No request of the device is being handled any more, either.
 *
 * Context: Process context. Sleeps. Takes and releases listeners_mutex.
 */
void rca_listen_device_removed(struct rca_device *dev)
{
	struct rca_slot *slot;

	mutex_lock(&listeners_mutex);
	while ((slot = rca_demux_first(dev))) {
		list_del(&slot->listener_node);
		rca_demux_leave(slot);
	}
	mutex_unlock(&listeners_mutex);
}

/**
 * rca_listen_exit() - end what runs by itself
 *
 * Context: Process context. Module exit; no listener exists any more.
 */
void rca_listen_exit(void)
{
	cancel_delayed_work_sync(&join_again);
	cancel_delayed_work_sync(&leave_later);
}
