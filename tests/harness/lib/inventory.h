/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * What the module and its devices have in use: to be the same again after a test.
 */
#ifndef INVENTORY_H
#define INVENTORY_H

#include "limits.h"

#define INVENTORY_TEXT 2048

/**
 * struct inventory - what is in use
 * @used: of each resource that is limited, by all contexts of root
 * @references: of the module
 * @resources: of all RDMA devices: QPs, CQs, MRs and so on, as "rdma resource" says
 */
struct inventory {
	uint32_t used[RING_PAGES + 1];
	int references;
	char resources[INVENTORY_TEXT];
};

void inventory_take(struct inventory *inventory);
/* Waits until nothing is left of what came since; what destroyed ids say good-bye with, too. */
void inventory_await(const struct inventory *before);

#endif /* INVENTORY_H */
