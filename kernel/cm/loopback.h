/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* Replacement of a loopback address by an address of a device. */
#ifndef RCA_LOOPBACK_H
#define RCA_LOOPBACK_H

#include "id/id.h"

int rca_loopback_addr(struct rca_id *id, union rca_addr *addr);

#endif /* RCA_LOOPBACK_H */
