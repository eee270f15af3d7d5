/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * Completions of the sends of RC QPs.
 */
#ifndef HCA_ACKED_H
#define HCA_ACKED_H

#include "fabric/fabric.h"
#include "verbs/verbs.h"

void hca_acked_begin(struct hca_packet *packet, struct hca_qp *qp);
enum ib_wc_status hca_acked_refused(const struct hca_packet *packet);
void hca_acked_end(struct hca_packet *packet, enum ib_wc_status status);

#endif /* HCA_ACKED_H */
