/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* Conversion of structs of the kernel's ABI to those of libibverbs. */
#ifndef RCL_MARSHAL_H
#define RCL_MARSHAL_H

#include <infiniband/sa.h>
#include <infiniband/verbs.h>
#include <rdma/rdma_cm_alt.h>

/**
 * rcl_path_from_kernel - convert a path record
 * @dst: the record as librdmacm has it
 * @src: the packed record of IBTA, with flags
 */
void rcl_path_from_kernel(struct ibv_sa_path_rec *dst,
			  const struct ib_path_rec_data *src);

/**
 * rcl_ah_from_kernel - convert address handle attributes
 * @dst: those of libibverbs
 * @src: those of the kernel
 */
void rcl_ah_from_kernel(struct ibv_ah_attr *dst,
			const struct ib_uverbs_ah_attr *src);

/**
 * rcl_qp_attr_from_kernel - convert QP attributes, except qp_state
 * @dst: those of libibverbs
 * @src: those of the kernel
 */
void rcl_qp_attr_from_kernel(struct ibv_qp_attr *dst,
			     const struct ib_uverbs_qp_attr *src);

#endif /* RCL_MARSHAL_H */
