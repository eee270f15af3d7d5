// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/* GID type and type of service of an id: options, defaults of the program, settings of the port. */
#include "rca_test.h"

#define V1 IB_UVERBS_GID_TYPE_ROCE_V1
#define V2 IB_UVERBS_GID_TYPE_ROCE_V2
#define SETTINGS "/sys/class/infiniband/rxe0/rdma_cm_alt/1/"

typedef struct rdma_cm_alt_port_default preset_t;

static int set_alt_option(int ctx, uint32_t id, uint32_t name, const void *val, uint32_t len)
{
	return rca_set_option(ctx, id, RDMA_CM_ALT_OPTION, name, val, len);
}

static int set_type(int ctx, uint32_t id, uint8_t type)
{
	return set_alt_option(ctx, id, RDMA_CM_ALT_OPTION_GID_TYPE, &type, 1);
}

static int set_presets(int ctx, uint32_t id, const preset_t *presets, uint32_t count)
{
	return set_alt_option(ctx, id, RDMA_CM_ALT_OPTION_PORT_DEFAULTS, presets,
			      count * sizeof(*presets));
}

static uint8_t get_tos(int ctx, uint32_t id)
{
	uint32_t len = 1;
	uint8_t tos = 0;

	EXPECT_EQ(rca_get_option(ctx, id, RDMA_OPTION_ID, RDMA_OPTION_ID_TOS, &tos, &len), 0);
	return tos;
}

/* The index of the device that has HERE. */
static uint32_t get_index(int ctx)
{
	struct rdma_cm_alt_route route;

	EXPECT_EQ(rca_query(ctx, get_bound(ctx, -1, HERE, 0), &route), 0);
	return route.ibdev_index;
}

static void write_setting(const char *name, const char *value)
{
	char path[128];
	FILE *file;

	snprintf(path, sizeof(path), SETTINGS "%s", name);
	file = fopen(path, "w");
	EXPECT(file);
	fputs(value, file);
	EXPECT_EQ(fclose(file), 0);
}

TEST(gid_type_is_kept)
{
	int ctx = get_ctx();
	uint32_t id = get_id(ctx, -1, 0), len = 1;
	uint8_t type = 0;

	EXPECT_EQ(rca_get_option(ctx, id, RDMA_CM_ALT_OPTION, RDMA_CM_ALT_OPTION_GID_TYPE, &type,
				 &len), -ENODATA);
	EXPECT_EQ(set_type(ctx, id, V2), 0);
	EXPECT_EQ(rca_get_option(ctx, id, RDMA_CM_ALT_OPTION, RDMA_CM_ALT_OPTION_GID_TYPE, &type,
				 &len), 0);
	EXPECT_EQ(type, V2);
	EXPECT_EQ(len, 1);
}

TEST(what_is_no_gid_type_is_refused)
{
	int ctx = get_ctx();
	uint32_t id = get_id(ctx, -1, 0);
	uint32_t wide = V2;

	EXPECT_EQ(set_type(ctx, id, 0), -EINVAL);
	EXPECT_EQ(set_type(ctx, id, 3), -EINVAL);
	EXPECT_EQ(set_alt_option(ctx, id, RDMA_CM_ALT_OPTION_GID_TYPE, &wide, 4), -EINVAL);
	EXPECT_EQ(set_alt_option(ctx, id, 99, &wide, 1), -ENOSYS);
	EXPECT_EQ(rca_get_option(ctx, id, RDMA_CM_ALT_OPTION, RDMA_CM_ALT_OPTION_PORT_DEFAULTS,
				 &wide, &wide), -ENOSYS);
}

TEST(defaults_are_checked)
{
	int ctx = get_ctx();
	uint32_t id = get_id(ctx, -1, 0);
	preset_t preset = { .port_num = 1, .gid_type = V2 };

	EXPECT_EQ(set_presets(ctx, id, &preset, 1), 0);
	EXPECT_EQ(set_presets(ctx, id, &preset, 0), 0);
	EXPECT_EQ(set_alt_option(ctx, id, RDMA_CM_ALT_OPTION_PORT_DEFAULTS, &preset,
				 sizeof(preset) - 1), -EINVAL);
	preset.__reserved[5] = 1;
	EXPECT_EQ(set_presets(ctx, id, &preset, 1), -EINVAL);
	preset = (preset_t){ .port_num = 1, .gid_type = 0 };
	EXPECT_EQ(set_presets(ctx, id, &preset, 1), -EINVAL);
}

TEST(they_come_before_the_device)
{
	preset_t preset = { .port_num = 1, .gid_type = V2 };
	int ctx = get_ctx();
	uint32_t id = get_bound(ctx, -1, HERE, 0), wildcard = get_bound(ctx, -1, "0.0.0.0", 0);

	EXPECT_EQ(set_type(ctx, id, V2), -EINVAL);
	EXPECT_EQ(set_presets(ctx, id, &preset, 1), -EINVAL);
	EXPECT_EQ(set_type(ctx, wildcard, V2), 0);
	EXPECT_EQ(set_presets(ctx, wildcard, &preset, 1), 0);
}

TEST(gid_type_that_the_port_lacks_is_enodev)
{
	int ctx = get_ctx();
	uint32_t id = get_id(ctx, -1, 0);
	preset_t preset = { .ibdev_index = get_index(ctx), .port_num = 1, .gid_type = V1 };

	EXPECT_EQ(set_presets(ctx, id, &preset, 1), 0);
	EXPECT_EQ(rca_bind(ctx, id, HERE, 0), -ENODEV);
	/* The option of the id takes precedence. */
	EXPECT_EQ(set_type(ctx, id, V2), 0);
	EXPECT_EQ(rca_bind(ctx, id, HERE, 0), 0);
}

TEST(type_of_service_of_id_program_and_port)
{
	int ctx = get_ctx();
	uint32_t index = get_index(ctx), id = get_id(ctx, -1, 0);
	preset_t presets[] = {
		{ .ibdev_index = index + 1000, .port_num = 1, .gid_type = V2, .tos = 1 },
		{ .ibdev_index = index, .port_num = 2, .gid_type = V2, .tos = 2 },
		{ .ibdev_index = index, .port_num = 1, .gid_type = V2, .tos = 3 },
	};
	uint8_t tos = 4;

	write_setting("default_roce_tos", "5");
	EXPECT_EQ(get_tos(ctx, id), 0);
	EXPECT_EQ(get_tos(ctx, get_bound(ctx, -1, HERE, 0)), 5);
	EXPECT_EQ(set_presets(ctx, id, presets, 3), 0);
	EXPECT_EQ(rca_bind(ctx, id, HERE, 0), 0);
	EXPECT_EQ(get_tos(ctx, id), 3);
	EXPECT_EQ(rca_set_option(ctx, id, RDMA_OPTION_ID, RDMA_OPTION_ID_TOS, &tos, 1), 0);
	EXPECT_EQ(get_tos(ctx, id), 4);
	write_setting("default_roce_tos", "0");
	EXPECT_EQ(get_tos(ctx, id), 4);
	EXPECT_EQ(get_tos(ctx, get_bound(ctx, -1, HERE, 0)), 0);
}

KTAP_MAIN
