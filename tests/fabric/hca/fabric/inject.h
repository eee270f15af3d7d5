/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * A file that puts MADs on the wire which no port has sent.
 */
#ifndef HCA_INJECT_H
#define HCA_INJECT_H

#include <linux/fs.h>
#include <linux/types.h>
#include <rdma/ib_mad.h>

/**
 * struct hca_record - a MAD for QP1, as programs write and read it
 * @slid: LID that it comes from
 * @dlid: LID that it goes to
 * @mad: it
 */
struct hca_record {
	__be16 slid;
	__be16 dlid;
	u8 mad[IB_MGMT_MAD_SIZE];
};

extern const struct file_operations hca_inject_fops;

#endif /* HCA_INJECT_H */
