/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * Completions that come late.
 */
#ifndef HCA_LATE_H
#define HCA_LATE_H

#include "verbs/verbs.h"

int hca_late_init(void);
void hca_late_exit(void);
void hca_late_add(struct hca_qp *qp, const struct ib_wc *wc, bool solicited);

#endif /* HCA_LATE_H */
