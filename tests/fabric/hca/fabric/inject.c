// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * MADs that no port has sent. A write to the file is an array of records, each the LIDs of sender
 * and receiver and a whole MAD for QP1.
 */
#include "fabric/inject.h"

#include <linux/module.h>
#include <linux/slab.h>
#include <linux/string.h>
#include <linux/uaccess.h>

#include "fabric/fabric.h"

#define MOST	256

static int send_record(const struct hca_record *record)
{
	struct hca_packet *packet = hca_packet_new(sizeof(record->mad), GFP_KERNEL);

	if (!packet)
		return -ENOMEM;
	packet->slid = be16_to_cpu(record->slid);
	packet->dlid = be16_to_cpu(record->dlid);
	packet->pkey = IB_DEFAULT_PKEY_FULL;
	packet->src_qpn = 1;
	packet->dst_qpn = 1;
	packet->qkey = HCA_GSI_QKEY;
	/* The rules are for what ports send. */
	packet->judged = true;
	memcpy(packet->data, record->mad, sizeof(record->mad));
	hca_fabric_send(packet);
	return 0;
}

static ssize_t inject_write(struct file *file, const char __user *from, size_t len, loff_t *pos)
{
	struct hca_record *records;
	size_t i;
	int ret = 0;

	if (!len || len % sizeof(*records) || len / sizeof(*records) > MOST)
		return -EINVAL;
	records = memdup_user(from, len);
	if (IS_ERR(records))
		return PTR_ERR(records);
	for (i = 0; i < len / sizeof(*records) && !ret; i++)
		ret = send_record(&records[i]);
	kfree(records);
	return ret ?: len;
}

const struct file_operations hca_inject_fops = {
	.owner = THIS_MODULE,
	.write = inject_write,
};
