// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * Init and exit of the module that takes the place of rdma_ucm: the misc device rdma_cm, the
 * ib_client by whose name librdmacm asks ib_core for the device, and the sysctl.
 *
 * Locking: none.
 */
#undef pr_fmt
#define pr_fmt(fmt) KBUILD_MODNAME ": " fmt

#include "ucm/ucm.h"

#include <linux/device.h>
#include <linux/miscdevice.h>
#include <linux/module.h>
#include <linux/sysctl.h>
#include <linux/sysfs.h>
#include <net/net_namespace.h>
#include <rdma/ib_verbs.h>
#include <rdma/rdma_netlink.h>

#include "ctx/ctx.h"
#include "lib/compat.h"

MODULE_DESCRIPTION("The device of rdma_ucm over rdma_cm_alt, for programs with any librdmacm");
MODULE_AUTHOR("The rdma_cm_alt authors");
MODULE_LICENSE("Dual BSD/GPL");
MODULE_ALIAS_RDMA_CLIENT("rdma_cm");
RCA_IMPORT();

static ssize_t abi_version_show(struct device *dev, struct device_attribute *attr, char *buf)
{
	return sysfs_emit(buf, "%d\n", RDMA_USER_CM_ABI_VERSION);
}
static DEVICE_ATTR_RO(abi_version);

static struct attribute *ucm_attrs[] = {
	&dev_attr_abi_version.attr,
	NULL
};
ATTRIBUTE_GROUPS(ucm);

static struct miscdevice ucm_misc = {
	.minor = MISC_DYNAMIC_MINOR,
	.name = "rdma_cm",
	.nodename = "infiniband/rdma_cm",
	.fops = &rca_ucm_fops,
	.mode = 0666,
	.groups = ucm_groups,
};

static int get_nl_info(struct ib_client_nl_info *res)
{
	res->abi = RDMA_USER_CM_ABI_VERSION;
	res->cdev = ucm_misc.this_device;
	return 0;
}

static struct ib_client ucm_client = {
	.name = "rdma_cm",
	.get_global_nl_info = get_nl_info,
};

/* Kernels before 6.6 look for the empty entry at the end. */
static struct ctl_table ucm_sysctls[] = {
	{
		.procname = "max_backlog",
		.data = &rca_ucm_max_backlog,
		.maxlen = sizeof(rca_ucm_max_backlog),
		.mode = 0644,
		.proc_handler = proc_dointvec,
	},
	{}
};

static struct ctl_table_header *ucm_sysctl;

static int __init ucm_init(void)
{
	int ret;

	ret = rca_misc_register(&ucm_misc);
	if (ret == -EEXIST)
		pr_err("there is a /dev/infiniband/rdma_cm already; unload rdma_ucm before\n");
	if (ret)
		return ret;
	ucm_sysctl = register_net_sysctl_sz(&init_net, "net/rdma_ucm", ucm_sysctls, 1);
	if (!ucm_sysctl && IS_ENABLED(CONFIG_SYSCTL)) {
		ret = -ENOMEM;
		goto err_misc;
	}
	ret = ib_register_client(&ucm_client);
	if (ret)
		goto err_sysctl;
	return 0;

err_sysctl:
	unregister_net_sysctl_table(ucm_sysctl);
err_misc:
	misc_deregister(&ucm_misc);
	return ret;
}

/* No file is open. Ids that wait for an answer of their peer are the engine's alone. */
static void __exit ucm_exit(void)
{
	ib_unregister_client(&ucm_client);
	unregister_net_sysctl_table(ucm_sysctl);
	misc_deregister(&ucm_misc);
}

module_init(ucm_init);
module_exit(ucm_exit);
