/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* Structs of the kernel's ABI turned into those of libibverbs. */
#ifndef RCL_MARSHAL_H
#define RCL_MARSHAL_H

#include <infiniband/sa.h>
#include <infiniband/verbs.h>
#include <rdma/rdma_cm_alt.h>

/**
 * rcl_path_from_kernel - a path record
 * @dst: as programs know it
 * @src: the record as the wire has it, with flags
 */
void rcl_path_from_kernel(struct ibv_sa_path_rec *dst,
			  const struct ib_path_rec_data *src);

/**
 * rcl_ah_from_kernel - address handle attributes
 * @dst: as libibverbs knows them
 * @src: as the kernel knows them
 */
void rcl_ah_from_kernel(struct ibv_ah_attr *dst,
			const struct ib_uverbs_ah_attr *src);

/**
 * rcl_qp_attr_from_kernel - QP attributes, all but qp_state
 * @dst: as libibverbs knows them
 * @src: as the kernel knows them
 */
void rcl_qp_attr_from_kernel(struct ibv_qp_attr *dst,
			     const struct ib_uverbs_qp_attr *src);

#endif /* RCL_MARSHAL_H */
