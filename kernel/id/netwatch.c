// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * Notifiers for changes of the network that affect ids: a bond that fails over to a device with
 * another hardware address, and a neighbour that gets another hardware address.
 *
 * Locking: none of its own. Network devices are reported under RTNL, neighbours in atomic context.
 * Posting an event to an id needs neither memory nor a mutex, so it is done in place.
 */
#include "id/netwatch.h"

#include <linux/netdevice.h>
#include <linux/notifier.h>
#include <net/neighbour.h>
#include <net/netevent.h>

#include "id/id.h"
#include "ip/nexthop.h"

static int netdev_event(struct notifier_block *nb, unsigned long event, void *ptr)
{
	struct net_device *ndev = netdev_notifier_info_to_dev(ptr);

	if (event == NETDEV_BONDING_FAILOVER && netif_is_bond_master(ndev))
		rca_id_netdev_changed(ndev);
	return NOTIFY_DONE;
}

static int neigh_event(struct notifier_block *nb, unsigned long event, void *ptr)
{
	if (event == NETEVENT_NEIGH_UPDATE) {
		rca_id_neigh_changed(ptr);
		rca_nexthop_neigh_changed(ptr);
	}
	return NOTIFY_DONE;
}

static struct notifier_block netdev_nb = { .notifier_call = netdev_event };
static struct notifier_block neigh_nb = { .notifier_call = neigh_event };

/* Module init: registers the notifiers, under RTNL. Returns 0 or a negative errno. */
int rca_netwatch_init(void)
{
	/* The second cannot fail. */
	return register_netdevice_notifier(&netdev_nb) ?: register_netevent_notifier(&neigh_nb);
}

/* Module exit: unregisters the notifiers, under RTNL, and waits for running ones. */
void rca_netwatch_exit(void)
{
	unregister_netevent_notifier(&neigh_nb);
	unregister_netdevice_notifier(&netdev_nb);
}
