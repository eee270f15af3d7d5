// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * Listening ids: their ports, and the calls that start and end listening.
 *
 * Locking: rca_id.op.
 */
#undef pr_fmt
#define pr_fmt(fmt) KBUILD_MODNAME ": " fmt

#include "cm/internal.h"

#include <linux/cred.h>
#include <linux/err.h>
#include <linux/memcontrol.h>
#include <linux/mm.h>
#include <linux/sched/mm.h>
#include <linux/slab.h>

#include "lib/wire.h"
#include "net/net.h"
#include "transport/transport.h"

/*
 * The listeners of each network namespace, and the devices that they listen on. A listener
 * that is bound to an address listens on the device of that address. A wildcard listener
 * listens on all devices that serve its namespace, including devices that are added later
 * (see below).
 *
 * Locking: rca_id.op, then rca_listen_net.mutex, then rca_device.demux_mutex. Callbacks take none
 * of them. Other users wait for the last two, so no cgroup may delay their holder: a worker takes
 * them (rca_account_call()). Memory is allocated without reclaim, and the caller's cgroup makes
 * room for it before another try. The socket of a listen over iWARP is allocated by the driver, for
 * which this does not hold.
 */

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
 * @mutex: protects the members below, and the slots of all listeners of the namespace
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

/* Tries after the first one; other tasks of the memory cgroup may take the room. */
#define ROOM_TRIES	4

/* Set by rca_listen_update_init(). */
static unsigned int rca_listen_net_id;

static struct rca_listen_net *rca_listen_net(const struct net *net)
{
	return net_generic(net, rca_listen_net_id);
}

/* Returns the flags of a device, see enum rca_listens; 0: none. */
static unsigned long rca_listens_on(struct rca_listen_net *ln, struct rca_device *dev)
{
	void *entry;

	lockdep_assert_held(&ln->mutex);
	entry = xa_load(&ln->devices, dev->serial);
	return entry ? xa_to_value(entry) : 0;
}

/* Returns 0 or -ENOMEM: not if the device has a value already, or the value is 0. */
static int rca_set_listens_on(struct rca_listen_net *ln, struct rca_device *dev,
			      unsigned long value)
{
	lockdep_assert_held(&ln->mutex);
	return xa_err(xa_store(&ln->devices, dev->serial, value ? xa_mk_value(value) : NULL,
			       GFP_KERNEL));
}

/* The slot of a listener on a device, or NULL. */
static struct rca_slot *rca_listener_slot(struct rca_listener *listener, struct rca_device *dev)
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
static int rca_listener_join(struct rca_listener *listener, struct rca_device *dev, gfp_t gfp)
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
static void rca_listener_leave(struct rca_slot *slot)
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
static bool rca_listen_net_serves(struct rca_listen_net *ln, struct rca_device *dev)
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

/* Work of the user, while the caller of start_listener() waits. */
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
 * Let the memory cgroup that start_once() charges reclaim the memory for a listener on all devices.
 * Sleeps. False: -ENOMEM.
 */
static bool reclaim_for_slots(struct mem_cgroup *memcg)
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

