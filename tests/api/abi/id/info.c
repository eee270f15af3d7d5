// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/* INFO, and whether the kernel does what it says. */
#include <sys/stat.h>

#include "rca_test.h"

static struct rdma_cm_alt_info get_info(void)
{
	struct rdma_cm_alt_info info;

	memset(&info, 0xff, sizeof(info));
	info.size = sizeof(info);
	info.flags = 0;
	EXPECT_EQ(rca_call(get_ctx(), RDMA_CM_ALT_INFO, &info), 0);
	EXPECT_EQ(info.size, sizeof(info));
	EXPECT_EQ(info.flags, 0);
	return info;
}

TEST(commands_are_those_that_work)
{
	struct rdma_cm_alt_info info = get_info();
	int ctx = get_ctx();

	for (unsigned int nr = RDMA_CM_ALT_CMD_BASE; nr < RDMA_CM_ALT_CMD_END; nr++) {
		uint64_t cmd[128] = { sizeof(cmd) };
		int ret;

		/* The id 0 does not exist and the record is too short: the calls have no effect. */
		ret = rca_call(ctx, _IO(RDMA_CM_ALT_IOC_TYPE, nr), cmd);
		if (info.out_commands >> (nr - RDMA_CM_ALT_CMD_BASE) & 1)
			EXPECT(ret != -EOPNOTSUPP);
		else
			EXPECT_EQ(ret, -EOPNOTSUPP);
	}
	EXPECT_EQ(info.out_commands >> (RDMA_CM_ALT_CMD_END - RDMA_CM_ALT_CMD_BASE), 0);
}

TEST(steps_are_those_that_work)
{
	struct rdma_cm_alt_info info = get_info();

	EXPECT_EQ(info.out_resolve_steps, RDMA_CM_ALT_STEP_CREATE | RDMA_CM_ALT_STEP_BIND |
		  RDMA_CM_ALT_STEP_ADDR | RDMA_CM_ALT_STEP_ROUTE);
	EXPECT_EQ(info.out_connect_steps, info.out_resolve_steps);
}

TEST(unknown_step_is_eopnotsupp)
{
	struct rdma_cm_alt_connect connect = { .size = sizeof(connect) };
	struct rdma_cm_alt_resolve resolve = { .size = sizeof(resolve) };
	int ctx = get_ctx();

	for (int bit = 4; bit < 32; bit++) {
		connect.pipe.steps = 1U << bit;
		resolve.pipe.steps = 1U << bit;
		EXPECT_EQ(rca_call(ctx, RDMA_CM_ALT_CONNECT, &connect), -EOPNOTSUPP);
		EXPECT_EQ(rca_call(ctx, RDMA_CM_ALT_RESOLVE, &resolve), -EOPNOTSUPP);
	}
}

TEST(record_size_and_backlog)
{
	struct rdma_cm_alt_info info = get_info();

	EXPECT_EQ(info.out_record_size, sizeof(event_t));
	EXPECT_EQ(info.out_max_backlog, 1024);
}

TEST(features_that_are_built_in)
{
	struct rdma_cm_alt_info info = get_info();

	EXPECT_EQ(info.out_features, RDMA_CM_ALT_FEATURE_UD | RDMA_CM_ALT_FEATURE_AF_IB |
		  RDMA_CM_ALT_FEATURE_IB | RDMA_CM_ALT_FEATURE_IWARP | RDMA_CM_ALT_FEATURE_RING);
}

TEST(everybody_may_open_the_device)
{
	struct stat st;

	MUST(stat(DEVICE, &st));
	EXPECT_EQ(st.st_mode, S_IFCHR | 0666);
	MUST(setuid(65534));
	get_info();
}

KTAP_MAIN
