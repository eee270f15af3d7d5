// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * Init and exit of the module of trunks, and the operations that the engine calls.
 *
 * Locking: none.
 */
#include "trunk/trunk.h"

#include <linux/build_bug.h>
#include <linux/module.h>
#include <linux/notifier.h>
#include <linux/random.h>

#include "transport/transport.h"

static_assert(RCA_HELLO_LEN <= RCA_RTU_DATA_MAX);

static void *trunk_create(const struct rca_peer_key *key, void *owner)
{
	return rca_conn_create(key, owner);
}

static u8 trunk_tell(struct rca_device *dev, const struct rca_peer_key *key, u8 *data)
{
	rca_open_listen(dev);
	return rca_peers_tell(key, dev, data);
}

static bool trunk_heard(const struct rca_peer_key *key, const void *data, size_t len)
{
	bool is_hello = rca_peers_hear(key, data, len);

	rca_open_heard(key, data, len);
	return is_hello;
}

static void trunk_device_removed(struct rca_device *dev)
{
	rca_service_unlisten(dev);	/* no new trunks from here on */
	rca_open_end_device(dev);
	rca_peers_forget(dev->serial);
}

/* The next peer of a walk, with the trunk to it. */
static bool trunk_peers_next(struct rhashtable_iter *iter, struct rca_trunk_peer *peer)
{
	if (!rca_peers_next(iter, peer))
		return false;
	rca_trunk_describe(peer);
	return true;
}

static const struct rca_trunk_ops ops = {
	.tp = &rca_tp_trunk,
	.create = trunk_create,
	.tell = trunk_tell,
	.heard = trunk_heard,
	.requested = rca_open_requested,
	.device_removed = trunk_device_removed,
	.port_changed = rca_open_port_changed,
	.peers_walk = rca_peers_walk,
	.peers_next = trunk_peers_next,
};

/* The machine has a generation ID, which has changed. The kernel has new random numbers already. */
static int machine_copied(struct notifier_block *block, unsigned long action, void *data)
{
	rca_peers_renew();
	rca_open_separate_all();
	return NOTIFY_DONE;
}

static struct notifier_block copies = { .notifier_call = machine_copied };

static int __init trunk_init(void)
{
	int ret;

	rca_conn_init(rca_trunks_upcalls());
	ret = rca_peers_init();
	if (ret)
		return ret;
	ret = rca_links_init();
	if (ret)
		goto err_peers;
	ret = rca_trunk_table_init(rca_open_work, rca_conn_timer_work);
	if (ret)
		goto err_links;
	ret = register_random_vmfork_notifier(&copies);
	if (ret)
		goto err_table;
	rca_link_paths_init();
	WRITE_ONCE(rca_trunks, true);
	rca_trunks_register(&ops);
	return 0;

err_table:
	rca_trunk_table_exit();
err_links:
	rca_links_exit();
err_peers:
	rca_peers_exit();
	return ret;
}

/*
 * No connection with an owner is left: each one has a reference of the module. Trunks are closed as
 * by the removal of their device.
 */
static void __exit trunk_exit(void)
{
	rca_trunks_unregister();
	unregister_random_vmfork_notifier(&copies);
	WRITE_ONCE(rca_trunks, false);
	rca_service_exit();		/* no new trunks from here on */
	rca_open_end_all();
	rca_trunk_table_wait();
	rca_link_paths_exit();
	rca_trunk_table_exit();
	rca_links_exit();
	rca_peers_exit();
}

module_init(trunk_init);
module_exit(trunk_exit);