/* Work of the user, while the caller of rca_listen_stop() waits. */
static void stop_now(void *arg)
{
	struct rca_listener *listener = arg;
	struct rca_listen_net *ln = rca_listen_net(listener->id->net);

	mutex_lock(&ln->mutex);
	stop_locked(ln, listener);
	mutex_unlock(&ln->mutex);
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

/* Ports to try while the module chooses the port and another user has its service ID. */
#define PORT_TRIES	32

/*
 * Listen on the device of the id, or on all that serve its namespace. -EBUSY: another user of a
 * device has the service ID; -EACCES: a low port on a device that all namespaces share.
 */
static int start_listener(struct rca_listener *listener)
{
	struct start start = { .listener = listener, .cred = current_cred() };
	struct rca_id *id = listener->id;
	int tries = 0;

	lockdep_assert_held(&id->op);
	/* An AF_IB address may have chosen the port space. */
	listener->service_id = rca_wire_service_id(id->opts->bind->ps, rca_addr_port(&id->local));
	do {
		rca_account_call(&id->obj.ctx->account, RCA_LANE_LISTEN, start_once, &start);
	} while (start.ret == -ENOMEM && tries++ < ROOM_TRIES &&
		 reclaim_for_slots(id->obj.ctx->memcg));
	return start.ret;
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
 * user of the device has its service ID; -EACCES: a low port on a device that all namespaces
 * share; -EOPNOTSUPP: datagrams or AF_IB on an iWARP device; -ENXIO; -ENOMEM.
 */
int rca_listen(struct rca_id *id, u32 backlog)
{
	struct rca_device *dev = NULL;
	int ret;

	while ((dev = rca_device_next(dev)))
		rca_device_wait_listenable(dev);
	mutex_lock(&id->op);
	ret = listen_locked(id, backlog);
	rca_id_report_op(id, "listen", ret);
	mutex_unlock(&id->op);
	return ret;
}
RCA_EXPORT(rca_listen);

/* Stop listening, if the id listens, and release its service IDs. Sleeps. */
void rca_listen_stop(struct rca_id *id)
{
	struct rca_listener *listener = rca_id_opts(id)->listener;

	lockdep_assert_held(&id->op);
	if (!listener)
		return;
	id->opts->listener = NULL;
	rca_account_call(&id->obj.ctx->account, RCA_LANE_LISTEN, stop_now, listener);
	rca_ports_unlisten(id->opts->bind);
	kfree(listener);
}

/*
 * Wildcard listeners when devices change: each listens on all devices that serve its namespace.
 *
 * A namespace may have tens of thousands of wildcard listeners, and its owner may change its
 * network devices at any rate. A change therefore causes work only in the namespaces that it
 * is of, and the work visits listeners only if a device begins or ceases to serve the
 * namespace, a few at a time.
 *
 * Locking: rca_listen_net.mutex, see above; the list of namespaces is walked under RCU.
 */

/* Interval of retries for a service ID that another user of a new device holds. */
#define BLOCKED_RETRY	(5 * HZ)

/* Delay before listening ends on a device that no longer serves the namespace. */
#define UNSERVED_GRACE	(5 * HZ)

/* Listeners that an update handles before it releases the mutex. */
#define BATCH	16

static struct workqueue_struct *listen_wq;

static bool update_join(struct rca_listener *listener, struct rca_device *dev)
{
	const char *name = dev_name(&dev->ibdev->dev);
	int ret = 0;

	/* Work is in no memory cgroup that could delay it. */
	if (!rca_listener_slot(listener, dev))
		ret = rca_listener_join(listener, dev, GFP_KERNEL_ACCOUNT);
	if (!ret)
		return true;
	if (ret == -EACCES) {
		pr_notice_ratelimited("%s: cannot listen on %pISpc: port of all namespaces\n",
				      name, &listener->id->local.sa);
		return true;
	}
	pr_notice_ratelimited("%s: cannot listen on %pISpc yet: %s (%pe), retrying\n",
			      name, &listener->id->local.sa,
			      ret == -EBUSY ? "another user has the service ID" : "error",
			      ERR_PTR(ret));
	return false;
}

static bool update_leave(struct rca_listener *listener, struct rca_device *dev)
{
	struct rca_slot *slot = rca_listener_slot(listener, dev);

	if (slot)
		rca_listener_leave(slot);
	return true;
}

/* Returns whether @update succeeded for all. It does not handle listeners that start meanwhile. */
static bool update_all(struct rca_listen_net *ln, struct rca_device *dev,
		       bool (*update)(struct rca_listener *listener, struct rca_device *dev))
{
	struct rca_listener *listener;
	unsigned int count = 0;
	bool all = true;

	lockdep_assert_held(&ln->mutex);
	ln->round++;
	while ((listener = list_first_entry_or_null(&ln->wildcards, struct rca_listener, node))) {
		if (listener->round == ln->round || READ_ONCE(dev->removing))
			break;
		listener->round = ln->round;
		list_move_tail(&listener->node, &ln->wildcards);
		all &= update(listener, dev);
		if (++count % BATCH)
			continue;
		mutex_unlock(&ln->mutex);
		cond_resched();
		mutex_lock(&ln->mutex);
	}
	return all;
}

/* Listeners may start meanwhile: they change RCA_LISTENS_ALL if they do not listen on @dev. */
static bool join_device(struct rca_listen_net *ln, struct rca_device *dev)
{
	unsigned long listens = rca_listens_on(ln, dev);

	lockdep_assert_held(&ln->mutex);
	if (listens & RCA_LISTENS_ALL || list_empty(&ln->wildcards))
		return true;
	if (rca_set_listens_on(ln, dev, RCA_LISTENS_SOME | RCA_LISTENS_ALL))
		return false;
	if (update_all(ln, dev, update_join))
		return true;
	rca_set_listens_on(ln, dev, RCA_LISTENS_SOME);
	return false;
}

/*
 * Start or end listening on a device, as it serves the namespace or not. @unserved is set if it is
 * too early to end. Returns false if some listeners could not start.
 */
static bool update_device(struct rca_listen_net *ln, struct rca_device *dev, bool *unserved)
{
	bool all = true;

	mutex_lock(&ln->mutex);
	if (rca_listen_net_serves(ln, dev)) {
		all = join_device(ln, dev);
	} else if (rca_listens_on(ln, dev) & RCA_LISTENS_SOME) {
		if (!ln->leaving || time_before(jiffies, ln->leave_at)) {
			*unserved = true;
		} else {
			rca_set_listens_on(ln, dev, 0);
			update_all(ln, dev, update_leave);
		}
	}
	mutex_unlock(&ln->mutex);
	return all;
}

static void update_work(struct work_struct *work)
{
	struct rca_listen_net *ln =
		container_of(to_delayed_work(work), struct rca_listen_net, update);
	struct rca_device *dev = NULL;
	bool all = true, unserved = false;
	unsigned long serial;
	void *entry;

	mutex_lock(&ln->mutex);
	xa_for_each(&ln->devices, serial, entry)
		if (!rca_device_exists(serial))
			xa_erase(&ln->devices, serial);
	mutex_unlock(&ln->mutex);
	while ((dev = rca_device_next(dev)))
		all &= update_device(ln, dev, &unserved);
	/* The delay starts at the first change: a series of changes must not postpone the end. */
	if (unserved && !ln->leaving)
		ln->leave_at = jiffies + UNSERVED_GRACE;
	ln->leaving = unserved;
	if (unserved)
		queue_delayed_work(listen_wq, &ln->update,
				   clamp_t(long, ln->leave_at - jiffies, 1, UNSERVED_GRACE));
	else if (!all)
		queue_delayed_work(listen_wq, &ln->update, BLOCKED_RETRY);
}

static void update_net(struct net *net)
{
	struct rca_listen_net *ln = rca_listen_net(net);

	/* Pairs with start_on_all_devices(): the change comes before this look at the list. */
	smp_mb();
	if (!list_empty_careful(&ln->wildcards))
		mod_delayed_work(listen_wq, &ln->update, 0);
}

static void update_nets_work(struct work_struct *work)
{
	struct net *net;

	rcu_read_lock();
	for_each_net_rcu(net)
		update_net(net);
	rcu_read_unlock();
}

static DECLARE_WORK(update_nets, update_nets_work);

/**
 * rca_listen_devices_changed() - update wildcard listeners: devices may serve other namespaces
 * @net: the namespace for which this may have changed, or NULL: all of them
 *
 * Never fails: a service ID that another user holds is requested again later.
 *
 * Context: Any context.
 */
void rca_listen_devices_changed(struct net *net)
{
	if (net)
		update_net(net);
	else
		queue_work(listen_wq, &update_nets);
}

static int __net_init listen_net_start(struct net *net)
{
	struct rca_listen_net *ln = rca_listen_net(net);

	ln->net = net;
	mutex_init(&ln->mutex);
	INIT_LIST_HEAD(&ln->wildcards);
	xa_init(&ln->devices);
	INIT_DELAYED_WORK(&ln->update, update_work);
	return 0;
}

/* No listener exists any more: each has a reference on the namespace. */
static void __net_exit listen_net_stop(struct net *net)
{
	struct rca_listen_net *ln = rca_listen_net(net);

	cancel_delayed_work_sync(&ln->update);
	xa_destroy(&ln->devices);
	mutex_destroy(&ln->mutex);
}

static struct pernet_operations listen_net_ops = {
	.init = listen_net_start,
	.exit = listen_net_stop,
	.id = &rca_listen_net_id,
	.size = sizeof(struct rca_listen_net),
};

/* Module init. Returns 0 or a negative errno. */
int __init rca_listen_update_init(void)
{
	int ret;

	listen_wq = alloc_workqueue("rdma_cm_alt_listen", WQ_UNBOUND, 0);
	if (!listen_wq)
		return -ENOMEM;
	ret = register_pernet_subsys(&listen_net_ops);
	if (ret)
		destroy_workqueue(listen_wq);
	return ret;
}

/* Module exit; no listener exists any more, and no change of a device is reported. */
void rca_listen_update_exit(void)
{
	cancel_work_sync(&update_nets);
	unregister_pernet_subsys(&listen_net_ops);
	destroy_workqueue(listen_wq);
}
