/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* Settings of the ports of a device, which its administrator makes in sysfs. */
#ifndef RCA_PORTCONF_H
#define RCA_PORTCONF_H

#include <linux/types.h>
#include <rdma/ib_verbs.h>

struct rca_portconf;

struct rca_portconf *rca_portconf_create(struct ib_device *ibdev);
void rca_portconf_destroy(struct rca_portconf *conf);
enum ib_gid_type rca_portconf_gid_type(const struct rca_portconf *conf, u32 port);
u8 rca_portconf_tos(const struct rca_portconf *conf, u32 port);
bool rca_portconf_supports(struct ib_device *ibdev, u32 port, enum ib_gid_type type);

#endif /* RCA_PORTCONF_H */
