/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * Hosts on the switch that programs play: a file each, which is read and written.
 */
#ifndef HCA_HOST_H
#define HCA_HOST_H

#include <linux/types.h>
#include <rdma/ib_verbs.h>

struct dentry;
struct hca_packet;

u16 hca_host_lid(const union ib_gid *gid);
bool hca_host_receive(const struct hca_packet *packet);
void hca_host_files(struct dentry *root);

#endif /* HCA_HOST_H */
