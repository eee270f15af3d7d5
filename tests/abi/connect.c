// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/* A connection's begin: request, reply, ready to use, with everything that travels along. */
#include <string.h>

#include "rca_test.h"

TEST(connect_completes)
{
	struct pair p;

	pair_connect(&p);
	EXPECT(!event_waits(p.cq));
	EXPECT(!event_waits(p.lq));
}

KTAP_MAIN
