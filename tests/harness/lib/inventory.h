/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * Resources that the module and all RDMA devices have in use. They must be the same after a test.
 */
#ifndef INVENTORY_H
#define INVENTORY_H

#include "limits.h"

#define INVENTORY_TEXT 2048

/**
 * struct inventory - resources in use
 * @used: use of each limited resource by all contexts of root
 * @references: references of the module
 * @resources: QPs, CQs, MRs and so on of all RDMA devices, as "rdma resource" prints them
 */
struct inventory {
	uint32_t used[RING_PAGES + 1];
	int references;
	char resources[INVENTORY_TEXT];
};

void inventory_take(struct inventory *inventory);
/* Wait until the resources are those of @before. Destroyed ids may still disconnect for a while. */
void inventory_await(const struct inventory *before);

#endif /* INVENTORY_H */
