// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
#include "own_device.h"

#include "ktap.h"

void add_own_device(const char *type)
{
	char command[512];

	snprintf(command, sizeof(command),
		 "rdma link delete rxe2 2>/dev/null; ip link delete d2 2>/dev/null;"
		 "ip link add d2 type %s && ip link set d2 up &&"
		 "ip addr add " OWN_ADDR "/24 dev d2 &&"
		 "{ [ ! -e /sys/class/net/d3 ] || { ip link set d3 up &&"
		 "ip neigh add " OWN_SILENT " lladdr 02:00:00:00:00:99 dev d2; }; } &&"
		 "rdma link add rxe2 type rxe netdev d2", type);
	if (system(command))
		ktap_skip("cannot make a device");
}

void remove_own_device(void)
{
	EXPECT_EQ(system("timeout 40 rdma link delete rxe2"), 0);
}

void readd_own_device(void)
{
	EXPECT_EQ(system("rdma link add rxe2 type rxe netdev d2"), 0);
}

void delete_own_device(void)
{
	EXPECT_EQ(system("rdma link delete rxe2 2>/dev/null; ip link delete d2"), 0);
}
