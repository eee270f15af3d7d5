// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * Listening ids. A listener that is bound to an address listens on the device of that
 * address. A wildcard listener listens on all devices that serve its network namespace,
 * including devices that are added later.
 *
 * Locking: rca_id.op, then listeners_mutex, which protects the slots of all listeners.
 * Callbacks take neither.
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

/* Ports to try while the module chooses the port and another user has its service ID. */
#define PORT_TRIES	32

/* Interval of retries for a service ID that another user of a new device holds. */
#define BLOCKED_RETRY	(5 * HZ)

/* Delay before listening ends on a device that no longer serves the namespace. */
#define UNSERVED_GRACE	(5 * HZ)

/**
 * struct rca_listener - the listening state of an id
 * @id: the id (immutable)
 * @service_id: the service ID (immutable once @node is in the list)
 * @wildcard: listens on all devices that serve its namespace (immutable)
 * @node: in the list of wildcard listeners (lock: listeners_mutex)
 * @slots: one slot for each device that it listens on (lock: listeners_mutex)
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

static void join_devices_work(struct work_struct *work);
static void leave_devices_work(struct work_struct *work);
static DECLARE_DELAYED_WORK(join_devices, join_devices_work);
static DECLARE_DELAYED_WORK(leave_devices, leave_devices_work);

static bool listens_on(struct rca_listener *listener, struct rca_device *dev)
{
	struct rca_slot *slot;

	lockdep_assert_held(&listeners_mutex);
	list_for_each_entry(slot, &listener->slots, listener_node)
		if (slot->demux->dev == dev)
			return true;
	return false;
}

/* iWARP has no datagrams and no AF_IB addresses. */
static bool can_listen_on(struct rca_listener *listener, struct rca_device *dev)
{
	struct rca_id *id = listener->id;

	return !dev->tp->over_tcp ||
	       (id->qp_type != IB_QPT_UD && id->local.sa.sa_family != AF_IB);
}

static int listen_on(struct rca_listener *listener, struct rca_device *dev)
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
	if (!can_listen_on(listener, dev))
		return listener->wildcard ? 0 : -EOPNOTSUPP;
	slot = rca_demux_join(dev, &req, id);
	if (IS_ERR(slot))
		return PTR_ERR(slot);
	list_add_tail(&slot->listener_node, &listener->slots);
	return 0;
}

static void leave_slot(struct rca_slot *slot)
{
	lockdep_assert_held(&listeners_mutex);
	list_del(&slot->listener_node);
	rca_demux_leave(slot);
}

static void leave_all_devices(struct rca_listener *listener)
{
	struct rca_slot *slot, *tmp;

	lockdep_assert_held(&listeners_mutex);
	list_for_each_entry_safe(slot, tmp, &listener->slots, listener_node)
		leave_slot(slot);
}

/* On all devices or none: a listener that misses a device would lose requests silently. */
static int listen_on_all_devices(struct rca_listener *listener)
{
	struct rca_device *dev = NULL;
	int ret;

	lockdep_assert_held(&listeners_mutex);
	while ((dev = rca_device_next(dev))) {
		/* rca_listen_device_added() or rca_listen_devices_changed() adds it later. */
		if (!READ_ONCE(dev->listenable) || !rca_device_serves_netns(dev, listener->id->net))
			continue;
		ret = listen_on(listener, dev);
		if (ret) {
			rca_device_put(dev);
			leave_all_devices(listener);
			return ret;
		}
	}
	list_add_tail(&listener->node, &wildcards);
	return 0;
}

static int start_listener(struct rca_listener *listener)
{
	struct rca_id *id = listener->id;
	int ret;

	lockdep_assert_held(&id->op);
	/* An AF_IB address may have chosen the port space. */
	listener->service_id = rca_wire_service_id(id->opts->bind->ps, rca_addr_port(&id->local));
	mutex_lock(&listeners_mutex);
	ret = listener->wildcard ? listen_on_all_devices(listener) : listen_on(listener, id->dev);
	mutex_unlock(&listeners_mutex);
	return ret;
}

