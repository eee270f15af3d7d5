/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * The files in debugfs by which a test controls adapters, links and the subnet manager.
 */
#ifndef HCA_KNOBS_H
#define HCA_KNOBS_H

struct hca_device;

void hca_knobs_init(void);
void hca_knobs_exit(void);
void hca_knobs_add_device(struct hca_device *dev);
void hca_knobs_remove_device(struct hca_device *dev);

#endif /* HCA_KNOBS_H */
