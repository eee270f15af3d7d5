// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/* Tests of the device cache. */
#include <pthread.h>

#include "core/devices.h"
#include "fake/fixture.h"

TEST(list_has_the_contexts_that_ids_use)
{
	struct rdma_cm_id *id = new_id(NULL);
	struct ibv_context **list;
	int n = 0;

	fake_verbs.devices = 2;
	assert_int_equal(rdma_bind_addr(id, addr4("10.9.0.1", 1)), 0);
	list = rdma_get_devices(&n);
	assert_int_equal(n, 2);
	assert_ptr_equal(list[0], id->verbs);
	assert_non_null(list[1]);
	assert_null(list[2]);
	rdma_free_devices(list);
	rdma_free_devices(NULL);
	assert_int_equal(rdma_destroy_id(id), 0);
}

TEST(list_without_devices_is_enodev)
{
	int n = 5;

	fake_verbs.devices = 0;
	errno = 0;
	assert_null(rdma_get_devices(&n));
	assert_int_equal(errno, ENODEV);
	assert_int_equal(n, 0);
}

TEST(list_at_fd_limit_says_emfile)
{
	fake_verbs.list_error = EMFILE;
	errno = 0;
	assert_null(rdma_get_devices(NULL));
	assert_int_equal(errno, EMFILE);
	fake_verbs.list_error = ENOSYS;
	errno = 0;
	assert_null(rdma_get_devices(NULL));
	assert_int_equal(errno, ENODEV);
}

TEST(new_device_is_found_when_the_kernel_names_it)
{
	struct rdma_cm_id *id = new_id(NULL);

	fake_verbs.devices = 2;
	fake.route.node_guid = FAKE_GUID + 1;
	fake.route.ibdev_index = FAKE_INDEX + 1;
	assert_int_equal(rdma_bind_addr(id, addr4("10.9.0.1", 1)), 0);
	assert_string_equal(id->verbs->device->name, "fake1");
	assert_int_equal(rdma_destroy_id(id), 0);
}

TEST(same_guid_with_another_index_is_another_device)
{
	struct rdma_cm_id *id = new_id(NULL);

	fake.route.ibdev_index = FAKE_INDEX + 7;
	assert_fails(ENODEV, rdma_bind_addr(id, addr4("10.9.0.1", 1)));
	assert_null(id->verbs);
	assert_int_equal(rdma_destroy_id(id), 0);
}

TEST(device_that_went_away_is_closed_after_its_last_user)
{
	struct rdma_cm_id *id = new_id(NULL), *other = new_id(NULL);

	fake_verbs.devices = 2;
	fake.route.node_guid = FAKE_GUID + 1;
	fake.route.ibdev_index = FAKE_INDEX + 1;
	assert_int_equal(rdma_bind_addr(id, addr4("10.9.0.1", 1)), 0);
	assert_int_equal(fake_verbs.open_contexts, 1);
	assert_int_equal(fake_verbs.objects, 1);
	fake_verbs.devices = 1;
	rdma_free_devices(rdma_get_devices(NULL));
	assert_int_equal(fake_verbs.open_contexts, 2);
	assert_fails(ENODEV, rdma_bind_addr(other, addr4("10.9.0.1", 1)));
	assert_int_equal(rdma_destroy_id(id), 0);
	assert_int_equal(fake_verbs.open_contexts, 1);
	assert_int_equal(fake_verbs.objects, 0);
	assert_int_equal(rdma_destroy_id(other), 0);
}

TEST(bind_that_fails_at_any_step_can_be_repeated)
{
	struct rdma_cm_id *id = new_id(NULL);
	int step;

	/* open, query, PD */
	for (step = 1; step <= 2; step++) {
		fake_verbs.steps = 0;
		fake_verbs.fail_at = step;
		fake_verbs.fail_errno = EMFILE;
		assert_fails(EMFILE, rdma_bind_addr(id, addr4("10.9.0.1", 1)));
		assert_int_equal(fake_verbs.open_contexts, 0);
		assert_null(id->verbs);
	}
	fake_verbs.steps = 0;
	fake_verbs.fail_at = 3;
	assert_fails(EMFILE, rdma_bind_addr(id, addr4("10.9.0.1", 1)));
	assert_null(id->pd);
	fake_verbs.fail_at = 0;
	assert_int_equal(rdma_bind_addr(id, addr4("10.9.0.1", 1)), 0);
	assert_non_null(id->pd);
	assert_int_equal(rdma_destroy_id(id), 0);
}

TEST(depths_beyond_a_byte_are_cut_not_wrapped)
{
	struct rdma_cm_id *id = new_id(NULL);

	fake_verbs.max_depth = 256;
	assert_int_equal(rdma_bind_addr(id, addr4("10.9.0.1", 1)), 0);
	assert_int_equal(rcl_id_of(id)->device->max_initiator_depth, 255);
	assert_int_equal(rdma_destroy_id(id), 0);
}

#define USERS 4
#define LAPS 2000

static void *use_device(void *arg)
{
	struct rcl_device *device;
	int i;

	(void)arg;
	for (i = 0; i < LAPS; i++) {
		assert_int_equal(rcl_device_bind(FAKE_GUID, FAKE_INDEX, &device), 0);
		assert_non_null(device->pd);
		rcl_device_unbind(device);
	}
	return NULL;
}

TEST(all_threads_use_one_pd)
{
	pthread_t users[USERS];
	int i;

	for (i = 0; i < USERS; i++)
		pthread_create(&users[i], NULL, use_device, NULL);
	for (i = 0; i < USERS; i++)
		pthread_join(users[i], NULL);
	assert_int_equal(fake_verbs.objects, 1);
}

RUN
