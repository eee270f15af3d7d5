/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* Settings of ports in sysfs. */
#ifndef RCA_PORT_SYSFS_H
#define RCA_PORT_SYSFS_H

#include <linux/types.h>
#include <rdma/ib_verbs.h>

struct rca_port_sysfs;

struct rca_port_sysfs *rca_port_sysfs_create(struct ib_device *ibdev);
void rca_port_sysfs_destroy(struct rca_port_sysfs *conf);
enum ib_gid_type rca_port_sysfs_gid_type(const struct rca_port_sysfs *conf, u32 port);
u8 rca_port_sysfs_tos(const struct rca_port_sysfs *conf, u32 port);

#endif /* RCA_PORT_SYSFS_H */
