/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* Binds the ephemeral ports, for tests of exhaustion. */
#ifndef RCA_PORTS_FIXTURE_H
#define RCA_PORTS_FIXTURE_H
#include <kunit/test.h>
#include <linux/mm.h>
#include <linux/sched.h>
#include <linux/slab.h>
#include <net/ip.h>
#include <rdma/rdma_user_cm.h>

#include "fake/addresses.h"
#include "net/net.h"

/* Binds all ephemeral ports of an address, except the last @reserved. */
static inline struct rca_bind *fill_range(struct kunit *test, const char *text, int reserved,
					  int *count)
{
	union rca_addr *addr = rca_test_addr(test, text, 0);
	struct rca_bind *binds;
	int low, high, i;

	inet_get_local_port_range(&init_net, &low, &high);
	*count = high - low + 1 - reserved;
	binds = kvcalloc(*count, sizeof(*binds), GFP_KERNEL);
	KUNIT_ASSERT_NOT_NULL(test, binds);
	for (i = 0; i < *count; i++) {
		rca_addr_set_port(addr, cpu_to_be16(low + i));
		binds[i].reuse = true;
		binds[i].afonly = true;
		if (rca_ports_bind(&binds[i], &init_net, RDMA_PS_TCP, addr))
			KUNIT_FAIL(test, "port %d is in use", low + i);
		if (i % 256 == 0)
			cond_resched();
	}
	return binds;
}

static inline void empty_range(struct rca_bind *binds, int count)
{
	while (count--)
		rca_ports_unbind(&binds[count]);
	kvfree(binds);
}

#endif /* RCA_PORTS_FIXTURE_H */
