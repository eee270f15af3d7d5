/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * The rig of questions about InfiniBand (groups with ON_IB): the adapters hca0 and hca1 of
 * tests/fabric/hca, ib0 and ib1 on them, and a child of ib0 in the partition 0x8001.
 */
#ifndef IB_H
#define IB_H

#include "steps.h"

#include <infiniband/ib.h>
#include <infiniband/sa.h>

#define IB_HERE "10.8.0.1"	/* on ib0 */
#define IB_HERE6 "fd00:8::1"
#define IB_THERE "10.8.0.2"	/* on ib1 */
#define IB_PKEY_HERE "10.8.2.1"	/* on the child */
#define IB_NOBODY "10.8.0.97"	/* a neighbour on ib0 that does not answer */

/* The first GID of hcaN. */
union ibv_gid ib_gid(int hca);
/* "here", "there", "none" or "other". */
const char *ib_gid_name(const union ibv_gid *gid, const union ibv_gid *here,
			const union ibv_gid *there);
/* An AF_IB address; valid until the 16th next call. NULL is the wildcard. */
struct sockaddr *ib_at(const union ibv_gid *gid, uint64_t sid, uint64_t mask);
/* Write to a debugfs file of the adapters. */
void ib_knob(const char *name, const char *value);
/* Whether ours may answer rdma_resolve_route() from its cache, in this network namespace. */
void ib_keep_paths(bool keep);
void ib_path_answer(const char *check, struct rdma_cm_id *id);
/* The path of an id as RDMA_OPTION_IB_PATH has it. */
struct ibv_path_data ib_path_data(struct rdma_cm_id *id);

#endif /* IB_H */
