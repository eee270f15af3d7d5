// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * A software InfiniBand adapter for tests: adapters on one switch with a subnet administrator, and
 * files in debugfs to inject faults. It is not part of the product.
 *
 * Do not unload rdma_rxe while this is loaded: it removes all devices with the driver number of
 * rxe, which the adapters have, too.
 */
#include <linux/module.h>

#include "fabric/fabric.h"
#include "fabric/rules.h"
#include "fabric/sa.h"
#include "hca.h"
#include "knobs.h"
#include "verbs/late.h"

static unsigned int devices = 2;
module_param(devices, uint, 0444);
MODULE_PARM_DESC(devices, "how many adapters there are at first");

static unsigned int ports = 1;
module_param(ports, uint, 0444);
MODULE_PARM_DESC(ports, "how many ports each of them has");

static int __init hca_init(void)
{
	unsigned int i;
	int ret;

	ret = hca_late_init();
	if (ret)
		return ret;
	ret = hca_fabric_init();
	if (ret) {
		hca_late_exit();
		return ret;
	}
	hca_knobs_init();
	for (i = 0; i < devices && !ret; i++)
		ret = hca_device_add(ports);
	if (ret) {
		hca_device_remove_all();
		hca_knobs_exit();
		hca_fabric_exit();
		hca_late_exit();
	}
	return ret;
}

static void __exit hca_exit(void)
{
	/* An open file holds the module, so nobody writes to "add" any more. */
	hca_device_remove_all();
	hca_knobs_exit();
	hca_fabric_exit();
	hca_late_exit();
	hca_rules_clear();
	hca_sa_forget();
	hca_sa_services_exit();
}

module_init(hca_init);
module_exit(hca_exit);

MODULE_DESCRIPTION("Software InfiniBand adapter for tests");
MODULE_LICENSE("Dual BSD/GPL");
