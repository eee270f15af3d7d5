// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * Connection parameters from user space: copied, checked, decoded.
 *
 * Locking: none.
 */
#include "user/ioctl_param.h"

#include <linux/kernel.h>
#include <linux/uaccess.h>

/* Largest value of a 24-bit field of a CM message. */
#define WIRE24_MAX 0xffffff

/**
 * rca_param_private_data() - copy the private data of a message from user space
 * @data: buffer of RCA_PRIVATE_DATA_MAX bytes
 * @uptr: address in user space
 * @len: length of the private data
 *
 * Context: Process context. May sleep.
 * Return: 0; -EINVAL: too long for any message; -EFAULT.
 */
int rca_param_private_data(u8 *data, u64 uptr, u32 len)
{
	if (len > RCA_PRIVATE_DATA_MAX)
		return -EINVAL;
	if (len && copy_from_user(data, u64_to_user_ptr(uptr), len))
		return -EFAULT;
	return 0;
}

/**
 * rca_param_decode() - decode the parameters of a connection
 * @conn: filled in; its private data points to @data
 * @param: the parameters from user space
 * @data: buffer of RCA_PRIVATE_DATA_MAX bytes, which must exist as long as @conn is used
 *
 * Context: Process context. May sleep.
 * Return: 0; -EINVAL: a value too large for its field, or too much private data; -EFAULT.
 */
int rca_param_decode(struct rca_tp_conn *conn, const struct rdma_cm_alt_conn_param *param,
		     u8 *data)
{
	if (param->qp_num > WIRE24_MAX || param->ece_vendor_id > WIRE24_MAX)
		return -EINVAL;
	*conn = (struct rca_tp_conn) {
		.qp_num = param->qp_num,
		.qkey = param->qkey,
		.responder_resources = param->responder_resources,
		.initiator_depth = param->initiator_depth,
		.flow_control = param->flow_control,
		.retry_count = param->retry_count,
		.rnr_retry_count = param->rnr_retry_count,
		.srq = !!param->srq,
		.ece_vendor_id = param->ece_vendor_id,
		.ece_attr_mod = param->ece_attr_mod,
		.private_data = data,
		.private_data_len = param->private_data_len,
	};
	return rca_param_private_data(data, param->private_data_uptr, param->private_data_len);
}
