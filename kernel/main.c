// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * Init and exit of the module, and the callbacks from lower layers into higher ones.
 *
 * Locking: none.
 */
#include <linux/module.h>

#include "chardev.h"
#include "connect/cm_event.h"
#include "device/devices.h"
#include "event/events.h"
#include "id/id.h"
#include "id/timing_net.h"
#include "id/window_table.h"
#include "ip/neigh_wait.h"
#include "listen/listen_update.h"
#include "listen/listeners.h"
#include "listen/req_handler.h"
#include "log/failure_log.h"
#include "netlink/netlink.h"
#include "ops/mcast.h"
#include "ops/shutdown.h"
#include "ops/teardown.h"
#include "port/porttable.h"
#include "resolve/path_cache.h"
#include "resolve/path_query.h"
#include "transport/group.h"
#include "transport/group_ib.h"
#include "transport/transport_ib.h"
#include "transport/transport_iw.h"
#include "transport/transport_iw_connect.h"
#include "trunk/link.h"
#include "trunk/open.h"
#include "trunk/peers.h"
#include "trunk/trunk.h"
#include "trunk_conn/transport_trunk.h"

static const struct rca_tp_upcalls upcalls = {
	.event = rca_cm_event,
	.request = rca_req_handler,
	.joined = rca_mcast_joined,
	.request_for = rca_req_handler_for,
};

static void device_removed(struct rca_device *dev)
{
	rca_listeners_device_removed(dev);	/* no new children from here on */
	rca_teardown_device(dev);
	rca_trunk_unlisten(dev);		/* no new trunks from here on */
	rca_open_end_device(dev);
	rca_peers_forget_device(dev->serial);
}

static const struct rca_devices_ops devices_ops = {
	.removed = device_removed,
	.port_changed = rca_open_port_changed,
	.changed = rca_listen_devices_changed,
};

static int __init rca_init(void)
{
	int ret;

	rca_tp_ib_init(&upcalls);
	rca_tp_iw_init(&upcalls);
	rca_tp_trunk_init(&upcalls);
	ret = rca_users_init();
	if (ret)
		return ret;
	ret = rca_iw_connect_init();
	if (ret)
		goto err_users;
	ret = rca_events_init();
	if (ret)
		goto err_iw;
	ret = rca_log_init();
	if (ret)
		goto err_events;
	ret = rca_timing_net_init();
	if (ret)
		goto err_log;
	ret = rca_ports_init();
	if (ret)
		goto err_timing;
	ret = rca_windows_init();
	if (ret)
		goto err_ports;
	ret = rca_neigh_init();
	if (ret)
		goto err_window;
	ret = rca_path_cache_init();
	if (ret)
		goto err_neigh;
	ret = rca_path_query_init();
	if (ret)
		goto err_paths;
	ret = rca_peers_init();
	if (ret)
		goto err_queries;
	ret = rca_links_init();
	if (ret)
		goto err_peers;
	ret = rca_trunks_init(&rca_tp_trunk_upcalls, rca_open_work);
	if (ret)
		goto err_links;
	ret = rca_ids_init();
	if (ret)
		goto err_trunks;
	ret = rca_group_init();
	if (ret)
		goto err_ids;
	ib_sa_register_client(&rca_sa_client);
	ret = rca_netwatch_init();
	if (ret)
		goto err_sa;
	ret = rca_listen_update_init();
	if (ret)
		goto err_netwatch;
	ret = rca_devices_init(&devices_ops);
	if (ret)
		goto err_listen;
	ret = rca_netlink_init();
	if (ret)
		goto err_devices;
	ret = rca_chardev_init();
	if (ret)
		goto err_netlink;
	rca_nl_allow_dumps();
	return 0;

err_netlink:
	rca_netlink_exit();
err_devices:
	rca_devices_exit();
err_listen:
	rca_listen_update_exit();
err_netwatch:
	rca_netwatch_exit();
err_sa:
	ib_sa_unregister_client(&rca_sa_client);	/* waits for callbacks */
	rca_group_exit();
err_ids:
	rca_ids_exit();
err_trunks:
	rca_trunks_exit();
err_links:
	rca_links_exit();
err_peers:
	rca_peers_exit();
err_queries:
	rca_path_query_exit();
err_paths:
	rca_path_cache_exit();
err_neigh:
	rca_neigh_exit();
err_window:
	rca_windows_exit();
err_ports:
	rca_ports_exit();
err_timing:
	rca_timing_net_exit();
err_log:
	rca_log_exit();
err_events:
	rca_events_exit();
err_iw:
	rca_iw_connect_exit();
err_users:
	rca_users_exit();
	return ret;
}

static void __exit rca_exit(void)
{
	rca_chardev_exit();
	rca_shutdown_exit();
	rca_netlink_exit();
	rca_devices_exit();
	rca_listen_update_exit();
	rca_netwatch_exit();
	ib_sa_unregister_client(&rca_sa_client);	/* waits for callbacks */
	rca_group_exit();
	rca_ids_exit();
	rca_trunks_exit();
	rca_links_exit();
	rca_peers_exit();
	rca_path_query_exit();
	rca_path_cache_exit();
	rca_neigh_exit();
	rca_windows_exit();
	rca_ports_exit();
	rca_timing_net_exit();
	rca_log_exit();
	rca_events_exit();
	rca_iw_connect_exit();
	rca_users_exit();
}

module_init(rca_init);
module_exit(rca_exit);
