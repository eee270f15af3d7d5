/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* The local side of an id: address, port, device. */
#ifndef RCA_BIND_H
#define RCA_BIND_H

#include "id/id.h"

struct rdma_dev_addr;

int rca_local_set(struct rca_id *id, const union rca_addr *src, bool take_port);
int rca_local_device(struct rca_id *id, const union rca_addr *local, struct rdma_dev_addr *addr);
void rca_local_keep_link(struct rca_id *id, struct rdma_dev_addr *addr);
bool rca_local_needs_port(const struct rca_id *id);
bool rca_local_is_wildcard(const union rca_addr *addr);
int rca_local_check_family(const union rca_addr *addr);

#endif /* RCA_BIND_H */
