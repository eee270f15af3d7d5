// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/* Tests of the defaults that stock sets for RoCE ports. */
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>
#include <rdma/ib_user_ioctl_verbs.h>

#include "fake/fixture.h"
#include "id/stockconf.h"

static char root[] = "/tmp/stockconf-XXXXXX";

static void put_file(const char *device, int port, const char *file, const char *text)
{
	char path[256];
	FILE *out;

	snprintf(path, sizeof(path), "%s/%s", root, device);
	mkdir(path, 0700);
	snprintf(path, sizeof(path), "%s/%s/ports", root, device);
	mkdir(path, 0700);
	snprintf(path, sizeof(path), "%s/%s/ports/%d", root, device, port);
	mkdir(path, 0700);
	snprintf(path, sizeof(path), "%s/%s/ports/%d/%s", root, device, port, file);
	out = fopen(path, "w");
	assert_non_null(out);
	fputs(text, out);
	fclose(out);
}

static int set_up_dir(void **state)
{
	strcpy(root + sizeof(root) - 7, "XXXXXX");
	assert_non_null(mkdtemp(root));
	rcl_stockconf_forget();
	set_up(state);
	fake.config_dir = root;
	return 0;
}

static int tear_down_dir(void **state)
{
	char command[64];

	snprintf(command, sizeof(command), "rm -r %s", root);
	assert_int_equal(system(command), 0);
	rcl_stockconf_forget();
	return tear_down(state);
}

#define IN_DIR(name) UNIT_TEST(name, set_up_dir, tear_down_dir)

IN_DIR(ids_get_what_stock_has)
{
	const struct rdma_cm_alt_port_default *port = (const void *)fake.private_data;
	struct rdma_event_channel *ch;
	struct rdma_cm_id *id;

	fake_verbs.devices = 2;
	put_file("fake1", 1, "default_roce_mode", "RoCE v2\n");
	put_file("fake1", 1, "default_roce_tos", "104\n");
	put_file("fake1", 2, "default_roce_mode", "IB/RoCE v1\n");
	put_file("fake1", 2, "default_roce_tos", "0\n");
	ch = rdma_create_event_channel();
	id = new_id(ch);
	assert_int_equal(fake.calls[FAKE(SET_OPTION)], 1);
	assert_int_equal(fake.last[FAKE(SET_OPTION)].option.level, RDMA_CM_ALT_OPTION);
	assert_int_equal(fake.last[FAKE(SET_OPTION)].option.optname,
			 RDMA_CM_ALT_OPTION_PORT_DEFAULTS);
	assert_int_equal(fake.last[FAKE(SET_OPTION)].option.optlen, 2 * sizeof(*port));
	assert_int_equal(port[0].ibdev_index, FAKE_INDEX + 1);
	assert_int_equal(port[0].port_num, 1);
	assert_int_equal(port[0].gid_type, IB_UVERBS_GID_TYPE_ROCE_V2);
	assert_int_equal(port[0].tos, 104);
	assert_int_equal(port[1].ibdev_index, FAKE_INDEX + 1);
	assert_int_equal(port[1].port_num, 2);
	assert_int_equal(port[1].gid_type, IB_UVERBS_GID_TYPE_ROCE_V1);
	assert_int_equal(port[1].tos, 0);
	rdma_destroy_id(id);
	rdma_destroy_event_channel(ch);
}

IN_DIR(nothing_is_said_where_stock_says_nothing)
{
	struct rdma_event_channel *ch = rdma_create_event_channel();
	struct rdma_cm_id *first = new_id(ch), *second;

	/* The library does not read them again at once. */
	put_file("fake0", 1, "default_roce_mode", "RoCE v2\n");
	put_file("fake0", 1, "default_roce_tos", "1\n");
	second = new_id(ch);
	assert_int_equal(fake.calls[FAKE(SET_OPTION)], 0);
	rdma_destroy_id(first);
	rdma_destroy_id(second);
	rdma_destroy_event_channel(ch);
}

IN_DIR(half_a_port_is_none)
{
	struct rdma_event_channel *ch = rdma_create_event_channel();
	struct rdma_cm_id *id;

	put_file("fake0", 1, "default_roce_mode", "RoCE v2\n");
	id = new_id(ch);
	assert_int_equal(fake.calls[FAKE(SET_OPTION)], 0);
	rdma_destroy_id(id);
	rdma_destroy_event_channel(ch);
}

IN_DIR(a_kernel_that_does_not_know_it_is_fine)
{
	struct rdma_event_channel *ch = rdma_create_event_channel();
	struct rdma_cm_id *id;

	put_file("fake0", 1, "default_roce_mode", "RoCE v2\n");
	put_file("fake0", 1, "default_roce_tos", "1\n");
	fake.fail[FAKE(SET_OPTION)] = ENOSYS;
	id = new_id(ch);
	assert_int_equal(fake.calls[FAKE(SET_OPTION)], 1);
	rdma_destroy_id(id);
	rdma_destroy_event_channel(ch);
}

RUN