/* If the module chose the port and another user has its service ID, try other ports. */
static int start_with_free_port(struct rca_listener *listener)
{
	struct rca_id *id = listener->id;
	struct rca_bind *bind = id->opts->bind;
	int ret, tries;

	for (tries = 0; tries < PORT_TRIES; tries++) {
		ret = start_listener(listener);
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

/* A bound id may have no port yet, see rca_local_needs_port(); a listener needs one. */
static int bind_port(struct rca_id *id)
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

/*
 * Wait until new devices can be listened on. The caller does not hold listeners_mutex, which
 * rca_listen_device_added() takes for such a device.
 */
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
	ret = bind_port(id);
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
	opts = id->opts;	/* not NULL: the id has a port */
	ret = rca_ports_listen(opts->bind);
	if (ret)
		goto err_free;
	opts->backlog = backlog && backlog < RCA_MAX_BACKLOG ? backlog : RCA_MAX_BACKLOG;
	/* Set the state first: a request that arrives before the call returns is accepted. */
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
 * rca_listen() - listen for connection requests
 * @id: the id; if it is not bound, it is bound to the wildcard address and a free port
 * @backlog: requests that may wait to be read; 0 or too large: RCA_MAX_BACKLOG
 *
 * Context: Process context. Sleeps. Takes and releases @id->op.
 * Return: 0; -EINVAL: wrong state; -EADDRINUSE: another listener has the port, or another
 * user of the device has its service ID; -EOPNOTSUPP: datagrams or AF_IB on an iWARP device;
 * -ENXIO; -ENOMEM.
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
 * rca_listen_stop() - stop listening, if the id listens, and release its service IDs
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
	leave_all_devices(listener);
	mutex_unlock(&listeners_mutex);
	rca_ports_unlisten(id->opts->bind);
	kfree(listener);
}

/*
 * Start all wildcard listeners on @dev that do not listen there yet and whose namespace it
 * serves. False: some could not be started.
 */
static bool start_wildcards_on(struct rca_device *dev)
{
	struct rca_listener *listener;
	bool all = true;
	int ret;

	lockdep_assert_held(&listeners_mutex);
	list_for_each_entry(listener, &wildcards, node) {
		if (listens_on(listener, dev) || !rca_device_serves_netns(dev, listener->id->net))
			continue;
		ret = listen_on(listener, dev);
		if (!ret)
			continue;
		all = false;
		pr_notice_ratelimited("%s: cannot listen on %pISpc yet: %s (%pe), retrying\n",
				      dev_name(&dev->ibdev->dev), &listener->id->local.sa,
				      ret == -EBUSY ? "another user has the service ID" : "error",
				      ERR_PTR(ret));
	}
	return all;
}

static void join_devices_work(struct work_struct *work)
{
	struct rca_device *dev = NULL;
	bool all = true;

	mutex_lock(&listeners_mutex);
	while ((dev = rca_device_next(dev)))
		if (READ_ONCE(dev->listenable) && !READ_ONCE(dev->removing))
			all &= start_wildcards_on(dev);
	mutex_unlock(&listeners_mutex);
	if (!all)
		queue_delayed_work(rca_wq, &join_devices, BLOCKED_RETRY);
}

/* Release service IDs on devices that no longer serve the namespaces of the listeners. */
static void leave_devices_work(struct work_struct *work)
{
	struct rca_listener *listener;
	struct rca_slot *slot, *tmp;

	mutex_lock(&listeners_mutex);
	list_for_each_entry(listener, &wildcards, node) {
		list_for_each_entry_safe(slot, tmp, &listener->slots, listener_node) {
			if (!rca_device_serves_netns(slot->demux->dev, listener->id->net))
				leave_slot(slot);
		}
	}
	mutex_unlock(&listeners_mutex);
}

/**
 * rca_listen_device_added() - start wildcard listeners on a new device
 * @dev: the device
 *
 * Never fails: a service ID that another user holds is requested again later.
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
		queue_delayed_work(rca_wq, &join_devices, BLOCKED_RETRY);
}

/**
 * rca_listen_devices_changed() - update wildcard listeners: devices may serve other namespaces
 *
 * Context: Any context.
 */
void rca_listen_devices_changed(void)
{
	mod_delayed_work(rca_wq, &join_devices, 0);
	/* The delay starts at the first change: a series of changes must not postpone the work. */
	queue_delayed_work(rca_wq, &leave_devices, UNSERVED_GRACE);
}

/**
 * rca_listen_device_removed() - end all listening on a device that is being removed
 * @dev: the device, marked as being removed
 *
 * When this returns, no request of the device is being handled any more.
 *
 * Context: Process context. Sleeps. Takes and releases listeners_mutex.
 */
void rca_listen_device_removed(struct rca_device *dev)
{
	struct rca_slot *slot;

	mutex_lock(&listeners_mutex);
	while ((slot = rca_demux_first(dev)))
		leave_slot(slot);
	mutex_unlock(&listeners_mutex);
}

/* Module exit; no listener exists any more. */
void rca_listen_exit(void)
{
	cancel_delayed_work_sync(&join_devices);
	cancel_delayed_work_sync(&leave_devices);
}
