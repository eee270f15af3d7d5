// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * Init and exit of the module, and the callbacks from lower layers into higher ones.
 *
 * Locking: none.
 */
#include <linux/module.h>

#include "cm/cm.h"
#include "diag/diag.h"
#include "event/queue.h"
#include "id/id.h"
#include "net/net.h"
#include "transport/transport.h"
#include "user/user.h"

static void device_removed(struct rca_device *dev)
{
	rca_listeners_device_removed(dev);	/* no new children from here on */
	rca_teardown_device(dev);
}

static const struct rca_tp_upcalls upcalls = {
	.event = rca_cm_event,
	.request = rca_req_handler,
	.joined = rca_mcast_joined,
	.request_for = rca_req_handler_for,
	.device_removed = device_removed,
	.devices_changed = rca_listen_devices_changed,
	.trunk_barred = rca_nl_trunk_barred,
};

static int __init init_transports(void)
{
	rca_tp_upcalls = &upcalls;
	return rca_iw_connect_init();
}

/* Teaches lockdep the order of the locks of "DOC: Locking" when the module is loaded. */
static void __init lockdep_prime(void)
{
	struct rca_queue *queue;
	struct rca_ctx *ctx;
	struct rca_id *id;
	unsigned long flags;

	if (!IS_ENABLED(CONFIG_LOCKDEP))
		return;
	ctx = rca_ctx_create();
	if (IS_ERR(ctx))
		return;
	queue = rca_queue_create(ctx, sizeof(struct rdma_cm_alt_event), true);
	if (IS_ERR(queue))
		goto out_put_ctx;
	id = rca_id_create(ctx, queue, 0, 0, 0);
	if (IS_ERR(id))
		goto out_put_queue;
	mutex_lock(&id->op);
	mutex_lock(&queue->consume);
	spin_lock_irqsave(&id->lock, flags);
	spin_lock(&queue->lock);
	spin_unlock(&queue->lock);
	spin_unlock_irqrestore(&id->lock, flags);
	mutex_unlock(&queue->consume);
	mutex_unlock(&id->op);
	mutex_lock(&queue->reading);
	mutex_lock(&queue->consume);
	mutex_unlock(&queue->consume);
	mutex_unlock(&queue->reading);
	rca_id_free_unpublished(id);
out_put_queue:
	rca_queue_put(queue);
out_put_ctx:
	rca_ctx_put(ctx);
}

static int __init init_ids(void)
{
	int ret = rca_ids_init();

	if (!ret)
		lockdep_prime();
	return ret;
}

static int __init init_sa(void)
{
	ib_sa_register_client(&rca_sa_client);
	return 0;
}

static void exit_sa(void)
{
	ib_sa_unregister_client(&rca_sa_client);	/* waits for callbacks */
}

/* The parts of the module, in the order of init; exit is in reverse order. */
static const struct {
	int (*init)(void);
	void (*exit)(void);
} parts[] __refconst = {
	{ rca_users_init, rca_users_exit },
	{ init_transports, rca_iw_connect_exit },
	{ rca_events_init, rca_events_exit },
	{ rca_report_init, rca_report_exit },
	{ rca_timing_net_init, rca_timing_net_exit },
	{ rca_ports_init, rca_ports_exit },
	{ rca_windows_init, rca_windows_exit },
	{ rca_path_cache_init, rca_path_cache_exit },
	{ rca_path_query_init, rca_path_query_exit },
	{ init_ids, rca_ids_exit },
	{ rca_group_init, rca_group_exit },
	{ init_sa, exit_sa },
	{ rca_netwatch_init, rca_neigh_exit },
	{ rca_listen_update_init, rca_listen_update_exit },
	{ rca_devices_init, rca_devices_exit },
	{ rca_netlink_init, rca_netlink_exit },
	{ NULL, rca_shutdown_exit },
	{ rca_chardev_init, rca_chardev_exit },
};

static void exit_parts(unsigned int count)
{
	while (count--)
		parts[count].exit();
}

static int __init rca_init(void)
{
	unsigned int i;
	int ret;

	for (i = 0; i < ARRAY_SIZE(parts); i++) {
		ret = parts[i].init ? parts[i].init() : 0;
		if (ret) {
			exit_parts(i);
			return ret;
		}
	}
	rca_nl_allow_dumps();
	return 0;
}

static void __exit rca_exit(void)
{
	exit_parts(ARRAY_SIZE(parts));
}

module_init(rca_init);
module_exit(rca_exit);
