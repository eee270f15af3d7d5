// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * Wildcard listeners when devices change: each listens on all devices that serve its namespace.
 *
 * A namespace may have tens of thousands of wildcard listeners, and its owner may change its
 * network devices at any rate. A change therefore causes work only in the namespaces that it
 * is of, and the work visits listeners only if a device begins or ceases to serve the
 * namespace, a few at a time.
 *
 * Locking: rca_listen_net.mutex, see listeners.c; the list of namespaces is walked under RCU.
 */
#undef pr_fmt
#define pr_fmt(fmt) KBUILD_MODNAME ": " fmt

#include "cm/listen_update.h"

#include <linux/err.h>

#include "cm/listeners.h"
#include "transport/devices.h"

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

static void release_a_while(struct rca_listen_net *ln)
{
	mutex_unlock(&ln->mutex);
	cond_resched();
	mutex_lock(&ln->mutex);
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
		if (++count % BATCH == 0)
			release_a_while(ln);
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

/* Returns false if it is too early. */
static bool leave_device(struct rca_listen_net *ln, struct rca_device *dev)
{
	lockdep_assert_held(&ln->mutex);
	if (!ln->leaving || time_before(jiffies, ln->leave_at))
		return false;
	rca_set_listens_on(ln, dev, 0);
	return update_all(ln, dev, update_leave);
}

/**
 * update_device() - start or end listening on a device, as it serves the namespace or not
 * @ln: the namespace
 * @dev: the device
 * @unserved: set if listening on the device is to end, but not yet
 *
 * Return: false if some listeners could not start.
 */
static bool update_device(struct rca_listen_net *ln, struct rca_device *dev, bool *unserved)
{
	bool all = true;

	mutex_lock(&ln->mutex);
	if (rca_listen_net_serves(ln, dev))
		all = join_device(ln, dev);
	else if (rca_listens_on(ln, dev) & RCA_LISTENS_SOME && !leave_device(ln, dev))
		*unserved = true;
	mutex_unlock(&ln->mutex);
	return all;
}

static void forget_removed_devices(struct rca_listen_net *ln)
{
	unsigned long serial;
	void *entry;

	mutex_lock(&ln->mutex);
	xa_for_each(&ln->devices, serial, entry)
		if (!rca_device_exists(serial))
			xa_erase(&ln->devices, serial);
	mutex_unlock(&ln->mutex);
}

static void update_work(struct work_struct *work)
{
	struct rca_listen_net *ln =
		container_of(to_delayed_work(work), struct rca_listen_net, update);
	struct rca_device *dev = NULL;
	bool all = true, unserved = false;

	forget_removed_devices(ln);
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
