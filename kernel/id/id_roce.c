// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * GID type and type of service of an id. Options of the id take precedence over the program's
 * defaults for ports, and these over the settings of the port.
 *
 * Locking: rca_id.op.
 */
#include <linux/slab.h>
#include <linux/string.h>
#include <rdma/ib_user_ioctl_verbs.h>

#include "id/id.h"
#include "transport/devices.h"
#include "transport/port_sysfs.h"

/**
 * struct rca_defaults - defaults of a program for ports
 * @count: number of entries in @port
 * @port: defaults of a port
 */
struct rca_defaults {
	u32 count;
	struct rdma_cm_alt_port_default port[];
};

static int check_gid_type(u8 type)
{
	return type == IB_UVERBS_GID_TYPE_ROCE_V1 || type == IB_UVERBS_GID_TYPE_ROCE_V2 ? 0 :
											 -EINVAL;
}

static enum ib_gid_type to_ib_gid_type(u8 type)
{
	return type == IB_UVERBS_GID_TYPE_ROCE_V1 ? IB_GID_TYPE_ROCE : IB_GID_TYPE_ROCE_UDP_ENCAP;
}

/**
 * rca_id_set_gid_type() - set option RDMA_CM_ALT_OPTION_GID_TYPE
 * @id: the id
 * @type: enum ib_uverbs_gid_type: RoCE v1 or v2
 *
 * Context: Process context. Expects @id->op to be held by the caller.
 * Return: 0; -EINVAL if @type is another one or the id has a device; -ENOMEM.
 */
int rca_id_set_gid_type(struct rca_id *id, u8 type)
{
	struct rca_opts *opts;

	lockdep_assert_held(&id->op);
	if (check_gid_type(type) || id->dev)
		return -EINVAL;
	opts = rca_id_need_opts(id, GFP_KERNEL_ACCOUNT);
	if (!opts)
		return -ENOMEM;
	opts->gid_type = type;
	return 0;
}

/**
 * rca_id_set_port_defaults() - set option RDMA_CM_ALT_OPTION_PORT_DEFAULTS
 * @id: the id
 * @val: array of struct rdma_cm_alt_port_default
 * @len: its length in bytes; 0 removes the defaults
 *
 * Context: Process context. Sleeps. Expects @id->op to be held by the caller.
 * Return: 0; -EINVAL if length or values are wrong or the id has a device; -ENOMEM.
 */
int rca_id_set_port_defaults(struct rca_id *id, const void *val, u32 len)
{
	const struct rdma_cm_alt_port_default *port = val;
	u32 count = len / sizeof(*port), i;
	struct rca_defaults *defaults;
	struct rca_opts *opts;

	lockdep_assert_held(&id->op);
	if (len % sizeof(*port) || id->dev)
		return -EINVAL;
	for (i = 0; i < count; i++)
		if (check_gid_type(port[i].gid_type) ||
		    memchr_inv(port[i].__reserved, 0, sizeof(port[i].__reserved)))
			return -EINVAL;
	opts = rca_id_need_opts(id, GFP_KERNEL_ACCOUNT);
	if (!opts)
		return -ENOMEM;
	defaults = kmalloc(struct_size(defaults, port, count), GFP_KERNEL_ACCOUNT);
	if (!defaults)
		return -ENOMEM;
	defaults->count = count;
	memcpy(defaults->port, val, len);
	kfree(opts->defaults);
	opts->defaults = defaults;
	return 0;
}

static const struct rdma_cm_alt_port_default *find_default(const struct rca_id *id,
							   const struct rca_device *dev, u32 port)
{
	const struct rca_defaults *defaults = rca_id_opts(id)->defaults;
	u32 i;

	for (i = 0; defaults && i < defaults->count; i++)
		if (defaults->port[i].ibdev_index == dev->ibdev->index &&
		    defaults->port[i].port_num == port)
			return &defaults->port[i];
	return NULL;
}

/**
 * rca_id_gid_type() - get the type of the GID that an id uses on a port
 * @id: the id
 * @dev: the device
 * @port: the port
 *
 * Context: Process context. Expects @id->op to be held by the caller.
 * Return: the type.
 */
enum ib_gid_type rca_id_gid_type(const struct rca_id *id, const struct rca_device *dev, u32 port)
{
	const struct rdma_cm_alt_port_default *preset;
	u8 type = rca_id_opts(id)->gid_type;

	if (type)
		return to_ib_gid_type(type);
	preset = find_default(id, dev, port);
	return preset ? to_ib_gid_type(preset->gid_type) : rca_port_sysfs_gid_type(dev->conf, port);
}

/**
 * rca_id_tos() - get the type of service of an id
 * @id: the id
 *
 * Context: Process context. Expects @id->op to be held by the caller.
 * Return: the type of service; also 0 if it was not set and the id has no device yet.
 */
u8 rca_id_tos(const struct rca_id *id)
{
	const struct rca_opts *opts = rca_id_opts(id);
	const struct rdma_cm_alt_port_default *preset;

	if (opts->tos_set || !id->dev)
		return opts->tos;
	preset = find_default(id, id->dev, id->port_num);
	return preset ? preset->tos : rca_port_sysfs_tos(id->dev->conf, id->port_num);
}
